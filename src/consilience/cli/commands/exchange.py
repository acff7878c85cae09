"""`csl export` and `csl import`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from consilience.cli.framework import argument, command
from consilience.cli.invocation import Invocation


@command(
    "export",
    short_help="Write a brain as an OCI image layout",
    examples=[
        "csl export /mnt/usb/algebra --brain algebra",
        "csl export out --tag 2026-11 --no-artifact",
    ],
)
@argument("folder", metavar="DIR", help="A new or empty folder, or an earlier export of this brain.")
@click.option("--tag", default="latest", show_default=True, metavar="TAG", help="The name of the artifact.")
@click.option("--no-artifact", is_flag=True, help="Without the packed layers that registries take.")
def export(invocation: Invocation, folder: str, tag: str, no_artifact: bool) -> int:
    """Write a brain's head and whole history as an OCI image layout, which other software of the protocol opens.

    An earlier export of the same brain is brought up to date; what was redacted since is removed from it.
    """
    from consilience.cli import render_exchange

    brain = invocation.brain_config()
    target = Path(os.path.abspath(folder))  # noqa: PTH100
    progress = invocation.progress()
    invocation.kept = "a new folder is not there; an earlier export is whole, with some blobs more"
    try:
        with invocation.project().brain(brain.name, read_only=True) as opened:
            report = opened.export(target, tag=tag, artifact=not no_artifact, progress=progress)
    finally:
        progress.close()
    return invocation.emit(
        lambda: render_exchange.export_document(brain.name, report),
        lambda terminal: render_exchange.exported(brain.name, report, terminal),
        warnings=report.warnings,
    )


@command(
    "import",
    short_help="Take in an OCI image layout, verified",
    examples=[
        "csl import /mnt/usb/algebra --brain algebra",
        "csl import published --brain algebra --tag v3",
    ],
)
@argument("folder", metavar="DIR", help="A layout that export or pyboltzmann made.")
@click.option("--tag", metavar="TAG", help="The packed artifact of this name, instead of the loose blobs.")
@click.option("--no-embed", is_flag=True, help="Leave the vectors to a later `csl index`.")
def import_(invocation: Invocation, folder: str, tag: str | None, no_embed: bool) -> int:
    """Take in an OCI image layout with its whole history. Everything is verified before anything is visible.

    A declared brain that has no data yet is made. One that has is brought forward, if its own head is part of the
    history that comes in; otherwise the histories have diverged and nothing is written.
    """
    from consilience.cli import render_exchange

    brain = invocation.brain_config()
    actor = invocation.actor()
    progress = invocation.progress()
    try:
        report = invocation.project().import_layout(
            Path(os.path.abspath(folder)),  # noqa: PTH100
            brain.name,
            actor=actor,
            clock=invocation.clock,
            tag=tag,
            embed=not no_embed,
            progress=progress,
            waiting=invocation.waiting(),
        )
    finally:
        progress.close()
    return invocation.emit(
        lambda: render_exchange.import_document(brain.name, folder, report),
        lambda terminal: render_exchange.imported(brain.name, folder, report, terminal),
        warnings=report.warnings,
        error=invocation.interrupted() if report.interrupted else None,
    )
