"""Ingest as a person meets it: files in, changed, changed back, gone, broken."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest

from consilience.brain import Brain
from consilience.embed import EmbedderSpec
from consilience.ingest.pipeline import label_of
from consilience.ingest.report import IngestReport
from consilience.model import Query
from consilience.propose.remember import Fact, remember
from consilience.protocol import Actor, ActorKind, MemoryType, Semantic, decode

ACTOR = Actor(id="ana@example.org", kind=ActorKind.HUMAN)
INTRO = "Retries are spaced so that a service which comes back is not met by all of its clients at once."
SECOND = "A queue keeps the work that could not be done, and says how old its oldest entry is."


class Clock:
    def __init__(self) -> None:
        self.now = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)

    def __call__(self) -> datetime.datetime:
        self.now += datetime.timedelta(seconds=5)
        return self.now


class Kept:
    """A brain, a folder of files beside it, and an ingest of that folder."""

    def __init__(self, tmp_path: Path) -> None:
        self.docs = tmp_path / "docs"
        self.docs.mkdir()
        self.root = tmp_path
        self.clock = Clock()
        self.brain = Brain.create(tmp_path / "brain", name="kept", embedder=EmbedderSpec(provider="none"))

    def write(self, name: str, *paragraphs: str) -> None:
        (self.docs / name).write_text("\n\n".join(["# Notes", *paragraphs]) + "\n")

    def ingest(self, *paths: Path) -> IngestReport:
        return self.brain.ingest(paths or [self.docs], actor=ACTOR, clock=self.clock, root=self.root)

    def texts(self, *, hidden: bool = False) -> list[str]:
        """Statements of the semantic module: the visible ones, or the hidden ones."""
        with self.brain.store.view() as view:
            blocks = [b for b in view.scan([MemoryType.SEMANTIC]) if b.data is not None]
            out = view.hidden([b.n for b in blocks])
            shown = [decode(b.data).payload for b in blocks if b.data and (b.n in out) == hidden]
            return [p.statement for p in shown if isinstance(p, Semantic)]


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    made = Kept(tmp_path)
    yield made
    made.brain.close()


def test_a_folder_is_taken_and_a_second_time_nothing_is_written(kept: Kept) -> None:
    kept.write("a.md", INTRO, SECOND)
    first = kept.ingest()
    assert (first.taken, first.unchanged, first.passages) == (1, 0, 2)
    again = kept.ingest()
    assert (again.taken, again.changed, again.unchanged, again.wrote) == (0, 0, 1, False)
    with kept.brain.store.view() as view:
        assert len(view.history()) == first.commits


def test_identity_is_content_only(kept: Kept) -> None:
    """The same paragraph in two files, under two headings, is one block with two sources."""
    kept.write("a.md", "## One", INTRO)
    kept.write("b.md", "## Two", INTRO)
    kept.ingest()
    assert kept.texts() == [INTRO]
    (match,) = kept.brain.search(Query(text="spaced retries", floor=False)).matches
    assert [(s.origin, s.place.headings) for s in match.sources] == [
        ("docs/a.md", ("Notes", "One")),
        ("docs/b.md", ("Notes", "Two")),
    ]


def test_an_edited_paragraph_supersedes_the_old_one(kept: Kept) -> None:
    kept.write("a.md", INTRO, SECOND)
    kept.ingest()
    edited = INTRO.replace("at once", "in the same second")
    kept.write("a.md", edited, SECOND)
    report = kept.ingest()
    assert (report.changed, report.superseded, report.demoted) == (1, 1, 0)
    assert kept.texts() == [SECOND, edited]
    assert kept.texts(hidden=True) == [INTRO]
    found = kept.brain.search(
        Query(text="spaced retries of clients", floor=False, include_superseded=True)
    ).matches
    by_text = {m.text: m for m in found}
    assert by_text[INTRO].superseded_by == by_text[edited].block_id


def test_a_paragraph_that_is_gone_is_demoted(kept: Kept) -> None:
    kept.write("a.md", INTRO, SECOND)
    kept.ingest()
    kept.write("a.md", SECOND)
    report = kept.ingest()
    assert (report.superseded, report.demoted) == (0, 1)
    assert kept.texts(hidden=True) == [INTRO]


def test_a_paragraph_that_another_file_still_holds_stays(kept: Kept) -> None:
    kept.write("a.md", INTRO, SECOND)
    kept.write("b.md", INTRO)
    kept.ingest()
    kept.write("a.md", SECOND)
    report = kept.ingest()
    assert report.demoted == 0
    assert sorted(kept.texts()) == sorted([INTRO, SECOND])


def test_a_file_that_is_changed_back_brings_its_passages_back(kept: Kept) -> None:
    edited = INTRO.replace("at once", "in the same second")
    for text in (INTRO, edited, INTRO, edited, INTRO):
        kept.write("a.md", text)
        kept.ingest()
    assert kept.texts() == [INTRO]
    assert kept.texts(hidden=True) == [edited]
    with kept.brain.store.view() as view:
        assert view.hidden_count(MemoryType.CANONICAL) == 1


def test_a_file_under_two_names_is_one_canonical_block_with_two_origins(kept: Kept) -> None:
    kept.write("a.md", INTRO)
    kept.write("b.md", INTRO)
    kept.ingest()
    kept.write("a.md", SECOND)
    kept.ingest()
    assert sorted(kept.texts()) == sorted([INTRO, SECOND])
    with kept.brain.store.view() as view:
        assert view.count(MemoryType.CANONICAL) == 2
        assert view.hidden_count(MemoryType.CANONICAL) == 0


def test_a_file_that_is_gone_is_named_and_nothing_is_hidden(kept: Kept) -> None:
    kept.write("a.md", INTRO)
    kept.write("b.md", SECOND)
    kept.ingest()
    (kept.docs / "b.md").unlink()
    report = kept.ingest()
    assert report.gone == ("docs/b.md",)
    assert SECOND in kept.texts()
    assert kept.ingest(kept.docs / "a.md").gone == ()


def test_a_registered_file_keeps_its_origin_and_its_bytes(kept: Kept) -> None:
    kept.write("a.md", INTRO)
    original = (kept.docs / "a.md").read_bytes()
    kept.ingest()
    with kept.brain.store.view() as view:
        ((origin, registered),) = list(view.origins())
        assert origin == "docs/a.md"
        assert registered.blob is not None and view.content(registered.blob) == original


def test_one_bad_file_does_not_take_the_others_with_it(kept: Kept) -> None:
    kept.write("a.md", INTRO)
    (kept.docs / "binary.md").write_bytes(bytes(range(256)) * 20)
    (kept.docs / "empty.md").write_bytes(b"")
    (kept.docs / "latin.txt").write_bytes("Señal débil, según el operador de la antena.".encode("cp1252"))
    report = kept.ingest()
    assert report.taken == 2
    assert {p.path for p in report.skipped} == {"docs/binary.md", "docs/empty.md"}
    assert any("Señal débil" in t for t in kept.texts())


def test_a_reader_that_crashes_fails_its_file_alone(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    from consilience.ingest.model import Skip
    from consilience.ingest.readers import contained

    def crash(reader: str, data: bytes, name: str) -> Skip:
        return Skip("its reader crashed (SIGSEGV)", failed=True)

    monkeypatch.setattr(contained, "read", crash)
    (kept.docs / "a.docx").write_bytes(b"PK\x03\x04" + bytes(100))
    kept.write("z.md", INTRO)
    report = kept.ingest()
    assert [(p.path, p.reason) for p in report.failed] == [("docs/a.docx", "its reader crashed (SIGSEGV)")]
    assert (report.taken, kept.texts()) == (1, [INTRO])


def test_a_newer_reader_replaces_the_passages_of_the_older_one(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    from consilience.ingest.readers.formats import MARKDOWN, READERS

    kept.write("a.md", INTRO)
    kept.ingest()
    monkeypatch.setitem(READERS, MARKDOWN, ("markdown", "99"))
    report = kept.ingest()
    assert report.changed == 1
    assert kept.texts() == [INTRO]
    assert kept.ingest().unchanged == 1


def test_an_interrupt_keeps_what_was_committed(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    from consilience.ingest import pipeline

    monkeypatch.setattr(pipeline, "BATCH_PASSAGES", 1)
    for i in range(4):
        kept.write(f"{i}.md", f"{INTRO} Number {i}.")
    real, calls = pipeline.Ingest._commit, []

    def commit(self: pipeline.Ingest, batch: list[pipeline.Prepared]) -> None:
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(batch)
        real(self, batch)

    monkeypatch.setattr(pipeline.Ingest, "_commit", commit)
    report = kept.ingest()
    assert report.interrupted and report.taken == 2
    monkeypatch.undo()
    after = kept.ingest()
    assert (after.taken, after.unchanged) == (2, 2)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Short.", "Short."),
        ("first line\nsecond", "first line"),
        ("word " * 40, ("word " * 15 + "word").strip() + "…"),
        ("x" * 200, "x" * 79 + "…"),
    ],
)
def test_a_label_is_the_beginning_of_the_text_cut_at_a_word(text: str, label: str) -> None:
    assert label_of(text)[:80] == label_of(text)
    assert label_of(text).startswith(label[:60])


def test_a_status_counts_files_and_not_what_was_remembered(kept: Kept) -> None:
    kept.write("a.md", INTRO)
    kept.ingest()
    remember(kept.brain.store, "kept", Fact(text=SECOND), actor=ACTOR, clock=kept.clock, source="a book")
    assert kept.brain.status().files == 1
    (kept.docs / "a.md").rename(kept.docs / "b.md")
    kept.ingest()
    assert kept.brain.status().files == 2
