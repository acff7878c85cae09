"""Blocks as rows: a JSON document a block from Python, its fields taken apart by the engine.

The payload goes in as the bytes that the block is; nothing is decoded and written again on the way, so that values
are what the block wrote. A block whose bytes are gone, or do not hash to its id, is a row of nulls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec

from consilience.model import Locator, Source
from consilience.protocol import MemoryType, format_digest, payload_json
from consilience.sql.names import COLUMNS
from consilience.store import StoredBlock, View
from consilience.store.reads import chunks
from consilience.store.values import Hidden

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["create_table", "insert", "rows_of"]

CHUNK = 4096


class _SourceRow(msgspec.Struct, frozen=True):
    block: str
    origin: str | None
    heading_path: tuple[str, ...]
    locator: str | None


class Row(msgspec.Struct, frozen=True):
    """One block. `p` is its payload, None where the bytes cannot be had."""

    n: int
    id: str
    v: int | None
    r: bool
    s: bool
    d: bool
    b: str | None
    p: msgspec.Raw | None
    o: tuple[_SourceRow, ...] | None


class _Version(msgspec.Struct):
    schema_version: int


_read_version = msgspec.json.Decoder(_Version).decode
_write = msgspec.json.Encoder().encode


def rows_of(view: View, module: MemoryType, blocks: Iterable[StoredBlock]) -> Iterator[tuple[list[Row], int]]:
    """Rows in chunks, each with how many of its blocks are damaged."""
    for chunk in chunks(blocks, CHUNK):
        ns = [block.n for block in chunk]
        hidden = view.hidden(ns)
        sources = view.sources(ns) if module is not MemoryType.PROVENANCE else None
        damaged = sum(1 for block in chunk if block.data is not None and not block.intact)
        rows = [
            _row(block, hidden.get(block.n), None if sources is None else sources.get(block.n, ()))
            for block in chunk
        ]
        yield rows, damaged


def _row(block: StoredBlock, hidden: Hidden | None, sources: Sequence[Source] | None) -> Row:
    payload, version = None, None
    if block.data is not None and block.intact:
        payload = msgspec.Raw(payload_json(block.data))
        version = _read_version(block.data).schema_version
    after = hidden.superseded_by if hidden is not None else None
    return Row(
        n=block.n,
        id=format_digest(block.id),
        v=version,
        r=payload is not None,
        s=hidden is not None and (after is not None or not hidden.demoted),
        d=hidden is not None and hidden.demoted,
        b=None if after is None else format_digest(after),
        p=payload,
        o=None if sources is None else tuple(map(_source, sources)),
    )


def _source(source: Source) -> _SourceRow:
    return _SourceRow(source.block_id, source.origin, _headings(source.locator or ""), source.locator)


@lru_cache(maxsize=4096)
def _headings_of(path: str) -> tuple[str, ...]:
    return Locator.parse(path).headings


def _headings(locator: str) -> tuple[str, ...]:
    """The heading path of a locator. Its end, which many share, is read once."""
    lines, mark, path = locator.partition(" # ")
    if mark and Locator.parse(lines).text() == lines:
        return _headings_of(f"# {path}")
    return Locator.parse(locator).headings


# --- in the engine ----------------------------------------------------------------------------------------------

_ROW = {
    "n": "BIGINT", "id": "VARCHAR", "v": "INTEGER", "r": "BOOLEAN", "s": "BOOLEAN", "d": "BOOLEAN", "b": "VARCHAR",
}  # fmt: skip
_CONTENT = {"blob": "VARCHAR", "media_type": "VARCHAR", "size": "BIGINT"}
_SOURCES = [{"block": "VARCHAR", "origin": "VARCHAR", "heading_path": ["VARCHAR"], "locator": "VARCHAR"}]
_TEXTS = ["VARCHAR"]

_PAYLOADS: Final[dict[MemoryType, object]] = {
    MemoryType.CANONICAL: {**_CONTENT, "normalized_view": _CONTENT},
    MemoryType.SEMANTIC: {
        "kind": "VARCHAR", "label": "VARCHAR", "statement": "VARCHAR", "subject": "VARCHAR", "evidence": _TEXTS,
        "relations": [{"predicate": "VARCHAR", "target": "VARCHAR"}], "aliases": _TEXTS, "content": _CONTENT,
        "scheme": "VARCHAR", "exclusive": "BOOLEAN",
    },
    MemoryType.EPISODIC: {
        "summary": "VARCHAR", "occurred_at": "VARCHAR", "ended_at": "VARCHAR", "context": "VARCHAR",
        "participants": _TEXTS, "outcome": "VARCHAR", "evidence": _TEXTS, "tags": _TEXTS, "content": _CONTENT,
    },
    MemoryType.PROCEDURAL: {
        "label": "VARCHAR", "goal": "VARCHAR",
        "steps": [{"action": "VARCHAR", "condition": "VARCHAR", "alternatives": _TEXTS, "uses": _TEXTS}],
        "preconditions": _TEXTS, "success_criteria": _TEXTS, "subject": "VARCHAR", "evidence": _TEXTS,
        "content": _CONTENT,
    },
    MemoryType.PROVENANCE: {
        "record": {
            "record_type": "VARCHAR", "at": "VARCHAR", "actor": {"id": "VARCHAR", "kind": "VARCHAR", "name": "VARCHAR"},
            "block": "VARCHAR", "blocks": _TEXTS, "derived_from": _TEXTS, "locator": "VARCHAR", "origin": "VARCHAR",
            "license": "VARCHAR", "retention_policy": "VARCHAR",
            "producer": {"kind": "VARCHAR", "id": "VARCHAR", "version": "VARCHAR"}, "task": "VARCHAR",
            "pipeline": "VARCHAR", "pipeline_version": "VARCHAR", "supersedes": "VARCHAR", "verdict": "VARCHAR",
            "checks": _TEXTS, "mechanism": "VARCHAR", "memory_type": "VARCHAR", "reason": "VARCHAR",
            "policy": "VARCHAR", "cascaded_from": "VARCHAR", "resulting_roots": "MAP(VARCHAR, VARCHAR)",
            "assisted_by": [{"id": "VARCHAR", "kind": "VARCHAR", "name": "VARCHAR", "model": "VARCHAR"}],
        }
    },
}  # fmt: skip
"""The members of payloads, as `json_transform` wants them told."""


def create_table(connection: DuckDBPyConnection, name: str, module: MemoryType) -> None:
    """An empty table of a module's rows. `name` is SQL."""
    columns = ", ".join(f'"{column.name}" {column.type}' for column in COLUMNS[module])
    connection.execute(
        f"CREATE TABLE {name} (n BIGINT NOT NULL, id VARCHAR NOT NULL, schema_version INTEGER, resolvable BOOLEAN,"
        f" superseded BOOLEAN NOT NULL, demoted BOOLEAN NOT NULL, superseded_by VARCHAR, {columns})"
    )


def insert(connection: DuckDBPyConnection, name: str, module: MemoryType, rows: Sequence[Row]) -> None:
    """Add rows to a table that `create_table` made."""
    if rows:
        connection.execute(_insert_sql(name, module), [[_write(row).decode() for row in rows]])


@lru_cache(maxsize=64)
def _insert_sql(name: str, module: MemoryType) -> str:
    shape = {**_ROW, "p": _PAYLOADS[module], "o": _SOURCES}
    own = ", ".join(_expression(module, column.name, column.type) for column in COLUMNS[module])
    structure = msgspec.json.encode(shape).decode().replace("'", "''")
    return (
        f"INSERT INTO {name} SELECT j.n, j.id, j.v, j.r, j.s, j.d, j.b, {own}"
        f" FROM (SELECT json_transform(unnest(?::VARCHAR[]), '{structure}') AS j)"
    )


def _expression(module: MemoryType, column: str, type_: str) -> str:
    if column == "sources":
        return "j.o"
    payload = "j.p.record" if module is MemoryType.PROVENANCE else "j.p"
    field = {"removed_from": "memory_type"}.get(column, column)
    value = f'{payload}."{field}"'
    return f"TRY_CAST({value} AS TIMESTAMP)" if type_ == "TIMESTAMP" else value
