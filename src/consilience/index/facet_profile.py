"""What the facets of one module look like: how many values, how unevenly used, which months. Counts, never a value."""

from __future__ import annotations

import sqlite3
from array import array

from consilience.index.facet_file import MONTH
from consilience.model import Value

MOST_BARS = 120
MOST_KINDS = 32


class ValueCounts(Value, frozen=True, kw_only=True):
    """Of a facet: entries that have a value, different values, entries that have the most frequent one."""

    entries: int = 0
    distinct: int = 0
    largest: int = 0


class Dates(Value, frozen=True, kw_only=True):
    """A histogram of dates: `bars` of `width` mean months each, by their number since 1970; at most 120."""

    entries: int = 0
    width: int = 1
    bars: tuple[tuple[int, int], ...] = ()

    def between(self, start: int, end: int) -> float:
        """About how many entries overlap this window of epoch seconds: whole bars, so rather too many."""
        bar = MONTH * self.width
        return float(sum(count for at, count in self.bars if start // bar <= at <= end // bar))


class FacetProfile(Value, frozen=True, kw_only=True):
    """One module. `kinds` are a closed vocabulary and named; subjects, tags and sources are texts of the brain, and
    counted only, so that a removed one leaves nothing here."""

    module: str
    entries: int
    kinds: dict[str, int]
    subjects: ValueCounts
    tags: ValueCounts
    sources: ValueCounts
    dates: Dates


def profiles(connection: sqlite3.Connection) -> list[FacetProfile]:
    """Every module's, by name. One pass over the entries a facet. Raises sqlite3.Error."""
    sql = (
        "SELECT id, value, (SELECT count(*) FROM entry WHERE module = value.id) FROM value"
        " WHERE field = 'module' ORDER BY value"
    )
    found = []
    for number, module, entries in connection.execute(sql).fetchall():
        if not entries:
            continue
        kinds = connection.execute(
            "SELECT v.value, count(*) AS c FROM entry e JOIN value v ON v.id = e.kind WHERE e.module = ?"
            " AND v.value <> '' GROUP BY e.kind ORDER BY c DESC, v.value",
            (number,),
        ).fetchall()
        found.append(
            FacetProfile(
                module=str(module),
                entries=int(entries),
                kinds=dict(kinds[:MOST_KINDS]),
                subjects=_subjects(connection, number),
                tags=_labels(connection, number, "tag"),
                sources=_labels(connection, number, "origin"),
                dates=_dates(connection, number),
            )
        )
    return found


def ordinals(connection: sqlite3.Connection, module: str) -> array[int]:
    """The ordinals of a module's entries, ascending."""
    sql = (
        "SELECT n FROM entry WHERE module = (SELECT id FROM value WHERE field = 'module' AND value = ?)"
        " ORDER BY n"
    )
    return array("q", (n for (n,) in connection.execute(sql, (module,))))


def _subjects(connection: sqlite3.Connection, module: int) -> ValueCounts:
    sql = (
        "SELECT count(*) FROM entry e JOIN value v ON v.id = e.subject"
        " WHERE e.module = ? AND v.value <> '' GROUP BY e.subject"
    )
    return _counts(connection, sql, (module,))


def _labels(connection: sqlite3.Connection, module: int, field: str) -> ValueCounts:
    sql = (
        "SELECT count(*) FROM label l JOIN value v ON v.id = l.value JOIN entry e ON e.n = l.n"
        " WHERE v.field = ? AND e.module = ? GROUP BY l.value"
    )
    return _counts(connection, sql, (field, module))


def _counts(connection: sqlite3.Connection, sql: str, parameters: tuple[object, ...]) -> ValueCounts:
    total = distinct = largest = 0
    for (count,) in connection.execute(sql, parameters):
        total, distinct, largest = total + count, distinct + 1, max(largest, count)
    return ValueCounts(entries=total, distinct=distinct, largest=largest)


def _dates(connection: sqlite3.Connection, module: int) -> Dates:
    sql = "SELECT first, count(*) FROM entry WHERE module = ? AND first IS NOT NULL GROUP BY first"
    months: dict[int, int] = {}
    for first, count in connection.execute(sql, (module,)):
        months[first // MONTH] = months.get(first // MONTH, 0) + count
    return coarsened(months)


def coarsened(months: dict[int, int]) -> Dates:
    """The histogram of so many entries a month, in bars as wide as it takes for 120 to do."""
    width, bars = 1, months
    while len(bars) > MOST_BARS:
        width *= 2
        bars = {}
        for month, count in months.items():
            bars[month // width] = bars.get(month // width, 0) + count
    return Dates(entries=sum(months.values()), width=width, bars=tuple(sorted(bars.items())))
