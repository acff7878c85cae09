"""Candidates into matches: every block's bytes are hashed, and its membership is proven, before it is returned (C7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from consilience.model import Entry, Match, Source, Value
from consilience.plan.candidates import Working, entries_for
from consilience.protocol import format_digest, payload_json
from consilience.store import Hidden, StoredBlock

if TYPE_CHECKING:
    from consilience.index.question import Highlighter


def verified(
    work: Working,
    shown: Sequence[Sequence[tuple[int, float, float | None]]],
    visible: Mapping[int, Hidden | None],
) -> tuple[list[Match], list[str]]:
    """A match for each group of (ordinal, score, strength), best first, the first of a group with the rest in `also`;
    and the ids of those whose bytes do not hash to their name or which the root does not prove to be members.

    The latter are not among the matches. A block whose bytes were redacted is a match without content.
    """
    view = work.reader.view
    ns = [n for same in shown for n, _, _ in same]
    entries = {e.n: e for e in entries_for(work, ns)}
    blocks, sources = _read(work, ns)
    proven = view.proven(blocks[n] for n in ns)
    roots = {m.memory_type: format_digest(m.root) for m in view.modules()}
    highlighter = highlighter_of(work) if work.highlighted else None
    matches: list[Match] = []
    dropped: list[str] = []
    top: float | None = None
    for same in shown:
        copies: list[Match] = []
        for n, score, strength in same:
            block, entry = blocks[n], entries.get(n)
            if n not in proven or (block.data is not None and not block.intact):
                dropped.append(format_digest(block.id))
                continue
            top = score if top is None else top
            found = _Found(
                block=block,
                entry=entry,
                sources=sources.get(n, ()),
                hidden=visible.get(n),
                rank=len(matches) + 1,
                score=score / top if top else 0.0,
                strength=strength,
                root=roots[block.memory_type],
            )
            copies.append(_match(found, highlighter))
        if copies:
            matches.append(_one(copies))
    return matches, dropped


def _read(
    work: Working, ns: Sequence[int]
) -> tuple[Mapping[int, StoredBlock], Mapping[int, tuple[Source, ...]]]:
    """The blocks and their sources: as they were read for their entries, and what was not read yet."""
    view, seen = work.reader.view, work.seen
    missing = [n for n in ns if n not in seen.blocks]
    if missing:
        seen.blocks.update((b.n, b) for b in view.blocks(missing))
        seen.sources.update(view.sources(missing, current=True))
    return seen.blocks, seen.sources


def highlighter_of(work: Working) -> Highlighter | None:
    """What finds the words of a text that the question hit; None for a block asked for by its id."""
    if work.lexical_query is None:
        return None
    from consilience.index.question import Highlighter

    return Highlighter(work.lexical_query)


class _Found(Value, frozen=True, kw_only=True):
    """What a match is made of."""

    block: StoredBlock
    entry: Entry | None
    sources: tuple[Source, ...]
    hidden: Hidden | None
    rank: int
    score: float
    strength: float | None
    root: str


def _one(copies: Sequence[Match]) -> Match:
    """One match of the copies of a passage: the first, with the sources of all."""
    if len(copies) == 1:
        return copies[0]
    sources = tuple(dict.fromkeys(source for copy in copies for source in copy.sources))
    return msgspec.structs.replace(copies[0], sources=sources, also=tuple(copies[1:]))


def _match(found: _Found, highlighter: Highlighter | None) -> Match:
    block, entry, sources = found.block, found.entry, found.sources
    text = entry.text if entry is not None else ""
    headings = sources[0].place.headings if sources else ()
    after = found.hidden.superseded_by if found.hidden is not None else None
    return Match(
        block_id=format_digest(block.id),
        memory_type=block.memory_type,
        rank=found.rank,
        score=found.score,
        strength=found.strength,
        content=msgspec.Raw(payload_json(block.data)) if block.data is not None else None,
        text=text,
        title=headings[0] if headings else "",
        resolvable=block.data is not None,
        superseded_by=format_digest(after) if after is not None else None,
        sources=sources,
        highlights=highlighter.words(text, entry.language)
        if highlighter is not None and entry is not None
        else (),
        role=entry.role if entry is not None else "prose",
        root=found.root,
    )
