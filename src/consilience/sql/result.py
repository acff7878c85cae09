"""What a query answers: typed columns and rows, and everything they rest on."""

from __future__ import annotations

from typing import Any

import msgspec

from consilience.errors import ConsilienceError, IntegrityError
from consilience.model import Failure, Skipped, Value
from consilience.protocol import sha256

__all__ = [
    "Count",
    "ResultColumn",
    "Root",
    "Similarity",
    "SqlExplanation",
    "SqlResult",
    "TableReport",
    "signature",
]


class ResultColumn(Value, frozen=True, kw_only=True):
    """A column: its name, and its type as the engine writes it."""

    name: str
    type: str


class Root(Value, frozen=True, kw_only=True):
    """The root of one module of one brain, which the query read."""

    brain: str
    module: str
    root: str

    @property
    def key(self) -> str:
        return f"{self.brain}.{self.module}"


class Count(Value, frozen=True, kw_only=True):
    """How many rows of one module of one brain."""

    brain: str
    module: str
    count: int

    @property
    def key(self) -> str:
        return f"{self.brain}.{self.module}"


class Similarity(Value, frozen=True, kw_only=True):
    """One text that the rows of one brain were compared with. `model` made the vectors, None where there are none;
    `least` is the threshold of `about`; `unscored` are modules whose rows have no vector."""

    brain: str
    text: str
    model: str | None
    least: float | None
    unscored: tuple[str, ...] = ()


class SqlResult(Value, frozen=True, kw_only=True):
    """The answer of one query.

    A cell is None, a bool, an int within 2^53, a finite float, a text, or a list or object of those (see
    `sql.values`). `query` is the canonical text. `truncated`: there are more rows than `limit`. `exact` is False where
    vectors took part, `approximate` says which. `not_installed`: modules that a brain does not hold, `brain.module`.
    `verified`: how many ids of the rows were proven into their roots, None where nobody asked.
    """

    query: str
    signature: str
    brains: tuple[str, ...]
    include_superseded: bool
    limit: int
    columns: tuple[ResultColumn, ...]
    rows: tuple[tuple[Any, ...], ...]
    truncated: bool
    exact: bool
    approximate: tuple[Similarity, ...]
    verified_against: tuple[Root, ...]
    snapshots: tuple[tuple[str, str], ...]
    hidden: tuple[Count, ...]
    not_installed: tuple[str, ...]
    skipped: tuple[Skipped, ...] = ()
    failures: tuple[Failure, ...] = ()
    warnings: tuple[str, ...] = ()
    verified: int | None = None
    unverified: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        return len(self.rows)

    @property
    def error(self) -> ConsilienceError | None:
        """What is to be reported beside the rows: ids that are in no root, else the gravest failure of a brain."""
        if self.unverified:
            some = ", ".join(self.unverified[:3]) + (", ..." if len(self.unverified) > 3 else "")
            return IntegrityError(
                f"{len(self.unverified)} ids of the rows are in no root: {some}",
                hint="`verify` says what is damaged; an id that the query made up is in no brain",
            )
        if not self.failures:
            return None
        worst = min(self.failures, key=lambda each: (not isinstance(each.error, IntegrityError), each.brain))
        return type(worst.error)(f"{worst.brain}: {worst.error.message}", hint=worst.error.hint)

    def arrow(self) -> Any:
        """The rows as a pyarrow Table. MissingExtraError where pyarrow is not installed."""
        from consilience.sql.export import arrow

        return arrow(self)

    def df(self) -> Any:
        """The rows as a pandas DataFrame. MissingExtraError where pandas is not installed."""
        from consilience.sql.export import data_frame

        return data_frame(self)


class TableReport(Value, frozen=True, kw_only=True):
    """One table that a query reads: its rows, how many are hidden, and what it is made of."""

    brain: str
    module: str
    rows: int
    hidden: int
    made_of: str


class SqlExplanation(Value, frozen=True, kw_only=True):
    """How a query would be answered: the canonical text, the tables read, and the engine's plan, line by line."""

    query: str
    tables: tuple[TableReport, ...]
    texts: tuple[str, ...]
    plan: tuple[str, ...]


def signature(query: str, brains: tuple[str, ...], *, include_superseded: bool, limit: int) -> str:
    """What was asked, as one hash: the same over the same roots gives the same rows."""
    asked = msgspec.json.encode([query, list(brains), include_superseded, limit])
    return f"sha256:{sha256(asked).hex()}"
