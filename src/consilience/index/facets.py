"""Facets of entries (module, kind, subject, tags, origins, date, role, language) in one small SQLite file, as readers
see it."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from consilience.index.database import DatabaseReader
from consilience.index.dates import window
from consilience.index.facet_file import MONTH, SCHEMA, Facet
from consilience.index.facet_profile import FacetProfile, ordinals, profiles
from consilience.index.facet_rules import fold, narrows, passes, source_matcher
from consilience.model import Filters
from consilience.protocol import MemoryType

if TYPE_CHECKING:
    from consilience.index.facet_writer import FacetWriter

__all__ = ["FacetIndex", "narrows", "passes", "source_matcher"]

_LISTED: Final = 5_000
"""Ordinals up to which a statement names them rather than reads all that its other conditions admit."""


class FacetIndex(DatabaseReader):
    """A reader. Thread-safe; every call sees the last commit."""

    schema = SCHEMA

    @classmethod
    def open_for_write(cls, path: Path) -> FacetWriter:
        """The one writer. Facets that cannot be used are removed first. Raises BusyError, StorageError."""
        from consilience.index.facet_writer import FacetWriter

        return FacetWriter(path)

    def _values(self, field: Facet, wanted: Sequence[str]) -> list[int]:
        """The ids of the values of a facet that equal one of `wanted`, ignoring case."""
        if field == "origin":
            matches = source_matcher(wanted)
            rows = self._rows("SELECT id, value FROM value WHERE field = 'origin'")
            return [number for number, value in rows if matches(str(value))]
        marks = ",".join("?" * len(wanted))
        sql = f"SELECT id FROM value WHERE field = ? AND folded IN ({marks})"
        return [row[0] for row in self._rows(sql, [field, *map(fold, wanted)])]

    def _ordinals(self, source: str) -> array[int]:
        """The ordinals that `SELECT n FROM source` gives, as one text: three times faster than a row each."""
        with self._connection() as connection:
            text = connection.execute(f"SELECT group_concat(n) FROM {source}").fetchone()[0]
        return array("q", map(int, text.split(",")) if text else ())

    def _conditions(self, filters: Filters, modules: Sequence[MemoryType]) -> list[str]:
        """SQL conditions on `entry`; ids and epoch seconds are our own integers, so they stand in the text."""
        conditions: list[str] = []
        within = _within(filters, modules)
        if within is not None and not set(self.histogram("module")) <= set(within):
            conditions.append(f"module IN ({_list(self._values('module', within))})")
        columns: tuple[tuple[Facet, Sequence[str]], ...] = (
            ("kind", filters.kinds),
            ("subject", filters.subjects),
        )
        conditions += [f"{f} IN ({_list(self._values(f, wanted))})" for f, wanted in columns if wanted]
        bounds = window(filters.since, filters.until)
        if bounds is not None:
            conditions.append(f"first <= {bounds.end} AND last >= {bounds.start}")
        return conditions

    def eligible(self, filters: Filters, modules: Sequence[MemoryType] = ()) -> array[int] | None:
        """The ordinals that pass, ascending; None where nothing but the module is asked for.

        Raises QueryError for a bound that is no date.
        """
        if not narrows(filters):
            return None
        conditions = self._conditions(filters, modules)
        labels: tuple[tuple[Facet, Sequence[str]], ...] = (("tag", filters.tags), ("origin", filters.sources))
        found: set[int] | None = None
        for field, wanted in labels:
            if wanted:
                ids = _list(self._values(field, wanted))
                having = set(self._ordinals(f"label WHERE value IN ({ids})"))
                found = having if found is None else found & having
        if conditions:
            if found is not None and len(found) <= _LISTED:
                conditions.append(f"n IN ({_list(found)})")
            passing = self._ordinals(f"entry WHERE {' AND '.join(conditions)}")
            found = set(passing) if found is None else found.intersection(passing)
        return array("q", sorted(found or ()))

    def estimate(self, filters: Filters, modules: Sequence[MemoryType] = ()) -> float:
        """About how many entries pass, from stored counts, as if the facets were independent."""
        total = float(self._rows("SELECT documents FROM state")[0][0])
        if not total:
            return 0.0
        share = 1.0
        within = _within(filters, modules)
        asked: tuple[tuple[Facet, Sequence[str]], ...] = (
            ("module", within or ()),
            ("kind", filters.kinds),
            ("subject", filters.subjects),
            ("tag", filters.tags),
            ("origin", filters.sources),
        )
        for field, wanted in asked:
            if wanted or (field == "module" and within is not None):
                share *= min(1.0, self.labelled(field, wanted) / total)
        return total * share * self._share_of_window(filters, total)

    def labelled(self, field: Facet, wanted: Sequence[str]) -> int:
        """How many entries have one of these values of a facet (or patterns of a source); one that has two of them
        counts twice."""
        ids = _list(self._values(field, wanted)) if wanted else "NULL"
        return self._rows(f"SELECT coalesce(sum(count), 0) FROM value WHERE id IN ({ids})")[0][0]

    def profiles(self) -> list[FacetProfile]:
        """What the facets of each module look like. Reads every entry; for statistics."""
        with self._connection() as connection:
            return profiles(connection)

    def ordinals(self, module: MemoryType) -> array[int]:
        """The ordinals of a module's entries, ascending. Reads them all; for statistics."""
        with self._connection() as connection:
            return ordinals(connection, module.value)

    def _share_of_window(self, filters: Filters, total: float) -> float:
        wanted = window(filters.since, filters.until)
        if wanted is None:
            return 1.0
        sql = "SELECT coalesce(sum(count), 0) FROM month WHERE month BETWEEN ? AND ?"
        bounds = (max(wanted.start // MONTH, -(2**40)), min(wanted.end // MONTH, 2**40))
        return min(1.0, self._rows(sql, bounds)[0][0] / total)

    def roles(self, ns: Sequence[int]) -> dict[int, str]:
        """The roles of these ordinals; the ones that are not here are left out."""
        sql = f"SELECT n, value FROM entry JOIN value ON value.id = entry.role WHERE n IN ({_list(ns)})"
        return {n: str(role) for n, role in self._rows(sql)}

    def traits(self, ns: Sequence[int]) -> dict[int, tuple[str, str]]:
        """Role and language of these ordinals; the ones that are not here are left out."""
        sql = (
            "SELECT n, r.value, l.value FROM entry JOIN value r ON r.id = entry.role"
            f" JOIN value l ON l.id = entry.language WHERE n IN ({_list(ns)})"
        )
        return {n: (str(role), str(language)) for n, role, language in self._rows(sql)}

    def of_one_subject(self, ns: Sequence[int], most: int) -> list[tuple[int, int]]:
        """(ordinal, another with the same subject), ordered; a subject of more than `most` entries is left out."""
        sql = (
            "SELECT e.n, o.n FROM entry e JOIN value v ON v.id = e.subject JOIN entry o ON o.subject = e.subject"
            f" WHERE e.n IN ({_list(ns)}) AND v.value <> '' AND v.count BETWEEN 2 AND {int(most)} AND o.n <> e.n"
            " ORDER BY 1, 2"
        )
        return [(row[0], row[1]) for row in self._rows(sql)]

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


def _within(filters: Filters, modules: Sequence[MemoryType]) -> list[str] | None:
    """The modules that are asked for, by caller and filters together; None for all."""
    if not modules and not filters.modules:
        return None
    asked = modules or filters.modules
    return [module.value for module in asked if not filters.modules or module in filters.modules]


def _list(numbers: Iterable[int]) -> str:
    return ",".join(str(int(n)) for n in numbers) or "NULL"
