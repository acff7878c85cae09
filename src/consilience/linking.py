"""Near agreement under a compound's answer: matches of different brains in almost the same words are linked. Pure.

Links are shown and count nowhere: the fused rank is that of exact agreement (decision 0105).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

import msgspec

from consilience.model import CompoundMatch, NearMatch
from consilience.near import near

MOST = 1000
"""Matches of one answer that are compared."""


def linked(
    matches: Sequence[CompoundMatch], *, fused: bool
) -> tuple[tuple[CompoundMatch, ...], tuple[str, ...]]:
    """The matches with `near` filled in, and a warning where there are more than are compared.

    A match names the others, of other brains than its own, that are near to it; nearest first, then by name of brain
    and block id. Neither the order in which brains were named nor that of the matches shows in it.
    """
    compared = _compared(matches, fused)
    found: dict[int, list[tuple[Fraction, str, str, str]]] = {}
    for pair in near([matches[place].text for place in compared]):
        for here, there in ((pair.a, pair.b), (pair.b, pair.a)):
            mine, other = matches[compared[here]], matches[compared[there]]
            names = list(_other_brains(mine, other))
            if names:
                entries = found.setdefault(compared[here], [])
                entries += [(-pair.measure, name, other.block_id, pair.rule) for name in names]
    out = list(matches)
    for place, entries in found.items():
        links = tuple(
            NearMatch(brain=brain, block_id=block, measure=float(-negative), rule=rule)
            for negative, brain, block, rule in sorted(entries)
        )
        out[place] = msgspec.structs.replace(matches[place], near=links)
    left = len(matches) - len(compared)
    text = f"near agreement was looked for among {len(compared):,} of {len(matches):,} matches only"
    return tuple(out), (text,) if left else ()


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
