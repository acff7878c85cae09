"""What happens to the passages of a file that changed: docs/decisions/0100-changed-files.md. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from consilience.model import Value

SAME_PASSAGE = 0.6
"""Least similarity (difflib ratio over words, 0..1) at which a new passage counts as the old one edited."""

_CANDIDATES = 40
"""New passages compared with one old passage: those whose position in the file is nearest."""


class Gone(Value, frozen=True, kw_only=True):
    """A passage of the old file that the new one lacks; `position` is its share of the way through the file, 0..1."""

    n: int
    text: str
    position: float


class Fresh(Value, frozen=True, kw_only=True):
    """A passage of the new file that the old one lacked."""

    n: int
    text: str
    position: float


class Replacement(Value, frozen=True, kw_only=True):
    """`by` is the ordinal of the passage that took the old one's place, None where nothing did (it is demoted)."""

    n: int
    by: int | None


def replacements(gone: Sequence[Gone], fresh: Sequence[Fresh]) -> tuple[Replacement, ...]:
    """Pair each gone passage with the new passage most like it, or with nothing. Ties go to the nearer position."""
    words = {f.n: f.text.split() for f in fresh}
    out = []
    for old in gone:
        near = sorted(fresh, key=lambda f: (abs(f.position - old.position), f.n))[:_CANDIDATES]
        out.append(Replacement(n=old.n, by=_best(old.text.split(), near, words)))
    return tuple(out)


def _best(old: list[str], near: Sequence[Fresh], words: dict[int, list[str]]) -> int | None:
    best, best_ratio = None, SAME_PASSAGE
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(old)
    for candidate in near:
        matcher.set_seq1(words[candidate.n])
        if matcher.real_quick_ratio() < best_ratio or matcher.quick_ratio() < best_ratio:
            continue
        ratio = matcher.ratio()
        if ratio > best_ratio or (ratio == best_ratio and best is None):
            best, best_ratio = candidate.n, ratio
    return best
