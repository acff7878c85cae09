"""What the store hands out. Ids and digests are 32 raw bytes; `n` is a block's ordinal in this store."""

from __future__ import annotations

import msgspec

from consilience.protocol import Actor, Digest, MemoryType, sha256

__all__ = ["Hidden", "ModuleState", "Registered", "SnapshotInfo", "StoredBlock"]


class StoredBlock(msgspec.Struct, frozen=True):
    """A block as stored. `data` are the envelope's bytes, None where they were redacted; unchecked: see
    `intact`."""

    n: int
    id: Digest
    memory_type: MemoryType
    data: bytes | None

    @property
    def intact(self) -> bool:
        """Whether the bytes are here and hash to the id."""
        return self.data is not None and sha256(self.data) == self.id


class ModuleState(msgspec.Struct, frozen=True):
    """One module at one snapshot. `composition` is the digest of its composition document, `count` its
    members."""

    memory_type: MemoryType
    root: Digest
    composition: Digest
    count: int
    tombstones: frozenset[Digest] = frozenset()


class SnapshotInfo(msgspec.Struct, frozen=True):
    """A snapshot, and what the store keeps beside its document: its place in this history (`seq`, from 1),
    who made it, and the largest ordinal that a block had by then."""

    digest: Digest
    seq: int
    created_at: str
    parents: tuple[Digest, ...]
    document: bytes
    actor: Actor
    max_n: int


class Registered(msgspec.Struct, frozen=True):
    """The canonical block that an origin holds by its latest registration. `blob` is the digest of the
    original bytes (None where the block's bytes are gone), `record` and `at` name the registration record and
    its time."""

    n: int
    id: Digest
    origin: str
    blob: Digest | None
    record: Digest
    at: str | None


class Hidden(msgspec.Struct, frozen=True):
    """Why a block is not shown by default: replaced (chains resolved to their end), demoted, or both."""

    superseded_by: Digest | None
    demoted: bool
