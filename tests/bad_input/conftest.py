from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from product import Product, ground, library


@pytest.fixture(scope="session")
def farm() -> Iterator[Product]:
    """A project of real brains, which no test changes."""
    with ground() as folder:
        yield library(folder / "farm")


@pytest.fixture
def own_farm(farm: Product) -> Iterator[Product]:
    """The same, to be changed."""
    with ground() as folder:
        yield Product(Path(shutil.copytree(farm.root, folder / "farm", symlinks=True)))
