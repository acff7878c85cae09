"""The parsers that readers stand on, alone: what `bench ingest` compares with. Their results are thrown away."""

from __future__ import annotations

import ast
import csv
import email
import importlib
import io
import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from email import policy
from xml.etree import ElementTree as ET

from consilience.ingest.readers.formats import (
    CSV,
    DOCX,
    EML,
    EPUB,
    HTML,
    JSON,
    JSON_LINES,
    MARKDOWN,
    MBOX,
    NOTEBOOK,
    ODT,
    PDF,
    PPTX,
    PYTHON,
    SLACK,
    TSV,
    XHTML,
)


@dataclass(frozen=True, slots=True)
class Raw:
    """`parse` takes a file's bytes and raises nothing: what a library cannot take costs what it cost."""

    name: str
    _parse: Callable[[bytes], object]

    def parse(self, data: bytes) -> None:
        try:
            self._parse(data)
        except Exception:  # a library's own errors, of any kind
            return


def of(media_type: str) -> Raw | None:
    """The parser of a media type; None where its reader is our own from the first character on."""
    return _RAW.get(media_type)


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="replace")


def _markdown(data: bytes) -> object:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table").parse(_text(data))


def _html(data: bytes) -> object:
    from selectolax.lexbor import LexborHTMLParser

    return LexborHTMLParser(_text(data)).text()


def _rows(delimiter: str) -> Callable[[bytes], object]:
    return lambda data: sum(1 for _ in csv.reader(io.StringIO(_text(data)), delimiter=delimiter))


def _json_lines(data: bytes) -> object:
    return [json.loads(line) for line in data.splitlines() if line.strip()]


def _messages(data: bytes) -> object:
    parts = re.split(rb"(?:\A|(?<=\n\n))From [^\n]*\n", data)
    return [email.message_from_bytes(part, policy=policy.default) for part in parts if part]


def _package(data: bytes) -> object:
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        names = [n for n in package.namelist() if n.endswith((".xml", ".xhtml", ".html", ".rels"))]
        return [ET.fromstring(package.read(name)) for name in names]


def _pdf(data: bytes) -> object:
    document = importlib.import_module("pypdfium2").PdfDocument(data)
    try:
        return [page.get_textpage().get_text_range() for page in document]
    finally:
        document.close()


_PACKAGE = Raw("zipfile and ElementTree", _package)
_JSON = Raw("json", json.loads)
_HTML = Raw("selectolax", _html)
_MAIL = Raw("email", _messages)
_RAW = {
    MARKDOWN: Raw("markdown-it-py", _markdown),
    HTML: _HTML,
    XHTML: _HTML,
    CSV: Raw("csv", _rows(",")),
    TSV: Raw("csv", _rows("\t")),
    JSON: _JSON,
    NOTEBOOK: _JSON,
    SLACK: _JSON,
    JSON_LINES: Raw("json, line by line", _json_lines),
    EML: _MAIL,
    MBOX: _MAIL,
    PYTHON: Raw("ast", ast.parse),
    PDF: Raw("pypdfium2", _pdf),
    DOCX: _PACKAGE,
    PPTX: _PACKAGE,
    ODT: _PACKAGE,
    EPUB: _PACKAGE,
}
