"""Folders that appear whole or not at all: made beside their place under a hidden name, then renamed."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

from consilience.errors import ConflictError, StorageError
from consilience.files import abandoned

__all__ = ["beside", "disk_error", "publish"]


def disk_error(error: OSError, doing: str, path: Path) -> StorageError:
    return StorageError(
        f"{doing} {path}: {error.strerror or error}", hint="check the disk, its space and its permissions"
    )


@contextlib.contextmanager
def beside(target: Path, doing: str) -> Iterator[Path]:
    """A new folder `.NAME.DOING.PID.THREAD` beside `target`, removed at the end unless it was renamed.

    Removes what killed processes left there under such a name. Raises StorageError.
    """
    stem = f".{target.name}.{doing}."
    temporary = target.parent / f"{stem}{os.getpid()}.{threading.get_ident()}"
    made = [folder for folder in target.parents if not folder.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(PermissionError):
            for left in abandoned(target.parent, stem):
                shutil.rmtree(left, ignore_errors=True)
        temporary.mkdir()
    except OSError as error:
        raise disk_error(error, "cannot make", temporary) from error
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        with contextlib.suppress(OSError):
            for folder in made:
                folder.rmdir()


def publish(temporary: Path, target: Path) -> None:
    """Give a finished folder its name; an empty folder may have it.

    Raises ConflictError where something else has it by now, StorageError.
    """
    try:
        temporary.rename(target)
        if os.name == "posix":
            handle = os.open(target.parent, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise ConflictError(
                f"{target} was made by another process meanwhile", hint="run the command again"
            ) from error
        raise disk_error(error, "cannot make", target) from error
