"""How many blocks a filter leaves, and how many entries of the index a word has: estimates to plan by."""

from __future__ import annotations

import math
from collections.abc import Sequence

from consilience.index.facet_profile import FacetProfile, ValueCounts
from consilience.model import Filters
from consilience.plan.reader import Reader
from consilience.plan.statistics import Statistics
from consilience.protocol import MemoryType


def estimated(reader: Reader, filters: Filters, modules: Sequence[MemoryType], blocks: int) -> float:
    """About how many of `blocks` blocks pass the filters (the modules are those asked).

    From the statistics of each module, with the facets' own counts of the values asked for; from those counts alone
    where the statistics are stale or absent; all of the blocks where there are no facets.
    """
    facets, statistics = reader.facets, reader.statistics
    if facets is None:
        return float(blocks)
    if statistics is None or not statistics.modules or statistics.stale(blocks, modules):
        return facets.estimate(filters, modules)
    asked = {
        "subjects": facets.labelled("subject", filters.subjects) if filters.subjects else None,
        "tags": facets.labelled("tag", filters.tags) if filters.tags else None,
        "sources": facets.labelled("origin", filters.sources) if filters.sources else None,
    }
    return sum(_of_module(statistics, m, filters, asked) for m in modules)


def _of_module(
    statistics: Statistics, module: MemoryType, filters: Filters, asked: dict[str, int | None]
) -> float:
    """As if the facets were independent inside the module. A value's entries are shared among the modules in
    proportion to the entries that have a value of that facet there."""
    from consilience.index.dates import window
    from consilience.index.facet_rules import fold

    held = statistics.module(module)
    if held is None or not held.facets.entries:
        return 0.0
    profile = held.facets
    total = float(profile.entries)
    share = 1.0
    if filters.kinds:
        share *= min(1.0, sum(profile.kinds.get(kind, 0) for kind in {*map(fold, filters.kinds)}) / total)
    bounds = window(filters.since, filters.until)
    if bounds is not None:
        share *= min(1.0, profile.dates.between(bounds.start, bounds.end) / total)
    for facet, count in asked.items():
        if count is not None:
            everywhere = sum(_counts(m.facets, facet).entries for m in statistics.modules)
            share *= min(1.0, count * _counts(profile, facet).entries / max(1, everywhere) / total)
    return total * share


def _counts(profile: FacetProfile, facet: str) -> ValueCounts:
    found = getattr(profile, facet)
    assert isinstance(found, ValueCounts)
    return found


def occurrences(idf: float, documents: int) -> float:
    """How many of so many documents hold a word, back from its rarity: idf = ln(1 + (N - n + 0.5) / (n + 0.5))."""
    return max(0.0, (documents + 1.0) / math.exp(idf) - 0.5)
