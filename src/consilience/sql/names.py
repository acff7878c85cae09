"""The tables of a query: names and columns. Data only; opens nothing."""

from __future__ import annotations

from typing import Final, NamedTuple

from consilience.protocol import MemoryType

__all__ = ["BLOCKS", "COLUMNS", "DATA", "MODULE_OF", "PROJECTION", "SHARED", "TABLES", "Column", "columns_of"]

PROJECTION: Final = 1
"""Raised whenever the same block makes another row, so that older caches are not used."""

DATA: Final = "data"
"""The schema of registered files: `data."file.csv"`."""

BLOCKS: Final = "blocks"
"""The table of every module's members, with the columns that all have."""


class Column(NamedTuple):
    """A column: its name, its type as the engine writes it, and what it holds."""

    name: str
    type: str
    about: str


_CONTENT = "STRUCT(blob VARCHAR, media_type VARCHAR, size BIGINT)"
_SOURCES = "STRUCT(block VARCHAR, origin VARCHAR, heading_path VARCHAR[], locator VARCHAR)[]"

SHARED: Final = (
    Column("id", "VARCHAR", "sha256: and 64 hex digits"),
    Column("memory_type", "VARCHAR", "the module"),
    Column("schema_version", "INTEGER", "of the block; null where its bytes are gone"),
    Column("resolvable", "BOOLEAN", "whether the bytes can be read here"),
    Column("superseded", "BOOLEAN", "whether another block took its place"),
    Column("demoted", "BOOLEAN", "whether it was demoted"),
    Column("superseded_by", "VARCHAR", "the block that took its place, chains followed to their end"),
)
"""Columns of every table, in front of its own."""

_SOURCED = Column("sources", _SOURCES, "where it comes from, as provenance says")

COLUMNS: Final = {
    MemoryType.CANONICAL: (
        Column("blob", "VARCHAR", "digest of the original bytes"),
        Column("media_type", "VARCHAR", "of the original"),
        Column("size", "BIGINT", "of the original, bytes"),
        Column("normalized_view", _CONTENT, "the text view, where a pipeline made one"),
        _SOURCED,
    ),
    MemoryType.SEMANTIC: (
        Column("kind", "VARCHAR", "concept, fact, formula, relation, constraint, scheme, class"),
        Column("label", "VARCHAR", "what it is called"),
        Column("statement", "VARCHAR", "what it says"),
        Column("subject", "VARCHAR", "what it is about"),
        Column("evidence", "VARCHAR[]", "blocks it rests on"),
        Column("relations", "STRUCT(predicate VARCHAR, target VARCHAR)[]", "edges to other blocks"),
        Column("aliases", "VARCHAR[]", "other names"),
        Column("content", _CONTENT, "bytes that the block names"),
        Column("scheme", "VARCHAR", "of a catalog entry"),
        Column("exclusive", "BOOLEAN", "of a scheme"),
        _SOURCED,
    ),
    MemoryType.EPISODIC: (
        Column("summary", "VARCHAR", "what happened"),
        Column("occurred_at", "TIMESTAMP", 'when, UTC; in a query: "at"'),
        Column("ended_at", "TIMESTAMP", 'until when, UTC; in a query: "at"'),
        Column("context", "VARCHAR", "in what circumstances"),
        Column("participants", "VARCHAR[]", "who took part"),
        Column("outcome", "VARCHAR", "what came of it"),
        Column("evidence", "VARCHAR[]", "blocks it rests on"),
        Column("tags", "VARCHAR[]", "tags"),
        Column("content", _CONTENT, "bytes that the block names"),
        _SOURCED,
    ),
    MemoryType.PROCEDURAL: (
        Column("label", "VARCHAR", "what it is called"),
        Column("goal", "VARCHAR", "what it is for"),
        Column(
            "steps",
            """STRUCT("action" VARCHAR, condition VARCHAR, alternatives VARCHAR[], uses VARCHAR[])[]""",
            "the steps, in order",
        ),
        Column("preconditions", "VARCHAR[]", "what must hold before"),
        Column("success_criteria", "VARCHAR[]", "what holds after"),
        Column("subject", "VARCHAR", "what it is about"),
        Column("evidence", "VARCHAR[]", "blocks it rests on"),
        Column("content", _CONTENT, "bytes that the block names"),
        _SOURCED,
    ),
    MemoryType.PROVENANCE: (
        Column("record_type", "VARCHAR", "registration, derivation, supersession, ..."),
        Column("at", "TIMESTAMP", 'when, UTC; in a query "at", with quotes'),
        Column("actor", "STRUCT(id VARCHAR, kind VARCHAR, name VARCHAR)", "who"),
        Column("block", "VARCHAR", "the block that it is about"),
        Column("blocks", "VARCHAR[]", "of a removal: the blocks that left"),
        Column("derived_from", "VARCHAR[]", "of a derivation: what the block was made from"),
        Column("locator", "VARCHAR", "of a derivation: where in it"),
        Column("origin", "VARCHAR", "of a registration: the file or address"),
        Column("license", "VARCHAR", "of a registration"),
        Column("retention_policy", "VARCHAR", "of a registration"),
        Column("producer", "STRUCT(kind VARCHAR, id VARCHAR, version VARCHAR)", "of a derivation"),
        Column("task", "VARCHAR", "of a derivation or validation"),
        Column("pipeline", "VARCHAR", "of a normalization"),
        Column("pipeline_version", "VARCHAR", "of a normalization"),
        Column("supersedes", "VARCHAR", "of a supersession: the block that was replaced"),
        Column("verdict", "VARCHAR", "of a validation"),
        Column("checks", "VARCHAR[]", "of a validation"),
        Column("mechanism", "VARCHAR", "of a removal: drop, supersede, demote, prune, tombstone, ..."),
        Column("removed_from", "VARCHAR", "of a removal: the module"),
        Column("reason", "VARCHAR", "why"),
        Column("policy", "VARCHAR", "by which policy"),
        Column("cascaded_from", "VARCHAR", "of a removal: the block that took it along"),
        Column("resulting_roots", "MAP(VARCHAR, VARCHAR)", "of a removal: the roots after it"),
        Column(
            "assisted_by",
            "STRUCT(id VARCHAR, kind VARCHAR, name VARCHAR, model VARCHAR)[]",
            "who took part without being the actor",
        ),
    ),
}
"""Each module's own columns, after the shared ones. A field that a block does not have is null."""

MODULE_OF: Final = {module.value: module for module in MemoryType}
TABLES: Final = (*MODULE_OF, BLOCKS)

BRAIN: Final = Column("brain", "VARCHAR", "the brain; only where a bare table spans several")


def columns_of(table: str, *, brain: bool = False) -> tuple[Column, ...]:
    """The columns of a table, in order; with `brain`, as a bare table of a compound has them."""
    own = COLUMNS[MODULE_OF[table]] if table in MODULE_OF else ()
    return ((BRAIN,) if brain else ()) + SHARED + own
