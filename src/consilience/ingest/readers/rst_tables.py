"""The four kinds of reStructuredText tables, as rows of raw cell text."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

import msgspec

GRID = re.compile(r"^\+(?:-+\+)+\s*$")
SIMPLE = re.compile(r"^=+(?: +=+)+\s*$")
_GRID_HEAD = re.compile(r"^\+(?:=+\+)+\s*$")
_SPAN = re.compile(r"^-+(?: +-+)*\s*$")


class Row(msgspec.Struct, frozen=True):
    """Cells as written, and their lines counted from the table's first, 0-based inclusive."""

    cells: tuple[str, ...]
    first: int
    last: int
    head: bool = False


class Table(msgspec.Struct, frozen=True):
    """`used` is how many lines the table takes; no rows where it is malformed."""

    rows: tuple[Row, ...]
    used: int


def grid(lines: Sequence[str]) -> Table:
    """`+---+---+` tables. Cells spanning columns are read once; a cell spanning rows stays with its first row."""
    used = 0
    while used < len(lines) and lines[used][:1] in ("+", "|"):
        used += 1
    edges = [i for i, c in enumerate(lines[0]) if c == "+"]
    rows: list[Row] = []
    start = 1
    head_end = 0
    for i in range(1, used):
        border = lines[i]
        if not (GRID.match(border) or _GRID_HEAD.match(border)):
            continue
        if i > start:
            rows.append(Row(_grid_cells(lines[start:i], edges), start, i - 1))
        if "=" in border:
            head_end = len(rows)
        start = i + 1
    if start < used and any(line.strip("|+- ") for line in lines[start:used]):
        rows.append(Row(_grid_cells(lines[start:used], edges), start, used - 1))
    marked = [msgspec.structs.replace(row, head=True) if n < head_end else row for n, row in enumerate(rows)]
    return Table(tuple(marked), used)


def _grid_cells(lines: Sequence[str], edges: Sequence[int]) -> tuple[str, ...]:
    cells = [""] * (len(edges) - 1)
    for line in lines:
        column = 0
        for k in range(len(cells)):
            right = edges[k + 1]
            boundary = line[right : right + 1]
            if boundary in ("|", "+", "") or k == len(cells) - 1:
                piece = line[edges[column] + 1 : right].strip()
                if piece.strip("-+= "):
                    cells[column] = f"{cells[column]} {piece}".strip()
                column = k + 1
    return tuple(cells)


def simple(lines: Sequence[str]) -> Table:
    """`===  ===` tables: a line whose first cell is blank goes on with the row above."""
    spans = [(m.start(), m.end()) for m in re.finditer("=+", lines[0])]
    used, borders = _simple_end(lines)
    head_end = borders[1] if len(borders) > 2 else 0
    rows: list[Row] = []
    fresh = True
    for i in range(1, used):
        line = lines[i]
        if i in borders or _SPAN.match(line) or not line.strip():
            fresh = True
            continue
        cells = _simple_cells(line, spans)
        head = i < head_end
        if (
            (rows and not cells[0] and not fresh)
            or (head and rows and rows[-1].head and not fresh)
            or (rows and not cells[0] and rows[-1].head == head)
        ):
            above = rows.pop()
            joined = tuple(f"{a} {b}".strip() for a, b in zip(above.cells, cells, strict=True))
            rows.append(Row(joined, above.first, i, above.head))
        else:
            rows.append(Row(cells, i, i, head))
        fresh = False
    return Table(tuple(rows), used)


def _simple_end(lines: Sequence[str]) -> tuple[int, list[int]]:
    borders = [0]
    for i in range(1, len(lines)):
        if not SIMPLE.match(lines[i]):
            continue
        borders.append(i)
        if i + 1 >= len(lines) or not lines[i + 1].strip() or len(borders) == 3:
            return i + 1, borders
    end = next((i for i, line in enumerate(lines) if not line.strip()), len(lines))
    return end, borders


def _simple_cells(line: str, spans: Sequence[tuple[int, int]]) -> tuple[str, ...]:
    cells = [""] * len(spans)
    column = 0
    for k, (_, _end) in enumerate(spans):
        right = spans[k + 1][0] if k + 1 < len(spans) else len(line)
        crosses = k + 1 < len(spans) and line[right - 1 : right].strip() != ""
        if crosses:
            continue
        cells[column] = line[spans[column][0] : right].strip()
        column = k + 1
    return tuple(cells)


def list_table(lines: Sequence[str], indent: int, header_rows: int) -> tuple[Row, ...]:
    """`* - cell` lists: a `*` begins a row, a `-` a cell."""
    rows: list[tuple[list[str], int, int]] = []
    for i, line in enumerate(lines):
        text = line[indent:]
        match = re.match(r"^([*+-])(\s+)([*+-])(?:\s+|$)(.*)$", text)
        if match:
            rows.append(([match[4]], i, i))
            continue
        if not rows or not text.strip():
            continue
        cells, first, _ = rows[-1]
        cell = re.match(r"^\s+([*+-])(?:\s+|$)(.*)$", text)
        if cell and len(text) - len(text.lstrip()) <= 4:
            cells.append(cell[2])
        else:
            cells[-1] = f"{cells[-1]} {text.strip()}"
        rows[-1] = (cells, first, i)
    return tuple(
        Row(tuple(c.strip() for c in cells), a, b, n < header_rows) for n, (cells, a, b) in enumerate(rows)
    )


def csv_table(header: str, lines: Sequence[str]) -> tuple[Row, ...]:
    """Comma-separated rows; a quoted cell may go on over lines. What is no CSV is one cell per line."""
    rows: list[Row] = []
    try:
        if header:
            rows.append(Row(tuple(next(csv.reader([header], skipinitialspace=True), ())), 0, 0, True))
        first = 0
        reader = csv.reader([f"{line}\n" for line in lines], skipinitialspace=True)
        for cells in reader:
            if cells:
                rows.append(Row(tuple(cells), first, reader.line_num - 1))
            first = reader.line_num
    except csv.Error:
        return tuple(Row((line,), i, i) for i, line in enumerate(lines) if line)
    return tuple(rows)
