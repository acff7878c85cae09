"""Several writers, readers and indexers of one brain at once, in processes and in threads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import herd
import pytest
from disturbed import history
from operations import started
from product import Product, ground

from consilience.protocol import Kind, MemoryType, Semantic, build, parse_digest
from consilience.store import Store
from consilience.store.verify import verify

pytestmark = pytest.mark.skipif(os.name != "posix", reason="forks")


@pytest.fixture
def farm() -> Iterator[Product]:
    """A project of two brains, one and two, with the same documents in them."""
    with ground() as folder:
        made = started(folder / "farm")
        assert made.csl("project", "add", "two", "--model", "hashed").status == 0
        shutil.copytree(made.brain("one"), made.brain("two"))
        yield made


def run(farm: Product, writers: int, readers: int, indexers: int, seconds: float) -> dict[str, list[Any]]:
    """What each kind of process did, line by line."""
    numbers = (writers, readers, indexers, seconds)
    done = subprocess.run(
        [sys.executable, herd.__file__, str(farm.root), *map(str, numbers)],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=1_800,
        check=False,
    )
    assert done.returncode == 0 and "Traceback" not in done.stderr, done
    lines: dict[str, list[Any]] = {"writer": [], "reader": [], "indexer": []}
    for kind, found in lines.items():
        for path in sorted(farm.root.glob(f"herd-{kind}-*.jsonl")):
            found += [json.loads(line) for line in path.read_text().splitlines()]
    failed = [line["failed"] for found in lines.values() for line in found if "failed" in line]
    assert not failed, failed[0]
    return lines


def check(farm: Product, before: list[str], lines: dict[str, list[Any]]) -> None:
    brain = farm.brain("one")
    found = history(brain)
    acks = lines["writer"]
    assert found[: len(before)] == before
    assert sorted(a["snapshot"].removeprefix("sha256:") for a in acks) == sorted(found[len(before) :])
    assert {a["commits"] for a in acks} == {1}
    report = verify(brain, every_snapshot=True)
    assert report.ok, report.problems
    with Store.open(brain) as store:
        with store.view() as head:
            wanted = [
                build(Semantic(kind=Kind.FACT, label=text, statement=text)).id
                for a in acks
                for text in herd.statements(a["train"])
            ]
            here = head.ordinals(wanted)
            assert len(here) == len(wanted) and len(head.members(list(here.values()))) == len(wanted)
        whole_snapshots(store, [line for line in lines["reader"] if "ids" in line])
    counts = {line["explained"]: line["count"] for line in lines["reader"] if "explained" in line}
    assert len(counts) >= 1


def whole_snapshots(store: Store, answers: list[Any]) -> None:
    """Every answer is of one snapshot: its roots, its members, all passages of a file or none."""
    assert answers
    seen: dict[str, set[str]] = {}
    for answer in answers:
        assert not answer.get("dropped") and not answer.get("truncated")
        assert set(answer.get("origins", {"": herd.PASSAGES}).values()) <= {herd.PASSAGES}
        ids = set(answer["ids"])
        assert seen.setdefault(answer["snapshot"], ids) == ids
        with store.view(at=parse_digest(answer["snapshot"])) as view:
            roots = {m.memory_type: m.root for m in view.modules()}
            for module, root in answer["roots"].items():
                assert roots[MemoryType(module)] == parse_digest(root)
            here = view.ordinals([parse_digest(i) for i in ids])
            assert len(view.members(list(here.values()))) == len(ids)


def settled(farm: Product) -> None:
    """The indices catch up, and then answer as those of a brain that was built anew."""
    assert farm.csl("index", "--brain", "one").status == 0
    status = farm.csl("status", "--brain", "one").text
    assert status.count("healthy") == 1, status
    ids = {m["block_id"] for m in farm.search("one", "--no-floor", "-n", "10000", "wagon")["matches"]}
    shutil.rmtree(farm.brain("one") / "derived")
    assert farm.csl("index", "--brain", "one").status == 0
    again = farm.search("one", "--no-floor", "-n", "10000", "wagon")["matches"]
    assert {m["block_id"] for m in again} == ids


def test_three_writers_and_three_readers(farm: Product) -> None:
    before = history(farm.brain("one"))
    lines = run(farm, writers=3, readers=3, indexers=2, seconds=1.0)
    check(farm, before, lines)
    settled(farm)


@pytest.mark.soak
def test_many_writers_and_readers_for_a_minute(farm: Product) -> None:
    before = history(farm.brain("one"))
    lines = run(farm, writers=4, readers=6, indexers=2, seconds=60)
    check(farm, before, lines)
    assert [a for a in lines["writer"] if a["waited"]], "no writer waited for another"
    if Path("/proc/locks").exists():
        assert [w for a in lines["writer"] for w in a["waited"] if w.startswith("process ")]
    settled(farm)
