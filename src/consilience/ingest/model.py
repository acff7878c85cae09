"""What readers produce and passages carry. Frozen; line numbers are 1-based, inclusive, of the original file."""

from __future__ import annotations

import msgspec

from consilience.model import Locator


class Skip(msgspec.Struct, frozen=True):
    """A file that is not taken, and why, in words a person reads. `failed`: not what the file is decided that but
    its reader, which crashed or exceeded a bound."""

    reason: str
    failed: bool = False


class TextBlock(msgspec.Struct, frozen=True, kw_only=True):
    """One structural unit of a document, inline markup already rendered.

    `text` keeps one line per source line where the reader can say which is which: then line k of the text stands in
    line `first_line + k`. An empty line separates paragraphs of one unit. `group` > 0 numbers the list or table that
    the unit belongs to; `depth` is its nesting there (0 outermost); `cells` are a table row's cells, and `head` marks
    the row that names the columns.
    """

    text: str
    role: str
    headings: tuple[str, ...] = ()
    first_line: int
    last_line: int
    group: int = 0
    depth: int = 0
    cells: tuple[str, ...] = ()
    head: bool = False


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """The text view of one file. `reader` and `version` name what made it; `date` is the UTC day that the source
    itself declares (`2009-06-18`), never a file time; `encoding` is what the bytes were decoded as. `unit` is what the
    blocks' line numbers count where the source has no lines: one of `consilience.model.UNITS`."""

    title: str
    date: str | None = None
    language: str = ""
    blocks: tuple[TextBlock, ...] = ()
    reader: str
    version: str
    encoding: str = "utf-8"
    unit: str = "line"
    warnings: tuple[str, ...] = ()

    @property
    def reader_id(self) -> str:
        return f"{self.reader}/{self.version}"


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """A normalised piece of text and where it stands. Its identity is `text` alone."""

    text: str
    locator: Locator
    role: str = "prose"
