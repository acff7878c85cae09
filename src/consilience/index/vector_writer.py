"""Embedding vectors as their one writer sees them: append, commit, reuse, purge."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType

import msgspec
import numpy as np
from numpy.typing import NDArray

from consilience.errors import IndexUnusableError, ValidationError
from consilience.index import coarse, hnsw_build
from consilience.index._files import WriterLock, remove_tree, replace_json, storage_error
from consilience.index.checksums import COLUMNS, SUM_ROWS, continued
from consilience.index.vector_files import (
    FORMAT,
    HASH_SIZE,
    CoarseMeta,
    Floats,
    Ints,
    Meta,
    Rows,
    column_bytes,
    damaged_blocks,
    open_rows,
    quantise,
)


class VectorWriter:
    """Appends vectors and commits them. One at a time per tag (a lock file); a context manager."""

    def __init__(self, folder: Path, tag: str, dims: int) -> None:
        if dims < 1:
            raise ValidationError(f"an embedding of {dims} dimensions")
        self._folder = folder
        self._lock = WriterLock(folder / "writer.lock")
        self._known: dict[bytes, int] | None = None
        self._pending: list[tuple[Ints, bytes, NDArray[np.int8], Floats]] = []
        try:
            self._rows = self._open(tag, dims)
            self._sweep()
        except BaseException:
            self._lock.release()
            raise

    def _open(self, tag: str, dims: int) -> Rows:
        try:
            rows = open_rows(self._folder, tag)
        except IndexUnusableError as error:
            if isinstance(error.__cause__, OSError):  # a disk that fails a moment is no reason to embed again
                raise storage_error(self._folder, error.__cause__) from error
            rows = None
        if rows is not None and rows.meta.dims == dims:
            return rows
        remove_tree(self._folder / "meta.json")
        meta = Meta(format=FORMAT, tag=tag, dims=dims)
        for name, _ in meta.files().values():
            self._put(name, b"")
        replace_json(self._folder / "meta.json", meta)
        return self._mapped(meta)

    def _mapped(self, meta: Meta) -> Rows:
        """The rows that were just written. Raises StorageError."""
        try:
            return Rows(self._folder, meta)
        except OSError as error:
            raise storage_error(self._folder, error) from error
        except IndexUnusableError as error:
            cause = error.__cause__
            raise storage_error(self._folder, cause if isinstance(cause, OSError) else error) from error

    def _sweep(self) -> None:
        """Remove what a killed writer or another generation left."""
        names = {name for name, _ in self._meta.files().values()}
        keep = {*names, str(self._meta.coarse_file()), "meta.json", "writer.lock"}
        for path in list(self._folder.iterdir()):
            if path.name not in keep and not path.name.startswith("hnsw."):
                remove_tree(path)
        hnsw_build.drop(self._folder, self._meta)

    @property
    def _meta(self) -> Meta:
        return self._rows.meta

    @property
    def watermark(self) -> int:
        return self._meta.watermark

    @property
    def count(self) -> int:
        return self._meta.count

    def reuse(self, hashes: Sequence[bytes]) -> tuple[NDArray[np.bool_], Floats]:
        """(which texts have a committed vector, the vectors as (len, dims) float32, zero where unknown)."""
        if self._known is None:
            data = self._rows.hashes.tobytes()
            ends = range(0, len(data), HASH_SIZE)
            self._known = {data[i : i + HASH_SIZE]: row for row, i in enumerate(ends)}
        at = np.array([self._known.get(h, -1) for h in hashes], np.int64)
        mask = at >= 0
        vectors = np.zeros((len(at), self._meta.dims), np.float32)
        vectors[mask] = self._rows.floats(at[mask])
        return mask, vectors

    def append(self, ns: Sequence[int] | Ints, hashes: Sequence[bytes], vectors: Floats) -> None:
        """Add rows; nothing is visible before `commit`. vectors: (len(ns), dims) float32, rows L2-normalised.

        Raises ValidationError.
        """
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
        """Make what was appended durable and visible; `watermark` is the largest ordinal covered.

        What was appended is covered, also beyond it: else the next run would append the same ordinals again.
        Raises StorageError.
        """
        meta = self._summed()
        ns = np.concatenate([p[0] for p in self._pending]) if self._pending else np.empty(0, np.int64)
        if len(ns):
            columns = {
                "ns": ns.tobytes(),
                "hashes": b"".join(p[1] for p in self._pending),
                "codes": b"".join(p[2].tobytes() for p in self._pending),
                "scales": b"".join(p[3].tobytes() for p in self._pending),
            }
            for column, (name, width) in meta.files().items():
                self._put(name, columns[column], at=meta.count * width)
            sums = continued(meta.sums, meta.count, columns, _widths(meta))
            meta = msgspec.structs.replace(meta, sums=sums)
        new = msgspec.structs.replace(
            meta,
            count=meta.count + len(ns),
            watermark=max(watermark, meta.watermark, int(ns.max(initial=0))),
            ascending=meta.ascending and self._ascends(ns),
        )
        if new != self._meta:
            replace_json(self._folder / "meta.json", new)
            self._rows = self._mapped(new)
        self._pending = []
        if len(ns):
            self._known = None
        if coarse.is_due(new):
            self._build_coarse()

    def _summed(self) -> Meta:
        """What is committed, with checksums of all its rows, also where an older version wrote them without."""
        meta = self._meta
        if len(meta.sums) * SUM_ROWS >= meta.count:
            return meta
        columns = {column: column_bytes(self._rows, column) for column in COLUMNS}
        return msgspec.structs.replace(meta, sums=continued((), 0, columns, _widths(meta)))

    def _ascends(self, ns: Ints) -> bool:
        last = int(self._rows.ns[-1]) if self._meta.count else -1
        return not len(ns) or bool(ns[0] > last and (np.diff(ns) > 0).all())

    def _build_coarse(self) -> None:
        """Make the 1-bit codes of all rows, measure them, swap them in."""
        held = self._meta.coarse
        generation = held.generation + 1 if held is not None else 0
        head, words = coarse.build(self._rows)
        rows = coarse.coverage(self._meta.count)
        draft = CoarseMeta(generation=generation, rows=rows, recall_10=0.0, recall_100=0.0)
        meta = msgspec.structs.replace(self._meta, coarse=draft)
        self._put(str(meta.coarse_file()), head, words.tobytes())
        final = coarse.measured(self._rows, coarse.Coarse(self._folder, meta))
        final = msgspec.structs.replace(final, crc32=zlib.crc32(words.tobytes(), zlib.crc32(head)))
        self._swap(msgspec.structs.replace(meta, coarse=final))

    def _swap(self, meta: Meta) -> None:
        replace_json(self._folder / "meta.json", meta)
        self._rows = self._mapped(meta)
        self._known = None
        self._sweep()

    def _put(self, name: str, *data: bytes, at: int = 0) -> None:
        """Write `data` at byte `at` of a file, over whatever torn tail there is, and make it durable."""
        path = self._folder / name
        try:
            with path.open("r+b" if path.exists() else "w+b") as file:
                file.truncate(at)
                file.seek(at)
                for part in data:
                    file.write(part)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise storage_error(path, error) from error

    def purge(self, ns: Iterable[int], *, codes_later: bool = False) -> int:
        """Remove every row of these ordinals, at once and from the files. Returns how many rows there were.

        The 1-bit codes are made again; with `codes_later` by the next commit, and scans read every row until then.
        """
        wanted = np.array(sorted(set(ns)), np.int64)
        gone = np.isin(self._rows.ns, wanted)
        if not gone.any():
            return 0
        self._keep(np.flatnonzero(~gone), codes_later=codes_later)
        return int(gone.sum())

    def salvage(self) -> int:
        """Remove the rows whose checksums do not hold; all stay where an older version wrote none. Returns how many
        there were."""
        if not self._meta.sums:
            return 0
        rows = np.arange(self._meta.count, dtype=np.int64)
        sound = rows[~np.isin(rows // SUM_ROWS, damaged_blocks(self._rows))]
        self._keep(sound)
        return len(rows) - len(sound)

    def _keep(self, keep: Ints, *, codes_later: bool = False) -> None:
        """Write these rows as another generation, and swap it in."""
        rows, meta = self._rows, self._meta
        columns = {column: getattr(rows, column)[keep].tobytes() for column in COLUMNS}
        sums = continued((), 0, columns, _widths(meta))
        new = msgspec.structs.replace(
            meta, generation=meta.generation + 1, count=len(keep), coarse=None, sums=sums
        )
        for column, (name, _) in new.files().items():
            self._put(name, columns[column])
        self._swap(new)
        if coarse.is_due(new) and not codes_later:
            self._build_coarse()

    def held(self, ns: Iterable[int]) -> set[int]:
        """Those of the ordinals that have a committed row."""
        wanted = np.fromiter(ns, np.int64)
        found, _ = self._rows.rows_of(wanted)
        return set(wanted[found].tolist())

    def rewind(self, watermark: int) -> None:
        """Lower the watermark, at once: what lies above it and has no row is to be appended again."""
        if watermark < self._meta.watermark:
            meta = msgspec.structs.replace(self._meta, watermark=max(0, watermark))
            replace_json(self._folder / "meta.json", meta)
            self._rows = Rows(self._folder, meta)

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


def _widths(meta: Meta) -> dict[str, int]:
    return {column: width for column, (_, width) in meta.files().items()}
