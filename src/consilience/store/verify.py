"""Check everything that a brain's store holds against what it says of itself. Damage is reported, never
raised.

Steps, each on its own so that one that fails hides no other: the header of the file and its log (verify_file.py);
SQLite's own check and the tables' definitions; the chain of snapshots; every block's bytes, membership and ledger
rows (verify_blocks.py); the roots and composition digests of the head, or of every snapshot; every original. Not
covered by any hash, and so not checked: free space in the database file.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from consilience.errors import (
    BrainNotFoundError,
    ConfigurationError,
    ConsilienceError,
    CorruptStoreError,
)
from consilience.progress import NO_PROGRESS, Progress
from consilience.protocol import Actor, Digest, MemoryType, format_digest, sha256
from consilience.protocol import snapshot as snapshots
from consilience.store.codec import ERASED, DecodeError
from consilience.store.connection import CONTENT, DATABASE, Connection, open_connection
from consilience.store.content import file_for, list_files, read_file
from consilience.store.leaves import Leaves
from consilience.store.pruned import PRUNED_TABLE, all_pruned
from consilience.store.reads import BlockReads
from consilience.store.redaction import ERASING_TABLE
from consilience.store.schema import SCHEMA
from consilience.store.store import Store
from consilience.store.verify_blocks import BlockCheck
from consilience.store.verify_chain import Link, chain_problems, first_missing
from consilience.store.verify_file import file_problems
from consilience.store.view import View
from consilience.store.writer import seal_of

__all__ = ["Checked", "Problem", "VerifyReport", "verify", "verify_connection"]

MAX_PROBLEMS = 1_000
_LATER = {("table", "pruned", "pruned", PRUNED_TABLE), ("table", "erasing", "erasing", ERASING_TABLE)}
"""Tables that a brain has once something was pruned or redacted."""

CONTENT_ROWS = 64
CACHE_KIB = 65_536
"""SQLite's own check looks up every row in every index."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong. `what`: file, database, schema, snapshot, ordinals, block, membership, ledger, module
    or content; or a part of what is derived, whose `file` is named."""

    what: str
    detail: str
    module: MemoryType | None = None
    block_id: str | None = None
    file: str | None = None
    derived: bool = False

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return _REBUILD if self.derived else _REMEDIES.get(self.what, _RESTORE)


_REBUILD = "`verify --repair` rebuilds it; until then questions may miss what is there"
_RESTORE = "restore the brain from a copy, or `import` an export of it"
_REMEDIES = {
    "block": f"ingest the original again, which writes its passages anew; or {_RESTORE}",
    "content": f"ingest the original again; or {_RESTORE}",
    "database": f"`verify --repair` makes SQLite's indexes anew; where that is not enough, {_RESTORE}",
    "ledger": "`verify --repair` writes it anew from the records",
    "ordinals": "`verify --repair` counts them again",
}


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """How much was looked at."""

    blocks: int = 0
    records: int = 0
    snapshots: int = 0
    modules: int = 0
    contents: int = 0
    derived_files: int = 0


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was checked and what is wrong: the first 1,000 problems, and how many `more`.

    `orphans`: files under content/ that nothing names, left by a commit that did not happen; harmless. `truncated`: the
    parent of the oldest snapshot here, which was pruned or never came along; its chain ends there, which is no
    damage. `unsummed`: parts of what is derived that were checked without checksums.
    """

    checked: Checked
    problems: tuple[Problem, ...] = ()
    more: int = 0
    orphans: tuple[str, ...] = ()
    truncated: str | None = None
    unsummed: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.problems


def verify(
    target: Path | View,
    progress: Progress = NO_PROGRESS,
    *,
    every_snapshot: bool = False,
    at: Digest | None = None,
) -> VerifyReport:
    """Check a brain's folder, or what a view of its head sees.

    `every_snapshot` recomputes the roots of all snapshots, not only the head's, and `at` those of one more: O(members)
    each. Raises only where there is no brain.db to look at (BrainNotFoundError) or the disk fails (StorageError).
    """
    if isinstance(target, View):
        return _Verification(target.connection, progress, every_snapshot, at).run()
    damage = file_problems(target / DATABASE)
    try:
        with Store.open(target, read_only=True) as store, store.reading() as connection:
            beside = _DatabaseCheck(connection.path) if connection.reusable else None
            return _Verification(connection, progress, every_snapshot, at, damage, beside).run()
    except (CorruptStoreError, ConfigurationError, BrainNotFoundError) as error:
        if not Store.exists(target):
            raise
        found = [error.message, *damage]
        return VerifyReport(
            checked=Checked(), problems=tuple(Problem(what="database", detail=detail) for detail in found)
        )


def verify_connection(connection: Connection, progress: Progress = NO_PROGRESS) -> VerifyReport:
    """Check what one transaction sees, but for the header of the file and its log."""
    return _Verification(connection, progress, False, None).run()


def _integrity(connection: Connection) -> list[str]:
    """What SQLite's own check finds."""
    connection.rows(f"PRAGMA cache_size=-{CACHE_KIB}")
    found = [row[0] for row in connection.rows("PRAGMA integrity_check(100)")]
    return [f"SQLite: {message}" for message in found if message != "ok"]


class _DatabaseCheck(threading.Thread):
    """SQLite's own check on a connection of its own, while this thread looks at the blocks: it holds no lock of
    Python's."""

    def __init__(self, path: Path) -> None:
        super().__init__(daemon=True)
        self._path = path
        self._found: list[str] = []
        self.start()

    def run(self) -> None:
        try:
            connection = open_connection(self._path)
            try:
                self._found = _integrity(connection)
            finally:
                connection.close()
        except ConsilienceError as error:
            self._found = [error.message]

    def result(self) -> list[str]:
        self.join()
        return self._found


class _Verification:
    """One run: the steps, and what they found."""

    def __init__(
        self,
        connection: Connection,
        progress: Progress,
        every_snapshot: bool,
        at: Digest | None,
        damage: Sequence[str] = (),
        beside: _DatabaseCheck | None = None,
    ) -> None:
        self._beside = beside
        self._at = at
        self._db = connection
        self._damage = damage
        self._progress = progress
        self._every_snapshot = every_snapshot
        self._problems: list[Problem] = []
        self._more = 0
        self._orphans: tuple[str, ...] = ()
        self._snapshots: list[tuple[int, snapshots.Snapshot]] = []
        self._at_seq: int | None = None
        self._first = 1
        self._truncated: Digest | None = None
        self._max_n: list[int] = []
        self._counts = dict.fromkeys(Checked.__struct_fields__, 0)
        self._blocks = BlockCheck(self._db, self._report)

    def run(self) -> VerifyReport:
        for detail in self._damage:
            self._report("file", detail)
        if self._beside is None:
            self._step("database", self._database)
        self._step("schema", self._schema)
        self._step("snapshot", self._chain)
        self._progress.start(
            "blocks", max([n for n in self._max_n if isinstance(n, int)], default=0), "blocks"
        )
        self._step("block", self._all_blocks)
        self._step("module", self._modules)
        self._step("content", self._contents)
        if self._beside is not None:
            rest, self._problems = self._problems, []
            self._step("database", self._database_beside)
            for problem in rest:
                self._keep(problem)
        self._progress.close()
        self._counts.update(blocks=self._blocks.blocks, records=self._blocks.records)
        return VerifyReport(
            checked=Checked(**self._counts),
            problems=tuple(self._problems),
            more=self._more,
            orphans=self._orphans,
            truncated=format_digest(self._truncated) if self._truncated is not None else None,
        )

    def _step(self, what: str, step: Callable[[], None]) -> None:
        """Run a step. Damaged rows can hold any type where another is expected, so any exception is a
        finding."""
        try:
            step()
        except ConsilienceError as error:
            self._report(what, error.message)
        except Exception as error:
            self._report(what, f"{type(error).__name__}: {error}")

    def _report(
        self, what: str, detail: str, module: MemoryType | None = None, block_id: bytes | None = None
    ) -> None:
        named = format_digest(block_id) if isinstance(block_id, bytes) and len(block_id) == 32 else None
        self._keep(Problem(what=what, detail=detail, module=module, block_id=named))

    def _keep(self, problem: Problem) -> None:
        if len(self._problems) == MAX_PROBLEMS:
            self._more += 1
        else:
            self._problems.append(problem)

    # --- the file -------------------------------------------------------------------------------------------

    def _database(self) -> None:
        for detail in _integrity(self._db):
            self._report("database", detail)

    def _database_beside(self) -> None:
        assert self._beside is not None
        for detail in self._beside.result():
            self._report("database", detail)

    def _schema(self) -> None:
        sql = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name"
        fresh = sqlite3.connect(":memory:")
        try:
            for statement in SCHEMA:
                fresh.execute(statement)
            expected = fresh.execute(sql).fetchall()
        finally:
            fresh.close()
        found = [row for row in self._db.rows(sql) if row not in _LATER]
        if found != expected:
            self._report("schema", "the tables are not those of this version")

    # --- snapshots ------------------------------------------------------------------------------------------

    def _chain(self) -> None:
        rows = self._db.rows("SELECT seq, digest, document, max_n, actor, seal FROM snapshots ORDER BY seq")
        pruned = self._pruned_chain(rows[0][0] if rows else 1)
        links: list[Link] = []
        for position, (seq, digest, document, max_n, actor, seal) in enumerate(rows, self._first):
            self._counts["snapshots"] += 1
            if seq != position:
                self._report("snapshot", f"number {seq} stands where {position} should")
            if sha256(document) != digest:
                self._report("snapshot", f"snapshot {seq}: the document does not hash to its digest")
            if seal != seal_of(digest, actor) or not _is_actor(actor):
                self._report("snapshot", f"snapshot {seq}: who made it is damaged")
            if digest == self._at:
                self._at_seq = seq
            self._max_n.append(max_n)
            try:
                parsed = snapshots.parse(document)
            except ConsilienceError as error:
                self._report("snapshot", f"snapshot {seq}: {error.message}")
            else:
                self._snapshots.append((seq, parsed))
                links.append((seq, digest, parsed))
        if len(links) == len(rows):
            for problem in chain_problems(links, pruned):
                self._report("snapshot", problem)
            self._truncated = first_missing(links)

    def _pruned_chain(self, first: int) -> Digest | None:
        """Check what is kept of pruned snapshots, against which the chain begins at number `first`."""
        pruned = all_pruned(self._db)
        for each in pruned:
            if not each.sound:
                self._report("snapshot", f"what is kept of the pruned snapshot {each.seq} is damaged")
        if not pruned:
            return None
        self._first = pruned[-1].seq + 1
        if [each.seq for each in pruned] != list(range(pruned[0].seq, self._first)) or first != self._first:
            self._report("snapshot", "the pruned snapshots are not those before the oldest one")
        return pruned[-1].digest

    # --- blocks and modules ---------------------------------------------------------------------------------

    def _all_blocks(self) -> None:
        head = self._snapshots[-1][1] if self._snapshots else None
        tombstones = {t for ref in head.modules for t in ref.tombstones} if head else set()
        last = self._first - 1 + len(self._max_n)
        self._blocks.run(last, tombstones, self._progress)
        largest = self._blocks.largest()[self._first - 1 :]
        for seq, (said, found) in enumerate(zip(self._max_n, largest, strict=True), self._first):
            if said != found:
                self._report(
                    "ordinals", f"snapshot {seq} says that ordinals go to {said}, they go to {found}"
                )

    def _modules(self) -> None:
        counts = {memory_type: self._blocks.counts(memory_type) for memory_type in MemoryType}
        for seq, snapshot in self._snapshots:
            is_head = seq == self._snapshots[-1][0]
            named = {ref.memory_type: ref for ref in snapshot.modules}
            for memory_type in MemoryType:
                count = counts[memory_type][seq]
                ref = named.get(memory_type)
                if count != (ref.block_count if ref else 0):
                    said = ref.block_count if ref else "none"
                    self._report(
                        "module", f"snapshot {seq}: {count} members, it says {said}", module=memory_type
                    )
                elif ref is not None and (is_head or self._every_snapshot or seq == self._at_seq):
                    self._module(seq, ref, is_head=is_head)

    def _module(self, seq: int, ref: snapshots.ModuleRef, *, is_head: bool) -> None:
        self._counts["modules"] += 1
        memory_type = ref.memory_type
        if is_head:
            ids = sorted(self._blocks.members[memory_type])
        else:
            ids = BlockReads(self._db, seq, at_head=False).sorted_ids(memory_type)
        found = Leaves.of(memory_type, ids).reference()
        if found.root != ref.root:
            detail = f"snapshot {seq}: root {format_digest(found.root)}, it says {format_digest(ref.root)}"
            self._report("module", detail, module=memory_type)
        elif found.composition != ref.composition:
            self._report("module", f"snapshot {seq}: the composition digest differs", module=memory_type)
        if missing := set(ref.tombstones) - set(ids):
            self._report(
                "module",
                f"snapshot {seq}: {len(missing)} tombstones of blocks that are not members",
                memory_type,
            )

    # --- originals ------------------------------------------------------------------------------------------

    def _contents(self) -> None:
        folder = self._db.path.with_name(CONTENT)
        total = self._db.rows("SELECT count(*) FROM content")[0][0]
        self._progress.start("originals", total, "files")
        after, seen, files = 0, set(), set()
        sql = f"SELECT rowid, digest, size, enc, data FROM content WHERE rowid > ? ORDER BY rowid LIMIT {CONTENT_ROWS}"
        while rows := self._db.rows(sql, (after,)):
            for _, digest, size, enc, stored in rows:
                self._counts["contents"] += 1
                seen.add(digest)
                if stored is None and enc != ERASED:
                    files.add(file_for(folder, digest, enc))
                if problem := self._content_problem(folder, digest, size, enc, stored):
                    self._report("content", f"original sha256:{digest.hex()}: {problem}")
            self._progress.advance(len(rows))
            if rows[-1][0] <= after:
                raise CorruptStoreError("the originals are out of order and cannot be walked")
            after = rows[-1][0]
        for digest in sorted(self._blocks.contents - seen):
            self._report("content", f"original sha256:{digest.hex()} is named by a block and not here")
        self._orphans = tuple(sorted(str(path) for path in list_files(folder) if path not in files))

    def _content_problem(self, folder: Path, digest: Digest, size: int, enc: int, stored: Any) -> str | None:
        if enc == ERASED:
            return self._erased_problem(stored)
        try:
            if stored is None:
                stored = read_file(folder, digest, enc)
            data = self._db.codec.unpack(enc, stored)
        except DecodeError as error:
            return f"its bytes do not decode: {error}"
        except ConsilienceError as error:
            return error.message
        if sha256(data) != digest:
            return "its bytes do not hash to its digest"
        return None if len(data) == size else f"it has {len(data)} bytes, the store says {size}"

    def _erased_problem(self, stored: Any) -> str | None:
        """A redacted original names the canonical blocks that it went with, whose bytes are gone too."""
        ids = [stored[i : i + 32] for i in range(0, len(stored), 32)] if isinstance(stored, bytes) else []
        sql = "SELECT 1 FROM blocks WHERE id = ? AND data IS NULL"
        if not ids or any(self._db.row(sql, (block_id,)) is None for block_id in ids):
            return "it says that it was redacted, with blocks that were not"
        return None


def _is_actor(data: bytes) -> bool:
    try:
        msgspec.json.decode(data, type=Actor)
    except (msgspec.MsgspecError, TypeError, ValueError):
        return False
    return True
