"""Bytes to text: encodings, line endings, NFC. The text has the same lines as the file, ended by one `\\n` each."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Sequence

import msgspec

from consilience.ingest.model import Skip

_UTF16 = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_UTF32 = ((codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"))
_CONTROLS = bytes(set(range(32)) - {7, 8, 9, 10, 11, 12, 13, 27, 26})
_LINE_END = re.compile(rb"\r\n|\r|\n")
_SURROGATES = re.compile("[\ud800-\udfff]")
_MAGIC = (
    (b"%PDF-", "a PDF file"),
    (b"\x89PNG", "a PNG image"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x1f\x8b", "gzip data"),
    (b"\x7fELF", "an executable"),
    (b"GIF8", "a GIF image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"SQLite format 3\x00", "an SQLite database"),
)


_VISIBLE = re.compile(
    r"[^\s\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f\u2060-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0]"
)


def is_visible(text: str) -> bool:
    """Whether there is anything to read: more than white space and characters without a shape."""
    return _VISIBLE.search(text) is not None


class Decoded(msgspec.Struct, frozen=True):
    text: str
    encoding: str
    warnings: tuple[str, ...] = ()


def decode(data: bytes) -> Decoded | Skip:
    """Decode a file, or say why it is no text.

    UTF-8 and, by their byte order marks, UTF-16 and UTF-32 are read strictly. UTF-8 with damaged places keeps the
    rest, and anything else that is not binary is read as Windows-1252, both with a warning (docs/decisions/0041).
    """
    if not data.strip(b" \t\r\n\x0b\x0c\x00\xef\xbb\xbf"):
        return Skip("binary: NUL bytes only" if b"\x00" in data else "empty")
    for magic, what in _MAGIC:
        if data.startswith(magic):
            return Skip(f"binary: {what}")
    for bom, encoding in (*_UTF32, *_UTF16):
        if data.startswith(bom):
            return _strict(data[len(bom) :], encoding)
    if b"\x00" in data:
        return Skip("binary: contains NUL bytes")
    try:
        text = data.decode("utf-8-sig")
        encoding = "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8"
        if _too_many_controls(data):
            return Skip("binary: control characters")
        return _decoded(text, encoding)
    except UnicodeDecodeError as error:
        return _legacy(data, error)


def decode_lines(data: bytes) -> Decoded | Skip:
    """As `decode`, for files of one record a line that may have been put together of several: where the whole is not
    UTF-8, each line that is not is read as Windows-1252 by itself."""
    decoded = decode(data)
    if isinstance(decoded, Skip) or not decoded.warnings:
        return decoded
    lines: list[str] = []
    other: list[int] = []
    for number, line in enumerate(_LINE_END.split(data.removeprefix(codecs.BOM_UTF8)), 1):
        try:
            lines.append(line.decode("utf-8"))
        except UnicodeDecodeError:
            lines.append(line.decode("cp1252", errors="replace"))
            other.append(number)
    warning = f"not UTF-8, and read as Windows-1252: {name_lines(other)}"
    return _decoded("\n".join(lines), "utf-8", warning)


def name_lines(
    numbers: Sequence[int], count: int | None = None, unit: tuple[str, str] = ("line", "lines")
) -> str:
    """`line 3`, or `12 lines (3; 9; 14; …)`: the first of them by number. `count`: where more were met than kept."""
    count = len(numbers) if count is None else count
    if count == 1:
        return f"{unit[0]} {numbers[0]:,}"
    shown = [f"{number:,}" for number in numbers[:5]]
    return f"{count:,} {unit[1]} ({'; '.join(shown)}{'; …' if count > len(shown) else ''})"


def normalise_lines(text: str) -> str:
    """One `\\n` per line end, NFC. Form feeds and the like stay: editors do not count them as lines."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return nfc(text)


def nfc(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def _decoded(text: str, encoding: str, *warnings: str) -> Decoded | Skip:
    text = _SURROGATES.sub("\ufffd", normalise_lines(text))
    return Decoded(text, encoding, warnings) if is_visible(text) else Skip("empty")


def _strict(data: bytes, encoding: str) -> Decoded | Skip:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        return Skip(
            f"not valid {encoding}, as its byte order mark says: {error.reason} at byte {error.start}"
        )
    if "\x00" in text:
        return Skip("binary: contains NUL characters")
    return _decoded(text, encoding)


def _too_many_controls(data: bytes) -> bool:
    return len(data) - len(data.translate(None, _CONTROLS)) > len(data) // 50


def _legacy(data: bytes, error: UnicodeDecodeError) -> Decoded | Skip:
    sample = data[: 1 << 16]
    if _too_many_controls(sample):
        return Skip("binary: control characters")
    damaged = _damaged_utf8(data)
    if damaged is not None:
        text, places = damaged
        warning = (
            f"not valid UTF-8 ({error.reason} at byte {error.start}): damaged places replaced: {places:,}"
        )
        return _decoded(text, "utf-8", warning)
    high = sum(map(sample.count, (bytes([b]) for b in range(0x80, 0x100))))
    if high > len(sample) * 0.4:
        return Skip(f"not UTF-8 ({error.reason} at byte {error.start}) and no encoding that is known here")
    text = data.decode("cp1252", errors="replace")
    warning = f"not valid UTF-8 ({error.reason} at byte {error.start}): read as Windows-1252"
    return _decoded(text, "cp1252", warning)


def _damaged_utf8(data: bytes) -> tuple[str, int] | None:
    """The text with U+FFFD for what is damaged, and in how many places; None where more is wrong than right."""
    text = data.decode("utf-8-sig", errors="replace")
    places = text.count("\ufffd")
    beyond_ascii = len(text) - len(text.encode("ascii", errors="ignore"))
    return (text, places) if beyond_ascii > 2 * places else None
