"""multilingual-e5-small on numpy alone: the embedder that Consilience has out of the box."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from consilience.embed import e5_bulk, e5_cache
from consilience.embed.base import Role, installed
from consilience.embed.e5_encoder import Encoder
from consilience.embed.e5_source import FILE_SHA256, Floats, Model
from consilience.embed.e5_tokens import Tokenizer
from consilience.errors import EmbeddingError

MAX_TOKENS = 512
"""Tokens of a text that count, prefix and the two special tokens included; what follows is not embedded."""

ENCODER_VERSION = 1
TAG = f"e5-small:q4-{FILE_SHA256[:12]}:enc{ENCODER_VERSION}:query-passage:mean:max{MAX_TOKENS}"

if TYPE_CHECKING:
    from consilience.embed.e5_openvino import OpenVinoEncoder

_PREFIX: dict[Role, str] = {"query": "query: ", "passage": "passage: "}


BULK_TOKENS = 8192
"""What a process must have embedded before it starts the accelerated encoder, which takes a second to load."""


class E5Embedder:
    """Embedder over the cached model. Batches are made by length within a call: calls with some hundred texts are the
    fast ones. A text's vector depends on its companions and on the encoder in use by rounding only: cosine above
    0.999999 among vectors of the numpy encoder, above 0.9999 between the two. Threads may share one.
    """

    tag = TAG

    def __init__(
        self,
        model: Model,
        *,
        threads: int | None = None,
        accelerate: bool = True,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        self.dims = model.shape.hidden
        self._model = model
        self._tokenizer = Tokenizer(model.arrays, model.shape)
        self._encoder = Encoder(model)
        self._threads = threads or e5_bulk.cores()
        self._warn = warn
        self._lock = threading.Lock()
        self._seen = 0
        self._may_accelerate = accelerate and installed("openvino")
        self._fast: OpenVinoEncoder | None = None

    def tokens(self, text: str, role: Role) -> list[int]:
        """Ids as the encoder reads them: beginning of sequence, prefix, text, end of sequence; at most MAX_TOKENS."""
        pieces = self._tokenizer.tokenize(_PREFIX[role] + text, MAX_TOKENS - 2)
        return [self._model.shape.bos, *pieces, self._model.shape.eos]

    def embed(self, texts: Sequence[str], *, role: Role) -> Floats:
        """See `Embedder.embed`."""
        sequences = [self.tokens(text, role) for text in texts]
        out = self._accelerated(sequences)
        if out is None:
            out = self._encode(sequences, self._encoder.encode, e5_bulk.batches)
        if not np.isfinite(out).all():
            raise EmbeddingError(
                "the embedding model gave a value that is not a number", hint="remove its cache file"
            )
        return out

    def _encode(self, sequences: Sequence[list[int]], encode: e5_bulk.Encode, split: e5_bulk.Split) -> Floats:
        return e5_bulk.encode_all(sequences, encode, split, width=self.dims, threads=self._threads)

    def _accelerated(self, sequences: Sequence[list[int]]) -> Floats | None:
        """The vectors by the accelerated encoder; None where there is none, it failed, or there is too little work."""
        with self._lock:
            self._seen += sum(map(len, sequences))
            if not self._may_accelerate or self._seen < BULK_TOKENS:
                return None
        try:
            from consilience.embed.e5_openvino import OpenVinoEncoder, padded_batches

            with self._lock:
                self._fast = self._fast or OpenVinoEncoder(self._model, threads=self._threads)
            out = self._encode(sequences, self._fast.encode, padded_batches)
            if np.isfinite(out).all():
                return out
            self._give_up("it gave a value that is not a number")
        except (
            Exception
        ) as error:  # whatever a foreign runtime raises, the numpy encoder can still do the work
            self._give_up(f"{type(error).__name__}: {error}")
        return None

    def _give_up(self, reason: str) -> None:
        self._may_accelerate = False
        if self._warn is not None:
            self._warn(f"embedding goes on without OpenVINO: {reason}")


def open_e5(
    cache_dir: Path,
    *,
    threads: int | None = None,
    accelerate: bool = True,
    warn: Callable[[str], None] | None = None,
) -> E5Embedder:
    """Open the model, making its cache file where there is none. Raises MissingExtraError, EmbeddingError."""
    return E5Embedder(e5_cache.load(cache_dir, warn=warn), threads=threads, accelerate=accelerate, warn=warn)
