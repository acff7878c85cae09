"""The golden corpus of pyboltzmann[conformance], whole: what we run, where, and what we do not, by name and why.

A new version, file, section or vector fails here until somebody has looked at it.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from boltzmann.authenticity.record import SignatureRecord
from boltzmann.conformance import golden
from strictness import SNAPSHOT

from consilience.protocol import canonical, format_digest, merkle, parse_digest, sha256, snapshot

TESTS = Path(__file__).parents[1]
HERE = "conformance/test_corpus.py"

RUN: dict[tuple[str, str], tuple[int, str, str]] = {
    ("block_ids.json", "vectors"): (18, "protocol/test_blocks.py", "test_golden_block_ids"),
    ("actor_ids.json", "vectors"): (25, "protocol/test_records.py", "test_golden_actor_ids"),
    ("schema_selection.json", "vectors"): (8, "protocol/test_blocks.py", "test_golden_schema_selection"),
    ("merkle_roots.json", "vectors"): (13, "protocol/test_merkle.py", "test_golden_roots"),
    ("merkle_roots.json", "rejected_compositions"): (
        2,
        "protocol/test_composition.py",
        "test_golden_compositions_are_rejected",
    ),
    ("inclusion_proofs.json", "vectors"): (14, "protocol/test_merkle.py", "test_golden_proofs_verify"),
    ("serialization.json", "vectors"): (
        11,
        "protocol/test_canonical.py",
        "test_golden_values_have_these_bytes",
    ),
    ("sshsig.json", "keys"): (1, HERE, "test_golden_public_keys_are_read"),
    ("signatures.json", "keys"): (3, HERE, "test_golden_public_keys_are_read"),
    ("signatures.json", "trust_roots"): (3, HERE, "test_golden_trust_roots_have_these_digests"),
    ("signatures.json", "snapshots"): (
        9,
        "protocol/test_snapshot.py",
        "test_golden_snapshots_with_trust_roots_are_carried_byte_for_byte",
    ),
    ("signatures.json", "signatures"): (
        14,
        HERE,
        "test_golden_signature_records_have_the_bytes_of_the_oracle",
    ),
    ("reconciliation.json", "vectors"): (6, HERE, "test_golden_merged_modules_have_these_roots"),
}
"""File and section: how many vectors, and the test that runs them."""

NOT_RUN: dict[tuple[str, str], tuple[str, list[str]]] = {
    ("sshsig.json", "vectors"): (
        "signatures are neither made nor checked",
        ["ed25519_sha512_snapshot_namespace"],
    ),
    ("sshsig.json", "rejections"): (
        "signatures are neither made nor checked",
        [
            "another_namespace_is_a_mismatch_not_a_forgery",
            "version_2_is_refused_rather_than_read",
            "a_signature_made_over_a_non_empty_reserved_never_verifies",
            "trailing_bytes_after_the_structure",
            "every_truncation_is_a_format_error",
            "sha256_is_valid_sshsig_but_not_a_boltzmann_signature",
            "md5_is_not_a_hash_algorithm_here",
            "armor_missing_its_footer",
            "armor_with_a_leading_byte",
        ],
    ),
    ("signatures.json", "cases"): (
        "verdicts on authorship need the verification of signatures; trust roots are parsed and carried",
        [
            "a_genesis_is_exempt_from_the_quorum_rule",
            "a_genesis_below_its_own_declared_quorum_warns_without_blocking",
            "an_ordinary_commit_verifies_against_the_trust_root_in_force",
            "an_unsigned_snapshot_is_unsigned_not_invalid",
            "admitting_an_owner_by_quorum",
            "the_admitted_key_commits_ordinarily",
            "a_key_admitting_itself_fails_with_no_pin_at_all",
            "rejection_propagates_to_the_forged_subtree",
            "a_retired_key_counts_toward_the_quorum_that_retired_it",
            "a_retired_keys_later_signature_fails_as_retired_not_unauthorized",
            "signatures_before_a_retirement_stand",
            "a_compromise_withdraws_from_its_position_onward",
            "a_pinned_trust_root_rejects_a_stranger",
            "a_pin_is_satisfied_through_approved_revisions",
        ],
    ),
    ("reconciliation.json", "refusals"): (
        "two histories are not joined; of the vectors, only the roots of their modules are checked",
        ["no_common_ancestor", "criss_cross_two_best_common_ancestors"],
    ),
}
"""File and section: why not, and the names of the vectors."""

TEXT = {"boltzmann", "serialization", "hash", "description", "namespace", "warning", "layout", "grammar"}
TEXT |= {"registry_version"}
"""Members of a vector file that hold no vectors."""

SSH, SIGNED = golden.load("sshsig.json"), golden.load("signatures.json")


def test_this_is_the_corpus_that_was_looked_at() -> None:
    assert golden.CORPUS_VERSION == "1.1"
    assert golden.registry()["registry_version"] == 1
    files = {entry.name for entry in resources.files("boltzmann.conformance.vectors").iterdir()}
    assert {name for name in files if name.endswith(".json")} == set(golden.VECTOR_FILES)


def test_every_section_of_every_file_is_run_or_listed() -> None:
    sections = {
        (name, section)
        for name, document in golden.load_all().items()
        for section in document
        if section not in TEXT
    }
    assert sections == RUN.keys() | NOT_RUN.keys()
    assert not RUN.keys() & NOT_RUN.keys()


@pytest.mark.parametrize(("section", "entry"), RUN.items(), ids=map(" ".join, RUN))
def test_a_section_has_as_many_vectors_as_were_looked_at_and_a_test(
    section: tuple[str, str], entry: tuple[int, str, str]
) -> None:
    count, file, test = entry
    assert len(golden.load(section[0])[section[1]]) == count
    assert f"\ndef {test}(" in (TESTS / file).read_text()


@pytest.mark.parametrize(("section", "entry"), NOT_RUN.items(), ids=map(" ".join, NOT_RUN))
def test_what_is_not_run_is_listed_by_name(section: tuple[str, str], entry: tuple[str, list[str]]) -> None:
    why, names = entry
    assert why
    assert [vector["name"] for vector in golden.load(section[0])[section[1]]] == names


# --- of the sections that we implement in part --------------------------------------------------------------


@pytest.mark.parametrize("key", [*SSH["keys"], *SIGNED["keys"]], ids=lambda key: key["name"])
def test_golden_public_keys_are_read(key: dict[str, Any]) -> None:
    """A key stands in a trust root; one byte of it changed is no key, or another."""
    member = {"key": key["public"], "scopes": ["govern"], "since": 1}
    root = {**SIGNED["trust_roots"]["revision-one"]["document"], "keys": [member]}
    data = canonical.encode(SNAPSHOT | {"trust_root": root})
    parsed = snapshot.parse(data)
    assert parsed.trust_root is not None
    assert parsed.trust_root.keys[0].key == key["public"]
    assert snapshot.document(parsed) == data


@pytest.mark.parametrize("name", SIGNED["trust_roots"])
def test_golden_trust_roots_have_these_digests(name: str) -> None:
    vector = SIGNED["trust_roots"][name]
    parsed = snapshot.parse(canonical.encode(SNAPSHOT | {"trust_root": vector["document"]}))
    assert parsed.trust_root is not None
    assert format_digest(parsed.trust_root.digest) == vector["digest"]


@pytest.mark.parametrize("name", SIGNED["signatures"])
def test_golden_signature_records_have_the_bytes_of_the_oracle(name: str) -> None:
    """We read no signature record; its canonical bytes and so its name in a store agree all the same."""
    vector = SIGNED["signatures"][name]
    theirs = SignatureRecord.model_validate(vector)
    data = canonical.encode(vector)
    assert data == theirs.canonical_bytes()
    assert canonical.require(data, "record") == vector
    assert format_digest(sha256(data)) == str(theirs.digest)
    assert vector["snapshot"] in {entry["digest"] for entry in SIGNED["snapshots"].values()}


@pytest.mark.parametrize("case", SIGNED["cases"], ids=lambda case: case["name"])
def test_golden_chains_are_read_from_their_documents(case: dict[str, Any]) -> None:
    """Without a verdict: the snapshot that a case is about leads, parent by parent, to one without any."""
    by_digest = {entry["digest"]: entry["canonical"].encode() for entry in SIGNED["snapshots"].values()}
    at, seen = SIGNED["snapshots"][case["snapshot"]]["digest"], 0
    while at is not None:
        parsed = snapshot.parse(by_digest[at])
        assert format_digest(sha256(by_digest[at])) == at
        at, seen = (format_digest(parsed.parents[0]) if parsed.parents else None), seen + 1
    assert seen <= len(by_digest)


@pytest.mark.parametrize("vector", golden.load("reconciliation.json")["vectors"], ids=lambda v: v["name"])
def test_golden_merged_modules_have_these_roots(vector: dict[str, Any]) -> None:
    """Joining is not ours yet; the root of the joined set is."""
    merged = [parse_digest(text) for text in vector["merged"]]
    assert vector["layout"] == merkle.LAYOUT
    assert format_digest(merkle.root(merged)) == vector["merged_root"]


def test_rejected_documents_are_among_the_serialization_vectors() -> None:
    rejected = [v["name"] for v in golden.load("serialization.json")["vectors"] if v.get("rejected")]
    assert rejected == ["duplicate_key_document", "lone_surrogate"]
    assert "def test_golden_documents_are_rejected(" in (TESTS / "protocol/test_canonical.py").read_text()
