from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from consilience.embed import e5_bulk, e5_source
from consilience.embed.e5 import E5Embedder

Doubles = npt.NDArray[np.float64]

MIXED = [
    "",
    "how are features deprecated",
    "¿Cómo se cancela una tarea?",
    "结构化并发",
    "word " * 90,
    "how are features deprecated",
    "A longer passage, about structured concurrency: a task group waits for its tasks and cancels them together.",
]


def reference(source: e5_source.SourceFile, ids: list[int]) -> Doubles:
    """BERT of one sequence in float64 as its papers define it, from the raw tensors; mean-pooled, of length 1."""
    shape = source.shape
    hidden, width = shape.hidden, shape.hidden // shape.heads

    def dense(x: Doubles, name: str, rows: int) -> Doubles:
        out: Doubles = x @ source.matrix(f"{name}.w", rows, x.shape[1]).T.astype(np.float64)
        return out + source.floats(f"{name}.b")

    def norm(x: Doubles, name: str) -> Doubles:
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt(x.var(-1, keepdims=True) + shape.epsilon)
        return x * source.floats(f"{name}.w") + source.floats(f"{name}.b")

    words = source.matrix("emb.word", shape.vocabulary, hidden)[ids].astype(np.float64)
    positions = source.floats("emb.pos").reshape(-1, hidden)[: len(ids)]
    x = norm(words + positions + source.floats("emb.type")[:hidden], "emb.ln")
    for i in range(shape.layers):
        q, k, v = (dense(x, f"l{i}.{part}", hidden) for part in "qkv")
        heads = []
        for h in range(shape.heads):
            part = slice(h * width, (h + 1) * width)
            scores = q[:, part] @ k[:, part].T / math.sqrt(width)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            heads.append(weights / weights.sum(-1, keepdims=True) @ v[:, part])
        x = norm(x + dense(np.concatenate(heads, axis=1), f"l{i}.ao", hidden), f"l{i}.aln")
        u = dense(x, f"l{i}.fi", shape.inner)
        u = 0.5 * u * (1 + np.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)))
        x = norm(x + dense(u, f"l{i}.fo", hidden), f"l{i}.oln")
    pooled: Doubles = x.mean(0)
    return pooled / np.linalg.norm(pooled)


def test_vectors_are_those_of_the_definition(tiny: E5Embedder) -> None:
    source = e5_source.read_source(e5_source.locate())
    texts = ["ab abc", "漢字 é x", "a" * 100, "", "ab abc"]
    found = tiny.embed(texts, role="passage")
    for text, row in zip(texts, found, strict=True):
        assert np.allclose(row, reference(source, tiny.tokens(text, "passage")), atol=2e-6), text


def test_the_real_model_agrees_with_the_definition(e5: E5Embedder) -> None:
    source = e5_source.read_source(e5_source.locate())
    expected = reference(source, e5.tokens(MIXED[1], "query"))
    assert e5.embed([MIXED[1]], role="query")[0] @ expected > 0.99999


def test_rows_are_finite_and_of_length_one(e5: E5Embedder) -> None:
    texts = ["", " ", "\0\x01", "\ud800", "🎉" * 50, "!?" * 200, "x" * 100_000]
    out = e5.embed(texts, role="passage")
    assert out.shape == (len(texts), 384) and out.dtype == np.float32
    assert np.isfinite(out).all() and np.allclose(np.linalg.norm(out, axis=1), 1, atol=1e-5)


def test_no_texts_give_no_rows(e5: E5Embedder) -> None:
    assert e5.embed([], role="query").shape == (0, 384)


def test_companions_do_not_move_a_vector(e5: E5Embedder) -> None:
    together = e5.embed(MIXED, role="passage")
    alone = np.concatenate([e5.embed([text], role="passage") for text in MIXED])
    assert np.einsum("ij,ij->i", together, alone).min() > 0.999999
    assert together[1] @ together[5] > 0.999999


def test_meaning_crosses_languages(e5: E5Embedder) -> None:
    question = e5.embed(["how do I cancel a running task?"], role="query")[0]
    passages = e5.embed(
        [
            "Para detener una tarea que se está ejecutando, llame a su método cancel().",
            "El río nace en la sierra y desemboca en el mar.",
            "Operators are overloaded by defining special methods.",
        ],
        role="passage",
    )
    scores = passages @ question
    assert scores.argmax() == 0


def test_the_roles_differ(e5: E5Embedder) -> None:
    assert e5.embed(["task"], role="query")[0] @ e5.embed(["task"], role="passage")[0] < 0.999


# --- batches and threads ----------------------------------------------------------------------------------------


def test_batches_hold_every_sequence_once_and_keep_the_bound() -> None:
    sequences = [[0] * n for n in (5, 2000, 7, 512, 512, 1, 3)]
    batches = list(e5_bulk.batches(sequences))
    assert sorted(i for batch in batches for i in batch) == list(range(len(sequences)))
    assert all(
        len(batch) == 1 or sum(len(sequences[i]) for i in batch) <= e5_bulk.BATCH_TOKENS for batch in batches
    )
    assert batches[0] == [1]


def test_threads_give_what_one_thread_gives(tiny: E5Embedder) -> None:
    texts = [f"ab {'abc ' * (i % 90)}" for i in range(120)]
    tiny._threads = 1
    one = tiny.embed(texts, role="passage")
    tiny._threads = 3
    assert np.allclose(tiny.embed(texts, role="passage"), one, atol=1e-5)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupt_ends_the_call_early_and_gives_the_cores_back(error: type[BaseException]) -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")
    before = threadpoolctl.threadpool_info()
    calls = 0

    def encode(sequences: object) -> npt.NDArray[np.float32]:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise error
        return np.zeros((1, 4), np.float32)

    sequences = [[0] * 1024] * 500
    with pytest.raises(error):
        e5_bulk.encode_all(sequences, encode, e5_bulk.batches, width=4, threads=2)
    assert calls <= 3 + 2
    assert threadpoolctl.threadpool_info() == before


def test_overlapping_uses_restore_the_blas_threads_once_both_are_done() -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def threads() -> list[int]:
        return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]

    before = threads()
    outer, inner = e5_bulk.single_threaded_blas(), e5_bulk.single_threaded_blas()
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    assert set(threads()) <= {1}
    inner.__exit__(None, None, None)
    assert threads() == before
