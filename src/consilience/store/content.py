"""Originals too large for the database: `content/ab/<64 hex>`, named by the digest of the original bytes.

A file that holds them compressed ends in `.zst`; one without holds the original itself. Files are complete
before the transaction that names them commits; temporary ones live in `content/tmp`, which belongs to whoever
holds the write lock.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from consilience.errors import StorageError
from consilience.files import sync_folder
from consilience.protocol import Digest
from consilience.store.codec import ZSTD
from consilience.store.connection import storage_error

__all__ = ["INLINE_LIMIT", "discard_temporary", "file_for", "list_files", "read_file", "write_file"]

INLINE_LIMIT: Final = 1 << 20
"""Stored bytes up to which an original is kept inside brain.db."""

_TEMPORARY = "tmp"


def file_for(folder: Path, digest: bytes, enc: int) -> Path:
    """Where an original of this digest and encoding lies under a `content` folder."""
    name = digest.hex()
    return folder / name[:2] / (name + ".zst" if enc == ZSTD else name)


def write_file(folder: Path, digest: Digest, enc: int, stored: bytes) -> None:
    """Write an original durably: temporary file, fsync, rename, fsync of the folders. Raises StorageError."""
    target = file_for(folder, digest, enc)
    temporary = folder / _TEMPORARY / target.name
    try:
        for made in (folder, temporary.parent, target.parent):
            made.mkdir(exist_ok=True)
        with temporary.open("wb") as file:
            file.write(stored)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
        for made in (target.parent, folder, folder.parent):
            sync_folder(made)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise storage_error(error, "cannot write", target) from error


def read_file(folder: Path, digest: bytes, enc: int) -> bytes:
    """The stored bytes of an original. Raises StorageError where the file is gone or unreadable."""
    path = file_for(folder, digest, enc)
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise StorageError(
            f"{path} is gone", hint="restore it from a copy, or ingest the original again"
        ) from error
    except OSError as error:
        raise storage_error(error, "cannot read", path) from error


def discard_temporary(folder: Path) -> None:
    """Remove what a killed writer left half written. Only for the holder of the write lock."""
    with contextlib.suppress(OSError):
        for path in (folder / _TEMPORARY).iterdir():
            path.unlink()


def list_files(folder: Path) -> Iterator[Path]:
    """Every stored original's path, in no order; nothing where there is no folder."""
    with contextlib.suppress(OSError):
        for part in folder.iterdir():
            if part.name != _TEMPORARY and part.is_dir():
                yield from part.iterdir()
