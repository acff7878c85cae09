"""Where things stand in a TOML file, and changes that leave every other byte as it was.

`tomllib` says what a file means and, for a syntax error, where it breaks. It does not say in which line a
key stands. Here a file is cut into statements (a table header, or one key with its value), each of which is
TOML by itself: no grammar of our own is needed (docs/decisions/0071-edit-toml-by-lines.md).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

KeyPath = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Statement:
    """Lines `first`..`last` (0-based, last exclusive). `path` is what they name as far as that is one path;
    `tree` is what they say, below `table`, the header in force. An empty `path` is a blank line or a
    comment."""

    first: int
    last: int
    table: KeyPath
    path: KeyPath
    tree: dict[str, Any]
    header: bool

    def holds(self, path: KeyPath) -> bool:
        """Whether the value at `path` is written here."""
        if self.header:
            return self.path[: len(path)] == path
        if not self.tree or path[: len(self.table)] != self.table:
            return False
        node: Any = self.tree
        for key in path[len(self.table) :]:
            if not isinstance(node, dict) or key not in node:
                return False
            node = node[key]
        return len(path) > len(self.table)


def split_lines(text: str) -> list[str]:
    """Lines with their ends kept; only a line feed ends a line, as in TOML."""
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def statements(text: str) -> Iterator[Statement]:
    """The statements of a file that `tomllib` has accepted, in order, covering every line."""
    lines = split_lines(text)
    table: KeyPath = ()
    first = 0
    while first < len(lines):
        last, tree = _one_statement(lines, first)
        header = lines[first].lstrip(" \t").startswith("[")
        path = _chain(tree)
        if header:
            table = path
        whole = path if header or not path else table + path
        yield Statement(first, last, table, whole, tree, header)
        first = last


def line_of(text: str, path: KeyPath) -> int | None:
    """The 1-based line in which `path`, or else the nearest table above it, is written."""
    found = list(statements(text))
    for length in range(len(path), 0, -1):
        for statement in found:
            if statement.holds(path[:length]):
                return statement.first + 1
    return None


def remove(text: str, path: KeyPath) -> str | None:
    """`text` without what is written at and below `path`; None if it shares a statement with something else.

    Comments inside the removed tables go with them. Those above its header stay, and so does what stands
    between its last value and the next header, from the first blank line on.
    """
    lines = split_lines(text)
    found = list(statements(text))
    depth = len(path)
    drop: set[int] = set()
    for at, statement in enumerate(found):
        if statement.path:
            gone = statement.path[:depth] == path
        else:
            gone = statement.table[:depth] == path and not _leading(found, lines, at, path)
        if gone:
            drop.add(at)
        elif statement.holds(path):
            return None
    kept = [s for at, s in enumerate(found) if at not in drop]
    return _squeeze("".join("".join(lines[s.first : s.last]) for s in kept), text)


def elements(text: str, path: KeyPath) -> list[list[int]]:
    """For each `[[path]]` table, in order, the numbers of the statements that are its own (see `statements`)."""
    found: list[list[int]] = []
    for at, statement in enumerate(statements(text)):
        if statement.header and statement.path == path:
            found.append([at])
        elif found and statement.table[: len(path)] == path:
            found[-1].append(at)
    return found


def line_of_element(text: str, path: KeyPath, number: int, key: str | None = None) -> int | None:
    """The 1-based line of a key in the `number`-th `[[path]]` table, or of its header; as `line_of` where the list is
    written in another way."""
    parts = elements(text, path)
    if not 0 <= number < len(parts):
        return line_of(text, path)
    listed = list(statements(text))
    own = [listed[at] for at in parts[number]]
    lines = [s.first + 1 for s in own if key is not None and s.holds((*path, key))]
    return lines[0] if lines else own[0].first + 1


def remove_element(text: str, path: KeyPath, number: int) -> str | None:
    """`text` without the `number`-th `[[path]]` table; None where it is written in another way.

    Comments inside of it go with it, those above it and those from the first blank line after its last value stay.
    """
    parts = elements(text, path)
    if not 0 <= number < len(parts):
        return None
    lines, listed = split_lines(text), list(statements(text))
    own = parts[number]
    last = max(at for at in own if listed[at].path)
    tail = [at for at in own if at > last]
    blank = next((at for at in tail if not lines[listed[at].first].strip()), None)
    if blank is None and own[-1] + 1 < len(listed):
        blank = last + 1  # the comment right above the next header belongs to that
    drop = {at for at in own if at <= last or blank is None or at < blank}
    kept = [s for at, s in enumerate(listed) if at not in drop]
    return _squeeze("".join("".join(lines[s.first : s.last]) for s in kept), text)


Writable = str | int | bool | tuple[str, ...]


def append_table(
    text: str, path: KeyPath, values: Sequence[tuple[str, Writable]], *, element: bool = False
) -> str:
    """`text` with one more table at its end (`element`: one of a list of tables), in the line ending that the file
    uses."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lead = text.rstrip(" \t\r\n")
    head = ".".join(bare_key(part) for part in path)
    rows = [
        f"[[{head}]]" if element else f"[{head}]",
        *(f"{bare_key(key)} = {literal(value)}" for key, value in values),
    ]
    before = text if not text or text.endswith("\n") else text + newline
    gap = newline if lead else ""
    return before + gap + newline.join(rows) + newline


def literal(value: Writable) -> str:
    """A TOML value. JSON's string escapes are a subset of TOML's basic string, but for DEL."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def bare_key(key: str) -> str:
    plain = key.isascii() and key.replace("-", "").replace("_", "").isalnum()
    return key if plain else literal(key)


def _one_statement(lines: list[str], first: int) -> tuple[int, dict[str, Any]]:
    """A prefix of a value that spans lines is never TOML by itself, so the first that parses is whole."""
    for last in range(first + 1, len(lines) + 1):
        try:
            return last, tomllib.loads("".join(lines[first:last]))
        except tomllib.TOMLDecodeError:
            continue
    return len(lines), {}


def _chain(tree: dict[str, Any]) -> KeyPath:
    """The one path down a tree, as long as there is only one."""
    path: list[str] = []
    node: Any = tree
    while isinstance(node, dict) and len(node) == 1:
        key, node = next(iter(node.items()))
        path.append(key)
        if isinstance(node, list) and len(node) == 1 and node[0] == {}:
            break
    return tuple(path)


def _leading(found: list[Statement], lines: list[str], at: int, path: KeyPath) -> bool:
    """Whether the comment or blank line `at`, below a table to remove, belongs to what follows that table.

    It does after the first blank line, or where no blank line parts it from a header outside `path`.
    """
    end = at
    while end < len(found) and not found[end].path:
        end += 1
    if end < len(found) and found[end].path[: len(path)] == path:
        return False
    start = at
    while start > 0 and not found[start - 1].path:
        start -= 1
    blank = next((n for n in range(start, end) if not lines[found[n].first].strip()), None)
    return at >= blank if blank is not None else end < len(found)


def _squeeze(text: str, before: str) -> str:
    """No blank lines at the end that were not there before."""
    newline = "\r\n" if "\r\n" in before else "\n"
    body = text.rstrip(" \t\r\n")
    return body + newline if body else ""
