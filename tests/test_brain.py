"""One brain as Python code uses it: small, real files, a real index, the shipped test double as the model."""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from consilience.brain import Brain
from consilience.embed import EmbedderSpec
from consilience.errors import BlockNotFoundError, BrainNotFoundError, QueryError, UsageError
from consilience.model import Filters, Query
from consilience.plan.floor import FLOOR, SPEAKS
from consilience.protocol import Actor, ActorKind, MemoryType, parse_digest, sha256

ACTOR = Actor(id="ana@example.org", kind=ActorKind.HUMAN)
HASHED = EmbedderSpec(provider="hashed")
TOPICS = {
    "pumps": "The pump of well {i} loses pressure when its inlet filter is clogged with sand; clean the filter weekly.",
    "solar": "Panel row {i} delivers less current after noon because the water tower casts its shadow over it.",
    "radio": "Relay station {i} repeats a frame at most three times, and then it drops it and counts the loss.",
    "crops": "Plot {i} of sorghum needs its second weeding before the flowering begins, some forty days after sowing.",
}

BLOCKS = 4 * 12 + 4
"""Twelve paragraphs of each file, and the line of its front matter."""


def now() -> datetime.datetime:
    return datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)


def write(folder: Path) -> None:
    for month, (topic, sentence) in enumerate(TOPICS.items(), 4):
        paragraphs = [sentence.format(i=i) for i in range(12)]
        text = f"---\ndate: 2024-0{month}-11\n---\n\n# All about {topic}\n\n" + "\n\n".join(paragraphs)
        (folder / f"{topic}.md").write_text(text + "\n")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("farm")
    (folder / "docs").mkdir()
    write(folder / "docs")
    with Brain.create(folder / "brain", name="farm", embedder=HASHED) as brain:
        report = brain.ingest([folder / "docs"], actor=ACTOR, clock=now, root=folder)
        assert (report.taken, report.embedded, report.unembedded) == (4, BLOCKS, 0)
    return folder


@pytest.fixture
def brain(made: Path) -> Iterator[Brain]:
    with Brain.open(made / "brain", name="farm", embedder=HASHED) as opened:
        yield opened


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "farm")
    return tmp_path / "farm"


def test_a_question_finds_its_subject_and_says_what_it_was_verified_against(brain: Brain) -> None:
    bundle = brain.search(Query(text="why does a pump lose pressure", limit=3))
    assert len(bundle.matches) == 3 and bundle.truncated
    assert all("pump" in m.text for m in bundle.matches)
    assert [m.rank for m in bundle.matches] == [1, 2, 3]
    assert bundle.matches[0].score == 1.0
    assert all(m.strength is not None and m.strength >= 0.5 for m in bundle.matches)
    first = bundle.matches[0]
    assert first.sources[0].origin == "docs/pumps.md"
    assert first.title == "All about pumps" and first.sources[0].place.first_line is not None
    assert {r.module for r in bundle.verified_against} >= {MemoryType.SEMANTIC, MemoryType.PROVENANCE}
    assert bundle.plan.generators == ("lexical", "vectors")


def test_what_the_brain_knows_nothing_of_is_an_empty_answer(brain: Brain) -> None:
    bundle = brain.search(Query(text="who won the chess championship in Reykjavik"))
    assert bundle.matches == () and bundle.withheld > 0
    without_floor = brain.search(Query(text="who won the chess championship in Reykjavik", floor=False))
    assert without_floor.matches and without_floor.withheld == 0


def test_the_same_question_over_the_same_snapshot_is_the_same_answer(made: Path) -> None:
    answers = set()
    for _ in range(3):
        with Brain.open(made / "brain", name="farm", embedder=HASHED) as brain:
            bundle = brain.search(Query(text="shadow on the panels"))
            answers.add(tuple((m.block_id, m.score, m.strength) for m in bundle.matches))
    assert len(answers) == 1


def test_filters_let_nothing_through_that_fails_them(brain: Brain) -> None:
    by_source = brain.search(
        Query(text="filter", filters=Filters(sources=("docs/radio.md",)), floor=False, limit=50)
    )
    assert by_source.matches and {m.sources[0].origin for m in by_source.matches} == {"docs/radio.md"}
    dated = brain.search(
        Query(text="weeding pump panel", filters=Filters(since="2024-06-01"), floor=False, limit=50)
    )
    assert dated.matches and all((m.sources[0].place.date or "") >= "2024-06-01" for m in dated.matches)
    none = brain.search(Query(text="pump", filters=Filters(until="1999-12-31"), floor=False))
    assert none.matches == ()
    files = brain.search(Query(text="pumps", filters=Filters(modules=(MemoryType.CANONICAL,)), floor=False))
    assert [m.memory_type for m in files.matches] == [MemoryType.CANONICAL]


def test_a_quoted_phrase_must_stand_in_the_match_and_is_never_withheld(brain: Brain) -> None:
    bundle = brain.search(Query(text='"counts the loss"', limit=50))
    assert len(bundle.matches) == 12
    assert all("counts the loss" in m.text for m in bundle.matches)


def test_a_block_id_or_its_beginning_finds_the_block_itself(brain: Brain) -> None:
    block_id = brain.search(Query(text="pump", limit=1)).matches[0].block_id
    for text in (block_id, block_id[7:23]):
        bundle = brain.search(Query(text=text))
        assert [m.block_id for m in bundle.matches] == [block_id]
        assert bundle.plan.name == "identity"
    assert brain.search(Query(text="sha256:" + "0" * 64)).matches == ()


@pytest.mark.parametrize(
    "text",
    ["", "   ", "?!… —", "::"],
)
def test_a_question_without_a_word_is_refused(brain: Brain, text: str) -> None:
    with pytest.raises(QueryError):
        brain.search(Query(text=text))


@pytest.mark.parametrize(
    "text",
    [
        "pump AND NOT (filter OR sand)",
        'an unclosed "quote about pumps',
        "field:value pump~2 ^3 [a TO b] {x} *",
        "насос теряет давление",
        "水泵 压力",
        "\x00\x1b[31mpump",
        "pump " * 20_000,
        "ﬁlter \u200b\u202e pump",
    ],
    ids=[
        "operators",
        "open quote",
        "lucene syntax",
        "cyrillic",
        "han",
        "control characters",
        "100 kB",
        "odd unicode",
    ],
)
def test_a_question_is_only_text(brain: Brain, text: str) -> None:
    bundle = brain.search(Query(text=text, floor=False))
    if "pump" in text:
        assert any("pump" in m.text for m in bundle.matches)


def test_explain_shows_every_plan_and_with_analyze_what_was_measured(brain: Brain) -> None:
    planned = brain.explain(Query(text="why does a pump lose pressure"))
    assert not planned.analyzed and planned.count is None
    assert [p.chosen for p in planned.plans].count(True) == 1 and len(planned.plans) >= 4
    assert all(p.reason for p in planned.plans)
    assert planned.floor.samples >= 50 and (planned.floor.threshold, planned.floor.speaks) == (FLOOR, SPEAKS)
    measured = brain.explain(Query(text="who won the chess championship in Reykjavik"), analyze=True)
    assert measured.analyzed and measured.count == 0
    assert measured.floor.best_withheld is not None and measured.floor.best_withheld < 0.8
    assert all(g.actual_us is not None for g in measured.plans[0].generators)


def test_deleting_derived_costs_a_rebuild_and_nothing_else(copy: Path) -> None:
    question = Query(text="why does a pump lose pressure")
    with Brain.open(copy / "brain", name="farm", embedder=HASHED) as brain:
        before = brain.search(question)
    shutil.rmtree(copy / "brain" / "derived")
    with Brain.open(copy / "brain", name="farm", embedder=HASHED) as brain:
        bare = brain.search(question)
        assert bare.plan.generators == ("scan",)
        assert any("no lexical index" in w for w in bare.warnings)
        assert {m.sources[0].origin for m in bare.matches} == {"docs/pumps.md"}
        report = brain.index()
        assert (report.indexed > 0, report.embedded, report.measured) == (True, BLOCKS, True)
        after = brain.search(question)
    assert [(m.block_id, m.score, m.strength) for m in after.matches] == [
        (m.block_id, m.score, m.strength) for m in before.matches
    ]


def test_what_the_index_does_not_know_yet_is_covered_from_the_store(copy: Path) -> None:
    (copy / "docs" / "late.md").write_text(
        "# Late news\n\nThe borehole of the northern field collapsed in April.\n"
    )
    with Brain.open(copy / "brain", name="farm", embedder=HASHED) as brain:
        from consilience.ingest import discover
        from consilience.ingest.pipeline import Ingest

        Ingest(brain.store, actor=ACTOR, clock=now).run(discover([copy / "docs"], root=copy))
        bundle = brain.search(Query(text="collapsed borehole"))
        assert bundle.matches[0].text.startswith("The borehole")
        assert brain.status().behind > 0 and not brain.status().healthy
        brain.index()
        assert brain.status().behind == 0 and brain.status().healthy


def test_a_model_of_another_tag_is_not_consulted_and_said(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from consilience.embed import hashed

    monkeypatch.setattr(hashed.HashedEmbedder, "tag", "hashed/other")
    with Brain.open(copy / "brain", name="farm", embedder=HASHED) as brain:
        bundle = brain.search(Query(text="why does a pump lose pressure"))
        assert "vectors" not in bundle.plan.generators
        assert any("made by" in w and "index" in w for w in bundle.warnings)


def test_a_damaged_index_is_left_out_and_named(copy: Path) -> None:
    for file in (copy / "brain" / "derived" / "lexical").rglob("*"):
        if file.is_file():
            file.write_bytes(b"rubbish")
    with Brain.open(copy / "brain", name="farm", embedder=HASHED) as brain:
        bundle = brain.search(Query(text="why does a pump lose pressure"))
        assert bundle.matches and any("index" in w for w in bundle.warnings)
        brain.index()
        assert not [w for w in brain.search(Query(text="pump pressure")).warnings if "index" in w]


def test_c7_a_match_whose_bytes_do_not_hash_to_its_id_is_dropped_and_named(copy: Path) -> None:
    import sqlite3

    from consilience.store import StoredBlock, View

    with Brain.open(copy / "brain", name="farm", embedder=HASHED) as brain:
        victim = brain.search(Query(text="why does a pump lose pressure")).matches[0].block_id
    database = sqlite3.connect(copy / "brain" / "brain.db")
    other, enc = database.execute(
        "SELECT data, enc FROM blocks WHERE id != ? LIMIT 1", (parse_digest(victim),)
    ).fetchone()
    database.execute("UPDATE blocks SET data = ?, enc = ? WHERE id = ?", (other, enc, parse_digest(victim)))
    database.commit()
    database.close()
    assert StoredBlock and View
    with Brain.open(copy / "brain", name="farm", embedder=HASHED) as brain:
        bundle = brain.search(Query(text="why does a pump lose pressure", floor=False, limit=60))
        assert victim not in {m.block_id for m in bundle.matches}
        assert bundle.dropped == (victim,) and not bundle.all_verified
        assert any(w.startswith("verification_failed") for w in bundle.warnings)


def test_a_scan_names_what_is_damaged_and_does_not_pass_it_over(copy: Path) -> None:
    import sqlite3

    with Brain.open(copy / "brain", name="farm", embedder=HASHED) as brain:
        victim = brain.search(Query(text="why does a pump lose pressure")).matches[0].block_id
    database = sqlite3.connect(copy / "brain" / "brain.db")
    database.execute("UPDATE blocks SET data = zeroblob(length(data)) WHERE id = ?", (parse_digest(victim),))
    database.commit()
    database.close()
    shutil.rmtree(copy / "brain" / "derived")
    with Brain.open(copy / "brain", name="farm", embedder=HASHED) as brain:
        bundle = brain.search(Query(text="why does a pump lose pressure"))
        assert bundle.plan.generators == ("scan",) and bundle.matches
        assert bundle.dropped == (victim,)
        assert any("damaged" in note for note in brain.index().notes)


def test_a_brain_that_is_not_embedded_yet_says_so(copy: Path) -> None:
    shutil.rmtree(copy / "brain" / "derived")
    with Brain.open(copy / "brain", name="farm", embedder=HASHED) as brain:
        assert brain.index(embed=False).unembedded == BLOCKS
        bundle = brain.search(Query(text="why does a pump lose pressure"))
        assert any(f"vectors cover 0 of {BLOCKS}" in w for w in bundle.warnings)
        assert brain.status().unembedded == BLOCKS


# --- looking at one block -------------------------------------------------------------------------------------------


def test_a_block_shows_where_it_comes_from_and_proves_into_its_root(brain: Brain) -> None:
    match = brain.search(Query(text="shadow on the panels", limit=1)).matches[0]
    report = brain.block(match.block_id[7:20])
    assert report.block_id == match.block_id and report.intact
    assert report.sources[0].origin == "docs/solar.md"
    assert [r.what for r in report.records] == ["derived"]
    assert report.records[0].actor == "ana@example.org"
    assert report.root == match.root
    proof = brain.prove(match.block_id)
    assert proof.holds and proof.root == match.root and proof.tree_size == BLOCKS
    assert sha256(brain.content(match.block_id)) == parse_digest(match.block_id)
    original = brain.content(report.sources[0].block_id)
    assert b"All about solar" in original


def test_ids_that_name_nothing_or_too_much(brain: Brain) -> None:
    with pytest.raises(BlockNotFoundError):
        brain.block("sha256:" + "0" * 64)
    with pytest.raises(UsageError, match="not a block id"):
        brain.block("pump")


def test_status_counts_what_is_here(brain: Brain) -> None:
    status = brain.status()
    assert status.files == 4 and status.unembedded == 0 and status.floor and status.healthy
    assert {m.module: m.count for m in status.modules}[MemoryType.SEMANTIC] == BLOCKS
    assert status.languages[0][0] == "en"


def test_a_folder_that_is_no_brain(tmp_path: Path) -> None:
    with pytest.raises(BrainNotFoundError):
        Brain.open(tmp_path / "nowhere", name="x")


def test_a_filter_admits_what_the_words_know_and_the_facets_do_not_yet(copy: Path) -> None:
    """A catch-up was killed after the lexical index was committed and before the facets were."""
    text = "# Late news\n\nThe borehole of the northern field collapsed in April.\n"
    (copy / "docs" / "late.md").write_text(text)
    derived = copy / "brain" / "derived"
    before = {f.name: f.read_bytes() for f in derived.glob("facets.db*")}
    with Brain.open(copy / "brain", name="farm", embedder=HASHED) as brain:
        brain.ingest([copy / "docs"], actor=ACTOR, clock=now, root=copy)
    for file in derived.glob("facets.db*"):
        file.unlink()
    for name, data in before.items():
        (derived / name).write_bytes(data)
    question = Query(text="collapsed borehole", filters=Filters(sources=("docs/late.md",)))
    with Brain.open(copy / "brain", name="farm", embedder=HASHED) as brain:
        assert brain.search(question).matches[0].text.startswith("The borehole")
