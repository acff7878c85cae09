"""`csl sql` and `csl compound sql`: exact questions over every block."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from consilience.cli import past
from consilience.cli.commands.compound import choosing, say_what_is_ignored
from consilience.cli.framework import argument, command
from consilience.cli.invocation import Invocation
from consilience.errors import StorageError, UsageError

if TYPE_CHECKING:
    from consilience.sql.engine import Asked
    from consilience.sql.result import SqlExplanation, SqlResult

Function = Callable[..., int]

FORMATS = ("table", "json", "jsonl", "csv", "parquet", "arrow")
BINARY = ("parquet", "arrow")
MOST_ROWS = 10_000_000
MOST_QUERY = 1_000_000
"""Bytes of a file that holds a query."""


def _asking(function: Function) -> Function:
    """The query, and how it is answered."""
    decorators: list[Callable[[Function], Function]] = [
        argument("query", nargs=-1, metavar="[SELECT...]", help="The query; - reads it from standard input."),
        click.option("--file", "file", metavar="FILE", help="Read the query from a file."),
        click.option("--schema", is_flag=True, help="List the tables and their columns, and ask nothing."),
        click.option(
            "--explain", "explain", is_flag=True, help="Show what would be read, and the engine's plan."
        ),
        click.option(
            "-n",
            "--limit",
            type=click.IntRange(1, MOST_ROWS),
            default=1000,
            show_default=True,
            help="Most rows.",
        ),
        click.option("--include-superseded", is_flag=True, help="Also what was replaced or demoted."),
        click.option("--verify", is_flag=True, help="Prove every id in the rows into its root."),
        click.option(
            "--format",
            "form",
            type=click.Choice(FORMATS),
            default="table",
            show_default=True,
            help="How to print.",
        ),
        click.option("--out", metavar="FILE", help="Write the rows to a file instead of standard output."),
        click.option(
            "--timeout",
            type=click.FloatRange(0.01, 86_400),
            default=30.0,
            show_default=True,
            help="Most seconds.",
        ),
        click.option(
            "--memory",
            type=click.IntRange(16, 1_000_000),
            default=1024,
            show_default=True,
            help="Most MiB of memory.",
        ),
    ]
    for decorate in reversed(decorators):
        function = decorate(function)
    return function


@command(
    "sql",
    short_help="Ask one brain in SQL",
    examples=[
        "csl sql 'SELECT kind, count(*) FROM semantic GROUP BY kind'",
        "csl sql \"SELECT label FROM semantic WHERE about(id, 'tides', 0.85)\"",
        "csl sql --schema",
        "csl sql --file report.sql --format csv --out report.csv",
    ],
)
@_asking
@past.at_option
def sql(invocation: Invocation, at_text: str | None, **options: Any) -> int:
    """Ask one brain one SELECT, answered exactly over every block. --schema lists the tables.

    Read only: joins, WITH, UNION and windows are fine. Without ORDER BY the order is stable.
    """
    if options["schema"]:
        return _show_schema(invocation, brain=False)
    brain = invocation.brain_config()
    project = invocation.project()
    asked = _asked(options, project.config.brain_names)
    opened = project.brain(brain.name)
    at = past.resolve(invocation, opened, at_text)
    if options["explain"]:
        return _show_plan(invocation, opened.explain_sql(asked.text, at=at, asked=asked))
    result = opened.sql(asked.text, at=at, asked=asked)
    told = None if at is None else opened.describe(at)
    return _show(invocation, result, options, told)


@command(
    "sql",
    short_help="Ask several brains in SQL",
    examples=[
        "csl compound sql --all 'SELECT brain, count(*) FROM semantic GROUP BY 1'",
        "csl compound sql --all 'FROM go.blocks JOIN rust.blocks USING (id)'",
    ],
)
@_asking
@choosing
@past.at_brain_option
def compound_sql(
    invocation: Invocation, brains: tuple[str, ...], all_: bool, at_texts: tuple[str, ...], **options: Any
) -> int:
    """Ask several brains one SELECT. A bare table spans them all and has a column `brain`.

    A table of one of them is called by its name: python.semantic; "with-a-dash".semantic.
    """
    if options["schema"]:
        return _show_schema(invocation, brain=True)
    say_what_is_ignored(invocation)
    project = invocation.project()
    asked = _asked(options, project.config.brain_names)
    compound = project.compound(*brains, all=all_, at=past.by_brain(at_texts))
    if options["explain"]:
        return _show_plan(invocation, compound.explain_sql(asked.text, asked=asked))
    return _show(invocation, compound.sql(asked.text, asked=asked), options, None)


# --- the query --------------------------------------------------------------------------------------------------


def _asked(options: dict[str, Any], declared: tuple[str, ...]) -> Asked:
    from consilience.sql.engine import Asked
    from consilience.sql.seal import Limits

    if (
        options["form"] in BINARY
        and options["out"] is None
        and sys.stdout is not None
        and sys.stdout.isatty()
    ):
        raise UsageError(f"{options['form']} is not for a terminal", hint="--out FILE")
    return Asked(
        text=_query_text(options["query"], options["file"]),
        limit=options["limit"],
        include_superseded=options["include_superseded"],
        verify=options["verify"],
        declared=declared,
        limits=Limits(seconds=options["timeout"], memory_mib=options["memory"]),
    )


def _query_text(words: tuple[str, ...], file: str | None) -> str:
    """The query: the words, a file, or standard input where it is `-` or nothing is said and something is piped."""
    if file is not None and words:
        raise UsageError("a query is given as words or with --file, not both")
    if file is not None and file != "-":
        return _read_file(Path(file))
    piped = sys.stdin is not None and not sys.stdin.isatty()
    if file == "-" or words == ("-",) or (not words and piped):
        return _decoded(sys.stdin.buffer.read(MOST_QUERY + 1), "standard input")
    if not words:
        raise UsageError(
            "no query", hint="csl sql 'SELECT count(*) FROM semantic'; --schema lists the tables"
        )
    return " ".join(words)


def _read_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return _decoded(file.read(MOST_QUERY + 1), str(path))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None


def _decoded(data: bytes, where: str) -> str:
    if len(data) > MOST_QUERY:
        raise UsageError(f"{where}: a query has at most {MOST_QUERY:,} bytes")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{where}: the query is not UTF-8 (byte {error.start})") from None


# --- the answer -------------------------------------------------------------------------------------------------


def _show(invocation: Invocation, result: SqlResult, options: dict[str, Any], told: str | None) -> int:
    from consilience.cli import render_sql
    from consilience.sql.documents import to_json

    form = options["form"]
    if form == "json":
        invocation.set("json", True)
    if options["out"] is not None:
        _write(result, form, Path(options["out"]))
    if form in ("table", "json") or options["out"] is not None:
        out = options["out"]
        return invocation.emit(
            lambda: to_json(result),
            lambda terminal: (
                *(
                    render_sql.table(result, terminal)
                    if out is None
                    else render_sql.written(result, out, terminal)
                ),
                *past.lines(told, terminal),
            ),
            warnings=result.warnings,
            error=result.error,
        )
    return _print_rows(invocation, result, form)


def _print_rows(invocation: Invocation, result: SqlResult, form: str) -> int:
    """Rows alone on standard output; what is to be said of them on standard error."""
    from consilience.cli import output, render_sql

    output.write_bytes(_bytes_of(result, form))
    terminal = invocation.terminal(sys.stderr)
    for line in render_sql.summary(result, terminal):
        output.note(invocation, line)
    output.write_notes(invocation, result.warnings, result.error)
    return result.error.exit_status if result.error is not None else 0


def _bytes_of(result: SqlResult, form: str) -> bytes:
    from consilience.sql import export

    if form == "jsonl":
        return export.jsonl(result)
    if form == "csv":
        return export.csv(result).encode()
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"rows.{form}"
        _write(result, form, path)
        return path.read_bytes()


def _write(result: SqlResult, form: str, path: Path) -> None:
    from consilience.files import write_atomically
    from consilience.sql import export

    if not path.parent.is_dir():
        raise StorageError(f"cannot write {path}: there is no folder {path.parent}")
    if form == "parquet":
        export.parquet(result, path)
    elif form == "arrow":
        export.write_arrow(result, path)
    elif form == "jsonl":
        write_atomically(path, export.jsonl(result))
    elif form == "csv":
        write_atomically(path, export.csv(result).encode())
    elif form == "json":
        from consilience.cli.output import envelope_bytes
        from consilience.sql.documents import to_json

        write_atomically(path, envelope_bytes("sql", to_json(result), result.warnings, result.error))
    else:
        from consilience.cli import render_sql
        from consilience.cli.terminal import Terminal

        lines = render_sql.table(result, Terminal(width=10_000))
        write_atomically(path, "".join(f"{line}\n" for line in lines).encode())


def _show_schema(invocation: Invocation, *, brain: bool) -> int:
    from consilience.cli import render_sql
    from consilience.sql.documents import schema_to_json

    return invocation.emit(
        lambda: schema_to_json(brain=brain), lambda terminal: render_sql.schema(terminal, brain=brain)
    )


def _show_plan(invocation: Invocation, explanation: SqlExplanation) -> int:
    from consilience.cli import render_sql
    from consilience.sql.documents import explanation_to_json

    return invocation.emit(
        lambda: explanation_to_json(explanation), lambda terminal: render_sql.plan(explanation, terminal)
    )
