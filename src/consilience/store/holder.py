"""Who holds the write lock of a brain, as far as the system tells (docs/decisions/0145)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from consilience.store.connection import DATABASE

__all__ = ["Holder", "holder_of"]

_LOCKS: Final = Path("/proc/locks")
_WRITE_LOCK: Final = 120
"""The byte of SQLite's shared memory file that whoever writes has locked (its WAL format, section 2.3.1)."""

_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that writes. `command` is its command line, shortened; "" where it may not be read."""

    pid: int
    command: str

    def __str__(self) -> str:
        if self.pid == os.getpid():
            return "this very process"
        return f"process {self.pid}" + (f", `{self.command}`" if self.command else "")


def holder_of(folder: Path) -> Holder | None:
    """The process that writes to the brain in `folder` now; None where nobody does or the system does not say.

    Asks the kernel, so that it never names a process that is no more. Opens nothing: closing SQLite's file would
    drop the locks that this process has on it.
    """
    try:
        inode = (folder / f"{DATABASE}-shm").stat().st_ino
        listed = _LOCKS.read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    for pid, locked, first, last in _write_locks(listed):
        if locked == inode and first <= _WRITE_LOCK <= last and pid > 0:
            return Holder(pid, _command(pid))
    return None


def _write_locks(listed: str) -> Iterator[tuple[int, int, int, int]]:
    """(process, inode, first byte, last byte) of `1: POSIX ADVISORY WRITE 4711 fe:00:2146344 120 120`."""
    for line in listed.splitlines():
        fields = line.split()
        if len(fields) != 8 or fields[1] != "POSIX" or fields[3] != "WRITE":
            continue  # a waiter's line has `->` as one more field
        try:
            last = 1 << 63 if fields[7] == "EOF" else int(fields[7])
            yield int(fields[4]), int(fields[5].rsplit(":", 1)[1]), int(fields[6]), last
        except (ValueError, IndexError):
            continue


def _command(pid: int) -> str:
    """A process's command line on one line, without the interpreter before a script."""
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ""
    words = raw.decode(errors="replace").rstrip("\0").split("\0")
    if len(words) > 1 and "python" in Path(words[0]).name and not words[1].startswith("-"):
        words = words[1:]
    line = " ".join(" ".join([Path(words[0]).name, *words[1:]]).split())
    shown = "".join(c if c.isprintable() else "?" for c in line).replace("`", "'")
    return shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1].rstrip() + "…"
