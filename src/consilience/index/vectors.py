"""Embedding vectors as flat memory-mapped files, one folder per model tag, keyed by the store's ordinal.

Per row: int8 codes (dims bytes), a float32 scale, an int64 ordinal, a 16-byte hash of the embedded text.
`meta.json` counts the rows that are committed and is replaced last; bytes beyond that count are a torn
tail and are ignored. Where an ordinal stands in several rows the last one wins. Vectors of two tags never
meet: a tag is a folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from consilience.errors import IndexUnusableError, ValidationError
from consilience.index._files import WriterLock, read_json, remove_tree, replace_json, storage_error, unusable
from consilience.model import Hit, Hits, Value

FORMAT: Final = 1
HASH_SIZE: Final = 16
_CHUNK: Final = 2048
_DECIMALS: Final = 5

S = TypeVar("S", bound=np.generic)
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


class _Meta(Value, frozen=True, kw_only=True):
    format: int
    tag: str
    dims: int
    count: int = 0
    watermark: int = 0
    ascending: bool = True


def text_hash(text: str) -> bytes:
    """The key under which a text's vector is found again: the first 16 bytes of its SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:HASH_SIZE]


def _slug(tag: str) -> str:
    readable = re.sub(r"[^a-z0-9]+", "-", tag.lower()).strip("-")[:40]
    return f"{readable}-{hashlib.sha256(tag.encode()).hexdigest()[:12]}"


def _widths(dims: int) -> dict[str, int]:
    """Bytes per row of each file."""
    return {"codes.i8": dims, "scales.f32": 4, "ns.i64": 8, "hashes.b16": HASH_SIZE}


def quantise(vectors: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Symmetric int8 codes and a scale per row, such that codes * scale has the length of the row.

    vectors: (rows, dims) float32. Keeping the length takes the bias out of cosines; a zero row stays zero.
    """
    peak = np.abs(vectors).max(axis=1, initial=0.0)
    step = np.where(peak > 0, peak / np.float32(127.0), np.float32(1.0)).astype(np.float32)
    codes = np.rint(vectors / step[:, None]).astype(np.int8)
    lengths = np.sqrt(np.einsum("ij,ij->i", codes, codes, dtype=np.float64))
    wanted = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return codes, (wanted / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


def _read_meta(folder: Path, tag: str) -> _Meta | None:
    meta = read_json(folder / "meta.json", _Meta)
    if meta is None:
        return None
    if meta.format != FORMAT:
        raise unusable(folder, f"format {meta.format}, this version reads {FORMAT}")
    if meta.tag != tag or meta.dims < 1 or meta.count < 0:
        raise unusable(folder, f"it belongs to the model {meta.tag!r}, not to {tag!r}")
    for name, width in _widths(meta.dims).items():
        try:
            size = (folder / name).stat().st_size
        except OSError:
            size = -1
        if size < meta.count * width:
            raise unusable(
                folder / name, f"{max(size, 0)} bytes where {meta.count} rows take {meta.count * width}"
            )
    return meta


class _Rows:
    """The committed rows of one folder, memory-mapped."""

    def __init__(self, folder: Path, meta: _Meta) -> None:
        self.meta = meta
        self.codes: NDArray[np.int8] = self._map(
            folder / "codes.i8", np.dtype(np.int8), (meta.count, meta.dims)
        )
        self.scales: Floats = self._map(folder / "scales.f32", np.dtype("<f4"), (meta.count,))
        self.ns: Ints = self._map(folder / "ns.i64", np.dtype("<i8"), (meta.count,))
        self._order: tuple[Ints, Ints] | None = None

    @staticmethod
    def _map(path: Path, dtype: np.dtype[S], shape: tuple[int, ...]) -> NDArray[S]:
        if not shape[0]:
            return np.empty(shape, dtype)
        try:
            return np.memmap(path, dtype, "r", shape=shape).view(np.ndarray)
        except (OSError, ValueError) as error:
            raise unusable(path, str(error)) from error

    def current(self) -> tuple[Ints, Ints]:
        """(ordinals ascending, their rows), the last row of an ordinal only."""
        if self._order is None:
            if self.meta.ascending:
                self._order = (self.ns, np.arange(self.meta.count, dtype=np.int64))
            else:
                backwards = self.ns[::-1]
                unique, first = np.unique(backwards, return_index=True)
                self._order = (unique, self.meta.count - 1 - first)
        return self._order

    def rows_of(self, ns: Ints) -> tuple[NDArray[np.bool_], Ints]:
        """(which of `ns` are here, the rows of those that are)."""
        ordinals, rows = self.current()
        if not len(ordinals):
            return np.zeros(len(ns), np.bool_), np.empty(0, np.int64)
        at = np.minimum(np.searchsorted(ordinals, ns), len(ordinals) - 1)
        found = ordinals[at] == ns
        return found, rows[at[found]]

    def dot(self, qs: Floats, rows: Ints | None = None) -> Iterator[tuple[slice, Floats]]:
        """Products of the (dims, queries) matrix `qs` with rows, a chunk at a time."""
        total = self.meta.count if rows is None else len(rows)
        for start in range(0, total, _CHUNK):
            part = slice(start, min(start + _CHUNK, total))
            codes = self.codes[part] if rows is None else self.codes[rows[part]]
            scales = self.scales[part] if rows is None else self.scales[rows[part]]
            yield part, (codes.astype(np.float32) @ qs) * scales[:, None]


class VectorIndex:
    """A reader. Thread-safe; sees the state of its opening until `refresh`."""

    def __init__(self, folder: Path, rows: _Rows) -> None:
        self._folder = folder
        self._rows = rows
        self._lock = threading.Lock()

    @classmethod
    def open(cls, directory: Path, tag: str) -> VectorIndex | None:
        """The vectors of the model `tag` under `directory`, None where there are none. Raises
        IndexUnusableError."""
        folder = directory / _slug(tag)
        meta = _read_meta(folder, tag)
        return None if meta is None else cls(folder, _Rows(folder, meta))

    @classmethod
    def open_for_write(cls, directory: Path, tag: str, dims: int) -> VectorWriter:
        """The one writer of this tag. One that cannot be used, or of another width, is removed first.
        Raises BusyError."""
        return VectorWriter(directory / _slug(tag), tag, dims)

    @staticmethod
    def tags(directory: Path) -> tuple[str, ...]:
        """The tags that have vectors under `directory`, sorted; damaged ones left out."""
        found = []
        for path in sorted(directory.glob("*/meta.json")):
            try:
                meta = read_json(path, _Meta)
            except IndexUnusableError:
                continue
            if meta is not None:
                found.append(meta.tag)
        return tuple(sorted(found))

    def refresh(self) -> bool:
        """See what was committed since; True where that is something. Raises IndexUnusableError."""
        with self._lock:
            meta = _read_meta(self._folder, self.tag)
            if meta is None:
                raise unusable(self._folder, "it was removed")
            if meta == self._rows.meta:
                return False
            self._rows = _Rows(self._folder, meta)
            return True

    @property
    def tag(self) -> str:
        return self._rows.meta.tag

    @property
    def dims(self) -> int:
        return self._rows.meta.dims

    @property
    def count(self) -> int:
        """Rows, replaced ones included."""
        return self._rows.meta.count

    @property
    def watermark(self) -> int:
        return self._rows.meta.watermark

    def _query(self, q: Floats) -> Floats:
        vector = np.ascontiguousarray(q, dtype=np.float32)
        if vector.shape[-1] != self.dims:
            raise ValidationError(
                f"a vector of {vector.shape[-1]} dimensions, the index {self.tag!r} has {self.dims}"
            )
        return vector

    def search(self, q: Floats, k: int, *, eligible: Sequence[int] | Ints | None = None) -> Hits:
        """The best k rows by cosine (exact over the int8 codes), ties by ordinal. q: (dims,) float32,
        L2-normalised.

        `eligible`: ascending ordinals to look at, None for all.
        """
        rows = self._rows
        vector = self._query(q).reshape(-1, 1)
        chosen: Ints | None
        if eligible is not None:
            chosen = rows.rows_of(np.asarray(eligible, dtype=np.int64))[1]
        else:
            chosen = None if rows.meta.ascending else rows.current()[1]
        total = rows.meta.count if chosen is None else len(chosen)
        scores = np.empty(total, np.float32)
        for part, products in rows.dot(vector, chosen):
            scores[part] = products[:, 0]
        ns = rows.ns if chosen is None else rows.ns[chosen]
        return _best(ns, scores, k)

    def scores(self, q: Floats, ns: Sequence[int] | Ints) -> Floats:
        """Cosines of `q` with the given ordinals, in their order; NaN where one has no vector."""
        rows = self._rows
        wanted = np.asarray(ns, dtype=np.int64)
        result = np.full(len(wanted), np.nan, np.float32)
        found, chosen = rows.rows_of(wanted)
        values = np.empty(len(chosen), np.float32)
        for part, products in rows.dot(self._query(q).reshape(-1, 1), chosen):
            values[part] = products[:, 0]
        result[found] = np.round(values, _DECIMALS)
        return result

    def best(self, qs: Floats) -> Floats:
        """The largest cosine that each query reaches here, (queries,) float32; -1 in an empty index. qs:
        (queries, dims)."""
        queries = self._query(qs)
        result = np.full(len(queries), -1.0, np.float32)
        rows = self._rows
        chosen = None if rows.meta.ascending else rows.current()[1]
        for _, products in rows.dot(np.ascontiguousarray(queries.T), chosen):
            np.maximum(result, products.max(axis=0), out=result)
        return np.round(result, _DECIMALS)


def _best(ns: Ints, scores: Floats, k: int) -> Hits:
    """The k best of all scores, rounded (the last bits depend on how the product was cut into chunks),
    ties by ordinal."""
    total = len(scores)
    if k < 1 or not total:
        return Hits(hits=(), exhausted=not total)
    keep = np.arange(total)
    if total > k:
        least = np.partition(scores, total - k)[total - k]
        keep = np.flatnonzero(scores >= least - 2 * 10**-_DECIMALS)
    values = np.round(scores[keep].astype(np.float64), _DECIMALS)
    order = np.lexsort((ns[keep], -values))[:k]
    hits = tuple(Hit(int(n), float(v)) for n, v in zip(ns[keep][order], values[order], strict=True))
    return Hits(hits=hits, exhausted=total <= k)


class VectorWriter:
    """Appends vectors and commits them. One at a time per tag (a lock file); a context manager."""

    def __init__(self, folder: Path, tag: str, dims: int) -> None:
        if dims < 1:
            raise ValidationError(f"an embedding of {dims} dimensions")
        self._folder = folder
        self._lock = WriterLock(folder / "writer.lock")
        try:
            self._meta = self._open(tag, dims)
        except BaseException:
            self._lock.release()
            raise
        self._known: dict[bytes, int] | None = None
        self._pending: list[tuple[Ints, bytes, NDArray[np.int8], Floats]] = []

    def _open(self, tag: str, dims: int) -> _Meta:
        try:
            meta = _read_meta(self._folder, tag)
        except IndexUnusableError:
            meta = None
        if meta is not None and meta.dims == dims:
            return meta
        for name in ("meta.json", *_widths(dims)):
            remove_tree(self._folder / name)
        try:
            for name in _widths(dims):
                (self._folder / name).touch()
        except OSError as error:
            raise storage_error(self._folder, error) from error
        meta = _Meta(format=FORMAT, tag=tag, dims=dims)
        replace_json(self._folder / "meta.json", meta)
        return meta

    @property
    def watermark(self) -> int:
        return self._meta.watermark

    @property
    def count(self) -> int:
        return self._meta.count

    def reuse(self, hashes: Sequence[bytes]) -> tuple[NDArray[np.bool_], Floats]:
        """(which texts have a committed vector, the vectors as (len, dims) float32, zero where unknown)."""
        meta = self._meta
        rows = _Rows(self._folder, meta)
        if self._known is None:
            data = (self._folder / "hashes.b16").read_bytes()[: meta.count * HASH_SIZE]
            self._known = {data[i * HASH_SIZE : (i + 1) * HASH_SIZE]: i for i in range(meta.count)}
        at = [self._known.get(h, -1) for h in hashes]
        mask = np.array([row >= 0 for row in at], np.bool_)
        vectors = np.zeros((len(at), meta.dims), np.float32)
        chosen = np.array([row for row in at if row >= 0], np.int64)
        vectors[mask] = rows.codes[chosen].astype(np.float32) * rows.scales[chosen][:, None]
        return mask, vectors

    def append(self, ns: Sequence[int] | Ints, hashes: Sequence[bytes], vectors: Floats) -> None:
        """Add rows; nothing is visible before `commit`. vectors: (len(ns), dims) float32, rows
        L2-normalised."""
        ordinals = np.asarray(ns, dtype=np.int64)
        matrix = np.asarray(vectors, dtype=np.float32)
        wanted = (len(ordinals), self._meta.dims)
        if matrix.shape != wanted or len(hashes) != len(ordinals):
            raise ValidationError(
                f"vectors of shape {matrix.shape} and {len(hashes)} hashes where {wanted} belongs"
            )
        if not np.isfinite(matrix).all():
            raise ValidationError(
                "a vector holds a value that is not finite", hint="the embedding provider is at fault"
            )
        if any(len(h) != HASH_SIZE for h in hashes):
            raise ValidationError(f"a text hash is not {HASH_SIZE} bytes")
        if len(ordinals):
            self._pending.append((ordinals, b"".join(hashes), *quantise(matrix)))

    def commit(self, watermark: int) -> None:
        """Make what was appended durable and visible; `watermark` is the largest ordinal covered. Raises
        StorageError."""
        meta = self._meta
        ns = np.concatenate([p[0] for p in self._pending]) if self._pending else np.empty(0, np.int64)
        if len(ns):
            self._write("ns.i64", ns.astype("<i8").tobytes(), 8)
            self._write("hashes.b16", b"".join(p[1] for p in self._pending), HASH_SIZE)
            self._write("codes.i8", b"".join(p[2].tobytes() for p in self._pending), meta.dims)
            self._write("scales.f32", b"".join(p[3].astype("<f4").tobytes() for p in self._pending), 4)
        new = _Meta(
            format=FORMAT,
            tag=meta.tag,
            dims=meta.dims,
            count=meta.count + len(ns),
            watermark=max(watermark, meta.watermark),
            ascending=meta.ascending and self._ascends(ns),
        )
        if new != meta:
            replace_json(self._folder / "meta.json", new)
        self._meta = new
        self._pending = []
        if len(ns):
            self._known = None

    def _ascends(self, ns: Ints) -> bool:
        if not len(ns):
            return True
        rows = _Rows(self._folder, self._meta)
        last = int(rows.ns[-1]) if self._meta.count else -1
        return bool(ns[0] > last and (np.diff(ns) > 0).all())

    def _write(self, name: str, data: bytes, width: int) -> None:
        """Put `data` behind the committed rows, over whatever torn tail there is."""
        path = self._folder / name
        try:
            with path.open("r+b") as file:
                file.truncate(self._meta.count * width)
                file.seek(0, os.SEEK_END)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise storage_error(path, error) from error

    def close(self) -> None:
        """End writing; what was not committed is dropped."""
        self._pending = []
        self._lock.release()

    def __enter__(self) -> VectorWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
