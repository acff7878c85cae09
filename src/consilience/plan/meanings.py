"""Where the matches of one answer stand among all passages of their brain, for a compound to compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from consilience.index.meaning import Meanings
from consilience.plan.answer import Outcome
from consilience.protocol import format_digest

if TYPE_CHECKING:
    from consilience.index.meaning import Floats


def meanings(outcome: Outcome) -> Meanings | None:
    """None for a brain without vectors of its own model, or with ones that were measured to be weak."""
    reader = outcome.work.reader
    index = reader.vectors
    if index is None or reader.weak_vectors:
        return None
    ns = {format_digest(block.id): n for n, block in outcome.work.seen.blocks.items()}

    def placed(block_ids: Sequence[str]) -> tuple[tuple[str, ...], Floats]:
        known = [block_id for block_id in block_ids if block_id in ns]
        found, vectors = index.centred([ns[block_id] for block_id in known])
        return tuple(b for b, here in zip(known, found, strict=True) if here), vectors

    return Meanings(tag=index.tag, placed=placed)
