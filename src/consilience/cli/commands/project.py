"""`csl project`: init, add, show, remove, list."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import click

from consilience.cli import output
from consilience.cli.framework import argument, command
from consilience.cli.invocation import Invocation
from consilience.errors import UsageError


@command(
    "init",
    short_help="Make a project in this folder",
    examples=[
        "csl project init lectures",
        "csl project init lectures --path ~/lectures --actor ana@example.org",
    ],
)
@argument("name", help="What the project is called.")
@click.option("--path", metavar="FOLDER", help="Where; this folder by default. Made if need be.")
@click.option("--description", default="", metavar="TEXT", help="What the project is about.")
def init(invocation: Invocation, name: str, path: str | None, description: str) -> int:
    """Make a project: write a consilience.toml.

    Who writes to its brains is asked of --actor, CONSILIENCE_ACTOR, or git (user.email).
    """
    from consilience.cli import render_project
    from consilience.config import actor_problem, find
    from consilience.project import Project

    folder = Path(os.path.abspath(path or "."))  # noqa: PTH100
    actor, origin = invocation.setting("actor", "CONSILIENCE_ACTOR")
    warnings = []
    if actor is None:
        actor, origin = git_email(folder), "git: user.email"
        problem = actor_problem(actor) if actor is not None else None
        if problem is not None:
            warnings.append(f"git's user.email is not taken as the actor: {problem}")
            actor = None
    around = find(folder.parent)
    if around is not None:
        warnings.append(f"this project lies inside another one: {around}")
    project = Project.init(folder, name, actor=actor, description=description)
    made = render_project.Made(
        name=project.name,
        file=str(project.file),
        actor=project.actor,
        actor_from=origin if project.actor is not None else None,
    )
    return invocation.emit(
        lambda: made, lambda terminal: render_project.made(made, terminal), warnings=warnings
    )


def git_email(folder: Path) -> str | None:
    """The address that git signs with in `folder`, None where there is none, or no git."""
    where = folder if folder.is_dir() else Path.cwd()
    try:
        done = subprocess.run(
            ["git", "-C", str(where), "config", "--get", "user.email"],
            capture_output=True,
            text=True,
            timeout=5,
            errors="replace",
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


@command(
    "add",
    short_help="Declare one more brain",
    examples=[
        "csl project add algebra --description 'Linear algebra, two semesters'",
        "csl project add notes --path ../notes-brain --outside",
        "csl project add notas --model openai:bge-m3 --model-url http://localhost:1/v1",
    ],
)
@argument("name", metavar="BRAIN", help="Lowercase letters and digits, single - or _ between them.")
@click.option(
    "--path", metavar="FOLDER", help="Where it lives, from the project's folder; brains/BRAIN by default."
)
@click.option("--outside", is_flag=True, help="Allow a folder outside of the project.")
@click.option("--description", default="", metavar="TEXT", help="What the brain is about.")
@click.option(
    "--model", metavar="PROVIDER[:MODEL]", help="What turns its text into vectors; e5-small by default."
)
@click.option("--model-url", metavar="URL", help="Where that provider answers.")
def add(
    invocation: Invocation,
    name: str,
    path: str | None,
    outside: bool,
    description: str,
    model: str | None,
    model_url: str | None,
) -> int:
    """Declare one more brain in the project's file. Its layout is made by its first ingest."""
    from consilience.cli import render_project
    from consilience.config import Embedding

    embedding = None
    if model is not None or model_url is not None:
        provider, _, which = (model or "openai").partition(":")
        embedding = Embedding(provider=provider, model=which or None, url=model_url)
    project = invocation.project()
    brain = project.add(name, path=path, description=description, outside=outside, embedding=embedding)
    declared = render_project.declared(project, brain)
    return invocation.emit(lambda: declared, lambda terminal: render_project.added(declared, terminal))


@command("show", short_help="Show the project and its brains")
def show(invocation: Invocation) -> int:
    """Show the project: each brain, where it lives, whether it is here, blocks, last change, root."""
    from consilience.cli import render_project

    project = invocation.project()
    shown, error = render_project.show(project)
    return invocation.emit(lambda: shown, lambda terminal: render_project.shown(shown, terminal), error=error)


@command("remove", short_help="Take a brain out of the project")
@argument("name", metavar="BRAIN", help="The brain's name.")
@click.option("--delete-data", is_flag=True, help="Delete its blocks and indices too. There is no way back.")
def remove(invocation: Invocation, name: str, delete_data: bool) -> int:
    """Take a brain out of the project's file. Its data stays where it is, unless --delete-data is given."""
    from consilience.cli import render_project

    removed = invocation.project().remove(name, delete_data=delete_data)
    data = render_project.removed_document(removed)
    return invocation.emit(lambda: data, lambda terminal: render_project.removed(removed, terminal))


@command("list", short_help="List the projects above and below this folder")
@argument(
    "folder", metavar="[FOLDER]", required=False, default=".", help="Where to look; this folder by default."
)
def list_(invocation: Invocation, folder: str) -> int:
    """List the projects in the folders above this one and, some levels deep, below it."""
    from consilience.cli import render_project

    start = Path(folder)
    if not start.is_dir():
        raise UsageError(f"{folder} is not a folder")
    projects, broken = render_project.listed(start)
    if not projects and not broken:
        output.note(
            invocation, "no project in this folder, above or below it (csl project init NAME makes one)"
        )
    return invocation.emit(
        lambda: projects, lambda terminal: render_project.list_(projects, start, terminal), warnings=broken
    )
