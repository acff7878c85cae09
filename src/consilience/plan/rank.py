"""Fusing the generators of one brain: weighted reciprocal ranks (docs/decisions/0102, 0270). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from consilience.model import RRF_K, Value

QUIET_ROLES: frozenset[str] = frozenset(("heading", "reference", "toc", "boilerplate"))
"""Roles of passages that say nothing by themselves: ranked down, and no relation leads to one."""

QUIET_PLACES = 5
"""A passage of a quiet role stands so many places lower in each list: ranked down, never lost (decision 0301)."""


class Ranked(Value, frozen=True, kw_only=True):
    """A candidate after fusion; `score` is its value over the best value of the list, in (0, 1]."""

    n: int
    score: float


class Hearing(Value, frozen=True, kw_only=True):
    """How the generators of a brain are to be heard on one question (decisions 0270 to 0272).

    `trust`: what the brain measured its vectors to be worth beside its words, 0..1; `weak`: they find surely less.
    `words`: how many words of the question coverage counts. `foreign`: candidates in another language than the
    question's, in a model that reads across languages.
    """

    trust: float = 1.0
    weak: bool = False
    words: int = 1
    foreign: frozenset[int] = frozenset()


EVEN = Hearing()

FOREIGN_EXPONENT = 4
"""Of the coverage of a block in another language: names and numbers are all that words have in common there."""

WITHOUT_WORDS = 0.5
"""What a near block without any of many words that another holds all of loses of its weight."""


def lexical_weight(coverage: float, *, foreign: bool = False) -> float:
    """How loudly the lexical list speaks for one block: the share of the question's words, weighted by rarity, that it
    holds.

    Where the question's words are not in the brain (another language, another subject) the lexical ranking is noise
    and weighs next to nothing; where a block holds every rare word of the question it weighs fully.
    """
    return coverage**FOREIGN_EXPONENT if foreign else coverage


def vector_weight(coverage: float, best: float, hearing: Hearing = EVEN, *, foreign: bool = False) -> float:
    """How loudly the vector list speaks for one block of this coverage where the best candidate has `best`.

    A near block without the words that others hold is less likely what was asked for: the less so, the more words the
    question has and the best block holds. Of one word nothing can be held in part, and across languages nothing is.
    """
    if foreign:
        return hearing.trust
    return hearing.trust * (1.0 - _lacking(best, hearing) * (1.0 - coverage))


def _lacking(best: float, hearing: Hearing) -> float:
    """What a near block without any of the words loses of its weight."""
    return WITHOUT_WORDS * best * (1.0 - 1.0 / max(1, hearing.words))


def weights(
    generator: str, ns: Sequence[int], coverage: Mapping[int, float], hearing: Hearing
) -> list[float]:
    """What a generator's rank of each of these candidates counts. `coverage`: of every candidate, 0..1."""
    covered = [coverage.get(n, 0.0) for n in ns]
    if generator in ("lexical", "scan"):
        if not hearing.foreign:
            return covered
        return [lexical_weight(c, foreign=n in hearing.foreign) for n, c in zip(ns, covered, strict=True)]
    if generator != "vectors":
        return [1.0] * len(ns)
    best = max(coverage.values(), default=0.0)
    if hearing.foreign:
        return [
            vector_weight(c, best, hearing, foreign=n in hearing.foreign)
            for n, c in zip(ns, covered, strict=True)
        ]
    trust, lacking = hearing.trust, _lacking(best, hearing)
    return [trust * (1.0 - lacking * (1.0 - c)) for c in covered]


def _words_first(lists: Sequence[tuple[str, Sequence[int]]]) -> Sequence[tuple[str, Sequence[int]]]:
    """One list: what the words found, then what vectors alone did."""
    words = [n for generator, ns in lists if generator in ("lexical", "scan") for n in ns]
    others = [n for generator, ns in lists if generator not in ("lexical", "scan") for n in ns]
    return [("lexical", list(dict.fromkeys([*words, *others])))]


def fuse_generators(
    lists: Sequence[tuple[str, Sequence[int]]],
    coverage: Mapping[int, float],
    roles: Mapping[int, str],
    hearing: Hearing = EVEN,
) -> tuple[Ranked, ...]:
    """Fuse (generator, ordinals best first) lists of one brain; ties by ordinal, so the order is total.

    A list that stands alone keeps its own order apart from roles: weights only compare generators. Vectors that were
    measured to be weak follow what the words found, in its own order.
    """
    if hearing.weak:
        lists = _words_first(lists)
    alone = sum(1 for _, ns in lists if ns) <= 1
    values: dict[int, float] = {}
    for generator, ns in lists:
        heard = [1.0] * len(ns) if alone else weights(generator, ns, coverage, hearing)
        for rank, (n, weight) in enumerate(zip(ns, heard, strict=True), 1):
            place = rank + QUIET_PLACES * (roles.get(n, "prose") in QUIET_ROLES)
            values[n] = values.get(n, 0.0) + weight / (RRF_K + place)
    order = sorted(values, key=lambda n: (-values[n], n))
    top = values[order[0]] if order else 1.0
    return tuple(Ranked(n=n, score=values[n] / top if top else 0.0) for n in order)
