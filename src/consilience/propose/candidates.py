"""Candidates (`boltzmann.candidates/v1`): what somebody proposes in answer to a task. Nothing here has an identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from consilience.errors import ConsilienceError, ValidationError
from consilience.propose.documents import BadDocumentError, members, read_object, repeated_key
from consilience.propose.task import CANDIDATES, Task
from consilience.protocol import Digest, MemoryType, Producer, ProducerKind, canonical, parse_digest

__all__ = ["Candidate", "Candidates", "read_candidates"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One proposal. `fault` says why it is none, and then only `number` and what could be read is set.

    `quote`: words of the evidence; read, checked, and not kept. `confidence` likewise is for whoever decides.
    """

    number: int
    fault: str | None = None
    field: str | None = None
    memory_type: MemoryType | None = None
    payload: dict[str, Any] | None = None
    evidence: tuple[Digest, ...] = ()
    locator: str | None = None
    quote: str | None = None
    confidence: str | None = None


@dataclass(frozen=True, slots=True)
class Candidates:
    """A document of proposals, in its order."""

    listed: tuple[Candidate, ...]
    producer: Producer | None = None


def read_candidates(data: bytes, task: Task, name: str = "the candidates") -> Candidates:
    """A document that answers `task`. What is wrong with one candidate is its `fault`.

    Raises ValidationError for what is no such document, or answers another task.
    """
    try:
        value = members(
            read_object(data),
            required={"schema_version", "candidates"},
            optional={"task_id", "producer"},
        )
        if value["schema_version"] != CANDIDATES:
            raise BadDocumentError(f"its schema_version is {value['schema_version']!r}, not {CANDIDATES!r}")
        answered = value.get("task_id")
        if answered is not None and answered != task.task_id:
            raise BadDocumentError(f"it answers the task {str(answered)[:80]!r}, not {task.task_id!r}")
        if not isinstance(value["candidates"], list):
            raise BadDocumentError("candidates is not a list")
        producer = _producer(value["producer"]) if "producer" in value else None
    except BadDocumentError as bad:
        raise ValidationError(
            f"{name} cannot be read: {bad}", hint="`csl task schema TASK` says what it must look like"
        ) from None
    listed = tuple(_candidate(at, each) for at, each in enumerate(value["candidates"], 1))
    return Candidates(listed=listed, producer=producer)


def _producer(value: Any) -> Producer:
    found = members(value, required={"kind", "id"}, optional={"version"}, what="producer")
    kinds = [kind.value for kind in ProducerKind]
    if found["kind"] not in kinds:
        raise BadDocumentError(f"producer.kind is {found['kind']!r}, not one of {', '.join(kinds)}")
    for key in ("id", "version"):
        text(found, key, "producer.")
    if not found["id"]:
        raise BadDocumentError("producer.id is empty")
    producer = Producer(kind=ProducerKind(found["kind"]), id=found["id"])
    return producer if "version" not in found else Producer(**_plain(found))


def _plain(found: dict[str, Any]) -> dict[str, Any]:
    return {"kind": ProducerKind(found["kind"]), "id": found["id"], "version": found["version"]}


def _candidate(number: int, value: Any) -> Candidate:
    kind: MemoryType | None = None
    payload: dict[str, Any] | None = None
    try:
        found = members(
            value,
            required={"memory_type", "payload", "evidence"},
            optional={"locator", "quote", "confidence"},
            what="the candidate",
        )
        if found["memory_type"] not in list(MemoryType):
            raise BadDocumentError(
                f"memory_type is {str(found['memory_type'])[:60]!r}, not one of {', '.join(MemoryType)}"
            )
        kind = MemoryType(found["memory_type"])
        if not isinstance(found["payload"], dict):
            raise BadDocumentError("payload is not an object")
        payload = found["payload"]
        if (key := repeated_key(found)) is not None:
            raise BadDocumentError(f"{key!r} stands twice in one object")
        for name in ("locator", "quote", "confidence"):
            text(found, name)
        return Candidate(
            number,
            memory_type=kind,
            payload=payload,
            evidence=_digests(found["evidence"]),
            locator=found.get("locator") or None,
            quote=found.get("quote") or None,
            confidence=found.get("confidence") or None,
        )
    except BadDocumentError as bad:
        return Candidate(number, fault=str(bad), memory_type=kind, payload=payload)


def _digests(value: Any) -> tuple[Digest, ...]:
    if not isinstance(value, list) or not value:
        raise BadDocumentError("evidence is not a list of one block id or more")
    try:
        return tuple(dict.fromkeys(parse_digest(each) for each in value))
    except (ConsilienceError, TypeError) as error:
        raise BadDocumentError(
            f"evidence: {error.message if isinstance(error, ConsilienceError) else error}"
        ) from None


def text(found: dict[str, Any], name: str, where: str = "") -> None:
    """BadDocumentError where a member is there and is no text that has a UTF-8 form."""
    if name not in found:
        return
    if not isinstance(found[name], str):
        raise BadDocumentError(f"{where}{name} is not text")
    try:
        canonical.encode(found[name])
    except ConsilienceError as error:
        raise BadDocumentError(f"{where}{name}: {error.message}") from None
