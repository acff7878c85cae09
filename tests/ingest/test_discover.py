"""Walking: what is found, in which order, under which name, and why the rest is not."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.errors import UsageError
from consilience.ingest import Found, Skipped, discover
from consilience.ingest.discover import origin_of


def walk(*paths: Path | str, root: Path | None = None, **options: Any) -> list[Found | Skipped]:
    return list(discover(paths, root=root, **options))


def found(results: Iterable[Found | Skipped]) -> list[str]:
    return [item.origin for item in results if isinstance(item, Found)]


def skipped(results: Iterable[Found | Skipped]) -> dict[str, str]:
    return {item.origin: item.reason for item in results if isinstance(item, Skipped)}


def make(root: Path, *names: str, text: str = "Words of some kind.\n") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_a_folder_is_walked_in_a_fixed_order(tmp_path: Path) -> None:
    make(tmp_path, "b.md", "a/z.md", "a/b/c.rst", "B.md", "c.txt", "a.html")
    names = found(walk(tmp_path, root=tmp_path))
    assert names == ["B.md", "a.html", "b.md", "c.txt", "a/z.md", "a/b/c.rst"]
    assert found(walk(tmp_path, root=tmp_path)) == names


def test_origins_are_relative_inside_the_root_and_uris_outside(tmp_path: Path) -> None:
    make(tmp_path, "in/a.md", "out/b c.md")
    names = found(walk(tmp_path / "in", tmp_path / "out", root=tmp_path / "in"))
    assert names == ["a.md", (tmp_path / "out/b c.md").as_uri()]
    assert found(walk(tmp_path / "in/a.md")) == [(tmp_path / "in/a.md").as_uri()]


def test_each_file_left_out_has_its_reason(tmp_path: Path) -> None:
    make(tmp_path, "a.md", ".hidden.md", ".git/config.md", "pic.png", "tool")
    make(tmp_path, "empty.md", text="")
    with (tmp_path / "huge.md").open("wb") as file:
        file.truncate(100 * 2**20)
    results = walk(tmp_path, root=tmp_path)
    assert found(results) == ["a.md"]
    assert skipped(results) == {
        ".git": "hidden",
        ".hidden.md": "hidden",
        "empty.md": "empty",
        "huge.md": "too large: 100 MiB, the limit is 64 MiB",
        "pic.png": "no reader for this kind of file (.png)",
        "tool": "no reader for this kind of file (no ending)",
    }
    assert not any(item.error for item in results if isinstance(item, Skipped))


def test_ignore_files_nest_and_the_innermost_word_counts(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "drafts/b.md", "notes/c.md", "notes/keep.md", "notes/deep/d.md", "build/e.md")
    make(tmp_path, ".gitignore", text="build/\n/drafts\n*.tmp.md\n[\n")
    make(tmp_path, "notes/.ignore", text="*.md\n!keep.md\n")
    make(tmp_path, "notes/deep/.consilienceignore", text="!d.md\n")
    results = walk(tmp_path, root=tmp_path)
    assert found(results) == ["a.md", "notes/keep.md", "notes/deep/d.md"]
    assert skipped(results)["build"] == "ignored by .gitignore"
    assert skipped(results)["notes/c.md"] == "ignored by .ignore"
    assert len(found(walk(tmp_path, root=tmp_path, use_ignore_files=False))) == 6


def test_rules_above_a_folder_within_the_root_hold(tmp_path: Path) -> None:
    make(tmp_path, "docs/a.md", "docs/b.draft.md")
    make(tmp_path, ".gitignore", text="*.draft.md\n")
    assert found(walk(tmp_path / "docs", root=tmp_path)) == ["docs/a.md"]


def test_what_is_named_itself_is_taken_although_ignored_or_hidden(tmp_path: Path) -> None:
    make(tmp_path, "b.md", ".c.md")
    make(tmp_path, ".gitignore", text="*.md\n")
    assert found(walk(tmp_path / "b.md", tmp_path / ".c.md", root=tmp_path)) == ["b.md", ".c.md"]


def test_include_and_exclude(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "b.rst", "old/c.md", "new/d.md")
    results = walk(tmp_path, root=tmp_path, include=["*.md"], exclude=["old/"])
    assert found(results) == ["a.md", "new/d.md"]
    assert skipped(results) == {"b.rst": "not among the files included", "old": "excluded"}
    with pytest.raises(UsageError):
        walk(tmp_path, include=["!"])


def test_globs_given_as_text(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "x/b.md", "x/y/c.md", "x/d.rst")
    assert found(walk(tmp_path / "x" / "*.md", root=tmp_path)) == ["x/b.md"]
    assert found(walk(tmp_path / "**" / "*.md", root=tmp_path)) == ["a.md", "x/b.md", "x/y/c.md"]
    nothing = walk(tmp_path / "*.zzz", root=tmp_path)
    assert [(item.reason, item.error) for item in nothing if isinstance(item, Skipped)] == [
        ("matches no file", True)
    ]


def test_a_file_whose_name_is_a_glob(tmp_path: Path) -> None:
    make(tmp_path, "[a].md")
    assert found(walk(tmp_path / "[a].md", root=tmp_path)) == ["[a].md"]


def test_a_file_named_twice_is_found_once(tmp_path: Path) -> None:
    make(tmp_path, "x/a.md")
    assert found(walk(tmp_path, tmp_path / "x", tmp_path / "x/a.md", root=tmp_path)) == ["x/a.md"]


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    make(tmp_path, "a.md")
    missing, taken = walk(tmp_path / "no.md", tmp_path / "a.md", root=tmp_path)
    assert isinstance(missing, Skipped) and missing.error and missing.reason == "does not exist"
    assert isinstance(taken, Found)


def test_names_that_differ_by_case_are_two_files(tmp_path: Path) -> None:
    make(tmp_path, "Pond.md")
    if (tmp_path / "pond.md").exists():
        pytest.skip("this file system knows no case")
    make(tmp_path, "pond.md")
    assert found(walk(tmp_path, root=tmp_path)) == ["Pond.md", "pond.md"]


def test_a_name_that_is_no_utf8_has_a_readable_origin(tmp_path: Path) -> None:
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/p\xf6nd.md")).write_text("Words.\n")
    except OSError:
        pytest.skip("this file system wants UTF-8 names")
    make(tmp_path, "p%F6nd.md")
    results = walk(tmp_path, root=tmp_path)
    assert found(results) == ["p%F6nd.md"]
    assert skipped(results)["p%F6nd.md"].startswith("has the same origin as")


def test_links_are_followed_once_and_never_in_circles(tmp_path: Path) -> None:
    make(tmp_path, "docs/a.md", "docs/sub/b.md", "elsewhere/c.md")
    docs = tmp_path / "docs"
    (docs / "0.md").symlink_to(docs / "a.md")
    (docs / "circle").symlink_to(docs)
    (docs / "self").symlink_to(docs / "self")
    (docs / "broken.md").symlink_to(docs / "no.md")
    (docs / "out.md").symlink_to(tmp_path / "elsewhere/c.md")
    results = walk(docs, root=tmp_path)
    assert found(results) == ["docs/a.md", "docs/sub/b.md", "docs/out.md"]
    reasons = skipped(results)
    assert reasons["docs/0.md"] == reasons["docs/circle"] == "a link to what is taken under its own name"
    assert "nowhere" in reasons["docs/broken.md"] and "circle" in reasons["docs/self"]
    assert skipped(walk(docs, root=docs))["out.md"] == "a link that leads out of the folders given"


def test_a_link_that_is_named_itself_is_followed(tmp_path: Path) -> None:
    make(tmp_path, "real/a.md")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert found(walk(tmp_path / "link", root=tmp_path)) == ["link/a.md"]


def test_an_unreadable_folder_is_told_and_the_rest_is_walked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "a.md", "locked/b.md", "open/c.md")
    real = os.scandir

    def scandir(path: str) -> Any:
        if str(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    results = walk(tmp_path, root=tmp_path)
    assert found(results) == ["a.md", "open/c.md"]
    assert skipped(results) == {"locked": "cannot be read: Permission denied"}


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes here")
    os.mkfifo(tmp_path / "pipe.md")
    assert skipped(walk(tmp_path, root=tmp_path)) == {"pipe.md": "not a regular file"}


@given(st.lists(st.sampled_from(["a", "b c", "ü", "%41", "x#y"]), min_size=1, max_size=4), st.integers(0, 4))
def test_the_origin_of_what_is_listed_is_that_of_its_path(parts: list[str], above: int) -> None:
    """Wherever the root lies: above the folder that is walked, in it, or beside the file."""
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        file = top.joinpath(*parts, "n ö.md")
        file.parent.mkdir(parents=True)
        file.write_text("Words of some kind.\n", encoding="utf-8")
        root = top.joinpath(*parts[:above])
        assert found(walk(top, root=root)) == [origin_of(file, root)]
        assert found(walk(top)) == [origin_of(file, None)]


def test_an_ignore_file_of_a_folder_reached_by_a_link_counts(tmp_path: Path) -> None:
    make(tmp_path, "elsewhere/in/a.md", "elsewhere/in/b.md", "walked/own.md")
    (tmp_path / "elsewhere/in/.ignore").write_text("b.md\n")
    (tmp_path / "walked/in").symlink_to(tmp_path / "elsewhere/in")
    results = walk(tmp_path / "walked", root=tmp_path)
    assert found(results) == ["walked/own.md", "walked/in/a.md"]
    assert skipped(results) == {"walked/in/b.md": "ignored by .ignore"}
