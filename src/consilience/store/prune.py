"""Bound what a brain keeps of its past: remove the oldest snapshots, and what no snapshot that is kept names.

Membership does not change. One transaction takes snapshots (noted in `pruned`), the bytes of blocks that had left by
the oldest one kept, originals and packed parts that nothing uses any more. An emptied block keeps its row: records
speak of it. Removal records say which blocks lost their bytes. Files, derived state and free space follow the
commit; a kill leaves them to the next run (docs/decisions/0121).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

import msgspec

from consilience.errors import UsageError
from consilience.protocol import (
    Actor,
    Block,
    Digest,
    Mechanism,
    MemoryType,
    Removal,
    format_digest,
    record_block,
    timestamp,
)
from consilience.protocol import snapshot as snapshots
from consilience.store.codec import ERASED, DecodeError
from consilience.store.connection import CONTENT, Connection, Row, marks
from consilience.store.content import file_for, list_files
from consilience.store.ledger import TABLES
from consilience.store.pruned import insert_pruned
from consilience.store.reads import BlockReads, chunks, read_snapshots
from consilience.store.redaction import destroy_blocks, note_erasing
from consilience.store.schema import CODE, MODULES
from consilience.store.store import Store
from consilience.store.values import ModuleState, SnapshotInfo
from consilience.store.view import View, module_states
from consilience.store.writer import REFERENCES, Writer

__all__ = ["Keep", "PrunePlan", "PrunedModule", "plan_prune", "prune"]

NAMED_IN_ONE = 5_000
"""Blocks that one removal record names: some 370 kB."""

_ROWS = 1_000
_BLOB = re.compile(rb'"blob":"sha256:([0-9a-f]{64})"')


class Keep(msgspec.Struct, frozen=True, kw_only=True):
    """What stays: the newest `snapshots`, and those that were the head at any time of the last `days`. A snapshot
    stays if either says so; the head always does."""

    snapshots: int | None = None
    days: int | None = None

    def __str__(self) -> str:
        said = []
        if self.snapshots is not None:
            said.append(f"{self.snapshots:,} snapshot{'' if self.snapshots == 1 else 's'}")
        if self.days is not None:
            said.append(f"{self.days:,} day{'' if self.days == 1 else 's'}")
        return "keep " + " and ".join(said)


class PrunedModule(msgspec.Struct, frozen=True, kw_only=True):
    """How many blocks of one module no snapshot that is kept names, and the bytes that they take here."""

    module: MemoryType
    blocks: int
    stored_bytes: int


class PrunePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a prune takes, or took: `snapshots` of `of`; blocks by module; originals. `oldest`: the oldest snapshot that
    stays, its parent known and not here any more; None where all of those before go and only the prune's own stays.
    `records`: the removal records of the prune's own snapshot, which counts among those kept."""

    keep: str
    snapshots: int
    of: int
    oldest: SnapshotInfo | None
    modules: tuple[PrunedModule, ...] = ()
    originals: int = 0
    original_bytes: int = 0
    records: int = 0
    snapshot: Digest | None = None

    @property
    def blocks(self) -> int:
        return sum(m.blocks for m in self.modules)

    @property
    def nothing(self) -> bool:
        return not self.snapshots


# --- what goes ----------------------------------------------------------------------------------------------


class _Going(msgspec.Struct, frozen=True):
    """`first`: the number of the oldest snapshot that stays. `blocks`: n, id, module number, stored bytes."""

    first: int
    snapshots: tuple[SnapshotInfo, ...]
    of: int
    blocks: tuple[tuple[int, bytes, int, int], ...]


def plan_prune(view: View, keep: Keep, now: datetime) -> PrunePlan:
    """What a prune now would take. Raises UsageError for a rule that keeps nothing or says nothing."""
    going = _going(view, keep, now)
    return _plan(view, keep, going, _originals(view, going.blocks))


def _going(reads: View | Writer, keep: Keep, now: datetime) -> _Going:
    """Settle which snapshots go: the prune's own, which there is only where blocks go, counts among those kept."""
    _check(keep)
    connection = reads.connection
    infos = read_snapshots(connection, "ORDER BY seq")
    if not infos:
        return _Going(1, (), 0, ())
    first = _first_kept(infos, keep, now, own=False)
    blocks = _unnamed(connection, first) if first > infos[0].seq else ()
    if blocks:
        first = _first_kept(infos, keep, now, own=True)
        blocks = _unnamed(connection, first)
    gone = tuple(info for info in infos if info.seq < first)
    return _Going(first, gone, len(infos), blocks if gone else ())


def _check(keep: Keep) -> None:
    for name, value in (("snapshots", keep.snapshots), ("days", keep.days)):
        if value is not None and value < 1:
            raise UsageError(f"keep {value} {name}: it must be 1 or more")
    if keep.snapshots is None and keep.days is None:
        raise UsageError("nothing says what to keep", hint="a number of snapshots, or of days, or both")


def _first_kept(infos: Sequence[SnapshotInfo], keep: Keep, now: datetime, *, own: bool) -> int:
    rules = []
    if keep.snapshots is not None:
        stay = keep.snapshots - own
        rules.append(infos[-min(stay, len(infos))].seq if stay else infos[-1].seq + 1)
    if keep.days is not None:
        rules.append(_head_at(infos, now, keep.days))
    return min(rules)


def _head_at(infos: Sequence[SnapshotInfo], now: datetime, days: int) -> int:
    """The snapshot that was the head so many days ago; the oldest where none was there yet."""
    try:
        then = timestamp(now - timedelta(days=days))
    except (OverflowError, ValueError):
        return infos[0].seq
    return max((info.seq for info in infos if info.created_at <= then), default=infos[0].seq)


def _unnamed(connection: Connection, first: int) -> tuple[tuple[int, bytes, int, int], ...]:
    """Blocks that have bytes and were members of no snapshot from number `first` on. A redacted block keeps its row:
    it is what refuses its bytes."""
    sql = (
        "SELECT n, id, type, length(data) FROM blocks b WHERE departed <= ? AND data IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM earlier e WHERE e.n = b.n AND e.departed > ?) ORDER BY n"
    )
    return tuple(connection.rows(sql, (first, first)))


def _plan(reads: BlockReads, keep: Keep, going: _Going, originals: Mapping[Digest, int]) -> PrunePlan:
    kept = read_snapshots(reads.connection, "WHERE seq >= ? ORDER BY seq LIMIT 1", (going.first,))
    modules = []
    for module in MODULES:
        sizes = [size for _, _, code, size in going.blocks if code == CODE[module]]
        if sizes:
            modules.append(PrunedModule(module=module, blocks=len(sizes), stored_bytes=sum(sizes)))
    return PrunePlan(
        keep=str(keep),
        snapshots=len(going.snapshots),
        of=going.of,
        oldest=kept[0] if kept else None,
        modules=tuple(modules),
        originals=len(originals),
        original_bytes=sum(originals.values()),
        records=sum(-(-m.blocks // NAMED_IN_ONE) for m in modules),
    )


def _originals(reads: BlockReads, blocks: Sequence[tuple[int, bytes, int, int]]) -> dict[Digest, int]:
    """Originals that only these blocks name, with the bytes that each takes here (in full, for one in a file)."""
    going = {n for n, *_ in blocks}
    named: set[bytes] = set()
    for part in chunks([n for n, _, code, _ in blocks if MODULES[code] is not MemoryType.PROVENANCE]):
        sql = f"SELECT n, enc, data FROM blocks WHERE n IN ({marks(part)})"
        named.update(_named_by(reads, reads.connection.rows(sql, part)))
    if named:
        named -= _named_otherwise(reads, going)
    found: dict[Digest, int] = {}
    for part in chunks(sorted(named)):
        sql = (
            "SELECT digest, coalesce(length(data), size) FROM content"
            f" WHERE digest IN ({marks(part)}) AND enc <> ?"
        )
        found.update((Digest(d), size) for d, size in reads.connection.rows(sql, [*part, ERASED]))
    return found


def _named_otherwise(reads: BlockReads, going: set[int]) -> set[bytes]:
    """The originals that any other block names, member of anything or not."""
    found: set[bytes] = set()
    codes = ",".join(str(CODE[m]) for m in MODULES if m is not MemoryType.PROVENANCE)
    after = 0
    sql = (
        f"SELECT n, enc, data FROM blocks WHERE n > ? AND type IN ({codes}) AND data IS NOT NULL"
        f" ORDER BY n LIMIT {_ROWS}"
    )
    while rows := reads.connection.rows(sql, (after,)):
        found.update(_named_by(reads, [row for row in rows if row[0] not in going]))
        after = rows[-1][0]
    return found


def _named_by(reads: BlockReads, rows: Iterable[Row]) -> Iterator[bytes]:
    """The originals that blocks of rows n, enc, data name. A text that looks as if it named one keeps it."""
    for _, enc, stored in rows:
        with contextlib.suppress(DecodeError):
            data = reads.connection.codec.unpack(enc, stored)
            if b'"blob":' in data:
                yield from (bytes.fromhex(m.decode()) for m in _BLOB.findall(data))


# --- taking it ----------------------------------------------------------------------------------------------


def prune(
    store: Store,
    keep: Keep,
    *,
    actor: Actor,
    now: datetime,
    waiting: Callable[[float], None] | None = None,
) -> PrunePlan:
    """Carry it out, and say what was taken. Nothing is written where nothing goes.

    What is left to be done outside of the database is on the list of `Store.to_erase`; `Store.compact` gives the
    space back. Raises UsageError as `plan_prune`, BusyError, StorageError.
    """
    with store.write(actor, now, waiting=waiting) as writer:
        going = _going(writer, keep, now)
        originals = _originals(writer, going.blocks)
        plan = _plan(writer, keep, going, originals)
        if plan.nothing:
            return plan
        writer.add_many(_records(writer, keep, going))
        connection = writer.connection
        _empty_blocks(connection, going.blocks)
        connection.run_many("DELETE FROM content WHERE digest = ?", [(digest,) for digest in originals])
        insert_pruned(connection, ((info, _modules(info)) for info in going.snapshots))
        connection.run("DELETE FROM snapshots WHERE seq < ?", (going.first,))
        note_erasing(connection, (), _left_over(connection))
    made = writer.snapshot.digest if writer.snapshot is not None else None
    oldest = plan.oldest if plan.oldest is not None else writer.snapshot
    return msgspec.structs.replace(plan, snapshot=made, oldest=oldest)


def _modules(info: SnapshotInfo) -> tuple[ModuleState, ...]:
    return module_states(snapshots.parse(info.document))


def _records(writer: Writer, keep: Keep, going: _Going) -> Iterable[Block]:
    """The removal records: which blocks lost their bytes, by which rule."""
    for module in MODULES:
        ids = sorted(block_id for _, block_id, code, _ in going.blocks if code == CODE[module])
        for part in chunks(ids, NAMED_IN_ONE):
            yield record_block(
                Removal(
                    blocks=tuple(format_digest(Digest(block_id)) for block_id in part),
                    mechanism=Mechanism.PRUNE,
                    memory_type=module,
                    actor=writer.actor,
                    at=writer.at,
                    reason=f"no snapshot that is kept names them ({keep})",
                )
            )


def _empty_blocks(connection: Connection, blocks: Sequence[tuple[int, bytes, int, int]]) -> None:
    """Take the bytes of blocks. Their rows stay, so that what speaks of them still finds an id behind the ordinal;
    records among them say nothing any more."""
    destroy_blocks(connection, [n for n, *_ in blocks])
    records = [(n,) for n, _, code, _ in blocks if MODULES[code] is MemoryType.PROVENANCE]
    for table in TABLES:
        connection.run_many(f"DELETE FROM {table} WHERE record_n = ?", records)
    named = " UNION ".join(f"SELECT {column} FROM {table} WHERE {column} < 0" for table, column in REFERENCES)
    if records:
        connection.run(f"DELETE FROM absent WHERE n NOT IN ({named})")


def _left_over(connection: Connection) -> list[str]:
    """Files of originals that no row names: a killed commit or prune left them."""
    folder = connection.path.with_name(CONTENT)
    rows = connection.rows("SELECT digest, enc FROM content WHERE data IS NULL AND enc <> ?", (ERASED,))
    live = {file_for(folder, digest, enc) for digest, enc in rows}
    return [path.relative_to(folder.parent).as_posix() for path in list_files(folder) if path not in live]
