"""What counts as almost the same words, and that neither order nor direction shows in it."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.near import near, normalised, shingles

SAID = "Nobody goes out on the boat when the wind is stronger than twenty knots or the harbour is closed."
OTHER = "The log of the station is filled in every morning, before anything else, by whoever has the watch."


def pairs(*texts: str) -> list[tuple[int, int, str]]:
    return [(each.a, each.b, each.rule) for each in near(texts)]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The “tank”, it’s full…", "the 'tank' it's full"),
        ("A  line\nbroken", "a line broken"),
        ("well–known", "well-known"),
        ("soft\u00adly said", "softly said"),
        ("1. Close the valve", "Close the valve."),
        ("b) Close the valve", "• close the valve"),
        ("Straße", "STRASSE"),
        ("cafe\u0301", "caf\u00e9"),
        ("ﬁlter", "filter"),
    ],
)
def test_typography_is_not_wording(a: str, b: str) -> None:
    assert normalised(a) == normalised(b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("it was 3.5 metres", "it was 3 5 metres"),
        ("it was 3.5 metres", "it was 3,5 metres"),
        ("-5 degrees", "5 degrees"),
        ("a rise of 5 %", "a rise of 5"),
        ("10² cells", "102 cells"),
        ("5 € each", "5 $ each"),
        ("a != b", "a = b"),
        ("a < b", "a > b"),
        ("C# is taught", "C is taught"),
        ("C++ is taught", "C is taught"),
        ("2.1 million people died", "3.4 million people died"),
        ("किताब", "कताब"),
        ("not safe", "safe"),
    ],
)
def test_what_changes_a_meaning_stays(a: str, b: str) -> None:
    assert normalised(a) != normalised(b)


def test_the_number_of_a_heading_goes() -> None:
    assert normalised("2.1 Installation", heading=True) == normalised("3.4. installation", heading=True)
    assert normalised("1.", heading=True) == "1"


def test_rules_in_their_order() -> None:
    assert pairs(SAID, SAID.upper(), OTHER) == [(0, 1, "text")]
    assert pairs(SAID, SAID.replace("closed", "shut")) == [(0, 1, "shingles")]
    assert pairs(SAID, f"{OTHER} {SAID} {OTHER}") == [(0, 1, "contained")]
    assert pairs(SAID, OTHER) == []
    assert pairs("", "", " - ") == []


def test_a_short_sentence_inside_a_long_one_is_no_agreement() -> None:
    assert pairs("the harbour is closed today", f"{OTHER} the harbour is closed today {OTHER}") == []


def test_measures_are_exact() -> None:
    (link,) = near([SAID, SAID.replace("closed", "shut")])
    a, b = (shingles(normalised(text).split()) for text in (SAID, SAID.replace("closed", "shut")))
    assert link.measure == Fraction(len(a & b), len(a | b))


WORDS = st.sampled_from(["the", "boat", "wind", "harbour", "closed", "is", "knots", "log"])
TEXTS = st.lists(st.lists(WORDS, max_size=16).map(" ".join), max_size=8)


@given(TEXTS, st.randoms(use_true_random=False))
def test_order_and_direction_do_not_show(texts: list[str], random: object) -> None:
    order = list(range(len(texts)))
    random.shuffle(order)  # type: ignore[attr-defined]
    found = {(frozenset((each.a, each.b)), each.measure, each.rule) for each in near(texts)}
    moved = near([texts[place] for place in order])
    assert {(frozenset((order[e.a], order[e.b])), e.measure, e.rule) for e in moved} == found
    assert all(each.a < each.b for each in moved)


@given(TEXTS)
def test_a_pair_does_not_depend_on_the_others(texts: list[str]) -> None:
    for each in near(texts):
        (alone,) = near([texts[each.a], texts[each.b]])
        assert (alone.measure, alone.rule) == (each.measure, each.rule)


@given(st.lists(WORDS, min_size=3, max_size=16).map(" ".join), st.integers(30, 60))
def test_many_of_one_mould_are_compared_all_the_same(mould: str, count: int) -> None:
    texts = [f"{' '.join([mould] * 4)} {place}x" for place in range(count)]
    one_by_one = {
        (a, b): near([texts[a], texts[b]]) for a in range(0, count, 7) for b in range(a + 1, count, 5)
    }
    found = {(each.a, each.b): each.measure for each in near(texts)}
    assert all(found.get(pair) == (alone[0].measure if alone else None) for pair, alone in one_by_one.items())


@given(st.text(max_size=60))
def test_any_text_can_be_normalised(text: str) -> None:
    words = normalised(text)
    assert words == " ".join(words.split())
