"""Bytes and lines on their way out. The only place that writes to standard output or standard error."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from consilience.cli.terminal import Terminal, clean
from consilience.errors import ConsilienceError, StorageError

if TYPE_CHECKING:
    from consilience.cli.invocation import Invocation


class UnwritableError(Exception):
    """Standard output takes no more (a full disk behind `>`). Not an OSError, so that no other one is taken for it."""

    def __init__(self, error: OSError) -> None:
        super().__init__(error.strerror or str(error))


@contextlib.contextmanager
def _answering() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UnwritableError(error) from error


def echo(text: str) -> None:
    """One text on standard output."""
    with _answering():
        click.echo(text)


def flush() -> None:
    """Whatever is still held back on its way out. Standard error that takes no more is nothing to stop for."""
    with _answering():
        if sys.stdout is not None:
            sys.stdout.flush()
    with contextlib.suppress(OSError):
        if sys.stderr is not None:
            sys.stderr.flush()


def envelope_bytes(command: str, data: Any, warnings: Sequence[str], error: ConsilienceError | None) -> bytes:
    from consilience.envelope import envelope

    return envelope(command, data, tuple(warnings), error) + b"\n"


def write_bytes(data: bytes) -> None:
    """Exactly these bytes on standard output. StorageError if it is closed, UnwritableError if it takes no more.

    In a loop: where Python does not buffer, a disk that fills up takes a part of them and raises nothing.
    """
    _check_open()
    binary = getattr(sys.stdout, "buffer", None)
    with _answering():
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
    """Lines for people on standard output, as they come. Raises as `write_bytes`."""
    _check_open()
    for line in lines:
        with _answering():
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
