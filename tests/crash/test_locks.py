"""Locks that POSIX drops when any descriptor of a file is closed: what is read beside SQLite must not take them away.

A process that lost its lock is passed over by the next writer that ends: the log is removed under it, and from then
on it reads, and would write, a log that nobody else sees (SQLite, "How To Corrupt", 2.2).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from product import Product, ground, new_project
from stores import ACTOR, NOW, fact

from consilience.brain import Brain
from consilience.store import Store
from consilience.store.verify import verify

pytestmark = pytest.mark.skipif(os.name != "posix", reason="locks are kept otherwise there")

COMMIT = """
import datetime, pathlib, sys
from consilience.protocol import Actor, ActorKind, Kind, Semantic, build
from consilience.store import Store
with Store.open(pathlib.Path(sys.argv[1])) as store:
    actor = Actor(id="other@example.org", kind=ActorKind.HUMAN)
    for text in sys.argv[2:]:
        with store.write(actor, datetime.datetime.now(datetime.UTC)) as writer:
            writer.add(build(Semantic(kind=Kind.FACT, label=text, statement=text)))
"""


def commit(brain: Path, *texts: str) -> None:
    """Commits of another process, which then closes the brain."""
    subprocess.run([sys.executable, "-c", COMMIT, str(brain), *texts], check=True, timeout=300)


@pytest.fixture
def farm() -> Iterator[Product]:
    with ground() as folder:
        made = new_project(folder / "farm")
        assert made.csl("project", "add", "one", "--model", "hashed").status == 0
        made.write("docs/goat.md", "# Goat\n\n" + "\n\n".join(f"The goat {i} climbs." for i in range(30)))
        made.ingest("docs", "--brain", "one")
        yield made


def verified(brain: Path) -> None:
    assert verify(brain).ok


def shown(brain: Path) -> None:
    with Brain.open(brain, name="one") as opened:
        opened.status()


BESIDE: dict[str, Callable[[Path], None]] = {"verify": verified, "status": shown}


@pytest.mark.parametrize("beside", BESIDE)
def test_who_has_a_brain_open_sees_what_others_commit(farm: Product, beside: str) -> None:
    brain = farm.brain("one")
    with Store.open(brain) as store:
        with store.view() as view:
            seen = len(view.history())
        for i in range(3):
            BESIDE[beside](brain)
            commit(brain, f"The mule {i} sleeps.")
            with store.view() as view:
                assert len(view.history()) == seen + i + 1


@pytest.mark.parametrize("beside", BESIDE)
def test_no_commit_of_two_who_write_in_turn_is_lost(farm: Product, beside: str) -> None:
    brain = farm.brain("one")
    with Store.open(brain) as store:
        for i in range(3):
            for text in (f"Mine {i}.", f"Mine again {i}."):
                with store.write(ACTOR, NOW) as writer:
                    writer.add(fact(text))
                if text == f"Mine {i}.":
                    BESIDE[beside](brain)
                    commit(brain, f"Theirs {i}.", f"Theirs again {i}.")
    wanted = [
        fact(f"{who}{again} {i}.").id
        for who in ("Mine", "Theirs")
        for again in ("", " again")
        for i in range(3)
    ]
    with Store.open(brain) as store, store.view() as view:
        assert len(view.ordinals(wanted)) == len(wanted)
    assert verify(brain, every_snapshot=True).ok


def test_a_view_that_is_open_over_a_verify_keeps_its_snapshot(farm: Product) -> None:
    brain = farm.brain("one")
    with Store.open(brain) as store, store.view() as view:
        count, ids = len(view.history()), [b.id for b in view.scan()]
        verified(brain)
        commit(brain, *(f"The mule {i} sleeps." for i in range(5)))
        assert len(view.history()) == count and [b.id for b in view.scan()] == ids
        with store.view() as later:
            assert len(later.history()) == count + 5
