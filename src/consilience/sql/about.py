"""Similarities of a query, computed before it runs: each row by the vectors and the model of its own brain (C26)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from consilience.model import SEARCHED_BY_DEFAULT, Value
from consilience.plan.reader import Reader
from consilience.protocol import MemoryType
from consilience.sql.guard import Guarded
from consilience.sql.names import BLOCKS, MODULE_OF
from consilience.sql.relations import ALL
from consilience.sql.result import Similarity

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["Scores", "forget", "score"]

_SCHEMA = "memory.scores"


class _Opened(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def reader(self) -> Reader | None: ...


class Scores(Value, frozen=True, kw_only=True):
    """Tables of similarities by brain and number of text; `told` is what the result says of them."""

    tables: dict[tuple[str, int], str]
    told: tuple[Similarity, ...]

    def table(self, brain: str, module: MemoryType, text: int) -> str | None:
        """The SQL name of the table that holds a module's similarities, None where it has none."""
        return self.tables.get((brain, text)) if module in SEARCHED_BY_DEFAULT else None


def score(
    connection: DuckDBPyConnection,
    opened: Mapping[str, _Opened],
    guarded: Guarded,
    warn: Callable[[str, str], None],
) -> Scores:
    """Compare every row of the brains that the query compares with its texts. Each text is embedded once a brain."""
    asked: dict[str, dict[int, set[str]]] = {}
    for scoring in guarded.scorings:
        modules = (
            {module.value for module in MemoryType}
            if scoring.read.table == BLOCKS
            else {MODULE_OF[scoring.read.table].value}
        )
        for name in opened if scoring.read.brain == ALL else (scoring.read.brain,):
            for text in scoring.texts:
                asked.setdefault(name, {}).setdefault(text, set()).update(modules)
    forget(connection)
    connection.execute(f"CREATE SCHEMA {_SCHEMA}")
    tables: dict[tuple[str, int], str] = {}
    told = []
    for number, (name, texts) in enumerate(asked.items()):
        reader = opened[name].reader
        assert reader is not None
        for text, modules in sorted(texts.items()):
            model = _score_one(connection, reader, guarded.texts[text], f"{_SCHEMA}.b{number}_{text}")
            if model is not None:
                tables[name, text] = f"{_SCHEMA}.b{number}_{text}"
            scored = set() if model is None else {module.value for module in SEARCHED_BY_DEFAULT}
            told.append(
                Similarity(
                    brain=name,
                    text=guarded.texts[text],
                    model=model,
                    least=guarded.thresholds[text],
                    unscored=tuple(module.value for module in MemoryType if module.value in modules - scored),
                )
            )
        if all((name, text) not in tables for text in texts):
            why = reader.embedder_note or "it has no vectors: run `index`"
            warn(name, f"no row is compared with the text: {why}")
        elif _late(reader):
            warn(name, "the newest blocks have no vector yet and are compared with nothing: run `index`")
    return Scores(tables=tables, told=tuple(told))


def forget(connection: DuckDBPyConnection) -> None:
    """Remove the similarities of a query."""
    connection.execute(f"DROP SCHEMA IF EXISTS {_SCHEMA} CASCADE")


def _score_one(connection: DuckDBPyConnection, reader: Reader, text: str, table: str) -> str | None:
    """Fill a table with the similarities of one brain's vectors; the model's tag, None where there are no vectors."""
    if reader.vectors is None or reader.embedder is None:
        return None
    vector = reader.embedder().embed([text], role="query")[0]
    ns, scores = reader.vectors.scan(vector)
    connection.register("scored_rows", {"n": ns, "score": scores})
    try:
        connection.execute(f"CREATE TABLE {table} AS SELECT n, score FROM scored_rows WHERE NOT isnan(score)")
    finally:
        connection.unregister("scored_rows")
    return reader.vectors.tag


def _late(reader: Reader) -> bool:
    """Whether a readable block that can have a vector is newer than the vectors."""
    if reader.vectors is None:
        return False
    late = reader.view.scan(SEARCHED_BY_DEFAULT, after=reader.vectors.watermark)
    return any(block.data is not None for block in late)
