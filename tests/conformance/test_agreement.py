"""Differential tests: pyboltzmann and we take the same documents, as the same bytes and ids, and refuse the same.

Each property runs some hundred examples in the suite and `--soak-examples` under the soak marker. Where we are
stricter on purpose, `strictness` says why.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from boltzmann.authenticity.trust_root import TrustRoot as TheirTrustRoot
from boltzmann.blocks.base import Block as TheirBlock
from boltzmann.blocks.memory_type import MemoryType as TheirType
from boltzmann.exceptions import BoltzmannError
from boltzmann.identity import BlockId, MerkleRoot
from boltzmann.identity.principal import is_actor_id
from boltzmann.identity.serialization import canonicalize, parse_json_strict
from boltzmann.merkle.proof import InclusionProof
from boltzmann.merkle.tree import MerkleTree, merkle_root
from boltzmann.module.composition import Composition
from boltzmann.module.snapshot import Snapshot as TheirSnapshot
from hypothesis import strategies as st
from soaking import CASES, examples_of, hold, soaked
from strictness import ED25519, SNAPSHOT, assert_agree, public_key, theirs_of_build, trust_root, value_or_none
from wire_documents import (
    ODD_IN_SNAPSHOTS,
    SHAPES,
    TRUST_ROOTS,
    digests,
    envelope,
    keys,
    nearly,
    snapshots,
    spoiled,
)

from consilience.errors import ActorError, FormatError
from consilience.protocol import (
    MemoryType,
    Proof,
    build,
    build_document,
    canonical,
    composition_document,
    decode,
    format_digest,
    merkle,
    parse_composition,
    parse_digest,
    prove,
    snapshot,
    validate_actor_id,
    verify_inclusion,
)

# --- blocks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("run", CASES)
def test_payloads_build_alike(run: str, shape: str, pytestconfig: pytest.Config) -> None:
    memory_type = shape.split()[0]

    def holds(payload: Any) -> None:
        if assert_agree("build", (memory_type, payload)) is None:
            return
        ours, theirs = (
            build_document(MemoryType(memory_type), payload),
            theirs_of_build((memory_type, payload)),
        )
        assert (format_digest(ours.id), ours.schema_version) == (str(theirs.block_id), theirs.SCHEMA_VERSION)
        assert decode(ours.data) == ours == build(ours.payload)

    hold(holds, nearly(SHAPES[shape]), examples=examples_of(run, pytestconfig, 60))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("run", CASES)
def test_envelopes_decode_alike(run: str, shape: str, pytestconfig: pytest.Config) -> None:
    """Any payload under any version, canonical or with a few bytes changed."""
    memory_type = shape.split()[0]
    documents = st.builds(lambda v, p: envelope(memory_type, v, p), st.integers(1, 4), nearly(SHAPES[shape]))

    def holds(data: bytes) -> None:
        if assert_agree("decode", data) is not None:
            ours, theirs = decode(data), TheirBlock.decode(data)
            assert (format_digest(ours.id), ours.schema_version) == (
                str(theirs.block_id),
                theirs.SCHEMA_VERSION,
            )
            assert ours.data == data

    hold(holds, spoiled(documents.map(written)), examples=examples_of(run, pytestconfig, 60))


def written(document: Any) -> bytes:
    """Canonical bytes, or where there are none the nearest JSON."""
    try:
        return canonical.encode(document)
    except FormatError:
        return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


# --- canonical JSON -----------------------------------------------------------------------------------------

SAFE = canonical.MAX_SAFE_INTEGER
scalars = st.none() | st.booleans() | st.integers(-SAFE - 2, SAFE + 2) | st.text() | st.floats()
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


def their_canonical(data: bytes) -> bytes:
    return canonicalize(parse_json_strict(data))


@soaked(values)
def test_values_encode_alike(value: Any) -> None:
    ours = value_or_none(canonical.encode, value, FormatError)
    assert ours == value_or_none(canonicalize, value, BoltzmannError)
    if ours is not None:
        assert canonical.require(ours, "value") == value


SPELLINGS = [
    "a",
    "b",
    "\\u0061",
    "\\n",
    "\\/",
    "\\u000a",
    "\\u001F",
    "\\u001f",
    "\\ud83d\\ude00",
    "\\uD83D",
    "\\ude00",
]
SPELLINGS += ["\U0001f600", "\uff5e", "\u2028", "\x7f", "\ud800", "\x01", "\\x", "\u00e9", "e\u0301"]
texts = st.lists(st.sampled_from(SPELLINGS), max_size=2).map(lambda parts: f'"{"".join(parts)}"')
NUMBERS = [
    "0",
    "-0",
    "1",
    "-1",
    "01",
    "1.0",
    "1e3",
    "9007199254740991",
    "9007199254740992",
    "-9007199254740992",
]
NUMBERS += ["9" * 5000, "NaN", "Infinity", "-Infinity", "+1"]
spelled = st.recursive(
    texts | st.sampled_from([*NUMBERS, "true", "false", "null", "True", ""]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]")
        | st.lists(st.tuples(texts, inner), max_size=3).map(
            lambda pairs: "{" + ",".join(f"{key}:{item}" for key, item in pairs) + "}"
        )
    ),
    max_leaves=12,
)
"""JSON text as anybody may write it, or nearly: a key twice, escapes or not, surrogates, every kind of number."""


@soaked(
    spoiled((spelled | values.map(json.dumps)).map(lambda text: text.encode(errors="surrogatepass"))),
    examples=250,
)
def test_documents_decode_alike(data: bytes) -> None:
    theirs = value_or_none(their_canonical, data, Exception)
    decoded = value_or_none(lambda d: repr(canonical.decode(d)).encode(errors="replace"), data, FormatError)
    assert (decoded is None) == (theirs is None)
    assert value_or_none(lambda d: canonical.encode(canonical.decode(d)), data, FormatError) == theirs
    required = value_or_none(lambda d: canonical.encode(canonical.require(d, "it")), data, FormatError)
    assert required == (theirs if theirs == data else None)


@soaked(st.text(st.sampled_from("ab0.@/-_%+ A\n\u00e9\u212a"), max_size=12) | st.text(max_size=5))
def test_actor_ids_are_those_of_the_oracle(text: str) -> None:
    ours = value_or_none(lambda t: validate_actor_id(t) or b"", text, ActorError)
    assert (ours is not None) is is_actor_id(text)


@soaked(spoiled(digests.map(str.encode)))
def test_digests_are_those_of_the_oracle(data: bytes) -> None:
    text = data.decode(errors="replace")
    ours = value_or_none(parse_digest, text, FormatError)
    assert ours == value_or_none(lambda t: BlockId.parse(t).raw, text, BoltzmannError)


# --- compositions, roots, proofs ----------------------------------------------------------------------------

members = st.sets(st.binary(min_size=32, max_size=32), max_size=40).map(sorted)
types = st.sampled_from(list(MemoryType))
other = st.binary(min_size=32, max_size=32)


@soaked(types, members)
def test_compositions_are_written_alike(memory_type: MemoryType, leaves: list[bytes]) -> None:
    data = composition_document(memory_type, leaves)
    theirs = Composition(TheirType(memory_type.value), [BlockId.from_raw(raw) for raw in leaves])
    assert data == theirs.document()
    assert Composition.from_document(data) == theirs
    assert parse_composition(data) == (memory_type, leaves)
    assert format_digest(merkle.root(leaves)) == str(theirs.root)


lists_of_ids = st.lists(st.sampled_from([format_digest(bytes([n]) * 32) for n in range(4)]), max_size=4)
composed = st.fixed_dictionaries(
    {
        "block_ids": lists_of_ids | lists_of_ids.map(lambda ids: sorted(set(ids))),
        "boltzmann": st.just(1),
        "layout": st.just("rfc6962-sorted/1"),
        "memory_type": types.map(str),
    }
)


@soaked(spoiled(nearly(composed).map(written)), examples=150)
def test_compositions_are_read_alike(data: bytes) -> None:
    ours = value_or_none(lambda d: composition_document(*parse_composition(d)), data, FormatError)
    assert ours == value_or_none(lambda d: Composition.from_document(d).document(), data, Exception)
    assert ours in (None, data)


@soaked(members, st.randoms(use_true_random=False))
def test_roots_are_those_of_the_oracle_in_any_order(leaves: list[bytes], random: Any) -> None:
    shuffled = leaves + leaves[:2]
    random.shuffle(shuffled)
    assert format_digest(merkle.root(leaves)) == str(merkle_root([BlockId.from_raw(raw) for raw in shuffled]))


@soaked(members.filter(bool), st.data())
def test_proofs_are_those_of_the_oracle_and_each_verifies_the_other(
    leaves: list[bytes], data: st.DataObject
) -> None:
    leaf, root = data.draw(st.sampled_from(leaves)), merkle.root(leaves)
    proof = prove(leaves, leaf)
    theirs = MerkleTree([BlockId.from_raw(raw) for raw in leaves]).inclusion_proof(BlockId.from_raw(leaf))
    assert InclusionProof.model_validate_json(proof.document()) == theirs
    assert Proof.parse(theirs.model_dump_json().encode()) == proof
    assert theirs.verify(MerkleRoot.from_raw(root)) and verify_inclusion(proof, root)


@soaked(members.filter(bool), st.data(), examples=150)
def test_a_proof_altered_in_any_part_is_judged_alike_and_proves_nothing(
    leaves: list[bytes], data: st.DataObject
) -> None:
    """Another size may name a tree of the same shape at this leaf: both say that such a proof holds."""
    good, root = prove(leaves, data.draw(st.sampled_from(leaves))), merkle.root(leaves)
    nodes, bad, against = list(good.audit_path), good, root
    change = data.draw(st.sampled_from(["id", "index", "size", "node", "cut", "grow", "swap", "root"]))
    if change == "id":
        bad = altered(good, block_id=data.draw(other | st.sampled_from(leaves)))
    elif change == "index":
        bad = altered(good, leaf_index=data.draw(st.integers(0, good.tree_size + 2)))
    elif change == "size":
        bad = altered(good, tree_size=data.draw(st.integers(1, 2 * good.tree_size + 2)))
    elif change == "node" and nodes:
        nodes[data.draw(st.integers(0, len(nodes) - 1))] = data.draw(other)
        bad = altered(good, audit_path=tuple(nodes))
    elif change == "cut":
        bad = altered(good, audit_path=tuple(nodes[:-1]))
    elif change == "grow":
        bad = altered(good, audit_path=(*nodes, data.draw(other)))
    elif change == "swap":
        bad = altered(good, audit_path=tuple(nodes[::-1]))
    else:
        against = data.draw(other)
    says = verify_inclusion(bad, against)
    assert says == InclusionProof.model_validate_json(bad.document()).verify(MerkleRoot.from_raw(against))
    if change != "size" and (bad, against) != (good, root):
        assert not says


def altered(proof: Proof, **changes: Any) -> Proof:
    return Proof(**{name: changes.get(name, getattr(proof, name)) for name in proof.__struct_fields__})


proofs = st.builds(
    lambda leaves: json.loads(prove(leaves, leaves[len(leaves) // 2]).document()), members.filter(bool)
)


@soaked(spoiled(nearly(proofs).map(written)), examples=150)
def test_proof_documents_are_read_alike(data: bytes) -> None:
    assert_agree("proof", data)


# --- snapshots ----------------------------------------------------------------------------------------------


@soaked(snapshots())
def test_valid_snapshots_are_read_and_written_alike(document: dict[str, Any]) -> None:
    for ref in document["modules"].values():
        if "index_digest" in ref:
            ref.setdefault("embedding_model", "e")
    data = canonical.encode(document)
    ours = snapshot.parse(data)
    assert snapshot.document(ours) == data
    assert format_digest(snapshot.digest(ours)) == str(TheirSnapshot.from_document(data).digest)


@soaked(spoiled(nearly(snapshots(), ODD_IN_SNAPSHOTS).map(written)), examples=150)
def test_snapshots_are_read_alike(data: bytes) -> None:
    if assert_agree("snapshot", data) is not None:
        theirs = TheirSnapshot.from_document(data)
        ours = snapshot.parse(data)
        assert format_digest(snapshot.digest(ours)) == str(theirs.digest)
        assert [format_digest(parent) for parent in ours.parents] == [str(p) for p in theirs.parents]


@soaked(nearly(st.sampled_from(TRUST_ROOTS), ODD_IN_SNAPSHOTS), examples=150)
def test_trust_roots_are_read_alike(root: Any) -> None:
    data = written(SNAPSHOT | {"trust_root": root})
    if root is not None and assert_agree("snapshot", data) is not None:
        ours = snapshot.parse(data).trust_root
        assert ours is not None
        assert format_digest(ours.digest) == str(TheirTrustRoot.model_validate(root).digest)


kinds_of_key = st.sampled_from(
    [b"ssh-ed25519", b"ssh-ed25519", b"ssh-rsa", b"x", b"", b"a\tb", b"a b", b"\xc2\x85"]
)
key_fields = st.lists(
    st.binary(min_size=32, max_size=32) | st.binary(max_size=40) | st.just(b"k" * 16_400), max_size=2
)
key_lines = st.builds(lambda kind, rest: public_key([kind, *rest]), kinds_of_key, key_fields)
KEY_PIECES = ["=", "A", "/", " ", "\n", "\t", "AAAA", "AAAAAA==", "ssh-ed25519 ", "\u00a0", "!"]


@st.composite
def nearly_keys(draw: st.DrawFn) -> str:
    line = draw(key_lines)
    if draw(st.booleans()):
        at = draw(st.integers(0, len(line)))
        line = line[:at] + draw(st.sampled_from(KEY_PIECES)) + line[at + draw(st.integers(0, 4)) :]
    return line


@soaked(st.lists(nearly_keys(), min_size=1, max_size=2), examples=150)
def test_public_keys_are_read_alike(lines: list[str]) -> None:
    root = trust_root(*[ED25519] * len(lines))
    for entry, line in zip(root["keys"], lines, strict=True):
        entry["key"] = line
    assert_agree("snapshot", canonical.encode(SNAPSHOT | {"trust_root": root}))
