"""The part of `verify` that walks every block once: bytes, id, schema, membership, and what the ledger says
of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256 as hash_of
from itertools import accumulate
from operator import itemgetter
from typing import Any, Protocol

from consilience.errors import ConsilienceError, CorruptStoreError
from consilience.progress import Progress
from consilience.protocol import (
    Block,
    Derivation,
    Digest,
    MemoryType,
    Provenance,
    Record,
    content_refs,
    decode,
    parse_digest,
    sha256,
)
from consilience.protocol.bulk import decode_many, kind_of
from consilience.store.codec import PACKED, DecodeError
from consilience.store.connection import Connection, Row, marks
from consilience.store.ledger import TABLES, named_by, rows_of
from consilience.store.packed import Form, PackedReads, read_forms_together
from consilience.store.reads import chunks
from consilience.store.schema import CODE, MODULES

__all__ = ["BlockCheck", "Report"]

ROWS = 2_000
LEAST_ROW = 40
"""Bytes that a block takes in the file at the very least: its id and its row."""
_COLUMNS = "n, id, type, entered, departed, enc, data"


class Report(Protocol):
    """Where findings go."""

    def __call__(
        self, what: str, detail: str, module: MemoryType | None = None, block_id: bytes | None = None
    ) -> None: ...


class BlockCheck:
    """Walks the blocks in the order of their ordinals.

    Afterwards: `members` are the ids that belong to each module now, `contents` the digests of the originals
    that blocks name, `counts(module)` the numbers of members at each snapshot.

    A page of blocks is checked together where it is sound; whatever is not certain then is looked at one by one
    (docs/decisions/0150).
    """

    def __init__(self, connection: Connection, report: Report) -> None:
        self._db = connection
        self._report = report
        self.blocks = 0
        self.records = 0
        self.members: dict[MemoryType, list[bytes]] = {m: [] for m in MODULES}
        self.contents: set[Digest] = set()
        self._packed = PackedReads(connection)
        self._ids: dict[int, bytes] = {}
        self._frames: set[tuple[int, bool]] = set()
        self._last = 0
        self._gained: dict[MemoryType, Counter[int]] = {m: Counter() for m in MODULES}
        self._first: Counter[int] = Counter()
        self._matched: Counter[str] = Counter()
        self._absent: set[int] = set()
        self._silent: set[int] = set()

    def run(self, last_seq: int, tombstones: set[Digest], progress: Progress) -> None:
        """Check every block of a store with `last_seq` snapshots."""
        self._last = last_seq
        earlier: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for n, entered, departed in self._db.rows(
            "SELECT n, entered, departed FROM earlier ORDER BY n, entered"
        ):
            earlier[n].append((entered, departed))
        after = 0
        for rows in self._pages():
            self.blocks += len(rows)
            self._ids.update([row[:2] for row in rows])
            self._silent.update([row[0] for row in rows if row[6] is None and row[2] == _PROVENANCE])
            derivations, records = self._page(rows, tombstones)
            self._memberships(rows, earlier)
            if rows:
                self._ledger(range(after + 1, rows[-1][0] + 1), derivations, records)
                after = rows[-1][0]
            progress.advance(len(rows))
        if earlier:
            self._report("membership", f"intervals of ordinals that no block has: {sorted(earlier)[:5]}")
        self._ledger_totals()
        self._repeated()

    def counts(self, memory_type: MemoryType) -> list[int]:
        """The members of a module at each snapshot, from 0, by the intervals of its blocks."""
        return list(accumulate(self._gained[memory_type][seq] for seq in range(self._last + 1)))

    def largest(self) -> list[int]:
        """For each snapshot the largest ordinal that had been given by then."""
        return list(accumulate((self._first[seq] for seq in range(1, self._last + 1)), max))

    def _pages(self) -> Iterator[list[Row]]:
        """All rows in pages. Where a page of the file is damaged, the rows around it one by one."""
        after = 0
        last = self._largest_possible()
        while True:
            try:
                rows = self._db.rows(
                    f"SELECT {_COLUMNS} FROM blocks WHERE n > ? ORDER BY n LIMIT {ROWS}", (after,)
                )
            except CorruptStoreError:
                rows = list(self._singly(after + 1, min(after + ROWS, last)))
                after = min(after + ROWS, last)
                yield rows
                if after >= last:
                    return
                continue
            if not rows:
                return
            yield rows
            if rows[-1][0] <= after:
                self._report("block", f"the blocks after {after} are out of order and cannot be walked")
                return
            after = rows[-1][0]

    def _largest_possible(self) -> int:
        """How far ordinals go by what the snapshots say, and at most as many as the file has room for."""
        said = self._db.rows("SELECT coalesce(max(max_n), 0) FROM snapshots")[0][0]
        pages, size = (self._db.rows(f"PRAGMA {name}")[0][0] for name in ("page_count", "page_size"))
        return min(int(said), int(pages) * int(size) // LEAST_ROW)

    def _singly(self, first: int, last: int) -> Iterator[Row]:
        for n in range(first, last + 1):
            try:
                yield from self._db.rows(f"SELECT {_COLUMNS} FROM blocks WHERE n = ?", (n,))
            except ConsilienceError as error:
                self._report("block", f"block {n} cannot be read: {error.message}")

    # --- a page of blocks -----------------------------------------------------------------------------------

    def _page(
        self, rows: Sequence[Row], tombstones: set[Digest]
    ) -> tuple[list[Row], list[tuple[int, Record, bool]]]:
        """Check the bytes of some blocks.

        Gives what the ledger should hold of the packed records among them, and the other records, as (ordinal,
        record, whether it is packed).
        """
        packed = [row for row in rows if row[5] == PACKED and type(row[6]) is bytes]
        derivations, doubtful = self._derivations(packed)
        whole = rows if not packed else [row for row in rows if row[5] != PACKED or type(row[6]) is not bytes]
        by_module: dict[Any, list[Row]] = defaultdict(list)
        for row in whole:
            by_module[row[2]].append(row)
        for code, found in by_module.items():
            doubtful += self._unsound(code, found)
        self.records += len({row[1] for row in derivations})
        return derivations, self._singly_checked(sorted(doubtful), tombstones)

    def _derivations(self, rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
        """What the ledger should hold of packed records, and the rows that are not certainly sound ones."""
        forms = read_forms_together([(row[0], row[6]) for row in rows])
        envelopes = self._packed.rebuilt(forms, self._ids)
        code = CODE[MemoryType.PROVENANCE]
        derivations: list[Row] = []
        doubtful: list[Row] = []
        for row in rows:
            n = row[0]
            data = envelopes.get(n)
            if data is None or hash_of(data).digest() != row[1] or row[2] != code:
                doubtful.append(row)
                continue
            form = forms[n]
            if not self._is_derivation(form, data):
                doubtful.append(row)
            elif len(form.sources) == 1:
                derivations.append((n - form.block, n, n - form.sources[0], None))
            else:
                derivations += [(n - form.block, n, n - delta, None) for delta in dict.fromkeys(form.sources)]
        return derivations, doubtful

    def _unsound(self, code: Any, rows: Sequence[Row]) -> Sequence[Row]:
        """The rows of one module that are not certainly sound: none, or where one is not of the commonest kind all
        of them. Notes the originals that the others name."""
        try:
            data = self._db.codec.unpack_blocks([row[5:7] for row in rows])
            kind = kind_of(data[0])
        except DecodeError:
            return rows
        if kind is None or code != CODE[kind[0]]:
            return rows
        if [hash_of(each).digest() for each in data] != [row[1] for row in rows]:
            return rows
        payloads = decode_many(*kind, data)
        if payloads is None:
            return rows
        if kind[0] is MemoryType.CANONICAL or b'"content":{' in b"".join(data):
            self.contents.update(parse_digest(ref.blob) for p in payloads for ref in content_refs(p))
        return ()

    def _is_derivation(self, form: Form, data: bytes) -> bool:
        """Whether a packed record is a canonical derivation. Records of one frame differ in digests and in the
        locator's text alone, so that one of each stands for all."""
        kind = (form.frame, form.start is None)
        if kind in self._frames and form.start != "":
            return True
        try:
            payload = decode(data).payload
        except ConsilienceError:
            return False
        if not isinstance(payload, Provenance) or not isinstance(payload.record, Derivation):
            return False
        self._frames.add(kind)
        return True

    # --- one block ------------------------------------------------------------------------------------------

    def _singly_checked(self, rows: Sequence[Row], tombstones: set[Digest]) -> list[tuple[int, Record, bool]]:
        """The records among blocks that are looked at one by one; what is wrong with a block is reported."""
        packed = [(row[0], row[6]) for row in rows if row[5] == PACKED and type(row[6]) is bytes]
        envelopes = self._packed.envelopes(packed)
        records = []
        for row in rows:
            block = self._block(row, tombstones, envelopes)
            if block is not None and isinstance(block.payload, Provenance):
                records.append((row[0], block.payload.record, row[5] == PACKED))
            elif block is not None:
                self.contents.update(parse_digest(ref.blob) for ref in content_refs(block.payload))
        return records

    def _block(self, row: Row, tombstones: set[Digest], envelopes: Mapping[int, bytes]) -> Block | None:
        n, block_id, code, _, departed, enc, stored = row
        if not isinstance(block_id, bytes) or not isinstance(code, int) or not 0 <= code < len(MODULES):
            self._report("block", f"block {n}: its id or module is not one")
            return None
        module = MODULES[code]
        if stored is None:
            if departed is None and block_id not in tombstones:
                self._report("block", f"block {n} has no bytes and no tombstone", module, block_id)
            return None
        try:
            data = self._envelope(n, enc, stored, envelopes)
            if sha256(data) != block_id:
                self._report("block", f"block {n}: its bytes do not hash to its id", module, block_id)
                return None
            block = decode(data)
        except DecodeError as error:
            self._report("block", f"block {n}: its bytes do not decode: {error}", module, block_id)
            return None
        except ConsilienceError as error:
            self._report("block", f"block {n}: {error.message}", module, block_id)
            return None
        if block.memory_type is not module:
            self._report(
                "block", f"block {n} says {block.memory_type}, it is kept as {module}", module, block_id
            )
        return block

    def _envelope(self, n: int, enc: int, stored: bytes, envelopes: Mapping[int, bytes]) -> bytes:
        if enc != PACKED:
            return self._db.codec.unpack(enc, stored)
        if n not in envelopes:
            raise DecodeError("the parts of the packed record are not all here")
        return envelopes[n]

    def _memberships(self, rows: Sequence[Row], earlier: dict[int, list[tuple[int, int]]]) -> None:
        """Count members by their intervals, those that came back one by one."""
        plain = rows
        if earlier:
            plain = [row for row in rows if row[0] not in earlier]
            for row in rows:
                if row[0] in earlier:
                    self._membership(row, earlier.pop(row[0]))
        wrong: set[Row] = set()
        for (code, entered, departed), count in Counter([row[2:5] for row in plain]).items():
            if not self._is_interval(entered, departed, 0) or code not in range(len(MODULES)):
                wrong.add((code, entered, departed))
                continue
            gained = self._gained[MODULES[code]]
            gained[entered] += count
            if departed is not None:
                gained[departed] -= count
        if wrong:
            for row in plain:
                if row[2:5] in wrong:
                    self._membership(row, ())
            plain = [row for row in plain if row[2:5] not in wrong]
        for entered, n in {row[3]: row[0] for row in plain}.items():
            self._first[entered] = max(self._first[entered], n)
        for code, module in enumerate(MODULES):
            self.members[module] += [row[1] for row in plain if row[2] == code and row[4] is None]

    def _membership(self, row: Row, earlier: Sequence[tuple[int, int]]) -> None:
        n, block_id, code, entered, departed = row[:5]
        intervals: list[tuple[Any, Any]] = [*earlier, (entered, departed)]
        end = 0
        for begins, ends in intervals:
            if not self._is_interval(begins, ends, end):
                self._report(
                    "membership", f"block {n}: {begins} to {ends} is no interval here", None, block_id
                )
                return
            end = ends if ends is not None else self._last + 1
        if not isinstance(code, int) or not 0 <= code < len(MODULES):
            return
        gained = self._gained[MODULES[code]]
        for begins, ends in intervals:
            gained[begins] += 1
            if ends is not None:
                gained[ends] -= 1
        self._first[intervals[0][0]] = max(self._first[intervals[0][0]], n)
        if departed is None:
            self.members[MODULES[code]].append(block_id)

    def _is_interval(self, begins: Any, ends: Any, after: int) -> bool:
        """Whether snapshots `begins` to `ends` exist, in order. An empty interval may stand at the next
        snapshot: a block came and went within a commit that made none."""
        if not isinstance(begins, int) or not (ends is None or isinstance(ends, int)):
            return False
        if begins == ends == self._last + 1:
            return True
        return after <= begins <= self._last and (ends is None or begins <= ends <= self._last)

    # --- the ledger -----------------------------------------------------------------------------------------

    def _ledger(
        self, span: range, derivations: list[Row], records: Sequence[tuple[int, Record, bool]]
    ) -> None:
        """Compare what the records with ordinals in `span` say with the ledger's rows for them."""
        self.records += len(records)
        known = self._ordinals({digest for _, record, _ in records for digest in named_by(record)})
        packed = {n for n, _, is_packed in records if is_packed}
        said = rows_of(((n, record) for n, record, _ in records), lambda raw: known.get(raw, 0), packed)
        for table, columns in TABLES.items():
            expected = getattr(said, table)
            if table == "derivation":
                expected = sorted(dict.fromkeys([*derivations, *expected]), key=_by_record)
            sql = f"SELECT {', '.join(columns)} FROM {table} WHERE record_n BETWEEN ? AND ?"
            stored = self._db.rows(f"{sql} ORDER BY record_n, block_n", (span[0], span[-1]))
            if self._silent:
                stored = self._without_silent(table, stored)
            if stored == expected:
                self._matched[table] += len(stored)
                continue
            both = set(stored) & set(expected)
            self._matched[table] += len(both)
            for row in sorted(set(stored) ^ set(expected), key=lambda row: row[1])[:ROWS]:
                whose = "lacks" if row in expected else "has, against its record,"
                self._report("ledger", f"{table} {whose} the row of record {row[1]}", MemoryType.PROVENANCE)

    def _without_silent(self, table: str, stored: list[Row]) -> list[Row]:
        """The rows whose records can be read. Those of a redacted record stand for what nobody can check any more,
        but for their text, which must be gone."""
        kept = [row for row in stored if row[1] not in self._silent]
        for row in stored:
            if row[1] in self._silent:
                self._matched[table] += 1
                self._absent.update(n for n in row if isinstance(n, int) and n < 0)
                if table == "derivation" and row[3] is not None:
                    detail = f"derivation has the place of record {row[1]}, which was redacted"
                    self._report("ledger", detail, MemoryType.PROVENANCE)
        return kept

    def _ordinals(self, digests: set[bytes]) -> dict[bytes, int]:
        known: dict[bytes, int] = {}
        for table in ("blocks", "absent"):
            for part in chunks(digests - known.keys()):
                known.update(self._db.rows(f"SELECT id, n FROM {table} WHERE id IN ({marks(part)})", part))
        self._absent.update(n for n in known.values() if n < 0)
        return known

    def _ledger_totals(self) -> None:
        """Rows of records that are none, and numbers of absent blocks that no record names."""
        for table in TABLES:
            total = self._db.rows(f"SELECT count(*) FROM {table}")[0][0]
            if total != self._matched[table]:
                detail = f"{table} has {total} rows, the records account for {self._matched[table]}"
                self._report("ledger", detail, MemoryType.PROVENANCE)
        absent = {row[0] for row in self._db.rows("SELECT n FROM absent")}
        if absent != self._absent:
            self._report("ledger", "absent blocks are not those that records name", MemoryType.PROVENANCE)

    def _repeated(self) -> None:
        """Ids that two blocks have, and fragments that no record uses: no constraint of SQLite refuses them."""
        repeated = "SELECT id, type FROM blocks GROUP BY id HAVING count(*) > 1"
        for block_id, code in (
            self._db.rows(repeated) if len(set(self._ids.values())) < len(self._ids) else ()
        ):
            module = MODULES[code] if code in range(len(MODULES)) else None
            self._report("block", "two blocks have one id", module, block_id)
        kept = {row[0] for row in self._db.rows("SELECT n FROM fragment")}
        if unused := kept - self._packed.used:
            self._report("block", f"{len(unused)} fragments belong to no record", MemoryType.PROVENANCE)


_by_record = itemgetter(1, 0, 2)
_PROVENANCE = CODE[MemoryType.PROVENANCE]
