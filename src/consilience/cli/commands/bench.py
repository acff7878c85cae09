"""`csl bench`: measuring."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from consilience.cli.framework import argument, command
from consilience.cli.invocation import MOST_JOBS, Invocation
from consilience.errors import UsageError

if TYPE_CHECKING:
    from consilience.embed import EmbedderSpec


@command(
    "quality",
    short_help="Measure retrieval quality on judged collections",
    examples=[
        "csl bench quality beir/scifact",
        "csl bench quality beir --questions 50 --runs runs",
        "csl bench quality beir/scifact --json > before.json",
        "csl bench quality beir/scifact --against before.json",
    ],
)
@argument("folder", metavar="DIR", help="A BEIR folder, or a folder of them: each is a brain of one project.")
@click.option(
    "--work", metavar="DIR", help="Where brains are made and used again; the user's cache by default."
)
@click.option(
    "--model", metavar="PROVIDER[:MODEL]", default="e5-small", show_default=True,
    help="What turns text into vectors.",
)  # fmt: skip
@click.option(
    "--questions", type=click.IntRange(1), metavar="N", help="Only so many questions of each folder."
)
@click.option(
    "--documents", type=click.IntRange(1), metavar="N", help="Only so many documents of each folder."
)
@click.option("--runs", metavar="DIR", help="Write the rankings there, as TREC run files.")
@click.option("--against", metavar="FILE", help="Compare with an earlier run, question by question.")
def quality(
    invocation: Invocation,
    folder: str,
    work: str | None,
    model: str,
    questions: int | None,
    documents: int | None,
    runs: str | None,
    against: str | None,
) -> int:
    """Measure how well questions with known answers are answered.

    DIR holds corpus.jsonl, queries.jsonl and qrels/test.tsv, or folders that do. Each is made a brain once. Several
    are measured as one project too: one big brain, the right brain, all of them grouped and fused.
    """
    from consilience.bench import against as earlier
    from consilience.bench.quality import Setting
    from consilience.bench.quality import quality as measure
    from consilience.cli import render_bench
    from consilience.project import user_cache

    before = earlier.read(Path(against)) if against is not None else None
    cache = invocation.cache_dir or user_cache()
    setting = Setting(
        work=Path(work) if work is not None else cache / "bench",
        cache_dir=cache,
        clock=invocation.clock,
        embedder=_embedder(model),
        questions=questions,
        documents=documents,
        runs=Path(runs) if runs is not None else None,
        progress=invocation.progress(),
    )
    invocation.kept = "brains that are made already are used again"
    report = measure(Path(folder), setting)
    if before is not None:
        report = earlier.compare(report, before)
    return invocation.emit(
        lambda: report, lambda terminal: render_bench.lines(report, terminal), warnings=report.warnings
    )


def _embedder(model: str) -> EmbedderSpec:
    """The model that PROVIDER[:MODEL] names. UsageError for a provider that there is not."""
    from consilience.embed import EmbedderSpec
    from consilience.embed.base import PROVIDERS

    name, _, which = model.partition(":")
    for provider in PROVIDERS:
        if provider == name:
            return EmbedderSpec(provider=provider, model=which or None)
    raise UsageError(f"there is no embedding provider {name!r}", hint=f"there are {', '.join(PROVIDERS)}")


@command(
    "speed",
    short_help="Time brains of several sizes against raw engines",
    examples=["csl bench speed", "csl bench speed --sizes 1000,10000,100000 --repeat 15"],
)
@click.option(
    "--sizes", metavar="N[,N...]", default="1000,10000", show_default=True, help="Passages of each brain."
)
@click.option(
    "--repeat",
    type=click.IntRange(1),
    metavar="N",
    default=7,
    show_default=True,
    help="Runs of each operation.",
)
def speed(invocation: Invocation, sizes: str, repeat: int) -> int:
    """Time what brains do, beside the same work by SQLite, tantivy or numpy alone, and how it grows with their size.

    Makes brains of generated text in a temporary folder: words alone, and with vectors of hashed words, since a model's
    own time would be all that is measured. A cold search is a process of its own, in CPU time.
    """
    import tempfile

    from consilience.bench.speed import speed as measure
    from consilience.cli import render_bench

    try:
        wanted = [int(each) for each in sizes.split(",")]
    except ValueError:
        raise UsageError(f"{sizes!r} are no sizes", hint="--sizes 1000,10000") from None
    invocation.kept = "nothing is kept of it"
    with tempfile.TemporaryDirectory(prefix="csl-bench-") as folder:
        report = measure(
            Path(folder) / "brains",
            wanted,
            clock=invocation.clock,
            repeat=repeat,
            progress=invocation.progress(),
        )
    return invocation.emit(lambda: report, lambda terminal: render_bench.speed_lines(report, terminal))


@command(
    "ingest",
    short_help="Time how files go in, by format",
    examples=[
        "csl bench ingest",
        "csl bench ingest documents --files 200",
        "csl bench ingest --jobs 1 --json",
    ],
)
@argument(
    "folder", metavar="[DIR]", required=False, help="A folder of files; generated ones if there is none."
)
@click.option("--files", type=click.IntRange(1), metavar="N", help="Only so many files of each format.")
@click.option(
    "--size", type=click.IntRange(1, 64), metavar="MIB", default=1, show_default=True,
    help="Of each format, where files are generated.",
)  # fmt: skip
@click.option(
    "--jobs", type=click.IntRange(1, MOST_JOBS), metavar="N",
    help="Processes that parse side by side; as many as processors by default.",
)  # fmt: skip
def ingest(invocation: Invocation, folder: str | None, files: int | None, size: int, jobs: int | None) -> int:
    """Time how fast files go in, by format: read, parsed, and committed to a brain, beside the parser's library alone.

    Makes brains in a temporary folder. No index is made and no model asked.
    """
    import tempfile

    from consilience.bench.ingest import ingest_speed
    from consilience.cli import render_bench

    invocation.kept = "nothing is kept of it"
    with tempfile.TemporaryDirectory(prefix="csl-bench-") as work:
        report = ingest_speed(
            Path(work) / "work",
            Path(folder) if folder is not None else None,
            clock=invocation.clock,
            files=files,
            size=size << 20,
            jobs=invocation.jobs(jobs),
            progress=invocation.progress(),
        )
    return invocation.emit(lambda: report, lambda terminal: render_bench.ingest_lines(report, terminal))
