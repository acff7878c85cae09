"""What a query reads: tables of members, registered files, texts that rows are compared with."""

from __future__ import annotations

from typing import Final

from consilience.model import Value

__all__ = ["ALL", "FileRead", "Members", "Scoring", "TableRead", "file_schema", "is_internal", "score_column",
           "table_schema"]  # fmt: skip

ALL: Final = ""
"""Stands for every member, where a bare table of a compound is meant: no brain has this name."""

_PREFIXES: Final = ("brain:", "scored:", "files:")


class Members(Value, frozen=True, kw_only=True):
    """The brains that a query may name. `names`: those it reads, in order; `declared`: all of the project."""

    names: tuple[str, ...]
    declared: tuple[str, ...] = ()
    compound: bool = False


class TableRead(Value, frozen=True, kw_only=True):
    """A table as a query reads it. `brain` is ALL for a bare one of a compound."""

    brain: str
    table: str


class FileRead(Value, frozen=True, kw_only=True):
    """A registered file read as a table, of one brain, or of whichever member has it (ALL)."""

    brain: str
    name: str


class Scoring(Value, frozen=True, kw_only=True):
    """A table whose rows are compared with texts; `texts` are numbers of texts, from 0."""

    read: TableRead
    texts: tuple[int, ...]


def table_schema(brain: str, *, scored: bool) -> str:
    """The schema in which the engine keeps the views of a brain, or of all (ALL). No query can name it."""
    return f"{'scored' if scored else 'brain'}:{brain}"


def file_schema(brain: str) -> str:
    return f"files:{brain}"


def is_internal(schema: str) -> bool:
    return schema.startswith(_PREFIXES)


def score_column(text: int) -> str:
    """The hidden column that holds the similarity with text number `text`."""
    return f"similarity:{text}"
