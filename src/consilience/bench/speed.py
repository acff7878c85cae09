"""Speed against the engines used raw, in one process, over brains of generated text of several sizes."""

from __future__ import annotations

import hashlib
import importlib.util
import random
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from consilience.bench import cold
from consilience.bench.brains import ACTOR, block_of, fill
from consilience.bench.raw import RawRows, RawVectors, RawWords
from consilience.brain import Brain
from consilience.compound import Compound
from consilience.config import Embedding
from consilience.embed import EmbedderSpec, shared_embedder
from consilience.errors import UsageError
from consilience.model import Query, Value
from consilience.progress import NO_PROGRESS, Progress
from consilience.project import Project
from consilience.protocol import Block, format_digest

WORDS = 40
"""Words of a generated passage."""

VOCABULARY = 20_000
SEED = 7
OPERATIONS = 12
MOST = 1_000_000

MOST_COLD = 5
"""Runs of a whole process, of which the least counts."""


class SpeedRow(Value, frozen=True, kw_only=True):
    """One operation on a brain of `size` passages, beside the same work done with the engine alone, `raw`:
    milliseconds and milliseconds of CPU, medians over the repetitions; of cold processes CPU only, the least.

    `times` is how many times the engine's CPU it took: other work on the machine hits long operations more than short
    ones. Of the compound it is time over time, since its members run side by side."""

    what: str
    size: int
    ms: float
    cpu_ms: float
    raw: str
    raw_ms: float
    raw_cpu_ms: float
    times: float


class _Took(NamedTuple):
    """Milliseconds, and milliseconds of CPU."""

    ms: float
    cpu: float


class SpeedReport(Value, frozen=True, kw_only=True):
    """`data` of `bench speed`. `bytes` is what each size takes on disk, `text` how much text is in it."""

    sizes: tuple[int, ...]
    text: tuple[int, ...]
    bytes: tuple[int, ...]
    repeat: int
    rows: tuple[SpeedRow, ...]


WORDS_ALONE = EmbedderSpec(provider="none")
HASHED = EmbedderSpec(provider="hashed")
"""Vectors without a model, whose own time would be all that is measured."""


@dataclass(frozen=True, slots=True)
class _Bench:
    """What the measurements of one size share."""

    folder: Path
    size: int
    repeat: int
    clock: Callable[[], datetime]
    texts: dict[str, str]
    questions: Sequence[str]
    rows: RawRows
    words: RawWords

    def open(self, name: str = "a", embedder: EmbedderSpec = WORDS_ALONE) -> Brain:
        return Brain.open(self.folder / name, name=name, embedder=embedder)

    def row(self, what: str, taken: _Took, raw: str, raw_taken: _Took, *, by_cpu: bool = True) -> SpeedRow:
        own, beside = (taken.cpu, raw_taken.cpu) if by_cpu else (taken.ms, raw_taken.ms)
        return SpeedRow(
            what=what,
            size=self.size,
            ms=round(taken.ms, 3),
            cpu_ms=round(taken.cpu, 3),
            raw=raw,
            raw_ms=round(raw_taken.ms, 3),
            raw_cpu_ms=round(raw_taken.cpu, 3),
            times=round(own / max(beside, 1e-3), 2),
        )


def speed(
    folder: Path,
    sizes: Sequence[int],
    *,
    clock: Callable[[], datetime],
    repeat: int = 7,
    progress: Progress = NO_PROGRESS,
) -> SpeedReport:
    """Make brains of each size in `folder`, which has to be empty, and time them: by words alone, and with vectors of
    hashed words where numpy is installed.

    Raises UsageError for sizes that cannot be made, StorageError.
    """
    wanted = sorted(set(sizes))
    if not wanted or wanted[0] < 1 or wanted[-1] > MOST:
        raise UsageError(
            f"brains of {', '.join(map(str, sizes))} passages cannot be made", hint=f"1 to {MOST:,}"
        )
    rows: list[SpeedRow] = []
    text, held = [], []
    for size in wanted:
        progress.start(f"{size:,} passages", OPERATIONS, "operations")
        texts = _texts(size)
        here = folder / str(size)
        here.mkdir(parents=True)
        with closing(RawRows(here / "raw.db")) as raw_rows:
            bench = _Bench(
                here, size, repeat, clock, texts, _questions(repeat), raw_rows, RawWords(here / "raw")
            )
            for row in _measure(bench):
                rows.append(row)
                progress.advance()
        text.append(sum(len(each.encode()) for each in texts.values()))
        held.append(sum(f.stat().st_size for f in (here / "a").rglob("*") if f.is_file()))
    progress.close()
    order = {row.what: place for place, row in reversed(list(enumerate(rows)))}
    rows.sort(key=lambda row: (order[row.what], row.size))
    return SpeedReport(
        sizes=tuple(wanted), text=tuple(text), bytes=tuple(held), repeat=repeat, rows=tuple(rows)
    )


def _measure(bench: _Bench) -> Iterator[SpeedRow]:
    yield from _making(bench)
    yield _ingesting(bench)
    yield from _adding(bench)
    yield _opening(bench)
    yield _reading(bench)
    yield from _asking(bench)
    if importlib.util.find_spec("numpy") is not None:
        yield from _with_vectors(bench)
    if cold.measurable():
        yield _cold(bench)
    with bench.open() as brain:
        verified = _took(brain.verify)
    yield bench.row("verify", verified, "hash every row", _took(bench.rows.hash_all))


def _making(bench: _Bench) -> Iterator[SpeedRow]:
    blocks = [block_of(text) for text in dict.fromkeys(bench.texts.values())]
    path = bench.folder / "a"
    with Brain.create(path, name="a", embedder=EmbedderSpec(provider="none")) as brain:
        taken = _took(lambda: fill(brain, "a", bench.texts, blocks, bench.clock()))
        pairs = [(block.id, block.data) for block in blocks]
        yield bench.row("commit all", taken, "SQLite, one commit", _took(lambda: bench.rows.add(pairs)))
        taken = _took(brain.index)
    yield bench.row("index all", taken, "tantivy", _took(lambda: bench.words.add(bench.texts.values())))


def _ingesting(bench: _Bench) -> SpeedRow:
    """One file of all the texts, a paragraph each."""
    file = bench.folder / "texts.md"
    file.write_text("\n\n".join(bench.texts.values()), encoding="utf-8")
    with Brain.create(bench.folder / "c", name="c", embedder=WORDS_ALONE) as brain:
        taken = _took(lambda: brain.ingest([file], actor=ACTOR, clock=bench.clock, root=bench.folder))

    def raw() -> None:
        texts = file.read_text(encoding="utf-8").split("\n\n")
        with closing(RawRows(bench.folder / "file.db")) as rows:
            rows.add([(hashlib.sha256(t.encode()).digest(), t.encode()) for t in texts])
        RawWords(bench.folder / "file").add(texts)

    return bench.row("ingest one file", taken, "SQLite and tantivy", _took(raw))


def _with_vectors(bench: _Bench) -> Iterator[SpeedRow]:
    embedder = shared_embedder(HASHED, cache_dir=bench.folder, warn=lambda _: None)
    raw_vectors = RawVectors(bench.folder / "raw.npy", embedder)
    shutil.copytree(bench.folder / "a", bench.folder / "v")
    with bench.open("v", HASHED) as brain:
        taken = _took(brain.index)
        yield bench.row(
            "embed all", taken, "hash and numpy", _took(lambda: raw_vectors.add(bench.texts.values()))
        )
        brain.search(Query(text=bench.questions[0]))
        both, raw = [], []
        for question in bench.questions:
            query = Query(text=question, floor=False)
            both.append(_took(lambda q=query: brain.search(q)))  # type: ignore[misc]
            raw.append(
                _took(lambda q=question: (bench.words.search(q), raw_vectors.search(q)))  # type: ignore[misc]
            )
    yield bench.row("search, vectors", _middle(both), "tantivy and numpy", _middle(raw))


def _cold(bench: _Bench) -> SpeedRow:
    """CPU time of whole processes: a question from the shell."""
    project = Project.init(bench.folder / "project", "bench", actor=ACTOR.id)
    project.add("a", path="../a", outside=True, embedding=Embedding(provider="none"))
    asked = cold.search_command(project.root, "a", bench.questions[0])
    raw = cold.raw_search_command(bench.folder / "raw", bench.folder / "raw.db", bench.questions[0])
    repeat = min(bench.repeat, MOST_COLD)
    own, engines = cold.cpu_ms(asked, repeat), cold.cpu_ms(raw, repeat)
    return bench.row("cold search", _Took(own, own), "engines, CPU time", _Took(engines, engines))


def _adding(bench: _Bench) -> Iterator[SpeedRow]:
    taken, raw = [], []
    with bench.open() as brain:
        for place in range(bench.repeat):
            text = f"one more passage, the {place}th"
            block = block_of(text)
            taken.append(_took(lambda t=text, b=block: _one_more(bench, brain, t, b)))  # type: ignore[misc]
            pair = [(block.id, block.data)]
            raw.append(_took(lambda p=pair, t=text: _one_more_raw(bench, p, t)))  # type: ignore[misc]
    yield bench.row("add one passage", _middle(taken), "SQLite and tantivy", _middle(raw))


def _one_more(bench: _Bench, brain: Brain, text: str, block: Block) -> None:
    fill(brain, "more", {"more": text}, [block], bench.clock())
    brain.index()


def _one_more_raw(bench: _Bench, pair: Sequence[tuple[bytes, bytes]], text: str) -> None:
    bench.rows.add(pair)
    bench.words.add([text])


def _opening(bench: _Bench) -> SpeedRow:
    def opened() -> None:
        with bench.open() as brain, brain.store.view() as view:
            view.modules()

    return bench.row(
        "open", _median(opened, bench.repeat), "SQLite", _median(bench.rows.open_again, bench.repeat)
    )


def _reading(bench: _Bench) -> SpeedRow:
    ids = [block_of(text).id for text in list(bench.texts.values())[: bench.repeat]]
    with bench.open() as brain:
        taken = [_took(lambda i=i: brain.block(format_digest(i))) for i in ids]  # type: ignore[misc]
    raw = [_took(lambda i=i: bench.rows.one(i)) for i in ids]  # type: ignore[misc]
    return bench.row("block", _middle(taken), "SQLite, by id", _middle(raw))


def _asking(bench: _Bench) -> Iterator[SpeedRow]:
    shutil.copytree(bench.folder / "a", bench.folder / "b")
    with bench.open("a") as one, bench.open("b") as other:
        team = Compound([one, other])
        team.search(bench.questions[0])
        alone, raw, together, slowest = [], [], [], []
        for question in bench.questions:
            query = Query(text=question, floor=False)
            alone.append(_took(lambda q=query: one.search(q)))  # type: ignore[misc]
            raw.append(_took(lambda q=question: bench.words.search(q)))  # type: ignore[misc]
            slowest.append(max(alone[-1], _took(lambda q=query: other.search(q))))  # type: ignore[misc]
            together.append(_took(lambda q=query: team.search(q, fuse=False)))  # type: ignore[misc]
    yield bench.row("search", _middle(alone), "tantivy, 60 best", _middle(raw))
    yield bench.row(
        "compound of two", _middle(together), "its slowest member", _middle(slowest), by_cpu=False
    )


def _took(work: Callable[[], object]) -> _Took:
    started, used = time.perf_counter(), time.process_time()
    work()
    return _Took((time.perf_counter() - started) * 1e3, (time.process_time() - used) * 1e3)


def _middle(several: Sequence[_Took]) -> _Took:
    return _Took(
        statistics.median(each.ms for each in several), statistics.median(each.cpu for each in several)
    )


def _median(work: Callable[[], object], repeat: int) -> _Took:
    return _middle([_took(work) for _ in range(repeat)])


# --- generated text -----------------------------------------------------------------------------------------


def _word(place: int) -> str:
    """A pronounceable word for each number."""
    syllables = []
    while True:
        place, rest = divmod(place, 60)
        syllables.append("bdfgklmnprst"[rest % 12] + "aeiou"[rest // 12])
        if not place:
            return "".join(syllables) + "n"
        place -= 1


def _texts(size: int) -> dict[str, str]:
    """Passages whose words are as frequent as words are (Zipf), the same each time, no two equal."""
    rng = random.Random(SEED)
    words = [_word(place) for place in range(VOCABULARY)]
    weights = list(accumulate(1.0 / (place + 2.7) for place in range(VOCABULARY)))
    return {
        f"d{n}": f"{' '.join(rng.choices(words, cum_weights=weights, k=WORDS))} {_word(n + VOCABULARY)}"
        for n in range(size)
    }


def _questions(count: int) -> list[str]:
    """Three words of the middle of the vocabulary each."""
    rng = random.Random(SEED + 1)
    return [" ".join(_word(rng.randrange(30, 2000)) for _ in range(3)) for _ in range(count)]
