"""Small lexical indices for tests: entries at random, an index of them, questions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from consilience.index.bm25 import MemoryIndex
from consilience.index.lexical import LexicalIndex
from consilience.model import Entry, Hits
from consilience.protocol import MemoryType

WORDS = "lift drag wing flow plate shock layer heat mach jet nozzle body cone wake panel flutter".split()  # noqa: SIM905
LANGUAGES = ("en", "es", "")


def entry(n: int, text: str, **more: object) -> Entry:
    fields = {"module": MemoryType.SEMANTIC, "language": "en", **more}
    return Entry(n=n, text=text, **fields)  # type: ignore[arg-type]


def random_entries(count: int, seed: int = 0) -> list[Entry]:
    rng = random.Random(seed)
    return [
        entry(
            n,
            " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 90))),
            context=" ".join(rng.choice(WORDS) for _ in range(rng.randint(0, 5))),
            module=rng.choice([MemoryType.SEMANTIC, MemoryType.EPISODIC]),
            language=rng.choice(LANGUAGES),
        )
        for n in range(1, count + 1)
    ]


def write(directory: Path, entries: Sequence[Entry], batch: int = 10**6) -> LexicalIndex:
    with LexicalIndex.open_for_write(directory) as writer:
        for start in range(0, len(entries), batch):
            part = entries[start : start + batch]
            writer.add(part)
            writer.commit(part[-1].n)
    return reader(directory)


def reader(directory: Path) -> LexicalIndex:
    index = LexicalIndex.open(directory)
    assert index is not None
    return index


def ask(index: LexicalIndex | MemoryIndex, text: str, k: int = 10, **more: object) -> Hits:
    return index.search(index.analyze(text), k, **more)  # type: ignore[arg-type]


def ns(hits: Hits) -> list[int]:
    return [hit.n for hit in hits.hits]
