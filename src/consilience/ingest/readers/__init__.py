"""Files to documents: one reader per kind of text, chosen by media type, named and versioned."""

from __future__ import annotations

import importlib
from typing import Protocol, cast

from consilience.ingest.decoding import Decoded, decode, is_visible
from consilience.ingest.model import Document, Skip
from consilience.ingest.readers.media import READERS, media_type_of

__all__ = ["media_type_of", "read", "reader_id"]


class _Reader(Protocol):
    NAME: str
    VERSION: str

    def read(self, decoded: Decoded, name: str) -> Document: ...


def read(data: bytes, name: str) -> Document | Skip:
    """The text view of a file's bytes, or why there is none. `name` is the file's name or path: its ending chooses
    the reader, and it titles a document that has no title of its own. Never raises on any bytes.
    """
    media_type = media_type_of(name, data)
    if isinstance(media_type, Skip):
        return media_type
    decoded = decode(data)
    if isinstance(decoded, Skip):
        return decoded
    document = _reader(media_type).read(decoded, name)
    if not any(is_visible(block.text) for block in document.blocks):
        return Skip("no text in it")
    return document


def reader_id(media_type: str) -> tuple[str, str]:
    """Name and version of the reader that takes this media type today. KeyError for a type that has none."""
    module = _reader(media_type)
    return module.NAME, module.VERSION


def _reader(media_type: str) -> _Reader:
    """The reader's module, imported when the first file of its kind comes."""
    name, _ = READERS[media_type]
    return cast(_Reader, importlib.import_module(f"consilience.ingest.readers.{name}"))
