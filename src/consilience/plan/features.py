"""What a candidate is judged by: coverage, similarity, role, and whether it says exactly what was asked for."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from consilience.plan.candidates import Working, entries_for

RARE_SHARE = 0.002
RARE_COUNT = 5
"""An identifier in at most this many blocks, or this share of them, is a rare exact term."""


def coverage(work: Working, ns: Sequence[int]) -> dict[int, float]:
    """The share of the question's words, weighted by rarity, that each candidate holds: 0..1.

    The index tells it of what it covers; the rest is read.
    """
    scorer, index, asked = work.scorer(), work.reader.lexical, work.lexical_query
    if scorer is None or asked is None:
        return {}
    covered = index.watermark if index is not None else 0
    read = [n for n in ns if n > covered or n in work.unindexed]
    found = index.coverage(asked, sorted({*ns} - {*read})) if index is not None else {}
    for entry in entries_for(work, read):
        found[entry.n] = scorer.coverage(entry.text, entry.context, entry.language)
    return found


def cosines(work: Working, ns: Sequence[int]) -> dict[int, float]:
    """Similarity in the brain's own model, if the plan embedded the question; absent for a block with no vector."""
    index = work.reader.vectors
    if index is None or work.question_vector is None or not ns:
        return {}
    values = index.scores(work.question_vector, ns)
    return {n: float(v) for n, v in zip(ns, values, strict=True) if not math.isnan(float(v))}


def roles(work: Working, ns: Sequence[int]) -> dict[int, str]:
    """The role of each candidate, from the facets where they know it."""
    facets = work.reader.facets
    found = facets.roles(ns) if facets is not None else {}
    found.update((e.n, e.role) for e in entries_for(work, [n for n in ns if n not in found]))
    return found


def exact(work: Working, ns: Sequence[int]) -> set[int]:
    """Candidates that the floor never withholds: they hold a quoted phrase, or a rare exact term of the question."""
    asked, lexical = work.asked, work.lexical_query
    phrases = [_folded(p) for p in asked.phrases] if lexical is not None and lexical.phrases else []
    rare = _rare_words(work) if asked.identifiers and lexical is not None else ()
    if not phrases and not rare:
        return set()
    found = set()
    for entry in entries_for(work, ns):
        text = _folded(entry.text)
        if any(p in text for p in phrases) or any(
            re.search(rf"(?<!\w){re.escape(w)}(?!\w)", entry.text) for w in rare
        ):
            found.add(entry.n)
    return found


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _rare_words(work: Working) -> tuple[str, ...]:
    lexical = work.lexical_query
    assert lexical is not None
    blocks = max(1, sum(work.reader.view.count(m) for m in work.modules))
    most = max(RARE_COUNT, RARE_SHARE * blocks)
    least_idf = math.log(1.0 + (blocks - most + 0.5) / (most + 0.5))
    idf = {w.exact: w.idf for w in lexical.words if w.known}
    return tuple(w for w in work.asked.identifiers if idf.get(w.casefold(), 0.0) >= least_idf)
