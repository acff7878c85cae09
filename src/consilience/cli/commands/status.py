"""`csl status`."""

from __future__ import annotations

from consilience.cli.framework import command
from consilience.cli.invocation import Invocation


@command("status", short_help="What is here, healthy, stale or missing", examples=["csl status"])
def status(invocation: Invocation) -> int:
    """Say what is here, healthy, behind or missing, and what to do about it. With --brain, of that one
    only."""
    from consilience.cli import render_project

    project = invocation.project()
    named = invocation.options.get("brain")
    names = (project.declared(named).name,) if named is not None else ()
    shown, error = render_project.show(project, names)
    return invocation.emit(
        lambda: shown, lambda terminal: render_project.status(shown, terminal), error=error
    )
