"""A proof that travels: blocks, and why they are members of a snapshot, in one file that needs no brain.

    {"brain":NAME,"format":"consilience.proof/1","leaves":[LEAF,...],"snapshot":{...},"snapshot_digest":D}
    LEAF = {"block":{...},"inclusion":{"audit_path":[...],"block_id":D,"leaf_index":i,"tree_size":n},"memory_type":M}

The file is canonical JSON (RFC 8785), so a block or the snapshot inside it, cut out as it stands, is the byte
string that its digest names. `block` is absent where the bytes are not disclosed or were destroyed. What
`verify` checks of each leaf, and nothing more:

1. the block's bytes hash to `block_id` and are a block of `memory_type` (WIRE 3);
2. the audit path leads from `block_id` to a root (RFC 9162, 2.1.3.2);
3. the snapshot names that root, and as many members as the path's tree has leaves, for that module (WIRE 7);
4. the snapshot's bytes hash to `snapshot_digest`, and that is the one that the checker trusts, if any.

`brain` is what the maker of the file calls the brain. No hash covers it (docs/proofs.md).
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec

from consilience.errors import FormatError, IntegrityError
from consilience.protocol import canonical
from consilience.protocol import snapshot as snapshots
from consilience.protocol.blocks import decode as decode_block
from consilience.protocol.envelope import Block
from consilience.protocol.fields import DigestText
from consilience.protocol.identity import Digest, format_digest, parse_digest, sha256
from consilience.protocol.merkle import Proof, verify_inclusion
from consilience.protocol.types import MemoryType

__all__ = [
    "FORMAT",
    "Evidence",
    "Leaf",
    "Proven",
    "Verified",
    "document",
    "looks_like_one",
    "parse",
    "verify",
]

FORMAT: Final = "consilience.proof/1"
_MARK: Final = b"consilience.proof"


class Leaf(msgspec.Struct, frozen=True, kw_only=True):
    """One block, as canonical envelope bytes where disclosed, and its way to the root of its module."""

    memory_type: MemoryType
    proof: Proof
    block: bytes | None


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What a proof file says. Nothing of it is checked yet. `snapshot`: the document's bytes, `digest` what they
    should hash to."""

    brain: str
    snapshot: bytes
    digest: Digest
    leaves: tuple[Leaf, ...]


class Proven(msgspec.Struct, frozen=True, kw_only=True):
    """One block that is a member. `block` is None where its bytes are not in the file; `redacted`: the
    snapshot says that they were destroyed."""

    memory_type: MemoryType
    block_id: Digest
    root: Digest
    leaf_index: int
    tree_size: int
    block: Block | None
    redacted: bool


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from a proof file. `brain` is a claim; `pinned`: the snapshot is the one that was asked
    for."""

    brain: str
    snapshot: Digest
    created_at: str
    parents: tuple[Digest, ...]
    leaves: tuple[Proven, ...]
    pinned: bool


class _LeafDocument(msgspec.Struct, forbid_unknown_fields=True):
    inclusion: dict[str, Any]
    memory_type: MemoryType
    block: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    brain: Annotated[str, msgspec.Meta(min_length=1)]
    format: str
    leaves: Annotated[list[_LeafDocument], msgspec.Meta(min_length=1)]
    snapshot: dict[str, Any]
    snapshot_digest: DigestText


def document(evidence: Evidence) -> bytes:
    """The bytes of a proof file, one line end after them. Raises FormatError for parts that are no JSON."""
    leaves = [
        {
            **({} if leaf.block is None else {"block": canonical.decode(leaf.block)}),
            "inclusion": canonical.decode(leaf.proof.document()),
            "memory_type": leaf.memory_type.value,
        }
        for leaf in evidence.leaves
    ]
    value = {
        "brain": evidence.brain,
        "format": FORMAT,
        "leaves": leaves,
        "snapshot": canonical.decode(evidence.snapshot),
        "snapshot_digest": format_digest(evidence.digest),
    }
    return canonical.encode(value) + b"\n"


def looks_like_one(data: bytes) -> bool:
    """Whether bytes mean to be a proof file, sound or not, of this version or another."""
    return data.lstrip(b" \t\r\n\xef\xbb\xbf").startswith(b"{") and _MARK in data


def parse(data: bytes) -> Evidence:
    """Read a proof file: its shape alone. Raises FormatError naming what is not as it must be."""
    value = canonical.require(data.removesuffix(b"\n"), "proof")
    found_format = value.get("format") if isinstance(value, dict) else None
    if found_format != FORMAT:
        raise FormatError(
            f"proof: the format is {str(found_format)[:60]!r}, this software reads {FORMAT!r}",
            hint="a newer version of this software may read it",
        )
    try:
        found = msgspec.convert(value, _Document, strict=True)
    except msgspec.ValidationError as error:
        raise FormatError(f"proof: {error}") from error
    return Evidence(
        brain=found.brain,
        snapshot=canonical.encode(found.snapshot),
        digest=parse_digest(found.snapshot_digest),
        leaves=tuple(
            Leaf(
                memory_type=leaf.memory_type,
                proof=_proof(leaf.inclusion, f"leaves[{at}]"),
                block=None if isinstance(leaf.block, msgspec.UnsetType) else canonical.encode(leaf.block),
            )
            for at, leaf in enumerate(found.leaves)
        ),
    )


def _proof(value: dict[str, Any], where: str) -> Proof:
    try:
        return Proof.parse(canonical.encode(value))
    except FormatError as error:
        raise FormatError(f"proof: {where}: {error.message}") from error


def verify(evidence: Evidence, trusted: Digest | None = None) -> Verified:
    """Check all of a proof file, as the head of this module lists it. `trusted` is the digest of a snapshot that
    the checker knows from elsewhere. Raises IntegrityError naming what does not follow."""
    digest = sha256(evidence.snapshot)
    if digest != evidence.digest:
        raise IntegrityError(
            f"the snapshot's bytes hash to {format_digest(digest)}, not to {format_digest(evidence.digest)}"
        )
    if trusted is not None and digest != trusted:
        raise IntegrityError(
            f"the proof is against snapshot {format_digest(digest)}, not {format_digest(trusted)}",
            hint="it may hold against its own snapshot; that is not the one asked for",
        )
    snapshot = snapshots.parse(evidence.snapshot)
    seen: set[tuple[MemoryType, Digest]] = set()
    proven = []
    for leaf in evidence.leaves:
        name = (leaf.memory_type, leaf.proof.block_id)
        if name in seen:
            raise IntegrityError(f"{format_digest(leaf.proof.block_id)} stands in the proof twice")
        seen.add(name)
        proven.append(_proven(leaf, snapshot))
    return Verified(
        brain=evidence.brain,
        snapshot=digest,
        created_at=snapshot.created_at,
        parents=snapshot.parents,
        leaves=tuple(proven),
        pinned=trusted is not None,
    )


def _proven(leaf: Leaf, snapshot: snapshots.Snapshot) -> Proven:
    block_id = leaf.proof.block_id
    name = format_digest(block_id)
    module = snapshot.module(leaf.memory_type)
    if module is None:
        raise IntegrityError(f"{name}: the snapshot names no {leaf.memory_type} module")
    if leaf.proof.tree_size != module.block_count:
        raise IntegrityError(
            f"{name}: tree_size is {leaf.proof.tree_size}, the snapshot's {leaf.memory_type} module has "
            f"{module.block_count} members"
        )
    if not verify_inclusion(leaf.proof, module.root):
        raise IntegrityError(
            f"{name}: the audit path does not lead to the snapshot's {leaf.memory_type} root "
            f"{format_digest(module.root)}"
        )
    return Proven(
        memory_type=leaf.memory_type,
        block_id=block_id,
        root=module.root,
        leaf_index=leaf.proof.leaf_index,
        tree_size=leaf.proof.tree_size,
        block=None if leaf.block is None else _block(leaf.block, leaf, name),
        redacted=block_id in module.tombstones,
    )


def _block(data: bytes, leaf: Leaf, name: str) -> Block:
    if sha256(data) != leaf.proof.block_id:
        raise IntegrityError(f"the block's bytes hash to {format_digest(sha256(data))}, not to {name}")
    block = decode_block(data)
    if block.memory_type is not leaf.memory_type:
        raise IntegrityError(f"{name} is a {block.memory_type} block, the proof calls it {leaf.memory_type}")
    return block
