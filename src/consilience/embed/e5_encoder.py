"""The transformer encoder of multilingual-e5-small (12 layers, 384 wide, 12 heads) in numpy, post-layer-norm BERT.

Sequences of a batch lie one after another without padding; those of equal length share their matrix products.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from consilience.embed.e5_cache import Model
from consilience.embed.e5_source import Floats, dequantise

_GELU_SCALE = np.float32(-2 * 0.7978845608028654)
_GELU_CUBIC = np.float32(-2 * 0.7978845608028654 * 0.044715)
_CHUNK = 64


class Encoder:
    """Pooled sentence vectors from token ids. Holds no state between calls; safe to share between threads."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._arrays = model.arrays
        self._eps = np.float32(model.shape.epsilon)

    def encode(self, sequences: Sequence[Sequence[int]]) -> Floats:
        """Mean of the last layer over each sequence, normalised to length 1: float32 (len(sequences), hidden).

        Sequences are best sorted by length: each run of equal lengths is attended to at once.
        """
        lengths = np.array([len(s) for s in sequences])
        ends = np.cumsum(lengths)
        x = self._embed(np.concatenate([np.asarray(s) for s in sequences]), lengths, ends)
        runs = list(_runs(lengths.tolist()))
        for layer in range(self._model.shape.layers):
            x = self._layer(x, f"l{layer}.", runs)
        pooled = np.add.reduceat(x, ends - lengths, axis=0)
        pooled /= np.sqrt(np.einsum("ij,ij->i", pooled, pooled))[:, None]
        return pooled

    def _embed(self, ids: np.ndarray, lengths: np.ndarray, ends: np.ndarray) -> Floats:  # type: ignore[type-arg]
        positions = np.arange(len(ids)) - np.repeat(ends - lengths, lengths)
        x = dequantise(self._model.rows[ids])
        x += self._arrays["position"][positions]
        return self._norm(x, "norm")

    def _layer(self, x: Floats, name: str, runs: Sequence[tuple[int, int, int]]) -> Floats:
        weights = self._arrays
        qkv = x @ weights[name + "qkv"]
        qkv += weights[name + "qkv.b"]
        y = self._attend(qkv, runs) @ weights[name + "ao"]
        y += weights[name + "ao.b"]
        y += x
        x = self._norm(y, name + "aln")
        inner = x @ weights[name + "fi"]
        inner += weights[name + "fi.b"]
        gelu(inner)
        y = inner @ weights[name + "fo"]
        y += weights[name + "fo.b"]
        y += x
        return self._norm(y, name + "oln")

    def _attend(self, qkv: Floats, runs: Sequence[tuple[int, int, int]]) -> Floats:
        heads = self._model.shape.heads
        hidden = self._model.shape.hidden
        out = np.empty((len(qkv), hidden), np.float32)
        for start, count, length in runs:
            end = start + count * length
            parts = qkv[start:end].reshape(count, length, 3, heads, hidden // heads).transpose(2, 0, 3, 1, 4)
            scores = parts[0] @ parts[1].transpose(0, 1, 3, 2)
            scores -= scores.max(-1, keepdims=True)
            np.exp(scores, out=scores)
            context = scores @ parts[2]
            context /= scores.sum(-1, keepdims=True)
            out[start:end].reshape(count, length, heads, -1)[...] = context.transpose(0, 2, 1, 3)
        return out

    def _norm(self, x: Floats, name: str) -> Floats:
        """Layer norm over the last axis, in place."""
        scale, shift = self._arrays[name]
        x -= x.mean(-1, keepdims=True)
        variance = np.einsum("ij,ij->i", x, x)
        variance /= x.shape[1]
        variance += self._eps
        x *= (1 / np.sqrt(variance))[:, None]
        x *= scale
        x += shift
        return x


def gelu(x: Floats) -> None:
    """GELU in its tanh form (Hendrycks and Gimpel 2016), in place: x * sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3))."""
    scratch = np.empty((min(_CHUNK, len(x)), x.shape[1]), np.float32)
    with np.errstate(over="ignore"):
        for start in range(0, len(x), _CHUNK):
            part = x[start : start + _CHUNK]
            u = scratch[: len(part)]
            np.multiply(part, part, out=u)
            u *= _GELU_CUBIC
            u += _GELU_SCALE
            u *= part
            np.exp(u, out=u)
            u += 1
            part /= u


def _runs(lengths: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """(first row, sequences, length) of each run of equal lengths."""
    row = 0
    at = 0
    while at < len(lengths):
        end = at
        while end < len(lengths) and lengths[end] == lengths[at]:
            end += 1
        yield row, end - at, lengths[at]
        row += (end - at) * lengths[at]
        at = end
