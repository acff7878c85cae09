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


@pytest.fixture
def spread(pytestconfig: pytest.Config) -> Callable[[int], list[int]]:
    """Numbers below a count: all of them in a long run, `--soak-examples` evenly spaced ones where it is smaller."""

    def spread(count: int) -> list[int]:
        wanted = min(count, int(pytestconfig.getoption("soak_examples")))
        return sorted({i * count // wanted for i in range(wanted)})

    return spread


@pytest.fixture(scope="session")
def case(worker: Worker) -> Iterator[Callable[[str], Case]]:
    """Operations by name."""
    with ground() as folder:
        yield cases(worker, started(folder / "base"), folder)
