"""The store alone, beside what it cannot avoid: SQLite itself, SHA-256, the Merkle tree.

    python bench/bench_store.py [--blocks 100000] [--text FOLDER]

`--blocks` passages and as many derivation records, made of the paragraphs of the text files in FOLDER or of made-up
text. Times are CPU seconds of this process, wall seconds in brackets; the machine is shared: read the ratios.
"""

from __future__ import annotations

import argparse
import datetime as dt
import hashlib
import itertools
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from consilience.brain import Brain
from consilience.embed import EmbedderSpec
from consilience.index.vectors import VectorIndex, text_hash
from consilience.model import Query
from consilience.protocol import (
    Actor,
    ActorKind,
    Block,
    Digest,
    Kind,
    MemoryType,
    Producer,
    ProducerKind,
    Semantic,
    build,
    composition_document,
    derivation_block,
    format_digest,
    merkle,
)
from consilience.retain.erase import finish
from consilience.retain.execute import Retention
from consilience.retain.plan import plan_of
from consilience.retain.policy import Policy
from consilience.store import Store, StoredBlock
from consilience.store.prune import Keep
from consilience.store.verify import verify

T = TypeVar("T")

ACTOR = Actor(id="bench@example.org", kind=ActorKind.PIPELINE)
PRODUCER = Producer(kind=ProducerKind.PIPELINE, id="consilience/markdown", version="1")
NOW = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
SYLLABLES = [a + b for a in "bdfglmnprst" for b in ("a", "e", "i", "o", "u", "an", "er", "is")]


class Spent(NamedTuple):
    cpu: float
    wall: float

    def __str__(self) -> str:
        return f"{self.cpu:8.4f} s ({self.wall:.4f})"


def timed(work: Callable[[], T]) -> tuple[Spent, T]:
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    return Spent(time.process_time() - cpu, time.perf_counter() - wall), result


def least(work: Callable[[], object], times: int) -> Spent:
    return min(timed(work)[0] for _ in range(times))


def show(what: str, ours: Spent, floor_name: str, floor: Spent) -> None:
    print(f"{what:<34} {ours}   {floor_name:<34} {floor}   ratio {ours.cpu / max(floor.cpu, 1e-9):.2f}")


# --- what is stored -----------------------------------------------------------------------------------------


def paragraphs(folder: Path | None) -> Iterator[str]:
    chance = random.Random(1)
    if folder is not None:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            for part in path.read_text(errors="replace").split("\n\n"):
                if len(part) > 40:
                    yield " ".join(part.split())
    words = ["".join(chance.choices(SYLLABLES, k=chance.randint(1, 4))) for _ in range(20_000)]
    weights = list(itertools.accumulate(1 / (i + 2) for i in range(len(words))))
    while True:
        yield " ".join(chance.choices(words, cum_weights=weights, k=chance.randint(20, 110)))


def passages(count: int, folder: Path | None) -> list[Block]:
    distinct = dict.fromkeys(itertools.islice(paragraphs(folder), count + count // 3))
    texts = list(itertools.islice(itertools.chain(distinct, paragraphs(None)), count))
    return [build(Semantic(kind=Kind.FACT, label=t[:79], statement=t)) for t in texts]


def derivations(blocks: list[Block]) -> list[Block]:
    """Each derived from the first of its fifty, in sections of five."""
    at = "2026-03-01T00:00:00Z"
    return [
        derivation_block(
            b.id,
            [blocks[i - i % 50].id],
            PRODUCER,
            ACTOR,
            at,
            f"L{i % 900}-L{i % 900 + 4} # Part {i // 50} > Section {i // 5}",
        )
        for i, b in enumerate(blocks)
    ]


# --- the measurements ---------------------------------------------------------------------------------------


def load(folder: Path, blocks: list[Block]) -> None:
    def ours() -> None:
        with Store.create(folder / "brain") as store, store.write(ACTOR, NOW) as writer:
            writer.add_many(blocks)

    def sqlite_alone() -> None:
        raw = sqlite3.connect(folder / "raw.db", isolation_level=None)
        raw.execute("PRAGMA journal_mode=WAL")
        raw.execute("PRAGMA synchronous=FULL")
        raw.execute("CREATE TABLE b (n INTEGER PRIMARY KEY, id BLOB UNIQUE, type INTEGER, data BLOB)")
        raw.execute("BEGIN")
        rows = ((n, b.id, 2, b.data) for n, b in enumerate(blocks, 1))
        raw.executemany("INSERT INTO b VALUES (?, ?, ?, ?)", rows)
        raw.execute("COMMIT")
        raw.close()

    floor, _ = timed(sqlite_alone)
    spent, _ = timed(ours)
    show(f"load {len(blocks)} blocks", spent, "the same bytes into SQLite", floor)
    sizes = {p.name: p.stat().st_size for p in (folder / "raw.db", folder / "brain" / "brain.db")}
    text = sum(len(b.data) for b in blocks)
    print("  disk: " + ", ".join(f"{name} {size / text:.2f} x the envelopes" for name, size in sizes.items()))


def open_and_read(folder: Path, blocks: int) -> None:
    n = blocks // 2

    def ours() -> None:
        with Store.open(folder / "brain") as store, store.view() as view:
            assert view.blocks([n])[0].intact

    def sqlite_alone() -> None:
        raw = sqlite3.connect(folder / "raw.db", isolation_level=None)
        assert raw.execute("SELECT data FROM b WHERE n = ?", (n,)).fetchone()
        raw.close()

    show("open, read one block, close", least(ours, 50), "the same with SQLite", least(sqlite_alone, 50))
    with Store.open(folder / "brain") as store:

        def warm() -> None:
            with store.view() as view:
                assert view.blocks([n])[0].intact

        show(
            "the next view, read one block", least(warm, 50), "the same with SQLite", least(sqlite_alone, 50)
        )


def commits_of_ten(folder: Path) -> None:
    extra = _extra()
    spent = []
    for _ in range(5):
        new = [next(extra) for _ in range(10)]

        def commit(new: list[Block] = new) -> None:
            with Store.open(folder / "brain") as store, store.write(ACTOR, NOW) as writer:
                writer.add_many([*new, *derivations(new)])

        spent.append(timed(commit)[0])
    with Store.open(folder / "brain") as store, store.view() as view:
        modules = [(m, view.sorted_ids(m)) for m in (MemoryType.SEMANTIC, MemoryType.PROVENANCE)]
        read = least(lambda: [view.sorted_ids(m) for m, _ in modules], 2)

    def afresh() -> None:
        for memory_type, ids in modules:
            merkle.root(ids)
            hashlib.sha256(composition_document(memory_type, ids)).digest()

    floor = least(afresh, 3)
    show("commit of ten, a process's first", min(spent), "roots and compositions afresh", floor)
    print(f"  reading the sorted ids, which a commit without kept leaves adds: {read}")


def _extra() -> Iterator[Block]:
    for i in itertools.count():
        yield build(Semantic(kind=Kind.FACT, label=f"Extra {i}", statement=f"Extra statement number {i}."))


def verification(folder: Path, blocks: list[Block]) -> None:
    spent, report = min((timed(lambda: verify(folder / "brain")) for _ in range(3)), key=lambda each: each[0])
    assert report.ok, report.problems[:3]
    by_type = [sorted(b.id for b in blocks if b.memory_type is m) for m in MemoryType]

    def floor_work() -> None:
        for block in blocks:
            hashlib.sha256(block.data).digest()
        for ids in by_type:
            merkle.root(ids)

    show(
        f"verify {report.checked.blocks} blocks",
        spent,
        "hash the same bytes, and the roots",
        least(floor_work, 3),
    )


def reads(folder: Path, blocks: int) -> None:
    chance = random.Random(3)
    ns = [chance.randrange(1, blocks) for _ in range(20)]
    with Store.open(folder / "brain") as store, store.view() as view:
        matches = view.blocks(ns)
        for name, work in (
            ("blocks of 20 matches", lambda: view.blocks(ns)),
            ("members of 20 matches", lambda: view.members(ns)),
            ("hidden of 20 matches", lambda: view.hidden(ns)),
            ("sources of 20 matches", lambda: view.sources(ns)),
            ("children of a file", lambda: view.children(1)),
            ("records about a block", lambda: view.records_about(ns[0])),
            ("proofs of 20 matches, checked", lambda: view.proven(matches)),
        ):
            print(f"{name:<34} {least(work, 20)}")
        print(f"{'scan everything':<34} {timed(lambda: sum(1 for _ in view.scan()))[0]}")


def ledger(folder: Path, blocks: int) -> None:
    """Look-ups of the ledger, each by a block's number, beside the smallest look-up that SQLite knows."""
    chance = random.Random(4)
    with Store.open(folder / "brain") as store, store.view() as view:
        raw = sqlite3.connect(folder / "raw.db", isolation_level=None)
        n = chance.randrange(60, blocks)
        source = view.derivation_edges([n], up=True)[0].other
        floor = least(lambda: raw.execute("SELECT id FROM b WHERE n = ?", (n,)).fetchone(), 50)
        for name, work in (
            ("records about a block", lambda: view.records_about(n)),
            ("what it was derived from", lambda: view.derivation_edges([n], up=True)),
            ("where it comes from", lambda: view.sources([n])),
            ("whether it is hidden", lambda: view.hidden([n])),
            ("what was derived from a source", lambda: view.derivation_edges([source], up=False)),
            ("how many are reached downwards", lambda: view.reached(source, up=False, most=100_000)),
        ):
            spent = least(work, 50)
            print(
                f"{name:<34} {spent.cpu * 1e6:8.0f} us   ratio to one row of SQLite {spent.cpu / floor.cpu:.1f}"
            )
        raw.close()
        block_id = format_digest(view.ids([source])[source])
    with Brain.open(folder / "brain", name="bench", embedder=EmbedderSpec(provider="none")) as brain:
        spent = least(lambda: brain.trace(block_id), 20)
    print(f"{'trace of a source, both ways':<34} {spent.cpu * 1e6:8.0f} us")


def removal(folder: Path, blocks: int) -> None:
    """A redaction in a brain with every index, part by part, and a drop; beside reading the database once."""
    derived = folder / "brain" / "derived"
    policy = Policy(canonical_drop=True, redact=True, canonical_redact=True)
    with Brain.open(folder / "brain", name="bench", embedder=EmbedderSpec(provider="none")) as brain:
        words, _ = timed(lambda: brain.index(embed=False))
        vectors(derived, blocks)
        work = Retention(brain.store, "bench", actor=ACTOR, clock=lambda: NOW)
        ids = [b.id for b in _blocks(brain, [blocks // 2, blocks // 3, blocks // 4])]
        floor, _ = timed(lambda: (folder / "brain" / "brain.db").read_bytes())
        with brain.store.view() as view:
            planned, _ = timed(lambda: plan_of(view, "bench", "redact", ids[:1], policy))
        commit, _ = timed(lambda: work.redact(ids[:1], reason="bench", policy=policy))
        erased, done = timed(lambda: finish(brain.store, derived))
        assert done.done
        show("redact: plan", planned, "read brain.db", floor)
        show("redact: commit, plan included", commit, "read brain.db", floor)
        show("redact: out of every file", erased, "read brain.db", floor)
        total = Spent(commit.cpu + erased.cpu, commit.wall + erased.wall)
        print(f"{'redact, until no file holds it':<34} {total}")
        again, _ = timed(lambda: brain.index(embed=False))
        show("redact: words indexed again", again, "words indexed at first", words)
        dropped, report = timed(lambda: work.drop(ids[1:2], reason="bench", policy=policy))
        show(f"drop, plan included, of {len(report.changed)}", dropped, "read brain.db", floor)
        demoted, _ = timed(lambda: work.demote(ids[2:]))
        show("demote one", demoted, "read brain.db", floor)


def _blocks(brain: Brain, ns: list[int]) -> list[StoredBlock]:
    with brain.store.view() as view:
        return view.blocks(ns)


def vectors(derived: Path, blocks: int, dims: int = 384) -> None:
    """Vectors as a model would leave them: this many rows, without its work."""
    chance = np.random.default_rng(5)
    with VectorIndex.open_for_write(derived / "vectors", "bench", dims) as writer:
        for first in range(1, blocks + 1, 10_000):
            ns = list(range(first, min(first + 10_000, blocks + 1)))
            rows = chance.standard_normal((len(ns), dims), np.float32)
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            writer.append(ns, [text_hash(str(n)) for n in ns], rows)
        writer.commit(blocks)


def past(folder: Path, made: list[Block], snapshots: int = 1_000) -> None:
    """History, differences and questions at an older snapshot: many small commits, then the rest in one."""
    small = min(10, max(1, len(made) // (2 * snapshots)))
    with Brain.create(folder / "past", name="past", embedder=EmbedderSpec(provider="none")) as brain:
        for i in range(snapshots):
            with brain.store.write(ACTOR, NOW) as writer:
                writer.add_many(made[i * small : (i + 1) * small])
        with brain.store.write(ACTOR, NOW) as writer:
            writer.add_many(made[snapshots * small :])
        brain.index(embed=False)
        head, old = brain.snapshot("head"), brain.snapshot(f"head~{snapshots // 2}")
        floor = least(lambda: _documents(brain, 20), 5)
        name = "read 20 snapshots"
        show(f"history, 20 of {snapshots + 1:,}", least(brain.history, 5), name, floor)
        show("history, all", least(lambda: brain.history(limit=None), 3), name, floor)
        one = least(lambda: brain.history(module=MemoryType.SEMANTIC), 3)
        show("history of one module", one, name, floor)
        show("diff with the head", least(lambda: brain.diff(old, head), 3), name, floor)
        at_head = least(lambda: _opened(brain, head), 20)
        show("open an older snapshot", least(lambda: _opened(brain, old), 20), "open the head", at_head)
        for what, at in (("half way", old), ("just before", brain.snapshot("head~1"))):
            asked = Query(text="bela dona miru", limit=10)
            now = least(lambda a=asked: brain.search(a), 5)  # type: ignore[misc]
            then = least(lambda a=asked, at=at: brain.search(a, at=at), 5)  # type: ignore[misc]
            show(f"search at a snapshot {what}", then, "search at the head", now)
        plan, done = timed(lambda: brain.prune(Keep(snapshots=20), actor=ACTOR, clock=lambda: NOW))
        show(f"prune {done.plan.snapshots:,} snapshots, compact", plan, name, floor)


def _documents(brain: Brain, count: int) -> None:
    with brain.store.view() as view:
        view.history(count)


def _opened(brain: Brain, at: Digest) -> None:
    with brain.store.view(at) as view:
        view.modules()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--blocks", type=int, default=100_000)
    parser.add_argument("--text", type=Path)
    arguments = parser.parse_args()
    made = passages(arguments.blocks, arguments.text)
    blocks = [*made, *derivations(made)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        load(folder, blocks)
        open_and_read(folder, len(blocks))
        reads(folder, len(made))
        ledger(folder, len(made))
        commits_of_ten(folder)
        verification(folder, blocks)
        removal(folder, len(made))
        past(folder, made)


if __name__ == "__main__":
    main()
