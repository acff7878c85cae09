"""Snapshot documents and the trust root in them: golden documents, round trips, hostile input by name."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest
from boltzmann.conformance import golden

from consilience.errors import FormatError, ValidationError
from consilience.protocol import (
    MemoryType,
    ModuleRef,
    Snapshot,
    canonical,
    format_digest,
    merkle,
    sha256,
    snapshot,
)

A, B, C = sorted(sha256(bytes([n])) for n in range(3))
a, b, c = map(format_digest, (A, B, C))
AT = "2026-11-30T06:50:30Z"
REF = ModuleRef(memory_type=MemoryType.SEMANTIC, root=A, composition=B, block_count=2)
FIRST = Snapshot(created_at=AT, modules=(REF,))
SIGNED = golden.load("signatures.json")


@pytest.mark.parametrize("name", SIGNED["snapshots"])
def test_golden_snapshots_with_trust_roots_are_carried_byte_for_byte(name: str) -> None:
    vector = SIGNED["snapshots"][name]
    data = vector["canonical"].encode()
    parsed = snapshot.parse(data)
    assert parsed.trust_root is not None
    assert snapshot.document(parsed) == data
    assert format_digest(snapshot.digest(parsed)) == vector["digest"]
    known = {json.dumps(r["document"], sort_keys=True): r["digest"] for r in SIGNED["trust_roots"].values()}
    inside = json.dumps(json.loads(data)["trust_root"], sort_keys=True)
    if inside in known:
        assert format_digest(parsed.trust_root.digest) == known[inside]


def test_the_document_is_the_one_of_the_specification() -> None:
    assert snapshot.document(FIRST) == (
        b'{"boltzmann":1,"created_at":"2026-11-30T06:50:30Z","modules":{"semantic":{"block_count":2,'
        b'"composition":"%s","layout":"rfc6962-sorted/1","memory_type":"semantic","root":"%s"}}}'
        % (b.encode(), a.encode())
    )


def test_no_parent_one_parent_two_parents() -> None:
    replace = msgspec.structs.replace
    for parents, member in (((), None), ((B,), b'"parent":"'), ((C, A), b'"parents":["')):
        data = snapshot.document(replace(FIRST, parents=parents))
        assert (b"parent" in data) is (member is not None)
        assert member is None or member in data
        assert snapshot.parse(data).parents == parents


def test_the_order_of_parents_is_identity_and_that_of_modules_is_not() -> None:
    other = ModuleRef(memory_type=MemoryType.CANONICAL, root=merkle.EMPTY_ROOT, composition=C, block_count=0)
    replace = msgspec.structs.replace
    one, two = replace(FIRST, parents=(A, B)), replace(FIRST, parents=(B, A))
    assert snapshot.digest(one) != snapshot.digest(two)
    one, two = replace(FIRST, modules=(REF, other)), replace(FIRST, modules=(other, REF))
    assert snapshot.digest(one) == snapshot.digest(two)
    assert [ref.memory_type for ref in snapshot.parse(snapshot.document(one)).modules] == [
        "canonical",
        "semantic",
    ]
    assert one.module(MemoryType.CANONICAL) == other
    assert one.module(MemoryType.EPISODIC) is None


def test_time_is_identity() -> None:
    later = msgspec.structs.replace(FIRST, created_at="2026-11-30T06:50:31Z")
    assert snapshot.digest(FIRST) != snapshot.digest(later)


def test_everything_optional_is_carried() -> None:
    ref = msgspec.structs.replace(REF, embedding_model="e5", index_digest=C, tombstones=(A, B))
    full = msgspec.structs.replace(FIRST, modules=(ref,), labels={"\uff5e": "", "\U0001f600": "x", "a": "b"})
    data = snapshot.document(full)
    assert snapshot.parse(data) == full
    assert data.index("\U0001f600".encode()) < data.index("\uff5e".encode())


def test_no_labels_and_empty_labels_differ() -> None:
    empty = msgspec.structs.replace(FIRST, labels={})
    assert snapshot.parse(snapshot.document(empty)) == empty
    assert snapshot.digest(empty) != snapshot.digest(FIRST)


# --- hostile snapshots ------------------------------------------------------------------------------------------

replace = msgspec.structs.replace
NOT_SNAPSHOTS: dict[str, Any] = {
    "module twice": replace(FIRST, modules=(REF, REF)),
    "parent twice": replace(FIRST, parents=(A, A)),
    "short parent": replace(FIRST, parents=(b"\0",)),
    "short root": replace(FIRST, modules=(replace(REF, root=b""),)),
    "negative count": replace(FIRST, modules=(replace(REF, block_count=-1),)),
    "boolean count": replace(FIRST, modules=(replace(REF, block_count=True),)),
    "index without model": replace(FIRST, modules=(replace(REF, index_digest=A),)),
    "tombstones out of order": replace(FIRST, modules=(replace(REF, tombstones=(B, A)),)),
    "tombstone twice": replace(FIRST, modules=(replace(REF, tombstones=(A, A)),)),
    "local time": replace(FIRST, created_at="2026-11-30T06:50:30"),
    "label that is no text": replace(FIRST, labels={"a": 1}),
    "label with a lone surrogate": replace(FIRST, labels={"a": "\ud800"}),
}


@pytest.mark.parametrize("value", NOT_SNAPSHOTS.values(), ids=NOT_SNAPSHOTS)
def test_what_is_no_snapshot_is_not_written(value: Snapshot) -> None:
    with pytest.raises((ValidationError, FormatError)):
        snapshot.document(value)


MODULE: dict[str, Any] = json.loads(snapshot.document(FIRST))["modules"]["semantic"]
DOCUMENT: dict[str, Any] = json.loads(snapshot.document(FIRST))
HOSTILE_MEMBERS: dict[str, dict[str, Any]] = {
    "protocol version 2": {"boltzmann": 2},
    "boolean protocol version": {"boltzmann": True},
    "null parent": {"parent": None},
    "no parents": {"parents": []},
    "one of parents": {"parents": [a]},
    "parent and parents": {"parent": a, "parents": [a, b]},
    "parent twice": {"parents": [a, a]},
    "null labels": {"labels": None},
    "number as label": {"labels": {"a": 1}},
    "null trust root": {"trust_root": None},
    "unknown member": {"note": ""},
    "modules as list": {"modules": []},
    "unknown module": {"modules": {"dreams": MODULE | {"memory_type": "dreams"}}},
    "module under another name": {"modules": {"episodic": MODULE}},
    "other layout": {"modules": {"semantic": MODULE | {"layout": "rfc6962/1"}}},
    "no layout": {"modules": {"semantic": {k: v for k, v in MODULE.items() if k != "layout"}}},
    "negative count": {"modules": {"semantic": MODULE | {"block_count": -1}}},
    "count as text": {"modules": {"semantic": MODULE | {"block_count": "2"}}},
    "root without prefix": {"modules": {"semantic": MODULE | {"root": a[7:]}}},
    "index without model": {"modules": {"semantic": MODULE | {"index_digest": a}}},
    "no tombstones": {"modules": {"semantic": MODULE | {"tombstones": []}}},
    "tombstones out of order": {"modules": {"semantic": MODULE | {"tombstones": [b, a]}}},
    "unknown member of a module": {"modules": {"semantic": MODULE | {"note": ""}}},
    "time with offset": {"created_at": "2026-11-30T06:50:30+00:00"},
}


@pytest.mark.parametrize("change", HOSTILE_MEMBERS.values(), ids=HOSTILE_MEMBERS)
def test_hostile_member_is_a_format_error(change: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match=r"^snapshot: "):
        snapshot.parse(canonical.encode(DOCUMENT | change))


GOOD = snapshot.document(FIRST)
HOSTILE_BYTES = {
    "empty": b"",
    "null": b"null",
    "array": b"[]",
    "space": GOOD.replace(b",", b", ", 1),
    "newline at the end": GOOD + b"\n",
    "duplicate key": GOOD.replace(b'"boltzmann":1,', b'"boltzmann":1,"boltzmann":1,'),
    "duplicate module": GOOD.replace(b'{"semantic":', b'{"semantic":{},"semantic":'),
    "key order": b'{"created_at":"2026-11-30T06:50:30Z","boltzmann":1,"modules":{}}',
    "float": GOOD.replace(b'"block_count":2', b'"block_count":2.0'),
    "2^53": GOOD.replace(b'"block_count":2', b'"block_count":9007199254740992'),
    "lone surrogate": GOOD.replace(b'"boltzmann"', b'"\\ud800":1,"boltzmann"'),
    "invalid UTF-8": GOOD.replace(b"semantic", b"\xff", 1),
    "nested 100,000 deep": b'{"a":' * 100_000,
}


@pytest.mark.parametrize("data", HOSTILE_BYTES.values(), ids=HOSTILE_BYTES)
def test_hostile_bytes_are_a_format_error(data: bytes) -> None:
    with pytest.raises(FormatError, match=r"^snapshot: "):
        snapshot.parse(data)


# --- trust roots ------------------------------------------------------------------------------------------------


def public_key(kind: bytes, *fields: bytes) -> str:
    blob = b"".join(len(field).to_bytes(4, "big") + field for field in (kind, *fields))
    return f"{kind.decode()} {base64.b64encode(blob).decode()}"


KEY: dict[str, Any] = {"key": public_key(b"ssh-ed25519", b"k" * 32), "scopes": ["govern"], "since": 1}
OTHER = {"key": public_key(b"ssh-ed25519", b"o" * 32), "scopes": ["commit"], "since": 1}
ROOT: dict[str, Any] = {
    "boltzmann": 1,
    "govern_quorum": 1,
    "keys": [KEY],
    "namespace": "boltzmann.snapshot.v1",
    "revision": 3,
}


def with_root(root: dict[str, Any]) -> bytes:
    return canonical.encode(DOCUMENT | {"trust_root": root})


@pytest.mark.parametrize(
    "keys",
    [
        [KEY],
        [KEY, OTHER],
        [KEY | {"subject": "ana@example.org", "retired_from": 2, "compromised_from": a}],
        [KEY | {"scopes": ["ingest", "commit", "drop:canonical", "redact", "govern", "propose"]}],
        [KEY, OTHER | {"key": public_key(b"ssh-rsa", b"\1\0\1", b"\0" + b"n" * 400)}],
    ],
)
def test_trust_roots_are_carried(keys: list[dict[str, Any]]) -> None:
    data = with_root(ROOT | {"keys": keys})
    parsed = snapshot.parse(data)
    assert parsed.trust_root is not None
    assert len(parsed.trust_root.keys) == len(keys)
    assert snapshot.document(parsed) == data
    assert parsed.trust_root.digest == sha256(canonical.encode(ROOT | {"keys": keys}))


HOSTILE_ROOTS: dict[str, dict[str, Any]] = {
    "no keys": {"keys": []},
    "nobody governs": {"keys": [OTHER]},
    "key twice": {"keys": [KEY, KEY]},
    "scope twice": {"keys": [KEY | {"scopes": ["govern", "govern"]}]},
    "no scopes": {"keys": [KEY, OTHER | {"scopes": []}]},
    "unknown scope": {"keys": [KEY, OTHER | {"scopes": ["rule"]}]},
    "key with a comment": {"keys": [KEY | {"key": KEY["key"] + " ana"}]},
    "key without a type": {"keys": [KEY | {"key": " " + KEY["key"].split()[1]}]},
    "key with an empty type": {"keys": [KEY | {"key": " AAAAAA=="}]},
    "key with a tab in its type": {"keys": [KEY | {"key": public_key(b"a\tb", b"k")}]},
    "key with a newline behind it": {"keys": [KEY | {"key": KEY["key"] + "\n"}]},
    "key of 17 KiB": {"keys": [KEY | {"key": public_key(b"x", b"k" * 17_000)}]},
    "Ed25519 key with another string behind it": {
        "keys": [KEY | {"key": public_key(b"ssh-ed25519", b"k" * 32, b"")}]
    },
    "key of another type than it says": {"keys": [KEY | {"key": "ssh-rsa " + KEY["key"].split()[1]}]},
    "key that is short": {"keys": [KEY | {"key": public_key(b"ssh-ed25519", b"k" * 31)}]},
    "key that is cut": {"keys": [KEY | {"key": KEY["key"][:-4]}]},
    "key with two spellings": {"keys": [KEY | {"key": "x AAAAAXh="}]},
    "key that is no base64": {"keys": [KEY | {"key": "ssh-ed25519 !!!!"}]},
    "admitted later": {"keys": [KEY | {"since": 4}]},
    "retired later": {"keys": [KEY | {"retired_from": 4}]},
    "retired on admission": {"keys": [KEY | {"since": 2, "retired_from": 2}]},
    "since revision 0": {"keys": [KEY | {"since": 0}]},
    "subject that is no actor": {"keys": [KEY | {"subject": "Ana"}]},
    "null subject": {"keys": [KEY | {"subject": None}]},
    "compromised from nothing": {"keys": [KEY | {"compromised_from": ""}]},
    "quorum of nobody": {"govern_quorum": 0},
    "revision 0": {"revision": 0},
    "other namespace": {"namespace": "file"},
    "protocol version 2": {"boltzmann": 2},
    "unknown member": {"note": ""},
}


@pytest.mark.parametrize("change", HOSTILE_ROOTS.values(), ids=HOSTILE_ROOTS)
def test_hostile_trust_root_is_a_format_error(change: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match=r"^snapshot: "):
        snapshot.parse(with_root(ROOT | change))
