"""The writer: one transaction, one commit, one snapshot."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from consilience.errors import (
    ConsilienceError,
    CorruptStoreError,
    IntegrityError,
    PolicyError,
    StorageError,
)
from consilience.protocol import (
    Actor,
    Block,
    ContentRef,
    Derivation,
    Digest,
    MemoryType,
    ModuleRef,
    Provenance,
    Record,
    Snapshot,
    canonical,
    format_digest,
    sha256,
    timestamp,
)
from consilience.protocol import snapshot as snapshots
from consilience.store import proofs
from consilience.store.codec import PACKED
from consilience.store.connection import CONTENT, Closed, Connection, inode_of, marks
from consilience.store.content import INLINE_LIMIT, write_file
from consilience.store.leaves import WORTH_KEEPING, Leaves, discard_trees
from consilience.store.ledger import INSERTS, named_by, rows_of, text_or_none
from consilience.store.packed import Packer
from consilience.store.reads import chunks, read_snapshots
from consilience.store.redaction import (
    RedactionReads,
    destroy_blocks,
    destroy_content,
    note_erasing,
    readmit_content,
    refusal,
)
from consilience.store.schema import CODE, MODULES
from consilience.store.values import ModuleState, SnapshotInfo
from consilience.store.view import module_states

__all__ = ["REFERENCES", "Writer", "seal_of"]

ADD_BLOCKS = 2_000
"""Blocks that are looked up and inserted together."""


class Writer(RedactionReads):
    """Everything a View answers, of this transaction's own state, and the ways to change it.

    A context manager, made by `Store.write`, which holds the write lock: it commits on normal exit and rolls
    back on an exception. A commit is one snapshot whose parent is the head before it; where no membership
    changed there is none, and `snapshot` is None.

    `at`: the time of this commit, RFC 3339 seconds, later than that of the head. `base`: the head before.
    """

    def __init__(
        self, connection: Connection, actor: Actor, now: datetime, release: Callable[[Connection], None]
    ) -> None:
        heads = read_snapshots(connection, "ORDER BY seq DESC LIMIT 1")
        self.base: SnapshotInfo | None = heads[0] if heads else None
        super().__init__(connection, self.base.seq + 1 if self.base else 1, at_head=True)
        self.actor = actor
        self.at = _later(now, self.base.created_at if self.base else None)
        self.snapshot: SnapshotInfo | None = None
        self._release: Callable[[Connection], None] | None = release
        self._parsed = snapshots.parse(self.base.document) if self.base else None
        self._next = max(self.base.max_n if self.base else 0, self._largest()) + 1
        self._next_absent = min(self._db.rows("SELECT coalesce(min(n), 0) FROM absent")[0][0], 0) - 1
        self._joined: dict[MemoryType, set[bytes]] = {m: set() for m in MODULES}
        self._left: dict[MemoryType, set[bytes]] = {m: set() for m in MODULES}
        self._emptied: dict[MemoryType, set[bytes]] = {m: set() for m in MODULES}
        self._refilled: dict[MemoryType, set[bytes]] = {m: set() for m in MODULES}
        self._refs: dict[MemoryType, ModuleRef] = {}
        self._leaves: dict[MemoryType, Leaves] = {}
        self._sealed: list[MemoryType] = []
        self._packer = Packer(connection)
        self._failed: ConsilienceError | None = None

    def _largest(self) -> int:
        return int(self._db.rows("SELECT coalesce(max(n), 0) FROM blocks")[0][0])

    @property
    def max_n(self) -> int:
        return self._next - 1

    @property
    def changed(self) -> bool:
        """Whether any membership or tombstone differs from the head's, so that a commit makes a snapshot."""
        return any(any(self._changes(m)) for m in MODULES)

    def _changes(self, memory_type: MemoryType) -> tuple[set[bytes], set[bytes], set[bytes], set[bytes]]:
        m = memory_type
        return self._joined[m], self._left[m], self._emptied[m], self._refilled[m]

    # --- blocks ---------------------------------------------------------------------------------------------

    def add(self, block: Block) -> tuple[int, bool]:
        """Make a block a member: its ordinal, and whether it was not one before. See `add_many`."""
        return self.add_many((block,))[0]

    def add_many(self, blocks: Iterable[Block]) -> list[tuple[int, bool]]:
        """Make blocks members, in order: each one's ordinal, and whether it was not one before.

        Provenance records update the ledger in the same transaction; they may come before the blocks they
        speak of, which costs more. Raises IntegrityError for bytes that do not hash to their id, PolicyError for
        those of a redacted block that nobody has readmitted; the blocks before them stay in the transaction.
        """
        added: list[tuple[int, bool]] = []
        for part in chunks(blocks, ADD_BLOCKS):
            self._writing()
            try:
                added.extend(self._add(part))
            except ConsilienceError as error:
                self._fail(error)
                raise
        return added

    def _add(self, blocks: Sequence[Block]) -> list[tuple[int, bool]]:
        for block in blocks:
            if sha256(block.data) != block.id:
                raise IntegrityError(f"a block's bytes do not hash to its id {format_digest(block.id)}")
        known = self._known([block.id for block in blocks])
        self._refill([b for b in blocks if b.id in known and not known[b.id][2]], known)
        self._heal([b for b in blocks if b.id in known and known[b.id][2]], known)
        new: list[tuple[int, Block]] = []
        added, back = [], []
        for block in blocks:
            n, is_member, _ = known.get(block.id, (0, False, True))
            if not n:
                n = self._next
                self._next += 1
                new.append((n, block))
            elif not is_member:
                back.append(n)
            known[block.id] = (n, True, True)
            added.append((n, not is_member))
            if not is_member:
                self._move(block.memory_type, block.id, self._left, self._joined)
        self._insert(new, {block_id: n for block_id, (n, _, _) in known.items()})
        self._come_back(back)
        return added

    def _insert(self, new: Sequence[tuple[int, Block]], ordinals: dict[bytes, int]) -> None:
        """Write the rows of new blocks, and what they say into the ledger."""
        records = [(n, b.payload.record) for n, b in new if isinstance(b.payload, Provenance)]
        self._number(records, ordinals)
        packed, rows = set(), []
        for n, block in new:
            form = None
            if isinstance(block.payload, Provenance) and isinstance(block.payload.record, Derivation):
                form = self._packer.pack(n, block.data, block.payload.record, ordinals)
            if form is not None:
                packed.add(n)
            stored = self._db.codec.pack_block(block.data) if form is None else (PACKED, form)
            rows.append((n, block.id, CODE[block.memory_type], self._seq, *stored))
        self._db.run_many(
            "INSERT INTO blocks (n, id, type, entered, enc, data) VALUES (?, ?, ?, ?, ?, ?)", rows
        )
        self._arrive([(n, block.id) for n, block in new])
        said = rows_of(records, ordinals.__getitem__, packed)
        for table, sql in INSERTS.items():
            self._db.run_many(sql, getattr(said, table))

    def _known(self, ids: Sequence[bytes]) -> dict[bytes, tuple[int, bool, bool]]:
        """Ordinal of the ids that are stored, whether they are members, whether their bytes are here."""
        found: dict[bytes, tuple[int, bool, bool]] = {}
        for part in chunks(ids):
            sql = f"SELECT id, n, departed IS NULL, data IS NOT NULL FROM blocks WHERE id IN ({marks(part)})"
            found.update((row[0], (row[1], bool(row[2]), bool(row[3]))) for row in self._db.rows(sql, part))
        return found

    def _refill(self, blocks: Sequence[Block], known: dict[bytes, tuple[int, bool, bool]]) -> None:
        """Give blocks back the bytes that they had lost. Raises PolicyError, before anything is written, for one that
        was redacted and not readmitted."""
        if not blocks:
            return
        for redaction in self.redactions([b.id for b in blocks]).values():
            if not redaction.readmitted:
                raise refusal(redaction)
        rows = [(*self._db.codec.pack_block(b.data), known[b.id][0]) for b in blocks]
        self._db.run_many("UPDATE blocks SET enc = ?, data = ? WHERE n = ?", rows)
        note_erasing(self._db, {row[2] for row in rows})
        for block in blocks:
            self._move(block.memory_type, block.id, self._emptied, self._refilled)
            if isinstance(block.payload, Provenance) and isinstance(block.payload.record, Derivation):
                row = (text_or_none(block.payload.record.locator), known[block.id][0])
                self._db.run("UPDATE derivation SET locator = ? WHERE record_n = ?", row)

    def _heal(self, blocks: Sequence[Block], known: dict[bytes, tuple[int, bool, bool]]) -> None:
        """Write blocks again whose stored bytes do not hash to their id. Records stay: other rows are made of them."""
        mine = {known[b.id][0]: b for b in blocks if b.memory_type is not MemoryType.PROVENANCE}
        damaged = [b.n for b in self.blocks(list(mine)) if not b.intact]
        rows = [(*self._db.codec.pack_block(mine[n].data), n) for n in damaged]
        self._db.run_many("UPDATE blocks SET enc = ?, data = ? WHERE n = ?", rows)

    def _move(
        self,
        memory_type: MemoryType,
        block_id: bytes,
        undone: dict[MemoryType, set[bytes]],
        done: dict[MemoryType, set[bytes]],
    ) -> None:
        """Note a change of membership against the head; two opposite ones cancel out."""
        if block_id in undone[memory_type]:
            undone[memory_type].discard(block_id)
        else:
            done[memory_type].add(block_id)
        self._refs.pop(memory_type, None)

    def withdraw(self, ns: Iterable[int]) -> int:
        """End the membership of blocks, whose bytes stay; how many were members. The record of why is the
        caller's."""
        self._writing()
        gone = []
        try:
            for part in chunks(dict.fromkeys(ns)):
                sql = f"SELECT n, type, id FROM blocks WHERE n IN ({marks(part)}) AND departed IS NULL"
                gone.extend(self._db.rows(sql, part))
            self._db.run_many(
                "UPDATE blocks SET departed = ? WHERE n = ?", [(self._seq, n) for n, _, _ in gone]
            )
        except ConsilienceError as error:
            self._fail(error)
            raise
        for _, code, block_id in gone:
            self._move(MODULES[code], block_id, self._joined, self._left)
        return len(gone)

    def _come_back(self, ns: Sequence[int]) -> None:
        """Blocks that had left are members again; the interval they had is kept."""
        for n in ns:
            entered, departed = self._db.rows("SELECT entered, departed FROM blocks WHERE n = ?", (n,))[0]
            if departed < self._seq:
                self._db.run(
                    "INSERT INTO earlier (n, entered, departed) VALUES (?, ?, ?)", (n, entered, departed)
                )
                entered = self._seq
            self._db.run("UPDATE blocks SET entered = ?, departed = NULL WHERE n = ?", (entered, n))

    # --- redaction ------------------------------------------------------------------------------------------

    def destroy(self, ns: Iterable[int], contents: Mapping[Digest, Sequence[Digest]]) -> int:
        """Destroy the bytes of blocks, which stay what they are, and of originals; how many blocks had some.

        `contents`: the digests of the originals, each with the canonical blocks that it goes with. The record of why
        is the caller's, in this same transaction. What lies outside of the database is put on the list of what is to
        be erased (`Store.finish_erasing`). A packer's texts that are gone are written again when needed.
        """
        self._writing()
        try:
            gone = destroy_blocks(self._db, ns)
            files = [destroy_content(self._db, digest, blocks) for digest, blocks in contents.items()]
            note_erasing(self._db, [n for n, *_ in gone], [file for file in files if file])
        except ConsilienceError as error:
            self._fail(error)
            raise
        self._packer = Packer(self._db)
        for _, code, block_id, is_member in gone:
            if is_member:
                self._move(MODULES[code], block_id, self._refilled, self._emptied)
        return len(gone)

    def readmit_content(self, blocks: Collection[Digest]) -> None:
        """Let originals in again that went with one of these canonical blocks. The record is the caller's."""
        self._writing()
        readmit_content(self._db, blocks)

    # --- the ledger -----------------------------------------------------------------------------------------

    def _number(self, records: Sequence[tuple[int, Record]], known: dict[bytes, int]) -> None:
        """Add to `known` the ordinals of the blocks that records speak of, negative for those not here."""
        wanted = {digest for _, record in records for digest in named_by(record)} - known.keys()
        if wanted:
            for table in ("blocks", "absent"):
                for part in chunks(wanted - known.keys()):
                    known.update(
                        self._db.rows(f"SELECT id, n FROM {table} WHERE id IN ({marks(part)})", part)
                    )
            missing = sorted(wanted - known.keys())
            numbered = [(self._next_absent - i, digest) for i, digest in enumerate(missing)]
            self._next_absent -= len(missing)
            self._db.run_many("INSERT INTO absent (n, id) VALUES (?, ?)", numbered)
            known.update((digest, n) for n, digest in numbered)

    def _arrive(self, new: Sequence[tuple[int, bytes]]) -> None:
        """Blocks that records spoke of before they were here: the ledger learns their ordinals."""
        if self._next_absent == -1:
            return
        for part in chunks(new):
            ids = {block_id: n for n, block_id in part}
            rows = self._db.rows(f"SELECT n, id FROM absent WHERE id IN ({marks(part)})", list(ids))
            for absent_n, block_id in rows:
                for table, column in REFERENCES:
                    self._db.run(
                        f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (ids[block_id], absent_n)
                    )
                self._db.run("DELETE FROM absent WHERE n = ?", (absent_n,))

    # --- content --------------------------------------------------------------------------------------------

    def put_content(self, data: bytes, media_type: str) -> ContentRef:
        """Store original bytes, once, and give the reference that a block carries. What is gone or damaged is written
        again.

        Bytes whose compressed form is over a mebibyte become a file, complete on disk before this returns;
        one that no commit names is overwritten by the next. Raises StorageError, PolicyError for bytes that were
        redacted.
        """
        self._writing()
        digest = sha256(data)
        if (went_with := self.redacted_content(digest)) and (found := self.redactions(went_with)):
            raise refusal(next(iter(found.values())))
        try:
            if not self.holds_content(digest):
                enc, stored = self._db.codec.pack_content(data)
                inline: bytes | None = stored
                if len(stored) > INLINE_LIMIT:
                    write_file(self._db.path.with_name(CONTENT), digest, enc, stored)
                    inline = None
                self._db.run(
                    "INSERT OR REPLACE INTO content (digest, size, enc, data) VALUES (?, ?, ?, ?)",
                    (digest, len(data), enc, inline),
                )
        except ConsilienceError as error:
            self._fail(error)
            raise
        return ContentRef(blob=format_digest(digest), media_type=media_type, size=len(data))

    # --- the snapshot ---------------------------------------------------------------------------------------

    def modules(self) -> tuple[ModuleState, ...]:
        """The modules as a commit now would name them; computes the roots of those that changed."""
        return module_states(self._next_snapshot())

    def _next_snapshot(self, *, sealing: bool = False) -> Snapshot:
        before = {ref.memory_type: ref for ref in self._parsed.modules} if self._parsed else {}
        for m in MODULES:
            if m not in self._refs and any(self._changes(m)):
                self._refs[m] = self._module_ref(m, before.get(m))
            if sealing and m in self._leaves:
                self._keep_tree(m)
        refs = {**before, **self._refs}
        return Snapshot(
            created_at=self.at,
            modules=tuple(refs[m] for m in MODULES if m in refs),
            parents=(self.base.digest,) if self.base else (),
            labels=self._parsed.labels if self._parsed else None,
            trust_root=self._parsed.trust_root if self._parsed else None,
        )

    def _module_ref(self, memory_type: MemoryType, before: ModuleRef | None) -> ModuleRef:
        joined, left, emptied, refilled = self._changes(memory_type)
        tombstones: set[bytes] = set(before.tombstones) if before else set()
        tombstones = (tombstones | emptied) - refilled - left
        if before and not joined and not left:
            return msgspec.structs.replace(before, tombstones=tuple(Digest(t) for t in sorted(tombstones)))
        leaves = None
        if before:
            kept = Leaves.load(self._leaves_folder, before)
            leaves = kept.changed(joined, left) if kept else None
        if leaves is None:
            leaves = Leaves.of(memory_type, self.sorted_ids(memory_type))
        self._leaves[memory_type] = leaves
        return leaves.reference(tuple(Digest(t) for t in sorted(tombstones)))

    @property
    def _leaves_folder(self) -> Path:
        return self._db.path.parent / proofs.FOLDER

    def _commit(self) -> SnapshotInfo | None:
        made = None
        if self.changed:
            document = snapshots.document(self._next_snapshot(sealing=True))
            actor = canonical.encode_struct(self.actor)
            made = SnapshotInfo(
                digest=sha256(document),
                seq=self._seq,
                created_at=self.at,
                parents=(self.base.digest,) if self.base else (),
                document=document,
                actor=self.actor,
                max_n=self.max_n,
            )
            self._db.run(
                "INSERT INTO snapshots (seq, digest, document, max_n, actor, seal) VALUES (?, ?, ?, ?, ?, ?)",
                (made.seq, made.digest, document, made.max_n, actor, seal_of(made.digest, actor)),
            )
        self._db.run("COMMIT")
        if inode_of(self._db.path) != self._db.inode:
            raise StorageError(
                f"{self._db.path} was replaced while it was being written; this commit is lost",
                hint="run the command again",
            )
        self._discard_trees()
        return made

    def _keep_tree(self, memory_type: MemoryType) -> None:
        """Write the tree of a module that changed, before the commit: whoever reads the new head finds it. It is held
        no longer: those of a million blocks take 70 MB each."""
        leaves = self._leaves.pop(memory_type)
        self._sealed.append(memory_type)
        if memory_type is not MemoryType.PROVENANCE or len(leaves) >= WORTH_KEEPING:
            leaves.save(self._leaves_folder, self._refs[memory_type].root)

    def _discard_trees(self) -> None:
        """Remove what no view of this head or of the one before it needs."""
        before = {ref.memory_type: ref.root for ref in self._parsed.modules} if self._parsed else {}
        for memory_type in self._sealed:
            keep = {self._refs[memory_type].root, before.get(memory_type, b"")}
            discard_trees(self._leaves_folder, memory_type, keep)

    # --- ending ---------------------------------------------------------------------------------------------

    def _writing(self) -> None:
        if self._failed is not None:
            raise self._failed

    def _fail(self, error: ConsilienceError) -> None:
        """A statement failed half way through a change: the transaction can only be rolled back."""
        if isinstance(error, PolicyError):
            return
        if isinstance(error, IntegrityError) and not isinstance(error, CorruptStoreError):
            return
        self._failed = error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        release, self._release = self._release, None
        if release is None:
            return
        connection = self._db
        try:
            if kind is None:
                self._writing()
                self.snapshot = self._commit()
        finally:
            connection.rollback()
            self._db = Closed(connection.path)
            release(connection)


REFERENCES = (
    ("derivation", "block_n"),
    ("derivation", "source_n"),
    ("registration", "block_n"),
    ("hiding", "block_n"),
    ("hiding", "by_n"),
    ("mention", "block_n"),
)
"""Where the ledger holds ordinals of blocks that records speak of."""


def seal_of(digest: bytes, actor: bytes) -> bytes:
    """Eight bytes that tie the actor to the snapshot, whose own document does not name one: damage shows in
    `verify`."""
    return sha256(digest + actor)[:8]


def _later(now: datetime, head: str | None) -> str:
    """`now` in the protocol's spelling, or the second after the head where a clock does not reach that."""
    at = timestamp(now)
    if head is None or at > head:
        return at
    try:
        return timestamp(datetime.fromisoformat(head).astimezone(UTC) + timedelta(seconds=1))
    except (ValueError, OverflowError):
        return at
