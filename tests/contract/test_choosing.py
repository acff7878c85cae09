"""Choosing the brains, C1 to C4, at the function that decides it."""

from __future__ import annotations

import pytest
from members import FakeMember

from consilience.compound import Compound, choose
from consilience.errors import NotFoundError, UsageError
from consilience.model import Skipped

DECLARED = ("algebra", "topology", "physics")


def here(name: str) -> str | None:
    return None


def no_physics(name: str) -> str | None:
    return "no layout at ./brains/physics" if name == "physics" else None


@pytest.mark.parametrize(
    "brains",
    [
        ("physics", "algebra"),
        ("physics,algebra",),
        ("physics,algebra", "physics"),
        ("physics", "algebra", "algebra,physics"),
    ],
)
def test_c01_names_are_repeatable_or_comma_separated_in_order_each_once(brains: tuple[str, ...]) -> None:
    assert choose(DECLARED, brains, False, here).names == ("physics", "algebra")


@pytest.mark.parametrize("name", ["chemistry", "./brains/algebra", "/srv/brains/algebra", "other/algebra"])
def test_c01_a_name_the_project_does_not_declare_and_a_path_get_one_error(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        choose(DECLARED, ("algebra", name), False, here)
    assert caught.value.exit_status == 2
    assert caught.value.message == f"this project has no brain called '{name}'"
    assert caught.value.hint == (
        "a compound takes brain names from this project only; known: algebra, topology, physics"
    )


def test_c03_all_takes_what_is_here_in_declaration_order_and_lists_the_rest() -> None:
    chosen = choose(DECLARED, (), True, no_physics)
    assert chosen.names == ("algebra", "topology")
    assert chosen.skipped == (Skipped(brain="physics", reason="no layout at ./brains/physics"),)


def test_c03_a_named_brain_without_layout_is_not_found_and_the_hint_says_how_to_get_it() -> None:
    with pytest.raises(NotFoundError) as caught:
        choose(DECLARED, ("algebra,physics",), False, no_physics)
    assert caught.value.exit_status == 4
    assert "'physics'" in caught.value.message
    assert "pull" in (caught.value.hint or "")
    assert "ingest" in (caught.value.hint or "")


def test_c04_fewer_than_two_points_at_search_and_names_what_was_skipped() -> None:
    with pytest.raises(UsageError) as caught:
        choose(("algebra", "physics"), (), True, no_physics)
    assert caught.value.exit_status == 2
    assert "'algebra'" in caught.value.message
    assert "search" in (caught.value.hint or "")
    assert "physics (no layout at ./brains/physics)" in (caught.value.hint or "")
    for brains in (("algebra",), ("algebra", "algebra"), (",",)):
        with pytest.raises(UsageError, match="two brains") as caught:
            choose(DECLARED, brains, False, here)
        assert "search" in (caught.value.hint or "")


def test_c04_neither_flag_lists_the_names_and_both_are_refused() -> None:
    with pytest.raises(UsageError) as caught:
        choose(DECLARED, (), False, here)
    assert "algebra, topology, physics" in (caught.value.hint or "")
    with pytest.raises(UsageError, match="exclude each other"):
        choose(DECLARED, ("algebra,topology",), True, here)


def test_c04_a_compound_of_one_cannot_be_made() -> None:
    with pytest.raises(UsageError) as caught:
        Compound([FakeMember("algebra")], [Skipped(brain="physics", reason="no layout")])
    assert "search" in (caught.value.hint or "")
    assert "physics (no layout)" in (caught.value.hint or "")
