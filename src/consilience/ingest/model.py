"""What readers produce and passages carry. Frozen; line numbers are 1-based, inclusive, of the original file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import msgspec

from consilience.model import Locator

QUIET = frozenset(("quoted", "signature", "system"))
"""Tags of events that repeat or frame what somebody says: indexed as boilerplate."""


class Skip(msgspec.Struct, frozen=True):
    """A file that is not taken, and why, in words a person reads. `failed`: not what the file is decided that but
    its reader, which crashed or exceeded a bound."""

    reason: str
    failed: bool = False


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """What makes a text something that happened: its passages become episodic blocks.

    `when` is an instant in UTC (`2024-03-01T09:30:00Z`), `participants` the one who speaks first, `context` what it
    belongs to (a subject, a channel). `tags` say what it is; QUIET names those that are ranked down.
    """

    when: str
    participants: tuple[str, ...] = ()
    context: str = ""
    tags: tuple[str, ...] = ()


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
    event: Event | None = None


@runtime_checkable
class Rows(Protocol):
    """The blocks of a document too large to hold, from the first each time it is called; the same ones each time."""

    def __call__(self) -> Iterator[TextBlock]: ...


class Attachment(msgspec.Struct, frozen=True):
    """A file inside another: its path there (`report.pdf`; `17/report.pdf` in message 17 of a mailbox), its bytes."""

    path: str
    data: bytes


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """The text view of one file. `reader` and `version` name what made it; `date` is the UTC day that the source
    itself declares (`2009-06-18`), never a file time; `encoding` is what the bytes were decoded as. `unit` is what the
    blocks' line numbers count where the source has no lines: one of `consilience.model.UNITS`.

    `rows`: a document of very many records gives its blocks by this and has none in `blocks`."""

    title: str
    date: str | None = None
    language: str = ""
    blocks: tuple[TextBlock, ...] = ()
    reader: str
    version: str
    encoding: str = "utf-8"
    unit: str = "line"
    warnings: tuple[str, ...] = ()
    rows: Rows | None = None
    attachments: tuple[Attachment, ...] = ()
    """Set by `readers.mail_parts` alone."""

    @property
    def reader_id(self) -> str:
        return f"{self.reader}/{self.version}"


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """A normalised piece of text and where it stands. Its identity is `text` alone; with an event, that too."""

    text: str
    locator: Locator
    role: str = "prose"
    event: Event | None = None
