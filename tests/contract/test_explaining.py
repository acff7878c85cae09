"""Explain, C19, as far as composition decides it."""

from __future__ import annotations

import json

import pytest
from members import FakeMember

from consilience.compound import Compound
from consilience.envelope import envelope, to_json
from consilience.model import Skipped


@pytest.mark.parametrize("analyze", [False, True])
def test_c19_one_explanation_per_member_side_by_side_and_no_compound_plan(analyze: bool) -> None:
    members = [FakeMember("b"), FakeMember("a")]
    skipped = (Skipped(brain="c", reason="no layout"),)
    explained = Compound(members, skipped).explain("?", analyze=analyze)
    assert explained.members == tuple(member.explain(explained.query, analyze=analyze) for member in members)
    assert [member.analyzed[0] for member in members] == [analyze, analyze]
    assert explained.skipped == skipped
    data = json.loads(envelope("compound.explain", to_json(explained)))["data"]
    assert set(data) == {"query", "members", "skipped"}
    assert [member["brain"] for member in data["members"]] == ["b", "a"]
