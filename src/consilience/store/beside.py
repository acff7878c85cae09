"""Reading a file of a SQLite database that SQLite may have open too.

POSIX drops every lock that a process has on a file as soon as any descriptor of that file is closed (fcntl(2)). SQLite
would not notice; the next writer of another process would, and remove the log under it, and commits would be lost
(docs/decisions/0149). So a descriptor that was opened here is kept, one for each file, until the file
has no name any more.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Final

__all__ = ["read_beside"]

_kept: Final[dict[tuple[int, int], int]] = {}
_lock: Final = threading.Lock()


def read_beside(path: Path, size: int) -> bytes:
    """The first bytes of a file, at most `size`, without touching the locks of this process. Raises OSError."""
    if os.name != "posix":
        with path.open("rb") as file:
            return file.read(size)
    with _lock:
        _let_go()
        status = path.stat()
        descriptor = _kept.get((status.st_dev, status.st_ino))
        if descriptor is None:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            status = os.fstat(
                descriptor
            )  # another file may have taken the name; a descriptor more is none too many
            _kept[status.st_dev, status.st_ino] = descriptor
        return os.pread(descriptor, size, 0)


def _let_go() -> None:
    """Close what nobody can open any more."""
    for key, descriptor in list(_kept.items()):
        try:
            if os.fstat(descriptor).st_nlink:
                continue
            os.close(descriptor)
        except OSError:  # somebody closed it who closes everything
            pass
        del _kept[key]
