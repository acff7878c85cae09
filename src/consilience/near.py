"""Texts that say the same in almost the same words: a measure, and which texts of a few it links. Pure.

Resemblance and containment of word shingles after Broder, "On the resemblance and containment of documents",
SEQUENCES 1997; computed exactly, because the texts are few. Decision 0105.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations

import msgspec

SHINGLE = 3
"""Words of a shingle."""

LEAST_RESEMBLANCE = Fraction(7, 10)
"""Two texts are near from this share of common shingles on: |A and B| / |A or B|."""

CONTAINMENT = Fraction(9, 10)
LEAST_CONTAINED = 12
"""So are a text and one that holds it: |A and B| / |A|, for an A of so many shingles or more."""

MOST_PAIRS = 8
"""Common shingles a pair, on average, up to which counting them one by one costs less than comparing all sets."""

REMEMBERED = 4000
"""Characters of a text up to which what was made of it is remembered for a while."""

_FIRST_KEPT = 0xE000
_MINUS = chr(_FIRST_KEPT + ord("-"))
_IN_NUMBER = re.compile(r"[.,:](?<=\d.)(?=\d)")
_SIGN = re.compile(r"[-\u2212](?<![^\s(\[=<>].)(?=\d)")
_HASH = re.compile(r"#(?<=\w#)")
_ENUMERATOR = re.compile(r"\s*(?:\d{1,3}(?:\.\d{1,3})*[.)]|[A-Za-z][.)]|§)\s+")
_HEADING_NUMBER = re.compile(r"\s*#*\s*\d{1,3}(?:\.\d{1,3})*[.)]?\s+")
_INVISIBLE = "\u00ad\u200b\u2060\ufeff"
_MARKUP = "|~^`"


class _Signs(dict[int, str]):
    """What becomes of a character: a letter, digit or mark stays, a symbol stands alone, the rest is a space."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        category = unicodedata.category(char)
        if char in _INVISIBLE:
            kept = ""
        elif category[0] in "LNM" or category == "Co":
            kept = char
        elif (category in ("Sm", "Sc") and char not in _MARKUP) or char in "%‰°":
            kept = f" {char} "
        else:
            kept = " "
        self[code] = kept
        return kept


_SIGNS = _Signs()


class Near(msgspec.Struct, frozen=True, kw_only=True):
    """Two texts, by their places, that say almost the same. `rule` is text (equal when normalised), shingles
    (`measure` is resemblance) or contained (`measure` is containment of the shorter); `measure` is in (0, 1]."""

    a: int
    b: int
    measure: Fraction
    rule: str


def normalised(text: str, *, heading: bool = False) -> str:
    """The words of a text, one space between them, without what typography and numbering add.

    Case, whitespace, punctuation, invisible characters and a number before an item (`1.`, `a)`; of a `heading` also
    `2.1`) go. What changes a meaning stays: digits with their points and signs, %, currency and mathematical signs,
    the `#` of C#.
    """
    return (_remembered if len(text) <= REMEMBERED else _normalised)(text, heading)


def _normalised(text: str, heading: bool) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    found = (_HEADING_NUMBER if heading else _ENUMERATOR).match(text)
    if found is not None and found.end() < len(text):
        text = text[found.end() :]
    text = _IN_NUMBER.sub(_kept, text)
    text = _SIGN.sub(_MINUS, text)
    if "#" in text:
        text = _HASH.sub(_kept, text)
    if "!=" in text:
        text = text.replace("!=", "≠")
    return " ".join(text.casefold().translate(_SIGNS).split())


_remembered = lru_cache(maxsize=1024)(_normalised)
"""What a brain looked at for copies, a compound looks at again for what is near."""


def _kept(found: re.Match[str]) -> str:
    """The sign as a letter of the private use area, so that it stays in its word."""
    return chr(_FIRST_KEPT + ord(found[0]))


def shingles(words: Sequence[str]) -> frozenset[tuple[str, ...]]:
    """Every run of three words; a shorter text is one shingle."""
    if len(words) < SHINGLE:
        return frozenset([tuple(words)] if words else [])
    return frozenset(zip(words, words[1:], words[2:], strict=False))


def near(texts: Sequence[str]) -> tuple[Near, ...]:
    """Which of these texts are near, each pair once with a < b, in order of places. An empty text is near to none.

    The measure of a pair depends on its two texts alone, and not on which of them is named first.
    """
    return near_words([normalised(text) for text in texts])


def near_words(plain: Sequence[str]) -> tuple[Near, ...]:
    """`near` of texts that are normalised already."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, text in enumerate(plain):
        if text:
            places[text].append(place)
    distinct = list(places)
    found = [
        Near(a=a, b=b, measure=Fraction(1), rule="text")
        for same in places.values()
        for a, b in combinations(same, 2)
    ]
    for i, j, measure, rule in _overlapping([shingles(text.split()) for text in distinct]):
        found += [
            Near(a=min(a, b), b=max(a, b), measure=measure, rule=rule)
            for a in places[distinct[i]]
            for b in places[distinct[j]]
        ]
    return tuple(sorted(found, key=lambda pair: (pair.a, pair.b)))


def _overlapping(sets: Sequence[frozenset[tuple[str, ...]]]) -> Iterator[tuple[int, int, Fraction, str]]:
    """Pairs of sets that overlap enough. Only shingles that two sets share are looked at again."""
    seen: set[tuple[str, ...]] = set()
    recurring: set[tuple[str, ...]] = set()
    for own in sets:
        recurring |= own & seen
        seen |= own
    holders: dict[tuple[str, ...], list[int]] = defaultdict(list)
    if recurring:
        for place, own in enumerate(sets):
            for shingle in own & recurring:
                holders[shingle].append(place)
    shared = holders.values()
    common: Counter[tuple[int, int]] = Counter()
    if sum(len(held) ** 2 for held in shared) <= MOST_PAIRS * len(sets) ** 2:
        for held in shared:
            common.update(combinations(held, 2))
    else:  # many texts of one mould: whole sets cost less than their parts
        common.update({(i, j): len(sets[i] & sets[j]) for i, j in combinations(range(len(sets)), 2)})
    for (i, j), both in common.items():
        a, b = len(sets[i]), len(sets[j])
        less, either = min(a, b), a + b - both
        if both * LEAST_RESEMBLANCE.denominator >= either * LEAST_RESEMBLANCE.numerator:
            yield i, j, Fraction(both, either), "shingles"
        elif less >= LEAST_CONTAINED and both * CONTAINMENT.denominator >= less * CONTAINMENT.numerator:
            yield i, j, Fraction(both, less), "contained"
