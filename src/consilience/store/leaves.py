"""The Merkle tree of a module as the last commits left it: what proves a match, and spares the next commit work.

`derived/merkle/<module>-<root>.bin`: a header, the ids in ascending order, their leaf hashes where the module is large
(so that the next commit need not hash them all), and the levels from the third above the leaves up to the root.
Derived: proofs made of it are checked against the root that the snapshot names, and a commit uses it only where its
checksum holds (docs/decisions/0022, 0151). Ids and hashes are records of 32 bytes, so that a few ids are spliced in
without looking at the others.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import struct
import zlib
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Final

from consilience.protocol import (
    Digest,
    MemoryType,
    ModuleRef,
    Proof,
    composition_document,
    merkle,
)

__all__ = ["WORTH_KEEPING", "Leaves", "Tree", "discard_trees", "sound_tree", "tree_file"]

WORTH_KEEPING: Final = 65_536
"""Members from which on leaf hashes are kept too; below, reading and hashing them costs little and no disk."""

_HEADER = struct.Struct("<8s32sQII")
_MAGIC = b"CSLTREE1"
_OPEN = len('{"block_ids":[')
_SIZE = 32
_LOWEST = 3
"""The lowest level that is kept. Below it 2^3 leaves at a time are hashed again: 15 hashes a proof for an eighth of the
disk."""


def tree_file(folder: Path, memory_type: MemoryType, root: bytes) -> Path:
    """Where the tree of a module with this root is kept."""
    return folder / f"{memory_type.value}-{root.hex()[:16]}.bin"


def discard_trees(folder: Path, memory_type: MemoryType, keep: Collection[bytes]) -> None:
    """Remove the trees of a module but those of some roots, as far as the system lets."""
    kept = {tree_file(folder, memory_type, root).name for root in keep}
    with contextlib.suppress(OSError):
        for path in folder.glob(f"{memory_type.value}[-.]*"):
            if path.name not in kept:
                with contextlib.suppress(OSError):
                    path.unlink()


SOUND_AT_MOST: Final = 50_000
"""Nodes that a tree remembers to lead to a root."""

_MANY = 3
"""Ids up to one in so many are spliced in one by one."""

_CHUNK = 8_192
"""Ids that are hashed together: a module of a million is not held as objects of Python."""


def _parents(level: bytes) -> bytes:
    """The level above a level of the tree, both as one byte string (`merkle.levels` does the same with lists)."""
    h, whole = hashlib.sha256, len(level) // (2 * _SIZE) * 2 * _SIZE
    above = bytearray()
    for start in range(0, whole, 2 * _SIZE * _CHUNK):
        end = min(whole, start + 2 * _SIZE * _CHUNK)
        pairs = [h(b"\x01" + level[i : i + 2 * _SIZE]).digest() for i in range(start, end, 2 * _SIZE)]
        above += b"".join(pairs)
    return bytes(above + level[whole:])


class Tree:
    """The tree of one module, unchecked: what it proves is to be checked against a root.

    `data` holds the ids from byte `ids_at` and the upper levels from `upper_at`; slices of it are bytes.
    """

    def __init__(self, count: int, data: bytes | mmap.mmap, ids_at: int, upper_at: int) -> None:
        self._count = count
        self._data = data
        self._ids_at = ids_at
        self._upper: list[tuple[int, int]] = []
        for size in _upper_sizes(count):
            self._upper.append((upper_at, size))
            upper_at += size * _SIZE
        self._sound: dict[tuple[bytes, int, int], bytes] = {}

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: int) -> bytes:
        """The id at a position."""
        at = self._ids_at + index * _SIZE
        return self._data[at : at + _SIZE]

    @classmethod
    def open(cls, folder: Path, memory_type: MemoryType, root: Digest, count: int) -> Tree | None:
        """The tree kept for a module at the root named, mapped into memory; None where there is none of its size."""
        path = tree_file(folder, memory_type, root)
        with contextlib.suppress(OSError, ValueError, struct.error), path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            magic, held, size, flags, _ = _HEADER.unpack_from(data)
            ids_at, upper_at, end = _places(count, flags)
            if magic == _MAGIC and held == root and size == count and len(data) == end:
                return cls(count, data, ids_at, upper_at)
        return None

    def proof(self, block_id: Digest) -> Proof | None:
        """The inclusion proof of an id (RFC 9162, 2.1.3), None where it is not a leaf."""
        index = bisect_left(self, block_id)
        if index == self._count or self[index] != block_id:
            return None
        first = index >> _LOWEST << _LOWEST
        low = merkle.levels(merkle.leaf_hashes(self._eight(first)))
        path: list[Digest] = []
        position = index - first
        for level in low[:_LOWEST]:
            if position ^ 1 < len(level):
                path.append(Digest(level[position ^ 1]))
            position >>= 1
        position = index >> _LOWEST
        for start, size in self._upper:
            if position ^ 1 < size:
                at = start + (position ^ 1) * _SIZE
                path.append(Digest(self._data[at : at + _SIZE]))
            position >>= 1
        return Proof(block_id=block_id, leaf_index=index, tree_size=self._count, audit_path=tuple(path))

    def leads_to(self, root: bytes, block_id: Digest) -> bool:
        """Whether an id is a leaf under a root: what making its proof and checking it says, at less cost.

        What is hashed leads up to the root, or to a node that was seen to lead there before and whose value is
        remembered, not read again.
        """
        index = bisect_left(self, block_id)
        position = index >> _LOWEST
        ids = self._eight(position << _LOWEST)
        if block_id not in ids:
            return False
        value: bytes = merkle.root_of_leaves(merkle.leaf_hashes(ids))
        met: dict[tuple[bytes, int, int], bytes] = {}
        for level, (start, size) in enumerate(self._upper):
            if (known := self._sound.get((root, level, position))) is not None:
                break
            met[root, level, position] = value
            if position ^ 1 < size:
                at = start + (position ^ 1) * _SIZE
                sibling = met[root, level, position ^ 1] = self._data[at : at + _SIZE]
                value = merkle.parent(sibling, value) if position & 1 else merkle.parent(value, sibling)
            position >>= 1
        else:
            known = root
        if value != known:
            return False
        if len(self._sound) < SOUND_AT_MOST:
            self._sound.update(met)
        return True

    def _eight(self, first: int) -> list[bytes]:
        """The eight ids from a position on, or those that there are."""
        end = min(first + (1 << _LOWEST), self._count)
        ids = self._data[self._ids_at + first * _SIZE : self._ids_at + end * _SIZE]
        return [ids[i : i + _SIZE] for i in range(0, len(ids), _SIZE)]


def _places(count: int, flags: int) -> tuple[int, int, int]:
    """Where ids and upper levels begin, and the size of the file."""
    ids_at = _HEADER.size
    upper_at = ids_at + count * _SIZE * (2 if flags & 1 else 1)
    return ids_at, upper_at, upper_at + sum(_upper_sizes(count)) * _SIZE


def _upper_sizes(count: int) -> list[int]:
    """The nodes of each kept level, the lowest first; none where the root is below it."""
    sizes = [-(-count >> _LOWEST)] if count > 1 << (_LOWEST - 1) else []
    while sizes and sizes[-1] > 1:
        sizes.append((sizes[-1] + 1) // 2)
    return sizes


def sound_tree(path: Path) -> bool:
    """Whether a kept tree is whole, by its checksum, and bears the name of its root."""
    with contextlib.suppress(OSError, struct.error):
        data = path.read_bytes()
        magic, root, count, flags, checksum = _HEADER.unpack_from(data)
        named = path.name.endswith(f"-{root.hex()[:16]}.bin")
        fits = magic == _MAGIC and named and flags in (0, 1) and len(data) == _places(count, flags)[2]
        return fits and _sum(data, root, count, flags) == checksum
    return False


def _sum(data: bytes, root: bytes, count: int, flags: int) -> int:
    """The checksum of a file: over its header without it, and all that follows."""
    header = _HEADER.pack(_MAGIC, root, count, flags, 0)
    return zlib.crc32(memoryview(data)[_HEADER.size :], zlib.crc32(header))


def _read(path: Path, expected: ModuleRef) -> tuple[bytes, bytes] | None:
    """Ids and leaf hashes (empty where they were not kept) of a sound file."""
    with contextlib.suppress(OSError, struct.error), path.open("rb") as file:
        magic, root, count, flags, said = _HEADER.unpack(file.read(_HEADER.size))
        fits = magic == _MAGIC and root == expected.root and count == expected.block_count and flags in (0, 1)
        if not fits or os.fstat(file.fileno()).st_size != _places(count, flags)[2]:
            return None
        ids = file.read(count * _SIZE)
        hashes = file.read(count * _SIZE) if flags & 1 else b""
        checksum = zlib.crc32(_HEADER.pack(_MAGIC, root, count, flags, 0))
        for part in (ids, hashes, file.read()):
            checksum = zlib.crc32(part, checksum)
        return (ids, hashes) if checksum == said else None
    return None


class Leaves:
    """A module's ids, ascending, and their leaf hashes, each one byte string."""

    def __init__(self, memory_type: MemoryType, ids: bytes, hashes: bytes) -> None:
        self.memory_type = memory_type
        self._ids = ids
        self._hashes = hashes
        self._upper: bytes | None = None

    @classmethod
    def of(cls, memory_type: MemoryType, ids: Sequence[bytes]) -> Leaves:
        """From strictly ascending ids (ValidationError otherwise)."""
        merkle.check_sorted(ids)
        return cls(memory_type, b"".join(ids), b"".join(merkle.leaf_hashes(ids)))

    def __len__(self) -> int:
        return len(self._ids) // _SIZE

    def __getitem__(self, index: int) -> bytes:
        """The id at a position."""
        return self._ids[index * _SIZE : (index + 1) * _SIZE]

    def reference(self, tombstones: tuple[Digest, ...] = ()) -> ModuleRef:
        """Root, composition digest and count, computed."""
        levels = [self._hashes] if self._hashes else []
        while levels and len(levels[-1]) > _SIZE:
            levels.append(_parents(levels[-1]))
        self._upper = b"".join(levels[_LOWEST:])
        return ModuleRef(
            memory_type=self.memory_type,
            root=Digest(levels[-1]) if levels else merkle.EMPTY_ROOT,
            composition=self._composition(),
            block_count=len(self),
            tombstones=tombstones,
        )

    def tree(self) -> Tree:
        """What proves the membership of these ids. After `reference`."""
        assert self._upper is not None
        return Tree(len(self), self._ids + self._upper, 0, len(self._ids))

    def _composition(self) -> Digest:
        """The digest of the composition document (WIRE 5), which is written out many ids at a time and never held."""
        empty = composition_document(self.memory_type, ())
        hashed = hashlib.sha256(empty[:_OPEN])
        for at in range(0, len(self._ids), _CHUNK * _SIZE):
            listed = self._ids[at : at + _CHUNK * _SIZE].hex("_", _SIZE).replace("_", '","sha256:')
            hashed.update(f'{"," if at else ""}"sha256:{listed}"'.encode("ascii"))
        hashed.update(empty[_OPEN:])
        return Digest(hashed.digest())

    def changed(self, joined: Iterable[bytes], left: Iterable[bytes]) -> Leaves | None:
        """With some ids more and some fewer; None where one to join is here or one to leave is not."""
        new, gone = set(joined), set(left)
        if (len(new) + len(gone)) * _MANY > len(self):
            return self._changed_much(new, gone)
        edits = sorted([(raw, True) for raw in new] + [(raw, False) for raw in gone])
        held, known = memoryview(self._ids), memoryview(self._hashes)
        ids: list[bytes | memoryview] = []
        hashes: list[bytes | memoryview] = []
        done = 0
        for raw, joins in edits:
            at = bisect_left(self, raw, lo=done)
            present = at < len(self) and self[at] == raw
            if present is joins:
                return None
            ids.append(held[done * _SIZE : at * _SIZE])
            hashes.append(known[done * _SIZE : at * _SIZE])
            if joins:
                ids.append(raw)
                hashes.extend(merkle.leaf_hashes([raw]))
            done = at + (not joins)
        ids.append(held[done * _SIZE :])
        hashes.append(known[done * _SIZE :])
        return Leaves(self.memory_type, b"".join(ids), b"".join(hashes))

    def _changed_much(self, joined: set[bytes], left: set[bytes]) -> Leaves | None:
        """The same where so many change that it pays to build a list of them all."""
        held = {self._ids[i : i + _SIZE] for i in range(0, len(self._ids), _SIZE)}
        if joined & held or not left <= held:
            return None
        return Leaves.of(self.memory_type, sorted((held | joined) - left))

    # --- on disk --------------------------------------------------------------------------------------------

    @classmethod
    def load(cls, folder: Path, expected: ModuleRef) -> Leaves | None:
        """What was kept for a module at the root named; None where there is nothing sound for it."""
        found = _read(tree_file(folder, expected.memory_type, expected.root), expected)
        if found is None:
            return None
        ids, hashes = found
        if not hashes:
            split = [ids[i : i + _SIZE] for i in range(0, len(ids), _SIZE)]
            hashes = b"".join(merkle.leaf_hashes(split))
        return cls(expected.memory_type, ids, hashes)

    def save(self, folder: Path, root: Digest) -> None:
        """Keep the tree for proofs and for the next commit, or fail silently: they are then computed.

        After `reference`. The temporary file is this process's own; what is written depends on the root alone.
        """
        assert self._upper is not None
        hashes = self._hashes if len(self) >= WORTH_KEEPING else b""
        flags = 1 if hashes else 0
        checksum = zlib.crc32(_HEADER.pack(_MAGIC, root, len(self), flags, 0))
        for part in (self._ids, hashes, self._upper):
            checksum = zlib.crc32(part, checksum)
        header = _HEADER.pack(_MAGIC, root, len(self), flags, checksum)
        target = tree_file(folder, self.memory_type, root)
        temporary = target.with_suffix(f".{os.getpid()}.tmp")
        try:
            folder.parent.mkdir(exist_ok=True)
            folder.mkdir(exist_ok=True)
            with temporary.open("wb") as file:
                file.write(header)
                file.writelines((self._ids, hashes, self._upper))
            temporary.replace(target)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()
