"""The pieces of text on a page of a PDF with their places and fonts, as PDFium sees them.

Coordinates are points, x from the left and y from the bottom of the page as it is shown.
"""

from __future__ import annotations

import ctypes
import math
import re
from functools import lru_cache
from itertools import pairwise
from typing import Any

import msgspec
import pypdfium2.raw as pdfium  # type: ignore[import-not-found, import-untyped, unused-ignore]

_LIGATURES = {
    0xFB00: "ff",
    0xFB01: "fi",
    0xFB02: "fl",
    0xFB03: "ffi",
    0xFB04: "ffl",
    0xFB05: "st",
    0xFB06: "st",
}
_HYPHENS = {0x02: "\u00ad", 0xFFFE: "\u00ad"}
"""What PDFium gives for a hyphen at the end of a line that it takes for a hyphenation."""

_MONO = re.compile(r"mono|courier|consol|typewriter|cmtt|sfft|menlo|inconsolata|fixed", re.IGNORECASE)
_BOLD = re.compile(r"bold|black|heavy|demi|cmbx|sfbx", re.IGNORECASE)
MAX_CHARS = 400_000
"""Of one page; more is cut off."""


class Piece(msgspec.Struct, frozen=True):
    """Words on one baseline without a wide gap between them. `size` is the font's, in points."""

    text: str
    x0: float
    x1: float
    y: float
    size: float
    bold: bool = False
    mono: bool = False

    @property
    def width(self) -> float:
        return self.x1 - self.x0


class _Word(msgspec.Struct):
    text: str
    first: int
    last: int
    x0: float = 0.0
    x1: float = 0.0
    y: float = 0.0
    size: float = 0.0


def pieces_of(page: Any) -> list[Piece]:
    """The pieces of a page in the order in which the file draws them, without text that runs up or down."""
    text_page = page.get_textpage()
    try:
        raw = text_page.raw
        turn = pdfium.FPDFPage_GetRotation(page.raw) % 4
        corner = _corner(page, turn)
        out = (ctypes.c_double(), ctypes.c_double(), pdfium.FS_RECTF(), pdfium.FS_MATRIX())
        words = [word for word in _words(raw) if _placed(raw, word, turn, corner, out)]
        return _joined(raw, words)
    finally:
        text_page.close()


class _Chars(dict[int, str]):
    """Text of PDFium's codes: a space for white space, "" for what is no character at all."""

    def __missing__(self, code: int) -> str:
        char = _LIGATURES.get(code) or _HYPHENS.get(code) or (chr(code) if 0 < code < 0x110000 else " ")
        if char.isspace():
            char = " "
        elif code < 32 and char != "\u00ad":
            char = ""
        self[code] = char
        return char


def _words(raw: Any) -> list[_Word]:
    found: list[_Word] = []
    text: list[str] = []
    first = last = 0
    unicode_of, chars = pdfium.FPDFText_GetUnicode, _Chars()
    for index in range(min(pdfium.FPDFText_CountChars(raw), MAX_CHARS)):
        char = chars[unicode_of(raw, index)]
        if char != " ":
            if not text:
                first = index
            text.append(char)
            last = index
            if (
                char != "\u00ad"
            ):  # after it PDFium has the rest of the word, from the next line, follow at once
                continue
        if text:
            found.append(_Word("".join(text), first, last))
            text = []
    if text:
        found.append(_Word("".join(text), first, last))
    return [word for word in found if word.text]


def _corner(page: Any, turn: int) -> tuple[float, float]:
    """Where the lower left corner of the page, as it is shown, lies."""
    left, bottom, right, top = page.get_cropbox()
    corners = [_turned(left, bottom, turn), _turned(right, top, turn)]
    return min(x for x, _ in corners), min(y for _, y in corners)


def _placed(raw: Any, word: _Word, turn: int, corner: tuple[float, float], out: tuple[Any, ...]) -> bool:
    """Set a word's place; whether it has one and runs from left to right."""
    x, y, box, matrix = out
    if not pdfium.FPDFText_GetCharOrigin(raw, word.first, x, y):
        return False
    if not pdfium.FPDFText_GetLooseCharBox(raw, word.last, box):
        return False
    scale = 1.0
    along, up = 1.0, 0.0
    if pdfium.FPDFText_GetMatrix(raw, word.first, matrix):
        scale = math.hypot(matrix.c, matrix.d)
        along, up = _turned(matrix.a, matrix.b, turn)
    word.size = round(pdfium.FPDFText_GetFontSize(raw, word.first) * scale, 1)
    left, y0 = _turned(x.value, y.value, turn)
    corners = [_turned(box.left, box.bottom, turn), _turned(box.right, box.top, turn)]
    right = max(corner[0] for corner in corners)
    word.x0, word.x1, word.y = left - corner[0], max(right, left) - corner[0], y0 - corner[1]
    return (
        along > 2 * abs(up) and 0.5 < word.size < 2000 and all(map(math.isfinite, (word.x0, word.x1, word.y)))
    )


def _turned(x: float, y: float, turn: int) -> tuple[float, float]:
    return ((x, y), (y, -x), (-x, -y), (-y, x))[turn]


def _joined(raw: Any, words: list[_Word]) -> list[Piece]:
    pieces: list[Piece] = []
    run: list[_Word] = []
    for word in words:
        if run and not _goes_on(run[-1], word):
            pieces.append(_piece(raw, run))
            run = []
        run.append(word)
    if run:
        pieces.append(_piece(raw, run))
    return pieces


def _goes_on(word: _Word, after: _Word) -> bool:
    size = max(word.size, after.size)
    gap = after.x0 - word.x1
    return abs(after.y - word.y) < 0.45 * size and -0.5 * size < gap < 1.2 * size


def _piece(raw: Any, words: list[_Word]) -> Piece:
    """A piece; its baseline is that of its largest word, not of a raised mark."""
    text = words[0].text
    for before, word in pairwise(words):
        glued = word.x0 - before.x1 < 0.05 * max(word.size, before.size) and abs(word.y - before.y) > 0.1
        if text.endswith("\u00ad"):
            text, glued = text[:-1], True
        text += word.text if glued else f" {word.text}"
    largest = max(words, key=lambda word: word.size)
    fonts = [_font(raw, word.first) for word in words]
    return Piece(
        text,
        round(min(word.x0 for word in words), 1),
        round(max(word.x1 for word in words), 1),
        round(largest.y, 1),
        largest.size,
        all(bold for bold, _ in fonts),
        all(mono for _, mono in fonts),
    )


def _font(raw: Any, index: int) -> tuple[bool, bool]:
    """Whether a character's font is bold, and whether its letters have one width, by weight and name."""
    length = pdfium.FPDFText_GetFontInfo(raw, index, _NAME, len(_NAME), None)
    name = _NAME.value if 0 < length <= len(_NAME) else b""
    bold, mono = _told_by_name(name)
    return bold or pdfium.FPDFText_GetFontWeight(raw, index) >= 600, mono


_NAME = ctypes.create_string_buffer(128)


@lru_cache(maxsize=1024)
def _told_by_name(name: bytes) -> tuple[bool, bool]:
    text = name.decode("utf-8", "replace")
    return bool(_BOLD.search(text)), bool(_MONO.search(text))
