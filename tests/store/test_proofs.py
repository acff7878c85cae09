"""Membership is proven under the snapshot's root, whatever the database's rows and the kept trees say (C7)."""

from __future__ import annotations

import random
import sqlite3

import pytest
from stores import commit, fact, facts

from consilience.errors import CorruptStoreError, IntegrityError
from consilience.protocol import Block, MemoryType, merkle, verify_inclusion
from consilience.store import Store
from consilience.store.leaves import tree_file

KIND = MemoryType.SEMANTIC


def plant(store: Store, block: Block) -> int:
    """Write a block that is sound in itself into the database, as a member, past every rule."""
    with sqlite3.connect(store.path / "brain.db") as raw:
        (entered,) = raw.execute("SELECT max(seq) FROM snapshots").fetchone()
        (last,) = raw.execute("SELECT max(n) FROM blocks").fetchone()
        raw.execute(
            "INSERT INTO blocks VALUES (?, ?, 2, ?, NULL, 0, ?)", (last + 1, block.id, entered, block.data)
        )
        raw.execute("UPDATE snapshots SET max_n = ? WHERE seq = ?", (last + 1, entered))
    raw.close()
    return int(last) + 1


def proven(store: Store) -> dict[bytes, bool]:
    with store.view() as view:
        blocks = list(view.scan([KIND]))
        found = view.proven(blocks)
        return {b.id: b.n in found for b in blocks}


@pytest.mark.parametrize("count", [1, 2, 30, 300])
def test_every_member_is_proven(store: Store, count: int) -> None:
    commit(store, facts(0, count))
    commit(store, facts(count, count + 3), withdraw=facts(0, 1))
    assert all(proven(store).values()) and len(proven(store)) == count + 2


@pytest.mark.parametrize("restart", [False, True])
def test_a_planted_block_is_not_and_the_others_still_are(store: Store, restart: bool) -> None:
    commit(store, facts(0, 50))
    if not restart:
        assert all(proven(store).values())
    planted = fact("planted")
    plant(store, planted)
    with Store.open(store.path) as again:
        held = proven(again if restart else store)
    assert not held.pop(planted.id) and len(held) == 50 and all(held.values())
    with store.view() as view, pytest.raises(IntegrityError):
        view.prove(planted.id)


def test_the_next_commit_does_not_seal_a_planted_block(store: Store) -> None:
    commit(store, facts(0, 50))
    planted = fact("planted")
    plant(store, planted)
    commit(store, facts(60, 61))
    held = proven(store)
    assert not held.pop(planted.id) and len(held) == 51 and all(held.values())


def test_without_a_kept_tree_nothing_is_proven_beside_a_planted_block(store: Store) -> None:
    commit(store, facts(0, 50))
    for path in (store.path / "derived" / "merkle").iterdir():
        path.unlink()
    assert all(proven(store).values())
    with Store.open(store.path) as again:
        plant(again, fact("planted"))
        assert not any(proven(again).values())


def test_a_damaged_tree_costs_time_and_nothing_else(store: Store) -> None:
    commit(store, facts(0, 50))
    with store.view() as view:
        path = tree_file(store.path / "derived" / "merkle", KIND, view.modules()[0].root)
    sound = path.read_bytes()
    chosen = random.Random(5)
    for _ in range(40):
        at = chosen.randrange(len(sound))
        path.write_bytes(sound[:at] + bytes([sound[at] ^ 8]) + sound[at + 1 :])
        with Store.open(store.path) as again:
            assert all(proven(again).values()), at
    for damage in (b"", sound[:-1], sound + b"x", sound[:30]):
        path.write_bytes(damage)
        with Store.open(store.path) as again:
            assert all(proven(again).values())


def test_an_older_snapshot_proves_its_own_members(store: Store) -> None:
    gone, kept, later = facts(0, 3)
    commit(store, [gone, kept])
    with store.view() as view:
        assert view.snapshot is not None
        first = view.snapshot.digest
    commit(store, [later], withdraw=[gone])
    commit(store, facts(5, 9))
    with store.view(first) as view:
        blocks = view.blocks(list(view.ordinals([gone.id, kept.id]).values()))
        assert view.proven(blocks) == {b.n for b in blocks} and len(blocks) == 2
        proof, root = view.prove(gone.id)
        assert verify_inclusion(proof, root) and root == merkle.root(sorted([gone.id, kept.id]))
    with store.view() as view:
        assert not view.proven(view.blocks(list(view.ordinals([gone.id]).values())))


def test_the_document_of_the_head_is_hashed_when_it_is_opened(store: Store) -> None:
    commit(store, facts(0, 3))
    store.close()
    with sqlite3.connect(store.path / "brain.db") as raw:
        raw.execute("UPDATE snapshots SET document = cast(replace(document, '2026', '2027') AS BLOB)")
    raw.close()
    with Store.open(store.path) as again, pytest.raises(CorruptStoreError, match="does not hash"):
        again.view()
