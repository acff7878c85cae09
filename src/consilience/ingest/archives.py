"""The files in zip and tar archives, and attached to mail, in memory: nothing is written, every bound is stated here.

docs/decisions/0205-archives.md, 0320-attachments.md. Formats: APPNOTE.TXT 6.3.10, POSIX.1-2001 (ustar, pax), RFC 1952.
"""

from __future__ import annotations

import bz2
import io
import lzma
import posixpath
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Protocol

import msgspec

from consilience.ingest.model import Skip
from consilience.ingest.readers.formats import ARCHIVES, BZIP2, GZIP, HOLDERS, MAIL, XZ, ZIP
from consilience.ingest.readers.media import media_type_of

MAX_MEMBERS = 10_000
MAX_MEMBER_BYTES = 64 << 20
MAX_TOTAL_BYTES = 512 << 20
MAX_RATIO = 200
"""Bytes out for one in, beyond RATIO_FROM bytes: text compresses five- to fiftyfold, bombs thousandfold."""
RATIO_FROM = 4 << 20
MAX_NESTING = 2
"""Archives one inside the other. The attachments of mail in the innermost are taken, archives among them are not."""

ATTACHMENTS = "attachments"
"""Stands for those of a mail that are not known by name, since it could not be taken apart."""
_LZMA_MEMORY = 128 << 20
_CHUNK = 1 << 16
_UNFIT = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_COMPRESSED_TAR = re.compile(r"\.(?:tar\.\w+|tgz|tbz2?|txz)$", re.IGNORECASE)

Lookup = Callable[[str], bytes | None]


class Member(msgspec.Struct, frozen=True):
    """A file: its path (`inner.zip!/a.md` in an archive inside the archive), its bytes, and how to see the others."""

    path: str
    data: bytes
    lookup: Lookup


class Left(msgspec.Struct, frozen=True):
    """A file left out; "" is the archive itself, after what came before. `failed`: damaged, or over a bound."""

    path: str
    reason: str
    failed: bool = False


class _BoundError(Exception):
    """Over a bound of the whole archive; the message says which."""


class _Budget:
    """What an archive, with all that is nested in it, may still use."""

    def __init__(self) -> None:
        self.members = 0
        self.bytes = 0

    def member(self) -> None:
        self.members += 1
        if self.members > MAX_MEMBERS:
            raise _BoundError(f"more than {MAX_MEMBERS:,} files in it: the rest is left out")

    def spend(self, count: int) -> None:
        self.bytes += count
        if self.bytes > MAX_TOTAL_BYTES:
            raise _BoundError(f"more than {MAX_TOTAL_BYTES >> 20:,} MiB in it: the rest is left out")


def archive_of(origin: str) -> str:
    """The origin of the archive or mail that a file stands in, the outermost; "" where it stands in none."""
    return origin.partition("!/")[0] if "!/" in origin else ""


def members(data: bytes, media_type: str, name: str) -> Iterator[Member | Left]:
    """The files of an archive, or attached to mail, in their order. Never raises on any bytes.

    The words of a mail are not among them; those of one that is attached, or in an archive, come after its files.
    """
    try:
        yield from _members(data, media_type, name, _Budget(), 1)
    except _BoundError as error:
        yield Left(ATTACHMENTS if media_type in MAIL else "", str(error), failed=True)


def _members(data: bytes, media_type: str, name: str, budget: _Budget, depth: int) -> Iterator[Member | Left]:
    if media_type in MAIL:
        opened = _mail(data, name, budget)
    else:
        opened = _zip(data, budget) if media_type == ZIP else _stream(data, media_type, name, budget)
    any_taken = False
    try:
        for each in opened:
            any_taken = any_taken or isinstance(each, Member)
            yield from _nested(each, budget, depth) if isinstance(each, Member) else (each,)
    except _BoundError:
        raise
    except Exception as error:  # zipfile and tarfile raise nearly everything on damaged input
        said = str(error).strip() or type(error).__name__
        before = "; what stands before is taken" if any_taken else ""
        yield Left("", f"damaged: {said[:150]}{before}", failed=True)


def _nested(member: Member, budget: _Budget, depth: int) -> Iterator[Member | Left]:
    base = PurePosixPath(member.path).name
    media_type = media_type_of(base, member.data)
    if isinstance(media_type, Skip) or media_type not in HOLDERS:
        yield member
        return
    if media_type in ARCHIVES and depth >= MAX_NESTING:
        yield Left(member.path, f"an archive nested more than {MAX_NESTING} deep")
        return
    if depth <= MAX_NESTING:
        for each in _members(member.data, media_type, base, budget, depth + 1):
            yield msgspec.structs.replace(
                each, path=f"{member.path}!/{each.path}" if each.path else member.path
            )
    if media_type in MAIL:
        yield member


def _path(name: str) -> str:
    """A name in an archive as text that can be shown: it names, and is never opened."""
    clean = _UNFIT.sub(lambda match: f"%{ord(match[0]):02X}", name.replace("\\", "/"))
    return clean.lstrip("/")[:1000] or "?"


def _ruled_out(path: str, seen: set[str]) -> str | None:
    if any(part.startswith(".") and part.strip(".") for part in path.split("/")) or path.startswith(
        "__MACOSX/"
    ):
        return "hidden"
    if path in seen:
        return "a second file of this name in the archive"
    seen.add(path)
    return None


# --- zip --------------------------------------------------------------------------------------------------------


def _zip(data: bytes, budget: _Budget) -> Iterator[Member | Left]:
    if data.count(b"PK\x01\x02") > 2 * MAX_MEMBERS:
        raise _BoundError(f"more than {MAX_MEMBERS:,} files in it: none is taken")
    seen: set[str] = set()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        infos = [info for info in archive.infolist() if not info.is_dir()]
        by_path = {_path(info.filename): info for info in reversed(infos)}

        def lookup(path: str) -> bytes | None:
            info = by_path.get(path)
            if info is None or _refused(info):
                return None
            try:
                return archive.read(info)
            except Exception:  # damaged: as if it were not there
                return None

        for info in infos:
            budget.member()
            path = _path(info.filename)
            if (why := _ruled_out(path, seen) or _refused(info)) is not None:
                yield Left(path, why)
                continue
            budget.spend(info.file_size)
            try:
                content = archive.read(info)
            except Exception as error:  # see _members
                yield Left(path, f"damaged: {str(error)[:150] or type(error).__name__}", failed=True)
                continue
            yield Member(path, content, lookup)


def _refused(info: zipfile.ZipInfo) -> str | None:
    if info.flag_bits & 1:
        return "encrypted"
    if (info.external_attr >> 16) & 0o170000 == 0o120000:
        return "a link"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "compressed by a method that is not read here"
    if info.file_size > MAX_MEMBER_BYTES:
        return f"too large: {info.file_size / 2**20:,.0f} MiB, the limit is {MAX_MEMBER_BYTES >> 20} MiB"
    if info.file_size > RATIO_FROM and info.file_size > MAX_RATIO * max(1, info.compress_size):
        return f"expands {info.file_size // max(1, info.compress_size):,}-fold: taken for a bomb"
    return None


# --- mail -------------------------------------------------------------------------------------------------------


def _mail(data: bytes, name: str, budget: _Budget) -> Iterator[Member | Left]:
    """What is attached. The parser of mail runs contained, as for its words."""
    from consilience.ingest.readers import contained, mail_parts

    if not mail_parts.may_have_attachments(data):
        return
    found = contained.read("mail_parts", data, name)
    if isinstance(found, Skip):
        yield Left(ATTACHMENTS, found.reason, failed=found.failed)
        return
    seen: set[str] = set()
    for each in found.attachments:
        budget.member()
        path = _path(each.path)
        why = _ruled_out(path, seen)
        if why is None and len(each.data) > MAX_MEMBER_BYTES:
            why = f"too large: {len(each.data) / 2**20:,.0f} MiB, the limit is {MAX_MEMBER_BYTES >> 20} MiB"
        if why is None and not each.data:
            why = "empty"
        if why is not None:
            yield Left(path, why)
            continue
        budget.spend(len(each.data))
        yield Member(path, each.data, lambda _: None)


# --- tar, and single compressed files ---------------------------------------------------------------------------


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes: ...


class _Reader:
    """Decompresses as much as is asked, and counts it."""

    def __init__(self, data: bytes, media_type: str, budget: _Budget) -> None:
        self._data, self._at = data, 0
        self._type = media_type
        self._budget = budget
        self._out = 0
        self._held = b""
        self._left = b""
        self._decompressor = self._fresh()

    def _fresh(self) -> _Decompressor | None:
        if self._type == GZIP:
            return zlib.decompressobj(wbits=31)
        if self._type == BZIP2:
            return bz2.BZ2Decompressor()
        return lzma.LZMADecompressor(memlimit=_LZMA_MEMORY) if self._type == XZ else None

    def read(self, size: int) -> bytes:
        parts = [self._held[:size]]
        self._held = self._held[size:]
        got = len(parts[0])
        while got < size and (part := self._more(min(_CHUNK, size - got))):
            parts.append(part)
            got += len(part)
        return b"".join(parts)

    def peek(self, size: int) -> bytes:
        self._held = self.read(size)
        return self._held

    def _more(self, size: int) -> bytes:
        """At least one byte more, at most `size`; b"" at the end. EOFError where the data is cut off."""
        if self._decompressor is None:
            part = self._data[self._at : self._at + size]
            self._at += len(part)
            self._count(len(part), raw=True)
            return part
        while True:
            if self._decompressor.eof:
                rest = self._decompressor.unused_data
                self._at -= len(rest)
                self._left = b""
                if not self._data[self._at :].strip(b"\x00"):
                    return b""
                self._decompressor = self._fresh()
                assert self._decompressor is not None
            given, self._left = self._left, b""
            waits = not getattr(self._decompressor, "needs_input", True)
            if not given and not waits:
                given = self._data[self._at : self._at + _CHUNK]
                self._at += len(given)
                if not given:
                    raise EOFError("cut off")
            part = self._decompressor.decompress(given, size)
            self._left = getattr(self._decompressor, "unconsumed_tail", b"")
            if part:
                self._count(len(part), raw=False)
                return part

    def _count(self, count: int, *, raw: bool) -> None:
        self._out += count
        self._budget.spend(count)
        if not raw and self._out > RATIO_FROM and self._out > MAX_RATIO * len(self._data):
            raise _BoundError(f"expands more than {MAX_RATIO}-fold: taken for a bomb, the rest is left out")


def _stream(data: bytes, media_type: str, name: str, budget: _Budget) -> Iterator[Member | Left]:
    reader = _Reader(data, media_type, budget)
    is_tar = media_type not in (GZIP, BZIP2, XZ) or bool(_COMPRESSED_TAR.search(name))
    if is_tar or reader.peek(512)[257:262] == b"ustar":
        yield from _tar(reader, budget)
        return
    path = _path(re.sub(r"\.(?:gz|bz2|xz)$", "", name, flags=re.IGNORECASE))
    content = reader.read(MAX_MEMBER_BYTES + 1)
    if len(content) > MAX_MEMBER_BYTES:
        yield Left(path, f"too large: more than {MAX_MEMBER_BYTES >> 20} MiB")
    else:
        yield Member(path, content, lambda _: None)


def _tar(reader: _Reader, budget: _Budget) -> Iterator[Member | Left]:
    seen: set[str] = set()
    names: dict[str, bytes] = {}
    with tarfile.open(fileobj=reader, mode="r|") as archive:  # type: ignore[call-overload]
        for info in archive:
            if info.isdir():
                continue
            budget.member()
            path = _path(info.name)
            why = _ruled_out(path, seen)
            if why is None and not info.isreg():
                why = "a link" if info.islnk() or info.issym() else "not a regular file"
            if why is None and info.size > MAX_MEMBER_BYTES:
                why = f"too large: {info.size / 2**20:,.0f} MiB, the limit is {MAX_MEMBER_BYTES >> 20} MiB"
            if why is not None:
                yield Left(path, why)
                continue
            file = archive.extractfile(info)
            content = file.read() if file is not None else b""
            if posixpath.basename(path) == "users.json":
                names[path] = content
            yield Member(path, content, names.get)
