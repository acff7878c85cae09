"""What readers of records share: lines one at a time, problems named by line, and documents too large to hold."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

from consilience.ingest.decoding import name_lines
from consilience.ingest.model import Document, Rows, TextBlock

STREAM_FROM = 20_000
"""A document of more blocks than this is not held: it gives them one at a time, as often as it is asked."""

_KEPT = 5


class Problems:
    """Where what went wrong, by kind: the first few lines and how many there are."""

    def __init__(self) -> None:
        self._lines: dict[str, list[int]] = {}
        self._counts: dict[str, int] = {}

    def note(self, kind: str, line: int) -> None:
        lines = self._lines.setdefault(kind, [])
        if len(lines) < _KEPT:
            lines.append(line)
        self._counts[kind] = self._counts.get(kind, 0) + 1

    def where(self, kind: str, unit: tuple[str, str] = ("line", "lines")) -> str:
        """`line 3` or `12 lines (3; 9; …)`; "" where it did not happen."""
        return name_lines(self._lines[kind], self._counts[kind], unit) if kind in self._counts else ""


def each_line(text: str) -> Iterator[str]:
    """The lines of a text without their ends; no list of them is made. A line end at the very end begins none."""
    at = 0
    while at < len(text):
        end = text.find("\n", at)
        if end < 0:
            end = len(text)
        yield text[at:end]
        at = end + 1


def document_of(base: Document, again: Rows, blocks: Iterator[TextBlock]) -> Document:
    """`base` with these blocks, which are all passed through; `again` makes the same ones once more."""
    held: list[TextBlock] = []
    for block in blocks:
        held.append(block)
        if len(held) > STREAM_FROM:
            break
    else:
        return msgspec.structs.replace(base, blocks=tuple(held))
    held.clear()
    for _ in blocks:
        pass
    return msgspec.structs.replace(base, rows=again)


def instant(moment: datetime) -> str:
    """RFC 3339 in UTC, whole seconds. OverflowError beyond the years 1 to 9999."""
    return moment.astimezone(UTC).replace(tzinfo=None, microsecond=0).isoformat() + "Z"
