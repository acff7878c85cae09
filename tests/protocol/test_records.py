"""Provenance records and actor ids."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from boltzmann.conformance import golden
from boltzmann.identity.principal import is_actor_id

from consilience.errors import ActorError, FormatError, ValidationError
from consilience.protocol import (
    Actor,
    ActorKind,
    Collaborator,
    Demotion,
    Derivation,
    Mechanism,
    MemoryType,
    Normalization,
    Producer,
    ProducerKind,
    Provenance,
    Registration,
    Removal,
    Supersession,
    Validation,
    Verdict,
    build,
    canonical,
    decode,
    derivation_block,
    format_digest,
    record_block,
    sha256,
    validate_actor_id,
)

A, B = sha256(b"a"), sha256(b"b")
a, b = format_digest(A), format_digest(B)
AT = "2026-11-30T00:00:00Z"
ANA = Actor(id="ana@example.org", kind=ActorKind.HUMAN)
OLD = Actor(id="curator", kind=ActorKind.SERVICE)
READER = Producer(kind=ProducerKind.PIPELINE, id="consilience/markdown", version="1")
AGENT = Collaborator(id="example/agent", kind=ActorKind.AGENT, model="example/model-1")

RECORDS: list[Any] = [
    Registration(block=a, actor=ANA, at=AT, origin="docs/a.md"),
    Derivation(block=a, derived_from=(b,), producer=READER, actor=ANA, at=AT),
    Normalization(block=a, pipeline="p", pipeline_version="1", actor=ANA, at=AT),
    Supersession(block=a, supersedes=b, actor=ANA, at=AT),
    Demotion(block=a, actor=ANA, at=AT),
    Validation(block=a, verdict=Verdict.VALIDATED, checks=("schema",), actor=ANA, at=AT),
]
REMOVAL = Removal(
    blocks=(a,), mechanism=Mechanism.DROP, memory_type=MemoryType.SEMANTIC, actor=ANA, at=AT, reason="r"
)


def assisted(record: Any, *by: Collaborator) -> Any:
    """The version 2 form of a record."""
    changes: dict[str, Any] = {"assisted_by": by}
    if isinstance(record, Derivation):
        changes["producer"] = msgspec.UNSET
    return msgspec.structs.replace(record, **changes)


# --- versions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("record", [*RECORDS, REMOVAL], ids=lambda r: type(r).__name__)
def test_a_record_that_names_nobody_else_is_version_1(record: Any) -> None:
    block = record_block(record)
    assert block.schema_version == 1
    assert block == build(Provenance(record=record)) == decode(block.data)


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: type(r).__name__)
def test_a_record_that_names_who_assisted_is_version_2(record: Any) -> None:
    block = record_block(assisted(record, AGENT))
    assert block.schema_version == 2
    assert decode(block.data) == block


@pytest.mark.parametrize("record", RECORDS, ids=lambda r: type(r).__name__)
def test_assisted_by_nobody_is_version_2_except_for_a_derivation(record: Any) -> None:
    empty = assisted(record)
    if isinstance(record, Derivation):
        with pytest.raises(ValidationError):
            record_block(empty)
    else:
        assert record_block(empty).schema_version == 2


def test_a_derivation_has_a_producer_or_collaborators_not_both_not_neither() -> None:
    for producer, by in ((READER, (AGENT,)), (msgspec.UNSET, msgspec.UNSET)):
        with pytest.raises(ValidationError, match="either its producer or who assisted"):
            record_block(msgspec.structs.replace(RECORDS[1], producer=producer, assisted_by=by))


def test_a_removal_has_no_version_2() -> None:
    data = record_block(REMOVAL).data
    with pytest.raises(FormatError, match="no version 2"):
        decode(data.replace(b'"schema_version":1', b'"schema_version":2'))
    with pytest.raises(FormatError):
        decode(data.replace(b'"at":', b'"assisted_by":[],"at":'))


def test_version_1_reads_any_actor_id_and_version_2_only_actor_ids() -> None:
    record = Demotion(block=a, actor=OLD, at=AT)
    assert record_block(record).schema_version == 1
    for bad in (
        assisted(record, AGENT),
        assisted(RECORDS[4], msgspec.structs.replace(AGENT, id="Agent")),
        assisted(RECORDS[4], msgspec.structs.replace(AGENT, model="model")),
    ):
        with pytest.raises(ValidationError, match="is not an actor id"):
            record_block(bad)


def test_a_person_runs_no_model() -> None:
    person = Collaborator(id="bo@example.org", kind=ActorKind.HUMAN)
    assert record_block(assisted(RECORDS[0], person)).schema_version == 2
    with pytest.raises(ValidationError, match="is a person"):
        record_block(assisted(RECORDS[0], msgspec.structs.replace(person, model="example/model-1")))


def test_mechanisms_that_destroy_bytes() -> None:
    redactions = {m for m in Mechanism if m.is_redaction}
    assert redactions == {Mechanism.TOMBSTONE, Mechanism.CRYPTO_SHRED, Mechanism.LINEAGE_REWRITE}


def test_resulting_roots_sort_by_utf16_code_unit() -> None:
    record = msgspec.structs.replace(REMOVAL, resulting_roots={"\uff5e": a, "\U0001f600": b, "semantic": a})
    block = record_block(record)
    assert block.data == canonical.encode(canonical.decode(block.data))
    assert block.data.index("\U0001f600".encode()) < block.data.index("\uff5e".encode())
    assert decode(block.data) == block


# --- hostile records ----------------------------------------------------------------------------------------

HOSTILE: dict[str, Any] = {
    "empty actor id": Demotion(block=a, actor=Actor(id="", kind=ActorKind.HUMAN), at=AT),
    "unknown actor kind": Demotion(block=a, actor=Actor(id="x", kind="robot"), at=AT),  # type: ignore[arg-type]
    "block that is no digest": Demotion(block="a", actor=ANA, at=AT),
    "date without time": Demotion(block=a, actor=ANA, at="2026-11-30"),
    "derived from nothing": msgspec.structs.replace(RECORDS[1], derived_from=()),
    "no checks": msgspec.structs.replace(RECORDS[5], checks=()),
    "unknown verdict": msgspec.structs.replace(RECORDS[5], verdict="fine"),
    "empty pipeline": msgspec.structs.replace(RECORDS[2], pipeline=""),
    "removal of nothing": msgspec.structs.replace(REMOVAL, blocks=()),
    "removal without a reason": msgspec.structs.replace(REMOVAL, reason=""),
    "removal by an unknown mechanism": msgspec.structs.replace(REMOVAL, mechanism="burn"),
    "resulting root that is no digest": msgspec.structs.replace(REMOVAL, resulting_roots={"semantic": "x"}),
    "resulting roots with a key that is no text": msgspec.structs.replace(REMOVAL, resulting_roots={1: a}),
    "resulting roots with a lone surrogate": msgspec.structs.replace(REMOVAL, resulting_roots={"\ud800": a}),
    "not a record": ANA,
    "None": None,
}


@pytest.mark.parametrize("record", HOSTILE.values(), ids=HOSTILE)
def test_hostile_record_is_refused(record: Any) -> None:
    with pytest.raises(ValidationError):
        record_block(record)


# --- derivation_block ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("locator", [None, "", "L1-L2 # Title > Part", "\U0001f600 \x00"])
def test_derivation_block_is_the_block_of_that_record(locator: str | None) -> None:
    record = Derivation(
        block=a,
        derived_from=(b, a),
        producer=READER,
        actor=ANA,
        at=AT,
        locator=msgspec.UNSET if locator is None else locator,
    )
    assert derivation_block(A, [B, A], READER, ANA, AT, locator) == record_block(record)


@pytest.mark.parametrize(
    "arguments",
    [
        (A, [], READER, ANA, AT),
        (A, [B], READER, ANA, "yesterday"),
        (A, [B], None, ANA, AT),
        (A, [B], READER, None, AT),
        (A, [B], READER, ANA, AT, 7),
        (A, [B], READER, ANA, AT, "\ud800"),
    ],
)
def test_derivation_block_refuses_what_is_no_record(arguments: Any) -> None:
    with pytest.raises(ValidationError):
        derivation_block(*arguments)


@pytest.mark.parametrize("block", [b"", b"\0" * 31])
def test_derivation_block_refuses_a_short_id(block: bytes) -> None:
    with pytest.raises(FormatError):
        derivation_block(block, [B], READER, ANA, AT)


# --- actor ids ----------------------------------------------------------------------------------------------


def accepted(text: str) -> bool:
    try:
        validate_actor_id(text)
    except ActorError as error:
        assert error.hint
        return False
    return True


@pytest.mark.parametrize("vector", golden.load("actor_ids.json")["vectors"], ids=lambda v: v["name"])
def test_golden_actor_ids(vector: dict[str, Any]) -> None:
    assert accepted(vector["id"]) is vector["accepted"]


@pytest.mark.parametrize(
    ("text", "good"),
    [
        ("a" * 64 + "@b.co", True),
        ("a" * 65 + "@b.co", False),
        ("a@" + "b" * 63 + ".co", True),
        ("a@" + "b" * 64 + ".co", False),
        ("a@" + ".".join(["b" * 49] * 5) + ".cdefg", True),
        ("a@" + ".".join(["b" * 50] * 5) + ".c", False),
        ("a" * 128 + "/" + "b" * 128, True),
        ("a" * 129 + "/b", False),
        ("a/b\n", False),
        ("a@b.co\n", False),
        ("a@b@c.co", False),
        ("a@b..co", False),
        ("a@-b.co", False),
        ("a@b-.co", False),
        ("%+_-@b.co", True),
        ("\u00e4@b.co", False),
        ("a/b\x7f", False),
        ("\u0131/b", False),
    ],
)
def test_actor_id_limits(text: str, good: bool) -> None:
    assert accepted(text) is good is is_actor_id(text)


@pytest.mark.parametrize("text", [None, 7, b"a/b"])
def test_an_actor_id_that_is_no_text_is_refused(text: Any) -> None:
    with pytest.raises(ActorError):
        validate_actor_id(text)
