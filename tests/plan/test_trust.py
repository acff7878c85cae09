"""Trust in vectors, measured by hiding and asking; weak ones do not spoil what the words found."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.brain import Brain
from consilience.embed import EmbedderSpec
from consilience.model import Query
from consilience.plan import statistics as measured
from consilience.plan.rank import Hearing, fuse_generators
from consilience.plan.trust import LEAST_ITEMS, LEAST_RATIO, Trust, compared, gain, taken_apart
from consilience.protocol import Actor, ActorKind

SUBJECTS, EACH = 40, 6


def now() -> datetime.datetime:
    return datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)


def word(rng: random.Random) -> str:
    return "".join(rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(rng.randint(2, 4)))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Brain, list[tuple[str, set[str]]]]]:
    """Passages of two sentences about one subject each, among common words; questions of a subject's words."""
    folder = tmp_path_factory.mktemp("subjects")
    (folder / "docs").mkdir()
    rng = random.Random(11)
    common = [word(rng) for _ in range(60)]
    asked = []
    for subject in range(SUBJECTS):
        own = [word(rng) for _ in range(6)]

        def sentence(own: list[str] = own) -> str:
            words = [*rng.sample(own, 3), *rng.choices(common, k=14)]
            rng.shuffle(words)
            return " ".join(words).capitalize() + "."

        passages = [f"{sentence()} {sentence()}" for _ in range(EACH)]
        (folder / "docs" / f"s{subject}.txt").write_text("\n\n".join(passages) + "\n")
        asked.append((" ".join([*rng.sample(own, 3), *rng.choices(common, k=5)]), {*passages}))
    with Brain.create(folder / "brain", name="b", embedder=EmbedderSpec(provider="hashed")) as brain:
        actor = Actor(id="ana@example.org", kind=ActorKind.HUMAN)
        brain.ingest([folder / "docs"], actor=actor, clock=now, root=folder)
        yield brain, asked


def ndcg(brain: Brain, asked: list[tuple[str, set[str]]]) -> float:
    values = []
    for text, relevant in asked:
        found = brain.search(Query(text=text, limit=10, floor=False)).matches
        gains = sum(1 / math.log2(1 + m.rank) for m in found if m.text in relevant)
        values.append(gains / sum(1 / math.log2(1 + r) for r in range(1, 1 + len(relevant))))
    return sum(values) / len(values)


def test_a_weak_embedding_is_told_and_does_not_lower_what_the_words_find(
    made: tuple[Brain, list[tuple[str, set[str]]]],
) -> None:
    brain, asked = made
    derived = brain.path / "derived"
    held = measured.load(derived)
    assert held is not None and held.trust is not None
    assert held.trust.weak, held.trust
    with_trust = ndcg(brain, asked)
    plan = brain.search(Query(text=asked[0][0])).plan
    assert dict(zip(plan.generators, plan.weights, strict=True)) == {"lexical": 1.0, "vectors": 0.0}
    told = brain.explain(Query(text=asked[0][0]))
    assert [i for i in told.indices if i.name == "vectors" and "; weak, " in i.detail]
    measured.save(derived, msgspec.structs.replace(held, trust=None))
    blind = ndcg(brain, asked)
    (derived / "vectors").rename(derived / "aside")
    with Brain.open(brain.path, name="b", embedder=EmbedderSpec(provider="none")) as words:
        alone = ndcg(words, asked)
    (derived / "aside").rename(derived / "vectors")
    measured.save(derived, held)
    assert with_trust >= alone - 1e-9 and alone > blind + 0.02, (with_trust, alone, blind)


def test_another_models_trust_says_nothing(made: tuple[Brain, list[tuple[str, set[str]]]]) -> None:
    brain, _ = made
    derived = brain.path / "derived"
    held = measured.load(derived)
    assert held is not None and held.trust is not None
    other = msgspec.structs.replace(held.trust, tag="another")
    measured.save(derived, msgspec.structs.replace(held, trust=other))
    with brain.reader() as reader:
        assert not reader.weak_vectors
    measured.save(derived, held)
    with brain.reader() as reader:
        assert reader.weak_vectors


def test_a_passage_taken_apart_shares_no_sentence_with_its_question() -> None:
    text = "The pump of the well loses pressure. Its filter is clogged with sand, and must be cleaned."
    assert taken_apart(text) == (
        "The pump of the well loses pressure.",
        "Its filter is clogged with sand, and must be cleaned.",
    )
    halves = taken_apart("one two three four five six seven eight nine ten eleven twelve")
    assert halves == ("one two three four five six", "seven eight nine ten eleven twelve")
    assert taken_apart("A short one. Too short.") is None


gains = st.lists(st.floats(0, 1), min_size=LEAST_ITEMS, max_size=120)


@given(gains, st.floats(0.81, 3))
def test_vectors_that_find_as_much_are_never_weak(lexical: list[float], factor: float) -> None:
    found = compared("m", lexical, [g * factor for g in lexical])
    assert found is None or not found.weak


@given(gains, gains)
def test_the_bound_is_above_the_ratio(lexical: list[float], vectors: list[float]) -> None:
    count = min(len(lexical), len(vectors))
    found = compared("m", lexical[:count], vectors[:count])
    assert found is None or found.at_most >= found.ratio >= 0.0


def test_what_is_uncertain_is_trusted() -> None:
    def of(**more: object) -> Trust:
        usual = {"tag": "m", "items": 96, "lexical": 0.5, "vectors": 0.2, "ratio": 0.4, "at_most": 0.5}
        return Trust(**{**usual, **more})  # type: ignore[arg-type]

    assert of().weak
    assert not of(items=LEAST_ITEMS - 1).weak
    assert not of(lexical=0.04).weak
    assert not of(at_most=LEAST_RATIO).weak
    assert not of(tag="e5-small:q4").weak, "a model that is known is weak only far below"
    assert of(tag="e5-small:q4", at_most=0.49).weak


def test_gain_falls_with_the_rank() -> None:
    assert gain(1) == 1.0 and gain(2) > gain(3) > gain(100) > gain(101) == 0.0


orders = st.lists(st.integers(1, 40), unique=True, max_size=20)


@given(orders, orders.filter(bool))
def test_weak_vectors_stand_after_the_words_and_lose_nothing(vectors: list[int], words: list[int]) -> None:
    lists = [("lexical", words), ("vectors", vectors)]
    covered = dict.fromkeys(words, 0.9)
    ranked = [r.n for r in fuse_generators(lists, covered, {}, Hearing(weak=True))]
    assert ranked[: len(words)] == words and {*ranked} == {*words, *vectors}
