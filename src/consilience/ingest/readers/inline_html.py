"""HTML inside Markdown and reStructuredText: tags go, text stays, and what only looks like a tag (`Vec<T>`) is text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import msgspec

_TAGS = frozenset(
    [
        "a",
        "abbr",
        "acronym",
        "address",
        "area",
        "article",
        "aside",
        "audio",
        "b",
        "base",
        "bdi",
        "bdo",
        "big",
        "blockquote",
        "body",
        "br",
        "button",
        "canvas",
        "caption",
        "center",
        "cite",
        "code",
        "col",
        "colgroup",
        "data",
        "datalist",
        "dd",
        "del",
        "details",
        "dfn",
        "dialog",
        "dir",
        "div",
        "dl",
        "dt",
        "em",
        "embed",
        "fieldset",
        "figcaption",
        "figure",
        "font",
        "footer",
        "form",
        "frame",
        "frameset",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "head",
        "header",
        "hr",
        "html",
        "i",
        "iframe",
        "img",
        "input",
        "ins",
        "kbd",
        "label",
        "legend",
        "li",
        "link",
        "main",
        "map",
        "mark",
        "menu",
        "meta",
        "meter",
        "nav",
        "noscript",
        "object",
        "ol",
        "optgroup",
        "option",
        "output",
        "p",
        "picture",
        "pre",
        "progress",
        "q",
        "rp",
        "rt",
        "ruby",
        "s",
        "samp",
        "script",
        "search",
        "section",
        "select",
        "slot",
        "small",
        "source",
        "span",
        "strike",
        "strong",
        "style",
        "sub",
        "summary",
        "sup",
        "svg",
        "table",
        "tbody",
        "td",
        "template",
        "textarea",
        "tfoot",
        "th",
        "thead",
        "time",
        "title",
        "tr",
        "track",
        "tt",
        "u",
        "ul",
        "var",
        "video",
        "wbr",
        "path",
    ]
)
_BREAKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "br",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "li",
        "main",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "summary",
        "table",
        "tbody",
        "td",
        "tfoot",
        "th",
        "thead",
        "tr",
        "ul",
    ]
)
_MARKUP = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|<(script|style)\b[^<>]*>.*?(?:</\1\s*>|\Z)"
    r"|</?([A-Za-z][A-Za-z0-9-]*)(?:\s[^<>]*|/)?>"
    r"|<![A-Za-z][^<>]*>|<\?[^<>]*>",
    re.DOTALL | re.IGNORECASE,
)
SHIFTED = {"sup": "^", "sub": "_"}
"""What keeps 2<sup>33</sup> from being read as 233."""

_ALT = re.compile(r"""\balt\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_PRE = re.compile(r"<pre\b[^<>]*>(.*?)(?:</pre\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_ROW = re.compile(r"<tr\b[^<>]*>", re.IGNORECASE)
_CELL = re.compile(r"<t([dh])\b[^<>]*>", re.IGNORECASE)


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """A block of an HTML fragment; lines are counted from 0, inclusive. `cells` and `head` are a table row's."""

    text: str
    role: str
    first: int
    last: int
    cells: tuple[str, ...] = ()
    head: bool = False


def inline(tag: str) -> str:
    """What is left of one inline tag, comment or look-alike; its line ends are kept."""
    return _MARKUP.sub(_rest, tag)


def blocks(text: str) -> Iterator[Piece]:
    """The blocks of an HTML fragment in order: paragraphs, preformatted text, table rows."""
    if _ROW.search(text) and not _PRE.search(text):
        yield from _rows(text)
        return
    at = 0
    for match in _PRE.finditer(text):
        yield from _paragraphs(text[at : match.start()], text.count("\n", 0, at))
        yield from _code(match[1], text.count("\n", 0, match.start(1)))
        at = match.end()
    yield from _paragraphs(text[at:], text.count("\n", 0, at))


def _rest(match: re.Match[str]) -> str:
    name = match[2]
    if name is not None and name.lower() not in _TAGS:
        return match[0]
    ends = "\n" * match[0].count("\n")
    if name is not None and name.lower() == "img" and (alt := _ALT.search(match[0])):
        above = match[0].count("\n", 0, alt.start())
        return f"{ends[:above]} {' '.join((alt[1] or alt[2] or '').split())} {ends[above:]}"
    if name is not None and match[0][1] != "/" and (sign := SHIFTED.get(name.lower())):
        return sign
    return ends or (" " if name is not None and name.lower() in _BREAKS else "")


def _rows(text: str) -> Iterator[Piece]:
    starts = [match.start() for match in _ROW.finditer(text)]
    yield from _paragraphs(text[: starts[0]], 0)
    for begin, end in zip(starts, [*starts[1:], len(text)], strict=True):
        row = text[begin:end]
        marks = list(_CELL.finditer(row))
        spans = zip(marks, [*(mark.start() for mark in marks[1:]), len(row)], strict=True)
        cells = tuple(" ".join(_shown(row[mark.end() : stop]).split()) for mark, stop in spans)
        first = text.count("\n", 0, begin)
        if any(cells):
            head = all(mark[1].lower() == "h" for mark in marks)
            last = first + len(row.rstrip()) - len(row.rstrip().replace("\n", ""))
            yield Piece(text=" | ".join(cells), role="table", first=first, last=last, cells=cells, head=head)


def _shown(text: str) -> str:
    return html.unescape(_MARKUP.sub(_rest, text))


def _paragraphs(text: str, offset: int) -> Iterator[Piece]:
    lines = _shown(text).split("\n")
    start: int | None = None
    for i, line in enumerate([*lines, ""]):
        if line.strip():
            start = i if start is None else start
        elif start is not None:
            yield Piece(
                text="\n".join(lines[start:i]), role="prose", first=offset + start, last=offset + i - 1
            )
            start = None


def _code(text: str, offset: int) -> Iterator[Piece]:
    lines = _shown(text).split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    skipped = 0
    while lines and not lines[0].strip():
        lines.pop(0)
        skipped += 1
    if lines:
        first = offset + skipped
        yield Piece(text="\n".join(lines), role="code", first=first, last=first + len(lines) - 1)
