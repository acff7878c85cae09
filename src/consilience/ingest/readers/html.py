"""HTML: the main content of a page, headings, lists, tables, preformatted text (docs/decisions/0043)."""

from __future__ import annotations

import re
from typing import Any

from selectolax.lexbor import LexborHTMLParser

from consilience.ingest import metadata
from consilience.ingest.decoding import Decoded
from consilience.ingest.model import Document, TextBlock
from consilience.ingest.readers.inline_html import SHIFTED
from consilience.ingest.readers.media import HTML, READERS
from consilience.ingest.readers.outline import Outline

NAME, VERSION = READERS[HTML]

_MARK_BASE = 0xF0000
_MARK_LIMIT = 0x10FFFD - _MARK_BASE
_MARK = re.compile("[\U000f0000-\U0010fffd]")
_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|<(script|style|textarea|title|xmp|iframe|noembed|noframes|plaintext)\b[^<>]*>.*?(?:</\1\s*>|\Z)"
    r"|</?[A-Za-z](?:[^>\"']|\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z))*+(?:>|\Z)"
    r"|<[!?][^>]*(?:>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_ALT = re.compile(r"(\balt\s*=\s*[\"'])(?=[^\"'])", re.IGNORECASE)
_TAG_NAME = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9-]*)")
_NO_DEPTH = frozenset(
    (
        "a", "area", "base", "body", "br", "col", "dd", "dt", "embed", "head", "hr", "html", "img", "input", "li",
        "link", "meta", "optgroup", "option", "p", "param", "script", "source", "style", "tbody", "td", "textarea",
        "tfoot", "th", "thead", "title", "tr", "track", "wbr",
    )
)  # fmt: skip
MAX_DEPTH = 400
_DROPPED = frozenset(
    [
        "script",
        "style",
        "noscript",
        "template",
        "svg",
        "head",
        "nav",
        "header",
        "footer",
        "aside",
        "form",
        "button",
        "select",
        "input",
        "iframe",
        "object",
        "canvas",
        "audio",
        "video",
        "dialog",
        "menu",
        "label",
    ]
)
_DROPPED_ROLES = frozenset(("navigation", "banner", "contentinfo", "search", "complementary", "menu"))
_CONTENTS = frozenset(("toc", "toctree-wrapper", "toctree", "table-of-contents", "tableofcontents"))
"""Classes (and types, in books) of what lists the document's own sections."""
_FURNITURE = frozenset(
    (
        "banner", "breadcrumb", "breadcrumbs", "docnav", "nav", "navbar", "navfooter", "navheader", "navigation",
        "pager", "pagination", "prev-next", "prevnext", "related", "skip-link", "skiplink", "sphinxsidebar", "footer",
        "site-footer", "site-header", "page-footer", "page-nav", "header-nav", "cookie-banner", "share-buttons",
    )
)  # fmt: skip
"""Classes and ids of what stands around the content of many pages: kept, and ranked down."""
_CONTENT_ASIDES = frozenset(
    (
        "footnote", "footnotes", "footnote-list", "endnote", "endnotes", "rearnote", "citation", "citation-list",
        "admonition", "note", "tip", "hint", "important", "warning", "caution", "danger", "attention", "topic",
        "sidebar", "callout", "example", "pullquote", "system-message",
    )
)  # fmt: skip
"""Classes and types of an `aside` that is part of the text: notes, admonitions."""
_HEADINGS = {f"h{n}": n for n in range(1, 7)}
_BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "center",
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
        "header",
        "hgroup",
        "hr",
        "html",
        "li",
        "main",
        "ol",
        "p",
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
        "caption",
    ]
)


def read(decoded: Decoded, name: str) -> Document:
    """Read a page or a fragment. Never raises on any text."""
    return _Reader(decoded, name).document()


def mark_lines(source: str) -> str:
    """Put a private character in front of the text of every line outside tags; it says which line that is.

    The parser keeps no positions; these marks travel through it with the text. Tags nested deeper than MAX_DEPTH are
    left out, since its time grows with the square of the depth; their text stays.
    """
    source = _MARK.sub("\ufffd", source)
    parts: list[str] = []
    at, line = 0, 0
    nesting = _Nesting()
    for match in _TAG.finditer(source):
        line = _mark(source, at, match.start(), line, parts)
        if nesting.keeps(match[0]):
            parts.append(
                _ALT.sub(rf"\1{_mark_of(line)}", match[0]) if match[0][:4].lower() == "<img" else match[0]
            )
        line += match[0].count("\n")
        at = match.end()
    _mark(source, at, len(source), line, parts)
    return "".join(parts)


class _Nesting:
    """Which tags are within MAX_DEPTH. Tags that others close count for nothing."""

    def __init__(self) -> None:
        self.depth = 0
        self.dropped: dict[str, int] = {}

    def keeps(self, tag: str) -> bool:
        match = _TAG_NAME.match(tag)
        if match is None or (name := match[2].lower()) in _NO_DEPTH or tag.endswith("/>"):
            return True
        if match[1]:
            if self.dropped.get(name, 0):
                self.dropped[name] -= 1
                return False
            self.depth = max(0, self.depth - 1)
            return True
        if self.depth >= MAX_DEPTH:
            self.dropped[name] = self.dropped.get(name, 0) + 1
            return False
        self.depth += 1
        return True


def _mark_of(line: int) -> str:
    return chr(_MARK_BASE + min(line, _MARK_LIMIT))


def _mark(source: str, start: int, end: int, line: int, parts: list[str]) -> int:
    if start == end:
        return line
    pieces = source[start:end].split("\n")
    for n, piece in enumerate(pieces):
        if n:
            parts.append("\n")
            line += 1
        if piece and not piece.isspace():
            parts.append(_mark_of(line))
        parts.append(piece)
    return line


class _Reader:
    def __init__(self, decoded: Decoded, name: str) -> None:
        self.decoded = decoded
        self.name = name
        self.blocks: list[TextBlock] = []
        self.buffer: list[str] = []
        self.groups = 0
        self.lists: list[int] = []
        self.role = "prose"
        self.item_open = False
        self.term_open = False
        self.contents: Any = None
        self.furniture: Any = None
        self.line = 1

    def document(self) -> Document:
        tree = LexborHTMLParser(mark_lines(self.decoded.text))
        fields = _meta(tree)
        root = _main(tree)
        h1 = root.css_first("h1") if root is not None else None
        heading = _clean(h1.text()) if h1 is not None else ""
        self.outline = Outline(heading or fields.get("title", "") or metadata.readable_name(self.name))
        if root is not None:
            self._walk(root)
            self._flush()
        return Document(
            title=self.outline.title,
            date=metadata.date_of(fields),
            language=_language(tree),
            blocks=self.outline.with_bare_headings(self.blocks),
            reader=NAME,
            version=VERSION,
            encoding=self.decoded.encoding,
            warnings=self.decoded.warnings,
        )

    def _walk(self, root: Any) -> None:
        """Depth first without recursion: a page may nest deeper than Python's stack."""
        node, leaving = root, False
        while node is not None:
            if not leaving and self._enter(node) and node.child is not None:
                node = node.child
                continue
            self._leave(node)
            if _same(node, root):
                return
            if node.next is not None:
                node, leaving = node.next, False
            else:
                node, leaving = node.parent, True

    def _enter(self, node: Any) -> bool:
        """Begin a node; whether its children are to be read."""
        tag = node.tag
        if tag == "-text":
            self.buffer.append(node.text_content or "")
            return False
        if tag.startswith(("_", "-", "!")) or (tag in _DROPPED and not _holds_content(node)):
            return False
        attributes = node.attributes
        if attributes.get("role") in _DROPPED_ROLES or "hidden" in attributes:
            return False
        if self.contents is None and tag in _BLOCKS and _lists_contents(attributes):
            self._flush()
            self.contents = node
        if self.furniture is None and tag in _BLOCKS and _is_furniture(node, tag, attributes):
            self._flush()
            self.furniture = node
        if tag == "br":
            self.buffer.append("\n")
        elif tag in SHIFTED:
            self.buffer.append(SHIFTED[tag])
        elif tag == "img":
            self.buffer.append(f" {attributes.get('alt') or ''} ")
        elif tag in _HEADINGS:
            self._flush()
            self._heading(node.text(), _HEADINGS[tag])
            return False
        elif tag in ("pre", "listing", "xmp"):
            self._flush()
            self._code(node.text())
            return False
        elif tag == "table":
            self._flush()
            return not self._table(node)
        elif tag in ("ul", "ol", "dl"):
            self._flush()
            if not self.lists:
                self.groups += 1
            self.lists.append(self.groups)
        elif tag in _BLOCKS:
            self._flush()
            if tag in ("li", "dt") or (tag == "dd" and not self.term_open):
                self.item_open = False
            self.term_open = False
        return True

    def _leave(self, node: Any) -> None:
        tag = node.tag
        if tag in _BLOCKS:
            self._flush()
        if tag == "dt":
            self.term_open = True
        if tag in ("ul", "ol", "dl") and self.lists:
            self.lists.pop()
            self.item_open = False
        if self.contents is not None and _same(node, self.contents):
            self.contents = None
        if self.furniture is not None and _same(node, self.furniture):
            self.furniture = None

    # --- blocks -----------------------------------------------------------------------------------------------

    def _heading(self, marked: str, level: int) -> None:
        text, first, _ = self._lines(marked)
        text = " ".join(text.split())
        if text and not (text.casefold() == self.outline.title.casefold() and not self.outline.path[1:]):
            self.outline.enter(level, text, first)
        self.line = first

    def _flush(self) -> None:
        marked, self.buffer = "".join(self.buffer), []
        if not marked or not _MARK.sub("", marked).strip():
            return
        text, first, last = self._lines(marked)
        if self.lists:
            block = self.blocks[-1] if self.blocks else None
            if self.item_open and block is not None and block.group == self.lists[-1]:
                self.blocks.pop()
                text, first = f"{block.text}\n\n{text}", block.first_line
            self._emit(text, "list", first, last, self.lists[-1], len(self.lists) - 1)
            self.item_open = True
        else:
            self._emit(text, "prose", first, last)

    def _code(self, marked: str) -> None:
        text, first, last = self._lines(marked, code=True)
        if text.strip():
            self._emit(text, "code", first, last)
        self.item_open = False

    def _table(self, table: Any) -> bool:
        """Read a table of data; a table that lays out a page (nested tables, one column) is read as its text."""
        rows = table.css("tr")
        if table.css_first("table table") is not None or not any(len(_cells(row)) > 1 for row in rows):
            return False
        self.groups += 1
        self.item_open = False
        for n, row in enumerate(rows):
            cells = [self._lines(cell.text()) for cell in _cells(row)]
            texts = tuple(" ".join(text.split()) for text, _, _ in cells)
            if any(texts):
                first = min(f for text, f, _ in cells if text)
                last = max(e for text, _, e in cells if text)
                head = n == 0 and all(cell.tag == "th" for cell in _cells(row))
                self._emit(" | ".join(texts), "table", first, last, self.groups, cells=texts, head=head)
        return True

    def _lines(self, marked: str, *, code: bool = False) -> tuple[str, int, int]:
        """Text without its marks, and the first and last line they name."""
        numbers = [ord(mark) - _MARK_BASE + 1 for mark in _MARK.findall(marked)]
        if numbers:
            first, last = min(numbers), max(numbers)
            self.line = last
        else:
            first = last = self.line
        text = _MARK.sub("", marked)
        if code:
            lines = text.split("\n")
            while lines and not lines[-1].strip():
                lines.pop()
            while lines and not lines[0].strip():
                lines.pop(0)
            return "\n".join(lines), first, last
        return "\n".join(" ".join(line.split()) for line in text.strip().split("\n")), first, last

    def _emit(
        self, text: str, role: str, first: int, last: int, group: int = 0, depth: int = 0,
        cells: tuple[str, ...] = (), head: bool = False,
    ) -> None:  # fmt: skip
        if self.furniture is not None:
            role = "boilerplate"
        elif self.contents is not None:
            role = "toc"
        self.blocks.append(
            TextBlock(text=text, role=role, headings=self.outline.path, first_line=first, last_line=last,
                      group=group, depth=depth, cells=cells, head=head)
        )  # fmt: skip


def _clean(text: str) -> str:
    return " ".join(_MARK.sub("", text).split())


def _same(a: Any, b: Any) -> bool:
    return bool(a.mem_id == b.mem_id)


def _cells(row: Any) -> list[Any]:
    found = []
    node = row.child
    while node is not None:
        if node.tag in ("td", "th"):
            found.append(node)
        node = node.next
    return found


def _main(tree: Any) -> Any:
    """The part of the page that is its content, where the page says so and it holds most of the text."""
    for selector in ("main", "[role=main]", "article"):
        found = tree.css(selector)
        if len(found) == 1 and len(found[0].text()) > 200:
            return found[0]
    return tree.body if tree.body is not None else tree.root


def _holds_content(node: Any) -> bool:
    """A `header` or `form` around the content itself is no furniture, nor is an `aside` that is a note in the text."""
    if node.tag == "aside":
        attributes = node.attributes
        if not _CONTENT_ASIDES.isdisjoint(_names(attributes, "class", "epub:type")):
            return True
        if (attributes.get("role") or "").startswith("doc-") or attributes.get("role") == "note":
            return True
    return node.tag in ("header", "form", "aside") and node.css_first("h1, main, article") is not None


def _lists_contents(attributes: Any) -> bool:
    if attributes.get("role") == "doc-toc":
        return True
    names = _names(attributes, "class", "epub:type")
    return not _CONTENTS.isdisjoint(names) or {"contents", "topic"} <= names


def _is_furniture(node: Any, tag: str, attributes: Any) -> bool:
    """Whether a class or an id says so, of something that does not hold the content itself."""
    if tag in ("html", "body", "main", "article", "p", "li"):
        return False
    return (
        not _FURNITURE.isdisjoint(_names(attributes, "class", "id"))
        and node.css_first("h1, main, article") is None
    )


def _names(attributes: Any, *keys: str) -> set[str]:
    return {name.lower() for key in keys for name in (attributes.get(key) or "").split()}


def _meta(tree: Any) -> dict[str, str]:
    fields: dict[str, str] = {}
    title = tree.css_first("head > title")
    if title is not None and (text := _clean(title.text())):
        fields["title"] = text
    names = {
        "article:published_time": "published",
        "datepublished": "published",
        "dc.date": "date",
        "dc.date.issued": "date",
        "dcterms.created": "created",
        "dcterms.date": "date",
        "article:modified_time": "modified",
    }
    for node in tree.css("meta"):
        attributes = node.attributes
        key = (
            attributes.get("name") or attributes.get("property") or attributes.get("itemprop") or ""
        ).lower()
        content = attributes.get("content")
        if key and content:
            fields.setdefault(names.get(key, key), content)
    return fields


def _language(tree: Any) -> str:
    root = tree.root
    value = (root.attributes.get("lang") or "") if root is not None else ""
    match = re.match(r"[A-Za-z]{2}(?=$|[-_])", value)
    return match[0].lower() if match else ""
