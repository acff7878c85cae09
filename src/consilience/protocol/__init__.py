"""The Boltzmann protocol as pure functions: identity, blocks, Merkle trees, snapshots, provenance records. No I/O."""

from consilience.protocol.types import MemoryType

__all__ = ["MemoryType"]
