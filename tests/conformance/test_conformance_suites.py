"""The behavioural suites of pyboltzmann[conformance], run on our store and our brain through `oracle_adapter`."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from boltzmann import conformance
from boltzmann.blocks.memory_type import MemoryType
from boltzmann.conformance import (
    BlockStoreConformance,
    BrainReaderConformance,
    sample_canonical,
    sample_semantic,
)
from boltzmann.exceptions import BlockIntegrityError, BlockNotFoundError, BlockTombstonedError
from boltzmann.protocol.operations import BrainReader
from boltzmann.store.base import BlockStore
from oracle_adapter import ReaderAdapter, StoreAdapter, seeded

from consilience.store import Store

SUITES = {
    "BlockStoreConformance": "",
    "BrainReaderConformance": "",
    "AuthenticityConformance": "signatures are neither made nor checked",
    "IdentityConformance": "tests functions of pyboltzmann itself; test_agreement.py holds ours to them",
    "MerkleConformance": "tests functions of pyboltzmann itself; test_agreement.py holds ours to them",
    "CompositionConformance": "tests functions of pyboltzmann itself; test_agreement.py holds ours to them",
    "ReconciliationConformance": "two histories are not joined",
}
"""Every suite there is, and why it is not run here."""

NO_COUNTERPART = {
    "open_index": "an index is chosen by the planner and opened by nobody else (`explain` names it)",
    "browse": "catalog blocks are read and written; nothing walks them",
    "catalog_path": "catalog blocks are read and written; nothing walks them",
}
"""Operations of BrainReader that we do not offer."""

NO_POINTERS = {
    "read_pointer": "the head is a row of the database, and no other cell is named",
    "write_pointer": "the head moves with a commit alone",
}
"""Operations of BlockStore that we do not offer."""


def test_every_suite_is_run_or_listed() -> None:
    there_are = {name for name in conformance.__all__ if name.endswith("Conformance")}
    assert there_are == SUITES.keys()
    run = {base.__name__ for test in (TestStore, TestReader) for base in test.__bases__}
    assert run == {name for name, why in SUITES.items() if not why}


class TestStore(BlockStoreConformance):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make_store(self) -> Any:
        return StoreAdapter(Store.create(self.folder / "brain"))

    def test_the_adapter_has_every_operation_but_these(self) -> None:
        operations = {name for name in vars(BlockStore) if not name.startswith("_")}
        assert {name for name in operations if not hasattr(StoreAdapter, name)} == NO_POINTERS.keys()

    def test_a_flipped_bit_is_detected(self) -> None:
        """What test_corruption_is_detected says, of bytes that are damaged where they lie."""
        store = self.make_store()
        block_id, digest = store.put_block(sample_semantic()), store.put_bytes(b"an original")
        store.store.close()
        with sqlite3.connect(self.folder / "brain/brain.db") as raw:
            for table in ("blocks", "content"):
                raw.create_function("flipped", 1, lambda data: data[:-1] + bytes([data[-1] ^ 1]))
                raw.execute(f"UPDATE {table} SET data = flipped(data)")
        raw.close()
        store = StoreAdapter(Store.open(self.folder / "brain"))
        for read, name in ((store.get_block, block_id), (store.get_bytes, digest)):
            assert store.has(name)
            with pytest.raises(BlockIntegrityError):
                read(name)

    def test_what_was_deleted_is_missing_and_nothing_else(self) -> None:
        """test_delete_reclaims, and the other block is untouched."""
        store = self.make_store()
        gone, stays = store.put_block(sample_semantic("gone")), store.put_block(sample_semantic("stays"))
        store.delete(gone)
        with pytest.raises(BlockNotFoundError):
            store.get_block(gone)
        assert store.get_block(stays) == sample_semantic("stays")
        assert {digest.hex for digest in store.iter_digests()} >= {stays.hex}
        assert gone.hex not in {digest.hex for digest in store.iter_digests()}

    def test_a_block_and_an_original_of_the_same_name_do_not_meet(self) -> None:
        store = self.make_store()
        block = sample_canonical(b"original")
        digest = store.put_bytes(block.canonical_bytes())
        assert store.get_block(store.put_block(block)) == block
        assert store.get_bytes(digest) == block.canonical_bytes()


TEXT = """# Signals

A Fourier series writes a periodic function as a sum of sines and cosines.

The water tower of the northern farm holds four hundred litres of water.
"""


class TestReader(BrainReaderConformance):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def make_reader(self) -> Any:
        return ReaderAdapter(seeded(self.folder, TEXT))

    def test_satisfies_the_reader_contract(self) -> None:
        operations = {name for name in vars(BrainReader) if not name.startswith("_")}
        assert {name for name in operations if not hasattr(ReaderAdapter, name)} == NO_COUNTERPART.keys()
        pytest.skip(f"no counterpart of {', '.join(NO_COUNTERPART)}")

    def test_an_unregistered_index_is_refused_rather_than_faked(self) -> None:
        pytest.skip(f"open_index: {NO_COUNTERPART['open_index']}")

    def test_the_seeded_brain_has_what_the_suite_asks_for(self) -> None:
        reader = self.make_reader()
        assert len(reader.module(MemoryType.CANONICAL)) == 1
        assert all(
            block.MEMORY_TYPE is MemoryType.SEMANTIC for block in reader.module(MemoryType.SEMANTIC).blocks()
        )
        for memory_type in reader.snapshot().installed:
            assert reader.module(memory_type).verify()
            assert reader.module(memory_type).root == reader.root_of(memory_type)

    def test_every_member_of_every_module_proves_itself(self) -> None:
        reader = self.make_reader()
        for memory_type in reader.snapshot().installed:
            for block_id in reader.module(memory_type).block_ids:
                reader.prove(block_id, memory_type).require(reader.root_of(memory_type))
                assert reader.resolve(block_id).block_id == block_id

    def test_a_redacted_block_is_a_member_without_bytes(self) -> None:
        """Section 10.6 as well: it counts, it proves itself, it reads as tombstoned, and the brain is whole."""
        reader = self.make_reader()
        before = reader.module(MemoryType.SEMANTIC)
        gone, other = before.block_ids[:2]
        StoreAdapter(reader.brain.store).tombstone(gone, "erasure policy: personal data")
        after = reader.module(MemoryType.SEMANTIC)
        assert after.root == before.root == reader.root_of(MemoryType.SEMANTIC)
        assert reader.snapshot().modules[MemoryType.SEMANTIC].tombstones == [gone]
        assert reader.prove(gone, MemoryType.SEMANTIC).verify(after.root)
        for read in (reader.resolve, after.get):
            assert read(other).block_id == other
            with pytest.raises(BlockTombstonedError):
                read(gone)
        report = reader.resolvability()
        assert report.is_intact
        assert report.tombstoned == {MemoryType.SEMANTIC: [gone]}
        assert reader.verify()

    def test_damage_is_missing_and_not_verified(self) -> None:
        """The other side of test_reports_resolvability_three_ways and test_verifies_itself."""
        reader = self.make_reader()
        with sqlite3.connect(self.folder / "brain/brain.db") as raw:
            raw.execute("DELETE FROM content")
            raw.execute("UPDATE blocks SET data = x'00' WHERE type = 2")
        raw.close()
        report = reader.resolvability()
        assert not report.is_intact
        assert report.content_missing[MemoryType.CANONICAL]
        assert len(report.missing[MemoryType.SEMANTIC]) == len(reader.module(MemoryType.SEMANTIC))
        assert MemoryType.SEMANTIC not in report.resolvable
        assert not reader.verify()
