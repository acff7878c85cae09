"""SQL text to a tree and back, by the engine's own parser. Parsing runs nothing.

The tree is what `json_serialize_sql` gives: JSON objects with `type` (and, for expressions, `class`).
Only SELECT statements have one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from consilience.errors import QueryError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["LONGEST", "Node", "Place", "find_words", "parse", "place_of", "too_deep", "unparse"]

Node = dict[str, Any]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_QUOTED = re.compile(r"'(?:[^']|'')*'|--[^\n]*|/\*.*?\*/", re.DOTALL)
_STATEMENTS = _words("""
    ALTER ANALYZE ATTACH BEGIN CALL CHECKPOINT COMMENT COMMIT COPY CREATE DEALLOCATE DELETE DETACH DROP EXECUTE
    EXPLAIN EXPORT FORCE IMPORT INSERT INSTALL LOAD MERGE PIVOT PIVOT_WIDER PRAGMA PREPARE RESET ROLLBACK SET START
    TRUNCATE UNPIVOT UPDATE USE VACUUM ABORT END GRANT REVOKE SHUTDOWN UNLOAD
    """)

LONGEST = 100_000
"""Characters of a query."""

NOWHERE = 2**64 - 1
"""What the parser gives as location of a node that it made up."""


class Place(msgspec.Struct, frozen=True):
    """Where in a query: line and column from 1, and the words that stand there."""

    line: int
    column: int
    words: str

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


def place_of(text: str, offset: int, length: int = 0) -> Place:
    """The place of a byte offset into the UTF-8 of `text`."""
    data = text.encode()
    before = data[:offset].decode(errors="replace")
    words = " ".join(data[offset : offset + length].decode(errors="replace").split())
    line = before.count("\n") + 1
    column = len(before) - (before.rfind("\n") + 1) + 1
    return Place(line, column, words if len(words) <= 60 else words[:59] + "…")


def parse(connection: DuckDBPyConnection, text: str) -> Node:
    """The tree of the one SELECT statement in `text`. QueryError, with the position, for anything else."""
    if len(text) > LONGEST:
        raise QueryError(f"the query has {len(text):,} characters; {LONGEST:,} is the most")
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise QueryError("the query holds a character that is not text (NUL, or half of a pair)")
    if not text.strip():
        raise QueryError("the query is empty", hint="csl sql 'SELECT count(*) FROM semantic'")
    answer = _call(connection, "json_serialize_sql(?)", text)
    if answer.get("error"):
        raise _not_parsed(text, answer)
    statements = answer.get("statements") or []
    if not statements:
        raise QueryError("there is no statement in the query", hint="csl sql 'SELECT count(*) FROM semantic'")
    if len(statements) > 1:
        place = place_of(text, find_words(text, (";",)))
        message = f"{place}: {len(statements)} statements where one SELECT belongs"
        raise QueryError(message, hint="ask them one by one")
    statement: Node = statements[0]
    if statement.get("named_param_map"):
        place = place_of(text, find_words(text, ("?", "$")))
        raise QueryError(f"{place}: a query has no parameters: ?, $1, $name", hint="write the value itself")
    return statement


def unparse(connection: DuckDBPyConnection, statement: Node) -> str:
    """The text of a tree. QueryError where it is nested too deeply to be written."""
    import duckdb

    tree = {"error": False, "statements": [statement]}
    try:
        row = connection.execute(
            "SELECT json_deserialize_sql(?::JSON)", [msgspec.json.encode(tree).decode()]
        ).fetchone()
    except duckdb.Error as error:
        if "nesting depth" in str(error):
            raise too_deep() from None
        raise QueryError(f"the query cannot be read: {_first_line(error)}") from None
    return str(row[0]) if row else ""


def too_deep() -> QueryError:
    return QueryError("the query is nested too deeply", hint="break it up with WITH")


def _call(connection: DuckDBPyConnection, call: str, text: str) -> Node:
    import duckdb

    try:
        row = connection.execute(f"SELECT {call}", [text]).fetchone()
    except duckdb.Error as error:
        raise QueryError(f"the query cannot be read: {_first_line(error)}") from None
    try:
        answer: Node = msgspec.json.decode(row[0]) if row else {}
    except RecursionError:
        raise too_deep() from None
    return answer


def _not_parsed(text: str, answer: Node) -> QueryError:
    message = str(answer.get("error_message") or "it cannot be read").partition("\n")[0]
    if "Only SELECT" in message:
        word = _statement_word(text)
        place = place_of(text, find_words(text, (word,)))
        return QueryError(
            f"{place}: only one SELECT is answered, and this is {word}",
            hint="a brain is read only; WITH, joins, UNION and windows are fine",
        )
    if "expression depth" in message:
        return too_deep()
    position = answer.get("position")
    offset = (
        int(position) if isinstance(position, str) and position.isdigit() else find_words(text, ("?", "$"))
    )
    hint = None
    if re.search(r"(?<![\w.\"])at(?![\w\"]|\s+time\b)", blanked(text), re.IGNORECASE):
        hint = 'the column at is called "at", in quotes: it is a word of SQL'
    return QueryError(f"{place_of(text, offset)}: {message}", hint=hint)


def _statement_word(text: str) -> str:
    """The word that makes a statement something else than a SELECT."""
    words = re.findall(r"[A-Za-z_]+", blanked(text))
    return next((word.upper() for word in words if word.upper() in _STATEMENTS), "another statement")


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]


def blanked(text: str) -> str:
    """`text` with spaces for everything inside quotes and comments."""
    return _QUOTED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def find_words(text: str, words: Iterable[str]) -> int:
    """The byte offset at which the first of `words` stands, outside of texts and comments; 0 for none."""
    blank = blanked(text)
    for word in words:
        pattern = re.escape(word)
        if word[:1].isalnum() and word[-1:].isalnum():
            pattern = rf"(?<!\w){pattern}(?!\w)"
        found = re.search(pattern, blank, re.IGNORECASE)
        if found:
            return len(text[: found.start()].encode())
    return 0


def unwrap_values(node: object) -> None:
    """Undo what the printer adds around VALUES: a SELECT * that is named `valueslist`."""
    if isinstance(node, list):
        for each in node:
            unwrap_values(each)
        return
    if not isinstance(node, dict):
        return
    for each in node.values():
        unwrap_values(each)
    if node.get("type") == "SUBQUERY" and node.get("alias") == "valueslist" and "subquery_type" not in node:
        inner = node["subquery"]["node"].get("from_table") or {}
        if inner.get("type") == "EXPRESSION_LIST":
            node.clear()
            node.update(inner)
