"""What goes and what stays, worked out from the ledger and the bytes: pure questions to one snapshot."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from consilience.errors import BlockNotFoundError, PolicyError, UsageError
from consilience.model import Locator
from consilience.protocol import (
    Canonical,
    Derivation,
    Digest,
    Episodic,
    Mechanism,
    MemoryType,
    Payload,
    Procedural,
    Producer,
    ProducerKind,
    Provenance,
    Semantic,
    content_refs,
    decode,
    format_digest,
    parse_digest,
)
from consilience.store.redaction import RedactionReads
from consilience.store.values import StoredBlock

TEXTS_AT_MOST = 16
"""Texts that are looked for in every other block; a redaction of more than these is not looked for."""

LEAST_PART = 12
"""Characters from which on a text counts as repeated where another text has it as a part."""

KNOWLEDGE = (MemoryType.EPISODIC, MemoryType.SEMANTIC, MemoryType.PROCEDURAL)


@dataclass(slots=True)
class Draft:
    """Ordinals: what goes with why and with which block, what stays with which other sources, what stays without any;
    the originals that go, by digest, each with its canonical blocks; blocks that hold a text as a part."""

    targets: tuple[int, ...]
    goes: dict[int, tuple[str, int | None]]
    stays: dict[int, set[int]] = field(default_factory=dict)
    unsourced: set[int] = field(default_factory=set)
    contents: dict[Digest, list[Digest]] = field(default_factory=dict)
    elsewhere: list[int] = field(default_factory=list)
    searched: bool = True


def draft_drop(reads: RedactionReads, targets: Sequence[int]) -> Draft:
    """What a drop of these blocks takes along.

    Raises BlockNotFoundError for one that is no member, PolicyError for the modules of which nothing is ever dropped.
    """
    members = reads.members(targets)
    for block in reads.blocks(targets):
        if block.n not in members:
            raise _no_member(reads, block)
        if block.memory_type is MemoryType.PROVENANCE:
            raise _ledger(block, "dropped")
        if block.memory_type is MemoryType.EPISODIC:
            raise PolicyError(
                f"{format_digest(block.id)} is episodic memory, which is append-only: it is never dropped",
                hint="`retain supersede` or `retain demote` hides it; `retain redact` destroys its bytes",
            )
    draft = Draft(targets=tuple(targets), goes=dict.fromkeys(targets, ("named", None)))
    _cascade(reads, draft, targets, keep=(MemoryType.PROVENANCE, MemoryType.EPISODIC))
    return draft


def draft_redaction(reads: RedactionReads, targets: Sequence[int]) -> Draft:
    """What a redaction of these blocks takes along: originals that hold their bytes, what was made only from an
    original that was named, and whatever repeats a text whole.

    Raises UsageError for a block whose bytes are gone already, PolicyError for a provenance record.
    """
    named = reads.blocks(targets)
    for block in named:
        if block.memory_type is MemoryType.PROVENANCE:
            raise _ledger(block, "redacted")
        if block.data is None:
            raise _no_bytes(reads, block)
    draft = Draft(targets=tuple(targets), goes=dict.fromkeys(targets, ("named", None)))
    files = [b.n for b in named if b.memory_type is MemoryType.CANONICAL]
    _cascade(reads, draft, files, keep=(MemoryType.PROVENANCE,))
    texts: dict[str, int] = {}
    for block in named:
        if (words := words_of(payload_of(block))).strip():
            texts.setdefault(words, block.n)
    _take_originals(reads, draft, named)
    search = _Search(
        reads, [*map(_needle, texts if len(texts) <= TEXTS_AT_MOST else ()), *_blobs(reads, draft)]
    )
    _repeated(reads, draft, texts, search)
    _take_originals(
        reads, draft, reads.blocks([n for n, (why, _) in draft.goes.items() if why == "same_text"])
    )
    _contents(reads, draft, search)
    here = _with_bytes(reads, draft.goes)
    draft.goes = {n: why for n, why in draft.goes.items() if n in here}
    return draft


# --- the cascade ------------------------------------------------------------------------------------------------


def _cascade(
    reads: RedactionReads, draft: Draft, start: Iterable[int], *, keep: tuple[MemoryType, ...]
) -> None:
    """Add what was derived from nothing but what goes, until nothing more does. Modules of `keep` never go: what loses
    its only source there is noted."""
    frontier = set(start)
    while frontier:
        candidates = reads.members(reads.derived_of(frontier)) - draft.goes.keys()
        sources = reads.sources_of(candidates)
        alive = reads.members({s for n in candidates for s in sources[n] if s > 0}) - draft.goes.keys()
        registered = reads.registered_among(candidates)
        modules = {b.n: b.memory_type for b in reads.blocks(sorted(candidates))}
        found: dict[int, int] = {}
        for n in sorted(candidates):
            others = sources[n] & alive
            if others or n in registered:
                draft.stays[n] = others
            elif modules[n] in keep:
                draft.stays.pop(n, None)
                draft.unsourced.add(n)
            else:
                draft.stays.pop(n, None)
                found[n] = min(sources[n] & draft.goes.keys())
        draft.goes.update((n, ("derived", cause)) for n, cause in found.items())
        frontier = set(found)
    for n, others in draft.stays.items():
        draft.stays[n] = others - draft.goes.keys()


# --- what else holds the bytes ----------------------------------------------------------------------------------


def _originals(reads: RedactionReads, block: StoredBlock, text: str) -> list[int]:
    """The originals that a block's own words were taken from: those that a pipeline split into passages, and those
    that hold the words."""
    sources = reads.sources_of([block.n])[block.n]
    files = [b for b in reads.blocks(sorted(s for s in sources if s > 0)) if b.data is not None]
    files = [b for b in files if b.memory_type is MemoryType.CANONICAL]
    split = _split_from(reads, block.n)
    return [b.n for b in files if format_digest(b.id) in split or _holds(reads, b, text)]


def _split_from(reads: RedactionReads, n: int) -> set[str]:
    found: set[str] = set()
    for stored in reads.derivations_of(n):
        payload = payload_of(stored)
        record = payload.record if isinstance(payload, Provenance) else None
        producer = record.producer if isinstance(record, Derivation) else msgspec.UNSET
        if isinstance(record, Derivation) and isinstance(producer, Producer):
            found.update(record.derived_from if producer.kind is ProducerKind.PIPELINE else ())
    return found


def _holds(reads: RedactionReads, file: StoredBlock, text: str) -> bool:
    payload = payload_of(file)
    if not isinstance(payload, Canonical) or not reads.has_content(parse_digest(payload.blob)):
        return False
    data = reads.content(parse_digest(payload.blob))
    return _plain(text) in _plain(data.decode("utf-8", "replace"))


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


class _Search:
    """Which blocks hold some bytes. Reading them all is what a redaction costs, so that it is done once, for everything
    that is known to be asked for by then."""

    def __init__(self, reads: RedactionReads, needles: Sequence[bytes]) -> None:
        self._reads = reads
        self._needles = set(needles)
        self._found = reads.holding(list(needles), MemoryType.CANONICAL, *KNOWLEDGE)

    def blocks(self, needles: Collection[bytes]) -> list[StoredBlock]:
        """Blocks that may hold one of the needles, ascending."""
        if self._needles.issuperset(needles):
            return self._reads.blocks(self._found)
        return self._reads.blocks(self._reads.holding(list(needles), MemoryType.CANONICAL, *KNOWLEDGE))


def _needle(text: str) -> bytes:
    """A text as it stands inside of an envelope."""
    return msgspec.json.encode(text)[1:-1]


def _take_originals(reads: RedactionReads, draft: Draft, blocks: Iterable[StoredBlock]) -> None:
    for block in blocks:
        if words := words_of(payload_of(block)):
            for original in _originals(reads, block, words):
                draft.goes.setdefault(original, ("original", block.n))


def _repeated(reads: RedactionReads, draft: Draft, texts: dict[str, int], search: _Search) -> None:
    """Blocks with the very same text and records whose place repeats it go along; blocks that hold it as a part are
    noted."""
    if not texts:
        return
    if len(texts) > TEXTS_AT_MOST:
        draft.searched = False
        return
    parts = {needle: n for text, n in texts.items() if len(needle := _needle(text)) >= LEAST_PART}
    for block in search.blocks([_needle(text) for text in texts]):
        if block.n in draft.goes or block.memory_type is MemoryType.CANONICAL or block.data is None:
            continue
        same = texts.get(words_of(payload_of(block)))
        if same is not None:
            draft.goes[block.n] = ("same_text", same)
        elif any(part in block.data for part in parts):
            draft.elsewhere.append(block.n)
    first = min(texts.values())
    draft.goes.update((n, ("names_it", first)) for n in reads.records_naming(_naming(texts)))


def _naming(texts: Collection[str]) -> Callable[[str], bool]:
    """Whether a locator has one of the texts as a heading, or a long one as a part of a heading."""
    escaped = [text.replace("\\", "\\\\").replace(">", "\\>") for text in texts]

    def names(locator: str) -> bool:
        if not any(text in locator for text in escaped):
            return False
        headings = Locator.parse(locator).headings
        return any(h == t or (len(t) >= LEAST_PART and t in h) for h in headings for t in texts)

    return names


def _blobs(reads: RedactionReads, draft: Draft) -> dict[bytes, list[int]]:
    """The digests of the originals that what goes refers to, as they stand in an envelope, with the blocks."""
    found: dict[bytes, list[int]] = {}
    for block in reads.blocks(sorted(draft.goes)):
        payload = payload_of(block)
        for ref in content_refs(payload) if payload is not None else ():
            found.setdefault(ref.blob.encode(), []).append(block.n)
    return found


def _contents(reads: RedactionReads, draft: Draft, search: _Search) -> None:
    """The originals of what goes, and the other canonical blocks of the same bytes; an original that some other block
    refers to stays."""
    going = _blobs(reads, draft)
    kept: set[bytes] = set()
    for block in search.blocks(going) if going else ():
        payload = payload_of(block)
        if block.n in draft.goes or payload is None:
            continue
        if isinstance(payload, Canonical) and payload.blob.encode() in going:
            draft.goes[block.n] = ("same_bytes", going[payload.blob.encode()][0])
            going[payload.blob.encode()].append(block.n)
        else:
            kept.update(going.keys() & {ref.blob.encode() for ref in content_refs(payload)})
    for blob, ns in going.items():
        if blob not in kept:
            draft.contents[parse_digest(blob.decode())] = sorted(reads.ids(ns).values())


def _with_bytes(reads: RedactionReads, ns: Iterable[int]) -> set[int]:
    return {b.n for b in reads.blocks(sorted(ns)) if b.data is not None}


def payload_of(block: StoredBlock) -> Payload | None:
    """What a block says; None where its bytes are gone or damaged."""
    return decode(block.data).payload if block.data is not None and block.intact else None


def words_of(payload: Payload | None) -> str:
    """The one text of a block that is its own; "" for an original, for a record, and where the bytes are gone."""
    match payload:
        case Semantic():
            return payload.statement
        case Episodic():
            return payload.summary
        case Procedural():
            return payload.goal
        case _:
            return ""


# --- refusals ---------------------------------------------------------------------------------------------------


def _ledger(block: StoredBlock, what: str) -> PolicyError:
    return PolicyError(
        f"{format_digest(block.id)} is a provenance record: the ledger is not {what}",
        hint="name the block that it speaks of; `csl block ID` shows which",
    )


_LEFT = {Mechanism.DROP: "dropped", Mechanism.PRUNE: "pruned"}


def _no_member(reads: RedactionReads, block: StoredBlock) -> BlockNotFoundError:
    removals = reads.removals_of(block.n)
    said = (
        f": {_LEFT.get(removals[-1][1].mechanism, 'removed')} by {removals[-1][1].actor.id}, {removals[-1][1].at}"
        if removals
        else ""
    )
    return BlockNotFoundError(
        f"{format_digest(block.id)} is not a member of this brain any more{said}",
        hint="its bytes stay as long as a retained snapshot names them; `retain redact` destroys them",
    )


def _no_bytes(reads: RedactionReads, block: StoredBlock) -> UsageError:
    known = reads.redactions([block.id]).get(block.id)
    if known is not None:
        return UsageError(f"it is redacted already: {known}", hint="there are no bytes left to destroy")
    return UsageError(
        f"the bytes of {format_digest(block.id)} are not here", hint="there is nothing to destroy"
    )
