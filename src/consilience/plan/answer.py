"""One question to one brain: understand, plan, run, fuse, measure strength, floor, verify, bundle."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping, Sequence

import msgspec

from consilience.errors import QueryError
from consilience.ingest import detect_language
from consilience.model import SEARCHED_BY_DEFAULT, Bundle, Hit, Hits, ModuleRoot, Query, Value
from consilience.plan import candidates, features, planner
from consilience.plan.candidates import Ran, Working
from consilience.plan.collapse import groups
from consilience.plan.expand import Spreading
from consilience.plan.expand_answer import ASSOCIATIVE, Expanded, expand, how_far, with_ways
from consilience.plan.floor import Features, least_strength, similarity_tells, strength
from consilience.plan.intent import Intent, understand
from consilience.plan.matches import verified
from consilience.plan.rank import Hearing, fuse_generators, weights
from consilience.plan.reader import Reader
from consilience.protocol import MemoryType, format_digest
from consilience.store import Hidden

MAX_QUESTION = 1_000_000
MOST_ROUNDS = 3
DEEPER = 4
_WORD = re.compile(r"[^\W_]")


class Candidate(msgspec.Struct, frozen=True):
    """A fused candidate, visible at the snapshot, with its strength; `exempt` ones are never withheld."""

    n: int
    score: float
    strength: float | None
    exempt: bool
    features: Features | None


class Outcome(Value, frozen=True, kw_only=True):
    """Everything that answering one question came to know; a bundle and an explanation are two views of it."""

    work: Working
    chosen: planner.Chosen
    ran: tuple[Ran, ...]
    bundle: Bundle
    floor_applied: bool
    best: float | None
    best_withheld: float | None
    actual_us: float
    expanded: Expanded


def check(query: Query) -> None:
    """Refuse a question that cannot be asked. Raises QueryError."""
    if query.limit < 1:
        raise QueryError(f"limit is {query.limit}", hint="ask for at least 1 match")
    if len(query.text) > MAX_QUESTION:
        raise QueryError(
            f"the question has {len(query.text):,} characters", hint=f"at most {MAX_QUESTION:,} are taken"
        )
    if not query.text.strip():
        raise QueryError(
            "the question is empty", hint="say what to look for: search 'how are features deprecated'"
        )
    if not _WORD.search(query.text):
        shown = query.text.strip()[:40]
        raise QueryError(
            f"there is no word in the question {shown!r}", hint="ask with at least one letter or digit"
        )
    if MemoryType.PROVENANCE in query.filters.modules:
        raise QueryError(
            "the provenance module is not searched",
            hint="`block ID` shows where a block comes from; search the others",
        )


def modules_of(reader: Reader, query: Query) -> tuple[MemoryType, ...]:
    """The modules a question reaches that this brain holds, in protocol order."""
    wanted = set(query.filters.modules or SEARCHED_BY_DEFAULT)
    return tuple(m.memory_type for m in reader.view.modules() if m.memory_type in wanted)


def answer(
    reader: Reader,
    query: Query,
    *,
    generators: Sequence[str] = (),
    spreading: Spreading | None = None,
    highlights: bool = True,
) -> Outcome:
    """Ask one brain. Raises QueryError for a question that cannot be asked; everything else is in the outcome.

    `generators`, for measuring them, takes the choice from the planner (`planner.only`), and from relations what they
    add; `spreading`, for measuring them, takes the choice of how far relations are followed. Without `highlights`
    matches have none.
    """
    started = time.perf_counter()
    check(query)
    work, chosen = begin(reader, query)
    work.highlighted = highlights
    if generators:
        chosen = planner.only(chosen, generators)
    ran, visible = _gather(work, chosen)
    ranked = [c for c in _measured(work, ran, visible) if c.n in visible]
    how = spreading or (how_far(work) if not generators else None)
    return _conclude(work, chosen, ran, ranked, visible, started, how)


def begin(reader: Reader, query: Query) -> tuple[Working, planner.Chosen]:
    """Understand and plan; nothing is read yet that grows with the answer."""
    asked = understand(query.text, related=query.related)
    modules = modules_of(reader, query)
    work = Working(reader=reader, query=query, asked=asked, modules=modules, lexical_query=None)
    work.warnings.extend(reader.notes)
    blocks = sum(m.count - len(m.tombstones) for m in reader.view.modules() if m.memory_type in modules)
    if asked.intent is not Intent.IDENTITY:
        _analyze(work)
    situation = planner.situation_of(
        reader, query, modules, work.lexical_query, blocks, filtered=work.filtered
    )
    chosen = planner.choose(asked, situation, reader.costs)
    _say_what_is_missing(work, chosen)
    return work, chosen


def _analyze(work: Working) -> None:
    text = work.query.text
    work.language = detect_language(text)
    languages = (work.language,) if work.language else ()
    if work.reader.lexical is not None:
        work.lexical_query = work.reader.lexical.analyze(text, languages=languages)
    else:
        from consilience.index.bm25 import MemoryIndex

        work.memory = MemoryIndex(candidates.tail_entries(work))
        work.lexical_query = work.memory.analyze(text, languages=languages)
    if work.lexical_query.truncated:
        work.warnings.append("the question is long: only its most selective words were searched for")


def _say_what_is_missing(work: Working, chosen: planner.Chosen) -> None:
    reader, s = work.reader, chosen.situation
    if chosen.plan.steps[0].generator == "identity" or not s.blocks:
        return
    if not s.has_lexical:
        work.warnings.append("no lexical index: every block was scanned; run `index`")
    if reader.embedder_note:
        work.warnings.append(reader.embedder_note)
    if work.query.related and not s.has_edges:
        work.warnings.append("no index of relations: only what provenance says was followed; run `index`")
    if (
        not reader.embedder_note
        and reader.wants_vectors
        and s.embedded < s.blocks
        and not work.query.filters.modules
    ):
        share = 100 * s.embedded // max(1, s.blocks)
        work.warnings.append(
            f"vectors cover {s.embedded:,} of {s.blocks:,} blocks ({share}%); `index` goes on embedding"
        )


def _gather(work: Working, chosen: planner.Chosen) -> tuple[list[Ran], dict[int, Hidden | None]]:
    """Run the plan, deeper where what it found is mostly invisible, until there is enough or nothing more."""
    wanted = work.query.limit
    factor = 1
    for _ in range(MOST_ROUNDS):
        ran = candidates.run(work, chosen.plan, factor)
        ns = sorted(candidates.merge_hits([r.hits for r in ran]))
        visible = _visible(work, ns)
        if len(visible) >= wanted or all(r.hits.exhausted for r in ran):
            break
        factor *= DEEPER
    return ran, visible


def _visible(work: Working, ns: Sequence[int]) -> dict[int, Hidden | None]:
    """Of these ordinals, the members at this snapshot that may be shown, with how they are hidden where they are."""
    view = work.reader.view
    members = _from_sources(work, view.members(ns))
    hidden = view.hidden(sorted(members))
    if work.query.include_superseded or work.asked.intent is Intent.IDENTITY:
        return {n: hidden.get(n) for n in ns if n in members}
    return {n: None for n in ns if n in members and n not in hidden}


def _from_sources(work: Working, ns: set[int]) -> set[int]:
    """Those of the ordinals that stand in the files asked for at this snapshot: facets also know where a file was
    before it moved, and what came later."""
    if not work.query.filters.sources or work.asked.intent is Intent.IDENTITY:
        return ns
    from consilience.index.facets import source_matcher

    matches = source_matcher(work.query.filters.sources)
    sources = work.reader.view.sources(sorted(ns), current=not work.past)
    return {n for n in ns if any(s.origin and matches(s.origin) for s in sources.get(n, ()))}


def _measured(work: Working, ran: Sequence[Ran], visible: dict[int, Hidden | None]) -> list[Candidate]:
    """Fuse the lists of visible candidates and give each its strength."""
    if work.asked.intent is Intent.IDENTITY:
        return [Candidate(h.n, 1.0, 1.0, True, None) for h in ran[0].hits.hits]
    lists = [(r.step.generator, [h.n for h in r.hits.hits if h.n in visible]) for r in ran]
    ns = sorted({n for _, listed in lists for n in listed})
    coverage, roles = features.coverage(work, ns), features.roles(work, ns)
    features.set_centre(work)
    exact, hearing = features.exact(work, ns), features.hearing(work, ns)
    work.hearing = hearing
    judged = _judged(work, ns, coverage, hearing)
    out = []
    for ranked in fuse_generators(lists, coverage, roles, hearing):
        measured, value = judged[ranked.n]
        out.append(Candidate(ranked.n, ranked.score, value, ranked.n in exact, measured))
    return out


def _judged(
    work: Working, ns: Sequence[int], coverage: Mapping[int, float], hearing: Hearing
) -> dict[int, tuple[Features, float | None]]:
    """What strength is made of, and strength, where noise is measured."""
    statistics = work.reader.statistics
    noise = statistics.noise_for(work.language) if statistics is not None else None
    similarity = features.similarities(work, ns)
    tells = similarity_tells(noise, weak=hearing.weak)
    out: dict[int, tuple[Features, float | None]] = {}
    for n in ns:
        foreign = n in hearing.foreign
        near = similarity.get(n) if foreign or tells else None
        found = Features(n=n, coverage=coverage.get(n, 0.0), similarity=near, foreign=foreign)
        out[n] = found, strength(found, noise) if noise is not None else None
    return out


# --- floor, cut, verify ----------------------------------------------------------------------------------------------


def _conclude(
    work: Working,
    chosen: planner.Chosen,
    ran: list[Ran],
    ranked: list[Candidate],
    visible: dict[int, Hidden | None],
    started: float,
    how: Spreading | None,
) -> Outcome:
    query = work.query
    applied = query.floor and any(c.strength is not None for c in ranked)
    best = max((c.strength for c in ranked if c.strength is not None), default=None)
    least = least_strength(best) if applied else None
    kept = [c for c in ranked if _passes(c, least)]
    below = [c for c in ranked if not _passes(c, least)]

    def may_be_shown(ns: Sequence[int]) -> Collection[int]:
        found = _visible(work, ns)
        visible.update(found)
        return found.keys()

    values = [(c.n, c.score, c.features.coverage if c.features else 0.0) for c in kept]
    expanded = expand(work, values, [c.n for c in below], how, may_be_shown)
    kept = _with_relations(work, kept, below, expanded)
    below = [c for c in below if c.n not in expanded.ways]
    shown = groups(work, [c.n for c in kept], visible)
    by_n = {c.n: c for c in kept}
    found, dropped = verified(
        work, [[(n, by_n[n].score, by_n[n].strength) for n in same] for same in shown], visible
    )
    dropped = [*dict.fromkeys([*dropped, *work.broken])]
    heard = _mean_weights(work, ran, ranked)
    if chosen.plan.steps[-1].generator == "related":
        ran, heard = [*ran, _related(chosen.plan.steps[-1], expanded)], [*heard, ASSOCIATIVE.weight]
    snapshot = work.reader.view.snapshot
    elapsed = time.perf_counter() - started
    bundle = Bundle(
        brain=work.reader.name,
        query=query,
        matches=tuple(with_ways(work, found, expanded.ways)),
        truncated=len(kept) > sum(map(len, shown)) or _cut(ran, ranked, least),
        withheld=len(below),
        verified_against=_roots(work),
        snapshot=format_digest(snapshot.digest) if snapshot is not None else None,
        plan=planner.summary(chosen.plan, heard),
        elapsed_ms=round(elapsed * 1e3, 1),
        warnings=tuple(dict.fromkeys([*work.warnings, *(f"verification_failed: {d}" for d in dropped)])),
        dropped=tuple(dropped),
    )
    return Outcome(
        work=work,
        chosen=chosen,
        ran=tuple(ran),
        bundle=bundle,
        floor_applied=applied,
        best=best,
        best_withheld=max((c.strength for c in below if c.strength is not None), default=None),
        actual_us=elapsed * 1e6,
        expanded=expanded,
    )


def _roots(work: Working) -> tuple[ModuleRoot, ...]:
    """What an answer is verified against: the roots of the modules asked, and of provenance."""
    wanted = {*work.modules, MemoryType.PROVENANCE}
    return tuple(
        ModuleRoot(module=m.memory_type, root=format_digest(m.root))
        for m in work.reader.view.modules()
        if m.memory_type in wanted
    )


def _related(step: planner.Step, expanded: Expanded) -> Ran:
    """What relations brought in, as what a generator did."""
    hits = tuple(Hit(way.n, way.value) for way in expanded.ways.values())
    return Ran(step=step, hits=Hits(hits=hits, exhausted=True), us=expanded.us)


def _with_relations(
    work: Working,
    kept: list[Candidate],
    below: Sequence[Candidate],
    expanded: Expanded,
) -> list[Candidate]:
    """What was found, and what was brought in, by what each has with relations."""
    if not expanded.added:
        return kept
    held = {c.n: c for c in below if c.n in expanded.ways}
    new = [n for n in expanded.ways if n not in held]
    judged = _judged(work, new, features.coverage(work, new), features.hearing(work, new))
    asked_in_words = work.asked.intent is not Intent.IDENTITY  # else nothing is near to the question
    brought = [
        Candidate(n, 0.0, value if asked_in_words else None, False, found)
        for n, (found, value) in judged.items()
    ]
    brought += [msgspec.structs.replace(c, score=0.0) for c in held.values()]
    out = [
        msgspec.structs.replace(c, score=c.score + expanded.added.get(c.n, 0.0)) for c in (*kept, *brought)
    ]
    return sorted(out, key=lambda c: (-c.score, c.n))


def _passes(candidate: Candidate, least: float | None) -> bool:
    """Whether the floor lets a candidate through; `least` is None where there is no floor."""
    return least is None or candidate.exempt or candidate.strength is None or candidate.strength >= least


def _cut(ran: Sequence[Ran], ranked: Sequence[Candidate], least: float | None) -> bool:
    """Whether an index's own k cut candidates that the floor would have let through.

    A list is ranked, so where its last candidate is under the floor what follows it is taken to be withheld too. A
    list of which the filters left nothing says nothing of what follows.
    """
    by_n = {c.n: c for c in ranked}
    for each in ran:
        if each.hits.exhausted:
            continue
        last = by_n.get(each.hits.hits[-1].n) if each.hits.hits else None
        if last is None or _passes(last, least):
            return True
    return False


def _mean_weights(work: Working, ran: Sequence[Ran], ranked: Sequence[Candidate]) -> list[float]:
    """The weight of each generator in this question: what its best candidate was given."""
    if len(ran) == 1:
        return [1.0]
    coverage = {c.n: c.features.coverage for c in ranked if c.features is not None}
    hearing = work.hearing
    if hearing.weak:
        return [0.0 if each.step.generator == "vectors" else 1.0 for each in ran]
    heard = (weights(e.step.generator, [h.n for h in e.hits.hits], coverage, hearing) for e in ran)
    return [round(max(each, default=0.0), 3) for each in heard]
