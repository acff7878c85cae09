"""Models of the caller's choosing by sentence-transformers, model2vec or fastembed, each behind its extra.

Thin: the library loads and runs the model; here are prefixes, shape and length checked, and the tag made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from consilience.embed.base import EmbedderSpec, Role, missing_extra
from consilience.embed.e5_source import Floats
from consilience.errors import ConfigurationError, EmbeddingError

LONGEST_TEXT = 1 << 17

Encode = Callable[[list[str]], Any]


class LocalEmbedder:
    """Embedder around a function from texts to vectors. Rows are scaled to length 1; a row of zeros, which static
    models give for a text without known words, becomes the first unit vector.
    """

    def __init__(self, spec: EmbedderSpec, encode: Encode) -> None:
        self._spec = spec
        self._encode = encode
        self.dims = spec.dims or self._run([" "]).shape[1]
        prefixes = f"{spec.query_prefix!r}-{spec.passage_prefix!r}"
        self.tag = f"{spec.provider}:{spec.model}:d{self.dims}:{prefixes}:v1"

    def embed(self, texts: Sequence[str], *, role: Role) -> Floats:
        """See `Embedder.embed`."""
        if not texts:
            return np.empty((0, self.dims), np.float32)
        prefix = self._spec.query_prefix if role == "query" else self._spec.passage_prefix
        out = self._run(
            [prefix + text[:LONGEST_TEXT].encode("utf-8", "replace").decode("utf-8") for text in texts]
        )
        if out.shape != (len(texts), self.dims):
            raise EmbeddingError(
                f"{self._spec.model} gave an array of shape {out.shape} for {len(texts)} texts of width {self.dims}"
            )
        out[~out.any(axis=1), 0] = 1.0
        return np.asarray(out / np.linalg.norm(out, axis=1, keepdims=True), np.float32)

    def _run(self, texts: list[str]) -> Any:
        try:
            out = np.array(self._encode(texts), np.float64)
        except Exception as error:  # three foreign libraries, each with exceptions of its own
            raise EmbeddingError(
                f"{self._spec.provider} failed on {self._spec.model}: {type(error).__name__}: {error}"
            ) from error
        if out.ndim != 2 or not np.isfinite(out).all():
            raise EmbeddingError(
                f"{self._spec.model} gave values that are not numbers, or not one vector a text"
            )
        return out


def open_local(spec: EmbedderSpec) -> LocalEmbedder:
    """Load the model. Raises MissingExtraError, ConfigurationError (no model named), EmbeddingError (cannot load)."""
    if not spec.model:
        raise ConfigurationError(
            f"the embedding provider {spec.provider} needs a model", hint="set its model's name"
        )
    loaders = {
        "sentence-transformers": _sentence_transformers,
        "model2vec": _model2vec,
        "fastembed": _fastembed,
    }
    try:
        encode = loaders[spec.provider](spec.model)
    except ImportError as error:
        raise missing_extra(spec.provider, str(error)) from error
    except Exception as error:
        raise EmbeddingError(
            f"{spec.provider} cannot load {spec.model}: {type(error).__name__}: {error}",
            hint="is the model's name right, and is it on this machine or can it be downloaded?",
        ) from error
    return LocalEmbedder(spec, encode)


def _sentence_transformers(name: str) -> Encode:
    import sentence_transformers  # type: ignore[import-not-found, import-untyped, unused-ignore]

    model = sentence_transformers.SentenceTransformer(name)
    return lambda texts: model.encode(texts, show_progress_bar=False)


def _model2vec(name: str) -> Encode:
    import model2vec  # type: ignore[import-not-found, import-untyped, unused-ignore]

    model = model2vec.StaticModel.from_pretrained(name)
    encode: Encode = model.encode
    return encode


def _fastembed(name: str) -> Encode:
    import fastembed  # type: ignore[import-not-found, import-untyped, unused-ignore]

    model = fastembed.TextEmbedding(model_name=name)
    return lambda texts: list(model.embed(texts))
