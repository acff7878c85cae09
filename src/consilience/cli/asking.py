"""The options of every question, and the Query that they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from consilience.cli.framework import argument
from consilience.errors import QueryError, UsageError
from consilience.model import Filters, Query
from consilience.protocol import MemoryType

MOST = 10_000
Function = Callable[..., int]


def asking(function: Function) -> Function:
    """The question, the filters, the limit."""

    def several(name: str, variable: str, metavar: str, help: str) -> Callable[[Function], Function]:
        return click.option(name, variable, multiple=True, metavar=metavar, help=help)

    decorators: list[Callable[[Function], Function]] = [
        argument("text", nargs=-1, required=True, metavar="TEXT...", help="The question."),
        click.option(
            "-n", "--limit", type=click.IntRange(1, MOST), default=10, show_default=True, help="Most matches."
        ),
        several("--module", "modules", "MODULE", f"Only this module: {', '.join(MemoryType)}. Repeatable."),
        several("--kind", "kinds", "KIND", "Only blocks of this kind. Repeatable."),
        several("--subject", "subjects", "SUBJECT", "Only blocks about this subject. Repeatable."),
        several("--tag", "tags", "TAG", "Only blocks with this tag. Repeatable."),
        several("--source", "sources", "GLOB", "Only what comes from these files. Repeatable."),
        click.option(
            "--since", metavar="DATE", help="Nothing before: 2024, 2024-05, 2024-05-01, with time, UTC."
        ),
        click.option("--until", metavar="DATE", help="Nothing after, the day (month, year) itself included."),
        click.option("--include-superseded", is_flag=True, help="Also what something else has replaced."),
        click.option("--no-floor", is_flag=True, help="Also what is no nearer than chance."),
        click.option(
            "--related", is_flag=True, help="Also what is related to the matches: beside them, linked."
        ),
        click.option("--no-collapse", is_flag=True, help="Copies of one passage as matches of their own."),
    ]
    for decorate in reversed(decorators):
        function = decorate(function)
    return function


def query(options: Mapping[str, Any]) -> Query:
    """The question that the options of `asking` make. QueryError or UsageError for what cannot be asked."""
    text = " ".join(options["text"])
    if not text.strip():
        raise QueryError("the question is empty", hint="csl search TEXT")
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise QueryError("the question is not valid UTF-8", hint="check the terminal's encoding")
    filters = Filters(
        modules=tuple(dict.fromkeys(module_named(name) for name in options["modules"])),
        kinds=options["kinds"],
        subjects=options["subjects"],
        tags=options["tags"],
        sources=options["sources"],
        since=options["since"],
        until=options["until"],
    )
    return Query(
        text=text,
        filters=filters,
        limit=options["limit"],
        include_superseded=options["include_superseded"],
        floor=not options["no_floor"],
        collapse=not options["no_collapse"],
        related=options["related"],
    )


def module_named(name: str) -> MemoryType:
    """The module that a word names. UsageError with the known ones."""
    from consilience.config import near

    known = tuple(MemoryType)
    try:
        return MemoryType(name)
    except ValueError:
        meant = near(name, known)
        hint = f"did you mean {meant}?" if meant else f"there are {', '.join(known)}"
        raise UsageError(f"there is no module {name!r}", hint=hint) from None
