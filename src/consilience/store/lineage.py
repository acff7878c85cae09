"""Questions to the ledger at one snapshot: where blocks come from, what hides them, what an origin holds now.

Only records that are members at the snapshot count; a later record has a larger ordinal
(docs/decisions/0020).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from consilience.errors import FormatError
from consilience.model import Source
from consilience.protocol import Digest, MemoryType, format_digest, parse_digest
from consilience.store.codec import PACKED
from consilience.store.connection import Row, marks
from consilience.store.ledger import TABLES
from consilience.store.reads import BlockReads, chunks
from consilience.store.schema import CODE
from consilience.store.values import Hidden, Registered, StoredBlock

__all__ = ["Edge", "LineageReads"]


class _Blob(msgspec.Struct):
    blob: str


class _CanonicalEnvelope(msgspec.Struct):
    payload: _Blob


class _At(msgspec.Struct):
    at: str


class _RecordPayload(msgspec.Struct):
    record: _At


class _RecordEnvelope(msgspec.Struct):
    payload: _RecordPayload


_PACKED = f"CASE r.enc WHEN {PACKED} THEN r.data END"
"""A record's packed form, NULL where it is stored whole."""

_first_line = re.compile(r"(?:L|[a-z]+ )([0-9]{1,18})(?![0-9])").match
_read_canonical = msgspec.json.Decoder(_CanonicalEnvelope).decode
_read_record = msgspec.json.Decoder(_RecordEnvelope).decode


class Edge(NamedTuple):
    """That a record ties block `n` to another one."""

    n: int
    other: int
    record_n: int
    locator: str | None


class LineageReads(BlockReads):
    """BlockReads, and what the provenance records say."""

    def _recorded(self, select: str, table: str, condition: str, values: Iterable[Any]) -> list[Row]:
        """Rows of a ledger table `t` whose record `r` is a member here; `condition` has `{}` for the values'
        marks."""
        sql = f"SELECT {select} FROM {table} t JOIN blocks r ON r.n = t.record_n"
        sql += f" WHERE {condition} AND {self._member('r')}"
        return [row for part in chunks(values) for row in self._db.rows(sql.format(marks(part)), part)]

    # --- the latest word about a block ----------------------------------------------------------------------

    def hidden(self, ns: Iterable[int]) -> dict[int, Hidden]:
        """Those of the ordinals that are not shown by default, and why.

        A block is hidden where its latest supersession or demotion is newer than every registration and
        derivation of it. `superseded_by` follows successors that are superseded themselves to the last one
        (for records that run in a circle: the last before one would come again).
        """
        asked = list(ns)
        own = self._hidden_now(asked)
        known = dict(own)
        looked_up = set(asked)
        frontier = {by for by, _ in own.values() if by is not None} - looked_up
        while frontier:
            looked_up |= frontier
            found = self._hidden_now(frontier)
            known.update(found)
            frontier = {by for by, _ in found.values() if by is not None} - looked_up
        ends = {n: _end(n, known) for n in own}
        names = self.ids({end for end in ends.values() if end is not None})
        return {
            n: Hidden(None if (end := ends[n]) is None else names.get(end), demoted)
            for n, (_, demoted) in own.items()
        }

    def _hidden_now(self, ns: Collection[int]) -> dict[int, tuple[int | None, bool]]:
        """For the hidden ones: the successor that the latest supersession names, if any, and whether
        demoted."""
        condition = "t.block_n IN ({})"
        words: dict[int, list[tuple[int, int | None]]] = defaultdict(list)
        for n, record_n, by in self._recorded("t.block_n, t.record_n, t.by_n", "hiding", condition, ns):
            words[n].append((record_n, by))
        if not words:
            return {}
        revived: dict[int, int] = dict.fromkeys(words, 0)
        for table in ("derivation", "registration"):
            for n, record_n in self._recorded("t.block_n, t.record_n", table, condition, words):
                revived[n] = max(revived[n], record_n)
        found = {}
        for n, said in words.items():
            standing = sorted(word for word in said if word[0] > revived[n])
            if standing:
                successors = [by for _, by in standing if by is not None]
                found[n] = (successors[-1] if successors else None, any(by is None for _, by in standing))
        return found

    def hidden_members(self, memory_type: MemoryType | None = None) -> frozenset[int]:
        """The ordinals of all hidden members, of one module or of all."""
        said = [row[0] for row in self._db.rows("SELECT DISTINCT block_n FROM hiding WHERE block_n > 0")]
        candidates = self.members(said)
        if memory_type is not None:
            sql = f"SELECT n FROM blocks WHERE n IN ({{}}) AND type = {CODE[memory_type]}"
            candidates = self._select(sql, candidates)
        return frozenset(self._hidden_now(candidates))

    def hidden_count(self, memory_type: MemoryType) -> int:
        """How many members of a module are hidden."""
        return len(self.hidden_members(memory_type))

    # --- where a block comes from ---------------------------------------------------------------------------

    def sources(self, ns: Iterable[int], *, current: bool = False) -> dict[int, tuple[Source, ...]]:
        """Where each block comes from, oldest record first; a block without any is missing from the result.

        A derivation gives one source for each origin of the block it names; a registration of the block
        itself gives that origin. With `current`, places that hold other bytes by now are left out of a block
        that still has another one.
        """
        asked = list(dict.fromkeys(ns))
        condition = "t.block_n IN ({})"
        columns = f"t.block_n, t.record_n, t.source_n, t.locator, {_PACKED}, r.id"
        derived = self._recorded(columns, "derivation", condition, asked)
        locators = self._locators((row[1], *row[3:5]) for row in derived)
        sources = {row[2] for row in derived}
        origins = self._origins_of({*asked, *sources})
        names = {n: format_digest(block_id) for n, block_id in self.ids(sources | origins.keys()).items()}
        found: dict[int, list[tuple[int, int, str | None, Source]]] = defaultdict(list)
        for n, record_n, source_n, _, _, record in derived:
            locator = locators.get(record_n)
            for origin in origins.get(source_n) or {None: (0, b"")}:
                found[n].append(
                    (record_n, source_n, origin, _source(names, source_n, origin, locator, record))
                )
        for n in asked:
            for origin, (record_n, record) in origins.get(n, {}).items():
                found[n].append((record_n, n, origin, _source(names, n, origin, None, record)))
        kept = {n: self._current(places) if current else places for n, places in found.items()}
        return {n: _distinct(places) for n, places in kept.items()}

    def _locators(self, rows: Iterable[tuple[int, str | None, bytes | None]]) -> dict[int, str | None]:
        """By record the locator of a derivation: from the ledger, or out of the record's packed form."""
        listed = list(rows)
        whole = {record_n: locator for record_n, locator, form in listed if form is None}
        packed = self._packed.locators((record_n, form) for record_n, _, form in listed if form is not None)
        return whole | packed

    def _origins_of(self, ns: Iterable[int]) -> dict[int, dict[str | None, tuple[int, bytes]]]:
        """For each block the origins it was registered under, with the oldest record that says so."""
        found: dict[int, dict[str | None, tuple[int, bytes]]] = defaultdict(dict)
        rows = self._recorded(
            "t.block_n, t.origin, t.record_n, r.id", "registration", "t.block_n IN ({})", ns
        )
        for n, origin, record_n, record in sorted(rows, key=lambda row: row[2]):
            found[n].setdefault(origin, (record_n, record))
        return found

    def _current(
        self, places: list[tuple[int, int, str | None, Source]]
    ) -> list[tuple[int, int, str | None, Source]]:
        if len(places) < 2:
            return places
        named = {source_n for _, source_n, _, _ in places}
        hidden = self.hidden(named)
        here = self.members(named)
        named_origins = {origin for _, _, origin, _ in places if origin is not None}
        words = self._last_words(named_origins)
        holds = {row[0]: row[1] for row in words if row[4] and not row[5]}
        ended = {row[0] for row in words if row[5]}
        kept = [
            place
            for place in places
            if place[1] in here
            and place[1] not in hidden
            and place[2] not in ended
            and (place[2] is None or holds.get(place[2], place[1]) == place[1])
        ]
        return kept or places

    # --- what an origin holds -------------------------------------------------------------------------------

    def _holders(self, origins: Collection[str]) -> dict[str, int]:
        """The canonical block that each origin holds by its latest registration."""
        return {row[0]: row[1] for row in self._latest(origins)}

    def _latest(self, origins: Iterable[str]) -> list[Row]:
        """origin, block_n, record_n, record id of each origin's latest registration of a canonical block; none where
        that block was dropped, or the origin has ended."""
        return [row[:4] for row in self._last_words(origins) if row[4] and not row[5]]

    def _last_words(self, origins: Iterable[str]) -> list[Row]:
        """Of each origin's latest registration of a canonical block: origin, block_n, record_n, record id, whether that
        block is a member, whether the record was itself demoted (the origin has ended: docs/decisions/0220)."""
        here = f"EXISTS (SELECT 1 FROM blocks c WHERE c.n = t.block_n AND {self._member('c')})"
        demoted = (
            "EXISTS (SELECT 1 FROM hiding h JOIN blocks d ON d.n = h.record_n"
            f" WHERE h.block_n = t.record_n AND {self._member('d')})"
        )
        select = f"t.origin, t.block_n, t.record_n, r.id, {here}, {demoted}"
        canonical = (
            f"EXISTS (SELECT 1 FROM blocks c WHERE c.n = t.block_n AND c.type = {CODE[MemoryType.CANONICAL]})"
        )
        rows = self._recorded(select, "registration", f"t.origin IN ({{}}) AND {canonical}", origins)
        return list({row[0]: row for row in sorted(rows, key=lambda row: row[2])}.values())

    def registered(self, origin: str) -> Registered | None:
        """The canonical block that this origin holds now: the one its latest registration names."""
        found = self._latest([origin])
        return self._registered(found)[0] if found else None

    def origins(self) -> Iterator[tuple[str, Registered]]:
        """Every origin with what it holds now, in the order of the origins."""
        names = [
            row[0]
            for row in self._db.rows(
                "SELECT DISTINCT origin FROM registration WHERE origin NOT NULL ORDER BY 1"
            )
        ]
        for part in chunks(names):
            for registered in sorted(self._registered(self._latest(part)), key=lambda r: r.origin):
                yield registered.origin, registered

    def _registered(self, rows: list[Row]) -> list[Registered]:
        stored = {b.n: b for b in self.blocks([n for row in rows for n in row[1:3]])}
        return [
            Registered(n, stored[n].id, origin, _blob(stored[n]), Digest(record), _at(stored[record_n]))
            for origin, n, record_n, record in rows
        ]

    def has_other_origin(self, n: int, origin: str) -> bool:
        """Whether a canonical block is what some other origin than this one holds now."""
        others = {row[0] for row in self._recorded("t.origin", "registration", "t.block_n IN ({})", [n])}
        return n in self._holders(others - {origin, None}).values()

    # --- what was made from a block -------------------------------------------------------------------------

    def children(self, n: int) -> list[tuple[int, str]]:
        """Blocks derived from block `n` with their locator's text ("" for none), in the order of the
        document.

        A block that stands twice in it, or was derived twice, comes once for each place.
        """
        columns = f"t.block_n, t.record_n, t.locator, {_PACKED}"
        rows = self._recorded(columns, "derivation", "t.source_n IN ({})", [n])
        locators = self._locators(row[1:] for row in rows)
        places = [(row[0], row[1], locators.get(row[1]) or "") for row in rows]
        ordered = sorted((_line(loc), record_n, block_n, loc) for block_n, record_n, loc in places)
        return list(dict.fromkeys((block_n, locator) for _, _, block_n, locator in ordered if block_n > 0))

    def derivation_edges(self, ns: Iterable[int], *, up: bool, located: bool = True) -> list[Edge]:
        """What blocks were derived from (`up`), or what was derived from them, one edge for each record that says
        so; in the order of the document where `located`. An `other` below zero is not here."""
        own, other = ("block_n", "source_n") if up else ("source_n", "block_n")
        columns = f"t.{own}, t.{other}, t.record_n" + (f", t.locator, {_PACKED}" if located else "")
        rows = self._recorded(columns, "derivation", f"t.{own} IN ({{}})", ns)
        if not located:
            return [Edge(row[0], row[1], row[2], None) for row in rows]
        locators = self._locators(row[2:] for row in rows)
        edges = [Edge(row[0], row[1], row[2], locators.get(row[2])) for row in rows]
        return sorted(edges, key=lambda e: (e.n, 0 if up else _line(e.locator or ""), e.record_n, e.other))

    def reached(self, n: int, *, up: bool, most: int) -> int:
        """How many blocks are reached from block `n` over any number of derivations, itself left out; `most` + 1
        where there are more. Records that run in a circle end."""
        own, other = ("block_n", "source_n") if up else ("source_n", "block_n")
        sql = (
            f"WITH RECURSIVE way(n) AS (SELECT :n UNION SELECT t.{other} FROM way JOIN derivation t"
            f" ON t.{own} = way.n JOIN blocks r ON r.n = t.record_n WHERE {self._member('r')})"
            " SELECT count(*) FROM (SELECT n FROM way LIMIT :most)"
        )
        return int(self._db.rows(sql, {"n": n, "most": most + 2})[0][0]) - 1

    def derived_from_current(self, ns: Iterable[int], *, besides: int | None = None) -> set[int]:
        """Those of the ordinals that were derived from a block which some origin holds now and nothing hides.

        `besides` names one source that does not count.
        """
        rows = self._recorded("t.block_n, t.source_n", "derivation", "t.block_n IN ({})", ns)
        sources = {source for _, source in rows} - {besides}
        origins = {row[0] for row in self._recorded("t.origin", "registration", "t.block_n IN ({})", sources)}
        current = set(self._holders(origins - {None}).values()) & sources
        current -= self._hidden_now(current).keys()
        return {n for n, source in rows if source in current}

    def touched(self, after: int, *, same: bool = False) -> list[int]:
        """Ordinals up to `after` of which an index that had read blocks 1 to `after` may know too little.

        Later records registered or derived them (or registered a file they come from), or they left or came
        back. `after` is the `max_n` of a snapshot, the last one that has it; with `same` it may be any of them (a
        commit may bring no blocks and take some away), and what its own commit touched is told too.
        """
        which = "max_n < ?" if same else "max_n <= ?"
        seen = self._db.rows(f"SELECT coalesce(max(seq), 0) FROM snapshots WHERE {which}", (after,))[0][0]
        rows = self._db.rows(
            "SELECT block_n FROM derivation WHERE record_n > :after AND record_n <= :last"
            " UNION SELECT block_n FROM registration WHERE record_n > :after AND record_n <= :last"
            " UNION SELECT d.block_n FROM registration g JOIN derivation d ON d.source_n = g.block_n"
            " WHERE g.record_n > :after AND g.record_n <= :last"
            " UNION SELECT d.block_n FROM hiding h JOIN registration g ON g.record_n = h.block_n"
            " JOIN derivation d ON d.source_n = g.block_n WHERE h.record_n > :after AND h.record_n <= :last"
            " UNION SELECT n FROM earlier JOIN blocks USING (n) WHERE blocks.entered > :seen"
            " UNION SELECT n FROM blocks WHERE departed > :seen",
            {"after": after, "last": self.max_n, "seen": seen},
        )
        return sorted(row[0] for row in rows if 0 < row[0] <= after)

    def documents_after(self, after: int) -> list[int]:
        """Blocks that records of an ordinal above `after` registered, or derived something from, ascending."""
        rows = self._db.rows(
            "SELECT source_n FROM derivation WHERE record_n > :after AND record_n <= :last AND source_n > 0"
            " UNION SELECT block_n FROM registration WHERE record_n > :after AND record_n <= :last AND block_n > 0",
            {"after": after, "last": self.max_n},
        )
        return sorted(row[0] for row in rows)

    # --- records as blocks ----------------------------------------------------------------------------------

    def derivations_of(self, n: int) -> list[StoredBlock]:
        """The derivation records that made block `n`, oldest first."""
        return self._records([("derivation", "block_n")], n)

    def derived_from(self, n: int) -> list[StoredBlock]:
        """The derivation records that name block `n` as what something was made from, oldest first."""
        return self._records([("derivation", "source_n")], n)

    def records_about(self, n: int) -> list[StoredBlock]:
        """Every provenance record about block `n`, oldest first: registrations, derivations, normalizations,
        validations, removals, and supersessions and demotions, also those in which it takes another's
        place."""
        return self._records([*((table, "block_n") for table in TABLES), ("hiding", "by_n")], n)

    def mentioned(self) -> set[int]:
        """Blocks that some normalization, validation or removal speaks of: of originals, those that were read."""
        return {row[0] for row in self._db.rows("SELECT DISTINCT block_n FROM mention")}

    def _records(self, places: Iterable[tuple[str, str]], n: int) -> list[StoredBlock]:
        """The records that name block `n` in one of these tables' columns."""
        sql = " UNION ".join(
            f"SELECT t.record_n FROM {table} t JOIN blocks r ON r.n = t.record_n"
            f" WHERE t.{column} = :n AND {self._member('r')}"
            for table, column in places
        )
        return self.blocks(sorted({row[0] for row in self._db.rows(sql, {"n": n})}))


def _end(n: int, known: dict[int, tuple[int | None, bool]]) -> int | None:
    """The last successor of a hidden block: follows `known` until a block that is not superseded, or a
    circle."""
    seen, at = {n}, known[n][0]
    while at is not None and at in known:
        seen.add(at)
        after = known[at][0]
        if after is None or after in seen:
            break
        at = after
    return at


def _line(locator: str) -> int:
    """The first line that a locator names (`L120-L134 ...`), 0 where it names none."""
    found = _first_line(locator)
    return int(found[1]) if found else 0


def _source(names: dict[int, str], n: int, origin: str | None, locator: str | None, record: bytes) -> Source:
    return Source(block_id=names[n], origin=origin, locator=locator, record=format_digest(record))


def _distinct(places: list[tuple[int, int, str | None, Source]]) -> tuple[Source, ...]:
    """Oldest record first, each place once."""
    if len(places) == 1:
        return (places[0][3],)
    first: dict[tuple[int, str | None, str | None], Source] = {}
    for _, source_n, origin, source in sorted(places, key=lambda p: (p[0], p[1], p[2] or "")):
        first.setdefault((source_n, origin, source.locator), source)
    return tuple(first.values())


def _blob(block: StoredBlock) -> Digest | None:
    """The digest of the original bytes that a canonical block names; None where its own bytes are gone or
    damaged."""
    try:
        return None if block.data is None else parse_digest(_read_canonical(block.data).payload.blob)
    except (msgspec.MsgspecError, ValueError, FormatError):
        return None


def _at(record: StoredBlock) -> str | None:
    try:
        return None if record.data is None else _read_record(record.data).payload.record.at
    except (msgspec.MsgspecError, ValueError):
        return None
