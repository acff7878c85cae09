"""Which bytes of an SQLite database nobody reads, by walking its pages (https://www.sqlite.org/fileformat2.html)."""

from __future__ import annotations

import sqlite3
from pathlib import Path

PAGE = 4096
INDEX_INTERIOR, TABLE_INTERIOR, INDEX_LEAF, TABLE_LEAF = 2, 5, 10, 13


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A value and where it ends."""
    value = 0
    for i in range(8):
        byte = data[at + i]
        value = value << 7 | byte & 0x7F
        if not byte & 0x80:
            return value, at + i + 1
    return value << 8 | data[at + 8], at + 9


class Pages:
    """A database at rest. `used[offset]` is 1 where a byte belongs to a header, a pointer or a cell."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        self.used = bytearray(len(self.data))
        raw = sqlite3.connect(path)
        roots = [row[0] for row in raw.execute("SELECT rootpage FROM sqlite_master WHERE rootpage > 0")]
        raw.close()
        self._mark(0, 100)
        for root in (1, *roots):
            self._tree(root)
        self._free_list()

    def _mark(self, at: int, length: int) -> None:
        self.used[at : at + length] = b"\1" * length

    def _number(self, at: int, length: int) -> int:
        return int.from_bytes(self.data[at : at + length], "big")

    def _tree(self, page: int) -> None:
        base = (page - 1) * PAGE
        at = base + (100 if page == 1 else 0)
        kind, cells = self.data[at], self._number(at + 3, 2)
        interior = kind in (INDEX_INTERIOR, TABLE_INTERIOR)
        size = 12 if interior else 8
        self._mark(at, size + 2 * cells)
        free = self._number(at + 1, 2)
        while free:
            self._mark(base + free, 4)
            free = self._number(base + free, 2)
        for i in range(cells):
            self._cell(kind, base + self._number(at + size + 2 * i, 2))
        if interior:
            self._tree(self._number(at + 8, 4))

    def _cell(self, kind: int, at: int) -> None:
        start = at
        if kind in (INDEX_INTERIOR, TABLE_INTERIOR):
            self._tree(self._number(at, 4))
            at += 4
        if kind == TABLE_INTERIOR:
            _, at = varint(self.data, at)
            self._mark(start, at - start)
            return
        payload, at = varint(self.data, at)
        if kind == TABLE_LEAF:
            _, at = varint(self.data, at)
        most = PAGE - 35 if kind == TABLE_LEAF else (PAGE - 12) * 64 // 255 - 23
        if payload <= most:
            self._mark(start, max(4, at + payload - start))
            return
        least = (PAGE - 12) * 32 // 255 - 23
        local = least + (payload - least) % (PAGE - 4)
        local = local if local <= most else least
        self._mark(start, at + local + 4 - start)
        self._overflow(self._number(at + local, 4), payload - local)

    def _overflow(self, page: int, left: int) -> None:
        while left > 0:
            base = (page - 1) * PAGE
            here = min(left, PAGE - 4)
            self._mark(base, 4 + here)
            left -= here
            page = self._number(base, 4)

    def _free_list(self) -> None:
        trunk = self._number(32, 4)
        while trunk:
            base = (trunk - 1) * PAGE
            self._mark(base, 8 + 4 * self._number(base + 4, 4))
            trunk = self._number(base, 4)
