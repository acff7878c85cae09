"""A small brain with one of everything, and ways to damage its files."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from pathlib import Path

from consilience.brain import Brain
from consilience.embed import EmbedderSpec
from consilience.model import Query
from consilience.protocol import Actor, ActorKind
from consilience.store.content import INLINE_LIMIT

ACTOR = Actor(id="ana@example.org", kind=ActorKind.HUMAN)
HASHED = EmbedderSpec(provider="hashed")
SENTENCES = {
    "pumps": "The pump of well {i} loses pressure when its inlet filter is clogged with sand; clean it weekly.",
    "solar": "Panel row {i} delivers less current after noon because the water tower casts its shadow over it.",
    "radio": "Relay station {i} repeats a frame at most three times, and then it drops it and counts the loss.",
}
OTHERS = {
    "tides": "Harbour gauge {i} reads the height of spring tides against a brass mark that was cut into granite.",
    "looms": "Weaver {i} counts warp threads aloud before each shuttle passes, for silk forgives no mistakes.",
    "radio": "Choir {i} rehearses Palestrina without an organ, trusting tuning forks and candlelight alone.",
}
QUESTION = Query(text="why does a pump lose pressure", limit=5, floor=False)


def now() -> datetime.datetime:
    return datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)


def build(folder: Path, *, seed: int = 0) -> Path:
    """A brain in `folder/brain` of files in `folder/docs`: a large original in a file, history, hidden passages."""
    docs = folder / "docs"
    docs.mkdir(parents=True)
    for topic, sentence in (OTHERS if seed else SENTENCES).items():
        paragraphs = [sentence.format(i=i) for i in range(12)]
        (docs / f"{topic}.md").write_text(f"# About {topic}\n\n" + "\n\n".join(paragraphs) + "\n")
    noise = random.Random(seed).randbytes(INLINE_LIMIT).hex()
    (docs / "large.md").write_text(f"# Large\n\nA large file of field notes.\n\n<!-- {noise} -->\n")
    with Brain.create(folder / "brain", name="farm", embedder=HASHED) as brain:
        ingest(brain, folder)
        text = (docs / "radio.md").read_text().replace("times", "turns", 2).replace("Palestrina", "Byrd", 2)
        (docs / "radio.md").write_text(text)
        ingest(brain, folder)
    return folder / "brain"


def ingest(brain: Brain, folder: Path) -> None:
    brain.ingest([folder / "docs"], actor=ACTOR, clock=now, root=folder)


def opened(path: Path) -> Brain:
    return Brain.open(path, name="farm", embedder=HASHED)


def answer(path: Path) -> list[tuple[str, str, float]]:
    """What the brain finds, opened anew."""
    with opened(path) as brain:
        return [(m.block_id, m.root, round(m.score, 9)) for m in brain.search(QUESTION).matches]


def files(path: Path) -> Iterator[Path]:
    """Every file of a brain that says anything: not locks, nor SQLite's shared memory, nor an empty log."""
    for file in sorted(path.rglob("*")):
        if file.is_file() and file.stat().st_size and not file.name.endswith(("lock", "-shm")):
            yield file


def flip(file: Path, offset: int, bit: int) -> None:
    with file.open("r+b") as opened_file:
        opened_file.seek(offset)
        (byte,) = opened_file.read(1)
        opened_file.seek(offset)
        opened_file.write(bytes([byte ^ (1 << bit)]))
