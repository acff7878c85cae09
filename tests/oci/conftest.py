from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def folder() -> Iterator[Path]:
    """A fresh folder, in memory where the system has such a file system: every commit is a fsync."""
    memory = Path("/dev/shm")
    path = Path(tempfile.mkdtemp(prefix="csl-oci-", dir=memory if memory.is_dir() else None))
    yield path
    shutil.rmtree(path, ignore_errors=True)
