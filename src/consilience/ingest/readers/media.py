"""What kind of text a file is, by its name and its first bytes."""

from __future__ import annotations

import re

from consilience.ingest.model import Skip

MARKDOWN = "text/markdown"
RST = "text/x-rst"
PLAIN = "text/plain"
HTML = "text/html"
XHTML = "application/xhtml+xml"

_SPLITTING = "1"
"""The version of passages.split: part of every reader's version, since what a file becomes depends on both."""

READERS = {
    MARKDOWN: ("markdown", f"1.{_SPLITTING}"),
    RST: ("rst", f"1.{_SPLITTING}"),
    PLAIN: ("plain", f"1.{_SPLITTING}"),
    HTML: ("html", f"1.{_SPLITTING}"),
    XHTML: ("html", f"1.{_SPLITTING}"),
}

BY_SUFFIX = {
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".mdown": MARKDOWN,
    ".mkd": MARKDOWN,
    ".mkdn": MARKDOWN,
    ".mdx": MARKDOWN,
    ".qmd": MARKDOWN,
    ".rst": RST,
    ".rest": RST,
    ".txt": PLAIN,
    ".text": PLAIN,
    ".asc": PLAIN,
    ".html": HTML,
    ".htm": HTML,
    ".xhtml": XHTML,
}
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


def media_type_of(name: str, data: bytes = b"") -> str | Skip:
    """The media type of a file by its name, corrected by its first bytes; Skip where no reader fits it."""
    base = name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    stem, dot, suffix = base.rpartition(".")
    media_type = BY_SUFFIX.get(f".{suffix.lower()}") if dot and stem else None
    if media_type is None:
        if (dot and stem) or base.lower() not in BARE_NAMES:
            ending = f".{suffix}" if dot and stem else "no ending"
            return Skip(f"no reader for this kind of file ({ending})")
        media_type = PLAIN
    if media_type == PLAIN and _HTML_START.match(data[:1024]):
        return HTML
    return media_type
