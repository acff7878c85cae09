"""Where we refuse what pyboltzmann takes: each difference with its reason, an example and its repair.

A document that we alone refuse is excused only if its repair is taken by both, with the same bytes: so that one
reason never hides another difference. Decision 0010 names each of them, and so does `test_strictness.py`.
"""

from __future__ import annotations

import base64
import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from boltzmann.blocks.base import Block as TheirBlock
from boltzmann.blocks.memory_type import MemoryType as TheirType
from boltzmann.merkle.proof import InclusionProof
from boltzmann.module.snapshot import Snapshot as TheirSnapshot

from consilience.errors import FormatError, ValidationError
from consilience.protocol import MemoryType, Proof, build_document, canonical, decode, snapshot

D = "sha256:" + "0" * 64
AT = "2024-01-01T00:00:00Z"
OTHER_AT = "\u0662024-01-01T00:00:00Z"
MODULE = {
    "memory_type": "semantic",
    "root": D,
    "composition": D,
    "block_count": 1,
    "layout": "rfc6962-sorted/1",
}
SNAPSHOT: dict[str, Any] = {"boltzmann": 1, "created_at": AT, "modules": {"semantic": MODULE}}
PROOF: dict[str, Any] = {"audit_path": [], "block_id": D, "leaf_index": 0, "tree_size": 1}


ED25519 = [b"ssh-ed25519", b"k" * 32]


def public_key(fields: Sequence[bytes]) -> str:
    """`<type> <base64>` of SSH strings, the type first (RFC 4253, 6.6)."""
    blob = b"".join(len(field).to_bytes(4, "big") + field for field in fields)
    return f"{fields[0].decode()} {base64.b64encode(blob).decode()}"


def trust_root(*keys: Sequence[bytes]) -> dict[str, Any]:
    listed = [{"key": public_key(fields), "scopes": ["govern"], "since": 1} for fields in keys]
    return {
        "boltzmann": 1,
        "revision": 1,
        "namespace": "boltzmann.snapshot.v1",
        "govern_quorum": 1,
        "keys": listed,
    }


class Stricter(NamedTuple):
    """One reason. `examples`: surface (`build`, `decode`, `snapshot`, `proof`) and a document that it refuses."""

    reason: str
    examples: tuple[tuple[str, Any], ...]


STRICTER = {
    "coercion": Stricter(
        "its models are lax while building, so that what it writes is not what it was given",
        (
            ("build", ("canonical", {"blob": D, "media_type": "a/b", "size": "42"})),
            ("build", ("canonical", {"blob": D, "media_type": "a/b", "size": 42.0})),
            ("build", ("canonical", {"blob": D, "media_type": "a/b", "size": True})),
            ("build", ("semantic", {"kind": "scheme", "scheme": "s", "exclusive": 1})),
            ("build", ("semantic", {"kind": "fact", "label": "a", "statement": "b", "subject": None})),
            ("proof", json.dumps(PROOF | {"leaf_index": "0"}).encode()),
            ("proof", json.dumps(PROOF | {"tree_size": True}).encode()),
        ),
    ),
    "digits": Stricter(
        "its timestamps admit any Unicode digit, RFC 3339 does not",
        (
            ("build", ("episodic", {"summary": "s", "occurred_at": OTHER_AT})),
            ("snapshot", canonical.encode(SNAPSHOT | {"created_at": OTHER_AT})),
        ),
    ),
    "protocol version": Stricter(
        "it reads a snapshot of any protocol version",
        (("snapshot", canonical.encode(SNAPSHOT | {"boltzmann": 2})),),
    ),
    "layout": Stricter(
        "it reads a snapshot whose roots are of another Merkle layout, which cannot be recomputed",
        (("snapshot", canonical.encode(SNAPSHOT | {"modules": {"semantic": MODULE | {"layout": "x"}}})),),
    ),
    "empty tombstones": Stricter(
        "it reads an empty tombstone list, which nobody writes: absent and empty would be two digests of one state",
        (("snapshot", canonical.encode(SNAPSHOT | {"modules": {"semantic": MODULE | {"tombstones": []}}})),),
    ),
    "misfiled module": Stricter(
        "it reads a module that is filed under the name of another",
        (("snapshot", canonical.encode(SNAPSHOT | {"modules": {"episodic": MODULE}})),),
    ),
    "key fields": Stricter(
        "it reads an Ed25519 key with further strings behind it, so that one key has many spellings and digests",
        (("snapshot", canonical.encode(SNAPSHOT | {"trust_root": trust_root([*ED25519, b"more"])})),),
    ),
    "repeated member": Stricter(
        "it reads a proof in which a member stands twice, and takes the last",
        (("proof", json.dumps(PROOF).encode().replace(b"{", b'{"tree_size": 7, ')),),
    ),
    "unsafe integer": Stricter(
        "it reads a proof with an integer beyond 2^53-1, on which readers of JSON disagree",
        (("proof", json.dumps(PROOF | {"tree_size": 2**53}).encode()),),
    ),
}

_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z").fullmatch


def in_ascii(value: Any) -> Any:
    """The value with the digits of every timestamp in it in ASCII."""
    if isinstance(value, dict):
        return {key: in_ascii(item) for key, item in value.items()}
    if isinstance(value, list):
        return [in_ascii(item) for item in value]
    if isinstance(value, str) and not value.isascii() and _MOMENT(value):
        return "".join(str(unicodedata.digit(c)) if c.isdigit() else c for c in value)
    return value


def _key_repaired(text: str) -> str:
    """An Ed25519 key without what stands behind its 32 bytes."""
    kind, body = text.split(" ")
    return (
        f"{kind} {base64.b64encode(base64.b64decode(body)[:51]).decode()}" if kind == "ssh-ed25519" else text
    )


def _snapshot_repaired(document: Any) -> Any:
    document = in_ascii(document) | {"boltzmann": 1}
    if root := document.get("trust_root"):
        keys = {_key_repaired(entry["key"]): entry for entry in root["keys"]}
        root["keys"] = [entry | {"key": key} for key, entry in keys.items()]
    for name, ref in document["modules"].items():
        ref |= {"memory_type": name, "layout": "rfc6962-sorted/1"}
        if ref.get("tombstones") == []:
            del ref["tombstones"]
    return document


def theirs_of_build(given: tuple[str, Any]) -> TheirBlock:
    block = TheirBlock.build(TheirType(given[0]), given[1])
    block.canonical_bytes()  # where the oracle meets a lone surrogate
    return block


class Surface(NamedTuple):
    """One place where both read the same thing. `ours` and `theirs` give canonical bytes or raise; `repair` gives what
    the strict form of a document is that the oracle took."""

    ours: Callable[[Any], bytes]
    theirs: Callable[[Any], bytes]
    repair: Callable[[Any], Any]


def _their_proof(data: bytes) -> bytes:
    document = InclusionProof.model_validate_json(data).model_dump(mode="json")
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _proof_repaired(data: bytes) -> bytes:
    document = InclusionProof.model_validate_json(data).model_dump(mode="json")
    for name in ("leaf_index", "tree_size"):
        document[name] = min(document[name], 2**53 - 1)
    return canonical.encode(document)


SURFACES = {
    "build": Surface(
        ours=lambda given: build_document(MemoryType(given[0]), given[1]).data,
        theirs=lambda given: theirs_of_build(given).canonical_bytes(),
        repair=lambda given: (given[0], in_ascii(theirs_of_build(given).payload())),
    ),
    "decode": Surface(
        ours=lambda data: decode(data).data,
        theirs=lambda data: TheirBlock.decode(data).canonical_bytes(),
        repair=lambda data: canonical.encode(in_ascii(json.loads(data))),
    ),
    "snapshot": Surface(
        ours=lambda data: snapshot.document(snapshot.parse(data)),
        theirs=lambda data: TheirSnapshot.from_document(data).canonical_bytes(),
        repair=lambda data: canonical.encode(_snapshot_repaired(json.loads(data))),
    ),
    "proof": Surface(
        ours=lambda data: Proof.parse(data).document(), theirs=_their_proof, repair=_proof_repaired
    ),
}


def value_or_none(read: Callable[[Any], bytes], document: Any, *refusals: type[Exception]) -> bytes | None:
    try:
        return read(document)
    except refusals:
        return None


def assert_agree(surface: str, document: Any) -> bytes | None:
    """Both take the document, with the same bytes, or neither does, or we refuse it for nothing but a listed reason.

    Gives the canonical bytes where both take it. Any exception of ours but a refusal goes through.
    """
    at = SURFACES[surface]
    ours = value_or_none(at.ours, document, FormatError, ValidationError)
    theirs = value_or_none(at.theirs, document, Exception)
    if ours is not None:
        assert theirs is not None, f"taken by us alone: {document!r}"
        assert ours == theirs, f"taken as something else: {document!r}"
        return ours
    if theirs is not None:
        repaired = at.repair(document)
        again = value_or_none(at.ours, repaired, FormatError, ValidationError)
        assert again is not None, f"refused by us alone: {document!r}"
        assert again == at.theirs(repaired), f"taken as something else, once repaired: {document!r}"
    return None
