"""One SQLite connection, and the rule that no sqlite3 or OS error leaves the store as such."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from consilience.errors import (
    BrainNotFoundError,
    BusyError,
    ConfigurationError,
    ConsilienceError,
    CorruptStoreError,
    StorageError,
    UsageError,
)
from consilience.store.codec import Codec
from consilience.store.proofs import Trees
from consilience.store.schema import APPLICATION_ID, FORMAT

__all__ = [
    "CONTENT",
    "DATABASE",
    "DERIVED",
    "IN_CLAUSE",
    "Closed",
    "Connection",
    "Guard",
    "inode_of",
    "marks",
    "open_connection",
    "storage_error",
]

DATABASE: Final = "brain.db"
CONTENT: Final = "content"
DERIVED: Final = "derived"

IN_CLAUSE: Final = 500
"""Values in one `IN (...)`; SQLite before 3.32 allows 999 parameters in a statement."""

READER_TIMEOUT_S: Final = 5.0
"""How long a reader waits for what excludes it: the recovery of a killed writer's log, a few milliseconds."""

Row = tuple[Any, ...]
Parameters = Sequence[Any] | Mapping[str, Any]


class Guard:
    """A context that lets errors of sqlite3 out as errors of this package.

    Python's sqlite3 decodes texts and messages while it raises, so a damaged file can surface as a
    UnicodeDecodeError.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, (sqlite3.Error, UnicodeDecodeError, MemoryError)):
            raise translated(error, self._path) from error


class Connection:
    """Statements on one brain.db, autocommit unless a transaction is begun. Not for two threads at once."""

    def __init__(self, raw: sqlite3.Connection, path: Path, *, reusable: bool, inode: int) -> None:
        self._raw = raw
        self._guard = Guard(path)
        self.path = path
        self.codec = Codec()
        self.trees = Trees()
        self.reusable = reusable
        self.inode = inode

    def rows(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """All rows of a query. Never lazily: an open cursor would keep its snapshot pinned beyond its
        view."""
        with self._guard:
            return self._raw.execute(sql, parameters).fetchall()

    def row(self, sql: str, parameters: Parameters = ()) -> Row | None:
        """The first row of a query, or None."""
        found = self.rows(sql, parameters)
        return found[0] if found else None

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        """Execute a statement; the number of rows it changed."""
        with self._guard:
            return self._raw.execute(sql, parameters).rowcount

    def run_many(self, sql: str, parameters: Iterable[Sequence[Any]]) -> None:
        with self._guard:
            self._raw.executemany(sql, parameters)

    def begin_writing(self) -> bool:
        """Take the write lock at once; False where another connection holds it."""
        try:
            with self._guard:
                self._raw.execute("BEGIN IMMEDIATE")
                self._raw.execute(_WRITE_NOTHING)
        except BusyError:
            return False
        return True

    @property
    def in_transaction(self) -> bool:
        return self._raw.in_transaction

    def rollback(self) -> None:
        """End a transaction without its changes; without one, or where SQLite already did so, nothing."""
        with contextlib.suppress(sqlite3.Error):
            if self._raw.in_transaction:
                self._raw.execute("ROLLBACK")

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._raw.close()


_WRITE_NOTHING = "DELETE FROM absent WHERE 0"
"""Fails at once in a database that is read-only, where `BEGIN IMMEDIATE` quietly begins to read."""


class Closed(Connection):
    """What a view or writer holds once it is closed: every statement is a UsageError."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        raise self._error()

    def run(self, sql: str, parameters: Sequence[Any] = ()) -> int:
        raise self._error()

    def run_many(self, sql: str, parameters: Iterable[Sequence[Any]]) -> None:
        raise self._error()

    @property
    def in_transaction(self) -> bool:
        return False

    def _error(self) -> UsageError:
        return UsageError(f"{self.path.parent}: this view or writer is closed", hint="open a new one")


def marks(values: Sequence[Any]) -> str:
    """`?,?,?`: a mark for each value of an `IN (...)`."""
    return ",".join("?" * len(values))


def open_connection(path: Path, *, writing: bool = False) -> Connection:
    """A connection to a brain.db that exists, checked to be one that this version reads.

    Raises CorruptStoreError, StorageError, BrainNotFoundError (another application's database),
    ConfigurationError (a newer or older version's).
    """
    inode = inode_of(path)
    try:
        return _opened(path, "mode=rw", writing=writing, inode=inode)
    except StorageError as error:
        if writing or (_may_write(path.parent) and not _no_room_for_shared_memory(error)):
            raise
        return _open_without_log(path, inode)


def _no_room_for_shared_memory(error: StorageError) -> bool:
    cause = error.__cause__
    return isinstance(cause, sqlite3.Error) and getattr(cause, "sqlite_errorcode", None) in _SHARED_MEMORY


def _open_without_log(path: Path, inode: int) -> Connection:
    """Where SQLite may not make its shared memory file (a read-only folder or medium, a full disk) and nobody
    left one there.

    `immutable` ignores the write-ahead log: right only where there is none, and only until a writer comes, so
    such a connection serves one view.
    """
    log = path.with_name(DATABASE + "-wal")
    with contextlib.suppress(OSError):
        if log.stat().st_size:
            raise StorageError(
                f"{path.parent} cannot be written and {log.name} holds commits that are not in {DATABASE} yet",
                hint="open the brain once where it can be written, or copy the folder and open the copy",
            )
    return _opened(path, "mode=ro&immutable=1", writing=False, inode=inode, reusable=False)


def _opened(path: Path, mode: str, *, writing: bool, inode: int, reusable: bool = True) -> Connection:
    with Guard(path):
        raw = sqlite3.connect(
            f"{path.absolute().as_uri()}?{mode}",
            uri=True,
            timeout=0.0 if writing else READER_TIMEOUT_S,
            isolation_level=None,
            check_same_thread=False,
        )
    connection = Connection(raw, path, reusable=reusable, inode=inode)
    try:
        _check_identity(connection)
        for pragma in _WRITER if writing else _READER:
            connection.run(pragma)
    except BaseException:
        connection.close()
        raise
    return connection


_READER = ("PRAGMA query_only=ON",)
_WRITER = (
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    "PRAGMA secure_delete=ON",
    "PRAGMA cache_size=-65536",
    f"PRAGMA journal_size_limit={16 << 20}",
)


def _check_identity(connection: Connection) -> None:
    application = connection.rows("PRAGMA application_id")[0][0]
    version = connection.rows("PRAGMA user_version")[0][0]
    if application != APPLICATION_ID:
        raise BrainNotFoundError(
            f"{connection.path} is not a brain: the database of another application (id {application:#x})",
            hint="move it away, or give the brain another folder",
        )
    if version > FORMAT:
        raise ConfigurationError(
            f"{connection.path} was written by a newer version (format {version}, this one reads {FORMAT})",
            hint="upgrade consilience: pip install --upgrade consilience",
        )
    if 0 < version < FORMAT:
        raise ConfigurationError(
            f"{connection.path} was written by an older version (format {version}, this one reads {FORMAT})",
            hint="ingest the sources again into a new folder, or use that older version",
        )
    if version <= 0:
        raise CorruptStoreError(
            f"{connection.path} says format {version}, which never existed", hint=_RESTORE
        )


def inode_of(path: Path) -> int:
    """Which file has this name now. Raises StorageError."""
    try:
        return path.stat().st_ino
    except OSError as error:
        raise storage_error(error, "cannot open", path) from error


def _may_write(folder: Path) -> bool:
    return os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


# --- errors -------------------------------------------------------------------------------------------------

_RESTORE = (
    "run `consilience verify` to see what is damaged; restore the brain from a copy, or ingest it again"
)

_CORRUPT = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_FORMAT,
    sqlite3.SQLITE_SCHEMA,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_ERROR,
}
_SHARED_MEMORY = (sqlite3.SQLITE_IOERR_SHMOPEN, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_SHMMAP)
_HARDLY_ANY_SPACE = 1 << 17
_DISK = {
    sqlite3.SQLITE_FULL: (
        "the disk is full",
        "free some space and try again; nothing of this commit was kept",
    ),
    sqlite3.SQLITE_READONLY: ("it is read-only", "check the permissions of the folder"),
    sqlite3.SQLITE_PERM: ("permission denied", "check the permissions of the folder"),
    sqlite3.SQLITE_AUTH: ("permission denied", "check the permissions of the folder"),
    sqlite3.SQLITE_CANTOPEN: ("it cannot be opened", "check that the folder exists and its permissions"),
    sqlite3.SQLITE_IOERR: ("reading or writing failed", "check the disk"),
    sqlite3.SQLITE_NOMEM: ("out of memory", "close other programs and try again"),
    sqlite3.SQLITE_NOLFS: ("the file is too large for this file system", "move the brain to another disk"),
    sqlite3.SQLITE_TOOBIG: ("a value is larger than SQLite takes", None),
}


def translated(error: Exception, path: Path) -> ConsilienceError:
    """The error of this package that one raised by sqlite3 stands for."""
    if isinstance(error, MemoryError):
        return StorageError(f"{path}: out of memory", hint="close other programs and try again")
    extended = getattr(error, "sqlite_errorcode", None)
    if extended is None:
        if isinstance(error, sqlite3.ProgrammingError):
            return UsageError(f"{path.parent}: {error}", hint="the view or writer is closed; open a new one")
        return CorruptStoreError(f"{path} is damaged: {error}", hint=_RESTORE)
    code = extended & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return BusyError(f"{path.parent} is locked by another process", hint="try again when it is done")
    if code in _CORRUPT or extended in (sqlite3.SQLITE_IOERR_SHORT_READ, sqlite3.SQLITE_IOERR_CORRUPTFS):
        return CorruptStoreError(f"{path} is damaged: {error}", hint=_RESTORE)
    if code == sqlite3.SQLITE_IOERR and _space(path) < _HARDLY_ANY_SPACE:
        code = sqlite3.SQLITE_FULL  # SQLite says so only of the database itself
    if code in _DISK:
        what, hint = _DISK[code]
        return StorageError(f"{path}: {what} ({error})", hint=hint)
    return ConsilienceError(f"{path}: {error}", hint="this is a bug of consilience")


def _space(path: Path) -> int:
    """Bytes that are free where a brain lives."""
    try:
        return shutil.disk_usage(path.parent).free
    except OSError:
        return _HARDLY_ANY_SPACE


def storage_error(error: OSError, doing: str, path: Path) -> StorageError:
    """`cannot write /x: No space left on device`."""
    return StorageError(
        f"{doing} {path}: {error.strerror or error}", hint="check the disk and its permissions"
    )
