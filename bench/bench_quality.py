"""Retrieval quality on BEIR folders: one brain each, one big brain, and the compound, grouped by what failed.

    python bench/bench_quality.py --work DIR FOLDER...            one brain per folder
    python bench/bench_quality.py --work DIR --compound FOLDER    a folder of BEIR folders as one project

A BEIR folder holds corpus.jsonl, queries.jsonl and qrels/test.tsv. Brains are kept in --work and reused. Prints
nDCG@10, recall@10, the share of off-topic brains that answer and of own brains that are silent.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from consilience.brain import Brain
from consilience.compound import Compound
from consilience.embed import EmbedderSpec
from consilience.model import Query
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

ACTOR = Actor(id="bench@example.org", kind=ActorKind.PIPELINE)


@dataclass(frozen=True, slots=True)
class Collection:
    name: str
    documents: dict[str, str]
    questions: dict[str, str]
    relevant: dict[str, dict[str, int]]


def load(folder: Path) -> Collection:
    documents = {}
    for line in (folder / "corpus.jsonl").read_text().splitlines():
        row = json.loads(line)
        documents[row["_id"]] = "\n".join(t for t in (row.get("title") or "", row["text"]) if t).strip()
    rows = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    relevant: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels" / "test.tsv").read_text().splitlines():
        question, *_, document, grade = line.split("\t")
        if grade.strip().lstrip("-").isdigit():
            relevant[question][document] = int(grade)
    return Collection(folder.name, documents, {r["_id"]: r["text"] for r in rows}, relevant)


def brain_of(work: Path, name: str, documents: dict[str, str], spec: EmbedderSpec) -> Brain:
    """A brain of one semantic block a document, made once and reused."""
    path = work / name
    if not (path / "brain.db").exists():
        brain = Brain.create(path, name=name, embedder=spec, cache_dir=work / "cache")
        now = datetime.datetime.now(datetime.UTC)
        with brain.store.write(ACTOR, now) as writer:
            ref = writer.put_content(json.dumps(documents).encode(), "application/json")
            canonical = build(Canonical(blob=ref.blob, media_type=ref.media_type, size=ref.size))
            writer.add(canonical)
            source = Registration(block=format_digest(canonical.id), actor=ACTOR, at=writer.at, origin=name)
            writer.add(record_block(source))
            producer = Producer(kind=ProducerKind.PIPELINE, id="bench/beir")
            for text in dict.fromkeys(t for t in documents.values() if t):
                block = build(
                    Semantic(kind=Kind.FACT, label=text[:80].split("\n")[0] or text[:80], statement=text)
                )
                writer.add(block)
                writer.add(
                    derivation_block(
                        block=block.id,
                        derived_from=[canonical.id],
                        producer=producer,
                        actor=ACTOR,
                        at=writer.at,
                        locator=None,
                    )
                )
    else:
        brain = Brain.open(path, name=name, embedder=spec, cache_dir=work / "cache")
    brain.index()
    return brain


def ndcg(ranking: Sequence[str], relevant: dict[str, int], k: int = 10) -> float:
    gained = sum(relevant.get(d, 0) / math.log2(i + 2) for i, d in enumerate(ranking[:k]))
    best = sum(g / math.log2(i + 2) for i, g in enumerate(sorted(relevant.values(), reverse=True)[:k]))
    return gained / best if best else 0.0


def recall(ranking: Sequence[str], relevant: dict[str, int], k: int = 10) -> float:
    wanted = {d for d, g in relevant.items() if g > 0}
    return len(wanted & set(ranking[:k])) / len(wanted) if wanted else 0.0


def evaluate(
    questions: dict[str, str], relevant: dict[str, dict[str, int]], ask: Callable[[str], list[str]]
) -> tuple[float, float, float]:
    """Mean nDCG@10, recall@10 and milliseconds a question."""
    gains, recalls = [], []
    started = time.perf_counter()
    judged = [q for q in questions if any(g > 0 for g in relevant.get(q, {}).values())]
    for question in judged:
        ranking = ask(questions[question])
        gains.append(ndcg(ranking, relevant[question]))
        recalls.append(recall(ranking, relevant[question]))
    elapsed = (time.perf_counter() - started) / max(1, len(judged))
    return math.fsum(gains) / len(gains), math.fsum(recalls) / len(recalls), elapsed * 1e3


def by_text(collections: Sequence[Collection]) -> dict[str, list[str]]:
    ids: dict[str, list[str]] = defaultdict(list)
    for collection in collections:
        for document, text in collection.documents.items():
            ids[text].append(document)
    return ids


def ranking_of(matches: Sequence[object], ids: dict[str, list[str]]) -> list[str]:
    return [d for m in matches for d in ids.get(m.text, ())]  # type: ignore[attr-defined]


def single(work: Path, folder: Path, spec: EmbedderSpec) -> None:
    collection = load(folder)
    brain = brain_of(work, folder.name, collection.documents, spec)
    ids = by_text([collection])
    for floor in (False, True):

        def ask(text: str, floor: bool = floor) -> list[str]:
            return ranking_of(brain.search(Query(text=text, limit=20, floor=floor)).matches, ids)

        gain, found, ms = evaluate(collection.questions, collection.relevant, ask)
        label = "with floor" if floor else "no floor"
        print(
            f"{folder.name:<16} {label:<12} nDCG@10 {gain:.4f}  recall@10 {found:.4f}  {ms:6.1f} ms a question"
        )


def compound(work: Path, folder: Path, spec: EmbedderSpec) -> None:
    collections = [load(f) for f in sorted(folder.iterdir()) if (f / "corpus.jsonl").exists()]
    brains = [brain_of(work, c.name, c.documents, spec) for c in collections]
    everything = {d: t for c in collections for d, t in c.documents.items()}
    big = brain_of(work, folder.name + "-all", everything, spec)
    ids = by_text(collections)
    questions = {q: t for c in collections for q, t in c.questions.items()}
    relevant = {q: r for c in collections for q, r in c.relevant.items()}
    team = Compound(brains)

    def report(label: str, ask: Callable[[str], list[str]]) -> float:
        gain, found, ms = evaluate(questions, relevant, ask)
        print(f"{label:<34} nDCG@10 {gain:.4f}  recall@10 {found:.4f}  {ms:6.1f} ms a question")
        return gain

    base = report(
        "one big brain", lambda t: ranking_of(big.search(Query(text=t, limit=20, floor=False)).matches, ids)
    )
    fused = report(
        "compound, fused", lambda t: ranking_of(team.search(Query(text=t, limit=20), fuse=True).matches, ids)
    )
    plain = report(
        "compound, fused, no floor",
        lambda t: ranking_of(team.search(Query(text=t, limit=20, floor=False), fuse=True).matches, ids),
    )
    print(f"fused over one big brain: {fused / base:.3f} (without floor {plain / base:.3f})")
    silent = off = own_total = off_total = 0
    for collection in collections:
        for question, text in collection.questions.items():
            if not relevant.get(question):
                continue
            for other, brain in zip(collections, brains, strict=True):
                answered = bool(brain.search(Query(text=text, limit=1)).matches)
                if other is collection:
                    own_total, silent = own_total + 1, silent + (not answered)
                else:
                    off_total, off = off_total + 1, off + answered
    print(f"own brain silent {silent / own_total:.3f}, off-topic brains that answer {off / off_total:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--work", type=Path, required=True, help="where brains are kept")
    parser.add_argument("--compound", action="store_true", help="each folder is a folder of BEIR folders")
    parser.add_argument("--provider", default="e5-small")
    args = parser.parse_args()
    spec = EmbedderSpec(provider=args.provider)
    for folder in args.folders:
        (compound if args.compound else single)(args.work, folder, spec)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
