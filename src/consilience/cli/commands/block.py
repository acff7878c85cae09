"""`csl block`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from consilience.cli import output, past
from consilience.cli.framework import argument, command
from consilience.cli.invocation import Invocation
from consilience.errors import IntegrityError, UsageError
from consilience.files import write_atomically


@command(
    "block",
    short_help="Show one block, where it comes from, its proof",
    examples=[
        "csl block 3f2a9c01d2e4",
        "csl block 3f2a9c01d2e4 --prove",
        "csl block 3f2a9c01d2e4 --prove --out proof.json",
        "csl block 3f2a9c01d2e4 --bytes > file",
    ],
)
@argument("block_id", metavar="ID", help="sha256:... or its first four hex digits or more.")
@past.at_option
@click.option("--prove", is_flag=True, help="Its inclusion proof into the module's root, checked (RFC 9162).")
@click.option(
    "--out",
    "out",
    metavar="FILE",
    help="With --prove: write a proof that `csl check` verifies anywhere, without this brain.",
)
@click.option(
    "--records",
    is_flag=True,
    help="With --out: also prove the provenance records about it, which name people and files.",
)
@click.option(
    "--bytes", "raw", is_flag=True, help="Its bytes and nothing else: a file's original, or canonical JSON."
)
def block(
    invocation: Invocation,
    block_id: str,
    prove: bool,
    out: str | None,
    records: bool,
    raw: bool,
    at_text: str | None,
) -> int:
    """Show one block: what it says, where it comes from, by whom, when, and what replaced it."""
    from consilience.cli import render_block

    if raw and (prove or invocation.json):
        other = "--prove" if prove else "--json"
        raise UsageError(f"--bytes prints bytes and nothing else, so it does not go with {other}")
    _check_flags(prove, out, records)
    brain = invocation.brain_config()
    with invocation.project().brain(brain.name, read_only=True) as opened:
        at = past.resolve(invocation, opened, at_text)
        if raw:
            output.write_bytes(opened.content(block_id, at=at))
            return 0
        report = opened.block(block_id, at=at)
        proof = opened.prove(report.block_id, at=at) if prove else None
        if out is not None:
            _write(Path(out), opened.evidence(report.block_id, records=records, at=at))
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
        lambda terminal: (
            *render_block.block(report, proof, terminal),
            *render_block.written(out, terminal),
            *past.lines(told, terminal),
        ),
        error=error,
    )


def _check_flags(prove: bool, out: str | None, records: bool) -> None:
    """Refuse flags that say nothing without others, and to write over what is no proof."""
    if out is not None and not prove:
        raise UsageError("--out is for --prove", hint="csl block ID --prove --out FILE")
    if records and out is None:
        raise UsageError("--records is for --out", hint="csl block ID --prove --records --out FILE")
    if out is None:
        return
    try:
        target = Path(out)
        if target.is_dir():
            raise UsageError(f"--out: {out} is a folder", hint="name a file in it")
        if target.exists() and not _is_proof(target):
            raise UsageError(f"--out: {out} is there, and it is no proof", hint="choose another name")
    except (OSError, ValueError) as error:
        raise UsageError(f"--out: {out!r} cannot be written: {error}") from None


def _write(path: Path, data: bytes) -> None:
    """As a shell would have made it: readable for whom the user's mask allows."""
    write_atomically(path, data)
    mask = os.umask(0)
    os.umask(mask)
    path.chmod(0o666 & ~mask)


def _is_proof(path: Path) -> bool:
    from consilience.protocol import evidence

    with path.open("rb") as file:
        head = file.read(1 << 16)
    return not head or evidence.looks_like_one(head)
