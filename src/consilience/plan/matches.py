"""Candidates into matches: every block's bytes are hashed, and its membership is proven, before it is returned (C7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from consilience.model import Entry, Match, Source
from consilience.plan.candidates import Working, entries_for
from consilience.protocol import format_digest, payload_json
from consilience.store import Hidden, StoredBlock


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
    blocks = {b.n: b for b in view.blocks(ns)}
    proven = view.proven(blocks.values())
    sources = view.sources(ns, current=True)
    entries = {e.n: e for e in entries_for(work, ns)}
    roots = {m.memory_type: format_digest(m.root) for m in view.modules()}
    matches: list[Match] = []
    dropped: list[str] = []
    for same in shown:
        copies: list[Match] = []
        for n, score, strength in same:
            block = blocks[n]
            if n not in proven or (block.data is not None and not block.intact):
                dropped.append(format_digest(block.id))
                continue
            match = _match(work, block, entries.get(n), sources.get(n, ()), visible.get(n))
            known = {"score": score, "strength": strength, "root": roots[block.memory_type]}
            copies.append(msgspec.structs.replace(match, rank=len(matches) + 1, **known))
        if copies:
            matches.append(_one(copies))
    top = matches[0].score if matches else 1.0
    return [_rescaled(match, top) for match in matches], dropped


def _one(copies: Sequence[Match]) -> Match:
    """One match of the copies of a passage: the first, with the sources of all."""
    if len(copies) == 1:
        return copies[0]
    sources = tuple(dict.fromkeys(source for copy in copies for source in copy.sources))
    return msgspec.structs.replace(copies[0], sources=sources, also=tuple(copies[1:]))


def _rescaled(match: Match, top: float) -> Match:
    also = tuple(_rescaled(copy, top) for copy in match.also)
    return msgspec.structs.replace(match, score=match.score / top if top else 0.0, also=also)


def _match(
    work: Working, block: StoredBlock, entry: Entry | None, sources: Sequence[Source], hidden: Hidden | None
) -> Match:
    from consilience.index.question import matched_words

    text = entry.text if entry is not None else ""
    asked = work.lexical_query
    headings = sources[0].place.headings if sources else ()
    after = hidden.superseded_by if hidden is not None else None
    return Match(
        block_id=format_digest(block.id),
        memory_type=block.memory_type,
        rank=0,
        score=0.0,
        strength=None,
        content=msgspec.Raw(payload_json(block.data)) if block.data is not None else None,
        text=text,
        title=headings[0] if headings else "",
        resolvable=block.data is not None,
        superseded_by=format_digest(after) if after is not None else None,
        sources=tuple(sources),
        highlights=matched_words(asked, text, entry.language)
        if asked is not None and entry is not None
        else (),
        role=entry.role if entry is not None else "prose",
    )
