"""Ranks and roles: what is quiet goes down by places, and is never lost."""

from __future__ import annotations

import pytest

from consilience.plan.rank import QUIET_PLACES, QUIET_ROLES, fuse_generators

NS = list(range(1, 101))
COVERED = dict.fromkeys(NS, 1.0)


def order(roles: dict[int, str], *lists: tuple[str, list[int]]) -> list[int]:
    return [ranked.n for ranked in fuse_generators(lists, COVERED, roles)]


@pytest.mark.parametrize("role", sorted(QUIET_ROLES))
def test_a_quiet_passage_goes_down_by_some_places_and_no_further(role: str) -> None:
    found = order({1: role}, ("lexical", NS))
    assert found.index(1) == QUIET_PLACES - 1  # level with the sixth, and ties go by ordinal
    both = order({1: role}, ("lexical", NS), ("vectors", NS))
    assert both == found


@pytest.mark.parametrize("role", ["prose", "list", "table", "code"])
def test_what_says_something_keeps_its_place(role: str) -> None:
    assert order({1: role}, ("lexical", NS)) == NS


def test_quiet_passages_keep_their_order_among_themselves() -> None:
    assert order(dict.fromkeys(NS, "boilerplate"), ("lexical", NS)) == NS
