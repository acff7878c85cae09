"""Files too large for one commit: what is in after each of several, and what is not said to be."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from consilience.ingest.readers import records
from consilience.ingest.report import IngestReport
from consilience.model import Query
from consilience.protocol import MemoryType, Semantic, decode, format_digest
from consilience.retain.execute import Retention
from consilience.retain.policy import Policy
from consilience.sync.looking import held_by
from tests.ingest.test_pipeline import ACTOR, Clock, Kept

ROWS = 60


class Moment(Clock):
    """Does something when the commit of that number begins."""

    def __init__(self, at: int, do: Callable[[], object]) -> None:
        super().__init__()
        self.left, self.do = at, do

    def __call__(self) -> datetime.datetime:
        self.left -= 1
        if self.left == 0:
            self.do()
        return super().__call__()


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "STREAM_FROM", 10)
    monkeypatch.setattr("consilience.ingest.prepared.BATCH_PASSAGES", 4)
    for module in ("prepared", "pipeline"):
        monkeypatch.setattr(f"consilience.ingest.{module}.PART_PASSAGES", 16)


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    made = Kept(tmp_path)
    yield made
    made.brain.close()


def rows(kept: Kept, first: int = 0, last: int = ROWS) -> None:
    lines = [f"{n},pump {n} of the mill turns {n % 7}\n" for n in range(first, last)]
    (kept.docs / "t.csv").write_text("".join(["id,what\n", *lines, lines[0]]))


def cut(kept: Kept, at: int, do: Callable[[], object] = interrupt) -> IngestReport:
    kept.clock = Moment(at, do)
    try:
        return kept.ingest()
    finally:
        kept.clock = Clock()
        kept.clock.now += datetime.timedelta(days=1)


def roots(kept: Kept) -> dict[MemoryType, str]:
    with kept.brain.store.view() as view:
        modules = (MemoryType.SEMANTIC, MemoryType.CANONICAL)
        return {m.memory_type: format_digest(m.root) for m in view.modules() if m.memory_type in modules}


def test_a_large_file_goes_in_by_several_commits(kept: Kept, tmp_path: Path) -> None:
    rows(kept)
    report = kept.ingest()
    assert (report.taken, report.passages, report.commits) == (1, ROWS, 4)
    assert report.blocks == 2 * ROWS + 3
    assert kept.ingest().unchanged == 1
    assert kept.brain.status().files == 1 and kept.brain.verify().ok


def test_one_that_is_cut_short_is_not_taken_and_is_gone_on_with(kept: Kept, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    whole = Kept(tmp_path / "other")
    for each in (kept, whole):
        rows(each)
    undisturbed = whole.ingest()
    first = cut(kept, 3)
    assert first.interrupted and (first.taken, first.commits) == (0, 2)
    assert [each.path for each in first.warnings] == ["docs/t.csv"]
    assert len(kept.texts()) == 32
    with kept.brain.store.view() as view:
        assert view.registered("docs/t.csv") is None and not held_by(view)
    assert kept.brain.status().files == 0 and kept.brain.verify().ok
    kept.brain.index(embed=False)
    (match, *_) = kept.brain.search(Query(text="pump 7 of the mill", floor=False)).matches
    assert {source.origin for source in match.sources} == {None}
    second = kept.ingest()
    assert (second.taken, second.passages) == (1, ROWS)
    assert first.blocks + second.blocks == undisturbed.blocks
    assert roots(kept) == roots(whole)
    assert kept.ingest().unchanged == 1 and kept.brain.verify().ok
    (match, *_) = kept.brain.search(Query(text="pump 7 of the mill", floor=False)).matches
    assert {source.origin for source in match.sources} == {"docs/t.csv"}
    whole.brain.close()


def test_the_old_version_stands_until_the_new_one_is_whole(kept: Kept) -> None:
    rows(kept)
    kept.ingest()
    with kept.brain.store.view() as view:
        old = view.registered("docs/t.csv")
    rows(kept, 20, ROWS + 30)
    assert cut(kept, 2).interrupted
    with kept.brain.store.view() as view:
        assert view.registered("docs/t.csv") == old
    assert kept.texts(hidden=True) == []
    report = kept.ingest()
    assert (report.changed, report.taken, report.demoted) == (1, 0, 20)
    assert len(kept.texts()) == ROWS + 10 and len(kept.texts(hidden=True)) == 20
    assert kept.brain.verify().ok


def test_what_is_redacted_between_two_parts_stays_away(kept: Kept) -> None:
    def redact() -> None:
        with kept.brain.store.view() as view:
            blocks = [b for b in view.scan([MemoryType.SEMANTIC]) if b.data is not None]
            secret = next(b.id for b in blocks if b.data and b"pump 3 " in b.data)
        work = Retention(kept.brain.store, "kept", actor=ACTOR, clock=Clock())
        work.redact(
            [secret], reason="asked", policy=Policy(canonical_drop=True, redact=True, canonical_redact=True)
        )

    rows(kept)
    report = cut(kept, 3, redact)
    assert report.taken == 0 and [each.path for each in report.refused] == ["docs/t.csv"]
    assert not any("pump 3 " in text for text in kept.texts())
    again = kept.ingest()
    assert again.taken == 0 and len(again.refused) == 1 and not again.wrote
    with kept.brain.store.view() as view:
        assert view.registered("docs/t.csv") is None
    assert kept.brain.verify().ok


def test_a_mailbox_held_as_passages_goes_in_by_parts_too(kept: Kept) -> None:
    messages = [
        f"From a@b.c Mon Jan  1 10:00:{n:02d} 2024\nFrom: a@b.c\nTo: d@e.f\nSubject: Pump {n}\n"
        f"Date: Mon, 01 Jan 2024 10:00:{n:02d} +0000\n\nThe pump {n} of the mill was looked at again.\n\n"
        for n in range(40)
    ]
    (kept.docs / "in.mbox").write_text("".join(messages))
    report = kept.ingest()
    assert (report.taken, report.passages, report.commits) == (1, 40, 3)
    assert kept.ingest().unchanged == 1


def test_a_row_that_comes_again_in_another_part_is_derived_once(kept: Kept) -> None:
    rows(kept)
    kept.ingest()
    with kept.brain.store.view() as view:
        blocks = [b for b in view.scan([MemoryType.SEMANTIC]) if b.data is not None]
        first = next(
            b
            for b in blocks
            if isinstance(p := decode(b.data or b"").payload, Semantic) and "pump 0" in p.statement
        )
        assert len(view.derivations_of(first.n)) == 1
