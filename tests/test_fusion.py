from __future__ import annotations

import itertools
from fractions import Fraction

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from consilience.errors import ConsilienceError
from consilience.fusion import MOST_DEFERRED, RRF_K, Fused, RankedList, deferral, fuse

KEYS = "abcdefgh"


@st.composite
def rankings(draw: st.DrawFn, *, weighted: bool = False) -> RankedList[str]:
    keys = tuple(draw(st.lists(st.sampled_from(KEYS), unique=True)))
    strengths = st.sampled_from((None, 0.0, 0.5, 0.75, 1.0))
    weights = st.fractions(min_value=0, max_value=3, max_denominator=20) if weighted else st.just(Fraction(1))
    return RankedList(
        keys=keys,
        strengths=tuple(draw(st.lists(strengths, min_size=len(keys), max_size=len(keys)))),
        weight=draw(weights),
        deferred=draw(st.sampled_from((0, 0, 1, 37))) if weighted else 0,
    )


def shape(fused: tuple[Fused[str], ...]) -> list[tuple[str, float, float | None, int]]:
    """Everything of a fused ranking that must not depend on the order of the lists."""
    return [(each.key, each.score, each.strength, each.best_rank) for each in fused]


def oracle(lists: list[RankedList[str]] | list[RankedList[int]]) -> list[tuple[object, float]]:
    """The definition, in fractions."""
    heard = [ranked for ranked in lists if ranked.weight]
    values: dict[object, Fraction] = {}
    strength: dict[object, float] = {}
    best: dict[object, int] = {}
    for ranked in heard:
        for rank, key in enumerate(ranked.keys, 1):
            values[key] = values.get(key, Fraction(0)) + Fraction(ranked.weight) / (
                RRF_K + ranked.deferred + rank
            )
            best[key] = min(best.get(key, rank), rank)
        for key, known in zip(ranked.keys, ranked.strengths, strict=False):
            strength[key] = max(strength.get(key, -1.0), -1.0 if known is None else known)
    order = sorted(values, key=lambda key: (-values[key], -strength.get(key, -1.0), best[key], key))
    return [(key, float(values[key] / values[order[0]])) for key in order]


def test_two_lists_by_hand() -> None:
    fused = fuse([RankedList(keys=("x", "y")), RankedList(keys=("y", "z", "x"))])
    assert [each.key for each in fused] == ["y", "x", "z"]
    assert fused[0].places == ((0, 2), (1, 1))
    assert fused[0].score == 1.0
    assert fused[1].score == float((Fraction(1, 61) + Fraction(1, 63)) / (Fraction(1, 61) + Fraction(1, 62)))
    assert fused[2].score == float(Fraction(1, 62) / (Fraction(1, 61) + Fraction(1, 62)))


def test_nothing_fused_is_nothing() -> None:
    assert fuse([]) == ()
    assert fuse([RankedList[str](keys=()), RankedList[str](keys=())]) == ()


@given(st.lists(rankings(weighted=True), max_size=6))
def test_agrees_with_the_definition(lists: list[RankedList[str]]) -> None:
    assert [(each.key, each.score) for each in fuse(lists)] == oracle(lists)


@settings(max_examples=10, deadline=None)
@given(
    st.lists(
        st.dictionaries(st.integers(0, 5), st.integers(1, 600), max_size=6).filter(
            lambda ranks: len(set(ranks.values())) == len(ranks)
        ),
        min_size=2,
        max_size=6,
    )
)
def test_agrees_with_the_definition_in_long_lists(chosen: list[dict[int, int]]) -> None:
    fill = itertools.count(1000)
    lists = []
    for ranks in chosen:
        at = {rank: key for key, rank in ranks.items()}
        lists.append(
            RankedList(keys=tuple(at.get(rank) if rank in at else next(fill) for rank in range(1, 601)))
        )
    assert [(each.key, each.score) for each in fuse(lists)] == oracle(lists)


@given(st.lists(rankings(), max_size=6), st.randoms(use_true_random=False))
def test_no_permutation_of_the_lists_changes_anything(lists: list[RankedList[str]], random: object) -> None:
    order = list(range(len(lists)))
    random.shuffle(order)  # type: ignore[attr-defined]
    straight, shuffled = fuse(lists), fuse([lists[index] for index in order])
    assert shape(straight) == shape(shuffled)
    for one, other in zip(straight, shuffled, strict=True):
        assert set(one.places) == {(order[index], rank) for index, rank in other.places}


@given(st.lists(rankings(weighted=True), max_size=5), st.integers(0, 5), st.fractions(0, 9))
def test_an_empty_list_changes_nothing(lists: list[RankedList[str]], at: int, weight: Fraction) -> None:
    more = [*lists[:at], RankedList[str](keys=(), weight=weight), *lists[at:]]
    assert shape(fuse(lists)) == shape(fuse(more))


@given(st.lists(rankings(), min_size=1, max_size=5), st.data())
def test_a_key_in_more_lists_never_ranks_lower(lists: list[RankedList[str]], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(KEYS))
    without = [ranked for ranked in lists if key not in ranked.keys]
    before = [each.key for each in fuse(lists)]
    assume(without and key in before)
    chosen = data.draw(st.sampled_from(without))
    at = data.draw(st.integers(0, len(chosen.keys)))
    strength = data.draw(st.sampled_from((None, 0.0, 1.0)))
    gained = RankedList(
        keys=(*chosen.keys[:at], key, *chosen.keys[at:]),
        strengths=(*chosen.strengths[:at], strength, *chosen.strengths[at:]),
    )
    after = [each.key for each in fuse([gained if ranked is chosen else ranked for ranked in lists])]
    assert after.index(key) <= before.index(key)
    assert set(before[: before.index(key)]) >= set(after[: after.index(key)])


@given(st.lists(rankings(weighted=True), max_size=6))
def test_scores_fall_from_one_and_stay_above_zero(lists: list[RankedList[str]]) -> None:
    scores = [each.score for each in fuse(lists)]
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 < score <= 1.0 for score in scores)
    assert not scores or scores[0] == 1.0


@given(st.lists(rankings(weighted=True), max_size=5), st.fractions(min_value=Fraction(1, 50), max_value=50))
def test_only_the_ratio_of_weights_counts(lists: list[RankedList[str]], factor: Fraction) -> None:
    scaled = [msgspec.structs.replace(r, weight=r.weight * factor) for r in lists]
    assert shape(fuse(lists)) == shape(fuse(scaled))


@given(st.lists(rankings(), max_size=4), rankings(), st.integers(0, 4))
def test_a_whole_weight_is_that_many_copies(
    lists: list[RankedList[str]], ranked: RankedList[str], copies: int
) -> None:
    heavy = RankedList(keys=ranked.keys, strengths=ranked.strengths, weight=copies)
    assert shape(fuse([*lists, heavy])) == shape(fuse([*lists, *[ranked] * copies]))


@given(st.lists(rankings(), max_size=5), st.integers(0, 10))
def test_a_limit_takes_the_first(lists: list[RankedList[str]], limit: int) -> None:
    assert fuse(lists, limit=limit) == fuse(lists)[:limit]


def with_keys_at(*ranks: tuple[str, int]) -> RankedList[str]:
    """A list with these keys at these ranks, and keys of no interest elsewhere."""
    at = {rank: key for key, rank in ranks}
    last = max(at)
    return RankedList(keys=tuple(at.get(rank, f"filler {id(at)} {rank}") for rank in range(1, last + 1)))


def test_equal_sums_of_different_ranks_are_a_tie() -> None:
    """1/70 + 1/105 = 1/84 + 1/84: ranks 10 and 45 say as much as 24 and 24."""
    lists = [with_keys_at(("p", 10), ("q", 24)), with_keys_at(("q", 24), ("p", 45))]
    by_key = {each.key: each for each in fuse(lists)}
    assert by_key["p"].score == by_key["q"].score
    order = [each.key for each in fuse(lists) if each.key in "pq"]
    assert order == ["p", "q"]  # the better best rank


def test_ties_go_by_strength_then_best_rank_then_key() -> None:
    first = with_keys_at(("p", 10), ("q", 24))
    strengths = tuple({"q": 0.6}.get(key, 0.5) for key in first.keys)
    lists = [RankedList(keys=first.keys, strengths=strengths), with_keys_at(("q", 24), ("p", 45))]
    assert [each.key for each in fuse(lists) if each.key in "pq"] == ["q", "p"]
    assert [each.key for each in fuse([RankedList(keys=("b",)), RankedList(keys=("a",))])] == ["a", "b"]
    unknown, known = RankedList(keys=("a",), strengths=(None,)), RankedList(keys=("b",), strengths=(0.0,))
    assert [each.key for each in fuse([unknown, known])] == ["b", "a"]


def test_adding_in_another_order_cannot_break_a_tie() -> None:
    """Two keys with the same three ranks in other lists: floats summed in list order would part them."""
    ranks = next(
        triple
        for triple in itertools.combinations(range(1, 40), 3)
        if sum(1 / (60 + rank) for rank in triple) != sum(1 / (60 + rank) for rank in reversed(triple))
    )
    first, middle, last = ranks
    lists = [
        with_keys_at(("z", first), ("y", last)),
        with_keys_at(("z", middle)),
        with_keys_at(("y", middle)),
        with_keys_at(("z", last), ("y", first)),
    ]
    scores = {each.key: each.score for each in fuse(lists)}
    assert scores["y"] == scores["z"]
    assert [each.key for each in fuse(lists) if each.key in "yz"] == ["y", "z"]


def test_a_long_list_keeps_its_order() -> None:
    keys = tuple(range(5000, 0, -1))
    fused = fuse([RankedList(keys=keys)])
    assert tuple(each.key for each in fused) == keys
    assert len({each.score for each in fused}) == len(keys)


def test_a_small_difference_goes_before_the_best_rank() -> None:
    """1/62 + 1/1333 is larger than 1/61 + 1/2059, by less than 2^-20."""
    lists = [with_keys_at(("u", 1), ("v", 2)), with_keys_at(("v", 1273), ("u", 1999))]
    assert [each.key for each in fuse(lists) if each.key in "uv"] == ["v", "u"]


def test_values_closer_than_floats_can_tell_are_told_apart() -> None:
    nearly = Fraction(62, 61) - Fraction(1, 10**30)
    lists = [
        RankedList(keys=("p",), strengths=(0.0,)),
        RankedList(keys=("other", "a"), strengths=(0.0, 1.0), weight=nearly),
    ]
    assert [each.key for each in fuse(lists)] == ["other", "p", "a"]


@pytest.mark.parametrize(
    ("ranked", "said"),
    [
        (RankedList(keys=("a", "b", "a")), "twice"),
        (RankedList(keys=("a",), weight=Fraction(-1, 2)), "weight"),
        (RankedList(keys=("a", "b"), strengths=(0.5,)), "strengths"),
        (RankedList(keys=("a",), strengths=(float("nan"),)), "not a number"),
        (RankedList(keys=("a",), deferred=-1), "deferred"),
    ],
)
def test_a_list_that_is_none_is_refused(ranked: RankedList[str], said: str) -> None:
    with pytest.raises(ConsilienceError, match=said):
        fuse([RankedList(keys=("c",)), ranked])


def test_a_brain_that_is_sure_is_not_deferred_and_one_less_sure_by_sixteen_places_a_deviation() -> None:
    assert deferral([]) == deferral([None, None]) == deferral([1.0]) == deferral([0.99866]) == 0
    assert deferral([0.3, None, 0.97725]) == 16  # two deviations
    assert deferral([0.84135, 0.2]) == 32  # one
    assert deferral([0.5]) == 48
    assert deferral([0.0]) == deferral([1e-300]) == MOST_DEFERRED


@given(st.lists(st.none() | st.floats(0, 1)), st.floats(0, 1))
def test_a_better_match_never_defers_a_brain_longer(strengths: list[float | None], better: float) -> None:
    assume(any(each is not None for each in strengths))
    assert 0 <= deferral([*strengths, better]) <= deferral(strengths) <= MOST_DEFERRED


@given(rankings(), st.integers(0, 200))
def test_one_list_alone_keeps_its_order_however_late_it_begins(
    ranked: RankedList[str], deferred: int
) -> None:
    late = RankedList(keys=ranked.keys, strengths=ranked.strengths, deferred=deferred)
    assert [each.key for each in fuse([late])] == [each.key for each in fuse([ranked])]
    assert [each.places for each in fuse([late])] == [each.places for each in fuse([ranked])]
