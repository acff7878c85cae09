"""An answer for a compound in this process: what only the matches that it shows need is worked out for them alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from consilience.index.meaning import Meanings
from consilience.model import Bundle, Query, Value
from consilience.plan.answer import Outcome, answer
from consilience.plan.matches import highlighter_of
from consilience.plan.reader import Reader
from consilience.protocol import format_digest

if TYPE_CHECKING:
    from consilience.index.meaning import Floats


class LocalAnswer(Value, frozen=True, kw_only=True):
    """A bundle whose matches have no highlights: `highlights` gives those of a block id of the answer.

    `meanings`: where the matches stand among all passages; None for a brain without vectors of its own model, or with
    weak ones.
    """

    bundle: Bundle
    meanings: Meanings | None
    highlights: Callable[[str], tuple[str, ...]]


def local_answer(reader: Reader, query: Query) -> LocalAnswer:
    """Ask one brain, for a compound. Raises as `answer`."""
    outcome = answer(reader, query, highlights=False)
    work = outcome.work
    ns = {format_digest(block.id): n for n, block in work.seen.blocks.items()}
    highlighter = highlighter_of(work)

    def highlights(block_id: str) -> tuple[str, ...]:
        entry = work.entries.get(ns.get(block_id, 0))
        if entry is None or highlighter is None:
            return ()
        return highlighter.words(entry.text, entry.language)

    return LocalAnswer(bundle=outcome.bundle, meanings=_meanings(outcome, ns), highlights=highlights)


def _meanings(outcome: Outcome, ns: dict[str, int]) -> Meanings | None:
    reader = outcome.work.reader
    index = reader.vectors
    if index is None or reader.weak_vectors:
        return None

    def placed(block_ids: Sequence[str]) -> tuple[tuple[str, ...], Floats]:
        known = [block_id for block_id in block_ids if block_id in ns]
        found, vectors = index.centred([ns[block_id] for block_id in known])
        return tuple(b for b, here in zip(known, found, strict=True) if here), vectors

    return Meanings(tag=index.tag, placed=placed)
