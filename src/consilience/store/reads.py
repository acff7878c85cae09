"""Questions about blocks at one snapshot: which there are, which are members, their bytes, content and
proofs."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

import msgspec

from consilience.errors import (
    BlockNotFoundError,
    ConsilienceError,
    CorruptStoreError,
    IntegrityError,
    NotFoundError,
    StorageError,
)
from consilience.protocol import Actor, Digest, MemoryType, Proof, format_digest, sha256
from consilience.protocol import snapshot as snapshots
from consilience.store import proofs
from consilience.store.codec import ERASED, PACKED, DecodeError
from consilience.store.connection import CONTENT, IN_CLAUSE, Connection, Row, marks
from consilience.store.content import file_for, read_file
from consilience.store.packed import PackedReads
from consilience.store.schema import CODE, MODULES
from consilience.store.values import ModuleState, SnapshotInfo, StoredBlock

__all__ = ["BlockReads", "chunks", "parsed_snapshot", "read_snapshots"]

SCAN_ROWS = 1_000
"""Blocks that a scan reads at a time."""

_HEX = re.compile(r"(?:sha256:)?([0-9a-f]{0,64})").fullmatch
_SNAPSHOT_COLUMNS = "seq, digest, document, max_n, actor"


def chunks(values: Iterable[Any], size: int = IN_CLAUSE) -> Iterator[list[Any]]:
    """Lists of at most `size` values."""
    rest = iter(values)
    while part := list(islice(rest, size)):
        yield part


@lru_cache(maxsize=16)
def parsed_snapshot(document: bytes) -> snapshots.Snapshot:
    """The snapshot of canonical bytes, parsed once for the views that follow one another. Raises FormatError."""
    return snapshots.parse(document)


def read_snapshots(
    connection: Connection, condition: str, parameters: Sequence[Any] = ()
) -> list[SnapshotInfo]:
    """The snapshot rows that `condition` selects, decoded. Raises CorruptStoreError."""
    found = connection.rows(f"SELECT {_SNAPSHOT_COLUMNS} FROM snapshots {condition}", parameters)
    return [_snapshot_info(connection, *row) for row in found]


def _snapshot_info(
    connection: Connection, seq: int, digest: bytes, document: bytes, max_n: int, actor: bytes
) -> SnapshotInfo:
    try:
        if sha256(document) != digest:
            raise IntegrityError("its document does not hash to its digest")
        parsed = parsed_snapshot(document)
        by = msgspec.json.decode(actor, type=Actor)
    except (ConsilienceError, msgspec.MsgspecError, TypeError, ValueError) as error:
        raise CorruptStoreError(
            f"{connection.path}: snapshot {seq} is damaged: {error}", hint="run `consilience verify`"
        ) from error
    return SnapshotInfo(
        digest=Digest(digest),
        seq=seq,
        created_at=parsed.created_at,
        parents=parsed.parents,
        document=document,
        actor=by,
        max_n=max_n,
    )


class BlockReads:
    """Base of View and Writer: one connection inside a transaction, at snapshot number `seq`.

    `at_head`: no later snapshot is visible in this transaction, so that a member is a block without
    `departed`.
    """

    def __init__(self, connection: Connection, seq: int, *, at_head: bool) -> None:
        self._db = connection
        self._seq = seq
        self._at_head = at_head
        self._packed = PackedReads(connection)

    @property
    def connection(self) -> Connection:
        """For this package only."""
        return self._db

    @property
    def max_n(self) -> int:
        """The largest ordinal of this snapshot, 0 where it has no block."""
        raise NotImplementedError

    def _member(self, alias: str) -> str:
        """SQL that is true where the block row `alias` is a member here."""
        if self._at_head:
            return f"{alias}.departed IS NULL"
        a, s = alias, self._seq
        return (
            f"({a}.entered <= {s} AND ({a}.departed IS NULL OR {a}.departed > {s})"
            " OR EXISTS (SELECT 1 FROM earlier e"
            f" WHERE e.n = {a}.n AND e.entered <= {s} AND e.departed > {s}))"
        )

    # --- ordinals and ids -----------------------------------------------------------------------------------

    def ordinals(self, ids: Sequence[Digest]) -> dict[Digest, int]:
        """The ordinals of the ids that this store has, member or not; the others are missing from the
        result."""
        found: dict[Digest, int] = {}
        for part in chunks(ids):
            sql = f"SELECT id, n FROM blocks WHERE id IN ({marks(part)})"
            found.update((Digest(i), n) for i, n in self._db.rows(sql, part) if n <= self.max_n)
        return found

    def ids(self, ns: Iterable[int]) -> dict[int, Digest]:
        """The ids behind ordinals, without reading any bytes. Negative ones stand for blocks that are not
        here."""
        found: dict[int, Digest] = {}
        for part in chunks(ns):
            for table in ("blocks", "absent") if min(part) < 0 else ("blocks",):
                sql = f"SELECT n, id FROM {table} WHERE n IN ({marks(part)})"
                found.update((n, Digest(i)) for n, i in self._db.rows(sql, part))
        return found

    def find_prefix(self, hex_prefix: str, limit: int = 10) -> list[Digest]:
        """Ids that begin with these hex digits (`sha256:` may stand before them), ascending, at most `limit`.

        Nothing for a text that is not hex.
        """
        match = _HEX(hex_prefix.lower())
        if match is None:
            return []
        low, high = bytes.fromhex(match[1].ljust(64, "0")), bytes.fromhex(match[1].ljust(64, "f"))
        sql = "SELECT id FROM blocks WHERE id BETWEEN ? AND ? AND n <= ? ORDER BY id LIMIT ?"
        return [Digest(row[0]) for row in self._db.rows(sql, (low, high, self.max_n, limit))]

    # --- blocks ---------------------------------------------------------------------------------------------

    def blocks(self, ns: Sequence[int]) -> list[StoredBlock]:
        """The blocks of these ordinals in the order asked; missing ones are absent.

        Bytes that no longer decode come back as they are stored, so that one damaged block fails its own hash
        check and takes no other with it.
        """
        found: dict[int, StoredBlock] = {}
        for part in chunks(dict.fromkeys(ns)):
            sql = f"SELECT n, id, type, enc, data FROM blocks WHERE n IN ({marks(part)})"
            found.update((block.n, block) for block in self._stored(self._db.rows(sql, part)))
        return [found[n] for n in ns if n in found]

    def scan(
        self, memory_types: Collection[MemoryType] | None = None, *, after: int = 0
    ) -> Iterator[StoredBlock]:
        """Members with an ordinal above `after`, ascending; all modules unless some are named."""
        codes = ",".join(str(CODE[m]) for m in (MODULES if memory_types is None else memory_types))
        sql = (
            "SELECT n, id, type, enc, data FROM blocks b NOT INDEXED"
            f" WHERE n > ? AND type IN ({codes}) AND {self._member('b')} ORDER BY n LIMIT {SCAN_ROWS}"
        )
        while rows := self._db.rows(sql, (after,)):
            yield from self._stored(rows)
            if rows[-1][0] <= after:
                raise CorruptStoreError(
                    f"{self._db.path}: blocks after {after} are out of order", hint="run `consilience verify`"
                )
            after = rows[-1][0]

    def _stored(self, rows: Sequence[Row]) -> Iterator[StoredBlock]:
        """Blocks of rows n, id, type, enc, data, decoded."""
        packed = self._packed.envelopes((row[0], row[4]) for row in rows if row[3] == PACKED)
        for n, block_id, code, enc, data in rows:
            yield self._decoded(n, block_id, code, enc, data, packed)

    def _decoded(
        self, n: int, block_id: bytes, code: int, enc: int, data: bytes | None, packed: Mapping[int, bytes]
    ) -> StoredBlock:
        if n in packed:
            data = packed[n]
        elif data is not None:
            try:
                data = self._db.codec.unpack(enc, data)
            except DecodeError:
                data = bytes(data)
        if not 0 <= code < len(MODULES):
            raise CorruptStoreError(
                f"{self._db.path}: block {n} has module number {code}", hint="run `consilience verify`"
            )
        return StoredBlock(n, Digest(block_id), MODULES[code], data)

    # --- membership -----------------------------------------------------------------------------------------

    def members(self, ns: Iterable[int]) -> set[int]:
        """Those of the ordinals that are members at this snapshot."""
        return self._select("SELECT n FROM blocks b WHERE n IN ({}) AND " + self._member("b"), ns)

    def modules_of(self, ns: Iterable[int]) -> dict[int, MemoryType]:
        """The module of each of the ordinals that is here, without reading a block."""
        found: dict[int, MemoryType] = {}
        for part in chunks(ns):
            rows = self._db.rows(f"SELECT n, type FROM blocks WHERE n IN ({marks(part)})", part)
            found.update((n, MODULES[code]) for n, code in rows if 0 <= code < len(MODULES))
        return found

    def nonmembers(self) -> set[int]:
        """Ordinals up to `max_n` whose block had left by this snapshot; every other one that has a row is a member."""
        sql = "SELECT n FROM blocks WHERE departed <= ? UNION SELECT n FROM earlier WHERE departed <= ?"
        gone = {row[0] for row in self._db.rows(sql, (self._seq, self._seq))}
        return gone - self.members(gone)

    def unsteady(self, memory_types: Collection[MemoryType]) -> list[int]:
        """Members at this snapshot that left it since, or had left before and come back, ascending: those that an index
        may have been made without."""
        sql = "SELECT n FROM blocks WHERE departed > ? UNION SELECT n FROM earlier"
        moved = [row[0] for row in self._db.rows(sql, (self._seq,))]
        codes = ",".join(str(CODE[m]) for m in memory_types)
        of_these = f"SELECT n FROM blocks b WHERE n IN ({{}}) AND type IN ({codes}) AND {self._member('b')}"
        return sorted(self._select(of_these, moved)) if codes else []

    def _select(self, sql: str, ns: Iterable[int]) -> set[int]:
        found: set[int] = set()
        for part in chunks(ns):
            found.update(row[0] for row in self._db.rows(sql.format(marks(part)), part))
        return found

    def sorted_ids(self, memory_type: MemoryType) -> list[bytes]:
        """The module's leaves: the ids of its members, ascending."""
        sql = (
            f"SELECT id FROM blocks b INDEXED BY block_id WHERE type = ? AND {self._member('b')} ORDER BY id"
        )
        return [row[0] for row in self._db.rows(sql, (CODE[memory_type],))]

    def count(self, memory_type: MemoryType) -> int:
        """The number of members of a module."""
        sql = f"SELECT count(*) FROM blocks b INDEXED BY block_id WHERE type = ? AND {self._member('b')}"
        return int(self._db.rows(sql, (CODE[memory_type],))[0][0])

    def modules(self) -> tuple[ModuleState, ...]:
        """The modules that this snapshot refers to, in the protocol's order."""
        raise NotImplementedError

    def prove(self, block_id: Digest) -> tuple[Proof, Digest]:
        """The inclusion proof of a member (RFC 9162, 2.1.3) and the root that it leads to.

        Raises BlockNotFoundError where the block is not a member, IntegrityError where the stored members do
        not make up the root that the snapshot names.
        """
        n = self.ordinals([block_id]).get(block_id)
        if n is None or not self.members([n]):
            raise BlockNotFoundError(f"no block {format_digest(block_id)} in {self._db.path.parent}")
        memory_type = self.blocks([n])[0].memory_type
        root = next(m.root for m in self.modules() if m.memory_type is memory_type)
        proof = proofs.prove(self, self._db, memory_type, block_id)
        if proof is None:
            raise IntegrityError(
                f"the members of {memory_type} do not make up its root {format_digest(root)}",
                hint="run `consilience verify`",
            )
        return proof, root

    def proven(self, blocks: Iterable[StoredBlock]) -> set[int]:
        """The ordinals of those blocks whose membership was proven under the root that this snapshot names."""
        asked: dict[MemoryType, dict[Digest, int]] = {}
        for block in blocks:
            asked.setdefault(block.memory_type, {})[block.id] = block.n
        return {
            ns[block_id]
            for memory_type, ns in asked.items()
            for block_id in proofs.proven(self, self._db, memory_type, ns.keys())
        }

    # --- content --------------------------------------------------------------------------------------------

    def has_content(self, digest: Digest) -> bool:
        """Whether the original bytes of this digest are stored here, the file of a large one included."""
        row = self._db.row("SELECT enc, data IS NULL FROM content WHERE digest = ?", (digest,))
        if row is None:
            return False
        enc, apart = row
        if enc == ERASED:
            return False
        with contextlib.suppress(OSError):
            return not apart or file_for(self._db.path.with_name(CONTENT), digest, enc).is_file()
        return False

    def holds_content(self, digest: Digest) -> bool:
        """Whether the original bytes of this digest are here and sound; reads and hashes them."""
        try:
            self.content(digest)
        except (NotFoundError, IntegrityError, StorageError):
            return False
        return True

    def content(self, digest: Digest) -> bytes:
        """The original bytes of a digest, hashed on the way out.

        Raises NotFoundError where there are none, IntegrityError where they are damaged, StorageError where
        their file is gone.
        """
        row = self._db.row("SELECT enc, data FROM content WHERE digest = ?", (digest,))
        if row is None:
            raise NotFoundError(f"no content {format_digest(digest)} in {self._db.path.parent}")
        enc, stored = row
        if enc == ERASED:
            raise NotFoundError(
                f"the bytes of {format_digest(digest)} were redacted",
                hint="`block ID` of the file's block shows by whom and why",
            )
        if stored is None:
            stored = read_file(self._db.path.with_name(CONTENT), digest, enc)
        try:
            data = self._db.codec.unpack(enc, stored)
        except DecodeError as error:
            raise _damaged_content(digest) from error
        if sha256(data) != digest:
            raise _damaged_content(digest)
        return data

    # --- history --------------------------------------------------------------------------------------------

    def history(self, limit: int | None = None) -> list[SnapshotInfo]:
        """This snapshot and those before it, newest first, at most `limit`."""
        condition = "WHERE seq <= ? ORDER BY seq DESC LIMIT ?"
        return read_snapshots(self._db, condition, (self._seq, -1 if limit is None else limit))


def _damaged_content(digest: Digest) -> IntegrityError:
    return IntegrityError(
        f"the stored bytes of {format_digest(digest)} are damaged",
        hint="ingest the original again, or restore the brain from a copy",
    )
