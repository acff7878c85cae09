"""What kind of file a file is, by its name and, where bytes are at hand, by what it begins with."""

from __future__ import annotations

import re

from consilience.ingest.model import Skip
from consilience.ingest.readers.chat_kinds import chat_type
from consilience.ingest.readers.formats import (
    BY_SUFFIX,
    BZIP2,
    DOCX,
    EPUB,
    FORMAT_OF,
    GZIP,
    HTML,
    JSON,
    MARKDOWN,
    ODT,
    PARQUET,
    PDF,
    PLAIN,
    PPTX,
    READERS,
    RST,
    TAR,
    XHTML,
    XZ,
    ZIP,
)
from consilience.ingest.readers.zip_names import first_member, names_in

__all__ = ["BARE_NAMES", "BY_SUFFIX", "HTML", "MARKDOWN", "PLAIN", "READERS", "RST", "XHTML", "media_type_of"]

XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
OLE = "application/x-ole-storage"

WHAT = {
    PDF: "PDF",
    DOCX: "Word (.docx)",
    PPTX: "PowerPoint (.pptx)",
    XLSX: "Excel (.xlsx)",
    ODT: "OpenDocument text (.odt)",
    EPUB: "EPUB",
    ZIP: "a zip archive",
    GZIP: "gzip data",
    BZIP2: "bzip2 data",
    XZ: "xz data",
    TAR: "a tar archive",
    PARQUET: "Parquet",
    OLE: "an old or an encrypted Office document",
}
"""What bytes were recognised as, in words."""

BARE_NAMES = frozenset(
    [
        "readme",
        "license",
        "licence",
        "copying",
        "notice",
        "authors",
        "contributors",
        "changes",
        "changelog",
        "news",
        "todo",
        "install",
        "history",
        "maintainers",
        "thanks",
        "credits",
        "copyright",
        "contributing",
        "security",
    ]
)
_HTML_START = re.compile(
    rb"^\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_HEADS = (
    (b"%PDF-", PDF),
    (b"\x1f\x8b\x08", GZIP),
    (b"\xfd7zXZ\x00", XZ),
    *((b"BZh%d1AY&SY" % level, BZIP2) for level in range(1, 10)),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", OLE),
)
_PARTS = ((b"word/document.xml", DOCX), (b"ppt/presentation.xml", PPTX), (b"xl/workbook.xml", XLSX))
_PDF_HEAD = 1024
"""Readers of PDF take junk before the header up to here (ISO 32000-1, annex H, note 13)."""


def media_type_of(name: str, data: bytes = b"") -> str | Skip:
    """The media type of a file by its name, corrected by its bytes (all of them, or none); Skip where no reader fits
    it. What bytes say outranks the ending: a PDF called `.txt` is a PDF, and one without an ending is one too."""
    base = name.rstrip("/").rsplit("/", 1)[-1]
    named = _by_name(base)
    if not data:
        return named
    held = content_type(data)
    if isinstance(named, Skip):
        return held if held in FORMAT_OF and held in _DOCUMENTS and has_no_ending(base) else named
    if held is None and named == PDF and b"%PDF-" in data[:_PDF_HEAD]:
        held = PDF
    if held is not None:
        return _taken(held, named)
    if named == PLAIN and _HTML_START.match(data[:1024]):
        return HTML
    if named in (PLAIN, JSON) and (chat := chat_type(base, data)) is not None:
        return chat
    if FORMAT_OF[named].binary and named in _HAVE_HEADS:
        if _HTML_START.match(data[:1024]):
            return HTML
        return Skip(f"not {WHAT[named]} by its bytes, though its name says so")
    return named


_IN_ZIP = frozenset((DOCX, PPTX, XLSX, ODT, EPUB))
_DOCUMENTS = _IN_ZIP | {PDF}
_HAVE_HEADS = _IN_ZIP | {PDF, ZIP, GZIP, BZIP2, XZ}


def has_no_ending(base: str) -> bool:
    """Whether a file's name says nothing of its kind: `report`, `1706.03762`."""
    stem, dot, suffix = base.rpartition(".")
    return not (dot and stem) or suffix.isdigit()


def may_be_document(head: bytes) -> bool:
    """Whether a file that begins so may be a document that needs no ending to be known."""
    return head.startswith((b"%PDF-", b"PK\x03\x04"))


def _by_name(base: str) -> str | Skip:
    stem, dot, suffix = base.rpartition(".")
    media_type = BY_SUFFIX.get(f".{suffix.lower()}") if dot and stem else None
    if media_type is None:
        if (dot and stem) or base.lower() not in BARE_NAMES:
            ending = f".{suffix}" if dot and stem else "no ending"
            return Skip(f"no reader for this kind of file ({ending})")
        media_type = PLAIN
    return media_type


def _taken(held: str, named: str) -> str | Skip:
    """What the bytes are, if there is a reader of that. A zip without a directory (cut off) is what its name says."""
    if held == ZIP and named in _IN_ZIP:
        return named
    if held in FORMAT_OF:
        return held
    return Skip(f"binary: {WHAT[held]}" if held in (ZIP, GZIP, TAR) else f"no reader for {WHAT[held]}")


def content_type(data: bytes) -> str | None:
    """The media type that the bytes themselves declare; None for text and for what is not known here."""
    for head, media_type in _HEADS:
        if data.startswith(head):
            return media_type
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zip_type(data)
    if data.startswith(b"PAR1") and data.endswith(b"PAR1"):
        return PARQUET
    return TAR if data[257:262] == b"ustar" else None


def _zip_type(data: bytes) -> str:
    first, stored = first_member(data)
    if first == b"mimetype":
        declared = stored.strip().decode("ascii", "replace")
        if declared in (EPUB, ODT):
            return declared
    names = names_in(data)
    if b"[Content_Types].xml" in names or not names:
        for part, media_type in _PARTS:
            if part in names:
                return media_type
    if b"META-INF/container.xml" in names:
        return EPUB
    return ZIP
