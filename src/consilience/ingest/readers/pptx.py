"""PowerPoint presentations (.pptx): slides in their order, titles as headings, lists, tables, notes; places are slides.

A chart is the table of its data. Dates, footers and slide numbers, comments and pictures are left out (ECMA-376-1,
clauses 19 and 21).
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from consilience.ingest.model import Document, Skip
from consilience.ingest.readers import drawings
from consilience.ingest.readers.package import MAX_LIST_DEPTH, RefusedError, child, number, property_of
from consilience.ingest.readers.packaged import PackageReader

_TITLES = frozenset(("title", "ctrTitle"))
_FURNITURE = frozenset(("dt", "ftr", "hdr", "sldNum", "sldImg"))
_NO_TITLES = frozenset(("", "powerpoint presentation", "presentation", "slide 1"))


def read(data: bytes, name: str) -> Document | Skip:
    """Read a presentation. Skip where it is damaged, encrypted or beyond the bounds."""
    return _Reader.read(data, name)


class _Reader(PackageReader):
    what = "PowerPoint presentation"
    unit = "slide"

    def document(self) -> Document:
        for slide, path in enumerate(self._slides(), 1):
            self.flow.at(slide)
            try:
                self._slide(path)
            except RefusedError as refused:
                self.flow.warnings.append(f"slide {slide} left out: {refused.skip.reason}")
        core = self.package.optional_xml("docProps/core.xml")
        declared = property_of(core, "title")
        if declared.casefold() in _NO_TITLES:
            declared = ""
        return self.told(core, title=declared)

    def _slides(self) -> Iterator[str]:
        main = self.main_part("ppt/presentation.xml")
        relations = self.package.relations(main)
        for each in self.package.xml(main).iter("sldId"):
            kind, path = relations.get(each.get("r:id", ""), ("", ""))
            if kind == "slide":
                yield path

    def _slide(self, path: str) -> None:
        tree = child(self.package.xml(path), "cSld", "spTree")
        shapes = list(_shapes(tree)) if tree is not None else []
        titles = [shape for shape in shapes if _placeholder(shape) in _TITLES]
        title = " ".join(" ".join(text for text, _ in _paragraphs(titles[0])).split()) if titles else ""
        if title and _placeholder(titles[0]) == "ctrTitle" and not self.title:
            self.title = title
        self.flow.heading(1, title, even_empty=True)
        relations = self.package.relations(path)
        for shape in shapes:
            if shape.tag == "graphicFrame":
                self._table(shape)
                drawings.add(shape, relations, self.package, self.flow)
            elif shape not in titles[:1] and _placeholder(shape) not in _FURNITURE:
                self._text(shape)
        self._notes(path)

    def _text(self, shape: Element) -> None:
        paragraphs = [(text, depth) for text, depth in _paragraphs(shape) if text.strip()]
        if len(paragraphs) == 1:
            self.flow.add(paragraphs[0][0])
            return
        group = self.flow.new_group()
        for text, depth in paragraphs:
            self.flow.add(text, "list", group=group, depth=depth)

    def _table(self, frame: Element) -> None:
        table = next(frame.iter("tbl"), None)
        if table is None:
            return
        group = self.flow.new_group()
        rows = [[_plain(cell) for cell in row if cell.tag == "tc"] for row in table if row.tag == "tr"]
        properties = child(table, "tblPr")
        marked = properties is not None and properties.get("firstRow") in ("1", "true") and len(rows) > 1
        for n, cells in enumerate(rows):
            self.flow.row(cells, group, head=marked and n == 0)

    def _notes(self, path: str) -> None:
        notes = next((to for kind, to in self.package.relations(path).values() if kind == "notesSlide"), None)
        root = self.package.optional_xml(notes) if notes is not None else None
        tree = child(root, "cSld", "spTree")
        texts = [
            text
            for shape in (_shapes(tree) if tree is not None else ())
            if shape.tag == "sp" and _placeholder(shape) not in _FURNITURE
            for text, _ in _paragraphs(shape)
            if text.strip()
        ]
        if texts:
            self.flow.heading(2, "Notes")
            for text in texts:
                self.flow.add(text)


def _shapes(tree: Element) -> Iterator[Element]:
    """Shapes and frames in the order in which they are drawn, groups opened."""
    for each in tree:
        if each.tag in ("sp", "graphicFrame"):
            yield each
        elif each.tag in ("grpSp", "AlternateContent", "Choice"):
            yield from _shapes(each)


def _placeholder(shape: Element) -> str:
    """The kind of placeholder that a shape fills, "" where it fills none."""
    for way in ("nvSpPr", "nvGraphicFramePr"):
        found = child(shape, way, "nvPr", "ph")
        if found is not None:
            return found.get("type", "obj")
    return ""


def _paragraphs(shape: Element) -> Iterator[tuple[str, int]]:
    """Text and depth of each paragraph."""
    body = child(shape, "txBody")
    for paragraph in body if body is not None else ():
        if paragraph.tag == "p":
            properties = child(paragraph, "pPr")
            depth = properties.get("lvl") if properties is not None else None
            yield _line(paragraph), number(depth, most=MAX_LIST_DEPTH, otherwise=0)


def _plain(cell: Element) -> str:
    return "\n".join(text for text, _ in _paragraphs(cell))


def _line(paragraph: Element) -> str:
    parts = []
    for each in paragraph.iter():
        if each.tag == "t":
            parts.append(each.text or "")
        elif each.tag == "br":
            parts.append("\n")
    return "".join(parts)
