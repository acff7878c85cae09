"""`csl task` and `csl remember` as they are called: by people, by pipes, with what they refuse."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from product import MAIN, Done, Product, ground, new_project
from proposals import FILTER, PROPOSALS, PUMP, TEXT

QUOTE = "loses pressure when its filter is clogged"


@pytest.fixture(scope="module")
def template() -> Iterator[Product]:
    with ground() as root:
        made = new_project(root / "farm")
        for name in ("north", "south"):
            assert made.csl("project", "add", name, "--model", "none").status == 0
        made.write("notes/pumps.md", TEXT)
        made.write("notes/south.md", "# South\n\nThe southern gate is closed at night by the guard.\n")
        made.ingest("notes/pumps.md", "--brain", "north")
        made.ingest("notes/south.md", "--brain", "south")
        yield made


@pytest.fixture
def farm(template: Product) -> Iterator[Product]:
    with ground() as root:
        shutil.copytree(template.root, root / "farm")
        yield Product(root / "farm")


def passage(farm: Product, text: str = PUMP) -> str:
    matches = farm.search("north", text, "--no-floor", "--limit", "50")["matches"]
    return str(next(m["block_id"] for m in matches if m["content"].get("statement") == text))


def task(farm: Product, *args: str, name: str = "task.json") -> Any:
    done = farm.csl("task", "define", "--source", passage(farm), "--brain", "north", *args)
    assert done.status == 0, done
    farm.write(name, done.out)
    return json.loads(done.out)


def fact(farm: Product, statement: str = "Sand costs pressure.", **more: Any) -> dict[str, Any]:
    payload = {"kind": "fact", "label": statement, "statement": statement}
    return {"memory_type": "semantic", "payload": payload, "evidence": [passage(farm)], **more}


def document(*candidates: Any, **more: Any) -> str:
    return json.dumps({"schema_version": PROPOSALS, "candidates": list(candidates), **more})


def offer(farm: Product, *candidates: Any, **more: Any) -> None:
    farm.write("candidates.json", document(*candidates, **more))


def run(farm: Product, what: str, *args: str, **environment: str) -> Done:
    return farm.csl(
        "task", what, "task.json", "candidates.json", "--brain", "north", "--json", *args, **environment
    )


def piped(farm: Product, data: bytes, *args: str) -> Done:
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *args],
        cwd=farm.root,
        env=farm.environment(),
        input=data,
        capture_output=True,
        timeout=120,
        check=False,
    )
    return farm.checked(Done(done.returncode, done.stdout, done.stderr.decode()))


# --- a session --------------------------------------------------------------------------------------------------


def test_a_session_by_pipes(farm: Product) -> None:
    ids = f"{passage(farm)}\n{passage(farm, FILTER)}\n".encode()
    made = piped(farm, ids, "task", "define", "--source", "-", "--with-text", "--brain", "north")
    given = json.loads(made.out)
    assert [each["text"] for each in given["passages"]] == [PUMP, FILTER]
    farm.write("task.json", made.out)
    schema = json.loads(piped(farm, made.out, "task", "schema", "-", "--brain", "north").out)
    answer = document(
        fact(farm, quote=QUOTE),
        task_id=given["task_id"],
        producer={"kind": "model", "id": "m", "version": "2"},
    )
    jsonschema.Draft202012Validator(schema).validate(json.loads(answer))
    checked = piped(farm, answer.encode(), "task", "validate", "task.json", "--brain", "north", "--json")
    assert checked.data["counts"]["validated"] == 1
    done = piped(farm, answer.encode(), "task", "commit", "task.json", "--brain", "north", "--json")
    assert done.data["blocks"] == 1 and done.data["producer"] == "model m 2"
    [match] = [
        m
        for m in farm.search("north", "sand costs pressure")["matches"]
        if m["content"]["label"].startswith("Sand")
    ]
    assert match["sources"][0]["block_id"] == passage(farm)
    farm.verified("north")


def test_the_document_goes_to_a_file(farm: Product) -> None:
    done = farm.csl(
        "task", "define", "--source", passage(farm), "--brain", "north", "--out", "made.json", "--with-text"
    )
    assert done.status == 0 and "1 source, 1 passage to read" in done.text
    assert json.loads((farm.root / "made.json").read_bytes())["task_id"] in done.text
    into = farm.csl("task", "define", "--source", passage(farm), "--brain", "north", "--out", "notes")
    assert into.status == 2 and "is a folder" in into.err


def test_json_has_the_same_document(farm: Product) -> None:
    given = task(farm)
    assert task(farm, "--json")["data"] == given
    schema = farm.csl("task", "schema", "--json")
    assert schema.data["$id"] == PROPOSALS


def test_kinds_are_narrowed(farm: Product) -> None:
    assert task(farm, "--allow", "episodic,procedural")["allowed_memory_types"] == ["episodic", "procedural"]
    done = farm.csl("task", "define", "--source", passage(farm), "--allow", "canonical", "--brain", "north")
    assert done.status == 2 and "'canonical'" in done.err


# --- verdicts ---------------------------------------------------------------------------------------------------


def test_what_people_see(farm: Product) -> None:
    task(farm)
    offer(
        farm, fact(farm, quote=QUOTE), fact(farm, "Another.", quote="not in it"), {"memory_type": "semantic"}
    )
    done = farm.csl("task", "validate", "task.json", "candidates.json", "--brain", "north")
    assert done.status == 7 and "2 of 3 candidates are rejected" in done.err
    assert "evidence-mismatch: the quote does not stand in the evidence" in done.text
    assert "north: 3 candidates: 1 validated, 2 rejected" in done.text
    refused = farm.csl("task", "commit", "task.json", "candidates.json", "--brain", "north")
    assert refused.status == 7 and "nothing was written" in refused.text


def test_exit_statuses(farm: Product) -> None:
    task(farm)
    offer(
        farm,
        fact(farm),
        fact(
            farm, "Other.", payload={"kind": "fact", "label": "Sand costs pressure.", "statement": "Not so."}
        ),
    )
    checked = run(farm, "validate")
    assert checked.status == 10 and checked.error["code"] == "decision_needed"
    assert checked.json["data"]["counts"]["contradicted"] == 1
    assert run(farm, "commit").status == 10
    agent = run(farm, "commit", "--accept", "2", "--actor", "lab/reader")
    assert agent.status == 6 and "no person" in agent.error["message"]
    assert run(farm, "commit", "--accept", "9").status == 2
    done = run(farm, "commit", "--accept", "2")
    assert done.data["blocks"] == 2
    again = run(farm, "commit", "--accept", "2")
    assert again.data["changed"] is False and again.data["snapshot"] == done.data["snapshot"]
    text = farm.csl("task", "commit", "task.json", "candidates.json", "--brain", "north").text
    assert "north: nothing to do, all of it is here already" in text


def test_the_producer(farm: Product) -> None:
    task(farm)
    offer(farm, fact(farm))
    assert run(farm, "commit", "--model-version", "1").status == 2
    assert run(farm, "commit", "--model", "").status == 2
    made = run(farm, "commit", "--model", "qwen", "--model-version", "3").data
    assert made["producer"] == "model qwen 3"
    block = farm.csl("block", made["candidates"][0]["block_id"], "--brain", "north").text
    assert "qwen" in block
    offer(farm, fact(farm), producer={"kind": "model", "id": "other"})
    differs = run(farm, "commit", "--model", "qwen")
    assert differs.status == 2 and "other" in differs.error["message"]


def test_nobody(farm: Product) -> None:
    task(farm)
    offer(farm, fact(farm))
    text = farm.file.read_text().replace('actor = "ana@example.org"', "")
    farm.file.write_text(text)
    done = run(farm, "commit")
    assert done.status == 3 and done.error["code"] == "actor_required"
    assert run(farm, "validate").status == 0
    assert farm.csl("remember", "x y z", "--brain", "north", "--json").error["code"] == "actor_required"
    assert run(farm, "commit", "--actor", "Not An Actor").status == 7


def test_what_cannot_be_read(farm: Product, tmp_path: Path) -> None:
    task(farm)
    offer(farm)
    there = ("--brain", "north", "--json")
    assert farm.csl("task", "validate", "nowhere.json", "candidates.json", *there).status == 4
    assert farm.csl("task", "validate", "task.json", "nowhere.json", *there).status == 4
    assert farm.csl("task", "validate", "task.json", "notes", *there).status == 2
    assert farm.csl("task", "validate", "-", "-", *there).status == 2
    assert farm.csl("task", "validate", "task.json", "a\0b", *there).status == 4
    farm.write("broken.json", '{"candidates": [')
    assert farm.csl("task", "validate", "task.json", "broken.json", *there).status == 7
    assert farm.csl("task", "validate", "broken.json", "candidates.json", *there).status == 7
    assert farm.csl("task", "define", "--brain", "north").status == 2
    assert farm.csl("task", "define", "--source", " ", "--brain", "north").status == 2
    assert farm.csl("task", "define", "--source", "0" * 64, "--brain", "north").status == 4
    assert farm.csl("task", "define", "--source", "zz", "--brain", "north").status == 2


def test_other_brains_and_other_tasks(farm: Product) -> None:
    task(farm)
    offer(farm, fact(farm))
    for what in ("validate", "commit"):
        done = farm.csl("task", what, "task.json", "candidates.json", "--brain", "south", "--json")
        assert done.status == 4 and "none of the blocks" in done.error["message"]
    assert farm.csl("task", "schema", "task.json", "--brain", "south", "--json").status == 4
    offer(farm, fact(farm), task_id="task:0000")
    done = run(farm, "commit")
    assert done.status == 7 and "task:0000" in done.error["message"]


def test_an_empty_list(farm: Product) -> None:
    task(farm)
    offer(farm)
    assert run(farm, "validate").data["candidates"] == []
    assert run(farm, "commit").data["changed"] is False
    text = farm.csl("task", "commit", "task.json", "candidates.json", "--brain", "north").text
    assert "there are no candidates" in text


def test_no_line_is_wider_and_nothing_is_obeyed(farm: Product) -> None:
    task(farm)
    nasty = fact(farm, "\x1b[31mred\u202e " + "word " * 60)
    offer(farm, nasty, fact(farm, quote="x" * 300), fact(farm, locator="\x1b]0;t\x07" * 9))
    done = farm.csl("task", "validate", "task.json", "candidates.json", "--brain", "north", COLUMNS="60")
    assert "\x1b" not in done.text and "\u202e" not in done.text
    assert max(map(len, done.text.splitlines())) <= 60


# --- remember ---------------------------------------------------------------------------------------------------


def test_remember(farm: Product) -> None:
    args = ("remember", "The", "pump", "needs 1.2 bar.", "--brain", "north")
    done = farm.csl(*args, "--source", "https://example.org/p", "--tag", "pressure", "--json")
    made = done.data
    assert made["changed"] and made["source"] == "https://example.org/p" and made["memory_type"] == "semantic"
    [match] = farm.search("north", "pump bar", "--tag", "pressure")["matches"]
    assert match["block_id"] == made["block_id"] and match["sources"][0]["origin"] == "https://example.org/p"
    assert farm.csl("check", made["cite"]).status == 0
    again = farm.csl(*args, "--tag", "pressure")
    assert "north: known already" in again.text and made["block_id"] in again.text
    by = farm.csl("remember", "Gate two squeaks.", "--by", "lab/ear", "--brain", "north", "--json").data
    assert by["actor"] == "lab/ear"
    farm.verified("north")


def test_remember_from_a_pipe(farm: Product) -> None:
    there = ("--brain", "north", "--json")
    made = piped(farm, "Der Zulauf ist überfällig.\n".encode(), "remember", "-", *there).data
    assert made["text"] == "Der Zulauf ist überfällig."
    assert piped(farm, b"", "remember", "-", *there).status == 2
    assert piped(farm, b"\xff\xfe", "remember", "-", *there).status == 7


def test_remember_an_event(farm: Product) -> None:
    args = (
        "remember",
        "The guard changed.",
        "--when",
        "2026-05-01",
        "--tag",
        "guard",
        "--brain",
        "north",
        "--json",
    )
    made = farm.csl(*args).data
    assert made["memory_type"] == "episodic"
    [match] = farm.search("north", "guard changed", "--since", "2026-05-01", "--until", "2026-05-01")[
        "matches"
    ]
    assert match["block_id"] == made["block_id"]
    assert farm.csl(*args, "--kind", "concept").status == 2
    assert farm.csl("remember", "x y", "--when", "soon", "--brain", "north", "--json").status == 2


def test_remember_makes_the_brain(farm: Product) -> None:
    assert farm.csl("project", "add", "new", "--model", "none").status == 0
    assert farm.csl("remember", "A first fact.", "--brain", "new", "--json").data["changed"]


def test_what_was_remembered_is_no_file_that_is_gone(farm: Product) -> None:
    farm.csl("remember", "The pump needs 1.2 bar.", "--source", "notes/gone.md", "--brain", "north")
    farm.csl("remember", "The pump is blue.", "--brain", "north")
    report = farm.ingest(".", "--brain", "north")
    assert report["gone"] == []


def test_two_processes_at_once(farm: Product) -> None:
    task(farm)
    offer(farm, *(fact(farm, f"Statement {i}.") for i in range(50)))
    args = ("task", "commit", "task.json", "candidates.json", "--brain", "north", "--json")
    running = [farm.started(*args) for _ in range(2)]
    told = [process.communicate(timeout=120) for process in running]
    assert [process.returncode for process in running] == [0, 0], told
    outs = [out for out, _ in told]
    assert sorted(json.loads(out)["data"]["blocks"] for out in outs) == [0, 50]
    farm.verified("north")
