"""registry/schemas.json, read as a list of facts: which members each schema version has, and which it needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from boltzmann.conformance import golden
from wire_documents import envelope

from consilience.errors import FormatError
from consilience.protocol import canonical, decode

PATTERNS = {
    "^sha256:[0-9a-f]{64}$": "sha256:" + "0" * 64,
    r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$": "2024-01-01T00:00:00Z",
}
NAMES = {"id": "ana@example.org", "model": "example/model"}
"""Members whose value version 2 constrains beyond the schema."""


def shapes() -> Iterator[tuple[str, int, str, Any, Any]]:
    """Memory type, version, record type, the schema that has members, its definitions. Without the catalog (v3)."""
    for memory_type, entries in golden.registry()["schemas"].items():
        for entry in entries:
            schema, version = entry["schema"], entry["schema_version"]
            known = schema.get("$defs", {})
            if memory_type == "provenance":
                for name, ref in schema["properties"]["record"]["discriminator"]["mapping"].items():
                    yield memory_type, version, name, resolved(ref, known), known
            elif (memory_type, version) != ("semantic", 3):
                yield memory_type, version, "", schema, known


def resolved(ref: str, known: Any) -> Any:
    return known[ref.removeprefix("#/$defs/")]


def sample(node: Any, known: Any, name: str = "") -> Any:
    """A value that a schema takes, with its required members alone."""
    if "$ref" in node:
        return sample(resolved(node["$ref"], known), known, name)
    if "anyOf" in node:
        return sample(next(n for n in node["anyOf"] if n.get("type") != "null"), known, name)
    if "const" in node or "enum" in node:
        return node.get("const", node.get("enum", [None])[0])
    if node["type"] == "object" and "properties" in node:
        return {n: sample(node["properties"][n], known, n) for n in node.get("required", ())}
    if node["type"] == "object":
        return {"semantic": sample(node["additionalProperties"], known)}
    if node["type"] == "array":
        return [sample(node["items"], known, name)] * node.get("minItems", 0)
    if node["type"] == "string":
        return NAMES.get(name) or (PATTERNS[node["pattern"]] if "pattern" in node else "x")
    return node.get("minimum", 0) if node["type"] == "integer" else False


SHAPES = list(shapes())
SHAPE_IDS = [f"{s[0]} {s[1]} {s[2]}".strip() for s in SHAPES]


def whole(shape: tuple[str, int, str, Any, Any], members: dict[str, Any]) -> bytes:
    memory_type, version, record_type, _, _ = shape
    payload = {"record": members | {"record_type": record_type}} if record_type else members
    return canonical.encode(envelope(memory_type, version, payload))


def least(shape: tuple[str, int, str, Any, Any]) -> dict[str, Any]:
    """The required members."""
    return dict(sample(shape[3], shape[4]))


@pytest.mark.parametrize("shape", SHAPES, ids=SHAPE_IDS)
def test_each_member_of_the_registry_is_read(shape: tuple[str, int, str, Any, Any]) -> None:
    decode(whole(shape, least(shape)))
    for name, node in shape[3]["properties"].items():
        if name != "record_type":
            decode(whole(shape, least(shape) | {name: sample(node, shape[4], name)}))


@pytest.mark.parametrize("shape", SHAPES, ids=SHAPE_IDS)
def test_each_required_member_is_required(shape: tuple[str, int, str, Any, Any]) -> None:
    for name in shape[3]["required"]:
        with pytest.raises(FormatError):
            decode(whole(shape, {n: v for n, v in least(shape).items() if n != name}))


@pytest.mark.parametrize("shape", SHAPES, ids=SHAPE_IDS)
def test_a_member_of_another_schema_is_refused(shape: tuple[str, int, str, Any, Any]) -> None:
    for other in SHAPES:
        for name, node in other[3]["properties"].items():
            if name not in shape[3]["properties"]:
                with pytest.raises(FormatError):
                    decode(whole(shape, least(shape) | {name: sample(node, other[4], name)}))


@pytest.mark.parametrize("shape", SHAPES, ids=SHAPE_IDS)
def test_each_value_of_an_enumeration_is_read_and_no_other(shape: tuple[str, int, str, Any, Any]) -> None:
    for name, node in shape[3]["properties"].items():
        choices = (resolved(node["$ref"], shape[4]) if "$ref" in node else node).get("enum", ())
        for choice in choices:
            decode(whole(shape, least(shape) | {name: choice}))
        if choices:
            for wrong in ("", choices[0].upper(), "other"):
                with pytest.raises(FormatError):
                    decode(whole(shape, least(shape) | {name: wrong}))


CATALOG = golden.registry()["schemas"]["semantic"][2]


@pytest.mark.parametrize("number", range(len(CATALOG["schema"]["oneOf"])))
def test_each_catalog_shape_is_read(number: int) -> None:
    form, known = CATALOG["schema"]["oneOf"][number], CATALOG["schema"]["$defs"]
    members = CATALOG["schema"]["properties"]
    payload = {"kind": form["properties"]["kind"]["const"]}
    payload |= {name: sample(members[name], known, name) for name in form["required"]}
    if "relations" in payload:
        target = PATTERNS["^sha256:[0-9a-f]{64}$"]
        edges = form["properties"]["relations"]["prefixItems"]
        payload["relations"] = [
            {"predicate": e["properties"]["predicate"]["const"], "target": target} for e in edges
        ]
        if len(edges) == 1:
            payload["evidence"] = [target]
    assert decode(canonical.encode(envelope("semantic", CATALOG["schema_version"], payload)))
    for name in payload:
        rest = {n: v for n, v in payload.items() if n != name}
        with pytest.raises(FormatError):
            decode(canonical.encode(envelope("semantic", 3, rest)))


def test_the_catalog_has_no_other_member() -> None:
    assert set(CATALOG["schema"]["properties"]) == {
        "kind",
        "scheme",
        "label",
        "exclusive",
        "evidence",
        "relations",
    }
