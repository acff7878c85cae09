"""`csl project ...` and `csl status`."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

Csl = Any


def git(folder: Path, email: str) -> None:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    subprocess.run(["git", "-C", str(folder), "config", "user.email", email], check=True)


class TestInit:
    def test_makes_a_project_here(self, csl: Csl, empty: Path) -> None:
        done = csl("project", "init", "lectures", "--actor", "ana@example.org")
        assert done.status == 0
        assert done.out.splitlines()[:2] == [
            f"project lectures made: {empty / 'consilience.toml'}",
            "actor: ana@example.org (from --actor)",
        ]
        assert done.err == ""
        assert csl("project", "show", "--json").data["actor"] == "ana@example.org"

    def test_takes_the_git_identity_and_says_so(self, csl: Csl, empty: Path) -> None:
        git(empty, "ana@example.org")
        assert "actor: ana@example.org (from git: user.email)" in csl("project", "init", "x").out

    def test_a_git_identity_that_is_no_actor_id(self, csl: Csl, empty: Path) -> None:
        git(empty, "Ana@Example.org")
        done = csl("project", "init", "x")
        assert done.status == 0
        assert "actor: nobody" in done.out
        assert 'add actor = "you@example.org" under [project]' in done.out
        assert "warning: git's user.email is not taken as the actor" in done.err

    def test_no_git_identity(self, csl: Csl, empty: Path) -> None:
        done = csl("project", "init", "x", "--json")
        assert done.data == {
            "name": "x",
            "file": str(empty / "consilience.toml"),
            "actor": None,
            "actor_from": None,
        }

    def test_no_git_at_all(self, csl: Csl, empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "/nowhere")
        assert csl("project", "init", "x").status == 0

    def test_the_variable_outweighs_git(self, csl: Csl, empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        git(empty, "ana@example.org")
        monkeypatch.setenv("CONSILIENCE_ACTOR", "lab/crawler")
        assert csl("project", "init", "x", "--json").data["actor"] == "lab/crawler"

    def test_an_actor_that_is_none(self, csl: Csl, empty: Path) -> None:
        done = csl("project", "init", "x", "--actor", "Ana")
        assert done.status == 7
        assert list(empty.iterdir()) == []

    def test_twice(self, csl: Csl, empty: Path) -> None:
        csl("project", "init", "x")
        done = csl("project", "init", "y")
        assert done.status == 2
        assert "there is a project here already" in done.err

    def test_inside_another_one_is_said(self, csl: Csl, empty: Path) -> None:
        csl("project", "init", "x")
        done = csl("project", "init", "y", "--path", "inner")
        assert done.status == 0
        assert f"warning: this project lies inside another one: {empty / 'consilience.toml'}" in done.err


class TestAddAndRemove:
    @pytest.fixture(autouse=True)
    def project(self, csl: Csl, empty: Path) -> None:
        csl("project", "init", "x", "--actor", "ana@example.org")

    def test_add(self, csl: Csl, empty: Path) -> None:
        done = csl("project", "add", "algebra", "--description", "Two semesters", "--model", "openai:nomic")
        assert done.out.startswith(f"brain algebra added, at {empty / 'brains' / 'algebra'}\n")
        assert "next: csl ingest PATH... --brain algebra" in done.out
        assert not (empty / "brains").exists()
        shown = csl("project", "show", "--json").data["brains"]
        assert [(b["name"], b["state"], b["description"]) for b in shown] == [
            ("algebra", "missing", "Two semesters")
        ]
        assert 'provider = "openai"\nmodel = "nomic"\n' in (empty / "consilience.toml").read_text()

    @pytest.mark.parametrize(
        ("args", "said", "hint"),
        [
            (["Algebra"], "'Algebra' is not a brain's name: lowercase letters", "csl project add algebra"),
            (["semantic"], "'semantic' is reserved: a module is called so", None),
            (["a/b"], "'a/b' is not a brain's name", "csl project add a-b"),
            (["a", "--path", "../x"], "is outside of the project", "--outside allows it"),
            (["a", "--path", "."], "holds the project itself", None),
            (["a", "--model", "opena"], "there is no provider 'opena'; did you mean openai?", None),
            (["a", "--pth", "x"], "no such option: --pth", "did you mean --path?"),
            ([], "missing argument 'BRAIN'", "csl project add --help shows how it is used"),
        ],
    )
    def test_refusals(self, csl: Csl, args: list[str], said: str, hint: str | None) -> None:
        done = csl("project", "add", *args, "--json")
        assert done.status == 2
        assert said in done.error["message"]
        assert done.error["hint"] == hint
        assert csl("project", "show", "--json").data["brains"] == []

    def test_outside_is_said_in_show(self, csl: Csl, empty: Path) -> None:
        csl("project", "add", "a", "--path", "../x", "--outside")
        assert f"a lives outside of the project: {empty.parent / 'x'}\n" in csl("project", "show").out
        assert csl("project", "show", "--json").data["brains"][0]["outside"] is True

    def test_remove_says_where_the_data_stays(self, csl: Csl, empty: Path) -> None:
        csl("project", "add", "a")
        (empty / "note.md").write_text("# A note\n\nSome words about nothing in particular.\n")
        assert csl("ingest", "note.md", "--no-embed").status == 0
        done = csl("project", "remove", "a")
        assert done.out == f"brain a is out of the project\nits data stays in {empty / 'brains' / 'a'}\n"
        assert (empty / "brains" / "a" / "brain.db").exists()
        csl("project", "add", "a")
        done = csl("project", "remove", "a", "--delete-data", "--json")
        assert done.data == {
            "name": "a",
            "path": str(empty / "brains" / "a"),
            "kept": None,
            "deleted": True,
        }
        assert not (empty / "brains" / "a").exists()

    def test_remove_deletes_only_what_a_brain_consists_of(self, csl: Csl, empty: Path) -> None:
        csl("project", "add", "a")
        (empty / "note.md").write_text("# A note\n\nSome words about nothing in particular.\n")
        csl("ingest", "note.md", "--no-embed")
        (empty / "brains" / "a" / "thesis.txt").write_text("ten years of work")
        done = csl("project", "remove", "a", "--delete-data")
        assert f"its data is deleted; other files stay in {empty / 'brains' / 'a'}" in done.out
        assert [path.name for path in (empty / "brains" / "a").iterdir()] == ["thesis.txt"]

    def test_remove_never_deletes_a_folder_that_is_no_brain(self, csl: Csl, empty: Path) -> None:
        (empty / "thesis").mkdir()
        (empty / "thesis" / "part1.txt").write_text("ten years of work")
        csl("project", "add", "a", "--path", "thesis")
        done = csl("project", "remove", "a", "--delete-data")
        assert done.status == 3
        assert "is not a brain's folder" in done.err
        assert (empty / "thesis" / "part1.txt").exists()
        assert csl("project", "remove", "a").status == 0

    def test_remove_unknown(self, csl: Csl) -> None:
        csl("project", "add", "algebra")
        done = csl("project", "remove", "algebre")
        assert done.status == 2
        assert "error: this project has no brain called 'algebre'" in done.err
        assert "did you mean algebra?" in done.err


class TestShowAndStatus:
    def test_show(self, csl: Csl, inside: Path) -> None:
        done = csl("project", "show")
        assert done.status == 0
        lines = done.out.splitlines()
        assert lines[0] == "project  library"
        assert lines[1] == f"file     {inside / 'consilience.toml'}"
        assert lines[2] == "actor    ana@example.org"
        assert lines[4].split() == ["brain", "where", "here", "blocks", "last", "change", "semantic", "root"]
        python = lines[5].split()
        assert python[:3] == ["python", "brains/python", "yes"]
        assert int(python[3]) > 10
        assert python[4:6] == ["2026-01-02", "03:04"]
        assert lines[7].split() == ["gone", "brains/gone", "no", "-", "-", "-"]
        assert all(len(line) <= 80 for line in lines)

    def test_status_says_what_to_do(self, csl: Csl, inside: Path) -> None:
        done = csl("status")
        assert done.status == 0
        assert "gone    missing" in done.out
        assert "-> no layout at ./brains/gone: `csl ingest PATH... --brain gone` makes it" in done.out
        assert csl("status", "--json", "--brain", "rust").data["brains"][0]["name"] == "rust"

    def test_status_of_a_brain_that_is_none(self, csl: Csl, inside: Path) -> None:
        assert csl("status", "--brain", "nope").status == 2

    @pytest.mark.parametrize("command", [["status"], ["project", "show"]])
    def test_a_damaged_brain_does_not_hide_the_others(self, csl: Csl, copy: Path, command: list[str]) -> None:
        (copy / "brains" / "rust" / "brain.db").write_bytes(b"not a database" * 1000)
        done = csl(*command, "--json")
        assert done.status == 5
        states = {b["name"]: b["state"] for b in done.json["data"]["brains"]}
        assert states["rust"] == "damaged"
        assert states["python"] in ("healthy", "stale")
        assert states["gone"] == "missing"
        assert done.error["message"].startswith("rust: ")

    def test_a_brain_folder_half_deleted(self, csl: Csl, copy: Path) -> None:
        for file in (copy / "brains" / "rust").glob("brain.db*"):
            file.unlink()
        states = {b["name"]: b["state"] for b in csl("status", "--json").json["data"]["brains"]}
        assert states["rust"] == "damaged"

    def test_nothing_yet(self, csl: Csl, empty: Path) -> None:
        csl("project", "init", "x", "--actor", "ana@example.org")
        assert "no brain yet: csl project add BRAIN" in csl("project", "show").out
        assert "no brain yet: csl project add BRAIN" in csl("status").out


class TestList:
    def test_above_and_below(self, csl: Csl, empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        csl("project", "init", "outer")
        csl("project", "init", "inner", "--path", "a/b")
        csl("project", "init", "hidden", "--path", ".trash/x")
        (empty / "a" / "broken").mkdir()
        (empty / "a" / "broken" / "consilience.toml").write_text("[project\n")
        monkeypatch.chdir(empty / "a")
        done = csl("project", "list")
        assert [line for line in done.out.splitlines() if not line.startswith(" ")] == [
            "outer  ..",
            "inner  b",
        ]
        assert "warning: " in done.err
        assert "broken/consilience.toml:1" in done.err
        assert [p["name"] for p in csl("project", "list", "--json").data] == ["outer", "inner"]

    def test_none(self, csl: Csl, empty: Path) -> None:
        done = csl("project", "list")
        assert (done.status, done.out) == (0, "")
        assert "no project in this folder" in done.err

    def test_no_folder(self, csl: Csl, empty: Path) -> None:
        assert csl("project", "list", "nowhere").status == 2
