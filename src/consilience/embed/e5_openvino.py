"""The encoder of multilingual-e5-small run by OpenVINO (extra [fast]): the same weights and arithmetic, in bfloat16
where the processor multiplies in it (AMX, AVX-512 BF16) and float32 elsewhere.

Vectors agree with the numpy encoder's to a cosine of 0.9999 or better, so both carry one tag. Worth its second of
start-up for bulk only. Measured in docs/decisions/0031-bulk-embedding-by-openvino.md.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import openvino  # type: ignore[import-not-found, import-untyped, unused-ignore]
from openvino import opset13 as op  # type: ignore[import-not-found, import-untyped, unused-ignore]

from consilience.embed.e5_encoder import Encoder, unit_rows
from consilience.embed.e5_source import GELU_SCALE, Floats, Model

BATCH_TOKENS = 1024
_MASKED = np.float32(-1e4)


class OpenVinoEncoder:
    """Sentence vectors from token ids. Threads may share one: each gets an inference request of its own."""

    def __init__(self, model: Model, *, threads: int) -> None:
        self._hidden = model.shape.hidden
        self._embed = Encoder(model).embed_tokens
        core = openvino.Core()
        settings = {
            "INFERENCE_PRECISION_HINT": precision(core),
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": threads,
        }
        self._compiled = core.compile_model(build_graph(model), "CPU", settings)
        self._requests = threading.local()

    def encode(self, sequences: Sequence[Sequence[int]]) -> Floats:
        """As `Encoder.encode`. Sequences are padded to one length, see `padded_batches`."""
        lengths = np.array([len(s) for s in sequences])
        width = padded(int(lengths.max()))
        real = np.arange(width) < lengths[:, None]
        x = np.zeros((len(sequences), width, self._hidden), np.float32)
        positions = np.broadcast_to(np.arange(width), real.shape)[real]
        x[real] = self._embed(np.concatenate([np.asarray(s) for s in sequences]), positions)
        mask = np.where(real, np.float32(0), _MASKED)[:, None, None, :]
        request = self._request()
        request.infer([x, mask], share_inputs=True)
        last = request.get_output_tensor(0).data
        return unit_rows(np.matmul(real[:, None, :].astype(np.float32), last)[:, 0])

    def _request(self) -> Any:
        if not hasattr(self._requests, "request"):
            self._requests.request = self._compiled.create_infer_request()
        return self._requests.request


def precision(core: Any) -> str:
    """`bf16` where the processor has instructions for it, else `f32`."""
    return "bf16" if "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES") else "f32"


def padded(length: int) -> int:
    """The length that a sequence is padded to: few different ones, for each new shape costs a compilation."""
    step = 4 if length <= 64 else 8 if length <= 160 else 16 if length <= 320 else 32
    return -(-length // step) * step


def padded_batches(sequences: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Indices of the sequences, longest first, as many a batch as fit BATCH_TOKENS at the padded length."""
    order = sorted(range(len(sequences)), key=lambda i: -len(sequences[i]))
    at = 0
    while at < len(order):
        count = max(1, BATCH_TOKENS // padded(len(sequences[order[at]])))
        yield order[at : at + count]
        at += count


def build_graph(model: Model) -> Any:
    """Parameters x (texts, tokens, hidden) and an additive mask (texts, 1, 1, tokens); result: the last layer."""
    shape = model.shape
    graph = _Graph(model)
    x = op.parameter([-1, -1, shape.hidden], np.float32, name="x")
    mask = op.parameter([-1, 1, 1, -1], np.float32, name="mask")
    h = x
    for i in range(shape.layers):
        h = graph.layer(h, mask, f"l{i}.")
    return openvino.Model([h], [x, mask], "multilingual-e5-small")


class _Graph:
    def __init__(self, model: Model) -> None:
        self._model = model

    def layer(self, x: Any, mask: Any, name: str) -> Any:
        context = self._attend(self._dense(x, name + "qkv"), mask)
        y = self._norm(op.add(self._dense(context, name + "ao"), x), name + "aln")
        # The weights around GELU carry its scale for numpy (e5_encoder.gelu); here it is taken out again.
        inner = op.gelu(self._dense(y, name + "fi", 1 / GELU_SCALE), "tanh")
        out = self._dense(inner, name + "fo", 2 * GELU_SCALE, bias_scale=1.0)
        return self._norm(op.add(out, y), name + "oln")

    def _dense(self, x: Any, name: str, scale: float = 1.0, bias_scale: float | None = None) -> Any:
        weights, bias = self._model.arrays[name], self._model.arrays[name + ".b"]
        bias = bias * np.float32(scale if bias_scale is None else bias_scale)
        return op.add(op.matmul(x, op.constant(weights * np.float32(scale)), False, False), op.constant(bias))

    def _attend(self, qkv: Any, mask: Any) -> Any:
        shape = self._model.shape
        split = op.reshape(qkv, _ints(0, 0, 3, shape.heads, shape.hidden // shape.heads), True)
        parts = op.split(op.transpose(split, _ints(2, 0, 3, 1, 4)), op.constant(np.int64(0)), 3).outputs()
        q, k, v = (op.squeeze(part, _ints(0)) for part in parts)
        # The scale lies in the query weights already.
        context = op.scaled_dot_product_attention(q, k, v, mask, op.constant(np.float32(1)))
        return op.reshape(op.transpose(context, _ints(0, 2, 1, 3)), _ints(0, 0, shape.hidden), True)

    def _norm(self, x: Any, name: str) -> Any:
        scale, shift = self._model.arrays[name]
        normed = op.mvn(x, _ints(-1), True, self._model.shape.epsilon, "inside_sqrt")
        return op.add(op.multiply(normed, op.constant(scale)), op.constant(shift))


def _ints(*values: int) -> Any:
    return op.constant(np.array(values, np.int64))
