"""Erasing what derived state still holds of bytes that the database has given up, and finishing what was begun.

A redaction commits first: from then on no view of the brain has the bytes. Then every index gives up what it may hold
of them, the files go, the write-ahead log is emptied, and only then is the list struck (docs/decisions/0111).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from pathlib import Path

from consilience.errors import BusyError, ConsilienceError, IndexUnusableError
from consilience.index._files import WriterLock, read_json, remove_tree
from consilience.model import Value
from consilience.plan.introduced import may_be_introduced_by
from consilience.store import Store
from consilience.store.redaction import ToErase

PAUSE_S = 0.1
TIMEOUT_S = 30.0

Waiting = Callable[[float], None]


class Erasure(Value, frozen=True, kw_only=True):
    """Whether everything on the list is erased; else what remains and how to finish."""

    done: bool
    remains: str | None = None


def finish(
    store: Store, derived: Path, *, waiting: Waiting | None = None, timeout_s: float = TIMEOUT_S
) -> Erasure:
    """Erase what redactions have left to be erased. Costs one look where there is nothing.

    What another process is in the way of is waited for, and then told; so is a disk that fails. Never raises for it.
    """
    todo = store.to_erase()
    if not todo:
        return Erasure(done=True)
    try:
        _patiently(lambda: erase_derived(store, derived, todo), waiting, timeout_s)
        store.finish_erasing(todo, waiting=waiting, timeout_s=timeout_s)
    except ConsilienceError as error:
        return Erasure(
            done=False,
            remains=f"the bytes are in no answer any more, but not yet out of every file: {error.message}; "
            "`index` finishes it",
        )
    return Erasure(done=True)


def erase_derived(store: Store, derived: Path, todo: ToErase) -> None:
    """Take blocks out of every derived file. What may hold a word of theirs outside of their own entry, a heading or a
    table, is emptied and made again. Raises BusyError, StorageError."""
    if not derived.is_dir() or not todo.ns:
        return
    with store.view() as view:
        back = {b.n for b in view.blocks(todo.ns) if b.data is not None}
        introduced = may_be_introduced_by(view, todo.ns)
    _words(derived)
    _vectors(derived / "vectors", {*todo.ns, *introduced}, {*back, *introduced})
    remove_tree(derived / "vectors-kept")
    remove_tree(derived / "tables")


def _words(derived: Path) -> None:
    from consilience.index.edges import EdgeIndex
    from consilience.index.facets import FacetIndex
    from consilience.index.lexical import LexicalIndex

    if (derived / "lexical").exists():
        with LexicalIndex.open_for_write(derived / "lexical") as lexical:
            lexical.clear()
    if (derived / "facets.db").exists():
        with FacetIndex.open_for_write(derived / "facets.db") as facets:
            facets.clear()
            facets.commit(0)
    if (derived / "edges.db").exists():
        with EdgeIndex.open_for_write(derived / "edges.db") as edges:
            edges.clear()
            edges.commit(0)


def _vectors(folder: Path, ns: Collection[int], back: Collection[int]) -> None:
    """Remove rows from the vectors of every model; an index that cannot be read goes as a whole."""
    if not folder.is_dir():
        return
    from consilience.index.vector_files import Meta
    from consilience.index.vectors import VectorIndex

    for each in sorted(folder.iterdir()):
        try:
            meta = read_json(each / "meta.json", Meta)
        except IndexUnusableError:
            meta = None
        if meta is None:
            _remove_unreadable(each)
            continue
        with VectorIndex.open_for_write(folder, meta.tag, meta.dims) as vectors:
            vectors.purge(ns, codes_later=True)
            if back:
                vectors.rewind(min(back) - 1)


def _remove_unreadable(folder: Path) -> None:
    if not folder.is_dir():
        return remove_tree(folder)
    lock = WriterLock(folder / "writer.lock")
    try:
        for path in list(folder.iterdir()):
            if path.name != "writer.lock":
                remove_tree(path)
    finally:
        lock.release()


def _patiently(work: Callable[[], None], waiting: Waiting | None, timeout_s: float) -> None:
    """Do what another process may be in the way of, again and again for some time. Raises BusyError."""
    started = time.monotonic()
    while True:
        try:
            return work()
        except BusyError:
            waited = time.monotonic() - started
            if waited >= timeout_s:
                raise
            if waiting is not None:
                waiting(waited)
            time.sleep(PAUSE_S)
