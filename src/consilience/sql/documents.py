"""The JSON of an answer to SQL: fields in the order in which they are written. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from consilience.model import Skipped
from consilience.sql.names import TABLES, columns_of
from consilience.sql.result import ResultColumn, SqlExplanation, SqlResult

__all__ = ["explanation_to_json", "schema_to_json", "to_json"]


class _Document(msgspec.Struct, frozen=True, kw_only=True):
    """A JSON object: fields in the order of definition."""


class SimilarityDocument(_Document, frozen=True, kw_only=True):
    brain: str
    text: str
    model: str | None
    min: float | None
    unscored: tuple[str, ...]


class SqlDocument(_Document, frozen=True, kw_only=True):
    """`data` of `sql` and `compound sql`."""

    query: str
    signature: str
    brains: tuple[str, ...]
    include_superseded: bool
    columns: tuple[ResultColumn, ...]
    rows: tuple[tuple[Any, ...], ...]
    count: int
    limit: int
    truncated: bool
    exact: bool
    approximate: tuple[SimilarityDocument, ...]
    verified_against: dict[str, str]
    snapshots: dict[str, str]
    hidden: dict[str, int]
    not_installed: tuple[str, ...]
    verified: int | None
    skipped: tuple[Skipped, ...]


def to_json(result: SqlResult) -> SqlDocument:
    """The JSON object of a result, as it stands under `data` of the envelope."""
    return SqlDocument(
        query=result.query,
        signature=result.signature,
        brains=result.brains,
        include_superseded=result.include_superseded,
        columns=result.columns,
        rows=result.rows,
        count=result.count,
        limit=result.limit,
        truncated=result.truncated,
        exact=result.exact,
        approximate=tuple(
            SimilarityDocument(
                brain=each.brain, text=each.text, model=each.model, min=each.least, unscored=each.unscored
            )
            for each in result.approximate
        ),
        verified_against={root.key: root.root for root in result.verified_against},
        snapshots=dict(result.snapshots),
        hidden={count.key: count.count for count in result.hidden},
        not_installed=result.not_installed,
        verified=result.verified,
        skipped=result.skipped,
    )


def explanation_to_json(explanation: SqlExplanation) -> Any:
    """`data` of `sql --explain`."""
    return msgspec.to_builtins(explanation)


def schema_to_json(*, brain: bool) -> dict[str, list[dict[str, str]]]:
    """`data` of `sql --schema`: the columns of each table."""
    return {table: [column._asdict() for column in columns_of(table, brain=brain)] for table in TABLES}
