"""Speed and size of a project, against the engines used raw and against a bare interpreter. Ratios, in one run.

    python bench/bench_speed.py PROJECT [--question TEXT] [--repeat N]

PROJECT is a folder with a consilience.toml whose brains are ingested and indexed. Nothing in it is changed: the commit
of one small file is measured on a copy.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from consilience.brain import Brain
from consilience.model import Query
from consilience.project import Project
from consilience.protocol import Actor, ActorKind, MemoryType

QUESTIONS = (
    "how are features deprecated",
    "structured concurrency and cancellation",
    "why was operator overloading rejected",
    "when is a module imported twice",
    "ownership of strings across a foreign function interface",
)
ACTOR = Actor(id="bench@example.org", kind=ActorKind.PIPELINE)


def cpu_of(command: Sequence[str], repeat: int) -> float:
    """Least CPU seconds (user and system, children included) of a command over `repeat` runs."""
    best = float("inf")
    for _ in range(repeat):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        best = min(best, used)
    return best


def milliseconds(work: Callable[[], object], repeat: int) -> float:
    """Median milliseconds of one call."""
    times = []
    for _ in range(repeat):
        started = time.perf_counter()
        work()
        times.append((time.perf_counter() - started) * 1e3)
    return statistics.median(times)


def row(what: str, value: str, target: str = "") -> None:
    print(f"  {what:<58} {value:>14}   {target}")


def cold(project: Project, sizes: dict[str, int], repeat: int) -> None:
    import compileall

    import consilience

    compileall.compile_dir(str(Path(consilience.__file__).parent), quiet=2)
    csl = str(Path(sys.executable).with_name("csl"))
    bare = cpu_of([sys.executable, "-c", "pass"], repeat)
    help_cpu = cpu_of([csl, "--help"], repeat)
    print("cold processes, CPU seconds, best of", repeat)
    row("python -c pass", f"{bare:.3f} s")
    row("csl --help", f"{help_cpu:.3f} s", f"{help_cpu / bare:.1f}x of bare python (at most 3x)")
    order = sorted(sizes, key=lambda name: sizes[name])
    base = ["--project", str(project.root), "search", QUESTIONS[0]]
    small = cpu_of([csl, *base, "--brain", order[0]], repeat)
    large = cpu_of([csl, *base, "--brain", order[-1]], repeat)
    row(f"csl search, {order[0]} ({sizes[order[0]]:,} passages)", f"{small:.3f} s")
    row(f"csl search, {order[-1]} ({sizes[order[-1]]:,} passages)", f"{large:.3f} s", "(at most 0.3 s)")
    row("largest over smallest", f"{large / small:.2f}x", "(at most 1.2x for a tenth of the size)")


_asked = itertools.count()


def fresh(question: str) -> str:
    """The question made new: a model remembers the vectors of the last questions."""
    return f"{question} {next(_asked)}"


def raw_engines(brain: Brain, text: str, repeat: int) -> tuple[float, float, float]:
    """Milliseconds of the three engine calls that a question makes: the model, tantivy, the exact scan of vectors."""
    with brain.reader() as reader:
        assert reader.lexical is not None and reader.vectors is not None and reader.embedder is not None
        embedder, vectors, lexical = reader.embedder(), reader.vectors, reader.lexical
        vector = embedder.embed([text], role="query")[0]
        asked = lexical.analyze(text)
        return (
            milliseconds(lambda: embedder.embed([fresh(text)], role="query"), repeat),
            milliseconds(lambda: lexical.search(asked, 60), repeat),
            milliseconds(lambda: vectors.search(vector, 60), repeat),
        )


def warm(project: Project, sizes: dict[str, int], repeat: int) -> None:
    print("warm, in one process, median milliseconds")
    per_brain: dict[str, float] = {}
    for name in sorted(sizes, key=lambda n: -sizes[n]):
        brain = project.brain(name)
        brain.search(Query(text="warm up the engines"))
        per_brain[name] = statistics.fmean(
            milliseconds(lambda q=q, b=brain: b.search(Query(text=fresh(q))), repeat)  # type: ignore[misc]
            for q in QUESTIONS
        )
        raw = [raw_engines(brain, q, repeat) for q in QUESTIONS]
        total = statistics.fmean(sum(r) for r in raw)
        parts = " + ".join(f"{statistics.fmean(r[i] for r in raw):.1f}" for i in range(3))
        ratio = per_brain[name] / total
        row(
            f"search, {name} ({sizes[name]:,})",
            f"{per_brain[name]:.1f} ms",
            f"{ratio:.2f}x of model + tantivy + scan = {parts} (at most 3x)",
        )
        brain.close()
    if len(sizes) > 1:
        beside_members(project, sizes, repeat)


def beside_members(project: Project, sizes: dict[str, int], repeat: int) -> None:
    """The compound and each member alone, in turn, so that other work on the machine meets both."""
    team = project.compound(all=True)
    brains = [project.brain(name) for name in sizes]
    for asked in (team, *brains):
        asked.search(Query(text="warm up the engines"))
    for fuse, label in ((False, "grouped"), (True, "fused")):
        ratios, times = [], []
        for question in QUESTIONS * max(1, repeat // 2):
            slowest = max(
                milliseconds(lambda b=b, q=question: b.search(Query(text=fresh(q))), 1)  # type: ignore[misc]
                for b in brains
            )
            times.append(
                milliseconds(lambda q=question, f=fuse: team.search(fresh(q), fuse=f), 1)  # type: ignore[misc]
            )
            ratios.append(times[-1] / slowest)
        ratio = f"{statistics.median(ratios):.2f}x of its slowest member (at most 1.8x)"
        row(f"compound of {len(sizes)}, {label}", f"{statistics.median(times):.1f} ms", ratio)
    for brain in brains:
        brain.close()


def opening(project: Project, sizes: dict[str, int], repeat: int) -> None:
    name = max(sizes, key=lambda n: sizes[n])
    path = project.declared(name).path
    print("opening and committing")

    def open_it() -> None:
        from consilience.store import Store

        with Store.open(path).view() as view:
            assert view.snapshot is not None

    row(
        f"open the store of {name} and read its head",
        f"{milliseconds(open_it, repeat):.2f} ms",
        "(under 5 ms)",
    )
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / name
        shutil.copytree(path, copy)
        notes = Path(folder) / "notes"
        notes.mkdir()
        brain = Brain.open(
            copy, name=name, embedder=project.spec(project.declared(name)), cache_dir=project.cache_dir
        )
        brain.search(Query(text="warm up the engines"))
        taken = []
        for i in range(5):
            (notes / f"{i}.md").write_text(
                f"# Note {i}\n\nThe valve {i} of the upper tank was replaced in spring {i}.\n"
            )
            clock = lambda: datetime.datetime.now(datetime.UTC)  # noqa: E731
            started = time.perf_counter()
            brain.ingest([notes / f"{i}.md"], actor=ACTOR, clock=clock, root=Path(folder))
            taken.append(time.perf_counter() - started)
        row(f"ingest one small file into {name}", f"{statistics.median(taken):.3f} s", "(under 0.5 s)")
        brain.close()


def size(project: Project, sizes: dict[str, int]) -> None:
    print("disk")
    for name in sizes:
        path = project.declared(name).path
        brain = project.brain(name)
        with brain.store.view() as view:
            text = sum(len(view.content(r.blob)) for _, r in view.origins() if r.blob is not None)
        brain.close()
        files = [f for f in path.rglob("*") if f.is_file()]
        kept = [f for f in files if "content" not in f.relative_to(path).parts]
        used = sum(f.stat().st_size for f in files)
        row(
            f"{name}: {text / 1e6:.1f} MB of text",
            f"{used / 1e6:.1f} MB",
            f"{used / text:.1f}x (at most 6x), {len(kept)} files (under 100)",
        )
        parts: dict[str, int] = {}
        for file in files:
            relative = file.relative_to(path).parts
            key = "/".join(relative[:2]) if relative[0] == "derived" else relative[0]
            parts[key] = parts.get(key, 0) + file.stat().st_size
        print(
            "      "
            + ", ".join(f"{k} {v / 1e6:.1f}" for k, v in sorted(parts.items(), key=lambda kv: -kv[1]))
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("project", type=Path)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--only", choices=("cold", "warm", "opening", "size"), action="append")
    args = parser.parse_args()
    os.environ.pop("OPENBLAS_CORETYPE", None)
    os.environ.pop("OPENBLAS_L2_SIZE", None)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line does
    project = Project.open(args.project)
    sizes = {}
    for declared in project.brains:
        if project.has_layout(declared):
            with project.brain(declared.name) as brain, brain.store.view() as view:
                sizes[declared.name] = view.count(MemoryType.SEMANTIC)
    for name, part in (("cold", cold), ("warm", warm), ("opening", opening)):
        if not args.only or name in args.only:
            part(project, sizes, args.repeat)
    if not args.only or "size" in args.only:
        size(project, sizes)


if __name__ == "__main__":
    main()
