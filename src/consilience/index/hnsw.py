"""A graph of neighbours over the first rows of an index of vectors: what it is on disk, and how it is searched.

Hierarchical navigable small worlds (Malkov and Yashunin, IEEE TPAMI 42, 2020) by usearch, over int8 codes of one
common scale and their inner products, which are whole numbers and the same on every machine. A search returns rows
that are worth an exact look, no scores. docs/decisions/0260.
"""

from __future__ import annotations

import contextlib
import importlib.util
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from consilience.index._files import read_json, unusable
from consilience.index.checksums import SUM_ROWS
from consilience.index.vector_files import Floats, Ints, Meta
from consilience.model import Value

if TYPE_CHECKING:
    from usearch.index import Index

FORMAT: Final = 1
DOCUMENT: Final = "hnsw.json"
LOCK: Final = "hnsw.lock"
INSTALL_LOCK: Final = "hnsw.install.lock"

SEGMENT: Final = 2 * SUM_ROWS
"""Rows are linked so many at a time, so that the graph follows from the rows and not from when it was made; the rows
after the last whole segment are looked at exactly."""

DEGREE: Final = 16
WIDTH_BUILD: Final = 128
AGAIN: Final = 480
"""Rows ranked again exactly, for up to 100 results; in proportion for more. As wide is the search."""

_READ: Final = 1 << 20


class HnswMeta(Value, frozen=True, kw_only=True):
    """The graph over the first `rows` rows of a generation of vectors, `bound` to their checksums. `scale`: code units
    per unit of length. `recall_10` and `recall_60`: the share of the exact best 10 and 60 of these rows that it
    returned when it was made, the lower of two: rows as questions, and `questions` about other things (0 where none
    were asked)."""

    format: int
    generation: int
    rows: int
    bound: int
    dims: int
    scale: float
    size: int
    file_sum: int
    questions: int = 0
    recall_10: float = 0.0
    recall_60: float = 0.0

    @property
    def file(self) -> str:
        return f"hnsw.{self.generation}.{self.rows}.usearch"

    def recall(self, limit: int) -> float:
        """For a question that wants `limit` matches."""
        return self.recall_10 if limit <= 10 else self.recall_60


def installed() -> bool:
    """Whether the library that makes and searches graphs is here."""
    return importlib.util.find_spec("usearch") is not None


def bound_to(meta: Meta, rows: int) -> int:
    """What ties a graph to its rows: a checksum of their checksums; `rows` is a multiple of SUM_ROWS."""
    held = np.array(meta.sums[: rows // SUM_ROWS], np.uint32)
    return zlib.crc32(held.tobytes(), rows)


def fits(held: HnswMeta, meta: Meta) -> bool:
    """Whether the graph is of the rows that `meta` counts."""
    return (
        held.format == FORMAT
        and held.generation == meta.generation
        and held.dims == meta.dims
        and 0 < held.rows <= meta.count
        and held.rows % SEGMENT == 0
        and len(meta.sums) * SUM_ROWS >= held.rows
        and held.bound == bound_to(meta, held.rows)
    )


def read(folder: Path) -> HnswMeta | None:
    """What is said of the graph in a folder, None where there is none. Raises IndexUnusableError."""
    return read_json(folder / DOCUMENT, HnswMeta)


def known(folder: Path, meta: Meta) -> HnswMeta | None:
    """The graph of these rows; None where there is none, or one of other rows. Raises IndexUnusableError."""
    held = read(folder)
    if held is None or not fits(held, meta):
        return None
    try:
        return held if (folder / held.file).stat().st_size == held.size else None
    except OSError:
        return None


def coded(vectors: Floats, scale: float) -> NDArray[np.int8]:
    """Vectors as the graph holds them; what is beyond the scale is cut."""
    codes: NDArray[np.int8] = np.clip(np.rint(vectors * np.float32(scale)), -127, 127).astype(np.int8)
    return codes


def graph_of(dims: int) -> Index:
    """An empty one."""
    from usearch.index import Index

    return Index(
        ndim=dims,
        metric="ip",
        dtype="i8",
        connectivity=DEGREE,
        expansion_add=WIDTH_BUILD,
        expansion_search=AGAIN,
        enable_key_lookups=False,
    )


def wanted(k: int) -> int:
    """How many rows are looked at again for k results."""
    return AGAIN * max(100, k) // 100


def checksum(path: Path) -> int:
    """CRC-32 of a file. Raises OSError."""
    found = 0
    with path.open("rb") as file:
        while part := file.read(_READ):
            found = zlib.crc32(part, found)
    return found


def is_whole(path: Path, meta: HnswMeta) -> bool:
    """Whether the file of a graph is what was written. Raises OSError."""
    return path.stat().st_size == meta.size and checksum(path) == meta.file_sum


@contextlib.contextmanager
def engine_errors(path: Path) -> Iterator[None]:
    """What the engine raises, as IndexUnusableError."""
    try:
        yield
    except (ImportError, RuntimeError, ValueError, AssertionError, MemoryError) as error:
        raise unusable(path, str(error) or type(error).__name__) from error


class Graph:
    """A graph mapped into memory, checked when it is opened: the engine follows what it reads. Threads may share it.

    Raises IndexUnusableError, also where usearch is not installed.
    """

    def __init__(self, folder: Path, meta: HnswMeta) -> None:
        path = folder / meta.file
        try:
            if not is_whole(path, meta):
                raise unusable(path, "its checksum does not hold")
            with engine_errors(path):
                self._index: Any = graph_of(meta.dims)
                self._index.view(str(path))
        except OSError as error:
            raise unusable(path, error.strerror or str(error)) from error
        if len(self._index) != meta.rows:
            raise unusable(path, f"{len(self._index):,} rows where {meta.rows:,} belong")
        self.meta = meta
        self._path = path
        self._lock = threading.Lock()

    def nearest(self, q: Floats, count: int) -> Ints:
        """About `count` of the rows covered that are near q, ascending. q: (dims,) float32, L2-normalised.

        Raises IndexUnusableError."""
        with (
            self._lock,
            engine_errors(self._path),
        ):  # one search at a time uses the engine's own scratch space
            self._index.expansion_search = count
            found = self._index.search(coded(q, self.meta.scale), min(count, self.meta.rows), threads=1)
        return np.sort(found.keys.astype(np.int64))
