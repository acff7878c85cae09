"""Word documents (.docx): headings, paragraphs, lists, tables, notes; places are paragraphs (ECMA-376-1, clause 17).

Headers, footers, comments, deleted and hidden text are left out."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

from consilience.ingest.model import Document, Skip
from consilience.ingest.readers import drawings
from consilience.ingest.readers.package import (
    MAX_LIST_DEPTH,
    Package,
    child,
    is_on,
    number,
    property_of,
    value,
    walk,
)
from consilience.ingest.readers.packaged import PackageReader

_HEADING = re.compile(r"heading ([1-9])")
_CODE = re.compile(r"\b(code|verbatim|preformatted|listing|macro text)\b")
_SKIPPED = frozenset(
    ("del", "moveFrom", "delText", "instrText", "pPr", "rPr", "Fallback", "drawing", "pict", "object", "rt")
)
_WRAPPERS = frozenset(
    ("sdt", "sdtContent", "customXml", "smartTag", "ins", "moveTo", "AlternateContent", "Choice")
)


def read(data: bytes, name: str) -> Document | Skip:
    """Read a document. Skip where it is damaged, encrypted or beyond the bounds."""
    return _Reader.read(data, name)


class _Style:
    """What a paragraph style says, its ancestors' words included."""

    def __init__(self, name: str, level: int | None, listed: bool) -> None:
        self.name, self.level, self.listed = name, level, listed


class _Reader(PackageReader):
    what = "Word document"
    unit = "paragraph"

    def __init__(self, package: Package, name: str) -> None:
        super().__init__(package, name)
        self.paragraph = 0
        self.group = 0
        self.code: list[str] = []
        self.code_from = 0
        self.noted: list[tuple[str, str]] = []
        self.main = self.main_part("word/document.xml")
        self.relations = package.relations(self.main)
        parts = dict(self.relations.values())
        self.styles = _styles(package.optional_xml(parts.get("styles", "word/styles.xml")))
        self.notes = {
            f"{kind}Reference": package.optional_xml(parts.get(f"{kind}s", f"word/{kind}s.xml"))
            for kind in ("footnote", "endnote")
        }

    def document(self) -> Document:
        body = child(self.package.xml(self.main), "body")
        self._blocks(body if body is not None else ())
        self._end_code()
        core = self.package.optional_xml("docProps/core.xml")
        return self.told(core, title=self.flow.opening_heading or property_of(core, "title"))

    def _blocks(self, nodes: Element | tuple[()]) -> None:
        for node in nodes:
            if node.tag == "p":
                self._paragraph(node)
            elif node.tag == "tbl":
                self._table(node)
            elif node.tag in _WRAPPERS:
                self._blocks(node)

    # --- paragraphs -------------------------------------------------------------------------------------------

    def _paragraph(self, node: Element) -> None:
        self.paragraph += 1
        properties = child(node, "pPr")
        style = self.styles.get(value(properties, "pStyle") or "", _Style("", None, False))
        text = self._text(node)
        if _CODE.search(style.name):
            if not self.code:
                self.code_from = self.paragraph
            self.code += text.split("\n")
        else:
            self._end_code()
            self.flow.at(self.paragraph)
            self._emit(text, style, properties)
        for box in _boxes(node):
            self._blocks(box)
        if not self.code:
            for drawing in node.iter("drawing"):
                drawings.add(drawing, self.relations, self.package, self.flow)
        self._end_notes()

    def _emit(self, text: str, style: _Style, properties: Element | None) -> None:
        if not text.strip():
            return
        level = value(properties, "outlineLvl")
        numbering = value(properties, "numPr", "numId")
        listed = numbering not in (None, "0") or (style.listed and numbering != "0")
        if style.name == "title" and not self.title:
            self.title = " ".join(text.split())
        elif style.level is not None or number(level, most=9, otherwise=9) < 9:
            self.group = 0
            outline = style.level if style.level is not None else number(level, most=8, otherwise=0)
            self.flow.heading(outline + 1, text)
        elif style.name.startswith("toc ") or style.name == "table of figures":
            self.group = self.group or self.flow.new_group()
            self.flow.add(" ".join(text.split()), "toc", group=self.group)
        elif listed:
            self.group = self.group or self.flow.new_group()
            depth = number(value(properties, "numPr", "ilvl"), most=MAX_LIST_DEPTH, otherwise=0)
            self.flow.add(text, "list", group=self.group, depth=depth)
        else:
            self.group = 0
            self.flow.add(text)

    def _end_code(self) -> None:
        code, self.code = self.code, []
        if any(line.strip() for line in code):
            self.flow.at(self.code_from, self.code_from + len(code) - 1)
            self.group = 0
            self.flow.add("\n".join(code), "code")

    def _text(self, node: Element) -> str:
        parts: list[str] = []
        for each in walk(node, skipping=_SKIPPED):
            tag = each.tag
            if tag == "r" and is_on(child(each, "rPr"), "vanish"):
                for inner in each:
                    inner.text = None
            elif tag == "t":
                parts.append(each.text or "")
            elif tag in ("tab", "ptab"):
                parts.append("\t")
            elif tag in ("br", "cr"):
                parts.append("\n")
            elif tag == "noBreakHyphen":
                parts.append("-")
            elif tag in self.notes:
                self._note(self.notes[tag], each.get("id", ""), parts)
        return "".join(parts)

    def _note(self, notes: Element | None, number: str, parts: list[str]) -> None:
        note = next((each for each in notes if each.get("id") == number), None) if notes is not None else None
        if note is None:
            return
        mark = f"[{number}]"
        text = " ".join(" ".join(self._plain(p) for p in note.iter("p")).split())
        if text:
            parts.append(mark)
            self.noted.append((mark, text))

    def _plain(self, node: Element) -> str:
        return "".join(
            each.text or "" if each.tag == "t" else " "
            for each in walk(node, skipping=_SKIPPED)
            if each.tag in ("t", "tab", "br")
        )

    def _end_notes(self) -> None:
        if self.code:
            return
        for mark, text in self.noted:
            self.flow.add(f"{mark} {text}", "reference")
        self.noted = []

    # --- tables -----------------------------------------------------------------------------------------------

    def _table(self, table: Element) -> None:
        """A table of data, row by row; one that lays out a page (one column, one row) is read as its paragraphs."""
        self._end_code()
        rows = [row for row in _through(table) if row.tag == "tr" and not _deleted(row)]
        if len(rows) < 2 or not any(len(_cells(row)) > 1 for row in rows):
            for row in rows:
                for cell in _cells(row):
                    self._blocks(cell)
            return
        self.group = 0
        group = self.flow.new_group()
        told = [self._row(row) for row in rows]
        marked = [is_on(child(row, "trPr"), "tblHeader") for row in rows]
        if not marked[0]:
            marked = [_names_columns(child(table, "tblPr", "tblLook")) and all(c.strip() for c in told[0][0])]
            marked += [False] * (len(rows) - 1)
        for n, (cells, first, last) in enumerate(told):
            self.flow.at(first, last)
            self.flow.row(cells, group, head=all(marked[: n + 1]))
        self._end_notes()

    def _row(self, row: Element) -> tuple[list[str], int, int]:
        cells: list[str] = []
        first = self.paragraph + 1
        for cell in _cells(row):
            texts = []
            for paragraph in cell.iter("p"):
                self.paragraph += 1
                texts.append(self._text(paragraph))
            cells.append("\n".join(texts))
            span = number(value(child(cell, "tcPr"), "gridSpan"), least=1, most=64, otherwise=1)
            cells += [""] * (span - 1)
        return cells, min(first, max(1, self.paragraph)), max(1, self.paragraph)


def _boxes(node: Element) -> list[Element]:
    """The text boxes anchored in a paragraph, outermost; `Fallback` says the same again for old programs."""
    found = []
    for each in node:
        if each.tag == "txbxContent":
            found.append(each)
        elif each.tag != "Fallback":
            found += _boxes(each)
    return found


def _through(node: Element) -> list[Element]:
    """Children, those inside wrappers included."""
    found = []
    for each in node:
        found += _through(each) if each.tag in _WRAPPERS else [each]
    return found


def _cells(row: Element) -> list[Element]:
    return [cell for cell in _through(row) if cell.tag == "tc"]


def _deleted(row: Element) -> bool:
    return child(row, "trPr", "del") is not None


def _names_columns(look: Element | None) -> bool:
    if look is None:
        return False
    if (first := look.get("firstRow")) is not None:
        return first not in ("0", "false", "off")
    try:
        return bool(int(look.get("val", "0"), 16) & 0x20)
    except ValueError:
        return False


def _styles(root: Element | None) -> dict[str, _Style]:
    """Paragraph styles by id. Names are the same in every language of Word, ids are not."""
    nodes = {each.get("styleId", ""): each for each in root.iter("style")} if root is not None else {}
    return {style_id: _style(nodes, style_id) for style_id in nodes}


def _style(nodes: dict[str, Element], style_id: str) -> _Style:
    name = (value(nodes[style_id], "name") or "").lower()
    level: int | None = None
    listed = False
    at: str | None = style_id
    for _ in range(20):
        node = nodes.get(at or "")
        if node is None:
            break
        match = _HEADING.fullmatch((value(node, "name") or "").lower())
        outline = value(node, "pPr", "outlineLvl")
        if level is None and match is not None:
            level = int(match[1]) - 1
        elif level is None and (told := number(outline, most=9, otherwise=9)) < 9:
            level = told
        listed = listed or value(node, "pPr", "numPr", "numId") not in (None, "0")
        at = value(node, "basedOn")
    if name in ("title", "subtitle") or name.startswith("toc"):
        level = None
    return _Style(name, level, listed)
