"""A small library of real brains, and a way to run the command line in this process."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from consilience.cli.main import main
from consilience.config import Embedding
from consilience.project import Project
from consilience.protocol import Actor
from consilience.protocol.records import ActorKind

SHARED = "A deprecated feature keeps working for two releases before anybody may remove it.\n"
TEXTS = {
    "python": {
        "deprecation.md": f"# Deprecation policy\n\n## Rules\n\n{SHARED}\n"
        "Every deprecation warning names the release in which the feature goes away.\n",
        "concurrency.md": "# Structured concurrency\n\nA task group cancels its tasks when one of them fails.\n\n"
        "```python\nasync with TaskGroup() as group:\n    group.create_task(work())\n"
        "    group.create_task(rest())\n```\n",
    },
    "rust": {
        "stability.md": f"# Stability\n\n{SHARED}\nAn unstable feature needs a nightly compiler.\n",
        "macros.md": "# Macros\n\nA macro expands to tokens, hygienically.\n",
    },
}


@dataclass
class Result:
    """What one call of the command line did."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The envelope; fails if standard output is anything but that one object."""
        assert self.out.endswith("}\n"), self.out
        assert self.out.count("\n") == 1
        return json.loads(self.out)

    @property
    def data(self) -> Any:
        assert self.json["ok"] is True, self.out
        return self.json["data"]

    @property
    def error(self) -> Any:
        assert self.json["ok"] is False, self.out
        return self.json["error"]


Csl = Callable[..., Result]


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No setting of the person who runs the tests reaches them."""
    for name in ("PROJECT", "BRAIN", "ACTOR", "DEBUG"):
        monkeypatch.delenv(f"CONSILIENCE_{name}", raising=False)
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CONSILIENCE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    for name in ("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL", "EMAIL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def csl(capsys: pytest.CaptureFixture[str]) -> Csl:
    """Run one command line in the present folder."""

    def run(*args: str) -> Result:
        capsys.readouterr()
        status = main(list(args))
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Result(status, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with two filled brains that share a paragraph, and one that is not here. Not to be changed."""
    root = tmp_path_factory.mktemp("library")
    project = Project.init(root, "library", actor="ana@example.org")
    for name in (*TEXTS, "gone"):
        project.add(name, embedding=Embedding(provider="none"))
    for name, files in TEXTS.items():
        source = root / "sources" / name
        source.mkdir(parents=True)
        for file, text in files.items():
            (source / file).write_text(text)
        with project.writable(name, create=True) as brain:
            brain.ingest(
                [source],
                actor=Actor(id="ana@example.org", kind=ActorKind.HUMAN),
                clock=lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
                root=root,
            )
    return root


@pytest.fixture
def inside(library: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in the library, and change nothing there."""
    monkeypatch.chdir(library)
    return library


@pytest.fixture
def copy(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a copy of the library that may be changed."""
    target = tmp_path / "copy"
    shutil.copytree(library, target)
    monkeypatch.chdir(target)
    return target


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in an empty folder."""
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder
