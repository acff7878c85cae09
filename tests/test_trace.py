"""Lineage: up to the files, down to what was made, whatever records say."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from record_words import WORDS, Y
from stores import (
    ACTOR,
    AT,
    NOW,
    commit,
    demotion,
    derivation,
    fact,
    facts,
    original,
    registration,
    supersession,
)

from consilience.inspection import inspect_block, trace
from consilience.protocol import (
    Actor,
    ActorKind,
    Block,
    MemoryType,
    Normalization,
    Record,
    Registration,
    Removal,
    format_digest,
    record_block,
)
from consilience.store import Store, StoredBlock
from consilience.trace import Direction, TraceReport, record_line


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "brain") as made:
        yield made


def traced(store: Store, block: Block, **how: Any) -> TraceReport:
    with store.view() as view:
        return trace(view, "station", format_digest(block.id), **how)


def ids(*blocks: Block) -> list[str]:
    return [format_digest(block.id) for block in blocks]


def test_from_a_passage_to_its_file_and_back(store: Store) -> None:
    one, two, other = fact("Passage one."), fact("Passage two."), fact("Another.")
    with store.write(ACTOR, NOW) as writer:
        file = original(writer, b"one two", "notes/a.md")
        normal = record_block(
            Normalization(block=ids(file)[0], pipeline="lab/reader", pipeline_version="3", actor=ACTOR, at=AT)
        )
        records = [derivation(two, file, "L7 # Title > Two"), derivation(one, file, "L3-L4 # Title > One")]
        writer.add_many([normal, one, two, other, *records])
    up = traced(store, one, down=False)
    assert (
        up.down is None and up.up is not None and (up.title, up.memory_type) == ("Passage one.", "semantic")
    )
    (node,) = up.up.nodes
    assert (node.block_id, node.title, node.locator) == (*ids(file), "notes/a.md", "L3-L4 # Title > One")
    assert (node.record.what, node.record.actor, node.record.at) == ("derived", "ana@example.org", AT)
    assert "with consilience/markdown 1" in node.record.detail
    assert [(r.what, r.detail) for r in node.registered] == [
        ("registered", "from notes/a.md"),
        ("normalized", "with lab/reader 3"),
    ]
    down = traced(store, file).down
    assert down is not None and (down.edges, down.total, down.counted_all) == (2, 2, True)
    assert [node.block_id for node in down.nodes] == ids(one, two), "in the order of the file"
    nothing = Direction(nodes=(), edges=0, hidden=0, total=0, counted_all=True)
    assert (traced(store, other).up, traced(store, other).down) == (nothing, nothing)


def test_what_a_node_is_now(store: Store) -> None:
    source, a, b, c, d, e = facts(0, 6)
    absent = fact("not here")
    commit(store, [source, a, b, c, d, e, *(derivation(x, source) for x in (a, b, c, d))])
    commit(
        store,
        [supersession(e, a), demotion(b), derivation(e, absent, at="2026-03-01T12:00:09Z")],
        withdraw=[c],
    )
    with store.write(ACTOR, NOW) as writer:
        writer.destroy(writer.ordinals([d.id]).values(), {})
    down = traced(store, source).down
    assert down is not None and (down.edges, down.hidden) == (4, 2)
    state = {n.block_id: (n.superseded_by, n.demoted, n.member, n.resolvable) for n in down.nodes}
    assert [state[name] for name in ids(a, b, c, d)] == [
        (format_digest(e.id), False, True, True),
        (None, True, True, True),
        (None, False, False, True),
        (None, False, True, False),
    ]
    up = traced(store, e).up
    assert up is not None
    assert [(n.block_id, n.memory_type, n.resolvable) for n in up.nodes] == [(*ids(absent), None, False)]
    assert traced(store, a).superseded_by == format_digest(e.id) and traced(store, b).demoted


def test_depth_and_limit_count_what_they_leave_out(store: Store) -> None:
    chain = facts(0, 6)
    leaves = facts(100, 120)
    links = [derivation(child, parent) for parent, child in pairwise(chain)]
    commit(
        store,
        [
            *chain,
            *leaves,
            *links,
            *(derivation(leaf, chain[1], f"L{i + 2}") for i, leaf in enumerate(leaves)),
        ],
    )
    down = traced(store, chain[0], depth=2, limit=3).down
    assert down is not None and (down.edges, down.total) == (1, 25)
    assert [(n.depth, n.parent, n.edges) for n in down.nodes] == [
        (1, None, 21),
        (2, 0, 1),
        (2, 0, 0),
        (2, 0, 0),
    ]
    assert [n.block_id for n in down.nodes] == ids(chain[1], chain[2], leaves[0], leaves[1])
    whole = traced(store, chain[0], depth=100, limit=100).down
    assert whole is not None and len(whole.nodes) == 25
    up = traced(store, chain[5], depth=3).up
    assert up is not None and (len(up.nodes), up.total, up.nodes[-1].edges) == (3, 5, 1)


def test_records_that_run_in_a_circle_end(store: Store) -> None:
    a, b, c = facts(0, 3)
    commit(store, [a, b, c, derivation(b, a), derivation(c, b), derivation(a, c), derivation(a, a)])
    for report in (traced(store, a), traced(store, a, depth=100_000, limit=100_000)):
        assert report.up is not None and report.down is not None
        assert report.up.total == report.down.total == 2
        assert any(node.repeated for node in report.down.nodes)
        assert len(report.down.nodes) < 8
    with store.view() as view:
        assert inspect_block(view, "station", format_digest(a.id)).derived == 2


def test_two_records_of_one_tie_and_two_ways_to_one_block(store: Store) -> None:
    top, left, right, end = facts(0, 4)
    again = derivation(left, top, at="2026-03-02T12:00:00Z")
    ties = [
        derivation(left, top),
        derivation(right, top),
        derivation(end, left),
        derivation(end, right),
        again,
    ]
    commit(store, [top, left, right, end, *ties])
    down = traced(store, top).down
    assert down is not None and (down.edges, down.total) == (2, 3)
    assert [(n.depth, n.more_records, n.repeated) for n in down.nodes] == [
        (1, 1, False),
        (2, 0, False),
        (1, 0, False),
        (2, 0, True),
    ]


def test_wide_and_deep(store: Store) -> None:
    """10^4 children and a chain of 3,000: read level by level, no recursion."""
    source, *children = facts(0, 10_001)
    chain = facts(20_000, 23_000)
    links = [derivation(child, parent) for parent, child in pairwise(chain)]
    commit(
        store,
        [
            source,
            *children,
            *chain,
            *links,
            *(derivation(x, source, f"L{i + 1}") for i, x in enumerate(children)),
        ],
    )
    down = traced(store, source).down
    assert down is not None and (down.edges, down.total, len(down.nodes)) == (10_000, 10_000, 10)
    down = traced(store, source, limit=100_000).down
    assert down is not None and len(down.nodes) == 1_000 and down.edges == 10_000
    down = traced(store, chain[0], depth=100_000).down
    assert down is not None and (len(down.nodes), down.total) == (1_000, 2_999)
    up = traced(store, chain[-1]).up
    assert up is not None and (len(up.nodes), up.total) == (8, 2_999)


@pytest.mark.parametrize(("record", "what", "detail"), WORDS, ids=range(len(WORDS)))
def test_every_type_of_record_has_its_words(store: Store, record: Record, what: str, detail: str) -> None:
    block = record_block(record)
    commit(store, [block])
    with store.view() as view:
        (stored,) = view.blocks([1])
        line = record_line(stored)
    assert (line.what, line.detail) == (what, detail)
    assert (line.record, line.at, line.actor) == (format_digest(block.id), AT, "ana@example.org")


def test_records_about_a_block_are_listed_whatever_their_type(store: Store) -> None:
    (a,) = facts(0, 1)
    about = []
    for record, *_ in WORDS:
        changed = {"blocks": (*ids(a), Y)} if isinstance(record, Removal) else {"block": ids(a)[0]}
        about.append(
            record_block(
                type(record)(**{**{f: getattr(record, f) for f in record.__struct_fields__}, **changed})
            )
        )
    commit(store, [a, *about])
    with store.view() as view:
        report = inspect_block(view, "station", format_digest(a.id))
    assert sorted(line.record for line in report.records) == sorted(ids(*about))
    assert not any(line.what.startswith("unreadable") for line in report.records)


def test_a_record_that_cannot_be_read(store: Store) -> None:
    block = registration(fact("x"), "a.md")
    for data, what in ((b"{}", "unreadable record"), (None, "a record that is not here any more")):
        line = record_line(StoredBlock(1, block.id, MemoryType.PROVENANCE, data))
        assert (line.what, line.actor) == (what, "")


def test_a_foreign_actor_is_shown_as_it_is(store: Store) -> None:
    odd = Actor(id="Somebody ELSE\x1b[31m", kind=ActorKind.HUMAN)
    (a,) = facts(0, 1)
    commit(store, [a, record_block(Registration(block=ids(a)[0], actor=odd, at=AT))])
    assert traced(store, a).records[0].actor == odd.id
