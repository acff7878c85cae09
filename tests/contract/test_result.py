"""The result, C16 to C18."""

from __future__ import annotations

import json

import pytest
from members import FakeMember, block, digest, failing

from consilience.compound import Compound
from consilience.envelope import envelope, to_json
from consilience.errors import RemoteError
from consilience.model import Skipped


@pytest.mark.parametrize("fuse", [False, True])
def test_c16_roots_stay_with_their_members(fuse: bool) -> None:
    result = Compound([FakeMember("a", "x"), FakeMember("b", "x")]).search("?", fuse=fuse)
    data = json.loads(envelope("compound.search", to_json(result)))["data"]
    assert "verified_against" not in data
    assert [member["verified_against"] for member in data["members"]] == [
        {module: digest(f"root of {module} in {name}") for module in ("episodic", "semantic")}
        for name in "ab"
    ]


@pytest.mark.parametrize("fuse", [False, True])
@pytest.mark.parametrize("cut", [(), ("a",), ("b",), ("a", "b")])
def test_c16_truncated_is_any_and_all_verified_is_all(fuse: bool, cut: tuple[str, ...]) -> None:
    members = [
        FakeMember(name, name, truncated=name in cut, dropped=[block("y")] if name in cut else [])
        for name in "ab"
    ]
    result = Compound(members).search("?", fuse=fuse)
    assert (result.truncated, result.all_verified) == (bool(cut), not cut)
    assert [(member.truncated, member.all_verified) for member in result.members] == [
        (name in cut, name not in cut) for name in "ab"
    ]


def test_c16_both_modes_have_one_shape() -> None:
    compound = Compound(
        [FakeMember("a", "xy"), FakeMember("b", "x")], [Skipped(brain="c", reason="no layout")]
    )
    grouped, fused = (
        json.loads(envelope("compound.search", to_json(compound.search("?", fuse=fuse))))["data"]
        for fuse in (False, True)
    )
    assert list(grouped) == list(fused)
    assert [list(member) for member in grouped["members"]] == [list(member) for member in fused["members"]]
    assert list(grouped["matches"][0]) == list(fused["matches"][0])
    assert grouped["skipped"] == fused["skipped"] == [{"brain": "c", "reason": "no layout"}]
    assert (grouped["fused"], fused["fused"]) == (False, True)


def test_c17_a_fused_cut_truncates_the_members_whose_matches_it_cut() -> None:
    members = [FakeMember("a", "xyz"), FakeMember("b", "x"), FakeMember("c")]
    result = Compound(members).search("?", fuse=True, limit=1)
    assert [each.block_id for each in result.matches] == [block("x")]
    assert [(member.brain, member.count, member.truncated) for member in result.members] == [
        ("a", 1, True),
        ("b", 1, False),
        ("c", 0, False),
    ]
    assert result.truncated is True


def test_c17_nothing_cut_is_not_truncated() -> None:
    members = [FakeMember("a", "xyz"), FakeMember("b", "xw")]
    for fuse in (False, True):
        result = Compound(members).search("?", fuse=fuse, limit=4)
        assert result.truncated is False
        assert [member.truncated for member in result.members] == [False, False]


def test_c17_what_the_floor_held_back_is_withheld_and_not_truncation() -> None:
    for fuse in (False, True):
        result = Compound([FakeMember("a", "x", withheld=12), FakeMember("b")]).search("?", fuse=fuse)
        assert [(member.withheld, member.truncated) for member in result.members] == [(12, False), (0, False)]
        assert result.truncated is False


@pytest.mark.parametrize("fuse", [False, True])
def test_c18_each_degradation_bears_the_name_of_its_brain(fuse: bool) -> None:
    members = [
        FakeMember("topology", "x", warnings=["vectors: 10 of 90 embedded", "statistics are stale"]),
        FakeMember("algebra", "x", warnings=["no index: scanned"]),
        FakeMember("physics", before=failing(RemoteError("no route"))),
    ]
    compound = Compound(members)
    expected = [
        "algebra: no index: scanned",
        "physics: failed: no route",
        "topology: vectors: 10 of 90 embedded",
        "topology: statistics are stale",
    ]
    result = compound.search("?", fuse=fuse)
    assert list(result.warnings) == expected
    assert list(compound.explain("?").warnings) == expected
    assert json.loads(envelope("compound.search", to_json(result), result.warnings))["warnings"] == expected
