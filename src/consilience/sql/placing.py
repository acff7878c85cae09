"""Where in a query stands the name that the engine did not find."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from consilience.errors import QueryError
from consilience.sql.parse import NOWHERE, Place, find_words, place_of

__all__ = ["placed"]

_OF_NAMES = re.compile(r"column|table|key|reference", re.IGNORECASE)
_NAME = re.compile(r'"((?:[^"]|"")+)"')


def placed(error: QueryError, text: str, statement: dict[str, Any]) -> QueryError:
    """The error with the place of the name it is about, which is looked for in the tree of the query `text`; the same
    where it is about no name. The engine's own place is one in the rewritten query."""
    import duckdb

    if not isinstance(error.__cause__, duckdb.BinderException):
        return error
    said = str(error.__cause__).partition("\n")[0]
    names = [name.replace('""', '"').lower() for name in _NAME.findall(said)]
    if not names or not _OF_NAMES.search(said):
        return error
    place = _of_node(text, statement, names) or _of_word(text, names[-1])
    return error if place is None else QueryError(f"{place}: {error.message}", hint=error.hint)


def _of_node(text: str, statement: dict[str, Any], names: list[str]) -> Place | None:
    """The first reference in the text that has all these names."""
    found = [
        (node["query_location"], node.get("query_location_length", 0))
        for node in _references(statement)
        if set(names) <= {str(name).lower() for name in node["column_names"]}
    ]
    if not found:
        return None
    return place_of(text, *min(found))


def _of_word(text: str, name: str) -> Place | None:
    """The first place of a name that is no reference of its own: in USING, EXCLUDE."""
    offset = find_words(text, (name,))
    return place_of(text, offset) if offset else None


def _references(node: object) -> Iterator[dict[str, Any]]:
    waiting = [node]
    while waiting:
        at = waiting.pop()
        if isinstance(at, dict):
            if at.get("class") == "COLUMN_REF" and int(at.get("query_location", NOWHERE)) < NOWHERE:
                yield at
            waiting.extend(at.values())
        elif isinstance(at, list):
            waiting.extend(at)
