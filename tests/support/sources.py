"""A brain beside folders that it is kept in step with."""

from __future__ import annotations

import datetime
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from consilience.brain import Brain
from consilience.config_sources import SourceConfig
from consilience.embed import EmbedderSpec
from consilience.protocol import Actor, ActorKind, MemoryType, Semantic, decode
from consilience.sync import sync
from consilience.sync.around import Around
from consilience.sync.report import SyncReport

ACTOR = Actor(id="ana@example.org", kind=ActorKind.HUMAN)
GIT = shutil.which("git")


class Clock:
    """Runs ahead of the files' own times, so that each file has stood still."""

    def __init__(self) -> None:
        self.now = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)

    def __call__(self) -> datetime.datetime:
        self.now += datetime.timedelta(seconds=5)
        return self.now


def text_of(*paragraphs: str) -> str:
    return "\n\n".join(["# Notes", *paragraphs]) + "\n"


class Synced:
    """A root folder with `docs`, a brain in it, and its declared sources."""

    def __init__(self, root: Path, *sources: SourceConfig) -> None:
        self.root = root
        self.docs = root / "docs"
        self.docs.mkdir(parents=True, exist_ok=True)
        self.clock = Clock()
        self.sources = list(sources or [SourceConfig(path="docs", deleted="hide")])
        self.brain = Brain.create(root / "brain", name="kept", embedder=EmbedderSpec(provider="none"))
        self.environ = {"PATH": os.environ["PATH"]}

    @property
    def around(self) -> Around:
        return Around(self.root, self.clock, self.environ)

    def write(self, name: str, *paragraphs: str) -> Path:
        path = self.docs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text_of(*paragraphs))
        return path

    def sync(self, *, dry_run: bool = False) -> SyncReport:
        return sync(self.brain, self.sources, self.around, actor=ACTOR, dry_run=dry_run)

    def ingest(self, *paths: Path) -> None:
        self.brain.ingest(paths or [self.docs], actor=ACTOR, clock=self.clock, root=self.root)

    def shown(self) -> dict[str, set[tuple[str | None, str | None]]]:
        """What search sees: each visible passage with the places where it stands."""
        with self.brain.store.view() as view:
            blocks = {b.n: b for b in view.scan([MemoryType.SEMANTIC]) if b.data is not None}
            hidden = view.hidden(blocks)
            sources = view.sources([n for n in blocks if n not in hidden], current=True)
        found = {}
        for n, places in sources.items():
            data = blocks[n].data
            payload = decode(data).payload if data is not None else None
            assert isinstance(payload, Semantic)
            found[payload.statement] = {(each.origin, each.locator) for each in places}
        return found

    def origins(self) -> set[str]:
        with self.brain.store.view() as view:
            return {origin for origin, _ in view.origins()}


def said(report: SyncReport, *, without: Iterable[str] = ()) -> list[tuple[str, str]]:
    """What became of which file."""
    return [(each.what, each.origin) for each in report.changes if each.what not in without]


def git(folder: Path, *args: str) -> None:
    assert GIT is not None
    command = [GIT, "-C", str(folder), "-c", "user.name=Ana", "-c", "user.email=ana@example.org", *args]
    environ = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    subprocess.run(command, check=True, capture_output=True, env=environ)
