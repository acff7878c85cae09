"""`csl sync`, `csl watch` and `csl source`."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from consilience.cli.framework import argument, command
from consilience.cli.invocation import MOST_JOBS, Invocation
from consilience.errors import ConsilienceError, PolicyError, SourceError, UsageError

if TYPE_CHECKING:
    from consilience.config import BrainConfig
    from consilience.config_sources import SourceConfig
    from consilience.sync.around import Around
    from consilience.sync.report import FileChange, SourceStatus, SyncReport

GOES_ON = "what was committed is kept; the same command goes on from there"


@command(
    "sync",
    short_help="Bring a brain up to date with its sources",
    examples=["csl sync --brain station --dry-run", "csl sync --all", "csl sync --no-embed && csl index"],
)
@click.option("--all", "every", is_flag=True, help="Every brain that declares a source.")
@click.option("--dry-run", is_flag=True, help="Say file by file what would happen, and write nothing.")
@click.option(
    "--jobs",
    type=click.IntRange(1, MOST_JOBS),
    metavar="N",
    help="Processes that parse side by side; as many as processors by default.",
)
@click.option("--no-embed", is_flag=True, help="Leave the vectors to a later `csl index`.")
def sync(invocation: Invocation, every: bool, dry_run: bool, jobs: int | None, no_embed: bool) -> int:
    """Take what is new and changed in a brain's declared sources, follow files that moved, and deal with
    gone files by the rule of their source.

    A source or a brain that fails does not stop the others. Interrupting is safe: the same command goes on
    from there.
    """
    from consilience.cli import render_sync

    brains, actor = _chosen(invocation, every), invocation.actor()
    if not dry_run:
        invocation.kept = GOES_ON
    reports: list[SyncReport] = []
    errors: list[ConsilienceError] = []
    stopped: list[render_sync.StoppedDocument] = []
    for brain in brains:
        report, error = _one(invocation, brain, dry_run=dry_run, embed=not no_embed, jobs=jobs)
        if report is not None:
            reports.append(report)
        if error is not None:
            several = len(brains) > 1
            errors.append(
                type(error)(f"{brain.name}: {error.message}", hint=error.hint) if several else error
            )
            if report is None:
                stopped.append(render_sync.StoppedDocument(brain=brain.name, error=error.message))
        if report is not None and report.interrupted:
            break
    if not reports and len(errors) == 1:
        raise errors[0]
    return invocation.emit(
        lambda: (*(render_sync.sync_document(each, actor.id) for each in reports), *stopped),
        lambda terminal: (line for each in reports for line in render_sync.sync(each, actor.id, terminal)),
        warnings=[
            *(note for each in reports if each.ingest is not None for note in each.ingest.notes),
            *(each.message for each in errors[1:]),
        ],
        error=errors[0] if errors else None,
    )


def _chosen(invocation: Invocation, every: bool) -> list[BrainConfig]:
    if not every:
        return [invocation.brain_config()]
    if invocation.options.get("brain") is not None:
        raise UsageError("--brain and --all exclude each other")
    brains = [brain for brain in invocation.project().brains if brain.sources]
    if not brains:
        raise UsageError(
            "no brain of this project declares a source", hint="csl source add FOLDER --brain NAME"
        )
    return brains


def around(invocation: Invocation, jobs: int | None = None) -> Around:
    """What sources need of this call."""
    from consilience.sync.around import Around

    return Around(invocation.project().root, invocation.clock, invocation.environ, invocation.jobs(jobs))


def _one(
    invocation: Invocation,
    brain: BrainConfig,
    *,
    dry_run: bool,
    embed: bool,
    jobs: int | None = None,
) -> tuple[SyncReport | None, ConsilienceError | None]:
    """Sync one brain: what was done, and what is to be said of what was not."""
    from consilience.sync import sync_declared
    from consilience.sync.report import SyncReport

    progress = invocation.progress()
    try:
        report = sync_declared(
            invocation.project(),
            brain,
            around(invocation, jobs),
            actor=invocation.actor(),
            dry_run=dry_run,
            embed=embed,
            progress=progress,
            waiting=invocation.waiting(brain),
        )
    except ConsilienceError as error:
        return (error.done if isinstance(error.done, SyncReport) else None), error
    finally:
        progress.close()
    if report.interrupted:
        return report, invocation.interrupted()
    return report, _complaint(report)


def _complaint(report: SyncReport) -> ConsilienceError | None:
    sources, failed, refused = report.failed_sources, report.of("failed"), report.of("refused")
    if sources:
        named = ", ".join(each.name for each in sources)
        return SourceError(
            f"{len(sources)} source{'s' if len(sources) > 1 else ''} failed: {named}",
            hint="what was taken from there before is untouched; the same command tries again",
        )
    if failed:
        return SourceError(
            f"{len(failed)} file{'s' if len(failed) > 1 else ''} could not be taken",
            hint="everything else is in; the same command tries them again",
        )
    if refused:
        return PolicyError(
            f"{len(refused)} file{'s' if len(refused) > 1 else ''} refused: redacted bytes do not come back by "
            "themselves",
            hint="everything else is in; `csl retain readmit ID` lets them in again",
        )
    return None


@command(
    "watch",
    short_help="Keep a brain in step with its sources until Ctrl-C",
    examples=["csl watch --brain station", "csl watch --all --interval 30"],
)
@click.option("--all", "every", is_flag=True, help="Every brain that declares a source.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0.1),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait between two looks.",
)
@click.option("--no-embed", is_flag=True, help="Leave the vectors to a later `csl index`.")
def watch(invocation: Invocation, every: bool, interval: float, no_embed: bool) -> int:
    """Sync now, and again whenever a file of a source is new, changed, moved or gone, until Ctrl-C.

    A file is taken when it has stood still for two seconds. Each change is one line.
    """
    from consilience.cli import output, render_sync
    from consilience.sync.watching import Watch

    brains, actor = _chosen(invocation, every), invocation.actor()
    invocation.kept = GOES_ON
    terminal = invocation.terminal()
    watches = {brain.name: Watch(brain.sources, around(invocation)) for brain in brains}
    output.note(invocation, f"watching {', '.join(watches)}; Ctrl-C ends it")
    said: dict[str, str] = {}
    told: dict[str, tuple[FileChange, ...]] = {}
    try:
        while True:
            for brain in brains:
                if not watches[brain.name].due():
                    continue
                report, error = _one(invocation, brain, dry_run=False, embed=not no_embed)
                if report is not None:
                    watches[brain.name].synced()
                if report is not None and invocation.json:
                    output.write_bytes(_line(render_sync.sync_document(report, actor.id)))
                elif report is not None:
                    changes = report.of("new", "changed", "moved", "hidden")
                    troubles = report.of("failed", "refused")
                    changes += troubles if troubles != told.get(brain.name) else ()
                    told[brain.name] = troubles
                    output.write_lines(
                        (f"{brain.name}{render_sync.change(each, terminal)}" for each in changes), terminal
                    )
                if report is not None and report.interrupted:
                    return 0
                message = "" if error is None else error.message
                if message and said.get(brain.name) != message:
                    output.note(invocation, f"{brain.name}: {message}")
                said[brain.name] = message
            time.sleep(interval)
    except KeyboardInterrupt:
        output.note(invocation, "ended; the brain is as the last line says")
        return 0


def _line(document: object) -> bytes:
    import msgspec

    return msgspec.json.encode(document) + b"\n"


@command(
    "add",
    short_help="Declare one more source of a brain",
    examples=[
        "csl source add documents/station --brain station --deleted hide",
        "csl source add ../handbook --git --revision main --include '*.md'",
        "csl source add --kind mail --option server=imap.example.org",
    ],
)
@argument("place", metavar="[PLACE]", required=False, help="A folder, a file, or with --git a working tree.")
@click.option("--git", "is_git", is_flag=True, help="Read it as a git working tree, at a revision.")
@click.option("--revision", metavar="REVISION", help="Which branch, tag or commit; HEAD by default.")
@click.option("--kind", metavar="KIND", help="A kind of source that a plug-in brings.")
@click.option("--option", "options", multiple=True, metavar="KEY=VALUE", help="For the plug-in. Repeatable.")
@click.option("--include", multiple=True, metavar="PATTERN", help="Only such files. Repeatable.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="No such files. Repeatable.")
@click.option("--no-ignore", is_flag=True, help="Take what ignore files leave out.")
@click.option(
    "--deleted",
    type=click.Choice(["keep", "hide"]),
    default="keep",
    show_default=True,
    help="What becomes of what was taken from a file that is gone.",
)
def add(
    invocation: Invocation,
    place: str | None,
    is_git: bool,
    revision: str | None,
    kind: str | None,
    options: tuple[str, ...],
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    no_ignore: bool,
    deleted: str,
) -> int:
    """Declare one more source in the project's file. Nothing is taken before `csl sync`."""
    from consilience.cli import render_sync
    from consilience.config_sources import SourceConfig
    from consilience.sync.declaring import add_source

    project, brain = invocation.project(), invocation.brain_config()
    if (place is None) == (kind is None):
        raise UsageError("a source is either a PLACE or a --kind", hint="csl source add --help")
    if revision is not None and not is_git:
        raise UsageError("--revision goes with --git")
    written = None if place is None else _place(place, project.root, is_git=is_git)
    source = SourceConfig(
        path=None if is_git else written,
        git=written if is_git else None,
        revision=revision if revision is not None else "HEAD",
        kind=kind,
        include=include,
        exclude=exclude,
        use_ignore_files=not no_ignore,
        deleted=deleted,
        options=tuple(_option(each) for each in options),
    )
    add_source(project.file, brain.name, source)
    document = render_sync.DeclaredDocument(brain=brain.name, name=source.name, file=str(project.file))
    return invocation.emit(lambda: document, lambda terminal: render_sync.added(document, terminal))


def _place(place: str, root: Path, *, is_git: bool) -> str:
    """A place as the file has it: from the project's folder where it was typed as a relative path."""
    full = os.path.abspath(place)  # noqa: PTH100
    try:
        full.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(f"the name {place!r} is not UTF-8, and the project's file is") from None
    if not Path(full).exists():
        raise UsageError(f"{place} does not exist", hint="a source is declared when it is there")
    if is_git and not Path(full).is_dir():
        raise UsageError(f"{place} is not a folder", hint="without --git it is a single file")
    inside = Path(full).is_relative_to(root)
    return Path(os.path.relpath(full, root)).as_posix() if inside or not Path(place).is_absolute() else full


def _option(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"--option {text!r} is not KEY=VALUE")
    return key, value


@command("list", short_help="List the sources and whether a brain is behind them")
def list_(invocation: Invocation) -> int:
    """List the declared sources of every brain, or of the one named with --brain, and how far behind it is."""
    from consilience.cli import output, render_sync

    project = invocation.project()
    named = invocation.options.get("brain")
    brains = [project.declared(named)] if named is not None else list(project.brains)
    documents = [
        render_sync.state_document(brain.name, config, state)
        for brain in brains
        if brain.sources
        for config, state in states(invocation, brain)
    ]
    if not documents:
        output.note(invocation, "no source is declared (csl source add FOLDER declares one)")
    return invocation.emit(lambda: tuple(documents), lambda terminal: render_sync.listed(documents, terminal))


def states(invocation: Invocation, brain: BrainConfig) -> Iterator[tuple[SourceConfig, SourceStatus]]:
    """Each declared source of a brain with its state."""
    from consilience.sync.status import declared_status

    return zip(brain.sources, declared_status(invocation.project(), brain, around(invocation)), strict=True)


@command("remove", short_help="Take a source out of a brain")
@argument("name", metavar="SOURCE", help="As `csl source list` names it.")
def remove(invocation: Invocation, name: str) -> int:
    """Take a source out of the project's file. What was taken from it stays in the brain."""
    from consilience.cli import render_sync
    from consilience.sync.declaring import remove_source

    project, brain = invocation.project(), invocation.brain_config()
    remove_source(project.file, brain.name, name)
    document = render_sync.DeclaredDocument(brain=brain.name, name=name, file=str(project.file))
    return invocation.emit(lambda: document, lambda terminal: render_sync.removed(document, terminal))
