"""One sync of a brain at a time: a lock that the system drops with the process that holds it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from consilience.errors import BusyError, StorageError

NAME = "sources.lock"
TIMEOUT_S = 30.0
_STEP_S = 0.1


@contextlib.contextmanager
def locked(
    brain: Path, waiting: Callable[[float], None] | None, *, only_look: bool = False
) -> Iterator[None]:
    """Hold the lock of the brain in a folder; nothing is locked where one only looks.

    With `waiting`, which is told the seconds so far, waits as long as it takes; without, BusyError after 30 s.
    """
    if only_look:
        yield
        return
    try:
        import fcntl
    except ImportError:  # Windows: each commit has the store's own lock
        yield
        return
    path = brain / "derived" / NAME
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from None
    try:
        started = time.monotonic()
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                waited = time.monotonic() - started
                if waiting is not None:
                    waiting(waited)
                elif waited > TIMEOUT_S:
                    raise BusyError(
                        f"another process keeps the brain in {brain} in step with its sources",
                        hint="try again",
                    ) from None
                time.sleep(_STEP_S)
            except OSError:  # a file system without locks
                break
        yield
    finally:
        os.close(handle)
