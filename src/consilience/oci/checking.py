"""Blocks that are about to come in: each one read, hashed and decoded, and put in the order of its arrival.

The order inside one snapshot is not part of the protocol. What is derived comes after what it is derived from, in
the order of its source; of the records of one moment those that hide come before those that place, as when a
passage that one file lost is taken from another (docs/decisions/0131).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

import msgspec

from consilience.errors import FormatError, IntegrityError
from consilience.oci.source import Source
from consilience.protocol import (
    Actor,
    Block,
    Demotion,
    Derivation,
    Digest,
    MemoryType,
    Provenance,
    Record,
    Registration,
    Removal,
    Supersession,
    content_refs,
    decode,
    format_digest,
    parse_digest,
)

__all__ = ["Arrivals", "Need"]

_first_line = re.compile(r"(?:L|[a-z]+ )([0-9]{1,9})(?![0-9])").match
_NOWHERE = 1 << 40


class Need(msgspec.Struct, frozen=True):
    """A block to come: its module, the position of the snapshot at which it joins, and whether it must have its
    bytes (a member of the head that no tombstone names)."""

    id: Digest
    memory_type: MemoryType
    position: int
    required: bool
    tombstoned: bool


class _Seen(msgspec.Struct):
    """What one block tells about its place in the order."""

    need: Need
    at: str = ""
    phase: int = 0
    about: bytes = b""
    source: bytes = b""
    line: int = _NOWHERE


class Arrivals:
    """Checks blocks and keeps of each what orders it: some hundred bytes."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._seen: list[_Seen] = []
        self._origins: dict[bytes, str] = {}
        self._derived: dict[bytes, tuple[bytes, int]] = {}
        self._optional: dict[Digest, list[bytes]] = defaultdict(list)
        self.contents: dict[Digest, tuple[int, bool]] = {}
        self.removed: set[bytes] = set()
        self.actors: dict[int, set[Actor]] = {}
        self.without_bytes: set[bytes] = set()
        self.ignored = 0

    def check(self, need: Need) -> None:
        """Raises IntegrityError for bytes that are missing or of another module, FormatError for what is no
        block."""
        what = f"block {format_digest(need.id)} of {need.memory_type}"
        if need.tombstoned:
            self.without_bytes.add(need.id)
            self.ignored += self._source.block(need.id, what) is not None
            self._seen.append(_Seen(need, phase=9))
            return
        data = self._source.block(need.id, what)
        if data is None:
            if need.required:
                named = self._source.tombstones.get(need.id)
                said = f", its bytes were destroyed ({named}) and no snapshot says so" if named else ""
                raise IntegrityError(f"{what} is not in the layout{said}", hint=_AGAIN)
            self.without_bytes.add(need.id)
            self._seen.append(_Seen(need, phase=9))
            return
        self._seen.append(self._look(need, self._decoded(data, need, what)))

    def look_again(self, need: Need) -> None:
        """Check the bytes of a block that is stored without them."""
        what = f"block {format_digest(need.id)} of {need.memory_type}"
        data = self._source.block(need.id, what)
        if data is None:
            raise IntegrityError(f"{what} is not in the layout", hint=_AGAIN)
        self._decoded(data, need, what)

    def forget_naming(self, contents: Iterable[Digest]) -> None:
        """Take the blocks that name these contents, none of which is a member, as blocks without bytes."""
        for digest in contents:
            self.without_bytes.update(self._optional.get(digest, ()))

    def _decoded(self, data: bytes, need: Need, what: str) -> Block:
        try:
            block = decode(data)
        except FormatError as error:
            raise FormatError(f"{what}: {error.message}", hint=error.hint) from error
        if block.memory_type is not need.memory_type:
            raise IntegrityError(f"{what}: it is a block of {block.memory_type}")
        for ref in content_refs(block.payload):
            digest = parse_digest(ref.blob)
            size, required = self.contents.get(digest, (ref.size, False))
            if size != ref.size:
                raise IntegrityError(f"{what}: two blocks say different lengths of {ref.blob}")
            self.contents[digest] = (size, required or need.required)
            if not need.required:
                self._optional[digest].append(need.id)
        return block

    def _look(self, need: Need, block: Block) -> _Seen:
        if not isinstance(block.payload, Provenance):
            return _Seen(need)
        record = block.payload.record
        self.actors.setdefault(need.position, set()).add(record.actor)
        seen = _Seen(need, at=record.at, phase=1 if isinstance(record, (Demotion, Supersession)) else 2)
        if isinstance(record, Removal):
            self.removed.update(parse_digest(text) for text in record.blocks)
            return seen
        seen.about = parse_digest(record.block)
        if isinstance(record, Registration) and isinstance(record.origin, str):
            self._origins.setdefault(seen.about, record.origin)
        elif isinstance(record, Derivation):
            seen.source, seen.line = parse_digest(record.derived_from[0]), _line(record)
            self._derived.setdefault(seen.about, (seen.source, seen.line))
        return seen

    def ordered(self) -> list[Need]:
        """Everything checked, in the order in which it is to be written."""
        place = {
            seen.need.id: (self._origins.get(seen.need.id, "\U0010ffff"), seen.need.id)
            for seen in self._seen
            if seen.need.memory_type is MemoryType.CANONICAL
        }

        def key(seen: _Seen) -> tuple[object, ...]:
            need = seen.need
            if need.memory_type is MemoryType.PROVENANCE:
                source, line = (
                    (seen.source, seen.line)
                    if seen.source
                    else self._derived.get(seen.about, (seen.about, 0))
                )
                return need.position, 2, seen.at, seen.phase, place.get(Digest(source), _LAST), line, need.id
            if need.memory_type is MemoryType.CANONICAL:
                return need.position, 0, "", 0, place[need.id], 0, need.id
            source, line = self._derived.get(need.id, (b"", _NOWHERE))
            return need.position, 1, "", 0, place.get(Digest(source), _LAST), line, need.id

        return [seen.need for seen in sorted(self._seen, key=key)]


_LAST = ("\U0010ffff\U0010ffff", Digest(b""))
_AGAIN = "copy the layout again from where it came"


def _line(record: Derivation) -> int:
    found = _first_line(record.locator) if isinstance(record.locator, str) else None
    return int(found[1]) if found else _NOWHERE


def record_of(block: Block) -> Record | None:
    return block.payload.record if isinstance(block.payload, Provenance) else None


def one_actor(actors: Iterable[Actor]) -> Actor | None:
    """The actor, where all agree."""
    found = set(actors)
    return found.pop() if len(found) == 1 else None
