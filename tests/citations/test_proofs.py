"""Proof files made from brains, and checked without them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from stores import ACTOR, NOW, commit, derivation, fact, facts, original, supersession

from consilience.citations.proofs import MAX_RECORDS, check_proof, prove_blocks
from consilience.errors import BlockNotFoundError, IntegrityError, NotFoundError
from consilience.protocol import Digest, format_digest
from consilience.store import Store, View


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.create(tmp_path / "brain") as made:
        yield made


def test_every_block_of_a_brain_proves_itself(store: Store) -> None:
    with store.write(ACTOR, NOW) as writer:
        file = original(writer, b"text", "a.md")
        made = facts(0, 20)
        writer.add_many([*made, *(derivation(block, file) for block in made)])
    with store.view() as view:
        blocks = [*view.scan()]
        snapshot = view.snapshot
        data = prove_blocks(view, "station", [block.id for block in blocks])
    assert snapshot is not None
    report = check_proof("p.json", data)
    assert report.ok and report.snapshot == format_digest(snapshot.digest) and not report.pinned
    assert [b.block_id for b in report.blocks] == [format_digest(block.id) for block in blocks]
    assert {b.memory_type for b in report.blocks} == {block.memory_type for block in blocks}
    assert check_proof("p.json", data, snapshot.digest).pinned
    refused = check_proof("p.json", data, Digest(b"\1" * 32))
    assert not refused.ok and "is against snapshot" in str(refused.error) and refused.blocks == ()


def test_records_go_along_when_asked(store: Store) -> None:
    a, b, source = fact("a"), fact("b"), fact("source")
    records = [derivation(a, source), supersession(b, a)]
    commit(store, [a, b, source, *records])
    with store.view() as view:
        alone = check_proof("", prove_blocks(view, "x", [a.id]))
        told = check_proof("", prove_blocks(view, "x", [a.id, records[0].id, a.id], records=True))
    assert [b.block_id for b in alone.blocks] == [format_digest(a.id)]
    assert [b.block_id for b in told.blocks] == [format_digest(x.id) for x in (a, records[0], records[1])]


def test_a_proof_stays_small_whatever_is_said_of_a_block(store: Store) -> None:
    a, *sources = facts(0, 150)
    commit(store, [a, *sources, *(derivation(a, source) for source in sources)])
    with store.view() as view:
        report = check_proof("", prove_blocks(view, "x", [a.id], records=True))
    assert report.ok and len(report.blocks) == 1 + MAX_RECORDS


def test_a_redacted_block_is_proven_without_its_bytes(store: Store) -> None:
    a, b = facts(0, 2)
    commit(store, [a, b])
    with store.write(ACTOR, NOW) as writer:
        writer.destroy(writer.ordinals([a.id]).values(), {})
    with store.view() as view:
        data = prove_blocks(view, "x", [a.id])
    assert b"Statement number 0" not in data
    (block,) = check_proof("", data).blocks
    assert (block.content, block.redacted) == (None, True)


def test_an_older_snapshot_proves_what_it_held(store: Store) -> None:
    a, b = facts(0, 2)
    first = commit(store, [a, b]).snapshot
    commit(store, [], withdraw=[a])
    assert first is not None
    with store.view(first.digest) as view:
        data = prove_blocks(view, "x", [a.id])
    assert check_proof("", data).snapshot == format_digest(first.digest)
    with store.view() as view, pytest.raises(BlockNotFoundError, match="no member at this snapshot"):
        prove_blocks(view, "x", [a.id])


def test_nothing_is_proven_of_what_is_not_there(store: Store) -> None:
    (a,) = facts(0, 1)
    with store.view() as view, pytest.raises(NotFoundError):
        prove_blocks(view, "x", [a.id])
    commit(store, facts(1, 2))
    with store.view() as view, pytest.raises(BlockNotFoundError):
        prove_blocks(view, "x", [a.id])


def test_a_damaged_brain_gives_no_proof(store: Store) -> None:
    import contextlib
    import sqlite3

    a, b = facts(0, 2)
    commit(store, [a, b])
    with contextlib.closing(sqlite3.connect(store.path / "brain.db")) as raw, raw:
        raw.execute("UPDATE blocks SET departed = 1 WHERE n = 2")

    def proven(view: View) -> bytes:
        return prove_blocks(view, "x", [a.id])

    with store.view() as view, pytest.raises(IntegrityError, match="would not hold"):
        proven(view)


def test_a_file_that_is_none_says_why() -> None:
    for data, said in {
        b"{}": "format",
        b"": "not JSON",
        b"\xff": "UTF-8",
        b'{"format":"consilience.proof/9"}': "/9",
    }.items():
        report = check_proof("p", data)
        assert not report.ok and said in str(report.error) and report.blocks == ()


def test_the_file_is_one_line_of_json(store: Store) -> None:
    (a,) = facts(0, 1)
    commit(store, [a])
    with store.view() as view:
        data = prove_blocks(view, "x", [a.id])
    assert data.endswith(b"}\n") and data.count(b"\n") == 1
    assert sorted(json.loads(data)) == ["brain", "format", "leaves", "snapshot", "snapshot_digest"]
