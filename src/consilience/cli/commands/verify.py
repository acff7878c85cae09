"""`csl verify`."""

from __future__ import annotations

from consilience.cli import past
from consilience.cli.framework import command
from consilience.cli.invocation import Invocation
from consilience.errors import IntegrityError


@command(
    "verify",
    short_help="Recompute everything a brain claims",
    examples=["csl verify --brain algebra", "csl verify --brain algebra --at head~3"],
)
@past.at_option
def verify(invocation: Invocation, at_text: str | None) -> int:
    """Recompute every id, membership, root, snapshot and original of a brain. Exit status 5 if one
    differs.

    With --at, the roots of that snapshot too, from the blocks that were its members.
    """
    from consilience.cli import render_verify

    brain = invocation.brain_config()
    invocation.kept = "verifying changes nothing"
    progress = invocation.progress()
    try:
        with invocation.project().brain(brain.name, read_only=True) as opened:
            at = past.resolve(invocation, opened, at_text)
            told = None if at is None else opened.describe(at)
            report = opened.verify(progress=progress, at=at)
    finally:
        progress.close()
    error = None
    if report.problems:
        count = len(report.problems)
        error = IntegrityError(f"{brain.name}: {count:,} problem{'s' if count > 1 else ''}")
    return invocation.emit(
        lambda: render_verify.document(brain.name, report),
        lambda terminal: (
            *render_verify.verified(brain.name, report, terminal),
            *past.lines(told and f"the head and at {told}", terminal),
        ),
        error=error,
    )
