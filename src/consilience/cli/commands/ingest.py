"""`csl ingest` and `csl index`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from consilience.cli.framework import argument, command
from consilience.cli.invocation import MOST_JOBS, Invocation
from consilience.errors import ConsilienceError, PolicyError, SourceError

if TYPE_CHECKING:
    from consilience.ingest.report import IngestReport

GOES_ON = "what was committed is kept; the same command goes on from there"


@command(
    "ingest",
    short_help="Take files and folders into a brain",
    examples=[
        "csl ingest notes/ --brain algebra",
        "csl ingest peps/*.rst docs --exclude drafts/",
        "csl ingest notes/ --no-embed && csl index",
    ],
)
@argument("paths", metavar="PATH...", nargs=-1, required=True, help="Files, folders, or globs in quotes.")
@click.option(
    "--include", multiple=True, metavar="PATTERN", help="Only such files, as in .gitignore. Repeatable."
)
@click.option(
    "--exclude", multiple=True, metavar="PATTERN", help="No such files, as in .gitignore. Repeatable."
)
@click.option(
    "--no-ignore", is_flag=True, help="Take what .gitignore, .ignore and .consilienceignore leave out."
)
@click.option(
    "--jobs",
    type=click.IntRange(1, MOST_JOBS),
    metavar="N",
    help="Processes that parse side by side; as many as processors by default.",
)
@click.option("--no-embed", is_flag=True, help="Leave the vectors to a later `csl index`.")
def ingest(
    invocation: Invocation,
    paths: tuple[str, ...],
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    no_ignore: bool,
    jobs: int | None,
    no_embed: bool,
) -> int:
    """Take files of every kind that `csl readers` lists into a brain, whose layout is made if need be.

    What was taken before and has not changed costs nothing. A changed file supersedes what it replaced.
    Interrupting is safe: the same command goes on from there.
    """
    from consilience.cli import render_work
    from consilience.ingest.report import IngestReport

    brain, actor, project = invocation.brain_config(), invocation.actor(), invocation.project()
    invocation.kept = GOES_ON
    progress = invocation.progress()
    error: ConsilienceError | None = None
    try:
        with project.writable(brain.name, create=True) as opened:
            report = opened.ingest(
                paths,
                actor=actor,
                clock=invocation.clock,
                root=project.root,
                include=include,
                exclude=exclude,
                use_ignore_files=not no_ignore,
                embed=not no_embed,
                jobs=invocation.jobs(jobs),
                progress=progress,
                waiting=invocation.waiting(),
            )
    except ConsilienceError as stopped:
        if not isinstance(stopped.done, IngestReport):
            raise
        error, report = stopped, stopped.done
    finally:
        progress.close()
    if report.interrupted:
        error = invocation.interrupted()
    elif error is None:
        error = _not_taken(report)
    return invocation.emit(
        lambda: render_work.ingest_document(brain.name, actor.id, report),
        lambda terminal: render_work.ingest(brain.name, actor.id, report, terminal),
        warnings=report.notes,
        error=error,
    )


def _not_taken(report: IngestReport) -> ConsilienceError | None:
    """What is to be said of files that failed or were refused, where everything else went well."""
    if count := len(report.failed):
        return SourceError(
            f"{count} file{'s' if count > 1 else ''} could not be taken",
            hint="everything else is in; the same command tries them again",
        )
    if count := len(report.refused):
        return PolicyError(
            f"{count} file{'s' if count > 1 else ''} refused: redacted bytes do not come back by themselves",
            hint="everything else is in; `csl retain readmit ID` lets them in again",
        )
    return None


@command(
    "index",
    short_help="Bring a brain's indices up to date",
    examples=["csl index --brain algebra", "csl index --rebuild"],
)
@click.option(
    "--rebuild", is_flag=True, help="Make them anew. Vectors of texts that did not change are kept."
)
@click.option("--no-embed", is_flag=True, help="Everything but the vectors.")
def index(invocation: Invocation, rebuild: bool, no_embed: bool) -> int:
    """Bring everything that is derived from a brain's blocks up to date: lexical index, vectors, statistics.

    Interrupting is safe: the same command goes on from there.
    """
    from consilience.cli import render_work
    from consilience.derived import CaughtUp

    brain = invocation.brain_config()
    invocation.kept = "what was done is kept; the same command goes on from there"
    progress = invocation.progress()
    error: ConsilienceError | None = None
    try:
        with invocation.project().writable(brain.name) as opened:
            report = opened.index(progress=progress, embed=not no_embed, rebuild=rebuild)
    except ConsilienceError as stopped:
        if not isinstance(stopped.done, CaughtUp):
            raise
        error, report = stopped, stopped.done
    finally:
        progress.close()
    return invocation.emit(
        lambda: render_work.index_document(brain.name, report),
        lambda terminal: render_work.index(brain.name, report, terminal),
        warnings=report.notes,
        error=invocation.interrupted() if report.interrupted else error,
    )
