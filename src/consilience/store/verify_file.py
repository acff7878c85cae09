"""What of brain.db no statement shows: the fields of its header, and the write-ahead log.

SQLite takes a log as ending where a frame is damaged, silently: commits behind it are gone. So its checksums are
computed here, as SQLite's file format description says (sections 1.3 and 4). Two fields of the header mean nothing to
a reader and are not looked at: the schema cookie, and which version of SQLite wrote last.
"""

from __future__ import annotations

import contextlib
import struct
from pathlib import Path
from typing import Final, NamedTuple

from consilience.store.beside import read_beside
from consilience.store.schema import APPLICATION_ID, FORMAT

__all__ = ["HEADER_WITHOUT_MEANING", "file_problems", "log_problems"]

PAGE: Final = 4096
HEADER_WITHOUT_MEANING: Final = (range(40, 44), range(96, 100))
"""Bytes of the header in which any value is right: schema cookie, version of SQLite."""

_FIXED: Final = {
    (16, 2): PAGE,
    (18, 1): 2,
    (19, 1): 2,
    (20, 1): 0,
    (21, 1): 64,
    (22, 1): 32,
    (23, 1): 32,
    (44, 4): 4,
    (48, 4): 0,
    (52, 4): 0,
    (56, 4): 1,
    (60, 4): FORMAT,
    (64, 4): 0,
    (68, 4): APPLICATION_ID,
    (72, 20): 0,
}
"""Offset and length of the fields of the header that are the same in every brain.db, and what they hold."""

_LOG_HEADER, _FRAME_HEADER = struct.Struct(">8I"), struct.Struct(">6I")
_LOG_MAGIC: Final = 0x377F0682
_INDEX = struct.Struct("=3I2BH8I")
TRIES: Final = 3
"""How often a finding has to come again: a writer may be at work while the files are read."""


def log_problems(database: Path) -> list[str]:
    """What is wrong with the log of any SQLite database."""
    log = database.with_name(database.name + "-wal")
    with contextlib.suppress(OSError):
        if log.stat().st_size > 0:
            return _log_problems(log, _read_index(database))
    return []


def file_problems(database: Path) -> list[str]:
    """What is wrong with the header of brain.db, its size, and its log. To be asked before SQLite opens the file,
    which makes the log's index anew. Files that cannot be read are left to SQLite."""
    found: list[str] = []
    for _ in range(TRIES):
        found = []
        with contextlib.suppress(OSError):
            log = database.with_name(database.name + "-wal")
            found += _header_problems(database, alone=not log.exists() or log.stat().st_size == 0)
            found += log_problems(database)
        if not found:
            break
    return found


def _header_problems(database: Path, *, alone: bool) -> list[str]:
    header, size = read_beside(database, 100), database.stat().st_size
    if len(header) < 100:
        return []
    number = {at: int.from_bytes(header[at : at + 4], "big") for at in (24, 28, 92)}
    found = [
        f"the header of {database.name} is damaged at byte {at}"
        for (at, length), value in _FIXED.items()
        if int.from_bytes(header[at : at + length], "big") != value
    ]
    if number[24] != number[92]:
        found.append(f"the header of {database.name} is damaged: its change counters differ")
    elif alone and size != number[28] * PAGE:
        found.append(f"{database.name} has {size:,} bytes, its header says {number[28] * PAGE:,}")
    return found


class _Index(NamedTuple):
    """What the index of the log (brain.db-shm) says: frames that were committed, under these salts."""

    frames: int
    salts: tuple[int, int]


def _read_index(database: Path) -> _Index | None:
    with contextlib.suppress(OSError, struct.error):
        data = read_beside(database.with_name(database.name + "-shm"), 2 * _INDEX.size)
        _, _, _, begun, _, _, frames, _, _, _, salt_1, salt_2, *_ = _INDEX.unpack_from(data)
        if begun and data[: _INDEX.size] == data[_INDEX.size :]:
            raw = struct.pack("=2I", salt_1, salt_2)
            big = struct.unpack(">2I", raw)
            return _Index(frames, (big[0], big[1]))
    return None


def _log_problems(log: Path, index: _Index | None) -> list[str]:
    data = log.read_bytes()
    if len(data) <= _LOG_HEADER.size:
        return []
    magic, version, page, _, salt_1, salt_2, *checksum = _LOG_HEADER.unpack_from(data)
    big = magic & 1
    sums = _checksum(data[:24], 0, 0, big=bool(big))
    if magic & ~1 != _LOG_MAGIC or version != 3007000 or page != PAGE or list(sums) != checksum:
        return [f"the header of {log.name} is damaged: commits that are in it alone cannot be read"]
    salts = (salt_1, salt_2)
    size = _FRAME_HEADER.size + PAGE
    sound, at = 0, _LOG_HEADER.size
    while at + size <= len(data):
        _, _, frame_1, frame_2, *checksum = _FRAME_HEADER.unpack_from(data, at)
        if (frame_1, frame_2) != salts:
            break
        sums = _checksum(data[at : at + 8], *sums, big=bool(big))
        sums = _checksum(data[at + _FRAME_HEADER.size : at + size], *sums, big=bool(big))
        if list(sums) != checksum:
            break
        sound, at = sound + 1, at + size
    if index is not None and index.salts == salts:
        lost = index.frames > sound
    else:
        lost = _commits_behind(data, at, size, salts)
    return (
        [f"{log.name} is damaged at byte {at:,}: what was committed from there on cannot be read"]
        if lost
        else []
    )


def _commits_behind(data: bytes, at: int, size: int, salts: tuple[int, int]) -> bool:
    """Whether a frame from `at` on ended a transaction under these salts (one of the two may be damaged).

    A process that was killed while it wrote leaves frames that end none.
    """
    while at + size <= len(data):
        _, pages, *found = _FRAME_HEADER.unpack_from(data, at)
        if pages and (found[0] == salts[0] or found[1] == salts[1]):
            return True
        at += size
    return False


def _checksum(data: bytes, first: int, second: int, *, big: bool) -> tuple[int, int]:
    words = struct.unpack(f"{'>' if big else '<'}{len(data) // 4}I", data)
    for i in range(0, len(words), 2):
        first = (first + words[i] + second) & 0xFFFFFFFF
        second = (second + words[i + 1] + first) & 0xFFFFFFFF
    return first, second
