"""The files of one model's vectors: what a row is, what is committed, and rows mapped into memory.

Per row: int8 codes (dims bytes), a float32 scale, an int64 ordinal, a 16-byte hash of the embedded text. `meta.json`
counts the rows that are committed, holds their checksums and is replaced last; bytes beyond that count are a torn
tail and are ignored.
File names carry the generation that meta.json names, so that rows can be rewritten (`purge`) and swapped in at once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from consilience.index._files import read_json, unusable
from consilience.index.checksums import COLUMNS, Sums, continued
from consilience.model import Value

FORMAT: Final = 1
HASH_SIZE: Final = 16
CHUNK: Final = 512
"""Rows that are turned into floats at a time: they fit the second-level cache."""

S = TypeVar("S", bound=np.generic)
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


class CoarseMeta(Value, frozen=True, kw_only=True):
    """The 1-bit codes of the first `rows` rows. `recall_10` and `recall_100` were measured when they were made,
    with rows as questions (an upper bound): the share of the exact best 10 and 100 that the two-stage scan returned."""

    generation: int
    rows: int
    recall_10: float
    recall_100: float
    crc32: int | None = None


class Meta(Value, frozen=True, kw_only=True):
    format: int
    tag: str
    dims: int
    count: int = 0
    watermark: int = 0
    ascending: bool = True
    generation: int = 0
    coarse: CoarseMeta | None = None
    sums: Sums = ()

    def files(self) -> dict[str, tuple[str, int]]:
        """Name on disk and bytes per row of each column."""
        g = self.generation
        return {
            "codes": (f"codes.{g}.i8", self.dims),
            "scales": (f"scales.{g}.f32", 4),
            "ns": (f"ns.{g}.i64", 8),
            "hashes": (f"hashes.{g}.b16", HASH_SIZE),
        }

    def coarse_file(self) -> str | None:
        return f"coarse.{self.coarse.generation}.bits" if self.coarse is not None else None


def text_hash(text: str) -> bytes:
    """The key under which a text's vector is found again: the first 16 bytes of its SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:HASH_SIZE]


def slug(tag: str) -> str:
    """The folder of a tag: readable, and never that of another tag."""
    readable = re.sub(r"[^a-z0-9]+", "-", tag.lower()).strip("-")[:40]
    return f"{readable}-{hashlib.sha256(tag.encode()).hexdigest()[:12]}"


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


def read_meta(folder: Path, tag: str) -> Meta | None:
    """What is committed in `folder`, None where nothing ever was. Raises IndexUnusableError."""
    meta = read_json(folder / "meta.json", Meta)
    if meta is None:
        if any(folder.glob("codes.*")):
            raise unusable(folder, "meta.json is missing")
        return None
    if meta.format != FORMAT:
        raise unusable(folder, f"format {meta.format}, this version reads {FORMAT}")
    if meta.tag != tag:
        raise unusable(folder, f"it belongs to the model {meta.tag!r}, not to {tag!r}")
    if meta.dims < 1 or meta.count < 0 or (meta.coarse is not None and meta.coarse.rows > meta.count):
        raise unusable(folder, "meta.json contradicts itself")
    return meta


def map_file(path: Path, dtype: np.dtype[S], shape: tuple[int, ...]) -> NDArray[S]:
    """The first elements of a file, read only. Raises FileNotFoundError, IndexUnusableError where it is too short."""
    wanted = int(np.prod(shape)) * dtype.itemsize
    if not wanted:
        return np.empty(shape, dtype)
    size = path.stat().st_size
    if size < wanted:
        raise unusable(path, f"{size} bytes where {wanted} belong")
    try:
        return np.memmap(path, dtype, "r", shape=shape).view(np.ndarray)
    except (OSError, ValueError) as error:
        raise unusable(path, str(error)) from error


class Rows:
    """The committed rows of one folder, memory-mapped. Raises FileNotFoundError, IndexUnusableError."""

    def __init__(self, folder: Path, meta: Meta) -> None:
        self.meta = meta
        names = meta.files()
        count = meta.count
        self.codes = map_file(folder / names["codes"][0], np.dtype(np.int8), (count, meta.dims))
        self.scales = map_file(folder / names["scales"][0], np.dtype(np.float32), (count,))
        self.ns = map_file(folder / names["ns"][0], np.dtype(np.int64), (count,))
        self.hashes = map_file(folder / names["hashes"][0], np.dtype(f"V{HASH_SIZE}"), (count,))
        self._order: tuple[Ints, Ints] | None = None
        self.centre: NDArray[np.float64] | None = None

    def current(self) -> tuple[Ints, Ints]:
        """(ordinals ascending, their rows), the last row of an ordinal only."""
        if self._order is None:
            if self.meta.ascending:
                self._order = (self.ns, np.arange(self.meta.count, dtype=np.int64))
            else:
                unique, first = np.unique(self.ns[::-1], return_index=True)
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

    def products(self, qs: Floats, rows: Ints | None = None) -> Iterator[tuple[slice, Floats]]:
        """Products of rows with each query, (queries, rows of the chunk), a chunk of rows at a time.

        qs: (queries, dims) float32. By `vecdot`, which stays in this thread: a threaded BLAS gains little on a chunk
        and collapses where other threads or processes want the cores (docs/decisions/0053).
        """
        total = self.meta.count if rows is None else len(rows)
        floats = np.empty((min(CHUNK, total), self.meta.dims), np.float32)
        for start in range(0, total, CHUNK):
            part = slice(start, min(start + CHUNK, total))
            chunk = floats[: part.stop - start]
            np.copyto(chunk, self.codes[part] if rows is None else self.codes[rows[part]])
            scales = self.scales[part] if rows is None else self.scales[rows[part]]
            with np.errstate(over="ignore", invalid="ignore"):  # damaged scales; what they find is verified
                products = np.stack([np.vecdot(chunk, q) for q in qs]) * scales
            yield part, products

    def floats(self, rows: Ints | slice) -> Floats:
        """Rows as float32 vectors, (rows, dims)."""
        return self.codes[rows].astype(np.float32) * self.scales[rows][:, None]


def open_rows(folder: Path, tag: str) -> Rows | None:
    """The committed rows, also while a writer swaps generations. Raises IndexUnusableError."""
    for _ in range(3):
        meta = read_meta(folder, tag)
        if meta is None:
            return None
        try:
            return Rows(folder, meta)
        except FileNotFoundError as error:
            missing = Path(error.filename or folder)
        except OSError as error:
            raise unusable(folder, error.strerror or str(error)) from error
    raise unusable(missing, "it is missing")


def damaged_blocks(rows: Rows) -> list[int]:
    """The numbers of the blocks of rows (SUM_ROWS each) whose checksums do not hold, or that have none."""
    widths = {column: width for column, (_, width) in rows.meta.files().items()}
    found = continued((), 0, {column: column_bytes(rows, column) for column in COLUMNS}, widths)
    said = rows.meta.sums
    return [i for i, block in enumerate(found) if i >= len(said) or said[i] != block]


def column_bytes(rows: Rows, column: str) -> memoryview:
    """The committed bytes of one column."""
    values = getattr(rows, column)
    return memoryview(values.reshape(-1).view(np.uint8)) if values.size else memoryview(b"")


def hashes_of(rows: Rows, ns: Sequence[int]) -> dict[int, bytes]:
    """The hash of the text behind each of these ordinals that has a row."""
    found, at = rows.rows_of(np.array(ns, np.int64))
    held = [n for n, here in zip(ns, found, strict=True) if here]
    return {n: rows.hashes[row].tobytes() for n, row in zip(held, at, strict=True)}
