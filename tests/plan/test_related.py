"""Relations in answers of a real brain: what is brought in, what is not, and what stays silent."""

from __future__ import annotations

import datetime
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from consilience.brain import Brain
from consilience.embed import EmbedderSpec
from consilience.index.edges import EdgeIndex
from consilience.index.edges_file import key_of
from consilience.index.facets import passes
from consilience.model import Bundle, Filters, Match, Query
from consilience.plan.answer import answer
from consilience.plan.entries import entries_of
from consilience.plan.expand import Spreading
from consilience.propose.remember import Fact, remember
from consilience.protocol import Actor, ActorKind, MemoryType, parse_digest
from consilience.retain.policy import Policy

ACTOR = Actor(id="ana@example.org", kind=ActorKind.HUMAN)
NONE = EmbedderSpec(provider="none")

PUMPS = """# Water

A general word about the village and its people, who draw water in the morning.

## Findings

The mechanics write their findings into a small green book every evening.

The centrifugal pump loses pressure when sand clogs its inlet; see [the filters](filters.md#cleaning).

Ana replaced the gasket in spring, and Tomas keeps the old one as a pattern.

## Noise

A humming sound means that a bearing is worn and wants grease before the week is over.
"""
FILTERS = """# Filters

All meshes come from the same workshop in town, in three widths.

## Cleaning

Rinse the mesh with clean water and brush it from the outside.

## Buying

Ask for the wide one, since the narrow one tears.
"""
OTHER = "# Crops\n\n" + "\n\n".join(
    f"Plot {i} of sorghum needs its second weeding some {i + 30} days after sowing, before it flowers."
    for i in range(60)
)
QUESTION = "why does a centrifugal pump lose pressure"


def now() -> datetime.datetime:
    return datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("village")
    (folder / "docs").mkdir()
    for name, text in (("pumps", PUMPS), ("crops", OTHER)):
        (folder / "docs" / f"{name}.md").write_text(text)
    with Brain.create(folder / "brain", name="village", embedder=NONE) as brain:
        brain.ingest([folder / "docs"], actor=ACTOR, clock=now, root=folder)
        (folder / "docs" / "filters.md").write_text(FILTERS)  # the link came first
        brain.ingest([folder / "docs"], actor=ACTOR, clock=now, root=folder)
        for text in ("Gaskets of pump 7 are green.", "Pump 7 stands behind the school."):
            remember(brain.store, "village", Fact(text=text, subject="pump 7"), actor=ACTOR, clock=now)
        brain.index()
    return folder


@pytest.fixture
def brain(made: Path) -> Iterator[Brain]:
    with Brain.open(made / "brain", name="village", embedder=NONE) as opened:
        yield opened


def asked(brain: Brain, text: str = QUESTION, **more: object) -> Bundle:
    return brain.search(Query(text=text, limit=30, related=True, **more))  # type: ignore[arg-type]


def saying(bundle: Bundle, words: str) -> Match | None:
    return next((match for match in bundle.matches if words in match.text), None)


def test_what_stands_beside_a_match_and_what_it_links_to_is_brought_in(brain: Brain) -> None:
    found = asked(brain)
    pump = saying(found, "loses pressure")
    assert pump is not None and pump.rank == 1 and pump.via is None
    for words, by in (
        ("replaced the gasket", "next"),
        ("green book", "previous"),
        ("Rinse the mesh", "link"),
    ):
        match = saying(found, words)
        assert match is not None and match.via is not None, words
        assert (match.via.block_id, match.via.by[0]) == (pump.block_id, by)
    assert found.plan.generators[-1] == "related"
    assert all(match.score <= 1.0 for match in found.matches)


def test_without_asking_nothing_is_brought_in(brain: Brain) -> None:
    plain = brain.search(Query(text=QUESTION, limit=30))
    assert all(match.via is None for match in plain.matches)
    assert saying(plain, "Rinse the mesh") is None and "related" not in plain.plan.generators


def test_a_link_leads_back_to_what_links(brain: Brain) -> None:
    found = asked(brain, "rinse the mesh and brush it from the outside")
    match = saying(found, "loses pressure")
    assert match is not None and match.via is not None and match.via.by == ("linked from",)


def test_facts_of_one_subject_lead_to_each_other(brain: Brain) -> None:
    found = asked(brain, "where does it stand behind the school")
    match = saying(found, "Gaskets of pump 7")
    assert match is not None and match.via is not None and match.via.by[0] in ("subject", "evidence")


def test_a_block_by_its_id_and_what_is_related_to_it(brain: Brain) -> None:
    pump = asked(brain).matches[0]
    found = asked(brain, pump.block_id)
    assert found.matches[0].block_id == pump.block_id and found.matches[0].via is None
    assert all(match.strength is None for match in found.matches[1:])
    assert saying(found, "replaced the gasket") is not None and saying(found, "Rinse the mesh") is not None


@pytest.mark.parametrize(
    "filters",
    [
        Filters(sources=("docs/pumps.md",)),
        Filters(sources=("docs/filters.md",)),
        Filters(modules=(MemoryType.EPISODIC,)),
        Filters(kinds=("definition",)),
        Filters(subjects=("pump 7",)),
        Filters(since="2020"),
        Filters(sources=("docs/*",), kinds=("fact", "concept")),
    ],
)
def test_no_filter_is_passed_by(brain: Brain, filters: Filters) -> None:
    for text in (QUESTION, "rinse the mesh", "where is pump 7"):
        ids = [parse_digest(match.block_id) for match in asked(brain, text, filters=filters).matches]
        with brain.reader() as reader:
            ns = list(reader.view.ordinals(ids).values())
            for entry in entries_of(reader.view, ns):
                assert passes(entry, filters) and (not filters.modules or entry.module in filters.modules)


def test_a_silent_brain_stays_silent(brain: Brain) -> None:
    off = "who won the chess championship in Reykjavik"
    plain, related = brain.search(Query(text=off)), asked(brain, off)
    assert plain.matches == () and related.matches == () and related.withheld == plain.withheld


def test_depth_and_decay_of_nothing_are_no_expansion(brain: Brain) -> None:
    query = Query(text=QUESTION, limit=30, floor=False)
    with brain.reader() as reader:
        alone = answer(reader, query, spreading=Spreading(depth=0)).bundle.matches
        assert alone == answer(reader, query, spreading=Spreading(decay=0.0)).bundle.matches
        assert alone == answer(reader, query, spreading=Spreading(weight=0.0)).bundle.matches
        usual = answer(reader, query).bundle.matches
    assert {m.block_id for m in usual} == {
        m.block_id for m in alone
    }  # weight for what was found, nothing new


def test_an_older_snapshot_knows_no_later_document(brain: Brain) -> None:
    first = brain.history(limit=None).snapshots[-1]
    found = brain.search(Query(text=QUESTION, limit=30, related=True), at=parse_digest(first.snapshot))
    assert saying(found, "replaced the gasket") is not None and saying(found, "Rinse the mesh") is None


def test_without_its_index_the_answer_says_so(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "brain", tmp_path / "brain")
    for file in (tmp_path / "brain" / "derived").glob("edges*"):
        file.unlink()
    with Brain.open(tmp_path / "brain", name="village", embedder=NONE) as bare:
        found = asked(bare)
        assert any("relations" in warning for warning in found.warnings)
        assert saying(found, "Rinse the mesh") is None
        bare.index()
        assert saying(asked(bare), "Rinse the mesh") is not None


def test_a_passage_that_left_is_not_brought_in(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "v")
    folder = tmp_path / "v"
    text = PUMPS.replace(
        "Ana replaced the gasket in spring, and Tomas keeps the old one as a pattern.\n\n", ""
    )
    (folder / "docs" / "pumps.md").write_text(text)
    with Brain.open(folder / "brain", name="village", embedder=NONE) as changed:
        changed.ingest([folder / "docs"], actor=ACTOR, clock=now, root=folder)
        found = asked(changed)
        assert saying(found, "loses pressure") is not None and saying(found, "replaced the gasket") is None
        assert saying(found, "Rinse the mesh") is not None


def test_it_does_not_depend_on_the_hash_seed(made: Path) -> None:
    script = (
        "import sys, msgspec\nfrom pathlib import Path\nfrom consilience.brain import Brain\n"
        "from consilience.embed import EmbedderSpec\nfrom consilience.model import Query\n"
        "with Brain.open(Path(sys.argv[1]), name='v', embedder=EmbedderSpec(provider='none')) as brain:\n"
        f"    found = brain.search(Query(text={QUESTION!r}, limit=30, related=True)).matches\n"
        "    print(msgspec.json.encode(found).decode())\n"
    )
    outs = {
        subprocess.run(
            [sys.executable, "-c", script, str(made / "brain")],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outs) == 1


def test_a_file_that_changed_many_times_is_still_what_its_name_names(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "v")
    folder = tmp_path / "v"
    with Brain.open(folder / "brain", name="village", embedder=NONE) as changed:
        for i in range(5):
            (folder / "docs" / "filters.md").write_text(FILTERS.replace("three widths", f"{i} widths"))
            changed.ingest([folder / "docs"], actor=ACTOR, clock=now, root=folder)
        match = saying(asked(changed), "Rinse the mesh")
        assert match is not None and match.via is not None and match.via.by == ("link",)


def test_a_name_of_many_files_names_none(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "v")
    folder = tmp_path / "v"
    text = PUMPS.replace("filters.md#cleaning", "https://example.org/wiki/spare-parts")
    (folder / "docs" / "pumps.md").write_text(text)
    with Brain.open(folder / "brain", name="village", embedder=NONE) as many:
        for i in range(4):
            (folder / "docs" / str(i)).mkdir()
            (folder / "docs" / str(i) / "spare-parts.md").write_text(f"# Depot\n\nShelf {i} of the depot.\n")
            many.ingest([folder / "docs"], actor=ACTOR, clock=now, root=folder)
            shown = [m for m in asked(many).matches if "depot" in m.text]
            assert len(shown) == (i + 1 if i < 3 else 0)


def test_a_redaction_leaves_no_link_of_what_it_took(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "v")
    path = tmp_path / "v" / "brain"
    link = key_of("path", "docs/filters.md").to_bytes(8, "big")
    mentions = path / "derived" / "edges.db"
    with Brain.open(
        path, name="village", embedder=NONE, policy=Policy(redact=True, canonical_redact=True)
    ) as brain:
        pump = asked(brain).matches[0]
        with EdgeIndex.open_for_write(mentions):  # all is in the file now, not in its log
            pass
        assert mentions.read_bytes().count(link) > 2  # the name, in a table and its index, and who uses it
        brain.redact([pump.block_id], reason="asked", actor=ACTOR, clock=now)
        with EdgeIndex.open_for_write(mentions):
            pass
        assert mentions.read_bytes().count(link) <= 2
        brain.index()
        assert mentions.read_bytes().count(link) <= 2
        assert all(match.resolvable for match in asked(brain, "replaced the gasket in spring").matches)


def test_neighbours_do_not_lift_a_match_over_one_that_holds_what_was_asked(tmp_path: Path) -> None:
    """Nine paragraphs in a row that hold the common word alone; one, elsewhere, that holds the rare one too."""
    cluster = "\n\n".join(f"Heron number {i} stands in the reeds and waits for a fish." for i in range(9))
    filler = "\n\n".join(f"Boat {i} of the lake needs a coat of paint." for i in range(40))
    (tmp_path / "lake.md").write_text(
        f"# Lake\n\n{cluster}\n\n{filler}\n\nThe heron with ring Q1999 came from far.\n"
    )
    with Brain.create(tmp_path / "brain", name="lake", embedder=NONE) as brain:
        brain.ingest([tmp_path / "lake.md"], actor=ACTOR, clock=now, root=tmp_path)
        found = brain.search(Query(text="heron Q1999", floor=False))
    assert "Q1999" in found.matches[0].text, [m.text for m in found.matches]


def test_rows_that_stand_beside_each_other_are_not_related(tmp_path: Path) -> None:
    rows = "\n".join(f"heron {i},{9000 + i}" for i in range(400))
    (tmp_path / "herons.csv").write_text(f"name,height\n{rows}\n")
    with Brain.create(tmp_path / "brain", name="lake", embedder=NONE) as brain:
        brain.ingest([tmp_path / "herons.csv"], actor=ACTOR, clock=now, root=tmp_path)
        found = brain.search(Query(text="heron 399", floor=False))
        related = asked(brain, "heron 399", floor=False)
    assert found.matches[0].text.startswith("name: heron 399")
    assert not [match for match in related.matches if match.via is not None]
