"""A project and its brains, as documents for `--json` and as lines for people."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from consilience.cli.terminal import Terminal, clean, wrap
from consilience.config import BrainConfig, load
from consilience.errors import ConsilienceError
from consilience.model import Value
from consilience.project import Project, Removed, found_projects


class Made(Value, frozen=True, kw_only=True):
    """`data` of `project init`. `actor_from` says who named the actor."""

    name: str
    file: str
    actor: str | None
    actor_from: str | None


class Declared(Value, frozen=True, kw_only=True):
    """One brain as the file declares it. `path` is absolute; `layout` whether its data is on this machine."""

    name: str
    path: str
    outside: bool
    description: str
    provider: str
    model: str | None
    layout: bool
    project: str


class RemovedDocument(Value, frozen=True, kw_only=True):
    """`data` of `project remove`."""

    name: str
    path: str
    kept: str | None
    deleted: bool


class Listed(Value, frozen=True, kw_only=True):
    """One project of `project list`."""

    name: str
    file: str
    brains: tuple[str, ...]


def made(project: Made, terminal: Terminal) -> Iterator[str]:
    yield f"project {terminal.style(clean(project.name), 'bold')} made: {clean(project.file)}"
    if project.actor is not None:
        yield f"actor: {project.actor} (from {project.actor_from})"
    else:
        yield terminal.style("actor: nobody", "yellow")
        text = (
            'writing needs one: add actor = "you@example.org" under [project], or use --actor or '
            "CONSILIENCE_ACTOR"
        )
        yield from (f"  {line}" for line in wrap(text, terminal.prose - 2))
    yield terminal.style("next: csl project add BRAIN", "dim")


def declared(project: Project, brain: BrainConfig) -> Declared:
    return Declared(
        name=brain.name,
        path=str(brain.path),
        outside=brain.outside,
        description=brain.description,
        provider=brain.embedding.provider,
        model=brain.embedding.model,
        layout=project.has_layout(brain),
        project=str(project.file),
    )


def added(brain: Declared, terminal: Terminal) -> Iterator[str]:
    outside = ", outside of the project" if brain.outside else ""
    yield f"brain {terminal.style(brain.name, 'bold')} added, at {clean(brain.path)}{outside}"
    if brain.layout:
        yield "its layout is here already"
    else:
        yield terminal.style(f"next: csl ingest PATH... --brain {brain.name}", "dim")


def removed_document(removed: Removed) -> RemovedDocument:
    kept = str(removed.kept) if removed.kept is not None else None
    return RemovedDocument(name=removed.name, path=str(removed.path), kept=kept, deleted=removed.deleted)


def removed(gone: Removed, terminal: Terminal) -> Iterator[str]:
    yield f"brain {terminal.style(gone.name, 'bold')} is out of the project"
    if gone.deleted and gone.kept is not None:
        yield f"its data is deleted; other files stay in {clean(str(gone.kept))}"
    elif gone.deleted:
        yield "its data is deleted"
    elif gone.kept is not None:
        yield f"its data stays in {clean(str(gone.kept))}"
    else:
        yield "it had no data here"


def listed(start: Path) -> tuple[tuple[Listed, ...], tuple[str, ...]]:
    """The projects around a folder, and what is wrong with those that cannot be read."""
    projects, broken = [], []
    for file in found_projects(start):
        try:
            config = load(file)
        except ConsilienceError as error:
            broken.append(error.message)
        else:
            projects.append(Listed(name=config.name, file=str(file), brains=config.brain_names))
    return tuple(projects), tuple(broken)


def list_(projects: Sequence[Listed], start: Path, terminal: Terminal) -> Iterator[str]:
    for project in projects:
        where = os.path.relpath(Path(project.file).parent, start)
        names = ", ".join(project.brains) or "no brain yet"
        yield f"{terminal.style(clean(project.name), 'bold')}  {clean(where)}"
        yield from (f"  {line}" for line in wrap(names, terminal.prose - 2))
