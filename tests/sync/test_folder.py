"""Syncing a folder: new, changed, moved, gone, and everything that goes wrong in between."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sources import ACTOR, Synced, said

from consilience.config_sources import SourceConfig
from consilience.ingest.discover import Found
from consilience.model import Filters, Query
from consilience.retain.policy import Policy
from consilience.sync.folder import paths_of
from consilience.sync.seen import NAME

RETRIES = "Retries are spaced so that a service which comes back is not met by all of its clients at once."
QUEUE = "A queue keeps the work that could not be done, and says how old its oldest entry is."
GAUGE = "The gauge at the northern well is read every morning and written into the book."


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Synced]:
    made = Synced(tmp_path)
    made.write("a.md", RETRIES)
    made.write("b.md", QUEUE)
    yield made
    made.brain.close()


def test_new_then_nothing(kept: Synced) -> None:
    assert said(kept.sync()) == [("new", "docs/a.md"), ("new", "docs/b.md")]
    again = kept.sync()
    assert (again.changes, again.unchanged, again.commits) == ((), 2, 0)
    assert set(kept.shown()) == {RETRIES, QUEUE}


def test_what_ingest_took_is_not_taken_twice(kept: Synced) -> None:
    kept.ingest()
    report = kept.sync()
    assert (report.changes, report.unchanged, report.commits) == ((), 2, 0)


def test_changed(kept: Synced) -> None:
    kept.sync()
    kept.write("a.md", RETRIES, GAUGE)
    assert said(kept.sync()) == [("changed", "docs/a.md")]
    assert set(kept.shown()) == {RETRIES, QUEUE, GAUGE}


def test_times_that_were_put_back_do_not_hide_a_change(kept: Synced) -> None:
    kept.sync()
    path = kept.docs / "a.md"
    before = path.stat()
    path.write_text(path.read_text().replace("spaced", "packed"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    assert said(kept.sync()) == [("changed", "docs/a.md")]


class TestMoved:
    def test_no_new_block_and_the_origin_moves(self, kept: Synced) -> None:
        kept.sync()
        with kept.brain.store.view() as view:
            before = {m.memory_type.value: m.root for m in view.modules()}
        (kept.docs / "a.md").rename(kept.docs / "z.md")
        report = kept.sync()
        (change,) = report.changes
        assert (change.what, change.origin, change.detail) == ("moved", "docs/z.md", "from docs/a.md")
        with kept.brain.store.view() as view:
            after = {m.memory_type.value: m.root for m in view.modules()}
        assert {key for key in before if before[key] != after[key]} == {"provenance"}
        assert kept.origins() == {"docs/z.md", "docs/b.md"}
        assert {origin for origin, _ in kept.shown()[RETRIES]} == {"docs/z.md"}
        assert kept.sync().changes == ()

    def test_search_names_the_new_place_only(self, kept: Synced) -> None:
        kept.sync()
        (kept.docs / "a.md").rename(kept.docs / "z.md")
        kept.sync()
        (match,) = kept.brain.search(Query(text="retries spaced service")).matches
        assert [source.origin for source in match.sources] == ["docs/z.md"]
        for asked, count in (("docs/z.md", 1), ("docs/a.md", 0)):
            query = Query(text="retries spaced service", filters=Filters(sources=(asked,)))
            assert len(kept.brain.search(query).matches) == count, asked

    def test_a_block_says_which_place_is_the_former_one(self, kept: Synced) -> None:
        kept.sync()
        (kept.docs / "a.md").rename(kept.docs / "z.md")
        kept.sync()
        (match,) = kept.brain.search(Query(text="retries spaced service")).matches
        report = kept.brain.block(match.block_id)
        assert [source.origin for source in report.sources] == ["docs/z.md"]
        assert [source.origin for source in report.former] == ["docs/a.md"]
        assert kept.brain.trace(report.sources[0].block_id).title == "docs/z.md (formerly docs/a.md)"

    def test_with_the_rule_keep_as_well(self, tmp_path: Path) -> None:
        kept = Synced(tmp_path, SourceConfig(path="docs"))
        kept.write("a.md", RETRIES)
        kept.sync()
        (kept.docs / "a.md").rename(kept.docs / "z.md")
        assert said(kept.sync()) == [("moved", "docs/z.md")]
        assert kept.origins() == {"docs/z.md"}

    def test_a_swap_is_two_changes_and_back_is_too(self, kept: Synced) -> None:
        kept.sync()
        first = kept.shown()
        for _ in range(2):
            a, b = kept.docs / "a.md", kept.docs / "b.md"
            a.rename(kept.docs / "t")
            b.rename(a)
            (kept.docs / "t").rename(b)
            assert said(kept.sync()) == [("changed", "docs/a.md"), ("changed", "docs/b.md")]
        assert kept.shown() == first

    def test_a_copy_is_not_a_move(self, kept: Synced) -> None:
        kept.sync()
        (kept.docs / "copy.md").write_bytes((kept.docs / "a.md").read_bytes())
        assert said(kept.sync()) == [("new", "docs/copy.md")]
        (kept.docs / "a.md").unlink()
        assert said(kept.sync()) == [("hidden", "docs/a.md")]
        assert {origin for origin, _ in kept.shown()[RETRIES]} == {"docs/copy.md"}

    def test_onto_another_file(self, kept: Synced) -> None:
        kept.sync()
        (kept.docs / "a.md").replace(kept.docs / "b.md")
        assert said(kept.sync()) == [("moved", "docs/b.md")]
        assert set(kept.shown()) == {RETRIES}
        assert kept.origins() == {"docs/b.md"}


class TestGone:
    def test_hidden_and_back(self, kept: Synced) -> None:
        kept.sync()
        before, data = kept.shown(), (kept.docs / "b.md").read_bytes()
        (kept.docs / "b.md").unlink()
        report = kept.sync()
        assert said(report) == [("hidden", "docs/b.md")]
        assert report.passages_hidden == 1
        assert set(kept.shown()) == {RETRIES}
        assert not kept.brain.search(Query(text="queue oldest entry")).matches
        assert kept.sync().changes == ()
        (kept.docs / "b.md").write_bytes(data)
        assert said(kept.sync()) == [("new", "docs/b.md")]
        assert kept.shown() == before

    def test_kept(self, tmp_path: Path) -> None:
        kept = Synced(tmp_path, SourceConfig(path="docs"))
        kept.write("a.md", RETRIES)
        kept.write("b.md", QUEUE)
        kept.sync()
        (kept.docs / "b.md").unlink()
        assert said(kept.sync()) == [("kept", "docs/b.md")]
        assert set(kept.shown()) == {RETRIES, QUEUE}

    def test_what_another_file_holds_too_stays(self, kept: Synced) -> None:
        kept.write("both.md", RETRIES, GAUGE)
        kept.sync()
        (kept.docs / "a.md").unlink()
        assert kept.sync().passages_hidden == 0
        (kept.docs / "both.md").unlink()
        assert kept.sync().passages_hidden == 2
        assert set(kept.shown()) == {QUEUE}

    def test_both_at_once(self, kept: Synced) -> None:
        kept.write("both.md", RETRIES, GAUGE)
        kept.sync()
        (kept.docs / "a.md").unlink()
        (kept.docs / "both.md").unlink()
        assert kept.sync().passages_hidden == 2
        assert set(kept.shown()) == {QUEUE}

    def test_a_file_that_was_emptied(self, kept: Synced) -> None:
        kept.sync()
        (kept.docs / "b.md").write_bytes(b"")
        assert ("hidden", "docs/b.md") in said(kept.sync())
        assert set(kept.shown()) == {RETRIES}

    def test_a_folder_in_the_place_of_a_file(self, kept: Synced) -> None:
        kept.sync()
        (kept.docs / "b.md").unlink()
        kept.write("b.md/c.md", GAUGE)
        assert said(kept.sync()) == [("hidden", "docs/b.md"), ("new", "docs/b.md/c.md")]

    def test_an_empty_folder_hides_nothing(self, kept: Synced) -> None:
        kept.sync()
        for path in list(kept.docs.iterdir()):
            path.unlink()
        report = kept.sync()
        assert said(report) == [("kept", "docs/a.md"), ("kept", "docs/b.md")]
        assert "not mounted" in str(report.failed_sources[0].error)
        assert set(kept.shown()) == {RETRIES, QUEUE}

    def test_a_folder_that_is_not_there_hides_nothing(self, kept: Synced) -> None:
        kept.sync()
        kept.docs.rename(kept.root / "elsewhere")
        report = kept.sync()
        assert report.changes == ()
        assert "docs cannot be read" in str(report.failed_sources[0].error)
        assert set(kept.shown()) == {RETRIES, QUEUE}

    def test_left_out_by_the_rules_by_now(self, kept: Synced) -> None:
        kept.sync()
        kept.sources = [SourceConfig(path="docs", deleted="hide", exclude=("b.md",))]
        assert ("kept", "docs/b.md") in said(kept.sync())
        assert QUEUE in kept.shown()

    def test_what_was_taken_from_elsewhere_is_not_of_this_source(self, kept: Synced) -> None:
        other = kept.root / "other.md"
        other.write_text(f"# Other\n\n{GAUGE}\n")
        kept.ingest(other)
        other.unlink()
        kept.sync()
        assert GAUGE in kept.shown()

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
    def test_permission_denied_in_the_middle(self, kept: Synced) -> None:
        kept.write("deep/c.md", GAUGE)
        kept.sync()
        (kept.docs / "deep").chmod(0)
        try:
            report = kept.sync()
        finally:
            (kept.docs / "deep").chmod(0o755)
        assert ("failed", "docs/deep") in said(report)
        assert ("kept", "docs/deep/c.md") in said(report)
        assert GAUGE in kept.shown()

    def test_a_folder_that_cannot_be_read(self, kept: Synced, monkeypatch: pytest.MonkeyPatch) -> None:
        """As above, where the tests run as root: what the system answers is put in its mouth."""
        kept.write("deep/c.md", GAUGE)
        kept.sync()
        deny(monkeypatch, kept.docs / "deep")
        report = kept.sync()
        monkeypatch.undo()
        assert ("failed", "docs/deep") in said(report)
        assert ("kept", "docs/deep/c.md") in said(report)
        assert set(kept.shown()) == {RETRIES, QUEUE, GAUGE}


def deny(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Let nothing below a folder be looked at."""
    scandir, stat = os.scandir, Path.stat

    def no_scandir(path: str = ".") -> object:
        if Path(os.fsdecode(path)) == folder:
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    def no_stat(self: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if folder in self.parents:
            raise PermissionError(13, "Permission denied", str(self))
        return stat(self, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(os, "scandir", no_scandir)
    monkeypatch.setattr(Path, "stat", no_stat)


class TestTrouble:
    def reading(self, monkeypatch: pytest.MonkeyPatch, name: str, do: Callable[[Path], None]) -> None:
        read = Found.read

        def disturbed(self: Found) -> bytes:
            if self.path.name == name:
                do(self.path)
            return read(self)

        monkeypatch.setattr(Found, "read", disturbed)

    def test_a_file_that_vanishes_between_listing_and_reading(
        self, kept: Synced, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.reading(monkeypatch, "b.md", lambda path: path.unlink(missing_ok=True))
        assert said(kept.sync()) == [("new", "docs/a.md")]

    def test_a_known_file_that_vanishes_while_it_is_looked_at(
        self, kept: Synced, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        kept.sync()
        kept.write("b.md", GAUGE)
        self.reading(monkeypatch, "b.md", lambda path: path.unlink(missing_ok=True))
        assert said(kept.sync()) == [("hidden", "docs/b.md")]

    def test_a_file_that_changes_between_looking_and_taking(
        self, kept: Synced, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reads: list[int] = []

        def grow(path: Path) -> None:
            reads.append(1)
            if len(reads) == 2:
                kept.write("b.md", QUEUE, GAUGE)

        self.reading(monkeypatch, "b.md", grow)
        assert said(kept.sync()) == [("new", "docs/a.md"), ("new", "docs/b.md")]
        assert GAUGE in kept.shown()
        assert kept.sync().changes == ()

    def test_a_file_that_cannot_be_read_does_not_stop_the_others(
        self, kept: Synced, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(path: Path) -> None:
            raise PermissionError(13, "Permission denied")

        self.reading(monkeypatch, "a.md", refuse)
        report = kept.sync()
        assert said(report) == [("failed", "docs/a.md"), ("new", "docs/b.md")]
        monkeypatch.undo()
        assert said(kept.sync()) == [("new", "docs/a.md")]

    def test_a_failing_source_does_not_stop_the_others(self, kept: Synced) -> None:
        kept.sources.insert(0, SourceConfig(path="nowhere"))
        kept.sources.append(SourceConfig(kind="no-such-kind"))
        report = kept.sync()
        assert said(report) == [("new", "docs/a.md"), ("new", "docs/b.md")]
        assert [each.name for each in report.failed_sources] == ["nowhere", "no-such-kind"]

    def test_links_in_a_circle(self, kept: Synced) -> None:
        (kept.docs / "loop").symlink_to(kept.docs)
        (kept.docs / "self").symlink_to(kept.docs / "self")
        assert said(kept.sync(), without=["skipped"]) == [
            ("new", "docs/a.md"),
            ("new", "docs/b.md"),
            ("failed", "docs/self"),
        ]

    def test_overlapping_sources(self, kept: Synced) -> None:
        kept.write("sub/c.md", GAUGE)
        kept.sources.append(SourceConfig(path="docs/sub", deleted="keep"))
        assert said(kept.sync()) == [("new", f"docs/{name}") for name in ("a.md", "b.md", "sub/c.md")]
        (kept.docs / "sub/c.md").unlink()
        kept.write("sub/d.md", "Something else stands in the folder, so that it is not an empty one.")
        assert ("kept", "docs/sub/c.md") in said(kept.sync())

    def test_a_single_file(self, kept: Synced) -> None:
        kept.sources = [SourceConfig(path="docs/a.md", deleted="hide")]
        assert said(kept.sync()) == [("new", "docs/a.md")]
        (kept.docs / "a.md").unlink()
        assert kept.sync().failed_sources
        assert RETRIES in kept.shown()

    @pytest.mark.parametrize("damage", [b"", b"\x00" * 40, b"\x95\x01"])
    def test_what_was_seen_is_damaged(self, kept: Synced, damage: bytes) -> None:
        kept.sync()
        (kept.brain.path / "derived" / NAME).write_bytes(damage)
        report = kept.sync()
        assert (report.changes, report.unchanged) == ((), 2)

    def test_an_unchanged_file_is_not_read_again(self, kept: Synced, monkeypatch: pytest.MonkeyPatch) -> None:
        kept.sync()

        def never(self: Found) -> bytes:
            raise AssertionError(self.path)

        monkeypatch.setattr(Found, "read", never)
        assert kept.sync().unchanged == 2

    def test_a_reader_of_another_version_reads_everything(
        self, kept: Synced, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from consilience.sync import seen

        kept.sync()
        monkeypatch.setattr(seen, "_readers", lambda: "others")
        assert seen.load(kept.brain.path / "derived") == {}


@pytest.mark.parametrize(
    "name",
    [
        b"caf\xc3\xa9 \xe2\x98\x83.md",
        b"latin \xe9\xff.md",
        b"new\nline\ttab.md",
        b"%41 percent %.md",
        b"quote\"'\\ back.md",
        b"git:x.md",
        b"-dash.md",
        b"a" * 200 + b".md",
    ],
)
def test_names_of_every_kind(kept: Synced, name: bytes) -> None:
    path = Path(os.fsdecode(os.path.join(os.fsencode(kept.docs), name)))  # noqa: PTH118
    try:
        path.write_text(f"# Name\n\n{GAUGE}\n")
    except OSError:
        pytest.skip("the file system has no such names")
    kept.sync()
    (origin,) = {origin for origin, _ in kept.shown()[GAUGE]}
    assert path in paths_of(str(origin), kept.root)
    assert kept.sync().changes == ()
    path.unlink()
    assert [what for what, _ in said(kept.sync())] == ["hidden"]
    assert GAUGE not in kept.shown()


class TestRedacted:
    def test_it_never_comes_back_and_is_said_each_time(self, tmp_path: Path) -> None:
        kept = Synced(tmp_path)
        kept.brain._policy = Policy(redact=True, canonical_redact=True)
        kept.write("a.md", RETRIES)
        kept.write("b.md", QUEUE)
        kept.sync()
        (match,) = kept.brain.search(Query(text="retries spaced service")).matches
        kept.brain.redact([match.block_id], reason="private", actor=ACTOR, clock=kept.clock)
        kept.write("c.md", GAUGE)
        for expected in ([("refused", "docs/a.md"), ("new", "docs/c.md")], [("refused", "docs/a.md")]):
            report = kept.sync()
            assert said(report) == expected
            assert "redacted" in report.of("refused")[0].detail
        (kept.docs / "a.md").rename(kept.docs / "z.md")
        assert said(kept.sync(dry_run=True)) == [("hidden", "docs/a.md"), ("refused", "docs/z.md")]
        assert said(kept.sync()) == [("hidden", "docs/a.md"), ("refused", "docs/z.md")]
        assert set(kept.shown()) == {QUEUE, GAUGE}
        assert not kept.brain.verify().problems


def test_a_dry_run_is_what_happens_then(kept: Synced) -> None:
    kept.write("sub/c.md", GAUGE)
    kept.sync()
    kept.write("a.md", RETRIES, "And one more thing is said here about the spacing of retries.")
    (kept.docs / "b.md").rename(kept.docs / "moved.md")
    (kept.docs / "sub" / "c.md").unlink()
    kept.write("new.md", "Something that nobody has said in this folder before now.")
    (kept.docs / "fake.pdf").write_bytes(b"no such thing as this")
    (kept.docs / "empty.md").write_bytes(b"")
    (kept.docs / "x.bin").write_bytes(b"\x00\x01")
    with kept.brain.store.view() as view:
        before = view.snapshot
    foreseen = kept.sync(dry_run=True)
    with kept.brain.store.view() as view:
        assert view.snapshot == before
    done = kept.sync()
    assert foreseen.changes == done.changes
    assert foreseen.unchanged == done.unchanged
    assert {"changed", "moved", "hidden", "new", "skipped"} <= {each.what for each in done.changes}


def test_an_interrupt_keeps_what_is_in_and_the_next_goes_on(
    kept: Synced, monkeypatch: pytest.MonkeyPatch
) -> None:
    from consilience.ingest import pipeline

    monkeypatch.setattr(pipeline, "BATCH_PASSAGES", 1)
    read, count = Found.read, [0]

    def interrupted(self: Found) -> bytes:
        count[0] += 1
        if count[0] == 4:  # two looks, one taken, and then
            raise KeyboardInterrupt
        return read(self)

    with monkeypatch.context() as patched:
        patched.setattr(Found, "read", interrupted)
        report = kept.sync()
    assert report.interrupted
    assert said(report) == [("new", "docs/a.md")]
    assert said(kept.sync()) == [("new", "docs/b.md")]
