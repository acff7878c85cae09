"""What a brain measures of itself, and the estimates made of it."""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.brain import Brain
from consilience.embed import EmbedderSpec
from consilience.files import seal_holds
from consilience.index.bm25 import idf
from consilience.index.facet_profile import MOST_BARS, coarsened
from consilience.index.facet_writer import FacetWriter
from consilience.index.facets import FacetIndex, passes
from consilience.model import Entry, Filters, Query
from consilience.plan import statistics as measured
from consilience.plan.reader import Reader
from consilience.plan.selectivity import estimated, occurrences
from consilience.plan.statistics import ModuleStatistics, Statistics, TwoStage
from consilience.protocol import Actor, ActorKind, MemoryType

ACTOR = Actor(id="ana@example.org", kind=ActorKind.HUMAN)
SENTENCES = {
    "pumps": "The pump of well {i} loses pressure when its inlet filter is clogged with sand; clean the filter weekly.",
    "solar": "Panel row {i} delivers less current after noon because the water tower casts its shadow over it.",
    "crops": "Plot {i} of sorghum needs its second weeding before the flowering begins, some days after sowing.",
}


def now() -> datetime.datetime:
    return datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("farm")
    (folder / "docs").mkdir()
    for month, (topic, sentence) in enumerate(SENTENCES.items(), 4):
        body = "\n\n".join(sentence.format(i=i) for i in range(20))
        (folder / "docs" / f"{topic}.md").write_text(
            f"---\ndate: 2024-0{month}-11\n---\n\n# {topic}\n\n{body}\n"
        )
    with Brain.create(folder / "brain", name="farm", embedder=EmbedderSpec(provider="hashed")) as brain:
        brain.ingest([folder / "docs"], actor=ACTOR, clock=now, root=folder)
    return folder / "brain"


@pytest.fixture
def brain(made: Path, tmp_path: Path) -> Iterator[Brain]:
    shutil.copytree(made, tmp_path / "brain")
    with Brain.open(tmp_path / "brain", name="farm", embedder=EmbedderSpec(provider="hashed")) as opened:
        yield opened


def test_statistics_of_each_module(made: Path) -> None:
    held = measured.load(made / "derived")
    assert held is not None
    semantic = held.module(MemoryType.SEMANTIC)
    assert semantic is not None
    assert semantic.blocks == semantic.embedded == semantic.facets.entries == held.blocks == 63
    assert semantic.facets.kinds == {"fact": 63}
    assert (semantic.facets.sources.distinct, semantic.facets.sources.largest) == (3, 21)
    assert (semantic.facets.dates.entries, len(semantic.facets.dates.bars)) == (63, 3)
    assert 12 < semantic.mean_words < 20
    assert held.two_stage is None


def test_the_file_is_sealed_bounded_and_names_no_text_of_the_brain(made: Path) -> None:
    data = (made / "derived" / "statistics.json").read_bytes()
    assert seal_holds(data) and len(data) < 20_000
    assert not [word for word in (b"pumps", b"solar", b"crops", b".md") if word in data]


def test_measuring_twice_writes_the_same_but_for_what_things_cost(brain: Brain) -> None:
    file = brain.path / "derived" / "statistics.json"
    first = msgspec.json.decode(file.read_bytes())
    file.unlink()
    brain.index()
    second = msgspec.json.decode(file.read_bytes())
    for each in (first, second):
        each.pop("costs", None)
        each.pop("crc32")
    assert first == second


@pytest.mark.parametrize(
    ("filters", "passing"),
    [
        (Filters(since="2024-04-01", until="2024-04-30"), 21),
        (Filters(since="2030"), 0),
        (Filters(sources=("docs/pumps.md",)), 21),
        (Filters(sources=("*.md",)), 63),
        (Filters(sources=("nothing",)), 0),
        (Filters(kinds=("FACT", "fact")), 63),
        (Filters(kinds=("concept",)), 0),
    ],
)
def test_a_filter_is_estimated_from_what_was_counted(brain: Brain, filters: Filters, passing: int) -> None:
    told = brain.explain(Query(text="why does a pump lose pressure", filters=filters))
    detail = next(each.detail for each in told.indices if each.name == "facets")
    assert detail == f"about {passing} eligible"


def test_one_module_of_a_fresh_brain_is_not_stale(brain: Brain) -> None:
    query = Query(text="pump", filters=Filters(modules=(MemoryType.SEMANTIC,)))
    assert brain.explain(query).statistics.startswith("fresh")


def test_stale_figures_of_one_module() -> None:
    def of(module: MemoryType, blocks: int) -> ModuleStatistics:
        return ModuleStatistics(
            module=module, blocks=blocks, embedded=0, mean_words=9.0, facets=profile_of(module, blocks)
        )

    held = Statistics(
        blocks=1100,
        modules=(of(MemoryType.EPISODIC, 100), of(MemoryType.SEMANTIC, 1000), of(MemoryType.CANONICAL, 7)),
    )
    assert not held.stale(1100) and held.stale(1400)
    assert not held.stale(100, [MemoryType.EPISODIC]) and held.stale(130, [MemoryType.EPISODIC])
    assert held.measured_at([MemoryType.CANONICAL, MemoryType.SEMANTIC, MemoryType.EPISODIC]) == 1107


def profile_of(module: MemoryType, entries: int):  # type: ignore[no-untyped-def]
    from consilience.index.facet_profile import Dates, FacetProfile, ValueCounts

    none = ValueCounts()
    return FacetProfile(
        module=module.value, entries=entries, kinds={}, subjects=none, tags=none, sources=none, dates=Dates()
    )


def test_another_version_or_a_flipped_bit_is_no_statistics(brain: Brain) -> None:
    folder = brain.path / "derived"
    data = (folder / "statistics.json").read_bytes()
    (folder / "statistics.json").write_bytes(data.replace(b'"blocks":63', b'"blocks":64', 1))
    assert measured.load(folder) is None
    held = msgspec.json.decode(data, type=Statistics)
    measured.save(folder, msgspec.structs.replace(held, version=measured.STATISTICS_VERSION - 1))
    assert measured.load(folder) is None
    measured.save(folder, held)
    assert measured.load(folder) == held


def test_the_recall_that_counts_is_that_of_the_matches_asked_for() -> None:
    known = TwoStage(generation=0, questions=9, recall_10=0.96, recall_60=0.89)
    assert (known.recall(1), known.recall(10), known.recall(11)) == (0.96, 0.96, 0.89)


@given(st.dictionaries(st.integers(-2000, 2000), st.integers(1, 50), max_size=500))
def test_a_histogram_is_bounded_and_loses_no_entry(months: dict[int, int]) -> None:
    dates = coarsened(months)
    assert len(dates.bars) <= MOST_BARS
    assert sum(count for _, count in dates.bars) == dates.entries == sum(months.values())


@given(st.integers(1, 10**6), st.data())
def test_a_words_entries_back_from_its_rarity(documents: int, data: st.DataObject) -> None:
    frequency = data.draw(st.integers(0, documents))
    assert occurrences(idf(documents, frequency), documents) == pytest.approx(frequency, rel=1e-6, abs=1e-3)


def test_a_facet_that_one_module_has_alone_is_not_spread_over_all(tmp_path: Path) -> None:
    """Every event is dated and tagged, no passage is: the facets alone would take the facets for independent."""
    entries = [Entry(n=n, module=MemoryType.SEMANTIC, text="x", kind="fact") for n in range(1, 901)]
    entries += [
        Entry(n=n, module=MemoryType.EPISODIC, text="x", tags=("visit",), date="2024-05-02")
        for n in range(901, 1001)
    ]
    with FacetWriter(tmp_path / "facets.db") as writer:
        writer.add(entries)
        writer.commit(1000)
    facets = FacetIndex.open(tmp_path / "facets.db")
    assert facets is not None
    modules = tuple(
        ModuleStatistics(module=MemoryType(p.module), blocks=p.entries, embedded=0, mean_words=1.0, facets=p)
        for p in facets.profiles()
    )
    reader = Reader(name="b", view=None, facets=facets, statistics=Statistics(blocks=1000, modules=modules))  # type: ignore[arg-type]
    both = [MemoryType.SEMANTIC, MemoryType.EPISODIC]
    for filters in (
        Filters(tags=("visit",), since="2024-05-01", until="2024-06-30"),
        Filters(kinds=("fact",), since="2024-05-01"),
        Filters(tags=("visit",)),
    ):
        wanted = sum(passes(e, filters) for e in entries)
        assert estimated(reader, filters, both, 1000) == pytest.approx(wanted)
    assert facets.estimate(Filters(kinds=("fact",), since="2024-05-01"), both) == pytest.approx(90.0)
    facets.close()
