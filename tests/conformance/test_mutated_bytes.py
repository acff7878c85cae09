"""Whatever bytes come, a decoder refuses them by our own error or gives a value that is written as the same bytes.

And pyboltzmann says the same of them. 2,000 documents a decoder in the suite, `--soak-examples` under the soak marker.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from boltzmann.blocks.memory_type import MemoryType as TheirType
from boltzmann.conformance import golden
from boltzmann.identity import BlockId
from boltzmann.module.composition import Composition
from mutation import mutated
from soaking import CASES, examples_of
from strictness import MODULE, SNAPSHOT, assert_agree, value_or_none
from wire_documents import TRUST_ROOTS, envelope

from consilience.errors import FormatError
from consilience.protocol import (
    MemoryType,
    Proof,
    canonical,
    composition_document,
    decode,
    format_digest,
    parse_composition,
    payload_json,
    sha256,
    snapshot,
)
from consilience.protocol.bulk import decode_many, kind_of

A, B, C = sorted(format_digest(sha256(bytes([n]))) for n in range(3))
ANA = {"id": "ana@example.org", "kind": "human"}
AGENT = {"id": "example/agent", "kind": "agent", "model": "example/model"}
RECORD = {"actor": ANA, "at": "2024-01-01T00:00:00Z", "block": A}
RECORDS: list[dict[str, Any]] = [
    {"record_type": "supersession", "supersedes": B, "reason": "\U0001f600\n", **RECORD},
    {"record_type": "demotion", "policy": "p", "assisted_by": [AGENT], **RECORD},
    {"record_type": "normalization", "pipeline": "p", "pipeline_version": "1", **RECORD},
    {"record_type": "validation", "verdict": "validated", "checks": ["duplicate", "schema"], **RECORD},
    {"record_type": "derivation", "derived_from": [B], "locator": "L1-L2", "assisted_by": [AGENT], **RECORD},
    {
        "record_type": "removal",
        "actor": ANA,
        "at": RECORD["at"],
        "blocks": [A],
        "mechanism": "tombstone",
        "memory_type": "semantic",
        "reason": "r",
        "resulting_roots": {"\uff5e": A, "\U0001f600": B, "semantic": C},
    },
]
EDGES = [{"predicate": "broader", "target": A}, {"predicate": "narrower", "target": B}]
ENVELOPES = [
    *(vector["canonical_bytes"].encode() for vector in golden.load("block_ids.json")["vectors"]),
    *(
        canonical.encode(envelope("provenance", 2 if "assisted_by" in record else 1, {"record": record}))
        for record in RECORDS
    ),
    canonical.encode(envelope("semantic", 3, {"kind": "relation", "relations": EDGES})),
]
FULL = MODULE | {"embedding_model": "e", "index_digest": A, "tombstones": [A, B], "root": C}
SNAPSHOTS = [
    *(entry["canonical"].encode() for entry in golden.load("signatures.json")["snapshots"].values()),
    canonical.encode(SNAPSHOT | {"labels": {"\uff5e": "", "\U0001f600": "x", "a": "\x00"}, "parent": A}),
    canonical.encode(SNAPSHOT | {"modules": {"semantic": FULL}, "parents": [B, A, C]}),
    canonical.encode(SNAPSHOT | {"trust_root": TRUST_ROOTS[-1], "modules": {}}),
]
COMPOSITIONS = [
    Composition(TheirType(name), [BlockId.parse(text) for text in ids]).document()
    for name, ids in (("semantic", []), ("canonical", [A]), ("provenance", [A, B, C]), ("episodic", [B, C]))
]
PROOFS = [
    canonical.encode({name: vector[name] for name in ("audit_path", "block_id", "leaf_index", "tree_size")})
    for vector in golden.load("inclusion_proofs.json")["vectors"]
]


# --- what each decoder must do; True where it took the bytes ------------------------------------------------


def block(data: bytes) -> bool:
    value_or_none(payload_json, data, FormatError)
    if assert_agree("decode", data) is None:
        return False
    read = decode(data)
    payload = msgspec.to_builtins(read.payload)
    assert canonical.encode(envelope(read.memory_type.value, read.schema_version, payload)) == data
    return True


def snapshot_document(data: bytes) -> bool:
    written = assert_agree("snapshot", data)
    assert written in (None, data)
    if written is not None:
        assert snapshot.parse(snapshot.document(snapshot.parse(data))) == snapshot.parse(data)
    return written is not None


def composition(data: bytes) -> bool:
    ours = value_or_none(lambda d: composition_document(*parse_composition(d)), data, FormatError)
    assert ours == value_or_none(lambda d: Composition.from_document(d).document(), data, Exception)
    assert ours in (None, data)
    return ours is not None


def proof(data: bytes) -> bool:
    written = assert_agree("proof", data)
    if written is not None:
        assert Proof.parse(written) == Proof.parse(data)
        assert json.loads(written) == json.loads(data)
    return written is not None


def json_value(data: bytes) -> bool:
    value_or_none(canonical.decode, data, FormatError)
    found = value_or_none(lambda d: canonical.encode(canonical.require(d, "it")), data, FormatError)
    assert found in (None, data)
    return found is not None


DECODERS: dict[str, tuple[Callable[[bytes], bool], list[bytes]]] = {
    "block": (block, ENVELOPES),
    "snapshot": (snapshot_document, SNAPSHOTS),
    "composition": (composition, COMPOSITIONS),
    "proof": (proof, PROOFS),
    "canonical JSON": (json_value, ENVELOPES + SNAPSHOTS + PROOFS),
}


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("run", CASES)
def test_mutated_bytes_are_refused_or_kept(run: str, name: str, pytestconfig: pytest.Config) -> None:
    takes, corpus = DECODERS[name]
    assert all(map(takes, corpus))
    seed = 1 if run == "suite" else random.SystemRandom().getrandbits(32)
    source, taken = random.Random(seed), 0
    examples = examples_of(run, pytestconfig, 2_000)
    for _ in range(examples):
        data = mutated(source, corpus)
        try:
            taken += takes(data)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {data!r}") from error
    assert 0 < taken < examples / 2


# --- pages of blocks ----------------------------------------------------------------------------------------

FACT = {"kind": "fact", "label": "a", "statement": "b"}
PAGES: dict[str, list[bytes]] = {
    "semantic 1": [
        canonical.encode(envelope("semantic", 1, FACT | more))
        for more in (
            {},
            {"evidence": [A, B]},
            {"relations": [{"predicate": "p", "target": C}]},
            {"statement": '","schema_version":1,"serialization":"jcs/1"},{"boltzmann":1'},
        )
    ],
    "episodic 2": [
        canonical.encode(envelope("episodic", 2, {"summary": "s", "occurred_at": RECORD["at"]} | more))
        for more in ({}, {"tags": []}, {"content": {"blob": A, "media_type": "a/b", "size": 0}})
    ],
    "semantic 3": [
        canonical.encode(envelope("semantic", 3, payload))
        for payload in (
            {"kind": "relation", "relations": EDGES},
            {"kind": "class", "scheme": "s", "label": "l"},
            {"kind": "scheme", "scheme": "s", "exclusive": False},
        )
    ],
}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("run", CASES)
def test_a_page_of_blocks_is_read_where_each_of_them_is(
    run: str, name: str, pytestconfig: pytest.Config
) -> None:
    """`decode_many` against `decode`: also where two documents are cut apart at another place than between them."""
    memory_type, version = MemoryType(name.split()[0]), int(name.split()[1])
    corpus = PAGES[name]
    seed = 1 if run == "suite" else random.SystemRandom().getrandbits(32)
    source, taken = random.Random(seed), 0
    examples = examples_of(run, pytestconfig, 2_000)
    for _ in range(examples):
        page = [source.choice(corpus) for _ in range(source.randint(1, 4))]
        at = source.randrange(len(page))
        if source.random() < 0.5:
            page[at] = mutated(source, corpus)
        elif len(page) > 1:
            joined = b",".join(page[:2])
            cut = source.randint(0, len(joined))
            page[:2] = [joined[:cut], joined[cut + 1 :]]
        each = [value_or_none(decode, data, FormatError) for data in page]
        sound = all(
            b is not None and (b.memory_type, b.schema_version) == (memory_type, version) for b in each
        )
        found = decode_many(memory_type, version, page)
        assert (found is not None) == sound, f"seed {seed}: {page!r}"
        assert not sound or found == [block.payload for block in each if block is not None]
        assert not sound or {kind_of(data) for data in page} == {(memory_type, version)}
        taken += sound
    assert 0 < taken < examples
