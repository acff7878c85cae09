"""Spreading along relations: bounded, deterministic, nothing from nothing."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.plan.cost import CostModel
from consilience.plan.expand import Relation, Spreading, Tie, added, spread
from consilience.plan.intent import RECALL_FLOOR, Intent, understand
from consilience.plan.planner import Chosen, Situation, choose

NODES = st.integers(1, 12)
TIES = st.lists(
    st.builds(Tie, NODES, NODES, st.sampled_from(list(Relation)), st.floats(0.01, 1.0)), max_size=40
)
SEEDS = st.lists(st.tuples(NODES, st.floats(0.01, 1.0)), max_size=8, unique_by=lambda seed: seed[0])
HOW = st.builds(
    Spreading,
    seeds=st.integers(1, 6),
    depth=st.integers(1, 3),
    decay=st.floats(0.1, 1.0),
    weight=st.just(0.1),
)


class Graph:
    """Ties by their first block, and how many blocks were looked at."""

    def __init__(self, ties: Iterable[Tie]) -> None:
        self.ties = list(ties)
        self.looked_at = 0

    def __call__(self, ns: Collection[int]) -> list[Tie]:
        self.looked_at += len(ns)
        return [tie for tie in self.ties if tie.n in ns]


def chain(*ns: int) -> list[Tie]:
    return [Tie(a, b, Relation.NEXT) for a, b in pairwise(ns)]


def test_each_step_leaves_less_and_the_way_is_told() -> None:
    reached = spread([(1, 1.0)], Graph(chain(1, 2, 3, 4)), Spreading(depth=2, decay=0.5))
    assert [(r.n, r.value, r.seed, r.way) for r in reached] == [
        (2, 1.0, 1, (Relation.NEXT,)),
        (3, 0.5, 1, (Relation.NEXT, Relation.NEXT)),
    ]


def test_what_two_seeds_reach_adds_up_and_the_stronger_one_is_told() -> None:
    ties = [Tie(1, 9, Relation.NEXT), Tie(2, 9, Relation.NEXT)]
    (one,) = spread([(1, 0.5), (2, 0.7)], Graph(ties), Spreading(depth=1))
    assert one.n == 9 and one.value == pytest.approx(1.2) and one.seed == 2


def test_a_seed_reaches_another_and_never_itself() -> None:
    ties = [*chain(1, 2), *chain(2, 1)]
    reached = spread([(1, 1.0), (2, 0.5)], Graph(ties), Spreading(depth=3))
    assert {r.n: r.seed for r in reached} == {1: 2, 2: 1}


def test_a_hub_hands_on_no_more_than_it_has() -> None:
    ties = [Tie(1, n, Relation.NEXT, 1 / 50) for n in range(2, 52)]
    assert sum(r.value for r in spread([(1, 1.0)], Graph(ties), Spreading(depth=1))) == pytest.approx(1.0)


@pytest.mark.parametrize("nothing", [{"depth": 0}, {"decay": 0.0}, {"weight": 0.0}, {"seeds": 0}])
@given(SEEDS, TIES)
def test_no_depth_no_decay_no_weight_no_seeds_is_no_expansion(
    nothing: dict[str, float], seeds: list[tuple[int, float]], ties: list[Tie]
) -> None:
    how = msgspec.structs.replace(Spreading(), **nothing)
    assert spread(seeds, Graph(ties), how) == () and added((), how) == {}


@given(SEEDS, TIES, HOW, st.randoms(use_true_random=False))
def test_the_order_in_which_edges_come_changes_nothing(
    seeds: list[tuple[int, float]], ties: list[Tie], how: Spreading, chance: random.Random
) -> None:
    shuffled = list(ties)
    chance.shuffle(shuffled)
    assert spread(seeds, Graph(ties), how) == spread(seeds, Graph([*shuffled, *shuffled]), how)


@given(SEEDS, TIES, HOW)
def test_it_is_bounded_in_depth_and_in_work(
    seeds: list[tuple[int, float]], ties: list[Tie], how: Spreading
) -> None:
    how = msgspec.structs.replace(how, most=5)
    graph = Graph(ties)
    reached = spread(seeds, graph, how)
    assert graph.looked_at <= how.most
    steps = {(tie.n, tie.relation): tie for tie in ties}
    assert all(1 <= len(r.way) <= how.depth and r.value > 0.0 for r in reached)
    assert all(r.seed in {n for n, _ in seeds[: how.seeds]} and (r.seed, r.way[0]) in steps for r in reached)
    assert list(reached) == sorted(reached, key=lambda r: (-r.value, r.n))


@given(SEEDS, TIES, HOW)
def test_what_it_adds_is_less_for_what_it_ranks_lower(
    seeds: list[tuple[int, float]], ties: list[Tie], how: Spreading
) -> None:
    values = list(added(spread(seeds, Graph(ties), how), how).values())
    assert values == sorted(values, reverse=True) and all(value > 0.0 for value in values)


# --- in plans -------------------------------------------------------------------------------------------------------


def situation(**changes: object) -> Situation:
    base = Situation(
        blocks=10_000, indexed=10_000, embedded=10_000, postings=3_000.0, known_share=1.0, eligible=None, depth=60,
        stale=False, has_lexical=True, has_vectors=True, has_facets=True, has_edges=True,
    )  # fmt: skip
    return msgspec.structs.replace(base, **changes)  # type: ignore[arg-type]


def generators(chosen: Chosen) -> tuple[str, ...]:
    return tuple(step.generator for step in chosen.plan.steps)


def test_who_asks_for_what_is_related_gets_a_plan_that_follows_relations() -> None:
    asked = understand("how are features deprecated", related=True)
    assert asked.intent is Intent.ASSOCIATIVE and RECALL_FLOOR[asked.intent] == 0.90
    chosen = choose(asked, situation(), CostModel())
    assert generators(chosen) == ("lexical", "vectors", "related")
    assert chosen.plan.name == "lexical+vectors+related"
    assert generators(choose(asked, situation(has_edges=False), CostModel())) == ("lexical", "vectors")
    assert "related" not in generators(choose(understand(asked.intent), situation(), CostModel()))


def test_a_block_and_what_is_related_to_it() -> None:
    asked = understand("sha256:" + "ab" * 32, related=True)
    assert asked.intent is Intent.IDENTITY
    assert generators(choose(asked, situation(), CostModel())) == ("identity", "related")
    assert generators(choose(asked, situation(has_edges=False), CostModel())) == ("identity",)


@given(
    st.sampled_from(["how are features deprecated", "utf8_decode", '"in order"', "ab" * 20]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.integers(0, 200_000),
    st.one_of(st.none(), st.floats(0, 1e5)),
    st.floats(0.0, 1.0),
)
def test_one_index_more_never_worsens_the_chosen_plan(
    text: str, related: bool, stale: bool, vectors: bool, blocks: int, eligible: float | None, known: float
) -> None:
    asked = understand(text, related=related)
    given_to = situation(
        stale=stale, has_vectors=vectors, blocks=blocks, indexed=blocks, eligible=eligible, known_share=known
    )
    floor = RECALL_FLOOR[asked.intent]
    without = choose(asked, msgspec.structs.replace(given_to, has_edges=False), CostModel()).plan
    more = choose(asked, given_to, CostModel()).plan
    if without.recall >= floor:
        assert more.recall >= floor and more.us <= without.us
    else:
        assert more.recall >= without.recall
