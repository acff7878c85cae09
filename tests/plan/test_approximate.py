"""A brain with a graph of neighbours: made where it pays, chosen by its recall, checked, repaired, and gone with what
is redacted."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from consilience.brain import Brain
from consilience.embed import EmbedderSpec
from consilience.index import checksums, coarse, hnsw, hnsw_build, vector_writer
from consilience.index.scan import Scan
from consilience.model import Query
from consilience.plan import answer, approximate, planner
from consilience.plan.cost import CostModel
from consilience.protocol import Actor, ActorKind
from consilience.retain.policy import Policy

pytest.importorskip("usearch")

ACTOR = Actor(id="ana@example.org", kind=ActorKind.HUMAN)
WORDS = [
    "pump",
    "filter",
    "sand",
    "well",
    "panel",
    "tower",
    "noon",
    "relay",
    "frame",
    "valve",
    "hose",
    "tank",
]
HASHED = EmbedderSpec(provider="hashed")
POLICY = Policy(canonical_drop=True, redact=True, canonical_redact=True)
QUESTION = Query(text="why does the pump leak sand", limit=8, floor=False)


def now() -> datetime.datetime:
    return datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (checksums, hnsw, hnsw_build, vector_writer):
        monkeypatch.setattr(module, "SUM_ROWS", 32, raising=False)
        monkeypatch.setattr(module, "SEGMENT", 64, raising=False)
    monkeypatch.setattr(planner, "SHIPPED", CostModel(vector_row=900.0))


@pytest.fixture
def brain(tmp_path: Path) -> Iterator[Brain]:
    rng = random.Random(7)
    paragraphs = [f"Note {i} says that the {' '.join(rng.choices(WORDS, k=9))}." for i in range(150)]
    (tmp_path / "notes.md").write_text("# Notes\n\n" + "\n\n".join(paragraphs) + "\n")
    with Brain.create(tmp_path / "brain", name="notes", embedder=HASHED, policy=POLICY) as made:
        made.ingest([tmp_path / "notes.md"], actor=ACTOR, clock=now, root=tmp_path)
        yield made


def graphs(brain: Brain) -> list[Path]:
    return sorted(p for p in brain.path.glob("derived/vectors/*/hnsw.*") if p.suffix != ".lock")


def test_indexing_makes_it_and_the_question_is_answered_by_it(brain: Brain) -> None:
    (document, graph) = sorted(graphs(brain), key=lambda p: p.suffix)
    assert graph.name == "hnsw.0.128.usearch" and document.name == hnsw.DOCUMENT
    with brain.reader() as reader:
        assert reader.vectors is not None and reader.vectors.hnsw is not None
        assert reader.vectors.hnsw.questions > 10
        _, chosen = answer.begin(reader, QUESTION)
        exact = next(p for p, _ in chosen.rejected if p.name == "lexical+vectors")
        assert [s.scan for s in chosen.plan.steps] == [Scan.EXACT, Scan.HNSW]
    told = brain.explain(QUESTION, analyze=True)
    assert told.plans[0].name == "lexical+hnsw vectors"
    assert "along a graph of neighbours, 1.000 of what an exact scan finds" in told.indices[1].detail
    found = brain.search(QUESTION)
    hnsw.read(document.parent)
    graph.unlink()
    missing = brain.search(QUESTION)
    assert [m.block_id for m in found.matches] == [m.block_id for m in missing.matches]
    assert exact.returns != chosen.plan.returns


def test_a_graph_that_cannot_be_used_is_said_and_repaired(brain: Brain) -> None:
    graph = next(p for p in graphs(brain) if p.suffix == ".usearch")
    data = bytearray(graph.read_bytes())
    data[700] ^= 1
    graph.write_bytes(data)
    with Brain.open(brain.path, name="notes", embedder=EmbedderSpec(provider="hashed")) as again:
        told = again.search(QUESTION)
        assert told.matches and any("its checksum does not hold" in w for w in told.warnings)
        report = again.verify()
        assert [(p.what, p.detail) for p in report.problems] == [("neighbours", "its checksum does not hold")]
        repaired = again.repair()
        assert "the graph of neighbours" in repaired.done and repaired.after.ok
        assert not again.search(QUESTION).warnings
    assert graph.exists() and graph.read_bytes() != bytes(data)


def test_a_redaction_leaves_nothing_of_it(brain: Brain) -> None:
    block = brain.search(QUESTION).matches[0].block_id
    brain.redact([block], reason="a name", actor=ACTOR, clock=now)
    assert [p.name for p in graphs(brain)] == [
        "hnsw.1.128.usearch",
        hnsw.DOCUMENT,
    ]  # of the rows that are left
    assert len([p for p in brain.path.rglob("*") if ".usearch" in p.name]) == 1
    assert block not in {m.block_id for m in brain.search(QUESTION).matches}


def test_without_the_library_other_plans_run_and_explain_says_so(
    brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = brain.search(QUESTION)
    monkeypatch.setattr(hnsw, "installed", lambda: False)
    assert [m.block_id for m in brain.search(QUESTION).matches] == [m.block_id for m in found.matches]
    told = brain.explain(QUESTION)
    assert told.plans[0].name == "lexical+vectors"
    assert "pip install 'consilience[ann]'" in told.indices[1].detail
    assert approximate.NO_LIBRARY in brain.index().notes


def test_it_is_not_used_at_an_older_snapshot_nor_with_stale_statistics(brain: Brain) -> None:
    with brain.reader() as reader:
        assert reader.statistics is not None
        old = msgspec.structs.replace(reader.statistics, blocks=40, modules=())
        import dataclasses

        _, chosen = answer.begin(dataclasses.replace(reader, statistics=old), QUESTION)
        assert chosen.plan.name == "lexical+vectors"


def test_few_vectors_have_none(brain: Brain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "SHIPPED", CostModel())
    for path in graphs(brain):
        path.unlink()
    brain.index()
    assert graphs(brain) == []


def test_codes_that_were_made_anew_are_measured_anew(
    brain: Brain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coarse, "BUILD_FROM", 150)
    more = "\n\n".join(f"Addition {i} says that the valve of the {WORDS[i % 12]} is open." for i in range(20))
    (tmp_path / "more.md").write_text(more)
    for _ in range(2):
        brain.ingest([tmp_path / "more.md"], actor=ACTOR, clock=now, root=tmp_path)
        (tmp_path / "more.md").write_text(f"{more}\n\nAnother valve is shut.\n")
        with brain.reader() as reader:
            assert reader.statistics is not None and reader.vectors is not None
            codes, known = reader.vectors.coarse, reader.statistics.two_stage
            assert codes is not None and known is not None and known.generation == codes.generation
            assert known.questions > 10 and known.recall_10 <= codes.recall_10
            assert codes.rows == coarse.coverage(reader.vectors.count)
