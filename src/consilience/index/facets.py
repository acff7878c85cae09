"""Facets of entries (module, kind, subject, tags, origins, date, role, language) in one small SQLite file.

Derived from the store and deletable. WAL, so that readers see the last commit while a writer works; a
commit moves the watermark in the same transaction as the rows.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
import sqlite3
import threading
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Literal

from consilience.errors import BusyError, IndexUnusableError, StorageError
from consilience.index._files import WriterLock, remove_tree, unusable
from consilience.index.dates import interval, overlaps, window
from consilience.model import Entry, Filters
from consilience.protocol import MemoryType

FORMAT: Final = 1
APPLICATION_ID: Final = 0x43534C46
Facet = Literal["module", "kind", "subject", "tag", "language", "role", "origin"]

_SCHEMA: Final = f"""
CREATE TABLE value(id INTEGER PRIMARY KEY, field TEXT NOT NULL, value TEXT NOT NULL, folded TEXT NOT NULL,
                   count INTEGER NOT NULL DEFAULT 0, UNIQUE(field, value));
CREATE INDEX value_folded ON value(field, folded);
CREATE TABLE entry(n INTEGER PRIMARY KEY, module INTEGER NOT NULL, kind INTEGER NOT NULL, subject INTEGER
NOT NULL,
                   language INTEGER NOT NULL, role INTEGER NOT NULL, first INTEGER, last INTEGER);
CREATE INDEX entry_subject ON entry(subject);
CREATE INDEX entry_date ON entry(first, last) WHERE first IS NOT NULL;
CREATE TABLE label(value INTEGER NOT NULL, n INTEGER NOT NULL, PRIMARY KEY(value, n)) WITHOUT ROWID;
CREATE TABLE month(month INTEGER PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE state(watermark INTEGER NOT NULL, documents INTEGER NOT NULL);
INSERT INTO state VALUES (0, 0);
PRAGMA application_id={APPLICATION_ID};
PRAGMA user_version={FORMAT};
"""
_MONTH: Final = 2_629_746


def fold(value: str) -> str:
    """How a facet's value is compared: ignoring case and outer space."""
    return value.strip().casefold()


def source_matcher(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Whether an origin is one that `--source` asks for.

    A pattern with `*`, `?` or `[` is a glob over the whole origin (`*` spans `/`), or, without a `/`, over
    the file name too. Another one is the exact origin, a leading folder of it, or the file name. A leading
    `./` is dropped.
    """
    forms: list[str] = []
    for pattern in patterns:
        text = pattern.removeprefix("./")
        if any(c in text for c in "*?["):
            whole = fnmatch.translate(text)
            forms.append(whole if "/" in text else f"(?:.*/)?{whole}")
        else:
            exact = re.escape(text.rstrip("/"))
            forms += [
                rf"{exact}(?:/.*)?\Z",
                rf".*/{exact}\Z" if "/" not in text.rstrip("/") else rf"{exact}\Z",
            ]
    wanted = re.compile("|".join(rf"(?:\./)?(?:{form})" for form in forms), re.DOTALL)
    return lambda origin: wanted.match(origin) is not None


def passes(entry: Entry, filters: Filters) -> bool:
    """Whether one entry is what the filters ask for: the rules of `FacetIndex.eligible`, for an entry not
    indexed yet."""
    if filters.modules and entry.module not in filters.modules:
        return False
    if filters.kinds and fold(entry.kind) not in map(fold, filters.kinds):
        return False
    if filters.subjects and fold(entry.subject) not in map(fold, filters.subjects):
        return False
    if filters.tags and not set(map(fold, filters.tags)) & set(map(fold, entry.tags)):
        return False
    if filters.sources and not any(map(source_matcher(filters.sources), entry.origins)):
        return False
    wanted = window(filters.since, filters.until)
    return wanted is None or overlaps(interval(entry.date) if entry.date else None, wanted)


def _connect(path: Path, *, writable: bool = False) -> sqlite3.Connection:
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


def _check(connection: sqlite3.Connection, path: Path) -> None:
    kind = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if kind != APPLICATION_ID:
        raise unusable(path, "it is another program's database")
    if version != FORMAT:
        raise unusable(path, f"format {version}, this version reads {FORMAT}")
    connection.execute("SELECT watermark FROM state").fetchone()[0]


def _tune(connection: sqlite3.Connection) -> None:
    """A writer's settings: derived data may lose its last commits to a power cut, never its consistency."""
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA secure_delete=ON")


class FacetIndex:
    """A reader. Thread-safe (connections are lent, one call each); every call sees the last commit."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._file = self._identity()

    @classmethod
    def open(cls, path: Path) -> FacetIndex | None:
        """The facets in `path`, None where there are none. Raises IndexUnusableError."""
        if not path.exists():
            return None
        index = cls(path)
        with index._connection():
            return index

    @classmethod
    def open_for_write(cls, path: Path) -> FacetWriter:
        """The one writer. Facets that cannot be used are removed first. Raises BusyError, StorageError."""
        return FacetWriter(path)

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
                connection = _connect(self._path)
                _check(connection, self._path)
            yield connection
        except (sqlite3.Error, OverflowError) as error:
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

    def _values(self, field: Facet, wanted: Sequence[str]) -> list[int]:
        """The ids of the values of a facet that equal one of `wanted`, ignoring case."""
        if field == "origin":
            matches = source_matcher(wanted)
            rows = self._rows("SELECT id, value FROM value WHERE field = 'origin'")
            return [number for number, value in rows if matches(str(value))]
        marks = ",".join("?" * len(wanted))
        sql = f"SELECT id FROM value WHERE field = ? AND folded IN ({marks})"
        return [row[0] for row in self._rows(sql, [field, *map(fold, wanted)])]

    def _conditions(self, filters: Filters, modules: Sequence[MemoryType]) -> list[str]:
        """SQL conditions on `entry`; ids and epoch seconds are our own integers, so they stand in the
        text."""
        conditions: list[str] = []
        within = [m for m in (modules or filters.modules) if not filters.modules or m in filters.modules]
        if modules or filters.modules:
            conditions.append(f"module IN ({_list(self._values('module', [m.value for m in within]))})")
        for field, wanted in (("kind", filters.kinds), ("subject", filters.subjects)):
            if wanted:
                conditions.append(f"{field} IN ({_list(self._values(field, wanted))})")  # type: ignore[arg-type]
        for label, wanted in (("tag", filters.tags), ("origin", filters.sources)):
            if wanted:
                ids = _list(self._values(label, wanted))  # type: ignore[arg-type]
                conditions.append(f"n IN (SELECT n FROM label WHERE value IN ({ids}))")
        wanted_window = window(filters.since, filters.until)
        if wanted_window is not None:
            conditions.append(f"first <= {wanted_window.end} AND last >= {wanted_window.start}")
        return conditions

    def eligible(self, filters: Filters, modules: Sequence[MemoryType] = ()) -> array[int] | None:
        """The ordinals that pass, ascending; None where nothing but the module is asked for. Raises
        QueryError for a date."""
        if not narrows(filters):
            return None
        conditions = " AND ".join(self._conditions(filters, modules)) or "1"
        return array(
            "q", [row[0] for row in self._rows(f"SELECT n FROM entry WHERE {conditions} ORDER BY n")]
        )

    def estimate(self, filters: Filters, modules: Sequence[MemoryType] = ()) -> float:
        """About how many entries pass, from stored counts, as if the facets were independent."""
        total = float(self._rows("SELECT documents FROM state")[0][0])
        if not total:
            return 0.0
        share = 1.0
        within = [
            m.value for m in (modules or filters.modules) if not filters.modules or m in filters.modules
        ]
        asked: tuple[tuple[Facet, Sequence[str]], ...] = (
            ("module", within if modules or filters.modules else ()),
            ("kind", filters.kinds),
            ("subject", filters.subjects),
            ("tag", filters.tags),
            ("origin", filters.sources),
        )
        for field, wanted in asked:
            if wanted or (field == "module" and (modules or filters.modules)):
                ids = self._values(field, wanted) if wanted else []
                counted = self._rows(f"SELECT coalesce(sum(count), 0) FROM value WHERE id IN ({_list(ids)})")[
                    0
                ][0]
                share *= min(1.0, counted / total)
        return total * share * self._share_of_window(filters, total)

    def _share_of_window(self, filters: Filters, total: float) -> float:
        wanted = window(filters.since, filters.until)
        if wanted is None:
            return 1.0
        sql = "SELECT coalesce(sum(count), 0) FROM month WHERE month BETWEEN ? AND ?"
        bounds = (max(wanted.start // _MONTH, -(2**40)), min(wanted.end // _MONTH, 2**40))
        return min(1.0, self._rows(sql, bounds)[0][0] / total)

    def roles(self, ns: Sequence[int]) -> dict[int, str]:
        """The roles of these ordinals; the ones that are not here are left out."""
        sql = f"SELECT n, value FROM entry JOIN value ON value.id = entry.role WHERE n IN ({_list(ns)})"
        return {n: str(role) for n, role in self._rows(sql)}

    def count(self, modules: Sequence[MemoryType] = ()) -> int:
        """Entries, of these modules or of all."""
        held = self.histogram("module")
        return sum(held.values()) if not modules else sum(held.get(m.value, 0) for m in modules)

    def histogram(self, field: Facet) -> dict[str, int]:
        """How many entries have each value of a facet, by value."""
        rows = self._rows(
            "SELECT value, count FROM value WHERE field = ? AND count > 0 ORDER BY value", [field]
        )
        return {str(value): count for value, count in rows}


def narrows(filters: Filters) -> bool:
    """Whether filters bound anything beyond the module."""
    return bool(
        filters.kinds or filters.subjects or filters.tags or filters.sources or filters.since or filters.until
    )


def _list(numbers: Iterable[int]) -> str:
    return ",".join(str(int(n)) for n in numbers) or "NULL"


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
        if self._path.exists():
            try:
                connection = _connect(self._path, writable=True)
                _check(connection, self._path)
                _tune(connection)
                return connection
            except (sqlite3.Error, IndexUnusableError):
                if connection is not None:
                    connection.close()
        for suffix in ("", "-wal", "-shm"):
            remove_tree(self._path.with_name(self._path.name + suffix))
        try:
            connection = _connect(self._path, writable=True)
            connection.execute("PRAGMA journal_mode=WAL")
            _tune(connection)
            connection.executescript(f"BEGIN; {_SCHEMA} COMMIT;")
        except sqlite3.Error as error:
            raise StorageError(f"cannot make the facets at {self._path}: {error}") from error
        return connection

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        try:
            if not self._connection.in_transaction:
                self._connection.execute("BEGIN IMMEDIATE")
            yield self._connection
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "busy" in str(error):
                raise BusyError(f"another process is writing the facets at {self._path}") from error
            raise StorageError(f"cannot write the facets at {self._path}: {error}") from error
        except sqlite3.Error as error:
            raise StorageError(f"cannot write the facets at {self._path}: {error}") from error

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
            month = date.start // _MONTH
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
                    month = (row[6] // _MONTH,)
                    connection.execute("UPDATE month SET count = count - 1 WHERE month = ?", month)
                removed += 1
            connection.execute("UPDATE state SET documents = documents - ?", (removed,))
            connection.execute("DELETE FROM value WHERE count <= 0")
        self._ids.clear()
        self._truncate = self._truncate or removed > 0
        return removed

    def commit(self, watermark: int) -> None:
        """Make what was added durable and visible; `watermark` is the largest ordinal covered. Raises
        StorageError."""
        with self._writing() as connection:
            connection.execute("UPDATE state SET watermark = max(watermark, ?)", (watermark,))
            connection.execute("COMMIT")
            if self._truncate:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                self._truncate = False

    def close(self) -> None:
        """End writing; what was not committed is dropped."""
        try:
            with contextlib.suppress(sqlite3.Error):
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
            self._connection.close()
        finally:
            self._lock.release()

    def __enter__(self) -> FacetWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
