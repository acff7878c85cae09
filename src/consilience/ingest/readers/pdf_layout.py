"""From pieces on pages to lines in reading order: columns, rows, running headers and footers (decision 0193)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

import msgspec

from consilience.ingest.readers.pdf_words import Piece

MAX_COLUMNS_DEEP = 3
_LEAST_LINES = 4
_FILLED = 0.55
"""How much of a column a typical line of running text fills; cells of a table fill less."""

_TOP, _BOTTOM = 0.89, 0.13
"""Where, in parts of the page's height, running headers stand above and footers below."""
_SAME_PLACE = 4.0
MAX_RUNNING = 200
_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b")
_PAGE_NUMBER = re.compile(
    r"[-–—\s|]*(?:page\s+)?(?:\d{1,4}|[ivxlc]{1,7})(?:\s*(?:/|of)\s*\d{1,4})?[-–—\s|]*", re.IGNORECASE
)


class Line(msgspec.Struct, frozen=True):
    """One line of one column, which reaches from `left` to `right`. `cells` are its parts where wide gaps set them
    apart, `starts` the x of each (of the line itself, where there are none)."""

    text: str
    x0: float
    x1: float
    y: float
    size: float
    bold: bool
    mono: bool
    left: float = 0.0
    right: float = 0.0
    cells: tuple[str, ...] = ()
    starts: tuple[float, ...] = ()


def lines_of(pieces: Sequence[Piece]) -> list[Line]:
    """The lines of a page in the order in which a person reads them."""
    return _ordered([piece for piece in pieces if piece.text.strip("\u00ad ")], 0)


def _ordered(pieces: list[Piece], depth: int) -> list[Line]:
    gutter = _gutter(pieces) if depth < MAX_COLUMNS_DEEP else None
    if gutter is None:
        return _column(pieces)
    found: list[Line] = []
    zone: list[Piece] = []
    crossing: list[Piece] = []
    for row in _rows(pieces):
        if any(piece.x0 < gutter < piece.x1 for piece in row):
            found += _sides(zone, gutter, depth)
            zone = []
            crossing += row
        else:
            found += _column(crossing)
            crossing = []
            zone += row
    return found + _sides(zone, gutter, depth) + _column(crossing)


def _sides(zone: list[Piece], gutter: float, depth: int) -> list[Line]:
    left = [piece for piece in zone if piece.x1 <= gutter]
    right = [piece for piece in zone if piece.x1 > gutter]
    return _ordered(left, depth + 1) + _ordered(right, depth + 1)


def _gutter(pieces: list[Piece]) -> float | None:
    """The x between two columns of running text; None where there is one column, or a table."""
    if len(pieces) < 2 * _LEAST_LINES:
        return None
    low, high = min(piece.x0 for piece in pieces), max(piece.x1 for piece in pieces)
    best: tuple[int, float, float] | None = None
    edges = sorted(
        {piece.x1 for piece in pieces if low + 0.2 * (high - low) < piece.x1 < low + 0.8 * (high - low)}
    )
    starts = sorted(piece.x0 for piece in pieces)
    for edge in edges:
        following = next((x for x in starts if x > edge + 0.5), None)
        if following is None:
            continue
        x = (edge + following) / 2
        crossing = sum(piece.x0 < x < piece.x1 for piece in pieces)
        if crossing * 4 <= len(pieces) and (best is None or (crossing, edge - following) < best[:2]):
            best = (crossing, edge - following, x)
    if best is None or -best[1] < 0.4 * median(piece.size for piece in pieces):
        return None
    x = best[2]
    sides = ([piece for piece in pieces if piece.x1 <= x], [piece for piece in pieces if piece.x0 >= x])
    return x if all(_runs(side) for side in sides) else None


def _runs(side: list[Piece]) -> bool:
    """Whether these are lines of running text."""
    if len(side) < _LEAST_LINES:
        return False
    width = max(piece.x1 for piece in side) - min(piece.x0 for piece in side)
    rows = [max(piece.x1 for piece in row) - min(piece.x0 for piece in row) for row in _rows(side)]
    one_piece = sum(len(row) == 1 for row in _rows(side))
    return median(rows) >= _FILLED * width and one_piece * 3 >= len(rows) * 2 and width >= 8 * side[0].size


def _rows(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Pieces on one baseline, from the top, each row from the left."""
    rows: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda piece: (-piece.y, piece.x0)):
        if rows and abs(rows[-1][0].y - piece.y) < 0.4 * max(rows[-1][0].size, piece.size):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [sorted(row, key=lambda piece: piece.x0) for row in rows]


def _column(pieces: Sequence[Piece]) -> list[Line]:
    if not pieces:
        return []
    left, right = min(piece.x0 for piece in pieces), max(piece.x1 for piece in pieces)
    return [_line(row, left, right) for row in _rows(pieces)]


def _line(row: list[Piece], left: float, right: float) -> Line:
    stretched = _is_stretched(row, left, right)
    cells, starts = [row[0].text], [row[0].x0]
    for before, piece in pairwise(row):
        if piece.x0 - before.x1 > 1.5 * max(piece.size, before.size) and not stretched:
            cells.append(piece.text)
            starts.append(piece.x0)
        else:
            cells[-1] += f" {piece.text}"
    longest = max(row, key=lambda piece: len(piece.text))
    return Line(
        text=" ".join(cells),
        x0=row[0].x0,
        x1=max(piece.x1 for piece in row),
        y=longest.y,
        size=longest.size,
        bold=all(piece.bold for piece in row),
        mono=all(piece.mono for piece in row),
        left=left,
        right=right,
        cells=tuple(cells) if len(cells) > 1 else (),
        starts=tuple(starts),
    )


def _is_stretched(row: list[Piece], left: float, right: float) -> bool:
    """Whether the gaps of a line are those of few words set to both margins: of one width, from edge to edge."""
    gaps = [piece.x0 - before.x1 for before, piece in pairwise(row)]
    return (
        len(gaps) > 1
        and max(gaps) - min(gaps) < 0.5
        and max(gaps) < 5 * row[0].size
        and row[0].x0 - left < 2
        and right - row[-1].x1 < 2
        and all(any(char.isalpha() for char in piece.text) for piece in row)
    )


# --- running headers and footers --------------------------------------------------------------------------------


def without_furniture(pages: Sequence[list[Line]], heights: Sequence[float]) -> list[list[Line]]:
    """The pages without lines that stand at the same place at the edge of several of them, numbers aside, and
    without page numbers."""
    seen: Counter[tuple[str, int]] = Counter()
    edges = [_edges(lines, height) for lines, height in zip(pages, heights, strict=True)]
    for lines in edges:
        keys = {key for line in lines for key in _keys(line)}
        seen.update(keys)
    told = [
        {
            id(line)
            for line in lines
            if len(pages) > 1 and (_repeats(line, seen, len(pages)) or _PAGE_NUMBER.fullmatch(line.text))
        }
        for lines in edges
    ]
    return [[line for line in lines if id(line) not in gone] for lines, gone in zip(pages, told, strict=True)]


def _repeats(line: Line, seen: Counter[tuple[str, int]], pages: int) -> bool:
    """A number in a line that is otherwise the same makes two of them enough."""
    keys = _keys(line)
    least = 2 if "#" in keys[0][0] or pages <= 6 else 3
    return max(seen[key] for key in keys) >= least


def _edges(lines: list[Line], height: float) -> list[Line]:
    """The lines at the top and at the bottom of a page."""
    return [
        line
        for line in lines
        if not _BOTTOM * height <= line.y <= _TOP * height and len(line.text) <= MAX_RUNNING
    ]


def _keys(line: Line) -> tuple[tuple[str, int], tuple[str, int]]:
    """What a line says, numbers aside, with its height in two grids: near heights share one of them."""
    said = _NUMBER.sub("#", " ".join(line.text.lower().split()))
    return (f"a{said}", round(line.y / (2 * _SAME_PLACE))), (
        f"b{said}",
        round(line.y / (2 * _SAME_PLACE) + 0.5),
    )
