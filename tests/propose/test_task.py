"""Task documents: what they say, what their id follows from, and which ones are refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from proposals import FILTER, PANEL, PUMP, Proposals
from stores import ACTOR, NOW

from consilience.errors import BlockNotFoundError, NotFoundError, PolicyError, UsageError, ValidationError
from consilience.propose.task import PROPOSABLE, Task, define, document, pieces, read_task
from consilience.protocol import MemoryType, format_digest, parse_digest, sha256
from consilience.retain.execute import Retention
from consilience.retain.policy import Policy
from consilience.store import Store

ALL = Policy(canonical_drop=True, redact=True, canonical_redact=True)


def encoded(task: Task, **change: Any) -> bytes:
    made = document(task) | change
    return json.dumps({key: value for key, value in made.items() if value is not ...}).encode()


def test_the_other_implementation_reads_a_task_of_one_source(brain: Proposals) -> None:
    from boltzmann.ingest.task import ProcessingTask

    task = brain.task(instructions="Only what is about pumps.")
    theirs = ProcessingTask.model_validate(document(task))
    assert str(theirs.source) == brain.file()
    assert theirs.task_id == task.task_id and theirs.instructions == "Only what is about pumps."
    again = read_task(theirs.model_dump_json().encode())
    assert again == task


digests = st.binary(min_size=1, max_size=3).map(sha256)
tasks = st.builds(
    Task,
    source=st.lists(digests, min_size=1, max_size=3, unique=True).map(tuple),
    allowed=st.sampled_from([PROPOSABLE, PROPOSABLE[:1], PROPOSABLE[1:]]),
    requirements=st.lists(st.text(max_size=5), max_size=2).map(tuple),
    operation=st.sampled_from(["extract_knowledge", "rederive"]),
    instructions=st.none() | st.text(min_size=1, max_size=9),
)


@given(tasks)
def test_a_task_is_read_as_it_was_written(task: Task) -> None:
    assert read_task(encoded(task)) == task


@given(tasks, tasks)
def test_the_id_follows_from_all_that_a_task_says(one: Task, two: Task) -> None:
    assert (one.task_id == two.task_id) == (one == two)


def test_the_text_is_no_part_of_the_id(brain: Proposals) -> None:
    task = brain.task()
    with brain.view() as view:
        read = list(pieces(view, task))
    assert [piece.text for piece in read] == [PUMP, FILTER, PANEL]
    assert [format_digest(piece.block_id) for piece in read] == brain.passages()
    assert read[0].origin == "notes/pumps.md" and (read[1].locator or "").startswith("L7 # Pumps > Filters")
    made = document(task, read)
    assert made["passages"][0]["text"] == PUMP
    assert read_task(json.dumps(made).encode()) == task


def test_a_passage_is_its_own_text(brain: Proposals) -> None:
    task = brain.task(brain.passages()[1])
    with brain.view() as view:
        [piece] = pieces(view, task)
    assert piece.text == FILTER


def test_prefixes_and_repetitions(brain: Proposals) -> None:
    task = brain.task(brain.file()[7:19], brain.file(), brain.passages()[0])
    assert [format_digest(each) for each in task.source] == [brain.file(), brain.passages()[0]]


def test_kinds_keep_one_order(brain: Proposals) -> None:
    one = brain.task(allowed=[MemoryType.PROCEDURAL, MemoryType.SEMANTIC])
    two = brain.task(allowed=[MemoryType.SEMANTIC, MemoryType.PROCEDURAL, MemoryType.SEMANTIC])
    assert one == two and one.task_id == two.task_id


@pytest.mark.parametrize("source", ["zz", "", "sha256:12", "../x"])
def test_what_is_no_id(brain: Proposals, source: str) -> None:
    with pytest.raises(UsageError):
        brain.task(source)


def test_a_source_that_is_not_here_or_a_record(brain: Proposals) -> None:
    with pytest.raises(BlockNotFoundError):
        brain.task("sha256:" + "0" * 64)
    with brain.view() as view:
        record = next(iter(view.scan([MemoryType.PROVENANCE])))
    with pytest.raises(BlockNotFoundError, match="provenance record"):
        brain.task(format_digest(record.id))


def test_dropped_and_redacted_sources(brain: Proposals) -> None:
    first, second, _ = brain.passages()
    retention = Retention(brain.store, "north", actor=ACTOR, clock=lambda: NOW)
    retention.redact([parse_digest(first)], reason="asked", policy=ALL)
    with pytest.raises(PolicyError, match="redacted"):
        brain.task(first)
    retention.drop([parse_digest(second)], reason="wrong", policy=ALL)
    with pytest.raises(BlockNotFoundError, match="not a member"):
        brain.task(second)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"instructions": "Invent something."}, "changed after it was made"),
        ({"allowed_memory_types": ["semantic"]}, "changed after it was made"),
        ({"allowed_memory_types": ["provenance"]}, "provenance"),
        ({"allowed_memory_types": []}, "is empty"),
        ({"allowed_memory_types": "semantic"}, "not a list"),
        ({"allowed_memory_types": [["semantic"]]}, "not a list"),
        ({"source": []}, "is empty"),
        ({"source": "sha256:12"}, "not a digest"),
        ({"source": 7}, "not a list"),
        ({"source": ...}, "'source' is missing"),
        ({"operation": "delete_everything"}, "operation"),
        ({"output_schema": "boltzmann.candidates/v9"}, "output_schema"),
        ({"surprise": 1}, "'surprise'"),
        ({"task_id": 7}, "text"),
        ({"task_id": "readmission: let me in"}, "readmit"),
        ({"task_id": "\ud800"}, "surrogate"),
        ({"instructions": "\ud800"}, "surrogate"),
        ({"instructions": 1.5}, "text"),
    ],
)
def test_tasks_that_are_none(brain: Proposals, change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        read_task(encoded(brain.task(), **change))


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"source": 1, "source": 2}', b"[" * 100_000, b"7"]
)
def test_documents_that_are_none(data: bytes) -> None:
    with pytest.raises(ValidationError, match="is no task"):
        read_task(data)


def test_a_foreign_id_is_kept(brain: Proposals) -> None:
    task = read_task(encoded(brain.task(), task_id="batch-7"))
    assert task.task_id == "batch-7"
    assert brain.judge(brain.fact(), task=task).task_id == "batch-7"


def test_a_task_of_another_brain(brain: Proposals) -> None:
    other = Store.create(brain.folder / "other")
    task = brain.task()
    with other.view() as view, pytest.raises(NotFoundError):
        define(view, [brain.file()])
    brain.store, kept = other, brain.store
    with pytest.raises(NotFoundError, match="none of the blocks"):
        brain.judge(task=task)
    with pytest.raises(NotFoundError, match="none of the blocks"):
        brain.commit(task=task)
    other.close()
    brain.store = kept
