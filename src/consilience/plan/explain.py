"""Why one brain answers as it does: an outcome, or a plan that did not run, as an Explanation."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from consilience.index.scan import Scan
from consilience.model import Explanation, FloorReport, IndexReport, PlanReport, Query
from consilience.plan import planner
from consilience.plan.answer import Outcome, answer, begin, check
from consilience.plan.candidates import Working
from consilience.plan.expand_answer import how_far
from consilience.plan.floor import FLOOR, SPEAKS
from consilience.plan.reader import Reader
from consilience.protocol import MemoryType, format_digest


def explain(reader: Reader, query: Query, *, analyze: bool) -> Explanation:
    """The explanation of one question. With `analyze` it is asked, and what was measured stands beside what was
    estimated; without, it is only planned, so the floor shows what it would compare with but withholds nothing.
    Raises QueryError as `answer` does."""
    check(query)
    if analyze:
        outcome = answer(reader, query)
        return _explanation(outcome.work, outcome.chosen, outcome)
    work, chosen = begin(reader, query)
    return _explanation(work, chosen, None)


def _explanation(work: Working, chosen: planner.Chosen, outcome: Outcome | None) -> Explanation:
    reader = work.reader
    snapshot = reader.view.snapshot
    return Explanation(
        brain=reader.name,
        query=work.query,
        snapshot=format_digest(snapshot.digest) if snapshot is not None else None,
        intent=work.asked.intent.value,
        plans=_plans(chosen, outcome),
        indices=_indices(work, chosen),
        statistics=_statistics(reader, work.modules, chosen),
        floor=_floor(work, outcome),
        analyzed=outcome is not None,
        count=len(outcome.bundle.matches) if outcome is not None else None,
        warnings=outcome.bundle.warnings if outcome is not None else tuple(dict.fromkeys(work.warnings)),
    )


def _plans(chosen: planner.Chosen, outcome: Outcome | None) -> tuple[PlanReport, ...]:
    first = planner.report(chosen.plan, chosen=True, reason=chosen.reason)
    if outcome is not None:
        weights = outcome.bundle.plan.weights
        measured = tuple(
            msgspec.structs.replace(
                g, weight=weight, actual_us=round(ran.us, 1), actual_rows=len(ran.hits.hits)
            )
            for g, ran, weight in zip(first.generators, outcome.ran, weights, strict=True)
        )
        first = msgspec.structs.replace(first, generators=measured, actual_us=round(outcome.actual_us, 1))
    return (first, *(planner.report(p, chosen=False, reason=why) for p, why in chosen.rejected))


def _indices(work: Working, chosen: planner.Chosen) -> tuple[IndexReport, ...]:
    reader, s = work.reader, chosen.situation
    used = {step.generator for step in chosen.plan.steps}
    behind = max(0, reader.view.max_n - reader.lexical.watermark) if reader.lexical is not None else 0
    lexical = IndexReport(
        name="lexical",
        available=s.has_lexical,
        consulted="lexical" in used,
        covered=min(s.indexed, s.blocks),
        of=s.blocks,
        detail=("the rest is read block by block" if behind else "")
        if s.has_lexical
        else "not built: the brain scans",
    )
    vectors = IndexReport(
        name="vectors",
        available=reader.vectors is not None,
        consulted="vectors" in used,
        covered=min(s.embedded, s.blocks),
        of=s.blocks,
        detail=reader.embedder_note or _vectors(reader, chosen),
    )
    facets = IndexReport(
        name="facets",
        available=s.has_facets,
        consulted=s.eligible is not None and s.has_facets,
        covered=min(reader.facets.count(work.modules), s.blocks) if reader.facets is not None else 0,
        of=s.blocks,
        detail=f"about {s.eligible:,.0f} eligible" if s.eligible is not None else "no filters",
    )
    return lexical, vectors, facets, _relations(work, s.blocks)


def _relations(work: Working, blocks: int) -> IndexReport:
    """What is known of order and links, and how far it is followed."""
    edges, how = work.reader.edges, how_far(work)
    detail = "not built: nothing is followed; run `index`"
    if edges is not None:
        documents, linking = edges.counts()
        detail = f"{documents:,} documents, {linking:,} blocks with links"
    if how is not None:
        detail += f"; {how.depth} steps from the best {how.seeds}, weight {how.weight:g}"
    return IndexReport(
        name="relations",
        available=edges is not None,
        consulted=how is not None and edges is not None,
        covered=min(edges.placed(), blocks) if edges is not None else 0,
        of=blocks,
        detail=detail,
    )


def _vectors(reader: Reader, chosen: planner.Chosen) -> str:
    """The model, and how its vectors are scanned where there are two ways."""
    if reader.vectors is None:
        return "not built"
    codes, s, said = reader.vectors.coarse, chosen.situation, reader.vectors.tag
    trust = reader.trust
    if trust is not None and trust.told:
        measured = f"{trust.ratio:.2f} of what the words find (at most {trust.at_most:.2f})"
        said += (
            f"; weak, {measured}: they come after them"
            if trust.weak
            else f"; {measured}: weight {trust.weight:.2f}"
        )
    if trust is not None and not trust.reads_across:
        said += f"; across languages {trust.across:.2f} of translations"
    scans = {step.scan for step in chosen.plan.steps}
    if reader.vectors.hnsw_lacks_library:
        said += "; its graph of neighbours needs usearch: pip install 'consilience[ann]'"
    if Scan.HNSW in scans:
        return f"{said}; along a graph of neighbours, {s.hnsw or 0.0:.3f} of what an exact scan finds"
    if Scan.TWO_STAGE in scans:
        return f"{said}; two-stage scan, {s.two_stage or 0.0:.3f} of what an exact one finds"
    if codes is None:
        return said
    why = "not measured for this" if s.two_stage is None else f"two stages find {s.two_stage:.3f} of it"
    return f"{said}; exact scan, {why}"


def _statistics(reader: Reader, modules: Sequence[MemoryType], chosen: planner.Chosen) -> str:
    statistics = reader.statistics
    if statistics is None:
        return "none measured: plans are pessimistic; run `index`"
    measured = statistics.measured_at(modules)
    if chosen.situation.stale:
        now = chosen.situation.blocks
        if not reader.view.is_head:
            return f"of a later state: {measured:,} blocks, {now:,} at this snapshot: plans are pessimistic"
        return f"stale: measured at {measured:,} blocks, now {now:,}: plans are pessimistic"
    return f"fresh: measured at {measured:,} blocks"


def _floor(work: Working, outcome: Outcome | None) -> FloorReport:
    reader, query = work.reader, work.query
    noise = reader.statistics.noise_for(work.language) if reader.statistics is not None else None
    if noise is None:
        detail = "no noise measured yet: nothing is withheld; run `index`"
    elif not query.floor:
        detail = "switched off for this question"
    else:
        measured = "coverage" if noise.similarity is None else "coverage and similarity"
        if noise.similarity is not None and not noise.held:
            measured = "similarity"
        detail = f"{measured} against {noise.samples} questions about other things, in {noise.language}"
    return FloorReport(
        applied=outcome.floor_applied if outcome is not None else noise is not None and query.floor,
        threshold=FLOOR if noise is not None else None,
        speaks=SPEAKS if noise is not None else None,
        samples=noise.samples if noise is not None else 0,
        best=outcome.best if outcome is not None else None,
        best_withheld=outcome.best_withheld if outcome is not None else None,
        withheld=outcome.bundle.withheld if outcome is not None else 0,
        detail=detail,
    )
