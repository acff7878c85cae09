"""Two that write to one brain, and those who ask meanwhile."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from product import QUESTION, Done, Product

from consilience.store import Store

HOLD = """
import datetime, pathlib, sys
from consilience.protocol import Actor, ActorKind
from consilience.store import Store
store = Store.open(pathlib.Path(sys.argv[1]))
with store.write(Actor(id="other@example.org", kind=ActorKind.HUMAN), datetime.datetime.now(datetime.UTC)):
    print("held", flush=True)
    sys.stdin.read()
sys.exit(0)
"""
"""Takes the write lock of a brain, says so, and keeps it until standard input ends."""


class Holder:
    def __init__(self, farm: Product, brain: str) -> None:
        self.child = farm.started(str(farm.brain(brain)), before=HOLD)
        assert self.child.stdout is not None
        assert self.child.stdout.readline() == b"held\n"

    def let_go(self) -> None:
        self.child.communicate(timeout=300)

    def kill(self) -> None:
        self.child.kill()
        self.child.communicate(timeout=300)


@pytest.fixture
def held(own_farm: Product) -> Iterator[Holder]:
    """Another process writes to west."""
    holder = Holder(own_farm, "west")
    yield holder
    holder.kill()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a minute of patience, shortened."""
    assert Store.write.__kwdefaults__["timeout_s"] >= 10
    monkeypatch.setitem(Store.write.__kwdefaults__, "timeout_s", 0.3)


@pytest.mark.usefixtures("held", "impatient")
def test_a_second_writer_gives_up_and_says_for_whom_it_waited(own_farm: Product) -> None:
    own_farm.write("in/mule.md", "# Mule\n\nThe mule sleeps in the barn.\n")
    done = own_farm.csl("ingest", "in", "--brain", "west")
    assert done.status == 8
    assert "another process is writing to this brain; waiting" in done.err
    assert "error: " in done.err and str(own_farm.brain("west")) in done.err and "hint: " in done.err


@pytest.mark.usefixtures("held", "impatient")
def test_a_second_writer_as_json_is_told_to_try_again(own_farm: Product) -> None:
    own_farm.write("in/mule.md", "# Mule\n\nThe mule sleeps in the barn.\n")
    done = own_farm.csl("ingest", "in", "--brain", "west", "--json")
    assert done.status == 8 and done.err == ""
    assert (done.error["code"], done.error["retryable"]) == ("busy", True)
    assert "another process is writing" in done.error["message"] and "try again" in done.error["hint"]


def test_a_second_writer_that_waits_long_enough_writes(own_farm: Product, held: Holder) -> None:
    own_farm.write("in/mule.md", "# Mule\n\nThe mule sleeps in the barn.\n")
    child = own_farm.started("ingest", "in", "--brain", "west")
    assert child.stderr is not None
    assert b"another process is writing to this brain; waiting" in child.stderr.readline()
    held.let_go()
    out, err = child.communicate(timeout=300)
    done = Product.checked(Done(child.returncode, out, err.decode()))
    assert done.status == 0 and "1 taken" in done.text
    own_farm.verified("west")


@pytest.mark.usefixtures("held")
def test_ctrl_c_while_waiting(own_farm: Product) -> None:
    own_farm.write("in/mule.md", "# Mule\n\nThe mule sleeps in the barn.\n")
    child = own_farm.started("ingest", "in", "--brain", "west")
    assert child.stderr is not None
    assert b"waiting" in child.stderr.readline()
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=300)
    assert child.returncode == 130 and err.startswith(b"error: interrupted: what was committed is kept")


@pytest.mark.usefixtures("impatient")
def test_a_writer_that_was_killed_blocks_nobody(own_farm: Product, held: Holder) -> None:
    held.kill()
    assert own_farm.ingest("sources/crops.md", "--brain", "west")["taken"] == 1
    own_farm.verified("west")


@pytest.mark.usefixtures("held", "impatient")
def test_who_only_asks_waits_for_no_writer(own_farm: Product) -> None:
    for args in (
        ("search", QUESTION),
        ("explain", QUESTION, "--analyze"),
        ("verify",),
        ("status",),
        ("ingest", "sources/radio.md"),
        ("index",),
    ):
        assert own_farm.csl(*args, "--brain", "west", "--json").status == 0, args
    assert own_farm.csl("compound", "search", "--all", QUESTION, "--fuse", "--json").status == 0


@pytest.mark.usefixtures("held")
def test_another_brain_is_written_meanwhile(own_farm: Product) -> None:
    assert own_farm.ingest("sources/radio.md", "--brain", "north")["taken"] == 1


INDEXING = """
import sys
from consilience.index import lexical_writer
whole = lexical_writer.LexicalWriter.commit
def commit(self, watermark):
    print("indexing", flush=True)
    sys.stdin.read()
    return whole(self, watermark)
lexical_writer.LexicalWriter.commit = commit
"""


def test_a_second_indexer_leaves_it_to_the_first_and_says_so(own_farm: Product) -> None:
    own_farm.write("in/mule.md", "# Mule\n\nThe mule sleeps in the barn.\n")
    first = own_farm.started("ingest", "in", "--brain", "west", "--json", before=INDEXING)
    assert first.stdout is not None and first.stdout.readline() == b"indexing\n"
    own_farm.write("late/goat.md", "# Goat\n\nThe goat climbs the roof of the barn.\n")
    second = own_farm.csl("ingest", "late", "--brain", "west", "--json")
    assert second.data["taken"] == 1
    assert [w for w in second.json["warnings"] if "not indexed now" in w]
    assert own_farm.texts("west", "goat roof barn")[0] == "The goat climbs the roof of the barn."
    first.communicate(timeout=300)
    assert first.returncode == 0
    assert own_farm.csl("index", "--brain", "west", "--json").data["indexed"] > 0
    assert own_farm.csl("status", "--brain", "west").text.count("healthy") == 1
    own_farm.verified("west")


def test_two_first_ingests_at_once_make_one_brain_with_both(own_farm: Product) -> None:
    children = [
        own_farm.started("ingest", f"sources/{n}.md", "--brain", "gone") for n in ("pumps", "crops", "solar")
    ]
    for child in children:
        out, err = child.communicate(timeout=300)
        Product.checked(Done(child.returncode, out, err.decode()))
        assert child.returncode == 0, err
    assert own_farm.csl("index", "--brain", "gone").status == 0
    again = own_farm.ingest("sources/pumps.md", "sources/crops.md", "sources/solar.md", "--brain", "gone")
    assert (again["unchanged"], again["commits"]) == (3, 0)
    own_farm.verified("gone")


def test_a_commit_while_passages_are_embedded_is_embedded_once(
    own_farm: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    from consilience.embed.hashed import HashedEmbedder
    from consilience.index.vectors import VectorIndex

    own_farm.write("in/mule.md", "# Mule\n\n" + "\n\n".join(f"The mule {i} sleeps." for i in range(9)))
    own_farm.write("late/goat.md", "# Goat\n\n" + "\n\n".join(f"The goat {i} climbs." for i in range(9)))
    whole = HashedEmbedder.embed
    met = []

    def embed(self: HashedEmbedder, texts: list[str], *, role: str) -> object:
        if role == "passage" and not met:
            met.append(
                own_farm.process("ingest", "late", "--brain", "north", "--no-embed", "--json").data["taken"]
            )
        return whole(self, texts, role=role)  # type: ignore[arg-type]

    monkeypatch.setattr(HashedEmbedder, "embed", embed)
    own_farm.ingest("in", "--brain", "north")
    assert met == [1]
    for _ in range(2):
        assert own_farm.csl("index", "--brain", "north", "--json").data["unembedded"] == 0
    index = VectorIndex.open(own_farm.brain("north") / "derived" / "vectors", HashedEmbedder.tag)
    assert index is not None
    passages = next(
        m["count"]
        for m in own_farm.csl("status", "--brain", "north", "--json").data["brains"][0]["status"]["modules"]
        if m["module"] == "semantic"
    )
    assert index.count == passages
