"""A git working tree at a revision, read without a checkout."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from sources import GIT, Synced, git, said, text_of

from consilience.config_sources import SourceConfig
from consilience.errors import ConfigurationError
from consilience.ingest.discover import Found
from consilience.sync.around import Around
from consilience.sync.git import GitTree

pytestmark = pytest.mark.skipif(GIT is None, reason="there is no git on PATH")

WELLS = "The handbook says that wells are inspected on every second Monday of the month."
MORE = "Wells that nobody has inspected for a year are closed until somebody has done so."


class Repo:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main")

    def write(self, name: str, *paragraphs: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text_of(*paragraphs))

    def commit(self) -> None:
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-q", "--allow-empty", "-m", "more")


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.write("wells.md", WELLS)
    made.commit()
    return made


@pytest.fixture
def kept(tmp_path: Path, repo: Repo) -> Iterator[Synced]:
    made = Synced(tmp_path, SourceConfig(git="repo", revision="main", deleted="hide"))
    yield made
    made.brain.close()


def test_new_changed_moved_gone(kept: Synced, repo: Repo) -> None:
    assert said(kept.sync()) == [("new", "git:repo:wells.md")]
    assert {origin for origin, _ in kept.shown()[WELLS]} == {"git:repo:wells.md"}
    assert (kept.sync().changes, kept.sync().unchanged) == ((), 1)
    repo.write("wells.md", WELLS, MORE)
    repo.commit()
    assert said(kept.sync()) == [("changed", "git:repo:wells.md")]
    (repo.folder / "d").mkdir()
    git(repo.folder, "mv", "wells.md", "d/wells.md")
    repo.commit()
    assert said(kept.sync()) == [("moved", "git:repo:d/wells.md")]
    repo.write("other.md", "Something else stands in this handbook by now, and nothing more.")
    git(repo.folder, "rm", "-q", "d/wells.md")
    repo.commit()
    assert said(kept.sync()) == [("hidden", "git:repo:d/wells.md"), ("new", "git:repo:other.md")]
    assert WELLS not in kept.shown()


def test_what_is_not_committed_is_not_seen(kept: Synced, repo: Repo) -> None:
    kept.sync()
    repo.write("wells.md", MORE)
    repo.write("loose.md", MORE)
    assert kept.sync().changes == ()
    assert set(kept.shown()) == {WELLS}


def test_another_revision_is_a_change_of_the_same_files(kept: Synced, repo: Repo) -> None:
    git(repo.folder, "tag", "v1")
    repo.write("wells.md", MORE)
    repo.commit()
    kept.sync()
    assert set(kept.shown()) == {MORE}
    kept.sources = [SourceConfig(git="repo", revision="v1", deleted="hide")]
    assert said(kept.sync()) == [("changed", "git:repo:wells.md")]
    assert set(kept.shown()) == {WELLS}


def test_an_unchanged_blob_is_not_read(kept: Synced, monkeypatch: pytest.MonkeyPatch) -> None:
    from consilience.sync.git import Blobs

    kept.sync()

    def never(self: Blobs, oid: str) -> bytes:
        raise AssertionError(oid)

    monkeypatch.setattr(Blobs, "read", never)
    assert kept.sync().unchanged == 1


def test_the_repository_is_left_as_it_was(kept: Synced, repo: Repo) -> None:
    def state() -> dict[str, bytes]:
        return {str(p): p.read_bytes() for p in sorted(repo.folder.rglob("*")) if p.is_file()}

    before = state()
    kept.sync()
    assert state() == before


def test_patterns_links_submodules_and_empty_files(kept: Synced, repo: Repo) -> None:
    repo.write("drafts/x.md", MORE)
    repo.write(".hidden/x.md", MORE)
    (repo.folder / "empty.md").write_bytes(b"")
    (repo.folder / "link.md").symlink_to("wells.md")
    (repo.folder / "picture.png").write_bytes(b"\x89PNG")
    repo.commit()
    git(repo.folder, "update-index", "--add", "--cacheinfo", f"160000,{'ab' * 20},module")
    git(repo.folder, "commit", "-q", "-m", "a submodule")
    kept.sources = [
        SourceConfig(git="repo", revision="main", include=("*.md", "module"), exclude=("drafts/",))
    ]
    report = kept.sync()
    assert said(report, without=["skipped"]) == [("new", "git:repo:wells.md")]
    assert {each.origin.removeprefix("git:repo:"): each.detail for each in report.of("skipped")} == {
        ".hidden/x.md": "hidden",
        "drafts/x.md": "excluded",
        "empty.md": "empty",
        "link.md": "a link",
        "module": "a submodule",
        "picture.png": "not among the files included",
    }


def test_names_with_every_byte(kept: Synced, repo: Repo) -> None:
    name = b'new\nline \xe9\xff "quote".md'
    try:
        Path(os.fsdecode(os.fsencode(repo.folder) + b"/" + name)).write_text(text_of(MORE))
    except OSError:
        pytest.skip("the file system has no such names")
    repo.commit()
    kept.sync()
    assert {origin for origin, _ in kept.shown()[MORE]} == {'git:repo:new\nline %E9%FF "quote".md'}


def test_a_folder_inside_of_a_working_tree(kept: Synced, repo: Repo) -> None:
    repo.write("d/in.md", MORE)
    repo.commit()
    kept.sources = [SourceConfig(git="repo/d")]
    assert said(kept.sync()) == [("new", "git:repo/d:in.md")]


def test_a_bare_repository(kept: Synced, repo: Repo, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repo.folder), "bare.git")
    kept.sources = [SourceConfig(git="bare.git", revision="main")]
    assert said(kept.sync()) == [("new", "git:bare.git:wells.md")]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (SourceConfig(git="repo", revision="nope"), "git:repo has no revision nope"),
        (SourceConfig(git="nowhere"), "no folder"),
        (SourceConfig(git="repo", revision="main:wells.md"), "has no revision"),
    ],
)
def test_what_cannot_be_read_hides_nothing(kept: Synced, source: SourceConfig, message: str) -> None:
    kept.sync()
    kept.sources = [source]
    report = kept.sync()
    assert message in str(report.failed_sources[0].error)
    assert set(kept.shown()) == {WELLS}


def test_a_folder_that_is_no_repository(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    (tmp_path / "plain").mkdir()
    kept = Synced(tmp_path, SourceConfig(git="plain"))
    kept.environ = environ
    assert "not a git repository" in str(kept.sync().failed_sources[0].error)


def test_the_callers_repository_is_not_meant(kept: Synced, tmp_path: Path) -> None:
    other = Repo(tmp_path / "other")
    other.write("wrong.md", MORE)
    other.commit()
    kept.environ = {**kept.environ, "GIT_DIR": str(other.folder / ".git"), "GIT_WORK_TREE": str(other.folder)}
    assert said(kept.sync()) == [("new", "git:repo:wells.md")]


def test_without_git(kept: Synced, tmp_path: Path) -> None:
    kept.write("a.md", MORE)
    kept.sources.append(SourceConfig(path="docs"))
    kept.environ = {"PATH": str(tmp_path / "nothing-here")}
    report = kept.sync()
    assert said(report) == [("new", "docs/a.md")]
    (failed,) = report.failed_sources
    assert "needs the program git" in str(failed.error)
    with pytest.raises(ConfigurationError, match="the program git"):
        list(GitTree(kept.sources[0], kept.around).items())


def test_an_object_that_is_missing_is_one_failure(kept: Synced, repo: Repo) -> None:
    repo.write("b.md", MORE)
    repo.commit()
    tree = GitTree(kept.sources[0], Around(kept.root, kept.clock, kept.environ))
    oid = {item.origin: stamp for item, stamp in tree.items() if isinstance(item, Found)}["git:repo:b.md"]
    (repo.folder / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    report = kept.sync()
    assert ("new", "git:repo:wells.md") in said(report)
    assert ("failed", "git:repo:b.md") in said(report)


def test_what_was_taken_of_a_missing_object_stays(kept: Synced, repo: Repo) -> None:
    kept.sync()
    for path in (repo.folder / ".git" / "objects").glob("[0-9a-f][0-9a-f]/*"):
        kind = subprocess.run(
            [str(GIT), "-C", str(repo.folder), "cat-file", "-t", path.parent.name + path.name],
            capture_output=True,
            check=True,
        ).stdout
        if kind == b"blob\n":
            path.unlink()
    assert ("failed", "git:repo:wells.md") in said(kept.sync())
    assert set(kept.shown()) == {WELLS}


def test_left_out_by_the_rules_by_now(kept: Synced) -> None:
    kept.sync()
    kept.sources = [SourceConfig(git="repo", revision="main", exclude=("wells.md",))]
    assert ("kept", "git:repo:wells.md") in said(kept.sync())
    assert set(kept.shown()) == {WELLS}
