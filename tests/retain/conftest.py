from __future__ import annotations

from collections.abc import Iterator

import pytest
from product import Product, ground
from product_retention import allowing


@pytest.fixture
def product() -> Iterator[Product]:
    """A project of two brains whose policy allows everything."""
    with ground() as root:
        yield allowing(root)
