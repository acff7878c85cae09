"""`csl block`."""

from __future__ import annotations

import click

from consilience.cli import output, past
from consilience.cli.framework import argument, command
from consilience.cli.invocation import Invocation
from consilience.errors import IntegrityError, UsageError


@command(
    "block",
    short_help="Show one block, where it comes from, its proof",
    examples=[
        "csl block 3f2a9c01d2e4",
        "csl block 3f2a9c01d2e4 --prove",
        "csl block 3f2a9c01d2e4 --bytes > file",
    ],
)
@argument("block_id", metavar="ID", help="sha256:... or its first four hex digits or more.")
@past.at_option
@click.option("--prove", is_flag=True, help="Its inclusion proof into the module's root, checked (RFC 9162).")
@click.option(
    "--bytes", "raw", is_flag=True, help="Its bytes and nothing else: a file's original, or canonical JSON."
)
def block(invocation: Invocation, block_id: str, prove: bool, raw: bool, at_text: str | None) -> int:
    """Show one block: what it says, where it comes from, by whom, when, and what replaced it."""
    from consilience.cli import render_block

    if raw and (prove or invocation.json):
        other = "--prove" if prove else "--json"
        raise UsageError(f"--bytes prints bytes and nothing else, so it does not go with {other}")
    brain = invocation.brain_config()
    with invocation.project().brain(brain.name, read_only=True) as opened:
        at = past.resolve(invocation, opened, at_text)
        if raw:
            output.write_bytes(opened.content(block_id, at=at))
            return 0
        report = opened.block(block_id, at=at)
        proof = opened.prove(report.block_id, at=at) if prove else None
        told = None if at is None else opened.describe(at)
    error = None
    if report.resolvable and not report.intact:
        error = IntegrityError(
            f"the stored bytes of {report.block_id} do not hash to its id", hint="csl verify"
        )
    elif proof is not None and not proof.holds:
        error = IntegrityError(f"{report.block_id} does not lead to the root {proof.root}", hint="csl verify")
    return invocation.emit(
        lambda: render_block.document(report, proof),
        lambda terminal: (*render_block.block(report, proof, terminal), *past.lines(told, terminal)),
        error=error,
    )
