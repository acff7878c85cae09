"""`csl check`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import click

from consilience.cli import given as given_file
from consilience.cli.framework import argument, command
from consilience.cli.invocation import Invocation
from consilience.errors import ConsilienceError, IntegrityError, NotFoundError, UsageError, ValidationError

if TYPE_CHECKING:
    from consilience.citations.checking import Checker
    from consilience.citations.model import EvidenceReport
    from consilience.cli.render_check import Checked
    from consilience.protocol import Digest
    from consilience.store import View


@command(
    "check",
    short_help="Check citations in an answer, and proof files",
    examples=[
        "csl check answer.md",
        "csl check -",
        "csl check csl:station/semantic/sha256:9495...@sha256:ffbe...",
        "csl check proof.json --snapshot sha256:6063...",
    ],
)
@argument(
    "inputs",
    metavar="CITE|FILE|-...",
    nargs=-1,
    required=True,
    help="Citations; files with citations in them (text, Markdown, JSON); proof files; - is standard input.",
)
@click.option("--snapshot", metavar="DIGEST", help="The snapshot that you trust: proof files must be of it.")
def check(invocation: Invocation, inputs: Sequence[str], snapshot: str | None) -> int:
    """Check every citation in an answer: is the block a member under the root it names, is it what the brain
    says now, and does the quotation beside it stand in it. A proof file is checked by itself, without a brain
    or a project. Exit status 5 if one fails."""
    from consilience.cli import render_check
    from consilience.protocol import parse_digest

    try:
        trusted = parse_digest(snapshot) if snapshot is not None else None
    except ConsilienceError as error:
        raise UsageError(f"--snapshot: {error.message}", hint=error.hint) from None
    invocation.kept = "checking changes nothing"
    read = [_read_one(each, trusted) for each in inputs]
    proofs = [each.proof for each in read if each.proof is not None]
    if trusted is not None and not proofs:
        raise UsageError(
            "--snapshot is for proof files, and none was given",
            hint="csl block ID --prove --out FILE makes one",
        )
    with _checker(invocation, proofs) as checker:
        checked = [_judged(invocation, checker, each) for each in read]
        snapshots = checker.snapshots()
    return invocation.emit(
        lambda: render_check.document(checked, snapshots),
        lambda terminal: render_check.lines(checked, snapshots, terminal),
        error=_outcome(checked),
    )


def _checker(invocation: Invocation, proofs: Sequence[EvidenceReport]) -> Checker:
    """A checker that looks for the project when the first citation wants it: a proof file needs none."""
    from consilience.citations.checking import Checker

    def view(name: str) -> AbstractContextManager[View]:
        return invocation.project().view(name)

    names: tuple[str, ...] = ()
    with contextlib.suppress(ConsilienceError):  # it is said where a citation needs the project
        names = invocation.project().config.brain_names
    return Checker(view, names=names, proofs=proofs)


def _read_one(given: str, trusted: Digest | None) -> Checked:
    """An argument, read: the citations in it, or the proof that it is, checked."""
    from consilience.citations.finding import find
    from consilience.citations.proofs import check_proof
    from consilience.cli.render_check import Checked
    from consilience.protocol import evidence

    name = given_file.name_of(given)
    try:
        if _is_text(given):
            name, text = "", given
        else:
            data = given_file.read(given, hint="a citation begins with csl:")
            if evidence.looks_like_one(data):
                return Checked(name=name, proof=check_proof(name, data, trusted))
            text = _text(name, data)
        found = find(text)
        if not found:
            raise NotFoundError(
                f"no citation in {name}", hint="a citation begins with csl: (docs/citations.md)"
            )
        return Checked(name=name, found=found)
    except ConsilienceError as error:
        return Checked(name=name, error=error)


def _judged(invocation: Invocation, checker: Checker, read: Checked) -> Checked:
    from consilience.cli.render_check import Checked

    if read.found is None:
        return read
    try:
        if any(each.citation is not None and not checker.proves(each.citation) for each in read.found):
            invocation.project()
        return Checked(name=read.name, report=checker.judge(read.found, name=read.name))
    except ConsilienceError as error:
        return Checked(name=read.name, error=error)


def _is_text(given: str) -> bool:
    """Whether an argument is a citation, also in brackets or broken, and not the name of a file."""
    lowered = given.lower()
    if lowered.startswith("csl:"):
        return True
    return ("csl:" in lowered or "@sha256:" in lowered) and not os.path.lexists(given)


def _text(name: str, data: bytes) -> str:
    """The text of a file. Raises ValidationError for what is none, so that nothing passes unread."""
    from consilience.ingest import decoding

    found = decoding.decode(data)
    if isinstance(found, decoding.Decoded):
        return found.text
    if found.reason == "empty":
        return ""
    raise ValidationError(f"{name} is no text: {found.reason}")


def _outcome(checked: Sequence[Checked]) -> ConsilienceError | None:
    """The error beside the result: what fails goes before what could not be read."""
    failed = sum(each.failed for each in checked)
    if failed:
        count = sum(each.count for each in checked)
        return IntegrityError(f"{failed:,} of {count:,} fail{'s' if failed == 1 else ''}")
    return next((each.error for each in checked if each.error is not None), None)
