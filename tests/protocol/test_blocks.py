"""Blocks: golden vectors, 'the oldest version that fits', 'canonical or refused', hostile input by name."""

from __future__ import annotations

import datetime
from typing import Any

import msgspec
import pytest
from boltzmann.conformance import golden

from consilience.errors import FormatError, ValidationError
from consilience.protocol import (
    SCHEMA_VERSIONS,
    Canonical,
    CatalogEntry,
    ContentRef,
    Episodic,
    Kind,
    MemoryType,
    Procedural,
    Relation,
    Semantic,
    Step,
    build,
    build_document,
    canonical,
    content_refs,
    decode,
    format_digest,
    payload_json,
    sha256,
)

D = format_digest(sha256(b"x"))
E = format_digest(sha256(b"y"))
REF = ContentRef(blob=D, media_type="text/plain", size=0)
FACT = Semantic(kind=Kind.FACT, label="a", statement="b")


def seal(payload: Any, memory_type: str = "semantic", version: Any = 1, **members: Any) -> bytes:
    """Canonical bytes of an envelope around whatever payload."""
    envelope = {
        "boltzmann": 1,
        "memory_type": memory_type,
        "payload": payload,
        "schema_version": version,
        "serialization": "jcs/1",
    }
    return canonical.encode(envelope | members)


# --- golden vectors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", golden.load("block_ids.json")["vectors"], ids=lambda v: v["name"])
def test_golden_block_ids(vector: dict[str, Any]) -> None:
    data = vector["canonical_bytes"].encode()
    block = decode(data)
    assert format_digest(block.id) == vector["block_id"]
    assert (block.memory_type, block.schema_version) == (vector["memory_type"], vector["schema_version"])
    assert block.data == data == canonical.encode(vector["envelope"])
    assert build(block.payload) == block
    assert build_document(MemoryType(vector["memory_type"]), vector["envelope"]["payload"]) == block
    assert canonical.decode(payload_json(data)) == vector["envelope"]["payload"]


@pytest.mark.parametrize("vector", golden.load("schema_selection.json")["vectors"], ids=lambda v: v["name"])
def test_golden_schema_selection(vector: dict[str, Any]) -> None:
    memory_type, payload = MemoryType(vector["memory_type"]), vector["payload"]
    readable = [v for v in SCHEMA_VERSIONS[memory_type] if _reads(seal(payload, memory_type.value, v))]
    assert readable == vector["satisfies"]
    if not vector["satisfies"]:
        with pytest.raises(ValidationError):
            build_document(memory_type, payload)
    else:
        block = build_document(memory_type, payload)
        assert block.schema_version == vector["schema_version"] == min(readable)
        assert block.data.decode() == vector["canonical_bytes"]
        assert format_digest(block.id) == vector["block_id"]


def _reads(data: bytes) -> bool:
    try:
        decode(data)
    except FormatError:
        return False
    return True


def test_every_registered_schema_version_is_known() -> None:
    registered = {
        name: tuple(sorted(entry["schema_version"] for entry in entries))
        for name, entries in golden.registry()["schemas"].items()
    }
    assert registered == {memory_type.value: versions for memory_type, versions in SCHEMA_VERSIONS.items()}


# --- versions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payload", "version"),
    [
        (Canonical(blob=D, media_type="text/plain", size=1, normalized_view=REF), 1),
        (Episodic(summary="s", occurred_at="2024-01-01T00:00:00Z"), 1),
        (Episodic(summary="s", occurred_at="2024-01-01T00:00:00Z", content=REF), 2),
        (FACT, 1),
        (msgspec.structs.replace(FACT, content=REF), 2),
        (CatalogEntry(kind=Kind.SCHEME, scheme="year", exclusive=False), 3),
        (CatalogEntry(kind=Kind.CLASS, scheme="year", label="2026"), 3),
        (Procedural(label="l", goal="g", steps=(Step(action="a"),)), 1),
        (Procedural(label="l", goal="g", steps=(Step(action="a"),), content=REF), 2),
    ],
)
def test_a_payload_is_written_under_the_oldest_version_that_fits(payload: Any, version: int) -> None:
    block = build(payload)
    assert block.schema_version == version
    assert decode(block.data) == block


def test_a_newer_envelope_than_its_payload_needs_is_read_and_never_written() -> None:
    block = decode(seal({"kind": "fact", "label": "a", "statement": "b"}, version=2))
    assert (block.schema_version, block.payload) == (2, FACT)
    assert build(block.payload).schema_version == 1
    assert build(block.payload).id != block.id


def test_absent_empty_and_named_are_three_different_blocks() -> None:
    replace = msgspec.structs.replace
    blocks = [FACT, replace(FACT, evidence=()), replace(FACT, evidence=(D,)), replace(FACT, subject="")]
    assert len({build(payload).id for payload in blocks}) == 4
    assert b'"evidence":[]' in build(blocks[1]).data
    assert b"null" not in build(FACT).data
    assert decode(build(blocks[1]).data).payload == blocks[1]


def test_list_order_is_identity() -> None:
    a = msgspec.structs.replace(FACT, evidence=(D, E))
    b = msgspec.structs.replace(FACT, evidence=(E, D))
    assert build(a).id != build(b).id


def test_nothing_is_normalised() -> None:
    ids = {
        build(Semantic(kind=Kind.FACT, label="x", statement=s)).id
        for s in ("caf\u00e9", "cafe\u0301", "caf\u00e9 ")
    }
    assert len(ids) == 3


def test_content_refs() -> None:
    original = ContentRef(blob=E, media_type="application/pdf", size=9)
    source = Canonical(blob=E, media_type="application/pdf", size=9, normalized_view=REF)
    assert content_refs(source) == (original, REF)
    assert content_refs(msgspec.structs.replace(source, normalized_view=msgspec.UNSET)) == (original,)
    assert content_refs(FACT) == ()
    assert content_refs(msgspec.structs.replace(FACT, content=REF)) == (REF,)


def test_payload_json_is_the_payload_member_and_needs_the_frame_of_an_envelope() -> None:
    statement = '","schema_version":1,"serialization":"jcs/1"}'
    block = build(Semantic(kind=Kind.FACT, label="x", statement=statement))
    assert canonical.decode(payload_json(block.data))["statement"] == statement
    for data in (b"", b"{}", block.data[:-1], block.data + b" ", block.data.replace(b"semantic", b"dreams")):
        with pytest.raises(FormatError):
            payload_json(data)


# --- catalog ------------------------------------------------------------------------------------------------

BROADER, NARROWER = Relation(predicate="broader", target=D), Relation(predicate="narrower", target=E)
PLACED = Relation(predicate="classified_as", target=D)


def test_placement_and_hierarchy() -> None:
    for entry in (
        CatalogEntry(kind=Kind.RELATION, evidence=(E,), relations=(PLACED,)),
        CatalogEntry(kind=Kind.RELATION, relations=(BROADER, NARROWER)),
    ):
        block = build(entry)
        assert block.schema_version == 3
        assert decode(block.data) == block


@pytest.mark.parametrize(
    "entry",
    [
        CatalogEntry(kind=Kind.SCHEME, scheme="s"),
        CatalogEntry(kind=Kind.SCHEME, scheme="s", exclusive=True, label="l"),
        CatalogEntry(kind=Kind.SCHEME, scheme="s", exclusive=True, evidence=()),
        CatalogEntry(kind=Kind.SCHEME, scheme="", exclusive=True),
        CatalogEntry(kind=Kind.CLASS, scheme="s"),
        CatalogEntry(kind=Kind.CLASS, scheme="s", label=""),
        CatalogEntry(kind=Kind.CLASS, scheme="s", label="."),
        CatalogEntry(kind=Kind.CLASS, scheme="s", label=".."),
        CatalogEntry(kind=Kind.CLASS, scheme="s", label="a/b"),
        CatalogEntry(kind=Kind.CLASS, scheme="s", label="l", exclusive=True),
        CatalogEntry(kind=Kind.RELATION),
        CatalogEntry(kind=Kind.RELATION, relations=()),
        CatalogEntry(kind=Kind.RELATION, relations=(PLACED,)),
        CatalogEntry(kind=Kind.RELATION, evidence=(), relations=(PLACED,)),
        CatalogEntry(kind=Kind.RELATION, evidence=(D, E), relations=(PLACED,)),
        CatalogEntry(kind=Kind.RELATION, evidence=(D,), relations=(PLACED, PLACED)),
        CatalogEntry(kind=Kind.RELATION, evidence=(D,), relations=(BROADER, NARROWER)),
        CatalogEntry(kind=Kind.RELATION, relations=(NARROWER, BROADER)),
        CatalogEntry(kind=Kind.RELATION, relations=(BROADER,)),
        CatalogEntry(kind=Kind.RELATION, relations=(BROADER, NARROWER), scheme="s"),
        CatalogEntry(kind=Kind.FACT, scheme="s", exclusive=True),
    ],
)
def test_any_other_catalog_shape_is_refused(entry: CatalogEntry) -> None:
    with pytest.raises(ValidationError):
        build(entry)


def test_a_statement_with_a_catalog_predicate_is_an_ordinary_relation() -> None:
    payload = Semantic(kind=Kind.RELATION, label="l", statement="s", relations=(PLACED,))
    assert build(payload).schema_version == 1


@pytest.mark.parametrize("kind", [Kind.SCHEME, Kind.CLASS])
def test_a_catalog_kind_makes_no_statement(kind: Kind) -> None:
    with pytest.raises(ValidationError):
        build(Semantic(kind=kind, label="l", statement="s"))


# --- episodes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("begin", "end", "good"),
    [
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z", True),
        ("2024-01-01T00:00:01Z", "2024-01-01T00:00:00Z", False),
        ("2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z", True),
        ("2023-02-29T00:00:00Z", "2023-03-01T00:00:00Z", False),
        ("2023-01-01T00:00:00Z", "2023-02-29T00:00:00Z", False),
        ("0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", False),
        ("2024-01-01T24:00:00Z", "2024-01-02T24:00:00Z", False),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z", False),
        ("9999-99-99T99:99:99Z", None, True),
    ],
)
def test_an_episode_ends_after_it_began(begin: str, end: str | None, good: bool) -> None:
    """The calendar is consulted only where two instants are compared."""
    payload = {"summary": "s", "occurred_at": begin} | ({} if end is None else {"ended_at": end})
    assert _reads(seal(payload, "episodic")) is good
    if good:
        build_document(MemoryType.EPISODIC, payload)
    else:
        with pytest.raises(ValidationError):
            build_document(MemoryType.EPISODIC, payload)


# --- hostile payloads ---------------------------------------------------------------------------------------

SOURCE = {"blob": D, "media_type": "text/plain", "size": 42}
STATEMENT = {"kind": "fact", "label": "a", "statement": "b"}
EPISODE = {"summary": "s", "occurred_at": "2024-01-01T00:00:00Z"}
PROCEDURE = {"label": "l", "goal": "g", "steps": [{"action": "a"}]}

HOSTILE_PAYLOADS: dict[str, tuple[str, dict[str, Any]]] = {
    "size as text": ("canonical", SOURCE | {"size": "42"}),
    "size as boolean": ("canonical", SOURCE | {"size": True}),
    "negative size": ("canonical", SOURCE | {"size": -1}),
    "null view": ("canonical", SOURCE | {"normalized_view": None}),
    "empty view": ("canonical", SOURCE | {"normalized_view": {}}),
    "unknown member of a view": ("canonical", SOURCE | {"normalized_view": SOURCE | {"note": ""}}),
    "upper case digest": ("canonical", SOURCE | {"blob": "sha256:" + "A" * 64}),
    "digest and newline": ("canonical", SOURCE | {"blob": D + "\n"}),
    "digest of another algorithm": ("canonical", SOURCE | {"blob": "sha512:" + "0" * 64}),
    "empty media type": ("canonical", SOURCE | {"media_type": ""}),
    "missing size": ("canonical", {"blob": D, "media_type": "text/plain"}),
    "unknown kind": ("semantic", STATEMENT | {"kind": "opinion"}),
    "kind in upper case": ("semantic", STATEMENT | {"kind": "FACT"}),
    "kind as list": ("semantic", STATEMENT | {"kind": ["fact"]}),
    "empty label": ("semantic", STATEMENT | {"label": ""}),
    "empty statement": ("semantic", STATEMENT | {"statement": ""}),
    "null subject": ("semantic", STATEMENT | {"subject": None}),
    "null evidence": ("semantic", STATEMENT | {"evidence": None}),
    "null in evidence": ("semantic", STATEMENT | {"evidence": [None]}),
    "evidence as text": ("semantic", STATEMENT | {"evidence": D}),
    "evidence as object": ("semantic", STATEMENT | {"evidence": {D: D}}),
    "unknown member": ("semantic", STATEMENT | {"heading": "h"}),
    "unknown member of a relation": (
        "semantic",
        STATEMENT | {"relations": [{"predicate": "p", "target": D, "weight": 1}]},
    ),
    "empty predicate": ("semantic", STATEMENT | {"relations": [{"predicate": "", "target": D}]}),
    "exclusive as integer": ("semantic", {"kind": "scheme", "scheme": "s", "exclusive": 1}),
    "timestamp with offset": ("episodic", EPISODE | {"occurred_at": "2024-01-01T00:00:00+00:00"}),
    "timestamp with fraction": ("episodic", EPISODE | {"occurred_at": "2024-01-01T00:00:00.0Z"}),
    "timestamp in lower case": ("episodic", EPISODE | {"occurred_at": "2024-01-01t00:00:00z"}),
    "timestamp and newline": ("episodic", EPISODE | {"occurred_at": "2024-01-01T00:00:00Z\n"}),
    "timestamp in other digits": ("episodic", EPISODE | {"occurred_at": "\u0662024-01-01T00:00:00Z"}),
    "timestamp as number": ("episodic", EPISODE | {"occurred_at": 1704067200}),
    "date without time": ("episodic", EPISODE | {"occurred_at": "2024-01-01"}),
    "tags as text": ("episodic", EPISODE | {"tags": "a,b"}),
    "null in tags": ("episodic", EPISODE | {"tags": [None]}),
    "no steps": ("procedural", PROCEDURE | {"steps": []}),
    "step as text": ("procedural", PROCEDURE | {"steps": ["a"]}),
    "empty action": ("procedural", PROCEDURE | {"steps": [{"action": ""}]}),
    "null condition": ("procedural", PROCEDURE | {"steps": [{"action": "a", "condition": None}]}),
    "content without size": ("procedural", PROCEDURE | {"content": {"blob": D, "media_type": "a/b"}}),
    "empty payload": ("semantic", {}),
    "record of no type": ("provenance", {"record": {}}),
    "record as list": ("provenance", {"record": []}),
}


@pytest.mark.parametrize(("name", "payload"), HOSTILE_PAYLOADS.values(), ids=HOSTILE_PAYLOADS)
def test_hostile_payload_is_neither_built_nor_read(name: str, payload: dict[str, Any]) -> None:
    memory_type = MemoryType(name)
    with pytest.raises(ValidationError, match=f"^{name} block: "):
        build_document(memory_type, payload)
    for version in SCHEMA_VERSIONS[memory_type]:
        with pytest.raises(FormatError):
            decode(seal(payload, name, version))


UNENCODABLE: dict[str, Any] = {
    "float": STATEMENT | {"label": 1.5},
    "NaN": STATEMENT | {"label": float("nan")},
    "size as float": SOURCE | {"size": 42.0},
    "2^53": SOURCE | {"size": 2**53},
    "lone surrogate": STATEMENT | {"label": "\ud800"},
    "key that is no text": {1: 2},
    "bytes": STATEMENT | {"label": b"a"},
    "a list": [STATEMENT],
    "None": None,
}


@pytest.mark.parametrize("payload", UNENCODABLE.values(), ids=UNENCODABLE)
def test_payload_without_a_canonical_form_is_refused(payload: Any) -> None:
    for memory_type in (MemoryType.SEMANTIC, MemoryType.CANONICAL):
        with pytest.raises(ValidationError):
            build_document(memory_type, payload)


MISTYPED: dict[str, Any] = {
    "list for a tuple": msgspec.structs.replace(FACT, evidence=[D]),
    "bytes for text": msgspec.structs.replace(FACT, label=b"label"),
    "date for text": Episodic(summary="s", occurred_at=datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)),  # type: ignore[arg-type]
    "text for an integer": Canonical(blob=D, media_type="a/b", size="1"),  # type: ignore[arg-type]
    "None for an absent member": msgspec.structs.replace(FACT, subject=None),
    "lone surrogate": msgspec.structs.replace(FACT, label="\ud800"),
    "integer of 70 bits": Canonical(blob=D, media_type="a/b", size=2**70),
    "something unencodable": msgspec.structs.replace(FACT, label=object()),
    "not a payload": REF,
    "a mapping": STATEMENT,
}


@pytest.mark.parametrize("payload", MISTYPED.values(), ids=MISTYPED)
def test_struct_with_a_mistyped_member_is_refused(payload: Any) -> None:
    with pytest.raises(ValidationError):
        build(payload)


# --- hostile envelopes --------------------------------------------------------------------------------------

GOOD = seal(STATEMENT)
HOSTILE_ENVELOPES = {
    "empty": b"",
    "not JSON": b"\x00\x01",
    "array": b"[1]",
    "empty object": b"{}",
    "protocol version 2": seal(STATEMENT, boltzmann=2),
    "boolean protocol version": seal(STATEMENT, boltzmann=True),
    "protocol version as text": seal(STATEMENT, boltzmann="1"),
    "other serialization": seal(STATEMENT, serialization="jcs/2"),
    "boolean serialization": seal(STATEMENT, serialization=True),
    "unknown memory type": seal(STATEMENT, "dreams"),
    "memory type as list": seal(STATEMENT, memory_type=["semantic"]),  # type: ignore[arg-type]
    "memory type of another payload": seal(STATEMENT, "episodic"),
    "schema version 4": seal(STATEMENT, version=4),
    "schema version 0": seal(STATEMENT, version=0),
    "negative schema version": seal(STATEMENT, version=-1),
    "schema version as text": seal(STATEMENT, version="1"),
    "boolean schema version": seal(STATEMENT, version=True),
    "schema version 3 of a statement": seal(STATEMENT, version=3),
    "canonical version 2": seal(SOURCE, "canonical", 2),
    "content in version 1": seal(STATEMENT | {"content": SOURCE}),
    "payload as list": seal([STATEMENT]),
    "payload as null": seal(None),
    "unknown member": seal(STATEMENT, note=1),
    "missing member": canonical.encode(
        {k: v for k, v in canonical.decode(GOOD).items() if k != "serialization"}
    ),
    "space": GOOD.replace(b":", b": ", 1),
    "space in the payload": GOOD.replace(b'"kind":', b'"kind": '),
    "newline at the end": GOOD + b"\n",
    "byte order mark": b"\xef\xbb\xbf" + GOOD,
    "key order": GOOD.replace(
        b'"boltzmann":1,"memory_type":"semantic"', b'"memory_type":"semantic","boltzmann":1'
    ),
    "key order in the payload": GOOD.replace(b'"kind":"fact","label":"a"', b'"label":"a","kind":"fact"'),
    "escape for a printable character": GOOD.replace(b'"label":"a"', b'"label":"\\u0061"'),
    "duplicate key": GOOD.replace(b'"boltzmann":1,', b'"boltzmann":1,"boltzmann":1,'),
    "duplicate key in the payload": GOOD.replace(b'"label":"a"', b'"label":"a","label":"a"'),
    "duplicate payload": GOOD.replace(b',"schema', b',"payload":{},"schema'),
    "lone surrogate": GOOD.replace(b'"label":"a"', b'"label":"\\ud800"'),
    "lone surrogate in UTF-8": GOOD.replace(b'"label":"a"', b'"label":"\xed\xa0\x80"'),
    "invalid UTF-8": GOOD.replace(b'"label":"a"', b'"label":"\xff"'),
    "NaN": GOOD.replace(b'"label":"a"', b'"label":NaN'),
    "float": seal(SOURCE, "canonical").replace(b"42", b"42.0"),
    "exponent": seal(SOURCE, "canonical").replace(b"42", b"42e0"),
    "2^53": seal(SOURCE, "canonical").replace(b"42", b"9007199254740992"),
    "integer of 5000 digits": seal(SOURCE, "canonical").replace(b"42", b"4" * 5000),
    "null member": GOOD.replace(b'"statement":"b"', b'"statement":"b","subject":null'),
    "two envelopes": GOOD + GOOD,
    "cut short": GOOD[:-2],
    "nested 100,000 deep": GOOD.replace(b'"label":"a"', b'"label":' + b"[" * 100_000 + b"]" * 100_000),
}


@pytest.mark.parametrize("data", HOSTILE_ENVELOPES.values(), ids=HOSTILE_ENVELOPES)
def test_hostile_envelope_is_a_format_error(data: bytes) -> None:
    decode(GOOD)
    assert data != GOOD
    with pytest.raises(FormatError) as caught:
        decode(data)
    assert 0 < len(caught.value.message) < 500


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("schema version 4", r"semantic schema version 4, this software reads \(1, 2, 3\)"),
        ("protocol version 2", "protocol version 2"),
        ("unknown memory type", "'dreams'"),
        ("duplicate key", "'boltzmann' stands twice"),
        ("duplicate key in the payload", "'label' stands twice"),
        ("key order in the payload", "not in canonical form"),
        ("missing member", "lacks serialization"),
        ("unknown member", "'note'"),
        ("null member", "subject"),
        ("content in version 1", "version 1 has no content"),
    ],
)
def test_the_error_names_what_is_wrong(name: str, says: str) -> None:
    with pytest.raises(FormatError, match=says):
        decode(HOSTILE_ENVELOPES[name])
