"""Running a plan: its generators, what each found, and the tail that no index has caught up with yet."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from consilience.index.scan import Scan
from consilience.model import SEARCHED_BY_DEFAULT, Entry, Filters, Hit, Hits, Query
from consilience.plan.entries import Seen, entries_after, entries_of
from consilience.plan.intent import Asked
from consilience.plan.planner import Access, Plan, Step
from consilience.plan.rank import EVEN, Hearing
from consilience.plan.reader import Reader
from consilience.protocol import Digest, MemoryType
from consilience.store import View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from consilience.index.bm25 import MemoryIndex, Scorer
    from consilience.index.question import LexicalQuery

TAIL_AT_MOST = 20_000
"""Blocks beyond the lexical index that a question reads one by one; more than these wait for `index`."""


@dataclass(slots=True)
class Ran:
    """What one generator did."""

    step: Step
    hits: Hits
    us: float


@dataclass(slots=True)
class Working:
    """One question while it is being answered; what was computed once is kept for every round."""

    reader: Reader
    query: Query
    asked: Asked
    modules: tuple[MemoryType, ...]
    lexical_query: LexicalQuery | None
    language: str = ""
    memory: MemoryIndex | None = None
    eligible: Sequence[int] | None = None
    unindexed: set[int] = field(default_factory=set)
    question_vector: NDArray[np.float32] | None = None
    centre: NDArray[np.float32] | None = None
    commonness: float = 0.0
    entries: dict[int, Entry] = field(default_factory=dict)
    seen: Seen = field(default_factory=Seen)
    roles: dict[int, str] = field(default_factory=dict)
    hearing: Hearing = EVEN
    highlighted: bool = True
    tail: list[Entry] | None = None
    warnings: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    @property
    def filtered(self) -> bool:
        return has_filters(self.query.filters)

    @property
    def past(self) -> bool:
        """Whether the question is of an older snapshot, beyond which the indices know more, and maybe less."""
        return not self.reader.view.is_head

    def scorer(self) -> Scorer | None:
        if self.lexical_query is None:
            return None
        index = self.reader.lexical or self.memory
        return index.scorer(self.lexical_query) if index is not None else None


def has_filters(filters: Filters) -> bool:
    """Whether anything beyond the modules bounds what is eligible."""
    dated = filters.since is not None or filters.until is not None
    return bool(dated or filters.kinds or filters.subjects or filters.tags or filters.sources)


def prepare_eligible(work: Working) -> None:
    """List the ordinals that the filters admit, once: those that the facets know, and those of the tail.

    At an older snapshot the list is of that snapshot's members only, with filters or without.
    """
    facets = work.reader.facets
    if work.eligible is not None or not (work.filtered or work.past) or (work.filtered and facets is None):
        return
    listed: Sequence[int] | None = None
    if work.filtered and facets is not None:
        listed = facets.eligible(work.query.filters, work.modules)
    late = [e.n for e in tail_entries(work)]
    if listed is not None and late:
        listed = sorted({*listed, *late})
    if work.past and work.memory is None and (listed is not None or not work.filtered):
        listed = _members_among(work.reader.view, listed)
    work.eligible = listed


def _members_among(view: View, listed: Sequence[int] | None) -> Sequence[int]:
    """Those of the ordinals, or of all that there are, that may be members at the view's snapshot: none that came
    later, none that had left."""
    gone = view.nonmembers()
    if listed is not None:
        return [n for n in listed if n <= view.max_n and n not in gone]
    every = range(1, view.max_n + 1)
    return [n for n in every if n not in gone] if gone else every


def run(work: Working, plan: Plan, depth_factor: int) -> list[Ran]:
    """Run every step of a plan, `depth_factor` times as deep as planned; the tail joins the lexical list."""
    if work.past or not any(step.access is Access.CHECKED for step in plan.steps):
        prepare_eligible(work)
    done = []
    for step in plan.steps:
        if step.generator == "related":
            continue  # it begins where the others end: answer.py
        started = time.perf_counter()
        k = step.k * depth_factor
        match step.generator:
            case "identity":
                hits = _identity(work)
            case "lexical":
                hits = _lexical(work, k, step.keep * depth_factor)
            case "vectors":
                hits = _vectors(work, step, k, step.keep * depth_factor)
            case _:
                hits = _scan(work, k)
        done.append(Ran(step=step, hits=hits, us=(time.perf_counter() - started) * 1e6))
    return done


def question_vector(work: Working) -> NDArray[np.float32]:
    """The question in the brain's own model, embedded once."""
    if work.question_vector is None:
        assert work.reader.embedder is not None
        work.question_vector = work.reader.embedder().embed([work.query.text], role="query")[0]
    return work.question_vector


def entries_for(work: Working, ns: Sequence[int]) -> list[Entry]:
    """Entries of candidates, read once for a question."""
    missing = [n for n in ns if n not in work.entries]
    if missing:
        found = entries_of(work.reader.view, missing, work.reader.facets, seen=work.seen)
        work.entries.update((e.n, e) for e in found)
    return [work.entries[n] for n in ns if n in work.entries]


def _identity(work: Working) -> Hits:
    prefix = work.asked.identity or ""
    view = work.reader.view
    ids: list[Digest] = view.find_prefix(prefix, limit=10)
    found = view.ordinals(ids)
    return Hits(hits=tuple(Hit(n, 1.0) for n in sorted(found.values())), exhausted=True)


def _lexical(work: Working, k: int, keep: int) -> Hits:
    """The index filters by itself, inside or afterwards, whichever costs less; without a list it is done here."""
    index, asked = work.reader.lexical, work.lexical_query
    assert index is not None and asked is not None

    def within(eligible: Sequence[int] | None) -> Hits:
        return index.search(asked, keep, eligible=eligible, modules=work.modules)

    if not work.filtered or work.eligible is not None:
        return _with_tail(work, within(work.eligible), keep)
    found = index.search(asked, k, modules=work.modules)
    return _with_tail(work, _admitted(work, found, keep, within), keep)


def _admitted(work: Working, found: Hits, keep: int, within: Callable[[Sequence[int] | None], Hits]) -> Hits:
    """The best `keep` of what was found that the filters admit: what a search `within` the list of all that they admit
    returns, which is run where too few came through."""
    hits = _after(work, found)
    if not found.exhausted and len(hits.hits) <= keep:
        prepare_eligible(work)
        if work.eligible is not None:
            return within(work.eligible)
    return Hits(hits=hits.hits[:keep], exhausted=found.exhausted and len(hits.hits) <= keep)


def _with_tail(work: Working, hits: Hits, k: int) -> Hits:
    tail = tail_entries(work)
    scorer = work.scorer()
    if not tail or scorer is None:
        return hits
    scored = [Hit(e.n, s) for e in tail if (s := scorer.score(e.text, e.context, e.language)) > 0.0]
    if not scored:
        return hits
    known = {h.n for h in hits.hits}
    merged = sorted([*hits.hits, *(h for h in scored if h.n not in known)], key=lambda h: (-h.score, h.n))
    return Hits(hits=tuple(merged[:k]), exhausted=hits.exhausted and len(merged) <= k)


def tail_entries(work: Working) -> list[Entry]:
    """Eligible entries that the lexical index does not cover yet; read once, bounded, said when cut."""
    if work.tail is not None:
        return work.tail
    view, index = work.reader.view, work.reader.lexical
    covered = index.watermark if index is not None else 0
    if work.filtered and work.reader.facets is not None:
        covered = min(covered, work.reader.facets.watermark)  # what they do not know they cannot admit
    work.tail = _lost_entries(work, covered) if index is not None else []
    if covered >= view.max_n:
        return work.tail
    for seen, entry in enumerate(entries_after(view, covered, broken=work.broken), 1):
        if seen > TAIL_AT_MOST:
            work.warnings.append(
                f"more than {TAIL_AT_MOST:,} blocks are not indexed yet and were not read; run `index`"
            )
            break
        work.entries[entry.n] = entry
        if _passes(work, entry):
            work.tail.append(entry)
    return work.tail


def _lost_entries(work: Working, covered: int) -> list[Entry]:
    """Eligible entries of members that the lexical index was made without, or has given up: blocks that left after this
    snapshot, or came back."""
    view, index = work.reader.view, work.reader.lexical
    moved = [n for n in view.unsteady(work.modules) if n <= covered]
    held = index.held(moved) if index is not None and moved else set()
    lost = [n for n in moved if n not in held]
    if len(lost) > TAIL_AT_MOST:
        work.warnings.append(f"{len(lost):,} blocks are in no index, {TAIL_AT_MOST:,} of them were read")
    elif lost and work.reader.vectors is not None and work.past:
        work.warnings.append(f"{len(lost):,} blocks are in no index any more: found by their words only")
    work.unindexed.update(lost)
    entries = list(entries_of(view, lost[:TAIL_AT_MOST], introduced=True))
    work.entries.update((e.n, e) for e in entries)
    return [e for e in entries if _passes(work, e)]


def _passes(work: Working, entry: Entry) -> bool:
    from consilience.index.facets import passes

    return entry.module in work.modules and passes(entry, work.query.filters)


def admits(work: Working, ns: Sequence[int]) -> set[int]:
    """Those of any ordinals that the question's modules and filters admit; they are read."""
    listed = set(work.eligible) if work.eligible is not None else None
    entries = entries_for(work, [n for n in ns if listed is None or n in listed])
    return {e.n for e in entries if _passes(work, e)}


def _vectors(work: Working, step: Step, k: int, keep: int) -> Hits:
    index = work.reader.vectors
    assert index is not None

    def within(eligible: Sequence[int] | None, k: int = keep) -> Hits:
        hits = index.search(question_vector(work), k, eligible=eligible, scan=step.scan)
        if step.scan is Scan.HNSW and index.graph_problem:
            work.warnings.append(f"{index.graph_problem}: every vector was compared; run `verify --repair`")
        return _of_modules(work, hits)

    if work.past or not step.access.filters_late:
        return within(work.eligible if step.access is Access.PUSHED or work.past else None)
    return _admitted(work, within(None, k), keep, within)


def _of_modules(work: Working, hits: Hits) -> Hits:
    """What is of the modules asked; vectors are of the modules searched by default, of those that there are."""
    held = {m.memory_type for m in work.reader.view.modules()}
    if held.intersection(SEARCHED_BY_DEFAULT) <= set(work.modules):
        return hits
    modules = {e.n: e.module for e in entries_for(work, [h.n for h in hits.hits])}
    kept = tuple(h for h in hits.hits if modules.get(h.n) in work.modules)
    return Hits(hits=kept, exhausted=hits.exhausted)


def _after(work: Working, hits: Hits) -> Hits:
    """Post-filter: keep what the filters admit."""
    eligible = work.eligible
    if eligible is None:
        keep = {e.n for e in entries_for(work, [h.n for h in hits.hits]) if _passes(work, e)}
    else:
        keep = set(eligible)
    return Hits(hits=tuple(h for h in hits.hits if h.n in keep), exhausted=hits.exhausted)


def _scan(work: Working, k: int) -> Hits:
    """Score the eligible blocks one by one: with the index's own statistics where there is one, else with their own."""
    if work.lexical_query is None:
        return Hits(hits=(), exhausted=True)
    if work.memory is not None:
        hits = work.memory.search(work.lexical_query, k, modules=work.modules)
        return _after(work, hits) if work.filtered else hits
    scorer = work.scorer()
    view = work.reader.view
    if work.eligible is not None and work.filtered:
        listed = entries_of(view, list(work.eligible), work.reader.facets, introduced=True)
        entries = [*listed, *tail_entries(work)]
    else:
        entries = [e for e in entries_after(view, 0, broken=work.broken) if _passes(work, e)]
    work.entries.update((e.n, e) for e in entries)
    unique = {e.n: e for e in entries}
    assert scorer is not None
    scored = ((scorer.score(e.text, e.context, e.language), e.n) for e in unique.values())
    ranked = sorted((Hit(n, s) for s, n in scored if s > 0.0), key=lambda h: (-h.score, h.n))
    return Hits(hits=tuple(ranked[:k]), exhausted=len(ranked) <= k)


def merge_hits(parts: Sequence[Hits]) -> set[int]:
    """Every candidate of several lists."""
    return {h.n for part in parts for h in part.hits}
