"""One brain whose writers are killed at random times, one after the other, and never allowed to finish in peace."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from disturbed import answers, history, names, stray_segments
from faults import Worker
from operations import QUESTIONS, SUBJECTS, document, started
from product import Product, ground, new_project

from consilience.store.verify import verify

COMMANDS = (
    ("ingest", "docs", "--brain", "one"),
    ("ingest", "docs", "--brain", "one"),
    ("ingest", "docs", "--brain", "one", "--no-embed"),
    ("index", "--brain", "one"),
    ("index", "--brain", "one", "--rebuild"),
)
BURN = "while True: pass"
ASK = """
import sys
from consilience.cli.main import main
sys.stdout = open("asked", "w")
while True:
    status = main(["search", "--brain", "one", "why do pumps lose pressure", "--json"])
    assert status == 0, status
"""


@contextmanager
def load(farm: Product) -> Iterator[None]:
    """A reader of the same brain, and a process that wants the processor for itself."""
    burner = subprocess.Popen([sys.executable, "-c", BURN])
    reader = farm.started(before=ASK)
    try:
        yield
        assert reader.poll() is None, reader.communicate()
    finally:
        for child in (burner, reader):
            child.kill()
            child.communicate()


def rounds(worker: Worker, farm: Product, count: int, chance: random.Random) -> int:
    """Change the documents, start a command, kill it; how many were killed before they were done."""
    brain = farm.brain("one")
    known = history(brain)
    typical = 0.4
    killed = 0
    for i in range(count):
        subject = chance.choice(SUBJECTS)
        farm.write(f"docs/{subject}.md", document(subject, chance.randrange(4), chance.randrange(3, 12)))
        args = chance.choice(COMMANDS)
        start = time.monotonic()
        outcome = worker.run(farm, [*args, "--json"], kill_after=chance.uniform(0, 1.2 * typical))
        if outcome.status == -9:
            killed += 1
            typical *= 1.15  # a busy machine: let the next one come further
        else:
            assert outcome.done.status == 0, (i, outcome)
            typical = time.monotonic() - start
        found = history(brain)
        new = found[len(known) :]
        assert found[: len(known)] == known, i
        assert tuple(new[: len(outcome.acks)]) == outcome.acks and len(new) - len(outcome.acks) <= 1, i
        known = found
        report = verify(brain)
        assert report.ok, (i, report.problems)
        assert farm.csl("search", "--brain", "one", QUESTIONS[0], "--json").status == 0, i
    return killed


def finished(farm: Product, fresh: Product) -> None:
    """At last one runs to its end: the brain answers as one that was built of the same documents at once."""
    farm.ingest("docs", "--brain", "one")
    assert farm.csl("index", "--brain", "one").status == 0
    for path in sorted((farm.root / "docs").iterdir()):
        fresh.write(f"docs/{path.name}", path.read_bytes())
    assert fresh.csl("project", "add", "one", "--model", "hashed").status == 0
    fresh.ingest("docs", "--brain", "one")
    assert answers(farm) == answers(fresh)
    assert verify(farm.brain("one"), every_snapshot=True).ok
    assert not names(farm.brain("one")) - names(fresh.brain("one"))
    assert not stray_segments(farm.brain("one"))


def test_some_kills_of_one_brain(worker: Worker) -> None:
    with ground() as folder:
        farm = started(folder / "farm")
        assert rounds(worker, farm, 8, random.Random(3)) >= 2
        finished(farm, new_project(folder / "fresh"))


@pytest.mark.soak
def test_many_kills_of_one_brain_under_load(worker: Worker, pytestconfig: pytest.Config) -> None:
    count = min(500, int(pytestconfig.getoption("soak_examples")))
    with ground() as folder:
        farm = started(folder / "farm")
        with load(farm):
            killed = rounds(worker, farm, count, random.Random(4))
        print(f"{count} rounds, {killed} killed before they were done")
        assert killed >= count // 4
        finished(farm, new_project(folder / "fresh"))
