"""Relations between blocks that their documents state: what stands beside what, what links to what.

Derived from the store and deletable; one small SQLite file, WAL, one writer. What provenance says in the store itself
(a fact and its evidence) is not repeated here. A link is kept as the name that it uses, and joined with the documents
of that name when it is asked for: so a link may come before its target, and a renamed file takes its links along.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from consilience.index.database import DatabaseReader
from consilience.index.edges_file import ANYWHERE, SCHEMA, unpacked

if TYPE_CHECKING:
    from array import array

    from consilience.index.edges_writer import EdgeWriter

MOST_LINKING = 1_024
MOST_ALIKE = 64
"""Blocks that use one name, and documents that have it (versions of a file do), of which more are not looked at."""

MOST_PLACES = 16
"""A block that stands in more documents than this (a licence, a heading) leads nowhere."""


class Laying(NamedTuple):
    """A document as it was laid down: its blocks in order, the section of each."""

    head: int
    ordered: bool
    ns: array[int]
    sections: array[int]

    def beside(self, n: int) -> list[tuple[int, int, bool]]:
        """(block, -1 before or +1 behind, whether in the same section) of where block `n` first stands."""
        if not self.ordered or n not in self.ns:
            return []
        at = self.ns.index(n)
        sides = [(at + step, step) for step in (-1, 1) if 0 <= at + step < len(self.ns)]
        return [
            (self.ns[i], step, self.sections[i] == self.sections[at]) for i, step in sides if self.ns[i] != n
        ]

    def target(self, section: int) -> int:
        """The first block of a section; of the document where it has none of that name."""
        if section != ANYWHERE and section in self.sections:
            return self.ns[self.sections.index(section)]
        return self.head


class Link(NamedTuple):
    """That block `n` of the document `source` uses the name `key`, which the document `target` has; `section` of it, or
    ANYWHERE."""

    n: int
    source: int
    key: int
    target: int
    section: int


class EdgeIndex(DatabaseReader):
    """A reader. Thread-safe; every call sees the last commit."""

    schema = SCHEMA

    @classmethod
    def open_for_write(cls, path: Path) -> EdgeWriter:
        """The one writer. An index that cannot be used is removed first. Raises BusyError, StorageError."""
        from consilience.index.edges_writer import EdgeWriter

        return EdgeWriter(path)

    def counts(self) -> tuple[int, int]:
        """How many documents there are, and how many blocks name something."""
        return (
            self._rows("SELECT count(*) FROM document")[0][0],
            self._rows("SELECT count(DISTINCT n) FROM mention")[0][0],
        )

    def placed(self) -> int:
        """How many blocks stand somewhere in an order."""
        return self._rows("SELECT count(DISTINCT n) FROM place")[0][0]

    def places(self, ns: Collection[int]) -> list[tuple[int, int]]:
        """(block, document) for each document that a block stands in, ordered; none for a block of very many."""
        sql = (
            f"SELECT n, source FROM place p WHERE n IN ({_list(ns)})"
            f" AND (SELECT count(*) FROM place q WHERE q.n = p.n) <= {MOST_PLACES} ORDER BY n, source"
        )
        return [(row[0], row[1]) for row in self._rows(sql)]

    def documents(self, sources: Collection[int]) -> dict[int, Laying]:
        """What was laid down of these documents; the ones that are not here are left out."""
        sql = f"SELECT source, head, ordered, ns, sections FROM document WHERE source IN ({_list(sources)})"
        with self._connection() as connection:
            rows = connection.execute(sql).fetchall()
            return {
                source: Laying(head, bool(ordered), unpacked(ns), unpacked(sections))
                for source, head, ordered, ns, sections in rows
            }

    def links_from(self, ns: Collection[int]) -> list[Link]:
        """What these blocks name, ordered; one's own document only where a section of it is named."""
        return self._links(f"m.n IN ({_list(ns)})")

    def links_to(self, sources: Collection[int]) -> list[Link]:
        """The blocks that name one of these documents, ordered; a name that very many use is left out."""
        used = (
            f"(SELECT count(*) FROM (SELECT 1 FROM mention o WHERE o.key = t.key LIMIT {MOST_LINKING + 1}))"
        )
        return self._links(f"t.source IN ({_list(sources)}) AND {used} <= {MOST_LINKING}")

    def _links(self, condition: str) -> list[Link]:
        sql = (
            "SELECT DISTINCT m.n, m.source, m.key, t.source, m.section"
            f" FROM mention m JOIN name t ON t.key = m.key WHERE {condition}"
            f" AND (t.source <> m.source OR m.section <> {ANYWHERE})"
            f" AND (SELECT count(*) FROM name o WHERE o.key = m.key) <= {MOST_ALIKE} ORDER BY 1, 2, 3, 4, 5"
        )
        return [Link(*row) for row in self._rows(sql)]


def _list(numbers: Iterable[int]) -> str:
    return ",".join(str(int(n)) for n in sorted(numbers)) or "NULL"
