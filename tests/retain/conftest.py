from __future__ import annotations

from collections.abc import Iterator

import pytest
from product import Product, ground, new_project

ALLOWED = "\n[retention]\ncanonical_drop = true\nredact = true\ncanonical_redact = true\n"


@pytest.fixture
def product() -> Iterator[Product]:
    """A project of two brains with the stand-in model, whose policy allows everything."""
    with ground() as root:
        made = new_project(root)
        for name in ("north", "south"):
            assert made.csl("project", "add", name, "--model", "hashed").status == 0
        made.file.write_text(made.file.read_text() + ALLOWED)
        yield made
