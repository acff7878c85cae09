"""Contained processes side by side: each parses one file at a time, and results are asked for in any order.

Started by `subprocess`, never forked: this process may have threads of numpy, tantivy or a model, whose locks a fork
would copy (docs/decisions/0310-parsing-ahead.md).
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from consilience.ingest.readers.contained import Container, Limits, Parsed


class Parsers:
    """`count` threads, each with a process that is started with its first file. Use from one thread."""

    def __init__(self, count: int, limits: Limits | None = None) -> None:
        self._threads = ThreadPoolExecutor(count, thread_name_prefix="csl-parse")
        self._all = [Container(limits) for _ in range(count)]
        self._free: queue.LifoQueue[Container] = queue.LifoQueue()
        for container in reversed(self._all):
            self._free.put(container)

    def submit(
        self, media_type: str, data: bytes, name: str, beside: bytes | None = None
    ) -> Callable[[], Parsed]:
        """Begin to parse a file; calling what is returned waits for it. A process that dies costs its file."""

        def parse() -> Parsed:
            container = self._free.get()
            try:
                return container.parse(media_type, data, name, beside)
            finally:
                self._free.put(container)

        return self._threads.submit(parse).result

    @property
    def started(self) -> int:
        """How many processes there were."""
        return sum(container.started for container in self._all)

    def stop(self) -> None:
        """End the processes, whatever they are at; what was not asked for is lost."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for container in self._all:
            container.stop()
        self._threads.shutdown()
