"""Lineage of one block: up to the files it came from, down to what was made from it. Reads only.

Edges are derivation records; a block that is reached twice, by two ways or in a circle (records of other software
can say anything), is expanded once. Every level is read together, so that width costs rows and not questions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import UNSET

from consilience.errors import FormatError
from consilience.model import Value
from consilience.plan.entries import text_of
from consilience.protocol import (
    Collaborator,
    Demotion,
    Derivation,
    MemoryType,
    Normalization,
    Provenance,
    Record,
    Registration,
    Removal,
    Supersession,
    Validation,
    decode,
    format_digest,
)
from consilience.store import StoredBlock, View
from consilience.store.lineage import Edge

__all__ = [
    "COUNTED",
    "DEPTH",
    "LIMIT",
    "RecordLine",
    "TraceNode",
    "TraceReport",
    "record_line",
    "trace_block",
]

DEPTH = 8
LIMIT = 10
SHOWN = 1_000
"""Nodes of one direction that are shown at most, whatever depth and limit say."""

COUNTED = 100_000
"""Blocks of one direction that are counted at most."""

TITLE = 200
NAMED = 5
"""Registrations of one file, or blocks of one removal, that are named."""


class RecordLine(Value, frozen=True, kw_only=True):
    """One provenance record about a block, in words: `what` happened, by whom, when, and what else it says."""

    record: str
    what: str
    at: str
    actor: str
    detail: str = ""


class TraceNode(Value, frozen=True, kw_only=True):
    """One block in a tree, which is listed depth first: `parent` is a position in the list, None for a block that is
    tied to the one asked about. `record` ties it to its parent, at `locator`; `more_records` others do too.

    `registered`: how it was registered and read, for a file. `edges`: how many blocks it is tied to in this
    direction, of which `hidden` are superseded or demoted; `repeated`: it is expanded elsewhere in the list.
    `memory_type` is None for a block that is not here, `resolvable` false where its bytes are gone.
    """

    depth: int
    parent: int | None
    block_id: str
    memory_type: MemoryType | None
    title: str
    locator: str
    record: RecordLine
    more_records: int = 0
    registered: tuple[RecordLine, ...] = ()
    member: bool = True
    resolvable: bool = True
    superseded_by: str | None = None
    demoted: bool = False
    edges: int = 0
    hidden: int = 0
    repeated: bool = False


class Direction(Value, frozen=True, kw_only=True):
    """One side of a lineage. `edges` blocks are tied to the block itself, `hidden` of them superseded or demoted;
    `total` are reached in all (`counted_all` false: at least so many)."""

    nodes: tuple[TraceNode, ...]
    edges: int
    hidden: int
    total: int
    counted_all: bool


class TraceReport(Value, frozen=True, kw_only=True):
    """Where a block comes from and what was made from it, at one snapshot. `records` are those about the block
    itself, oldest first."""

    brain: str
    snapshot: str
    block_id: str
    memory_type: MemoryType
    title: str
    resolvable: bool
    superseded_by: str | None
    demoted: bool
    records: tuple[RecordLine, ...]
    up: Direction | None
    down: Direction | None


def trace_block(
    view: View,
    brain: str,
    block: StoredBlock,
    *,
    depth: int = DEPTH,
    limit: int = LIMIT,
    up: bool = True,
    down: bool = True,
) -> TraceReport:
    """The lineage of a block: `depth` steps each way, `limit` blocks at each."""
    hidden = view.hidden([block.n]).get(block.n)
    after = hidden.superseded_by if hidden is not None else None
    return TraceReport(
        brain=brain,
        snapshot=format_digest(view.snapshot.digest) if view.snapshot is not None else "",
        block_id=format_digest(block.id),
        memory_type=block.memory_type,
        title=_titles(view, [block])[block.n],
        resolvable=block.data is not None,
        superseded_by=format_digest(after) if after is not None else None,
        demoted=hidden.demoted if hidden is not None else False,
        records=tuple(record_line(record) for record in view.records_about(block.n)),
        up=_Walk(view, block.n, up=True, depth=depth, limit=limit).direction() if up else None,
        down=_Walk(view, block.n, up=False, depth=depth, limit=limit).direction() if down else None,
    )


# --- walking ------------------------------------------------------------------------------------------------


class _Tie:
    """A block at the other end of one or more derivation records."""

    __slots__ = ("edge", "more")

    def __init__(self, edge: Edge) -> None:
        self.edge = edge
        self.more = 0


class _Walk:
    """One direction, level by level."""

    def __init__(self, view: View, n: int, *, up: bool, depth: int, limit: int) -> None:
        self._view = view
        self._start = n
        self._up = up
        self._depth = depth
        self._limit = limit
        self._ties: dict[int, list[_Tie]] = {}
        self._hidden: dict[int, int] = {}

    def direction(self) -> Direction:
        self._read()
        order = list(self._order())
        total = self._view.reached(self._start, up=self._up, most=COUNTED)
        return Direction(
            nodes=self._nodes(order),
            edges=len(self._ties[self._start]),
            hidden=self._hidden[self._start],
            total=min(total, COUNTED),
            counted_all=total <= COUNTED,
        )

    def _read(self) -> None:
        """The ties of every block that is shown expanded."""
        frontier, shown = [self._start], 0
        for _ in range(self._depth + 1):
            self._read_ties(frontier)
            following: list[int] = []
            for n in frontier:
                following += [tie.edge.other for tie in self._ties[n][: self._limit]]
            frontier = [n for n in dict.fromkeys(following) if n not in self._ties][: SHOWN - shown]
            shown += len(frontier)
            if not frontier:
                return

    def _read_ties(self, ns: Sequence[int]) -> None:
        found: dict[int, dict[int, _Tie]] = defaultdict(dict)
        for edge in self._view.derivation_edges(ns, up=self._up):
            tie = found[edge.n].get(edge.other)
            if tie is None:
                found[edge.n][edge.other] = _Tie(edge)
            else:
                tie.more += 1
        for n in ns:
            self._ties[n] = list(found[n].values()) if n in found else []
        hidden = self._view.hidden(
            {tie.edge.other for n in ns for tie in self._ties[n] if tie.edge.other > 0}
        )
        for n in ns:
            self._hidden[n] = sum(tie.edge.other in hidden for tie in self._ties[n])

    def _order(self) -> Iterable[tuple[int, int | None, _Tie, bool]]:
        """Depth, parent's position, tie and whether repeated, depth first."""
        expanded = {self._start}
        rest = [(1, None, tie) for tie in reversed(self._ties[self._start][: self._limit])]
        stack: list[tuple[int, int | None, _Tie]] = list(rest)
        position = -1
        while stack and position + 1 < SHOWN:
            depth, parent, tie = stack.pop()
            position += 1
            n = tie.edge.other
            again = n in expanded
            yield depth, parent, tie, again
            if again or depth >= self._depth:
                continue
            expanded.add(n)
            inner = self._ties.get(n, [])[: self._limit]
            stack += [(depth + 1, position, each) for each in reversed(inner)]

    def _nodes(self, order: Sequence[tuple[int, int | None, _Tie, bool]]) -> tuple[TraceNode, ...]:
        view = self._view
        ns = list(dict.fromkeys(tie.edge.other for _, _, tie, _ in order))
        blocks = {block.n: block for block in view.blocks([n for n in ns if n > 0])}
        names = view.ids(ns)
        members, hidden = view.members(blocks), view.hidden(blocks)
        titles = _titles(view, list(blocks.values()))
        records = {
            r.n: record_line(r) for r in view.blocks(sorted({tie.edge.record_n for _, _, tie, _ in order}))
        }
        files = {n: _registered(view, n) for n, b in blocks.items() if b.memory_type is MemoryType.CANONICAL}
        nodes = []
        for depth, parent, tie, again in order:
            n = tie.edge.other
            block, state = blocks.get(n), hidden.get(n)
            after = state.superseded_by if state is not None else None
            nodes.append(
                TraceNode(
                    depth=depth,
                    parent=parent,
                    block_id=format_digest(names[n]) if n in names else "",
                    memory_type=block.memory_type if block is not None else None,
                    title=titles.get(n, ""),
                    locator=tie.edge.locator or "",
                    record=records[tie.edge.record_n],
                    more_records=tie.more,
                    registered=files.get(n, ()),
                    member=n in members,
                    resolvable=block is not None and block.data is not None,
                    superseded_by=format_digest(after) if after is not None else None,
                    demoted=state.demoted if state is not None else False,
                    edges=len(self._ties.get(n, ())),
                    hidden=self._hidden.get(n, 0),
                    repeated=again,
                )
            )
        return tuple(nodes)


def _registered(view: View, n: int) -> tuple[RecordLine, ...]:
    """How a file was registered and read, the latest words."""
    about = [r for r in view.records_about(n) if isinstance(_record(r), Registration | Normalization)]
    return tuple(record_line(record) for record in about[-NAMED:])


def _titles(view: View, blocks: Sequence[StoredBlock]) -> dict[int, str]:
    """What a block is called here: a file by the origins that hold it, then those that did; a record by what it says,
    any other by its own words."""
    canonical = [b.n for b in blocks if b.memory_type is MemoryType.CANONICAL]
    files, ever = view.sources(canonical, current=True), view.sources(canonical)
    found = {}
    for block in blocks:
        if block.memory_type is MemoryType.CANONICAL:
            origins = dict.fromkeys(source.origin for source in files.get(block.n, ()) if source.origin)
            found[block.n] = ", ".join(list(origins)[:NAMED])
            former = dict.fromkeys(source.origin for source in ever.get(block.n, ()) if source.origin)
            if left := [origin for origin in former if origin not in origins]:
                found[block.n] += f" (formerly {', '.join(left[:NAMED])})"
        elif block.memory_type is MemoryType.PROVENANCE:
            line = record_line(block)
            found[block.n] = f"{line.what} {line.detail}".strip()
        else:
            found[block.n] = _text(block)
    return found


def _text(block: StoredBlock) -> str:
    if block.data is None or not block.intact:
        return ""
    try:
        words = " ".join(text_of(decode(block.data).payload)[: 2 * TITLE].split())
        return words if len(words) <= TITLE else words[: TITLE - 1].rstrip() + "…"
    except FormatError:
        return ""


# --- records in words ---------------------------------------------------------------------------------------


def _record(stored: StoredBlock) -> Record | None:
    if stored.data is None or not stored.intact:
        return None
    payload = decode(stored.data).payload
    return payload.record if isinstance(payload, Provenance) else None


def record_line(stored: StoredBlock) -> RecordLine:
    """A provenance record in words, of every type that there is."""
    record = _record(stored)
    name = format_digest(stored.id)
    if record is None:
        gone = stored.data is None
        detail = "its bytes are gone" if gone else "run `verify`"
        what = "a record that is not here any more" if gone else "unreadable record"
        return RecordLine(record=name, what=what, at="", actor="", detail=detail)
    what, details = _words(record)
    if not isinstance(record, Removal) and record.assisted_by is not UNSET and record.assisted_by:
        details.append(f"assisted by {', '.join(map(_collaborator, record.assisted_by))}")
    detail = "; ".join(each for each in details if each)
    return RecordLine(record=name, what=what, at=record.at, actor=record.actor.id, detail=detail)


def _words(record: Record) -> tuple[str, list[str]]:
    """What a record says happened, and the rest of it in short phrases."""
    match record:
        case Registration():
            return "registered", [
                _said("from", record.origin),
                _said("license", record.license),
                _said("retention policy", record.retention_policy),
            ]
        case Normalization():
            return "normalized", [f"with {record.pipeline} {record.pipeline_version}"]
        case Derivation():
            return "derived", _derivation(record)
        case Supersession():
            return "superseded", [f"{record.supersedes} by {record.block}", _said("reason:", record.reason)]
        case Demotion():
            return "demoted", [_said("reason:", record.reason), _said("policy", record.policy)]
        case Validation():
            verdict = record.verdict.value.replace("_", " ")
            return f"judged {verdict}", [f"checks: {', '.join(record.checks)}", _said("task", record.task)]
        case Removal():
            return _removal(record)


def _derivation(record: Derivation) -> list[str]:
    made_from = f"from {', '.join(record.derived_from[:NAMED])}"
    if len(record.derived_from) > NAMED:
        made_from += f" and {len(record.derived_from) - NAMED:,} more"
    if not isinstance(record.locator, msgspec.UnsetType) and record.locator:
        made_from += f" at {record.locator}"
    producer = record.producer
    if isinstance(producer, msgspec.UnsetType):
        return [made_from, _said("task", record.task)]
    version = "" if isinstance(producer.version, msgspec.UnsetType) else f" {producer.version}"
    return [made_from, f"with {producer.id}{version}", _said("task", record.task)]


_LEFT = {"drop": "dropped", "supersede": "superseded", "demote": "demoted", "prune": "pruned"}


def _removal(record: Removal) -> tuple[str, list[str]]:
    if record.mechanism.is_redaction:
        what = "redacted"
        how = "" if record.mechanism == "tombstone" else f"by {record.mechanism.value.replace('_', ' ')}"
    else:
        what, how = _LEFT[record.mechanism.value], ""
    others = len(record.blocks) - 1
    with_others = (
        f"with {others:,} other block{'' if others == 1 else 's'} of {record.memory_type}" if others else ""
    )
    return what, [
        how,
        f"reason: {record.reason}",
        with_others,
        _said("policy", record.policy),
        _said("because of", record.cascaded_from),
    ]


def _said(lead: str, text: str | msgspec.UnsetType) -> str:
    return f"{lead} {text}" if isinstance(text, str) and text else ""


def _collaborator(party: Collaborator) -> str:
    return party.id if isinstance(party.model, msgspec.UnsetType) else f"{party.id} ({party.model})"
