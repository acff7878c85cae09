"""A deterministic embedder without a model: hashed words and character trigrams (Weinberger et al. 2009).

For tests, and for looking at how a brain behaves with a weak embedding. Texts that share words are near each other.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from consilience.embed.base import Role
from consilience.embed.e5_source import Floats

DIMS = 256
TAG = f"hashed:words+trigrams:d{DIMS}:v1"

_WORD = re.compile(r"\w+")
_LONGEST_TEXT = 1 << 16
_TRIGRAM_WEIGHT = 0.5


class HashedEmbedder:
    """Signed feature hashing into 256 dimensions, rows of length 1. Both roles are treated alike."""

    tag = TAG
    dims = DIMS

    def embed(self, texts: Sequence[str], *, role: Role) -> Floats:
        """See `Embedder.embed`. The first 65,536 characters of a text count."""
        out = np.zeros((len(texts), DIMS), np.float32)
        for row, text in zip(out, texts, strict=True):
            for feature, weight in _features(text[:_LONGEST_TEXT]):
                code = zlib.crc32(feature.encode("utf-8", "surrogatepass"))
                row[code % DIMS] += weight if code & 1 << 31 else -weight
            if not row.any():
                row[0] = 1.0
        out /= np.linalg.norm(out, axis=1, keepdims=True)
        return out


def _features(text: str) -> Iterator[tuple[str, float]]:
    folded = unicodedata.normalize("NFKD", text.casefold())
    folded = "".join(c for c in folded if not unicodedata.combining(c))
    for word in _WORD.findall(folded):
        yield word, 1.0
        padded = f" {word} "
        for i in range(len(padded) - 2):
            yield padded[i : i + 3], _TRIGRAM_WEIGHT
