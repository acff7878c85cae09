"""Pairs of vectors that are alike: of different owners only, each once, whatever the order of the rows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from consilience.index.meaning import LEAST_ALIKE, alike


def unit(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@given(st.lists(st.integers(0, 3), max_size=25), st.integers(0, 2**32 - 1), st.floats(0.0, 2.0))
def test_every_pair_that_reaches_the_bound_and_no_other(owners: list[int], seed: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    rows = unit(rng.normal(size=(max(1, len(owners)), 16)) * spread + rng.normal(size=16) + 1e-3)[
        : len(owners)
    ]
    wanted = {
        (a, b)
        for a in range(len(owners))
        for b in range(a + 1, len(owners))
        if owners[a] != owners[b] and round(float(np.dot(rows[a], rows[b])), 4) >= LEAST_ALIKE
    }
    found = alike([rows[:3], rows[3:]], owners)
    assert {(a, b) for a, b, _ in found} == wanted and len(found) == len(wanted)
    assert all(LEAST_ALIKE <= measure <= 1.0 for _, _, measure in found)


def test_a_vector_and_itself() -> None:
    rows = unit(np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [3.0, -2.0, 0.0]]))
    assert alike([rows], [0, 1, 1]) == [(0, 1, 1.0)]
    assert alike([rows], [0, 0, 1]) == []
    assert alike([rows[:1]], [0]) == [] and alike([], []) == []
