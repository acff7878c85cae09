"""multilingual-e5-small on numpy alone: the embedder that Consilience has out of the box."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from consilience.embed import e5_bulk, e5_cache
from consilience.embed.base import Role
from consilience.embed.e5_encoder import Encoder
from consilience.embed.e5_source import FILE_SHA256, Floats, Model
from consilience.embed.e5_tokens import Tokenizer
from consilience.errors import EmbeddingError

MAX_TOKENS = 512
"""Tokens of a text that count, prefix and the two special tokens included; what follows is not embedded."""

ENCODER_VERSION = 1
TAG = f"e5-small:q4-{FILE_SHA256[:12]}:enc{ENCODER_VERSION}:query-passage:mean:max{MAX_TOKENS}"

_PREFIX: dict[Role, str] = {"query": "query: ", "passage": "passage: "}


class E5Embedder:
    """Embedder over the cached model. Batches are made by length within a call: calls with some hundred texts are the
    fast ones. A text's vector depends on its companions only by float rounding: cosine above 0.999999.
    """

    tag = TAG

    def __init__(self, model: Model, *, threads: int | None = None) -> None:
        self._shape = model.shape
        self._tokenizer = Tokenizer(model.arrays, model.shape)
        self._encoder = Encoder(model)
        self._threads = threads or e5_bulk.cores()
        self.dims = model.shape.hidden

    def tokens(self, text: str, role: Role) -> list[int]:
        """Ids as the encoder reads them: beginning of sequence, prefix, text, end of sequence; at most MAX_TOKENS."""
        pieces = self._tokenizer.tokenize(_PREFIX[role] + text, MAX_TOKENS - 2)
        return [self._shape.bos, *pieces, self._shape.eos]

    def embed(self, texts: Sequence[str], *, role: Role) -> Floats:
        """See `Embedder.embed`."""
        sequences = [self.tokens(text, role) for text in texts]
        out = e5_bulk.encode_all(sequences, self._encoder.encode, width=self.dims, threads=self._threads)
        if not np.isfinite(out).all():
            raise EmbeddingError(
                "the embedding model gave a value that is not a number", hint="remove its cache file"
            )
        return out


def open_e5(
    cache_dir: Path, *, threads: int | None = None, warn: Callable[[str], None] | None = None
) -> E5Embedder:
    """Open the model, making its cache file where there is none. Raises MissingExtraError, EmbeddingError."""
    return E5Embedder(e5_cache.load(cache_dir, warn=warn), threads=threads)
