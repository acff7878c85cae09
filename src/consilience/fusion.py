"""Reciprocal rank fusion over ranked lists, exact in its arithmetic. Pure.

One rule, twice: over the generators of one brain (weighted) and over the members of a compound (unweighted).
Cormack, Clarke, Buettcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning
Methods", SIGIR 2009: a key's value is the sum of weight / (60 + rank), rank from 1, over the lists that
hold it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Generic, TypeVar

import msgspec

from consilience.errors import ConsilienceError
from consilience.model import RRF_K

Key = TypeVar("Key", str, int)


class RankedList(msgspec.Struct, Generic[Key], frozen=True, kw_only=True):
    """One ranking, best first, no key twice. `strengths` is empty, or has one value (or None) for each key.

    `weight` >= 0 is exact; a list of weight 0 is not heard at all. A list counts from `deferred` places later than it
    stands: its first key as one of rank 1 + deferred.
    """

    keys: tuple[Key, ...]
    strengths: tuple[float | None, ...] = ()
    weight: Fraction | int = 1
    deferred: int = 0


class Fused(msgspec.Struct, Generic[Key], frozen=True, kw_only=True):
    """One key of the fused ranking.

    `score` is its value over the best value, in (0, 1], correctly rounded from the exact quotient. `places`
    are (index of the list, rank there from 1), in the order of the lists; `strength` is the largest known.
    """

    key: Key
    score: float
    strength: float | None
    best_rank: int
    places: tuple[tuple[int, int], ...]


SURE = 3.0
"""Deviations above noise from which on a brain is sure of the subject."""

PLACES_PER_DEVIATION = 16
MOST_DEFERRED = 128


def deferral(strengths: Iterable[float | None]) -> int:
    """How many places later the ranks of a brain begin whose matches have these strengths, percentiles 0..1.

    By the best of them, as deviations above noise: none from three on, 16 for each that it lacks (decision 0281). A
    brain that measured no noise is not deferred.
    """
    from statistics import NormalDist

    best = max((each for each in strengths if each is not None), default=None)
    if best is None or best >= 1.0:
        return 0
    lacking = SURE - NormalDist().inv_cdf(best) if best > 0.0 else math.inf
    return round(min(PLACES_PER_DEVIATION * max(0.0, lacking), MOST_DEFERRED))


class _Tally(Generic[Key]):
    """What is known of one key while the lists are read: its value is numerator / denominator, unreduced."""

    __slots__ = ("denominator", "numerator", "places", "strength")

    def __init__(self, numerator: int, denominator: int, places: list[tuple[int, int]]) -> None:
        self.numerator = numerator
        self.denominator = denominator
        self.places = places
        self.strength: float | None = None


def fuse(
    lists: Sequence[RankedList[Key]], *, k: int = RRF_K, limit: int | None = None
) -> tuple[Fused[Key], ...]:
    """Fuse rankings: every key that some list holds, best first, or the first `limit` of them.

    Order: exact value, then strength (the larger first, none last), then best rank (the smaller first), then
    key (ascending). So it is total, and the order of `lists` shows only in `places`. Decision 0060.
    Raises ConsilienceError, a bug of the caller, for a key twice in a list, a negative weight or deferral, or a
    strength that is NaN.
    """
    tallies = _tally(lists, k)
    if not tallies:
        return ()
    # Two distinct sums a/b and c/d differ by at least 1/(b*d), so this many binary digits keep them apart.
    digits = 2 * max(tally.denominator for tally in tallies.values()).bit_length()
    order = []
    for key, tally in tallies.items():
        value = (tally.numerator << digits) // tally.denominator
        strength = -1.0 if tally.strength is None else tally.strength
        order.append((-value, -strength, min(rank for _, rank in tally.places), key))
    order.sort()
    top = tallies[order[0][-1]]
    fused = []
    for _, _, best_rank, key in order[:limit]:
        tally = tallies[key]
        fused.append(
            Fused(
                key=key,
                score=(tally.numerator * top.denominator) / (tally.denominator * top.numerator),
                strength=tally.strength,
                best_rank=best_rank,
                places=tuple(tally.places),
            )
        )
    return tuple(fused)


def _tally(lists: Sequence[RankedList[Key]], k: int) -> dict[Key, _Tally[Key]]:
    scale = math.lcm(*(ranked.weight.denominator for ranked in lists))
    tallies: dict[Key, _Tally[Key]] = {}
    for index, ranked in enumerate(lists):
        _check(index, ranked)
        weight = int(ranked.weight * scale)
        if not weight:
            continue
        for rank, key in enumerate(ranked.keys, 1):
            place = k + ranked.deferred + rank
            tally = tallies.get(key)
            if tally is None:
                tallies[key] = _Tally(weight, place, [(index, rank)])
            else:
                tally.numerator = tally.numerator * place + weight * tally.denominator
                tally.denominator *= place
                tally.places.append((index, rank))
        for key, strength in zip(ranked.keys, ranked.strengths, strict=False):
            tally = tallies[key]
            if strength is not None and (tally.strength is None or strength > tally.strength):
                tally.strength = strength
    return tallies


def _check(index: int, ranked: RankedList[Key]) -> None:
    wrong = None
    if ranked.weight < 0:
        wrong = f"its weight is {ranked.weight}"
    elif ranked.deferred < 0:
        wrong = f"it is deferred by {ranked.deferred} places"
    elif len(set(ranked.keys)) != len(ranked.keys):
        wrong = "it holds a key twice"
    elif ranked.strengths and len(ranked.strengths) != len(ranked.keys):
        wrong = f"it has {len(ranked.strengths)} strengths for {len(ranked.keys)} keys"
    elif any(strength is not None and math.isnan(strength) for strength in ranked.strengths):
        wrong = "a strength is not a number"
    if wrong is not None:
        raise ConsilienceError(f"ranked list {index} cannot be fused: {wrong}")
