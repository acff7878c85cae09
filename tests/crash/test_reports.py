"""What a person is told when a disk fails in the middle, and when somebody else is writing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from operations import SUBJECTS, document
from product import Product, ground, new_project

from consilience.errors import StorageError
from consilience.ingest import pipeline
from consilience.store.holder import holder_of
from consilience.store.writer import Writer


@pytest.fixture
def farm() -> Iterator[Product]:
    """A project with four files of ten passages, not taken yet."""
    with ground() as folder:
        made = new_project(folder / "farm")
        assert made.csl("project", "add", "one", "--model", "none").status == 0
        for subject in SUBJECTS[:4]:
            made.write(f"docs/{subject}.md", document(subject, 1))
        yield made


@pytest.fixture
def fails_at(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """The disk is full at the n-th commit; a commit is two files."""
    monkeypatch.setattr(pipeline, "BATCH_PASSAGES", 12)
    whole = Writer._commit

    def fails(at: int) -> None:
        calls = [0]

        def commit(self: Writer) -> object:
            calls[0] += 1
            if calls[0] == at:
                raise StorageError("brain.db: the disk is full", hint="free some space and try again")
            return whole(self)

        monkeypatch.setattr(Writer, "_commit", commit)

    return fails


def test_a_disk_that_fails_after_a_commit(farm: Product, fails_at: Callable[[int], None]) -> None:
    fails_at(2)
    done = farm.csl("ingest", "docs", "--brain", "one", "--json")
    assert done.status == 11 and done.error["code"] == "storage" and done.error["retryable"] is True
    data = done.json["data"]
    assert (data["commits"], data["taken"], data["interrupted"]) == (1, 2, False)
    assert data["passages"] == 2 * 9 and data["gone"] == []
    assert farm.search("one", "pressure", "--no-floor", "-n", "100")["snapshot"] == data["snapshot"]
    again = farm.ingest("docs", "--brain", "one")
    assert (again["taken"], again["unchanged"]) == (2, 2)


def test_the_same_for_people(farm: Product, fails_at: Callable[[int], None]) -> None:
    fails_at(2)
    done = farm.csl("ingest", "docs", "--brain", "one")
    assert done.status == 11
    assert done.text.startswith("one: 2 taken") and "1 commit " in done.text
    assert done.err == "error: brain.db: the disk is full\nhint: free some space and try again\n"


def test_a_disk_that_fails_before_any_commit_has_nothing_to_report(
    farm: Product, fails_at: Callable[[int], None]
) -> None:
    fails_at(1)
    done = farm.csl("ingest", "docs", "--brain", "one", "--json")
    assert done.status == 11 and done.json["data"] is None


def test_a_disk_that_fails_while_indexing(farm: Product, monkeypatch: pytest.MonkeyPatch) -> None:
    from consilience.index.lexical_writer import LexicalWriter

    def full(*_: object) -> None:
        raise StorageError("the disk is full", hint="free some space")

    monkeypatch.setattr(LexicalWriter, "commit", full)
    done = farm.csl("ingest", "docs", "--brain", "one", "--json")
    assert done.status == 11 and done.error["message"].startswith("everything is committed")
    assert done.json["data"]["taken"] == 4 and done.json["data"]["commits"] == 1
    indexed = farm.csl("index", "--brain", "one", "--json")
    assert indexed.status == 11 and indexed.json["data"]["indexed"] == 0
    shown = farm.csl("index", "--brain", "one")
    assert shown.status == 11 and shown.err.startswith("error: the disk is full\n")


# --- who writes ---------------------------------------------------------------------------------------------

HOLD = """
import datetime, pathlib, sys
from consilience.protocol import Actor, ActorKind
from consilience.store import Store
store = Store.open(pathlib.Path(sys.argv[1]))
with store.write(Actor(id="other@example.org", kind=ActorKind.HUMAN), datetime.datetime.now(datetime.UTC)):
    print("held", flush=True)
    sys.stdin.read()
"""

told = pytest.mark.skipif(not Path("/proc/locks").exists(), reason="the system does not say who holds a lock")


@pytest.fixture
def other(farm: Product) -> Iterator[subprocess.Popen[str]]:
    """Another process writes to `one`: a script with a name of its own."""
    farm.ingest("docs", "--brain", "one")
    script = farm.write("writes `a`\nbook.py", HOLD)
    child = subprocess.Popen(
        [sys.executable, str(script), str(farm.brain("one"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None and child.stdout.readline() == "held\n"
    yield child
    child.kill()
    child.communicate()


@told
def test_the_holder_is_the_process_that_writes(farm: Product, other: subprocess.Popen[str]) -> None:
    holder = holder_of(farm.brain("one"))
    assert holder is not None and holder.pid == other.pid
    assert holder.command.startswith("writes 'a' book.py ") and len(holder.command) <= 80
    other.communicate("")
    assert holder_of(farm.brain("one")) is None


@told
def test_a_writer_that_was_killed_is_not_named(farm: Product, other: subprocess.Popen[str]) -> None:
    other.kill()
    other.communicate()
    assert holder_of(farm.brain("one")) is None


@told
def test_a_wait_names_whom_it_is_for(
    farm: Product, other: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from consilience.store import Store

    monkeypatch.setitem(Store.write.__kwdefaults__, "timeout_s", 0.3)
    farm.write("docs/kilns.md", document("kilns", 1))
    done = farm.csl("ingest", "docs", "--brain", "one")
    assert done.status == 8
    assert f"waiting (0 s) for process {other.pid}, `writes 'a' book.py " in done.err
    assert f"another process is writing (process {other.pid}, `" in done.err and "gave up after" in done.err
    as_json = farm.csl("ingest", "docs", "--brain", "one", "--json")
    assert as_json.error["retryable"] is True and f"process {other.pid}" in as_json.error["message"]


def test_a_thread_that_waits_for_another_says_so(farm: Product) -> None:
    from datetime import UTC, datetime

    from consilience.errors import BusyError
    from consilience.protocol import Actor, ActorKind
    from consilience.store import Store

    farm.ingest("docs", "--brain", "one")
    actor = Actor(id="ana@example.org", kind=ActorKind.HUMAN)
    with Store.open(farm.brain("one")) as store, store.write(actor, datetime.now(UTC)):
        with pytest.raises(BusyError) as raised:
            store.write(actor, datetime.now(UTC), timeout_s=0)
        if Path("/proc/locks").exists():
            assert "this very process" in raised.value.message


def test_no_holder_where_there_is_no_brain(tmp_path: Path) -> None:
    assert holder_of(tmp_path) is None and holder_of(tmp_path / "absent") is None
    assert list(tmp_path.iterdir()) == []
