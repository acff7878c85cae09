"""Roots and inclusion proofs: golden vectors, the recursive definition of RFC 9162, garbage."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from boltzmann.conformance import golden
from hypothesis import given
from hypothesis import strategies as st

from consilience.errors import BlockNotFoundError, FormatError, ValidationError
from consilience.protocol import Proof, format_digest, merkle, parse_digest, prove, verify_inclusion

ids = st.sets(st.binary(min_size=32, max_size=32), max_size=40).map(sorted)
ROOTS = golden.load("merkle_roots.json")["vectors"]
PROOFS = golden.load("inclusion_proofs.json")["vectors"]


def numbered(n: int) -> list[bytes]:
    return sorted(hashlib.sha256(b"%d" % i).digest() for i in range(n))


def mth(d: list[bytes]) -> bytes:
    """RFC 9162, 2.1.1, word for word."""
    if not d:
        return hashlib.sha256(b"").digest()
    if len(d) == 1:
        return hashlib.sha256(b"\x00" + d[0]).digest()
    k = 1
    while k * 2 < len(d):
        k *= 2
    return hashlib.sha256(b"\x01" + mth(d[:k]) + mth(d[k:])).digest()


def path(m: int, d: list[bytes]) -> list[bytes]:
    """RFC 9162, 2.1.3.1, word for word."""
    if len(d) == 1:
        return []
    k = 1
    while k * 2 < len(d):
        k *= 2
    return [*path(m, d[:k]), mth(d[k:])] if m < k else [*path(m - k, d[k:]), mth(d[:k])]


# --- roots --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", ROOTS, ids=lambda v: v["name"])
def test_golden_roots(vector: dict[str, Any]) -> None:
    leaves = sorted({parse_digest(text) for text in vector["block_ids"]})
    assert vector["layout"] == merkle.LAYOUT
    assert format_digest(merkle.root(leaves)) == vector["root"]


@pytest.mark.parametrize("n", [*range(35), 63, 64, 65, 127, 128, 129, 1000])
def test_root_is_the_tree_of_rfc_9162(n: int) -> None:
    assert merkle.root(numbered(n)) == mth(numbered(n))


@given(ids, ids)
def test_root_tells_sets_apart(a: list[bytes], b: list[bytes]) -> None:
    assert (merkle.root(a) == merkle.root(b)) == (a == b)


def test_root_of_nothing() -> None:
    assert merkle.root([]) == merkle.EMPTY_ROOT == hashlib.sha256(b"").digest()


@pytest.mark.parametrize("call", [merkle.root, lambda leaves: prove(leaves, leaves[0])])
@pytest.mark.parametrize(
    "leaves",
    [
        [b"\2" * 32, b"\1" * 32],
        [b"\1" * 32, b"\1" * 32],
        [b"\1" * 31],
        [b"\1" * 32, b"\2" * 33],
        [b"\1" * 32, b"\3" * 32, b"\2" * 32, b"\4" * 32],
    ],
    ids=["descending", "repeated", "short", "long", "one out of order"],
)
def test_leaves_that_are_not_ascending_ids_are_refused(call: Any, leaves: list[bytes]) -> None:
    with pytest.raises(ValidationError):
        call(leaves)


# --- proofs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", PROOFS, ids=lambda v: v["name"])
def test_golden_proofs_verify(vector: dict[str, Any]) -> None:
    proof = Proof(
        block_id=parse_digest(vector["block_id"]),
        leaf_index=vector["leaf_index"],
        tree_size=vector["tree_size"],
        audit_path=tuple(bytes.fromhex(node) for node in vector["audit_path"]),  # type: ignore[misc]
    )
    assert verify_inclusion(proof, parse_digest(vector["root"]))
    assert Proof.parse(proof.document()) == proof


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 33])
def test_proofs_are_the_paths_of_rfc_9162(n: int) -> None:
    leaves = numbered(n)
    for index, leaf in enumerate(leaves):
        proof = prove(leaves, leaf)
        assert (proof.leaf_index, proof.tree_size) == (index, n)
        assert list(proof.audit_path) == path(index, leaves)
        assert verify_inclusion(proof, merkle.root(leaves))


def _with(proof: Proof, **changes: Any) -> Proof:
    return Proof(**{name: changes.get(name, getattr(proof, name)) for name in proof.__struct_fields__})


GARBAGE: dict[str, Any] = {
    "negative index": {"leaf_index": -1},
    "index beyond the tree": {"leaf_index": 3},
    "empty tree": {"tree_size": 0, "leaf_index": 0},
    "negative size": {"tree_size": -4},
    "index that is text": {"leaf_index": "0"},
    "index that is None": {"leaf_index": None},
    "float index": {"leaf_index": 0.0},
    "id that is text": {"block_id": "sha256:" + "0" * 64},
    "short id": {"block_id": b"\0" * 31},
    "node that is text": {"audit_path": ("0" * 32,)},
    "short node": {"audit_path": (b"\0" * 31,)},
    "path that is None": {"audit_path": None},
    "path of a million nodes": {"audit_path": (b"\0" * 32,) * 1_000_000},
    "a size of a thousand digits": {"tree_size": 10**1000, "leaf_index": 10**999},
}


@pytest.mark.parametrize("changes", GARBAGE.values(), ids=GARBAGE)
def test_garbage_proof_is_false_and_never_an_exception(changes: dict[str, Any]) -> None:
    leaves = numbered(3)
    assert verify_inclusion(_with(prove(leaves, leaves[0]), **changes), merkle.root(leaves)) is False


@pytest.mark.parametrize("root", [None, "", b"", b"\0" * 31, 7])
def test_garbage_root_is_false(root: Any) -> None:
    leaves = numbered(3)
    assert verify_inclusion(prove(leaves, leaves[0]), root) is False


def test_something_that_is_no_proof_is_false() -> None:
    assert verify_inclusion(None, b"\0" * 32) is False  # type: ignore[arg-type]


def test_an_inner_node_cannot_pass_for_a_leaf() -> None:
    """The prefixes 0x00 and 0x01 keep leaves and nodes apart (RFC 9162, 2.1.1)."""
    leaves = numbered(4)
    inner = hashlib.sha256(b"\x01" + mth(leaves[:1]) + mth(leaves[1:2])).digest()
    forged = Proof(block_id=inner, leaf_index=0, tree_size=2, audit_path=(mth(leaves[2:]),))  # type: ignore[arg-type]
    assert not verify_inclusion(forged, merkle.root(leaves))


@given(ids, st.binary(min_size=32, max_size=32))
def test_a_block_that_is_not_a_member_has_no_proof(leaves: list[bytes], other: bytes) -> None:
    if other not in leaves:
        with pytest.raises(BlockNotFoundError):
            prove(leaves, other)


HOSTILE_PROOFS = {
    "empty": b"",
    "array": b"[]",
    "no path": b'{"block_id":"sha256:%s","leaf_index":0,"tree_size":1}' % (b"0" * 64),
    "prefixed node": b'{"audit_path":["sha256:%s"],"block_id":"sha256:%s","leaf_index":0,"tree_size":1}'
    % (b"0" * 64, b"0" * 64),
    "upper case node": b'{"audit_path":["%s"],"block_id":"sha256:%s","leaf_index":0,"tree_size":1}'
    % (b"A" * 64, b"0" * 64),
    "size zero": b'{"audit_path":[],"block_id":"sha256:%s","leaf_index":0,"tree_size":0}' % (b"0" * 64),
    "negative index": b'{"audit_path":[],"block_id":"sha256:%s","leaf_index":-1,"tree_size":1}' % (b"0" * 64),
    "boolean index": b'{"audit_path":[],"block_id":"sha256:%s","leaf_index":false,"tree_size":1}'
    % (b"0" * 64),
    "unknown member": b'{"audit_path":[],"block_id":"sha256:%s","leaf_index":0,"tree_size":1,"x":1}'
    % (b"0" * 64),
    "repeated member": b'{"audit_path":[],"block_id":"sha256:%s","leaf_index":0,"leaf_index":0,"tree_size":1}'
    % (b"0" * 64),
}


@pytest.mark.parametrize("data", HOSTILE_PROOFS.values(), ids=HOSTILE_PROOFS)
def test_hostile_proof_document_is_a_format_error(data: bytes) -> None:
    with pytest.raises(FormatError):
        Proof.parse(data)
