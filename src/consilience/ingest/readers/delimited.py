"""CSV and TSV: one row, one passage, each value with its column's name. Quoting as in RFC 4180, and what people write.

The delimiter and whether the first row names the columns are told from the text by fixed rules
(docs/decisions/0200-rows.md).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

import msgspec

from consilience.ingest import metadata
from consilience.ingest.decoding import decode_lines, is_visible
from consilience.ingest.model import Document, Skip, TextBlock
from consilience.ingest.readers.formats import CSV, READERS
from consilience.ingest.readers.records import Problems, document_of, each_line

MAX_ROWS = 1_000_000
MAX_CELLS = 10_000
MAX_ROW_LINES = 1_000
"""Lines that one row may span; a quote open for longer is taken to be a character like any other."""

DELIMITERS = ("\t", ";", ",", "|")
"""In the order in which they are preferred where they fit alike: prose has commas."""

_SAMPLE_CHARS = 1 << 16
_SAMPLE_ROWS = 200
_NO_DELIMITER = "\x00"
_SEP_LINE = re.compile(r"sep=(.)\n", re.IGNORECASE)
_OPENS = re.compile(r' *"')
_QUOTED = re.compile(r'[^"]*(?:""[^"]*)*')
_VALUE = re.compile(
    r"[-+(]?[$€£¥]? ?\d[\d.,' ]*(?:e[-+]?\d+)?\)? ?(?:%|[$€£¥]|[kKMG]?B)?"
    r"|\d{1,4}([-/.])\d{1,2}\1\d{1,4}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z| ?[-+]\d{2}:?\d{2})?)?"
    r"|\d{1,2}:\d{2}(?::\d{2})?|true|false",
    re.IGNORECASE | re.ASCII,
)
_YEAR = re.compile(r"[12]\d{3}", re.ASCII)


def read(data: bytes, name: str) -> Document | Skip:
    """Read a table. Never raises on any bytes."""
    decoded = decode_lines(data)
    if isinstance(decoded, Skip):
        return decoded
    table = _Table(decoded.text, name)
    problems = Problems()
    reader, version = READERS[CSV]
    base = Document(
        title=table.title,
        reader=reader,
        version=version,
        encoding=decoded.encoding,
        warnings=decoded.warnings,
    )
    document = document_of(base, lambda: table.blocks(Problems()), table.blocks(problems))
    return msgspec.structs.replace(document, warnings=(*document.warnings, *table.said(problems)))


class Row(msgspec.Struct, frozen=True):
    """Cells as they stand between delimiters, quotes undone. `broken`: a quote that opens in it is never closed."""

    first_line: int
    last_line: int
    cells: tuple[str, ...]
    broken: bool = False


class _Table:
    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.title = metadata.readable_name(name)
        self.skip_lines = 0
        if match := _SEP_LINE.match(text[:8]):
            self.delimiter, self.skip_lines = match[1], 1
        else:
            self.delimiter = delimiter_of(text)
        first = list(islice(self.rows(), 101))
        self.names: tuple[str, ...] = ()
        self.one_row = len(first) == 1
        if first and is_header([row.cells for row in first]):
            self.names = tuple(_line(cell) for cell in first[0].cells)

    def rows(self) -> Iterator[Row]:
        """The rows that hold anything."""
        for row in rows_of(self.text, self.delimiter):
            if row.first_line > self.skip_lines and any(map(is_visible, row.cells)):
                yield row

    def blocks(self, problems: Problems) -> Iterator[TextBlock]:
        for number, row in enumerate(self.rows()):
            if row.broken:
                problems.note("open", row.first_line)
            if number == 0 and self.names:
                continue
            if number > MAX_ROWS:
                problems.note("left", row.first_line)
                return
            width = len(row.cells)
            if self.names and width != len(self.names):
                problems.note("ragged", row.first_line)
            if width > MAX_CELLS:
                problems.note("wide", row.first_line)
            yield TextBlock(
                text=self._written(row.cells[:MAX_CELLS]),
                role="table",
                headings=(self.title,),
                first_line=row.first_line,
                last_line=row.last_line,
            )

    def _written(self, cells: Sequence[str]) -> str:
        named = []
        for n, cell in enumerate(cells):
            if value := _line(cell):
                name = self.names[n] if n < len(self.names) else ""
                named.append(f"{name}: {value}" if name else value)
        return " | ".join(named)

    def said(self, problems: Problems) -> Iterator[str]:
        if not self.names and not self.one_row:
            yield "the first row does not look like names of columns: values stand without"
        for kind, what in (
            ("ragged", f"not the {len(self.names):,} cells that the header has"),
            ("open", "a quote that is never closed, taken as a character"),
            ("wide", f"cells left out beyond the first {MAX_CELLS:,}"),
        ):
            if where := problems.where(kind):
                yield f"{what}: {where}"
        if problems.where("left"):
            yield f"more than {MAX_ROWS:,} rows: left out from {problems.where('left')} on"


def _line(cell: str) -> str:
    return " ".join(cell.split())


# --- rows -------------------------------------------------------------------------------------------------------


def rows_of(text: str, delimiter: str) -> Iterator[Row]:
    """Every row of a text, an empty line too. Time is linear in the text, whatever its quotes."""
    pending: list[str] = []
    cells: list[str] = []
    opened: str | None = None
    number = 0
    for number, line in enumerate(each_line(text), 1):
        if opened is None and '"' not in line:
            yield Row(number, number, tuple(line.split(delimiter)))
            continue
        pending.append(line)
        opened = _feed(line, delimiter, cells, opened)
        if opened is None:
            yield Row(number - len(pending) + 1, number, tuple(cells))
        elif len(pending) < MAX_ROW_LINES:
            continue
        else:
            yield from _literal(pending, delimiter, number - len(pending) + 1)
        pending, cells, opened = [], [], None
    yield from _literal(pending, delimiter, number - len(pending) + 1)


def _literal(lines: Sequence[str], delimiter: str, first: int) -> Iterator[Row]:
    """Lines after a quote that was not closed: each by itself, the quotes of those that open one as they stand."""
    for number, line in enumerate(lines, first):
        cells: list[str] = []
        if _feed(line, delimiter, cells, None) is None:
            yield Row(number, number, tuple(cells))
        else:
            yield Row(number, number, tuple(line.split(delimiter)), broken=True)


def _feed(line: str, delimiter: str, cells: list[str], opened: str | None) -> str | None:
    """Add the cells of a line; the text so far of a quoted cell that goes on in the next line, None where none does."""
    at = 0
    while True:
        if opened is None:
            quote = _OPENS.match(line, at)
            if quote is None:
                end = line.find(delimiter, at)
                if end < 0:
                    cells.append(line[at:])
                    return None
                cells.append(line[at:end])
                at = end + 1
                continue
            opened, at = "", quote.end()
        body = _QUOTED.match(line, at)
        end = body.end() if body else at
        opened += line[at:end].replace('""', '"')
        if end == len(line):
            return opened + "\n"
        stop = line.find(delimiter, end)
        cells.append(opened + line[end + 1 : stop if stop >= 0 else len(line)])
        opened = None
        if stop < 0:
            return None
        at = stop + 1


# --- what the text is told by -----------------------------------------------------------------------------------


def delimiter_of(text: str) -> str:
    """The delimiter by which most of the first rows have the same number of cells, two at least."""
    sample = text[:_SAMPLE_CHARS]
    if len(text) > len(sample) and "\n" in sample:
        sample = sample[: sample.rindex("\n")]
    best, best_share = _NO_DELIMITER, 0.0
    for delimiter in DELIMITERS:
        rows = islice(rows_of(sample, delimiter), _SAMPLE_ROWS)
        widths = Counter(len(row.cells) for row in rows if row.cells != ("",))
        total = widths.total()
        fitting = max((count for width, count in widths.items() if width > 1), default=0)
        if total and fitting / total > best_share:
            best, best_share = delimiter, fitting / total
    return best


def is_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns: no value (number, date, truth) in it, no name twice, none long; and
    below it a column of values, or no cell that says the column's name again. Years are names beside other names."""
    cells = [_line(cell) for cell in rows[0]]
    names = [cell for cell in cells if cell]
    folded = {name.casefold() for name in names}
    if len(folded) < len(names) or len(names) * 2 < len(cells) or any(len(name) > 100 for name in names):
        return False
    values = [name for name in names if _VALUE.fullmatch(name)]
    if values and (len(values) == len(names) or not all(_YEAR.fullmatch(value) for value in values)):
        return False
    below = rows[1:]
    if not below:
        return len(names) > 1
    for n, name in enumerate(cells):
        column = [_line(row[n]) for row in below if n < len(row) and row[n].strip()]
        if column and sum(_VALUE.fullmatch(value) is not None for value in column) * 2 > len(column):
            return True
        if any(value.casefold() == name.casefold() for value in column):
            return False
    return True
