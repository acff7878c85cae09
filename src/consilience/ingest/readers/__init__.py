"""Files to documents: one reader per kind of file, chosen by media type, named and versioned.

Same bytes and same version, same document, on every machine. What there is stands in `formats`, what is installed in
`registry`; readers of risky formats run in a process of their own (`contained`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Protocol, cast

import msgspec

from consilience.ingest.decoding import Decoded, decode, is_visible
from consilience.ingest.model import Document, Skip
from consilience.ingest.readers.formats import FORMAT_OF, READERS, Format
from consilience.ingest.readers.media import media_type_of

__all__ = ["media_type_of", "read", "read_as", "reader_id"]


class _TextReader(Protocol):
    def read(self, decoded: Decoded, name: str) -> Document | Skip: ...


class _BytesReader(Protocol):
    def read(self, data: bytes, name: str) -> Document | Skip: ...


Beside = Callable[[str], bytes | None]
"""The bytes of another file by its place relative to the one that is read."""


def read(data: bytes, name: str, beside: Beside | None = None) -> Document | Skip:
    """The text view of a file's bytes, or why there is none. `name` is the file's name or path: its ending chooses
    the reader, and it titles a document that has no title of its own. `beside` gets the one other file that a format
    may name. Never raises on any bytes.
    """
    media_type = media_type_of(name, data)
    if isinstance(media_type, Skip):
        return media_type
    return read_as(media_type, data, name, beside)


def read_as(
    media_type: str, data: bytes, name: str, beside: Beside | None = None, *, here: bool = False
) -> Document | Skip:
    """As `read`, by the reader of this media type. KeyError for a type that has none. `here`: in this process whatever
    the format, since it is a contained one itself."""
    format = FORMAT_OF[media_type]
    if format.needs:
        from consilience.ingest.readers import registry

        if (missing := registry.missing(format)) is not None:
            return Skip(missing)
    if format.contained and not here:
        from consilience.ingest.readers import contained

        document = contained.read(format.reader, data, name)
    elif format.beside:
        module = importlib.import_module(f"{__name__}.{format.reader}")
        other = beside(format.beside) if beside is not None else None
        document = cast(_ReaderWithMore, module).read(data, name, other)
    else:
        document = read_here(format, data, name)
    if isinstance(document, Skip):
        return document
    blocks = document.blocks if document.rows is None else document.rows()
    if not any(is_visible(block.text) for block in blocks):
        return Skip("no text in it")
    reader, version = reader_id(media_type)
    return msgspec.structs.replace(document, reader=reader, version=version)


class _ReaderWithMore(Protocol):
    def read(self, data: bytes, name: str, beside: bytes | None) -> Document | Skip: ...


def read_here(format: Format, data: bytes, name: str) -> Document | Skip:
    """Read in this process."""
    module = importlib.import_module(f"{__name__}.{format.reader}")
    if format.binary:
        return cast(_BytesReader, module).read(data, name)
    decoded = decode(data)
    return decoded if isinstance(decoded, Skip) else cast(_TextReader, module).read(decoded, name)


def reader_id(media_type: str) -> tuple[str, str]:
    """Name and version of the reader that takes this media type today. KeyError for a type that has none."""
    reader, version = READERS[media_type]
    if FORMAT_OF[media_type].needs:
        from consilience.ingest.readers import registry

        version = registry.version_of(FORMAT_OF[media_type])
    return reader, version
