"""What relations do to an answer: weight for what was found, and, where asked for, the blocks that they lead to."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence

import msgspec

from consilience.model import Match, Via
from consilience.plan import features
from consilience.plan.candidates import Working, admits
from consilience.plan.expand import Reached, Relation, Spreading, added, spread
from consilience.plan.expand_edges import Relations
from consilience.plan.intent import BROUGHT, Intent
from consilience.plan.rank import QUIET_ROLES
from consilience.protocol import format_digest

ORDER = (Relation.NEXT, Relation.PREVIOUS)
USUAL = Spreading(seeds=10, depth=2, decay=0.7, weight=0.1, along=ORDER)
"""For every question: what was found beside other matches ranks a little higher; nothing is brought in."""

ASSOCIATIVE = Spreading(seeds=10, depth=3, decay=0.5, weight=0.9)
"""For a question that asks for what is related: what is reached is brought in, beside what is found as usual. What was
found anyway gains nothing here, or two poor matches of one subject would rank each other above a good one."""


LACKING = 2.0
"""What stands beside a match says nothing of it where it lacks half of the question that another one holds."""


class Expanded(msgspec.Struct, frozen=True):
    """What spreading from some candidates did: `added` to fused values (in parts of the best), and the `ways` to blocks
    that were brought in, best first. `us` is the time it took."""

    added: Mapping[int, float]
    ways: Mapping[int, Reached]
    us: float


def how_far(work: Working) -> Spreading | None:
    """How what was found is weighed by what stands beside it: None where it is not."""
    if work.asked.intent is Intent.IDENTITY or work.reader.edges is None:
        return None
    return USUAL


def expand(
    work: Working,
    found: Sequence[tuple[int, float, float]],
    others: Collection[int],
    how: Spreading | None,
    shown: Callable[[Sequence[int]], Collection[int]],
) -> Expanded:
    """Spread from what was found: (ordinal, value over the best's, coverage), best first, of those that the floor lets
    through. What stands beside a block weighs the less, the less the block itself holds of what another one holds, and
    lifts nothing of a quiet role.

    Where relations are asked for, blocks are brought in that pass the question's filters and may be shown: `others`,
    candidates that the floor held back, and those that no generator found and that may be `shown` at the snapshot.
    Never from nothing: a silent brain stays so.
    """
    started = time.perf_counter()
    covered = {n: coverage for n, _, coverage in found}
    most = max(covered.values(), default=0.0)
    seeds = [(n, value) for n, value, _ in found]
    parts: dict[int, float] = {}
    ways: dict[int, Reached] = {}
    if how is not None and len(found) > 1:
        ranks = added(spread(seeds, Relations(work, how.along), how), how)
        ranks = {n: value for n, value in ranks.items() if n in covered}
        roles = features.roles(work, sorted(ranks))
        parts = {
            n: value * max(0.0, 1.0 - LACKING * (most - covered[n]))
            for n, value in ranks.items()
            if roles.get(n) not in QUIET_ROLES
        }
    if work.query.related and found:
        reached = spread(seeds, Relations(work, ASSOCIATIVE.along), ASSOCIATIVE)
        fresh = [each for each in reached if each.n not in covered]
        may = shown([each.n for each in fresh if each.n not in others])
        ways = _brought(work, [each for each in fresh if each.n in others or each.n in may], others)
        ranks = added(list(ways.values()), ASSOCIATIVE)
        parts |= {n: min(value, ASSOCIATIVE.weight) for n, value in ranks.items()}
    return Expanded(parts, ways, (time.perf_counter() - started) * 1e6)


def _brought(work: Working, fresh: Sequence[Reached], others: Collection[int]) -> dict[int, Reached]:
    """What is brought in of what was reached, best first: what the filters admit and says something by itself."""
    most = min(BROUGHT, 2 * work.query.limit)
    fresh = fresh[: 2 * most]
    may = admits(work, [each.n for each in fresh if each.n not in others]) | {*others}
    roles = features.roles(work, sorted(may))
    ways = {each.n: each for each in fresh if each.n in may and roles.get(each.n) not in QUIET_ROLES}
    return dict(list(ways.items())[:most])


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
