"""Blocks and originals in, and what readers make of them."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest
from stores import ACTOR, NOW, commit, derivation, fact, facts, registration

from consilience.errors import BlockNotFoundError, IntegrityError, NotFoundError, StorageError
from consilience.protocol import Block, Digest, MemoryType, format_digest, merkle, sha256, verify_inclusion
from consilience.store import Store
from consilience.store.codec import RAW, ZSTD, ZSTD_DICTIONARY_V1, Codec, DecodeError
from consilience.store.content import INLINE_LIMIT
from consilience.store.dictionary import DICTIONARY_V1


def test_ordinals_ascend_from_one_and_stay(store: Store) -> None:
    first, second = facts(0, 3), facts(2, 5)
    with store.write(ACTOR, NOW) as writer:
        assert writer.add_many(first) == [(1, True), (2, True), (3, True)]
        assert writer.max_n == 3
    with store.write(ACTOR, NOW) as writer:
        assert writer.add_many(second) == [(3, False), (4, True), (5, True)]
    with store.view() as view:
        ids = [b.id for b in facts(0, 5)]
        assert view.ordinals([*ids, sha256(b"?")]) == {i: n for n, i in enumerate(ids, 1)}
        assert view.ids([1, 5, 9]) == {1: ids[0], 5: ids[4]}
        assert view.max_n == 5


def test_a_block_said_twice_in_one_call_is_one(store: Store) -> None:
    block = fact("once")
    with store.write(ACTOR, NOW) as writer:
        assert writer.add_many([block, block]) == [(1, True), (1, False)]
    with store.view() as view:
        assert view.count(MemoryType.SEMANTIC) == 1


def test_blocks_come_back_in_the_order_asked_and_missing_ones_are_left_out(store: Store) -> None:
    blocks = facts(0, 1_200)
    commit(store, blocks)
    ns = random.Random(1).sample(range(1, 1_201), 1_200)
    with store.view() as view:
        found = view.blocks([*ns[:5], 0, 7_777, *ns[5:], ns[0]])
        assert [b.n for b in found] == [*ns, ns[0]]
        assert all(b.data == blocks[b.n - 1].data and b.id == blocks[b.n - 1].id for b in found)
        assert all(b.intact and b.memory_type is MemoryType.SEMANTIC for b in found)


def test_scan_is_in_order_by_module_and_after(store: Store) -> None:
    source = fact("source")
    blocks = facts(0, 1_500)
    commit(store, [source, *blocks, *(derivation(b, source) for b in blocks[:30])])
    with store.view() as view:
        assert [b.n for b in view.scan()] == list(range(1, 1_532))
        assert [b.n for b in view.scan([MemoryType.PROVENANCE])] == list(range(1_502, 1_532))
        assert [b.n for b in view.scan([MemoryType.SEMANTIC], after=1_499)] == [1_500, 1_501]
        assert list(view.scan([])) == [] and list(view.scan([MemoryType.EPISODIC])) == []


def test_prefixes(store: Store) -> None:
    blocks = facts(0, 300)
    commit(store, blocks)
    ids = sorted(b.id for b in blocks)
    with store.view() as view:
        for digits in ("", "a", "AB", "sha256:", ids[7].hex()[:5], format_digest(ids[7])):
            bare = digits.lower().removeprefix("sha256:")
            assert view.find_prefix(digits, limit=1_000) == [i for i in ids if i.hex().startswith(bare)]
        assert view.find_prefix("", limit=4) == ids[:4]
        for text in ("xyz", "sha256", "0" * 65, "a b", "é"):
            assert view.find_prefix(text) == []


def test_bytes_that_are_not_the_ids_are_refused(store: Store) -> None:
    good = fact("good")
    forged = Block(good.memory_type, good.schema_version, good.payload, good.data, sha256(b"other"))
    with pytest.raises(IntegrityError), store.write(ACTOR, NOW) as writer:
        writer.add_many([good, forged])
    with store.view() as view:
        assert view.snapshot is None and view.max_n == 0
    with store.write(ACTOR, NOW) as writer:
        with pytest.raises(IntegrityError):
            writer.add(forged)
        writer.add(good)
    assert writer.snapshot is not None


def test_every_member_is_provable(store: Store) -> None:
    source = fact("source")
    blocks = facts(0, 21)
    commit(store, [source, *blocks, *(derivation(b, source) for b in blocks)])
    with store.view() as view:
        roots = {m.memory_type: m.root for m in view.modules()}
        for block in view.scan():
            proof, root = view.prove(block.id)
            assert root == roots[block.memory_type]
            assert verify_inclusion(proof, root) and proof.block_id == block.id
        with pytest.raises(BlockNotFoundError):
            view.prove(sha256(b"nothing"))


def test_a_proof_that_does_not_reach_the_root_is_not_given(store: Store) -> None:
    blocks = facts(0, 5)
    commit(store, blocks)
    raw = store._writing_connection()
    raw.run("DELETE FROM blocks WHERE n = 3")
    raw.close()
    with store.view() as view:
        proof, root = view.prove(blocks[0].id)
        assert proof.tree_size == 5 and verify_inclusion(proof, root)
    shutil.rmtree(store.path / "derived")
    with Store.open(store.path) as again, again.view() as view, pytest.raises(IntegrityError):
        view.prove(blocks[0].id)


# --- originals ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "compressible", "inline"),
    [
        (0, True, True),
        (1, True, True),
        (5_000, True, True),
        (5_000_000, True, True),
        (INLINE_LIMIT + 1, False, False),
        (9 << 20, False, False),
    ],
)
def test_originals_come_back_as_they_were(store: Store, size: int, compressible: bool, inline: bool) -> None:
    data = (
        (b"All about wells. " * (size // 17 + 1))[:size] if compressible else random.Random(2).randbytes(size)
    )
    with store.write(ACTOR, NOW) as writer:
        ref = writer.put_content(data, "text/plain")
        assert (ref.size, ref.media_type, ref.blob) == (size, "text/plain", format_digest(sha256(data)))
        assert writer.put_content(data, "text/plain") == ref
        writer.add(fact("something"))
    files = [p for p in (store.path / "content").rglob("*") if p.is_file()]
    assert (files == []) is inline
    with store.view() as view:
        assert view.has_content(sha256(data)) and view.content(sha256(data)) == data
        assert not view.has_content(sha256(b"?"))
        with pytest.raises(NotFoundError):
            view.content(sha256(b"?"))


def test_a_large_original_is_a_file_that_other_tools_can_check(store: Store) -> None:
    data = random.Random(3).randbytes(INLINE_LIMIT + 5)
    text = random.Random(4).randbytes(INLINE_LIMIT).hex().encode() * 2
    with store.write(ACTOR, NOW) as writer:
        writer.put_content(data, "application/pdf")
        writer.put_content(text, "text/plain")
        writer.add(fact("something"))
    hashed, packed = (sha256(d).hex() for d in (data, text))
    assert (store.path / "content" / hashed[:2] / hashed).read_bytes() == data
    assert (store.path / "content" / packed[:2] / f"{packed}.zst").is_file()


def test_damaged_and_missing_originals(store: Store) -> None:
    data = random.Random(5).randbytes(INLINE_LIMIT + 5)
    with store.write(ACTOR, NOW) as writer:
        writer.put_content(data, "application/pdf")
        writer.add(fact("something"))
    (path,) = [p for p in (store.path / "content").rglob("*") if p.is_file()]
    path.write_bytes(data[:-1] + b"?")
    with store.view() as view:
        with pytest.raises(IntegrityError):
            view.content(sha256(data))
        path.unlink()
        with pytest.raises(StorageError, match="gone"):
            view.content(sha256(data))


def test_content_without_a_new_member_makes_no_snapshot_and_is_kept(store: Store) -> None:
    with store.write(ACTOR, NOW) as writer:
        writer.put_content(b"later", "text/plain")
    assert writer.snapshot is None
    with store.view() as view:
        assert view.snapshot is None and view.content(sha256(b"later")) == b"later"


def test_what_a_killed_writer_left_half_written_goes_away(store: Store) -> None:
    rest = store.path / "content" / "tmp" / ("0" * 64)
    rest.parent.mkdir(parents=True)
    rest.write_bytes(b"half")
    commit(store, [fact("x")])
    assert not rest.exists()


def test_a_disk_that_refuses_the_original_leaves_the_old_snapshot(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(store, [fact("old")])

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(StorageError, match="No space left"), store.write(ACTOR, NOW) as writer:
        writer.add(fact("new"))
        monkeypatch.setattr(os, "fsync", full)
        writer.put_content(random.Random(6).randbytes(INLINE_LIMIT + 5), "application/pdf")
    monkeypatch.undo()
    assert [p for p in (store.path / "content").rglob("*") if p.is_file()] == []
    with store.view() as view:
        assert view.count(MemoryType.SEMANTIC) == 1


# --- encoding -----------------------------------------------------------------------------------------------


def test_the_dictionary_never_changes() -> None:
    """Stored blocks refer to its bytes: another dictionary needs another encoding number."""
    assert sha256(DICTIONARY_V1).hex() == "82bbc9d275050e00978b9ab7214b98ec9b866f5aa37aa0f032e9a2f9702d774e"


def test_records_compress_well_and_noise_stays_raw() -> None:
    codec = Codec()
    record = registration(fact("x"), "docs/guide.md").data
    enc, stored = codec.pack_block(record)
    assert enc == ZSTD_DICTIONARY_V1 and len(stored) < len(record) / 2
    assert codec.unpack(enc, stored) == record
    noise = random.Random(7).randbytes(300)
    assert codec.pack_block(noise) == (RAW, noise)
    assert codec.pack_content(noise) == (RAW, noise)
    assert codec.pack_content(b"a" * 300)[0] == ZSTD


@pytest.mark.parametrize("enc", [-1, 3, None, "1", ZSTD, ZSTD_DICTIONARY_V1])
def test_what_does_not_decode_says_so(enc: int) -> None:
    with pytest.raises(DecodeError):
        Codec().unpack(enc, b"\x28\xb5\x2f\xfdnonsense")


def test_a_damaged_block_takes_no_other_with_it(store: Store, tmp_path: Path) -> None:
    blocks = facts(0, 3)
    commit(store, blocks)
    raw = store._writing_connection()
    raw.run("UPDATE blocks SET data = ? WHERE n = 2", (b"\x28\xb5\x2f\xfd damaged",))
    raw.close()
    with store.view() as view:
        found = view.blocks([1, 2, 3])
    assert [b.intact for b in found] == [True, False, True]
    assert Digest(found[1].id) == blocks[1].id


def test_the_leaves_are_the_sorted_ids(store: Store) -> None:
    blocks = facts(0, 50)
    commit(store, blocks)
    with store.view() as view:
        leaves = view.sorted_ids(MemoryType.SEMANTIC)
        assert leaves == sorted(b.id for b in blocks)
        assert view.modules()[0].root == merkle.root(leaves)
        assert view.sorted_ids(MemoryType.EPISODIC) == []
