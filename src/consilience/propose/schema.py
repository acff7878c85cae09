"""The JSON Schema (2020-12) that candidates must satisfy, made of the protocol's own payload types.

The schema and the gate cannot disagree on a payload: both come from the same structs. What a schema cannot say (that
evidence exists, that a quotation stands in it) only the gate does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from consilience.propose.task import CANDIDATES, PROPOSABLE, Task
from consilience.protocol import (
    Digest,
    Episodic,
    Kind,
    MemoryType,
    Procedural,
    ProducerKind,
    Semantic,
    format_digest,
)
from consilience.protocol.identity import DIGEST_PATTERN

__all__ = ["EVIDENCE_LISTED", "STATED", "candidates_schema"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
EVIDENCE_LISTED = 1_000
"""Ids of evidence that a schema lists; beyond it any id passes the schema, and the gate knows."""

STATED = (Kind.CONCEPT, Kind.FACT, Kind.FORMULA, Kind.RELATION, Kind.CONSTRAINT)
"""Kinds of semantic block that state something."""

_SHAPES: dict[MemoryType, type] = {
    MemoryType.SEMANTIC: Semantic,
    MemoryType.EPISODIC: Episodic,
    MemoryType.PROCEDURAL: Procedural,
}
_HELP = {
    "Semantic": "Something that holds: a fact, a definition, a formula.",
    "Episodic": "Something that happened, and when (UTC).",
    "Procedural": "How something is done, step by step.",
}


def candidates_schema(task: Task | None = None, evidence: Sequence[Digest] = ()) -> dict[str, Any]:
    """What a document of candidates must look like; with a task, its kinds and its id, and of `evidence` the ids."""
    allowed = PROPOSABLE if task is None else task.allowed
    listed = [format_digest(each) for each in evidence[: EVIDENCE_LISTED + 1]]
    cites: dict[str, Any] = {"$ref": "#/$defs/Digest"}
    if task is not None and 0 < len(listed) <= EVIDENCE_LISTED:
        cites = {"enum": listed}
    definitions = _definitions(allowed)
    definitions["Evidence"] = {
        "description": "The blocks that a candidate rests on.",
        "type": "array",
        "items": cites,
        "minItems": 1,
    }
    for kind in allowed:
        definitions[_SHAPES[kind].__name__]["properties"]["evidence"] = {"$ref": "#/$defs/Evidence"}
    variants = [_candidate(kind) for kind in allowed]
    return {
        "$schema": DIALECT,
        "$id": CANDIDATES,
        "title": "Candidates",
        "description": "What is proposed in answer to one task. A candidate has no identity until it is committed.",
        "type": "object",
        "properties": {
            "schema_version": {"const": CANDIDATES},
            "task_id": {"type": ["string", "null"]} if task is None else {"enum": [task.task_id, None]},
            "producer": _PRODUCER,
            "candidates": {
                "type": "array",
                "items": variants[0] if len(variants) == 1 else {"oneOf": variants},
            },
        },
        "required": ["schema_version", "candidates"],
        "additionalProperties": False,
        "$defs": definitions,
    }


_PRODUCER = {
    "description": "What made the candidates. Best named: provenance keeps it, and it can be undone by it.",
    "type": ["object", "null"],
    "properties": {
        "kind": {"enum": [kind.value for kind in ProducerKind]},
        "id": {"type": "string", "minLength": 1},
        "version": {"type": ["string", "null"]},
    },
    "required": ["kind", "id"],
    "additionalProperties": False,
}


def _candidate(kind: MemoryType) -> dict[str, Any]:
    return {
        "title": f"{kind.value} candidate",
        "type": "object",
        "properties": {
            "memory_type": {"const": kind.value},
            "payload": {"$ref": f"#/$defs/{_SHAPES[kind].__name__}"},
            "evidence": {"$ref": "#/$defs/Evidence"},
            "locator": {
                "description": "Where in the evidence: L3-L9, page 2, as the passage itself has it.",
                "type": ["string", "null"],
            },
            "quote": {
                "description": "Words of the evidence, copied; [...] stands for what is left out. Checked, not kept.",
                "type": ["string", "null"],
            },
            "confidence": {"description": "For whoever decides. Not kept.", "type": ["string", "null"]},
        },
        "required": ["memory_type", "payload", "evidence"],
        "additionalProperties": False,
    }


def _definitions(allowed: Sequence[MemoryType]) -> dict[str, Any]:
    shapes = [_SHAPES[kind] for kind in allowed]
    _, made = msgspec.json.schema_components(shapes, ref_template="#/$defs/{name}")
    definitions: dict[str, Any] = {name: _portable(schema) for name, schema in made.items()}
    for name, text in _HELP.items():
        if name in definitions:
            definitions[name]["description"] = text
    if "Kind" in definitions:
        definitions["Kind"] = {"enum": [kind.value for kind in STATED]}
    definitions["Digest"] = {"type": "string", "pattern": _ecma(DIGEST_PATTERN)}
    return definitions


def _portable(schema: Any) -> Any:
    """A schema whose patterns every reader of regular expressions understands."""
    if isinstance(schema, dict):
        return {
            key: _ecma(each) if key == "pattern" and isinstance(each, str) else _portable(each)
            for key, each in schema.items()
        }
    return [_portable(each) for each in schema] if isinstance(schema, list) else schema


def _ecma(pattern: str) -> str:
    return pattern.removesuffix(r"\Z") + "$" if pattern.endswith(r"\Z") else pattern
