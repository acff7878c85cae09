"""Bound what a brain keeps of its past: remove the oldest snapshots, and what no snapshot that is kept names.

Membership does not change. One transaction takes the rows: snapshots (noted in `pruned`), blocks that had left by the
oldest one kept, their ledger rows, originals and packed parts that nothing uses any more; records that speak of
such blocks stay and name them as absent. Removal records say which blocks lost their bytes. Files, derived state
and free space follow the commit; a kill leaves them to the next run (docs/decisions/0121).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

import msgspec

from consilience.errors import CorruptStoreError, UsageError
from consilience.protocol import (
    Actor,
    Block,
    Digest,
    Mechanism,
    MemoryType,
    Provenance,
    Removal,
    content_refs,
    decode,
    format_digest,
    parse_digest,
    record_block,
    sha256,
    timestamp,
)
from consilience.protocol import snapshot as snapshots
from consilience.store.codec import ERASED, PACKED
from consilience.store.connection import CONTENT, Connection, marks
from consilience.store.content import file_for, list_files
from consilience.store.ledger import TABLES, text_or_none
from consilience.store.packed import PackedReads
from consilience.store.pruned import insert_pruned
from consilience.store.reads import BlockReads, chunks, read_snapshots
from consilience.store.redaction import _sweep_fragments, note_erasing
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
    return _plan(view, keep, _going(view, keep, now))


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


def _plan(reads: BlockReads, keep: Keep, going: _Going) -> PrunePlan:
    kept = read_snapshots(reads.connection, "WHERE seq >= ? ORDER BY seq LIMIT 1", (going.first,))
    modules = []
    for module in MODULES:
        sizes = [size for _, _, code, size in going.blocks if code == CODE[module]]
        if sizes:
            modules.append(PrunedModule(module=module, blocks=len(sizes), stored_bytes=sum(sizes)))
    originals = _originals(reads, going.blocks)
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
    for block in reads.blocks([n for n, _, code, _ in blocks if MODULES[code] is not MemoryType.PROVENANCE]):
        if block.data is not None and block.intact:
            named.update(parse_digest(ref.blob) for ref in content_refs(decode(block.data).payload))
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
    sql = f"SELECT n FROM blocks WHERE n > ? AND type IN ({codes}) AND data IS NOT NULL ORDER BY n LIMIT {_ROWS}"
    while ns := [row[0] for row in reads.connection.rows(sql, (after,))]:
        for block in reads.blocks([n for n in ns if n not in going]):
            if block.data is not None and b'"blob":' in block.data:
                found.update(bytes.fromhex(m.decode()) for m in _BLOB.findall(block.data))
        after = ns[-1]
    return found


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
    space back. Raises UsageError as `plan_prune`, BusyError, StorageError, CorruptStoreError (a record that cannot be
    read: nothing was changed then).
    """
    with store.write(actor, now, waiting=waiting) as writer:
        going = _going(writer, keep, now)
        plan = _plan(writer, keep, going)
        if plan.nothing:
            return plan
        originals = _originals(writer, going.blocks)
        writer.add_many(_records(writer, keep, going))
        connection = writer.connection
        _forget_blocks(writer, going.blocks)
        connection.run_many("DELETE FROM content WHERE digest = ?", [(digest,) for digest in originals])
        insert_pruned(connection, ((info, _modules(info)) for info in going.snapshots))
        connection.run("DELETE FROM snapshots WHERE seq < ?", (going.first,))
        _settle_ordinals(connection)
        derived = [n for n, _, code, _ in going.blocks if MODULES[code] is not MemoryType.PROVENANCE]
        note_erasing(connection, derived, _left_over(connection))
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


def _forget_blocks(writer: Writer, blocks: Sequence[tuple[int, bytes, int, int]]) -> None:
    """Delete the rows of blocks. Records that stay and speak of them name them as absent from now on."""
    connection = writer.connection
    connection.run("CREATE TEMP TABLE IF NOT EXISTS going (n INTEGER PRIMARY KEY)")
    connection.run("DELETE FROM going")
    connection.run_many("INSERT INTO going (n) VALUES (?)", [(n,) for n, *_ in blocks])
    _store_whole(writer)
    _name_as_absent(connection)
    for table in TABLES:
        connection.run(f"DELETE FROM {table} WHERE record_n IN (SELECT n FROM going)")
    connection.run("DELETE FROM earlier WHERE n IN (SELECT n FROM going)")
    connection.run("DELETE FROM blocks WHERE n IN (SELECT n FROM going)")
    connection.run("DROP TABLE going")
    named = " UNION ".join(f"SELECT {column} FROM {table} WHERE {column} < 0" for table, column in REFERENCES)
    connection.run(f"DELETE FROM absent WHERE n NOT IN ({named})")
    if blocks:
        _sweep_fragments(connection)


def _store_whole(writer: Writer) -> None:
    """Records that are packed around the ordinal of a block that goes are stored whole."""
    connection = writer.connection
    rows = connection.rows(
        "SELECT DISTINCT r.n, r.id, r.data FROM derivation d JOIN blocks r ON r.n = d.record_n"
        f" WHERE r.enc = {PACKED} AND r.data IS NOT NULL AND r.n NOT IN (SELECT n FROM going)"
        " AND (d.block_n IN (SELECT n FROM going) OR d.source_n IN (SELECT n FROM going))"
    )
    packed = PackedReads(connection)
    for part in chunks(rows, _ROWS):
        envelopes = packed.envelopes((n, data) for n, _, data in part)
        whole, locators = [], []
        for n, block_id, _ in part:
            data = envelopes.get(n, b"")
            if sha256(data) != block_id:
                raise CorruptStoreError(
                    f"{connection.path}: record {n} is damaged and speaks of what would be pruned",
                    hint="run `consilience verify`; nothing was changed",
                )
            payload = decode(data).payload
            assert isinstance(payload, Provenance)
            whole.append((*connection.codec.pack_block(data), n))
            locators.append((text_or_none(payload.record.locator), n))  # type: ignore[union-attr]
        connection.run_many("UPDATE blocks SET enc = ?, data = ? WHERE n = ?", whole)
        connection.run_many("UPDATE derivation SET locator = ? WHERE record_n = ?", locators)


def _name_as_absent(connection: Connection) -> None:
    """Give the blocks that staying records speak of the negative numbers of blocks that are not here."""
    named: set[int] = set()
    for table, column in REFERENCES:
        sql = (
            f"SELECT DISTINCT {column} FROM {table} WHERE {column} IN (SELECT n FROM going)"
            " AND record_n NOT IN (SELECT n FROM going)"
        )
        named.update(row[0] for row in connection.rows(sql))
    lowest = min(connection.rows("SELECT coalesce(min(n), 0) FROM absent")[0][0], 0)
    numbers = {n: lowest - i for i, n in enumerate(sorted(named), 1)}
    for part in chunks(numbers):
        rows = connection.rows(f"SELECT n, id FROM blocks WHERE n IN ({marks(part)})", part)
        connection.run_many(
            "INSERT INTO absent (n, id) VALUES (?, ?)", [(numbers[n], block_id) for n, block_id in rows]
        )
    for table, column in REFERENCES:
        connection.run_many(
            f"UPDATE {table} SET {column} = ? WHERE {column} = ?", [(new, n) for n, new in numbers.items()]
        )


def _settle_ordinals(connection: Connection) -> None:
    """Let each snapshot say again how far the ordinals go of the blocks that are here, as `verify` counts them."""
    firsts: dict[int, int] = dict(
        connection.rows(
            "SELECT coalesce((SELECT min(e.entered) FROM earlier e WHERE e.n = b.n), b.entered), max(b.n)"
            " FROM blocks b GROUP BY 1"
        )
    )
    rows = connection.rows("SELECT seq, max_n FROM snapshots ORDER BY seq")
    if not rows:
        return
    largest = max((n for seq, n in firsts.items() if seq < rows[0][0]), default=0)
    changed = []
    for seq, said in rows:
        largest = max(largest, firsts.get(seq, 0))
        if largest != said:
            changed.append((largest, seq))
    connection.run_many("UPDATE snapshots SET max_n = ? WHERE seq = ?", changed)


def _left_over(connection: Connection) -> list[str]:
    """Files of originals that no row names: a killed commit or prune left them."""
    folder = connection.path.with_name(CONTENT)
    rows = connection.rows("SELECT digest, enc FROM content WHERE data IS NULL AND enc <> ?", (ERASED,))
    live = {file_for(folder, digest, enc) for digest, enc in rows}
    return [path.relative_to(folder.parent).as_posix() for path in list_files(folder) if path not in live]
