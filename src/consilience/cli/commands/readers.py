"""`csl readers`."""

from __future__ import annotations

from consilience.cli.framework import command
from consilience.cli.invocation import Invocation


@command("readers", short_help="List what kinds of file can be read here", examples=["csl readers"])
def readers(invocation: Invocation) -> int:
    """List every kind of file there is a reader for: the reader's version, the endings and media types it
    takes, and the command that installs what is missing."""
    from consilience.cli import render_readers

    shown = render_readers.document()
    return invocation.emit(lambda: shown, lambda terminal: render_readers.lines(shown, terminal))
