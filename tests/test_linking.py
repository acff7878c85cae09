"""Near agreement under a compound: between brains only, beside the ranking, the same whoever is named first."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from members import FakeMember, block, match
from numpy.typing import NDArray

from consilience import linking
from consilience.compound import Compound
from consilience.documents import to_json
from consilience.index.meaning import LEAST_ALIKE, Meanings
from consilience.model import CompoundResult, Match, Query
from consilience.plan.local import LocalAnswer

TIDE = (
    "The tide table hangs beside the door, and whoever takes the boat out signs it before leaving the pier."
)


def said(label: str, text: str, **values: object) -> Match:
    return match(label, text=text, **values)


def asked(*members: FakeMember, fuse: bool = True, limit: int = 10) -> CompoundResult:
    return Compound(members).search(Query(text="q", limit=limit), fuse=fuse)


def links(result: CompoundResult) -> dict[tuple[str, str], list[tuple[str, str, str]]]:
    return {
        (each.brains[0].brain, each.block_id): [(n.brain, n.block_id, n.rule) for n in each.near]
        for each in result.matches
        if each.near
    }


def test_other_words_of_another_brain_are_linked_both_ways() -> None:
    a = FakeMember("a", [said("x", TIDE), said("own", TIDE.lower())])
    b = FakeMember("b", [said("y", TIDE.replace("pier", "quay"))])
    for fuse in (False, True):
        found = links(asked(a, b, fuse=fuse))
        assert found["a", block("x")] == [("b", block("y"), "shingles")]
        assert found["b", block("y")] == [
            ("a", each, "shingles") for each in sorted([block("x"), block("own")])
        ]


def test_the_same_block_is_exact_and_not_near() -> None:
    a, b = FakeMember("a", [said("x", TIDE)]), FakeMember("b", [said("x", TIDE)])
    assert links(asked(a, b)) == {}
    assert links(asked(a, b, fuse=False)) == {}


def test_links_change_no_rank_and_no_score() -> None:
    a = FakeMember("a", ["p", said("x", TIDE)])
    b = FakeMember("b", ["q", said("y", TIDE.upper())])
    plain = [FakeMember("a", ["p", "x"]), FakeMember("b", ["q", "y"])]
    with_links, without = asked(a, b), asked(*plain)
    assert any(each.near for each in with_links.matches)
    assert [(m.block_id, m.score) for m in with_links.matches] == [
        (m.block_id, m.score) for m in without.matches
    ]


def test_a_match_whose_bytes_are_gone_is_near_to_none() -> None:
    gone = said("x", "", resolvable=False, content=None)
    assert links(asked(FakeMember("a", [gone]), FakeMember("b", [said("y", TIDE)]))) == {}


def test_json_always_has_near_with_two_decimals() -> None:
    a, b = FakeMember("a", [said("x", TIDE)]), FakeMember("b", [said("y", TIDE.upper()), "z"])
    data = msgspec.json.decode(msgspec.json.encode(to_json(asked(a, b, fuse=False))))
    assert [m["near"] for m in data["matches"]] == [
        [{"brain": "b", "block_id": block("y"), "measure": "1.00", "rule": "text"}],
        [{"brain": "a", "block_id": block("x"), "measure": "1.00", "rule": "text"}],
        [],
    ]


def test_more_matches_than_are_compared_is_said(monkeypatch: object) -> None:
    monkeypatch.setattr(linking, "MOST", 4)  # type: ignore[attr-defined]
    a = FakeMember("a", [*"pqr", said("x", TIDE)])
    b = FakeMember("b", [said("y", TIDE.upper()), *"uv"])
    result = asked(a, b, fuse=False)
    assert links(result) == {}
    assert result.warnings == ("near agreement was looked for among 4 of 7 matches only",)


# --- copies inside one brain -----------------------------------------------------------------------------------


def with_copies(label: str, *also: str) -> Match:
    return msgspec.structs.replace(
        said(label, TIDE), also=tuple(said(each, TIDE, score=0.5, strength=0.5) for each in also)
    )


def test_copies_are_named_per_brain_and_counted() -> None:
    result = asked(FakeMember("a", ["p", with_copies("x", "x2", "x3")]), FakeMember("b", ["q"]))
    assert [member.collapsed for member in result.members] == [2, 0]
    (found,) = [m for m in result.matches if m.block_id == block("x")]
    assert found.brains[0].also == tuple(sorted([block("x2"), block("x3")]))


def test_what_two_brains_hold_exactly_meets_though_one_shows_another_copy() -> None:
    a, b = FakeMember("a", ["p", with_copies("x", "y")]), FakeMember("b", [said("y", TIDE)])
    result = asked(a, b)
    (shared,) = [m for m in result.matches if len(m.brains) == 2]
    assert shared.block_id == block("y")
    assert {c.brain: (c.rank, c.also) for c in shared.brains} == {"a": (2, (block("x"),)), "b": (1, ())}
    assert all(block("y") in c.cite for c in shared.brains)


LABELS = st.lists(st.lists(st.sampled_from("uvwxyz"), unique=True, max_size=4), min_size=3, max_size=3)


@given(LABELS, st.integers(0, 2**16))
def test_the_order_of_the_brains_does_not_show(rankings: list[list[str]], cut: int) -> None:
    texts = {label: f"{TIDE} {label if cut >> place & 1 else ''}" for place, label in enumerate("uvwxyz")}

    def member(name: str, labels: list[str]) -> FakeMember:
        matches = [said(label, texts[label]) for label in labels]
        if cut >> 8 & 1 and len(matches) > 1:  # the last is a copy of the first
            matches = [msgspec.structs.replace(matches[0], also=(matches[-1],)), *matches[1:-1]]
        return FakeMember(name, matches)

    members = [member(name, labels) for name, labels in zip("abc", rankings, strict=True)]
    seen = set()
    for order in itertools.permutations(members):
        result = asked(*order)
        seen.add(
            tuple(
                (m.block_id, m.score, m.near, frozenset((c.brain, c.also) for c in m.brains))
                for m in result.matches
            )
        )
        places = {m.block_id: {n.block_id for n in m.near} for m in result.matches}
        assert all(mine in places[other] for mine, others in places.items() for other in others)
    assert len(seen) == 1


# --- in other words ---------------------------------------------------------------------------------------------------

SEA = "Who goes out on the water writes so in the book by the door, and says when they will be back."
MAR = "Quien sale al mar lo apunta en el libro de la entrada y dice a qué hora piensa volver."
RAIN = "The gauge behind the laboratory is read at nine, emptied, and put back under its wire cover."


class Placing(FakeMember):
    """A member in this process: `at` gives the angle in degrees at which each of its texts stands."""

    def __init__(self, name: str, ranking: list[Match], at: dict[str, float], *, tag: str = "model") -> None:
        super().__init__(name, ranking)
        self.at, self.tag = at, tag
        self.asked_for: list[str] = []

    def answer(self, query: Query) -> LocalAnswer:
        bundle = self.search(query)
        angles = {m.block_id: self.at[m.text] for m in bundle.matches if m.text in self.at}

        def placed(ids: Sequence[str]) -> tuple[tuple[str, ...], NDArray[np.float64]]:
            self.asked_for += ids
            known = tuple(each for each in ids if each in angles)
            turned = np.radians([angles[each] for each in known])
            return known, np.stack([np.cos(turned), np.sin(turned)], axis=1).reshape(-1, 2)

        return LocalAnswer(
            bundle=bundle, meanings=Meanings(tag=self.tag, placed=placed), highlights=lambda block_id: ()
        )


NEARLY = {SEA: 0.0, MAR: 25.0, RAIN: 90.0}


def test_the_same_in_other_words_is_linked_with_its_cosine() -> None:
    a = Placing("a", [said("x", SEA), said("r", RAIN)], NEARLY)
    b = Placing("b", [said("y", MAR)], NEARLY)
    for fuse in (False, True):
        result = asked(a, b, fuse=fuse)
        assert links(result) == {
            ("a", block("x")): [("b", block("y"), "meaning")],
            ("b", block("y")): [("a", block("x"), "meaning")],
        }
        assert {n.measure for m in result.matches for n in m.near} == {round(np.cos(np.radians(25.0)), 4)}
    assert links(asked(a, Placing("b", [said("y", MAR)], {MAR: 40.0}))) == {}  # cos 40 degrees is .77
    assert np.cos(np.radians(40.0)) < LEAST_ALIKE


def test_vectors_of_two_models_never_meet_nor_those_of_one_brain() -> None:
    a = Placing("a", [said("x", SEA), said("z", RAIN)], NEARLY | {RAIN: 5.0})
    assert links(asked(a, Placing("b", [said("y", MAR)], NEARLY, tag="another"))) == {}
    assert links(asked(a, FakeMember("b", ["y"]))) == {}
    assert a.asked_for == []


def test_what_is_linked_by_its_words_is_not_linked_again() -> None:
    at = {TIDE: 0.0, TIDE.upper(): 0.0}
    found = asked(Placing("a", [said("x", TIDE)], at), Placing("b", [said("y", TIDE.upper())], at))
    assert links(found) == {
        ("a", block("x")): [("b", block("y"), "text")],
        ("b", block("y")): [("a", block("x"), "text")],
    }


def test_the_same_words_stand_before_the_same_meaning() -> None:
    at = {TIDE: 0.0, MAR: 1.0}
    a = Placing("a", [said("x", TIDE)], at)
    b = Placing("b", [said("m", MAR), said("y", TIDE.replace("pier", "quay"))], at)
    assert links(asked(a, b))["a", block("x")] == [
        ("b", block("y"), "shingles"),
        ("b", block("m"), "meaning"),
    ]


def test_code_short_texts_and_gone_bytes_are_not_compared() -> None:
    at = {SEA: 0.0, MAR: 0.0, "Bye, see you!": 0.0, "Hasta luego": 0.0}
    for other in (
        said("y", MAR, role="code"),
        said("y", MAR, role="table"),
        said("y", "", resolvable=False, content=None),
    ):
        assert links(asked(Placing("a", [said("x", SEA)], at), Placing("b", [other], at))) == {}
    short = Placing("a", [said("x", "Bye, see you!")], at), Placing("b", [said("y", "Hasta luego")], at)
    assert links(asked(*short)) == {}


def test_a_block_of_several_brains_is_linked_to_each_and_never_to_itself() -> None:
    a, b = Placing("a", [said("x", SEA)], NEARLY), Placing("b", [said("x", SEA)], NEARLY)
    c = Placing("c", [said("y", MAR)], NEARLY)
    found = asked(a, b, c)
    named = {m.block_id: [(n.brain, n.block_id) for n in m.near] for m in found.matches}
    assert named == {
        block("x"): [("c", block("y"))],
        block("y"): [("a", block("x")), ("b", block("x"))],
    }


@given(st.permutations(range(3)), st.lists(st.floats(0, 90), min_size=6, max_size=6), st.booleans())
def test_meaning_depends_on_no_order_of_naming(order: list[int], angles: list[float], fuse: bool) -> None:
    texts = [f"{SEA} {'so' * i}" if i % 2 else f"{RAIN} {'no' * i}" for i in range(6)]
    at = dict(zip(texts, angles, strict=True))
    members = [
        Placing(name, [said(t, t) for t in texts[i * 2 : i * 2 + 2]], at) for i, name in enumerate("abc")
    ]
    first, again = asked(*members, fuse=fuse), asked(*(members[i] for i in order), fuse=fuse)
    assert links(first) == links(again)
    assert [(m.block_id, m.score) for m in first.matches if fuse] == [
        (m.block_id, m.score) for m in again.matches if fuse
    ]
