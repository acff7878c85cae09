from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from consilience.store import Store


@pytest.fixture
def folder() -> Iterator[Path]:
    """A fresh folder, in memory where the system has such a file system: every commit is a fsync."""
    memory = Path("/dev/shm")
    made = Path(tempfile.mkdtemp(prefix="csl-", dir=memory if memory.is_dir() else None))
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    with Store.create(folder / "brain") as made:
        yield made
