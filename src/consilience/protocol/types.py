"""The five modules of a brain (the Boltzmann wire format)."""

from __future__ import annotations

import enum


class MemoryType(enum.StrEnum):
    """A memory type, which is also the module its blocks belong to, in the protocol's fixed order."""

    CANONICAL = "canonical"
    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    PROVENANCE = "provenance"
