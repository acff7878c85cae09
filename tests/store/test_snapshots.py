"""Commits: one snapshot each, by the wire format, and readers at any of them. The oracle is pyboltzmann."""

from __future__ import annotations

import datetime as dt
import itertools
import json

import pytest
from boltzmann.blocks.base import Block as TheirBlock
from boltzmann.identity.digest import BlockId
from boltzmann.merkle.tree import MerkleTree
from boltzmann.module.composition import Composition
from boltzmann.module.snapshot import Snapshot as TheirSnapshot
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import ACTOR, NOW, commit, derivation, fact, facts, original

from consilience.protocol import Actor, ActorKind, MemoryType, format_digest, sha256, snapshot
from consilience.store import Store, View
from consilience.store.verify import verify
from consilience.store.writer import _later


def agree(view: View) -> None:
    """That pyboltzmann reads this snapshot and finds the same roots, compositions and proofs."""
    assert view.snapshot is not None
    theirs = TheirSnapshot.from_document(view.snapshot.document)
    assert str(theirs.digest) == format_digest(view.snapshot.digest)
    assert {m.memory_type.value for m in view.modules()} == {k.value for k in theirs.modules}
    for state in view.modules():
        ids = [BlockId.parse(format_digest(i)) for i in view.sorted_ids(state.memory_type)]
        reference = next(r for k, r in theirs.modules.items() if k.value == state.memory_type.value)
        composition = Composition(memory_type=reference.memory_type, block_ids=ids)
        assert str(reference.root) == format_digest(state.root) == str(MerkleTree(ids).root)
        assert str(reference.composition) == format_digest(state.composition)
        assert sha256(composition.document()) == state.composition
        assert reference.block_count == state.count == len(ids) == view.count(state.memory_type)


def test_roots_compositions_snapshots_and_proofs_agree_with_pyboltzmann(store: Store) -> None:
    blocks = facts(0, 40)
    with store.write(ACTOR, NOW) as writer:
        source = original(writer, b"file", "file.md")
        writer.add_many(blocks)
        writer.add_many([derivation(b, source, f"L{i}") for i, b in enumerate(blocks)])
    with store.view() as view:
        agree(view)
        ids = [BlockId.parse(format_digest(i)) for i in view.sorted_ids(MemoryType.SEMANTIC)]
        tree = MerkleTree(ids)
        for block in blocks[:7]:
            proof, _ = view.prove(block.id)
            theirs = tree.inclusion_proof(BlockId.parse(format_digest(block.id)))
            assert json.loads(proof.document()) == json.loads(theirs.model_dump_json())
        for stored in view.scan():
            assert stored.data is not None
            assert str(TheirBlock.decode(stored.data).block_id) == format_digest(stored.id)


def test_one_commit_is_one_snapshot_and_its_parent_is_the_head(store: Store) -> None:
    writers = [commit(store, facts(i, i + 2)) for i in range(0, 6, 2)]
    made = [w.snapshot for w in writers]
    assert all(s is not None for s in made)
    with store.view() as view:
        history = view.history()
        assert history == list(reversed(made)) and view.history(1) == [made[-1]]
        assert [s.seq for s in history] == [3, 2, 1]
        assert [s.parents for s in history] == [(history[1].digest,), (history[2].digest,), ()]
        assert [s.max_n for s in history] == [6, 4, 2]
        assert all(s.digest == sha256(s.document) and s.actor == ACTOR for s in history)
        assert view.snapshot == history[0]


def test_the_snapshot_names_its_actor_beside_the_document(store: Store) -> None:
    named = Actor(id="example/bot", kind=ActorKind.AGENT, name="A bot ñ")
    with store.write(named, NOW) as writer:
        writer.add(fact("x"))
    assert writer.snapshot is not None and b"bot" not in writer.snapshot.document
    with store.view() as view:
        assert view.snapshot is not None and view.snapshot.actor == named


def test_a_commit_that_changes_nothing_makes_no_snapshot(store: Store) -> None:
    commit(store, facts(0, 2))
    for _ in range(2):
        writer = commit(store, facts(0, 2))
        assert not writer.changed and writer.snapshot is None
    with store.write(ACTOR, NOW) as writer:
        pass
    assert writer.snapshot is None
    with store.view() as view:
        assert view.snapshot is not None and view.snapshot.seq == 1


def test_changes_that_cancel_out_make_no_snapshot(store: Store) -> None:
    a, b = facts(0, 2)
    commit(store, [a])
    with store.write(ACTOR, NOW) as writer:
        assert writer.withdraw([1, 1]) == 1 and writer.withdraw([1, 7]) == 0
        assert writer.changed and writer.count(MemoryType.SEMANTIC) == 0
        assert writer.add(a) == (1, True)
        writer.add(b)
        writer.withdraw([2])
        assert not writer.changed
    assert writer.snapshot is None and verify(store.path).ok
    assert commit(store, [b]).max_n == 2 and verify(store.path).ok
    with store.view() as view:
        agree(view)
        assert [(b.n, b.id) for b in view.scan()] == [(1, a.id), (2, b.id)]


def test_an_exception_leaves_no_trace(store: Store) -> None:
    commit(store, facts(0, 2))
    with pytest.raises(RuntimeError), store.write(ACTOR, NOW) as writer:
        writer.add_many(facts(2, 9))
        raise RuntimeError
    assert writer.snapshot is None
    with store.view() as view:
        assert view.max_n == 2 and view.ordinals([fact("x").id]) == {}
    assert commit(store, facts(2, 3)).max_n == 3


def test_modules_appear_when_they_have_blocks_and_stay_when_emptied(store: Store) -> None:
    a = fact("a")
    commit(store, [a])
    commit(store, [derivation(a, fact("b"))], withdraw=[a])
    with store.view() as view:
        assert [(m.memory_type, m.count) for m in view.modules()] == [
            (MemoryType.SEMANTIC, 0),
            (MemoryType.PROVENANCE, 1),
        ]
        agree(view)


def test_the_writer_knows_the_roots_before_it_commits(store: Store) -> None:
    commit(store, facts(0, 5))
    with store.write(ACTOR, NOW) as writer:
        writer.add_many(facts(5, 9))
        early = writer.modules()
        assert early == writer.modules()
        assert [b.n for b in writer.scan()] == list(range(1, 10))
        proof, root = writer.prove(facts(7, 8)[0].id)
        assert proof.tree_size == 9 and root == early[0].root
        writer.add_many(facts(9, 11))
        assert writer.modules() != early
        last = writer.modules()
    with store.view() as view:
        assert view.modules() == last


# --- older snapshots ----------------------------------------------------------------------------------------


def test_an_older_snapshot_is_whole(store: Store) -> None:
    a, b, c = facts(0, 3)
    steps: list[tuple[list[object], list[object], set[bytes]]] = [
        ([a, b], [], {a.id, b.id}),
        ([c], [a], {b.id, c.id}),
        ([a], [b], {a.id, c.id}),
        ([], [a, c], set()),
        ([a, b, c], [], {a.id, b.id, c.id}),
        ([fact("d")], [c], {a.id, b.id, fact("d").id}),
    ]
    made = [commit(store, add, withdraw=gone).snapshot for add, gone, _ in steps]  # type: ignore[arg-type]
    ns = {1: a.id, 2: b.id, 3: c.id, 4: fact("d").id}
    for snapshot_info, (_, _, members) in zip(made, steps, strict=True):
        assert snapshot_info is not None
        with store.view(snapshot_info.digest) as view:
            assert view.snapshot == snapshot_info
            assert set(view.sorted_ids(MemoryType.SEMANTIC)) == members
            assert {b.id for b in view.scan()} == members == {ns[n] for n in view.members([1, 2, 3, 4, 5])}
            assert [s.seq for s in view.history()] == list(range(snapshot_info.seq, 0, -1))
            agree(view)
            for member in members:
                assert view.prove(member)[1] == view.modules()[0].root  # type: ignore[arg-type]
    first = made[0]
    assert first is not None
    with store.view(first.digest) as view:
        assert view.max_n == 2 and view.ordinals([c.id]) == {} and view.find_prefix(c.id.hex()) == []


def test_labels_and_trust_are_carried_forward(store: Store) -> None:
    """A commit keeps what it does not know how to change (WIRE 7)."""
    commit(store, [fact("a")])
    raw = store._writing_connection()
    document = raw.rows("SELECT document FROM snapshots")[0][0]
    parsed = snapshot.parse(document)
    labelled = snapshot.document(
        snapshot.Snapshot(
            created_at=parsed.created_at, modules=parsed.modules, labels={"release": "1", "😀": "x"}
        )
    )
    raw.run("UPDATE snapshots SET document = ?, digest = ?", (labelled, sha256(labelled)))
    raw.close()
    made = commit(store, [fact("b")]).snapshot
    assert made is not None and snapshot.parse(made.document).labels == {"release": "1", "😀": "x"}
    assert made.parents == (sha256(labelled),)


# --- time ---------------------------------------------------------------------------------------------------


def test_a_clock_that_jumps_back_does_not_disorder_history(store: Store) -> None:
    times = [NOW, NOW, NOW - dt.timedelta(days=400), NOW + dt.timedelta(seconds=9, microseconds=999_999)]
    seen = []
    for i, now in enumerate(times):
        with store.write(ACTOR, now) as writer:
            writer.add(fact(f"{i}"))
        assert writer.snapshot is not None and writer.snapshot.created_at == writer.at
        seen.append(writer.at)
    assert seen == [f"2026-03-01T12:00:0{s}Z" for s in (0, 1, 2, 9)]


@settings(max_examples=200)
@given(st.datetimes(min_value=dt.datetime(1, 1, 2)), st.datetimes(min_value=dt.datetime(1, 1, 2)))
def test_times_ascend(now: dt.datetime, head: dt.datetime) -> None:
    before = _later(head, None)
    after = _later(now, before)
    assert after > before or before == "9999-12-31T23:59:59Z"
    assert len(after) == 20


@pytest.mark.parametrize("head", ["2026-02-31T00:00:00Z", "9999-12-31T23:59:59Z", "2099-99-99T99:99:99Z"])
def test_a_head_whose_time_is_no_time(head: str) -> None:
    """The wire format checks the shape of a time and not the calendar; such a head must not stop writers."""
    assert len(_later(NOW, head)) == 20


# --- stillness ----------------------------------------------------------------------------------------------


def test_a_view_sees_one_snapshot_whatever_is_committed(store: Store) -> None:
    commit(store, facts(0, 3))
    with store.view() as before, store.write(ACTOR, NOW) as writer:
        writer.add_many(facts(3, 2_500))
        with store.view() as during:
            assert during.max_n == 3 and during.count(MemoryType.SEMANTIC) == 3
        rest = before.scan()
        assert next(rest).n == 1
        writer.__exit__(None, None, None)
        with store.view() as after:
            assert after.max_n == 2_500 and after.count(MemoryType.SEMANTIC) == 2_500
        assert [b.n for b in rest] == [2, 3]
        assert before.max_n == 3 and before.find_prefix("", limit=9) == sorted(b.id for b in facts(0, 3))
        agree(before)


def test_a_scan_left_half_way_does_not_hold_its_connection_back(store: Store) -> None:
    commit(store, facts(0, 1_500))
    for _ in range(3):
        with store.view() as view:
            rest = itertools.islice(view.scan(), 3)
            assert [b.n for b in rest] == [1, 2, 3]
        n = view.snapshot.max_n if view.snapshot else 0
        commit(store, [fact(f"after {n}")])
        with store.view() as view:
            assert view.max_n == n + 1
