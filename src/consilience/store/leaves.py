"""The leaves of a large module as the last commit left them, so that the next one need not read and hash them
all.

`derived/merkle/<module>.bin`: a header, the ids, and their leaf hashes in the same order. Derived: it counts
only where its checksum holds and it was made for the root that the head names (docs/decisions/0022). Both parts
are records of 32 bytes, so that a few ids are spliced in without looking at the others.
"""

from __future__ import annotations

import contextlib
import struct
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from consilience.protocol import Digest, MemoryType, ModuleRef, composition_document, merkle, sha256

__all__ = ["WORTH_KEEPING", "Leaves"]

WORTH_KEEPING: Final = 65_536
"""Members from which on a module's leaves are kept; below, reading and hashing them costs little and no disk."""

_HEADER = struct.Struct("<8s32sQI")
_MAGIC = b"CSLLEAF2"
_OPEN = len('{"block_ids":[')
_SIZE = 32


class Leaves:
    """A module's ids, ascending, and their leaf hashes, each one byte string."""

    def __init__(self, memory_type: MemoryType, ids: bytes, hashes: bytes) -> None:
        self.memory_type = memory_type
        self._ids = ids
        self._hashes = hashes

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
        hashes = self._hashes
        return ModuleRef(
            memory_type=self.memory_type,
            root=merkle.root_of_leaves([hashes[i : i + _SIZE] for i in range(0, len(hashes), _SIZE)]),
            composition=sha256(self._document()),
            block_count=len(self),
            tombstones=tombstones,
        )

    def _document(self) -> bytes:
        """The composition document (WIRE 5), written out at once instead of id by id."""
        empty = composition_document(self.memory_type, ())
        if not self._ids:
            return empty
        listed = '"sha256:' + self._ids.hex("_", _SIZE).replace("_", '","sha256:') + '"'
        return empty[:_OPEN] + listed.encode("ascii") + empty[_OPEN:]

    def changed(self, joined: Iterable[bytes], left: Iterable[bytes]) -> Leaves | None:
        """With some ids more and some fewer; None where one to join is here or one to leave is not."""
        edits = sorted([(raw, True) for raw in joined] + [(raw, False) for raw in left])
        ids: list[bytes] = []
        hashes: list[bytes] = []
        done = 0
        for raw, joins in edits:
            at = bisect_left(self, raw, lo=done)
            present = at < len(self) and self[at] == raw
            if present is joins:
                return None
            ids.append(self._ids[done * _SIZE : at * _SIZE])
            hashes.append(self._hashes[done * _SIZE : at * _SIZE])
            if joins:
                ids.append(raw)
                hashes.extend(merkle.leaf_hashes([raw]))
            done = at + (not joins)
        ids.append(self._ids[done * _SIZE :])
        hashes.append(self._hashes[done * _SIZE :])
        return Leaves(self.memory_type, b"".join(ids), b"".join(hashes))

    # --- on disk --------------------------------------------------------------------------------------------

    @classmethod
    def load(cls, folder: Path, expected: ModuleRef) -> Leaves | None:
        """What was kept for a module at the root named; None where there is nothing sound for it."""
        with contextlib.suppress(OSError, struct.error):
            data = (folder / f"{expected.memory_type.value}.bin").read_bytes()
            magic, root, count, checksum = _HEADER.unpack_from(data)
            body = memoryview(data)[_HEADER.size :]
            fits = magic == _MAGIC and root == expected.root and count == expected.block_count
            if fits and len(body) == 2 * count * _SIZE and zlib.crc32(body) == checksum:
                return cls(expected.memory_type, bytes(body[: count * _SIZE]), bytes(body[count * _SIZE :]))
        return None

    def save(self, folder: Path, root: Digest) -> None:
        """Keep the leaves for the next commit, or fail silently: the next commit then reads the database.

        Only for the holder of the write lock: the temporary file has one name.
        """
        body = self._ids + self._hashes
        header = _HEADER.pack(_MAGIC, root, len(self), zlib.crc32(body))
        target = folder / f"{self.memory_type.value}.bin"
        temporary = target.with_suffix(".tmp")
        try:
            folder.parent.mkdir(exist_ok=True)
            folder.mkdir(exist_ok=True)
            with temporary.open("wb") as file:
                file.write(header)
                file.write(body)
            temporary.replace(target)
        except OSError:
            with contextlib.suppress(OSError):
                temporary.unlink()
