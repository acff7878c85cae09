"""EPUB 2 and 3: the chapters in the order of the spine, each by the reader of HTML; places are chapters.

A chapter is an item of the spine, counted from 1. The book's own tables of contents are left out, they name chapters
(EPUB 3.3, sections 4 and 5).
"""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote, urldefrag
from xml.etree.ElementTree import Element
from xml.parsers import expat

import msgspec

from consilience.ingest import metadata
from consilience.ingest.decoding import decode
from consilience.ingest.model import Document, Skip, TextBlock
from consilience.ingest.readers import html
from consilience.ingest.readers.package import Package, RefusedError, child, parse_xml, property_of
from consilience.ingest.readers.packaged import PackageReader

_PAGES = frozenset(
    ("application/xhtml+xml", "text/html", "text/x-oeb1-document", "application/xml", "text/xml")
)
_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_EMPTY_TAG = re.compile(
    r"<(title|script|style|textarea|iframe|a|p|div|span|b|i|em)\b([^<>]*)/>", re.IGNORECASE
)


def read(data: bytes, name: str) -> Document | Skip:
    """Read a book. Skip where it is damaged, encrypted or beyond the bounds; a damaged chapter is left out with a
    warning."""
    return _Reader.read(data, name)


class _Reader(PackageReader):
    what = "EPUB"
    unit = "chapter"

    def __init__(self, package: Package, name: str) -> None:
        super().__init__(package, name)
        self.blocks: list[TextBlock] = []
        self.warnings: list[str] = []
        self.groups = 0

    def document(self) -> Document:
        self._refuse_locked()
        container = self.package.xml("META-INF/container.xml")
        path = next((each.get("full-path", "") for each in container.iter("rootfile")), "")
        book = self.package.xml(path)
        folder = posixpath.dirname(path)
        about = child(book, "metadata")
        title = property_of(about, "title") or metadata.readable_name(self.name)
        items = {
            item.get("id", ""): (_resolved(folder, item.get("href", "")), item.get("media-type", ""), item)
            for item in book.iter("item")
        }
        labels = self._labels(items)
        met: set[str] = set()
        for number, reference in enumerate(book.iter("itemref"), 1):
            target, media_type, _ = items.get(reference.get("idref", ""), ("", "", None))
            # Some books list every section of a page: the page is read where it comes first, and once.
            if media_type in _PAGES and target not in met:
                met.add(target)
                self._chapter(number, target, title, labels.get(target, ""))
        return Document(
            title=title,
            date=metadata.parse_date(property_of(about, "date")),
            language=property_of(about, "language")[:2].lower(),
            blocks=tuple(self.blocks),
            reader="",
            version="",
            unit=self.unit,
            warnings=tuple(self.warnings),
        )

    def _refuse_locked(self) -> None:
        encryption = self.package.optional_xml("META-INF/encryption.xml")
        for each in encryption.iter("EncryptedData") if encryption is not None else ():
            method = child(each, "EncryptionMethod")
            if method is None or method.get("Algorithm") not in _FONTS:
                raise RefusedError("encrypted EPUB (digital rights management)")

    def _chapter(self, number: int, path: str, book: str, label: str) -> None:
        try:
            decoded = decode(self.package.part(path))
        except RefusedError as refused:
            self.warnings.append(f"chapter {number} left out: {refused.skip.reason}")
            return
        if isinstance(decoded, Skip):
            if decoded.reason != "empty":
                self.warnings.append(f"chapter {number} left out: {decoded.reason}")
            return
        page = msgspec.structs.replace(decoded, text=_EMPTY_TAG.sub(r"<\1\2></\1>", decoded.text))
        document = html.read(page, path)
        unnamed = (book.casefold(), metadata.readable_name(path).casefold(), "")
        most = self.groups
        for block in document.blocks:
            chapter, rest = (block.headings[0], block.headings[1:]) if block.headings else ("", ())
            if chapter.casefold() in unnamed:
                chapter = label
            named = (chapter,) if chapter and chapter.casefold() != book.casefold() else ()
            group = block.group + self.groups if block.group else 0
            most = max(most, group)
            self.blocks.append(
                msgspec.structs.replace(
                    block, headings=(book, *named, *rest), first_line=number, last_line=number, group=group
                )
            )
        self.groups = most

    def _labels(self, items: dict[str, tuple[str, str, Element]]) -> dict[str, str]:
        """The names of chapters by path, from the table of contents of EPUB 3 or 2."""
        found: dict[str, str] = {}
        for path, media_type, item in items.values():
            if "nav" in item.get("properties", "").split():
                pairs = self._targets(path, "a", "href")
            elif media_type == "application/x-dtbncx+xml":
                pairs = self._targets(path, "navPoint", "src")
            else:
                continue
            for target, label in pairs:
                found.setdefault(target, label)
        return found

    def _targets(self, path: str, tag: str, attribute: str) -> list[tuple[str, str]]:
        try:
            root = parse_xml(self.package.part(path))
        except (RefusedError, expat.ExpatError):
            return []
        found = []
        for node in root.iter(tag):
            where = node if tag == "a" else child(node, "content")
            said = node if tag == "a" else child(node, "navLabel")
            href = where.get(attribute, "") if where is not None else ""
            label = " ".join("".join(said.itertext()).split()) if said is not None else ""
            if href and label:
                found.append((_resolved(posixpath.dirname(path), href), label))
        return found


def _resolved(folder: str, href: str) -> str:
    return posixpath.normpath(posixpath.join(folder, unquote(urldefrag(href)[0]))).lstrip("/")
