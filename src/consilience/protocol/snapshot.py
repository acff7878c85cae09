"""The snapshot document: the state of a brain, one root a module (WIRE 7), and its trust root (WIRE 11).

A snapshot's identity is the SHA-256 of its canonical bytes, which hold the time it was made: two parties with
equal knowledge have equal roots and different snapshots. Signatures are out of scope: a trust root is parsed,
checked for coherence and carried.
"""

from __future__ import annotations

import base64
import binascii
import enum
import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from consilience.errors import FormatError, ValidationError
from consilience.protocol import canonical
from consilience.protocol.fields import Count, DigestText, Name, Timestamp, Wire
from consilience.protocol.identity import Digest, format_digest, parse_digest, sha256
from consilience.protocol.merkle import LAYOUT
from consilience.protocol.records import validate_actor_id
from consilience.protocol.types import MemoryType

__all__ = ["ModuleRef", "Scope", "Snapshot", "TrustRoot", "TrustedKey", "digest", "document", "parse"]

Revision = Annotated[int, msgspec.Meta(ge=1, le=canonical.MAX_SAFE_INTEGER)]


# --- trust root ---------------------------------------------------------------------------------------------


class Scope(enum.StrEnum):
    INGEST = "ingest"
    COMMIT = "commit"
    DROP_CANONICAL = "drop:canonical"
    REDACT = "redact"
    GOVERN = "govern"
    PROPOSE = "propose"


class TrustedKey(Wire, frozen=True, kw_only=True):
    """A public key, `<type> <base64>`, what it may sign, and from where on it no longer may."""

    key: Name
    scopes: Annotated[tuple[Scope, ...], msgspec.Meta(min_length=1)]
    since: Revision
    subject: str | UnsetType = UNSET
    retired_from: Revision | UnsetType = UNSET
    compromised_from: DigestText | UnsetType = UNSET


class TrustRoot(Wire, frozen=True, kw_only=True):
    """The keys that may sign for a brain, at one revision."""

    boltzmann: Literal[1]
    revision: Revision
    namespace: Literal["boltzmann.snapshot.v1"]
    govern_quorum: Revision
    keys: Annotated[tuple[TrustedKey, ...], msgspec.Meta(min_length=1)]

    @property
    def digest(self) -> Digest:
        """What a consumer pins."""
        return sha256(canonical.encode_struct(self))


def _trust_root_problem(root: TrustRoot) -> str | None:
    if len({entry.key for entry in root.keys}) != len(root.keys):
        return "a key is listed twice"
    if not any(Scope.GOVERN in entry.scopes for entry in root.keys):
        return "no key may govern"
    return next(filter(None, (_key_problem(entry, root.revision) for entry in root.keys)), None)


def _key_problem(entry: TrustedKey, revision: int) -> str | None:
    if not _is_public_key(entry.key):
        return f"{entry.key[:80]!r} is not a public key `<type> <base64>`"
    if len(set(entry.scopes)) != len(entry.scopes):
        return "a scope is listed twice"
    retired = revision if isinstance(entry.retired_from, UnsetType) else entry.retired_from
    if entry.since > revision or retired > revision:
        return f"a position lies after revision {revision}"
    if entry.retired_from is not UNSET and retired <= entry.since:
        return "a key is retired before it is admitted"
    if not isinstance(entry.subject, UnsetType):
        try:
            validate_actor_id(entry.subject)
        except ValidationError as error:
            return error.message
    return None


_KEY_LINE = re.compile(r"(\S+) ([A-Za-z0-9+/=]+)").fullmatch
_LARGEST_KEY = 1 << 14
"""Bytes of a public key: far above any type in use."""


def _is_public_key(text: str) -> bool:
    """Whether text is `<type> <base64>` in its one spelling: strings (RFC 4253, 6.6), the type first.

    Types that cannot be verified here are carried all the same; an Ed25519 key is one string of 32 bytes and
    nothing behind it (RFC 8709, 4).
    """
    line = _KEY_LINE(text)
    if line is None:
        return False
    head, body = line.groups()
    try:
        blob = base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return False
    fields, at = [], 0
    while at + 4 <= len(blob):
        start, at = at + 4, at + 4 + int.from_bytes(blob[at : at + 4], "big")
        fields.append(blob[start:at])
    if at != len(blob) or at > _LARGEST_KEY or base64.b64encode(blob).decode() != body:
        return False
    if not head.isascii() or fields[:1] != [head.encode()]:
        return False
    return head != "ssh-ed25519" or [len(field) for field in fields[1:]] == [32]


# --- snapshot -----------------------------------------------------------------------------------------------


class ModuleRef(msgspec.Struct, frozen=True, kw_only=True):
    """One module's version: its root, the digest of its composition document, how many members it has.

    `tombstones`: members whose bytes were destroyed, ascending.
    """

    memory_type: MemoryType
    root: Digest
    composition: Digest
    block_count: int
    embedding_model: str | None = None
    index_digest: Digest | None = None
    tombstones: tuple[Digest, ...] = ()


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a brain. `modules` in any order, each memory type at most once.

    `parents`: none for the first, one for a commit, more where histories were joined (onto the first).
    """

    created_at: str
    modules: tuple[ModuleRef, ...]
    parents: tuple[Digest, ...] = ()
    labels: dict[str, str] | None = None
    trust_root: TrustRoot | None = None

    def module(self, memory_type: MemoryType) -> ModuleRef | None:
        return next((ref for ref in self.modules if ref.memory_type is memory_type), None)


class _ModuleDocument(Wire, frozen=True, kw_only=True):
    memory_type: MemoryType
    root: DigestText
    composition: DigestText
    block_count: Count
    layout: Literal["rfc6962-sorted/1"]
    embedding_model: str | UnsetType = UNSET
    index_digest: DigestText | UnsetType = UNSET
    tombstones: tuple[DigestText, ...] | UnsetType = UNSET


class _SnapshotDocument(Wire, frozen=True, kw_only=True):
    boltzmann: Literal[1]
    created_at: Timestamp
    modules: dict[MemoryType, _ModuleDocument]
    parent: DigestText | UnsetType = UNSET
    parents: tuple[DigestText, ...] | UnsetType = UNSET
    labels: dict[str, str] | UnsetType = UNSET
    trust_root: TrustRoot | UnsetType = UNSET


def document(snapshot: Snapshot) -> bytes:
    """Canonical bytes of a snapshot. Raises ValidationError where it is not one."""
    modules = {ref.memory_type.value: _module_document(ref) for ref in snapshot.modules}
    if len(modules) != len(snapshot.modules):
        raise ValidationError("snapshot: a module is named twice")
    value: dict[str, Any] = {"boltzmann": 1, "created_at": snapshot.created_at, "modules": modules}
    parents = [format_digest(parent) for parent in snapshot.parents]
    if len(parents) == 1:
        value["parent"] = parents[0]
    elif parents:
        value["parents"] = parents
    if snapshot.labels is not None:
        value["labels"] = snapshot.labels
    if snapshot.trust_root is not None:
        value["trust_root"] = msgspec.to_builtins(snapshot.trust_root)
    try:
        data = canonical.encode(value)
        parse(data)
    except FormatError as error:
        raise ValidationError(error.message, hint=error.hint) from error
    return data


def parse(data: bytes) -> Snapshot:
    """The snapshot of canonical bytes. Anything else, or a snapshot that contradicts itself: FormatError."""
    canonical.require(data, "snapshot")
    try:
        found = msgspec.json.decode(data, type=_SnapshotDocument, strict=True)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise FormatError(f"snapshot: {error}") from error
    return Snapshot(
        created_at=found.created_at,
        modules=tuple(
            [_module_ref(name, found.modules[name]) for name in MemoryType if name in found.modules]
        ),
        parents=_parents(found),
        labels=None if isinstance(found.labels, UnsetType) else found.labels,
        trust_root=_trust_root(found),
    )


def digest(snapshot: Snapshot) -> Digest:
    """A snapshot's identity."""
    return sha256(document(snapshot))


def _module_document(ref: ModuleRef) -> dict[str, Any]:
    value: dict[str, Any] = {
        "memory_type": ref.memory_type.value,
        "root": format_digest(ref.root),
        "composition": format_digest(ref.composition),
        "block_count": ref.block_count,
        "layout": LAYOUT,
    }
    if ref.embedding_model is not None:
        value["embedding_model"] = ref.embedding_model
    if ref.index_digest is not None:
        value["index_digest"] = format_digest(ref.index_digest)
    if ref.tombstones:
        value["tombstones"] = [format_digest(raw) for raw in ref.tombstones]
    return value


def _module_ref(name: MemoryType, found: _ModuleDocument) -> ModuleRef:
    if found.memory_type is not name:
        raise FormatError(f"snapshot: the module {name} is described as {found.memory_type}")
    if found.index_digest is not UNSET and found.embedding_model is UNSET:
        raise FormatError(f"snapshot: the module {name} has an index_digest and no embedding_model")
    tombstones: tuple[Digest, ...] = ()
    if not isinstance(found.tombstones, UnsetType):
        tombstones = tuple([parse_digest(text) for text in found.tombstones])
        if not tombstones or list(tombstones) != sorted(set(tombstones)):
            raise FormatError(f"snapshot: the tombstones of {name} are empty, repeated or not ascending")
    return ModuleRef(
        memory_type=name,
        root=parse_digest(found.root),
        composition=parse_digest(found.composition),
        block_count=found.block_count,
        embedding_model=None if isinstance(found.embedding_model, UnsetType) else found.embedding_model,
        index_digest=None if isinstance(found.index_digest, UnsetType) else parse_digest(found.index_digest),
        tombstones=tombstones,
    )


def _parents(found: _SnapshotDocument) -> tuple[Digest, ...]:
    if isinstance(found.parents, UnsetType):
        return () if isinstance(found.parent, UnsetType) else (parse_digest(found.parent),)
    if found.parent is not UNSET or len(found.parents) < 2:
        raise FormatError("snapshot: `parents` has two or more entries and excludes `parent`")
    if len(set(found.parents)) != len(found.parents):
        raise FormatError("snapshot: a parent is named twice")
    return tuple([parse_digest(text) for text in found.parents])


def _trust_root(found: _SnapshotDocument) -> TrustRoot | None:
    if isinstance(found.trust_root, UnsetType):
        return None
    if problem := _trust_root_problem(found.trust_root):
        raise FormatError(f"snapshot: trust root: {problem}")
    return found.trust_root
