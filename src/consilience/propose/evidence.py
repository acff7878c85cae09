"""What candidates may rest on: blocks of this brain that can be read, their words, and the places in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec

from consilience.citations.quotations import normal, stands_in
from consilience.errors import ConsilienceError
from consilience.ingest import decoding
from consilience.ingest.pipeline import is_from_reader
from consilience.model import Locator, Source
from consilience.plan.entries import text_of
from consilience.protocol import (
    Canonical,
    Digest,
    MemoryType,
    Payload,
    canonical,
    decode,
    parse_digest,
    payload_json,
)
from consilience.store import StoredBlock
from consilience.store.redaction import RedactionReads

__all__ = ["Evidence", "Piece"]


@dataclass(frozen=True)
class Piece:
    """One block as evidence. `why` says why it cannot be one, None where it can; `text` is what there is to read.

    `places` are where it stands in its sources; for a file, where its passages stand in it.
    """

    block_id: Digest
    n: int = 0
    memory_type: MemoryType | None = None
    why: str | None = None
    redacted: bool = False
    text: str = ""
    origin: str | None = None
    locator: str | None = None
    strings: tuple[str, ...] = ()
    places: tuple[Locator, ...] = ()

    @cached_property
    def normal(self) -> tuple[str, ...]:
        """The texts in which a quotation may stand, as quotations are compared."""
        return tuple(normal(text) for text in self.strings)

    def says(self, quote: str) -> bool:
        return stands_in(quote, self.normal)

    def reaches(self, place: Locator) -> bool:
        """Whether a place lies in this block: the same kind of number and within its range, the same headings."""
        return any(_within(place, own) for own in self.places) or (
            not place.headings and not place.date and place.first_line is not None and self._spans(place)
        )

    def _spans(self, place: Locator) -> bool:
        """Whether a range lies between the first and the last place, though it may reach over several."""
        assert place.first_line is not None and place.last_line is not None
        own = [p for p in self.places if p.unit == place.unit and p.first_line is not None]
        first = min((p.first_line or 0 for p in own), default=0)
        last = max((p.last_line or p.first_line or 0 for p in own), default=-1)
        return first <= place.first_line and place.last_line <= last


def _within(place: Locator, own: Locator) -> bool:
    if place.headings and place.headings != own.headings[: len(place.headings)]:
        return False
    if place.date and place.date != own.date:
        return False
    if place.first_line is None:
        return True
    if own.first_line is None or own.unit != place.unit:
        return False
    last = place.first_line if place.last_line is None else place.last_line
    return own.first_line <= place.first_line and last <= (own.last_line or own.first_line)


class Evidence:
    """Looks blocks up, each once."""

    def __init__(self, view: RedactionReads) -> None:
        self._view = view
        self._pieces: dict[Digest, Piece] = {}

    def piece(self, block_id: Digest) -> Piece:
        if block_id not in self._pieces:
            self._pieces[block_id] = self._look(block_id)
        return self._pieces[block_id]

    def _look(self, block_id: Digest) -> Piece:
        view = self._view
        n = view.ordinals([block_id]).get(block_id)
        if n is None:
            return Piece(block_id, why="this brain has no such block")
        [block] = view.blocks([n])
        if n not in view.members([n]):
            return Piece(block_id, n, block.memory_type, why="it is not a member of this brain any more")
        if block.memory_type is MemoryType.PROVENANCE:
            return Piece(block_id, n, block.memory_type, why="it is a provenance record, not evidence")
        if block.data is None:
            return Piece(block_id, n, block.memory_type, why="it is redacted", redacted=True)
        if not block.intact:
            return Piece(block_id, n, block.memory_type, why="its bytes do not hash to its id")
        return self._readable(block, decode(block.data).payload)

    def _readable(self, block: StoredBlock, payload: Payload) -> Piece:
        assert block.data is not None
        sources = self._view.sources([block.n]).get(block.n, ())
        if not isinstance(payload, Canonical):
            return Piece(
                block.id,
                block.n,
                block.memory_type,
                text=text_of(payload),
                origin=_origin(sources),
                locator=next((s.locator for s in sources if s.locator), None),
                strings=tuple(canonical.strings_in(msgspec.json.decode(payload_json(block.data)))),
                places=tuple(s.place for s in sources if s.locator),
            )
        words = self._words(payload)
        parts = self.children(block.n)
        places = tuple(Locator.parse(locator) for _, locator in parts if locator)
        if not places and words is not None:
            places = (
                Locator(first_line=1, last_line=max(1, words.count("\n") + (not words.endswith("\n")))),
            )
        read = "\n".join(text_of(decode(b.data).payload) for b, _ in parts if b.data is not None)
        if words is None and not read:
            why = "its bytes are no text, and no passage of them is here"
            return Piece(block.id, block.n, block.memory_type, why=why)
        return Piece(
            block.id,
            block.n,
            block.memory_type,
            text=read if words is None else words,
            origin=_origin(sources),
            strings=tuple(text for text in (words, read) if text),
            places=places,
        )

    def _words(self, payload: Canonical) -> str | None:
        digest = parse_digest(payload.blob)
        if not self._view.has_content(digest):
            return None
        try:
            found = decoding.decode(self._view.content(digest))
        except ConsilienceError:
            return None
        return found.text if isinstance(found, decoding.Decoded) else None

    def children(self, n: int) -> list[tuple[StoredBlock, str]]:
        """The passages of a file that can be read, in its order, with their locators."""
        children = self._view.children(n)
        ns = [child for child, _ in children]
        here = self._view.members(ns)
        blocks = {
            b.n: b
            for b in self._view.blocks(ns)
            if b.n in here and b.intact and is_from_reader(self._view, b.n)
        }
        return [(blocks[child], locator) for child, locator in children if child in blocks]

    def scope(self, sources: Sequence[Digest]) -> tuple[Digest, ...]:
        """Everything that a task over these sources allows as evidence: they, and the passages of the files in them."""
        found: dict[Digest, None] = dict.fromkeys(sources)
        for piece in (self.piece(each) for each in sources):
            if piece.why is None and piece.memory_type is MemoryType.CANONICAL:
                found.update(dict.fromkeys(block.id for block, _ in self.children(piece.n)))
        return tuple(found)

    def reading(self, source: Digest) -> Iterator[Piece]:
        """What there is to read of a source: visible passages of a file, each with its id; else the block itself."""
        piece = self.piece(source)
        if piece.why is not None:
            return
        parts = self.children(piece.n) if piece.memory_type is MemoryType.CANONICAL else []
        hidden = self._view.hidden([block.n for block, _ in parts])
        shown = [part for part in parts if part[0].n not in hidden]
        if not shown:
            yield piece
        for block, locator in shown:
            assert block.data is not None
            text = text_of(decode(block.data).payload)
            yield Piece(
                block.id, block.n, block.memory_type, text=text, origin=piece.origin, locator=locator or None
            )


def _origin(sources: Sequence[Source]) -> str | None:
    return next((s.origin for s in sources if s.origin), None)
