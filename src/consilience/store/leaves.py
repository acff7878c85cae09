"""The leaves of a large module as the last commit left them, so that the next one need not read and hash them
all.

`derived/merkle/<module>.bin`: a header, the composition document, and the leaf hashes in its order. Derived:
it counts only where its checksum holds and it was made for the root that the head names
(docs/decisions/0022). Both parts are records of fixed width, so that a few ids are spliced in without looking
at the others.
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

WORTH_KEEPING: Final = 4_096
"""Members from which on a module's leaves are kept; below, reading them from the database is as fast."""

_HEADER = struct.Struct("<8s32sQI")
_MAGIC = b"CSLLEAF1"
_ENTRY = len('"sha256:",') + 64
_OPEN = len('{"block_ids":[')
_HASH = 32


class Leaves:
    """A module's composition document (WIRE 5) and leaf hashes, ids ascending."""

    def __init__(self, memory_type: MemoryType, document: bytes, hashes: bytes) -> None:
        self.memory_type = memory_type
        self._document = document
        self._hashes = hashes

    @classmethod
    def of(cls, memory_type: MemoryType, ids: Sequence[bytes]) -> Leaves:
        """From strictly ascending ids."""
        return cls(memory_type, composition_document(memory_type, ids), b"".join(merkle.leaf_hashes(ids)))

    def __len__(self) -> int:
        return len(self._hashes) // _HASH

    def __getitem__(self, index: int) -> bytes:
        """The id at a position as it stands in the document: 64 hex digits."""
        at = _OPEN + index * _ENTRY + len('"sha256:')
        return self._document[at : at + 64]

    def reference(self, tombstones: tuple[Digest, ...] = ()) -> ModuleRef:
        """Root, composition digest and count, computed."""
        hashes = self._hashes
        return ModuleRef(
            memory_type=self.memory_type,
            root=merkle.root_of_leaves([hashes[i : i + _HASH] for i in range(0, len(hashes), _HASH)]),
            composition=sha256(self._document),
            block_count=len(self),
            tombstones=tombstones,
        )

    def changed(self, joined: Iterable[bytes], left: Iterable[bytes]) -> Leaves | None:
        """With some ids more and some fewer; None where one to join is here or one to leave is not."""
        if not len(self):
            return None
        edits = sorted(
            [(raw.hex().encode(), True) for raw in joined] + [(raw.hex().encode(), False) for raw in left]
        )
        document: list[bytes] = []
        hashes: list[bytes] = []
        done = 0
        for digits, joins in edits:
            at = bisect_left(self, digits, lo=done)
            present = at < len(self) and self[at] == digits
            if present is joins:
                return None
            document.append(self._entries(done, at))
            hashes.append(self._hashes[done * _HASH : at * _HASH])
            if joins:
                document.append(b'"sha256:' + digits + b'",')
                hashes.extend(merkle.leaf_hashes([bytes.fromhex(digits.decode())]))
            done = at + (not joins)
        document.append(self._entries(done, len(self)))
        hashes.append(self._hashes[done * _HASH :])
        entries = b"".join(document)[:-1]
        tail = self._document[_OPEN + len(self) * _ENTRY - 1 :]
        return Leaves(self.memory_type, self._document[:_OPEN] + entries + tail, b"".join(hashes))

    def _entries(self, first: int, last: int) -> bytes:
        """The entries of a range of positions, each with a comma after it."""
        part = self._document[_OPEN + first * _ENTRY : _OPEN + last * _ENTRY]
        return part[:-1] + b"," if last == len(self) and last > first else part

    # --- on disk --------------------------------------------------------------------------------------------

    @classmethod
    def load(cls, folder: Path, expected: ModuleRef) -> Leaves | None:
        """What was kept for a module at the root named; None where there is nothing sound for it."""
        with contextlib.suppress(OSError, struct.error):
            data = (folder / f"{expected.memory_type.value}.bin").read_bytes()
            magic, root, count, checksum = _HEADER.unpack_from(data)
            body = memoryview(data)[_HEADER.size :]
            split = len(body) - count * _HASH
            fits = magic == _MAGIC and root == expected.root and count == expected.block_count
            if fits and split > 0 and zlib.crc32(body) == checksum:
                return cls(expected.memory_type, bytes(body[:split]), bytes(body[split:]))
        return None

    def save(self, folder: Path, root: Digest) -> None:
        """Keep the leaves for the next commit, or fail silently: the next commit then reads the database.

        Only for the holder of the write lock: the temporary file has one name.
        """
        body = self._document + self._hashes
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
