"""Provenance records: who did what to which block, and when (WIRE 4, provenance 1 and 2).

Schema version 2 adds `assisted_by`, and differs in three places: a derivation names who assisted *instead of*
a producer, a removal has no version 2, and every id of an actor, collaborator or model must be an actor id.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from consilience.errors import ActorError, ValidationError
from consilience.protocol import canonical
from consilience.protocol.envelope import Block
from consilience.protocol.fields import DigestText, Name, Timestamp, Wire
from consilience.protocol.identity import format_digest
from consilience.protocol.schema import Schema
from consilience.protocol.types import MemoryType

__all__ = [
    "Actor",
    "ActorKind",
    "Collaborator",
    "Demotion",
    "Derivation",
    "Mechanism",
    "Normalization",
    "Producer",
    "ProducerKind",
    "Provenance",
    "Record",
    "Registration",
    "Removal",
    "Supersession",
    "Validation",
    "Verdict",
    "derivation_block",
    "record_block",
    "validate_actor_id",
]


class ActorKind(enum.StrEnum):
    HUMAN = "human"
    AGENT = "agent"
    SERVICE = "service"
    PIPELINE = "pipeline"


class ProducerKind(enum.StrEnum):
    MODEL = "model"
    PIPELINE = "pipeline"
    BATCH = "batch"
    ACTOR = "actor"


class Verdict(enum.StrEnum):
    VALIDATED = "validated"
    PENDING_REVIEW = "pending_review"
    REJECTED = "rejected"
    CONTRADICTED = "contradicted"


class Mechanism(enum.StrEnum):
    """How knowledge left a brain. The last three destroy bytes (redaction)."""

    DROP = "drop"
    SUPERSEDE = "supersede"
    DEMOTE = "demote"
    PRUNE = "prune"
    TOMBSTONE = "tombstone"
    CRYPTO_SHRED = "crypto_shred"
    LINEAGE_REWRITE = "lineage_rewrite"

    @property
    def is_redaction(self) -> bool:
        return self in (Mechanism.TOMBSTONE, Mechanism.CRYPTO_SHRED, Mechanism.LINEAGE_REWRITE)


# --- who ----------------------------------------------------------------------------------------------------


class Actor(Wire, frozen=True, kw_only=True):
    """Who performed an operation. Records of others may carry ids that `validate_actor_id` refuses."""

    id: Name
    kind: ActorKind
    name: str | UnsetType = UNSET


class Producer(Wire, frozen=True, kw_only=True):
    """What made a derived block."""

    kind: ProducerKind
    id: Name
    version: str | UnsetType = UNSET


class Collaborator(Wire, frozen=True, kw_only=True):
    """Who took part without being the actor. `model` is an actor id, and never a person's."""

    id: Name
    kind: ActorKind
    name: str | UnsetType = UNSET
    model: str | UnsetType = UNSET


# --- what ---------------------------------------------------------------------------------------------------

AssistedBy = tuple[Collaborator, ...] | UnsetType
Digests = Annotated[tuple[DigestText, ...], msgspec.Meta(min_length=1)]


class _Record(Wire, frozen=True, kw_only=True, tag_field="record_type"):
    actor: Actor
    at: Timestamp


class Registration(_Record, frozen=True, kw_only=True, tag="registration"):
    """A block came in from outside: `origin` is where from (a file, a URL)."""

    block: DigestText
    origin: str | UnsetType = UNSET
    license: str | UnsetType = UNSET
    retention_policy: str | UnsetType = UNSET
    assisted_by: AssistedBy = UNSET


class Derivation(_Record, frozen=True, kw_only=True, tag="derivation"):
    """Made from other blocks; `locator` says where in them. Either `producer` (v1) or `assisted_by` (v2)."""

    block: DigestText
    derived_from: Digests
    producer: Producer | UnsetType = UNSET
    task: str | UnsetType = UNSET
    locator: str | UnsetType = UNSET
    assisted_by: AssistedBy = UNSET


class Normalization(_Record, frozen=True, kw_only=True, tag="normalization"):
    """A pipeline made the normalized view of a canonical block."""

    block: DigestText
    pipeline: Name
    pipeline_version: Name
    assisted_by: AssistedBy = UNSET


class Supersession(_Record, frozen=True, kw_only=True, tag="supersession"):
    """`block` takes the place of `supersedes`."""

    block: DigestText
    supersedes: DigestText
    reason: str | UnsetType = UNSET
    assisted_by: AssistedBy = UNSET


class Demotion(_Record, frozen=True, kw_only=True, tag="demotion"):
    """A block stays a member and is no longer shown by default."""

    block: DigestText
    reason: str | UnsetType = UNSET
    policy: str | UnsetType = UNSET
    assisted_by: AssistedBy = UNSET


class Validation(_Record, frozen=True, kw_only=True, tag="validation"):
    """The verdict on a block and the checks that led to it; writers sort `checks`."""

    block: DigestText
    verdict: Verdict
    checks: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    task: str | UnsetType = UNSET
    assisted_by: AssistedBy = UNSET


class Removal(_Record, frozen=True, kw_only=True, tag="removal"):
    """Blocks left a module. Version 1 for ever: every reader must be able to account for an absence."""

    blocks: Digests
    mechanism: Mechanism
    memory_type: MemoryType
    reason: Name
    policy: str | UnsetType = UNSET
    cascaded_from: DigestText | UnsetType = UNSET
    resulting_roots: dict[str, DigestText] | UnsetType = UNSET


Record = Registration | Derivation | Normalization | Supersession | Demotion | Validation | Removal


class Provenance(Wire, frozen=True, kw_only=True):
    """The payload of a provenance block: one record."""

    record: Record


# --- actor ids ----------------------------------------------------------------------------------------------

_LOCAL = re.compile(r"[a-z0-9._%+-]{1,64}").fullmatch
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?").fullmatch
_PART = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,126}[a-z0-9])?").fullmatch
_ACTOR_HINT = "an actor is an address (`ana@example.org`) or a name (`example/ana`), in lower case"


def validate_actor_id(text: str) -> None:
    """Refuse what is neither an address `local@domain` nor a name `namespace/name` (WIRE 4): ActorError.

    Refused, never normalised: the id is part of the identity of every record that carries it.
    """
    fault = _actor_fault(text) if isinstance(text, str) else "it is not text"
    if fault:
        raise ActorError(f"{str(text)[:100]!r} is not an actor id: {fault}", hint=_ACTOR_HINT)


def _actor_fault(text: str) -> str | None:
    if not text:
        return "it is empty"
    if len(text) > 320:
        return f"it has {len(text)} characters, more than 320"
    if bad := next((c for c in text if c.isspace() or not "!" <= c <= "~"), None):
        return f"{bad!r} is not printable ASCII"
    if text != text.lower():
        return "it is not in lower case"
    if "@" in text and "/" in text:
        return "it has both '@' and '/'"
    if "@" in text:
        return _address_fault(*text.split("@", 1))
    if text.count("/") != 1:
        return "a name has exactly one '/'"
    namespace, name = text.split("/")
    if not _PART(namespace) or not _PART(name):
        return "each side of '/' has 1 to 128 of a-z 0-9 . _ -, letters or digits first and last"
    return None


def _address_fault(local: str, domain: str) -> str | None:
    if not _LOCAL(local):
        return "before '@' stand 1 to 64 of a-z 0-9 . _ % + -"
    if local.startswith(".") or local.endswith(".") or ".." in local:
        return "no dot stands first, last or doubled before '@'"
    labels = domain.split(".")
    if len(domain) > 255 or len(labels) < 2 or not all(map(_LABEL, labels)):
        return "after '@' stands a domain of two or more labels, each of 1 to 63 a-z 0-9 -, no - at its ends"
    return None


# --- blocks of records --------------------------------------------------------------------------------------


def _problem(payload: Provenance, version: int) -> str | None:
    record = payload.record
    if isinstance(record, Removal):
        return None if version == 1 else "a removal has no version 2"
    assisted = record.assisted_by
    if isinstance(record, Derivation) and (record.producer is UNSET) == (assisted is UNSET):
        return "a derivation names either its producer or who assisted"
    if version == 1:
        return None if assisted is UNSET else "version 1 has no assisted_by"
    if isinstance(record, Derivation) and not assisted:
        return "a version 2 derivation names at least one collaborator"
    return _party_problem(record.actor, () if isinstance(assisted, UnsetType) else assisted)


def _party_problem(actor: Actor, assisted: tuple[Collaborator, ...]) -> str | None:
    for party in assisted:
        if party.kind is ActorKind.HUMAN and party.model is not UNSET:
            return f"the collaborator {party.id!r} is a person and names a model"
    ids = [
        actor.id,
        *(p.id for p in assisted),
        *(p.model for p in assisted if not isinstance(p.model, UnsetType)),
    ]
    for text in ids:
        if fault := _actor_fault(text):
            return f"{text[:100]!r} is not an actor id: {fault}"
    return None


def _encode(payload: Provenance) -> bytes:
    roots = payload.record.resulting_roots if isinstance(payload.record, Removal) else UNSET
    if not isinstance(roots, UnsetType) and not all(isinstance(k, str) and k.isascii() for k in roots):
        return canonical.encode(msgspec.to_builtins(payload))
    return canonical.encode_struct(payload)


SCHEMA = Schema(MemoryType.PROVENANCE, (1, 2), Provenance, _problem, _encode)


def record_block(record: Record) -> Block:
    """The provenance block of a record. Raises ValidationError."""
    return SCHEMA.build(Provenance(record=record))


def derivation_block(
    block: bytes,
    derived_from: Sequence[bytes],
    producer: Producer,
    actor: Actor,
    at: str,
    locator: str | None = None,
) -> Block:
    """The block of one derivation record, ids as raw digests: what ingest writes for each passage.

    Raises ValidationError, FormatError for an id that is not 32 bytes.
    """
    if not derived_from:
        raise ValidationError("a derivation names at least one block that it was made from")
    record = Derivation(
        block=format_digest(block),
        derived_from=tuple([format_digest(raw) for raw in derived_from]),
        producer=producer,
        actor=actor,
        at=at,
        locator=UNSET if locator is None else locator,
    )
    return SCHEMA.build(Provenance(record=record))
