"""The views that a query's tables stand for, in schemas that no query can name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from consilience.protocol import MemoryType
from consilience.sql.cache import Table
from consilience.sql.guard import Guarded
from consilience.sql.names import BLOCKS, MODULE_OF, columns_of
from consilience.sql.relations import ALL, TableRead, score_column, table_schema

if TYPE_CHECKING:
    from consilience.sql.about import Scores
    from consilience.sql.seal import Sealed

__all__ = ["make_views"]


class _Database(Protocol):
    """`views`: the SQL of the views that it has, by name."""

    @property
    def sealed(self) -> Sealed: ...

    @property
    def views(self) -> dict[str, str]: ...


class _Opened(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def tables(self) -> dict[MemoryType, Table]: ...


def make_views(
    database: _Database,
    opened: Mapping[str, _Opened],
    guarded: Guarded,
    *,
    visible: bool,
    scores: Scores | None,
) -> None:
    """A view for each table that the query reads, and one with the similarities for each that is compared. What the
    database has from another query is taken as it is if it is the same."""
    connection = database.sealed.connection
    wanted: list[tuple[TableRead, tuple[int, ...]]] = [(read, ()) for read in guarded.reads]
    wanted += [(scoring.read, scoring.texts) for scoring in guarded.scorings]
    for read, texts in wanted:
        schema = table_schema(read.brain, scored=bool(texts))
        names = list(opened) if read.brain == ALL else [read.brain]
        parts = [
            _of_brain(opened[name], read, texts, visible=visible, scores=scores, span=read.brain == ALL)
            for name in names
        ]
        name, sql = f"{_quoted(schema)}.{_quoted(read.table)}", " UNION ALL ".join(parts)
        if database.views.get(name) != sql:
            database.views.pop(name, None)
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {_quoted(schema)}")
            connection.execute(f"CREATE OR REPLACE VIEW {name} AS {sql}")
            database.views[name] = sql


def _of_brain(
    opened: _Opened,
    read: TableRead,
    texts: Sequence[int],
    *,
    visible: bool,
    scores: Scores | None,
    span: bool,
) -> str:
    """One brain's part of a table."""
    modules = tuple(MemoryType) if read.table == BLOCKS else (MODULE_OF[read.table],)
    columns = [column.name for column in columns_of(read.table) if column.name != "memory_type"]
    listed = ", ".join(
        "'{module}' AS memory_type" if column.name == "memory_type" else f't."{column.name}"'
        for column in columns_of(read.table)
    )
    if span:
        listed = f"{_literal(opened.name)} AS brain, {listed}"
    parts = []
    for module in modules:
        joins, more = "", ""
        for text in texts:
            table = scores.table(opened.name, module, text) if scores is not None else None
            name = score_column(text)
            if table is None:
                more += f', NULL::DOUBLE AS "{name}"'
            else:
                joins += f" LEFT JOIN {table} s{text} ON s{text}.n = t.n"
                more += f', s{text}.score AS "{name}"'
        shown = listed.replace("'{module}'", _literal(module.value))
        for source, where in opened.tables[module].parts(columns, visible=visible):
            parts.append(f"SELECT {shown}{more} FROM {source}{joins}{where}")
    return " UNION ALL ".join(parts)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
