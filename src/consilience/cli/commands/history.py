"""`csl history` and `csl diff`: what a brain was, and what changed."""

from __future__ import annotations

import click

from consilience.cli import past
from consilience.cli.asking import module_named
from consilience.cli.framework import argument, command
from consilience.cli.invocation import Invocation

MOST = 1_000_000


@command(
    "history",
    short_help="Show a brain's snapshots and what each changed",
    examples=["csl history", "csl history --brain algebra --limit 3", "csl history --module semantic"],
)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, MOST),
    default=20,
    show_default=True,
    help="Most snapshots, newest first.",
)
@click.option("--module", metavar="MODULE", help="Only snapshots that changed this module, and that.")
def history(invocation: Invocation, limit: int, module: str | None) -> int:
    """Show the snapshots of a brain, newest first: when, by whom, what changed in each module, which files.

    A snapshot's first digits, or head~N, go to --at and to `csl diff`.
    """
    from consilience.cli import render_history

    wanted = None if module is None else module_named(module)
    brain = invocation.brain_config()
    with invocation.project().brain(brain.name, read_only=True) as opened:
        report = opened.history(limit=limit, module=wanted)
    return invocation.emit(
        lambda: render_history.history_document(report),
        lambda terminal: render_history.history(report, terminal),
    )


@command(
    "diff",
    short_help="Show what changed between two snapshots of a brain",
    examples=["csl diff head~1 head", "csl diff 3f2a9c01 head --module semantic --limit 100"],
)
@argument("a", metavar="A", help="A snapshot: head, head~N, or its first digits.")
@argument("b", metavar="B", help="Another one of the same brain.")
@click.option("--module", metavar="MODULE", help="Only this module; provenance is listed only so.")
@click.option(
    "-n", "--limit", type=click.IntRange(0, MOST), default=20, show_default=True, help="Most blocks listed."
)
def diff(invocation: Invocation, a: str, b: str, module: str | None, limit: int) -> int:
    """Show which blocks joined, left, were superseded, demoted, shown again or redacted from snapshot A to snapshot B.

    The counts are of all; the list is cut at --limit, and says so.
    """
    from consilience.cli import render_history

    wanted = None if module is None else module_named(module)
    brain = invocation.brain_config()
    with invocation.project().brain(brain.name, read_only=True) as opened:
        others = past.others(invocation.project(), opened.name)
        first, second = opened.snapshot(a, others), opened.snapshot(b, others)
        report = opened.diff(first, second, module=wanted, limit=limit)
    return invocation.emit(
        lambda: render_history.diff_document(report), lambda terminal: render_history.diff(report, terminal)
    )
