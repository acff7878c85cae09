"""Blocks: the payload of each memory type, and building and reading the envelope around it (WIRE 3 and 4).

The order of a list is part of identity. An optional member that is absent is UNSET here and not written;
`()` is written as `[]` and makes another block.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from consilience.errors import FormatError, ValidationError
from consilience.protocol import canonical, records
from consilience.protocol.envelope import Block, open_envelope, payload_json
from consilience.protocol.fields import Count, DigestText, Name, Timestamp, Wire, is_calendar_instant
from consilience.protocol.identity import sha256
from consilience.protocol.records import Provenance
from consilience.protocol.schema import Schema
from consilience.protocol.types import MemoryType

__all__ = [
    "Block",
    "Canonical",
    "CatalogEntry",
    "ContentRef",
    "Episodic",
    "Kind",
    "Payload",
    "Procedural",
    "Provenance",
    "Relation",
    "Semantic",
    "Step",
    "build",
    "build_document",
    "content_refs",
    "decode",
    "payload_json",
]

Texts = tuple[str, ...] | UnsetType
Digests = tuple[DigestText, ...] | UnsetType


class ContentRef(Wire, frozen=True, kw_only=True):
    """Bytes that a block names and does not carry: their digest, media type and length in bytes."""

    blob: DigestText
    media_type: Name
    size: Count


class Canonical(Wire, frozen=True, kw_only=True):
    """Evidence as registered: the original bytes, and a text view of them where a pipeline made one."""

    blob: DigestText
    media_type: Name
    size: Count
    normalized_view: ContentRef | UnsetType = UNSET


class Episodic(Wire, frozen=True, kw_only=True):
    """What happened, and when. `content` makes it version 2."""

    summary: Name
    occurred_at: Timestamp
    ended_at: Timestamp | UnsetType = UNSET
    context: str | UnsetType = UNSET
    participants: Texts = UNSET
    outcome: str | UnsetType = UNSET
    evidence: Digests = UNSET
    tags: Texts = UNSET
    content: ContentRef | UnsetType = UNSET


class Kind(enum.StrEnum):
    """Kinds of semantic block; scheme and class belong to a catalog."""

    CONCEPT = "concept"
    FACT = "fact"
    FORMULA = "formula"
    RELATION = "relation"
    CONSTRAINT = "constraint"
    SCHEME = "scheme"
    CLASS = "class"


class Relation(Wire, frozen=True, kw_only=True):
    """An edge from this block to another."""

    predicate: Name
    target: DigestText


class Semantic(Wire, frozen=True, kw_only=True):
    """A statement. `content` makes it version 2."""

    kind: Kind
    label: Name
    statement: Name
    subject: str | UnsetType = UNSET
    evidence: Digests = UNSET
    relations: tuple[Relation, ...] | UnsetType = UNSET
    aliases: Texts = UNSET
    content: ContentRef | UnsetType = UNSET


class CatalogEntry(Wire, frozen=True, kw_only=True):
    """Semantic version 3: a scheme, a class in it, a block placed in a class, or one class above another."""

    kind: Kind
    scheme: Name | UnsetType = UNSET
    label: Name | UnsetType = UNSET
    exclusive: bool | UnsetType = UNSET
    evidence: Digests = UNSET
    relations: tuple[Relation, ...] | UnsetType = UNSET


class Step(Wire, frozen=True, kw_only=True):
    """One action of a procedure; `uses` names the blocks it relies on."""

    action: Name
    condition: str | UnsetType = UNSET
    alternatives: Texts = UNSET
    uses: Digests = UNSET


class Procedural(Wire, frozen=True, kw_only=True):
    """How something is done. `content` makes it version 2."""

    label: Name
    goal: Name
    steps: Annotated[tuple[Step, ...], msgspec.Meta(min_length=1)]
    preconditions: Texts = UNSET
    success_criteria: Texts = UNSET
    subject: str | UnsetType = UNSET
    evidence: Digests = UNSET
    content: ContentRef | UnsetType = UNSET


Payload = Canonical | Episodic | Semantic | CatalogEntry | Procedural | Provenance


# --- what the shapes alone do not say -----------------------------------------------------------------------


def _canonical_problem(payload: Canonical, version: int) -> str | None:
    return None


def _content_problem(payload: Episodic | Semantic | Procedural, version: int) -> str | None:
    return "version 1 has no content" if version == 1 and payload.content is not UNSET else None


def _episodic_problem(payload: Episodic, version: int) -> str | None:
    if not isinstance(payload.ended_at, UnsetType):
        if not is_calendar_instant(payload.occurred_at) or not is_calendar_instant(payload.ended_at):
            return f"{payload.occurred_at} to {payload.ended_at} names a day or second that does not exist"
        if payload.ended_at < payload.occurred_at:
            return f"it ended at {payload.ended_at}, before it began at {payload.occurred_at}"
    return _content_problem(payload, version)


def _semantic_problem(payload: Semantic, version: int) -> str | None:
    if payload.kind in (Kind.SCHEME, Kind.CLASS):
        return f"the kind {payload.kind.value!r} belongs to a catalog entry, which has no statement"
    return _content_problem(payload, version)


_SCHEME, _CLASS = {"scheme", "exclusive"}, {"scheme", "label"}
_PLACEMENT, _HIERARCHY = {"evidence", "relations"}, {"relations"}


def _catalog_problem(payload: CatalogEntry, version: int) -> str | None:
    members = {name for name in payload.__struct_fields__ if getattr(payload, name) is not UNSET} - {"kind"}
    if payload.kind is Kind.SCHEME:
        return None if members == _SCHEME else "a scheme has exactly `scheme` and `exclusive`"
    if payload.kind is Kind.CLASS:
        if members != _CLASS:
            return "a class has exactly `scheme` and `label`"
        in_path = payload.label not in (".", "..") and "/" not in str(payload.label)
        return None if in_path else f"the class label {payload.label!r} is '.', '..' or has a '/'"
    if payload.kind is not Kind.RELATION:
        return f"a {payload.kind.value} has a label and a statement"
    predicates = (
        () if isinstance(payload.relations, UnsetType) else tuple(r.predicate for r in payload.relations)
    )
    if predicates == ("classified_as",) and members == _PLACEMENT:
        evidence = () if isinstance(payload.evidence, UnsetType) else payload.evidence
        return None if len(evidence) == 1 else "a placement cites exactly one canonical block"
    if predicates == ("broader", "narrower") and members == _HIERARCHY:
        return None
    return "a relation without a statement is a placement (classified_as) or a hierarchy (broader, narrower)"


_SCHEMAS: dict[type, Schema] = {
    Canonical: Schema(MemoryType.CANONICAL, (1,), Canonical, _canonical_problem),
    Episodic: Schema(MemoryType.EPISODIC, (1, 2), Episodic, _episodic_problem),
    Semantic: Schema(MemoryType.SEMANTIC, (1, 2), Semantic, _semantic_problem),
    CatalogEntry: Schema(MemoryType.SEMANTIC, (3,), CatalogEntry, _catalog_problem),
    Procedural: Schema(MemoryType.PROCEDURAL, (1, 2), Procedural, _content_problem),
    Provenance: records.SCHEMA,
}
_BY_VERSION = {(schema.memory_type, v): schema for schema in _SCHEMAS.values() for v in schema.versions}


# --- building and reading -----------------------------------------------------------------------------------


def build(payload: Payload) -> Block:
    """The block of a payload, under the oldest version that fits it. Nothing is coerced: ValidationError."""
    schema = _SCHEMAS.get(type(payload))
    if schema is None:
        raise ValidationError(f"{type(payload).__name__} is not a payload")
    return schema.build(payload)


def build_document(memory_type: MemoryType, payload: Mapping[str, Any]) -> Block:
    """The same from plain JSON. A null, unknown or ill-typed member is refused: ValidationError."""
    if not isinstance(payload, Mapping):
        raise ValidationError(f"{memory_type} block: the payload is an object, not {type(payload).__name__}")
    try:
        data = canonical.encode(dict(payload))
    except FormatError as error:
        raise ValidationError(f"{memory_type} block: {error.message}", hint=error.hint) from error
    if memory_type is MemoryType.SEMANTIC and "statement" not in payload:
        return _SCHEMAS[CatalogEntry].build_from(data)
    return _BY_VERSION[memory_type, 1].build_from(data)


def decode(data: bytes) -> Block:
    """The block of canonical envelope bytes. What is not canonical, or not of its schema: FormatError."""
    memory_type, version, payload_bytes = open_envelope(data)
    payload = _BY_VERSION[memory_type, version].read(version, payload_bytes)
    return Block(memory_type, version, payload, data, sha256(data))


def problem_of(memory_type: MemoryType, version: int) -> Callable[[Any, int], str | None]:
    """What tells what is wrong with a well-typed payload under this version, beyond its shape; None for nothing."""
    return _BY_VERSION[memory_type, version].problem


def content_refs(payload: Payload) -> tuple[ContentRef, ...]:
    """The bytes that a payload names: a canonical block's original and text view, another block's content."""
    if isinstance(payload, Canonical):
        original = ContentRef(blob=payload.blob, media_type=payload.media_type, size=payload.size)
        view = payload.normalized_view
        return (original,) if isinstance(view, UnsetType) else (original, view)
    if isinstance(payload, (Episodic, Semantic, Procedural)) and not isinstance(payload.content, UnsetType):
        return (payload.content,)
    return ()
