"""One question, several brains: each answers alone; the answers are grouped, or fused by rank.

What a compound adds after every member has answered is a rule, not a decision: no member's score meets
another's, no root is merged, and a member that fails takes nobody with it. Contract C1 to C4, C6, C9 to C19.
"""

from __future__ import annotations

import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from consilience.errors import BrainNotFoundError, ConsilienceError, IntegrityError, UsageError
from consilience.fusion import RankedList, deferral, fuse
from consilience.index.meaning import Meanings
from consilience.linking import linked
from consilience.model import (
    Bundle,
    CompoundExplanation,
    CompoundMatch,
    CompoundResult,
    Contribution,
    Explanation,
    Failure,
    Match,
    Member,
    MemberReport,
    Query,
    Skipped,
    Value,
    cite,
)
from consilience.protocol import MemoryType

if TYPE_CHECKING:
    from consilience.plan.local import LocalAnswer
    from consilience.sql.engine import Asked, Source
    from consilience.sql.result import SqlExplanation, SqlResult

LEAST_DEPTH = 50
DEPTH_PER_LIMIT = 5
MOST_THREADS = 32

Answer = TypeVar("Answer")
Highlights = Callable[[str], tuple[str, ...]]
"""The words of a block, by its id, that the question hit."""


# --- choosing the brains ------------------------------------------------------------------------------------


class Chosen(Value, frozen=True, kw_only=True):
    """The brains that a compound asks, in order, and the declared ones that it does not, with the reason."""

    names: tuple[str, ...]
    skipped: tuple[Skipped, ...] = ()


def choose(
    declared: Sequence[str], brains: Sequence[str], all_: bool, present: Callable[[str], str | None]
) -> Chosen:
    """Which brains `--brains` (each value a name or several with commas) or `--all` means.

    `declared` are the project's names in declaration order; `present(name)` is None for a brain whose layout
    is on this machine, else the reason why it cannot be asked (`no layout at ./brains/physics`). Raises
    UsageError (both flags, neither, an undeclared name, fewer than two) and BrainNotFoundError (a brain that
    is named and not here).
    """
    known = ", ".join(declared) or "none"
    if all_ and brains:
        raise UsageError("--all and --brains exclude each other", hint=f"give one of them; known: {known}")
    if all_:
        return _choose_all(declared, present)
    if not brains:
        hint = f"name two or more with --brains, or take all with --all; known: {known}"
        raise UsageError("no brains chosen for the compound", hint=hint)
    parts = (part.strip() for value in brains for part in value.split(","))
    names = tuple(dict.fromkeys(part for part in parts if part))
    for name in names:
        if name not in declared:
            hint = f"a compound takes brain names from this project only; known: {known}"
            raise UsageError(f"this project has no brain called '{name}'", hint=hint)
    if len(names) < 2:
        raise _too_few(names, ())
    missing = {name: reason for name in names if (reason := present(name)) is not None}
    if missing:
        said = (f"the brain '{name}' is not on this machine: {reason}" for name, reason in missing.items())
        hint = "get it with `pull`, or make it with `ingest`"
        raise BrainNotFoundError("; ".join(said), hint=hint)
    return Chosen(names=names)


def _choose_all(declared: Sequence[str], present: Callable[[str], str | None]) -> Chosen:
    reasons = [(name, present(name)) for name in declared]
    names = tuple(name for name, reason in reasons if reason is None)
    skipped = tuple(Skipped(brain=name, reason=reason) for name, reason in reasons if reason is not None)
    if len(names) < 2:
        raise _too_few(names, skipped)
    return Chosen(names=names, skipped=skipped)


def _too_few(names: Sequence[str], skipped: Iterable[Skipped]) -> UsageError:
    got = f"this is only '{names[0]}'" if names else "there is none"
    left = ", ".join(f"{each.brain} ({each.reason})" for each in skipped)
    hint = "for one brain use `search`" + (f"; skipped: {left}" if left else "")
    return UsageError(f"a compound takes two brains at least, and {got}", hint=hint)


# --- the compound -------------------------------------------------------------------------------------------


class Compound:
    """Two or more members asked the same question. It has no state: many threads may ask at once."""

    def __init__(self, members: Sequence[Member], skipped: Sequence[Skipped] = ()) -> None:
        """`members` in the order in which to show them; `skipped` are declared brains that are not asked.

        Raises UsageError for fewer than two members, or two of one name.
        """
        names = tuple(member.name for member in members)
        for index, name in enumerate(names):
            if name in names[:index]:
                message = f"the brain '{name}' stands twice in this compound"
                raise UsageError(message, hint="name each brain once")
        if len(names) < 2:
            raise _too_few(names, skipped)
        self.members: tuple[Member, ...] = tuple(members)
        self.names: tuple[str, ...] = names
        self.skipped: tuple[Skipped, ...] = tuple(skipped)

    def search(
        self,
        query: Query | str,
        *,
        fuse: bool = False,
        defer: bool = False,
        limit: int | None = None,
        depth: int | None = None,
    ) -> CompoundResult:
        """Ask every member; group their answers, or fuse them by rank; with `defer`, the ranks of a member begin the
        later, the less sure it is of the subject (decision 0281).

        `limit` replaces the query's: matches per member, or of the fused list. `depth`, only with `fuse`, is
        how many each member is asked for (decision 0061). A member that fails stands in `skipped`, `failures`
        and `warnings`; when all fail, their error is raised (decision 0062). Raises UsageError for a limit
        below 1, a depth below the limit, and `defer` without `fuse`.
        """
        if defer and not fuse:
            raise UsageError("deferring is for a fused search only", hint="leave --defer out, or add --fuse")
        asked = _query(query, limit)
        deep = msgspec.structs.replace(asked, limit=_depth(asked.limit, fuse, depth))
        answers, failures = _split(
            self.names, _ask_each(self.members, lambda member: _answered(member, deep))
        )
        bundles = tuple(answer.bundle for answer in answers)
        later = [
            deferral(match.strength for match in answer.bundle.matches) if defer else 0 for answer in answers
        ]
        found = _fused(answers, asked.limit, later) if fuse else _grouped(answers)
        placed = {answer.bundle.brain: answer.meanings for answer in answers if answer.meanings is not None}
        matches, unlinked = linked(found, fused=fuse, meanings=placed)
        members = _reports(bundles, matches, later)
        return CompoundResult(
            query=asked,
            fused=fuse,
            depth=deep.limit,
            truncated=any(member.truncated for member in members),
            all_verified=all(member.all_verified for member in members),
            members=members,
            matches=matches,
            skipped=self.skipped + _as_skipped(failures),
            failures=failures,
            warnings=_warnings(bundles, failures) + unlinked,
        )

    def explain(
        self, query: Query | str, *, limit: int | None = None, analyze: bool = False
    ) -> CompoundExplanation:
        """Why each member answers as it does, side by side: no compound plan. Failures as in `search`."""
        asked = _query(query, limit)
        answers = _ask_each(self.members, lambda member: member.explain(asked, analyze=analyze))
        explanations, failures = _split(self.names, answers)
        return CompoundExplanation(
            query=asked,
            members=explanations,
            skipped=self.skipped + _as_skipped(failures),
            failures=failures,
            warnings=_warnings(explanations, failures),
        )

    def sql(self, query: str, *, asked: Asked | None = None) -> SqlResult:
        """Answer one SELECT over the tables of every member (C21 to C30). `asked` holds the limits and choices, `query`
        replaces its text. Raises QueryError for what is refused, UsageError for a member without tables,
        MissingExtraError."""
        from consilience.sql.engine import question, run

        sources = [_tables_of(member) for member in self.members]
        return run(sources, self.names, question(query, asked), compound=True, skipped=self.skipped)

    def explain_sql(self, query: str, *, asked: Asked | None = None) -> SqlExplanation:
        """What the query would read of each member, and the engine's plan. As `sql`."""
        from consilience.sql.engine import explain, question

        sources = [_tables_of(member) for member in self.members]
        return explain(sources, self.names, question(query, asked), compound=True)


def _tables_of(member: Member) -> Callable[[], Source]:
    tables: Callable[[], Source] | None = getattr(member, "tables", None)
    if tables is None:
        raise UsageError(f"the brain '{member.name}' gives no tables", hint="leave it out of the compound")
    return tables


def _query(query: Query | str, limit: int | None) -> Query:
    asked = Query(text=query) if isinstance(query, str) else query
    if limit is not None:
        asked = msgspec.structs.replace(asked, limit=limit)
    if asked.limit < 1:
        raise UsageError(f"the limit is {asked.limit}", hint="a limit is 1 or more")
    return asked


def _depth(limit: int, fuse: bool, depth: int | None) -> int:
    """How many matches each member is asked for."""
    if depth is None:
        return max(LEAST_DEPTH, DEPTH_PER_LIMIT * limit) if fuse else limit
    if not fuse:
        raise UsageError("a depth is for a fused search only", hint="leave it out, or fuse")
    if depth < limit:
        raise UsageError(f"the depth, {depth}, is below the limit, {limit}", hint="raise it, or leave it out")
    return depth


# --- asking side by side ------------------------------------------------------------------------------------


def _ask_each(members: Sequence[Member], ask: Callable[[Member], Answer]) -> list[Answer | ConsilienceError]:
    """Ask every member in a thread of its own; the answers, or what went wrong, in the order of the members.

    The threads are daemons, and nothing waits for them once the caller is interrupted (decision 0063).
    """
    answers: dict[int, Answer | ConsilienceError] = {}
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    for index in range(len(members)):
        todo.put(index)
    stopped = threading.Event()

    def work() -> None:
        while not stopped.is_set():
            try:
                index = todo.get_nowait()
            except queue.Empty:
                return
            answers[index] = _answer(members[index], ask)

    threads: list[threading.Thread] = []
    try:
        for _ in range(min(len(members), MOST_THREADS)):
            thread = threading.Thread(target=work, name="consilience-member", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # no more threads to be had: those that run, or this one, do the rest
                break
            threads.append(thread)
        if not threads:
            work()
        for thread in threads:
            while thread.is_alive():
                thread.join(0.5)
    finally:
        stopped.set()
    return [answers[index] for index in range(len(members))]


def _answer(member: Member, ask: Callable[[Member], Answer]) -> Answer | ConsilienceError:
    try:
        return ask(member)
    except ConsilienceError as error:
        return error
    except BaseException as error:
        hint = "this is a bug of ours; the answers of the other brains are not touched by it"
        wrapped = ConsilienceError(f"{type(error).__name__}: {error}", hint=hint)
        wrapped.__cause__ = error
        return wrapped


def _split(
    names: Sequence[str], answers: Sequence[Answer | ConsilienceError]
) -> tuple[tuple[Answer, ...], tuple[Failure, ...]]:
    """Part the answers from the failures (in order of name); raise when there are only failures."""
    good = tuple(answer for answer in answers if not isinstance(answer, ConsilienceError))
    failures = tuple(
        Failure(brain=name, error=answer)
        for name, answer in sorted(zip(names, answers, strict=True), key=lambda pair: pair[0])
        if isinstance(answer, ConsilienceError)
    )
    if not good:
        raise _all_failed(failures)
    return good, failures


def _all_failed(failures: Sequence[Failure]) -> ConsilienceError:
    """The error that all members share (the question's own fault, mostly); else the gravest, naming all."""
    worst = gravest(failures).error
    if all(type(each.error) is type(worst) and each.error.message == worst.message for each in failures):
        return worst
    said = "; ".join(f"{each.brain}: {each.error.message}" for each in failures)
    error = type(worst)(f"no brain could answer: {said}", hint=worst.hint)
    error.__cause__ = worst
    return error


def gravest(failures: Sequence[Failure]) -> Failure:
    """The failure that decides an exit status: broken integrity before all else, then the first by name."""
    return min(failures, key=lambda each: (not isinstance(each.error, IntegrityError), each.brain))


class _Answered(NamedTuple):
    """A member's bundle and, of one in this process, what its matches can be compared by, and their highlights."""

    bundle: Bundle
    meanings: Meanings | None = None
    highlights: Highlights | None = None


def _answered(member: Member, asked: Query) -> _Answered:
    here: Callable[[Query], LocalAnswer] | None = getattr(member, "answer", None)
    if here is None:
        return _Answered(_checked(member.name, asked, member.search(asked)))
    found = here(asked)
    return _Answered(_checked(member.name, asked, found.bundle), found.meanings, found.highlights)


def _checked(name: str, asked: Query, bundle: Bundle) -> Bundle:
    """Refuse a bundle that breaks what fusing and citing rely on: a member need not be our own code."""
    copies = [each for match in bundle.matches for each in (match, *match.also)]
    ids = [each.block_id for each in copies]
    wrong = None
    if bundle.brain != name:
        wrong = f"it is signed '{bundle.brain}'"
    elif len(bundle.matches) > asked.limit:
        wrong = f"it has {len(bundle.matches)} matches where {asked.limit} were asked for"
    elif len(set(ids)) != len(ids):
        wrong = "it holds a block twice"
    for match in copies:
        root = _root(bundle, match.memory_type)
        if not (0.0 <= match.score <= 1.0 and 0.0 <= (match.strength or 0.0) <= 1.0):
            wrong = f"score or strength of {match.block_id} is not within 0 and 1"
        elif root is None or match.root not in ("", root):
            wrong = f"{match.block_id} was not verified against a root that it names"
    if wrong is not None:
        raise ConsilienceError(f"the answer of this brain cannot be used: {wrong}")
    return bundle


def _root(bundle: Bundle, module: MemoryType) -> str | None:
    return next((ref.root for ref in bundle.verified_against if ref.module == module), None)


# --- composing the answers ----------------------------------------------------------------------------------


class _Held(NamedTuple):
    """One match in one brain's answer; `rank` is its place there, from 1."""

    answer: _Answered
    rank: int
    match: Match


def _grouped(answers: Sequence[_Answered]) -> tuple[CompoundMatch, ...]:
    return tuple(
        _compose((_Held(answer, rank, match),), match.score)
        for answer in answers
        for rank, match in enumerate(answer.bundle.matches, 1)
    )


def _fused(answers: Sequence[_Answered], limit: int, later: Sequence[int]) -> tuple[CompoundMatch, ...]:
    agreeing = _agreeing([answer.bundle for answer in answers])
    lists = [
        RankedList(
            keys=tuple(match.block_id for match in matches),
            strengths=tuple(match.strength for match in matches),
            deferred=deferred,
        )
        for matches, deferred in zip(agreeing, later, strict=True)
    ]
    return tuple(
        _compose([_Held(answers[i], rank, agreeing[i][rank - 1]) for i, rank in each.places], each.score)
        for each in fuse(lists, limit=limit)
    )


def _agreeing(bundles: Sequence[Bundle]) -> list[list[Match]]:
    """Each member's matches; of a passage with copies in one brain, the copy that most members hold stands for it (the
    smallest id of several), so that what they hold in the same bytes still meets under one id."""
    held = Counter(
        each.block_id for bundle in bundles for match in bundle.matches for each in (match, *match.also)
    )
    return [[_standing(match, held) for match in bundle.matches] for bundle in bundles]


def _standing(match: Match, held: Mapping[str, int]) -> Match:
    copies = (match, *match.also)
    most = max(held[copy.block_id] for copy in copies)
    if most == 1:
        return match
    best = min((copy for copy in copies if held[copy.block_id] == most), key=lambda copy: copy.block_id)
    return msgspec.structs.replace(
        best,
        rank=match.rank,
        score=match.score,
        strength=match.strength,
        sources=match.sources,
        also=tuple(copy for copy in copies if copy is not best),
    )


def _compose(holders: Sequence[_Held], score: float) -> CompoundMatch:
    """One match from the brains that returned it (C15).

    What a reader sees (content, text, title, ...) comes from one holder, chosen without regard to the order
    in which brains were named: one that can read the bytes, then best rank, larger strength, name.
    """
    reading = min(holders, key=_reading_order)
    shown, words = reading.match, reading.answer.highlights
    successors = [held.match.superseded_by for held in holders if held.match.superseded_by is not None]
    return CompoundMatch(
        block_id=shown.block_id,
        memory_type=shown.memory_type,
        score=score,
        content=shown.content,
        text=shown.text,
        title=shown.title,
        resolvable=any(held.match.resolvable for held in holders),
        superseded_by=min(successors, default=None),
        sources=tuple(dict.fromkeys(source for held in holders for source in held.match.sources)),
        brains=tuple(_contribution(held.answer.bundle, held.rank, held.match) for held in holders),
        highlights=shown.highlights if words is None else words(shown.block_id),
        role=shown.role,
    )


def _reading_order(held: _Held) -> tuple[bool, bool, int, float, str]:
    match = held.match
    strength = -1.0 if match.strength is None else match.strength
    return (not match.resolvable, match.content is None, held.rank, -strength, held.answer.bundle.brain)


def _contribution(bundle: Bundle, rank: int, match: Match) -> Contribution:
    root = _root(bundle, match.memory_type) or match.root
    return Contribution(
        brain=bundle.brain,
        rank=rank,
        score=match.score,
        strength=match.strength,
        resolvable=match.resolvable,
        superseded_by=match.superseded_by,
        sources=match.sources,
        also=tuple(sorted(copy.block_id for copy in match.also)),
        via=match.via,
        cite=cite(bundle.brain, match.memory_type, match.block_id, root),
    )


def _reports(
    bundles: Sequence[Bundle], matches: Sequence[CompoundMatch], later: Sequence[int]
) -> tuple[MemberReport, ...]:
    """One report a member; a match of its own that is not among `matches` was cut, and truncates it (C17)."""
    counts = dict.fromkeys((bundle.brain for bundle in bundles), 0)
    collapsed = dict(counts)
    for match in matches:
        for contribution in match.brains:
            counts[contribution.brain] += 1
            collapsed[contribution.brain] += len(contribution.also)
    return tuple(
        MemberReport(
            brain=bundle.brain,
            count=counts[bundle.brain],
            truncated=bundle.truncated or counts[bundle.brain] < len(bundle.matches),
            withheld=bundle.withheld,
            all_verified=bundle.all_verified,
            verified_against=bundle.verified_against,
            snapshot=bundle.snapshot,
            plan=bundle.plan,
            elapsed_ms=bundle.elapsed_ms,
            collapsed=collapsed[bundle.brain],
            deferred=deferred,
        )
        for bundle, deferred in zip(bundles, later, strict=True)
    )


def _as_skipped(failures: Iterable[Failure]) -> tuple[Skipped, ...]:
    return tuple(Skipped(brain=each.brain, reason=f"failed: {each.error.message}") for each in failures)


def _warnings(answers: Iterable[Bundle | Explanation], failures: Iterable[Failure]) -> tuple[str, ...]:
    """Every degradation with the name of its brain before it (C18), in order of name."""
    said = [(answer.brain, warning) for answer in answers for warning in answer.warnings]
    said += [(each.brain, f"failed: {each.error.message}") for each in failures]
    return tuple(f"{brain}: {warning}" for brain, warning in sorted(said, key=lambda pair: pair[0]))
