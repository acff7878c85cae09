from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from disturbed import Case, cases
from faults import Worker, workers
from operations import started
from product import ground


@pytest.fixture(scope="session")
def worker() -> Iterator[Worker]:
    yield from workers()


@pytest.fixture(scope="session")
def case(worker: Worker) -> Iterator[Callable[[str], Case]]:
    """Operations by name."""
    with ground() as folder:
        yield cases(worker, started(folder / "base"), folder)
