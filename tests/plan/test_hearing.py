"""How loudly each generator is heard: by what a block holds of the question, by its language, by what was measured."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.brain import Brain
from consilience.embed import EmbedderSpec
from consilience.model import Query
from consilience.plan import features
from consilience.plan.answer import answer, begin
from consilience.plan.rank import EVEN, WITHOUT_WORDS, Hearing, fuse_generators, lexical_weight, vector_weight
from consilience.plan.trust import LEAST_ITEMS, Trust, measure_trust, translations_found
from consilience.protocol import Actor, ActorKind

shares = st.floats(0, 1)
hearings = st.builds(
    Hearing,
    trust=shares,
    weak=st.booleans(),
    words=st.integers(0, 40),
    foreign=st.frozensets(st.integers(0, 30)),
)
lists = st.lists(st.integers(0, 30), unique=True)


@given(lists, lists, st.dictionaries(st.integers(0, 30), shares), hearings)
def test_whatever_is_measured_no_candidate_is_lost(
    words: list[int], near: list[int], coverage: dict[int, float], hearing: Hearing
) -> None:
    ranked = fuse_generators([("lexical", words), ("vectors", near)], coverage, {}, hearing)
    assert sorted(r.n for r in ranked) == sorted({*words, *near})
    assert [r.score for r in ranked] == sorted((r.score for r in ranked), reverse=True)


@given(shares, shares, hearings)
def test_a_near_block_loses_at_most_its_share_for_lacking_words(
    a: float, best: float, hearing: Hearing
) -> None:
    found = vector_weight(a, best, hearing)
    assert hearing.trust * (1 - WITHOUT_WORDS) - 1e-9 <= found <= hearing.trust
    assert found <= vector_weight(min(1.0, a + 0.1), best, hearing) + 1e-9
    assert vector_weight(a, best, hearing, foreign=True) == hearing.trust


def test_one_word_cannot_be_held_in_part() -> None:
    assert vector_weight(0.0, 1.0, EVEN) == 1.0 > vector_weight(0.0, 1.0, Hearing(words=2))


def test_of_two_near_blocks_the_one_with_the_words_stands_first() -> None:
    covered = {1: 0.1, 2: 0.6, 3: 0.9}
    found = fuse_generators([("lexical", [3]), ("vectors", [1, 2])], covered, {}, Hearing(words=6))
    assert [r.n for r in found] == [3, 2, 1]
    abroad = Hearing(words=6, foreign=frozenset({1}))
    assert [r.n for r in fuse_generators([("lexical", []), ("vectors", [1, 2])], covered, {}, abroad)] == [
        1,
        2,
    ]


def test_words_of_another_language_are_hardly_heard() -> None:
    assert lexical_weight(0.5, foreign=True) < 0.1 < lexical_weight(0.5)
    assert lexical_weight(1.0, foreign=True) == 1.0


# --- what the brain measured ----------------------------------------------------------------------------------------


def trust(ratio: float, error: float, items: int = 96, lexical: float = 0.4) -> Trust:
    at_most = ratio + 1.645 * error
    return Trust(tag="m", items=items, lexical=lexical, vectors=0.3, ratio=ratio, at_most=at_most)


@given(st.floats(0, 3), st.floats(0, 3))
def test_the_weight_is_between_the_usual_and_what_was_measured(ratio: float, error: float) -> None:
    weight = trust(ratio, error).weight
    assert min(1.0, ratio) ** 2 - 1e-3 <= weight <= 1.0
    assert trust(ratio, error + 0.1).weight >= weight - 1e-3


def test_what_is_uncertain_is_drawn_to_what_is_usual() -> None:
    assert trust(0.7, 0.01).weight == pytest.approx(0.49, abs=0.01)
    assert trust(0.7, 2.0).weight == pytest.approx(1.0, abs=0.02)
    assert trust(0.2, 0.01, items=LEAST_ITEMS - 1).weight == trust(0.2, 0.01, lexical=0.01).weight == 1.0


def test_translations_are_found_by_a_model_that_reads_across() -> None:
    rng = np.random.default_rng(3)
    both = rng.normal(size=(2, 40, 16)).astype(np.float32)
    some, other = both / np.linalg.norm(both, axis=2, keepdims=True)
    assert translations_found([list(some), list(some)]) == 1.0
    found = translations_found([list(some), list(other)])
    assert found is not None and found < 0.3
    assert translations_found([list(some)]) is None and translations_found([[None], [None]]) is None
    assert not Trust(
        tag="m", items=0, lexical=0.0, vectors=0.0, ratio=1.0, at_most=1.0, across=found
    ).reads_across


ENGLISH = (
    "The keeper of the lighthouse writes down every ship that passes the northern cape before the evening.",
    "When the storm came up in the night, two fishing boats were thrown upon the rocks below the tower.",
    "The old harbour was rebuilt with stones which had been taken from the walls of the abandoned castle.",
)
SPANISH = (
    "El guardián del faro anota todos los barcos que pasan por el cabo del norte antes de la noche.",
    "Cuando llegó la tormenta, dos barcos de pesca fueron arrojados contra las rocas al pie de la torre.",
    "El viejo puerto fue reconstruido con piedras que se habían sacado de las murallas del castillo.",
)


@pytest.fixture
def bilingual(tmp_path: Path) -> Brain:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "en.txt").write_text("\n\n".join(ENGLISH) + "\n")
    (tmp_path / "docs" / "es.txt").write_text("\n\n".join(SPANISH) + "\n")
    brain = Brain.create(tmp_path / "brain", name="b", embedder=EmbedderSpec(provider="hashed"))
    actor = Actor(id="ana@example.org", kind=ActorKind.HUMAN)
    clock = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
    brain.ingest([tmp_path / "docs"], actor=actor, clock=lambda: clock, root=tmp_path)
    return brain


def foreign_texts(brain: Brain, question: str) -> set[str]:
    with brain.reader() as reader:
        work, _ = begin(reader, Query(text=question))
        outcome = answer(reader, Query(text=question, floor=False))
        texts = {c.n: c.text for c in outcome.work.entries.values()}
        return {texts[n] for n in features._foreign(work, sorted(texts))}


def test_what_is_in_another_language_is_told_block_by_block(bilingual: Brain) -> None:
    with bilingual as brain:
        asked = "¿qué barcos fueron arrojados contra las rocas durante la tormenta?"
        found = foreign_texts(brain, asked)
        assert found and found <= {*ENGLISH}
        assert foreign_texts(brain, "which of the boats were thrown upon the rocks in the storm?") <= {
            *SPANISH
        }
        with brain.reader() as reader:
            measured = reader.trust
        assert measured is not None and not measured.reads_across  # hashed words are no translations


def test_what_stands_side_by_side_tells_of_the_vectors(tmp_path: Path) -> None:
    """Lines of a conversation, too short to be taken apart: only their neighbours share their subject."""
    subjects = ["harbour", "garden", "kitchen", "mountain", "theatre", "railway", "library", "market"]
    lines = [f"speaker{i % 2}: the {s} was {w} then" for s in subjects for i, w in enumerate("abcdefgh")]
    (tmp_path / "talk.txt").write_text("\n\n".join(lines) + "\n")
    with Brain.create(tmp_path / "brain", name="b", embedder=EmbedderSpec(provider="hashed")) as brain:
        actor = Actor(id="ana@example.org", kind=ActorKind.HUMAN)
        clock = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
        brain.ingest([tmp_path / "talk.txt"], actor=actor, clock=lambda: clock, root=tmp_path)
        with brain.reader() as reader:
            found = measure_trust(reader)
    assert found is not None and found.told and found.lexical > 0.2, found
