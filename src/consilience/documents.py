"""The JSON of an answer: one struct an object, fields in the order in which they are written. Pure.

Scores and strengths are strings with two decimals (contract C11). The floor of an explanation has four, so
that a value below the floor does not read like one that reached it. The same answer gives the same bytes;
between two runs over the same snapshots only `elapsed_ms`, and `actual_us` of an explanation, differ,
and `to_json(..., timings=False)` leaves those out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import msgspec
from msgspec import UNSET, UnsetType

from consilience.model import (
    Bundle,
    CompoundExplanation,
    CompoundMatch,
    CompoundResult,
    Contribution,
    Explanation,
    FloorReport,
    GeneratorReport,
    IndexReport,
    Match,
    MemberReport,
    ModuleRoot,
    PlanReport,
    PlanSummary,
    Query,
    Skipped,
    Source,
    Via,
    cite,
    two_decimals,
)


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A JSON object: fields in the order of definition, an unset one left out."""


class PlanDocument(Document, frozen=True, kw_only=True):
    name: str
    generators: tuple[str, ...]
    weights: tuple[float, ...]
    estimated_us: float
    estimated_recall: float


class MatchDocument(Document, frozen=True, kw_only=True):
    block_id: str
    memory_type: str
    rank: int
    score: str
    strength: str | None
    content: msgspec.Raw | None
    title: str
    resolvable: bool
    superseded_by: str | None
    sources: tuple[Source, ...]
    also: tuple[str, ...]
    cite: str
    via: Via | UnsetType


class BundleDocument(Document, frozen=True, kw_only=True):
    """`data` of `search`."""

    query: Query
    brain: str
    count: int
    truncated: bool
    withheld: int
    collapsed: int
    all_verified: bool
    verified_against: dict[str, str]
    snapshot: str | None
    plan: PlanDocument
    elapsed_ms: float | UnsetType
    matches: tuple[MatchDocument, ...]


class ContributionDocument(Document, frozen=True, kw_only=True):
    brain: str
    rank: int
    score: str
    strength: str | None
    resolvable: bool
    superseded_by: str | None
    sources: tuple[Source, ...]
    also: tuple[str, ...]
    cite: str
    via: Via | UnsetType


class NearDocument(Document, frozen=True, kw_only=True):
    brain: str
    block_id: str
    measure: str
    rule: str


class CompoundMatchDocument(Document, frozen=True, kw_only=True):
    block_id: str
    memory_type: str
    score: str
    content: msgspec.Raw | None
    title: str
    resolvable: bool
    superseded_by: str | None
    sources: tuple[Source, ...]
    brains: tuple[ContributionDocument, ...]
    near: tuple[NearDocument, ...]


class MemberDocument(Document, frozen=True, kw_only=True):
    brain: str
    count: int
    truncated: bool
    withheld: int
    collapsed: int
    deferred: int
    all_verified: bool
    verified_against: dict[str, str]
    snapshot: str | None
    plan: PlanDocument
    elapsed_ms: float | UnsetType


class CompoundDocument(Document, frozen=True, kw_only=True):
    """`data` of `compound search`, grouped and fused."""

    query: Query
    fused: bool
    depth: int
    count: int
    truncated: bool
    all_verified: bool
    members: tuple[MemberDocument, ...]
    matches: tuple[CompoundMatchDocument, ...]
    skipped: tuple[Skipped, ...]


class GeneratorDocument(Document, frozen=True, kw_only=True):
    name: str
    k: int
    weight: float
    estimated_us: float
    estimated_rows: float
    actual_us: float | UnsetType | None
    actual_rows: int | None


class PlanReportDocument(Document, frozen=True, kw_only=True):
    name: str
    chosen: bool
    reason: str
    estimated_us: float
    estimated_recall: float
    actual_us: float | UnsetType | None
    generators: tuple[GeneratorDocument, ...]


class FloorDocument(Document, frozen=True, kw_only=True):
    applied: bool
    threshold: str | None
    speaks: str | None
    best: str | None
    best_withheld: str | None
    withheld: int
    samples: int
    detail: str


class ExplanationDocument(Document, frozen=True, kw_only=True):
    """`data` of `explain`; inside `compound explain` without the query, which all members share."""

    query: Query | UnsetType
    brain: str
    snapshot: str | None
    intent: str
    plans: tuple[PlanReportDocument, ...]
    indices: tuple[IndexReport, ...]
    statistics: str
    floor: FloorDocument
    analyzed: bool
    count: int | None


class CompoundExplanationDocument(Document, frozen=True, kw_only=True):
    """`data` of `compound explain`."""

    query: Query
    members: tuple[ExplanationDocument, ...]
    skipped: tuple[Skipped, ...]


@overload
def to_json(answer: Bundle, *, timings: bool = True) -> BundleDocument: ...
@overload
def to_json(answer: CompoundResult, *, timings: bool = True) -> CompoundDocument: ...
@overload
def to_json(answer: Explanation, *, timings: bool = True) -> ExplanationDocument: ...
@overload
def to_json(answer: CompoundExplanation, *, timings: bool = True) -> CompoundExplanationDocument: ...
def to_json(
    answer: Bundle | CompoundResult | Explanation | CompoundExplanation, *, timings: bool = True
) -> Document:
    """The JSON object of an answer, as it stands under `data` of the envelope."""
    if isinstance(answer, Bundle):
        return _bundle(answer, timings)
    if isinstance(answer, CompoundResult):
        return _compound(answer, timings)
    if isinstance(answer, Explanation):
        return _explanation(answer, timings, answer.query)
    return CompoundExplanationDocument(
        query=answer.query,
        members=tuple(_explanation(member, timings, UNSET) for member in answer.members),
        skipped=answer.skipped,
    )


def _bundle(bundle: Bundle, timings: bool) -> BundleDocument:
    roots = _roots(bundle.verified_against)
    return BundleDocument(
        query=bundle.query,
        brain=bundle.brain,
        count=len(bundle.matches),
        truncated=bundle.truncated,
        withheld=bundle.withheld,
        collapsed=bundle.collapsed,
        all_verified=bundle.all_verified,
        verified_against=roots,
        snapshot=bundle.snapshot,
        plan=_plan(bundle.plan),
        elapsed_ms=_elapsed(bundle.elapsed_ms, timings),
        matches=tuple(_match(bundle.brain, roots, match) for match in bundle.matches),
    )


def _match(brain: str, roots: dict[str, str], match: Match) -> MatchDocument:
    root = roots.get(match.memory_type.value, match.root)
    return MatchDocument(
        block_id=match.block_id,
        memory_type=match.memory_type.value,
        rank=match.rank,
        score=two_decimals(match.score),
        strength=_strength(match.strength),
        content=match.content,
        title=match.title,
        resolvable=match.resolvable,
        superseded_by=match.superseded_by,
        sources=match.sources,
        also=tuple(copy.block_id for copy in match.also),
        cite=cite(brain, match.memory_type, match.block_id, root),
        via=match.via or UNSET,
    )


def _compound(result: CompoundResult, timings: bool) -> CompoundDocument:
    return CompoundDocument(
        query=result.query,
        fused=result.fused,
        depth=result.depth,
        count=result.count,
        truncated=result.truncated,
        all_verified=result.all_verified,
        members=tuple(_member(member, timings) for member in result.members),
        matches=tuple(_compound_match(match) for match in result.matches),
        skipped=result.skipped,
    )


def _member(member: MemberReport, timings: bool) -> MemberDocument:
    return MemberDocument(
        brain=member.brain,
        count=member.count,
        truncated=member.truncated,
        withheld=member.withheld,
        collapsed=member.collapsed,
        deferred=member.deferred,
        all_verified=member.all_verified,
        verified_against=_roots(member.verified_against),
        snapshot=member.snapshot,
        plan=_plan(member.plan),
        elapsed_ms=_elapsed(member.elapsed_ms, timings),
    )


def _compound_match(match: CompoundMatch) -> CompoundMatchDocument:
    return CompoundMatchDocument(
        block_id=match.block_id,
        memory_type=match.memory_type.value,
        score=two_decimals(match.score),
        content=match.content,
        title=match.title,
        resolvable=match.resolvable,
        superseded_by=match.superseded_by,
        sources=match.sources,
        brains=tuple(_contribution(contribution) for contribution in match.brains),
        near=tuple(
            NearDocument(
                brain=each.brain,
                block_id=each.block_id,
                measure=two_decimals(each.measure),
                rule=each.rule,
            )
            for each in match.near
        ),
    )


def _contribution(contribution: Contribution) -> ContributionDocument:
    return ContributionDocument(
        brain=contribution.brain,
        rank=contribution.rank,
        score=two_decimals(contribution.score),
        strength=_strength(contribution.strength),
        resolvable=contribution.resolvable,
        superseded_by=contribution.superseded_by,
        sources=contribution.sources,
        also=contribution.also,
        cite=contribution.cite,
        via=contribution.via or UNSET,
    )


def _plan(plan: PlanSummary) -> PlanDocument:
    return PlanDocument(
        name=plan.name,
        generators=plan.generators,
        weights=tuple(round(weight, 4) for weight in plan.weights),
        estimated_us=round(plan.estimated_us, 1),
        estimated_recall=round(plan.estimated_recall, 4),
    )


def _explanation(explanation: Explanation, timings: bool, query: Query | UnsetType) -> ExplanationDocument:
    return ExplanationDocument(
        query=query,
        brain=explanation.brain,
        snapshot=explanation.snapshot,
        intent=explanation.intent,
        plans=tuple(_plan_report(plan, timings) for plan in explanation.plans),
        indices=explanation.indices,
        statistics=explanation.statistics,
        floor=_floor(explanation.floor),
        analyzed=explanation.analyzed,
        count=explanation.count,
    )


def _plan_report(plan: PlanReport, timings: bool) -> PlanReportDocument:
    return PlanReportDocument(
        name=plan.name,
        chosen=plan.chosen,
        reason=plan.reason,
        estimated_us=round(plan.estimated_us, 1),
        estimated_recall=round(plan.estimated_recall, 4),
        actual_us=_actual(plan.actual_us, timings),
        generators=tuple(_generator(generator, timings) for generator in plan.generators),
    )


def _generator(generator: GeneratorReport, timings: bool) -> GeneratorDocument:
    return GeneratorDocument(
        name=generator.name,
        k=generator.k,
        weight=round(generator.weight, 4),
        estimated_us=round(generator.estimated_us, 1),
        estimated_rows=round(generator.estimated_rows, 1),
        actual_us=_actual(generator.actual_us, timings),
        actual_rows=generator.actual_rows,
    )


def _floor(floor: FloorReport) -> FloorDocument:
    return FloorDocument(
        applied=floor.applied,
        threshold=_four_decimals(floor.threshold),
        speaks=_four_decimals(floor.speaks),
        best=_four_decimals(floor.best),
        best_withheld=_four_decimals(floor.best_withheld),
        withheld=floor.withheld,
        samples=floor.samples,
        detail=floor.detail,
    )


def _roots(roots: Sequence[ModuleRoot]) -> dict[str, str]:
    return {ref.module.value: ref.root for ref in roots}


def _strength(value: float | None) -> str | None:
    return None if value is None else two_decimals(value)


def _four_decimals(value: float | None) -> str | None:
    return None if value is None else f"{value:.4f}"


def _elapsed(value: float, timings: bool) -> float | UnsetType:
    return round(value, 1) if timings else UNSET


def _actual(value: float | None, timings: bool) -> float | UnsetType | None:
    if not timings:
        return UNSET
    return None if value is None else round(value, 1)
