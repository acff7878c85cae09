"""`csl retain`: what leaves a brain, by a rule and with a record."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from consilience.cli.framework import argument, command
from consilience.cli.invocation import Invocation
from consilience.errors import ConsilienceError, DecisionNeededError, UsageError

if TYPE_CHECKING:
    from consilience.brain import Brain
    from consilience.protocol import Actor
    from consilience.retain.report import Retained

IDS = "sha256:... or its first four hex digits or more; several may be named."
REASON = "Why. It stands in the record for ever, so no secret belongs into it."
PLAN = "The plan to carry out, as `csl retain plan` printed it; refused if it no longer fits."
KEPT = "what was committed is kept, `csl block ID` shows it; `csl index` brings everything else after it"
YES = "Carry it out without a plan seen before."


@command(
    "plan",
    short_help="Show what a drop or a redaction would do",
    examples=["csl retain plan drop 3f2a9c01d2e4", "csl retain plan redact 3f2a9c01d2e4 77b0c1d2"],
)
@argument("what", metavar="WHAT", type=click.Choice(["drop", "redact"]), help="`drop` or `redact`.")
@argument("ids", metavar="ID...", nargs=-1, required=True, help=IDS)
def plan(invocation: Invocation, what: str, ids: tuple[str, ...]) -> int:
    """Show what would go, what would go with it, what stays and why. Nothing is changed.

    The last line is the plan's name, which `csl retain drop` and `redact` take with --plan.
    """
    from consilience.cli import render_retain

    brain = invocation.brain_config()
    with invocation.project().brain(brain.name, read_only=True) as opened:
        made = opened.retain_plan(what, ids)
    return invocation.emit(lambda: made, lambda terminal: render_retain.plan(made, terminal))


@command(
    "drop",
    short_help="End the membership of blocks and of what came only from them",
    examples=[
        "csl retain drop 3f2a9c01d2e4 --reason 'wrong edition' --plan PLAN",
        "csl retain drop 3f2a9c01d2e4 --reason 'wrong edition' --yes",
    ],
)
@argument("ids", metavar="ID...", nargs=-1, required=True, help=IDS)
@click.option("--reason", required=True, metavar="TEXT", help=REASON)
@click.option("--plan", metavar="PLAN", help=PLAN)
@click.option("--yes", is_flag=True, help=YES)
def drop(invocation: Invocation, ids: tuple[str, ...], reason: str, plan: str | None, yes: bool) -> int:
    """Take blocks out of a brain, and what was derived only from them. The bytes stay as long as a retained
    snapshot names them."""
    _agreed(invocation, ids, plan, yes)
    return _write(
        invocation,
        lambda brain, actor: brain.drop(
            ids, reason=reason, plan=plan, actor=actor, clock=invocation.clock, waiting=invocation.waiting()
        ),
    )


@command(
    "redact",
    short_help="Destroy the bytes of blocks, which stay members",
    examples=["csl retain redact 3f2a9c01d2e4 --reason 'asked by the person' --plan PLAN"],
)
@argument("ids", metavar="ID...", nargs=-1, required=True, help=IDS)
@click.option("--reason", required=True, metavar="TEXT", help=REASON)
@click.option("--plan", metavar="PLAN", help=PLAN)
@click.option("--yes", is_flag=True, help=YES)
def redact(invocation: Invocation, ids: tuple[str, ...], reason: str, plan: str | None, yes: bool) -> int:
    """Destroy the bytes of blocks everywhere in the brain, originals that hold them included.

    The blocks stay members: they count, they prove, and read as not resolvable. It cannot be undone.
    """
    _agreed(invocation, ids, plan, yes)
    progress = invocation.progress()
    return _write(
        invocation,
        lambda brain, actor: brain.redact(
            ids,
            reason=reason,
            plan=plan,
            actor=actor,
            clock=invocation.clock,
            progress=progress,
            waiting=invocation.waiting(),
        ),
        progress.close,
    )


@command(
    "supersede",
    short_help="Say that a block took another's place",
    examples=["csl retain supersede 3f2a9c01d2e4 --by 77b0c1d2 --reason 'second edition'"],
)
@argument("old", metavar="OLD", help="The block that is hidden from now on.")
@click.option("--by", required=True, metavar="NEW", help="The block that took its place.")
@click.option("--reason", metavar="TEXT", help=REASON)
def supersede(invocation: Invocation, old: str, by: str, reason: str | None) -> int:
    """Hide a block behind its successor. Nothing is removed; `--include-superseded` shows it."""
    return _write(
        invocation,
        lambda brain, actor: brain.supersede(
            old, by, reason=reason, actor=actor, clock=invocation.clock, waiting=invocation.waiting()
        ),
    )


@command(
    "demote",
    short_help="Hide blocks without a successor",
    examples=["csl retain demote 3f2a9c01d2e4 --reason 'boilerplate'"],
)
@argument("ids", metavar="ID...", nargs=-1, required=True, help=IDS)
@click.option("--reason", metavar="TEXT", help=REASON)
def demote(invocation: Invocation, ids: tuple[str, ...], reason: str | None) -> int:
    """Show blocks no longer by default. Nothing is removed; `csl retain restore` shows them again."""
    return _write(
        invocation,
        lambda brain, actor: brain.demote(
            ids, reason=reason, actor=actor, clock=invocation.clock, waiting=invocation.waiting()
        ),
    )


@command(
    "restore",
    short_help="Show superseded or demoted blocks again",
    examples=["csl retain restore 3f2a9c01d2e4"],
)
@argument("ids", metavar="ID...", nargs=-1, required=True, help=IDS)
def restore(invocation: Invocation, ids: tuple[str, ...]) -> int:
    """Show again what was superseded or demoted: the latest word about a block counts."""
    return _write(
        invocation,
        lambda brain, actor: brain.restore(
            ids, actor=actor, clock=invocation.clock, waiting=invocation.waiting()
        ),
    )


@command(
    "readmit",
    short_help="Let redacted bytes in again",
    examples=["csl retain readmit 3f2a9c01d2e4 --reason 'consent given'"],
)
@argument("ids", metavar="ID...", nargs=-1, required=True, help=IDS)
@click.option("--reason", required=True, metavar="TEXT", help=REASON)
def readmit(invocation: Invocation, ids: tuple[str, ...], reason: str) -> int:
    """Lift the refusal that a redaction left, for these blocks and the originals that went with them.

    The bytes are not here; the next `csl ingest` of a file that holds them brings them back.
    """
    return _write(
        invocation,
        lambda brain, actor: brain.readmit(
            ids, reason=reason, actor=actor, clock=invocation.clock, waiting=invocation.waiting()
        ),
    )


def _agreed(invocation: Invocation, ids: tuple[str, ...], plan: str | None, yes: bool) -> None:
    """Nothing goes that nobody looked at."""
    what = invocation.command.rpartition(".")[2]
    if plan is not None and yes:
        raise UsageError("--plan and --yes do not go together", hint="--plan already says yes to that plan")
    if plan is None and not yes:
        raise DecisionNeededError(
            f"a {'redaction' if what == 'redact' else what} is carried out with --plan PLAN, or with --yes",
            hint=f"csl retain plan {what} {' '.join(ids)}",
        )


def _write(
    invocation: Invocation,
    work: Callable[[Brain, Actor], Retained],
    done: Callable[[], object] = lambda: None,
) -> int:
    from consilience.cli import render_retain

    brain = invocation.brain_config()
    actor = invocation.actor()
    invocation.kept = KEPT
    try:
        with invocation.project().writable(brain.name) as opened:
            report = work(opened, actor)
    finally:
        done()
    error: ConsilienceError | None = render_retain.unfinished(report)
    return invocation.emit(
        lambda: report,
        lambda terminal: render_retain.retained(report, terminal),
        warnings=report.notes,
        error=error,
    )
