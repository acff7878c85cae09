"""Composition documents: only the canonical form is read. (`tests/conformance` holds them to the oracle.)"""

from __future__ import annotations

from typing import Any

import pytest
from boltzmann.conformance import golden

from consilience.errors import FormatError, ValidationError
from consilience.protocol import MemoryType, canonical, composition_document, parse_composition

REJECTED = golden.load("merkle_roots.json")["rejected_compositions"]
ID = "sha256:" + "0" * 63


@pytest.mark.parametrize("vector", REJECTED, ids=lambda v: v["name"])
def test_golden_compositions_are_rejected(vector: dict[str, Any]) -> None:
    document = {
        "block_ids": vector["block_ids"],
        "boltzmann": 1,
        "layout": "rfc6962-sorted/1",
        "memory_type": "semantic",
    }
    with pytest.raises(FormatError, match="ascending"):
        parse_composition(canonical.encode(document))
    with pytest.raises(ValidationError):
        composition_document(MemoryType.SEMANTIC, [bytes.fromhex(text[7:]) for text in vector["block_ids"]])


GOOD: dict[str, Any] = {
    "block_ids": [ID + "1", ID + "2"],
    "boltzmann": 1,
    "layout": "rfc6962-sorted/1",
    "memory_type": "semantic",
}
HOSTILE_MEMBERS: dict[str, dict[str, Any]] = {
    "protocol version 2": {"boltzmann": 2},
    "boolean protocol version": {"boltzmann": True},
    "protocol version as text": {"boltzmann": "1"},
    "other layout": {"layout": "rfc6962/1"},
    "unknown memory type": {"memory_type": "dreams"},
    "memory type that is a list": {"memory_type": ["semantic"]},
    "upper case id": {"block_ids": ["sha256:" + "A" * 64]},
    "id without prefix": {"block_ids": ["0" * 64]},
    "id of another algorithm": {"block_ids": ["sha512:" + "0" * 64]},
    "id that is null": {"block_ids": [None]},
    "ids that are null": {"block_ids": None},
    "ids in an object": {"block_ids": {}},
    "unknown member": {"note": ""},
}


@pytest.mark.parametrize("change", HOSTILE_MEMBERS.values(), ids=HOSTILE_MEMBERS)
def test_hostile_member_is_a_format_error(change: dict[str, Any]) -> None:
    parse_composition(canonical.encode(GOOD))
    with pytest.raises(FormatError, match="composition"):
        parse_composition(canonical.encode(GOOD | change))


@pytest.mark.parametrize("member", GOOD)
def test_missing_member_is_a_format_error(member: str) -> None:
    with pytest.raises(FormatError):
        parse_composition(canonical.encode({k: v for k, v in GOOD.items() if k != member}))


HOSTILE_BYTES = {
    "empty": b"",
    "not JSON": b"composition",
    "array": b"[]",
    "space": canonical.encode(GOOD).replace(b",", b", ", 1),
    "newline at the end": canonical.encode(GOOD) + b"\n",
    "key order": b'{"boltzmann":1,"block_ids":[],"layout":"rfc6962-sorted/1","memory_type":"semantic"}',
    "duplicate key": canonical.encode(GOOD).replace(b'"boltzmann":1', b'"boltzmann":1,"boltzmann":1'),
    "comma at the end of the ids": canonical.encode(GOOD).replace(b"]", b",]"),
    "space inside an id": canonical.encode(GOOD).replace(b"00", b" 0", 1),
    "id outside ASCII": canonical.encode(GOOD).replace(b"0", "\N{FULLWIDTH DIGIT ZERO}".encode(), 1),
}


@pytest.mark.parametrize("data", HOSTILE_BYTES.values(), ids=HOSTILE_BYTES)
def test_hostile_bytes_are_a_format_error(data: bytes) -> None:
    with pytest.raises(FormatError, match="composition"):
        parse_composition(data)
