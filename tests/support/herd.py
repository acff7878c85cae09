"""Writers, readers and indexers of one brain, each a process, for some seconds: `python herd.py PROJECT W R I SECONDS`.

Every one writes what it did into `PROJECT/herd-<name>.jsonl`, a line as soon as it is done. A writer's line is an
acknowledgement. Readers are of three kinds: one that keeps its brain open, one that opens it for each question, and one
whose threads share it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fault_worker import imported

from consilience.brain import Brain
from consilience.model import Bundle, Filters, Query
from consilience.project import Project
from consilience.protocol import Actor, ActorKind
from consilience.store.holder import holder_of

PASSAGES = 6
THREADS = 3
QUERY = Query(text="wagon of salt", limit=100_000, floor=False, filters=Filters(sources=("herd/",)))

Say = Callable[[dict[str, Any]], None]


def statements(name: str) -> list[str]:
    return [f"Wagon {n} of train {name} carries salt." for n in range(PASSAGES)]


def write(project: Project, name: str, until: float, say: Say) -> None:
    """Ingest file after file, every other time through a brain opened anew."""
    actor = Actor(id=f"herd/{name}", kind=ActorKind.AGENT)
    folder = project.root / "herd"
    folder.mkdir(exist_ok=True)
    kept = project.writable("one")
    waited: list[str] = []

    def waiting(_: float) -> None:
        waited.append(str(holder_of(kept.path)))

    count = 0
    while time.monotonic() < until or not count:
        train = f"{name}.{count}"
        path = folder / f"{train}.md"
        path.write_text("\n\n".join(statements(train)) + "\n")
        brain = kept if count % 2 else project.writable("one")
        waited.clear()
        report = brain.ingest(
            [path], actor=actor, clock=lambda: datetime.now(UTC), root=project.root, waiting=waiting
        )
        say({"train": train, "snapshot": report.snapshot, "commits": report.commits, "waited": waited[:3]})
        if brain is not kept:
            brain.close()
        count += 1


def said(bundle: Bundle) -> dict[str, Any]:
    origins: dict[str, int] = {}
    for match in bundle.matches:
        for source in match.sources:
            origins[source.origin or ""] = origins.get(source.origin or "", 0) + 1
    return {
        "snapshot": bundle.snapshot,
        "roots": {str(r.module.value): r.root for r in bundle.verified_against},
        "ids": [m.block_id for m in bundle.matches],
        "origins": origins,
        "truncated": bundle.truncated,
        "dropped": list(bundle.dropped),
    }


def ask(project: Project, brain: Brain, say: Say) -> None:
    say(said(brain.search(QUERY)))
    compound = project.compound("one", "two").search(QUERY, fuse=True)
    (one,) = [m for m in compound.members if m.brain == "one"]
    assert not compound.failures, compound.failures
    held = [m for m in compound.matches if any(b.brain == "one" for b in m.brains)]
    say({
        "snapshot": one.snapshot,
        "roots": {str(r.module.value): r.root for r in one.verified_against},
        "ids": [m.block_id for m in held],
    })  # fmt: skip
    explained = brain.explain(QUERY, analyze=True)
    say({"explained": explained.snapshot, "count": explained.count})


def read(project: Project, name: str, until: float, say: Say) -> None:
    kind = int(name) % 3
    kept = project.brain("one")

    def loop() -> None:
        done = 0
        while time.monotonic() < until or not done:
            brain = project.brain("one") if kind == 1 else kept
            ask(project, brain, say)
            if kind == 1:
                brain.close()
            done += 1

    if kind != 2:
        loop()
        return
    failed: list[str] = []

    def guarded() -> None:
        try:
            loop()
        except BaseException:
            failed.append(traceback.format_exc())

    threads = [threading.Thread(target=guarded) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed[0]


def index(project: Project, name: str, until: float, say: Say) -> None:
    brain = project.brain("one")
    done = 0
    while time.monotonic() < until or not done:
        report = brain.index(rebuild=name == "0" and done == 1)
        say({"indexed": report.indexed, "notes": list(report.notes)})
        done += 1


def main(root: Path, writers: int, readers: int, indexers: int, seconds: float) -> int:
    imported()
    until = time.monotonic() + seconds
    children = []
    for kind, work, count in (
        ("writer", write, writers),
        ("reader", read, readers),
        ("indexer", index, indexers),
    ):
        for i in range(count):
            child = os.fork()
            if child:
                children.append(child)
                continue
            lock = threading.Lock()
            with (root / f"herd-{kind}-{i}.jsonl").open("w") as file:

                def say(line: dict[str, Any], file: Any = file, lock: Any = lock) -> None:
                    with lock:
                        file.write(json.dumps(line) + "\n")
                        file.flush()

                try:
                    work(Project.open(root, cache_dir=root / ".cache"), str(i), until, say)
                except BaseException:
                    say({"failed": traceback.format_exc()})
            os._exit(0)
    return max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *map(int, sys.argv[2:5]), float(sys.argv[5])))
