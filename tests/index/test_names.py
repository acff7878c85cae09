from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.index.bm25 import MemoryIndex, idf
from consilience.index.question import analyze_question
from consilience.model import Entry
from consilience.protocol import MemoryType


def entry(n: int, text: str) -> Entry:
    return Entry(n=n, module=MemoryType.SEMANTIC, text=text, language="en")


@pytest.fixture(scope="module")
def index() -> MemoryIndex:
    texts = [f"Caroline went to a museum number {i}" for i in range(30)]
    texts += ["somebody painted a lake at sunrise", "the museum closed early"]
    return MemoryIndex([entry(i, text) for i, text in enumerate(texts, 1)])


def names(index: MemoryIndex, question: str, *languages: str) -> set[str]:
    asked = analyze_question(question, index, index.languages, languages)
    most = idf(index.documents, 0)
    return {w.surface for w in asked.words if w.known and w.importance == most and w.idf < most}


def test_a_name_weighs_as_much_as_a_word_that_the_brain_does_not_have(index: MemoryIndex) -> None:
    assert names(index, "what did Caroline paint", "en") == {"Caroline"}
    assert names(index, "what did caroline paint", "en") == set()


@pytest.mark.parametrize(
    "question",
    [
        "Caroline painted a lake",
        "A lake. Caroline painted it",
        "what did they paint? Caroline knows",
        "CAROLINE WENT",
    ],
)
def test_a_capital_at_the_beginning_of_a_sentence_or_everywhere_tells_nothing(
    index: MemoryIndex, question: str
) -> None:
    assert names(index, question, "en") == set()


def test_a_language_that_writes_nouns_with_capitals_has_no_names(index: MemoryIndex) -> None:
    assert names(index, "was hat Caroline im Museum gemalt", "de") == set()


def test_a_text_without_the_name_covers_less_of_a_question_that_has_one(index: MemoryIndex) -> None:
    def coverage(question: str) -> float:
        return index.scorer(analyze_question(question, index, index.languages, ("en",))).coverage(
            "the museum closed early", language="en"
        )

    assert coverage("when was Caroline at the museum") < coverage("when was caroline at the museum") / 1.5


@given(st.text(max_size=60))
def test_any_text_is_taken(text: str) -> None:
    index = MemoryIndex([entry(1, "one Two three")])
    asked = analyze_question(text, index, index.languages, ())
    assert all(w.importance >= w.idf for w in asked.words)
