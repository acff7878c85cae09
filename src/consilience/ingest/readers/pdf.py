"""PDF by PDFium: reading order, paragraphs, headings by size of font; places are pages (docs/decisions/0193).

Running headers, footers and page numbers are left out, hyphenation is undone, ligatures are letters.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from statistics import median
from typing import Any

import pypdfium2  # type: ignore[import-not-found, import-untyped, unused-ignore]

from consilience.ingest import metadata
from consilience.ingest.model import Document, Skip
from consilience.ingest.readers.flow import Flow
from consilience.ingest.readers.pdf_layout import Line, lines_of, without_furniture
from consilience.ingest.readers.pdf_words import pieces_of

MAX_PAGES = 5_000
HEADING_CHARS = 200
LARGER, COMMON = 1.12, 0.1
"""Headings are in type that much larger than any in which that share of all characters is set."""

_LEAST_PAIRS, _SAME_START = 3, 3.0
"""So many lines of two parts, the second at the same x, are rows of a table."""

_PASSWORD, _SECURITY = 4, 5
_CATALOGUE = re.compile(rb"(\d{1,9} \d{1,5}) obj\s*<<[^>]{0,500}?/Type\s*/Catalog\b")
_TITLES = re.compile(
    r"(?i)untitled.*|microsoft (word|powerpoint).*|.*\.(docx?|tex|dvi|pdf|indd|rtf|odt|pptx?|xlsx?)|slide 1"
)
_DATE = re.compile(r"D:(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(?:\d\d)?(?:Z|([+-])(\d\d)'?(\d\d)?)?)?")
_BULLET = re.compile(r"[•▪▫‣◦●○■□–*·∙➢✓]\s+(?=\S)")
_LETTER_END = re.compile(r"([^\W\d_])[-\u2010\u00ad]$")
_HYPHENED = re.compile(r"[^\W\d_]+(?:[-\u2010][^\W\d_]+)+")
_LEADERS = re.compile(r"\s*(?:[.·…]\s?){4,}\s*")
_OPEN_END = re.compile(r"[.!?:;…][\"'”’)\]]*$")


def read(data: bytes, name: str) -> Document | Skip:
    """Read a PDF. Skip where it is encrypted, damaged beyond reading, or pictures only."""
    file = _opened(data)
    if isinstance(file, Skip):
        return file
    try:
        return _Reader(file, data, name).document()
    finally:
        file.close()


def _opened(data: bytes) -> Any:
    """The file, or a Skip. One that lost its end gets another, if the catalogue can be found."""
    catalogue = _CATALOGUE.search(data)
    ended = data
    if catalogue is not None:
        ended += b"\nendstream\nendobj\ntrailer\n<< /Root %s R >>\nstartxref\n0\n%%%%EOF\n" % catalogue[1]
    for attempt in (data, ended):
        try:
            return pypdfium2.PdfDocument(attempt)
        except pypdfium2.PdfiumError as error:
            if getattr(error, "err_code", None) == _PASSWORD:
                return Skip("encrypted PDF: it opens with a password only")
            if getattr(error, "err_code", None) == _SECURITY:
                return Skip("encrypted PDF: by a method that is not known here")
    return Skip("damaged PDF: its structure cannot be read")


class _Paragraph:
    """Lines that belong together, and the pages of the first and the last."""

    def __init__(self, line: Line, page: int, kind: str) -> None:
        self.lines = [line]
        self.pages = [page, page]
        self.kind = kind

    def take(self, line: Line, page: int) -> None:
        self.lines.append(line)
        self.pages[1] = page

    @property
    def size(self) -> float:
        return self.lines[0].size


class _Reader:
    def __init__(self, file: Any, data: bytes, name: str) -> None:
        self.file = file
        self.name = name
        self.flow = Flow()
        self.cut_off = b"%%EOF" not in data[-2048:]
        self.body = 10.0
        self.large = 10.0
        self.whole: Counter[str] = Counter()

    def document(self) -> Document | Skip:
        pages, heights, pictures = self._pages()
        if not any(pages):
            if pictures:
                said = (
                    "its page is a picture" if len(pages) == 1 else f"its {len(pages):,} pages are pictures"
                )
                return Skip(f"no text in it: {said} (scanned); a text layer (OCR) would make it readable")
            return Skip("damaged PDF: no page in it" if not pages else "no text in it")
        if pictures:
            self.flow.warnings.append(f"no text on {_numbers(pictures)}: pictures (scanned)")
        if self.cut_off:
            self.flow.warnings.append("cut off or damaged at its end; what could be read is in")
        sizes: Counter[float] = Counter()
        for line in (line for lines in pages for line in lines):
            sizes[line.size] += len(line.text)
            self.whole.update(_HYPHENED.findall(line.text))
        self.body = max(sizes, key=lambda size: (sizes[size], -size))
        much = COMMON * sizes.total()
        self.large = LARGER * max(size for size in sizes if sizes[size] >= much or size == self.body)
        paragraphs = self._paragraphs(without_furniture(pages, heights))
        levels = self._levels(paragraphs)
        title = self._title(paragraphs)
        self._tell(paragraphs, levels)
        told = self.file.get_metadata_dict()
        dates = (told.get("CreationDate", ""), told.get("ModDate", ""))
        return self.flow.document(title, "page", date=next(filter(None, map(_day, dates)), None))

    def _pages(self) -> tuple[list[list[Line]], list[float], list[int]]:
        """The lines of every page, their heights, and the numbers of those that are pictures."""
        pages: list[list[Line]] = []
        heights: list[float] = []
        pictures: list[int] = []
        damaged: list[int] = []
        count = len(self.file)
        if count > MAX_PAGES:
            self.flow.warnings.append(f"pages after {MAX_PAGES:,} of {count:,} left out")
        for index in range(min(count, MAX_PAGES)):
            lines: list[Line] = []
            height = 1.0
            try:
                page = self.file[index]
                try:
                    height = page.get_height()
                    lines = lines_of(pieces_of(page))
                    if not lines and _has_picture(page):
                        pictures.append(index + 1)
                finally:
                    page.close()
            except pypdfium2.PdfiumError:
                damaged.append(index + 1)
            pages.append(lines)
            heights.append(height)
        if damaged:
            self.flow.warnings.append(f"damaged and left out: {_numbers(damaged)}")
        return pages, heights, pictures

    # --- paragraphs -------------------------------------------------------------------------------------------

    def _paragraphs(self, pages: list[list[Line]]) -> list[_Paragraph]:
        spacing = _spacing(pages, self.body)
        found: list[_Paragraph] = []
        for number, lines in enumerate(pages, 1):
            pairs = [line.starts[1] for line in lines if len(line.cells) == 2]
            for line in lines:
                kind = self._kind(line, pairs)
                last = found[-1] if found else None
                if last is not None and self._belongs(last, line, kind, spacing, last.pages[1] != number):
                    last.take(line, number)
                else:
                    found.append(_Paragraph(line, number, kind))
        return found

    def _kind(self, line: Line, pairs: list[float]) -> str:
        if _LEADERS.search(line.text):
            return "toc"
        if line.size >= self.large and len(line.text) <= HEADING_CHARS:
            return "large"
        if line.mono:
            return "code"
        if len(line.cells) > 2 or (len(line.cells) == 2 and _aligned(line.starts[1], pairs) >= _LEAST_PAIRS):
            return "row"
        if _BULLET.match(line.text):
            return "item"
        if (
            line.bold
            and (line.text[0].isupper() or line.text[0].isdigit())
            and line.size >= 0.95 * self.body
            and len(line.text) <= 90
            and not _OPEN_END.search(line.text)
        ):
            return "bold"
        return "text"

    def _belongs(self, last: _Paragraph, line: Line, kind: str, spacing: float, turned: bool) -> bool:
        """Whether a line goes on with the paragraph before it."""
        before = last.lines[-1]
        drop = before.y - line.y
        near = not turned and 0 < drop <= 1.35 * max(spacing, before.size * 1.15)
        if last.kind == "row" and near and _wraps(last.lines[0], line):
            return True
        if kind != last.kind and not (last.kind == "item" and kind == "text"):
            return False
        if kind == "code":
            return near or (turned and bool(line.text)) or (0 < drop <= 3 * spacing)
        if kind in ("row", "item", "toc"):
            return False
        if kind in ("large", "bold"):
            return abs(line.size - before.size) < 0.6 and near
        if abs(line.size - before.size) > 0.15 * self.body:
            return False
        if turned or drop <= 0:  # another column or page: the sentence goes on
            return not _OPEN_END.search(before.text) and line.text[:1].islower()
        if last.kind == "item" and near:
            return line.x0 > last.lines[0].x0 + 0.2 * line.size
        indented = line.x0 > before.x0 + 0.8 * line.size and before.x0 < before.left + 0.8 * line.size
        short = before.x1 < before.left + 0.75 * (before.right - before.left) and _OPEN_END.search(
            before.text
        )
        return near and not indented and not short

    # --- headings ---------------------------------------------------------------------------------------------

    def _levels(self, paragraphs: list[_Paragraph]) -> dict[float, int]:
        """A level for each size of font among headings, the largest 1; bold ones of the body's size come last (0)."""
        sizes = sorted({round(p.size * 2) / 2 for p in paragraphs if p.kind == "large"}, reverse=True)
        levels = {size: min(level, 5) for level, size in enumerate(sizes, 1)}
        levels[0] = min(len(sizes) + 1, 6)
        return levels

    def _title(self, paragraphs: list[_Paragraph]) -> str:
        declared = " ".join((self.file.get_metadata_dict().get("Title") or "").split())
        if declared and not _TITLES.fullmatch(declared):
            return declared
        first = [p for p in paragraphs if p.kind == "large" and p.pages[0] == 1 and len(p.lines) <= 4]
        if first and (largest := max(first, key=lambda p: p.size)).size >= 1.2 * self.body:
            return self._text(largest)
        return metadata.readable_name(self.name)

    def _tell(self, paragraphs: list[_Paragraph], levels: dict[float, int]) -> None:
        group = 0
        last = ""
        for paragraph in paragraphs:
            kind = paragraph.kind
            self.flow.at(*paragraph.pages)
            if kind in ("row", "item", "toc") and kind != last:
                group = self.flow.new_group()
            last = kind
            if kind == "code":
                self.flow.add(_code(paragraph.lines), "code")
                continue
            text = self._text(paragraph)
            if (
                kind in ("large", "bold")
                and len(paragraph.lines) <= 4
                and len(text) <= HEADING_CHARS
                and re.search(r"[^\W\d_]", text)
            ):
                size = round(paragraph.size * 2) / 2 if kind == "large" else 0
                self.flow.heading(levels[size], text)
            elif kind == "row":
                self.flow.row(_cells(paragraph.lines), group)
            elif kind == "toc":
                self.flow.add(_LEADERS.sub(" ", text).strip(), "toc", group=group)
            elif kind == "item":
                self.flow.add(_BULLET.sub("", text, count=1), "list", group=group)
            else:
                self.flow.add(text)

    def _text(self, paragraph: _Paragraph) -> str:
        text = paragraph.lines[0].text
        for line in paragraph.lines[1:]:
            text = self._continued(text, line.text)
        return text.replace("\u00ad", "-" if text.endswith("\u00ad") else "")

    def _continued(self, text: str, after: str) -> str:
        """Undo hyphenation, except where the document writes the word with its hyphen elsewhere."""
        match = _LETTER_END.search(text)
        if match is None or not after[:1].isalnum():
            return f"{text} {after}"
        head, tail = text[:-1].rsplit(" ", 1)[-1], after.split(" ", 1)[0].rstrip(".,;:!?)”’\"'")
        if not (
            after[:1].islower() or (len(head) > 1 and head.isupper() and tail.isupper() and tail.isalpha())
        ):
            return f"{text[:-1]}-{after}"
        kept = f"{head}-{tail}"
        return f"{text[:-1]}-{after}" if self.whole[kept] else text[:-1] + after


def _aligned(x: float, others: list[float]) -> int:
    return sum(abs(x - other) <= _SAME_START for other in others)


def _wraps(row: Line, line: Line) -> bool:
    """Whether a line goes on with cells of a row: each part stands below one, and none below the first."""
    return all(_aligned(start, list(row.starts[1:])) for start in line.starts)


def _cells(lines: list[Line]) -> list[str]:
    """The cells of a row, with what stands below each."""
    row = lines[0]
    cells = list(row.cells)
    for line in lines[1:]:
        for start, text in zip(line.starts, line.cells or (line.text,), strict=True):
            at = min(range(len(cells)), key=lambda n: abs(row.starts[n] - start))
            cells[at] += f" {text}"
    return [cell.replace("\u00ad ", "").replace("\u00ad", "-") for cell in cells]


def _spacing(pages: list[list[Line]], body: float) -> float:
    """The usual distance of two lines of the body's size."""
    drops = [
        before.y - line.y
        for lines in pages
        for before, line in pairwise(lines)
        if line.size == before.size == body and 0.8 * body < before.y - line.y < 3 * body
    ]
    return median(drops) if drops else 1.2 * body


def _code(lines: list[Line]) -> str:
    """Lines with the indentation that their places show; a monospaced letter is 0.6 of its size wide."""
    left = min(line.x0 for line in lines)
    return "\n".join(" " * round((line.x0 - left) / (0.6 * line.size)) + line.text for line in lines).replace(
        "\u00ad", "-"
    )


def _has_picture(page: Any) -> bool:
    return any(True for _ in page.get_objects(filter=[pypdfium2.raw.FPDF_PAGEOBJ_IMAGE], max_depth=4))


def _numbers(pages: list[int]) -> str:
    shown: list[str] = []
    start = before = pages[0]
    for page in [*pages[1:], 0]:
        if page != before + 1:
            shown.append(f"{start}" if start == before else f"{start}-{before}")
            start = page
        before = page
    word = "page" if len(pages) == 1 else "pages"
    return f"{word} {', '.join(shown[:20])}{' and more' if len(shown) > 20 else ''}"


def _day(text: str) -> str | None:
    """The UTC day of a date of PDF (ISO 32000-1, 7.9.4)."""
    match = _DATE.match(text or "")
    if match is None:
        return None
    year, month, day, hour, minute, sign, zone_hours, zone_minutes = match.groups()
    try:
        offset = timedelta(hours=int(zone_hours or 0), minutes=int(zone_minutes or 0))
        zone = timezone(-offset if sign == "-" else offset)
        at = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), tzinfo=zone)
        return at.astimezone(UTC).date().isoformat()
    except (ValueError, OverflowError):
        return None
