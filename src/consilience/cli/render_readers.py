"""What can be read here, as people see it and as JSON. Lines out, nothing printed."""

from __future__ import annotations

from collections.abc import Iterator

from consilience.cli.terminal import Terminal, table
from consilience.ingest.readers.registry import ReaderInfo, readers
from consilience.model import Value


class ReadersDocument(Value, frozen=True, kw_only=True):
    """`data` of `readers`."""

    installed: int
    missing: int
    readers: tuple[ReaderInfo, ...]


def document() -> ReadersDocument:
    found = tuple(readers())
    installed = sum(each.installed for each in found)
    return ReadersDocument(installed=installed, missing=len(found) - installed, readers=found)


def lines(shown: ReadersDocument, terminal: Terminal) -> Iterator[str]:
    """One row a format; what is missing says how to get it."""
    rows = [("format", "version", "takes")]
    rows += [(each.title, each.version, _takes(each)) for each in shown.readers]
    for n, row in enumerate(table(rows, terminal.prose, prose=True)):
        missing = n > 0 and not shown.readers[n - 1].installed
        style = "bold" if n == 0 else "dim" if missing else ""
        yield from (terminal.style(line, style) if style else line for line in row)
        if missing:
            yield f"  not installed: {shown.readers[n - 1].install}"


def _takes(each: ReaderInfo) -> str:
    return " ".join((*each.suffixes, *(f"({media_type})" for media_type in each.media_types)))
