"""OpenDocument text (.odt): headings, paragraphs, lists, tables, notes; places are paragraphs.

The format is OpenDocument 1.3, part 3. Headers and footers, tracked deletions, comments and forms are left out.
"""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

from consilience.ingest.model import Document, Skip
from consilience.ingest.readers.package import (
    MAX_LIST_DEPTH,
    Package,
    RefusedError,
    child,
    number,
    property_of,
)
from consilience.ingest.readers.packaged import PackageReader

_SILENT = frozenset(
    ("tracked-changes", "annotation", "annotation-end", "forms", "sequence-decls", "ruby-text")
)
_WRAPPERS = frozenset(
    ("section", "index-body", "index-title", "text-box", "frame", "a", "g", "numbered-paragraph")
)
_CODE = re.compile(r"\b(preformatted|source|code|listing|verbatim)\b")
_TITLE = re.compile(r"(?:\w+[- ])?title")
_MAX_SPACES = 200


def read(data: bytes, name: str) -> Document | Skip:
    """Read a document. Skip where it is damaged, encrypted or beyond the bounds."""
    return _Reader.read(data, name)


class _Reader(PackageReader):
    what = "OpenDocument text"
    unit = "paragraph"

    def __init__(self, package: Package, name: str) -> None:
        super().__init__(package, name)
        self.paragraph = 0
        self.notes: list[str] = []
        self.boxes: list[Element] = []
        self.code: list[str] = []
        self.code_from = 0
        self.parents: dict[str, str] = {}

    def document(self) -> Document:
        manifest = self.package.optional_xml("META-INF/manifest.xml")
        if manifest is not None and next(manifest.iter("encryption-data"), None) is not None:
            raise RefusedError("encrypted OpenDocument text")
        content = self.package.xml("content.xml")
        self.parents = {
            style.get("name", ""): style.get("parent-style-name", "") for style in content.iter("style")
        }
        body = child(content, "body", "text")
        if body is not None:
            self._blocks(body)
        self._end_code()
        meta = self.package.optional_xml("meta.xml")
        title = self.flow.opening_heading or property_of(meta, "title")
        return self.told(meta, title=title, created="creation-date", modified="date")

    def _blocks(self, node: Element, role: str = "", group: int = 0, depth: int = 0) -> None:
        for each in node:
            tag = each.tag
            if tag in ("p", "h"):
                self._paragraph(each, role, group, depth)
            elif tag == "list":
                self._list(each, role, group, depth)
            elif tag == "table":
                self._table(each)
            elif tag in ("table-of-content", "illustration-index", "table-index", "alphabetical-index"):
                self._blocks(each, "toc", self.flow.new_group())
            elif tag in _WRAPPERS:
                self._blocks(each, role, group, depth)

    # --- paragraphs -------------------------------------------------------------------------------------------

    def _paragraph(self, node: Element, role: str, group: int, depth: int) -> None:
        self.paragraph += 1
        style = self._style(node.get("style-name", ""))
        text = self._text(node)
        if _CODE.search(style) and not role:
            if not self.code:
                self.code_from = self.paragraph
            self.code += text.split("\n")
        else:
            self._end_code()
            self.flow.at(self.paragraph)
            if _TITLE.fullmatch(style) and not self.title:
                self.title = " ".join(text.split())
            elif node.tag == "h":
                self.flow.heading(number(node.get("outline-level"), least=1, most=10, otherwise=1), text)
            else:
                self.flow.add(text, role or "prose", group=group, depth=depth)
        self._end_paragraph()

    def _end_paragraph(self) -> None:
        if not self.code:
            for note in self.notes:
                self.flow.add(note, "reference")
            self.notes = []
        boxes, self.boxes = self.boxes, []
        for box in boxes:
            self._blocks(box)

    def _end_code(self) -> None:
        code, self.code = self.code, []
        if any(line.strip() for line in code):
            self.flow.at(self.code_from, self.code_from + len(code) - 1)
            self.flow.add("\n".join(code), "code")

    def _style(self, name: str) -> str:
        """The named style below an automatic one (`P3`), in words."""
        return (self.parents.get(name) or name).replace("_20_", " ").replace("_", " ").lower()

    def _text(self, node: Element) -> str:
        parts: list[str] = []
        self._inline(node, parts)
        return "".join(parts)

    def _inline(self, node: Element, parts: list[str]) -> None:
        parts.append(" ".join((node.text or "").split("\n")))
        for each in node:
            tag = each.tag
            if tag == "s":
                parts.append(" " * number(each.get("c"), most=_MAX_SPACES, otherwise=1))
            elif tag == "tab":
                parts.append("\t")
            elif tag == "line-break":
                parts.append("\n")
            elif tag == "note":
                self._note(each, parts)
            elif tag == "frame":
                self.boxes += [inner for inner in each if inner.tag == "text-box"]
            elif tag not in _SILENT:
                self._inline(each, parts)
            parts.append(" ".join((each.tail or "").split("\n")))

    def _note(self, note: Element, parts: list[str]) -> None:
        citation, body = child(note, "note-citation"), child(note, "note-body")
        mark = f"[{(citation.text if citation is not None else None) or len(self.notes) + 1}]"
        inner: list[str] = []
        for paragraph in body.iter("p") if body is not None else ():
            self._inline(paragraph, inner)
            inner.append(" ")
        if text := " ".join("".join(inner).split()):
            parts.append(mark)
            self.notes.append(f"{mark} {text}")

    # --- lists and tables -------------------------------------------------------------------------------------

    def _list(self, node: Element, role: str, group: int, depth: int) -> None:
        self._end_code()
        outer = role == "list"
        inner = group if outer or role == "toc" else self.flow.new_group()
        for item in node:
            if item.tag in ("list-item", "list-header"):
                self._blocks(item, role or "list", inner, min(depth + 1, MAX_LIST_DEPTH) if outer else 0)

    def _table(self, table: Element) -> None:
        """A table of data, row by row; one that lays out a page (one column, one row) is read as its paragraphs."""
        self._end_code()
        rows = list(_rows(table))
        if len(rows) < 2 or not any(len(_cells(row)) > 1 for row, _ in rows):
            for row, _ in rows:
                for cell in _cells(row):
                    self._blocks(cell)
            return
        group = self.flow.new_group()
        for row, head in rows:
            first = self.paragraph + 1
            texts = []
            for cell in _cells(row):
                lines = []
                for paragraph in cell.iter():
                    if paragraph.tag in ("p", "h"):
                        self.paragraph += 1
                        lines.append(self._text(paragraph))
                texts.append("\n".join(lines))
            last = max(1, self.paragraph)
            self.flow.at(min(first, last), last)
            self.flow.row(texts, group, head=head)
        self._end_paragraph()


def _rows(table: Element, head: bool = False) -> list[tuple[Element, bool]]:
    """The rows of a table, and whether each names the columns."""
    found: list[tuple[Element, bool]] = []
    for each in table:
        if each.tag == "table-row":
            found.append((each, head))
        elif each.tag in ("table-rows", "table-row-group", "table-header-rows"):
            found += _rows(each, head or each.tag == "table-header-rows")
    return found


def _cells(row: Element) -> list[Element]:
    return [cell for cell in row if cell.tag in ("table-cell", "covered-table-cell")]
