"""An origin ends by a demotion of its registration, at every snapshot, through export and import."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import boltzmann as oracle
import pytest
from sources import ACTOR, Synced

from consilience.ingest.ending import Ending, end_origins
from consilience.oci import export_brain, import_brain
from consilience.protocol import MemoryType
from consilience.store import Store

RETRIES = "Retries are spaced so that a service which comes back is not met by all of its clients at once."
QUEUE = "A queue keeps the work that could not be done, and says how old its oldest entry is."


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Synced]:
    made = Synced(tmp_path)
    made.write("a.md", RETRIES)
    made.write("b.md", QUEUE)
    made.sync()
    yield made
    made.brain.close()


def end(kept: Synced, origin: str, *, reason: str = "gone") -> int:
    with kept.brain.store.view() as view:
        held = view.registered(origin)
    assert held is not None
    ending = Ending(origin=origin, reason=reason, record=held.record)
    return end_origins(kept.brain.store, [ending], actor=ACTOR, clock=kept.clock).passages


def test_it_holds_nothing_then_and_did_before(kept: Synced) -> None:
    with kept.brain.store.view() as view:
        assert view.snapshot is not None
        before = view.snapshot.digest
    assert end(kept, "docs/b.md") == 1
    with kept.brain.store.view() as view:
        assert view.registered("docs/b.md") is None
        assert [origin for origin, _ in view.origins()] == ["docs/a.md"]
    with kept.brain.store.view(before) as view:
        assert [origin for origin, _ in view.origins()] == ["docs/a.md", "docs/b.md"]
        assert not view.hidden_members()


def test_the_origin_before_the_latest_does_not_come_back(kept: Synced) -> None:
    kept.write("b.md", QUEUE, RETRIES)
    kept.sync()
    end(kept, "docs/b.md")
    with kept.brain.store.view() as view:
        assert view.registered("docs/b.md") is None


def test_a_registration_since_then_is_left_alone(kept: Synced) -> None:
    with kept.brain.store.view() as view:
        held = view.registered("docs/b.md")
    assert held is not None
    kept.write("b.md", QUEUE, "And more.")
    kept.sync()
    ending = Ending(origin="docs/b.md", reason="gone", record=held.record)
    ended = end_origins(kept.brain.store, [ending], actor=ACTOR, clock=kept.clock)
    assert (ended.origins, ended.commits) == ((), 0)
    assert "docs/b.md" in kept.origins()


def test_nothing_to_end_writes_nothing(kept: Synced) -> None:
    assert end_origins(kept.brain.store, [], actor=ACTOR, clock=kept.clock).commits == 0


def test_more_than_one_commit(kept: Synced, monkeypatch: pytest.MonkeyPatch) -> None:
    from consilience.ingest import ending

    monkeypatch.setattr(ending, "ORIGINS_A_COMMIT", 1)
    with kept.brain.store.view() as view:
        endings = [Ending(origin=o, reason="gone", record=held.record) for o, held in view.origins()]
    ended = end_origins(kept.brain.store, endings, actor=ACTOR, clock=kept.clock)
    assert (ended.commits, ended.files, ended.passages) == (2, 2, 2)
    assert kept.shown() == {}


def test_a_person_s_demotion_is_not_undone_by_an_unchanged_file(kept: Synced) -> None:
    with kept.brain.store.view() as view:
        (block,) = [b for b in view.scan([MemoryType.SEMANTIC]) if b.data is not None and b"queue" in b.data]
    kept.brain.demote([block.id.hex()], actor=ACTOR, clock=kept.clock)
    kept.sync()
    assert set(kept.shown()) == {RETRIES}


def test_through_export_and_import(kept: Synced, tmp_path: Path) -> None:
    end(kept, "docs/b.md")
    (kept.docs / "a.md").rename(kept.docs / "z.md")
    kept.sources = kept.sources[:]
    kept.sync()
    export_brain(kept.brain.store, tmp_path / "layout", name="kept")
    import_brain(tmp_path / "layout", tmp_path / "again", actor=ACTOR, now=kept.clock())
    with Store.open(tmp_path / "again") as store, store.view() as view:
        assert {origin for origin, _ in view.origins()} == kept.origins()
    theirs = oracle.Brain.open(
        tmp_path / "layout", actor=oracle.Actor(id=ACTOR.id, kind=oracle.ActorKind.HUMAN)
    )
    assert theirs.verify()
    assert not theirs.search(oracle.Query(text="queue oldest entry")).matches
    with kept.brain.store.view() as view:
        counts = {m.memory_type.value: m.count for m in view.modules()}
    assert {t.value: len(theirs.module(t).composition.block_ids) for t in theirs.modules()} == counts
