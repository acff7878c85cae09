"""Write anew what of brain.db follows from the rest of it: SQLite's indexes, the ledger, the largest ordinals.

Blocks, intervals and snapshots follow from nothing. What is written is kept only where verifying it, within the
same transaction, leaves nothing wrong that was not wrong before (docs/decisions/0152).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

import msgspec

from consilience.errors import CorruptStoreError, IntegrityError
from consilience.progress import NO_PROGRESS, Progress
from consilience.protocol import MemoryType, Provenance, Record, decode
from consilience.store.codec import PACKED
from consilience.store.connection import Connection, marks
from consilience.store.ledger import INSERTS, TABLES, named_by, rows_of
from consilience.store.packed import PackedReads
from consilience.store.reads import chunks
from consilience.store.schema import CODE
from consilience.store.store import Store
from consilience.store.verify import Problem, VerifyReport, verify_connection

__all__ = ["Repaired", "repair"]

ROWS = 2_000
_REPAIRABLE = {"database", "ledger", "ordinals"}


class Repaired(msgspec.Struct, frozen=True, kw_only=True):
    """What was written anew, in words, and what verifying found afterwards."""

    done: tuple[str, ...]
    report: VerifyReport


def repair(
    path: Path,
    before: VerifyReport,
    progress: Progress = NO_PROGRESS,
    *,
    waiting: Callable[[float], None] | None = None,
) -> Repaired:
    """Repair what can be proven, given what `verify` found. Raises BusyError, StorageError."""
    if before.ok or not any(p.what in _REPAIRABLE for p in before.problems):
        return Repaired(done=(), report=before)
    try:
        with Store.open(path) as store, store.exclusively(waiting=waiting) as connection:
            done, report = _rewritten(connection, before, progress)
            if done and set(map(_key, report.problems)) < set(map(_key, before.problems)):
                connection.run("COMMIT")
                return Repaired(done=done, report=report)
    except (CorruptStoreError, IntegrityError):
        pass  # too damaged to be written to: it stays as it was found
    return Repaired(done=(), report=before)


def _rewritten(
    connection: Connection, before: VerifyReport, progress: Progress
) -> tuple[tuple[str, ...], VerifyReport]:
    """Write what can be written, uncommitted: what it was, and what verifying finds then."""
    done: list[str] = []
    report = before
    if any(p.what == "database" for p in report.problems):
        connection.run("REINDEX")
        report = verify_connection(connection, progress)
        done.append("the indexes of brain.db")
    found = {p.what for p in report.problems}
    if found and found <= _WORDS.keys() and not report.more:
        if "ledger" in found:
            _write_ledger(connection)
        if "ordinals" in found:
            _write_ordinals(connection)
        done += [words for what, words in _WORDS.items() if what in found]
        report = verify_connection(connection, progress)
    return tuple(done), report


_WORDS = {
    "ledger": "the ledger, from the provenance records",
    "ordinals": "the largest ordinal of each snapshot, from the intervals of the blocks",
}


def _key(problem: Problem) -> tuple[str, str]:
    return problem.what, problem.detail


def _write_ordinals(connection: Connection) -> None:
    connection.run(
        "UPDATE snapshots SET max_n = (SELECT max(b.n) FROM blocks b WHERE coalesce("
        "(SELECT min(e.entered) FROM earlier e WHERE e.n = b.n), b.entered) <= snapshots.seq)"
    )


def _write_ledger(connection: Connection) -> None:
    """All rows of records whose bytes are here. Those of redacted records stay: nothing else says what they said."""
    code = CODE[MemoryType.PROVENANCE]
    kept = f"SELECT n FROM blocks WHERE type = {code} AND data IS NULL"
    for table in TABLES:
        connection.run(f"DELETE FROM {table} WHERE record_n NOT IN ({kept})")
    unnamed = " AND ".join(
        f"n NOT IN (SELECT {column} FROM {table} WHERE {column} NOT NULL)"
        for table, columns in TABLES.items()
        for column in columns
        if column in ("block_n", "source_n", "by_n")
    )
    connection.run(f"DELETE FROM absent WHERE {unnamed}")
    packed = PackedReads(connection)
    after = 0
    sql = f"SELECT n, enc, data FROM blocks WHERE n > ? AND type = {code} AND data NOT NULL ORDER BY n LIMIT {ROWS}"
    while rows := connection.rows(sql, (after,)):
        after = rows[-1][0]
        whole = packed.envelopes([(n, data) for n, enc, data in rows if enc == PACKED])
        records: list[tuple[int, Record]] = []
        for n, enc, data in rows:
            payload = decode(whole[n] if enc == PACKED else connection.codec.unpack(enc, data)).payload
            assert isinstance(payload, Provenance)
            records.append((n, payload.record))
        _insert(connection, records, whole.keys())


def _insert(connection: Connection, records: list[tuple[int, Record]], packed: Collection[int]) -> None:
    wanted = {digest for _, record in records for digest in named_by(record)}
    known: dict[bytes, int] = {}
    for table in ("blocks", "absent"):
        for part in chunks(wanted - known.keys()):
            known.update(connection.rows(f"SELECT id, n FROM {table} WHERE id IN ({marks(part)})", part))
    least = min(connection.rows("SELECT coalesce(min(n), 0) FROM absent")[0][0], 0)
    for i, digest in enumerate(sorted(wanted - known.keys()), 1):
        connection.run("INSERT INTO absent (n, id) VALUES (?, ?)", (least - i, digest))
        known[digest] = least - i
    said = rows_of(records, known.__getitem__, packed)
    for table, insert in INSERTS.items():
        connection.run_many(insert, getattr(said, table))
