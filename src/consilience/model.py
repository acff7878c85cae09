"""The values that cross module boundaries: a question, what an index sees of a block, and what comes back.

Frozen throughout. Scores and strengths are floats while they are compared and two-decimal strings in every output
(contract C11); block ids are `sha256:` text here and raw 32 bytes inside the store.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Protocol

import msgspec

from consilience.errors import ConsilienceError
from consilience.protocol import MemoryType
from consilience.protocol.citation import encode_brain

SEARCHED_BY_DEFAULT: tuple[MemoryType, ...] = (
    MemoryType.SEMANTIC,
    MemoryType.EPISODIC,
    MemoryType.PROCEDURAL,
)
"""Modules that a question reaches when it names none; canonical blocks are files, asked for with `--module`."""


RRF_K = 60
"""Reciprocal rank fusion adds 1/(60 + rank): Cormack, Clarke and Buettcher, SIGIR 2009."""


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """Base of the frozen records below."""


# --- the question -----------------------------------------------------------------------------------------------


class Filters(Value, frozen=True, kw_only=True):
    """What a match must be. Empty means no bound. Values of one field are alternatives; fields combine with AND.

    `since` and `until` are inclusive UTC days or instants (`2024-05-01`, `2024-05-01T12:00:00Z`); a block without a
    date fails a window. `sources` are globs (or plain prefixes) over the origin of the files a block came from.
    """

    modules: tuple[MemoryType, ...] = ()
    kinds: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None


class Query(Value, frozen=True, kw_only=True):
    """One question. `limit` >= 1 matches a brain; `floor=False` returns what the noise floor would withhold;
    `collapse=False` returns every copy of a passage that one brain holds several times as a match of its own;
    `related=True` brings in what is related to the matches found."""

    text: str
    filters: Filters = Filters()
    limit: int = 10
    include_superseded: bool = False
    floor: bool = True
    collapse: bool = True
    related: bool = False


UNITS = ("line", "page", "slide", "cell", "chapter", "paragraph", "record", "message")
"""What a locator's numbers count. The first is the ordinary one."""

_LOCATOR = re.compile(
    r"(?:(?:L([1-9][0-9]{0,8})(?:-L([1-9][0-9]{0,8}))?"
    rf"|({'|'.join(UNITS[1:])}) ([1-9][0-9]{{0,8}})(?:-([1-9][0-9]{{0,8}}))?)(?:<([1-9][0-9]{{0,8}}))?)?"
    r"(?:(?:^|(?<=.) )@([0-9]{4}-[0-9]{2}-[0-9]{2}\S*))?"
    r"(?:(?:^|(?<=.) )# (.*))?",
    re.DOTALL,
)


def _unescape(heading: str) -> str:
    return re.sub(r"\\(.)", r"\1", heading) if "\\" in heading else heading


# --- where in a source ------------------------------------------------------------------------------------------


class Locator(Value, frozen=True, kw_only=True):
    """Where in its source a passage stands: 1-based inclusive lines, the date the source declares, the heading path.

    Text form (kept in the derivation record): `L120-L134 @2001-01-30 # Title > Section > Part`, each part optional;
    inside a heading a backslash precedes `\\` and `>`. The first heading is the title of the document. Where a source
    has no lines the numbers count what it has, one of `UNITS`: `page 3-4 # Title`. `L120-L134<118`: an item of a list
    (a row, code) that the passage beginning at line 118 introduces.
    """

    first_line: int | None = None
    last_line: int | None = None
    date: str | None = None
    headings: tuple[str, ...] = ()
    unit: str = "line"
    introduced_by: int | None = None

    def text(self) -> str:
        parts: list[str] = []
        if self.first_line is not None:
            last = self.first_line if self.last_line is None else self.last_line
            mark, again = ("L", "L") if self.unit == "line" else (f"{self.unit} ", "")
            to = f"-{again}{last}" if last != self.first_line else ""
            by = f"<{self.introduced_by}" if self.introduced_by is not None else ""
            parts.append(f"{mark}{self.first_line}{to}{by}")
        if self.date:
            parts.append(f"@{self.date}")
        if self.headings:
            escaped = (h.replace("\\", "\\\\").replace(">", "\\>") for h in self.headings)
            parts.append("# " + " > ".join(escaped))
        return " ".join(parts)

    @classmethod
    def parse(cls, text: str) -> Locator:
        """Read the text form. Anything else, written by other software, becomes one heading."""
        match = _LOCATOR.fullmatch(text)
        if match is None or not text:
            return cls(headings=(text,) if text else ())
        line, to_line, unit, number, to_number, introduced_by, date, path = match.groups()
        first, last = (number, to_number) if unit else (line, to_line)
        start = int(first) if first else None
        end = int(last) if last else start
        if start is not None and end is not None and end < start:
            return cls(headings=(text,))
        headings = () if path is None else tuple(_unescape(part) for part in path.split(" > "))
        return cls(
            first_line=start,
            last_line=end,
            date=date,
            headings=headings,
            unit=unit or "line",
            introduced_by=int(introduced_by) if introduced_by else None,
        )


class Source(Value, frozen=True, kw_only=True):
    """One place a block came from: a registered file and the position in it, and the record that says so."""

    block_id: str
    origin: str | None = None
    locator: str | None = None
    record: str | None = None

    @property
    def place(self) -> Locator:
        return _located(self.locator or "")


@lru_cache(maxsize=4096)
def _located(text: str) -> Locator:
    return Locator.parse(text)


# --- what an index sees -----------------------------------------------------------------------------------------


class Entry(Value, frozen=True, kw_only=True):
    """A block as the derived indices see it: its own text, and the context that provenance adds at index time.

    `n` is the store's ordinal; `role` one of prose, code, list, table, reference, toc, boilerplate, heading (ranks
    down, never hides); `language` an ISO 639-1 code or "" where none was detected; `date` a UTC day or instant.
    """

    n: int
    module: MemoryType
    text: str
    context: str = ""
    language: str = ""
    role: str = "prose"
    kind: str = ""
    subject: str = ""
    tags: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    date: str | None = None


class Hit(msgspec.Struct, frozen=True):
    """A candidate of one generator: the block's ordinal and the generator's own score (higher is better)."""

    n: int
    score: float


class Hits(Value, frozen=True, kw_only=True):
    """A ranked candidate list, best first, ties by ordinal. `exhausted`: the index did not cut it at its own k."""

    hits: tuple[Hit, ...]
    exhausted: bool


# --- what one brain answers -------------------------------------------------------------------------------------


class Via(Value, frozen=True, kw_only=True):
    """How a match was reached that the question does not ask for by itself: from the match `block_id`, along relations
    `by`, first step first: next, previous, link, linked from, evidence, made into, successor, subject."""

    block_id: str
    by: tuple[str, ...]


class Match(Value, frozen=True, kw_only=True):
    """One verified block in a bundle. `rank` from 1; `score` 0..1 with the bundle's best at 1; `strength` 0..1, the
    percentile against this brain's noise, None where the brain has measured none. `content` is the payload as JSON
    (None when the bytes are gone). `highlights` are the words of `text` that the question hit. `also` are the other
    copies of the passage in this brain, verified too, that were collapsed into it; `sources` are those of all. `via`:
    it was not found, but brought in by a relation to a match that was."""

    block_id: str
    memory_type: MemoryType
    rank: int
    score: float
    strength: float | None
    content: msgspec.Raw | None
    text: str
    title: str
    resolvable: bool = True
    superseded_by: str | None = None
    sources: tuple[Source, ...] = ()
    highlights: tuple[str, ...] = ()
    role: str = "prose"
    root: str = ""
    also: tuple[Match, ...] = ()
    via: Via | None = None


class PlanSummary(Value, frozen=True, kw_only=True):
    """The short form of a plan: generators with their weights, and what was estimated."""

    name: str
    generators: tuple[str, ...]
    weights: tuple[float, ...]
    estimated_us: float
    estimated_recall: float


class ModuleRoot(Value, frozen=True, kw_only=True):
    module: MemoryType
    root: str


class Bundle(Value, frozen=True, kw_only=True):
    """What one brain answers: ranked matches, each verified against a root; never prose.

    `truncated`: a candidate that passed every filter was discarded, here or by an index's own k. `withheld`: how many
    candidates the noise floor held back. `dropped`: ids that failed verification and are not among the matches.
    """

    brain: str
    query: Query
    matches: tuple[Match, ...]
    truncated: bool
    withheld: int
    verified_against: tuple[ModuleRoot, ...]
    snapshot: str | None
    plan: PlanSummary
    elapsed_ms: float
    warnings: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()

    @property
    def all_verified(self) -> bool:
        return not self.dropped

    @property
    def collapsed(self) -> int:
        """How many blocks stand in `also` of some match."""
        return sum(len(match.also) for match in self.matches)


# --- why it answered so -----------------------------------------------------------------------------------------


class GeneratorReport(Value, frozen=True, kw_only=True):
    """One generator inside a plan. `actual_*` only with `--analyze` and only for the plan that ran."""

    name: str
    k: int
    weight: float
    estimated_us: float
    estimated_rows: float
    actual_us: float | None = None
    actual_rows: int | None = None


class PlanReport(Value, frozen=True, kw_only=True):
    """One candidate plan. `reason` says why it was chosen, or why it was not."""

    name: str
    chosen: bool
    reason: str
    estimated_us: float
    estimated_recall: float
    generators: tuple[GeneratorReport, ...]
    actual_us: float | None = None


class IndexReport(Value, frozen=True, kw_only=True):
    """State of one index: blocks covered of those it should cover, whether the chosen plan consults it, and why not."""

    name: str
    available: bool
    consulted: bool
    covered: int
    of: int
    detail: str = ""


class FloorReport(Value, frozen=True, kw_only=True):
    """The noise floor of this brain and what it did. Strengths are percentiles, 0..1: a brain answers where its best
    match reaches `speaks`, with those that reach `threshold`."""

    applied: bool
    threshold: float | None
    speaks: float | None
    samples: int
    best: float | None
    best_withheld: float | None
    withheld: int
    detail: str = ""


class Explanation(Value, frozen=True, kw_only=True):
    """Why one brain answers as it does."""

    brain: str
    query: Query
    snapshot: str | None
    intent: str
    plans: tuple[PlanReport, ...]
    indices: tuple[IndexReport, ...]
    statistics: str
    floor: FloorReport
    analyzed: bool
    count: int | None = None
    warnings: tuple[str, ...] = ()


class Member(Protocol):
    """Whatever can answer in a compound: a brain on this disk, or one elsewhere."""

    @property
    def name(self) -> str: ...

    def search(self, query: Query) -> Bundle: ...

    def explain(self, query: Query, *, analyze: bool = False) -> Explanation: ...


# --- what a compound answers ------------------------------------------------------------------------------------


class Contribution(Value, frozen=True, kw_only=True):
    """What one brain says of one match: rank and score there, and that brain's own installation of the block."""

    brain: str
    rank: int
    score: float
    strength: float | None
    resolvable: bool
    superseded_by: str | None
    sources: tuple[Source, ...]
    cite: str
    also: tuple[str, ...] = ()
    via: Via | None = None


class NearMatch(Value, frozen=True, kw_only=True):
    """A match of another brain that says the same in almost the same words, or in others. `rule`: text (equal but for
    case, punctuation, numbering), shingles, contained, meaning (by the vectors of one model); `measure` in (0, 1].
    Only shown: it counts nowhere."""

    brain: str
    block_id: str
    measure: float
    rule: str


class CompoundMatch(Value, frozen=True, kw_only=True):
    """A block in the answer of a compound; `brains`: one entry when grouped, one per contributing brain when fused."""

    block_id: str
    memory_type: MemoryType
    score: float
    content: msgspec.Raw | None
    text: str
    title: str
    resolvable: bool
    superseded_by: str | None
    sources: tuple[Source, ...]
    brains: tuple[Contribution, ...]
    highlights: tuple[str, ...] = ()
    role: str = "prose"
    near: tuple[NearMatch, ...] = ()


class MemberReport(Value, frozen=True, kw_only=True):
    """One member's part of a compound answer; its roots stay here (C16). `deferred`: how many places later than it
    stands each of its matches counted."""

    brain: str
    count: int
    truncated: bool
    withheld: int
    all_verified: bool
    verified_against: tuple[ModuleRoot, ...]
    snapshot: str | None
    plan: PlanSummary
    elapsed_ms: float
    collapsed: int = 0
    deferred: int = 0


class Skipped(Value, frozen=True, kw_only=True):
    """A declared brain that gave no answer, and why: not here, or `failed: ...`."""

    brain: str
    reason: str


class Failure(Value, frozen=True, kw_only=True):
    """A member that was asked and failed. It stands in `skipped` too, so that no output can leave it out."""

    brain: str
    error: ConsilienceError


class CompoundResult(Value, frozen=True, kw_only=True):
    """One shape for grouped and fused. `depth` is how many matches each member was asked for.

    A member's `count` is how many of `matches` name it. `failures` and `warnings` are in order of brain name.
    """

    query: Query
    fused: bool
    depth: int
    truncated: bool
    all_verified: bool
    members: tuple[MemberReport, ...]
    matches: tuple[CompoundMatch, ...]
    skipped: tuple[Skipped, ...]
    failures: tuple[Failure, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return len(self.matches)


class CompoundExplanation(Value, frozen=True, kw_only=True):
    """One explanation per member, side by side; there is no compound plan."""

    query: Query
    members: tuple[Explanation, ...]
    skipped: tuple[Skipped, ...]
    failures: tuple[Failure, ...] = ()
    warnings: tuple[str, ...] = ()


def cite(brain: str, module: MemoryType, block_id: str, root: str) -> str:
    """`csl:brain/module/sha256:<block>@sha256:<root>`: block and brain, and the root it was verified against.

    The grammar is in `protocol.citation`. Raises ValidationError for a brain's name that has no UTF-8 form.
    """
    return f"csl:{encode_brain(brain)}/{module.value}/{block_id}@{root}"


def two_decimals(value: float) -> str:
    """A score or strength as every output shows it (C11)."""
    return f"{value:.2f}"
