"""One call from arguments to exit status: every way in which it can end, ends here."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from typing import Any

import click

from consilience.cli import output
from consilience.cli.framework import Group
from consilience.cli.invocation import INTERRUPTED, Invocation
from consilience.cli.tree import PROGRAM, SECTIONS, paths
from consilience.errors import ConsilienceError, StorageError, UsageError

PIPE_CLOSED = 141
_ABOUT = "Ask several verifiable brains one question, and see, with proof, where they agree."


def root_command() -> Group:
    group = Group(name=PROGRAM, help=_ABOUT, sections=SECTIONS)
    group.params.insert(0, _version_option())
    return group


def _version_option() -> click.Option:
    def show(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            from consilience import __version__

            output.echo(f"{PROGRAM} {__version__}")
            ctx.exit()

    return click.Option(
        ["--version"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=show,
        help="Print the version.",
    )


def run(args: list[str], environ: Mapping[str, str] | None = None) -> int:
    """Run one command line; prints what it has to say and returns the exit status. Raises nothing."""
    environ = os.environ if environ is None else environ
    if f"_{PROGRAM.upper()}_COMPLETE" in environ:
        root_command().main(args, prog_name=PROGRAM)
    invocation = Invocation(environ, json=_wants_json(args))
    invocation.command = ".".join(_called(args))
    _soften_streams()
    try:
        status = _guarded(args, invocation)
        output.flush()
    except BrokenPipeError:
        _drop_stdout()
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except output.UnwritableError as error:
        return _unwritable(invocation, error)
    return status


def _guarded(args: list[str], invocation: Invocation) -> int:
    try:
        return _invoke(args, invocation)
    except ConsilienceError as error:
        return _fail(invocation, error)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        return _click_error(invocation, error, args)
    except (KeyboardInterrupt, click.Abort):
        return _fail(invocation, invocation.interrupted())
    except (BrokenPipeError, output.UnwritableError):
        raise
    except Exception as error:
        return _bug(invocation, error)


def _invoke(args: list[str], invocation: Invocation) -> int:
    group = root_command()
    with group.make_context(PROGRAM, list(args), obj=invocation) as context:
        status: Any = group.invoke(context)
    return status if isinstance(status, int) else 0


def _fail(invocation: Invocation, error: ConsilienceError) -> int:
    if invocation.environ.get("CONSILIENCE_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    if invocation.json and sys.stdout is not None:
        output.write_bytes(output.envelope_bytes(invocation.command, None, (), error))
    else:
        output.write_notes(invocation, (), error)
    return error.exit_status


def _bug(invocation: Invocation, error: Exception) -> int:
    detail = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    ours = ConsilienceError(
        f"{detail}: this is a bug of ours", hint="CONSILIENCE_DEBUG=1 shows where; please report it"
    )
    ours.__cause__ = error
    return _fail(invocation, ours)


def _click_error(invocation: Invocation, error: click.ClickException, args: list[str]) -> int:
    """click's own complaints in our shape: what, then a hint."""
    context: click.Context | None = getattr(error, "ctx", None)
    called = context.command_path.split()[1:] if context is not None else _called(args)
    invocation.command = ".".join(called)
    if type(error).__name__ == "NoArgsIsHelpError" and not invocation.json:
        click.echo(context.get_help() if context is not None else error.format_message(), err=True)
        return 2
    message = error.format_message()
    message = message[:1].lower() + message[1:].rstrip(".")
    if isinstance(error, click.NoSuchOption):
        message = f"no such option: {error.option_name}"
    if type(error).__name__ == "NoArgsIsHelpError":
        message = "a command is missing"
    return _fail(invocation, UsageError(message, hint=_hint(error, " ".join([PROGRAM, *called]))))


def _called(args: list[str]) -> list[str]:
    """The command that a line calls, as far as its words tell."""
    called: list[str] = []
    for word in args:
        if (*called, word) in paths():
            called.append(word)
    return called


def _hint(error: click.ClickException, path: str) -> str:
    if isinstance(error, click.NoSuchOption):
        from difflib import get_close_matches

        near = get_close_matches(error.option_name, error.possibilities or (), n=2, cutoff=0.7)
        if near:
            return f"did you mean {' or '.join(near)}?"
        if path.endswith(("search", "explain")):
            return f"a question that begins with a dash goes after two: {path} -- '{error.option_name} ...'"
    return f"{path} --help shows how it is used"


def _wants_json(args: list[str]) -> bool:
    """Whether `--json` is among the options, also where the rest of the line cannot be understood."""
    before = args[: args.index("--")] if "--" in args else args
    return "--json" in before


# --- streams
# ----------------------------------------------------------------------------------------------------


def _soften_streams() -> None:
    """A sign that the encoding does not know is no reason to fail."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _drop_stdout() -> None:
    """Leave the interpreter nothing to flush at exit."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def _unwritable(invocation: Invocation, error: output.UnwritableError) -> int:
    _drop_stdout()
    wrapped = StorageError(f"the answer could not be written: {error}")
    with contextlib.suppress(OSError):
        output.write_notes(invocation, (), wrapped)
    return wrapped.exit_status
