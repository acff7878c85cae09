"""The composition document: the leaves of one module version, written out (WIRE 5).

    {"block_ids":["sha256:...",...],"boltzmann":1,"layout":"rfc6962-sorted/1","memory_type":M}

A root cannot be turned back into its leaves; this document is what a snapshot names beside the root.
"""

from __future__ import annotations

from collections.abc import Sequence

from consilience.errors import FormatError, ValidationError
from consilience.protocol import canonical
from consilience.protocol.identity import Digest
from consilience.protocol.merkle import LAYOUT, check_sorted
from consilience.protocol.types import MemoryType

__all__ = ["composition_document", "parse_composition"]

_HEAD = b'{"block_ids":['
_TAIL = {m: f'],"boltzmann":1,"layout":"{LAYOUT}","memory_type":"{m.value}"}}'.encode() for m in MemoryType}


def composition_document(memory_type: MemoryType, sorted_ids: Sequence[bytes]) -> bytes:
    """Canonical bytes for strictly ascending raw ids (ValidationError otherwise), 74 bytes an id."""
    check_sorted(sorted_ids)
    return _document(memory_type, sorted_ids)


def _document(memory_type: MemoryType, ids: Sequence[bytes]) -> bytes:
    listed = '"sha256:' + '","sha256:'.join([raw.hex() for raw in ids]) + '"' if ids else ""
    return _HEAD + listed.encode("ascii") + _TAIL[memory_type]


def parse_composition(data: bytes) -> tuple[MemoryType, list[Digest]]:
    """Memory type and ascending raw ids of a composition document. Not its canonical form: FormatError."""
    memory_type = next((m for m, tail in _TAIL.items() if data.endswith(tail)), None)
    if memory_type is None or not data.startswith(_HEAD):
        raise FormatError(_fault(data))
    try:
        listed = data[len(_HEAD) : -len(_TAIL[memory_type])].decode("ascii")
        ids = [Digest(bytes.fromhex(text[8:-1])) for text in listed.split(",")] if listed else []
        check_sorted(ids)
    except ValidationError as error:
        raise FormatError(f"composition: {error.message}") from error
    except ValueError as error:
        raise FormatError(_fault(data)) from error
    if _document(memory_type, ids) != data:
        raise FormatError(_fault(data))
    return memory_type, ids


def _fault(data: bytes) -> str:
    """What is wrong with bytes that are no composition document."""
    try:
        document = canonical.require(data, "composition")
    except FormatError as error:
        return error.message
    if not isinstance(document, dict):
        return f"composition: an object, not {type(document).__name__}"
    if document.keys() != {"block_ids", "boltzmann", "layout", "memory_type"}:
        return f"composition: unexpected members {', '.join(sorted(document))}"
    for name, expected in (("boltzmann", 1), ("layout", LAYOUT)):
        if document[name] != expected or isinstance(document[name], bool):
            return f"composition: {name} is {document[name]!r}, this software reads {expected!r}"
    if document["memory_type"] not in list(MemoryType):
        return f"composition: unknown memory type {document['memory_type']!r}"
    return "composition: block_ids are not digests"
