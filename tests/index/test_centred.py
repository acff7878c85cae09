"""Vectors without the mean of their index: of length 1, for what has one, and none where rows are few or damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from consilience.index.centred import LEAST_ROWS, SAMPLE
from consilience.index.vectors import VectorIndex, text_hash

DIMS = 24


def made(folder: Path, count: int, *, shift: float = 3.0) -> tuple[VectorIndex, np.ndarray]:
    """An index of `count` random vectors around a common direction, ordinals 2, 4, 6, ..., and the vectors."""
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(count, DIMS)) + shift * np.ones(DIMS)
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    ns = [2 * (i + 1) for i in range(count)]
    with VectorIndex.open_for_write(folder, "t", DIMS) as writer:
        writer.append(ns, [text_hash(str(n)) for n in ns], rows)
        writer.commit(ns[-1])
    index = VectorIndex.open(folder, "t")
    assert index is not None
    return index, rows


@pytest.mark.parametrize("count", [LEAST_ROWS, 300, 3 * SAMPLE])
def test_what_all_have_in_common_is_taken_away(tmp_path: Path, count: int) -> None:
    index, rows = made(tmp_path, count)
    found, vectors = index.centred([4, 5, 8, 10**9])
    assert found.tolist() == [True, False, True, False]
    wanted = rows[[1, 3]].astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0)
    assert np.all(np.einsum("ij,ij->i", vectors, wanted) > 0.99)
    apart = index.centred(range(2, 2 * count, 2))[1]
    crowded = rows @ rows.T
    assert np.median(crowded) > 0.8 and abs(np.median(apart @ apart.T)) < 0.1


def test_a_few_rows_have_no_mean_to_speak_of(tmp_path: Path) -> None:
    index, _ = made(tmp_path, LEAST_ROWS - 1)
    found, vectors = index.centred([2, 4])
    assert found.tolist() == [False, False] and vectors.shape == (0, DIMS)


@pytest.mark.parametrize("value", [np.inf, np.nan, 1e30, 0.0, 0.5])
def test_damaged_rows_are_left_out_and_move_no_mean(tmp_path: Path, value: float) -> None:
    index, _ = made(tmp_path, 100)
    before = index.centred([2, 4])[1]
    (scales,) = tmp_path.glob("*/scales.*")
    data = bytearray(scales.read_bytes())
    data[4 * 49 : 4 * 50] = np.array([value], np.float32).tobytes()  # the row of ordinal 100
    scales.write_bytes(data)
    again = VectorIndex.open(tmp_path, "t")
    assert again is not None
    found, vectors = again.centred([2, 100, 4])
    assert found.tolist() == [True, False, True]
    assert np.all(np.einsum("ij,ij->i", vectors, before) > 0.99)
