"""Who asks while somebody ingests sees whole snapshots: of a file all passages or none, and one answer to a root."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from product import Product

PASSAGES = 12
FILES = 8

WRITER = """
import pathlib, sys, time
from consilience.cli.main import main
for i in range({files}):
    status = main(["ingest", f"in/{{i:02}}.md", "--brain", "west", "--quiet"])
    assert status == 0, status
    until = time.monotonic() + 300
    while not all(pathlib.Path(f"asked-{{reader}}-{{i}}").exists() for reader in (0, 1)):
        assert time.monotonic() < until
        time.sleep(0.005)
"""
"""One commit a file, the indices caught up after each; no more than a round ahead of the slower reader."""

READER = """
import pathlib, sys
from consilience.cli.main import main
sys.stdout = open("answers-{reader}", "w")
stop, asked = pathlib.Path("stop"), 0
while not stop.exists() or asked < 3:
    for args in (
        ["search", "--brain", "west", "--no-floor", "-n", "10000", "--source", "in", "wagon"],
        ["compound", "search", "--all", "--no-floor", "-n", "10000", "--source", "in", "wagon", "--fuse"],
        ["status", "--brain", "west"],
    ):
        status = main([*args, "--json"])
        assert status == 0, status
    pathlib.Path(f"asked-{reader}-{{asked}}").touch()
    asked += 1
sys.exit(0)
"""


def ended(child: subprocess.Popen[bytes]) -> None:
    _, err = child.communicate(timeout=600)
    assert child.returncode == 0 and b"Traceback" not in err, err


def snapshot_of(answer: Any) -> tuple[str, Any]:
    if answer["command"] == "search":
        return answer["data"]["snapshot"], answer["data"]["verified_against"]
    (west,) = [m for m in answer["data"]["members"] if m["brain"] == "west"]
    return west["snapshot"], west["verified_against"]


def test_two_readers_beside_an_ingest(own_farm: Product) -> None:
    for i in range(FILES):
        text = "\n\n".join(f"Wagon {n} of train {i} carries salt." for n in range(PASSAGES))
        own_farm.write(f"in/{i:02}.md", f"# Train {i}\n\n{text}\n")
    readers = [own_farm.started(before=READER.format(reader=reader)) for reader in range(2)]
    try:
        writer = own_farm.started(before=WRITER.format(files=FILES) + "sys.exit(0)\n")
        ended(writer)
    finally:
        own_farm.write("stop", "")
    for reader in readers:
        ended(reader)
    lines = b"".join((own_farm.root / f"answers-{reader}").read_bytes() for reader in range(2)).splitlines()
    answers = [json.loads(line) for line in lines]
    found: dict[str, set[str]] = {}
    roots: dict[str, Any] = {}
    sizes: set[int] = set()
    for answer in answers:
        if answer["command"] == "status":
            (shown,) = answer["data"]["brains"]
            counts = {m["module"]: m["count"] for m in shown["status"]["modules"]}
            sizes.add(counts["semantic"])
            continue
        assert not [w for w in answer["warnings"] if "scanned" in w or "does not hold" in w]
        snapshot, root = snapshot_of(answer)
        matches = answer["data"]["matches"]
        by_file: dict[str, int] = {}
        for match in matches:
            (origin,) = {s["origin"] for s in match["sources"]}
            by_file[origin] = by_file.get(origin, 0) + 1
        assert set(by_file.values()) <= {PASSAGES}
        assert sorted(by_file) == [f"in/{i:02}.md" for i in range(len(by_file))]
        ids = {match["block_id"] for match in matches}
        assert found.setdefault(snapshot, ids) == ids
        assert roots.setdefault(snapshot, root) == root
    assert len({root["semantic"] for root in roots.values()}) == len(roots)
    assert max(map(len, found.values())) == FILES * PASSAGES
    assert len(found) > FILES // 2
    assert {size % PASSAGES for size in sizes} == {min(sizes) % PASSAGES}
    own_farm.verified("west")


@pytest.mark.parametrize("moment", ["made_from", "reader"])
def test_a_commit_while_a_question_begins(
    own_farm: Product, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """Before or after the view is pinned, but before the indices are opened, another process commits and indexes."""
    from consilience.derived import Derived

    whole = getattr(Derived, moment)
    for i in range(2):
        text = "\n\n".join(f"Wagon {n} of train {i} carries salt." for n in range(PASSAGES))
        own_farm.write(f"in/{i:02}.md", f"# Train {i}\n\n{text}\n")
    own_farm.ingest("in/00.md", "--brain", "west")
    ask = ("--no-floor", "-n", "1000", "--source", "in", "wagon")
    before = own_farm.search("west", *ask)
    committed = []

    def beside(*args: Any, **named: Any) -> Any:
        if not committed:
            committed.append(
                own_farm.process("ingest", "in/01.md", "--brain", "west", "--json").data["taken"]
            )
        return whole(*args, **named)

    monkeypatch.setattr(Derived, moment, beside)
    done = own_farm.csl("search", "--brain", "west", *ask, "--json")
    assert committed == [1] and done.json["warnings"] == []
    after = own_farm.search("west", *ask)
    assert (before["count"], after["count"]) == (PASSAGES, 2 * PASSAGES)
    expected = before if moment == "reader" else after
    for field in ("snapshot", "verified_against", "count"):
        assert done.data[field] == expected[field]
    assert {m["block_id"] for m in done.data["matches"]} == {m["block_id"] for m in expected["matches"]}
