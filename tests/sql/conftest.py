from __future__ import annotations

import pytest
from sql_brains import make
from stores import fact

from consilience.compound import Compound

pytest.importorskip("duckdb")


@pytest.fixture
def algebra(tmp_path):
    made = make(tmp_path)
    yield made
    made.brain.close()


@pytest.fixture
def pair(tmp_path):
    """Two brains that share most of their blocks, and a compound of them."""
    one, two = make(tmp_path), make(tmp_path, "rust")
    two.commit(fact("Only in the second."))
    yield one, two, Compound([one.brain, two.brain])
    one.brain.close()
    two.brain.close()
