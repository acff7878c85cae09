"""Near agreement under a compound: between brains only, beside the ranking, the same whoever is named first."""

from __future__ import annotations

import itertools

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from members import FakeMember, block, match

from consilience import linking
from consilience.compound import Compound
from consilience.documents import to_json
from consilience.model import CompoundResult, Match, Query

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
