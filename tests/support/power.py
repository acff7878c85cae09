"""What a power failure may leave of a folder, worked out from a trace of the calls that were made (faults.c).

The rules of POSIX and no more: the bytes of a file last once the file was synced, a name once its folder was. What was
not synced may be there, may not, or in parts. A real file system promises more, so what holds here holds there.

The shared memory of SQLite is left out (a mapping, which no trace sees and SQLite makes anew), and so is the folder of
the lexical engine (its renames are system calls of its own).
"""

from __future__ import annotations

import random
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from faults import MKDIR, OPEN, RENAME, SYNC, TRUNCATE, UNLINK, WRITE

HEAD = struct.Struct("<BBHHIqq")
MARK = 0
PAGE = 4096
LEFT_OUT = ("-shm", "/derived/lexical")


@dataclass(frozen=True)
class Call:
    what: int
    path: str
    other: str
    flags: int
    offset: int
    data: bytes


def calls(trace: Path) -> Iterator[Call]:
    data = trace.read_bytes()
    at = 0
    while at + HEAD.size <= len(data):
        what, _, path_size, other_size, flags, offset, size = HEAD.unpack_from(data, at)
        at += HEAD.size
        path, at = data[at : at + path_size].decode(), at + path_size
        other, at = data[at : at + other_size].decode(), at + other_size
        body, at = (data[at : at + size], at + size) if what == WRITE else (b"", at)
        yield Call(what, path, other, flags, offset, body)


@dataclass(eq=False)
class File:
    """Its bytes as programs see them, and as they last."""

    now: bytearray = field(default_factory=bytearray)
    lasting: bytes = b""


class Disk:
    """Files and folders below one folder. `None` as a file: a folder."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.now: dict[str, File | None] = {self.root: None}
        for path in root.rglob("*"):
            if path.is_dir():
                self.now[str(path)] = None
            else:
                data = path.read_bytes()
                self.now[str(path)] = File(bytearray(data), data)
        self.lasting = dict(self.now)

    def make(self, call: Call) -> None:
        """Take in one call that was made."""
        file = self.now.get(call.path)
        if call.what == OPEN:
            if call.flags & 1 or call.path not in self.now:
                self.now[call.path] = File()
            elif file is not None:
                file.now.clear()
        elif call.what == WRITE and file is not None:
            end = call.offset + len(call.data)
            if len(file.now) < end:
                file.now.extend(bytes(end - len(file.now)))
            file.now[call.offset : end] = call.data
        elif call.what == TRUNCATE and file is not None:
            del file.now[call.offset :]
            file.now.extend(bytes(call.offset - len(file.now)))
        elif call.what == SYNC:
            self._sync(call.path, file)
        elif call.what == RENAME:
            self._rename(call)
        elif call.what == UNLINK:
            self.now.pop(call.path, None)
        elif call.what == MKDIR:
            self.now[call.path] = None

    def _sync(self, path: str, file: File | None) -> None:
        if file is not None:
            file.lasting = bytes(file.now)
            return
        for names, other in ((self.lasting, self.now), (self.now, self.lasting)):
            for name in [n for n in names if n.rpartition("/")[0] == path]:
                if name not in other and names is self.lasting:
                    del self.lasting[name]
                elif names is self.now:
                    self.lasting[name] = self.now[name]

    def _rename(self, call: Call) -> None:
        moved = {n: f for n, f in self.now.items() if n == call.path or n.startswith(call.path + "/")}
        for name, file in moved.items():
            if not call.flags:
                del self.now[name]
            self.now[call.other + name[len(call.path) :]] = file

    def leave(self, target: Path, how: str, chance: random.Random) -> None:
        """Write into `target` what a power failure leaves now.

        `how`: "least" what must be there; "names" every name and of the bytes only those that must; "mixed" of
        everything that need not be there some, file by file and page by page.
        """
        names = dict(self.lasting if how == "least" else self.now)
        if how == "mixed":
            for name in {*self.now, *self.lasting}:
                source = chance.choice((self.now, self.lasting))
                names.pop(name, None)
                if name in source:
                    names[name] = source[name]
        for name, file in sorted(names.items()):
            if any(part in name for part in LEFT_OUT) or not self._reachable(name, names):
                continue
            path = target / Path(name).relative_to(self.root)
            if file is None:
                path.mkdir(parents=True, exist_ok=True)
            else:
                path.write_bytes(mixed(file, chance) if how == "mixed" else file.lasting)

    def _reachable(self, name: str, names: dict[str, File | None]) -> bool:
        while name != self.root:
            name = name.rpartition("/")[0]
            if name not in names:
                return False
        return True


def mixed(file: File, chance: random.Random) -> bytes:
    """Each page as it lasts or as it was written last; the length of one of the two."""
    size = chance.choice((len(file.now), len(file.lasting)))
    pages = []
    for at in range(0, size, PAGE):
        end = min(at + PAGE, size)
        source = chance.choice((file.now, file.lasting))
        pages.append(bytes(source[at:end]).ljust(end - at, b"\0"))
    return b"".join(pages)


def failures(root: Path, made: list[Call]) -> Iterator[tuple[int, Disk, tuple[str, ...]]]:
    """The disk after each call, and what was acknowledged up to there."""
    disk = Disk(root)
    acks: tuple[str, ...] = ()
    for i, call in enumerate(made):
        if call.what == MARK:
            acks = (*acks, call.path.removeprefix("ack "))
        else:
            disk.make(call)
        yield i, disk, acks


def restored(brains: Path, disk: Disk, how: str, chance: random.Random) -> None:
    """Make the brains of a project what a power failure left of them."""
    shutil.rmtree(brains)
    brains.mkdir()
    disk.leave(brains, how, chance)
