"""Blocks whose bytes were destroyed: by whom and why, whether they may come back, and what is still to be erased.

A redacted block keeps its row, its membership and its lineage; its `data` is NULL and the module's reference in the
snapshot lists it among the tombstones. The removal record in the same commit says who and why; the latest word about
a block counts, so that a later validation record with the task READMISSION lifts it (docs/decisions/0110).

`erasing` is the list of what is to be erased outside of this database (docs/decisions/0111). The first redaction
makes the table; a row goes when its part is done.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from consilience.errors import ConsilienceError, PolicyError
from consilience.files import sync_folder
from consilience.protocol import (
    Digest,
    MemoryType,
    Provenance,
    Record,
    Removal,
    Validation,
    decode,
    format_digest,
)
from consilience.store.codec import ERASED, PACKED, RAW, DecodeError
from consilience.store.connection import CONTENT, Connection, marks, storage_error
from consilience.store.content import file_for
from consilience.store.lineage import LineageReads
from consilience.store.packed import FragmentReads, read_forms
from consilience.store.reads import chunks
from consilience.store.schema import CODE

__all__ = [
    "ERASING_TABLE",
    "READMISSION",
    "Redaction",
    "RedactionReads",
    "ToErase",
    "destroy_blocks",
    "destroy_content",
    "is_readmission",
    "note_erasing",
    "readmit_content",
    "refusal",
    "remove_files",
    "strike",
    "to_erase",
]

ERASING_TABLE: Final = "CREATE TABLE erasing (n INTEGER, file TEXT)"
"""`n`: a block that derived state may hold otherwise than the database does. `file`: one below the brain's folder."""

READMISSION: Final = "readmission"
"""How the task of a validation record begins that lets redacted bytes in again."""

_SCAN = 20_000
_PAGE = 2_000
_BESIDE = 5
"""A commit writes at most one removal record a module."""


class Redaction(msgspec.Struct, frozen=True):
    """The removal that destroyed a block's bytes, and whether a later record lets them in again."""

    block_id: Digest
    record: Digest
    at: str
    actor: str
    reason: str
    readmitted: bool

    def __str__(self) -> str:
        return f"{format_digest(self.block_id)}, redacted {self.at} by {self.actor} ({self.reason})"


class ToErase(msgspec.Struct, frozen=True):
    """What is still to be erased: rows of the list, the ordinals and the files that they name."""

    rows: tuple[int, ...] = ()
    ns: tuple[int, ...] = ()
    files: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.rows)


class RedactionReads(LineageReads):
    """LineageReads, and what is known of destroyed bytes."""

    def redactions(self, ids: Iterable[bytes]) -> dict[Digest, Redaction]:
        """Those of the ids whose bytes were destroyed by a removal record, each with the latest such record."""
        lost: dict[int, Digest] = {}
        for part in chunks(ids):
            sql = f"SELECT n, id FROM blocks WHERE id IN ({marks(part)}) AND data IS NULL"
            lost.update((n, Digest(block_id)) for n, block_id in self._db.rows(sql, part) if n <= self.max_n)
        if not lost:
            return {}
        said = sorted(self._recorded("t.record_n, t.block_n", "mention", "t.block_n IN ({})", list(lost)))
        records = self._decoded_records({record_n for record_n, _ in said})
        found: dict[Digest, Redaction] = {}
        for record_n, n in said:
            if (known := records.get(record_n)) is None:
                continue
            record_id, record = known
            block_id = lost[n]
            if isinstance(record, Removal) and record.mechanism.is_redaction:
                found[block_id] = Redaction(
                    block_id, record_id, record.at, record.actor.id, record.reason, readmitted=False
                )
            elif block_id in found and is_readmission(record):
                found[block_id] = msgspec.structs.replace(found[block_id], readmitted=True)
        return found

    def redacted_content(self, digest: bytes) -> tuple[Digest, ...]:
        """The canonical blocks that were redacted together with the original bytes of this digest; none where they
        were not."""
        row = self._db.row("SELECT data FROM content WHERE digest = ? AND enc = ?", (digest, ERASED))
        return _ids(row[0]) if row is not None else ()

    def removals_of(self, n: int) -> list[tuple[int, Removal]]:
        """The removal records about a block with their ordinals, oldest first."""
        said = self._recorded("t.record_n", "mention", "t.block_n IN ({})", [n])
        records = self._decoded_records({row[0] for row in said})
        return [(n, r) for n, (_, r) in sorted(records.items()) if isinstance(r, Removal)]

    def holding(self, needles: Sequence[bytes], *memory_types: MemoryType) -> list[int]:
        """Blocks of these modules, members or not, whose envelopes hold one of the needles, ascending. Reads them
        all."""
        if not needles:
            return []
        codes = ",".join(str(CODE[m]) for m in memory_types)
        sql = (
            "SELECT n, enc, data FROM blocks NOT INDEXED WHERE n > ? AND n <= ?"
            f" AND type IN ({codes}) AND data IS NOT NULL ORDER BY n LIMIT {_PAGE}"
        )
        found, after, unpack = [], 0, self._db.codec.unpack
        while rows := self._db.rows(sql, (after, self.max_n)):
            for n, enc, data in rows:
                with contextlib.suppress(DecodeError):
                    whole = unpack(enc, data)
                    for needle in needles:
                        if needle in whole:
                            found.append(n)
                            break
            after = rows[-1][0]
        return found

    def sources_of(self, ns: Iterable[int]) -> dict[int, set[int]]:
        """For each block what the derivation records name as what it was made from; negative: not here."""
        found: dict[int, set[int]] = defaultdict(set)
        for n, source in self._recorded("t.block_n, t.source_n", "derivation", "t.block_n IN ({})", ns):
            found[n].add(source)
        return found

    def derived_of(self, ns: Iterable[int]) -> set[int]:
        """The blocks that were made from any of these."""
        rows = self._recorded("DISTINCT t.block_n", "derivation", "t.source_n IN ({})", ns)
        return {row[0] for row in rows if row[0] > 0}

    def registered_among(self, ns: Iterable[int]) -> set[int]:
        """Those of the blocks that came in from outside by themselves."""
        return {row[0] for row in self._recorded("t.block_n", "registration", "t.block_n IN ({})", ns)}

    def came_back(self) -> list[int]:
        """Members that had left some time: an index that was made meanwhile lacks them, whatever it covers."""
        sql = f"SELECT n FROM blocks b WHERE n IN (SELECT n FROM earlier) AND {self._member('b')} ORDER BY n"
        return [row[0] for row in self._db.rows(sql)]

    def successor(self, n: int) -> int | None:
        """The block that stands in place of `n` by the latest word about it; not the end of the chain."""
        return self._hidden_now([n]).get(n, (None, False))[0]

    def records_naming(self, names: Callable[[str], bool]) -> list[int]:
        """Derivation records with a locator of which `names` is true and whose bytes are here, ascending."""
        texts = FragmentReads(self._db)
        all_n = [row[0] for row in self._db.rows("SELECT n FROM fragment")]
        held = texts.texts(all_n)
        ends = {n for n in all_n if n in held and (names(held[n].lstrip()) or names("# " + held[n].lstrip()))}
        found = {
            n
            for n, locator in self._db.rows("SELECT record_n, locator FROM derivation WHERE locator NOT NULL")
            if names(locator)
        }
        after = 0
        sql = f"SELECT n, data FROM blocks WHERE n > ? AND enc = {PACKED} ORDER BY n LIMIT {_SCAN}"
        while ends and (rows := self._db.rows(sql, (after,))):
            found.update(n for n, form in read_forms(rows).items() if form.end in ends)
            after = rows[-1][0]
        return sorted(n for n in found if n <= self.max_n)

    def removed_with(self, record_n: int, at: str) -> list[Removal]:
        """The removal records of the commit that wrote this one, which stand beside it."""
        near = range(record_n - _BESIDE, record_n + _BESIDE + 1)
        records = self._decoded_records(self.members(near))
        return [r for _, (_, r) in sorted(records.items()) if isinstance(r, Removal) and r.at == at]

    def erasing(self) -> int:
        """How many redacted or readmitted blocks and files are not yet erased everywhere."""
        return len(to_erase(self._db).rows)

    def _decoded_records(self, ns: Collection[int]) -> dict[int, tuple[Digest, Record]]:
        found: dict[int, tuple[Digest, Record]] = {}
        for block in self.blocks(sorted(ns)):
            with contextlib.suppress(ConsilienceError):
                payload = decode(block.data).payload if block.data is not None and block.intact else None
                if isinstance(payload, Provenance):
                    found[block.n] = (block.id, payload.record)
        return found


def is_readmission(record: Record) -> bool:
    return (
        isinstance(record, Validation)
        and isinstance(record.task, str)
        and record.task.startswith(READMISSION)
    )


def refusal(redaction: Redaction) -> PolicyError:
    """Why bytes may not come back."""
    return PolicyError(
        f"these bytes are those of {redaction}",
        hint=f"csl retain readmit {format_digest(redaction.block_id)} lets them in again",
    )


# --- destroying: statements of a write transaction ------------------------------------------------------------


def destroy_blocks(connection: Connection, ns: Iterable[int]) -> list[tuple[int, int, bytes, bool]]:
    """Empty the rows of blocks, and what else of the database holds their bytes: the packed parts of records.

    SQLite overwrites what it frees (`secure_delete`). Returns n, module number, id and whether it is a member, of
    those that had bytes.
    """
    gone: list[tuple[int, int, bytes, bool]] = []
    packed = False
    for part in chunks(dict.fromkeys(ns)):
        sql = "SELECT n, type, id, enc, departed IS NULL FROM blocks WHERE n IN ({}) AND data IS NOT NULL"
        for n, code, block_id, enc, is_member in connection.rows(sql.format(marks(part)), part):
            gone.append((n, code, block_id, bool(is_member)))
            packed = packed or enc == PACKED
    connection.run_many("UPDATE blocks SET enc = ?, data = NULL WHERE n = ?", [(RAW, n) for n, *_ in gone])
    records = [(n,) for n, code, *_ in gone if code == CODE[MemoryType.PROVENANCE]]
    connection.run_many("UPDATE derivation SET locator = NULL WHERE record_n = ?", records)
    if packed:
        _sweep_fragments(connection)
    return gone


def _sweep_fragments(connection: Connection) -> None:
    """Remove the fragments that no packed record uses any more."""
    used: set[int] = set()
    after = 0
    sql = f"SELECT n, data FROM blocks WHERE n > ? AND enc = {PACKED} ORDER BY n LIMIT {_SCAN}"
    while rows := connection.rows(sql, (after,)):
        for form in read_forms(rows).values():
            used.update((form.frame, form.end))
        after = rows[-1][0]
    unused = [row for row in connection.rows("SELECT n FROM fragment") if row[0] not in used]
    connection.run_many("DELETE FROM fragment WHERE n = ?", unused)


def destroy_content(connection: Connection, digest: bytes, blocks: Sequence[bytes]) -> str | None:
    """Empty the row of an original and note the canonical blocks it went with; its file, where it has one."""
    row = connection.row("SELECT enc, data IS NULL FROM content WHERE digest = ?", (digest,))
    if row is None or row[0] == ERASED:
        return None
    enc, apart = row
    connection.run(
        "UPDATE content SET enc = ?, data = ? WHERE digest = ?", (ERASED, b"".join(sorted(blocks)), digest)
    )
    if not apart:
        return None
    return (
        file_for(connection.path.with_name(CONTENT), digest, enc)
        .relative_to(connection.path.parent)
        .as_posix()
    )


def readmit_content(connection: Connection, blocks: Collection[bytes]) -> None:
    """Let originals in again that went with one of these canonical blocks."""
    for digest, said in connection.rows("SELECT digest, data FROM content WHERE enc = ?", (ERASED,)):
        if not set(_ids(said)).isdisjoint(blocks):
            connection.run("DELETE FROM content WHERE digest = ?", (digest,))


def _ids(said: bytes) -> tuple[Digest, ...]:
    return tuple(Digest(said[i : i + 32]) for i in range(0, len(said), 32))


# --- the list of what is to be erased elsewhere ---------------------------------------------------------------


def _has_list(connection: Connection) -> bool:
    return connection.row("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'erasing'") is not None


def note_erasing(connection: Connection, ns: Iterable[int], files: Iterable[str] = ()) -> None:
    """Put blocks and files on the list; makes it where there is none."""
    rows: list[tuple[int | None, str | None]] = [(n, None) for n in ns]
    rows += [(None, file) for file in files]
    if rows and not _has_list(connection):
        connection.run(ERASING_TABLE)
    if rows:
        connection.run_many("INSERT INTO erasing (n, file) VALUES (?, ?)", rows)


def to_erase(connection: Connection) -> ToErase:
    """What the list holds now."""
    if not _has_list(connection):
        return ToErase()
    rows = connection.rows("SELECT rowid, n, file FROM erasing ORDER BY rowid")
    return ToErase(
        rows=tuple(row[0] for row in rows),
        ns=tuple(sorted({row[1] for row in rows if row[1] is not None})),
        files=tuple(sorted({row[2] for row in rows if row[2] is not None})),
    )


def remove_files(connection: Connection, done: ToErase) -> None:
    """Remove the files on the list, under the write lock: but for those that a commit has brought back."""
    live = _live_files(connection) if done.files else frozenset()
    for name in done.files:
        if name not in live:
            _remove(connection.path.parent / name)


def strike(connection: Connection, done: ToErase) -> None:
    """Take from the list what was done, and nothing that was added meanwhile."""
    connection.run_many("DELETE FROM erasing WHERE rowid = ?", [(row,) for row in done.rows])


def _live_files(connection: Connection) -> frozenset[str]:
    folder = connection.path.with_name(CONTENT)
    rows: Sequence[tuple[bytes, int]] = connection.rows(
        "SELECT digest, enc FROM content WHERE data IS NULL AND enc <> ?", (ERASED,)
    )
    return frozenset(
        file_for(folder, digest, enc).relative_to(connection.path.parent).as_posix() for digest, enc in rows
    )


def _remove(path: Path) -> None:
    """Remove a file durably. Raises StorageError."""
    try:
        path.unlink(missing_ok=True)
        if path.parent.is_dir():
            sync_folder(path.parent)
    except OSError as error:
        raise storage_error(error, "cannot remove", path) from error
