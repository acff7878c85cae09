"""Jupyter notebooks, nbformat 2 to 4: text cells as Markdown, code cells as code, text of outputs; places are cells.

The cells are written out as one Markdown text, which keeps headings in force across cells, and read by its reader.
Format: nbformat's JSON schemas, v3 (worksheets, heading cells, `input`) and v4 (`cells`, `source`).
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import msgspec

from consilience.ingest.decoding import Decoded, normalise_lines
from consilience.ingest.model import Document, Skip, TextBlock
from consilience.ingest.readers import markdown

OUTPUT_LINES = 20
OUTPUT_CHARS = 2_000
"""What is kept of the text that one cell put out."""

_DATA_URI = re.compile(r"data:[\w.+-]+/[\w.+-]+(?:;[\w=.+-]+)*,[A-Za-z0-9+/=%]{64,}")
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})(.*)$")
_OPENED = (("<!--", "-->"), ("<pre", "</pre>"), ("<script", "</script>"), ("<style", "</style>"))


def read(decoded: Decoded, name: str) -> Document | Skip:
    """Read a notebook. Never raises on any text; Skip where it is no notebook."""
    try:
        notebook = json.loads(decoded.text)
    except RecursionError:
        return Skip("not a notebook: its JSON is nested too deeply")
    except ValueError as error:
        return Skip(f"not a notebook: not valid JSON: {error}"[:200])
    cells = _cells(notebook)
    if cells is None:
        return Skip("not a notebook: no cells in it")
    lines: list[str] = []
    starts: list[int] = []
    numbers: list[int] = []
    for number, cell in enumerate(cells, 1):
        for piece in _written(cell):
            starts.append(len(lines) + 1)
            numbers.append(number)
            lines += [*piece.split("\n"), ""]
    text = "\n".join(lines)
    document = markdown.read(Decoded(text, decoded.encoding, decoded.warnings), name)

    def cell_of(line: int) -> int:
        return numbers[max(0, bisect_right(starts, line) - 1)]

    blocks = tuple(
        msgspec.structs.replace(
            block, first_line=cell_of(block.first_line), last_line=cell_of(block.last_line)
        )
        for block in document.blocks
    )
    title = _text(_of(_of(notebook, "metadata"), "title")).strip()
    if title and title != document.title:
        blocks = tuple(_retitled(block, document.title, title) for block in blocks)
        document = msgspec.structs.replace(document, title=title)
    return msgspec.structs.replace(document, blocks=blocks, unit="cell")


def _retitled(block: TextBlock, old: str, new: str) -> TextBlock:
    rest = block.headings[1:] if block.headings[:1] == (old,) else block.headings
    return msgspec.structs.replace(block, headings=(new, *rest))


def _of(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _text(value: Any) -> str:
    """A multi-line string of nbformat: one string, or a list of them."""
    if isinstance(value, list):
        value = "".join(part for part in value if isinstance(part, str))
    return normalise_lines(value) if isinstance(value, str) else ""


def _cells(notebook: Any) -> list[Any] | None:
    cells = _of(notebook, "cells")
    if isinstance(cells, list):
        return cells
    sheets = _of(notebook, "worksheets")
    if not isinstance(sheets, list):
        return None
    return [cell for sheet in sheets for cell in (_of(sheet, "cells") or ()) if isinstance(cell, dict)]


def _written(cell: Any) -> Iterator[str]:
    """A cell as Markdown: its source, and for code the text it put out."""
    kind = _of(cell, "cell_type")
    source = _text(_of(cell, "source")) or _text(_of(cell, "input"))
    if kind == "code":
        if source.strip():
            yield _fenced(source)
        if output := _output(_of(cell, "outputs")):
            yield _fenced(output)
    elif not source.strip():
        return
    elif kind == "heading":
        level = _of(cell, "level")
        marks = "#" * (level if isinstance(level, int) and 1 <= level <= 6 else 1)
        yield f"{marks} {' '.join(source.split())}"
    elif kind in ("raw", "plaintext"):
        yield source if source.lstrip().startswith("---") else _fenced(source)
    else:
        yield _closed(_DATA_URI.sub("#", source))


def _fenced(code: str) -> str:
    longest = max((len(run) for run in re.findall("`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{code.strip(chr(10))}\n{fence}"


def _closed(source: str) -> str:
    """A text cell whose fences and raw HTML end with it: what it leaves open must not swallow the next cells."""
    fence = ""
    for line in source.split("\n"):
        match = _FENCE.match(line)
        if match is None:
            continue
        if not fence:
            fence = match[1]
        elif match[1][0] == fence[0] and len(match[1]) >= len(fence) and not match[2].strip():
            fence = ""
    if fence:
        return f"{source}\n{fence}"
    lowered = source.lower()
    ends = [end for start, end in _OPENED if lowered.rfind(start) > lowered.rfind(end)]
    return "\n".join((source, *ends))


def _output(outputs: Any) -> str:
    """The text among a cell's outputs, bounded; of an error its name and message."""
    if not isinstance(outputs, list):
        return ""
    parts = [_output_text(output) for output in outputs]
    text = _ESCAPE.sub("", "\n".join(part.strip("\n") for part in parts if part.strip()))
    lines = text[:OUTPUT_CHARS].split("\n")
    kept = "\n".join(line.rstrip() for line in lines[:OUTPUT_LINES])
    return kept if len(kept) == len(text) or not kept.strip() else f"{kept}\n…"


def _output_text(output: Any) -> str:
    kind = _of(output, "output_type")
    if kind in ("error", "pyerr"):
        return f"{_text(_of(output, 'ename'))}: {_text(_of(output, 'evalue'))}"
    data = _of(output, "data")
    plain = _of(data if isinstance(data, dict) else output, "text/plain")
    return _text(plain) or _text(_of(output, "text"))
