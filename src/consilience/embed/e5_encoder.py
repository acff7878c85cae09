"""The transformer encoder of multilingual-e5-small in numpy: BERT with layer norm after each residual sum.

Sequences of a batch lie one after another without padding; runs of equal length share their matrix products. What is
done to elements is done in pieces that stay in the cache. See docs/decisions/0030-e5-on-numpy.md for the arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from consilience.embed.e5_source import GELU_SHIFT, Floats, Model, dequantise

_GELU_ROWS = 64
_SCORES_AT_ONCE = 1 << 18
_SCORE_BOUND = np.float32(80)

Ints = npt.NDArray[np.int64]
Runs = Sequence[tuple[int, int, int]]


class Encoder:
    """Sentence vectors from token ids. Keeps nothing between calls: threads may share one."""

    def __init__(self, model: Model) -> None:
        self._rows = model.rows
        self._arrays = model.arrays
        self._shape = model.shape
        self._layers = [_Layer(model, f"l{i}.") for i in range(model.shape.layers)]

    def encode(self, sequences: Sequence[Sequence[int]]) -> Floats:
        """Mean of the last layer over each sequence, scaled to length 1: float32 (len(sequences), hidden).

        Every sequence has 1 to `shape.positions` ids. Sort them by length: equal lengths are attended to together.
        """
        lengths = np.array([len(s) for s in sequences])
        starts = np.cumsum(lengths) - lengths
        ids = np.concatenate([np.asarray(s) for s in sequences])
        x = self.embed_tokens(ids, np.arange(len(ids)) - np.repeat(starts, lengths))
        runs = list(_runs(lengths.tolist(), self._shape.heads))
        scratch = _Scratch(len(ids), self._shape.hidden, self._shape.inner)
        for layer in self._layers:
            x = layer.run(x, runs, scratch)
        return unit_rows(np.add.reduceat(x, starts, axis=0))

    def embed_tokens(self, ids: Ints, positions: Ints) -> Floats:
        """The encoder's input, (len(ids), hidden): token, position and type, after their layer norm."""
        x = dequantise(self._rows[ids])
        x += self._arrays["position"][positions]
        layer_norm(x, self._arrays["norm"], self._shape.epsilon)
        return x


class _Scratch:
    """Buffers of one call, reused by every layer."""

    def __init__(self, tokens: int, hidden: int, inner: int) -> None:
        self.qkv = np.empty((tokens, 3 * hidden), np.float32)
        self.context = np.empty((tokens, hidden), np.float32)
        self.inner = np.empty((tokens, inner), np.float32)
        self.spare = np.empty((tokens, hidden), np.float32)


class _Layer:
    def __init__(self, model: Model, name: str) -> None:
        def get(key: str) -> Floats:
            return model.arrays[name + key]

        self._qkv, self._qkv_bias = get("qkv"), get("qkv.b")
        self._ao, self._ao_bias, self._ao_norm = get("ao"), get("ao.b"), get("aln")
        self._fi, self._fi_bias = get("fi"), get("fi.b")
        self._fo, self._fo_bias, self._fo_norm = get("fo"), get("fo.b"), get("oln")
        self._gelu_shift = np.float32(GELU_SHIFT)
        self._heads = model.shape.heads
        self._eps = model.shape.epsilon

    def run(self, x: Floats, runs: Runs, scratch: _Scratch) -> Floats:
        """The layer's output for `x`; overwrites `x` and the scratch buffers, and returns one of them."""
        np.matmul(x, self._qkv, out=scratch.qkv)
        scratch.qkv += self._qkv_bias
        self._attend(scratch.qkv, runs, scratch.context)
        y = np.matmul(scratch.context, self._ao, out=scratch.spare)
        y += self._ao_bias
        y += x
        layer_norm(y, self._ao_norm, self._eps)
        np.matmul(y, self._fi, out=scratch.inner)
        gelu(scratch.inner, self._fi_bias, self._gelu_shift)
        np.matmul(scratch.inner, self._fo, out=x)
        x += self._fo_bias
        x += y
        layer_norm(x, self._fo_norm, self._eps)
        return x

    def _attend(self, qkv: Floats, runs: Runs, out: Floats) -> None:
        heads = self._heads
        for start, count, length in runs:
            end = start + count * length
            q, k, v = qkv[start:end].reshape(count, length, 3, heads, -1).transpose(2, 0, 3, 1, 4)
            context = out[start:end].reshape(count, length, heads, -1).transpose(0, 2, 1, 3)
            at_once = max(1, _SCORES_AT_ONCE // (count * length * length))
            for h in range(0, heads, at_once):
                part = slice(h, h + at_once)
                scores = q[:, part] @ k[:, part].transpose(0, 1, 3, 2)
                # Bounded scores need no subtraction of the row's maximum; see the decision record.
                np.clip(scores, -_SCORE_BOUND, _SCORE_BOUND, out=scores)
                np.exp(scores, out=scores)
                weighted = scores @ v[:, part]
                weighted /= (scores @ np.ones(length, np.float32))[..., None]
                context[:, part] = weighted


def layer_norm(x: Floats, scale_shift: Floats, epsilon: float) -> None:
    """Layer norm of each row (Ba et al. 2016), in place."""
    x -= x.mean(-1, keepdims=True)
    spread = np.einsum("ij,ij->i", x, x)
    spread /= x.shape[1]
    spread += np.float32(epsilon)
    np.sqrt(spread, out=spread)
    np.reciprocal(spread, out=spread)
    x *= spread[:, None]
    x *= scale_shift[0]
    x += scale_shift[1]


def gelu(x: Floats, bias: Floats, shift: np.float32) -> None:
    """GELU in its tanh form (Hendrycks and Gimpel 2016) of x + bias, in place, in scaled coordinates.

    With a = cbrt(sqrt(2/pi) * 0.044715), x and bias come multiplied by a and the result is 2a * gelu(x + bias):
    the scale lies in the weights before and after, and `shift` is sqrt(2/pi) / a.
    """
    scratch = np.empty((min(_GELU_ROWS, len(x)), x.shape[1]), np.float32)
    for start in range(0, len(x), _GELU_ROWS):
        part = x[start : start + _GELU_ROWS]
        u = scratch[: len(part)]
        part += bias
        np.multiply(part, part, out=u)
        u += shift
        u *= part
        np.tanh(u, out=u)
        u += 1
        part *= u


def unit_rows(x: Floats) -> Floats:
    """Rows scaled to length 1, in place."""
    x /= np.sqrt(np.einsum("ij,ij->i", x, x))[:, None]
    return x


def _runs(lengths: Sequence[int], heads: int) -> Iterator[tuple[int, int, int]]:
    """(first row, sequences, length) of each run of equal lengths, split so that its scores stay in the cache."""
    row = at = 0
    while at < len(lengths):
        length = lengths[at]
        most = max(1, _SCORES_AT_ONCE // (heads * length * length))
        end = at
        while end < len(lengths) and lengths[end] == length and end - at < most:
            end += 1
        yield row, end - at, length
        row += (end - at) * length
        at = end
