from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from consilience.index import coarse
from consilience.index.scan import Scan
from consilience.index.vectors import VectorIndex, text_hash

Floats = NDArray[np.float32]
TAG = "model"


def crowded(rows: int, dims: int, seed: int = 0) -> Floats:
    """Unit vectors that crowd around one direction, as those of real models do."""
    centres = np.random.default_rng(99).normal(size=(20, dims))
    rng = np.random.default_rng(seed)
    matrix = 3.0 * np.ones(dims) + centres[rng.integers(0, 20, rows)] + 0.7 * rng.normal(size=(rows, dims))
    return (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)


def write(folder: Path, vectors: Floats, ns: list[int]) -> VectorIndex:
    with VectorIndex.open_for_write(folder, TAG, vectors.shape[1]) as writer:
        writer.append(ns, [text_hash(str(n)) for n in ns], vectors)
        writer.commit(max(ns))
    return reader(folder)


def reader(folder: Path) -> VectorIndex:
    index = VectorIndex.open(folder, TAG)
    assert index is not None
    return index


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coarse, "BUILD_FROM", 2000)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 200), st.integers(1, 30), st.integers(0, 10**6))
def test_packed_distances_equal_a_plain_count(dims: int, rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bits, query = rng.random((rows, dims)) < 0.5, rng.random((1, dims)) < 0.5
    packed = coarse.distances(coarse.pack(bits), coarse.pack(query)[:, 0])
    assert packed.tolist() == [sum(a != b for a, b in zip(row, query[0], strict=True)) for row in bits]


def test_distances_beyond_a_byte_do_not_wrap() -> None:
    bits = np.ones((3, 1024), np.bool_)
    query = coarse.pack(np.zeros((1, 1024), np.bool_))[:, 0]
    assert coarse.distances(coarse.pack(bits), query).tolist() == [1024] * 3


@pytest.mark.parametrize("dims", [7, 64, 65])
def test_a_rotation_keeps_lengths_and_is_the_same_every_time(dims: int) -> None:
    turn = coarse.rotation(dims)
    assert np.allclose(turn @ turn.T, np.eye(dims), atol=1e-5)
    assert (turn == coarse.rotation(dims)).all()


@pytest.mark.parametrize("dims", [63, 96])
def test_the_two_stage_scan_finds_nearly_what_the_exact_one_does(tmp_path: Path, dims: int) -> None:
    vectors = crowded(6000, dims)
    index = write(tmp_path, vectors, list(range(1, 6001)))
    assert index.coarse is not None
    assert index.coarse.rows == coarse.coverage(6000) == 5767
    recalls = []
    for q in crowded(30, dims, 1):
        exact = {h.n: h.score for h in index.search(q, 10).hits}
        found = {h.n: h.score for h in index.search(q, 10, scan=Scan.TWO_STAGE).hits}
        recalls.append(len(exact.keys() & found.keys()) / 10)
        assert all(exact[n] == pytest.approx(score, abs=2e-5) for n, score in found.items() if n in exact)
    assert np.mean(recalls) > 0.9
    assert index.recall(crowded(30, dims, 1)) == pytest.approx(np.mean(recalls), abs=0.02)
    assert index.coarse.recall_10 == pytest.approx(np.mean(recalls), abs=0.1)
    assert 0.5 < index.coarse.recall_100 <= index.coarse.recall_10 <= 1.0


def test_few_rows_have_no_coarse_stage_and_are_exact(tmp_path: Path) -> None:
    vectors = crowded(500, 16)
    index = write(tmp_path, vectors, list(range(1, 501)))
    assert index.coarse is None
    assert index.recall(vectors[:3]) == 1.0
    assert index.search(vectors[0], 9, scan=Scan.TWO_STAGE) == index.search(vectors[0], 9)


def test_rows_that_came_later_and_filters_are_covered(tmp_path: Path) -> None:
    vectors = crowded(2600, 32)
    write(tmp_path, vectors[:2500], list(range(1, 2501)))
    index = write(tmp_path, vectors[2500:], list(range(2501, 2601)))
    assert index.coarse is not None
    assert index.coarse.rows == 2531
    late = vectors[2550]
    assert index.search(late, 1, scan=Scan.TWO_STAGE).hits[0].n == 2551
    eligible = list(range(1, 2601, 2))
    found = index.search(late, 50, eligible=eligible, scan=Scan.TWO_STAGE)
    assert {h.n for h in found.hits} <= set(eligible)
    assert found.hits[0].n == 2551
    assert not found.exhausted
    few = index.search(late, 50, eligible=[3, 4, 2599], scan=Scan.TWO_STAGE)
    assert sorted(h.n for h in few.hits) == [3, 4, 2599]
    assert few.exhausted


def test_the_last_row_of_an_ordinal_wins_in_both_scans(tmp_path: Path) -> None:
    vectors = crowded(2500, 32)
    write(tmp_path, vectors[:2400], list(range(1, 2401)))
    index = write(tmp_path, vectors[2400:], list(range(100, 0, -1)))
    for scan in (Scan.EXACT, Scan.TWO_STAGE):
        hits = index.search(vectors[2400], 2400, scan=scan).hits
        assert hits[0].n == 100
        assert len({h.n for h in hits}) == len(hits)
        assert hits[0].score == pytest.approx(1.0, abs=1e-3)
        assert {h.n: h.score for h in index.search(vectors[99], 2400, scan=scan).hits}[100] < 0.9999


def test_the_codes_are_made_anew_when_the_index_outgrew_them(tmp_path: Path) -> None:
    vectors = crowded(4000, 16)
    for start in range(0, 4000, 500):
        index = write(tmp_path, vectors[start : start + 500], list(range(start + 1, start + 501)))
    assert index.coarse is not None
    assert index.coarse.rows == 3602
    assert len(list(tmp_path.glob("*/coarse.*"))) == 1


def test_the_codes_do_not_hang_on_how_the_rows_came(tmp_path: Path) -> None:
    vectors = crowded(4000, 16)
    write(tmp_path / "once", vectors, list(range(1, 4001)))
    for start in range(0, 4000, 250):
        write(tmp_path / "often", vectors[start : start + 250], list(range(start + 1, start + 251)))
    once, often = (next((tmp_path / name).glob("*/coarse.*")) for name in ("once", "often"))
    assert once.read_bytes() == often.read_bytes()


@given(st.integers(0, 10**7))
def test_few_rows_are_without_codes(count: int) -> None:
    covered = coarse.coverage(count)
    assert (covered == 0) == (count < coarse.BUILD_FROM)
    assert covered <= count and (not covered or count - covered <= covered // coarse.GROWTH)
    assert coarse.coverage(covered) == covered


def test_damaged_codes_cost_the_shortcut_only(tmp_path: Path) -> None:
    vectors = crowded(2500, 16)
    index = write(tmp_path, vectors, list(range(1, 2501)))
    (path,) = tmp_path.glob("*/coarse.*")
    for damage in (lambda: path.write_bytes(path.read_bytes()[:100]), path.unlink):
        damage()
        again = reader(tmp_path)
        assert again.coarse is None
        assert again.search(vectors[7], 20, scan=Scan.TWO_STAGE) == index.search(vectors[7], 20)
