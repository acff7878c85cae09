"""Copies of one passage in one brain are one match; nothing else is."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from consilience.brain import Brain
from consilience.embed import EmbedderSpec
from consilience.model import Query
from consilience.protocol import Actor, ActorKind, MemoryType
from consilience.store import StoredBlock, View

ACTOR = Actor(id="ana@example.org", kind=ActorKind.HUMAN)
RULE = "Nobody opens valve {i} of the tank while the pump is running, whatever the gauge says."
COPIES = 12


def now() -> datetime.datetime:
    return datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)


@pytest.fixture(scope="module")
def brain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brain]:
    folder = tmp_path_factory.mktemp("plant")
    docs = folder / "docs"
    docs.mkdir()
    for i in range(COPIES):
        said = RULE.format(i=7)
        said = said.upper() if i % 2 else f"{i + 1}. {said}"
        said = said.replace(",", " ;" * (i + 1))
        (docs / f"copy{i}.md").write_text(f"# Sheet {i}\n\n{said}\n")
    others = "\n\n".join(RULE.format(i=i) for i in (1, 2, 3))
    (docs / "others.md").write_text(f"# Other valves\n\n{others}\n")
    (docs / "code.md").write_text("# Code\n\n```\nvalve.open(tank)\n```\n\n```\nValve.open(tank)\n```\n")
    with Brain.create(folder / "brain", name="plant", embedder=EmbedderSpec(provider="none")) as made:
        made.ingest([docs], actor=ACTOR, clock=now, root=folder)
        yield made


def test_one_passage_in_many_files_is_one_match_with_the_sources_of_all(brain: Brain) -> None:
    bundle = brain.search(Query(text="valve 7 tank pump", floor=False))
    first = bundle.matches[0]
    assert "valve 7" in first.text.lower()
    assert bundle.collapsed == len(first.also) == COPIES - 1
    assert {s.origin for s in first.sources} == {f"docs/copy{i}.md" for i in range(COPIES)}
    assert len({first.block_id, *(copy.block_id for copy in first.also)}) == COPIES
    assert all(copy.root == first.root and copy.resolvable for copy in first.also)
    assert (
        sum("opens valve" in m.text.lower() for m in bundle.matches) == 4
    )  # the other valves are other rules
    assert [m.rank for m in bundle.matches] == list(range(1, len(bundle.matches) + 1))


def test_no_collapse_returns_every_copy(brain: Brain) -> None:
    bundle = brain.search(Query(text="valve 7 tank pump", floor=False, limit=50, collapse=False))
    assert sum("valve 7" in m.text.lower() for m in bundle.matches) == COPIES
    assert bundle.collapsed == 0 and all(not m.also for m in bundle.matches)


def test_the_limit_counts_matches_and_what_is_cut_is_said(brain: Brain) -> None:
    cut = brain.search(Query(text="valve 7 tank pump", floor=False, limit=2))
    assert len(cut.matches) == 2 and cut.truncated
    assert len(cut.matches[0].also) == COPIES - 1
    everything = brain.search(Query(text="valve 7 tank pump", floor=False, limit=100))
    assert not everything.truncated


def test_code_that_differs_in_case_is_other_code(brain: Brain) -> None:
    bundle = brain.search(Query(text="valve open tank", floor=False, limit=50))
    assert sum("open(tank)" in m.text for m in bundle.matches) == 2


def test_a_block_asked_for_by_its_id_stands_alone(brain: Brain) -> None:
    first = brain.search(Query(text="valve 7 tank pump", floor=False)).matches[0]
    bundle = brain.search(Query(text=first.also[0].block_id))
    assert [m.block_id for m in bundle.matches] == [first.also[0].block_id]
    assert bundle.matches[0].also == ()


def test_a_damaged_copy_is_dropped_and_the_rest_stands(brain: Brain, tmp_path: Path) -> None:
    import shutil
    import sqlite3

    shutil.copytree(brain.path, tmp_path / "copy")
    first = brain.search(Query(text="valve 7 tank pump", floor=False)).matches[0]
    victim = first.block_id.removeprefix("sha256:")
    with sqlite3.connect(tmp_path / "copy" / "brain.db") as db:
        columns = [row[1] for row in db.execute("PRAGMA table_info(blocks)")]
        assert "id" in columns
        data = "data" if "data" in columns else "bytes"
        changed = db.execute(f"UPDATE blocks SET {data} = x'00' WHERE id = ?", (bytes.fromhex(victim),))
        assert changed.rowcount == 1
    db.close()
    with Brain.open(tmp_path / "copy", name="plant", embedder=EmbedderSpec(provider="none")) as opened:
        bundle = opened.search(Query(text="valve 7 tank pump", floor=False))
    assert first.block_id in bundle.dropped and not bundle.all_verified
    held = {m.block_id for m in bundle.matches} | {c.block_id for m in bundle.matches for c in m.also}
    assert first.block_id not in held
    assert max(len(m.also) for m in bundle.matches) == COPIES - 2


def test_a_question_reads_what_it_may_show_and_that_once(
    brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    blocks = View.blocks

    def counted(self: View, ns: Sequence[int]) -> list[StoredBlock]:
        found = blocks(self, ns)
        read.extend(block.n for block in found if block.memory_type is MemoryType.SEMANTIC)
        return found

    monkeypatch.setattr(View, "blocks", counted)
    bundle = brain.search(Query(text="valve tank pump", limit=2, floor=False, collapse=False))
    assert len(bundle.matches) == 2 and sorted(read) == sorted(set(read)) and len(read) == 2
    read.clear()
    bundle = brain.search(Query(text="valve 7 tank pump", limit=1, floor=False))
    assert bundle.matches and bundle.collapsed and sorted(read) == sorted(set(read))
