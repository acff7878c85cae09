"""Whatever is done to a folder: sync after sync, search sees what it would see of a brain made anew of the folder."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import Synced, said, text_of

from consilience.config_sources import SourceConfig

NAMES = ("a.md", "b.md", "c.md", "d/a.md", "d/e/b.md", "z.txt")
WORDS = [
    f"Paragraph {n} says of the {what} that it was looked at on day {n} and found to be in order, and dry."
    for n, what in enumerate(("pump", "gauge", "relay", "gate", "tower", "panel"))
]

names = st.sampled_from(NAMES)
texts = st.lists(st.integers(0, len(WORDS) - 1), min_size=1, max_size=4)
edits = st.one_of(
    st.tuples(st.just("write"), names, texts),
    st.tuples(st.just("delete"), names),
    st.tuples(st.just("move"), names, names),
    st.tuples(st.just("copy"), names, names),
    st.tuples(st.just("empty"), names),
    st.tuples(st.just("sync")),
    st.tuples(st.just("ingest")),
)


def apply(kept: Synced, edit: tuple[object, ...]) -> None:
    what = edit[0]
    path = kept.docs / str(edit[1]) if len(edit) > 1 else kept.docs
    path.parent.mkdir(parents=True, exist_ok=True)
    if what == "sync":
        foreseen = kept.sync(dry_run=True)
        done = kept.sync()
        assert foreseen.changes == done.changes
        assert not kept.sync().commits
    elif what == "ingest":
        kept.ingest()
    elif what == "write":
        assert isinstance(edit[2], list)
        path.write_text(text_of(*(WORDS[n] for n in edit[2])))
    elif what == "empty":
        path.write_bytes(b"")
    elif what == "delete":
        path.unlink(missing_ok=True)
    elif path.exists():
        target = kept.docs / str(edit[2])
        target.parent.mkdir(parents=True, exist_ok=True)
        if what == "move":
            path.replace(target)
        else:
            target.write_bytes(path.read_bytes())


@settings(max_examples=6, deadline=None)
@given(st.lists(edits, min_size=2, max_size=12))
def test_sync_equals_a_fresh_ingest(steps: list[tuple[object, ...]]) -> None:
    compare(steps)


@pytest.mark.soak
@settings(max_examples=300, deadline=None)
@given(st.lists(edits, min_size=2, max_size=30))
def test_sync_equals_a_fresh_ingest_at_length(steps: list[tuple[object, ...]]) -> None:
    compare(steps)


def compare(steps: list[tuple[object, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        kept = Synced(Path(folder) / "root", SourceConfig(path="docs", deleted="hide"))
        kept.write("always.md", "This file is never touched, so that the folder is never without any file.")
        for step in [*steps, ("sync",)]:
            apply(kept, step)
        fresh = Synced(Path(folder) / "fresh", SourceConfig(path="docs"))
        fresh.docs.rmdir()
        kept.docs.rename(fresh.docs)
        fresh.ingest()
        assert kept.shown() == fresh.shown()
        assert kept.origins() == fresh.origins()
        assert not kept.brain.verify().problems
        assert said(fresh.sync(), without=["skipped"]) == []
        kept.brain.close()
        fresh.brain.close()
