"""Everything in `derived/`: opened for questions, caught up after commits, safe to delete."""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from consilience.embed import Embedder, EmbedderSpec, available, shared_embedder
from consilience.errors import BusyError, ConsilienceError, IndexUnusableError, StorageError
from consilience.files import seal_holds, sealed, write_atomically
from consilience.model import SEARCHED_BY_DEFAULT, Entry, Value
from consilience.plan import cost
from consilience.plan import statistics as measured
from consilience.plan.reader import Reader
from consilience.progress import NO_PROGRESS, Progress
from consilience.protocol import Digest, format_digest, parse_digest
from consilience.store import Store, View
from consilience.store.proofs import keep_trees

if TYPE_CHECKING:
    from consilience.index.edges import EdgeIndex
    from consilience.index.facet_writer import FacetWriter
    from consilience.index.facets import FacetIndex
    from consilience.index.lexical import LexicalIndex
    from consilience.index.vector_writer import VectorWriter
    from consilience.index.vectors import VectorIndex
    from consilience.ingest.report import IngestReport

EMBED_CHUNK = 512
EMBED_COMMIT_SECONDS = 10.0
LEXICAL_CHUNK = 20_000
MEASURE_AGAIN = 0.2
SMALL_BRAIN = 20
MADE_FROM = "made-from.json"
EDGES = "edges.db"
KEPT = "vectors-kept"
"""Vectors whose ordinals count no more: found by the hash of their text until the next embedding is done."""

FOREIGN = (
    "what is derived here was made from blocks that this brain does not hold (was brain.db restored?): "
    "not consulted; run `index`"
)

Index = TypeVar("Index")


class CaughtUp(Value, frozen=True, kw_only=True):
    """What catching up did. `embedded` texts went through the model, `reused` had a vector already, `unembedded`
    blocks still have none. `note` says why something was left undone."""

    indexed: int = 0
    embedded: int = 0
    reused: int = 0
    unembedded: int = 0
    measured: bool = False
    interrupted: bool = False
    notes: tuple[str, ...] = ()
    seconds: float = 0.0


class MadeFrom(Value, frozen=True, kw_only=True):
    """The last snapshot that anything in derived/ was made from (docs/decisions/0103)."""

    snapshot: str


class Derived:
    """The derived state of one brain: handles that are opened once and refreshed for each question."""

    def __init__(self, folder: Path, spec: EmbedderSpec, cache_dir: Path | None) -> None:
        self.folder = folder
        self.spec = spec
        self.cache_dir = cache_dir or folder / "models"
        self._lock = threading.Lock()
        self._lexical: LexicalIndex | None = None
        self._facets: FacetIndex | None = None
        self._edges: EdgeIndex | None = None
        self._vectors: VectorIndex | None = None
        self._embedder: Embedder | None = None
        self._warned: list[str] = []

    def close(self) -> None:
        with self._lock:
            for each in (self._lexical, self._facets, self._edges):
                if each is not None:
                    each.close()
            self._lexical = self._facets = self._edges = self._vectors = None

    # --- for a question -----------------------------------------------------------------------------------------

    def made_from(self) -> Digest | None:
        """The snapshot that derived/ goes back to; None where nothing says so. Ask before pinning a view: what is
        caught up later may be of a later snapshot than the view's."""
        try:
            data = (self.folder / MADE_FROM).read_bytes()
            if seal_holds(data) is False:
                return None
            return parse_digest(msgspec.json.decode(data, type=MadeFrom).snapshot)
        except (OSError, msgspec.DecodeError, ConsilienceError):
            return None

    def reader(self, name: str, view: View, made_from: Digest | None = None) -> Reader:
        """The indices as they are now, for one question; what cannot be used is left out and named."""
        if made_from is not None and not view.has_snapshot(made_from):
            return Reader(name=name, view=view, notes=(FOREIGN,))
        notes: list[str] = []
        with self._lock:
            self._lexical = self._fresh(self._lexical, self._open_lexical, notes)
            self._facets = self._fresh(self._facets, self._open_facets, notes)
            self._edges = self._fresh(self._edges, self._open_edges, notes)
            embedder, why = self._embedder_or_why() if self._has_vectors() else (None, self._why_no_model())
            self._vectors = (
                self._fresh(self._vectors, self._open_vectors, notes) if embedder is not None else None
            )
            if embedder is not None and self._vectors is None:
                why = self._other_models(embedder.tag)
            return Reader(
                name=name,
                view=view,
                lexical=self._lexical,
                vectors=self._vectors,
                facets=self._facets,
                edges=self._edges,
                embedder=(lambda: embedder) if embedder is not None else None,
                embedder_note=why,
                wants_vectors=self._wants_vectors(),
                statistics=measured.load(self.folder),
                costs=cost.load(self.folder).model(),
                notes=tuple(dict.fromkeys([*notes, *self._warned])),
            )

    def _fresh(self, held: Index | None, opener: object, notes: list[str]) -> Index | None:
        try:
            if held is not None:
                held.refresh()  # type: ignore[attr-defined]
                return held
            return opener()  # type: ignore[operator, no-any-return]
        except IndexUnusableError as error:
            notes.append(f"{error.message}; `index` rebuilds it")
            return None

    def _open_lexical(self) -> LexicalIndex | None:
        from consilience.index.lexical import LexicalIndex

        return LexicalIndex.open(self.folder / "lexical")

    def _open_facets(self) -> FacetIndex | None:
        from consilience.index.facets import FacetIndex

        return FacetIndex.open(self.folder / "facets.db")

    def _open_edges(self) -> EdgeIndex | None:
        from consilience.index.edges import EdgeIndex

        return EdgeIndex.open(self.folder / EDGES)

    def _open_vectors(self) -> VectorIndex | None:
        from consilience.index.vectors import VectorIndex

        assert self._embedder is not None
        return VectorIndex.open(self.folder / "vectors", self._embedder.tag)

    def _has_vectors(self) -> bool:
        """Whether any model's vectors are here; without them a question need not load the model."""
        folder = self.folder / "vectors"
        return self._embedder is not None or (folder.is_dir() and any(folder.iterdir()))

    def _wants_vectors(self) -> bool:
        """Whether the brain is meant to have vectors, and its model can be had."""
        return self._embedder is not None or (self.spec.provider != "none" and not self._why_no_model())

    def _why_no_model(self) -> str:
        """Why the brain's model cannot be had; "" where it can, or where the brain wants none."""
        why = None if self.spec.provider == "none" else available(self.spec)
        return f"lexical only: {why}" if why is not None else ""

    def _embedder_or_why(self) -> tuple[Embedder | None, str]:
        """The brain's model, opened once; else why it cannot be had ("" where the brain wants none)."""
        if self._embedder is not None:
            return self._embedder, ""
        if self.spec.provider == "none":
            return None, ""
        why = self._why_no_model()
        if why:
            return None, why
        try:
            self._embedder = shared_embedder(self.spec, cache_dir=self.cache_dir, warn=self._warned.append)
        except ConsilienceError as error:
            return None, f"lexical only: {error.message}"
        return self._embedder, ""

    def _other_models(self, tag: str) -> str:
        from consilience.index.vectors import VectorIndex

        others = [t for t in VectorIndex.tags(self.folder / "vectors") if t != tag]
        if not others:
            return ""
        return f"the vectors here were made by {others[0]}, this brain now uses {tag}: not consulted; run `index`"

    # --- after a commit -----------------------------------------------------------------------------------------

    def catch_up(
        self, store: Store, name: str, *, progress: Progress = NO_PROGRESS, embed: bool, rebuild: bool
    ) -> CaughtUp:
        """Lexical index and facets first, then vectors, then statistics where the brain outgrew them."""
        started = time.monotonic()
        notes: list[str] = []
        done = _Done()
        interrupted = False
        try:
            if rebuild:
                self._forget()
            self._claim(store)
            with store.view() as view:
                keep_trees(view, self.folder.parent)
            done.indexed = self._index_words(store, progress, notes)
            self._relate(store, progress, notes)
            if embed:
                self._embed(store, progress, notes, done)
            done.measured = self._measure(store, name, progress)
            self._link(store, name, progress, notes)
        except KeyboardInterrupt:
            interrupted = True
        except ConsilienceError as error:
            with contextlib.suppress(ConsilienceError):
                error.done = self._caught_up(store, done, notes, started, interrupted=False)
            raise
        finally:
            progress.close()
        return self._caught_up(store, done, notes, started, interrupted=interrupted)

    def _caught_up(
        self, store: Store, done: _Done, notes: list[str], started: float, *, interrupted: bool
    ) -> CaughtUp:
        with store.view() as view:
            unembedded = self._unembedded(view)
        return CaughtUp(
            indexed=done.indexed, embedded=done.embedded, reused=done.reused, unembedded=unembedded,
            measured=done.measured,
            interrupted=interrupted, notes=tuple(notes), seconds=time.monotonic() - started,
        )  # fmt: skip

    def _claim(self, store: Store) -> None:
        """Write down what the next steps make derived/ from; clear it first if it was made from something else."""
        made_from = self.made_from()
        with store.view() as view:
            head = view.snapshot.digest if view.snapshot is not None else None
            if made_from is not None and not view.has_snapshot(made_from):
                self._forget()
                self._set_vectors_aside()
        if head is not None and head != made_from:
            document = msgspec.json.encode(MadeFrom(snapshot=format_digest(head)))
            write_atomically(self.folder / MADE_FROM, sealed(document))

    def _set_vectors_aside(self) -> None:
        vectors = self.folder / "vectors"
        try:
            if vectors.exists():
                shutil.rmtree(self.folder / KEPT, ignore_errors=True)
                vectors.rename(self.folder / KEPT)
        except OSError as error:
            raise StorageError(
                f"cannot move {vectors}: {error.strerror}", hint="delete that folder by hand"
            ) from error

    def _forget(self) -> None:
        self.close()
        try:
            shutil.rmtree(self.folder / "lexical", ignore_errors=False) if (
                self.folder / "lexical"
            ).exists() else None
            databases = [
                f"{name}{suffix}" for name in ("facets.db", EDGES) for suffix in ("", "-wal", "-shm")
            ]
            for name in (*databases, measured.FILE_NAME, cost.FILE_NAME):
                (self.folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(
                f"cannot clear {self.folder}: {error.strerror}", hint="delete that folder by hand"
            ) from error

    def _index_words(self, store: Store, progress: Progress, notes: list[str]) -> int:
        from consilience.index.facets import FacetIndex
        from consilience.index.lexical import LexicalIndex
        from consilience.plan.entries import entries_after

        with store.view() as view:
            if not view.max_n:
                return 0
        try:
            with (
                LexicalIndex.open_for_write(self.folder / "lexical") as lexical,
                FacetIndex.open_for_write(self.folder / "facets.db") as facets,
                store.view() as view,  # not before the locks are held: a redaction may have come between
            ):
                if _lacks_returned(view, facets):
                    lexical.clear()
                    facets.clear()
                after = min(lexical.watermark, facets.watermark)
                if after >= view.max_n:
                    return 0
                lexical_after, facets_after = lexical.watermark, facets.watermark
                progress.start("indexing", None, "blocks")
                _late_origins(view, facets, facets_after)
                count = 0
                broken: list[str] = []
                entries = entries_after(view, after, broken=broken)
                while chunk := list(islice(entries, LEXICAL_CHUNK)):
                    lexical.add(e for e in chunk if e.n > lexical_after)
                    facets.add(e for e in chunk if e.n > facets_after)
                    count += len(chunk)
                    progress.advance(len(chunk))
                lexical.commit(view.max_n)
                facets.commit(view.max_n)
                if broken:
                    notes.append(f"{len(broken)} damaged blocks were left out of the indices; run `verify`")
                return count
        except BusyError as error:
            notes.append(f"not indexed now: {error.message}")
            return 0
        finally:
            progress.close()

    def _relate(self, store: Store, progress: Progress, notes: list[str]) -> None:
        """Lay down what the documents that came state of their blocks: order and links."""
        from consilience.index.edges import EdgeIndex
        from consilience.plan.expand_index import catch_up

        with store.view() as view:
            if not view.max_n:
                return
        try:
            with EdgeIndex.open_for_write(self.folder / EDGES) as edges, store.view() as view:
                if edges.watermark < view.max_n:
                    catch_up(view, edges, progress)
                    edges.commit(view.max_n)
        except BusyError as error:
            notes.append(f"not related now: {error.message}")
        finally:
            progress.close()

    def _embed(self, store: Store, progress: Progress, notes: list[str], done: _Done) -> None:
        if self._embedder is None and self.spec.provider != "none":
            progress.start("loading the model")
        with self._lock:
            embedder, why = self._embedder_or_why()
        progress.close()
        if embedder is None:
            if why:
                notes.append(why)
            return
        from consilience.index.vectors import VectorIndex

        kept = self.folder / KEPT
        try:
            with contextlib.ExitStack() as stack:
                writers = [
                    stack.enter_context(VectorIndex.open_for_write(folder, embedder.tag, embedder.dims))
                    for folder in (self.folder / "vectors", kept)
                    if folder is not kept or kept.is_dir()
                ]
                _Embedding(store, embedder, writers, progress, done).run()
            shutil.rmtree(kept, ignore_errors=True)
        except BusyError as error:
            notes.append(f"not embedded now: {error.message}")

    def _measure(self, store: Store, name: str, progress: Progress) -> bool:
        """Measure noise and costs where nothing is measured, or where the brain or its vectors outgrew the figures."""
        from consilience.plan.approximate import remeasured
        from consilience.plan.measure import measure_brain, measured_blocks
        from consilience.plan.probes import probe

        with store.view() as view:
            reader = self.reader(name, view)
            blocks = measured_blocks(view)
            held = reader.statistics
            vectors = reader.vectors.count if reader.vectors is not None else 0
            current = (
                held is not None
                and not held.stale(blocks)
                and abs(vectors - held.vectors) <= MEASURE_AGAIN * max(1, vectors)
                and (bool(held.noises) or blocks < SMALL_BRAIN)
            )
            known = cost.load(self.folder)
            if current and held is not None and (again := remeasured(reader, held)) is not None:
                measured.save(self.folder, again)
            if (current and known.ratios) or blocks == 0:
                return False
            if not current:
                measured.save(self.folder, measure_brain(reader, progress))
            progress.close()
            progress.start("measuring what questions cost")
            cost.save(self.folder, known.with_samples(probe(self.reader(name, view))))
            return not current

    def _link(self, store: Store, name: str, progress: Progress, notes: list[str]) -> None:
        """Make the graph of neighbours where it pays, last: everything else is done, and it may be stopped."""
        from consilience.plan.approximate import linking

        with store.view() as view:
            todo, note = linking(self.reader(name, view))
        notes.extend([note] if note else [])
        try:
            if todo is not None:
                todo.run(progress)
        except (BusyError, IndexUnusableError) as error:
            notes.append(f"neighbours not linked now: {error.message}")

    def _unembedded(self, view: View) -> int:
        from consilience.plan.measure import measured_blocks

        if not self._wants_vectors():
            return 0
        embedder = self._embedder_or_why()[0] if self._has_vectors() else None
        vectors = self._open_vectors() if embedder is not None else None
        return max(0, measured_blocks(view) - (vectors.count if vectors is not None else 0))


@dataclass(slots=True)
class _Done:
    """What a catch-up has done so far; an interrupt leaves it true."""

    indexed: int = 0
    embedded: int = 0
    reused: int = 0
    measured: bool = False


class _Embedding:
    """Embedding what has no vector yet, in ordinal order, committing as it goes. The first writer is the one written
    to; the others are only asked for vectors that they know."""

    def __init__(
        self, store: Store, embedder: Embedder, writers: list[VectorWriter], progress: Progress, done: _Done
    ) -> None:
        self._store, self._embedder, self._progress = store, embedder, progress
        self._writer, *self._others = writers
        self._done = done
        self._committed_at = time.monotonic()

    def run(self) -> None:
        with self._store.view() as view:
            upto, total = view.max_n, self._remaining(view)
        if not total:
            self._writer.commit(self._writer.watermark)  # codes that a redaction left to be made again
            return
        self._progress.start("embedding", total, "passages")
        try:
            while chunk := self._next():
                self._one(chunk)
                self._progress.advance(len(chunk))
                if time.monotonic() - self._committed_at > EMBED_COMMIT_SECONDS:
                    self._writer.commit(chunk[-1].n)
                    self._committed_at = time.monotonic()
            self._writer.commit(upto)
        except KeyboardInterrupt:
            self._writer.commit(self._last)
            raise

    _last = 0

    def _remaining(self, view: View) -> int:
        back = [n for n in view.came_back() if n <= self._writer.watermark]
        missing = sorted(set(back) - self._writer.held(back)) if back else []
        lacking = [b.n for b in view.blocks(missing) if b.data and b.memory_type in SEARCHED_BY_DEFAULT]
        if lacking:
            self._writer.rewind(lacking[0] - 1)
        self._last = self._writer.watermark
        return sum(1 for _ in self._missing(view))

    def _missing(self, view: View) -> Iterator[int]:
        """Ordinals after the last one that have no vector: the watermark was lowered where bytes came back."""
        ns = _embeddable(view, self._last)
        while part := list(islice(ns, EMBED_CHUNK)):
            held = self._writer.held(part)
            yield from (n for n in part if n not in held)

    def _next(self) -> list[Entry]:
        """The next chunk, from a snapshot of its own: a long run must not hold one open."""
        from consilience.plan.entries import entries_of

        with self._store.view() as view:
            ns = list(islice(self._missing(view), EMBED_CHUNK))
            return list(entries_of(view, ns, introduced=True))

    def _one(self, chunk: list[Entry]) -> None:
        import numpy as np

        from consilience.index.vectors import text_hash
        from consilience.plan.entries import embedded_text

        texts = [embedded_text(e) for e in chunk]
        hashes = [text_hash(t) for t in texts]
        known, vectors = self._writer.reuse(hashes)
        for other in self._others:
            also, theirs = other.reuse(hashes)
            vectors[also & ~known] = theirs[also & ~known]
            known |= also
        missing = np.flatnonzero(~known)
        if len(missing):
            vectors[missing] = self._embedder.embed([texts[i] for i in missing], role="passage")
        self._writer.append([e.n for e in chunk], hashes, vectors)
        self._done.embedded += len(missing)
        self._done.reused += len(chunk) - len(missing)
        self._last = chunk[-1].n


def _late_origins(view: View, facets: FacetWriter, after: int) -> None:
    """Blocks that the facets know already and that a later file holds too."""
    touched = view.touched(after)
    for start in range(0, len(touched), EMBED_CHUNK):
        for n, sources in view.sources(touched[start : start + EMBED_CHUNK]).items():
            for source in sources:
                if source.origin:
                    facets.add_origin(n, source.origin)


def _lacks_returned(view: View, facets: FacetWriter) -> bool:
    """Whether a block has come back that the words were indexed without."""
    from consilience.plan.entries import INDEXED

    back = [n for n in view.came_back() if n <= facets.watermark]
    missing = set(back) - facets.held(back) if back else set()
    return any(b.data is not None and b.memory_type in INDEXED for b in view.blocks(sorted(missing)))


def _embeddable(view: View, after: int) -> Iterator[int]:
    return (b.n for b in view.scan(SEARCHED_BY_DEFAULT, after=after) if b.data is not None)


def with_indexed(report: IngestReport, indexed: object) -> IngestReport:
    """The report of an ingest and of the catch-up that followed it, if there is one."""
    if not isinstance(indexed, CaughtUp):
        return report
    return msgspec.structs.replace(
        report,
        embedded=indexed.embedded,
        reused=indexed.reused,
        unembedded=indexed.unembedded,
        notes=indexed.notes,
        interrupted=indexed.interrupted,
        seconds=report.seconds + indexed.seconds,
    )


def not_indexed(error: ConsilienceError) -> ConsilienceError:
    """What stopped the indexing of blocks that are in."""
    hint = "`index` goes on" if error.hint is None else f"{error.hint}; `index` goes on then"
    return type(error)(f"everything is committed, but not all of it indexed: {error.message}", hint=hint)
