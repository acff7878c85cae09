from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing
import pytest

from consilience.embed import EmbedderSpec, shared_embedder
from consilience.embed.base import Role
from consilience.embed.shared import QUESTIONS_KEPT, Remembering
from consilience.errors import EmbeddingError


class Counting:
    """Embeds to the length of the text, and counts; waits where it is told to, fails where the text says so."""

    tag, dims = "counting", 1

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.gate = threading.Event()
        self.gate.set()

    def embed(self, texts: Sequence[str], *, role: Role) -> np.typing.NDArray[np.float32]:
        self.asked.extend(texts)
        self.gate.wait(10)
        if texts[0] == "fail":
            raise EmbeddingError("no")
        return np.array([[len(t)] for t in texts], np.float32)


def test_a_question_is_embedded_once_and_what_is_given_out_is_a_copy() -> None:
    inner = Counting()
    embedder = Remembering(inner)
    first = embedder.embed(["why"], role="query")
    first[0, 0] = 99
    assert embedder.embed(["why"], role="query")[0, 0] == 3
    assert inner.asked == ["why"]


def test_threads_that_ask_the_same_at_once_wait_for_one_computation() -> None:
    inner = Counting()
    inner.gate.clear()
    embedder = Remembering(inner)
    got: list[float] = []
    threads = [
        threading.Thread(target=lambda: got.append(embedder.embed(["same"], role="query")[0, 0]))
        for _ in range(5)
    ]
    for thread in threads:
        thread.start()
    inner.gate.set()
    for thread in threads:
        thread.join(10)
    assert got == [4.0] * 5 and inner.asked == ["same"]


def test_passages_and_batches_pass_through() -> None:
    inner = Counting()
    embedder = Remembering(inner)
    for _ in range(2):
        embedder.embed(["a"], role="passage")
        embedder.embed(["a", "bc"], role="query")
    assert len(inner.asked) == 6


def test_a_failure_is_not_remembered() -> None:
    inner = Counting()
    embedder = Remembering(inner)
    for _ in range(2):
        with pytest.raises(EmbeddingError):
            embedder.embed(["fail"], role="query")
    assert inner.asked == ["fail", "fail"]


def test_only_the_last_questions_are_kept() -> None:
    inner = Counting()
    embedder = Remembering(inner)
    for i in range(QUESTIONS_KEPT + 1):
        embedder.embed([f"q{i}"], role="query")
    embedder.embed([f"q{QUESTIONS_KEPT}"], role="query")
    embedder.embed(["q0"], role="query")
    assert inner.asked.count("q0") == 2 and inner.asked.count(f"q{QUESTIONS_KEPT}") == 1


def test_brains_of_one_model_share_it_and_others_do_not(tmp_path: Path) -> None:
    one = shared_embedder(EmbedderSpec(provider="hashed"), cache_dir=tmp_path)
    assert shared_embedder(EmbedderSpec(provider="hashed"), cache_dir=tmp_path) is one
    assert shared_embedder(EmbedderSpec(provider="hashed"), cache_dir=tmp_path / "other") is not one
