"""What snapshots changed: counts for each, and the difference of two. From the intervals of membership and the
ledger; no block is read.

A snapshot's change is against the one before it. Of the oldest one that a prune kept, what left with it is no
longer known.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from consilience.errors import NotFoundError
from consilience.protocol import Digest, MemoryType, format_digest
from consilience.protocol import snapshot as snapshots
from consilience.store.connection import Connection, marks
from consilience.store.lineage import LineageReads
from consilience.store.reads import chunks, read_snapshots
from consilience.store.schema import CODE, MODULES
from consilience.store.values import ModuleState, SnapshotInfo
from consilience.store.view import View, module_states

__all__ = [
    "Change",
    "Difference",
    "ModuleChange",
    "Moment",
    "changes",
    "difference",
    "find_snapshots",
    "page",
]

CONCERNED_BLOCKS = 500
"""Blocks of one snapshot, hidden or gone, whose files are looked up where it registered none."""


class ModuleChange(msgspec.Struct, frozen=True, kw_only=True):
    """What one snapshot did to one module. `joined` and `left` are changes of membership; the others are blocks
    that records of this snapshot speak of, or whose bytes it gave up."""

    module: MemoryType
    joined: int = 0
    left: int = 0
    superseded: int = 0
    demoted: int = 0
    redacted: int = 0


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One snapshot and what it changed, by module; `origins` are the files it concerned, sorted (`more_origins`:
    not all were looked up). `oldest`: the one before it is not here."""

    snapshot: SnapshotInfo
    modules: tuple[ModuleChange, ...]
    origins: tuple[str, ...] = ()
    more_origins: bool = False
    oldest: bool = False


class Moment(LineageReads):
    """Another snapshot, read inside the transaction of a view."""

    def __init__(self, view: View, digest: Digest) -> None:
        """Raises NotFoundError where the view holds no such snapshot."""
        found = read_snapshots(view.connection, "WHERE digest = ?", (digest,))
        if not found:
            raise NotFoundError(f"no snapshot {format_digest(digest)} here", hint="csl history lists them")
        self.snapshot = found[0]
        here = view.snapshot is not None and found[0].seq == view.snapshot.seq
        super().__init__(view.connection, found[0].seq, at_head=here and view.is_head)

    @property
    def max_n(self) -> int:
        return self.snapshot.max_n

    def modules(self) -> tuple[ModuleState, ...]:
        return module_states(snapshots.parse(self.snapshot.document))


# --- finding ------------------------------------------------------------------------------------------------


def find_snapshots(view: View, hex_prefix: str, limit: int = 6) -> list[SnapshotInfo]:
    """Snapshots up to the view's whose digest begins with these hex digits, newest first."""
    low, high = bytes.fromhex(hex_prefix.ljust(64, "0")), bytes.fromhex(hex_prefix.ljust(64, "f"))
    seq = view.snapshot.seq if view.snapshot is not None else 0
    condition = "WHERE digest BETWEEN ? AND ? AND seq <= ? ORDER BY seq DESC LIMIT ?"
    return read_snapshots(view.connection, condition, (low, high, seq, limit))


def page(view: View, limit: int | None, module: MemoryType | None = None) -> tuple[list[SnapshotInfo], int]:
    """The newest snapshots, at most `limit`, and how many there are; with `module` those that changed it."""
    if view.snapshot is None:
        return [], 0
    if module is None:
        total = view.connection.rows("SELECT count(*) FROM snapshots WHERE seq <= ?", (view.snapshot.seq,))
        return view.history(limit), int(total[0][0])
    found: list[SnapshotInfo] = []
    before = None
    for info in reversed(view.history()):
        state = _state(info, module)
        if state != before:
            found.append(info)
        before = state
    found.reverse()
    return found[:limit], len(found)


def _state(info: SnapshotInfo, module: MemoryType) -> tuple[Digest, frozenset[Digest]] | None:
    states = module_states(snapshots.parse(info.document))
    return next(((s.root, s.tombstones) for s in states if s.memory_type is module), None)


# --- counts -------------------------------------------------------------------------------------------------


def changes(view: View, infos: Sequence[SnapshotInfo]) -> list[Change]:
    """What each of these snapshots changed, in the order given. They need not be adjacent."""
    if not infos:
        return []
    low, high = min(i.seq for i in infos), max(i.seq for i in infos)
    run = read_snapshots(view.connection, "WHERE seq BETWEEN ? AND ? ORDER BY seq", (low - 1, high))
    window = _Window(view.connection, low, high, run)
    return [window.change(info) for info in infos]


class _Window:
    """The counts of a run of snapshots, `low` to `high`, each statement run once."""

    def __init__(self, connection: Connection, low: int, high: int, run: Sequence[SnapshotInfo]) -> None:
        self._db = connection
        self._by_seq = {info.seq: info for info in run}
        before = self._by_seq.get(low - 1)
        bounds = {"low": low, "high": high, "after": before.max_n if before else 0, "last": run[-1].max_n}
        self._counts: dict[int, dict[MemoryType, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
        for what, sql in _COUNTS:
            for seq, code, count in connection.rows(sql, bounds):
                self._counts[seq][MODULES[code]][what] += count
        self._files: dict[int, set[str]] = defaultdict(set)
        for seq, origin in connection.rows(_REGISTERED, bounds):
            self._files[seq].add(origin)

    def change(self, info: SnapshotInfo) -> Change:
        before = self._by_seq.get(info.seq - 1)
        counted = self._counts[info.seq]
        for state, gone in _new_tombstones(info, before):
            counted[state]["redacted"] += gone
        files, complete = self._files.get(info.seq, set()), True
        if not files:
            files, complete = self._concerned(info, before)
        return Change(
            snapshot=info,
            modules=tuple(ModuleChange(module=m, **counted[m]) for m in MODULES if counted.get(m)),
            origins=tuple(sorted(files)),
            more_origins=not complete,
            oldest=before is None and bool(info.parents),
        )

    def _concerned(self, info: SnapshotInfo, before: SnapshotInfo | None) -> tuple[set[str], bool]:
        """The files that blocks come from which this snapshot hid or lost."""
        after = before.max_n if before else 0
        bounds = {"seq": info.seq, "after": after, "last": info.max_n, "most": CONCERNED_BLOCKS + 1}
        ns = [row[0] for row in self._db.rows(_CONCERNED, bounds)]
        found: set[str] = set()
        for part in chunks(ns[:CONCERNED_BLOCKS]):
            found.update(row[0] for row in self._db.rows(_FILES_OF.format(marks(part)), [*part, *part]))
        return found, len(ns) <= CONCERNED_BLOCKS


_COUNTS = (
    (
        "joined",
        "SELECT entered, type, count(*) FROM blocks WHERE n > :after AND n <= :last"
        " AND entered BETWEEN :low AND :high AND (departed IS NULL OR departed > entered) GROUP BY 1, 2",
    ),
    (
        "joined",
        "SELECT b.entered, b.type, count(*) FROM blocks b WHERE b.n IN (SELECT n FROM earlier) AND b.n <= :after"
        " AND b.entered BETWEEN :low AND :high AND (b.departed IS NULL OR b.departed > b.entered) GROUP BY 1, 2",
    ),
    (
        "joined",
        "SELECT e.entered, b.type, count(*) FROM earlier e JOIN blocks b USING (n)"
        " WHERE e.entered BETWEEN :low AND :high AND e.departed > e.entered GROUP BY 1, 2",
    ),
    (
        "left",
        "SELECT departed, type, count(*) FROM blocks"
        " WHERE departed BETWEEN :low AND :high AND departed > entered GROUP BY 1, 2",
    ),
    (
        "left",
        "SELECT e.departed, b.type, count(*) FROM earlier e JOIN blocks b USING (n)"
        " WHERE e.departed BETWEEN :low AND :high AND e.departed > e.entered GROUP BY 1, 2",
    ),
    *(
        (
            what,
            "SELECT r.entered, b.type, count(DISTINCT t.block_n) FROM hiding t"
            " JOIN blocks r ON r.n = t.record_n JOIN blocks b ON b.n = t.block_n"
            " WHERE t.record_n > :after AND t.record_n <= :last AND r.entered BETWEEN :low AND :high"
            f" AND t.by_n IS {null} NULL GROUP BY 1, 2",
        )
        for what, null in (("superseded", "NOT"), ("demoted", ""))
    ),
)
_REGISTERED = (
    "SELECT DISTINCT r.entered, t.origin FROM registration t JOIN blocks r ON r.n = t.record_n"
    " WHERE t.record_n > :after AND t.record_n <= :last AND r.entered BETWEEN :low AND :high"
    " AND t.origin NOT NULL"
)
_CONCERNED = (
    "SELECT n FROM blocks WHERE departed = :seq AND departed > entered"
    " UNION SELECT n FROM earlier WHERE departed = :seq"
    " UNION SELECT block_n FROM hiding WHERE record_n > :after AND record_n <= :last LIMIT :most"
)
_FILES_OF = (
    "SELECT origin FROM registration WHERE block_n IN ({0}) AND origin NOT NULL"
    " UNION SELECT g.origin FROM derivation d JOIN registration g ON g.block_n = d.source_n"
    " WHERE d.block_n IN ({0}) AND g.origin NOT NULL"
)


def _new_tombstones(info: SnapshotInfo, before: SnapshotInfo | None) -> Iterable[tuple[MemoryType, int]]:
    held = {m.memory_type: m.tombstones for m in _modules(before)} if before is not None else {}
    for state in _modules(info):
        gone = len(state.tombstones - held.get(state.memory_type, frozenset()))
        if gone and (before is not None or not info.parents):
            yield state.memory_type, gone


def _modules(info: SnapshotInfo) -> tuple[ModuleState, ...]:
    return module_states(snapshots.parse(info.document))


# --- the difference of two ----------------------------------------------------------------------------------


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """From one snapshot to another, in ordinals: `joined` and `left` are the whole change of membership of a
    module. Of members of both: those that became `hidden` (by a successor, its ordinal, or None by a demotion), those
    that are `shown` again, and those whose bytes were `redacted`."""

    module: MemoryType
    joined: frozenset[int] = frozenset()
    left: frozenset[int] = frozenset()
    superseded: frozenset[int] = frozenset()
    demoted: frozenset[int] = frozenset()
    shown: frozenset[int] = frozenset()
    redacted: frozenset[int] = frozenset()

    @property
    def empty(self) -> bool:
        return not any(getattr(self, name) for name in self.__struct_fields__[1:])


def difference(a: Moment, b: Moment, module: MemoryType) -> Difference:
    """What leads from `a` to `b`, which may be the older one."""
    sql = ("SELECT n, {now} FROM blocks x INDEXED BY block_id WHERE type = ? AND ({was}) != ({now})").format(
        was=a._member("x"), now=b._member("x")
    )
    rows = a.connection.rows(sql, (CODE[module],))
    joined = frozenset(n for n, now in rows if now)
    left = frozenset(n for n, now in rows if not now)
    hidden_a, hidden_b = a.hidden_members(module) - left, b.hidden_members(module) - joined
    became = b.hidden(hidden_b - hidden_a)
    tombs = {state.memory_type: state.tombstones for state in b.modules()}.get(module, frozenset())
    old = {state.memory_type: state.tombstones for state in a.modules()}.get(module, frozenset())
    return Difference(
        module=module,
        joined=joined,
        left=left,
        superseded=frozenset(n for n, why in became.items() if why.superseded_by is not None),
        demoted=frozenset(n for n, why in became.items() if why.superseded_by is None),
        shown=hidden_a - hidden_b,
        redacted=frozenset(b.ordinals(sorted(tombs - old)).values()),
    )
