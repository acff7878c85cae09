"""Scores and coverage worked out in Python beside those of the engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from lexical_brains import ask, entry, random_entries, write

from consilience.index.bm25 import MemoryIndex, idf, stored_length
from consilience.index.lexical import LexicalIndex
from consilience.model import Entry
from consilience.protocol import MemoryType


@pytest.mark.parametrize("length", [0, 1, 40, 41, 42, 55, 56, 57, 100, 1023, 1024, 5000])
def test_stored_length_is_the_largest_representable_one(length: int) -> None:
    assert stored_length(length) <= length
    assert stored_length(length) >= length * 0.88


@pytest.mark.parametrize(
    "question", ["wing flow", "shock shocks unknownword", "heat", 'cone "wing flow"', "mach jet " * 5]
)
def test_scan_scores_equal_the_engine_s(tmp_path: Path, question: str) -> None:
    entries = random_entries(300, 3)
    index = write(tmp_path, entries, batch=70)
    query = index.analyze(question).relaxed()
    scorer = index.scorer(query)
    by_index = {hit.n: hit.score for hit in index.search(query, 10**4).hits}
    by_scan = {e.n: s for e in entries if (s := scorer.score(e.text, e.context, e.language)) > 0}
    assert by_scan.keys() == by_index.keys()
    for n, score in by_scan.items():
        assert score == pytest.approx(by_index[n], rel=1e-3)


def test_a_brain_without_an_index_answers_as_one_with(tmp_path: Path) -> None:
    entries = random_entries(150, 5)
    index, memory = write(tmp_path, entries), MemoryIndex(entries)
    for question in ("wing flow", "theory of shocks", 'nozzle "jet cone"'):
        kept, scanned = ask(index, question, 20), ask(memory, question, 20)
        assert kept.exhausted == scanned.exhausted
        for one, other in zip(kept.hits, scanned.hits, strict=True):
            assert one.score == pytest.approx(other.score, rel=1e-3)
    assert ask(memory, "wing", 5, eligible=[3, 4], modules=[MemoryType.SEMANTIC]).hits == (
        ask(index, "wing", 5, eligible=[3, 4], modules=[MemoryType.SEMANTIC]).hits
    )


def test_coverage_weighs_words_by_rarity(tmp_path: Path) -> None:
    index = write(tmp_path, [*(entry(n, "wing flow") for n in range(1, 50)), entry(50, "nozzle")])
    scorer = index.scorer(index.analyze("the wings of a nozzle"))
    rare, common = idf(50, 1), idf(50, 49)
    assert scorer.coverage("nozzles") == pytest.approx(rare / (rare + common), abs=1e-6)
    assert scorer.coverage("a wing") == pytest.approx(common / (rare + common), abs=1e-6)
    assert scorer.coverage("nozzle of a wing") == 1.0
    assert scorer.coverage("else", "Wing > Nozzle") == 1.0
    assert scorer.coverage("else") == 0.0


def test_a_word_that_nothing_has_lowers_coverage_most(tmp_path: Path) -> None:
    index = write(tmp_path, [entry(n, "wing flow") for n in range(1, 50)])
    scorer = index.scorer(index.analyze("wing zeppelin"))
    assert scorer.coverage("wing") < 0.05
    assert index.scorer(index.analyze("?")).coverage("wing") == 0.0


def test_coverage_by_the_engine_is_coverage_by_reading(tmp_path: Path) -> None:
    entries = [
        Entry(
            n=1, module=MemoryType.SEMANTIC, text="Pumps lose pressure when a filter clogs.", language="en"
        ),
        Entry(
            n=2,
            module=MemoryType.SEMANTIC,
            text="The filter_size is 4 mm.",
            context="Pumps > Filters",
            language="en",
        ),
        Entry(n=3, module=MemoryType.SEMANTIC, text="Las bombas pierden presión.", language="es"),
        Entry(n=4, module=MemoryType.SEMANTIC, text="Nothing of the kind.", language="en"),
        Entry(n=5, module=MemoryType.SEMANTIC, text="压力 下降 了", language="zh"),
    ]
    with LexicalIndex.open_for_write(tmp_path / "lexical") as writer:
        writer.add(entries)
        writer.commit(5)
    index = LexicalIndex.open(tmp_path / "lexical")
    assert index is not None
    for text in (
        "why do pumps lose pressure",
        "filter_size",
        "presion de la bomba",
        "pump quantum",
        "压力",
        "of the",
    ):
        asked = index.analyze(text)
        scorer = index.scorer(asked)
        read = {e.n: scorer.coverage(e.text, e.context, e.language) for e in entries}
        engine = index.coverage(asked, [e.n for e in entries])
        assert engine == {n: pytest.approx(value, abs=2e-6) for n, value in read.items() if value > 0.0}, text
