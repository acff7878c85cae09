"""Reading a layout's folder: nothing is followed out of it, nothing is believed before it is hashed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from consilience.errors import FormatError, IntegrityError, NotFoundError
from consilience.oci import names
from consilience.oci.documents import check_layout
from consilience.oci.folders import disk_error
from consilience.protocol import Digest, format_digest

__all__ = ["Layout", "Spool"]

_CHUNK = 1 << 20
_NAME = 64
_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)


class Layout:
    """An OCI image layout. `checked`: bytes hashed so far."""

    def __init__(self, root: Path) -> None:
        """Raises NotFoundError for what is no layout, FormatError for one of another version."""
        self.root = root
        self._blobs = str(root / names.BLOBS)
        self.checked = 0
        self._hashed: set[str] = set()
        if not root.is_dir():
            what = "is a file, not a folder" if root.exists() else "does not exist"
            raise NotFoundError(f"{root} {what}", hint="name the folder of an OCI image layout")
        for name in (names.BLOBS.split("/")[0], names.BLOBS, names.SIDECAR):
            self._real_folder(name)
        marker = self.small(names.LAYOUT_FILE)
        if marker is None or not (root / names.BLOBS).is_dir():
            lacking = names.LAYOUT_FILE if marker is None else names.BLOBS
            raise NotFoundError(
                f"{root} is not an OCI image layout: there is no {lacking}",
                hint="name a folder that `export` made, or a brain of pyboltzmann",
            )
        check_layout(marker)

    def _real_folder(self, name: str) -> None:
        path = self.root / name
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISDIR(_lstat(path).st_mode):
                raise FormatError(f"{path} is {_kind(path)}, not a folder")

    def small(self, name: str) -> bytes | None:
        """A file that has a name of its own; None where there is none. Raises FormatError for one beyond 16 MiB."""
        path = self.root / name
        return self._read(path, names.MOST_JSON, name)

    def blob(self, digest: Digest, most: int, what: str) -> bytes | None:
        """A blob, hashed; None where there is none. Raises IntegrityError, FormatError for one beyond `most`."""
        name = digest.hex()
        data = self._quickly(name, most)
        if data is None:
            data = self._read(self._path(digest), most, what)
        if data is None:
            return None
        if hashlib.sha256(data).digest() != digest:
            raise _differs(digest, what)
        self._note(name, len(data))
        return data

    def _quickly(self, name: str, most: int) -> bytes | None:
        """A small blob in four calls of the system; None for whatever is out of the ordinary."""
        try:
            handle = os.open(f"{self._blobs}/{name}", _FLAGS)
        except OSError:
            return None
        try:
            found = os.fstat(handle)
            size = found.st_size
            if not stat.S_ISREG(found.st_mode) or size > min(most, _CHUNK):
                return None
            data = os.read(handle, size + 1)
            return data if len(data) == size else None
        except OSError:
            return None
        finally:
            os.close(handle)

    def size(self, digest: Digest) -> int | None:
        """The bytes of a blob; None where there is none."""
        try:
            return _lstat(self._path(digest)).st_size
        except FileNotFoundError:
            return None

    @contextlib.contextmanager
    def opened(self, digest: Digest, what: str) -> Iterator[BufferedReader]:
        """A blob that is read as a stream, after it was hashed as one. Raises IntegrityError."""
        with _opened(self._path(digest), what) as file:
            if hashlib.file_digest(file, "sha256").digest() != digest:
                raise _differs(digest, what)
            self._note(digest.hex(), file.tell())
            file.seek(0)
            yield file

    def others(self) -> Iterator[str]:
        """Hash every blob that was not asked for; their names. Raises FormatError for what is no blob."""
        folder = self.root / names.BLOBS
        try:
            with os.scandir(folder) as entries:
                found = sorted(entry.name for entry in entries)
        except OSError as error:
            raise disk_error(error, "cannot read", folder) from error
        for name in found:
            if name in self._hashed or name.startswith("."):
                continue
            path = folder / name
            if len(name) != _NAME or any(c not in "0123456789abcdef" for c in name):
                raise FormatError(f"{names.BLOBS}/{name[:80]} is not the name of a blob")
            digest = Digest(bytes.fromhex(name))
            with self.opened(digest, f"the blob {format_digest(digest)}"):
                yield path.name

    def _path(self, digest: Digest) -> Path:
        return self.root / names.BLOBS / digest.hex()

    def _note(self, name: str, size: int) -> None:
        if name not in self._hashed:
            self._hashed.add(name)
            self.checked += size

    def _read(self, path: Path, most: int, what: str) -> bytes | None:
        try:
            with _opened(path, what) as file:
                size = os.fstat(file.fileno()).st_size
                if size > most:
                    raise FormatError(f"{what} has {size:,} bytes, more than {most:,}: {path}")
                return file.read(most + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise disk_error(error, "cannot read", path) from error


def _lstat(path: Path) -> os.stat_result:
    try:
        return path.lstat()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise disk_error(error, "cannot read", path) from error


@contextlib.contextmanager
def _opened(path: Path, what: str) -> Iterator[BufferedReader]:
    """A regular file, opened without following a link. FileNotFoundError where there is none."""
    try:
        handle = os.open(path, _FLAGS)
    except FileNotFoundError:
        raise
    except OSError as error:
        if path.is_symlink():
            raise FormatError(f"{what} is a symbolic link, which is not followed: {path}") from error
        raise disk_error(error, "cannot read", path) from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise FormatError(f"{what} is {_kind(path)}, not a file: {path}")
    with os.fdopen(handle, "rb") as file:
        try:
            yield file
        except OSError as error:
            raise disk_error(error, "cannot read", path) from error


def _kind(path: Path) -> str:
    mode = path.lstat().st_mode
    for test, kind in (
        (stat.S_ISLNK, "a symbolic link"),
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISREG, "a file"),
        (stat.S_ISFIFO, "a pipe"),
    ):
        if test(mode):
            return kind
    return "a device"


def _differs(digest: Digest, what: str) -> IntegrityError:
    return IntegrityError(
        f"{what}: the bytes of {names.BLOBS}/{digest.hex()} do not hash to that name",
        hint="copy the layout again from where it came",
    )


class Spool:
    """Byte strings by digest in one unnamed temporary file: it is gone with the process, whatever happens."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places: dict[bytes, tuple[int, int]] = {}
        self._end = 0
        self._at_end = False
        try:
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        except OSError as error:
            raise disk_error(error, "cannot write in", folder) from error

    def __contains__(self, digest: bytes) -> bool:
        return digest in self._places

    def size(self, digest: bytes) -> int:
        return self._places[digest][1]

    def add(self, digest: bytes, chunks: Iterator[bytes] | tuple[bytes, ...]) -> bytes:
        """Append; returns what the bytes hash to. A digest that they do not hash to is not kept."""
        hashed = hashlib.sha256()
        size = 0
        try:
            if not self._at_end:
                self._file.seek(self._end)
            self._at_end = True
            for chunk in chunks:
                hashed.update(chunk)
                size += len(chunk)
                self._file.write(chunk)
        except OSError as error:
            raise disk_error(error, "cannot unpack into", self._folder) from error
        if hashed.digest() == digest:
            self._places[digest] = (self._end, size)
            self._end += size
        else:
            self._at_end = False
        return hashed.digest()

    def read(self, digest: bytes) -> bytes:
        at, size = self._places[digest]
        try:
            self._at_end = False
            self._file.seek(at)
            return self._file.read(size)
        except OSError as error:
            raise disk_error(error, "cannot read what was unpacked into", self._folder) from error

    def close(self) -> None:
        with contextlib.suppress(OSError):  # it writes what nobody needs any more
            self._file.close()
