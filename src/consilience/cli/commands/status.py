"""`csl status`."""

from __future__ import annotations

from consilience.cli import past
from consilience.cli.framework import command
from consilience.cli.invocation import Invocation


@command("status", short_help="What is here, healthy, stale or missing", examples=["csl status"])
@past.at_option
def status(invocation: Invocation, at_text: str | None) -> int:
    """Say what is here, healthy, behind or missing, and what to do about it. With --brain, of that one
    only; with --at, what that one held then."""
    from consilience.cli import render_project

    project = invocation.project()
    named = invocation.options.get("brain")
    names = (project.declared(named).name,) if named is not None else ()
    at = told = None
    if at_text is not None:
        names = (invocation.brain_config().name,)
        with project.brain(names[0], read_only=True) as opened:
            at = past.resolve(invocation, opened, at_text)
            told = opened.describe(at)
    shown, error = render_project.show(project, names, at)
    if at is None and any(brain.sources for brain in project.brains):
        from consilience.cli.commands.sync import around
        from consilience.sync.status import declared_status

        surroundings = around(invocation)
        shown = render_project.with_sources(
            shown, lambda name: declared_status(project, project.declared(name), surroundings)
        )
    return invocation.emit(
        lambda: shown,
        lambda terminal: (*render_project.status(shown, terminal), *past.lines(told, terminal)),
        error=error,
    )
