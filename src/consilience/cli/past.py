"""`--at`: a command that looks at a brain as it was at a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from consilience.errors import UsageError

if TYPE_CHECKING:
    from consilience.brain import Brain
    from consilience.cli.invocation import Invocation
    from consilience.cli.terminal import Terminal
    from consilience.model import Explanation, MemberReport
    from consilience.project import Project
    from consilience.protocol import Digest

Function = Callable[..., int]

at_option = click.option(
    "--at",
    "at_text",
    metavar="SNAPSHOT",
    help="As it was at a snapshot: head~N, or the first digits of one that `csl history` lists.",
)

at_brain_option = click.option(
    "--at",
    "at_texts",
    multiple=True,
    metavar="BRAIN=SNAPSHOT",
    help="One brain as it was at a snapshot of its own; repeatable. The others as they are.",
)


def resolve(invocation: Invocation, opened: Brain, text: str | None) -> Digest | None:
    """The snapshot of an opened brain that `--at` names; None without one, for the head."""
    return None if text is None else opened.snapshot(text, others(invocation.project(), opened.name))


def others(project: Project, name: str) -> Sequence[tuple[str, Path]]:
    """The project's other brains, of which one may have the snapshot that this one has not."""
    return tuple((brain.name, brain.path) for brain in project.brains if brain.name != name)


def by_brain(texts: Sequence[str]) -> dict[str, str]:
    """`BRAIN=SNAPSHOT`, several times, by brain. UsageError for anything else, and for two of one brain."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, snapshot = text.partition("=")
        name, snapshot = name.strip(), snapshot.strip()
        if not (name and equals and snapshot):
            raise UsageError(
                f"--at {text!r}: a compound takes BRAIN=SNAPSHOT", hint="a snapshot belongs to one brain"
            )
        if found.setdefault(name, snapshot) != snapshot:
            raise UsageError(
                f"--at names two snapshots of {name!r}", hint="one brain is asked at one snapshot"
            )
    return found


def of_members(
    invocation: Invocation, texts: Sequence[str], members: Sequence[MemberReport | Explanation]
) -> str | None:
    """The snapshots that a compound's members were asked at, in words; None where all were asked as they are."""
    from consilience.protocol import parse_digest

    said = []
    for name in by_brain(texts):
        snapshot = next((member.snapshot for member in members if member.brain == name), None)
        if snapshot is not None:
            with invocation.project().brain(name, read_only=True) as opened:
                said.append(f"{name}: {opened.describe(parse_digest(snapshot))}")
    return "; ".join(said) or None


def lines(described: str | None, terminal: Terminal) -> Iterator[str]:
    """The line that says that this is not the head."""
    if described is not None:
        yield terminal.style(f"  at {described}", "yellow")
