"""A brain with one file of three passages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from product import ground
from proposals import Proposals


@pytest.fixture
def folder() -> Iterator[Path]:
    with ground() as root:
        yield root


@pytest.fixture
def brain(folder: Path) -> Iterator[Proposals]:
    made = Proposals.create(folder)
    yield made
    made.store.close()
