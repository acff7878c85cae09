"""Every format that can be read: which reader takes it, how it is recognised, what it needs. Data only.

A reader is the module `consilience.ingest.readers.NAME`. One that takes text has `read(decoded, name) -> Document`;
one that takes bytes (`binary`) has `read(data, name) -> Document | Skip`. Both are pure functions of their arguments.
"""

from __future__ import annotations

import msgspec

MARKDOWN = "text/markdown"
RST = "text/x-rst"
PLAIN = "text/plain"
HTML = "text/html"
XHTML = "application/xhtml+xml"
NOTEBOOK = "application/x-ipynb+json"
PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
ODT = "application/vnd.oasis.opendocument.text"
EPUB = "application/epub+zip"
EML = "message/rfc822"
MBOX = "application/mbox"
SLACK = "application/x-slack-export+json"
WHATSAPP = "text/x-whatsapp-export"
ZIP = "application/zip"
GZIP = "application/gzip"
BZIP2 = "application/x-bzip2"
XZ = "application/x-xz"
TAR = "application/x-tar"
ARCHIVES = frozenset((ZIP, GZIP, BZIP2, XZ, TAR))
"""What has files instead of text: each is taken by itself (docs/decisions/0205-archives.md)."""

MAIL = frozenset((EML, MBOX))
HOLDERS = ARCHIVES | MAIL
"""What has files in it; mail is text besides."""

PYTHON = "text/x-python"
LATEX = "text/x-tex"
SOURCE = "text/x-source"
CSV = "text/csv"
JSON = "application/json"
JSON_LINES = "application/jsonl"
PARQUET = "application/vnd.apache.parquet"
TSV = "text/tab-separated-values"

_SPLITTING = "1"
"""The version of passages.split: part of every reader's version, since what a file becomes depends on both."""

_CODE = """
js mjs cjs jsx ts mts tsx java kt kts scala groovy c h cc cpp cxx hh hpp hxx m mm cs fs vb go rs swift dart zig rb php
pl pm lua r jl sh bash zsh ps1 sql hs ml mli elm ex exs erl hrl clj cljs lisp el scm nim cr d v proto thrift graphql tf
f90 f95 pas adb ads
"""
CODE_SUFFIXES = tuple(f".{suffix}" for suffix in _CODE.split())


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of file.

    `suffixes` are lower case with their dot. `needs` are top-level modules that must be importable, from the extra
    `extra`. `contained`: the reader runs in a process of its own (docs/decisions/0190-contained-readers.md).
    `beside` is the one other file that the reader may take into account, by its place relative to the file.
    `rule` is the version of the reader's own rules: raise it when the same bytes become something else.
    """

    title: str
    reader: str
    media_types: tuple[str, ...]
    suffixes: tuple[str, ...]
    rule: int = 1
    binary: bool = False
    contained: bool = False
    beside: str = ""
    extra: str = ""
    needs: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        return f"{self.rule}.{_SPLITTING}"


FORMATS = (
    Format(
        title="Markdown",
        reader="markdown",
        media_types=(MARKDOWN,),
        suffixes=(".md", ".markdown", ".mdown", ".mkd", ".mkdn", ".mdx", ".qmd"),
        rule=2,
    ),
    Format(title="reStructuredText", reader="rst", media_types=(RST,), suffixes=(".rst", ".rest"), rule=2),
    Format(title="plain text", reader="plain", media_types=(PLAIN,), suffixes=(".txt", ".text", ".asc")),
    Format(title="HTML", reader="html", media_types=(HTML,), suffixes=(".html", ".htm"), rule=2),
    Format(title="XHTML", reader="html", media_types=(XHTML,), suffixes=(".xhtml",), rule=2),
    Format(
        title="Jupyter notebook", reader="notebook", media_types=(NOTEBOOK,), suffixes=(".ipynb",), rule=2
    ),
    Format(
        title="PDF",
        reader="pdf",
        media_types=(PDF,),
        suffixes=(".pdf",),
        binary=True,
        contained=True,
        extra="pdf",
        needs=("pypdfium2",),
    ),
    Format(
        title="Word",
        reader="docx",
        media_types=(DOCX,),
        suffixes=(".docx",),
        rule=2,
        binary=True,
        contained=True,
    ),
    Format(
        title="OpenDocument text",
        reader="odt",
        media_types=(ODT,),
        suffixes=(".odt",),
        binary=True,
        contained=True,
    ),
    Format(
        title="PowerPoint",
        reader="pptx",
        media_types=(PPTX,),
        suffixes=(".pptx",),
        rule=2,
        binary=True,
        contained=True,
    ),
    Format(
        title="EPUB",
        reader="epub",
        media_types=(EPUB,),
        suffixes=(".epub",),
        rule=2,
        binary=True,
        contained=True,
    ),
    Format(title="CSV", reader="delimited", media_types=(CSV,), suffixes=(".csv",), binary=True),
    Format(title="TSV", reader="delimited", media_types=(TSV,), suffixes=(".tsv", ".tab"), binary=True),
    Format(
        title="JSON", reader="json_values", media_types=(JSON,), suffixes=(".json", ".geojson"), binary=True
    ),
    Format(
        title="JSON lines",
        reader="json_values",
        media_types=(JSON_LINES,),
        suffixes=(".jsonl", ".ndjson"),
        binary=True,
    ),
    Format(
        title="Parquet",
        reader="parquet",
        media_types=(PARQUET,),
        suffixes=(".parquet", ".pq"),
        binary=True,
        contained=True,
        extra="parquet",
        needs=("pyarrow",),
    ),
    Format(
        title="e-mail",
        reader="mail",
        media_types=(EML,),
        suffixes=(".eml",),
        rule=2,
        binary=True,
        contained=True,
    ),
    Format(
        title="mailbox (mbox)",
        reader="mail",
        media_types=(MBOX,),
        suffixes=(".mbox", ".mbx"),
        rule=2,
        binary=True,
        contained=True,
    ),
    Format(
        title="Slack export",
        reader="chat",
        media_types=(SLACK,),
        suffixes=(),
        binary=True,
        beside="../users.json",
    ),
    Format(title="WhatsApp export", reader="chat", media_types=(WHATSAPP,), suffixes=(), binary=True),
    Format(
        title="Python",
        reader="python_source",
        media_types=(PYTHON,),
        suffixes=(".py", ".pyi", ".pyw"),
        binary=True,
        contained=True,
    ),
    Format(title="other source code", reader="source_code", media_types=(SOURCE,), suffixes=CODE_SUFFIXES),
    Format(
        title="LaTeX",
        reader="latex",
        media_types=(LATEX,),
        suffixes=(".tex", ".latex", ".ltx"),
        rule=2,
        binary=True,
        contained=True,
    ),
    Format(title="zip archive", reader="archive", media_types=(ZIP,), suffixes=(".zip",), binary=True),
    Format(title="tar archive", reader="archive", media_types=(TAR,), suffixes=(".tar",), binary=True),
    Format(title="gzip", reader="archive", media_types=(GZIP,), suffixes=(".gz", ".tgz"), binary=True),
    Format(
        title="bzip2", reader="archive", media_types=(BZIP2,), suffixes=(".bz2", ".tbz2", ".tbz"), binary=True
    ),
    Format(title="xz", reader="archive", media_types=(XZ,), suffixes=(".xz", ".txz"), binary=True),
)

FORMAT_OF = {media_type: format for format in FORMATS for media_type in format.media_types}
READERS = {media_type: (format.reader, format.version) for media_type, format in FORMAT_OF.items()}
"""Name and version of the reader of each media type."""

BY_SUFFIX = {suffix: format.media_types[0] for format in FORMATS for suffix in format.suffixes}
