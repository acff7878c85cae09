"""HTML inside Markdown and reStructuredText: tags go, text stays, and what only looks like a tag (`Vec<T>`) is text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

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
_PRE = re.compile(r"<pre\b[^<>]*>(.*?)(?:</pre\s*>|\Z)", re.DOTALL | re.IGNORECASE)


def inline(tag: str) -> str:
    """What is left of one inline tag, comment or look-alike; its line ends are kept."""
    return _MARKUP.sub(_rest, tag)


def blocks(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Blocks of an HTML fragment: (text, role, first, last), lines counted from 0."""
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
    return ends or (" " if name is not None and name.lower() in _BREAKS else "")


def _paragraphs(text: str, offset: int) -> Iterator[tuple[str, str, int, int]]:
    lines = html.unescape(_MARKUP.sub(_rest, text)).split("\n")
    start: int | None = None
    for i, line in enumerate([*lines, ""]):
        if line.strip():
            start = i if start is None else start
        elif start is not None:
            yield "\n".join(lines[start:i]), "prose", offset + start, offset + i - 1
            start = None


def _code(text: str, offset: int) -> Iterator[tuple[str, str, int, int]]:
    lines = html.unescape(_MARKUP.sub(_rest, text)).split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    skipped = 0
    while lines and not lines[0].strip():
        lines.pop(0)
        skipped += 1
    if lines:
        first = offset + skipped
        yield "\n".join(lines), "code", first, first + len(lines) - 1
