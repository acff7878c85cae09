"""`csl compound`: several brains asked one question."""

from __future__ import annotations

from collections.abc import Callable

import click

from consilience.cli import output, past
from consilience.cli.asking import asking, query
from consilience.cli.framework import command
from consilience.cli.invocation import Invocation

Function = Callable[..., int]


def choosing(function: Function) -> Function:
    """The two ways to say which brains."""
    brains = click.option(
        "--brains",
        multiple=True,
        metavar="NAME[,NAME...]",
        help="The brains to ask, in this order; repeatable, or with commas.",
    )
    every = click.option("--all", "all_", is_flag=True, help="Ask every brain that is on this machine.")
    return brains(every(function))


def say_what_is_ignored(invocation: Invocation) -> None:
    """`--brain` is for every other command (contract C2)."""
    if "brain" in invocation.options:
        output.note(invocation, "note: a compound asks --brains; --brain is not looked at")


@command(
    "search",
    short_help="Search several brains, grouped or fused",
    examples=[
        "csl compound search --all how are features deprecated",
        "csl compound search --brains python,rust 'deprecation policy' --fuse",
        "csl compound search --all 'deprecation policy' --at python=head~3",
    ],
)
@asking
@choosing
@click.option(
    "--fuse", is_flag=True, help="One list for all, by reciprocal rank, instead of one for each brain."
)
@click.option(
    "--defer",
    is_flag=True,
    help="With --fuse: the less sure a brain is of the subject, the later its ranks begin.",
)
@click.option(
    "--near",
    is_flag=True,
    help="Under a match, where other brains say the same, in other words or almost the same.",
)
@past.at_brain_option
def search(
    invocation: Invocation,
    brains: tuple[str, ...],
    all_: bool,
    fuse: bool,
    defer: bool,
    near: bool,
    at_texts: tuple[str, ...],
    **options: object,
) -> int:
    """Search several brains, side by side: grouped by brain, or with --fuse as one list.

    --limit counts per brain, or with --fuse for the whole list.
    """
    from consilience.cli import render_search
    from consilience.documents import to_json
    from consilience.envelope import outcome

    asked = query(options)
    say_what_is_ignored(invocation)
    compound = invocation.project().compound(*brains, all=all_, at=past.by_brain(at_texts))
    result = compound.search(asked, fuse=fuse, defer=defer)
    told = past.of_members(invocation, at_texts, result.members)
    return invocation.emit(
        lambda: to_json(result),
        lambda terminal: (*render_search.compound(result, terminal, near=near), *past.lines(told, terminal)),
        warnings=result.warnings,
        error=outcome(result),
    )


@command(
    "explain",
    short_help="Show why each brain answers as it does",
    examples=["csl compound explain --all how are features deprecated"],
)
@asking
@choosing
@past.at_brain_option
@click.option("--analyze", is_flag=True, help="Run it, and show what was measured beside what was estimated.")
def explain(
    invocation: Invocation,
    brains: tuple[str, ...],
    all_: bool,
    analyze: bool,
    at_texts: tuple[str, ...],
    **options: object,
) -> int:
    """Show each brain's own plan for a question, side by side. There is no plan of the compound."""
    from consilience.cli import render_explain
    from consilience.documents import to_json
    from consilience.envelope import outcome

    asked = query(options)
    say_what_is_ignored(invocation)
    compound = invocation.project().compound(*brains, all=all_, at=past.by_brain(at_texts))
    result = compound.explain(asked, analyze=analyze)
    told = past.of_members(invocation, at_texts, result.members)
    return invocation.emit(
        lambda: to_json(result),
        lambda terminal: (*render_explain.compound(result, terminal), *past.lines(told, terminal)),
        warnings=result.warnings,
        error=outcome(result),
    )
