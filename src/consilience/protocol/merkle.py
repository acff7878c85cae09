"""The Merkle tree over a module's block ids, layout `rfc6962-sorted/1`: the tree of RFC 9162, 2.1.1.

Leaves are the 32 raw bytes of each id, strictly ascending. With HASH = SHA-256:

    MTH({})     = HASH()
    MTH({d})    = HASH(0x00 || d)
    MTH(D[n])   = HASH(0x01 || MTH(D[0:k]) || MTH(D[k:n])),  k the largest power of two smaller than n

computed here from the leaves upwards, which gives the same tree: pair neighbours, carry an odd last node up
unchanged. A root depends on the set alone.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Sequence
from itertools import islice
from operator import lt
from typing import Annotated, Final

import msgspec

from consilience.errors import BlockNotFoundError, FormatError, ValidationError
from consilience.protocol import canonical
from consilience.protocol.fields import Count, DigestText, Wire
from consilience.protocol.identity import DIGEST_SIZE, Digest, format_digest, parse_digest, sha256

__all__ = [
    "EMPTY_ROOT",
    "LAYOUT",
    "Proof",
    "check_sorted",
    "leaf_hashes",
    "levels",
    "parent",
    "prove",
    "prove_many",
    "root",
    "root_of_leaves",
    "verify_inclusion",
]

LAYOUT: Final = "rfc6962-sorted/1"
EMPTY_ROOT = sha256(b"")

_sha256 = hashlib.sha256


def check_sorted(ids: Sequence[bytes]) -> None:
    """Refuse ids that are not 32 bytes each and strictly ascending: ValidationError."""
    if not set(map(len, ids)) <= {DIGEST_SIZE}:
        raise ValidationError("a block id has 32 bytes, and one of these has not")
    if not all(map(lt, ids, islice(ids, 1, None))):
        at = next(i for i in range(len(ids) - 1) if ids[i] >= ids[i + 1])
        raise ValidationError(f"block ids not strictly ascending at position {at + 1}: {ids[at + 1].hex()}")


def root(sorted_ids: Sequence[bytes]) -> Digest:
    """The root over strictly ascending raw ids (ValidationError otherwise): 2n-1 hashes."""
    check_sorted(sorted_ids)
    return root_of_leaves(leaf_hashes(sorted_ids))


def leaf_hashes(ids: Sequence[bytes]) -> list[bytes]:
    """The hash of each leaf: HASH(0x00 || id). They can be kept: a leaf's hash does not depend on the others."""
    h = _sha256
    return [h(b"\x00" + raw).digest() for raw in ids]


def root_of_leaves(hashes: list[bytes]) -> Digest:
    """The root over the leaf hashes of strictly ascending ids: n-1 hashes."""
    if not hashes:
        return EMPTY_ROOT
    level = hashes
    while len(level) > 1:
        level = _parents(level)
    return Digest(level[0])


def levels(hashes: list[bytes]) -> list[list[bytes]]:
    """All levels of the tree over these leaf hashes: they themselves first, the root last; none without leaves."""
    found = [hashes] if hashes else []
    while found and len(found[-1]) > 1:
        found.append(_parents(found[-1]))
    return found


def parent(left: bytes, right: bytes) -> bytes:
    """The node above two nodes: HASH(0x01 || left || right)."""
    return _sha256(b"\x01" + left + right).digest()


def _parents(level: list[bytes]) -> list[bytes]:
    h = _sha256
    pairs = iter(level)
    parents = [h(b"\x01" + left + right).digest() for left, right in zip(pairs, pairs, strict=False)]
    if len(level) & 1:
        parents.append(level[-1])
    return parents


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """That a block is a leaf under a root: the siblings on its way up, leaf first (RFC 9162, 2.1.3)."""

    block_id: Digest
    leaf_index: int
    tree_size: int
    audit_path: tuple[Digest, ...]

    def document(self) -> bytes:
        """Canonical JSON: `{"audit_path":[hex...],"block_id":"sha256:...","leaf_index":i,"tree_size":n}`."""
        path = tuple([node.hex() for node in self.audit_path])
        return canonical.encode_struct(
            _ProofDocument(
                audit_path=path,
                block_id=format_digest(self.block_id),
                leaf_index=self.leaf_index,
                tree_size=self.tree_size,
            )
        )

    @classmethod
    def parse(cls, data: bytes) -> Proof:
        """Read a proof's JSON, canonical or not. Raises FormatError; `verify_inclusion` says if it holds."""
        canonical.decode(data)
        try:
            found = msgspec.json.decode(data, type=_ProofDocument)
        except msgspec.MsgspecError as error:
            raise FormatError(f"inclusion proof: {error}") from error
        return cls(
            block_id=parse_digest(found.block_id),
            leaf_index=found.leaf_index,
            tree_size=found.tree_size,
            audit_path=tuple([Digest(bytes.fromhex(node)) for node in found.audit_path]),
        )


class _ProofDocument(Wire, frozen=True, kw_only=True):
    audit_path: tuple[Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")], ...]
    block_id: DigestText
    leaf_index: Count
    tree_size: Annotated[int, msgspec.Meta(ge=1, le=canonical.MAX_SAFE_INTEGER)]


def prove(sorted_ids: Sequence[bytes], block_id: bytes) -> Proof:
    """The inclusion proof of one id among strictly ascending raw ids (RFC 9162, 2.1.3.1), O(n) like the root.

    Raises BlockNotFoundError where the id is not among them, ValidationError where they are not ascending.
    """
    return prove_many(sorted_ids, [block_id])[0]


def prove_many(sorted_ids: Sequence[bytes], block_ids: Sequence[bytes]) -> list[Proof]:
    """The inclusion proofs of several ids, for the price of one root and log n steps each. Raises as `prove`."""
    check_sorted(sorted_ids)
    indices = [bisect_left(sorted_ids, block_id) for block_id in block_ids]
    for block_id, index in zip(block_ids, indices, strict=True):
        if index == len(sorted_ids) or sorted_ids[index] != block_id:
            raise BlockNotFoundError(
                f"no block sha256:{block_id.hex()} among these {len(sorted_ids)} members"
            )
    paths: list[list[Digest]] = [[] for _ in indices]
    level, at = leaf_hashes(sorted_ids), list(indices)
    while len(level) > 1:
        for path, position in zip(paths, at, strict=True):
            if position ^ 1 < len(level):
                path.append(Digest(level[position ^ 1]))
        level, at = _parents(level), [position >> 1 for position in at]
    return [
        Proof(block_id=Digest(block_id), leaf_index=index, tree_size=len(sorted_ids), audit_path=tuple(path))
        for block_id, index, path in zip(block_ids, indices, paths, strict=True)
    ]


def verify_inclusion(proof: Proof, root: bytes) -> bool:
    """RFC 9162, 2.1.3.2, step by step. False, never an exception, for whatever does not prove membership."""
    try:
        return _verify(proof.block_id, proof.leaf_index, proof.tree_size, proof.audit_path, root)
    except (TypeError, AttributeError, ValueError):
        return False


def _verify(block_id: bytes, leaf_index: int, tree_size: int, path: Sequence[bytes], root: bytes) -> bool:
    if not 0 <= leaf_index < tree_size or any(len(node) != DIGEST_SIZE for node in (block_id, root, *path)):
        return False
    fn, sn = leaf_index, tree_size - 1
    r = _sha256(b"\x00" + block_id).digest()
    for p in path:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            r = _sha256(b"\x01" + p + r).digest()
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            r = _sha256(b"\x01" + r + p).digest()
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and r == root
