"""What relations do to an answer: weight for what was found, and, where asked for, the blocks that they lead to."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from consilience.model import Match, Via
from consilience.plan import features
from consilience.plan.candidates import Working, admits
from consilience.plan.expand import QUIET_ROLES, Reached, Spreading, added, spread
from consilience.plan.expand_edges import Relations
from consilience.plan.intent import Intent
from consilience.protocol import format_digest

USUAL = Spreading(seeds=10, depth=2, decay=0.7, weight=0.1)
"""For every question: what was found beside other matches ranks a little higher; nothing is brought in."""

ASSOCIATIVE = Spreading(seeds=10, depth=3, decay=0.5, weight=0.5)
"""For a question that asks for what is related: what is reached is brought in."""

MOST_BROUGHT = 60
"""Blocks that are brought in at most: as many as a generator is asked for."""


@dataclass(frozen=True, slots=True)
class Expanded:
    """What spreading from some candidates did: `added` to fused values (in parts of the best), and the `ways` to blocks
    that were brought in, best first. `us` is the time it took."""

    added: Mapping[int, float]
    ways: Mapping[int, Reached]
    us: float


NOTHING = Expanded({}, {}, 0.0)


def how_far(work: Working) -> Spreading | None:
    """How this question is spread: None where it is not."""
    if work.query.related:
        return ASSOCIATIVE
    if work.asked.intent is Intent.IDENTITY or work.reader.edges is None:
        return None
    return USUAL


def expand(
    work: Working, found: Sequence[tuple[int, float]], others: Collection[int], how: Spreading | None
) -> Expanded:
    """Spread from what was found: (ordinal, value over the best's), best first, of those that the floor lets through.

    Where relations are asked for, blocks are brought in that pass the question's filters and may be shown: `others`,
    candidates that the floor held back, and those that no generator found. Never from nothing: a silent brain stays so.
    """
    if how is None or len(found) < (1 if work.query.related else 2):
        return NOTHING
    started = time.perf_counter()
    reached = spread(found, Relations(work), how)
    ranks = added(reached, how)
    held = {n for n, _ in found}
    ways: dict[int, Reached] = {}
    if work.query.related:
        fresh = [each for each in reached if each.n not in held][: 2 * MOST_BROUGHT]
        may = admits(work, [each.n for each in fresh if each.n not in others]) | {*others}
        roles = features.roles(work, sorted(may))
        ways = {each.n: each for each in fresh if each.n in may and roles.get(each.n) not in QUIET_ROLES}
        ways = dict(list(ways.items())[:MOST_BROUGHT])
    kept = {n: value for n, value in ranks.items() if n in held or n in ways}
    return Expanded(kept, ways, (time.perf_counter() - started) * 1e6)


def with_ways(work: Working, matches: Sequence[Match], ways: Mapping[int, Reached]) -> list[Match]:
    """Say of matches that were brought in from where, and along what."""
    if not ways:
        return list(matches)
    names = work.reader.view.ids({*ways, *(way.seed for way in ways.values())})
    told = {
        format_digest(names[n]): Via(
            block_id=format_digest(names[way.seed]), by=tuple(r.value for r in way.way)
        )
        for n, way in ways.items()
    }
    return [
        msgspec.structs.replace(match, via=told[match.block_id]) if match.block_id in told else match
        for match in matches
    ]
