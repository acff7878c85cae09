"""Projects as Python sees them: open, choose, fill, ask."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from consilience.brain import Brain
from consilience.config import Embedding
from consilience.errors import (
    ActorError,
    BrainNotFoundError,
    ConfigurationError,
    ConflictError,
    NoBrainError,
    NoProjectError,
    UsageError,
)
from consilience.model import Query
from consilience.project import Project, found_projects
from consilience.protocol import Actor
from consilience.protocol.records import ActorKind

NO_VECTORS = Embedding(provider="none")


def fill(project: Project, name: str, text: str) -> None:
    source = project.root / f"{name}.md"
    source.write_text(text)
    with project.writable(name, create=True) as brain:
        brain.ingest(
            [source],
            actor=Actor(id="ana@example.org", kind=ActorKind.HUMAN),
            clock=lambda: datetime(2026, 1, 1, tzinfo=UTC),
            root=project.root,
        )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project.init(tmp_path / "p", "p", actor="ana@example.org")


class TestOpening:
    def test_from_below(self, project: Project) -> None:
        deep = project.root / "a" / "b"
        deep.mkdir(parents=True)
        for path in (project.root, project.file, deep, str(deep)):
            opened = Project.open(path)
            assert (opened.name, opened.root, opened.actor) == ("p", project.root, "ana@example.org")

    def test_of_this_folder(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(project.root)
        assert Project.open().file == project.file
        assert Project.open("consilience.toml").file == project.file

    def test_nothing_there(self, tmp_path: Path) -> None:
        for path in (tmp_path, tmp_path / "nowhere", tmp_path / "consilience.toml"):
            with pytest.raises(NoProjectError):
                Project.open(path)

    def test_init_twice_and_with_a_bad_actor(self, project: Project, tmp_path: Path) -> None:
        with pytest.raises(UsageError):
            Project.init(project.root, "again")
        with pytest.raises(ActorError):
            Project.init(tmp_path / "q", "q", actor="nobody")


class TestChoosing:
    def test_none_one_several(self, project: Project) -> None:
        with pytest.raises(NoBrainError, match="no brain yet"):
            project.choose()
        project.add("a")
        assert project.choose().name == "a"
        project.add("b")
        with pytest.raises(NoBrainError, match="several brains: a, b"):
            project.choose()
        assert project.choose("b").name == "b"
        with pytest.raises(UsageError, match="no brain called 'c'"):
            project.choose("c")

    def test_a_brain_that_is_not_here(self, project: Project) -> None:
        project.add("a")
        assert project.absent("a") == "no layout at ./brains/a"
        with pytest.raises(BrainNotFoundError, match=r"no layout at \./brains/a"):
            project.brain("a")
        with pytest.raises(BrainNotFoundError):
            project.writable("a")

    def test_a_folder_that_is_no_brain(self, project: Project) -> None:
        project.add("a")
        (project.root / "brains" / "a").mkdir(parents=True)
        (project.root / "brains" / "a" / "thesis.txt").write_text("")
        assert project.absent("a") == "no brain in ./brains/a"
        for create in (False, True):
            with pytest.raises(BrainNotFoundError):
                project.writable("a", create=create)

    def test_an_empty_folder_may_become_one(self, project: Project) -> None:
        project.add("a", embedding=NO_VECTORS)
        (project.root / "brains" / "a").mkdir(parents=True)
        with project.writable("a", create=True) as brain:
            assert brain.name == "a"
        assert project.absent("a") is None

    def test_making_it_twice_opens_it(self, project: Project) -> None:
        project.add("a", embedding=NO_VECTORS)
        project.writable("a", create=True).close()
        project.writable("a", create=True).close()
        with pytest.raises(ConflictError):
            Brain.create(project.declared("a").path, name="a")

    def test_outside_is_shown_in_full(self, project: Project) -> None:
        brain = project.add("a", path="../elsewhere", outside=True)
        assert project.shown(brain) == str(project.root.parent / "elsewhere")


class TestEmbedding:
    def test_the_spec_is_what_the_file_says(self, project: Project) -> None:
        embedding = Embedding(provider="openai", model="m", url="http://x/v1", dims=7, api_key_env="KEY")
        brain = project.add("a", embedding=embedding)
        spec = Project.open(project.root, lookup={"KEY": "secret"}.get).spec(brain)
        assert (spec.provider, spec.model, spec.url, spec.dims, spec.api_key) == (
            "openai",
            "m",
            "http://x/v1",
            7,
            "secret",
        )
        assert project.spec(brain).api_key is None

    def test_a_missing_key_stops_work_and_not_questions(self, project: Project) -> None:
        brain = project.add(
            "a", embedding=Embedding(provider="openai", model="m", url="http://x/v1", api_key_env="KEY")
        )
        opened = Project.open(project.root, lookup={}.get)
        assert opened.spec(brain).api_key is None
        with pytest.raises(ConfigurationError, match="the variable KEY is not set"):
            opened.writable("a", create=True)
        assert opened.absent("a") is not None


class TestAsking:
    def test_one_brain(self, project: Project) -> None:
        project.add("a", embedding=NO_VECTORS)
        fill(project, "a", "# Notes\n\nA zebra walks home.\n")
        with project.brain() as brain:
            bundle = brain.search(Query(text="zebra"))
        assert [match.text for match in bundle.matches] == ["A zebra walks home."]

    def test_a_compound_reads_well(self, project: Project) -> None:
        for name in ("python", "rust"):
            project.add(name, embedding=NO_VECTORS)
            fill(project, name, "# Policy\n\nThe deprecation policy asks for two releases.\n")
        project.add("gone")
        result = Project.open(project.root).compound("python", "rust").search("deprecation policy", fuse=True)
        assert [c.brain for c in result.matches[0].brains] == ["python", "rust"]
        everything = project.compound(all=True)
        assert everything.names == ("python", "rust")
        assert [(s.brain, s.reason) for s in everything.skipped] == [("gone", "no layout at ./brains/gone")]

    def test_a_member_is_opened_by_its_first_question(self, project: Project) -> None:
        for name in ("a", "b"):
            project.add(name, embedding=NO_VECTORS)
            fill(project, name, "# Notes\n\nA zebra walks home.\n")
        compound = project.compound("a", "b")
        (project.declared("b").path / "brain.db").write_bytes(b"not a database" * 1000)
        result = compound.search("zebra")
        assert [member.brain for member in result.members] == ["a"]
        assert [failure.brain for failure in result.failures] == ["b"]


class TestRemoving:
    def test_the_data_stays(self, project: Project) -> None:
        project.add("a", embedding=NO_VECTORS)
        fill(project, "a", "# Notes\n\nA zebra walks home.\n")
        folder = project.declared("a").path
        removed = project.remove("a")
        assert (removed.kept, removed.deleted) == (folder, False)
        assert project.brains == ()
        project.add("a", embedding=NO_VECTORS)
        assert project.brain("a").search(Query(text="zebra")).matches

    def test_a_link_to_the_data(self, project: Project, tmp_path: Path) -> None:
        real = tmp_path / "disk2"
        real.mkdir()
        (project.root / "brains").mkdir()
        (project.root / "brains" / "a").symlink_to(real)
        project.add("a", outside=True, embedding=NO_VECTORS)
        fill(project, "a", "# Notes\n\nA zebra walks home.\n")
        assert (real / "brain.db").exists()
        assert project.remove("a", delete_data=True).deleted
        assert list(real.iterdir()) == []
        assert not (project.root / "brains" / "a").is_symlink()


def test_found_projects_passes_over_what_is_not_meant(tmp_path: Path) -> None:
    for path in (".", "a", "a/b/c/d", "a/b/c/d/e", ".hidden"):
        (tmp_path / path).mkdir(parents=True, exist_ok=True)
        (tmp_path / path / "consilience.toml").write_text("")
    (tmp_path / "brain").mkdir()
    (tmp_path / "brain" / "brain.db").write_text("")
    (tmp_path / "brain" / "consilience.toml").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path)
    found = [
        str(file.parent.relative_to(tmp_path))
        for file in found_projects(tmp_path / "a")
        if tmp_path in file.parents
    ]
    assert found == [".", "a", "a/b/c/d", "a/b/c/d/e"]
    found = [
        str(file.parent.relative_to(tmp_path))
        for file in found_projects(tmp_path)
        if tmp_path in file.parents
    ]
    assert found == [".", "a", "a/b/c/d"]
