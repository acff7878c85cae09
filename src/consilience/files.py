"""Writing a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from consilience.errors import StorageError


def write_atomically(path: Path, data: bytes) -> None:
    """Put `data` at `path` by temporary file, fsync and rename. Raises StorageError; the old file stays then.

    The temporary file's name holds the process, so that the next writer of `path` removes what a killed one left.
    """
    temporary: str | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        discard_abandoned(path.parent, f".{path.name}.")
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.{os.getpid()}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
        sync_folder(path.parent)
    except OSError as error:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()
        raise StorageError(
            f"cannot write {path}: {error.strerror or error}", hint="free space, or make the folder writable"
        ) from error


_SEAL = ',"crc32":"%08x"}'
_SEALED = re.compile(rb',"crc32":"([0-9a-f]{8})"\}\Z')


def sealed(document: bytes) -> bytes:
    """A JSON object with members, with one more at its end: the CRC-32 of the bytes before it."""
    body = document[:-1]
    return body + (_SEAL % zlib.crc32(body)).encode("ascii")


def seal_holds(document: bytes) -> bool | None:
    """Whether a sealed document is as it was written; None where it bears no seal."""
    found = _SEALED.search(document)
    return None if found is None else zlib.crc32(document[: found.start()]) == int(found[1], 16)


def abandoned(folder: Path, prefix: str) -> Iterator[Path]:
    """What is named `PREFIX<process id>.*` after processes that are no more, where the system tells (POSIX does)."""
    if os.name != "posix":
        return
    for left in list(folder.iterdir()):
        if not left.name.startswith(prefix):
            continue
        try:
            os.kill(int(left.name.removeprefix(prefix).partition(".")[0]), 0)
        except ProcessLookupError:
            yield left
        except (ValueError, OverflowError, OSError):
            continue


def discard_abandoned(folder: Path, prefix: str) -> None:
    """Remove the files `PREFIX<process id>.*` of processes that are no more, where the system tells (POSIX does).

    What cannot be removed stays.
    """
    for left in abandoned(folder, prefix):
        with contextlib.suppress(OSError):
            left.unlink()


def sync_folder(folder: Path) -> None:
    """Make a rename in a folder durable, where the platform lets a folder be opened (POSIX does)."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
