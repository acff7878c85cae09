from __future__ import annotations

import random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from consilience.plan.floor import (
    FLOOR,
    SPEAKS,
    Features,
    least_strength,
    measure,
    similarity_tells,
    strength,
)
from consilience.plan.questions import noise_questions
from consilience.plan.rank import fuse_generators, lexical_weight
from consilience.plan.statistics import Noise, Statistics


def sample(rng: random.Random, shift: float = 0.0) -> list[Features]:
    return [
        Features(
            n=i,
            coverage=min(1.0, max(0.0, rng.gauss(0.2 + shift, 0.08))),
            similarity=rng.gauss(-0.20 + shift / 3, 0.015),
        )
        for i in range(10)
    ]


def noise(seed: int = 1):  # type: ignore[no-untyped-def]
    rng = random.Random(seed)
    return measure([sample(rng) for _ in range(60)], tag="model", language="en")


def test_noise_is_held_back_and_what_stands_out_is_not() -> None:
    measured = noise()
    rng = random.Random(2)
    off = [max(strength(f, measured) for f in sample(rng)) for _ in range(300)]
    on = [max(strength(f, measured) for f in sample(rng, 0.3)) for _ in range(300)]
    assert sum(s >= SPEAKS for s in off) < 0.2 * len(off)
    assert sum(s >= SPEAKS for s in on) > 0.97 * len(on)


def test_a_brain_without_vectors_is_judged_by_coverage_alone() -> None:
    rng = random.Random(3)
    bare = [[Features(n=f.n, coverage=f.coverage, similarity=None) for f in sample(rng)] for _ in range(40)]
    measured = measure(bare, tag=None, language="en")
    assert measured is not None and measured.similarity is None
    weak, strong = (strength(Features(n=1, coverage=c, similarity=None), measured) for c in (0.1, 0.9))
    assert weak < 0.1 and strong > 0.99


def test_too_few_questions_or_an_empty_brain_have_no_noise() -> None:
    assert measure([sample(random.Random(1))] * 5, tag="m", language="en") is None
    assert measure([[] for _ in range(50)], tag="m", language="en") is None


def test_questions_that_find_nothing_count_as_finding_nothing() -> None:
    rng = random.Random(4)
    some = measure([sample(rng) if i % 2 else [] for i in range(60)], tag=None, language="en")
    every = measure([sample(rng) for _ in range(60)], tag=None, language="en")
    assert some is not None and every is not None and some.coverage.mean < every.coverage.mean - 0.05


features = st.builds(
    Features, n=st.integers(1, 9), coverage=st.floats(0, 1), similarity=st.none() | st.floats(-1, 1)
)


@given(features)
def test_strength_is_a_percentile_and_rises_with_coverage(f: Features) -> None:
    measured = noise()
    value = strength(f, measured)
    more = strength(Features(n=f.n, coverage=min(1.0, f.coverage + 0.1), similarity=f.similarity), measured)
    assert 0.0 <= value <= 1.0
    assert more >= value


def test_words_do_not_count_for_a_block_in_another_language_than_the_question() -> None:
    measured = noise()
    some, all_ = (Features(n=1, coverage=c, similarity=-0.15, foreign=True) for c in (0.0, 1.0))
    assert strength(some, measured) == strength(all_, measured)
    nearer = Features(n=1, coverage=0.0, similarity=-0.1, foreign=True)
    assert strength(nearer, measured) > strength(some, measured)
    held = Features(n=1, coverage=0.0, similarity=-0.15)
    assert strength(held, measured) < strength(some, measured)


def test_a_weak_model_is_heard_where_its_level_is_known() -> None:
    def of(tag: str) -> Noise | None:
        return measure([sample(random.Random(1)) for _ in range(40)], tag=tag, language="en")

    assert similarity_tells(of("another"), weak=False) and not similarity_tells(of("another"), weak=True)
    assert similarity_tells(of("e5-small:q4"), weak=True) and not similarity_tells(None, weak=True)


def lone(value: float) -> list[list[Features]]:
    return [[Features(n=1, coverage=0.2, similarity=value + i / 1e4)] for i in range(40)]


def test_a_brain_that_is_near_every_question_is_not_believed_where_the_model_is_known() -> None:
    near, far = (measure(lone(v), tag="e5-small:q4", language="en") for v in (-0.10, -0.17))
    other = measure(lone(-0.10), tag="another", language="en")
    assert near is not None and far is not None and other is not None
    assert near.similarity == far.similarity != other.similarity
    assert other.similarity is not None and other.similarity.mean > -0.1


def test_the_best_of_many_is_nearer_than_the_best_of_few() -> None:
    few, many = (measure(lone(-0.17), tag="e5-small:q4", language="en", passages=n) for n in (100, 1_000_000))
    assert few is not None and few.similarity is not None and many is not None and many.similarity is not None
    assert few.similarity.mean < many.similarity.mean and few.coverage.mean < many.coverage.mean
    match = Features(n=1, coverage=0.4, similarity=-0.13)
    assert strength(match, few) > strength(match, many)


def test_a_match_in_another_language_is_held_against_what_reaches_across() -> None:
    known = measure(lone(-0.17), tag="e5-small:q4", language="en")
    assert known is not None and known.similarity is not None and known.foreign is not None
    assert known.foreign.mean < known.similarity.mean
    near = Features(n=1, coverage=0.0, similarity=-0.16, foreign=True)
    assert strength(near, known) >= SPEAKS > strength(msgspec.structs.replace(near, foreign=False), known)


def test_the_best_must_reach_more_than_the_others() -> None:
    assert least_strength(None) == least_strength(SPEAKS - 1e-9) == SPEAKS
    assert least_strength(SPEAKS) == least_strength(1.0) == FLOOR < SPEAKS


def languages_asked(held: dict[str, int], *, across: bool) -> list[str]:
    return [code for code, _ in noise_questions(held, across=across)]


def test_a_brain_is_asked_in_the_languages_it_holds_and_across_them_where_it_has_vectors() -> None:
    assert languages_asked({"es": 900, "en": 20}, across=False) == ["es"]
    assert languages_asked({"es": 50, "en": 60}, across=False) == ["en", "es"]
    assert languages_asked({"fi": 100}, across=False) == ["en"]
    assert languages_asked({"es": 900, "en": 20}, across=True) == ["es", "en"]
    sizes = {len(questions) for _, questions in noise_questions({}, across=True)}
    assert len(sizes) == 1 and sizes.pop() >= 50


def test_the_noise_is_that_of_the_language_the_question_is_in() -> None:
    english, spanish = noise(), msgspec.structs.replace(noise(), language="es", samples=7)
    held = Statistics(noises=(spanish, english))
    assert held.noise_for("en") is english
    assert (
        held.noise_for("es") is spanish and held.noise_for("") is spanish and held.noise_for("fi") is spanish
    )
    assert Statistics().noise_for("en") is None


# --- the fusion of generators ---------------------------------------------------------------------------------------


def test_a_lexical_list_that_covers_nothing_weighs_nothing() -> None:
    ranked = fuse_generators([("lexical", [1, 2]), ("vectors", [3, 4])], {1: 0.0, 2: 0.0}, {})
    assert [r.n for r in ranked] == [3, 4, 1, 2]


def test_agreement_of_both_generators_wins() -> None:
    ranked = fuse_generators([("lexical", [1, 5]), ("vectors", [3, 5])], {1: 1.0, 5: 1.0}, {})
    assert ranked[0].n == 5 and ranked[0].score == 1.0


def test_a_list_that_stands_alone_keeps_its_order() -> None:
    ranked = fuse_generators([("lexical", [4, 2, 9]), ("vectors", [])], {4: 0.1, 2: 0.9, 9: 0.5}, {})
    assert [r.n for r in ranked] == [4, 2, 9]


def test_boilerplate_ranks_down_and_is_not_lost() -> None:
    ranked = fuse_generators([("lexical", [1, 2, 3])], {}, {1: "boilerplate"})
    assert [r.n for r in ranked] == [2, 3, 1]


@given(st.lists(st.integers(0, 30), unique=True), st.lists(st.integers(0, 30), unique=True))
def test_fusion_keeps_every_candidate_once_with_scores_in_range(a: list[int], b: list[int]) -> None:
    ranked = fuse_generators([("lexical", a), ("vectors", b)], dict.fromkeys(a, 0.5), {})
    assert sorted(r.n for r in ranked) == sorted({*a, *b})
    assert all(0.0 < r.score <= 1.0 for r in ranked)
    assert [r.score for r in ranked] == sorted((r.score for r in ranked), reverse=True)


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_lexical_weight_rises_with_coverage(a: float, b: float) -> None:
    assert (lexical_weight(a) <= lexical_weight(b)) == (a <= b)
