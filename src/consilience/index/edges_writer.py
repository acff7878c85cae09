"""The relations between blocks as their one writer sees them."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from consilience.errors import BusyError, IndexUnusableError
from consilience.index._files import WriterLock, remove_tree, storage_error
from consilience.index.checksums import forget, note
from consilience.index.edges_file import SCHEMA, Laid, check, packed
from consilience.index.facet_file import connect, facet_sums_hold, log_is_empty, sums_file, tune

CLEARED = ("document", "place", "name", "mention")


class EdgeWriter:
    """Lays documents down and commits them. One at a time (a lock file); a context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = WriterLock(path.with_name(path.name + ".lock"))
        try:
            self._connection = self._open()
        except BaseException:
            self._lock.release()
            raise
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
                raise BusyError(f"another process is writing the relations at {self._path}") from error
            raise storage_error(self._path, error) from error
        except sqlite3.Error as error:
            raise storage_error(self._path, error) from error

    @property
    def watermark(self) -> int:
        return int(self._connection.execute("SELECT watermark FROM state").fetchone()[0])

    def lay(self, document: Laid) -> None:
        """Put a document in the place of what was known of it. Nothing is visible before `commit`."""
        source = document.source
        with self._writing() as connection:
            for table in CLEARED:
                connection.execute(f"DELETE FROM {table} WHERE source = ?", (source,))
            connection.execute(
                "INSERT INTO document VALUES (?, ?, ?, ?, ?)",
                (
                    source,
                    document.head,
                    int(document.ordered),
                    packed(document.ns),
                    packed(document.sections),
                ),
            )
            connection.executemany(
                "INSERT OR IGNORE INTO place VALUES (?, ?)", [(n, source) for n in document.ns]
            )
            connection.executemany(
                "INSERT OR IGNORE INTO name VALUES (?, ?)", [(key, source) for key in document.names]
            )
            connection.executemany(
                "INSERT OR IGNORE INTO mention VALUES (?, ?, ?, ?)", [(*m, source) for m in document.mentions]
            )

    def clear(self) -> None:
        """Empty the index with the next `commit`, so that no byte of any row stays; the watermark falls to 0."""
        with self._writing() as connection:
            for table in CLEARED:
                connection.execute(f"DELETE FROM {table}")
            connection.execute("UPDATE state SET watermark = 0")
        self._truncate = True

    def commit(self, watermark: int) -> None:
        """Make what was laid down durable and visible; `watermark` is the largest ordinal covered. Raises
        StorageError; BusyError where all is done but removed bytes are still in the log."""
        with self._writing() as connection:
            connection.execute("UPDATE state SET watermark = max(watermark, ?)", (watermark,))
            connection.execute("COMMIT")
            if self._truncate:
                if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                    raise BusyError(f"a reader keeps the log of the relations at {self._path}")
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

    def __enter__(self) -> EdgeWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
