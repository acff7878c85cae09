"""Which readers are installed here, what each takes, and how to get what is missing."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Iterator
from functools import lru_cache

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
            version=version_of(format),
            media_types=format.media_types,
            suffixes=format.suffixes,
            contained=format.contained,
            installed=installed,
            install=None if installed else _install(format),
        )


@lru_cache(maxsize=64)
def version_of(format: Format) -> str:
    """The version of a format's reader here: its own, and those of the libraries that it stands on
    (docs/decisions/0192)."""
    found = []
    for name in format.needs:
        try:
            found.append(f"{name}-{importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return "+".join((format.version, *found))


def missing(format: Format) -> str | None:
    """Why files of this format cannot be read here, with the command that changes that; None where they can."""
    if not _absent(format):
        return None
    return f"the reader of {format.title} is not installed: {_install(format)}"


def _absent(format: Format) -> bool:
    return any(importlib.util.find_spec(name) is None for name in format.needs)


def _install(format: Format) -> str:
    return f"pip install 'consilience[{format.extra}]'"
