from __future__ import annotations

import socket

import numpy as np
import pytest

from consilience.embed import e5 as e5_module
from consilience.embed.e5 import E5Embedder

pytest.importorskip("openvino", reason="the extra [fast] is not installed")

from consilience.embed import e5_openvino

TEXTS = [
    "",
    "how are features deprecated",
    "¿Cómo se cancela una tarea?",
    "结构化并发",
    "word " * 90,
    "x" * 2000,
]


def accelerated(e5: E5Embedder, said: list[str], monkeypatch: pytest.MonkeyPatch) -> E5Embedder:
    monkeypatch.setattr(e5_module, "BULK_TOKENS", 0)
    return E5Embedder(e5._model, threads=2, warn=said.append)


def test_vectors_agree_with_the_numpy_encoder(e5: E5Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    fast = accelerated(e5, said, monkeypatch)
    found = fast.embed(TEXTS, role="passage")
    assert said == [] and fast._fast is not None
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    assert np.einsum("ij,ij->i", found, e5.embed(TEXTS, role="passage")).min() > 0.9999


def test_nothing_is_sent_anywhere(tiny: E5Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    said: list[str] = []
    fast = accelerated(tiny, said, monkeypatch)
    found = fast.embed(["ab abc", "漢字"] * 3, role="passage")
    assert (
        said == []
        and np.einsum("ij,ij->i", found, tiny.embed(["ab abc", "漢字"] * 3, role="passage")).min() > 0.999
    )


def test_a_runtime_that_fails_leaves_the_work_to_numpy(
    tiny: E5Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("illegal instruction")

    monkeypatch.setattr(e5_openvino, "OpenVinoEncoder", fail)
    said: list[str] = []
    fast = accelerated(tiny, said, monkeypatch)
    for _ in range(2):
        assert np.array_equal(fast.embed(["ab"], role="passage"), tiny.embed(["ab"], role="passage"))
    assert len(said) == 1 and "illegal instruction" in said[0]


def test_little_work_does_not_start_it(tiny: E5Embedder) -> None:
    fast = E5Embedder(tiny._model)
    fast.embed(["ab"], role="query")
    assert fast._fast is None


def test_batches_hold_every_sequence_once_within_the_bound() -> None:
    sequences = [[0] * n for n in [3, 512, 40, 41, 7, 7, 7] * 50]
    batches = list(e5_openvino.padded_batches(sequences))
    assert sorted(i for batch in batches for i in batch) == list(range(len(sequences)))
    for batch in batches:
        longest = max(len(sequences[i]) for i in batch)
        assert longest <= e5_openvino.padded(longest) <= 512
        assert len(batch) * e5_openvino.padded(longest) <= e5_openvino.BATCH_TOKENS
