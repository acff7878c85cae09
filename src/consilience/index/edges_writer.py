"""The relations between blocks as their one writer sees them."""

from __future__ import annotations

from consilience.index.database import DatabaseWriter
from consilience.index.edges_file import SCHEMA, Laid, packed

CLEARED = ("document", "place", "name", "mention")


class EdgeWriter(DatabaseWriter):
    """Lays documents down and commits them. One at a time (a lock file); a context manager."""

    schema = SCHEMA

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
