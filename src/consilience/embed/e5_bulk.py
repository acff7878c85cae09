"""Many sequences at once: batches by length, spread over threads that each compute single-threaded.

A BLAS with threads of its own leaves all cores but one idle between its products, and collapses when other processes
want them; one batch a thread keeps them busy (docs/decisions/0030-e5-on-numpy.md).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from consilience.embed.e5_source import Floats

BATCH_TOKENS = 1024
MOST_THREADS = 16

Encode = Callable[[Sequence[Sequence[int]]], Floats]
Split = Callable[[Sequence[Sequence[int]]], Iterator[list[int]]]


def encode_all(
    sequences: Sequence[Sequence[int]], encode: Encode, split: Split, *, width: int, threads: int
) -> Floats:
    """The vectors of all sequences, float32 (len(sequences), width), in their order.

    `split` gives the indices of each batch, the costliest first: then the threads end together. An interrupt, or an
    exception in a batch, ends the call when the batches under way are done, within a second.
    """
    out = np.empty((len(sequences), width), np.float32)
    todo = list(split(sequences))

    failed = threading.Event()

    def run(batch: list[int]) -> None:
        if failed.is_set():
            return
        try:
            out[batch] = encode([sequences[i] for i in batch])
        except BaseException:
            failed.set()
            raise

    with single_threaded_blas():
        if threads <= 1 or len(todo) <= 1:
            for batch in todo:
                run(batch)
            return out
        from concurrent.futures import (
            ThreadPoolExecutor,
        )  # loads logging, which a single question can do without

        executor = ThreadPoolExecutor(min(threads, len(todo)), thread_name_prefix="embed")
        try:
            for future in [executor.submit(run, batch) for batch in todo]:
                future.result()
        finally:
            executor.shutdown(wait=True, cancel_futures=True)
    return out


def batches(sequences: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Indices of the sequences, longest first, in batches of at most BATCH_TOKENS (or a single longer sequence)."""
    batch: list[int] = []
    tokens = 0
    for i in sorted(range(len(sequences)), key=lambda i: -len(sequences[i])):
        if batch and tokens + len(sequences[i]) > BATCH_TOKENS:
            yield batch
            batch, tokens = [], 0
        batch.append(i)
        tokens += len(sequences[i])
    if batch:
        yield batch


def cores() -> int:
    """Cores that this process may use, at most MOST_THREADS."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS and Windows
        count = os.cpu_count() or 1
    return min(count, MOST_THREADS)


_lock = threading.Lock()
_users = 0
_controller: Any = None
_limits: Any = None


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Within it, numpy's BLAS uses the calling thread only (process-wide; overlapping uses count).

    A single question gains too: its small products cost ten times their CPU when threads wait for each other on a
    busy machine.
    """
    global _users, _controller, _limits
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    with _lock:
        _users += 1
        if _users == 1:
            _controller = _controller or ThreadpoolController()
            _limits = _controller.limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limits.restore_original_limits()
                _limits = None
