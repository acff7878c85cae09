"""Writing history that was made elsewhere: snapshots with their own documents, and the blocks that joined and
left at each.

The counterpart of `Writer.add_many`, which makes one snapshot of its own. What is written here is the same:
the rows of a block, its membership, and in the same transaction what its record says in the ledger.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from consilience.errors import IntegrityError
from consilience.protocol import (
    Actor,
    Derivation,
    Digest,
    MemoryType,
    Record,
    canonical,
    format_digest,
    sha256,
)
from consilience.store.codec import ERASED, PACKED, RAW
from consilience.store.connection import marks
from consilience.store.ledger import INSERTS, rows_of
from consilience.store.reads import BlockReads, chunks
from consilience.store.redaction import destroy_blocks, destroy_content, note_erasing, refusal
from consilience.store.schema import CODE
from consilience.store.writer import Writer, seal_of

__all__ = ["Replay", "ReplayedBlock", "erased_originals"]

_INSERT = "INSERT INTO blocks (n, id, type, entered, enc, data) VALUES (?, ?, ?, ?, ?, ?)"


class ReplayedBlock(msgspec.Struct, frozen=True):
    """A block to be written: its checked envelope, None where there are no bytes, and its record if it is
    one."""

    id: Digest
    memory_type: MemoryType
    data: bytes | None
    record: Record | None = None


class Replay:
    """Snapshots after the head of a writer, one after the other. The writer's own commit makes none.

    Per snapshot: `join` and `leave` any number of times, then `snapshot`. Everything happens in the writer's
    transaction and is undone with it.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._db = writer.connection
        self._seq = writer.base.seq + 1 if writer.base else 1
        writer._seq = self._seq

    def join(self, blocks: Iterable[ReplayedBlock]) -> None:
        """Blocks become members. Those that are stored already keep their ordinals and bytes.

        Raises IntegrityError for bytes that do not hash to their id.
        """
        for part in chunks(blocks, 2_000):
            for block in part:
                if block.data is not None and sha256(block.data) != block.id:
                    raise IntegrityError(f"a block's bytes do not hash to its id {format_digest(block.id)}")
            known = self._ordinals([block.id for block in part])
            fresh = [block for block in part if block.id not in known]
            first = self._writer._next
            self._writer._next += len(fresh)
            numbered = list(enumerate(fresh, first))
            known.update((block.id, n) for n, block in numbered)
            self._insert(numbered, known)
            self._writer._come_back([known[b.id] for b in part if known[b.id] < first])

    def leave(self, ids: Iterable[bytes]) -> None:
        """Members leave; their rows stay."""
        for part in chunks(ids):
            known = self._ordinals(part)
            self._db.run_many(
                "UPDATE blocks SET departed = ? WHERE n = ?", [(self._seq, n) for n in known.values()]
            )

    def refill(self, blocks: Iterable[ReplayedBlock]) -> None:
        """Give blocks that are stored without bytes their bytes, and the ledger what their records say.

        Raises PolicyError for one that was redacted here and not readmitted since.
        """
        for part in chunks(blocks, 2_000):
            for redaction in self._writer.redactions([block.id for block in part]).values():
                if not redaction.readmitted:
                    raise refusal(redaction)
            known = self._ordinals([block.id for block in part])
            records = [(known[b.id], b.record) for b in part if b.record is not None]
            self._writer._number(records, known)
            rows = [(*self._db.codec.pack_block(b.data), known[b.id]) for b in part if b.data is not None]
            self._db.run_many("UPDATE blocks SET enc = ?, data = ? WHERE n = ?", rows)
            note_erasing(self._db, {row[2] for row in rows})
            self._say(records, known)

    def destroy(self, ids: Iterable[bytes], contents: Mapping[bytes, Sequence[bytes]]) -> int:
        """Destroy the bytes of blocks that this history redacted, and originals with the canonical blocks they
        go with; how many blocks had some. What lies outside of the database is put on the list of what is to be
        erased."""
        known = self._ordinals(list(ids))
        gone = destroy_blocks(self._db, known.values())
        files = [destroy_content(self._db, digest, blocks) for digest, blocks in contents.items()]
        note_erasing(self._db, [n for n, *_ in gone], [file for file in files if file])
        return len(gone)

    def note_erased(self, digest: bytes, blocks: Sequence[bytes]) -> None:
        """An original that was destroyed with these canonical blocks before it could come here."""
        self._db.run(
            "INSERT OR IGNORE INTO content (digest, size, enc, data) VALUES (?, 0, ?, ?)",
            (digest, ERASED, b"".join(sorted(blocks))),
        )

    def snapshot(self, digest: Digest, document: bytes, actor: Actor) -> None:
        """Close a snapshot: what joined and left since the last one is its change."""
        by = canonical.encode_struct(actor)
        self._db.run(
            "INSERT INTO snapshots (seq, digest, document, max_n, actor, seal) VALUES (?, ?, ?, ?, ?, ?)",
            (self._seq, digest, document, self._writer.max_n, by, seal_of(digest, by)),
        )
        self._seq += 1
        self._writer._seq = self._seq

    def _ordinals(self, ids: Sequence[bytes]) -> dict[bytes, int]:
        found: dict[bytes, int] = {}
        for part in chunks(ids):
            found.update(self._db.rows(f"SELECT id, n FROM blocks WHERE id IN ({marks(part)})", part))
        return found

    def _insert(self, new: Sequence[tuple[int, ReplayedBlock]], ordinals: dict[bytes, int]) -> None:
        writer = self._writer
        records = [(n, b.record) for n, b in new if b.record is not None]
        writer._number(records, ordinals)
        packed, rows = set(), []
        for n, block in new:
            form = None
            if block.data is None:
                stored: tuple[int, bytes | None] = (RAW, None)
            else:
                if isinstance(block.record, Derivation):
                    form = writer._packer.pack(n, block.data, block.record, ordinals)
                stored = (PACKED, form) if form is not None else self._db.codec.pack_block(block.data)
            if form is not None:
                packed.add(n)
            rows.append((n, block.id, CODE[block.memory_type], self._seq, *stored))
        self._db.run_many(_INSERT, rows)
        writer._arrive([(n, block.id) for n, block in new])
        self._say(records, ordinals, packed)

    def _say(
        self,
        records: Sequence[tuple[int, Record]],
        ordinals: Mapping[bytes, int],
        packed: Collection[int] = (),
    ) -> None:
        said = rows_of(records, ordinals.__getitem__, packed)
        for table, sql in INSERTS.items():
            self._db.run_many(sql, getattr(said, table))


def erased_originals(view: BlockReads) -> dict[Digest, tuple[bytes, ...]]:
    """Originals whose bytes were destroyed, each with the canonical blocks it went with."""
    rows = view.connection.rows("SELECT digest, data FROM content WHERE enc = ?", (ERASED,))
    return {Digest(digest): tuple(said[i : i + 32] for i in range(0, len(said), 32)) for digest, said in rows}
