"""click, made to fit: commands loaded when called, global options before or after the command, one help
layout."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

import click

from consilience.cli import output
from consilience.cli.invocation import Invocation
from consilience.cli.tree import PROGRAM, Branch, Leaf
from consilience.errors import UsageError

_WIDTH = 26


class GlobalOption(click.Option):
    """An option that every command takes, before or after the command's name; the last one given counts."""


def _remember(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    if ctx.get_parameter_source(param.name or "") is click.core.ParameterSource.COMMANDLINE:
        invocation: Invocation = ctx.find_root().obj
        invocation.set(param.name or "", value)


def global_options() -> list[GlobalOption]:
    """Fresh instances of the options that every command takes."""

    def option(*names: str, **settings: Any) -> GlobalOption:
        return GlobalOption(list(names), expose_value=False, callback=_remember, **settings)

    return [
        option("--project", metavar="PATH", help="The project: its folder, or its consilience.toml."),
        option("--brain", metavar="NAME", help="The brain that a command is about."),
        option("--actor", metavar="ID", help="Who writes: ana@example.org, or lab/crawler."),
        option("--json", is_flag=True, default=False, help="Print one JSON object on standard output."),
        option("--color/--no-color", "color", default=None, help="Colour, or none, whatever the terminal."),
        option("-q", "--quiet", is_flag=True, default=False, help="No progress, notes or warnings."),
    ]


def _show_help(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        output.echo(ctx.get_help())
        ctx.exit()


def _ours(option: click.Option | None) -> click.Option | None:
    if option is not None:
        option.callback = _show_help
    return option


class Command(click.Command):
    """A command with the global options, whose callback is called with the Invocation first."""

    def __init__(self, *args: Any, examples: Iterable[str] = (), **settings: Any) -> None:
        settings.setdefault("context_settings", {})["help_option_names"] = ["-h", "--help"]
        super().__init__(*args, **settings)
        self.examples = tuple(examples)
        self.params = [*self.params, *global_options()]

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        return _ours(super().get_help_option(ctx))

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        params = self.get_params(ctx)
        arguments = [(p.make_metavar(ctx), p.help or "") for p in params if isinstance(p, Argument)]
        _section(formatter, "Arguments", arguments)
        mine = [p for p in params if isinstance(p, click.Option) and not isinstance(p, GlobalOption)]
        _section(formatter, "Options", _records(ctx, mine))
        _section(
            formatter, "Global options", _records(ctx, [p for p in params if isinstance(p, GlobalOption)])
        )
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"{'':{formatter.current_indent}}{example}\n")


class Argument(click.Argument):
    """A positional argument that says what it is (click has this only since 8.4)."""

    def __init__(self, *args: Any, help: str = "", **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.help = help


class Group(click.Group):
    """Commands known by name only, until one of them is called."""

    def __init__(self, *, sections: dict[str, dict[str, Leaf | Branch]], **settings: Any) -> None:
        settings.setdefault("context_settings", {})["help_option_names"] = ["-h", "--help"]
        settings.setdefault("no_args_is_help", True)
        super().__init__(**settings)
        self.sections = sections
        self.params = [*self.params, *global_options()]

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        return _ours(super().get_help_option(ctx))

    @property
    def entries(self) -> dict[str, Leaf | Branch]:
        return {name: entry for section in self.sections.values() for name, entry in section.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        if isinstance(entry, Branch):
            return Group(
                name=cmd_name,
                help=entry.about,
                short_help=entry.summary,
                sections={"Commands": dict(entry.leaves)},
            )
        command: click.Command = getattr(importlib.import_module(entry.module), entry.attribute)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and name not in self.entries and not ctx.resilient_parsing:
            raise no_such_command(name, ctx, list(self.entries))
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        width = max(map(len, self.entries))
        for title, entries in self.sections.items():
            _section(
                formatter, title, [(name.ljust(width), entry.summary) for name, entry in entries.items()]
            )
        params = [p for p in self.get_params(ctx) if isinstance(p, click.Option)]
        _section(formatter, "Options", _records(ctx, [p for p in params if not isinstance(p, GlobalOption)]))
        _section(
            formatter, "Global options", _records(ctx, [p for p in params if isinstance(p, GlobalOption)])
        )
        path = ctx.command_path
        with formatter.section("Learn more"):
            formatter.write(f"{'':{formatter.current_indent}}{path} COMMAND --help\n")


def no_such_command(name: str, ctx: click.Context, known: list[str]) -> UsageError:
    """The error for a command that is not one; near names first, also those of other groups."""
    import difflib

    from consilience.cli.tree import paths

    here = ctx.command_path
    near = [f"{PROGRAM} {' '.join(path)}" for path in paths() if path and path[-1] == name]
    if name == "help":
        near = [f"{here} --help"]
    if not near:
        near = [f"{here} {match}" for match in difflib.get_close_matches(name, known, n=2, cutoff=0.7)]
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}"
    return UsageError(f"no such command: {here} {name}", hint=hint)


def _section(formatter: click.HelpFormatter, title: str, rows: list[tuple[str, str]]) -> None:
    if rows:
        with formatter.section(title):
            formatter.write_dl(rows, col_max=_WIDTH)


def _records(ctx: click.Context, options: Iterable[click.Option]) -> list[tuple[str, str]]:
    return [record for option in options if (record := option.get_help_record(ctx)) is not None]


def command(name: str, **settings: Any) -> Callable[[Callable[..., int]], Command]:
    """Make a Command of a function whose first parameter is the Invocation and whose result is the exit
    status."""

    def decorate(function: Callable[..., int]) -> Command:
        params = list(reversed(function.__dict__.pop("__click_params__", [])))
        doc = function.__doc__ or ""

        def call(*args: Any, **values: Any) -> int:
            context = click.get_current_context()
            invocation: Invocation = context.find_root().obj
            invocation.command = ".".join(context.command_path.split()[1:])
            return function(invocation, *args, **values)

        return Command(name, callback=call, params=params, help=doc, **settings)

    return decorate


def argument(name: str, **settings: Any) -> Callable[[Callable[..., int]], Callable[..., int]]:
    return click.argument(name, cls=Argument, **settings)
