"""A brain's store on disk: opening, making, and handing out views and writers."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from consilience.errors import (
    BrainNotFoundError,
    BusyError,
    ConflictError,
    CorruptStoreError,
    StorageError,
    UsageError,
)
from consilience.files import discard_abandoned, sync_folder
from consilience.protocol import Actor, Digest, validate_actor_id
from consilience.store.connection import (
    CONTENT,
    DATABASE,
    DERIVED,
    Connection,
    Guard,
    inode_of,
    open_connection,
    storage_error,
)
from consilience.store.content import discard_temporary, list_files
from consilience.store.holder import holder_of
from consilience.store.redaction import ToErase, remove_files, strike, to_erase
from consilience.store.schema import APPLICATION_ID, FORMAT, SCHEMA
from consilience.store.view import View
from consilience.store.writer import Writer

__all__ = ["Store"]

UNFINISHED = f".{DATABASE}."
"""How the name of a database begins while it is being made; its maker's process id follows."""

IDLE_CONNECTIONS = 8
"""Reading connections kept for the next view."""

WAIT_S = (0.01, 0.25)
"""Shortest and longest pause between two attempts at the write lock."""


class Store:
    """One brain's folder: `brain.db`, the truth, and `content/` beside it. Any number of threads may share a
    Store."""

    def __init__(self, path: Path, *, read_only: bool) -> None:
        self.path = path
        self.read_only = read_only
        self._database = path / DATABASE
        self._lock = threading.Lock()
        self._readers: list[Connection] = []
        self._writers: list[Connection] = []
        self._closed = False

    # --- opening --------------------------------------------------------------------------------------------

    @classmethod
    def create(cls, path: Path) -> Store:
        """Make an empty brain in a folder, which may exist. It has no snapshot until the first commit.

        The file is complete before it has its name, so that a kill leaves no half-made brain. Raises
        ConflictError where there is a brain.db, StorageError.
        """
        database = path / DATABASE
        temporary = path / f"{UNFINISHED}{os.getpid()}.{threading.get_ident()}"
        try:
            _make_folder(path)
            if database.exists():
                raise _exists(path)
            discard_abandoned(path, UNFINISHED)
            temporary.unlink(missing_ok=True)
            _write_empty(temporary)
            _publish(temporary, database)
            sync_folder(path)
        except FileExistsError as error:
            if path.is_dir():
                raise _exists(path) from error
            raise BrainNotFoundError(f"{path} is a file, not a folder", hint="name a folder") from error
        except OSError as error:
            raise storage_error(error, "cannot make a brain in", path) from error
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
        return cls.open(path)

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False) -> Store:
        """Open a brain's folder.

        Raises BrainNotFoundError (saying what is there instead), CorruptStoreError, ConfigurationError (made
        by a newer or older version), StorageError. A brain in a folder that cannot be written opens for reading.
        """
        _check_present(path)
        store = cls(path, read_only=read_only)
        store._give_back(store._reader())
        return store

    @staticmethod
    def vacant(path: Path) -> bool:
        """Whether there is nothing in a folder, or no folder, so that a brain made there mixes with nothing.

        What a killed maker of a brain left counts as nothing; a folder that cannot be read as something.
        """
        try:
            return all(entry.name.startswith(UNFINISHED) for entry in path.iterdir())
        except FileNotFoundError:
            return True
        except OSError:
            return False

    @staticmethod
    def exists(path: Path) -> bool:
        """Whether a folder has a brain.db, sound or not."""
        try:
            return (path / DATABASE).is_file()
        except OSError:
            return False

    # --- reading --------------------------------------------------------------------------------------------

    def view(self, at: Digest | None = None) -> View:
        """A reader of the head, or of the snapshot named. Raises NotFoundError where there is no such
        snapshot."""
        connection = self._reader()
        try:
            return View(connection, at, self._give_back)
        except BaseException:
            self._give_back(connection)
            raise

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that holds one state still, for whoever looks at what a view would refuse."""
        connection = self._reader()
        try:
            connection.run("BEGIN")
            yield connection
        finally:
            self._give_back(connection)

    def _reader(self) -> Connection:
        """An idle connection to the file that has the name now, or a new one."""
        _check_present(self.path)
        inode = inode_of(self._database) if self._readers else 0
        with self._lock:
            if self._closed:
                raise UsageError(f"the store {self.path} is closed", hint="open it again")
            idle = self._readers.pop() if self._readers else None
        if idle is not None and idle.inode == inode:
            return idle
        if idle is not None:
            idle.close()
        return open_connection(self._database)

    def _give_back(self, connection: Connection) -> None:
        connection.rollback()
        with self._lock:
            keep = connection.reusable and not self._closed and len(self._readers) < IDLE_CONNECTIONS
            if keep and not connection.in_transaction:
                self._readers.append(connection)
                return
        connection.close()

    # --- writing --------------------------------------------------------------------------------------------

    def write(
        self,
        actor: Actor,
        now: datetime,
        *,
        waiting: Callable[[float], None] | None = None,
        timeout_s: float = 30.0,
    ) -> Writer:
        """The writer; there is one at a time, over all processes.

        `now` is the commit's time, moved to a second after the head where it is not later. While another
        writer has the lock, `waiting(seconds waited so far)` is called, some times a second. Raises BusyError
        after `timeout_s` seconds, ActorError, StorageError, CorruptStoreError.
        """
        validate_actor_id(actor.id)
        if self.read_only:
            raise UsageError(f"{self.path} was opened for reading only")
        _check_present(self.path)
        connection = self._writing_connection()
        try:
            self._take_lock(connection, waiting, timeout_s)
            discard_temporary(self.path / CONTENT)
            return Writer(connection, actor, now, self._writer_done)
        except BaseException:
            connection.rollback()
            connection.close()
            raise

    @contextlib.contextmanager
    def exclusively(
        self, *, waiting: Callable[[float], None] | None = None, timeout_s: float = 30.0
    ) -> Iterator[Connection]:
        """A connection that holds the write lock, for repairs; what is not committed by hand is rolled back. Raises
        as `write` does."""
        if self.read_only:
            raise UsageError(f"{self.path} was opened for reading only")
        connection = self._writing_connection()
        try:
            self._take_lock(connection, waiting, timeout_s)
            yield connection
        finally:
            connection.rollback()
            self._writer_done(connection)

    def _writing_connection(self) -> Connection:
        inode = inode_of(self._database)
        with self._lock:
            if self._closed:
                raise UsageError(f"the store {self.path} is closed", hint="open it again")
            idle = self._writers.pop() if self._writers else None
        if idle is not None and idle.inode == inode:
            return idle
        if idle is not None:
            idle.close()
        return open_connection(self._database, writing=True)

    def _take_lock(
        self, connection: Connection, waiting: Callable[[float], None] | None, timeout_s: float
    ) -> None:
        started = time.monotonic()
        pause, longest = WAIT_S
        while not connection.begin_writing():
            waited = time.monotonic() - started
            if waited >= timeout_s:
                who = holder_of(self.path)
                raise BusyError(
                    f"{self.path}: another process is writing{f' ({who})' if who else ''};"
                    f" gave up after {waited:.0f} s",
                    hint="wait until it is done and try again",
                )
            if waiting is not None:
                waiting(waited)
            time.sleep(min(pause, max(0.0, timeout_s - waited)))
            pause = min(2 * pause, longest)

    def _writer_done(self, connection: Connection) -> None:
        with self._lock:
            if not self._closed and not self._writers and not connection.in_transaction:
                self._writers.append(connection)
                return
        connection.close()

    # --- erasing --------------------------------------------------------------------------------------------

    def to_erase(self) -> ToErase:
        """What redactions have left to be erased outside of the database."""
        connection = self._reader()
        try:
            return to_erase(connection)
        finally:
            self._give_back(connection)

    def finish_erasing(
        self, done: ToErase, *, waiting: Callable[[float], None] | None = None, timeout_s: float = 30.0
    ) -> None:
        """Remove the files on the list, empty the write-ahead log, and strike from the list what is done.

        Derived state comes before: it is the caller's. A kill at any point leaves the list, and doing it again does
        no harm. `waiting` is called while another writer, or a reader that still sees what was destroyed, is in the
        way. Raises BusyError after `timeout_s` seconds, StorageError.
        """
        connection = self._writing_connection()
        try:
            self._take_lock(connection, waiting, timeout_s)
            discard_temporary(self.path / CONTENT)
            remove_files(connection, done)
            connection.run("COMMIT")
            self._empty_log(connection, waiting, timeout_s)
            self._take_lock(connection, waiting, timeout_s)
            strike(connection, done)
            connection.run("COMMIT")
        finally:
            connection.rollback()
            self._writer_done(connection)

    def compact(self, *, waiting: Callable[[float], None] | None = None, timeout_s: float = 30.0) -> int:
        """Give the database's free pages back to the disk; how many bytes smaller its files are.

        SQLite writes the database anew through the write-ahead log, as one transaction (VACUUM): a kill leaves it as it
        was, readers keep what they see, and the file shrinks once none of them is left. It takes as much room again
        meanwhile. Raises BusyError after `timeout_s` seconds of another writer, StorageError.
        """
        before = self.stored_bytes()
        connection = self._writing_connection()
        started = time.monotonic()
        try:
            while True:
                try:
                    connection.run("VACUUM")
                    break
                except BusyError:
                    waited = time.monotonic() - started
                    if waited >= timeout_s:
                        raise
                    if waiting is not None:
                        waiting(waited)
                    time.sleep(WAIT_S[1])
            connection.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            connection.rollback()
            self._writer_done(connection)
        return before - self.stored_bytes()

    def stored_bytes(self) -> int:
        """What the truth takes on the disk: the database with its log, and the files of originals."""
        total = 0
        for file in (self._database, self.path / f"{DATABASE}-wal", *list_files(self.path / CONTENT)):
            with contextlib.suppress(OSError):
                total += file.stat().st_size
        return total

    def _empty_log(
        self, connection: Connection, waiting: Callable[[float], None] | None, timeout_s: float
    ) -> None:
        """Bring the write-ahead log into the database and cut it to nothing. A reader of an older state keeps it."""
        started = time.monotonic()
        pause, longest = WAIT_S
        while connection.rows("PRAGMA wal_checkpoint(TRUNCATE)")[0][0]:
            waited = time.monotonic() - started
            if waited >= timeout_s:
                raise BusyError(
                    f"{self.path}: a reader still sees the state before; gave up after {waited:.0f} s",
                    hint="end the process that reads",
                )
            if waiting is not None:
                waiting(waited)
            time.sleep(min(pause, max(0.0, timeout_s - waited)))
            pause = min(2 * pause, longest)

    # --- closing --------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the idle connections; views and writers still open close theirs when they end."""
        with self._lock:
            self._closed = True
            idle, self._readers, self._writers = [*self._readers, *self._writers], [], []
        for connection in idle:
            connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _make_folder(path: Path) -> None:
    """A folder, with those above it, that a power failure does not take away again."""
    made = [each for each in (path, *path.parents) if not each.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for each in made or [path]:
        with contextlib.suppress(PermissionError):  # a folder above that may be entered and not be read
            sync_folder(each.parent)


def _write_empty(path: Path) -> None:
    """A complete, empty brain.db under a temporary name."""
    with Guard(path):
        raw = sqlite3.connect(path, isolation_level=None)
        try:
            for statement in ("PRAGMA page_size=4096", "PRAGMA journal_mode=WAL", "BEGIN"):
                raw.execute(statement)
            for statement in SCHEMA:
                raw.execute(statement)
            raw.execute(f"PRAGMA application_id={APPLICATION_ID}")
            raw.execute(f"PRAGMA user_version={FORMAT}")
            raw.execute("COMMIT")
        finally:
            raw.close()


def _publish(temporary: Path, database: Path) -> None:
    """Give a finished file its name unless somebody else has taken it meanwhile (FileExistsError)."""
    try:
        os.link(temporary, database)
    except FileExistsError:
        raise
    except OSError:
        if database.exists():
            raise FileExistsError(str(database)) from None
        temporary.rename(database)


def _exists(path: Path) -> ConflictError:
    return ConflictError(f"there is a brain in {path} already", hint="open it, or choose another folder")


def _check_present(path: Path) -> None:
    """Refuse what is not a folder with a database in it, saying what is there."""
    database = path / DATABASE
    try:
        if database.is_file():
            if database.stat().st_size:
                return
            raise CorruptStoreError(f"{database} is empty", hint=_AGAIN)
        if database.exists():
            raise BrainNotFoundError(f"{database} is not a file", hint="move it away")
        if path.is_file():
            raise BrainNotFoundError(f"{path} is a file, not a brain's folder", hint=_MAKE)
        if not path.exists():
            raise BrainNotFoundError(f"there is no brain at {path}: no such folder", hint=_MAKE)
        raise _not_a_brain(path)
    except PermissionError as error:
        raise StorageError(
            f"{path}: permission denied", hint="check the permissions of the folder"
        ) from error
    except OSError as error:
        raise storage_error(error, "cannot open", path) from error


_MAKE = "make one with `consilience ingest`, or correct the path"
_AGAIN = f"restore {DATABASE} from a copy, or move the folder away and ingest again"


def _not_a_brain(path: Path) -> BrainNotFoundError:
    """What a folder without a database is, and what can be done: a new brain is made in no folder that holds
    something."""
    names = {entry.name for entry in path.iterdir()}
    lacks = f"no {DATABASE} in it, but {_contents(path)}"
    if names & {CONTENT, DERIVED}:
        return BrainNotFoundError(f"{path} is what is left of a brain: {lacks}", hint=_AGAIN)
    hint = "correct the path, or move away what is there" if names else _MAKE
    return BrainNotFoundError(f"{path} is not a brain: {lacks}", hint=hint)


def _contents(path: Path) -> str:
    """What a folder holds, for a message: at most five names."""
    names = sorted(entry.name + ("/" if entry.is_dir() else "") for entry in path.iterdir())
    if not names:
        return "nothing"
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
