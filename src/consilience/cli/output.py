"""Bytes and lines on their way out. The only place that writes to standard output or standard error."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from consilience.cli.terminal import Terminal, clean
from consilience.errors import ConsilienceError, StorageError

if TYPE_CHECKING:
    from consilience.cli.invocation import Invocation


def envelope_bytes(command: str, data: Any, warnings: Sequence[str], error: ConsilienceError | None) -> bytes:
    from consilience.envelope import envelope

    return envelope(command, data, tuple(warnings), error) + b"\n"


def write_bytes(data: bytes) -> None:
    """Exactly these bytes on standard output. StorageError if it is closed.

    In a loop: where Python does not buffer, a disk that fills up takes a part of them and raises nothing.
    """
    _check_open()
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:
        click.echo(data, nl=False)
        return
    sys.stdout.flush()
    rest = memoryview(data)
    while rest:
        written = binary.write(rest)
        if written is None:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        rest = rest[written:]
    binary.flush()


def write_lines(lines: Iterable[str], terminal: Terminal) -> None:
    """Lines for people on standard output, as they come. StorageError if it is closed."""
    _check_open()
    for line in lines:
        click.echo(terminal.glyphs(line), color=terminal.colour)


def write_notes(invocation: Invocation, warnings: Iterable[str], error: ConsilienceError | None) -> None:
    """Warnings, then the error, on standard error. Quiet leaves the warnings out, never the error."""
    if sys.stderr is None:
        return
    terminal = invocation.terminal(sys.stderr)
    if not invocation.quiet:
        for warning in warnings:
            _note(terminal, terminal.style("warning:", "yellow"), warning)
    if error is not None:
        _note(terminal, terminal.style("error:", "red", "bold"), error.message)
        if error.hint:
            _note(terminal, terminal.style("hint:", "cyan"), error.hint)


def note(invocation: Invocation, text: str) -> None:
    """One line on standard error, for people only."""
    if sys.stderr is not None and not invocation.quiet and not invocation.json:
        terminal = invocation.terminal(sys.stderr)
        click.echo(terminal.glyphs(clean(text)), file=sys.stderr, color=terminal.colour)


def _note(terminal: Terminal, lead: str, text: str) -> None:
    first, *rest = clean(text, lines=True).split("\n")
    click.echo(terminal.glyphs(f"{lead} {first}"), file=sys.stderr, color=terminal.colour)
    for line in rest:
        click.echo(terminal.glyphs(f"       {line}"), file=sys.stderr, color=terminal.colour)


def _check_open() -> None:
    if sys.stdout is None:
        raise StorageError("standard output is closed", hint="the answer needs somewhere to go")
