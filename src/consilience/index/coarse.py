"""The coarse stage of a vector search: one bit per dimension, distances counted, the nearest ranked again exactly.

Vectors are centred and rotated by a fixed random rotation, so that the signs carry as much as they can (embeddings
crowd around one direction, and then most raw signs agree). Bits are packed into 64-bit words and stored a word at a
time for all rows (column-major), so that a scan is six passes over contiguous memory for 384 dimensions.
Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002. docs/decisions/0054.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from consilience.index.vector_files import CHUNK, CoarseMeta, Floats, Ints, Meta, Rows, map_file

BUILD_FROM: Final = 20_000
"""Rows below which an exact scan is as fast."""

GROWTH: Final = 8
"""The codes are made anew when there are more rows than they cover by one in so many."""

RERANK: Final = 1000
RERANK_SHARE: Final = 20
"""Ranked again: one row in so many, at least RERANK, for up to 100 results; in proportion for more."""

COARSE_SHARE: Final = 8
"""The coarse stage pays while more than one row in so many is eligible."""

_SEED: Final = 20_240_229
_SAMPLE: Final = 64

Words = NDArray[np.uint64]


def rotation(dims: int) -> Floats:
    """A fixed random rotation, (dims, dims) float32: the Q of a seeded Gaussian matrix."""
    q, r = np.linalg.qr(np.random.default_rng(_SEED).normal(size=(dims, dims)))
    return np.ascontiguousarray(q * np.sign(np.diag(r)), dtype=np.float32)


def pack(bits: NDArray[np.bool_]) -> Words:
    """(rows, dims) bits -> (words, rows) 64-bit words, the last one padded with zeros."""
    rows, dims = bits.shape
    words = -(-dims // 64)
    padded = np.zeros((rows, words * 8), np.uint8)
    packed = np.packbits(bits, axis=1, bitorder="little")
    padded[:, : packed.shape[1]] = packed
    return np.ascontiguousarray(padded.view(np.uint64).T)


def distances(words: Words, query: Words) -> NDArray[np.uint16]:
    """In how many bits each row differs from the query. words: (words, rows), query: (words,) -> (rows,)."""
    total = np.zeros(words.shape[1], np.uint16)
    for column, word in zip(words, query, strict=True):
        total += np.bitwise_count(column ^ word)
    return total


class Coarse:
    """The 1-bit codes of the first rows of an index, memory-mapped."""

    def __init__(self, folder: Path, meta: Meta) -> None:
        held = meta.coarse
        assert held is not None
        self.meta = held
        dims, width = meta.dims, -(-meta.dims // 64)
        name = folder / str(meta.coarse_file())
        floats = map_file(name, np.dtype(np.float32), ((dims + 1) * dims,))
        self._rotation = floats[: dims * dims].reshape(dims, dims)
        self._threshold = floats[dims * dims : (dims + 1) * dims]
        words = map_file(name, np.dtype(np.uint64), (len(floats) // 2 + width * held.rows,))
        self._words = words[len(floats) // 2 :].reshape(width, held.rows)

    def nearest(self, q: Floats, count: int, rows: Ints | None) -> Ints:
        """About `count` of the covered rows (of `rows`, ascending, if given), ascending: all up to some distance."""
        query = pack((np.vecdot(self._rotation, q) > self._threshold)[None, :])[:, 0]
        far = distances(self._words, query)
        if rows is not None:
            far = far[rows]
        if len(far) <= count:
            kept = np.arange(len(far))
        else:
            upto = np.searchsorted(np.cumsum(np.bincount(far)), count)
            kept = np.flatnonzero(far <= upto)
        return kept if rows is None else rows[kept]


def shortlist_size(rows: int, k: int) -> int:
    """How many of so many rows are ranked again for k results."""
    return max(RERANK, rows // RERANK_SHARE) * max(100, k) // 100


def coverage(count: int) -> int:
    """How many of so many rows have codes: a matter of their number alone, not of how they came (0261)."""
    covered = BUILD_FROM if count >= BUILD_FROM else 0
    while covered and (more := covered + covered // GROWTH) <= count:
        covered = more
    return covered


def is_due(meta: Meta) -> bool:
    """Whether the codes should be made (anew)."""
    return coverage(meta.count) > (meta.coarse.rows if meta.coarse is not None else 0)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Arithmetic in this thread only, where threadpoolctl is installed (docs/decisions/0053)."""
    try:
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
    except ImportError:
        yield
        return
    with threadpool_limits(1, user_api="blas"):
        yield


def build(rows: Rows) -> tuple[bytes, Words]:
    """(head of the file, words) for the rows that are to have codes: rotation and threshold as float32, then the
    words."""
    dims, count = rows.meta.dims, coverage(rows.meta.count)
    turn = rotation(dims)
    centre = np.zeros(dims, np.float64)
    for start in range(0, count, CHUNK):
        centre += rows.floats(slice(start, min(start + CHUNK, count))).sum(axis=0, dtype=np.float64)
    threshold = (turn @ (centre / max(count, 1))).astype(np.float32)
    words = np.empty((-(-dims // 64), count), np.uint64)
    with _one_thread():
        for start in range(0, count, CHUNK):
            part = slice(start, min(start + CHUNK, count))
            words[:, part] = pack(rows.floats(part) @ turn.T > threshold)
    head = np.zeros((dims + 1) * dims, np.float32)
    head[: dims * dims] = turn.ravel()
    head[dims * dims : (dims + 1) * dims] = threshold
    return head.tobytes(), words


def measured(rows: Rows, coarse: Coarse) -> CoarseMeta:
    """The recall of the two-stage scan against the exact one, with rows of the index as questions.

    Real questions lie further from the rows than rows from each other, so this is an upper bound.
    """
    count = coarse.meta.rows
    asked = np.linspace(0, count - 1, min(_SAMPLE, count)).astype(np.int64)
    qs = rows.floats(asked)
    scores = np.concatenate([products for _, products in rows.products(qs)], axis=1)[:, :count]
    scores[np.arange(len(asked)), asked] = -np.inf
    shares = {10: 0.0, 100: 0.0}
    for row, q, reached in zip(asked, qs, scores, strict=True):
        near = coarse.nearest(q, shortlist_size(count, 100) + 1, None)
        near = near[near != row]
        for k in shares:
            best = np.argpartition(-reached, k)[:k] if count > k else np.arange(count)
            shares[k] += float(np.isin(best, near).mean()) / len(asked)
    return CoarseMeta(
        generation=coarse.meta.generation,
        rows=count,
        recall_10=round(shares[10], 4),
        recall_100=round(shares[100], 4),
    )
