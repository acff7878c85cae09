"""The names in a zip archive, from its central directory and without opening it: bounded, whatever the bytes say.

Layout: APPNOTE.TXT 6.3.10, sections 4.3.12 and 4.3.16.
"""

from __future__ import annotations

import struct

MAX_NAMES = 4096
_END = b"PK\x05\x06"
_ENTRY = b"PK\x01\x02"
_LONGEST_COMMENT = 0xFFFF + 22


def names_in(data: bytes) -> frozenset[bytes]:
    """The first MAX_NAMES names; empty where there is no central directory (truncated, split, no zip)."""
    end = data.rfind(_END, max(0, len(data) - _LONGEST_COMMENT))
    if end < 0 or end + 22 > len(data):
        return frozenset()
    size, offset = struct.unpack_from("<II", data, end + 12)
    at = end - size if end - size >= 0 and data.startswith(_ENTRY, end - size) else offset
    names: set[bytes] = set()
    for _ in range(MAX_NAMES):
        if not data.startswith(_ENTRY, at) or at + 46 > len(data):
            break
        name, extra, comment = struct.unpack_from("<HHH", data, at + 28)
        names.add(data[at + 46 : at + 46 + name])
        at += 46 + name + extra + comment
    return frozenset(names)


def first_member(data: bytes) -> tuple[bytes, bytes]:
    """Name and stored bytes (at most 128) of the member that stands first, as `mimetype` does in EPUB and ODF."""
    if len(data) < 30 or not data.startswith(b"PK\x03\x04"):
        return b"", b""
    method = struct.unpack_from("<H", data, 8)[0]
    size, _, name, extra = struct.unpack_from("<IIHH", data, 18)
    start = 30 + name + extra
    stored = data[start : start + min(size, 128)] if method == 0 else b""
    return data[30 : 30 + name], stored
