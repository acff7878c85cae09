from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from consilience.errors import BusyError, IndexUnusableError, StorageError, ValidationError
from consilience.index.vectors import VectorIndex, quantise, text_hash
from consilience.model import Hits

Floats = NDArray[np.float32]
TAG = "model@1 384"


def unit(rows: int, dims: int, seed: int = 0) -> Floats:
    matrix = np.random.default_rng(seed).normal(size=(rows, dims)).astype(np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def hashes(count: int, start: int = 0) -> list[bytes]:
    return [text_hash(f"text {i}") for i in range(start, start + count)]


def write(folder: Path, ns: list[int], vectors: Floats, tag: str = TAG) -> VectorIndex:
    with VectorIndex.open_for_write(folder, tag, vectors.shape[1]) as writer:
        writer.append(ns, [text_hash(str(n)) for n in ns], vectors)
        writer.commit(max(ns, default=0))
    return reader(folder, tag)


def reader(folder: Path, tag: str = TAG) -> VectorIndex:
    index = VectorIndex.open(folder, tag)
    assert index is not None
    return index


def dequantised(vectors: Floats) -> Floats:
    codes, scales = quantise(vectors)
    return codes.astype(np.float32) * scales[:, None]


def brute(
    ns: list[int], vectors: Floats, q: Floats, k: int, eligible: set[int] | None = None
) -> list[tuple[int, float]]:
    """The definition: the last row of an ordinal, every cosine, best first, ties by ordinal."""
    last = dict(zip(ns, dequantised(vectors), strict=True))
    scored = [
        (n, round(float(np.dot(row.astype(np.float64), q.astype(np.float64))), 5))
        for n, row in last.items()
        if eligible is None or n in eligible
    ]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:k]


def test_absent_until_something_is_written(tmp_path: Path) -> None:
    assert VectorIndex.open(tmp_path, TAG) is None
    index = write(tmp_path, [5, 9], unit(2, 8))
    assert (index.tag, index.dims, index.count, index.watermark) == (TAG, 8, 2, 9)
    assert VectorIndex.tags(tmp_path) == (TAG,)


def test_quantised_rows_keep_their_length_and_direction() -> None:
    vectors = unit(200, 384)
    rows = dequantised(vectors)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert (np.einsum("ij,ij->i", rows, vectors) > 0.9999).all()
    assert not dequantised(np.zeros((1, 4), np.float32)).any()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=60),
    st.integers(1, 70),
    st.one_of(st.none(), st.sets(st.integers(0, 50))),
    st.integers(0, 10**6),
)
def test_search_equals_brute_force_over_the_dequantised_rows(
    tmp_path_factory: pytest.TempPathFactory, ns: list[int], k: int, eligible: set[int] | None, seed: int
) -> None:
    """Ordinals in any order and more than once: the last row of each is the one that counts."""
    folder = tmp_path_factory.mktemp("vectors")
    vectors, q = unit(len(ns), 24, seed), unit(1, 24, seed + 1)[0]
    index = write(folder, ns, vectors)
    hits = index.search(q, k, eligible=None if eligible is None else sorted(eligible))
    expected = brute(ns, vectors, q, k, eligible)
    assert [h.n for h in hits.hits] == [n for n, _ in expected]
    assert [h.score for h in hits.hits] == pytest.approx([s for _, s in expected], abs=2e-5)
    wanted = len({n for n in ns if eligible is None or n in eligible})
    assert hits.exhausted == (wanted <= k)


def test_ties_are_broken_by_ordinal(tmp_path: Path) -> None:
    one = unit(1, 16)
    index = write(tmp_path, list(range(1, 101)), np.repeat(one, 100, axis=0))
    assert [h.n for h in index.search(one[0], 7).hits] == list(range(1, 8))


def test_scores_of_given_ordinals(tmp_path: Path) -> None:
    vectors = unit(10, 16)
    index = write(tmp_path, list(range(10, 20)), vectors)
    scores = index.scores(vectors[3], [13, 99, 11, 13])
    assert scores[0] == scores[3] == pytest.approx(1.0, abs=1e-4)
    assert np.isnan(scores[1])
    assert index.scores(vectors[0], []).shape == (0,)
    by_search = {h.n: h.score for h in index.search(vectors[3], 10).hits}
    assert scores[2] == pytest.approx(by_search[11], abs=1e-5)


def test_best_cosine_of_many_questions(tmp_path: Path) -> None:
    vectors, qs = unit(3000, 16), unit(5, 16, 9)
    index = write(tmp_path, list(range(1, 3001)), vectors)
    assert index.best(qs) == pytest.approx([index.search(q, 1).hits[0].score for q in qs], abs=2e-5)


def test_an_empty_index_answers(tmp_path: Path) -> None:
    index = write(tmp_path, [], unit(0, 16))
    q = unit(1, 16)
    assert index.search(q[0], 5) == Hits(hits=(), exhausted=True)
    assert index.best(q).tolist() == [-1.0]
    assert np.isnan(index.scores(q[0], [1])).all()


def test_commits_append_and_survive(tmp_path: Path) -> None:
    vectors = unit(30, 16)
    for start in range(0, 30, 10):
        write(tmp_path, list(range(start + 1, start + 11)), vectors[start : start + 10])
    q = unit(1, 16, 4)[0]
    hits = reader(tmp_path).search(q, 30)
    assert [h.n for h in hits.hits] == [n for n, _ in brute(list(range(1, 31)), vectors, q, 30)]


def test_the_vector_of_a_text_is_found_by_its_hash(tmp_path: Path) -> None:
    vectors = unit(6, 16)
    with VectorIndex.open_for_write(tmp_path, TAG, 16) as writer:
        writer.append(range(1, 7), hashes(6), vectors)
        mask, _ = writer.reuse(hashes(6))
        assert not mask.any()
        writer.commit(6)
        mask, found = writer.reuse([*hashes(2, start=4), text_hash("unknown")])
    assert mask.tolist() == [True, True, False]
    assert np.allclose(found[:2], dequantised(vectors)[4:], atol=1e-6)
    assert not found[2].any()


def test_a_reused_vector_is_stored_unchanged(tmp_path: Path) -> None:
    write(tmp_path, [1], unit(1, 32))
    with VectorIndex.open_for_write(tmp_path, TAG, 32) as writer:
        _, found = writer.reuse([text_hash("1")])
        writer.append([2], [text_hash("1")], found)
        writer.commit(2)
    scores = [h.score for h in reader(tmp_path).search(unit(1, 32)[0], 2).hits]
    assert scores[0] == pytest.approx(scores[1], abs=2e-5)


def test_tags_never_meet(tmp_path: Path) -> None:
    write(tmp_path, [1], unit(1, 8), tag="model A/1")
    write(tmp_path, [2], unit(1, 8), tag="model-a 1")
    assert VectorIndex.tags(tmp_path) == ("model A/1", "model-a 1")
    assert [h.n for h in reader(tmp_path, "model A/1").search(unit(1, 8)[0], 5).hits] == [1]
    assert VectorIndex.open(tmp_path, "model a 1") is None


def test_another_width_of_the_same_tag_starts_anew(tmp_path: Path) -> None:
    write(tmp_path, [1, 2], unit(2, 8))
    index = write(tmp_path, [1], unit(1, 12))
    assert (index.dims, index.count) == (12, 1)


@pytest.mark.parametrize(
    ("ns", "count", "vectors"),
    [
        ([1, 2], 2, unit(3, 8)),
        ([1, 2], 1, unit(2, 8)),
        ([1, 2], 2, unit(2, 9)),
        ([1], 1, np.full((1, 8), np.nan, np.float32)),
        ([1], 1, np.full((1, 8), np.inf, np.float32)),
    ],
)
def test_vectors_that_do_not_fit_are_refused(
    tmp_path: Path, ns: list[int], count: int, vectors: Floats
) -> None:
    with VectorIndex.open_for_write(tmp_path, TAG, 8) as writer, pytest.raises(ValidationError):
        writer.append(ns, hashes(count), vectors)


def test_a_question_of_another_width_is_refused(tmp_path: Path) -> None:
    index = write(tmp_path, [1], unit(1, 8))
    with pytest.raises(ValidationError, match="9 dimensions"):
        index.search(unit(1, 9)[0], 1)


# --- commits, kills, damage -------------------------------------------------------------------------------------


def test_what_is_not_committed_is_dropped(tmp_path: Path) -> None:
    index = write(tmp_path, [1], unit(1, 8))
    with VectorIndex.open_for_write(tmp_path, TAG, 8) as writer:
        writer.append([2], hashes(1), unit(1, 8, 3))
    assert not index.refresh()
    assert reader(tmp_path).count == 1


def test_a_full_disk_is_a_storage_error_and_keeps_the_last_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, [1], unit(1, 8))

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with VectorIndex.open_for_write(tmp_path, TAG, 8) as writer, monkeypatch.context() as patch:
        writer.append([2], hashes(1), unit(1, 8))
        patch.setattr(os, "fsync", full)
        with pytest.raises(StorageError, match="No space left"):
            writer.commit(2)
    assert reader(tmp_path).count == 1
    assert write(tmp_path, [3], unit(1, 8)).count == 2


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with VectorIndex.open_for_write(tmp_path, TAG, 8), pytest.raises(BusyError):
        VectorIndex.open_for_write(tmp_path, TAG, 8)


def test_a_kill_before_the_count_leaves_a_tail_that_is_ignored_and_written_over(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys, numpy as np\nfrom pathlib import Path\n"
        "from consilience.index import vector_writer\nfrom consilience.index.vectors import VectorIndex, text_hash\n"
        "vector_writer.replace_json = lambda path, meta: os.kill(os.getpid(), signal.SIGKILL)\n"
        "w = VectorIndex.open_for_write(Path(sys.argv[1]), sys.argv[2], 8)\n"
        "w.append([2, 3], [text_hash('2'), text_hash('3')], np.ones((2, 8), np.float32))\nw.commit(3)\n"
    )
    index = write(tmp_path, [1], unit(1, 8))
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path), TAG], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not index.refresh()
    assert [h.n for h in reader(tmp_path).search(unit(1, 8)[0], 9).hits] == [1]
    after = write(tmp_path, [7], unit(1, 8, 5))
    assert sorted(h.n for h in after.search(unit(1, 8)[0], 9).hits) == [1, 7]
    assert after.scores(unit(1, 8, 5)[0], [7])[0] == pytest.approx(1.0, abs=1e-3)


def test_short_files_are_noticed_and_healed(tmp_path: Path) -> None:
    write(tmp_path, list(range(1, 11)), unit(10, 8))
    (folder,) = [path for path in tmp_path.iterdir() if path.is_dir()]
    files = [path for path in sorted(folder.iterdir()) if path.suffix != ".lock" and path.stat().st_size]
    assert len(files) >= 5
    for path in files:
        kept = {each: each.read_bytes() for each in files}
        path.write_bytes(kept[path][: len(kept[path]) // 2])
        with pytest.raises(IndexUnusableError):
            VectorIndex.open(tmp_path, TAG)
        path.unlink()
        if path.name != "meta.json":
            with pytest.raises(IndexUnusableError):
                VectorIndex.open(tmp_path, TAG)
        for each, data in kept.items():
            each.write_bytes(data)
        assert reader(tmp_path).count == 10
    (folder / "meta.json").write_text("{}")
    assert write(tmp_path, [3], unit(1, 8)).count == 1


@pytest.mark.parametrize("change", [{"format": 99}, {"tag": "other"}, {"dims": 0}, {"count": 10**9}])
def test_foreign_and_newer_metas_are_refused(tmp_path: Path, change: dict[str, object]) -> None:
    import json

    write(tmp_path, [1], unit(1, 8))
    (meta,) = tmp_path.glob("*/meta.json")
    meta.write_text(json.dumps({**json.loads(meta.read_text()), **change}))
    with pytest.raises(IndexUnusableError):
        VectorIndex.open(tmp_path, TAG)


def test_readers_are_consistent_while_a_writer_commits(tmp_path: Path) -> None:
    vectors = unit(400, 16)
    write(tmp_path, [1], vectors[:1])
    problems: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            try:
                index = reader(tmp_path)
                index.refresh()
                found = index.search(vectors[0], 1000)
                if sorted(h.n for h in found.hits) != list(range(1, len(found.hits) + 1)):
                    problems.append(found)
            except Exception as error:
                problems.append(error)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for n in range(2, 40):
        write(tmp_path, [n], vectors[n : n + 1])
    done.set()
    for thread in threads:
        thread.join()
    assert not problems


def test_purged_rows_are_on_no_file(tmp_path: Path) -> None:
    vectors = unit(10, 32)
    index = write(tmp_path, list(range(1, 11)), vectors)
    secret = quantise(vectors[4:5])[0].tobytes()
    assert secret in contents(tmp_path)
    with VectorIndex.open_for_write(tmp_path, TAG, 32) as writer:
        assert writer.purge([5, 99]) == 1
        assert writer.watermark == 10
    assert secret not in contents(tmp_path)
    assert text_hash("5") not in contents(tmp_path)
    assert index.refresh()
    q = unit(1, 32, 8)[0]
    assert [h.n for h in index.search(q, 10).hits] == [
        n for n, _ in brute(list(range(1, 11)), vectors, q, 10) if n != 5
    ]
    assert len(list(tmp_path.glob("*/*"))) <= 7


def contents(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
