"""When a watch is due: at first, when something differs, and not before it has stood still."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from sources import Synced

from consilience.config_sources import SourceConfig
from consilience.ingest.discover import Found
from consilience.sync.around import Around
from consilience.sync.watching import PATIENCE, Watch

TEXT = "Retries are spaced so that a service which comes back is not met by all of its clients at once."


@pytest.fixture
def kept(tmp_path: Path) -> Synced:
    made = Synced(tmp_path)
    made.write("a.md", TEXT)
    return made


def watch(kept: Synced, *, ahead: float = 3600.0) -> Watch:
    def clock() -> datetime.datetime:
        return datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=ahead)

    return Watch(kept.sources, Around(kept.root, clock))


def test_at_first_and_then_only_when_something_differs(kept: Synced) -> None:
    watching = watch(kept)
    assert watching.due()
    watching.synced()
    assert not watching.due()
    kept.write("b.md", TEXT)
    assert watching.due()
    assert watching.due(), "as long as nobody has synced"
    watching.synced()
    assert not watching.due()
    (kept.docs / "b.md").unlink()
    assert watching.due()


def test_no_file_is_read(kept: Synced, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(self: Found) -> bytes:
        raise AssertionError(self.path)

    monkeypatch.setattr(Found, "read", never)
    assert watch(kept).due()


def test_a_file_that_does_not_stand_still_is_waited_for_but_not_for_ever(kept: Synced) -> None:
    watching = watch(kept, ahead=0.0)
    watching.due()
    watching.synced()
    kept.write("b.md", TEXT)
    looks = [watching.due() for _ in range(PATIENCE)]
    assert looks == [False] * (PATIENCE - 1) + [True]


def test_a_source_that_fails_is_a_difference_once(kept: Synced) -> None:
    watching = watch(kept)
    watching.due()
    watching.synced()
    kept.docs.rename(kept.root / "away")
    assert watching.due()
    watching.synced()
    assert not watching.due()
    (kept.root / "away").rename(kept.docs)
    assert watching.due()


def test_a_source_that_cannot_be_made(kept: Synced) -> None:
    kept.sources = [SourceConfig(kind="no-such-kind")]
    watching = watch(kept)
    assert watching.due()
    watching.synced()
    assert not watching.due()
