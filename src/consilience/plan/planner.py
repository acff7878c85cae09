"""From a question to the cheapest plan that is expected to miss little enough: enumerate all, cost all, choose one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import product
from typing import TYPE_CHECKING

import msgspec

from consilience.errors import UsageError
from consilience.index.scan import Scan
from consilience.model import SEARCHED_BY_DEFAULT, GeneratorReport, PlanReport, PlanSummary, Query, Value
from consilience.plan.cost import SHIPPED, CostModel
from consilience.plan.intent import BROUGHT, FOUND_SHARE, RECALL_FLOOR, Asked, Intent
from consilience.plan.reader import Reader
from consilience.plan.selectivity import estimated, occurrences
from consilience.plan.statistics import TwoStage
from consilience.protocol import MemoryType

if TYPE_CHECKING:
    from consilience.index.question import LexicalQuery

DEPTH = 60
"""Candidates asked of each generator, at least."""

PUSH_AT_MOST = 20_000
"""Eligible ordinals that are handed to the lexical index; beyond this it answers first and is filtered after."""

MOST_ASKED = 50
"""Candidates that are asked for at most to meet a filter afterwards, as a multiple of the depth."""

LINKING_SAVES = 0.2
"""Which share of a question's cost a graph of neighbours has to save to be made (docs/decisions/0260)."""

SPARE = 2.0
"""How many standard deviations more candidates are asked for than a filter is expected to let a full depth through."""

LEXICAL_RECALL: dict[Intent, float] = {
    Intent.EXACT: 0.99,
    Intent.LEXICAL: 0.97,
    Intent.SEMANTIC: 0.75,
    Intent.ASSOCIATIVE: 0.75,
}
VECTOR_RECALL: dict[Intent, float] = {
    Intent.EXACT: 0.40,
    Intent.LEXICAL: 0.60,
    Intent.SEMANTIC: 0.85,
    Intent.ASSOCIATIVE: 0.85,
}
STALE_PENALTY = 1.5
"""How much dearer a plan is taken to be when the statistics behind its estimate are stale."""


class Access(StrEnum):
    """How a generator meets the filters: `AFTER` holds what it found against the list of what they admit, `CHECKED`
    reads what it found, and lists nothing."""

    ALL = "all"
    PUSHED = "push-down"
    AFTER = "post-filter"
    CHECKED = "check each"
    ROWS = "rows"

    @property
    def filters_late(self) -> bool:
        return self in (Access.AFTER, Access.CHECKED)


class Step(Value, frozen=True, kw_only=True):
    """One generator in a plan: `k` candidates asked for, of which `keep` at most are kept; `us` and `rows` as
    estimated. `scan`: how vectors are looked through."""

    generator: str
    access: Access
    k: int
    keep: int
    us: float
    rows: float
    scan: Scan = Scan.EXACT

    @property
    def name(self) -> str:
        return self.generator if self.scan is Scan.EXACT else f"{self.scan.value} {self.generator}"

    @property
    def returns(self) -> tuple[str, ...]:
        """What decides over what it returns: how an approximate one meets the filters, not how an exact one does."""
        if self.scan is Scan.EXACT:
            return (self.generator,)
        return self.generator, self.scan.value, self.access.value


class Plan(Value, frozen=True, kw_only=True):
    """Generators that run one after another, then fusion. `us` and `recall` are estimates."""

    steps: tuple[Step, ...]
    us: float
    recall: float

    @property
    def returns(self) -> tuple[tuple[str, ...], ...]:
        """Plans of which this is equal return the same (docs/decisions/0261)."""
        return tuple(step.returns for step in self.steps)

    @property
    def name(self) -> str:
        names = "+".join(s.name for s in self.steps)
        access = next((s.access for s in self.steps if s.access is not Access.ALL), None)
        return names if access is None else f"{names} ({access})"


class Situation(Value, frozen=True, kw_only=True):
    """What planning needs to know: sizes, what is available, how selective the filters are (None: no filters).

    `two_stage`: the measured recall of the two-stage scan over the `coded` first rows; `hnsw`: that of the graph of
    neighbours over the `linked` first rows. None where there is none, or where it is not known for what is asked.
    """

    blocks: int
    indexed: int
    embedded: int
    postings: float
    known_share: float
    eligible: float | None
    depth: int
    stale: bool
    has_lexical: bool
    has_vectors: bool
    has_facets: bool
    has_edges: bool = False
    coded: int = 0
    two_stage: float | None = None
    linked: int = 0
    hnsw: float | None = None


class Chosen(Value, frozen=True, kw_only=True):
    """The plan that runs, and every other one with the reason it does not."""

    plan: Plan
    rejected: tuple[tuple[Plan, str], ...]
    reason: str
    situation: Situation


def situation_of(
    reader: Reader,
    query: Query,
    modules: Sequence[MemoryType],
    lexical: LexicalQuery | None,
    blocks: int,
    *,
    filtered: bool,
) -> Situation:
    """Sizes from the brain's own statistics; nothing is read that grows with the brain."""
    eligible: float | None = None
    if filtered:
        eligible = estimated(reader, query.filters, modules, blocks)
    known = [w for w in lexical.words if w.known] if lexical is not None else []
    total = sum(w.idf for w in lexical.words) if lexical is not None else 0.0
    statistics = reader.statistics
    behind = reader.lexical is not None and reader.lexical.watermark < reader.view.max_n
    share = sum(w.idf for w in known) / total if total else 0.0
    stale = statistics is None or statistics.stale(blocks, modules)
    codes = reader.vectors.coarse if reader.vectors is not None else None
    known_codes = _known_codes(reader) if not stale else None
    graph = reader.vectors.hnsw if reader.vectors is not None and reader.view.is_head and not stale else None
    return Situation(
        blocks=blocks,
        indexed=_indexed(reader, modules),
        embedded=reader.vectors.count if reader.vectors is not None else 0,
        postings=sum(occurrences(w.idf, reader.lexical.statistics.documents) for w in known)
        if reader.lexical is not None
        else 0.0,
        known_share=1.0 if behind else share,  # blocks that are not indexed yet may hold any word
        eligible=eligible,
        depth=max(DEPTH, 2 * query.limit),
        stale=stale,
        has_lexical=reader.lexical is not None,
        has_vectors=_can_compare(reader, modules),
        has_facets=reader.facets is not None,
        has_edges=reader.edges is not None,
        coded=codes.rows if codes is not None and known_codes is not None else 0,
        two_stage=known_codes.recall(query.limit) if known_codes is not None else None,
        linked=graph.rows if graph is not None else 0,
        hnsw=graph.recall(query.limit) if graph is not None else None,
    )


def _known_codes(reader: Reader) -> TwoStage | None:
    """What is known of the very codes that would be scanned. At an older snapshot the rows are chosen one by one."""
    statistics, index = reader.statistics, reader.vectors
    codes = index.coarse if index is not None else None
    found = statistics.two_stage if statistics is not None else None
    if found is None or codes is None or found.generation != codes.generation or not reader.view.is_head:
        return None
    return found


def _indexed(reader: Reader, modules: Sequence[MemoryType]) -> int:
    if reader.lexical is None:
        return 0
    counts = reader.lexical.statistics.modules
    return sum(counts.get(m.value, 0) for m in modules)


def _can_compare(reader: Reader, modules: Sequence[MemoryType]) -> bool:
    """Whether there are vectors of the brain's own model over any of the modules asked."""
    embedded = set(SEARCHED_BY_DEFAULT) & set(modules)
    return (
        bool(embedded)
        and reader.embedder is not None
        and reader.vectors is not None
        and reader.vectors.count > 0
    )


def choose(asked: Asked, situation: Situation, costs: CostModel) -> Chosen:
    """The cheapest plan whose estimated recall reaches the intent's floor; where none does, the one that misses least.

    What is returned is chosen by the shipped cost constants, so that it is the same on every machine; `costs`, fitted
    to this one, choose among the plans that return it. Ties go to the higher recall, then to the name.
    """
    plans = list(_plans(asked, situation, costs))
    usual = plans if costs == SHIPPED else list(_plans(asked, situation, SHIPPED))
    floor = RECALL_FLOOR[asked.intent]
    admissible = [p for p in usual if p.recall >= floor]
    if admissible:
        first = min(admissible, key=_dearness)
        reason = f"cheapest of {len(admissible)} that reach recall {floor:.2f}"
    else:
        first = min(usual, key=lambda p: (-p.recall, *_dearness(p)))
        reason = f"no plan reaches recall {floor:.2f}; this one misses least"
    least = floor if admissible else first.recall
    same = [p for p in plans if p.returns == first.returns and p.recall >= least]
    best = min(same, key=_dearness)
    shipped = {p.name: p.us for p in usual}
    rejected = tuple(
        (plan, _why_not(plan, best, shipped, floor, any_reaches=bool(admissible)))
        for plan in sorted(plans, key=_dearness)
        if plan is not best
    )
    return Chosen(plan=best, rejected=rejected, reason=reason, situation=situation)


def _dearness(plan: Plan) -> tuple[float, float, str]:
    return plan.us, -plan.recall, plan.name


def _why_not(plan: Plan, best: Plan, shipped: Mapping[str, float], floor: float, *, any_reaches: bool) -> str:
    """Why a plan does not run: held against the best by its costs here where both return the same, else by the
    shipped ones."""
    if not any_reaches:
        return f"recall {plan.recall:.2f} is lower" if plan.recall < best.recall else "dearer"
    if plan.recall < floor:
        return f"recall {plan.recall:.2f} is under {floor:.2f}"
    alike = plan.returns == best.returns
    costs, least = (plan.us, best.us) if alike else (shipped[plan.name], shipped[best.name])
    if plan.us < best.us and costs >= least:
        return "cheaper on this machine only, and may return other blocks"
    return f"{costs / max(least, 1e-9):.1f} times as dear" if costs > least * 1.05 else "no cheaper"


def only(chosen: Chosen, generators: Sequence[str]) -> Chosen:
    """The cheapest plan of exactly these generators instead of the chosen one, for measuring them.

    Raises UsageError where no such plan can be made of what the brain has.
    """
    every = [chosen.plan, *(plan for plan, _ in chosen.rejected)]
    fitting = [plan for plan in every if {step.generator for step in plan.steps} == set(generators)]
    if not fitting:
        raise UsageError(f"there is no plan of {' and '.join(generators)} for this question")
    best = min(fitting, key=lambda plan: (plan.us, -plan.recall, plan.name))
    rejected = tuple((plan, "not what is measured") for plan in every if plan is not best)
    return Chosen(
        plan=best, rejected=rejected, reason="asked for by its generators", situation=chosen.situation
    )


def _plans(asked: Asked, s: Situation, costs: CostModel) -> Iterator[Plan]:
    """Every plan; each without relations and with them where they are asked for and there is an index of them."""
    for plan in _finding(asked, s, costs):
        if asked.related:
            yield msgspec.structs.replace(plan, recall=plan.recall * FOUND_SHARE)
            if s.has_edges:
                us = costs.relations(BROUGHT) * (STALE_PENALTY if s.stale else 1.0)
                step = Step(
                    generator="related",
                    access=Access.ALL,
                    k=BROUGHT,
                    keep=BROUGHT,
                    us=us,
                    rows=float(BROUGHT),
                )
                yield Plan(steps=(*plan.steps, step), us=plan.us + us, recall=plan.recall)
        else:
            yield plan


def _finding(asked: Asked, s: Situation, costs: CostModel) -> Iterator[Plan]:
    if asked.intent is Intent.IDENTITY:
        step = Step(generator="identity", access=Access.ALL, k=10, keep=10, us=20.0, rows=1.0)
        yield _plan([step], 1.0, s, costs)
        return
    for access in _accesses(s):
        words = [_lexical(asked, s, costs, access), _scan(asked, s, costs, access)]
        meaning = [scan(asked, s, costs, access) for scan in (_vectors, _two_stage, _hnsw)]
        for step, recall in (each for each in (*words, *meaning) if each is not None):
            yield _plan([step], recall, s, costs)
        for one, other in product(words, meaning):
            if one is not None and other is not None:
                together = 1.0 - (1.0 - one[1]) * (1.0 - other[1])
                yield _plan([one[0], other[0]], together, s, costs)


def _accesses(s: Situation) -> tuple[Access, ...]:
    if s.eligible is None:
        return (Access.ALL,)
    if not s.has_facets:
        return (Access.CHECKED,)
    late = (Access.AFTER, Access.CHECKED)
    return (Access.PUSHED, *late) if s.eligible <= PUSH_AT_MOST else late


def _lexical(asked: Asked, s: Situation, costs: CostModel, access: Access) -> tuple[Step, float] | None:
    if not s.has_lexical:
        return None
    pushed = s.eligible or 0.0 if access is Access.PUSHED else 0.0
    k, rows = _reach(s, access)
    us = costs.lexical(s.postings, pushed=pushed) * (k / s.depth) ** 0.5
    recall = LEXICAL_RECALL[asked.intent] * s.known_share * _let_through(s, access, k)
    us += _listing(s, costs, access) + _again(
        s, costs, access, costs.lexical(s.postings, pushed=s.eligible or 0.0)
    )
    return Step(generator="lexical", access=access, k=k, keep=s.depth, us=us, rows=rows), recall


def _vectors(asked: Asked, s: Situation, costs: CostModel, access: Access) -> tuple[Step, float] | None:
    if not s.has_vectors:
        return None
    scanned = min(s.eligible or 0.0, float(s.embedded)) if access is Access.PUSHED else float(s.embedded)
    k, rows = _reach(s, access)
    us = costs.embed() + costs.vectors(scanned)
    covered = min(1.0, s.embedded / max(1, s.blocks))
    recall = VECTOR_RECALL[asked.intent] * covered * _let_through(s, access, k)
    us += _listing(s, costs, access) + _again(
        s, costs, access, costs.vectors(min(s.eligible or 0.0, s.embedded))
    )
    return Step(generator="vectors", access=access, k=k, keep=s.depth, us=us, rows=rows), recall


def _two_stage(asked: Asked, s: Situation, costs: CostModel, access: Access) -> tuple[Step, float] | None:
    """The same, by 1-bit codes first: only where what it was measured to miss is what the intent lets it miss."""
    exact = _vectors(asked, s, costs, access)
    if exact is None or s.two_stage is None or s.two_stage < RECALL_FLOOR[asked.intent] or not s.coded:
        return None
    from consilience.index.coarse import COARSE_SHARE

    step, recall = exact
    share = 1.0
    if access is Access.PUSHED:
        share = min(1.0, (s.eligible or 0.0) / max(1, s.embedded))
        if share * COARSE_SHARE <= 1.0:
            return None
    again = looked_at_again(s.coded * share, s.embedded * share, step.k)
    us = costs.embed() + costs.two_stage(s.coded, again) + _listing(s, costs, access)
    return msgspec.structs.replace(step, us=us, scan=Scan.TWO_STAGE), recall * s.two_stage


def _hnsw(asked: Asked, s: Situation, costs: CostModel, access: Access) -> tuple[Step, float] | None:
    """The same, along a graph of neighbours, under the same condition. It knows no filters, so it is asked without."""
    exact = _vectors(asked, s, costs, access)
    if exact is None or access is not Access.ALL:
        return None
    if s.hnsw is None or s.hnsw < RECALL_FLOOR[asked.intent] or not s.linked:
        return None
    step, recall = exact
    us = costs.embed() + costs.hnsw(s.linked, *looked_at_along(s.linked, s.embedded, step.k))
    return msgspec.structs.replace(step, us=us, scan=Scan.HNSW), recall * s.hnsw


def looked_at_along(linked: float, rows: float, k: int) -> tuple[float, float]:
    """Of so many rows, `linked` of them in a graph of neighbours: how wide the graph is searched, and how many rows are
    looked at exactly."""
    from consilience.index.hnsw import wanted

    width = min(linked, wanted(k))
    return width, width + rows - linked


def hnsw_pays(rows: int, two_stage: float | None) -> bool:
    """Whether a graph of neighbours over so many vectors saves more than LINKING_SAVES of what a question costs: by the
    shipped constants, beside the two-stage scan where its recall (None: unknown) reaches the floor."""
    scans = [SHIPPED.vectors(rows)]
    if two_stage is not None and two_stage >= RECALL_FLOOR[Intent.SEMANTIC]:
        scans.append(SHIPPED.two_stage(rows, looked_at_again(rows, rows, DEPTH)))
    beside = SHIPPED.embed() + SHIPPED.finish(finished(2, DEPTH, rows))
    saved = min(scans) - SHIPPED.hnsw(rows, *looked_at_along(rows, rows, DEPTH))
    return saved > LINKING_SAVES * (beside + min(scans))


def looked_at_again(coded: float, rows: float, k: int) -> float:
    """Of so many rows, `coded` of them with 1-bit codes, how many the two-stage scan looks at exactly."""
    from consilience.index.coarse import shortlist_size

    return min(coded, shortlist_size(int(coded), k)) + rows - coded


def finished(steps: int, depth: int, blocks: int) -> float:
    """How many candidates so many generators are taken to leave to be judged."""
    return float(min(steps * depth, blocks))


def _scan(asked: Asked, s: Situation, costs: CostModel, access: Access) -> tuple[Step, float] | None:
    if access is Access.AFTER:
        return None
    listed = access is Access.PUSHED
    rows = s.eligible or 0.0 if listed else float(s.blocks)
    us = costs.scan(rows) + (_listing(s, costs, access) if listed else 0.0)
    step = Step(
        generator="scan",
        access=Access.ROWS if listed else access,
        k=s.depth,
        keep=s.depth,
        us=us,
        rows=min(rows, float(s.depth)),
    )
    return step, LEXICAL_RECALL[asked.intent] * (s.known_share if s.has_lexical else 1.0)


def _reach(s: Situation, access: Access) -> tuple[int, float]:
    """How many candidates to ask for so that more than a full depth of eligible ones is likely, and how many come."""
    if not access.filters_late or s.eligible is None:
        return s.depth, min(float(s.depth), s.eligible if s.eligible is not None else float(s.blocks))
    share = max(s.eligible, 1.0) / max(1, s.blocks)
    k = min(s.blocks or 1, int((s.depth + SPARE * s.depth**0.5) / share) + 1, MOST_ASKED * s.depth)
    return max(k, s.depth), min(float(s.depth), k * share)


def _let_through(s: Situation, access: Access, k: int) -> float:
    """Which share of a full depth comes through the filters. With facets all of it: where too few candidates do, the
    list of what the filters admit is handed down after all."""
    if not access.filters_late or s.eligible is None or s.has_facets:
        return 1.0
    expected = k * max(s.eligible, 1.0) / max(1, s.blocks)
    return min(1.0, expected / min(float(s.depth), max(s.eligible, 1.0)))


def _again(s: Situation, costs: CostModel, access: Access, pushed: float) -> float:
    """What asking again costs, with the list handed down, where too few candidates are expected to come through."""
    if not access.filters_late or s.eligible is None or not s.has_facets:
        return 0.0
    k, _ = _reach(s, access)
    if k >= s.blocks or k * max(s.eligible, 1.0) / max(1, s.blocks) > s.depth:
        return 0.0
    return pushed + (costs.facets(s.eligible) if access is Access.CHECKED else 0.0)


def _listing(s: Situation, costs: CostModel, access: Access) -> float:
    """What meeting the filters costs beside the generator: a list of what they admit, or reading what was found."""
    if s.eligible is None or access is Access.ALL:
        return 0.0
    if access is Access.CHECKED:
        found = float(_reach(s, access)[0])
        return min(costs.read(found), costs.scan(found)) if s.has_facets else costs.scan(found)
    return costs.facets(s.eligible)


def _plan(steps: list[Step], recall: float, s: Situation, costs: CostModel) -> Plan:
    us = sum(step.us for step in steps) + costs.finish(finished(len(steps), s.depth, s.blocks))
    return Plan(steps=tuple(steps), us=us * (STALE_PENALTY if s.stale else 1.0), recall=min(1.0, recall))


def summary(plan: Plan, weights: Sequence[float]) -> PlanSummary:
    """The short form that every answer carries."""
    return PlanSummary(
        name=plan.name,
        generators=tuple(s.generator for s in plan.steps),
        weights=tuple(weights),
        estimated_us=round(plan.us, 1),
        estimated_recall=round(plan.recall, 3),
    )


def report(plan: Plan, *, chosen: bool, reason: str) -> PlanReport:
    """One plan as `explain` shows it, without what was measured."""
    return PlanReport(
        name=plan.name,
        chosen=chosen,
        reason=reason,
        estimated_us=round(plan.us, 1),
        estimated_recall=round(plan.recall, 3),
        generators=tuple(
            GeneratorReport(
                name=s.name,
                k=s.k,
                weight=1.0,
                estimated_us=round(s.us, 1),
                estimated_rows=round(s.rows, 1),
            )
            for s in plan.steps
        ),
    )
