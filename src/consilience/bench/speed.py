"""Speed against the engines used raw, in one process, over brains of generated text of several sizes."""

from __future__ import annotations

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

from consilience.bench.brains import block_of, fill
from consilience.bench.raw import RawRows, RawWords
from consilience.brain import Brain
from consilience.compound import Compound
from consilience.embed import EmbedderSpec
from consilience.errors import UsageError
from consilience.model import Query, Value
from consilience.progress import NO_PROGRESS, Progress
from consilience.protocol import Block, format_digest

WORDS = 40
"""Words of a generated passage."""

VOCABULARY = 20_000
SEED = 7
MOST = 1_000_000


class SpeedRow(Value, frozen=True, kw_only=True):
    """One operation on a brain of `size` passages, beside the same work done with the engine alone: milliseconds,
    medians over the repetitions. `raw` says what the engine did."""

    what: str
    size: int
    ms: float
    raw: str
    raw_ms: float


class SpeedReport(Value, frozen=True, kw_only=True):
    """`data` of `bench speed`. `bytes` is what each size takes on disk, `text` how much text is in it."""

    sizes: tuple[int, ...]
    text: tuple[int, ...]
    bytes: tuple[int, ...]
    repeat: int
    rows: tuple[SpeedRow, ...]


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

    def open(self, name: str = "a") -> Brain:
        return Brain.open(self.folder / name, name=name, embedder=EmbedderSpec(provider="none"))

    def row(self, what: str, ms: float, raw: str, raw_ms: float) -> SpeedRow:
        return SpeedRow(what=what, size=self.size, ms=round(ms, 3), raw=raw, raw_ms=round(raw_ms, 3))


def speed(
    folder: Path,
    sizes: Sequence[int],
    *,
    clock: Callable[[], datetime],
    repeat: int = 7,
    progress: Progress = NO_PROGRESS,
) -> SpeedReport:
    """Make a brain of each size in `folder`, which has to be empty, and time it. Brains search by words alone.

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
        progress.start(f"{size:,} passages", 8, "operations")
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
    yield from _adding(bench)
    yield _opening(bench)
    yield _reading(bench)
    yield from _asking(bench)
    with bench.open() as brain:
        verified = _ms(brain.verify)
    yield bench.row("verify", verified, "hash every row", _ms(bench.rows.hash_all))


def _making(bench: _Bench) -> Iterator[SpeedRow]:
    blocks = [block_of(text) for text in dict.fromkeys(bench.texts.values())]
    path = bench.folder / "a"
    with Brain.create(path, name="a", embedder=EmbedderSpec(provider="none")) as brain:
        taken = _ms(lambda: fill(brain, "a", bench.texts, blocks, bench.clock()))
        pairs = [(block.id, block.data) for block in blocks]
        yield bench.row("commit all", taken, "SQLite, one commit", _ms(lambda: bench.rows.add(pairs)))
        taken = _ms(brain.index)
    yield bench.row("index all", taken, "tantivy", _ms(lambda: bench.words.add(bench.texts.values())))


def _adding(bench: _Bench) -> Iterator[SpeedRow]:
    taken, raw = [], []
    with bench.open() as brain:
        for place in range(bench.repeat):
            text = f"one more passage, the {place}th"
            block = block_of(text)
            taken.append(_ms(lambda t=text, b=block: _one_more(bench, brain, t, b)))  # type: ignore[misc]
            pair = [(block.id, block.data)]
            raw.append(_ms(lambda p=pair, t=text: _one_more_raw(bench, p, t)))  # type: ignore[misc]
    yield bench.row("add one passage", statistics.median(taken), "SQLite and tantivy", statistics.median(raw))


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
        taken = [_ms(lambda i=i: brain.block(format_digest(i))) for i in ids]  # type: ignore[misc]
    raw = [_ms(lambda i=i: bench.rows.one(i)) for i in ids]  # type: ignore[misc]
    return bench.row("block", statistics.median(taken), "SQLite, by id", statistics.median(raw))


def _asking(bench: _Bench) -> Iterator[SpeedRow]:
    shutil.copytree(bench.folder / "a", bench.folder / "b")
    with bench.open("a") as one, bench.open("b") as other:
        team = Compound([one, other])
        team.search(bench.questions[0])
        alone, raw, together, slowest = [], [], [], []
        for question in bench.questions:
            query = Query(text=question, floor=False)
            alone.append(_ms(lambda q=query: one.search(q)))  # type: ignore[misc]
            raw.append(_ms(lambda q=question: bench.words.search(q)))  # type: ignore[misc]
            slowest.append(max(alone[-1], _ms(lambda q=query: other.search(q))))  # type: ignore[misc]
            together.append(_ms(lambda q=query: team.search(q, fuse=False)))  # type: ignore[misc]
    yield bench.row("search", statistics.median(alone), "tantivy, 60 best", statistics.median(raw))
    yield bench.row(
        "compound of two", statistics.median(together), "its slowest member", statistics.median(slowest)
    )


def _ms(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1e3


def _median(work: Callable[[], object], repeat: int) -> float:
    return statistics.median(_ms(work) for _ in range(repeat))


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
