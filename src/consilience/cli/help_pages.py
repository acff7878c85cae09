"""Renders every help page once, into `help_text.py`, so that `--help` costs what starting Python costs.

    python -m consilience.cli.help_pages

A test fails when a page is not what click would print now (docs/decisions/0070-help-is-stored.md).
"""

from __future__ import annotations

from pathlib import Path

import click

from consilience import __version__
from consilience.cli.app import root_command
from consilience.cli.invocation import Invocation
from consilience.cli.tree import PROGRAM, paths

FILE = Path(__file__).with_name("help_text.py")


def page(path: tuple[str, ...]) -> str:
    """The help of one command, for a terminal of 80 columns or more."""
    command: click.Command = root_command()
    names = ["-h", "--help"]
    context = click.Context(
        command, info_name=PROGRAM, obj=Invocation({}), terminal_width=78, help_option_names=names
    )
    for name in path:
        assert isinstance(command, click.Group)
        found = command.get_command(context, name)
        assert found is not None, name
        command = found
        context = click.Context(command, info_name=name, parent=context, terminal_width=78)
    return command.get_help(context) + "\n"


def pages() -> dict[str, str]:
    """Every page by the words before `--help`, and the version."""
    return {**{" ".join(path): page(path) for path in paths()}, "--version": f"{PROGRAM} {__version__}\n"}


def source() -> str:
    """The module that holds the pages."""
    lines = ['"""Stored help pages, made by `python -m consilience.cli.help_pages`. Not to be edited."""', ""]
    lines.append("PAGES: dict[str, str] = {")
    for path, text in pages().items():
        body = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
        lines.append(f'    "{path}": """\\\n{body}""",')
    return "\n".join([*lines, "}", ""])


if __name__ == "__main__":
    FILE.write_text(source(), encoding="utf-8")
