"""Spreading from what was found along typed relations between blocks (docs/decisions/0250 to 0252). Pure.

Spreading activation, after Collins and Loftus (1975), bounded in depth and in work: every seed hands its value on, each
step and kind of relation leaves a part of it, and what reaches a block from several seeds adds up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from consilience.model import RRF_K, Value


class Relation(StrEnum):
    """What the second block is to the first."""

    NEXT = "next"
    PREVIOUS = "previous"
    LINK = "link"
    LINKED_FROM = "linked from"
    EVIDENCE = "evidence"
    MADE_INTO = "made into"
    SUCCESSOR = "successor"
    SUBJECT = "subject"


KIND_WEIGHT: Mapping[Relation, float] = {
    Relation.NEXT: 1.0,
    Relation.PREVIOUS: 1.0,
    Relation.LINK: 0.8,
    Relation.LINKED_FROM: 0.5,
    Relation.EVIDENCE: 1.0,
    Relation.MADE_INTO: 1.0,
    Relation.SUCCESSOR: 1.0,
    Relation.SUBJECT: 0.8,
}
"""What a step along a relation leaves of a value."""

ACROSS_SECTIONS = 0.5
"""What is left besides where a neighbour stands under another heading."""


class Tie(NamedTuple):
    """A typed edge from block `n` to block `other`. `share`, in (0, 1]: how much of a value goes along, 1 over the
    number of edges of the kind, so that a hub floods nothing."""

    n: int
    other: int
    relation: Relation
    share: float = 1.0


class Spreading(Value, frozen=True, kw_only=True):
    """How far: `seeds` of the best, `depth` steps, each after the first worth `decay` of the one before; `weight` of
    the list that comes of it beside the others; at most `most` blocks whose ties are looked at; `along` which
    relations."""

    seeds: int = 10
    depth: int = 2
    decay: float = 0.7
    weight: float = 0.1
    most: int = 400
    along: tuple[Relation, ...] = tuple(Relation)


class Reached(NamedTuple):
    """A block that was reached: what arrived there, and the way that brought most: from which seed, along what."""

    n: int
    value: float
    seed: int
    way: tuple[Relation, ...]


Ties = Callable[[Collection[int]], Iterable[Tie]]


def spread(seeds: Sequence[tuple[int, float]], ties: Ties, how: Spreading) -> tuple[Reached, ...]:
    """What is reached from (block, value) seeds, best first, ties by ordinal; a seed too, where another one reaches it.

    Each seed reaches a block by its shortest ways only, and itself never. Deterministic; `ties` may list its edges in
    any order.
    """
    if how.depth < 1 or how.decay <= 0.0 or how.weight <= 0.0:
        return ()
    firsts = [(n, value) for n, value in seeds[: how.seeds] if value > 0.0]
    seen = {n: {n} for n, _ in firsts}
    front: dict[int, dict[int, tuple[float, tuple[Relation, ...]]]] = {n: {n: (v, ())} for n, v in firsts}
    arrived: dict[int, list[tuple[float, int, tuple[Relation, ...]]]] = {}
    looked_at = 0
    for step in range(how.depth):
        ns = sorted({n for at in front.values() for n in at})[: max(0, how.most - looked_at)]
        looked_at += len(ns)
        found: dict[int, list[Tie]] = {}
        for tie in sorted(set(ties(ns))) if ns else ():
            found.setdefault(tie.n, []).append(tie)
        left = how.decay if step else 1.0
        front = {seed: _next(at, found, seen[seed], left) for seed, at in front.items()}
        for seed, at in front.items():
            seen[seed].update(at)
            for n, (value, way) in at.items():
                arrived.setdefault(n, []).append((value, seed, way))
    out = []
    for n, ways in arrived.items():
        best = min(ways, key=lambda each: (-each[0], each[1], each[2]))
        out.append(Reached(n, sum(sorted(value for value, _, _ in ways)), best[1], best[2]))
    return tuple(sorted(out, key=lambda each: (-each.value, each.n)))


def _next(
    front: Mapping[int, tuple[float, tuple[Relation, ...]]],
    found: Mapping[int, Sequence[Tie]],
    seen: Collection[int],
    left: float,
) -> dict[int, tuple[float, tuple[Relation, ...]]]:
    """One step of one seed: what reaches blocks that it has not reached yet, and the best way there."""
    best: dict[int, tuple[float, tuple[Relation, ...]]] = {}
    sums: dict[int, float] = {}
    for n in sorted(front):
        value, way = front[n]
        for tie in found.get(n, ()):
            if tie.other in seen:
                continue
            part = value * left * KIND_WEIGHT[tie.relation] * tie.share
            sums[tie.other] = sums.get(tie.other, 0.0) + part
            longer = (part, (*way, tie.relation))
            if tie.other not in best or (-part, longer[1]) < (-best[tie.other][0], best[tie.other][1]):
                best[tie.other] = longer
    return {n: (sums[n], best[n][1]) for n in sorted(sums)}


def added(reached: Sequence[Reached], how: Spreading) -> dict[int, float]:
    """What being reached adds to each block's fused value, in parts of the best one's: one more list of reciprocal
    ranks, weighted per block by what arrived there."""
    return {
        each.n: how.weight * each.value * (RRF_K + 1) / (RRF_K + rank) for rank, each in enumerate(reached, 1)
    }
