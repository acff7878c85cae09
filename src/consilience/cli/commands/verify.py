"""`csl verify`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from consilience.cli import past, render_verify
from consilience.cli.framework import command
from consilience.cli.invocation import Invocation
from consilience.errors import ConsilienceError, IntegrityError, UsageError

if TYPE_CHECKING:
    from consilience.store.verify import VerifyReport


@command(
    "verify",
    short_help="Recompute everything a brain claims",
    examples=[
        "csl verify --brain algebra",
        "csl verify --brain algebra --repair",
        "csl verify --all",
        "csl verify --brain algebra --at head~3",
    ],
)
@past.at_option
@click.option("--all", "every", is_flag=True, help="Every brain of the project that is here.")
@click.option("--repair", "mend", is_flag=True, help="Write anew what follows from the rest.")
def verify(invocation: Invocation, at_text: str | None, every: bool, mend: bool) -> int:
    """Recompute every id, membership, root, snapshot and original of a brain, and check every file that is
    derived from them. Exit status 5 if one differs.

    With --repair, what is derived is rebuilt where it is damaged, and the ledger and the indexes of the database
    are written anew; then everything is verified again, and the brain is opened again and asked a question.
    Blocks and originals follow from nothing else: their problems say what to do.

    With --at, the roots of that snapshot too, from the blocks that were its members. With --all, a brain that fails
    does not stop the others.
    """
    if at_text is not None and (every or mend):
        raise UsageError("--at names a snapshot of one brain, and goes with neither --all nor --repair")
    if every:
        return _every(invocation, mend)
    config = invocation.brain_config()
    invocation.kept = "what is repaired already stays so" if mend else "verifying changes nothing"
    verified, error = _one(invocation, config.name, at_text, mend)
    return invocation.emit(
        lambda: render_verify.document(verified),
        lambda terminal: (
            *render_verify.lines(verified, terminal),
            *past.lines(verified.told and f"the head and at {verified.told}", terminal),
        ),
        error=error,
    )


def _one(
    invocation: Invocation, name: str, at_text: str | None, mend: bool
) -> tuple[render_verify.Verified, ConsilienceError | None]:
    """Verify one brain, and repair it if asked to; what is wrong in the end, as an error."""
    progress = invocation.progress()
    told = None
    try:
        with invocation.project().brain(name, read_only=not mend) as opened:
            if mend:
                repaired = opened.repair(progress=progress, waiting=invocation.waiting())
                report = repaired.after
            else:
                at = past.resolve(invocation, opened, at_text)
                told = None if at is None else opened.describe(at)
                repaired, report = None, opened.verify(progress=progress, at=at)
    finally:
        progress.close()
    error: ConsilienceError | None = None
    if report.problems:
        count = len(report.problems) + report.more
        rest = " left" if mend else ""
        hint = "`verify --repair` rebuilds what is derived" if _only_derived(report) and not mend else None
        error = IntegrityError(f"{name}: {count:,} problem{'s' if count > 1 else ''}{rest}", hint=hint)
    elif repaired is not None and not repaired.ok:
        error = IntegrityError(
            f"{name}: every file holds, but a question for a block of its own did not find it",
            hint="run `index --rebuild`",
        )
    return render_verify.Verified(name, report, repaired, told), error


def _only_derived(report: VerifyReport) -> bool:
    return all(problem.derived for problem in report.problems) and not report.more


def _every(invocation: Invocation, mend: bool) -> int:
    """All brains, one after the other; the worst status of them."""
    project = invocation.project()
    found: list[render_verify.Verified | render_verify.Failed] = []
    failed: list[ConsilienceError] = []
    for config in project.brains:
        if (reason := project.absent(config.name)) is not None:
            found.append(render_verify.Failed(config.name, reason, skipped=True))
            continue
        try:
            verified, error = _one(invocation, config.name, None, mend)
            found.append(verified)
        except ConsilienceError as caught:
            error = caught
            found.append(render_verify.Failed(config.name, caught.message, hint=caught.hint))
        if error is not None:
            failed.append(error)
    error = None
    if failed:
        worst = max(failed, key=lambda e: e.exit_status == IntegrityError.exit_status)
        error = (
            failed[0]
            if len(failed) == 1
            else type(worst)(f"{len(failed)} of {len(found)} brains are not sound")
        )
    return invocation.emit(
        lambda: render_verify.documents(found),
        lambda terminal: render_verify.all_lines(found, terminal),
        error=error,
    )
