"""Which readers are installed here, what each takes, and how to get what is missing."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

from consilience.ingest.readers.formats import FORMATS, Format
from consilience.model import Value


class ReaderInfo(Value, frozen=True, kw_only=True):
    """One format. `reader` is what provenance names; `install` is the command that gets what is missing, None where
    it is installed."""

    title: str
    reader: str
    version: str
    media_types: tuple[str, ...]
    suffixes: tuple[str, ...]
    contained: bool
    installed: bool
    install: str | None = None


def readers() -> Iterator[ReaderInfo]:
    """Every format there is a reader for, in a fixed order. Looks modules up; imports none."""
    for format in FORMATS:
        installed = not _absent(format)
        yield ReaderInfo(
            title=format.title,
            reader=f"consilience/{format.reader}",
            version=format.version,
            media_types=format.media_types,
            suffixes=format.suffixes,
            contained=format.contained,
            installed=installed,
            install=None if installed else _install(format),
        )


def missing(format: Format) -> str | None:
    """Why files of this format cannot be read here, with the command that changes that; None where they can."""
    if not _absent(format):
        return None
    return f"the reader of {format.title} is not installed: {_install(format)}"


def _absent(format: Format) -> bool:
    return any(importlib.util.find_spec(name) is None for name in format.needs)


def _install(format: Format) -> str:
    return f"pip install 'consilience[{format.extra}]'"
