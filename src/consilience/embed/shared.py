"""One open model for all brains of a process that use the same one, and the vectors of the last questions.

A compound asks its members the same question: where they use one model, it is loaded once and reads the question
once. A vector is a function of model and text alone, so members learn nothing of each other by it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from consilience.embed.base import Embedder, EmbedderSpec, Role, open_embedder

if TYPE_CHECKING:
    from concurrent.futures import Future

    from consilience.embed.base import Vectors

QUESTIONS_KEPT = 64

_open: dict[tuple[EmbedderSpec, Path], Remembering] = {}
_lock = threading.Lock()


class Remembering:
    """An embedder that keeps the vectors of its last questions. Threads that ask the same one compute it once."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Future[Vectors]] = OrderedDict()

    @property
    def tag(self) -> str:
        return self._inner.tag

    @property
    def dims(self) -> int:
        return self._inner.dims

    def embed(self, texts: Sequence[str], *, role: Role) -> Vectors:
        """As `Embedder.embed`; a single question is remembered."""
        if role != "query" or len(texts) != 1:
            return self._inner.embed(texts, role=role)
        from concurrent.futures import Future

        question = texts[0]
        with self._lock:
            known = self._kept.pop(question, None)
            vector = known or Future()
            self._kept[question] = vector
            while len(self._kept) > QUESTIONS_KEPT:
                self._kept.popitem(last=False)
        if known is None:
            self._compute(question, vector)
        return vector.result().copy()

    def forget(self) -> None:
        """Compute the next question anew, whichever it is."""
        with self._lock:
            self._kept.clear()

    def _compute(self, question: str, vector: Future[Vectors]) -> None:
        try:
            vector.set_result(self._inner.embed([question], role="query"))
        except BaseException as error:
            with self._lock:
                self._kept.pop(question, None)
            vector.set_exception(error)


def shared_embedder(
    spec: EmbedderSpec, *, cache_dir: Path, warn: Callable[[str], None] | None = None
) -> Embedder:
    """`open_embedder`, once a process for each spec and cache folder. Raises what that raises.

    `warn` is told what the brain that opened it first is told.
    """
    with _lock:
        key = (spec, cache_dir)
        if key not in _open:
            _open[key] = Remembering(open_embedder(spec, cache_dir=cache_dir, warn=warn))
        return _open[key]


def forget_questions() -> None:
    """Forget the vectors of the last questions, of every open model: for measuring what a question takes."""
    with _lock:
        for each in _open.values():
            each.forget()
