"""Proof files: checked without a brain, and nothing in them can be changed without it showing."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.errors import FormatError, IntegrityError
from consilience.protocol import (
    Actor,
    ActorKind,
    Block,
    Digest,
    Episodic,
    Kind,
    MemoryType,
    ModuleRef,
    Registration,
    Semantic,
    Snapshot,
    build,
    canonical,
    composition_document,
    evidence,
    format_digest,
    merkle,
    record_block,
    sha256,
    snapshot,
)
from consilience.protocol.evidence import Evidence, Leaf

AT = "2026-03-01T12:00:00Z"
ANA = Actor(id="ana@example.org", kind=ActorKind.HUMAN)


def fact(text: str) -> Block:
    return build(Semantic(kind=Kind.FACT, label=text, statement=text))


def module(memory_type: MemoryType, blocks: list[Block], **more: Any) -> tuple[ModuleRef, list[bytes]]:
    ids = sorted(b.id for b in blocks)
    composition = sha256(composition_document(memory_type, ids))
    root = merkle.root(ids)
    reference = ModuleRef(
        memory_type=memory_type, root=root, composition=composition, block_count=len(ids), **more
    )
    return reference, list(ids)


@functools.cache
def made() -> tuple[Evidence, list[Block]]:
    """Two blocks of a semantic module of seven, the second redacted, and a record about the first."""
    facts = [fact(f"Statement {i}.") for i in range(7)]
    record = record_block(Registration(block=format_digest(facts[0].id), actor=ANA, at=AT, origin="a.md"))
    semantic, ids = module(MemoryType.SEMANTIC, facts, tombstones=(facts[1].id,))
    provenance, record_ids = module(MemoryType.PROVENANCE, [record])
    document = snapshot.document(
        Snapshot(
            created_at=AT,
            modules=(semantic, provenance),
            parents=(Digest(b"\7" * 32),),
            labels={"channel": "stable"},
        )
    )
    kept, gone = merkle.prove_many(ids, [facts[0].id, facts[1].id])
    leaves = (
        Leaf(memory_type=MemoryType.SEMANTIC, proof=kept, block=facts[0].data),
        Leaf(memory_type=MemoryType.SEMANTIC, proof=gone, block=None),
        Leaf(memory_type=MemoryType.PROVENANCE, proof=merkle.prove(record_ids, record.id), block=record.data),
    )
    proof = Evidence(brain="station", snapshot=document, digest=sha256(document), leaves=leaves)
    return proof, facts


def checked(data: bytes, trusted: Digest | None = None) -> evidence.Verified:
    return evidence.verify(evidence.parse(data), trusted)


def test_a_proof_is_read_back_and_holds() -> None:
    proof, facts = made()
    data = evidence.document(proof)
    assert evidence.parse(data) == proof and evidence.looks_like_one(data)
    found = checked(data)
    assert (found.brain, found.snapshot, found.created_at, found.pinned) == (
        "station",
        proof.digest,
        AT,
        False,
    )
    assert [leaf.block_id for leaf in found.leaves[:2]] == [facts[0].id, facts[1].id]
    assert found.leaves[0].block == facts[0]
    assert (found.leaves[1].block, found.leaves[1].redacted) == (None, True)
    assert checked(data, proof.digest).pinned


def test_other_software_needs_json_and_sha256_only() -> None:
    """The check of docs/proofs.md, in a few lines that share no code with the package."""
    proof, facts = made()
    document = json.loads(evidence.document(proof))

    def digest(value: Any) -> str:
        written = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return "sha256:" + hashlib.sha256(written.encode()).hexdigest()

    leaf = document["leaves"][0]
    assert digest(leaf["block"]) == leaf["inclusion"]["block_id"] == format_digest(facts[0].id)
    assert digest(document["snapshot"]) == document["snapshot_digest"]
    node = hashlib.sha256(b"\0" + bytes.fromhex(leaf["inclusion"]["block_id"][7:])).digest()
    at, last = leaf["inclusion"]["leaf_index"], leaf["inclusion"]["tree_size"] - 1
    for sibling in map(bytes.fromhex, leaf["inclusion"]["audit_path"]):
        if at & 1 or at == last:
            node = hashlib.sha256(b"\1" + sibling + node).digest()
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            node = hashlib.sha256(b"\1" + node + sibling).digest()
        at, last = at >> 1, last >> 1
    assert "sha256:" + node.hex() == document["snapshot"]["modules"]["semantic"]["root"]


def test_another_snapshot_than_the_trusted_one() -> None:
    proof, _ = made()
    with pytest.raises(IntegrityError, match="not sha256:0505"):
        checked(evidence.document(proof), Digest(b"\5" * 32))


DATA = evidence.document(made()[0])
BRAIN = DATA.index(b'"station"')


def meaning(found: evidence.Verified) -> evidence.Verified:
    """What is proven: all but the name that the file gives the brain."""
    return msgspec.structs.replace(found, brain="")


def same_or_refused(data: bytes) -> None:
    try:
        found = checked(data)
    except (FormatError, IntegrityError) as error:
        assert error.message
        return
    assert meaning(found) == meaning(checked(DATA)), "something else was accepted"


@given(at=st.integers(0, len(DATA) - 1), bits=st.integers(1, 255))
def test_any_flipped_byte_is_refused_or_changes_only_the_claimed_name(at: int, bits: int) -> None:
    changed = DATA[:at] + bytes([DATA[at] ^ bits]) + DATA[at + 1 :]
    same_or_refused(changed)


def test_every_byte_once() -> None:
    accepted = []
    for at in range(len(DATA)):
        try:
            checked(DATA[:at] + bytes([DATA[at] ^ 1]) + DATA[at + 1 :])
        except (FormatError, IntegrityError):
            continue
        accepted.append(at)
    assert set(accepted) <= set(range(BRAIN + 1, BRAIN + 8))


@given(cut=st.integers(0, len(DATA) - 1), more=st.binary(max_size=8))
def test_cut_and_continued(cut: int, more: bytes) -> None:
    same_or_refused(DATA[:cut] + more)
    same_or_refused(DATA + more)


@given(st.binary(max_size=200))
def test_whatever_else_is_refused(data: bytes) -> None:
    with pytest.raises((FormatError, IntegrityError)):
        checked(data)


Change = Callable[[Any], object]


def other(digest: str) -> str:
    return digest[:-1] + ("0" if digest[-1] != "0" else "1")


def swap(value: dict[str, Any], key: str, new: Any) -> None:
    value[key] = new


MUTATIONS: dict[str, tuple[Change, str]] = {
    "format of the future": (lambda d: swap(d, "format", "consilience.proof/2"), "this software reads"),
    "no format": (lambda d: d.pop("format"), "the format is 'None'"),
    "brain": (lambda d: d.pop("brain"), "brain"),
    "brain without a name": (lambda d: swap(d, "brain", ""), "brain"),
    "unknown member": (lambda d: swap(d, "comment", "trust me"), "comment"),
    "unknown member of a leaf": (lambda d: swap(d["leaves"][0], "note", 1), "note"),
    "no leaves": (lambda d: swap(d, "leaves", []), "leaves"),
    "a leaf twice": (lambda d: d["leaves"].append(d["leaves"][0]), "twice"),
    "block": (lambda d: swap(d["leaves"][0]["block"]["payload"], "statement", "Other."), "hash to"),
    "block null": (lambda d: swap(d["leaves"][0], "block", None), "block"),
    "block of another leaf": (
        lambda d: swap(d["leaves"][0], "block", d["leaves"][2]["block"]),
        "the block's bytes hash to",
    ),
    "block id": (
        lambda d: swap(
            d["leaves"][0]["inclusion"], "block_id", other(d["leaves"][0]["inclusion"]["block_id"])
        ),
        "audit path",
    ),
    "audit path node": (
        lambda d: swap(d["leaves"][0]["inclusion"]["audit_path"], 0, "0" * 64),  # type: ignore[arg-type]
        "audit path",
    ),
    "audit path shorter": (lambda d: d["leaves"][0]["inclusion"]["audit_path"].pop(), "audit path"),
    "audit path in upper case": (
        lambda d: swap(d["leaves"][0]["inclusion"]["audit_path"], 0, "A" * 64),  # type: ignore[arg-type]
        "audit_path",
    ),
    "leaf index": (lambda d: swap(d["leaves"][0]["inclusion"], "leaf_index", 6), "audit path"),
    "leaf index negative": (lambda d: swap(d["leaves"][0]["inclusion"], "leaf_index", -1), "leaf_index"),
    "tree size": (lambda d: swap(d["leaves"][0]["inclusion"], "tree_size", 8), "tree_size is 8"),
    "memory type": (lambda d: swap(d["leaves"][0], "memory_type", "provenance"), "tree_size|audit path"),
    "memory type not there": (lambda d: swap(d["leaves"][0], "memory_type", "episodic"), "names no episodic"),
    "memory type unknown": (lambda d: swap(d["leaves"][0], "memory_type", "gossip"), "memory_type"),
    "root": (
        lambda d: swap(d["snapshot"]["modules"]["semantic"], "root", "sha256:" + "0" * 64),
        "snapshot's bytes hash",
    ),
    "time": (lambda d: swap(d["snapshot"], "created_at", "2020-01-01T00:00:00Z"), "snapshot's bytes hash"),
    "parent": (lambda d: d["snapshot"].pop("parent"), "snapshot's bytes hash"),
    "labels": (lambda d: swap(d["snapshot"]["labels"], "channel", "test"), "snapshot's bytes hash"),
    "tombstones": (
        lambda d: d["snapshot"]["modules"]["semantic"].pop("tombstones"),
        "snapshot's bytes hash",
    ),
    "snapshot digest": (
        lambda d: swap(d, "snapshot_digest", other(d["snapshot_digest"])),
        "snapshot's bytes hash",
    ),
    "no snapshot": (lambda d: swap(d, "snapshot", {}), "snapshot's bytes hash"),
    "a float": (lambda d: swap(d["leaves"][0]["inclusion"], "tree_size", 7.0), "no other number"),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_every_field_changed_is_refused_by_name(name: str) -> None:
    change, said = MUTATIONS[name]
    document = json.loads(DATA)
    change(document)
    data = json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()
    with pytest.raises((FormatError, IntegrityError), match=said):
        checked(data)


def test_a_consistent_forgery_holds_only_against_its_own_snapshot() -> None:
    """Whoever makes a brain makes its snapshots: what a proof cannot say, and what the pin is for."""
    proof, _ = made()
    lie = fact("The moon is a cheese.")
    reference, ids = module(MemoryType.SEMANTIC, [lie])
    document = snapshot.document(Snapshot(created_at=AT, modules=(reference,)))
    leaf = Leaf(memory_type=MemoryType.SEMANTIC, proof=merkle.prove(ids, lie.id), block=lie.data)
    forged = Evidence(brain="station", snapshot=document, digest=sha256(document), leaves=(leaf,))
    data = evidence.document(forged)
    assert checked(data).leaves[0].block == lie
    with pytest.raises(IntegrityError, match="the proof is against snapshot"):
        checked(data, proof.digest)


@pytest.mark.parametrize(
    "data",
    [
        b'{"format":"consilience.proof/1","format":"consilience.proof/1"}',
        b"[" * 100_000,
        b'{"brain":' + b"[" * 100_000,
        DATA.replace(b'{"brain"', b'{ "brain"', 1),
        DATA.replace(b"station", b"st\\u0061tion"),
        DATA + b"\n",
        b"\xef\xbb\xbf" + DATA,
        b"",
    ],
    ids=["repeated key", "nesting", "nesting inside", "space", "escape", "two line ends", "mark", "empty"],
)
def test_other_spellings_are_refused(data: bytes) -> None:
    with pytest.raises(FormatError):
        checked(data)


def test_an_episodic_block_travels_too() -> None:
    event = build(Episodic(summary="The wiper stopped.", occurred_at=AT))
    reference, ids = module(MemoryType.EPISODIC, [event])
    document = snapshot.document(Snapshot(created_at=AT, modules=(reference,)))
    leaf = Leaf(memory_type=MemoryType.EPISODIC, proof=merkle.prove(ids, event.id), block=event.data)
    proof = Evidence(brain="Ünïcode / name", snapshot=document, digest=sha256(document), leaves=(leaf,))
    assert checked(evidence.document(proof)).brain == "Ünïcode / name"
    assert canonical.decode(evidence.document(proof))["format"] == evidence.FORMAT
