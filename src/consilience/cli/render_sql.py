"""Rows, tables and plans as people read them. Lines out, nothing printed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from consilience.cli.terminal import Terminal, clean, columns, fit, pad, wrap
from consilience.sql.names import DATA, TABLES, columns_of
from consilience.sql.result import SqlExplanation, SqlResult

ROOT_DIGITS = 8
LEAST_CELL = 8
NUMBERS = re.compile(r"(?:U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DOUBLE|FLOAT|DECIMAL.*|UINTEGER|BIGNUM)$")
_DIGEST = re.compile(r"sha256:([0-9a-f]{12})[0-9a-f]{52}")
NULL = "·"


def table(result: SqlResult, terminal: Terminal) -> Iterator[str]:
    """The rows as a table, or one under the other where they are too wide; then what they rest on."""
    cells = [[_cell(value) for value in row] for row in result.rows]
    names = [clean(column.name) for column in result.columns]
    least = sum(min(_widest(names, cells, at), LEAST_CELL) for at in range(len(names))) + 2 * (len(names) - 1)
    if least > terminal.width:
        yield from _records(names, cells, terminal)
    else:
        right = {at for at, column in enumerate(result.columns) if NUMBERS.match(column.type)}
        yield from _table(names, cells, right, terminal)
    if cells or least <= terminal.width:
        yield ""
    yield from summary(result, terminal)


def written(result: SqlResult, path: str, terminal: Terminal) -> Iterator[str]:
    """That the rows are in a file, and what they rest on."""
    yield f"wrote {_rows(result)} to {clean(path)}"
    yield from summary(result, terminal)


def summary(result: SqlResult, terminal: Terminal) -> Iterator[str]:
    """How many rows, how exact, what was left out, and against which roots."""
    said = [_rows(result) + (f"; there are more (--limit {result.limit})" if result.truncated else "")]
    if result.verified is not None:
        said.append(f"{result.verified:,} ids proven")
    hidden = [f"{count.count:,} of {count.key}" for count in result.hidden if count.count]
    if hidden:
        said.append(f"hidden: {', '.join(hidden)} (--include-superseded)")
    yield from _hanging("; ".join(said), terminal)
    alike: dict[str, list[str]] = {}
    for each in result.approximate:
        at = "" if each.least is None else f" from {each.least:g}"
        left = f"; without vectors: {', '.join(each.unscored)}" if each.unscored else ""
        model = clean(each.model or "no model")
        alike.setdefault(f"compared with {clean(each.text)!r}{at} by {model}{left}", []).append(each.brain)
    for how, brains in alike.items():
        yield from _hanging(f"not exact: {', '.join(brains)} {how}", terminal, "yellow")
    if result.not_installed:
        yield from _hanging(
            f"not here, and counted as empty: {', '.join(result.not_installed)}", terminal, "yellow"
        )
    for skipped in result.skipped:
        yield from _hanging(f"{clean(skipped.brain)}: skipped, {clean(skipped.reason)}", terminal, "yellow")
    roots = ", ".join(f"{root.key} {root.root[: 7 + ROOT_DIGITS]}…" for root in result.verified_against)
    if roots:
        yield from _hanging(f"read under {roots}", terminal, "dim", indent="  ")


def schema(terminal: Terminal, *, brain: bool) -> Iterator[str]:
    """The tables and their columns, one line each."""
    for name in TABLES:
        yield terminal.style(name, "bold")
        listed = columns_of(name, brain=brain)
        width = max(len(column.name) for column in listed)
        for column in listed:
            yield from _column(column.name.ljust(width), column.type, column.about, terminal)
        yield ""
    yield from _hanging(
        f'{DATA}."FILE" reads a registered CSV, TSV, JSONL or Parquet file by its name.', terminal
    )
    if brain:
        yield from _hanging("BRAIN.TABLE reads one brain, and has no column `brain`.", terminal)
    yield from _hanging(
        "about(id, 'text', 0.85) and similarity(id, 'text') compare rows with a text.", terminal
    )


def _column(name: str, type_: str, about: str, terminal: Terminal) -> Iterator[str]:
    line = f"  {name}  {type_:<9}"
    room = terminal.width - columns(line) - 2
    yield line + (f"  {terminal.style(fit(about, room), 'dim')}" if room >= LEAST_CELL else "")


def plan(explanation: SqlExplanation, terminal: Terminal) -> Iterator[str]:
    """What a query reads, and how the engine goes about it."""
    yield from _hanging(clean(explanation.query), terminal, "bold")
    yield ""
    for each in explanation.tables:
        hidden = f", {each.hidden:,} hidden" if each.hidden else ""
        yield f"{each.brain}.{each.module}: {each.rows:,} rows{hidden}, from {each.made_of}"
    for text in explanation.texts:
        yield from _hanging(f"compared with {clean(text)!r}", terminal)
    yield ""
    yield from (fit(clean(line), terminal.width) for line in explanation.plan)


# --- cells ------------------------------------------------------------------------------------------------------


def _cell(value: Any) -> str:
    if value is None:
        return NULL
    if isinstance(value, str):
        return _DIGEST.sub(r"sha256:\1…", clean(value))
    if isinstance(value, float | int):
        return msgspec.json.encode(value).decode()
    return _DIGEST.sub(r"sha256:\1…", clean(msgspec.json.encode(value).decode()))


def _widest(names: Sequence[str], cells: Sequence[Sequence[str]], at: int) -> int:
    return max(columns(names[at]), *(columns(row[at]) for row in cells)) if cells else columns(names[at])


def _table(
    names: Sequence[str], cells: Sequence[Sequence[str]], right: set[int], terminal: Terminal
) -> Iterator[str]:
    widths = _widths([_widest(names, cells, at) for at in range(len(names))], terminal.width)

    def line(row: Sequence[str]) -> str:
        padded = (pad(fit(cell, widths[at]), widths[at], right=at in right) for at, cell in enumerate(row))
        return "  ".join(padded).rstrip()

    yield terminal.style(line(names), "bold")
    yield terminal.style("  ".join("─" * width for width in widths), "dim")
    yield from map(line, cells)


def _widths(wanted: list[int], width: int) -> list[int]:
    """Column widths that fit: the widest give way first, all to the same."""
    room = width - 2 * (len(wanted) - 1)
    if sum(wanted) <= room:
        return wanted
    widths = [0] * len(wanted)
    left, columns_left = room, len(wanted)
    for at in sorted(range(len(wanted)), key=lambda at: wanted[at]):
        widths[at] = min(wanted[at], max(1, left // columns_left))
        left, columns_left = left - widths[at], columns_left - 1
    return widths


def _records(names: Sequence[str], cells: Sequence[Sequence[str]], terminal: Terminal) -> Iterator[str]:
    """One row under the other, a line a column; columns that are null in every row are named once."""
    if not cells:
        return
    empty = [at for at in range(len(names)) if all(row[at] == NULL for row in cells)]
    width = max(columns(name) for name in names)
    for number, row in enumerate(cells, 1):
        if number > 1:
            yield ""
        for at, name in enumerate(names):
            if at not in empty:
                yield f"{terminal.style(pad(name, width), 'dim')}  {fit(row[at], terminal.width - width - 2)}"
    if empty:
        yield ""
        yield from _hanging(f"null in every row: {', '.join(names[at] for at in empty)}", terminal, "dim")


def _rows(result: SqlResult) -> str:
    return f"{result.count:,} row" + ("" if result.count == 1 else "s")


def _hanging(text: str, terminal: Terminal, *styles: str, indent: str = "") -> Iterator[str]:
    for at, line in enumerate(wrap(text, max(20, terminal.prose - len(indent) - 2))):
        yield indent + ("  " if at else "") + terminal.style(line, *styles)
