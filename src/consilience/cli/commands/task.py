"""`csl task`: what a model or a person proposes, and the gate it goes through."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from consilience.cli import given as given_file
from consilience.cli import output
from consilience.cli.framework import argument, command
from consilience.cli.invocation import Invocation
from consilience.cli.terminal import clean
from consilience.errors import ConsilienceError, UsageError

if TYPE_CHECKING:
    from consilience.propose.candidates import Candidates
    from consilience.propose.task import Task
    from consilience.protocol import Producer

KINDS = ("semantic", "episodic", "procedural")
TASK = "A task, as `csl task define` writes it; - is standard input."
CANDIDATES = "Candidates in JSON; standard input where it is - or left out."
INDEXED = "what was committed is kept; `csl index` brings everything else after it"


@command(
    "define",
    short_help="Write a task over blocks of a brain",
    examples=[
        "csl task define --source 4582b8d520aa --with-text --out task.json",
        "csl task define --source 4582b8d520aa,77b0c1d2 --allow semantic,procedural",
    ],
)
@click.option(
    "--source",
    "sources",
    multiple=True,
    required=True,
    metavar="ID",
    help="A block to read: a file, or a passage. Repeatable; - reads ids from standard input.",
)
@click.option(
    "--allow",
    multiple=True,
    metavar="KIND",
    help=f"What may be proposed: {', '.join(KINDS)}; all by default.",
)
@click.option("--instructions", metavar="TEXT", help="What else whoever reads the task should know.")
@click.option("--with-text", is_flag=True, help="Put in what there is to read, passage by passage.")
@click.option("--out", metavar="FILE", help="Write it there instead of printing it.")
def define(
    invocation: Invocation,
    sources: tuple[str, ...],
    allow: tuple[str, ...],
    instructions: str | None,
    with_text: bool,
    out: str | None,
) -> int:
    """Write a task: which blocks are to be read, and which kinds of block may be made of them.

    It is a JSON document for whoever reads: a model, an agent, a person. Its id follows from what it says.
    """
    from consilience.propose import task as tasks

    invocation.kept = "nothing was changed"
    ids = [
        each for given in sources for each in (_ids() if given == "-" else given.replace(",", " ").split())
    ]
    if not ids:
        raise UsageError("no source is named", hint="--source ID; `csl search` shows ids")
    brain = invocation.brain_config()
    with invocation.project().view(brain.name) as view:
        made = tasks.define(view, ids, allowed=_kinds(allow), instructions=instructions)
        read = list(tasks.pieces(view, made)) if with_text else None
        document = tasks.document(made, read)
    if out is None:
        return _print(invocation, document)
    _write(out, document)
    said = f"{made.task_id} written to {clean(out)}: {len(made.source):,} source{'s' if len(made.source) != 1 else ''}"
    more = f", {len(read):,} passage{'s' if len(read) != 1 else ''} to read" if read is not None else ""
    return invocation.emit(lambda: document, lambda terminal: [f"{said}{more}"])


@command(
    "schema",
    short_help="Print the JSON Schema that candidates must satisfy",
    examples=["csl task schema task.json > schema.json", "csl task schema"],
)
@argument("task", metavar="[TASK]", required=False, help=TASK)
def schema(invocation: Invocation, task: str | None) -> int:
    """Print the JSON Schema (2020-12) of candidates, for a model's structured output. With a task, only its kinds
    of block and the ids that it allows as evidence."""
    from consilience.propose.evidence import Evidence
    from consilience.propose.schema import candidates_schema

    invocation.kept = "nothing was changed"
    if task is None:
        return _print(invocation, candidates_schema())
    read = _task(task)
    brain = invocation.brain_config()
    with invocation.project().view(brain.name) as view:
        from consilience.propose.task import check_here

        check_here(view, read, brain.name)
        made = candidates_schema(read, Evidence(view).scope(read.source))
    return _print(invocation, made)


@command(
    "validate",
    short_help="Say of each candidate whether it may go in",
    examples=[
        "csl task validate task.json candidates.json",
        "csl task validate task.json --json",
    ],
)
@argument("task", metavar="TASK", help=TASK)
@argument("candidates", metavar="[CANDIDATES]", required=False, default="-", help=CANDIDATES)
def validate(invocation: Invocation, task: str, candidates: str) -> int:
    """Hold each candidate against the task and the brain: validated, duplicate, rejected (with the check's code),
    contradicted, or in need of a person. Nothing is written. Exit status 7 if one is rejected, 10 if one needs a
    person."""
    from consilience.cli import render_task
    from consilience.propose import commit as gate

    invocation.kept = "nothing was changed"
    read, proposed = _both(task, candidates)
    brain = invocation.brain_config()
    with invocation.project().view(brain.name) as view:
        made = gate.validate(view, brain.name, read, proposed)
    return invocation.emit(
        lambda: made,
        lambda terminal: render_task.validation(made, terminal),
        error=gate.outcome_error(made),
    )


@command(
    "commit",
    short_help="Take candidates in, all or none",
    examples=[
        "csl task commit task.json candidates.json --actor lab/reader --model qwen3",
        "csl task commit task.json candidates.json --accept 3",
    ],
)
@argument("task", metavar="TASK", help=TASK)
@argument("candidates", metavar="[CANDIDATES]", required=False, default="-", help=CANDIDATES)
@click.option("--model", metavar="NAME", help="What made the candidates; the document's producer by default.")
@click.option("--model-version", metavar="VERSION", help="Which version of it.")
@click.option(
    "--accept",
    multiple=True,
    type=int,
    metavar="NUMBER",
    help="Take this candidate although it contradicts or cannot be decided. A person's decision. Repeatable.",
)
@click.option("--no-embed", is_flag=True, help="Leave the vectors to a later `csl index`.")
def commit(
    invocation: Invocation,
    task: str,
    candidates: str,
    model: str | None,
    model_version: str | None,
    accept: tuple[int, ...],
    no_embed: bool,
) -> int:
    """Take every candidate into the brain in one snapshot, or none where one may not go in. The records say who did
    it, what made them, for which task, from which blocks. What is there already is not written again."""
    from consilience.cli import render_task
    from consilience.propose import commit as gate
    from consilience.propose.report import Validation

    read, proposed = _both(task, candidates)
    producer = _producer(model, model_version, proposed)
    brain, actor = invocation.brain_config(), invocation.actor()
    with invocation.project().writable(brain.name) as opened:
        try:
            made = gate.commit(
                opened.store,
                brain.name,
                read,
                proposed,
                actor=actor,
                clock=invocation.clock,
                producer=producer,
                accept=accept,
                waiting=invocation.waiting(),
            )
        except ConsilienceError as error:
            refused = error.done
            if not isinstance(refused, Validation):
                raise
            return invocation.emit(
                lambda: refused,
                lambda terminal: render_task.validation(refused, terminal, committed=False),
                error=error,
            )
        notes, failed = caught_up(invocation, opened, embed=not no_embed)
    return invocation.emit(
        lambda: made, lambda terminal: render_task.committed(made, terminal), warnings=notes, error=failed
    )


def caught_up(
    invocation: Invocation, brain: Any, *, embed: bool
) -> tuple[tuple[str, ...], ConsilienceError | None]:
    """Bring everything derived after a commit, also after an earlier one that was cut short. What fails there takes
    nothing back: it is said beside the result."""
    from consilience.derived import not_indexed

    invocation.kept = INDEXED
    progress = invocation.progress()
    try:
        done = brain.index(progress=progress, embed=embed)
    except ConsilienceError as error:
        return (), not_indexed(error)
    finally:
        progress.close()
    return done.notes, invocation.interrupted() if done.interrupted else None


# --- reading and writing documents ------------------------------------------------------------------------------


def _both(task: str, candidates: str) -> tuple[Task, Candidates]:
    from consilience.propose.candidates import read_candidates

    if task == candidates == "-":
        raise UsageError(
            "both the task and the candidates would come from standard input", hint="name the file of one"
        )
    read = _task(task)
    name = "the candidates of standard input" if candidates == "-" else candidates
    return read, read_candidates(given_file.read(candidates), read, name)


def _task(given: str) -> Task:
    from consilience.propose.task import read_task

    return read_task(given_file.read(given), given_file.name_of(given))


def _ids() -> list[str]:
    return given_file.read("-").decode("utf-8", "replace").replace(",", " ").split()


def _kinds(given: Sequence[str]) -> tuple[Any, ...]:
    from consilience.propose.task import PROPOSABLE
    from consilience.protocol import MemoryType

    named = [each for text in given for each in text.replace(",", " ").split()]
    if wrong := [each for each in named if each not in KINDS]:
        raise UsageError(
            f"--allow: {wrong[0]!r} is nothing that may be proposed", hint=f"there are {', '.join(KINDS)}"
        )
    return tuple(MemoryType(each) for each in named) or PROPOSABLE


def _producer(model: str | None, version: str | None, proposed: Candidates) -> Producer | None:
    from consilience.protocol import Producer, ProducerKind

    if model is None:
        if version is not None:
            raise UsageError(
                "--model-version without --model", hint="--model NAME says what made the candidates"
            )
        return None
    if not model.strip():
        raise UsageError("--model is empty")
    made = Producer(kind=ProducerKind.MODEL, id=model)
    if version is not None:
        made = Producer(kind=ProducerKind.MODEL, id=model, version=version)
    own = proposed.producer
    if own is not None and own != made:
        raise UsageError(
            f"--model says {model} {version or ''}".rstrip()
            + f", the candidates say {own.kind.value} {own.id} {own.version or ''}".rstrip(),
            hint="leave --model out, or name what the candidates name",
        )
    return made


def _print(invocation: Invocation, document: dict[str, Any]) -> int:
    """A document for a pipe: JSON as it is, or in the envelope with --json."""
    if invocation.json:
        return invocation.emit(lambda: document, lambda terminal: ())
    output.write_bytes(_encoded(document))
    return 0


def _write(out: str, document: dict[str, Any]) -> None:
    from consilience.files import write_atomically

    path = Path(out)
    if path.is_dir():
        raise UsageError(f"{out} is a folder", hint="--out FILE")
    write_atomically(path, _encoded(document))


def _encoded(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False, indent=2).encode() + b"\n"
