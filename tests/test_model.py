"""The locator's text form, which derivation records keep for ever."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from consilience.model import UNITS, Locator

lines = st.integers(1, 10**7)
dates = st.dates().map(str) | st.datetimes().map(lambda t: t.replace(microsecond=0).isoformat() + "Z")
headings = st.text(st.sampled_from("ab \\>#@L1-\n\u2028\u00e9"), max_size=6) | st.text(max_size=6)


@st.composite
def locators(draw: st.DrawFn) -> Locator:
    first = draw(st.none() | lines)
    last = None if first is None else draw(st.integers(first, first + 50))
    return Locator(
        first_line=first,
        last_line=last,
        date=draw(st.none() | dates),
        headings=tuple(draw(st.lists(headings, max_size=3))),
        unit="line" if first is None else draw(st.sampled_from(UNITS)),
        introduced_by=None if first is None else draw(st.none() | st.integers(1, 10**9 - 1)),
    )


@settings(max_examples=300)
@given(locators())
@example(Locator(headings=("a > b", "c\\", "\\>")))
@example(Locator(headings=("",)))
@example(Locator(headings=("L1-L2",)))
@example(Locator(headings=("@2001-01-30",)))
@example(Locator(headings=("# x", " ")))
@example(Locator(headings=("a\\", "b")))
@example(Locator(headings=(" > ", ">", " >", "> ")))
@example(Locator(first_line=1, last_line=1, headings=("\n",)))
@example(Locator(date="2001-01-30", headings=("@2001-01-30 # a",)))
def test_locator_text_round_trips(locator: Locator) -> None:
    assert Locator.parse(locator.text()) == locator


@settings(max_examples=300)
@given(st.text(st.sampled_from("L1-@# >\\a\n"), max_size=12) | st.text(max_size=12))
@example("L0")
@example("L5-L3")
@example("L1-L1")
@example("L\u0661")
@example("page 7")
@example("# ")
@example("@2001-01-30x")
@example("L" + "9" * 5000)
def test_any_text_of_others_parses_to_something_stable(text: str) -> None:
    """A record of other software may hold anything: no exception, and writing what was read loses nothing more."""
    locator = Locator.parse(text)
    assert Locator.parse(locator.text()) == locator


@pytest.mark.parametrize(
    ("text", "locator"),
    [
        ("", Locator()),
        (
            "L120-L134 @2001-01-30 # Title > Section > Part",
            Locator(first_line=120, last_line=134, date="2001-01-30", headings=("Title", "Section", "Part")),
        ),
        ("L7", Locator(first_line=7, last_line=7)),
        ("@2001-01-30T10:00:00Z", Locator(date="2001-01-30T10:00:00Z")),
        ("# a \\> b", Locator(headings=("a > b",))),
        ("L1 # #", Locator(first_line=1, last_line=1, headings=("#",))),
        ("page 7", Locator(first_line=7, last_line=7, unit="page")),
        ("L7<3 # a", Locator(first_line=7, last_line=7, introduced_by=3, headings=("a",))),
        ("page 7-9<7", Locator(first_line=7, last_line=9, introduced_by=7, unit="page")),
        ("<3 # a", Locator(headings=("<3 # a",))),
        ("slide 7-9 # a", Locator(first_line=7, last_line=9, unit="slide", headings=("a",))),
        ("page 7-L9", Locator(headings=("page 7-L9",))),
        ("page vii", Locator(headings=("page vii",))),
        ("page 7L1", Locator(headings=("page 7L1",))),
        ("line 7", Locator(headings=("line 7",))),
        ("page 5-3", Locator(headings=("page 5-3",))),
        ("L5-L3", Locator(headings=("L5-L3",))),
        ("L0", Locator(headings=("L0",))),
        ("L1 page", Locator(headings=("L1 page",))),
    ],
)
def test_locator_forms(text: str, locator: Locator) -> None:
    assert Locator.parse(text) == locator
