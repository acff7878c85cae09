"""Documents of the wire format as plain JSON, drawn valid, and then changed a little so that most are not."""

from __future__ import annotations

import json
from typing import Any

from boltzmann.conformance import golden
from hypothesis import strategies as st

from consilience.protocol import MemoryType, format_digest, sha256

DIGESTS = sorted(format_digest(sha256(bytes([n]))) for n in range(24))
digests = st.sampled_from(DIGESTS)
"""Few, so that one meets itself and its neighbours in order."""
texts = st.text(max_size=6)
names = st.text(min_size=1, max_size=6)
keys = texts | st.text(st.sampled_from("aZ~\ud7ff\ue000\uff5e\U00010000\U0001f600"), max_size=3)
"""Free-form keys, often such as sort otherwise by UTF-16 code unit than by code point."""
moments = st.datetimes().map(lambda t: t.replace(microsecond=0).isoformat() + "Z")
actor_ids = st.sampled_from(["ana@example.org", "example/ana", "curator"])
module_names = st.sampled_from([m.value for m in MemoryType])


def record(required: dict[str, Any], **optional: Any) -> Any:
    return st.fixed_dictionaries(required, optional=optional)


def some(item: Any, least: int = 0) -> Any:
    return st.lists(item, min_size=least, max_size=3)


# --- payloads -----------------------------------------------------------------------------------------------

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
placed = digests.map(lambda d: [{"predicate": "classified_as", "target": d}])
ordered = st.tuples(digests, digests).map(
    lambda d: [{"predicate": "broader", "target": d[0]}, {"predicate": "narrower", "target": d[1]}]
)
schemes = record({"kind": st.just("scheme"), "scheme": names, "exclusive": st.booleans()})
labels = st.text("./a", min_size=1, max_size=2) | names
classes = record({"kind": st.just("class"), "scheme": names, "label": labels})
placements = record({"kind": st.just("relation"), "relations": placed, "evidence": some(digests, 1)})
hierarchies = record({"kind": st.just("relation"), "relations": ordered}, evidence=evidence)
steps = record({"action": names}, condition=texts, alternatives=some(texts), uses=evidence)
procedures = record(
    {"label": names, "goal": names, "steps": some(steps, 1)},
    preconditions=some(texts),
    success_criteria=some(texts),
    subject=texts,
    evidence=evidence,
    content=content,
)

# --- provenance ---------------------------------------------------------------------------------------------

actor_kinds = st.sampled_from(["human", "agent", "service", "pipeline"])
actors = record({"id": actor_ids, "kind": actor_kinds}, name=texts)
producers = record(
    {"kind": st.sampled_from(["model", "pipeline", "batch", "actor"]), "id": names}, version=texts
)
parties = record({"id": actor_ids, "kind": actor_kinds}, name=texts, model=actor_ids)
verdicts = st.sampled_from(["validated", "pending_review", "rejected", "contradicted"])
mechanisms = st.sampled_from(
    ["drop", "supersede", "demote", "prune", "tombstone", "crypto_shred", "lineage_rewrite"]
)


def entry(kind: str, required: dict[str, Any], **optional: Any) -> Any:
    common = {"record_type": st.just(kind), "actor": actors, "at": moments}
    plain = record(common | required, **optional)
    return record({"record": plain | record(common | required, assisted_by=some(parties), **optional)})


one = {"block": digests}
several = {"derived_from": some(digests, 1)}
removed = {"blocks": some(digests, 1), "mechanism": mechanisms, "memory_type": module_names, "reason": names}
roots = st.dictionaries(keys, digests, max_size=3)
RECORDS: dict[str, Any] = {
    "registration": entry("registration", one, origin=texts, license=texts, retention_policy=texts),
    "derivation": entry("derivation", one | several, producer=producers, task=texts, locator=texts),
    "normalization": entry("normalization", one | {"pipeline": names, "pipeline_version": names}),
    "supersession": entry("supersession", one | {"supersedes": digests}, reason=texts),
    "demotion": entry("demotion", one, reason=texts, policy=texts),
    "validation": entry("validation", one | {"verdict": verdicts, "checks": some(texts, 1)}, task=texts),
    "removal": entry("removal", removed, policy=texts, cascaded_from=digests, resulting_roots=roots),
}
SHAPES: dict[str, Any] = {
    "canonical": canonicals,
    "episodic": episodes,
    "semantic": statements,
    "semantic scheme": schemes,
    "semantic class": classes,
    "semantic placement": placements,
    "semantic hierarchy": hierarchies,
    "procedural": procedures,
    **{f"provenance {name}": drawn for name, drawn in RECORDS.items()},
}
"""Payloads by memory type, which is the first word of each name."""


def envelope(memory_type: str, version: int, payload: Any) -> dict[str, Any]:
    return {
        "boltzmann": 1,
        "memory_type": memory_type,
        "payload": payload,
        "schema_version": version,
        "serialization": "jcs/1",
    }


# --- snapshots ----------------------------------------------------------------------------------------------

TRUST_ROOTS: list[Any] = [
    entry["document"] for entry in golden.load("signatures.json")["trust_roots"].values()
]


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
    """Valid but for an index without the name of its model, which is drawn now and then."""
    installed = draw(st.sets(module_names, max_size=2))
    document = draw(
        record(
            {
                "boltzmann": st.just(1),
                "created_at": moments,
                "modules": st.fixed_dictionaries({name: module_refs(name) for name in sorted(installed)}),
            },
            labels=st.dictionaries(keys, texts, max_size=3),
            trust_root=st.sampled_from(TRUST_ROOTS),
        )
    )
    parents = draw(st.lists(digests, max_size=3, unique=True))
    if parents:
        document |= {"parent": parents[0]} if len(parents) == 1 else {"parents": parents}
    return dict(document)


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
ODD_IN_SNAPSHOTS: list[Any] = [
    *ODD,
    2,
    "rfc6962/1",
    "semantic",
    ["sha256:" + "1" * 64],
    ["sha256:" + "1" * 64] * 2,
    ["sha256:" + "2" * 64, "sha256:" + "1" * 64],
    ["govern", "govern"],
    ["commit"],
    "Ana",
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAAQE=",
    "ssh-ed25519 AAAA comment",
]
NEW_MEMBERS = ["note", "content", "label", "assisted_by", "parent", "subject", "retired_from"]


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
            parent[draw(st.sampled_from(NEW_MEMBERS))] = new
    return value


PIECES = [b"", b" ", b"1", b"0", b'"', b"\\", b"\\u0041", b"}", b",", b"\xff", b"\xc3\xa9", b"e", b"f", b"F"]


@st.composite
def spoiled(draw: st.DrawFn, documents: Any) -> bytes:
    """Bytes as drawn, or with a few of them replaced, inserted or taken out at one place."""
    changed = bytearray(draw(documents))
    if draw(st.booleans()):
        at = draw(st.integers(0, len(changed)))
        changed[at : at + draw(st.integers(0, 2))] = draw(st.sampled_from(PIECES))
    return bytes(changed)
