"""The facets as their one writer sees them."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType

from consilience.errors import BusyError, IndexUnusableError
from consilience.index._files import WriterLock, remove_tree, storage_error
from consilience.index.checksums import forget, note
from consilience.index.dates import interval
from consilience.index.facet_file import (
    MONTH,
    SCHEMA,
    Facet,
    check,
    connect,
    facet_sums_hold,
    log_is_empty,
    sums_file,
    tune,
)
from consilience.index.facet_rules import fold
from consilience.model import Entry


class FacetWriter:
    """Adds entries and commits them. One at a time (a lock file); a context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = WriterLock(path.with_name(path.name + ".lock"))
        try:
            self._connection = self._open()
        except BaseException:
            self._lock.release()
            raise
        self._ids: dict[tuple[str, str], int] = {}
        self._truncate = False

    def _open(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = None
        if self._path.exists() and facet_sums_hold(self._path) is not False:
            try:
                connection = connect(self._path, writable=True)
                check(connection, self._path)
                tune(connection)
                return connection
            except (sqlite3.Error, IndexUnusableError):
                if connection is not None:
                    connection.close()
        forget(sums_file(self._path))
        for suffix in ("", "-wal", "-shm"):
            remove_tree(self._path.with_name(self._path.name + suffix))
        try:
            connection = connect(self._path, writable=True)
            connection.execute("PRAGMA journal_mode=WAL")
            tune(connection)
            connection.executescript(f"BEGIN; {SCHEMA} COMMIT;")
        except sqlite3.Error as error:
            raise storage_error(self._path, error) from error
        return connection

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        try:
            if not self._connection.in_transaction:
                forget(sums_file(self._path))
                self._connection.execute("BEGIN IMMEDIATE")
            yield self._connection
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "busy" in str(error):
                raise BusyError(f"another process is writing the facets at {self._path}") from error
            raise storage_error(self._path, error) from error
        except sqlite3.Error as error:
            raise storage_error(self._path, error) from error

    @property
    def watermark(self) -> int:
        return int(self._connection.execute("SELECT watermark FROM state").fetchone()[0])

    def _value(self, connection: sqlite3.Connection, field: Facet, value: str) -> int:
        """The id of a facet's value, counted once more."""
        number = self._ids.get((field, value))
        if number is None:
            sql = "INSERT INTO value(field, value, folded) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
            connection.execute(sql, (field, value, fold(value)))
            found = connection.execute(
                "SELECT id FROM value WHERE field = ? AND value = ?", (field, value)
            ).fetchone()
            number = self._ids[field, value] = int(found[0])
        return number

    def add(self, entries: Iterable[Entry]) -> int:
        """Add entries, each ordinal once; ones that are covered already are left out. Nothing is visible
        before `commit`. Returns how many were added."""
        count = 0
        with self._writing() as connection:
            counts: dict[int, int] = {}
            months: dict[int, int] = {}
            covered = self.watermark
            for entry in entries:
                if entry.n > covered:
                    self._add(connection, entry, counts, months)
                    count += 1
            connection.executemany(
                "UPDATE value SET count = count + ? WHERE id = ?", [(c, i) for i, c in counts.items()]
            )
            sql = "INSERT INTO month VALUES (?, ?) ON CONFLICT(month) DO UPDATE SET count = count + ?"
            connection.executemany(sql, [(month, c, c) for month, c in months.items()])
            connection.execute("UPDATE state SET documents = documents + ?", (count,))
        return count

    def _add(
        self, connection: sqlite3.Connection, entry: Entry, counts: dict[int, int], months: dict[int, int]
    ) -> None:
        date = interval(entry.date) if entry.date else None
        columns: tuple[tuple[Facet, str], ...] = (
            ("module", entry.module.value),
            ("kind", entry.kind),
            ("subject", entry.subject),
            ("language", entry.language),
            ("role", entry.role),
        )
        ids = [self._value(connection, field, value) for field, value in columns]
        connection.execute(
            "INSERT INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?)", (entry.n, *ids, *(date or (None, None)))
        )
        labels = {self._value(connection, "tag", tag) for tag in entry.tags}
        labels |= {self._value(connection, "origin", origin) for origin in entry.origins}
        connection.executemany("INSERT INTO label VALUES (?, ?)", [(label, entry.n) for label in labels])
        for number in (*ids, *labels):
            counts[number] = counts.get(number, 0) + 1
        if date is not None:
            month = date.start // MONTH
            months[month] = months.get(month, 0) + 1

    def add_origin(self, n: int, origin: str) -> None:
        """Say that an entry came from one more file. Saying it twice changes nothing."""
        with self._writing() as connection:
            number = self._value(connection, "origin", origin)
            done = connection.execute("INSERT INTO label VALUES (?, ?) ON CONFLICT DO NOTHING", (number, n))
            if done.rowcount:
                connection.execute("UPDATE value SET count = count + 1 WHERE id = ?", (number,))

    def purge(self, ns: Iterable[int]) -> int:
        """Remove entries so that no byte of them stays, with the next `commit`. Returns how many there were."""
        removed = 0
        with self._writing() as connection:
            for n in ns:
                row = connection.execute("SELECT * FROM entry WHERE n = ?", (n,)).fetchone()
                if row is None:
                    continue
                labels = connection.execute("SELECT value FROM label WHERE n = ?", (n,)).fetchall()
                ids = [*row[1:6], *(label for (label,) in labels)]
                connection.executemany("UPDATE value SET count = count - 1 WHERE id = ?", [(i,) for i in ids])
                connection.execute("DELETE FROM label WHERE n = ?", (n,))
                connection.execute("DELETE FROM entry WHERE n = ?", (n,))
                if row[6] is not None:
                    month = (row[6] // MONTH,)
                    connection.execute("UPDATE month SET count = count - 1 WHERE month = ?", month)
                removed += 1
            connection.execute("UPDATE state SET documents = documents - ?", (removed,))
            connection.execute("DELETE FROM value WHERE count <= 0")
        self._ids.clear()
        self._truncate = self._truncate or removed > 0
        return removed

    def held(self, ns: Iterable[int]) -> set[int]:
        """Those of the ordinals that have an entry."""
        sql = "SELECT n FROM entry WHERE n = ?"
        with self._writing() as connection:
            return {row[0] for n in ns for row in connection.execute(sql, (n,))}

    def clear(self) -> None:
        """Empty the facets with the next `commit`, so that no byte of any entry stays; the watermark falls to 0."""
        with self._writing() as connection:
            for table in ("label", "entry", "month", "value"):
                connection.execute(f"DELETE FROM {table}")
            connection.execute("UPDATE state SET watermark = 0, documents = 0")
        self._ids.clear()
        self._truncate = True

    def commit(self, watermark: int) -> None:
        """Make what was added durable and visible; `watermark` is the largest ordinal covered. Raises
        StorageError; BusyError where all is done but removed bytes are still in the log."""
        with self._writing() as connection:
            connection.execute("UPDATE state SET watermark = max(watermark, ?)", (watermark,))
            connection.execute("COMMIT")
            if self._truncate:
                if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                    raise BusyError(f"a reader keeps the log of the facets at {self._path}")
                self._truncate = False

    def close(self) -> None:
        """End writing; what was not committed is dropped."""
        try:
            with contextlib.suppress(sqlite3.Error):
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                self._connection.execute("PRAGMA busy_timeout=200")
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._connection.close()
            if not sums_file(self._path).exists() and log_is_empty(self._path):
                note(sums_file(self._path), [self._path])
        finally:
            self._lock.release()

    def __enter__(self) -> FacetWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
