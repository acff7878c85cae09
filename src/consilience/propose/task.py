"""Tasks (`boltzmann.task/v1`): which source blocks are to be read, and which kinds of block may be made of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from consilience.errors import (
    BlockNotFoundError,
    ConsilienceError,
    NotFoundError,
    PolicyError,
    ValidationError,
)
from consilience.inspection import resolve
from consilience.model import Value
from consilience.propose.documents import BadDocumentError, members, read_object
from consilience.propose.evidence import Evidence, Piece
from consilience.protocol import Digest, MemoryType, canonical, format_digest, parse_digest, sha256
from consilience.store import View
from consilience.store.redaction import READMISSION, RedactionReads

__all__ = [
    "CANDIDATES",
    "PROPOSABLE",
    "REQUIREMENTS",
    "TASK",
    "Task",
    "define",
    "document",
    "pieces",
    "read_task",
]

TASK = "boltzmann.task/v1"
CANDIDATES = "boltzmann.candidates/v1"
OPERATIONS = ("extract_knowledge", "rederive")
PROPOSABLE = (MemoryType.SEMANTIC, MemoryType.EPISODIC, MemoryType.PROCEDURAL)
"""Evidence is registered and the ledger is written by the product: neither is anybody's to propose."""

REQUIREMENTS = (
    "Each candidate names as evidence the blocks that it rests on: the source, or a passage of it.",
    "A quote is copied from the evidence word for word.",
    "Nothing goes in that the evidence does not say.",
)
OWN_ID = "task:"
ID_DIGITS = 32


class Task(Value, frozen=True, kw_only=True):
    """A unit of interpretation, for whoever reads. `task_id` follows from the other members."""

    source: tuple[Digest, ...]
    allowed: tuple[MemoryType, ...] = PROPOSABLE
    requirements: tuple[str, ...] = REQUIREMENTS
    operation: str = OPERATIONS[0]
    instructions: str | None = None
    given_id: str | None = None

    @property
    def task_id(self) -> str:
        if self.given_id is not None:
            return self.given_id
        return OWN_ID + sha256(canonical.encode(_body(self))).hex()[:ID_DIGITS]


def _body(task: Task) -> dict[str, Any]:
    ids = [format_digest(each) for each in task.source]
    body: dict[str, Any] = {
        "operation": task.operation,
        "source": ids[0] if len(ids) == 1 else ids,
        "allowed_memory_types": [each.value for each in task.allowed],
        "requirements": list(task.requirements),
        "output_schema": CANDIDATES,
    }
    return body if task.instructions is None else body | {"instructions": task.instructions}


def define(
    view: View,
    sources: Sequence[str],
    *,
    allowed: Sequence[MemoryType] = PROPOSABLE,
    instructions: str | None = None,
) -> Task:
    """A task over blocks of this brain, named by their ids or the first digits of them.

    Raises as `inspection.resolve`; UsageError and NotFoundError for what is no source; PolicyError for a redacted one.
    """
    ids = tuple(dict.fromkeys(resolve(view, each) for each in sources))
    evidence = Evidence(view)
    for each in ids:
        piece = evidence.piece(each)
        if piece.redacted:
            raise PolicyError(
                f"{format_digest(each)} is redacted: there is nothing left to read",
                hint="csl block ID shows what happened to it",
            )
        if piece.why is not None:
            raise BlockNotFoundError(f"{format_digest(each)} cannot be a source: {piece.why}")
    kinds = tuple(each for each in PROPOSABLE if each in set(allowed))
    task = Task(source=ids, allowed=kinds or PROPOSABLE, instructions=instructions or None)
    try:
        canonical.encode(_body(task))
    except ConsilienceError as error:
        raise ValidationError(f"the instructions cannot be written down: {error.message}") from error
    return task


def document(task: Task, passages: Sequence[Piece] | None = None) -> dict[str, Any]:
    """The task as JSON; with `passages`, what there is to read stands beside it, which is no part of the task's id."""
    made: dict[str, Any] = {"task_id": task.task_id, **_body(task)}
    if passages is not None:
        made["passages"] = [
            {
                "block_id": format_digest(piece.block_id),
                "memory_type": piece.memory_type.value if piece.memory_type is not None else None,
                **({"origin": piece.origin} if piece.origin else {}),
                **({"locator": piece.locator} if piece.locator else {}),
                "text": piece.text,
            }
            for piece in passages
        ]
    return made


def pieces(view: RedactionReads, task: Task) -> Iterator[Piece]:
    """What there is to read, in the order of the sources: the passages of a file, or else the block's own text."""
    evidence = Evidence(view)
    for each in task.source:
        yield from evidence.reading(each)


# --- reading one back ---------------------------------------------------------------------------------------

_OPTIONAL = {"schema_version", "task_id", "requirements", "instructions", "output_schema", "passages"}


def read_task(data: bytes, name: str = "the task") -> Task:
    """A task document. Raises ValidationError for what is none, and for one that was changed since it was made."""
    try:
        value = members(
            read_object(data),
            required={"operation", "source", "allowed_memory_types"},
            optional=_OPTIONAL,
        )
        task = _task(value)
    except BadDocumentError as bad:
        raise ValidationError(
            f"{name} is no task: {bad}", hint="`csl task define --source ID` writes one"
        ) from None
    return task


def _task(value: dict[str, Any]) -> Task:
    if value.get("schema_version", TASK) != TASK:
        raise BadDocumentError(f"its schema_version is {value['schema_version']!r}, not {TASK!r}")
    if value.get("output_schema", CANDIDATES) != CANDIDATES:
        raise BadDocumentError(f"its output_schema is {value['output_schema']!r}, not {CANDIDATES!r}")
    if value["operation"] not in OPERATIONS:
        raise BadDocumentError(f"operation is {value['operation']!r}, not one of {', '.join(OPERATIONS)}")
    listed = [value["source"]] if isinstance(value["source"], str) else _texts(value, "source")
    try:
        source = tuple(dict.fromkeys(parse_digest(each) for each in listed))
    except ConsilienceError as error:
        raise BadDocumentError(f"source: {error.message}") from None
    kinds = _texts(value, "allowed_memory_types")
    if wrong := [kind for kind in kinds if kind not in PROPOSABLE]:
        raise BadDocumentError(f"allowed_memory_types: {wrong[0]!r} is not one of {', '.join(PROPOSABLE)}")
    if not source or not kinds:
        raise BadDocumentError(f"{'source' if not source else 'allowed_memory_types'} is empty")
    instructions, given = value.get("instructions"), value.get("task_id")
    if not isinstance(instructions, str | None) or not isinstance(given, str | None) or given == "":
        raise BadDocumentError("instructions and task_id are text")
    task = Task(
        source=source,
        allowed=tuple(MemoryType(kind) for kind in kinds),
        requirements=tuple(_texts(value, "requirements")) if "requirements" in value else (),
        operation=value["operation"],
        instructions=instructions,
    )
    return _identified(task, given)


def _identified(task: Task, given: str | None) -> Task:
    try:
        own = task.task_id
        if given is not None:
            canonical.encode(given)
    except ConsilienceError as error:
        raise BadDocumentError(error.message) from None
    if given is None or given == own:
        return task
    if given.startswith(OWN_ID):
        raise BadDocumentError(
            f"it was changed after it was made: its task_id is {given}, what it says makes {own}"
        )
    if given.startswith(READMISSION):
        raise BadDocumentError(
            f"its task_id begins with {READMISSION!r}, which only `csl retain readmit` writes"
        )
    return msgspec.structs.replace(task, given_id=given)


def _texts(value: dict[str, Any], name: str) -> list[str]:
    found = value[name]
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise BadDocumentError(f"{name} is not a list of texts")
    return found


def check_here(view: RedactionReads, task: Task, brain: str) -> None:
    """NotFoundError where none of the task's sources was ever in this brain: it is another brain's task."""
    if not view.ordinals(task.source):
        raise NotFoundError(
            f"{brain} has none of the blocks that this task is about",
            hint="it is a task of another brain: --brain NAME",
        )
