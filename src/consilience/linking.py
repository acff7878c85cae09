"""Near agreement under a compound's answer: matches of different brains that say the same, in almost the same words or
in others, are linked. Pure.

Links are shown and count nowhere: the fused rank is that of exact agreement (decisions 0105, 0290).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from consilience.index.meaning import Meanings, alike
from consilience.model import CompoundMatch, NearMatch
from consilience.near import near_words, normalised

if TYPE_CHECKING:
    from consilience.index.meaning import Floats

MOST = 1000
"""Matches of one answer that are compared."""

LEAST_LENGTH = 40
"""Characters of a normalised text below which its vector says little: greetings, headings, numbers."""

JUDGED = ("prose", "list")
"""Roles whose passages are compared: code, tables and references are alike in form where they differ in substance."""


def linked(
    matches: Sequence[CompoundMatch],
    *,
    fused: bool,
    meanings: Mapping[str, Meanings] = MappingProxyType({}),
) -> tuple[tuple[CompoundMatch, ...], tuple[str, ...]]:
    """The matches with `near` filled in, and a warning where there are more than are compared.

    `meanings`, by name of brain, tell where its matches stand; brains without are compared by their words alone. A
    match names the others, of other brains than its own, that are near to it: those in the same words first, nearest
    first, then by name of brain and block id. Neither the order in which brains were named nor that of the matches
    shows in it.
    """
    compared = _compared(matches, fused)
    plain = [normalised(matches[place].text) for place in compared]
    links: dict[int, list[_Link]] = {}
    worded = set()
    for pair in near_words(plain):
        here, there = compared[pair.a], compared[pair.b]
        worded.add((here, there))
        for mine, other in ((here, there), (there, here)):
            names = _other_brains(matches[mine], matches[other])
            _add(links, mine, matches[other].block_id, names, float(pair.measure), pair.rule)
    long_enough = {place for place, text in zip(compared, plain, strict=True) if len(text) >= LEAST_LENGTH}
    for here, there, measure in _alike(matches, long_enough, meanings):
        if (min(here, there), max(here, there)) not in worded:
            names = _other_brains(matches[here], matches[there])
            _add(links, here, matches[there].block_id, names, measure, "meaning")
    out = list(matches)
    for place, found in links.items():
        named = tuple(
            NearMatch(brain=link.brain, block_id=link.block_id, measure=-link.negative, rule=link.rule)
            for link in sorted(found)
        )
        out[place] = msgspec.structs.replace(matches[place], near=named)
    left = len(matches) - len(compared)
    text = f"near agreement was looked for among {len(compared):,} of {len(matches):,} matches only"
    return tuple(out), (text,) if left else ()


class _Link(NamedTuple):
    """A link in the order in which links are shown."""

    by_meaning: bool
    negative: float
    brain: str
    block_id: str
    rule: str


def _add(
    links: dict[int, list[_Link]], place: int, block_id: str, names: Iterable[str], measure: float, rule: str
) -> None:
    for name in names:
        links.setdefault(place, []).append(_Link(rule == "meaning", -measure, name, block_id, rule))


def _alike(
    matches: Sequence[CompoundMatch], places: Collection[int], meanings: Mapping[str, Meanings]
) -> Iterator[tuple[int, int, float]]:
    """Matches that are near in meaning, each pair both ways: (here, there, measure).

    Where brains hold the same block the largest cosine between two different ones counts, in both directions. The
    rows stand in the order of brains and ids, so that the arithmetic is the same however they were named.
    """
    held: dict[str, dict[str, int]] = {name: {} for name in meanings}
    for place in places:
        match = matches[place]
        if match.role in JUDGED:
            for contribution in match.brains:
                if contribution.brain in held:
                    held[contribution.brain][match.block_id] = place
    for names in _of_one_model([name for name, own in held.items() if own], meanings):
        rows: list[tuple[str, int]] = []
        vectors: list[Floats] = []
        for name in names:
            own = held[name]
            found, placed = meanings[name].placed(sorted(own))
            rows += [(name, own[block_id]) for block_id in found]
            vectors.append(placed)
        yield from _paired(matches, rows, vectors)


def _paired(
    matches: Sequence[CompoundMatch], rows: Sequence[tuple[str, int]], vectors: Sequence[Floats]
) -> Iterator[tuple[int, int, float]]:
    if len({name for name, _ in rows}) < 2:
        return
    numbers = {name: number for number, name in enumerate(dict.fromkeys(name for name, _ in rows))}
    best: dict[tuple[int, int], float] = {}
    for a, b, measure in alike(vectors, [numbers[name] for name, _ in rows]):
        pair = (rows[a][1], rows[b][1])
        for key in (pair, pair[::-1]):
            best[key] = max(measure, best.get(key, 0.0))
    for (here, there), measure in best.items():
        yield here, there, measure


def _of_one_model(brains: Iterable[str], meanings: Mapping[str, Meanings]) -> Iterator[list[str]]:
    """The names of those brains whose vectors can be compared, of each model that two or more share."""
    tags: dict[str, list[str]] = {}
    for name in sorted(brains):
        tags.setdefault(meanings[name].tag, []).append(name)
    return (names for names in tags.values() if len(names) > 1)


def _compared(matches: Sequence[CompoundMatch], fused: bool) -> list[int]:
    """Places of the matches that are compared: the best, of every brain as many."""
    if fused or len(matches) <= MOST:
        return list(range(min(MOST, len(matches))))
    sizes = Counter(match.brains[0].brain for match in matches)
    each = MOST // len(sizes)
    return [place for place, match in enumerate(matches) if match.brains[0].rank <= each]


def _other_brains(mine: CompoundMatch, other: CompoundMatch) -> Iterator[str]:
    """Brains that hold `other` where some other brain holds `mine`; none for the same block, which is exact."""
    if mine.block_id == other.block_id:
        return
    for theirs in other.brains:
        if any(own.brain != theirs.brain for own in mine.brains):
            yield theirs.brain
