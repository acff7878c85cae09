"""What part a passage plays in its document, told from its text and heading path alone.

Ranking turns some roles down; nothing is ever hidden by its role. The same function is used when a document is split
and, later, when an index entry is made from a stored block, where nothing but text and headings is known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

ROLES_VERSION = "1"

_URL = re.compile(r"(?:https?|ftp)://\S+|\bwww\.\S+|\S+@\S+\.\w+")
_SYMBOLS = re.compile(r"[{}()\[\];=<>|&$%^~`\\/_+*#@:]")
_REFERENCE_HEADING = re.compile(
    r"^(?:references?|bibliography|footnotes?|endnotes|works cited|external links|further reading|links|citations)"
    r"(?: and footnotes?| and links)?\s*:?$",
    re.IGNORECASE,
)
_TOC_HEADING = re.compile(r"^(?:table of )?contents\s*:?$", re.IGNORECASE)
_LEGAL_HEADING = re.compile(r"^(?:copyright|licen[cs]e|licensing|legal notice)\b.{0,20}$", re.IGNORECASE)
_LEGAL = re.compile(
    r"placed in the public domain|CC0-1\.0-Universal|\blicensed under\b|all rights reserved|\u00a9|\(c\) ?\d{4}"
    r"|permission is hereby granted|without warranty|SPDX-License-Identifier|open publication license",
    re.IGNORECASE,
)
_MODE_LINE = re.compile(
    r"^(?:Local Variables:|mode: |-\*-|vim?: |\s*(?:indent-tabs-mode|sentence-end|fill-column|coding):)"
)


def role_of(text: str, headings: Sequence[str] = ()) -> str:
    """One of prose, code, list, table, reference, toc, boilerplate, heading. Pure; costs some ten microseconds."""
    section = headings[-1] if headings else ""
    if _is_boilerplate(text, section, headings):
        return "boilerplate"
    if _TOC_HEADING.match(section):
        return "toc"
    return "prose"


def _is_boilerplate(text: str, section: str, headings: Sequence[str]) -> bool:
    if _MODE_LINE.match(text):
        return True
    if len(text) < 1200 and _LEGAL_HEADING.match(section):
        return True
    return len(text) < 400 and bool(_LEGAL.search(text))
