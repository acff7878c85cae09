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
    rows = [
        ("format", "version", "takes"),
        *((each.title, each.version, _takes(each)) for each in shown.readers),
    ]
    made = table(rows, terminal.prose, prose=True)
    yield from (terminal.style(line, "bold") for line in made[0])
    for each, row in zip(shown.readers, made[1:], strict=True):
        yield from (line if each.installed else terminal.style(line, "dim") for line in row)
        for media_type in filter(_is_long, each.media_types):
            yield terminal.style(f"  {media_type}", "dim")
        if not each.installed:
            yield f"  not installed: {each.install}"


def _takes(each: ReaderInfo) -> str:
    types = [f"({media_type})" for media_type in each.media_types if not _is_long(media_type)]
    return " ".join((*each.suffixes, *types))


def _is_long(media_type: str) -> bool:
    """Whether a media type takes a line of its own, as those of office formats do."""
    return len(media_type) > 34
