"""multilingual-e5-small on numpy alone: the embedder that Consilience has out of the box."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from consilience.embed import e5_cache
from consilience.embed.base import Role
from consilience.embed.e5_encoder import Encoder
from consilience.embed.e5_source import FILE_SHA256, Floats
from consilience.embed.e5_tokens import Tokenizer
from consilience.errors import EmbeddingError

MAX_TOKENS = 512
"""Tokens of a text that count, prefix and the two special tokens included; what follows is not embedded."""

BATCH_TOKENS = 1024
ENCODER_VERSION = 1
TAG = f"e5-small:q4-{FILE_SHA256[:12]}:enc{ENCODER_VERSION}:query-passage:mean:max{MAX_TOKENS}"

_PREFIX: dict[Role, str] = {"query": "query: ", "passage": "passage: "}


class E5Embedder:
    """Embedder over the cached model. Texts of one call are sorted by length: large calls are the fast ones.

    A text's vector depends on its companions in the call only by float rounding (cosine above 0.999999).
    """

    tag = TAG

    def __init__(self, model: e5_cache.Model) -> None:
        self._shape = model.shape
        self._tokenizer = Tokenizer(model.arrays, model.shape)
        self._encoder = Encoder(model)
        self.dims = model.shape.hidden

    def tokens(self, text: str, role: Role) -> list[int]:
        """Ids as the encoder reads them: beginning of sequence, prefix, text, end of sequence; at most MAX_TOKENS."""
        pieces = self._tokenizer.tokenize(_PREFIX[role] + text, MAX_TOKENS - 2)
        return [self._shape.bos, *pieces, self._shape.eos]

    def embed(self, texts: Sequence[str], *, role: Role) -> Floats:
        """See `Embedder.embed`."""
        sequences = [self.tokens(text, role) for text in texts]
        out = np.empty((len(texts), self.dims), np.float32)
        for batch in _batches(sequences):
            out[batch] = self._encoder.encode([sequences[i] for i in batch])
        if not np.isfinite(out).all():
            raise EmbeddingError(
                "the embedding model gave a value that is not a number", hint="remove its cache file"
            )
        return out


def open_e5(cache_dir: Path, *, warn: Callable[[str], None] | None = None) -> E5Embedder:
    """Open the model, making its cache file where there is none. Raises MissingExtraError, EmbeddingError."""
    return E5Embedder(e5_cache.load(cache_dir, warn=warn))


def _batches(sequences: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Indices of the sequences by length, in batches of about BATCH_TOKENS."""
    batch: list[int] = []
    tokens = 0
    for i in sorted(range(len(sequences)), key=lambda i: len(sequences[i])):
        if batch and tokens + len(sequences[i]) > BATCH_TOKENS:
            yield batch
            batch, tokens = [], 0
        batch.append(i)
        tokens += len(sequences[i])
    if batch:
        yield batch
