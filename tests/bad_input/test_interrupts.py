"""Ctrl-C and kill at chosen moments of a real ingest: what was committed stays, verifies, and the next one goes on.

The process sends itself the signal at the chosen call of a chosen function, so that no clock decides.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from product import QUESTION, Done, Product, ground, new_project

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are sent otherwise there")


class Moment(NamedTuple):
    """The `at`-th call of `module:attribute`; before it, or after."""

    where: str
    at: int = 1
    after: bool = False

    def signalling(self, number: signal.Signals) -> str:
        """Python that sends this process a signal at this moment. Batches of few passages: several commits."""
        module, attribute = self.where.split(":")
        return f"""
import importlib, os
from consilience.ingest import pipeline
pipeline.BATCH_PASSAGES = 20
owner = importlib.import_module({module!r})
*path, name = {attribute!r}.split(".")
for part in path:
    owner = getattr(owner, part)
whole, calls = getattr(owner, name), [0]
def wrapped(*args, **named):
    calls[0] += 1
    if calls[0] == {self.at} and not {self.after}:
        os.kill(os.getpid(), {int(number)})
    result = whole(*args, **named)
    if calls[0] == {self.at} and {self.after}:
        os.kill(os.getpid(), {int(number)})
    return result
setattr(owner, name, staticmethod(wrapped) if isinstance(owner.__dict__.get(name), staticmethod) else wrapped)
"""


INGEST = "consilience.ingest.pipeline:Ingest"
WRITER = "consilience.store.writer:Writer"
MOMENTS = {
    "the brain is made": Moment("consilience.store.store:_publish"),
    "files are looked for": Moment("consilience.ingest.discover:_Walk._file", 3),
    "a file is read": Moment("consilience.ingest.preparing:Preparing._open", 3),
    "the second commit begins": Moment(f"{INGEST}._commit", 2),
    "blocks are added": Moment(f"{WRITER}.add_many", 8),
    "a commit is done": Moment(f"{WRITER}._commit", 2, after=True),
    "words are indexed": Moment("consilience.index.lexical_writer:LexicalWriter.commit"),
    "facets are not yet": Moment("consilience.index.lexical_writer:LexicalWriter.commit", after=True),
    "documents are related": Moment("consilience.index.edges_writer:EdgeWriter.lay", 2),
    "relations are not yet": Moment("consilience.index.edges_writer:EdgeWriter.commit"),
    "passages are embedded": Moment("consilience.embed.hashed:HashedEmbedder.embed", 1, after=True),
    "vectors are written": Moment("consilience.index.vector_writer:VectorWriter.commit"),
    "the floor is measured": Moment("consilience.plan.measure:_probe", 5),
}
ROUND = ("semantic", "canonical")
"""Modules whose roots do not depend on when something was done."""


@pytest.fixture(scope="module")
def ready() -> Iterator[Product]:
    """A project with documents and an undisturbed brain, `whole`, made of them; `cut` is made by each test."""
    with ground() as folder:
        farm = new_project(folder / "farm")
        for name in ("whole", "cut"):
            assert farm.csl("project", "add", name, "--model", "hashed").status == 0
        for i in range(6):
            pumps = "\n\n".join(f"The pump of well {i}.{n} loses pressure through sand." for n in range(10))
            farm.write(f"docs/{i}.md", f"# Well {i}\n\n{pumps}\n")
        farm.ingest("docs", "--brain", "whole")
        yield farm


@pytest.fixture
def farm(ready: Product) -> Iterator[Product]:
    with ground() as folder:
        yield Product(Path(shutil.copytree(ready.root, folder / "farm")))


def roots(farm: Product, brain: str) -> dict[str, str]:
    shown = farm.csl("project", "show", "--json").data["brains"]
    (found,) = [each for each in shown if each["name"] == brain]
    return {m["module"]: m["root"] for m in found["status"]["modules"] if m["module"] in ROUND}


def goes_on(farm: Product) -> None:
    """Whatever was kept verifies; the same command takes the rest, and the brain is like one undisturbed."""
    if (farm.brain("cut") / "brain.db").exists():
        farm.verified("cut")
        assert farm.csl("search", "--brain", "cut", QUESTION, "--json").status == 0
    done = farm.ingest("docs", "--brain", "cut")
    assert done["taken"] + done["unchanged"] == 6 and done["changed"] == 0
    assert done["interrupted"] is False and done["unembedded"] == 0
    farm.verified("cut")
    again = farm.ingest("docs", "--brain", "cut")
    assert (again["unchanged"], again["commits"], again["embedded"]) == (6, 0, 0)
    assert roots(farm, "cut") == roots(farm, "whole")
    answers = [farm.search(b, QUESTION, "-n", "50")["matches"] for b in ("cut", "whole")]
    cut, whole = ([(m["block_id"], m["score"], m["strength"]) for m in each] for each in answers)
    assert sorted(cut) == sorted(whole) and cut
    assert not [
        p.name for p in farm.brain("cut").rglob("*") if "tmp" in p.name or p.name.startswith(".brain")
    ]


@pytest.mark.parametrize("moment", MOMENTS)
def test_ctrl_c_keeps_what_was_committed_and_says_so(farm: Product, moment: str) -> None:
    before = MOMENTS[moment].signalling(signal.SIGINT)
    done = farm.process("ingest", "docs", "--brain", "cut", before=before)
    assert done.status == 130, done
    assert done.err == "error: interrupted: what was committed is kept; the same command goes on from there\n"
    goes_on(farm)


@pytest.mark.parametrize("moment", [m for m in MOMENTS if "file" not in m])
def test_a_kill_leaves_whole_commits(farm: Product, moment: str) -> None:
    before = MOMENTS[moment].signalling(signal.SIGKILL)
    done = farm.process("ingest", "docs", "--brain", "cut", before=before)
    assert done.status == -signal.SIGKILL and done.out == b""
    goes_on(farm)


def test_ctrl_c_as_json_is_one_object_with_what_was_done(farm: Product) -> None:
    before = MOMENTS["the second commit begins"].signalling(signal.SIGINT)
    done = farm.process("ingest", "docs", "--brain", "cut", "--json", before=before)
    assert done.status == 130 and done.err == ""
    assert done.error["code"] == "interrupted" and done.error["retryable"] is True
    data = done.json["data"]
    assert (data["interrupted"], data["taken"], data["commits"]) == (True, 2, 1)
    goes_on(farm)


def test_ctrl_c_while_indexing_says_what_is_in_and_what_is_not(farm: Product) -> None:
    before = MOMENTS["passages are embedded"].signalling(signal.SIGINT)
    done = farm.process("ingest", "docs", "--brain", "cut", "--json", before=before)
    data = done.json["data"]
    assert done.status == 130 and (data["taken"], data["interrupted"]) == (6, True)
    covered = farm.csl("search", "--brain", "cut", QUESTION, "--json")
    assert covered.data["count"] > 0
    assert farm.csl("index", "--brain", "cut", "--json").data["unembedded"] == 0
    goes_on(farm)


def test_ctrl_c_in_index(farm: Product) -> None:
    assert farm.csl("ingest", "docs", "--brain", "cut", "--no-embed").status == 0
    before = MOMENTS["passages are embedded"].signalling(signal.SIGINT)
    done = farm.process("index", "--brain", "cut", before=before)
    assert done.status == 130
    assert done.err == "error: interrupted: what was done is kept; the same command goes on from there\n"
    goes_on(farm)


QUESTIONS = {
    "search": (("search", "--brain", "whole", QUESTION), "consilience.plan.answer:_gather"),
    "verify": (("verify", "--brain", "whole"), "consilience.store.verify:verify"),
    "a compound": (
        ("compound", "search", "--brains", "whole,cut", QUESTION),
        "consilience.compound:_checked",
    ),
}


@pytest.mark.parametrize("command", QUESTIONS)
def test_ctrl_c_in_a_question(farm: Product, command: str) -> None:
    farm.ingest("docs/0.md", "--brain", "cut", "--no-embed")
    args, where = QUESTIONS[command]
    done = farm.process(*args, before=Moment(where).signalling(signal.SIGINT))
    assert done.status == 130 and done.out == b""
    assert done.err.startswith("error: interrupted: ") and done.err.count("\n") == 1
    assert "changed" in done.err or "changes nothing" in done.err


def ended(child: subprocess.Popen[bytes]) -> Done:
    out, err = child.communicate(timeout=300)
    return Product.checked(Done(child.returncode, out, err.decode()))


WAITS = """
import sys
from consilience.ingest import pipeline, preparing
pipeline.BATCH_PASSAGES = 20
whole, calls = preparing.Preparing._open, [0]
def opened(self, item):
    calls[0] += 1
    if calls[0] == 5:
        sys.stderr.write("reading the fifth\\n")
        sys.stderr.flush()
        while True:
            import time
            time.sleep(0.01)
    return whole(self, item)
preparing.Preparing._open = opened
"""


def started(farm: Product, *args: str) -> subprocess.Popen[bytes]:
    """An ingest that has committed twice and goes no further by itself."""
    child = farm.started(*args, before=WAITS)
    assert child.stderr is not None
    assert child.stderr.readline() == b"reading the fifth\n"
    return child


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_from_outside(farm: Product, number: signal.Signals) -> None:
    child = started(farm, "ingest", "docs", "--brain", "cut")
    kept: Any = farm.search("cut", "pump pressure", "--no-floor", "-n", "1000")
    assert kept["count"] == 40
    child.send_signal(number)
    done = ended(child)
    if number is signal.SIGINT:
        assert done.status == 130 and "4 taken" in done.text
    else:
        assert done.status in (-number, 128 + number)
    after = farm.search("cut", "pump pressure", "--no-floor", "-n", "1000")
    assert after["snapshot"] == kept["snapshot"] and after["count"] == 40
    goes_on(farm)


def test_ctrl_c_twice(farm: Product) -> None:
    child = started(farm, "ingest", "docs", "--brain", "cut")
    child.send_signal(signal.SIGINT)
    child.send_signal(signal.SIGINT)
    assert ended(child).status == 130
    goes_on(farm)
