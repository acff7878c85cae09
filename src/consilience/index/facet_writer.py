"""The facets as their one writer sees them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

from consilience.index.database import DatabaseWriter
from consilience.index.dates import interval
from consilience.index.facet_file import MONTH, SCHEMA, Facet
from consilience.index.facet_rules import fold
from consilience.model import Entry


class FacetWriter(DatabaseWriter):
    """Adds entries and commits them. One at a time (a lock file); a context manager."""

    schema = SCHEMA

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._ids: dict[tuple[str, str], int] = {}

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
