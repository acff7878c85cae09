"""`csl remember`."""

from __future__ import annotations

import sys

import click

from consilience.cli.framework import argument, command
from consilience.cli.invocation import Invocation
from consilience.errors import UsageError, ValidationError

KINDS = ("fact", "concept", "formula", "relation", "constraint")


@command(
    "remember",
    short_help="Take one fact in by hand",
    examples=[
        "csl remember 'The northern pump needs 1.2 bar.' --subject pump",
        "csl remember 'Wells need a filter.' --source https://example.org/wells",
        "csl remember 'The filter was replaced.' --when 2026-05-01 --tag well",
        "csl remember - --by lab/notes",
    ],
)
@argument("text", metavar="TEXT...", nargs=-1, required=True, help="The fact in words; - is standard input.")
@click.option("--source", metavar="TEXT", help="Where it comes from: a URL, a book, a file of this brain.")
@click.option("--subject", metavar="TEXT", help="What it is about.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A word to find it by (--tag). Repeatable.")
@click.option("--when", metavar="DATE", help="When it happened, 2026-05-01 say: makes it an event.")
@click.option(
    "--kind", type=click.Choice(KINDS), help="What kind of statement it is; a fact where nothing is said."
)
@click.option("--by", metavar="ID", help="Who says so; the same as --actor.")
@click.option("--no-embed", is_flag=True, help="Leave its vector to a later `csl index`.")
def remember(
    invocation: Invocation,
    text: tuple[str, ...],
    source: str | None,
    subject: str | None,
    tags: tuple[str, ...],
    when: str | None,
    kind: str | None,
    by: str | None,
    no_embed: bool,
) -> int:
    """Take one fact into a brain, whose layout is made if need be. The words themselves are registered, with where they
    come from, and the fact is derived from them. The same fact again is not written again."""
    from consilience.cli import render_task
    from consilience.cli.commands.task import caught_up
    from consilience.propose.remember import Fact
    from consilience.propose.remember import remember as take
    from consilience.protocol import Kind

    if when is not None and kind is not None:
        raise UsageError("--when makes an event, and --kind is of statements", hint="leave one of them out")
    if by is not None:
        invocation.set("actor", by)
    fact = Fact(
        text=_standard_input() if text == ("-",) else " ".join(text),
        subject=subject,
        tags=tags,
        when=when,
        kind=Kind(kind or "fact"),
    )
    brain, actor = invocation.brain_config(), invocation.actor()
    with invocation.project().writable(brain.name, create=True) as opened:
        made = take(
            opened.store,
            brain.name,
            fact,
            actor=actor,
            clock=invocation.clock,
            source=source,
            waiting=invocation.waiting(),
        )
        notes, failed = caught_up(invocation, opened, embed=not no_embed)
    return invocation.emit(
        lambda: made,
        lambda terminal: render_task.remembered(made, terminal),
        warnings=(*made.notes, *notes),
        error=failed,
    )


def _standard_input() -> str:
    if sys.stdin is None:
        raise UsageError("standard input is closed")
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValidationError(
            f"standard input is not UTF-8: byte {error.object[error.start]:#04x} at {error.start}"
        ) from None
