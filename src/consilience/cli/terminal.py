"""How to write for people: width, colour, and text that cannot do a terminal any harm.

Everything that came out of a file goes through `clean` before it is printed: control characters and escape
sequences become visible signs, bidirectional overrides (which make text read as what it is not,
CVE-2021-42574) become U+FFFD. Widths are display columns (Unicode UAX 11): wide characters take two,
combining ones none.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

DEFAULT_WIDTH = 80
NARROWEST = 40
WIDEST_PROSE = 100
"""Lines of prose longer than this are hard to read, whatever the terminal offers."""

LEAST_CELL = 12
LEAST_PROSE = 24

_BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI}\ud800-\udfff]")
_LINE_ENDS = re.compile("\r\n|\r|\u2028|\u2029|\u0085|\x0b|\x0c")
_CODES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "cyan": 36}
_PLAIN = str.maketrans(
    {"…": "...", "·": "-", "─": "-", "–": "-", "—": "-", "→": "->", "≥": ">=", "µ": "u", "✓": "+", "✗": "x"}
    | {"├": "+", "└": "+", "│": "|", "“": '"', "”": '"'}
)


@dataclass(frozen=True, slots=True)
class Terminal:
    """One output for people. `plain` is for encodings that know only ASCII."""

    width: int = DEFAULT_WIDTH
    colour: bool = False
    plain: bool = False

    @classmethod
    def detect(cls, stream: Any, environ: Mapping[str, str], *, forced: bool | None = None) -> Terminal:
        """What `stream` can show. `forced` is what a flag says about colour; it outweighs the environment."""
        tty = stream is not None and stream.isatty()
        encoding = (getattr(stream, "encoding", None) or "ascii").lower().replace("-", "").replace("_", "")
        return cls(
            width=max(NARROWEST, _width(stream if tty else None, environ)),
            colour=_colour(tty, environ, forced),
            plain=not encoding.startswith(("utf", "cp65001")),
        )

    @property
    def prose(self) -> int:
        return min(self.width, WIDEST_PROSE)

    def style(self, text: str, *names: str) -> str:
        if not self.colour or not text:
            return text
        return f"\x1b[{';'.join(str(_CODES[name]) for name in names)}m{text}\x1b[0m"

    def glyphs(self, text: str) -> str:
        """`text` in signs that this output can encode."""
        return text.translate(_PLAIN) if self.plain else text


def _width(stream: Any, environ: Mapping[str, str]) -> int:
    columns = environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns) > 0:
        return min(int(columns), 10_000)
    if stream is None:
        return DEFAULT_WIDTH
    try:
        return os.get_terminal_size(stream.fileno()).columns or DEFAULT_WIDTH
    except (OSError, ValueError, AttributeError):
        return DEFAULT_WIDTH


def _colour(tty: bool, environ: Mapping[str, str], forced: bool | None) -> bool:
    """A flag, then NO_COLOR (no-color.org), then FORCE_COLOR and CLICOLOR_FORCE, then CLICOLOR, then the
    terminal."""
    if forced is not None:
        return forced
    if environ.get("NO_COLOR"):
        return False
    if any(environ.get(name, "") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return tty and environ.get("CLICOLOR") != "0" and environ.get("TERM") != "dumb"


# --- harmless text
# ----------------------------------------------------------------------------------------------


def clean(text: str, *, lines: bool = False) -> str:
    """`text` without anything a terminal would obey. Line feeds and tabs stay only with `lines`."""
    text = _LINE_ENDS.sub("\n", text)
    if not lines:
        text = text.replace("\n", " ").replace("\t", " ")
    return _UNSAFE.sub(_visible, text) if _UNSAFE.search(text) else text


def _visible(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return "\ufffd"


# --- columns
# ----------------------------------------------------------------------------------------------------


def columns(text: str) -> int:
    """How many columns `text` (clean, one line) takes."""
    if text.isascii():
        return len(text)
    return sum(map(_columns_of, text))


def _columns_of(char: str) -> int:
    if char.isascii():
        return 1
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def head(text: str, width: int) -> str:
    """The longest start of `text` that fits into `width` columns."""
    if text.isascii():
        return text[:width]
    taken = 0
    for at, char in enumerate(text):
        taken += _columns_of(char)
        if taken > width:
            return text[:at]
    return text


def fit(text: str, width: int) -> str:
    """`text` in at most `width` columns, with an ellipsis where it was cut."""
    if columns(text) <= width:
        return text
    return head(text, max(0, width - 1)).rstrip() + "…" if width > 0 else ""


def pad(text: str, width: int, *, right: bool = False) -> str:
    gap = " " * max(0, width - columns(text))
    return gap + text if right else text + gap


def wrap(text: str, width: int) -> list[str]:
    """`text` broken at spaces into lines of at most `width` columns; a longer word is broken where it must
    be."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        joined = f"{line} {word}" if line else word
        if columns(joined) <= width:
            line = joined
            continue
        if line:
            lines.append(line)
        while columns(word) > width:
            piece = head(word, width) or word[0]
            lines.append(piece)
            word = word[len(piece) :]
        line = word
    return [*lines, line] if line else lines


def table(
    rows: Sequence[Sequence[str]], width: int, *, right: Iterable[int] = (), prose: bool = False
) -> list[list[str]]:
    """Rows of clean cells as lines, the columns two spaces apart, nothing wider than `width`.

    One list of lines a row. Where it is too wide the widest columns are cut, down to LEAST_CELL; with
    `prose` the last column gives way first, and goes on below itself instead of being cut.
    """
    if not rows:
        return []
    numbers = frozenset(right)
    count = len(rows[0])
    widths = [max(columns(row[at]) for row in rows) for at in range(count)]
    over = sum(widths) + 2 * (count - 1) - width
    if prose and over > 0:
        cut = min(over, max(0, widths[-1] - LEAST_PROSE))
        widths[-1] -= cut
        over -= cut
    for at in sorted(range(count - 1 if prose else count), key=lambda at: -widths[at]):
        cut = min(over, max(0, widths[at] - LEAST_CELL))
        if cut > 0:
            widths[at] -= cut
            over -= cut
    return [_row(row, widths, width, numbers, prose) for row in rows]


def _row(
    row: Sequence[str], widths: Sequence[int], width: int, numbers: frozenset[int], prose: bool
) -> list[str]:
    lasts = wrap(row[-1], widths[-1]) if prose else []
    cells = [*row[:-1], lasts[0] if lasts else fit(row[-1], widths[-1])]
    padded = [pad(fit(cell, widths[at]), widths[at], right=at in numbers) for at, cell in enumerate(cells)]
    below = " " * (sum(widths[:-1]) + 2 * (len(widths) - 1))
    return [fit("  ".join(padded).rstrip(), width), *(below + line for line in lasts[1:])]


def size(count: int) -> str:
    """Bytes as people say them, in powers of 1000."""
    value, unit = float(count), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
