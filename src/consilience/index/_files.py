"""Files of the derived indices: atomic replacement, a writer's lock, the errors all indices share."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
from pathlib import Path
from typing import TypeVar

import msgspec

from consilience.errors import BusyError, IndexUnusableError, StorageError
from consilience.files import seal_holds, sealed

T = TypeVar("T")


def unusable(path: Path, why: str) -> IndexUnusableError:
    return IndexUnusableError(
        f"the index at {path} cannot be used: {why}", hint="delete it, or run `index`: it is rebuilt"
    )


def storage_error(path: Path, error: Exception) -> StorageError:
    """`cannot write the index at /x: No space left on device`, also where tantivy says it at length."""
    if isinstance(error, OSError) and error.strerror:
        reason = error.strerror
    else:
        system = re.search(r"\bos error (\d+)|\bcode: (\d+)", str(error))
        reason = os.strerror(int(system[1] or system[2])) if system else str(error)
    return StorageError(f"cannot write the index at {path}: {reason}", hint="check space and permissions")


def fsync_directory(path: Path) -> None:
    """Make a rename in `path` durable, where the platform can open a directory (not on Windows)."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def replace_json(path: Path, value: msgspec.Struct) -> None:
    """Write `value` as sealed JSON beside `path`, then rename it over `path`. Raises StorageError."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        with temporary.open("wb") as file:
            file.write(sealed(msgspec.json.encode(value)))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        fsync_directory(path.parent)
    except OSError as error:
        raise storage_error(path, error) from error


def read_json(path: Path, kind: type[T]) -> T | None:
    """The value in `path`; None where there is no such file. Raises IndexUnusableError."""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise unusable(path, f"unreadable ({error.strerror or error})") from error
    if seal_holds(data) is False:
        raise unusable(path, "its checksum does not hold")
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, ValueError) as error:
        raise unusable(path, f"not the state that this version writes ({error})") from error


def remove_tree(path: Path) -> None:
    """Remove an index. Raises StorageError; that it is not there is fine."""
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise storage_error(path, error) from error


class WriterLock:
    """An advisory lock on one file, held by one process at a time and released by the system when it dies."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab")
        except OSError as error:
            raise storage_error(path, error) from error
        try:
            self._lock()
        except OSError as error:
            self._file.close()
            raise BusyError(
                f"another process is writing the index at {path.parent}", hint="try again in a moment"
            ) from error

    def _lock(self) -> None:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(self._file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(self._file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)

    def release(self) -> None:
        self._file.close()
