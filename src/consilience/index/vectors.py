"""Embedding vectors as readers see them: flat memory-mapped files, one folder per model tag, keyed by ordinal.

Where an ordinal stands in several rows the last one wins. Vectors of two tags never meet: a tag is a folder.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from consilience.errors import IndexUnusableError, ValidationError
from consilience.index import hnsw, hnsw_build
from consilience.index._files import read_json, unusable
from consilience.index.coarse import COARSE_SHARE, Coarse, shortlist_size
from consilience.index.hnsw import Graph, HnswMeta
from consilience.index.scan import Scan
from consilience.index.vector_files import (
    CoarseMeta,
    Floats,
    Ints,
    Meta,
    Rows,
    open_rows,
    quantise,
    slug,
    text_hash,
)
from consilience.model import Hit, Hits

if TYPE_CHECKING:
    from consilience.index.vector_writer import VectorWriter

__all__ = ["VectorIndex", "quantise", "text_hash"]

_Values = TypeVar("_Values", bound=np.ndarray[Any, Any])

_DECIMALS: Final = 5


class VectorIndex:
    """A reader. Thread-safe; sees the state of its opening until `refresh`."""

    def __init__(self, folder: Path, rows: Rows) -> None:
        self._folder = folder
        self._rows = rows
        self._coarse = self._open_coarse(rows)
        self._lock = threading.Lock()
        self._graph: Graph | None = None
        self._graph_known, self._graph_stamp = self._know_graph(rows), self._stamp()
        self._graph_problem = ""

    @classmethod
    def open(cls, directory: Path, tag: str) -> VectorIndex | None:
        """The vectors of the model `tag` under `directory`, None where there are none. Raises IndexUnusableError."""
        folder = directory / slug(tag)
        rows = open_rows(folder, tag)
        return None if rows is None else cls(folder, rows)

    @classmethod
    def open_for_write(cls, directory: Path, tag: str, dims: int) -> VectorWriter:
        """The one writer of this tag. One that cannot be used, or of another width, is removed first.

        Raises BusyError, StorageError.
        """
        from consilience.index.vector_writer import VectorWriter

        return VectorWriter(directory / slug(tag), tag, dims)

    @staticmethod
    def tags(directory: Path) -> tuple[str, ...]:
        """The tags that have vectors under `directory`, sorted; damaged ones left out."""
        found = []
        for path in directory.glob("*/meta.json"):
            try:
                meta = read_json(path, Meta)
            except IndexUnusableError:
                continue
            if meta is not None:
                found.append(meta.tag)
        return tuple(sorted(found))

    def _open_coarse(self, rows: Rows) -> Coarse | None:
        """The 1-bit codes; a damaged file of them costs the shortcut only."""
        if rows.meta.coarse is None:
            return None
        try:
            return Coarse(self._folder, rows.meta)
        except (IndexUnusableError, OSError):
            return None

    def _stamp(self) -> tuple[int, int, int] | None:
        """What tells one document of a graph from the next without reading it."""
        try:
            found = (self._folder / hnsw.DOCUMENT).stat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    def _know_graph(self, rows: Rows) -> HnswMeta | None:
        """The graph of neighbours that there is; what is wrong with it costs the shortcut only."""
        try:
            return hnsw.known(self._folder, rows.meta)
        except IndexUnusableError:
            return None

    def _opened_graph(self) -> Graph | None:
        """The graph, read the first time that it is wanted; None where it cannot be used, and `graph_problem` why."""
        with self._lock:
            known = self._graph_known
            if known is None or self._graph_problem:
                return None
            if self._graph is None or self._graph.meta != known:
                try:
                    self._graph = Graph(self._folder, known)
                except IndexUnusableError as error:
                    self._graph, self._graph_problem = None, error.message
            return self._graph

    def refresh(self) -> bool:
        """See what was committed since; True where that is something. Raises IndexUnusableError."""
        with self._lock:
            held, known, stamp = self._rows.meta, self._graph_known, self._stamp()
            if read_json(self._folder / "meta.json", Meta) != held:
                rows = open_rows(self._folder, held.tag)
                if rows is None:
                    raise unusable(self._folder, "it was removed")
                self._rows, self._coarse = rows, self._open_coarse(rows)
            elif stamp == self._graph_stamp:
                return False
            self._graph_known, self._graph_stamp = self._know_graph(self._rows), stamp
            if self._graph_known != known:
                self._graph, self._graph_problem = None, ""
            return self._rows.meta != held or self._graph_known != known

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

    @property
    def ordinals(self) -> Ints:
        """The ordinals that have a vector, ascending."""
        return self._rows.current()[0]

    @property
    def coarse(self) -> CoarseMeta | None:
        """What is known of the two-stage scan, None where there is none (few rows)."""
        held = self._coarse
        return held.meta if held is not None else None

    @property
    def hnsw(self) -> HnswMeta | None:
        """What is known of the graph of neighbours, None where there is none, or no library to search it."""
        return self._graph_known if self._graph_known is not None and hnsw.installed() else None

    @property
    def hnsw_lacks_library(self) -> bool:
        """Whether there is a graph of neighbours that cannot be searched, since usearch is not installed."""
        return self._graph_known is not None and not hnsw.installed()

    @property
    def graph_problem(self) -> str:
        """Why the graph that is here cannot be used, once that was tried: searches are exact then; "" for nothing."""
        return self._graph_problem

    def _question(self, q: Floats) -> Floats:
        vector = np.ascontiguousarray(q, dtype=np.float32)
        if vector.shape[-1] != self.dims:
            raise ValidationError(
                f"a vector of {vector.shape[-1]} dimensions, the index {self.tag!r} has {self.dims}"
            )
        return vector

    def search(
        self,
        q: Floats,
        k: int,
        *,
        eligible: Sequence[int] | Ints | None = None,
        scan: Scan = Scan.EXACT,
    ) -> Hits:
        """The best k rows by cosine over the int8 codes, ties by ordinal. q: (dims,) float32, L2-normalised.

        `eligible`: ascending ordinals to look at, None for all. An approximate `scan` looks for the nearest first and
        ranks those again; exact all the same where there is none or few rows are eligible.
        """
        rows, coarse = self._rows, self._coarse
        vector = self._question(q).reshape(-1)
        chosen: Ints | None = None
        if eligible is not None:
            chosen = rows.rows_of(np.asarray(eligible, dtype=np.int64))[1]
        elif not rows.meta.ascending:
            chosen = rows.current()[1]
        total = rows.meta.count if chosen is None else len(chosen)
        if scan is Scan.TWO_STAGE and coarse is not None and total * COARSE_SHARE > rows.meta.count:
            chosen = _shortlist(rows, coarse, vector, k, chosen)
        elif scan is Scan.HNSW and eligible is None:
            graph = self._opened_graph()
            if graph is not None and hnsw.fits(graph.meta, rows.meta):  # rows are those of the beginning
                try:
                    chosen = _neighbours(rows, graph, vector, k, chosen)
                except IndexUnusableError as error:
                    self._graph_problem = error.message
        hits = _exact(rows, vector, k, chosen)
        return Hits(hits=hits, exhausted=total <= k)

    def recall(self, qs: Floats, k: int = 10) -> float:
        """The share of the exact best k of the rows with 1-bit codes that the two-stage scan returns, over these
        questions; 1 where there are none.

        qs: (queries, dims) float32. Real questions give the honest figure; the one in `coarse` was measured with
        rows of the index as questions, which is easier.
        """
        rows, coarse = self._rows, self._coarse
        if coarse is None or not len(qs):
            return 1.0
        covered, shares = coarse.meta.rows, []
        for q in qs:
            scores = _scores(rows, q, None)[:covered]
            best = np.argpartition(-scores, k)[:k] if covered > k else np.arange(covered)
            near = coarse.nearest(q, shortlist_size(covered, k), None)
            shares.append(float(np.isin(best, near).mean()))
        return float(np.mean(shares))

    def unlinked(self) -> int:
        """How many rows a graph of neighbours would have more than the one that is here."""
        known = self._graph_known
        upto = hnsw_build.due(self._rows.meta, known)
        return upto - (known.rows if known is not None else 0) if upto else 0

    def link(self, questions: Floats | None, advance: Callable[[int], None]) -> HnswMeta | None:
        """Make the graph of neighbours or go on with it, beside readers and the writer: `hnsw_build.build`."""
        return hnsw_build.build(self._folder, self.tag, questions, advance)

    def scores(self, q: Floats, ns: Sequence[int] | Ints) -> Floats:
        """Cosines of `q` with the given ordinals, in their order; NaN where one has no vector."""
        rows = self._rows
        wanted = np.asarray(ns, dtype=np.int64)
        result = np.full(len(wanted), np.nan, np.float32)
        found, chosen = rows.rows_of(wanted)
        result[found] = _rounded(_scores(rows, self._question(q).reshape(-1), chosen))
        return result

    def centred(self, ns: Sequence[int] | Ints) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """(which of the ordinals have a vector, the vectors of those without the mean): `centred.centred`."""
        from consilience.index.centred import centred

        return centred(self._rows, ns)

    def vectors(self, ns: Sequence[int] | Ints) -> Floats:
        """The vectors of ordinals that have one, in their order, as far as 8 bits keep them: (ordinals, dims) float32,
        L2-normalised. Raises ValidationError."""
        wanted = np.asarray(ns, dtype=np.int64)
        found, chosen = self._rows.rows_of(wanted)
        if not found.all():
            raise ValidationError(f"block {int(wanted[~found][0])} has no vector of the model {self.tag!r}")
        rows = self._rows.floats(chosen)
        with np.errstate(over="ignore", invalid="ignore"):  # rows of a damaged file
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
            return np.asarray(rows / np.maximum(lengths, np.finfo(np.float32).tiny), np.float32)

    def scan(self, q: Floats) -> tuple[Ints, Floats]:
        """Every ordinal that has a vector, ascending, and its cosine with `q` in float64, rounded as in `search`."""
        rows = self._rows
        ns, chosen = rows.current()
        scores = _scores(rows, self._question(q).reshape(-1), None if rows.meta.ascending else chosen)
        return ns, _rounded(scores.astype(np.float64))

    def best(self, qs: Floats) -> Floats:
        """The largest cosine that each query reaches here, (queries,) float32; -1 in an empty index.

        qs: (queries, dims) float32, rows L2-normalised.
        """
        queries = self._question(qs)
        result = np.full(len(queries), -1.0, np.float32)
        rows = self._rows
        chosen = None if rows.meta.ascending else rows.current()[1]
        for _, products in rows.products(queries, chosen):
            np.maximum(result, products.max(axis=1), out=result)
        return _rounded(result)


def _rounded(values: _Values) -> _Values:
    """To the decimals that are compared; values of damaged rows may be beyond rounding and stay as they are."""
    with np.errstate(over="ignore", invalid="ignore"):
        return cast(_Values, np.round(values, _DECIMALS))


def _scores(rows: Rows, q: Floats, chosen: Ints | None) -> Floats:
    scores = np.empty(rows.meta.count if chosen is None else len(chosen), np.float32)
    for part, products in rows.products(q[None, :], chosen):
        scores[part] = products[0]
    return scores


def _shortlist(rows: Rows, coarse: Coarse, q: Floats, k: int, chosen: Ints | None) -> Ints:
    """Rows worth an exact look: the nearest by 1-bit codes, and all that those do not cover."""
    covered = coarse.meta.rows
    if chosen is None:
        near = coarse.nearest(q, shortlist_size(covered, k), None)
        return np.concatenate([near, np.arange(covered, rows.meta.count, dtype=np.int64)])
    ordered = np.sort(chosen)
    split = int(np.searchsorted(ordered, covered))
    near = coarse.nearest(q, shortlist_size(split, k), ordered[:split])
    return np.concatenate([near, ordered[split:]])


def _neighbours(rows: Rows, graph: Graph, q: Floats, k: int, chosen: Ints | None) -> Ints:
    """Rows worth an exact look: the nearest along the graph, and all that it does not cover."""
    near = graph.nearest(q, hnsw.wanted(k))
    late = np.arange(graph.meta.rows, rows.meta.count, dtype=np.int64)
    found = np.concatenate([near, late])
    return found if chosen is None else found[np.isin(found, chosen)]


def _exact(rows: Rows, q: Floats, k: int, chosen: Ints | None) -> tuple[Hit, ...]:
    """The k best of the chosen rows. Scores are rounded (their last bits depend on how the product was cut)."""
    scores = _scores(rows, q, chosen)
    total = len(scores)
    if k < 1 or not total:
        return ()
    keep = np.arange(total)
    if total > k:
        least = np.partition(scores, total - k)[total - k]
        keep = np.flatnonzero(scores >= least - 2 * 10**-_DECIMALS)
    values = _rounded(scores[keep].astype(np.float64))
    ns = rows.ns[keep] if chosen is None else rows.ns[chosen[keep]]
    order = np.lexsort((ns, -values))[:k]
    return tuple(Hit(int(n), float(v)) for n, v in zip(ns[order], values[order], strict=True))
