"""Syncing a folder with an archive in it: its files are there as long as it is."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sources import Synced, said

RETRIES = "Retries are spaced so that a service which comes back is not met by all of its clients at once."
QUEUE = "A queue keeps the work that could not be done, and says how old its oldest entry is."


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Synced]:
    made = Synced(tmp_path)
    made.write("a.md", RETRIES)
    with zipfile.ZipFile(made.docs / "old.zip", "w") as archive:
        archive.writestr("b.md", f"# Notes\n\n{QUEUE}\n")
    yield made
    made.brain.close()


def test_the_files_of_an_archive_stay_while_it_is_there_and_go_with_it(kept: Synced) -> None:
    assert said(kept.sync()) == [("new", "docs/a.md"), ("new", "docs/old.zip")]
    assert set(kept.shown()) == {RETRIES, QUEUE}
    again = kept.sync()
    assert (again.changes, again.commits) == ((), 0)
    assert set(kept.shown()) == {RETRIES, QUEUE}
    (kept.docs / "old.zip").unlink()
    kept.sync()
    assert set(kept.shown()) == {RETRIES}
