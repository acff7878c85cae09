"""Samples of what things cost here: each part of a question is run a few times, and held against its estimate.

Only `index` runs these, where it measures the brain anyway: a question writes nothing.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice

from consilience.index.scan import Scan
from consilience.model import SEARCHED_BY_DEFAULT, Filters, Query
from consilience.plan import planner
from consilience.plan.answer import answer, begin
from consilience.plan.cost import CostModel
from consilience.plan.entries import CHUNK, entries_after, entries_of
from consilience.plan.questions import noise_questions
from consilience.plan.reader import Reader
from consilience.plan.selectivity import occurrences

QUESTIONS = 8
SCANNED = CHUNK
READ = 100
LISTED = 3


def probe(reader: Reader) -> dict[str, list[float]]:
    """Actual over estimated time, by part of the cost model; nothing of a part that the brain cannot run.

    The first run of each part is not counted: it opens what the others find open.
    """
    if reader.lexical is None or not reader.lexical.statistics.documents:
        return {}
    raw = dataclasses.replace(reader, costs=CostModel())
    (_, asked), *_ = noise_questions(reader.lexical.statistics.languages, across=False)
    questions = asked[:: max(1, len(asked) // QUESTIONS)][: QUESTIONS + 1]
    found: dict[str, list[float]] = {
        "lexical": [_lexical(raw, text) for text in questions],
        "scan": [_scan(raw, text) for text in questions[: LISTED + 1]],
        "read": _read(raw),
        "facet": _facets(raw),
        "finish": [_finish(raw, text) for text in questions],
    }
    if reader.vectors is not None and reader.embedder is not None and reader.vectors.count:
        found |= _meaning(raw, questions)
    return {part: ratios[1:] for part, ratios in found.items() if len(ratios) > 1}


def _timed(run: Callable[[], object]) -> float:
    """Microseconds that it took."""
    started = time.perf_counter()
    run()
    return (time.perf_counter() - started) * 1e6


def _lexical(reader: Reader, text: str) -> float:
    work, _ = begin(reader, Query(text=text))
    index, asked = reader.lexical, work.lexical_query
    assert index is not None and asked is not None
    us = _timed(lambda: index.search(asked, planner.DEPTH, modules=work.modules))
    documents = index.statistics.documents
    return us / reader.costs.lexical(sum(occurrences(w.idf, documents) for w in asked.words if w.known))


def _scan(reader: Reader, text: str) -> float:
    """Reading and scoring the first blocks."""
    work, _ = begin(reader, Query(text=text))
    scorer = work.scorer()
    assert scorer is not None
    started = time.perf_counter()
    entries = islice(entries_after(reader.view, 0, broken=[]), SCANNED)
    scores = [scorer.score(e.text, e.context, e.language) for e in entries]
    return (time.perf_counter() - started) * 1e6 / reader.costs.scan(len(scores))


def _read(reader: Reader) -> list[float]:
    """Reading candidates, from all over the brain."""
    most = max(1, reader.view.max_n)
    found = []
    for shift in range(LISTED + 1):
        ns = sorted({1 + (i * most // READ + shift) % most for i in range(READ)})
        started = time.perf_counter()
        read = list(entries_of(reader.view, ns, reader.facets))
        found.append((time.perf_counter() - started) * 1e6 / reader.costs.read(max(1, len(read))))
    return found


def _facets(reader: Reader) -> list[float]:
    """Listing all of the most frequent kind."""
    facets = reader.facets
    kinds = facets.histogram("kind") if facets is not None else {}
    kind = max(sorted(k for k in kinds if k), key=lambda k: kinds[k], default=None)
    if facets is None or kind is None:
        return []
    filters = Filters(kinds=(kind,))
    return [
        _timed(lambda: facets.eligible(filters, SEARCHED_BY_DEFAULT)) / reader.costs.facets(kinds[kind])
        for _ in range(LISTED + 1)
    ]


def _finish(reader: Reader, text: str) -> float:
    """What a whole answer takes beside its generators."""
    outcome = answer(reader, Query(text=text))
    plan = outcome.chosen.plan
    beside = outcome.actual_us - sum(each.us for each in outcome.ran)
    blocks = outcome.chosen.situation.blocks
    return beside / reader.costs.finish(
        planner.finished(len(plan.steps), outcome.chosen.situation.depth, blocks)
    )


def _meaning(reader: Reader, questions: Sequence[str]) -> dict[str, list[float]]:
    """Embedding a question, and both scans."""
    index, costs = reader.vectors, reader.costs
    assert index is not None and reader.embedder is not None
    embedder, codes = reader.embedder(), index.coarse
    found: dict[str, list[float]] = {"embed": [], "vector": [], "two_stage": [], "hnsw": []}
    for text in questions:
        unheard = f"{text} {time.perf_counter_ns() % 1000}"  # what was asked before is remembered
        started = time.perf_counter()
        vector = embedder.embed([unheard], role="query")[0]
        found["embed"].append((time.perf_counter() - started) * 1e6 / costs.embed())
        us = _timed(partial(index.search, vector, planner.DEPTH))
        found["vector"].append(us / costs.vectors(index.count))
        if codes is not None:
            us = _timed(partial(index.search, vector, planner.DEPTH, scan=Scan.TWO_STAGE))
            again = planner.looked_at_again(codes.rows, index.count, planner.DEPTH)
            found["two_stage"].append(us / costs.two_stage(codes.rows, again))
        if (graph := index.hnsw) is not None:
            us = _timed(partial(index.search, vector, planner.DEPTH, scan=Scan.HNSW))
            width, again = planner.looked_at_along(graph.rows, index.count, planner.DEPTH)
            found["hnsw"].append(us / costs.hnsw(graph.rows, width, again))
    return found
