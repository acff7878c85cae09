"""Tables of several brains, made side by side: reading a brain holds Python's lock, filling a table does not."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Callable, Mapping
from typing import TypeVar

from consilience.errors import ConsilienceError
from consilience.sql.seal import Limits, translated

__all__ = ["side_by_side"]

Item = TypeVar("Item")

WAIT_S = 0.05


def side_by_side(
    work: Callable[[Item], None], items: Mapping[str, Item], limits: Limits
) -> dict[str, ConsilienceError]:
    """Do `work` for each of `items`, as many at once as there are cores; what went wrong, by name.

    An interrupt of the caller waits for those that are being made, and starts no other.
    """
    failed: dict[str, ConsilienceError] = {}
    todo: queue.SimpleQueue[str] = queue.SimpleQueue()
    for name in items:
        todo.put(name)

    def make() -> None:
        while True:
            try:
                name = todo.get_nowait()
            except queue.Empty:
                return
            try:
                work(items[name])
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt) or "interrupted" in str(error):
                    raise
                failed[name] = translated(error, limits)

    if len(items) < 2:
        make()
        return failed
    threads = [
        threading.Thread(target=make, daemon=True) for _ in range(min(len(items), os.cpu_count() or 1))
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            while thread.is_alive():
                thread.join(WAIT_S)
    except BaseException:
        while not todo.empty():
            with contextlib.suppress(queue.Empty):
                todo.get_nowait()
        for thread in threads:
            thread.join()
        raise
    return {name: failed[name] for name in items if name in failed}
