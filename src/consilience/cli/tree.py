"""Which commands there are, in the order in which help lists them, and where each one's code is. Data
only."""

from __future__ import annotations

from typing import NamedTuple

PROGRAM = "csl"


class Leaf(NamedTuple):
    """One command: `attribute` of `module`, and the line that lists it."""

    module: str
    attribute: str
    summary: str


class Branch(NamedTuple):
    """A group of commands."""

    summary: str
    about: str
    leaves: dict[str, Leaf]


_COMMANDS = "consilience.cli.commands"

PROJECT = Branch(
    "Make, show and change a project of several brains",
    "A project is one consilience.toml: its brains by name, and who writes to them.",
    {
        "init": Leaf(f"{_COMMANDS}.project", "init", "Make a project in this folder"),
        "add": Leaf(f"{_COMMANDS}.project", "add", "Declare one more brain"),
        "show": Leaf(f"{_COMMANDS}.project", "show", "Show the project and its brains"),
        "remove": Leaf(f"{_COMMANDS}.project", "remove", "Take a brain out of the project"),
        "list": Leaf(f"{_COMMANDS}.project", "list_", "List the projects above and below this folder"),
    },
)

COMPOUND = Branch(
    "Ask several brains one question",
    "Every brain answers by itself, from its own indices, verified against its own roots.",
    {
        "search": Leaf(f"{_COMMANDS}.compound", "search", "Search several brains, grouped or fused"),
        "explain": Leaf(f"{_COMMANDS}.compound", "explain", "Show why each brain answers as it does"),
        "sql": Leaf(f"{_COMMANDS}.sql", "compound_sql", "Ask several brains in SQL"),
    },
)

SOURCE = Branch(
    "Declare what a brain is kept in step with",
    "A source is a folder, a file, a git working tree, or what a plug-in brings; `csl sync` takes it in.",
    {
        "add": Leaf(f"{_COMMANDS}.sync", "add", "Declare one more source of a brain"),
        "list": Leaf(f"{_COMMANDS}.sync", "list_", "List the sources and whether a brain is behind them"),
        "remove": Leaf(f"{_COMMANDS}.sync", "remove", "Take a source out of a brain"),
    },
)

RETAIN = Branch(
    "Hide, drop or destroy what a brain holds, by a rule and with a record",
    "What leaves a brain leaves by a rule, and leaves a record that says who, when and why.",
    {
        "plan": Leaf(f"{_COMMANDS}.retain", "plan", "Show what a drop or a redaction would do"),
        "drop": Leaf(
            f"{_COMMANDS}.retain", "drop", "End the membership of blocks and of what came only from them"
        ),
        "supersede": Leaf(f"{_COMMANDS}.retain", "supersede", "Say that a block took another's place"),
        "demote": Leaf(f"{_COMMANDS}.retain", "demote", "Hide blocks without a successor"),
        "restore": Leaf(f"{_COMMANDS}.retain", "restore", "Show superseded or demoted blocks again"),
        "redact": Leaf(f"{_COMMANDS}.retain", "redact", "Destroy the bytes of blocks, which stay members"),
        "readmit": Leaf(f"{_COMMANDS}.retain", "readmit", "Let redacted bytes in again"),
        "prune": Leaf(f"{_COMMANDS}.prune", "prune", "Remove older snapshots, and bytes that only they name"),
    },
)

TASK = Branch(
    "Let a model or a person propose knowledge, and check it before it goes in",
    "A task names sources; candidates answer it; the gate says what may go in; a commit takes all or nothing.",
    {
        "define": Leaf(f"{_COMMANDS}.task", "define", "Write a task over blocks of a brain"),
        "schema": Leaf(f"{_COMMANDS}.task", "schema", "Print the JSON Schema that candidates must satisfy"),
        "validate": Leaf(f"{_COMMANDS}.task", "validate", "Say of each candidate whether it may go in"),
        "commit": Leaf(f"{_COMMANDS}.task", "commit", "Take candidates in, all or none"),
    },
)

BENCH = Branch(
    "Measure how well and how fast brains answer",
    "How well brains answer questions whose answers are known, and how fast on this machine.",
    {
        "quality": Leaf(f"{_COMMANDS}.bench", "quality", "Measure retrieval quality on judged collections"),
        "speed": Leaf(f"{_COMMANDS}.bench", "speed", "Time brains of several sizes against raw engines"),
        "ingest": Leaf(f"{_COMMANDS}.bench", "ingest", "Time how files go in, by format"),
    },
)

SECTIONS: dict[str, dict[str, Leaf | Branch]] = {
    "Set up": {
        "project": PROJECT,
        "status": Leaf(f"{_COMMANDS}.status", "status", "What is here, healthy, stale or missing"),
    },
    "Fill": {
        "ingest": Leaf(f"{_COMMANDS}.ingest", "ingest", "Take files and folders into a brain"),
        "remember": Leaf(f"{_COMMANDS}.remember", "remember", "Take one fact in by hand"),
        "task": TASK,
        "source": SOURCE,
        "sync": Leaf(f"{_COMMANDS}.sync", "sync", "Bring a brain up to date with its sources"),
        "watch": Leaf(f"{_COMMANDS}.sync", "watch", "Keep a brain in step with its sources until Ctrl-C"),
        "index": Leaf(f"{_COMMANDS}.ingest", "index", "Bring a brain's indices up to date"),
        "readers": Leaf(f"{_COMMANDS}.readers", "readers", "List what kinds of file can be read here"),
    },
    "Keep": {
        "retain": RETAIN,
        "export": Leaf(f"{_COMMANDS}.exchange", "export", "Write a brain as an OCI image layout"),
        "import": Leaf(f"{_COMMANDS}.exchange", "import_", "Take in an OCI image layout, verified"),
    },
    "Ask": {
        "search": Leaf(f"{_COMMANDS}.search", "search", "Search one brain"),
        "explain": Leaf(f"{_COMMANDS}.search", "explain", "Show why a brain answers as it does"),
        "sql": Leaf(f"{_COMMANDS}.sql", "sql", "Ask one brain in SQL"),
        "compound": COMPOUND,
    },
    "Check": {
        "history": Leaf(f"{_COMMANDS}.history", "history", "Show a brain's snapshots and what each changed"),
        "diff": Leaf(f"{_COMMANDS}.history", "diff", "Show what changed between two snapshots of a brain"),
        "block": Leaf(f"{_COMMANDS}.block", "block", "Show one block, where it comes from, its proof"),
        "trace": Leaf(f"{_COMMANDS}.trace", "trace", "Show what a block came from, and what came from it"),
        "check": Leaf(f"{_COMMANDS}.check", "check", "Check citations in an answer, and proof files"),
        "verify": Leaf(f"{_COMMANDS}.verify", "verify", "Recompute everything a brain claims"),
    },
    "Measure": {
        "bench": BENCH,
    },
}


def commands() -> dict[str, Leaf | Branch]:
    """All commands of the top level."""
    return {name: entry for section in SECTIONS.values() for name, entry in section.items()}


def paths() -> list[tuple[str, ...]]:
    """Every command by the words that call it, groups and the program itself (the empty path) included."""
    found: list[tuple[str, ...]] = [()]
    for name, entry in commands().items():
        found.append((name,))
        if isinstance(entry, Branch):
            found.extend((name, leaf) for leaf in entry.leaves)
    return found
