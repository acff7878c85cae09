"""The files of a layout on their way to disk: into a new folder, or into one that an earlier export made."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

from consilience.oci import names
from consilience.oci.folders import disk_error
from consilience.protocol import Digest, sha256

__all__ = ["Tree"]

_TEMPORARY = ".tmp-"


class Tree:
    """Blobs and pointers of one layout. In a folder that is in use (`fresh` is False) every file is replaced
    whole, what stands there already is compared, and nothing is removed before `sweep`."""

    def __init__(self, root: Path, *, fresh: bool) -> None:
        self.root = root
        self._fresh = fresh
        self._blobs = root / names.BLOBS
        self._sizes: dict[Digest, int] = {}
        self.written = 0
        try:
            self._blobs.mkdir(parents=True, exist_ok=True)
            (root / names.SIDECAR).mkdir(exist_ok=True)
        except OSError as error:
            raise disk_error(error, "cannot make", root) from error

    @property
    def files(self) -> int:
        return len(self._sizes)

    @property
    def size(self) -> int:
        return sum(self._sizes.values())

    def size_of(self, digest: Digest) -> int:
        return self._sizes[digest]

    def has(self, digest: Digest) -> bool:
        return digest in self._sizes

    def blob(self, data: bytes, digest: Digest | None = None) -> Digest:
        """Put bytes under their digest. Raises StorageError."""
        if digest is None:
            digest = sha256(data)
        if digest in self._sizes:
            return digest
        path: str | Path = f"{self._blobs}/{digest.hex()}"
        try:
            if self._fresh:
                _write(path, data)
                self.written += 1
            elif not _holds(path := Path(path), data):
                self._replace(path, data)
        except OSError as error:
            raise disk_error(error, "cannot write", Path(path)) from error
        self._sizes[digest] = len(data)
        return digest

    def _replace(self, path: Path, data: bytes, *, durably: bool = False) -> None:
        temporary = path.with_name(f"{_TEMPORARY}{path.name}.{os.getpid()}")
        try:
            _write(temporary, data, durably=durably)
            temporary.replace(path)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
        self.written += 1

    def stream(self, fill: Callable[[Callable[[bytes], None]], None]) -> tuple[Digest, int]:
        """Put what `fill` writes, piece by piece, under its digest: digest and size."""
        temporary = self._blobs / f"{_TEMPORARY}layer.{os.getpid()}"
        hashed = hashlib.sha256()
        size = 0
        try:
            with temporary.open("wb") as file:

                def write(data: bytes) -> None:
                    nonlocal size
                    hashed.update(data)
                    size += len(data)
                    file.write(data)

                fill(write)
            digest = Digest(hashed.digest())
            path = self._blobs / digest.hex()
            if self._fresh or not _same_size(path, size) or _hash(path) != digest:
                temporary.replace(path)
                self.written += 1
        except OSError as error:
            raise disk_error(error, "cannot write", temporary) from error
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink()
        self._sizes[digest] = size
        return digest, size

    def forget(self, digest: Digest) -> None:
        """Take back a blob that turned out not to be part of this export."""
        del self._sizes[digest]
        with contextlib.suppress(OSError):
            (self._blobs / digest.hex()).unlink()

    def file(self, name: str, data: bytes | None) -> None:
        """Put a file that has a name of its own; None: it must not be there."""
        path = self.root / name
        if data is None:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
                self.written += 1
        elif not _holds(path, data):
            try:
                self._replace(path, data, durably=True)
            except OSError as error:
                raise disk_error(error, "cannot write", path) from error

    def sweep(self) -> list[str]:
        """Remove every blob that this export did not put here: the names. Raises StorageError."""
        wanted = {digest.hex() for digest in self._sizes}
        removed = []
        try:
            with os.scandir(self._blobs) as entries:
                for entry in entries:
                    if entry.name not in wanted:
                        os.unlink(entry.path)  # noqa: PTH108
                        removed.append(entry.name)
        except OSError as error:
            raise disk_error(error, "cannot remove what is no longer part of", self.root) from error
        return removed


def _write(path: str | Path, data: bytes, *, durably: bool = False) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(handle, rest) :]
        if durably:
            os.fsync(handle)
    finally:
        os.close(handle)


def _same_size(path: Path, size: int) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size == size


def _holds(path: Path, data: bytes) -> bool:
    if not _same_size(path, len(data)):
        return False
    try:
        return path.read_bytes() == data
    except OSError:
        return False


def _hash(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
