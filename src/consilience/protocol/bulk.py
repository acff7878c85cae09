"""Many blocks of one kind decoded at once: as strict as `decode` one by one, at a fraction of its cost."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

import msgspec

from consilience.protocol import canonical
from consilience.protocol.blocks import (
    Canonical,
    CatalogEntry,
    Episodic,
    Payload,
    Procedural,
    Semantic,
    problem_of,
)
from consilience.protocol.envelope import PROTOCOL_VERSION, SERIALIZATION, around
from consilience.protocol.types import MemoryType

__all__ = ["decode_many", "kind_of"]

_SHAPES: dict[tuple[MemoryType, int], Any] = {
    (MemoryType.CANONICAL, 1): Canonical,
    (MemoryType.EPISODIC, 1): Episodic,
    (MemoryType.EPISODIC, 2): Episodic,
    (MemoryType.SEMANTIC, 1): Semantic,
    (MemoryType.SEMANTIC, 2): Semantic,
    (MemoryType.SEMANTIC, 3): CatalogEntry,
    (MemoryType.PROCEDURAL, 1): Procedural,
    (MemoryType.PROCEDURAL, 2): Procedural,
}
_KINDS = {around(*kind): kind for kind in _SHAPES}
_TAIL = len(around(MemoryType.SEMANTIC, 1)[1])
_NAME_AT = len(b'{"boltzmann":1,"memory_type":"')
_AFTER_NAME = len(b'","payload":')


def kind_of(data: bytes) -> tuple[MemoryType, int] | None:
    """Module and version by the two ends of canonical envelope bytes; None for what `decode_many` does not take."""
    end = data.find(b'"', _NAME_AT)
    return _KINDS.get((data[: end + _AFTER_NAME], data[-_TAIL:]))


def decode_many(memory_type: MemoryType, version: int, data: Sequence[bytes]) -> list[Payload] | None:
    """The payloads of canonical blocks of one kind (see `kind_of`); None where one of them is not sound.

    They are decoded as one JSON array of typed envelopes and must encode to the same bytes again. Since each
    begins and ends like an envelope, and the members it ends with belong to envelopes alone, no two can be
    unsound and make up for each other. Which one it is, `decode` says.
    """
    before, after = around(memory_type, version)
    if not all(each.startswith(before) and each.endswith(after) for each in data):
        return None
    joined = b"[" + b",".join(data) + b"]"
    try:
        envelopes = _decoder(memory_type, version)(joined)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if len(envelopes) != len(data) or canonical.encode_struct(envelopes) != joined:
        return None
    payloads: list[Payload] = [envelope.payload for envelope in envelopes]
    problem = problem_of(memory_type, version)
    if any(problem(payload, version) for payload in payloads):
        return None
    return payloads


@cache
def _decoder(memory_type: MemoryType, version: int) -> Any:
    envelope = msgspec.defstruct(
        "Envelope",
        [
            ("boltzmann", Literal[PROTOCOL_VERSION]),
            ("memory_type", Literal[memory_type.value]),
            ("payload", _SHAPES[memory_type, version]),
            ("schema_version", Literal[version]),
            ("serialization", Literal[SERIALIZATION]),
        ],
        forbid_unknown_fields=True,
        frozen=True,
    )
    return msgspec.json.Decoder(list[envelope], strict=True).decode  # type: ignore[valid-type]
