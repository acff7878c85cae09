"""`csl trace`."""

from __future__ import annotations

import click

from consilience.cli import past
from consilience.cli.framework import argument, command
from consilience.cli.invocation import Invocation

MOST = 100_000


@command(
    "trace",
    short_help="Show what a block came from, and what came from it",
    examples=[
        "csl trace 3f2a9c01d2e4",
        "csl trace 3f2a9c01d2e4 --down --limit 50",
        "csl trace 3f2a9c01d2e4 --up --at head~3",
    ],
)
@argument("block_id", metavar="ID", help="sha256:... or its first four hex digits or more.")
@click.option("--up", "up", is_flag=True, help="Only what it came from, up to the registered files.")
@click.option("--down", "down", is_flag=True, help="Only what was made from it.")
@click.option("--depth", type=click.IntRange(1, MOST), default=8, help="Steps each way; 8 by default.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, MOST),
    default=10,
    help="Blocks shown at each step; 10 by default.",
)
@past.at_option
def trace(
    invocation: Invocation, block_id: str, up: bool, down: bool, depth: int, limit: int, at_text: str | None
) -> int:
    """Show the lineage of a block as a tree: up to the files it came from (place, who, when, by what reader), and
    down to what was made from it."""
    from consilience.cli import render_trace

    brain = invocation.brain_config()
    with invocation.project().brain(brain.name, read_only=True) as opened:
        at = past.resolve(invocation, opened, at_text)
        report = opened.trace(
            block_id, depth=depth, limit=limit, up=up or not down, down=down or not up, at=at
        )
        told = None if at is None else opened.describe(at)
    return invocation.emit(
        lambda: report,
        lambda terminal: (*render_trace.trace(report, terminal), *past.lines(told, terminal)),
    )
