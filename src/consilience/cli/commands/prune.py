"""`csl retain prune`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from consilience.cli.framework import command
from consilience.cli.invocation import Invocation
from consilience.errors import DecisionNeededError, UsageError

if TYPE_CHECKING:
    from consilience.config import BrainConfig
    from consilience.store.prune import Keep

MOST = 1_000_000_000


@command(
    "prune",
    short_help="Remove older snapshots, and bytes that only they name",
    examples=[
        "csl retain prune --keep 20 --dry-run",
        "csl retain prune --keep 20 --keep-days 90 --yes",
        "csl retain prune --yes",
    ],
)
@click.option("--keep", type=click.IntRange(1, MOST), metavar="N", help="The newest N snapshots stay.")
@click.option(
    "--keep-days",
    type=click.IntRange(1, MOST),
    metavar="DAYS",
    help="What was the head in the last DAYS stays.",
)
@click.option("--dry-run", is_flag=True, help="Show what would go. Nothing is changed.")
@click.option("--yes", is_flag=True, help="Carry it out. There is no way back.")
def prune(invocation: Invocation, keep: int | None, keep_days: int | None, dry_run: bool, yes: bool) -> int:
    """Bound how far back a brain can be opened: remove the oldest snapshots, and the bytes of blocks and
    originals that no snapshot kept names.

    With neither --keep nor --keep-days, what [retention] in consilience.toml says. A snapshot stays if either rule
    says so; the head always does. Membership does not change, and a record says which blocks lost their bytes.
    """
    from consilience.cli import render_prune

    if dry_run and yes:
        raise UsageError("--dry-run and --yes do not go together", hint="--dry-run changes nothing")
    brain = invocation.brain_config()
    rule = _rule(invocation, brain, keep, keep_days)
    if not yes:
        with invocation.project().brain(brain.name, read_only=True) as opened:
            plan = opened.prune_plan(rule, clock=invocation.clock)
        undecided = None
        if not dry_run and not plan.nothing:
            again = "".join(
                f" --{n} {v}" for n, v in (("keep", keep), ("keep-days", keep_days)) if v is not None
            )
            undecided = DecisionNeededError(
                "nothing was removed: a prune is carried out with --yes",
                hint=f"csl retain prune{again} --yes",
            )
        return invocation.emit(
            lambda: render_prune.document(brain.name, plan),
            lambda terminal: render_prune.planned(brain.name, plan, terminal),
            error=undecided,
        )
    actor = invocation.actor()
    invocation.kept = "pruned or not, the brain is whole; run it again"
    with invocation.project().writable(brain.name) as opened:
        done = opened.prune(rule, actor=actor, clock=invocation.clock, waiting=invocation.waiting())
    return invocation.emit(
        lambda: render_prune.document(brain.name, done.plan, done),
        lambda terminal: render_prune.pruned(brain.name, done, terminal),
        warnings=done.notes,
    )


def _rule(invocation: Invocation, brain: BrainConfig, keep: int | None, keep_days: int | None) -> Keep:
    """The rule of the command line, else that of the project's file."""
    from consilience.store.prune import Keep

    if keep is None and keep_days is None:
        keep, keep_days = brain.retention.keep_snapshots, brain.retention.keep_days
    if keep is None and keep_days is None:
        raise UsageError(
            "nothing says what to keep",
            hint=f"--keep N, --keep-days DAYS, or keep_snapshots under [retention] in {invocation.project().file}",
        )
    return Keep(snapshots=keep, days=keep_days)
