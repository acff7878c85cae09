"""SQL over three brains: making tables, after a commit, warm and cold queries against the engine alone, about().

    python bench/bench_sql.py --rows 100000

Ratios count, not times: each is of two things measured in turn in this run.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from consilience.brain import Brain
from consilience.compound import Compound
from consilience.embed import EmbedderSpec
from consilience.protocol import (
    Actor,
    ActorKind,
    Canonical,
    Kind,
    Producer,
    ProducerKind,
    Registration,
    Semantic,
    build,
    derivation_block,
    format_digest,
    record_block,
)

ACTOR = Actor(id="bench@example.org", kind=ActorKind.HUMAN)
MAKER = Producer(kind=ProducerKind.PIPELINE, id="bench", version="1")
NOW = dt.datetime(2026, 3, 1, 12, 0, 0, tzinfo=dt.UTC)
AT = "2026-03-01T12:00:00Z"
KINDS = tuple(Kind)[:5]
WORDS = ["the", "order", "of", "a", "tide", "table", "is", "kept", "by", "whoever", "reads", "it", "aloud"]


def fill(brain: Brain, rows: int, seed: int) -> None:
    """A file for every 200 passages, a derivation for each."""
    with brain.store.write(ACTOR, NOW) as writer:
        for first in range(0, rows, 200):
            ref = writer.put_content(f"file {seed} {first}".encode(), "text/markdown")
            file = build(Canonical(blob=ref.blob, media_type=ref.media_type, size=ref.size))
            record = Registration(
                block=format_digest(file.id), actor=ACTOR, at=AT, origin=f"files/{seed}-{first}.md"
            )
            blocks = [passage(seed, i) for i in range(first, min(rows, first + 200))]
            records = [
                derivation_block(
                    b.id, [file.id], MAKER, ACTOR, AT, f"L{i + 1} # File {first} > Part {i // 20}"
                )
                for i, b in enumerate(blocks)
            ]
            writer.add_many([file, record_block(record), *blocks, *records])


def passage(seed: int, i: int):  # type: ignore[no-untyped-def]
    at = (i * 7 + seed) % len(WORDS)
    text = f"Passage {i} of {seed}: " + " ".join((WORDS[at:] + WORDS * 2)[:22])
    return build(Semantic(kind=KINDS[i % 5], label=text[:60], statement=text, subject=f"subject {i % 50}"))


def best(work: Callable[[], object], times: int = 7) -> float:
    """The least of several times, in milliseconds."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        taken.append((time.perf_counter() - started) * 1e3)
    return min(taken)


def engine_alone(brains: list[Brain], query: str) -> Callable[[], object]:
    """The same files, attached to a plain database, and the same question about them."""
    import duckdb

    plain = duckdb.connect(":memory:", config={"threads": "2"})
    parts = []
    for number, brain in enumerate(brains):
        (base,) = (brain.path / "derived" / "tables").glob("semantic.*.base.duckdb")
        plain.execute(f"ATTACH '{base}' AS f{number} (READ_ONLY)")
        parts.append(f"SELECT '{brain.name}' AS brain, * FROM f{number}.rows")
    plain.execute(f"CREATE VIEW semantic AS {' UNION ALL '.join(parts)}")
    return lambda: plain.execute(query).fetchall()


def warm(brains: list[Brain], query: str) -> None:
    """The query inside of the sealed database, and the whole call without and with the guard, against the engine
    alone."""
    from contextlib import ExitStack

    from consilience.sql import engine
    from consilience.sql.relations import Members

    compound = Compound(brains)
    compound.sql(query)
    raw = engine_alone(brains, query)
    members = Members(names=compound.names, compound=True)
    sources = [brain.tables for brain in brains]
    with ExitStack() as stack:
        opened = stack.enter_context(engine._opened(sources, members, engine.Asked(text=query)))
        sql, _ = opened.prepare()
        inside = lambda: opened._sealed.run(sql, 1001)  # noqa: E731
        connection = opened._sealed.connection
        guarding = lambda: guarded_sql(connection, query, members)  # noqa: E731
        figures = [
            (best(raw), best(inside), best(guarding), best(lambda: compound.sql(query), 15)) for _ in range(5)
        ]
    alone, sealed, guard, whole = (statistics.median(column) for column in zip(*figures, strict=True))
    print(f"  {query}")
    print(
        f"    engine alone {alone:.2f} ms; sealed {sealed:.2f} ms ({sealed / alone:.2f}x); guard {guard:.1f} ms;"
        f" whole call {whole:.1f} ms, without the guard {whole - guard:.1f} ms ({(whole - guard) / alone:.2f}x)"
    )


def guarded_sql(connection, query, members):  # type: ignore[no-untyped-def]
    """What the guard does of a query: parse it, walk and rewrite the tree, print it, parse and walk it once more."""
    from consilience.sql.guard import checked, guard
    from consilience.sql.order import limit_rows, order_totally

    statement = guard(connection, query, members).statement
    order_totally(statement)
    limit_rows(statement, 1001)
    return checked(connection, statement)


COLD_RAW = """
import sys, time; t = time.perf_counter()
import duckdb
c = duckdb.connect(':memory:')
for i, f in enumerate(sys.argv[1:]): c.execute(f"ATTACH '{f}' AS f{i} (READ_ONLY)")
c.execute(' UNION ALL '.join(f'SELECT count(*) FROM f{i}.rows' for i in range(len(sys.argv) - 1))).fetchall()
print(time.perf_counter() - t)
"""
COLD = """
import sys, time; t = time.perf_counter()
from pathlib import Path
from consilience.brain import Brain
from consilience.compound import Compound
from consilience.embed import EmbedderSpec
none = EmbedderSpec(provider='none')
compound = Compound([Brain.open(Path(p), name=Path(p).name, embedder=none) for p in sys.argv[1:]])
compound.sql('SELECT brain, count(*) FROM semantic GROUP BY 1')
print(time.perf_counter() - t)
"""


def cold(brains: list[Brain]) -> None:
    files = [str(next((b.path / "derived" / "tables").glob("semantic.*.base.duckdb"))) for b in brains]
    figures = []
    compiled = {"PYTHONPYCACHEPREFIX": str(brains[0].path.parent / "compiled")}
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | compiled
    for _ in range(8):
        pair = []
        for script, args in ((COLD_RAW, files), (COLD, [str(b.path) for b in brains])):
            done = subprocess.run(
                [sys.executable, "-c", script, *args],
                capture_output=True,
                text=True,
                check=True,
                env=environment,
            )
            pair.append(float(done.stdout) * 1e3)
        figures.append(pair)
    raw, ours = (min(column) for column in zip(*figures, strict=True))
    print(f"cold: import duckdb, attach, count {raw:.0f} ms; the compound {ours:.0f} ms ({ours / raw:.2f}x)")


def about(brains: list[Brain]) -> None:
    import numpy as np

    query = "SELECT count(*) FROM semantic WHERE about(id, 'tide table', 0.2)"
    compound = Compound(brains)
    compound.sql(query)
    products = []
    for brain in brains:
        with brain.reader() as reader:
            assert reader.vectors is not None and reader.embedder is not None
            vector = reader.embedder().embed(["tide table"], role="query")[0]
            products.append((reader.vectors, np.asarray(vector)))
    product = best(lambda: [vectors.scan(vector) for vectors, vector in products], 5)
    plain = best(lambda: compound.sql("SELECT count(*) FROM semantic WHERE kind = 'fact'"), 5)
    whole = best(lambda: compound.sql(query), 5)
    rows = sum(vectors.count for vectors, _ in products)
    print(f"about over {rows:,} rows: product {product:.0f} ms; whole call {whole:.0f} ms ({whole / product:.2f}x);"
          f" beyond a plain query {whole - plain:.0f} ms ({(whole - plain) / product:.2f}x)")  # fmt: skip


def many(folder: Path) -> None:
    brains = []
    for number in range(50):
        brain = Brain.create(
            folder / f"small{number}", name=f"small{number}", embedder=EmbedderSpec(provider="none")
        )
        fill(brain, 100, 1000 + number)
        brains.append(brain)
    compound = Compound(brains)
    query = "SELECT count(DISTINCT brain), count(*) FROM semantic"
    started = time.perf_counter()
    compound.sql(query)
    first = time.perf_counter() - started
    print(
        f"50 brains of 100 rows: first {first * 1e3:.0f} ms, then {best(lambda: compound.sql(query), 3):.0f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--no-vectors", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spec = EmbedderSpec(provider="none" if options.no_vectors else "hashed")
        brains = []
        for number in range(3):
            brain = Brain.create(folder / f"b{number}", name=f"b{number}", embedder=spec)
            fill(brain, options.rows, number)
            if not options.no_vectors:
                brain.index()
            brains.append(brain)
        query = "SELECT count(*) FROM semantic"
        makes, others = [], []
        for brain in brains:
            started = time.perf_counter()
            brain.sql(query)
            makes.append((time.perf_counter() - started) * 1e3)
        warm(brains, "SELECT count(*) FROM semantic")
        warm(brains, "SELECT brain, kind, count(*) FROM semantic GROUP BY ALL")
        warm(brains, "SELECT subject, count(*) FROM semantic WHERE kind = 'fact' GROUP BY ALL")
        cold(brains)
        if not options.no_vectors:
            about(brains)
        for number, brain in enumerate(brains):
            with brain.store.write(ACTOR, NOW) as writer:
                writer.add_many(passage(100 + number, i) for i in range(10))
            started = time.perf_counter()
            brain.sql(query)
            others.append((time.perf_counter() - started) * 1e3)
        again = best(lambda: brains[0].sql(query))
        first, after = statistics.median(makes), statistics.median(others)
        print(f"first query {first:.0f} ms, after ten more blocks {after:.0f} ms, then {again:.0f} ms")
        many(folder)


if __name__ == "__main__":
    main()
