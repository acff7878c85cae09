"""Grouped, C10 and C11."""

from __future__ import annotations

import json

from members import FakeMember, block, match

from consilience.compound import Compound
from consilience.envelope import envelope, to_json


def test_c10_each_ranking_is_intact_in_the_order_named() -> None:
    members = [FakeMember("topology", ["t1", "both", "t3"]), FakeMember("algebra", ["both", "a2"])]
    result = Compound(members).search("?")
    assert [(each.brains[0].brain, each.brains[0].rank, each.block_id) for each in result.matches] == [
        ("topology", 1, block("t1")),
        ("topology", 2, block("both")),
        ("topology", 3, block("t3")),
        ("algebra", 1, block("both")),
        ("algebra", 2, block("a2")),
    ]


def test_c10_nothing_is_merged() -> None:
    result = Compound([FakeMember("a", "xy"), FakeMember("b", "xy"), FakeMember("c", "x")]).search("?")
    assert result.fused is False
    assert [each.block_id for each in result.matches].count(block("x")) == 3
    assert {len(each.brains) for each in result.matches} == {1}
    for each in result.matches:
        assert each.sources == each.brains[0].sources
        assert each.score == each.brains[0].score


def test_c10_what_stands_on_a_match_is_its_own_brain_s() -> None:
    members = [
        FakeMember("a", [match("x", content=None, resolvable=False)]),
        FakeMember("b", [match("x", superseded_by=block("y"))]),
    ]
    first, second = Compound(members).search("?").matches
    assert (first.resolvable, first.content, first.superseded_by) == (False, None, None)
    assert (second.resolvable, second.superseded_by) == (True, block("y"))


def test_c11_a_score_is_a_string_with_two_decimals_and_the_best_of_each_brain_reads_one() -> None:
    result = Compound([FakeMember("a", "xyz"), FakeMember("b", "w")]).search("?")
    matches = json.loads(envelope("compound.search", to_json(result)))["data"]["matches"]
    assert [each["score"] for each in matches] == ["1.00", "0.50", "0.33", "1.00"]
    assert [each["brains"][0]["score"] for each in matches] == ["1.00", "0.50", "0.33", "1.00"]
    assert {each["brains"][0]["strength"] for each in matches} == {"0.90"}


def test_c11_order_is_decided_before_rounding() -> None:
    """Deep in a long list neighbours read the same; their order is that of the full values."""
    labels = list(range(60))
    members = [FakeMember("a", labels), FakeMember("b")]
    result = Compound(members).search("?", fuse=True, limit=60)
    scores = [each["score"] for each in json.loads(envelope("x", to_json(result)))["data"]["matches"]]
    assert len(set(scores)) < len(scores)
    assert [each.block_id for each in result.matches] == [block(label) for label in labels]
