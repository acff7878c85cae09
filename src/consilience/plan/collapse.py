"""One passage that stands many times in one brain: copies that differ in case, punctuation or numbering alone are
one match (decision 0106)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from consilience.near import normalised
from consilience.plan.candidates import Working, entries_for
from consilience.plan.intent import Intent
from consilience.protocol import MemoryType
from consilience.store import Hidden

FURTHER = 10
"""So many candidates beyond the limit are looked at; all of them once there are copies among these."""

LITERAL = ("code", "table")
"""Roles whose case and punctuation are part of what they say."""


def groups(
    work: Working, ns: Sequence[int], visible: Mapping[int, Hidden | None]
) -> tuple[tuple[int, ...], ...]:
    """Candidates, best first, with the copies of each behind it; at most the limit of groups.

    A copy has the same words as the first of its group and is a passage too: of the semantic module, of the same kind
    and subject, and hidden by nothing. What was found by its id, code and tables stand alone.
    """
    limit = work.query.limit
    if not work.query.collapse or work.asked.intent is Intent.IDENTITY:
        return tuple((n,) for n in ns[:limit])
    found: dict[object, list[int]] = {}
    _sort_in(work, ns[: limit + FURTHER], visible, found)
    if len(found) < min(len(ns), limit + FURTHER):
        _sort_in(work, ns[limit + FURTHER :], visible, found)
    return tuple(tuple(same) for same in list(found.values())[:limit])


def _sort_in(
    work: Working,
    ns: Sequence[int],
    visible: Mapping[int, Hidden | None],
    found: dict[object, list[int]],
) -> None:
    entries = {e.n: e for e in entries_for(work, ns)}
    for n in ns:
        key: object = n
        entry = entries.get(n)
        if (
            entry is not None
            and entry.module is MemoryType.SEMANTIC
            and entry.role not in LITERAL
            and visible.get(n) is None
        ):
            words = normalised(entry.text, heading=entry.role == "heading")
            key = (words, entry.kind, entry.subject) if words else n
        found.setdefault(key, []).append(n)
