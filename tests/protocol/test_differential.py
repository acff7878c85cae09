"""Payloads, envelopes and snapshots, valid and nearly so, judged by us and by pyboltzmann side by side.

Wherever we accept, the oracle accepts with the same bytes. Where the oracle accepts and we refuse, it is for
one of these reasons, each stricter on purpose:

- coercion: the oracle's models are lax when building ("42", 42.0, true for 42; 1 for true; null for absent),
  so that what it writes is not what it was given. A payload that does not say what the block says is refused.
- digits: its timestamps admit any Unicode digit, which RFC 3339 does not.
- snapshots: it reads another protocol version, another Merkle layout, an empty tombstone list, and a module
  filed under another module's name. A document must say what we would write, and name a tree that we can
  recompute.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from boltzmann.blocks.base import Block as TheirBlock
from boltzmann.blocks.memory_type import MemoryType as TheirType
from boltzmann.conformance import golden
from boltzmann.module.snapshot import Snapshot as TheirSnapshot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from consilience.errors import FormatError, ValidationError
from consilience.protocol import MemoryType, build_document, canonical, decode, format_digest, snapshot

checked = settings(max_examples=120, suppress_health_check=[HealthCheck.too_slow])

# --- payloads -----------------------------------------------------------------------------------------------

digests = st.binary(min_size=32, max_size=32).map(format_digest)
texts = st.text(max_size=6)
names = st.text(min_size=1, max_size=6)
moments = st.datetimes().map(lambda t: t.replace(microsecond=0).isoformat() + "Z")
actor_ids = st.sampled_from(["ana@example.org", "example/ana", "curator"])


def record(required: dict[str, Any], **optional: Any) -> Any:
    return st.fixed_dictionaries(required, optional=optional)


def some(item: Any, least: int = 0) -> Any:
    return st.lists(item, min_size=least, max_size=3)


content = record({"blob": digests, "media_type": names, "size": st.integers(0, 2**53 - 1)})
relations = some(record({"predicate": names | st.just("classified_as"), "target": digests}))
kinds = st.sampled_from(["concept", "fact", "formula", "relation", "constraint"])
evidence = some(digests)

canonicals = record(
    {"blob": digests, "media_type": names, "size": st.integers(0, 99)}, normalized_view=content
)
episodes = record(
    {"summary": names, "occurred_at": moments},
    ended_at=moments,
    context=texts,
    participants=some(texts),
    outcome=texts,
    evidence=evidence,
    tags=some(texts),
    content=content,
)
statements = record(
    {"kind": kinds, "label": names, "statement": names},
    subject=texts,
    evidence=evidence,
    relations=relations,
    aliases=some(texts),
    content=content,
)
catalog = (
    record({"kind": st.just("scheme"), "scheme": names, "exclusive": st.booleans()})
    | record(
        {"kind": st.just("class"), "scheme": names, "label": names | st.sampled_from([".", "..", "a/b"])}
    )
    | record(
        {
            "kind": st.just("relation"),
            "relations": digests.map(lambda d: [{"predicate": "classified_as", "target": d}]),
            "evidence": some(digests, 1),
        }
    )
    | record(
        {
            "kind": st.just("relation"),
            "relations": st.tuples(digests, digests).map(
                lambda d: [
                    {"predicate": "broader", "target": d[0]},
                    {"predicate": "narrower", "target": d[1]},
                ]
            ),
        },
        evidence=evidence,
    )
)
steps = record({"action": names}, condition=texts, alternatives=some(texts), uses=evidence)
procedures = record(
    {"label": names, "goal": names, "steps": some(steps, 1)},
    preconditions=some(texts),
    success_criteria=some(texts),
    subject=texts,
    evidence=evidence,
    content=content,
)

actor_kinds = st.sampled_from(["human", "agent", "service", "pipeline"])
actors = record({"id": actor_ids, "kind": actor_kinds}, name=texts)
producers = record(
    {"kind": st.sampled_from(["model", "pipeline", "batch", "actor"]), "id": names}, version=texts
)
parties = record({"id": actor_ids, "kind": actor_kinds}, name=texts, model=actor_ids)


def entry(kind: str, required: dict[str, Any], **optional: Any) -> Any:
    common = {"record_type": st.just(kind), "actor": actors, "at": moments}
    return record({"record": record(common | required, assisted_by=some(parties), **optional)})


one = {"block": digests}
entries = st.one_of(
    entry("registration", one, origin=texts, license=texts, retention_policy=texts),
    entry(
        "derivation", one | {"derived_from": some(digests, 1)}, producer=producers, task=texts, locator=texts
    ),
    entry("normalization", one | {"pipeline": names, "pipeline_version": names}),
    entry("supersession", one | {"supersedes": digests}, reason=texts),
    entry("demotion", one, reason=texts, policy=texts),
    entry(
        "validation",
        one
        | {
            "verdict": st.sampled_from(["validated", "pending_review", "rejected", "contradicted"]),
            "checks": some(texts, 1),
        },
        task=texts,
    ),
    entry(
        "removal",
        {
            "blocks": some(digests, 1),
            "mechanism": st.sampled_from(
                ["drop", "supersede", "demote", "prune", "tombstone", "crypto_shred"]
            ),
            "memory_type": st.sampled_from([m.value for m in MemoryType]),
            "reason": names,
        },
        policy=texts,
        cascaded_from=digests,
        resulting_roots=st.dictionaries(texts, digests, max_size=3),
    ),
)
SHAPES = {
    "canonical": canonicals,
    "episodic": episodes,
    "semantic": statements,
    "semantic (catalog)": catalog,
    "procedural": procedures,
    "provenance": entries,
}

# --- nearly valid -------------------------------------------------------------------------------------------

ODD: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    2**53,
    1.0,
    "",
    "1",
    "a/b",
    "\ud800",
    "fact",
    "scheme",
    "removal",
    [],
    {},
    [None],
    "2024-01-01T00:00:00Z",
    "2024-02-30T00:00:00Z",
    "2024-01-01T00:00:00Z\n",
    "\u0662024-01-01T00:00:00Z",
    "sha256:" + "A" * 64,
    "sha256:" + "0" * 64 + "\n",
]


def places(value: Any, inside: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every member and item."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path for key, item in items for path in ((*inside, key), *places(item, (*inside, key)))]


@st.composite
def nearly(draw: st.DrawFn, values: Any, odd: list[Any] = ODD) -> Any:
    """A value, unchanged or with up to two members replaced, taken out or added anywhere in it."""
    value = json.loads(json.dumps(draw(values)))
    for _ in range(draw(st.integers(0, 2))):
        paths = places(value)
        if not paths:
            break
        *inside, last = draw(st.sampled_from(paths))
        parent = value
        for key in inside:
            parent = parent[key]
        change = draw(st.sampled_from(["replace", "replace", "remove", "add"]))
        new = json.loads(json.dumps(draw(st.sampled_from(odd))))
        if change == "replace":
            parent[last] = new
        elif change == "remove":
            del parent[last]
        elif isinstance(parent, dict):
            parent[draw(st.sampled_from(["note", "content", "label", "assisted_by", "parent"]))] = new
    return value


def other_digits(value: Any) -> bool:
    return re.search(r"(?![0-9])\d", json.dumps(value, ensure_ascii=False)) is not None


def same_json(a: Any, b: Any) -> bool:
    """Equal as JSON, where 1, 1.0 and true differ."""
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


# --- blocks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_payloads_build_alike(shape: str) -> None:
    memory_type = MemoryType(shape.split()[0])

    @checked
    @given(nearly(SHAPES[shape]))
    def check(payload: Any) -> None:
        try:
            theirs = TheirBlock.build(TheirType(memory_type.value), payload)
            theirs.canonical_bytes()  # where the oracle meets a lone surrogate
        except Exception:
            theirs = None
        try:
            ours = build_document(memory_type, payload)
        except ValidationError:
            ours = None
        if ours is None:
            excused = theirs is None or not same_json(theirs.payload(), payload) or other_digits(payload)
            assert excused, f"refused by us alone: {payload}"
        else:
            assert theirs is not None, f"accepted by us alone: {payload}"
            assert (ours.schema_version, ours.data) == (theirs.SCHEMA_VERSION, theirs.canonical_bytes())
            assert format_digest(ours.id) == str(theirs.block_id)
            assert decode(ours.data) == ours

    check()


@pytest.mark.parametrize("shape", SHAPES)
def test_envelopes_decode_alike(shape: str) -> None:
    """Any payload under any version, canonical or with a few bytes changed."""

    @checked
    @given(nearly(SHAPES[shape]), st.integers(1, 4), st.data())
    def check(payload: Any, version: int, data: st.DataObject) -> None:
        envelope = {
            "boltzmann": 1,
            "memory_type": shape.split()[0],
            "payload": payload,
            "schema_version": version,
            "serialization": "jcs/1",
        }
        try:
            raw = canonical.encode(envelope)
        except FormatError:
            raw = json.dumps(envelope, sort_keys=True, separators=(",", ":")).encode()
        assert_read_alike(spoiled(raw, data), payload)

    check()


def spoiled(raw: bytes, data: st.DataObject) -> bytes:
    changed = bytearray(raw)
    for _ in range(data.draw(st.integers(0, 1))):
        at = data.draw(st.integers(0, len(changed)))
        changed[at : at + data.draw(st.integers(0, 2))] = data.draw(
            st.sampled_from(
                [b"", b" ", b"1", b"0", b'"', b"\\", b"\\u0041", b"}", b"\xff", b"\xc3\xa9", b"e"]
            )
        )
    return bytes(changed)


def assert_read_alike(raw: bytes, payload: Any) -> None:
    try:
        theirs = TheirBlock.decode(raw)
    except Exception:
        theirs = None
    try:
        ours = decode(raw)
    except FormatError:
        ours = None
    if ours is None:
        assert theirs is None or other_digits(payload), f"refused by us alone: {raw!r}"
    else:
        assert theirs is not None, f"accepted by us alone: {raw!r}"
        assert format_digest(ours.id) == str(theirs.block_id)
        assert ours.schema_version == theirs.SCHEMA_VERSION


# --- snapshots ----------------------------------------------------------------------------------------------

TRUST_ROOTS = list(golden.load("signatures.json")["trust_roots"].values())
TRUST_ROOTS = [json.loads(r["canonical"]) if "canonical" in r else r.get("document", r) for r in TRUST_ROOTS]


@st.composite
def module_refs(draw: st.DrawFn, name: str) -> dict[str, Any]:
    ref = draw(
        record(
            {
                "memory_type": st.just(name),
                "root": digests,
                "composition": digests,
                "block_count": st.integers(0, 99),
                "layout": st.just("rfc6962-sorted/1"),
            },
            embedding_model=texts,
            index_digest=digests,
            tombstones=st.lists(digests, min_size=1, max_size=3, unique=True).map(sorted),
        )
    )
    return dict(ref)


@st.composite
def snapshots(draw: st.DrawFn) -> dict[str, Any]:
    installed = draw(st.sets(st.sampled_from([m.value for m in MemoryType])))
    document = draw(
        record(
            {
                "boltzmann": st.just(1),
                "created_at": moments,
                "modules": st.fixed_dictionaries({name: module_refs(name) for name in sorted(installed)}),
            },
            labels=st.dictionaries(texts, texts, max_size=3),
            trust_root=st.sampled_from(TRUST_ROOTS),
        )
    )
    parents = draw(st.lists(digests, max_size=3, unique=True))
    if parents:
        document |= {"parent": parents[0]} if len(parents) == 1 else {"parents": parents}
    return dict(document)


ODD_IN_SNAPSHOTS = [
    *ODD,
    2,
    "rfc6962/1",
    "semantic",
    ["sha256:" + "1" * 64],
    ["sha256:" + "1" * 64] * 2,
    ["sha256:" + "2" * 64, "sha256:" + "1" * 64],
    ["govern", "govern"],
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAAQE=",
    "ssh-ed25519 AAAA comment",
]


def excused(raw: bytes) -> bool:
    """The listed reasons for which we refuse a snapshot that the oracle reads."""
    document = json.loads(raw)
    modules = document.get("modules", {})
    return (
        document.get("boltzmann") != 1
        or other_digits(document)
        or any(
            ref.get("layout") != "rfc6962-sorted/1"
            or ref.get("tombstones") == []
            or ref.get("memory_type") != name
            for name, ref in modules.items()
        )
    )


@checked
@given(snapshots())
def test_valid_snapshots_read_alike_and_write_alike(document: dict[str, Any]) -> None:
    for name, ref in document["modules"].items():
        if "index_digest" in ref:
            document["modules"][name].setdefault("embedding_model", "e")
    raw = canonical.encode(document)
    ours = snapshot.parse(raw)
    assert snapshot.document(ours) == raw
    assert format_digest(snapshot.digest(ours)) == str(TheirSnapshot.from_document(raw).digest)


@checked
@given(nearly(snapshots(), ODD_IN_SNAPSHOTS), st.data())
def test_snapshots_read_alike(document: Any, data: st.DataObject) -> None:
    try:
        raw = canonical.encode(document)
    except FormatError:
        raw = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
    raw = spoiled(raw, data)
    try:
        theirs = TheirSnapshot.from_document(raw)
    except Exception:
        theirs = None
    try:
        ours = snapshot.parse(raw)
    except FormatError:
        ours = None
    if ours is None:
        assert theirs is None or excused(raw), f"refused by us alone: {raw!r}"
    else:
        assert theirs is not None, f"accepted by us alone: {raw!r}"
        assert snapshot.document(ours) == raw
        assert format_digest(snapshot.digest(ours)) == str(theirs.digest)


# --- the excuses are real -----------------------------------------------------------------------------------

LAX = {
    "size as text": ("canonical", {"blob": "sha256:" + "0" * 64, "media_type": "a/b", "size": "42"}),
    "size as float": ("canonical", {"blob": "sha256:" + "0" * 64, "media_type": "a/b", "size": 42.0}),
    "size as boolean": ("canonical", {"blob": "sha256:" + "0" * 64, "media_type": "a/b", "size": True}),
    "exclusive as integer": ("semantic", {"kind": "scheme", "scheme": "s", "exclusive": 1}),
    "null for absent": ("semantic", {"kind": "fact", "label": "a", "statement": "b", "subject": None}),
    "other digits": (
        "episodic",
        {"summary": "s", "occurred_at": "\u0662024-01-01T00:00:00Z"},
    ),
}


@pytest.mark.parametrize(("name", "payload"), LAX.values(), ids=LAX)
def test_where_the_oracle_is_lax_we_are_not(name: str, payload: dict[str, Any]) -> None:
    TheirBlock.build(TheirType(name), payload)
    with pytest.raises(ValidationError):
        build_document(MemoryType(name), payload)
