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
BELIEVED_IN_NOTHING = "/derived/merkle/"
"""Trees that prove themselves or are not used (docs/decisions/0151): nobody waits for their bytes."""


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


@dataclass(eq=False)
class Folder:
    """Its names as programs see them, and as they last."""

    now: dict[str, File | Folder] = field(default_factory=dict)
    lasting: dict[str, File | Folder] = field(default_factory=dict)


def loaded(path: Path) -> File | Folder:
    """What is on a disk and lasts."""
    if not path.is_dir():
        data = path.read_bytes()
        return File(bytearray(data), data)
    held = {each.name: loaded(each) for each in path.iterdir()}
    return Folder(held, dict(held))


class Disk:
    """Files and folders below one folder."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        top = loaded(root)
        assert isinstance(top, Folder)
        self.top = top

    def _find(self, path: str) -> File | Folder | None:
        node: File | Folder | None = self.top
        for part in path.removeprefix(self.root).strip("/").split("/"):
            if part:
                node = node.now.get(part) if isinstance(node, Folder) else None
        return node

    def _place(self, path: str) -> tuple[dict[str, File | Folder], str]:
        """The names of the folder that a path is in, and its own."""
        above, _, name = path.rpartition("/")
        folder = self._find(above)
        return (folder.now if isinstance(folder, Folder) else {}), name

    def make(self, call: Call) -> None:
        """Take in one call that was made."""
        node = self._find(call.path)
        names, name = self._place(call.path)
        if call.what == OPEN:
            if not isinstance(node, File):
                names[name] = File()
            else:
                node.now.clear()
        elif call.what == WRITE and isinstance(node, File):
            end = call.offset + len(call.data)
            node.now.extend(bytes(max(0, end - len(node.now))))
            node.now[call.offset : end] = call.data
        elif call.what == TRUNCATE and isinstance(node, File):
            del node.now[call.offset :]
            node.now.extend(bytes(call.offset - len(node.now)))
        elif call.what == SYNC and isinstance(node, File):
            node.lasting = bytes(node.now)
        elif call.what == SYNC and isinstance(node, Folder):
            node.lasting = dict(node.now)
        elif call.what == RENAME and node is not None:
            if not call.flags:
                del names[name]
            others, other = self._place(call.other)
            others[other] = node
        elif call.what == UNLINK:
            names.pop(name, None)
        elif call.what == MKDIR:
            names[name] = Folder()

    def leave(self, target: Path, how: str, chance: random.Random) -> None:
        """Write into `target` what a power failure leaves now.

        `how`: "least" what must be there; "names" every name and of the bytes only those that must; "mixed" of
        everything that need not be there some, name by name and page by page.
        """
        self._leave(self.top, target, how, chance)

    def _leave(self, folder: Folder, target: Path, how: str, chance: random.Random) -> None:
        target.mkdir(exist_ok=True)
        for name in sorted({*folder.now, *folder.lasting}):
            source = folder.lasting if how == "least" else folder.now
            if how == "mixed":
                source = chance.choice((folder.now, folder.lasting))
            node = source.get(name)
            path = target / name
            if node is None or any(str(path).endswith(part) for part in LEFT_OUT):
                continue
            if isinstance(node, Folder):
                self._leave(node, path, how, chance)
            else:
                path.write_bytes(mixed(node, chance) if how == "mixed" else node.lasting)


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
