"""The indices alone: build rate, search against the raw engine, opening, size; and BM25 on BEIR folders.

    python bench/bench_index.py speed [--rows 1000 10000 100000] [--text FOLDER] [--dims 384]
    python bench/bench_index.py quality [--language en] FOLDER...

`speed` indexes the paragraphs of the text files in FOLDER, or made-up text with a natural distribution of words.
`quality` compares nDCG@10 with a plain BM25 (k1 1.2, b 0.75, the same stemmer, the engine's own stop words); the
language of a document is the part of its id before `-` where that is one, else --language. The machine is shared:
read ratios rather than times.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import statistics
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import tantivy

from consilience.index.analysis import STEMMERS
from consilience.index.bm25 import K1, B, idf
from consilience.index.facets import FacetIndex
from consilience.index.lexical import LexicalIndex
from consilience.index.scan import Scan
from consilience.index.vectors import VectorIndex, text_hash
from consilience.model import Entry, Filters
from consilience.protocol import MemoryType

SMALL = 10


def median_ms(work: Callable[[], object], repeat: int = 15) -> float:
    times = []
    for _ in range(repeat):
        started = time.perf_counter()
        work()
        times.append((time.perf_counter() - started) * 1e3)
    return statistics.median(times)


def size_of(folder: Path) -> tuple[int, int]:
    """(bytes, files) under a folder."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in files), len(files)


def line(what: str, value: str, note: str = "") -> None:
    print(f"  {what:<52} {value:>16}   {note}", flush=True)


# --- text -------------------------------------------------------------------------------------------------------


def made_up(seed: int = 0) -> Iterator[str]:
    """Paragraphs of 20 to 90 words whose frequencies fall as 1/rank (Zipf), from a vocabulary of 50,000."""
    rng = random.Random(seed)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 10))) for _ in range(50_000)]
    weights = np.cumsum([1 / (rank + 10) for rank in range(1, len(words) + 1)]).tolist()
    while True:
        yield " ".join(rng.choices(words, cum_weights=weights, k=rng.randint(20, 90)))


def paragraphs(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".md", ".rst", ".txt"):
            text = path.read_text(encoding="utf-8", errors="replace")
            yield from (part.strip() for part in re.split(r"\n\s*\n", text) if part.strip())


def entries_of(texts: Sequence[str], first: int = 1) -> list[Entry]:
    return [
        Entry(
            n=n,
            module=MemoryType.SEMANTIC,
            text=text,
            context=" ".join(text.split()[:4]),
            language="en",
            kind="fact",
            subject=f"subject {n % 1000}",
            origins=(f"folder{n % 7}/file{n % 900}.md",),
            date=f"20{n % 25:02}-0{n % 9 + 1}-01",
        )
        for n, text in enumerate(texts, first)
    ]


# --- speed ------------------------------------------------------------------------------------------------------


def lexical(folder: Path, texts: Sequence[str], entries: Sequence[Entry]) -> None:
    rows, chars = len(entries), sum(map(len, texts))
    started = time.perf_counter()
    with LexicalIndex.open_for_write(folder) as writer:
        writer.add(entries)
        writer.commit(entries[-1].n)
    seconds = time.perf_counter() - started
    size, files = size_of(folder)
    line("lexical: build", f"{seconds / rows * 1e6:.0f} us/row")
    line("lexical: size", f"{size / rows:.0f} B/row", f"{size / chars:.2f}x the text, {files} files")
    line("lexical: open", f"{median_ms(lambda: LexicalIndex.open(folder)):.2f} ms")
    index = LexicalIndex.open(folder)
    assert index is not None
    line("lexical: refresh, nothing new", f"{median_ms(index.refresh):.3f} ms")
    rng = random.Random(1)
    questions = [" ".join(rng.choice(texts).split()[:6]) for _ in range(15)]
    ours = statistics.mean(median_ms(lambda q=q: index.search(index.analyze(q), 100)) for q in questions)
    raw = statistics.mean(median_ms(raw_search(folder, index, q)) for q in questions)
    line(
        "lexical: analyse and search, k 100",
        f"{ours:.2f} ms",
        f"{ours / raw:.1f}x the raw engine's {raw:.2f} ms",
    )
    scorer = index.scorer(index.analyze(questions[-1]))
    some = texts[:200]
    line(
        "lexical: scan",
        f"{median_ms(lambda: [scorer.score(t) for t in some], 3) / len(some) * 1e3:.0f} us/row",
    )
    times = []
    for step in range(10):
        more = entries_of(texts[:SMALL], entries[-1].n + 1 + step * SMALL)
        started = time.perf_counter()
        with LexicalIndex.open_for_write(folder) as writer:
            writer.add(more)
            writer.commit(more[-1].n)
        times.append((time.perf_counter() - started) * 1e3)
    line(f"lexical: commit of {SMALL}", f"{statistics.median(times):.0f} ms", f"at most {max(times):.0f} ms")


def raw_search(folder: Path, index: LexicalIndex, question: str) -> Callable[[], object]:
    """The same terms in one flat boolean query of the engine, with the ordinals of its hits."""
    engine = tantivy.Index.open(str(folder / "engine"))
    searcher, schema = engine.searcher(), engine.schema
    terms = [(field, term) for field, term, _ in index.analyze(question).clauses()]

    def search() -> object:
        parts = [
            (tantivy.Occur.Should, tantivy.Query.term_query(schema, field, term, "freq"))
            for field, term in terms
        ]
        hits = searcher.search(tantivy.Query.boolean_query(parts), 100, count=False).hits
        return searcher.fast_field_values("n", [address for _, address in hits])

    return search


def vectors(folder: Path, rows: int, dims: int) -> None:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(200, dims))

    def batch(count: int) -> np.ndarray:
        crowd = 2.5 + centres[rng.integers(0, len(centres), count)] + rng.normal(size=(count, dims))
        return (crowd / np.linalg.norm(crowd, axis=1, keepdims=True)).astype(np.float32)

    data = [batch(min(10_000, rows - start)) for start in range(0, rows, 10_000)]
    hashes = [text_hash(str(n)) for n in range(rows)]
    started = time.perf_counter()
    with VectorIndex.open_for_write(folder, "bench", dims) as writer:
        for number, part in enumerate(data):
            first = number * 10_000
            writer.append(range(first + 1, first + len(part) + 1), hashes[first : first + len(part)], part)
        writer.commit(rows)
    line("vectors: append and commit", f"{(time.perf_counter() - started) / rows * 1e6:.0f} us/row")
    line("vectors: size", f"{size_of(folder)[0] / rows:.0f} B/row", f"{size_of(folder)[1]} files")
    line("vectors: open", f"{median_ms(lambda: VectorIndex.open(folder, 'bench')):.2f} ms")
    index = VectorIndex.open(folder, "bench")
    assert index is not None
    q = batch(1)[0]
    codes = np.concatenate([np.rint(part * 127 / np.abs(part).max()).astype(np.int8) for part in data])
    raw = median_ms(
        lambda: [np.vecdot(codes[i : i + 512].astype(np.float32), q) for i in range(0, rows, 512)]
    )
    exact = median_ms(lambda: index.search(q, 100))
    line("vectors: exact, k 100", f"{exact:.2f} ms", f"{exact / raw:.2f}x bare conversion and product")
    some = list(range(1, rows, 50))
    line(
        "vectors: exact, one row in fifty", f"{median_ms(lambda: index.search(q, 100, eligible=some)):.2f} ms"
    )
    if index.coarse is not None:
        two = median_ms(lambda: index.search(q, 100, scan=Scan.TWO_STAGE))
        held = index.coarse
        note = f"recall@10 {held.recall_10:.3f}, @100 {held.recall_100:.3f}, on made-up vectors"
        line("vectors: two stages, k 100", f"{two:.2f} ms", note)


def facets(path: Path, entries: Sequence[Entry]) -> None:
    started = time.perf_counter()
    with FacetIndex.open_for_write(path) as writer:
        writer.add(entries)
        writer.commit(entries[-1].n)
    line("facets: build", f"{(time.perf_counter() - started) / len(entries) * 1e6:.0f} us/row")
    line("facets: size", f"{path.stat().st_size / len(entries):.0f} B/row")
    line("facets: open", f"{median_ms(lambda: FacetIndex.open(path)):.2f} ms")
    index = FacetIndex.open(path)
    assert index is not None
    for name, filters in (
        ("a source folder", Filters(sources=("folder3",))),
        ("a year", Filters(since="2012", until="2012")),
        ("a subject", Filters(subjects=("Subject 7",))),
    ):
        count = len(index.eligible(filters) or ())
        line(
            f"facets: eligible, {name}",
            f"{median_ms(lambda f=filters: index.eligible(f)):.2f} ms",
            f"{count} rows",
        )
        line(f"facets: estimate, {name}", f"{median_ms(lambda f=filters: index.estimate(f)):.2f} ms")


def speed(sizes: Sequence[int], text: Path | None, dims: int) -> None:
    source = paragraphs(text) if text is not None else made_up()
    texts = list(islice(source, max(sizes)))
    for rows in sorted(min(size, len(texts)) for size in sizes):
        print(f"{rows:,} rows")
        with tempfile.TemporaryDirectory() as place:
            entries = entries_of(texts[:rows])
            lexical(Path(place) / "lexical", texts[:rows], entries)
            facets(Path(place) / "facets.db", entries)
            vectors(Path(place) / "vectors", rows, dims)


# --- quality ----------------------------------------------------------------------------------------------------


def ndcg(ranking: Sequence[str], relevant: dict[str, int], k: int = 10) -> float:
    gains = sum((2 ** relevant.get(x, 0) - 1) / math.log2(i + 2) for i, x in enumerate(ranking[:k]))
    best = sorted(relevant.values(), reverse=True)[:k]
    return gains / sum((2**g - 1) / math.log2(i + 2) for i, g in enumerate(best))


def plain_bm25(documents: dict[str, str], questions: dict[str, str], language: str) -> dict[str, list[str]]:
    """The reference: one field, the engine's tokeniser, stop words and stemmer; ties by position."""
    name = STEMMERS[language]
    steps = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase())
    steps = steps.filter(tantivy.Filter.stopword(name)).filter(tantivy.Filter.stemmer(name))
    analysis = steps.build()
    terms = [analysis.analyze(text) for text in documents.values()]
    average = sum(map(len, terms)) / len(terms)
    frequency = Counter(term for each in terms for term in set(each))
    postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for row, each in enumerate(terms):
        norm = K1 * (1 - B + B * len(each) / average)
        for term, count in Counter(each).items():
            weight = idf(len(terms), frequency[term]) * (K1 + 1)
            postings[term].append((row, weight * count / (count + norm)))
    ids = list(documents)
    rankings = {}
    for qid, question in questions.items():
        scores: dict[int, float] = defaultdict(float)
        for term in set(analysis.analyze(question)):
            for row, weight in postings.get(term, ()):
                scores[row] += weight
        rankings[qid] = [ids[row] for row in sorted(scores, key=lambda r: (-scores[r], r))[:10]]
    return rankings


def quality(folder: Path, language: str) -> None:
    documents, questions, relevant = {}, {}, defaultdict(dict)
    for row in map(json.loads, (folder / "corpus.jsonl").read_text().splitlines()):
        documents[row["_id"]] = (row.get("title") or "", row["text"])
    for row in map(json.loads, (folder / "queries.jsonl").read_text().splitlines()):
        questions[row["_id"]] = row["text"]
    for row in (folder / "qrels" / "test.tsv").read_text().splitlines()[1:]:
        qid, document, grade = row.split("\t")
        if int(grade) > 0:
            relevant[qid][document] = int(grade)
    ids = list(documents)
    with tempfile.TemporaryDirectory() as place:
        with LexicalIndex.open_for_write(Path(place)) as writer:
            for n, (name, (title, text)) in enumerate(documents.items(), 1):
                prefix = name.split("-")[0]
                code = prefix if prefix in STEMMERS else language
                entry = Entry(n=n, module=MemoryType.SEMANTIC, text=text, context=title, language=code)
                writer.add([entry])
            writer.commit(len(ids))
        index = LexicalIndex.open(Path(place))
        assert index is not None
        ours = {
            qid: [ids[h.n - 1] for h in index.search(index.analyze(questions[qid]).relaxed(), 10).hits]
            for qid in relevant
        }
    plain = plain_bm25({i: " ".join(t) for i, t in documents.items()}, questions, language)
    means = [statistics.mean(ndcg(r[q], relevant[q]) for q in relevant) for r in (ours, plain)]
    print(f"{folder.name:<16} nDCG@10 {means[0]:.4f}   plain BM25 {means[1]:.4f}   {len(relevant)} questions")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = parser.add_subparsers(dest="part", required=True)
    fast = parts.add_parser("speed")
    fast.add_argument("--rows", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    fast.add_argument("--text", type=Path)
    fast.add_argument("--dims", type=int, default=384)
    good = parts.add_parser("quality")
    good.add_argument("--language", default="en", choices=sorted(STEMMERS))
    good.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    asked = parser.parse_args()
    if asked.part == "speed":
        speed(asked.rows, asked.text, asked.dims)
    else:
        for folder in asked.folders:
            quality(folder, asked.language)


if __name__ == "__main__":
    main()
