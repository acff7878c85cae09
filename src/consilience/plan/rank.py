"""Fusing the generators of one brain: weighted reciprocal ranks (docs/decisions/0102). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from consilience.model import RRF_K, Value

QUIET_ROLES: frozenset[str] = frozenset(("heading", "reference", "toc", "boilerplate"))
QUIET_PLACES = 5
"""A passage of a quiet role stands so many places lower in each list: ranked down, never lost (decision 0301)."""


class Ranked(Value, frozen=True, kw_only=True):
    """A candidate after fusion; `score` is its value over the best value of the list, in (0, 1]."""

    n: int
    score: float


def lexical_weight(coverage: float) -> float:
    """How loudly the lexical list speaks for one block: the square of the share of the question's words it holds.

    Where the question's words are not in the brain (another language, another subject) the lexical ranking is noise
    and weighs next to nothing; where a block holds every rare word of the question it weighs as much as a vector.
    """
    return min(1.0, max(0.0, coverage)) ** 2


WORDS_SPEAK = 0.25
"""Coverage of a question by its best block from which on words are heard before weak vectors."""


def words_speak(coverage: Mapping[int, float]) -> bool:
    """Whether the words found enough of the question to be heard alone."""
    return max(coverage.values(), default=0.0) >= WORDS_SPEAK


def _words_first(lists: Sequence[tuple[str, Sequence[int]]]) -> Sequence[tuple[str, Sequence[int]]]:
    """One list: what the words found, then what vectors alone did."""
    words = [n for generator, ns in lists if generator in ("lexical", "scan") for n in ns]
    others = [n for generator, ns in lists if generator not in ("lexical", "scan") for n in ns]
    return [("lexical", list(dict.fromkeys([*words, *others])))]


def fuse_generators(
    lists: Sequence[tuple[str, Sequence[int]]],
    coverage: Mapping[int, float],
    roles: Mapping[int, str],
    *,
    weak_vectors: bool = False,
) -> tuple[Ranked, ...]:
    """Fuse (generator, ordinals best first) lists of one brain; ties by ordinal, so the order is total.

    A list that stands alone keeps its own order apart from roles: weights only compare generators. Vectors that were
    measured to be weak follow what the words found, in its own order, unless the words cover little of the question.
    """
    if weak_vectors and words_speak(coverage):
        lists = _words_first(lists)
    alone = sum(1 for _, ns in lists if ns) <= 1
    values: dict[int, float] = {}
    for generator, ns in lists:
        for rank, n in enumerate(ns, 1):
            weight = 1.0
            if not alone and generator in ("lexical", "scan"):
                weight = lexical_weight(coverage.get(n, 0.0))
            place = rank + QUIET_PLACES * (roles.get(n, "prose") in QUIET_ROLES)
            values[n] = values.get(n, 0.0) + weight / (RRF_K + place)
    order = sorted(values, key=lambda n: (-values[n], n))
    top = values[order[0]] if order else 1.0
    return tuple(Ranked(n=n, score=values[n] / top if top else 0.0) for n in order)
