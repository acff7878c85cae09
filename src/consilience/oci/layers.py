"""Layers: gzip (RFC 1952) of a POSIX ustar archive, written and read as a stream of bounded memory.

Only what the format uses: regular files with short names. Whatever else a tar can hold (links, devices, long
names, sparse files) is refused by its name, and no entry is ever written where its name says.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final

from consilience.errors import FormatError, IntegrityError
from consilience.oci.names import EXPANSION, EXPANSION_CAP, EXPANSION_FLOOR

__all__ = ["LEVEL", "LayerReader", "LayerWriter", "TarEntry", "allowed_expansion"]

LEVEL: Final = 4
_RECORD = 512
_CHUNK = 1 << 18
_GZIP = 31
"""zlib's window bits for a gzip frame. Its header has no name and no time."""
_UNUSED = ((100, 108), (108, 116), (116, 124), (136, 148), (329, 337), (337, 345))
"""Mode, owner, group, time and device in a header. Where one is no number, other readers take the archive to end."""
_KINDS = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a character device",
    b"4": "a block device",
    b"5": "a folder",
    b"6": "a pipe",
    b"S": "a sparse file",
    b"K": "a long link name",
    b"L": "a long name",
    b"x": "an extended header",
    b"g": "a global header",
}


def allowed_expansion(compressed: int) -> int:
    """The most bytes that a layer of this size may expand to."""
    return min(max(EXPANSION * compressed, EXPANSION_FLOOR), EXPANSION_CAP)


# --- writing ------------------------------------------------------------------------------------------------


_MODE = b"0000644\0" + b"0000000\0" * 2
_TIME = b"00000000000\0"
_END = b"0".ljust(101, b"\0") + b"ustar\x0000" + b"\0" * 64 + b"0000000\0" * 2 + b"\0" * 167
_SUM = sum(_MODE) + sum(_TIME) + sum(_END) + 8 * 32


def _header(name: str, size: int) -> bytes:
    """A ustar header: regular file, mode 0644, owner 0, time 0."""
    path, length = name.encode("ascii"), b"%011o\0" % size
    checksum = b"%06o\0 " % (_SUM + sum(path) + sum(length))
    return b"".join((path.ljust(100, b"\0"), _MODE, length, _TIME, checksum, _END))


class LayerWriter:
    """Entries into a gzipped tar; the same entries give the same bytes."""

    def __init__(self, write: Callable[[bytes], object], *, level: int = LEVEL) -> None:
        self._write = write
        self._deflate = zlib.compressobj(level, zlib.DEFLATED, _GZIP)
        self.expanded = 0

    def add(self, name: str, data: bytes) -> None:
        self._put(b"".join((_header(name, len(data)), data, b"\0" * (-len(data) % _RECORD))))

    def finish(self) -> None:
        self._put(b"\0" * (2 * _RECORD))
        self._write(self._deflate.flush())

    def _put(self, data: bytes) -> None:
        self.expanded += len(data)
        if out := self._deflate.compress(data):
            self._write(out)


# --- reading ------------------------------------------------------------------------------------------------


class TarEntry:
    """One entry: its name, its size, and its bytes, which are read once and at once."""

    __slots__ = ("_read", "name", "size")

    def __init__(self, name: str, size: int, read: Callable[[int], bytes]) -> None:
        self.name = name
        self.size = size
        self._read = read

    def data(self, most: int) -> bytes:
        """The bytes. Raises FormatError for more than `most`."""
        if self.size > most:
            raise FormatError(f"the entry {self.name} has {self.size:,} bytes, more than {most:,}")
        return self._read(self.size)

    def chunks(self) -> Iterator[bytes]:
        left = self.size
        while left:
            part = self._read(min(left, _CHUNK))
            left -= len(part)
            yield part


class LayerReader:
    """The entries of a gzipped tar of `compressed` bytes. `what` names the layer in errors."""

    def __init__(self, file: BinaryIO, compressed: int, what: str) -> None:
        self._file = file
        self._what = what
        self._limit = allowed_expansion(compressed)
        self._compressed = compressed
        self._inflate = zlib.decompressobj(_GZIP)
        self._buffer = b""
        self._at = 0
        self._expanded = 0
        self._names: set[str] = set()

    def __iter__(self) -> Iterator[TarEntry]:
        """Each entry, to be read before the next is asked for; a rest left unread is passed over."""
        while True:
            header = self._take(_RECORD)
            if not any(header):
                break
            name, size = self._parsed(header)
            left = [size]

            def read(wanted: int, left: list[int] = left) -> bytes:
                left[0] -= wanted
                return self._take(wanted)

            yield TarEntry(name, size, read)
            while left[0]:
                read(min(left[0], _CHUNK))
            if any(self._take(-size % _RECORD)):
                raise FormatError(f"{self._what}: bytes after the end of {name}")
        self._finish()

    def _parsed(self, header: bytes) -> tuple[str, int]:
        """Name and size of a header, checked."""
        raw_name, prefix = (header[a:b].split(b"\0", 1)[0] for a, b in ((0, 100), (345, 500)))
        shown = (prefix + b"/" * bool(prefix) + raw_name).decode("utf-8", "backslashreplace")
        kind = header[156:157]
        if header[257:262] != b"ustar" or self._octal(header[148:156]) != _checksum(header):
            raise FormatError(f"{self._what}: not a tar archive (a header's checksum differs)")
        if kind not in (b"0", b"\0"):
            named = _KINDS.get(kind, f"of the unknown type {kind!r}")
            raise FormatError(f"{self._what}: the entry {shown!r} is {named}, only files are allowed")
        if shown.startswith(("/", "\\")) or ".." in shown.split("/") or "\\" in shown:
            raise FormatError(f"{self._what}: the entry {shown!r} leads out of the layer")
        if not shown.isascii() or not shown.isprintable() or not shown:
            raise FormatError(f"{self._what}: an entry has the name {shown!r}")
        if shown in self._names:
            raise FormatError(f"{self._what}: the entry {shown} stands twice")
        self._names.add(shown)
        for start, end in _UNUSED:
            if any(header[start:end]):
                self._octal(header[start:end])
        return shown, self._octal(header[124:136])

    def _octal(self, field: bytes) -> int:
        text = field.rstrip(b" \0").lstrip(b" ")
        if not text or any(not 48 <= c < 56 for c in text):
            raise FormatError(f"{self._what}: a tar header has a field {field!r} that is no octal number")
        return int(text, 8)

    def _finish(self) -> None:
        """After the first empty record there is nothing but zeros, and nothing after the gzip stream."""
        part = self._buffer[self._at :]
        while part:
            if any(part):
                raise FormatError(f"{self._what}: bytes after the end of the tar archive")
            part = self._more()
        if self._inflate.unused_data or self._file.read(1):
            raise FormatError(f"{self._what}: bytes after the end of the gzip stream")

    def _take(self, wanted: int) -> bytes:
        """Exactly that many decompressed bytes."""
        end = self._at + wanted
        if end > len(self._buffer):
            parts = [self._buffer[self._at :]]
            missing = end - len(self._buffer)
            while missing > 0:
                part = self._more()
                if not part:
                    raise FormatError(f"{self._what}: the tar archive ends in the middle")
                parts.append(part)
                missing -= len(part)
            self._buffer, self._at, end = b"".join(parts), 0, wanted
        data = self._buffer[self._at : end]
        self._at = end
        return data

    def _more(self) -> bytes:
        """Some more decompressed bytes, at most a chunk; nothing at the end."""
        while not self._inflate.eof:
            data = self._inflate.unconsumed_tail or self._file.read(_CHUNK)
            try:
                out = self._inflate.decompress(data, _CHUNK)
            except zlib.error as error:
                raise FormatError(f"{self._what}: not a sound gzip stream: {error}") from error
            if not data and not out and not self._inflate.eof:
                raise FormatError(f"{self._what}: the gzip stream ends in the middle")
            if out:
                self._count(len(out))
                return out
        return b""

    def _count(self, more: int) -> None:
        self._expanded += more
        if self._expanded > self._limit:
            raise IntegrityError(
                f"{self._what}: {self._compressed:,} bytes expand to more than {self._limit:,}",
                hint="a layer may expand to 100 times its size (8 MiB where that is more), at most 4 GiB",
            )


def _checksum(header: bytes) -> int:
    return sum(header) - sum(header[148:156]) + 8 * 32
