"""What a brain holds already, as far as candidates are concerned: the same blocks, the same words, the same claims.

One walk over the modules that candidates are of, whatever their number; blocks are read as far as their words only.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from consilience.protocol import Block, Digest, MemoryType, Semantic
from consilience.store import Hidden
from consilience.store.redaction import Redaction, RedactionReads

__all__ = ["Claim", "Held", "claim_of", "folded"]


class Claim(NamedTuple):
    """What a semantic block says something of. Two that say different things of one claim contradict each other."""

    label: str
    subject: str
    kind: str


class _Payload(msgspec.Struct):
    kind: str = ""
    label: str = ""
    statement: str = ""
    subject: str = ""
    summary: str = ""
    occurred_at: str = ""
    goal: str = ""
    steps: msgspec.Raw = msgspec.Raw(b"")


class _Envelope(msgspec.Struct):
    payload: _Payload


_read = msgspec.json.Decoder(_Envelope).decode


def folded(text: str) -> str:
    """Text without what does not change what it says: case, spacing, compatibility forms, invisible characters, and
    the full stop at its end (Unicode NFKC and case folding)."""
    kept = unicodedata.normalize("NFKC", text).casefold()
    if not kept.isascii():
        kept = "".join(c for c in kept if unicodedata.category(c) != "Cf")
    return " ".join(kept.split()).rstrip(" .。")


def claim_of(block: Block) -> tuple[Claim | None, str]:
    """What a block says something of, and what it says."""
    payload = block.payload
    if not isinstance(payload, Semantic):
        return None, ""
    subject = payload.subject if isinstance(payload.subject, str) else ""
    return Claim(folded(payload.label), folded(subject), payload.kind.value), folded(payload.statement)


def _words(memory_type: MemoryType, payload: _Payload) -> str:
    """What makes two blocks of a module say the same."""
    if memory_type is MemoryType.SEMANTIC:
        return folded(payload.statement)
    if memory_type is MemoryType.EPISODIC:
        return f"{payload.occurred_at} {folded(payload.summary)}"
    return f"{folded(payload.goal)} {folded(bytes(payload.steps).decode())}"


class Held:
    """What the brain has of, and beside, these blocks."""

    def __init__(self, view: RedactionReads, blocks: Sequence[Block]) -> None:
        self._view = view
        ids = list(dict.fromkeys(block.id for block in blocks))
        ordinals = view.ordinals(ids)
        here = view.members(ordinals.values())
        gone = view.redactions(ids)
        self.redacted: dict[Digest, Redaction] = {i: each for i, each in gone.items() if not each.readmitted}
        self.members: dict[Digest, int] = {i: n for i, n in ordinals.items() if n in here and i not in gone}
        self.hidden: dict[int, Hidden] = view.hidden(sorted(self.members.values()))
        self._claims: dict[Claim, list[tuple[str, Digest]]] = defaultdict(list)
        self._same: dict[tuple[MemoryType, str], list[Digest]] = defaultdict(list)
        self._sources: dict[int, set[int]] = view.sources_of(self.members.values())
        self._walk([block for block in blocks if block.id not in self.members])

    def _walk(self, blocks: Sequence[Block]) -> None:
        modules = {block.memory_type for block in blocks}
        if not modules:
            return
        claims = {claim for block in blocks if (claim := claim_of(block)[0]) is not None}
        wanted = {(b.memory_type, _words(b.memory_type, _read(b.data).payload)) for b in blocks}
        found: list[tuple[int, Digest, MemoryType, Claim | None, str, str]] = []
        for block in self._view.scan(modules):
            if block.data is None:
                continue
            try:
                payload = _read(block.data).payload
            except (msgspec.MsgspecError, ValueError):
                continue
            words = _words(block.memory_type, payload)
            claim = None
            if block.memory_type is MemoryType.SEMANTIC and payload.statement:
                claim = Claim(folded(payload.label), folded(payload.subject), payload.kind)
            if (block.memory_type, words) in wanted or claim in claims:
                found.append((block.n, block.id, block.memory_type, claim, words, folded(payload.statement)))
        hidden = self._view.hidden([n for n, *_ in found])
        for n, block_id, memory_type, claim, words, says in found:
            if n in hidden:
                continue
            if claim in claims and claim is not None:
                self._claims[claim].append((says, block_id))
            if (memory_type, words) in wanted:
                self._same[memory_type, words].append(block_id)

    def otherwise(self, claim: Claim, says: str) -> list[Digest]:
        """Visible blocks that say something else of the same."""
        return sorted(block_id for said, block_id in self._claims.get(claim, ()) if said != says)

    def same_words(self, block: Block) -> list[Digest]:
        """Visible blocks that say the same in nearly the same words."""
        words = _words(block.memory_type, _read(block.data).payload)
        return sorted(each for each in self._same.get((block.memory_type, words), ()) if each != block.id)

    def further(self, n: int, evidence: Sequence[Digest]) -> tuple[tuple[Digest, ...], tuple[Digest, ...]]:
        """Evidence that is known for a block, and that which is not; what was made of the block itself, however
        indirectly, is no evidence for it."""
        ordinals = self._view.ordinals(evidence)
        known, more = [], []
        for each in evidence:
            source = ordinals.get(each)
            if source is None or source in self._sources.get(n, ()) or self._comes_from(source, n):
                known.append(each)
            else:
                more.append(each)
        return tuple(known), tuple(more)

    def _comes_from(self, n: int, ancestor: int) -> bool:
        seen, level = {n}, {n}
        while level:
            if ancestor in level:
                return True
            above = self._view.sources_of(level)
            level = {each for found in above.values() for each in found} - seen
            seen |= level
        return False
