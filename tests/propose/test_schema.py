"""The JSON Schema of candidates, held by another validator against what the gate says."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from proposals import PROPOSALS, Proposals

from consilience.propose.evidence import Evidence
from consilience.propose.schema import EVIDENCE_LISTED, candidates_schema
from consilience.protocol import MemoryType, sha256


def schema_of(brain: Proposals, **more: Any) -> dict[str, Any]:
    task = brain.task(**more)
    with brain.view() as view:
        return candidates_schema(task, Evidence(view).scope(task.source))


def fits(schema: dict[str, Any], *candidates: Any, **more: Any) -> bool:
    document = {"schema_version": PROPOSALS, "candidates": list(candidates), **more}
    return jsonschema.Draft202012Validator(schema).is_valid(document)


def test_it_is_a_schema(brain: Proposals) -> None:
    for schema in (candidates_schema(), schema_of(brain), schema_of(brain, allowed=[MemoryType.EPISODIC])):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert "\\Z" not in str(schema)


def test_it_takes_what_the_gate_takes(brain: Proposals) -> None:
    schema = schema_of(brain)
    for each in (brain.fact(), brain.event(), brain.procedure(), brain.fact(quote="filter", locator="L3")):
        assert fits(schema, each), each
        assert fits(candidates_schema(), each), each
    assert fits(schema) and fits(schema, producer={"kind": "model", "id": "m", "version": "1"})
    assert fits(schema, task_id=brain.task().task_id) and not fits(schema, task_id="task:other")


def test_it_is_narrowed_to_the_task(brain: Proposals) -> None:
    schema = schema_of(brain, allowed=[MemoryType.SEMANTIC])
    assert fits(schema, brain.fact(evidence=brain.passages()))
    assert not fits(schema, brain.event()) and not fits(schema, brain.procedure())
    assert not fits(schema, brain.fact(evidence=["sha256:" + "0" * 64]))
    assert fits(candidates_schema(), brain.fact(evidence=["sha256:" + "0" * 64]))
    assert "Episodic" not in schema["$defs"] and "scheme" not in str(schema["$defs"]["Kind"])


def test_many_ids_are_not_listed(brain: Proposals) -> None:
    task = brain.task()
    many = [sha256(str(i).encode()) for i in range(EVIDENCE_LISTED + 1)]
    assert fits(candidates_schema(task, many), brain.fact())
    assert len(str(candidates_schema(task, many))) < 10_000
    assert not fits(candidates_schema(task, many[:-1]), brain.fact())


def test_every_member_says_what_it_is_for(brain: Proposals) -> None:
    [candidate] = [schema_of(brain, allowed=[MemoryType.SEMANTIC])["properties"]["candidates"]["items"]]
    assert all("description" in candidate["properties"][name] for name in ("locator", "quote", "confidence"))


junk = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 2), st.floats(allow_nan=False), st.text(max_size=3),
    st.just([]), st.just({}), st.just(["x"]), st.just("sha256:" + "0" * 64), st.just("2026-02-30T00:00:00Z"),
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for key, each in children:
        found += places(each, (*path, key))
    return found


def changed(value: Any, path: tuple[Any, ...], new: Any, how: str) -> Any:
    made = copy.deepcopy(value)
    at = made
    for key in path[:-1]:
        at = at[key]
    if how == "remove":
        del at[path[-1]]
    elif how == "add" and isinstance(at, dict):
        at[f"{path[-1]}x"] = new
    else:
        at[path[-1]] = new
    return made


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100, deadline=None)
@given(data=st.data())
def test_what_the_gate_lets_pass_fits_the_schema(brain: Proposals, data: st.DataObject) -> None:
    """And what it rejects by its shape does not fit, but for what a schema cannot say: text without anything to see,
    and days that there are not."""
    schema = schema_of(brain)
    kind = data.draw(st.sampled_from([brain.fact, brain.event, brain.procedure]))
    candidate: Any = kind(payload={"evidence": [brain.file()]}, quote="filter", locator="L3")
    for _ in range(data.draw(st.integers(1, 2))):
        path = data.draw(st.sampled_from(places(candidate) or [()]))
        if path:
            candidate = changed(
                candidate, path, data.draw(junk), data.draw(st.sampled_from(["set", "remove", "add"]))
            )
    [judged] = brain.judge(candidate).candidates
    codes = {issue.code for issue in judged.issues}
    if fits(schema, candidate):
        shapes = [i.detail for i in judged.issues if i.code == "schema"]
        assert all("says nothing" in d or "does not exist" in d or "float" in d for d in shapes), (
            candidate,
            shapes,
        )
    else:
        assert codes & {"schema", "memory-type-not-allowed", "evidence-not-found", "evidence-mismatch"} or (
            "catalog-declaration-not-allowed" in codes
        ), candidate


@pytest.mark.parametrize(
    "producer", [{"kind": "alien", "id": "m"}, {"kind": "model"}, {"kind": "model", "id": ""}, "m", {"id": 1}]
)
def test_producers_that_are_none(brain: Proposals, producer: Any) -> None:
    from consilience.errors import ValidationError

    assert not fits(schema_of(brain), producer=producer)
    with pytest.raises(ValidationError, match="producer"):
        brain.read(brain.task(), producer=producer)
