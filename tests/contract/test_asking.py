"""Asking, C6 to C9, as far as composition decides it."""

from __future__ import annotations

import threading

import pytest
from members import FakeMember, block

from consilience.compound import Compound
from consilience.envelope import outcome
from consilience.model import Filters, Query


@pytest.mark.parametrize("fuse", [False, True])
def test_c06_every_member_is_asked_the_same_question_with_the_same_filters(fuse: bool) -> None:
    query = Query(
        text="who?",
        filters=Filters(kinds=("definition",), tags=("x", "y"), since="2024-01-01", sources=("docs/*",)),
        include_superseded=True,
        floor=False,
    )
    members = [FakeMember(name) for name in "abc"]
    Compound(members).search(query, fuse=fuse)
    asked = [each for member in members for each in member.asked]
    assert len(asked) == 3
    assert asked[0] == asked[1] == asked[2]
    assert (asked[0].text, asked[0].filters) == (query.text, query.filters)
    assert (asked[0].include_superseded, asked[0].floor) == (True, False)


def test_c06_members_run_side_by_side() -> None:
    meeting = threading.Barrier(4)  # nobody passes before all four have been asked

    def meet() -> None:
        meeting.wait(timeout=30)

    result = Compound([FakeMember(name, [name], before=meet) for name in "abcd"]).search("?")
    assert [member.count for member in result.members] == [1, 1, 1, 1]
    assert result.failures == ()


def test_c06_what_one_member_plans_is_no_other_s() -> None:
    result = Compound([FakeMember("a"), FakeMember("b")]).search("?")
    assert [member.plan.name for member in result.members] == ["plan of a", "plan of b"]
    assert result.members[0].verified_against != result.members[1].verified_against


@pytest.mark.parametrize("fuse", [False, True])
def test_c07_a_dropped_match_is_no_match_and_the_rest_is_still_there(fuse: bool) -> None:
    warning = f"verification_failed: {block('y')}"
    members = [FakeMember("a", "x", dropped=[block("y")], warnings=[warning]), FakeMember("b", "z")]
    result = Compound(members).search("?", fuse=fuse)
    assert {each.block_id for each in result.matches} == {block("x"), block("z")}
    assert result.all_verified is False
    assert [member.all_verified for member in result.members] == [False, True]
    assert result.warnings == (f"a: {warning}",)
    error = outcome(result)
    assert error is not None
    assert error.exit_status == 5


@pytest.mark.parametrize("fuse", [False, True])
def test_c08_an_empty_bundle_is_an_answer(fuse: bool) -> None:
    result = Compound([FakeMember("a", "x"), FakeMember("b", withheld=7)]).search("?", fuse=fuse)
    assert [(member.brain, member.count, member.withheld) for member in result.members] == [
        ("a", 1, 0),
        ("b", 0, 7),
    ]
    assert (result.skipped, result.failures, result.truncated) == ((), (), False)


def test_c08_all_brains_may_have_nothing() -> None:
    result = Compound([FakeMember("a", withheld=1), FakeMember("b", withheld=2)]).search("?", fuse=True)
    assert (result.matches, result.count, result.all_verified) == ((), 0, True)
    assert outcome(result) is None


def test_c09_the_limit_is_per_member_when_grouped() -> None:
    members = [FakeMember("a", range(9)), FakeMember("b", range(5, 9))]
    result = Compound(members).search("?", limit=3)
    assert [member.count for member in result.members] == [3, 3]
    assert result.depth == 3
    assert [each.limit for member in members for each in member.asked] == [3, 3]


@pytest.mark.parametrize("limit", [1, 3, 10, 40])
def test_c09_fused_members_are_asked_deeper_and_the_list_is_cut_to_the_limit(limit: int) -> None:
    members = [FakeMember("a", range(200)), FakeMember("b", range(100, 300))]
    result = Compound(members).search("?", fuse=True, limit=limit)
    assert result.count == limit
    assert result.query.limit == limit
    assert result.depth > limit
    assert [each.limit for member in members for each in member.asked] == [result.depth, result.depth]


def test_c09_depth_finds_agreement_below_the_limit() -> None:
    """What both brains hold at rank 3 is first of a fused list of 2, which asking for 2 would never show."""
    members = [FakeMember("a", ["a1", "a2", "both"]), FakeMember("b", ["b1", "b2", "both"])]
    result = Compound(members).search("?", fuse=True, limit=2)
    assert result.matches[0].block_id == block("both")
