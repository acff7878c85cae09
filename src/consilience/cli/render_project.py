"""A project and its brains, as documents for `--json` and as lines for people."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from consilience.cli.render_search import short
from consilience.cli.render_sync import said_of
from consilience.cli.terminal import Terminal, clean, size, table, wrap
from consilience.config import BrainConfig, load
from consilience.errors import ConsilienceError
from consilience.model import Value
from consilience.project import Project, Removed, found_projects
from consilience.sync.report import SourceStatus

if TYPE_CHECKING:
    from consilience.inspection import BrainStatus, ModuleStatus
    from consilience.protocol import Digest


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


class BrainState(Value, frozen=True, kw_only=True):
    """One brain as it is now. `state` is healthy, stale (something to do), empty, missing (no layout here)
    or damaged; `advice` says what to do; `status` is None where it cannot be opened."""

    name: str
    path: str
    outside: bool
    description: str
    state: str
    advice: tuple[str, ...]
    status: StatusDocument | None
    sources: tuple[SourceStatus, ...] = ()
    """The declared sources; `status` looks whether the brain is behind them."""


class StatusDocument(Value, frozen=True, kw_only=True):
    """What a brain says of itself; see `BrainStatus`."""

    blocks: int
    files: int
    modules: tuple[ModuleStatus, ...]
    snapshot: str | None
    snapshots: int
    changed_at: str | None
    changed_by: str | None
    behind: int
    unembedded: int
    model: str | None
    languages: dict[str, int]
    floor: bool
    disk_bytes: int


class Shown(Value, frozen=True, kw_only=True):
    """`data` of `project show` and of `status`."""

    name: str
    file: str
    description: str
    actor: str | None
    brains: tuple[BrainState, ...]


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


def show(
    project: Project, names: Sequence[str] = (), at: Digest | None = None
) -> tuple[Shown, ConsilienceError | None]:
    """The project with the state of its brains (of all, or of those named), and the gravest thing found; `at` is a
    snapshot of the one named."""
    states = []
    worst: ConsilienceError | None = None
    for brain in project.brains:
        if names and brain.name not in names:
            continue
        state, error = _state(project, brain, at)
        states.append(state)
        if error is not None and worst is None:
            worst = type(error)(f"{brain.name}: {error.message}", hint=error.hint)
    config = project.config
    shown = Shown(
        name=config.name,
        file=str(config.file),
        description=config.description,
        actor=config.actor,
        brains=tuple(states),
    )
    return shown, worst


def _state(
    project: Project, brain: BrainConfig, at: Digest | None = None
) -> tuple[BrainState, ConsilienceError | None]:
    error: ConsilienceError | None = None
    status: StatusDocument | None = None
    absent = project.absent(brain.name)
    if absent is not None:
        state = "missing" if not brain.path.exists() else "damaged"
        advice: tuple[str, ...] = (f"{absent}: `csl ingest PATH... --brain {brain.name}` makes it",)
        if state == "damaged":
            advice = (f"{absent}; if it was one, bring back its brain.db",)
    else:
        try:
            with project.brain(brain.name, read_only=True) as opened:
                found = opened.status(at=at)
            status = _document(found)
            state = "healthy" if found.healthy else "stale" if found.snapshot is not None else "empty"
            advice = found.advice
        except ConsilienceError as failed:
            state, error = "damaged", failed
            advice = (failed.message, *((failed.hint,) if failed.hint else ()))
    shown = BrainState(
        name=brain.name,
        path=str(brain.path),
        outside=brain.outside,
        description=brain.description,
        state=state,
        advice=advice,
        status=status,
    )
    return shown, error


def with_sources(shown: Shown, look: Callable[[str], tuple[SourceStatus, ...]]) -> Shown:
    """The same with the state of every brain's sources; `look` gives those of one brain."""
    brains = []
    for brain in shown.brains:
        sources = look(brain.name) if brain.state != "damaged" else ()
        behind = [each for each in sources if each.behind or each.error is not None]
        advice, state = brain.advice, brain.state
        if behind:
            advice = (*advice, f"behind its sources: csl sync --brain {brain.name}")
            state = "stale" if state == "healthy" else state
        brains.append(msgspec.structs.replace(brain, sources=sources, advice=advice, state=state))
    return msgspec.structs.replace(shown, brains=tuple(brains))


def _document(status: BrainStatus) -> StatusDocument:
    return StatusDocument(
        blocks=status.blocks,
        files=status.files,
        modules=status.modules,
        snapshot=status.snapshot,
        snapshots=status.snapshots,
        changed_at=status.changed_at,
        changed_by=status.changed_by,
        behind=status.behind,
        unembedded=status.unembedded,
        model=status.model,
        languages=dict(status.languages),
        floor=status.floor,
        disk_bytes=status.disk_bytes,
    )


def shown(project: Shown, terminal: Terminal) -> Iterator[str]:
    """`project show`."""
    yield from _head(project, terminal)
    if not project.brains:
        yield "no brain yet: csl project add BRAIN"
        return
    yield ""
    root = Path(project.file).parent
    rows = [["brain", "where", "here", "blocks", "last change", "semantic root"]]
    rows.extend([brain.name, _where(brain, root), *_here(brain)] for brain in project.brains)
    for at, lines in enumerate(table(rows, terminal.width, right=(3,))):
        yield from (terminal.style(line, "dim") if at == 0 else line for line in lines)
    for brain in project.brains:
        if brain.outside and not Path(brain.path).is_relative_to(root):
            yield f"{brain.name} lives outside of the project: {clean(brain.path)}"
    described = [brain for brain in project.brains if brain.description]
    if described:
        yield ""
    for brain in described:
        lines = wrap(clean(brain.description), terminal.prose - len(brain.name) - 2)
        for at, line in enumerate(lines):
            yield (f"{brain.name}  " if at == 0 else " " * (len(brain.name) + 2)) + line


def _head(project: Shown, terminal: Terminal) -> Iterator[str]:
    yield f"project  {terminal.style(clean(project.name), 'bold')}"
    yield f"file     {clean(project.file)}"
    yield f"actor    {project.actor or 'nobody (--actor, CONSILIENCE_ACTOR, or [project] actor)'}"
    if project.description:
        for at, line in enumerate(wrap(clean(project.description), terminal.prose - 9)):
            yield ("about    " if at == 0 else " " * 9) + line


def _where(brain: BrainState, root: Path) -> str:
    path = Path(brain.path)
    if path.is_relative_to(root):
        return clean(path.relative_to(root).as_posix())
    return min(clean(brain.path), clean(os.path.relpath(path, root)), key=len)


def _here(brain: BrainState) -> list[str]:
    if brain.status is None:
        return ["no" if brain.state == "missing" else "damaged", "-", "-", "-"]
    status = brain.status
    changed = status.changed_at[:16].replace("T", " ") if status.changed_at else "-"
    roots = {m.module.value: m.root for m in status.modules}
    module = next((m for m in ("semantic", "episodic", "procedural", "canonical") if m in roots), None)
    root = "-" if module is None else short(roots[module])
    if module not in (None, "semantic"):
        root += f" ({module})"
    return ["yes", f"{status.blocks:,}", changed, root]


def status(project: Shown, terminal: Terminal) -> Iterator[str]:
    """`status`: each brain's state, its main figures, and what to do."""
    yield from _head(project, terminal)
    if not project.brains:
        yield ""
        yield "no brain yet: csl project add BRAIN"
    width = max((len(brain.name) for brain in project.brains), default=0)
    for brain in project.brains:
        yield ""
        colour = {"healthy": "green", "damaged": "red"}.get(brain.state, "yellow")
        state = terminal.style(brain.state, colour)
        yield f"{terminal.style(brain.name.ljust(width), 'bold')}  {state}"
        for line in wrap(_figures(brain), terminal.prose - 4):
            yield f"    {line}"
        for source in brain.sources:
            said = f"source {clean(source.name)}: {said_of(source.files, source.behind, source.error)}"
            yield from (f"    {line}" for line in wrap(said, terminal.prose - 4))
        for advice in brain.advice:
            for at, line in enumerate(wrap(clean(advice), terminal.prose - 7)):
                yield ("    -> " if at == 0 else "       ") + line


def _figures(brain: BrainState) -> str:
    status = brain.status
    if status is None or status.snapshot is None:
        return ""
    said = [f"{status.files:,} files, {status.blocks:,} blocks"]
    if status.behind:
        said.append(f"lexical index {status.behind:,} behind")
    if status.model is not None:
        behind = f" ({status.unembedded:,} passages without)" if status.unembedded else ""
        said.append(f"vectors of {clean(status.model).partition(':')[0]}{behind}")
    else:
        said.append("no vectors")
    known = [(code, count) for code, count in status.languages.items() if code][:3]
    if known:
        said.append("languages " + ", ".join(f"{code} {count:,}" for code, count in known))
    said.append(f"{size(status.disk_bytes)} on disk")
    said.append(f"changed {status.changed_at} by {status.changed_by}")
    return "; ".join(said)


def list_(projects: Sequence[Listed], start: Path, terminal: Terminal) -> Iterator[str]:
    for project in projects:
        where = os.path.relpath(Path(project.file).parent, start)
        names = ", ".join(project.brains) or "no brain yet"
        yield f"{terminal.style(clean(project.name), 'bold')}  {clean(where)}"
        yield from (f"  {line}" for line in wrap(names, terminal.prose - 2))
