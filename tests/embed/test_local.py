from __future__ import annotations

import sys
import types
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from consilience.embed import EmbedderSpec, Provider, open_embedder
from consilience.errors import ConfigurationError, EmbeddingError, MissingExtraError

PROVIDERS: list[Provider] = ["sentence-transformers", "model2vec", "fastembed"]


def encode(texts: list[str]) -> np.ndarray:  # type: ignore[type-arg]
    return np.array([[len(text), text.count("a"), 0] for text in texts], np.float32)


def install(monkeypatch: pytest.MonkeyPatch, run: Callable[[list[str]], Any]) -> None:
    """Modules with the shape of the three libraries around one function."""

    class Model:
        def __init__(self, name: str = "", model_name: str = "") -> None:
            if "missing" in name + model_name:
                raise OSError("no such model")

        @classmethod
        def from_pretrained(cls, name: str) -> Model:
            return cls(name)

        def encode(self, texts: list[str], **_: object) -> Any:
            return run(texts)

        def embed(self, texts: list[str]) -> Any:
            return iter(run(texts))

    for module, name in (
        ("sentence_transformers", "SentenceTransformer"),
        ("model2vec", "StaticModel"),
        ("fastembed", "TextEmbedding"),
    ):
        fake = types.ModuleType(module)
        fake.__spec__ = ModuleSpec(module, None)
        setattr(fake, name, Model)
        monkeypatch.setitem(sys.modules, module, fake)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_rows_have_length_one_and_prefixes_are_put_before(
    provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, encode)
    spec = EmbedderSpec(provider=provider, model="m", query_prefix="aa")
    embedder = open_embedder(spec, cache_dir=tmp_path)
    assert embedder.dims == 3 and provider in embedder.tag and "m" in embedder.tag and "aa" in embedder.tag
    out = embedder.embed(["b", "", "\ud800"], role="query")
    assert out.dtype == np.float32 and np.allclose(np.linalg.norm(out, axis=1), 1)
    assert np.allclose(out[0], np.array([3, 2, 0]) / 13**0.5)
    assert np.allclose(embedder.embed([""], role="passage"), [[1, 0, 0]])
    assert embedder.embed([], role="passage").shape == (0, 3)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_model_that_cannot_be_loaded_is_named(
    provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, encode)
    with pytest.raises(EmbeddingError, match=r"missing-model.*no such model"):
        open_embedder(EmbedderSpec(provider=provider, model="missing-model"), cache_dir=tmp_path)
    with pytest.raises(ConfigurationError, match="needs a model"):
        open_embedder(EmbedderSpec(provider=provider), cache_dir=tmp_path)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_library_that_is_half_installed_is_a_missing_extra(
    provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, encode)
    name = provider.replace("-", "_")
    monkeypatch.delattr(sys.modules[name], next(n for n in vars(sys.modules[name]) if n[0].isupper()))
    monkeypatch.setattr(sys.modules[name], "__getattr__", _no_torch, raising=False)
    with pytest.raises(MissingExtraError, match="torch"):
        open_embedder(EmbedderSpec(provider=provider, model="m"), cache_dir=tmp_path)


def _no_torch(name: str) -> None:
    raise ImportError("torch is not installed")


@pytest.mark.parametrize(
    "bad", [[[float("nan"), 1, 2]], [[1.0, 2.0]], [1.0, 2.0, 3.0], [["x", "y", "z"]], []]
)
def test_what_is_not_one_finite_vector_a_text_is_refused(
    bad: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, lambda texts: bad)
    spec = EmbedderSpec(provider="model2vec", model="m", dims=3)
    with pytest.raises(EmbeddingError):
        open_embedder(spec, cache_dir=tmp_path).embed(["one"], role="passage")
