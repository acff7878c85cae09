"""A small SQLite file of derived rows, one writer and many readers: what the facets and the relations share.

Derived from the store and deletable. WAL, so that readers see the last commit while a writer works; a commit moves the
watermark in the same transaction as the rows.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from consilience.errors import BusyError, IndexUnusableError
from consilience.index._files import WriterLock, remove_tree, storage_error, unusable
from consilience.index.checksums import forget, listed_sums, note, sum_of
from consilience.model import Value


class Schema(Value, frozen=True, kw_only=True):
    """What a file holds. `what` it is called; `statements` make its tables, `state` with its `watermark` among them."""

    what: str
    application_id: int
    format: int
    statements: str

    def check(self, connection: sqlite3.Connection, path: Path) -> None:
        """Raises IndexUnusableError for a file of something else, or of another version."""
        kind = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if kind != self.application_id:
            raise unusable(path, "it is another program's database")
        if version != self.format:
            raise unusable(path, f"format {version}, this version reads {self.format}")
        connection.execute("SELECT watermark FROM state").fetchone()[0]

    def make(self, connection: sqlite3.Connection) -> None:
        """Make the tables of an empty file, whole or not at all."""
        marks = f"PRAGMA application_id={self.application_id}; PRAGMA user_version={self.format};"
        connection.executescript(f"BEGIN; {self.statements} {marks} COMMIT;")


def connect(path: Path, *, writable: bool = False) -> sqlite3.Connection:
    """A connection. Where the folder cannot be written, SQLite cannot make the files that a reader of a WAL needs;
    nobody writes there either, so the file is read as one that does not change."""
    mode = "rwc" if writable else "ro" if os.access(path.parent, os.W_OK) else "ro&immutable=1"
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        timeout=5.0,
        check_same_thread=False,
    )
    connection.execute("PRAGMA query_only=" + ("0" if writable else "1"))
    return connection


def tune(connection: sqlite3.Connection) -> None:
    """A writer's settings: derived data may lose its last commits to a power cut, never its consistency."""
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA secure_delete=ON")


def sums_file(path: Path) -> Path:
    """Where the checksum of the file is kept while no writer is at work (see checksums.py)."""
    return path.with_suffix(".json")


def log_is_empty(path: Path) -> bool:
    """Whether all that was committed is in the file itself."""
    try:
        return path.with_name(path.name + "-wal").stat().st_size == 0
    except OSError:
        return True


def sums_hold(path: Path) -> bool | None:
    """Whether the file is as its last writer left it; None where no checksum says so, or a log is on top."""
    try:
        listed = listed_sums(sums_file(path))
    except IndexUnusableError:
        return None
    said = listed.files.get(path.name) if listed is not None else None
    if said is None or not log_is_empty(path):
        return None
    try:
        return sum_of(path) == said
    except OSError as error:
        raise unusable(path, error.strerror or str(error)) from error


class DatabaseReader:
    """A reader. Thread-safe (connections are lent, one call each); every call sees the last commit."""

    schema: ClassVar[Schema]

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._file = self._identity()

    @classmethod
    def open(cls, path: Path) -> Self | None:
        """What stands in `path`, None where nothing does. Raises IndexUnusableError."""
        if not path.exists():
            return None
        index = cls(path)
        with index._connection():
            return index

    def _identity(self) -> tuple[int, int]:
        try:
            status = self._path.stat()
        except OSError as error:
            raise unusable(self._path, error.strerror or str(error)) from error
        return status.st_dev, status.st_ino

    @contextlib.contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """A connection for one call: an idle one or a new one, given back afterwards unless it failed."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
            file = self._file
        try:
            if connection is None:
                connection = connect(self._path)
                self.schema.check(connection, self._path)
            yield connection
        except (sqlite3.Error, OverflowError, ValueError) as error:
            if connection is not None:
                connection.close()
            raise unusable(self._path, str(error)) from error
        except BaseException:
            if connection is not None:
                connection.close()
            raise
        with self._lock:
            keep = file == self._file
            if keep:
                self._idle.append(connection)
        if not keep:
            connection.close()

    def _rows(self, sql: str, parameters: Sequence[object] = ()) -> list[tuple[int, ...]]:
        with self._connection() as connection:
            return connection.execute(sql, tuple(parameters)).fetchall()

    def close(self) -> None:
        with self._lock:
            idle, self._idle, self._file = self._idle, [], (-1, -1)
        for connection in idle:
            connection.close()

    def refresh(self) -> bool:
        """Every call sees the last commit; this notices that the file itself was replaced. True where it was.

        Raises IndexUnusableError.
        """
        file = self._identity()
        if file == self._file:
            return False
        self.close()
        self._file = file
        with self._connection():
            return True

    @property
    def watermark(self) -> int:
        return self._rows("SELECT watermark FROM state")[0][0]


class DatabaseWriter:
    """Writes rows and commits them. One at a time (a lock file); a context manager."""

    schema: ClassVar[Schema]

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
        if self._path.exists() and sums_hold(self._path) is not False:
            try:
                connection = connect(self._path, writable=True)
                self.schema.check(connection, self._path)
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
            self.schema.make(connection)
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
                raise BusyError(
                    f"another process is writing the {self.schema.what} at {self._path}"
                ) from error
            raise storage_error(self._path, error) from error
        except sqlite3.Error as error:
            raise storage_error(self._path, error) from error

    @property
    def watermark(self) -> int:
        return int(self._connection.execute("SELECT watermark FROM state").fetchone()[0])

    def commit(self, watermark: int) -> None:
        """Make what was written durable and visible; `watermark` is the largest ordinal covered. Raises
        StorageError; BusyError where all is done but removed bytes are still in the log."""
        with self._writing() as connection:
            connection.execute("UPDATE state SET watermark = max(watermark, ?)", (watermark,))
            connection.execute("COMMIT")
            if self._truncate:
                if connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                    raise BusyError(f"a reader keeps the log of the {self.schema.what} at {self._path}")
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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
