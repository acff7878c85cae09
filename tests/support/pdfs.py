"""Minimal PDFs with the fonts that every viewer has, for the tests of the reader. Text is placed by its baseline."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from itertools import cycle

FONTS = ("Helvetica", "Helvetica-Bold", "Courier")
_PAD = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")


@dataclass
class Page:
    """Draws on one page of 612 by 792 points."""

    drawn: list[str] = field(default_factory=list)
    rotate: int = 0
    picture: bool = False

    def text(
        self, x: float, y: float, text: str, size: float = 10, font: int = 0, *, up: bool = False
    ) -> Page:
        """`font` is an index of FONTS; `up` turns the text to run upwards."""
        data = (
            text.encode("cp1252", "replace")
            .replace(b"\\", b"\\\\")
            .replace(b"(", b"\\(")
            .replace(b")", b"\\)")
        )
        turned = "0 1 -1 0" if up else "1 0 0 1"
        shown = data.decode("latin-1")
        self.drawn.append(f"BT /F{font} {size} Tf {turned} {x} {y} Tm ({shown}) Tj ET")
        return self

    def lines(
        self, x: float, y: float, *lines: str, size: float = 10, font: int = 0, lead: float = 12
    ) -> Page:
        for n, line in enumerate(lines):
            self.text(x, y - n * lead, line, size, font)
        return self


def pdf(*pages: Page, title: str = "", created: str = "", password: bytes | None = None) -> bytes:
    """A file of these pages; with a `password`, encrypted by the standard handler, revision 2 (40 bit RC4)."""
    objects: dict[int, bytes] = {}
    first = 10
    kids = " ".join(f"{first + 2 * n} 0 R" for n in range(len(pages)))
    fonts = " ".join(f"/F{n} {4 + n} 0 R" for n in range(len(FONTS)))
    objects[1] = b"<< /Type /Catalog /Pages 2 0 R >>"
    objects[2] = f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode()
    objects[3] = f"<< /Title ({title}) /CreationDate ({created}) >>".encode()
    for n, name in enumerate(FONTS):
        font = f"<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>"
        objects[4 + n] = font.encode()
    objects[8] = stream(
        b"\x80" * 100,
        "/Type /XObject /Subtype /Image /Width 10 /Height 10 /BitsPerComponent 8 /ColorSpace /DeviceGray",
    )
    for n, page in enumerate(pages):
        drawn = "\n".join([*page.drawn, *(["q 612 0 0 792 0 0 cm /Im0 Do Q"] if page.picture else [])])
        content = first + 2 * n + 1
        resources = f"<< /Font << {fonts} >> /XObject << /Im0 8 0 R >> >>"
        objects[first + 2 * n] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Rotate {page.rotate} "
            f"/Resources {resources} /Contents {content} 0 R >>"
        ).encode()
        objects[content] = stream(drawn.encode("latin-1"))
    trailer = "/Root 1 0 R /Info 3 0 R"
    if password is not None:
        number = b"0123456789abcdef"
        owner = _rc4(hashlib.md5(_padded(password)).digest()[:5], _padded(password))
        key = hashlib.md5(_padded(password) + owner + b"\xfc\xff\xff\xff" + number).digest()[:5]
        objects[9] = (
            f"<< /Filter /Standard /V 1 /R 2 /P -4 /O <{owner.hex()}> /U <{_rc4(key, _PAD).hex()}> >>"
        ).encode()
        trailer += f" /Encrypt 9 0 R /ID [<{number.hex()}> <{number.hex()}>]"
    return _written(objects, trailer)


def stream(data: bytes, more: str = "") -> bytes:
    return f"<< /Length {len(data)} {more} >>\nstream\n".encode() + data + b"\nendstream"


def _written(objects: dict[int, bytes], trailer: str) -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    places = {}
    for number, data in sorted(objects.items()):
        places[number] = len(out)
        out += f"{number} 0 obj\n".encode() + data + b"\nendobj\n"
    start = len(out)
    size = max(objects) + 1
    out += f"xref\n0 {size}\n".encode()
    for number in range(size):
        out += b"%010d %05d %c \n" % (
            places.get(number, 0),
            0 if number in places else 65535,
            b"n" if number in places else b"f",
        )
    out += f"trailer\n<< /Size {size} {trailer} >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)


def _padded(password: bytes) -> bytes:
    return (password + _PAD)[:32]


def _rc4(key: bytes, data: bytes) -> bytes:
    state = list(range(256))
    j = 0
    for i, k in zip(range(256), cycle(key)):
        j = (j + state[i] + k) % 256
        state[i], state[j] = state[j], state[i]
    out = bytearray()
    i = j = 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)
