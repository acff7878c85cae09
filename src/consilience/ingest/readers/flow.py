"""Headings and blocks in their order, told by a reader whose places are not lines, made into a document."""

from __future__ import annotations

import re

import msgspec

from consilience.ingest.decoding import normalise_lines
from consilience.ingest.model import Document, TextBlock
from consilience.ingest.readers.outline import Outline

_NO_TEXT = re.compile("[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


class Flow:
    """`at` says where; `heading` and `add` say what stands there."""

    def __init__(self) -> None:
        self._events: list[tuple[int, TextBlock]] = []
        self._first = self._last = 1
        self._groups = 0
        self.warnings: list[str] = []

    def at(self, first: int, last: int | None = None) -> None:
        """The place of what follows, 1-based."""
        self._first, self._last = first, first if last is None else last

    def new_group(self) -> int:
        """A number for one more list or table."""
        self._groups += 1
        return self._groups

    def heading(self, level: int, text: str, *, even_empty: bool = False) -> None:
        """Level 1 is outermost. An empty one, where it counts, ends what stands open and names nothing."""
        if (text := " ".join(clean(text).split())) or even_empty:
            self._events.append((max(1, level), self._block(text, "heading")))

    def add(
        self, text: str, role: str = "prose", *, group: int = 0, depth: int = 0,
        cells: tuple[str, ...] = (), head: bool = False,
    ) -> None:  # fmt: skip
        text = clean(text)
        if text.strip():
            block = self._block(text, role)
            cells = tuple(" ".join(clean(cell).split()) for cell in cells)
            self._events.append(
                (0, msgspec.structs.replace(block, group=group, depth=depth, cells=cells, head=head))
            )

    def row(self, cells: list[str], group: int, *, head: bool = False) -> None:
        """A row of a table."""
        if any(cell.strip() for cell in cells):
            shown = " | ".join(" ".join(cell.split()) for cell in cells)
            self.add(shown, "table", group=group, cells=tuple(cells), head=head)

    def _block(self, text: str, role: str) -> TextBlock:
        return TextBlock(text=text, role=role, first_line=self._first, last_line=self._last)

    @property
    def opening_heading(self) -> str:
        """The heading that everything stands below, "" where there is none."""
        if not self._events:
            return ""
        level, block = self._events[0]
        alone = level and all(other > level for other, _ in self._events[1:] if other)
        return block.text if alone else ""

    def document(self, title: str, unit: str, *, date: str | None = None) -> Document:
        """Reader and version are set by whoever called the reader."""
        title = " ".join(clean(title).split())
        outline = Outline(title)
        blocks: list[TextBlock] = []
        places: list[tuple[int, int]] = [(1, 1)]
        for ordinal, (level, block) in enumerate(self._events, 1):
            places.append((block.first_line, block.last_line))
            if not level:
                blocks.append(
                    msgspec.structs.replace(
                        block, headings=outline.path, first_line=ordinal, last_line=ordinal
                    )
                )
            elif block.text.casefold() != title.casefold() or blocks or outline.path[1:]:
                outline.enter(level, block.text, ordinal)
        placed = tuple(
            msgspec.structs.replace(
                block, first_line=places[block.first_line][0], last_line=places[block.last_line][1]
            )
            for block in outline.with_bare_headings(blocks)
        )
        return Document(
            title=title,
            date=date,
            blocks=placed,
            reader="",
            version="",
            unit=unit,
            warnings=tuple(self.warnings),
        )


def clean(text: str) -> str:
    """NFC, one kind of line end, nothing that is no character."""
    return normalise_lines(_NO_TEXT.sub("", text))
