"""Sealed databases, kept from one query to the next while the tables they have attached are the same.

A query takes a database for itself and gives it back; it runs on a connection of its own (`Sealed.within`), so that
nothing of it stays. Databases with tables in memory, and those that a query ran into the ground, are closed instead
(docs/decisions/0173).
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from consilience.model import Value
from consilience.protocol import MemoryType
from consilience.sql.cache import State, Table, attached
from consilience.sql.seal import Limits, Sealed

__all__ = ["POOL", "Database", "Lease", "Pool", "Wanted"]

IDLE = 2
"""Databases that are kept at most while nobody asks."""

Slot = tuple[Path, MemoryType]
Mark = tuple[int, int, int]


class Wanted(Value, frozen=True, kw_only=True):
    """A module's kept table: the folder with its files, and the state that names them. `key` is what it follows
    from."""

    folder: Path
    key: str
    state: State

    @property
    def slot(self) -> Slot:
        return self.folder, self.state.module


class _Held(NamedTuple):
    key: str
    table: Table
    marks: tuple[Mark, ...]


class Database:
    """One sealed database: the tables that are attached, and the views that were made in it."""

    def __init__(self, limits: Limits) -> None:
        self.sealed = Sealed(limits)
        self.views: dict[str, str] = {}
        self.discarded = False
        self._held: dict[Slot, _Held] = {}
        self._process = os.getpid()

    @property
    def kept(self) -> bool:
        """Whether another query may have it."""
        return self.sealed.sealed and self.sealed.sound and not self.discarded

    @property
    def here(self) -> bool:
        """Whether this process made it: a forked one has none of its threads."""
        return self._process == os.getpid()

    def attach(self, wanted: Wanted) -> Table:
        """The table, attached under names of its own. Raises UnusableError."""
        marks = _marks(wanted)
        prefix = f"t{len(self._held)}_"
        table = attached(self.sealed.connection, wanted.folder, wanted.state, prefix)
        self._held[wanted.slot] = _Held(wanted.key, table, marks)
        return table

    def table(self, wanted: Wanted) -> Table | None:
        """The table where it is attached, and its files are still the ones that were."""
        held = self._held.get(wanted.slot)
        if held is None or held.key != wanted.key or held.marks != _marks(wanted):
            return None
        return held.table

    def held(self, wanted: Wanted) -> Table:
        """The table that is attached, which `table` found to be the one wanted."""
        return self._held[wanted.slot].table

    def outdated(self, wanted: Collection[Wanted]) -> bool:
        """Whether it has an earlier state of one of the tables."""
        return any(each.slot in self._held and self.table(each) is None for each in wanted)

    def modules(self, folder: Path) -> tuple[MemoryType, ...]:
        """Whose tables of that folder are attached."""
        return tuple(module for held, module in self._held if held == folder)

    def below(self, folder: Path) -> bool:
        return any(held.is_relative_to(folder) for held, _ in self._held)

    def close(self) -> None:
        if self.here:
            self.sealed.close()


def _marks(wanted: Wanted) -> tuple[Mark, ...]:
    """What tells the files from others that take their place; nothing where one is missing."""
    marks = []
    for name in (wanted.state.base, wanted.state.delta):
        if name is not None:
            try:
                found = (wanted.folder / name).stat()
            except OSError:
                return ()
            marks.append((found.st_ino, found.st_size, found.st_mtime_ns))
    return tuple(marks)


class Lease:
    """A database in the hands of one query, and the way to another one that has the tables it needs."""

    def __init__(self, pool: Pool, database: Database, limits: Limits) -> None:
        self._pool, self._limits = pool, limits
        self.database = database

    def modules(self, folder: Path) -> tuple[MemoryType, ...]:
        return self.database.modules(folder)

    def fit(self, wanted: Sequence[Wanted]) -> bool:
        """Hold a database that has all of these attached and is sealed; whether there is one."""
        return self._exchange(
            lambda database: (
                database.sealed.sealed and all(database.table(each) is not None for each in wanted)
            )
        )

    def open(self, wanted: Sequence[Wanted]) -> None:
        """Hold a database that is not sealed yet and has nothing attached; those that have an earlier state of the
        tables are closed."""
        if self.database.sealed.sealed:
            self._pool.give(self.database)
            self.database = self._pool.new(self._limits)
        self._pool.close_outdated(wanted)

    def _exchange(self, fits: Callable[[Database], bool]) -> bool:
        if fits(self.database):
            return True
        other = self._pool.take(self._limits, fits)
        if other is None:
            return False
        self._pool.give(self.database)
        self.database = other
        return True


class Pool:
    """Databases that nobody uses just now, the latest last. Many threads may take and give."""

    def __init__(self, idle: int = IDLE) -> None:
        self._most = idle
        self._lock = threading.Lock()
        self._idle: list[Database] = []
        self._used: list[Database] = []

    @contextlib.contextmanager
    def lease(self, limits: Limits) -> Iterator[Lease]:
        """A database with these limits, the latest one that is idle, else a new one; given back in the end.

        Raises MissingExtraError.
        """
        lease = Lease(self, self.take(limits, lambda _: True) or self.new(limits), limits)
        try:
            yield lease
        finally:
            self.give(lease.database)

    def new(self, limits: Limits) -> Database:
        made = Database(limits)
        with self._lock:
            self._used.append(made)
        return made

    def take(self, limits: Limits, fits: Callable[[Database], bool]) -> Database | None:
        """The latest idle database with such limits that fits."""
        with self._lock:
            self._idle = [database for database in self._idle if database.here]
            for at in range(len(self._idle) - 1, -1, -1):
                database = self._idle[at]
                if _alike(database.sealed.limits, limits) and fits(database):
                    del self._idle[at]
                    self._used.append(database)
                    database.sealed.limits = limits
                    return database
        return None

    def give(self, database: Database) -> None:
        """Take one back. It is closed where it is not to be kept; the oldest is where there are too many."""
        with self._lock:
            if database in self._used:
                self._used.remove(database)
            over = [database]
            if database.kept and database.here:
                self._idle.append(database)
                over = self._idle[: -self._most] if self._most else self._idle[:]
                self._idle = self._idle[len(over) :]
        for each in over:
            each.close()

    def close_outdated(self, wanted: Sequence[Wanted]) -> None:
        self._close(lambda database: database.outdated(wanted))

    def discard(self, folder: Path) -> None:
        """Close all that has a file below `folder` attached; what a query uses, when it ends."""
        with self._lock:
            for database in self._used:
                database.discarded = database.discarded or database.below(folder)
        self._close(lambda database: database.below(folder))

    def close(self) -> None:
        """Close all that is idle."""
        self._close(lambda _: True)

    def _close(self, condition: Callable[[Database], bool]) -> None:
        with self._lock:
            gone = [database for database in self._idle if condition(database)]
            self._idle = [database for database in self._idle if database not in gone]
        for database in gone:
            database.close()


def _alike(one: Limits, other: Limits) -> bool:
    """Limits that a database was opened with; the time is each query's own."""
    return (one.memory_mib, one.threads) == (other.memory_mib, other.threads)


POOL = Pool()
"""The databases of this process, whatever asked for them: a brain that is closed discards its own."""
