"""Fused, C12 to C15."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction

import msgspec
import pytest
from members import FakeMember, block, digest, match, source

from consilience.compound import Compound
from consilience.envelope import envelope, to_json
from consilience.model import Source


def order(result: object) -> list[str]:
    return [each.block_id for each in result.matches]  # type: ignore[attr-defined]


def test_c12_a_value_is_the_sum_of_reciprocal_ranks_and_the_top_reads_one() -> None:
    members = [FakeMember("a", "xyz"), FakeMember("b", "zw"), FakeMember("c", "wz")]
    result = Compound(members).search("?", fuse=True)
    values = {
        "x": Fraction(1, 61),
        "y": Fraction(1, 62),
        "z": Fraction(1, 63) + Fraction(1, 61) + Fraction(1, 62),
        "w": Fraction(1, 62) + Fraction(1, 61),
    }
    assert [(each.block_id, each.score) for each in result.matches] == [
        (block(label), float(values[label] / values["z"])) for label in "zwxy"
    ]
    written = json.loads(envelope("compound.search", to_json(result)))["data"]["matches"]
    assert [each["score"] for each in written] == ["1.00", "0.67", "0.34", "0.33"]


def test_c12_scores_of_members_never_enter() -> None:
    def asked(scores: dict[str, float]) -> list[tuple[str, float]]:
        members = [FakeMember("a", "xy"), FakeMember("b", "yz")]
        for member in members:
            member.matches = tuple(
                msgspec.structs.replace(each, score=scores[member.name] / each.rank)
                for each in member.matches
            )
        result = Compound(members).search("?", fuse=True)
        return [(each.block_id, each.score) for each in result.matches]

    assert asked({"a": 1.0, "b": 1.0}) == asked({"a": 0.01, "b": 1.0}) == asked({"a": 1.0, "b": 0.001})


def test_c13_the_same_block_from_two_members_is_one_match() -> None:
    result = Compound([FakeMember("a", "xy"), FakeMember("b", "zwx")]).search("?", fuse=True)
    assert order(result).count(block("x")) == 1
    top = result.matches[0]
    assert top.block_id == block("x")
    assert [(each.brain, each.rank) for each in top.brains] == [("a", 1), ("b", 3)]
    assert {len(each.brains) for each in result.matches[1:]} == {1}


def test_c14_every_order_of_naming_gives_the_same_matches_in_the_same_order() -> None:
    rankings = {"a": "xyzw", "b": "wzyx", "c": "zxv", "d": "vuyt"}
    seen = set()
    for names in itertools.permutations(rankings):
        result = Compound([FakeMember(name, rankings[name]) for name in names]).search(
            "?", fuse=True, limit=5
        )
        seen.add(tuple((each.block_id, each.score, each.title, each.text) for each in result.matches))
        assert [member.brain for member in result.members] == list(names)
        for each in result.matches:
            held = [contribution.brain for contribution in each.brains]
            assert held == [name for name in names if name in held]
    assert len(seen) == 1


def test_c14_ties_break_by_strength_then_best_rank_then_block_id() -> None:
    tied = [FakeMember("a", [match("x", strength=0.5)]), FakeMember("b", [match("y", strength=0.8)])]
    assert order(Compound(tied).search("?", fuse=True)) == [block("y"), block("x")]

    level = [FakeMember("a", "x"), FakeMember("b", "y"), FakeMember("c", "z")]
    assert order(Compound(level).search("?", fuse=True)) == sorted(block(label) for label in "xyz")

    # 1/70 + 1/105 = 1/84 + 1/84: ranks 10 and 45 equal 24 and 24, and rank 10 is the better best.
    one, other = [f"a{rank}" for rank in range(45)], [f"b{rank}" for rank in range(45)]
    one[9], other[44], one[23], other[23] = "p", "p", "q", "q"
    result = Compound([FakeMember("a", one), FakeMember("b", other)]).search("?", fuse=True, limit=45)
    values = {each.block_id: each.score for each in result.matches}
    assert values[block("p")] == values[block("q")]
    assert order(result).index(block("p")) < order(result).index(block("q"))


def test_c14_the_strength_that_counts_is_the_largest_of_the_members() -> None:
    members = [
        FakeMember("a", [match("x", strength=0.1), match("y", strength=0.6)]),
        FakeMember("b", [match("y", strength=0.6), match("x", strength=0.7)]),
    ]
    assert order(Compound(members).search("?", fuse=True)) == [block("x"), block("y")]


def test_c14_a_strength_that_is_not_known_ties_below_any_that_is() -> None:
    members = [FakeMember("a", [match("x", strength=None)]), FakeMember("b", [match("y", strength=0.0)])]
    assert order(Compound(members).search("?", fuse=True)) == [block("y"), block("x")]


def test_c15_readable_in_one_brain_is_readable_and_quoted_from_there() -> None:
    gone = match("x", brain="a", content=None, text="", resolvable=False)
    members = [FakeMember("a", [gone]), FakeMember("b", ["y", "x"])]
    (shared,) = [each for each in Compound(members).search("?", fuse=True).matches if len(each.brains) == 2]
    assert shared.resolvable is True
    assert shared.content is not None
    assert json.loads(bytes(shared.content)) == {"statement": "what x says"}
    assert (shared.text, shared.title) == ("what x says", "x in b")
    assert [each.resolvable for each in shared.brains] == [False, True]


def test_c15_readable_nowhere_is_a_member_all_the_same() -> None:
    gone = match("x", content=None, text="", resolvable=False)
    (only,) = Compound([FakeMember("a", [gone]), FakeMember("b", [gone])]).search("?", fuse=True).matches
    assert (only.resolvable, only.content, len(only.brains)) == (False, None, 2)


def test_c15_superseded_by_is_the_smallest_successor_that_some_member_names() -> None:
    small, large = sorted((block("p"), block("q")))
    states = {"a": large, "b": None, "c": small}
    for names in itertools.permutations(states):
        members = [FakeMember(name, [match("x", superseded_by=states[name])]) for name in names]
        (only,) = Compound(members).search("?", fuse=True).matches
        assert only.superseded_by == small
        assert {each.brain: each.superseded_by for each in only.brains} == states
    current = [FakeMember(name, [match("x", superseded_by=None)]) for name in "ab"]
    assert Compound(current).search("?", fuse=True).matches[0].superseded_by is None


def test_c15_sources_are_the_union_and_each_brain_keeps_its_own() -> None:
    shared, only_a, only_b = source("shared"), source("a"), source("b")
    states: dict[str, tuple[Source, ...]] = {"a": (only_a, shared), "b": (shared, only_b)}
    members = [FakeMember(name, [match("x", sources=sources)]) for name, sources in states.items()]
    (only,) = Compound(members).search("?", fuse=True).matches
    assert only.sources == (only_a, shared, only_b)
    assert {each.brain: each.sources for each in only.brains} == states
    (turned,) = Compound(members[::-1]).search("?", fuse=True).matches
    assert turned.sources == (shared, only_b, only_a)


@pytest.mark.parametrize("fuse", [False, True])
def test_c15_a_cite_names_brain_module_block_and_root(fuse: bool) -> None:
    result = Compound([FakeMember("a", "x"), FakeMember("b", "x")]).search("?", fuse=fuse)
    cites = {held.brain: held.cite for each in result.matches for held in each.brains}
    assert cites == {
        name: f"csl:{name}/semantic/{block('x')}@{digest(f'root of semantic in {name}')}" for name in "ab"
    }


def test_c15_rank_and_score_of_each_member_stay() -> None:
    result = Compound([FakeMember("a", "yx"), FakeMember("b", "zwx")]).search("?", fuse=True)
    shared = result.matches[0]
    assert [(each.brain, each.rank, each.score) for each in shared.brains] == [
        ("a", 2, 1 / 2),
        ("b", 3, 1 / 3),
    ]
