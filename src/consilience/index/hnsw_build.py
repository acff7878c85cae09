"""Making the graph of neighbours: by one thread, a segment at a time, beside whoever reads or writes the vectors.

Only the moment in which it is installed shuts out a purge, which removes it: so no code of a purged vector is written
after the purge.
"""

from __future__ import annotations

import contextlib
import itertools
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from consilience.errors import BusyError, IndexUnusableError
from consilience.files import write_atomically
from consilience.index import hnsw
from consilience.index._files import WriterLock, read_json, remove_tree, replace_json
from consilience.index.checksums import document_problem
from consilience.index.hnsw import SEGMENT, HnswMeta
from consilience.index.vector_files import Floats, Ints, Meta, Rows, open_rows

ROWS_AT_ONCE: Final = 512
"""Rows linked between two looks at whether to go on."""

INSTALL_WAIT: Final = 60.0
"""Seconds that the moment of installing, or of removing, is waited for."""

_SAMPLE: Final = 64
_HEADROOM: Final = 1.25
"""How far beyond the largest value of the first segment the codes reach."""


def due(meta: Meta, held: HnswMeta | None) -> int:
    """How many rows a graph over these would cover; 0 where the one that is held covers them, or where it cannot."""
    rows = meta.count // SEGMENT * SEGMENT
    covered = held.rows if held is not None and hnsw.fits(held, meta) else 0
    return rows if rows > covered and meta.sums else 0


def build(
    folder: Path,
    tag: str,
    questions: Floats | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> HnswMeta | None:
    """Make the graph of a model's vectors, or go on with the one there is; None where nothing is to be done, or where
    the rows were rewritten meanwhile.

    `questions`: (count, dims) float32, L2-normalised, to measure the recall with. May be stopped at any moment.
    Raises BusyError where another process is at it, IndexUnusableError, StorageError.
    """
    lock = WriterLock(folder / hnsw.LOCK)
    try:
        rows = open_rows(folder, tag)
        if rows is None:
            return None
        held, index = _begun(folder, rows)
        upto = due(rows.meta, held)
        if not upto:
            return None
        scale = held.scale if held is not None else _scale(rows)
        start = held.rows if held is not None else 0
        with hnsw.engine_errors(folder):
            for first in range(start, upto, SEGMENT):
                index = _anew(index)
                if not _link(index, folder, rows, first, scale, advance):
                    return None
            data = bytes(index.save())
        draft = HnswMeta(
            format=hnsw.FORMAT, generation=rows.meta.generation, rows=upto, dims=rows.meta.dims, scale=scale,
            bound=hnsw.bound_to(rows.meta, upto), size=len(data), file_sum=0,
        )  # fmt: skip
        return _install(folder, measured(rows, index, draft, questions), data)
    finally:
        lock.release()


def _begun(folder: Path, rows: Rows) -> tuple[HnswMeta | None, Any]:
    """The graph to go on with, loaded; an empty one where there is none that can be used."""
    index: Any = hnsw.graph_of(rows.meta.dims)
    with contextlib.suppress(IndexUnusableError, OSError), hnsw.engine_errors(folder):
        held = hnsw.known(folder, rows.meta)
        if held is not None and hnsw.is_whole(folder / held.file, held):
            index.load((folder / held.file).read_bytes())
            if len(index) == held.rows:
                return held, index
    return None, hnsw.graph_of(rows.meta.dims)


def _scale(rows: Rows) -> float:
    """Code units per unit of length, from the first segment."""
    largest = max(
        float(np.abs(rows.floats(slice(at, min(at + ROWS_AT_ONCE, SEGMENT)))).max(initial=0.0))
        for at in range(0, SEGMENT, ROWS_AT_ONCE)
    )
    return float(np.float32(127.0 / (_HEADROOM * largest))) if largest > 0 else 127.0


def _anew(index: Any) -> Any:
    """The same graph as if it had just been read: levels are drawn from the start of their sequence again."""
    if not len(index):
        return index
    again: Any = hnsw.graph_of(index.ndim)
    again.load(index.save())
    return again


def _link(
    index: Any, folder: Path, rows: Rows, first: int, scale: float, advance: Callable[[int], None]
) -> bool:
    """Add one segment; False where the rows have been rewritten."""
    for at in range(first, first + SEGMENT, ROWS_AT_ONCE):
        part = slice(at, min(at + ROWS_AT_ONCE, first + SEGMENT))
        keys = np.arange(part.start, part.stop, dtype=np.uint64)
        index.add(keys, hnsw.coded(rows.floats(part), scale), threads=1)
        advance(len(keys))
    return _generation(folder) == rows.meta.generation


def _generation(folder: Path) -> int | None:
    try:
        meta = read_json(folder / "meta.json", Meta)
    except IndexUnusableError:
        return None
    return meta.generation if meta is not None else None


def measured(rows: Rows, index: Any, draft: HnswMeta, questions: Floats | None) -> HnswMeta:
    """The draft with the share of the exact best 10 and 60 that the graph finds: the lower of what rows and what
    questions find."""
    asked = np.linspace(0, draft.rows - 1, _SAMPLE).astype(np.int64)
    shares = _shares(rows, index, draft, rows.floats(asked), asked)
    count = len(questions) if questions is not None else 0
    if questions is not None and count:
        shares = np.minimum(shares, _shares(rows, index, draft, questions, None))
    ten, sixty = (round(float(share), 4) for share in shares)
    return msgspec.structs.replace(draft, questions=count, recall_10=ten, recall_60=sixty)


def _shares(rows: Rows, index: Any, draft: HnswMeta, qs: Floats, own: Ints | None) -> Floats:
    """Recall at 10 and at 60 over these questions; `own`: the row that each of them is, which does not count."""
    within = np.arange(draft.rows, dtype=np.int64) if draft.rows < rows.meta.count else None
    scores = np.concatenate([products for _, products in rows.products(qs, within)], axis=1)
    if own is not None:
        scores[np.arange(len(own)), own] = -np.inf
    index.expansion_search = hnsw.wanted(60) + 1
    shares = np.zeros(2)
    for place, (q, reached) in enumerate(zip(qs, scores, strict=True)):
        near = index.search(hnsw.coded(q, draft.scale), hnsw.wanted(60) + (own is not None), threads=1).keys
        near = near[near != own[place]] if own is not None else near
        for at, k in enumerate((10, 60)):
            best = np.argpartition(-reached, k)[:k]
            shares[at] += float(np.isin(best, near).mean()) / len(qs)
    return shares.astype(np.float32)


def _install(folder: Path, draft: HnswMeta, data: bytes) -> HnswMeta | None:
    """Write the graph beside, rename it, then say so; nothing of it where the rows are not the same any more."""
    final = msgspec.structs.replace(draft, file_sum=zlib.crc32(data))
    path = folder / final.file
    with installing(folder):
        meta = read_json(folder / "meta.json", Meta)
        if meta is None or not hnsw.fits(final, meta):
            return None
        write_atomically(path, data)
        replace_json(folder / hnsw.DOCUMENT, final)
        _remove(folder, keep={path.name, hnsw.DOCUMENT})
    return final


@contextlib.contextmanager
def installing(folder: Path) -> Iterator[None]:
    """Alone with the files of the graph. Raises BusyError, StorageError."""
    until = time.monotonic() + INSTALL_WAIT
    while True:
        try:
            lock = WriterLock(folder / hnsw.INSTALL_LOCK)
            break
        except BusyError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)
    try:
        yield
    finally:
        lock.release()


def files(folder: Path) -> list[Path]:
    """What there is of a graph, whole or begun (a hidden name); locks are not of it."""
    found = itertools.chain(folder.glob("hnsw.*"), folder.glob(".hnsw.*"))
    return [p for p in found if p.name not in (hnsw.LOCK, hnsw.INSTALL_LOCK)]


def problems(folder: Path) -> list[tuple[Path, str]]:
    """What is wrong with a graph of neighbours, by file; that it is of other rows is no damage, the next writer removes
    it. Raises OSError."""
    document = folder / hnsw.DOCUMENT
    if problem := document_problem(document):
        return [(document, problem)]
    held = hnsw.read(folder)
    if held is None:
        return []
    path = folder / held.file
    if not path.exists():
        return [(path, "it is missing")]
    return [] if hnsw.is_whole(path, held) else [(path, "its checksum does not hold")]


def drop(folder: Path, meta: Meta | None = None) -> None:
    """Remove every graph, but for one of these rows. Raises BusyError, StorageError."""
    if not files(folder):
        return
    with installing(folder):
        held = None
        with contextlib.suppress(IndexUnusableError):
            held = hnsw.known(folder, meta) if meta is not None else None
        _remove(folder, keep={held.file, hnsw.DOCUMENT} if held is not None else set())


def _remove(folder: Path, keep: set[str]) -> None:
    for path in files(folder):
        if path.name not in keep:
            remove_tree(path)
