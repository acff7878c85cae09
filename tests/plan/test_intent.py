"""What kind of question a text is; and that no text, however long or odd, takes more than linear time."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from consilience.plan.intent import Intent, understand


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("sha256:deadbeef", Intent.IDENTITY),
        ("deadbeefdead", Intent.IDENTITY),
        ("deadbeef", Intent.SEMANTIC),
        ('what is a "trait object"', Intent.EXACT),
        ("was bedeutet «objeto rasgo»", Intent.EXACT),
        ("a “trait object”", Intent.EXACT),
        ('an open "quote', Intent.SEMANTIC),
        ("create_task", Intent.LEXICAL),
        ("camelCase method", Intent.LEXICAL),
        ("PEP 3119", Intent.LEXICAL),
        ("utf8", Intent.LEXICAL),
        ("__init__", Intent.LEXICAL),
        ("how does create_task cancel other tasks", Intent.SEMANTIC),
        ("structured concurrency", Intent.SEMANTIC),
    ],
)
def test_the_intent_of_a_text(text: str, intent: Intent) -> None:
    assert understand(text).intent is intent


@pytest.mark.parametrize("word", ["snake_case", "a1", "1a", "aB", "__x__", "42", "é_é", "x२"])
def test_words_that_are_meant_letter_by_letter(word: str) -> None:
    assert understand(f"the {word} of it").identifiers == (word,)


@pytest.mark.parametrize("word", ["word", "Word", "WORD", "_word", "word_", "4", "Ab", "é", "水泵"])
def test_words_that_are_not(word: str) -> None:
    assert understand(f"the {word} of it").identifiers == ()


@pytest.fixture
def hang_is_a_failure() -> Iterator[None]:
    """What is quadratic here takes ten minutes and more, what is linear a fraction of a second."""
    if not hasattr(signal, "SIGALRM"):
        pytest.skip("no alarm here")
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("more than linear time"))
    signal.alarm(120)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    "part", ["a", "é", "_", "a_", "aB ", "“", "«", "“a", '"', '"a ', "”", " ", "0", "f ", "sha256:"]
)
@pytest.mark.usefixtures("hang_is_a_failure")
def test_linear_time(part: str) -> None:
    understand(part * (400_000 // len(part)))
    understand("sha256:" + part * (400_000 // len(part)) + "!")
