"""The block envelope (WIRE 3): five members in canonical order, hashed as one byte string.

    {"boltzmann":1,"memory_type":M,"payload":{...},"schema_version":V,"serialization":"jcs/1"}

Keys sort within their own object, so canonical envelope bytes are a fixed frame around canonical payload
bytes. `open_envelope` relies on that: it takes the frame off without parsing the payload.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from consilience.errors import FormatError
from consilience.protocol import canonical
from consilience.protocol.identity import Digest, sha256
from consilience.protocol.types import MemoryType

if TYPE_CHECKING:
    from consilience.protocol.blocks import Payload

__all__ = [
    "PROTOCOL_VERSION",
    "SCHEMA_VERSIONS",
    "SERIALIZATION",
    "Block",
    "around",
    "open_envelope",
    "payload_json",
    "seal",
]

PROTOCOL_VERSION = 1
SERIALIZATION = "jcs/1"
SCHEMA_VERSIONS = {
    MemoryType.CANONICAL: (1,),
    MemoryType.EPISODIC: (1, 2),
    MemoryType.SEMANTIC: (1, 2, 3),
    MemoryType.PROCEDURAL: (1, 2),
    MemoryType.PROVENANCE: (1, 2),
}

_frame = re.compile(
    rb'\{"boltzmann":1,"memory_type":"([a-z]+)","payload":(\{.*\}),'
    rb'"schema_version":([1-9][0-9]?),"serialization":"jcs/1"\}',
    re.DOTALL,
).fullmatch
_KNOWN = {
    (memory_type.value.encode(), str(version).encode()): (memory_type, version)
    for memory_type, versions in SCHEMA_VERSIONS.items()
    for version in versions
}
_AROUND = {
    (memory_type, version): (
        b'{"boltzmann":1,"memory_type":"%s","payload":' % memory_type.value.encode(),
        b',"schema_version":%d,"serialization":"jcs/1"}' % version,
    )
    for memory_type, version in _KNOWN.values()
}


class Block(msgspec.Struct, frozen=True):
    """An immutable record. `data` are its canonical envelope bytes, `id` their SHA-256."""

    memory_type: MemoryType
    schema_version: int
    payload: Payload
    data: bytes
    id: Digest


def seal(memory_type: MemoryType, schema_version: int, payload: Payload, payload_bytes: bytes) -> Block:
    """The block of a payload and its canonical bytes."""
    before, after = _AROUND[memory_type, schema_version]
    data = before + payload_bytes + after
    return Block(memory_type, schema_version, payload, data, sha256(data))


def around(memory_type: MemoryType, schema_version: int) -> tuple[bytes, bytes]:
    """What stands before and after the payload in the envelope of a known kind."""
    return _AROUND[memory_type, schema_version]


def open_envelope(data: bytes) -> tuple[MemoryType, int, bytes]:
    """Memory type, schema version and payload bytes of canonical envelope bytes.

    The frame is checked to the byte, the payload only for standing between braces. Raises FormatError.
    """
    found = _frame(data)
    known = _KNOWN.get((found[1], found[3])) if found else None
    if found is None or known is None:
        raise FormatError(_fault(data))
    return known[0], known[1], found[2]


def payload_json(data: bytes) -> bytes:
    """The payload member of canonical envelope bytes, as JSON, for bytes already known to be a block.

    It does not look inside the payload. Raises FormatError where the frame is not an envelope's.
    """
    return open_envelope(data)[2]


def _fault(data: bytes) -> str:
    """What is wrong with bytes that do not have the frame of an envelope."""
    try:
        envelope = canonical.require(data, "block")
    except FormatError as error:
        return error.message
    if not isinstance(envelope, dict):
        return f"block: the envelope is an object, not {type(envelope).__name__}"
    names = {"boltzmann", "memory_type", "payload", "schema_version", "serialization"}
    if missing := names - envelope.keys():
        return f"block: the envelope lacks {', '.join(sorted(missing))}"
    if unknown := envelope.keys() - names:
        return f"block: the envelope has an unknown member {min(unknown)!r}"
    kind, version = envelope["memory_type"], envelope["schema_version"]
    if envelope["boltzmann"] is True or envelope["boltzmann"] != PROTOCOL_VERSION:
        return f"block: protocol version {envelope['boltzmann']!r}, this software reads {PROTOCOL_VERSION}"
    if envelope["serialization"] != SERIALIZATION:
        return f"block: serialization {envelope['serialization']!r}, this software reads {SERIALIZATION!r}"
    if kind not in list(MemoryType):
        return f"block: unknown memory type {kind!r}"
    if not isinstance(envelope["payload"], dict):
        return f"block: the payload is an object, not {type(envelope['payload']).__name__}"
    return (
        f"block: {kind} schema version {version!r}, this software reads {SCHEMA_VERSIONS[MemoryType(kind)]}"
    )
