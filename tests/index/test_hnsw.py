"""The graph of neighbours: what it finds, what it is made of, and that nothing is left of it where rows have gone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from consilience.errors import BusyError
from consilience.index import hnsw, hnsw_build
from consilience.index._files import WriterLock
from consilience.index.hnsw import SEGMENT
from consilience.index.scan import Scan
from consilience.index.vectors import VectorIndex, text_hash

pytest.importorskip("usearch")

Floats = npt.NDArray[np.float32]
TAG = "model:1"
DIMS = 16
COUNT = SEGMENT + 300


def cloud(rows: int, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    vectors = np.full(DIMS, 0.4) + rng.normal(size=(rows, DIMS)) * 0.4
    unit: Floats = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


def write(folder: Path, vectors: Floats, first: int = 1) -> VectorIndex:
    ns = list(range(first, first + len(vectors)))
    with VectorIndex.open_for_write(folder, TAG, DIMS) as writer:
        writer.append(ns, [text_hash(str(n)) for n in ns], vectors)
        writer.commit(max(ns))
    return reader(folder)


def reader(folder: Path) -> VectorIndex:
    index = VectorIndex.open(folder, TAG)
    assert index is not None
    return index


def link(folder: Path, questions: Floats | None = None) -> VectorIndex:
    index = reader(folder)
    index.link(questions, lambda _: None)
    assert index.refresh() or index.hnsw is not None
    return index


def graph_files(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.glob("*/hnsw.*") if not p.name.endswith(".lock"))


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hnsw, "WIDTH_BUILD", 24)
        yield


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("linked")
    write(folder, cloud(COUNT))
    link(folder, cloud(20, 5))
    return folder


@pytest.fixture
def copy(linked: Path, tmp_path: Path) -> Path:
    shutil.copytree(linked, tmp_path / "copy")
    return tmp_path / "copy"


def test_what_it_finds_is_what_was_measured_with_the_scores_of_an_exact_scan(linked: Path) -> None:
    index = reader(linked)
    known = index.hnsw
    assert known is not None and known.rows == SEGMENT and known.questions == 20
    assert 0.9 < known.recall_60 <= known.recall_10 <= 1.0
    shares = []
    for q in cloud(30, 9):
        exact = {h.n: h.score for h in index.search(q, 10).hits}
        found = index.search(q, 10, scan=Scan.HNSW)
        assert not found.exhausted and len(found.hits) == 10
        shares.append(len(exact.keys() & {h.n for h in found.hits}) / 10)
        assert all(exact[h.n] == h.score for h in found.hits if h.n in exact)
    assert np.mean(shares) >= known.recall_10 - 0.05


def test_rows_after_the_last_segment_are_looked_at_exactly(linked: Path) -> None:
    index, vectors = reader(linked), cloud(COUNT)
    for row in (SEGMENT, COUNT - 1):
        assert index.search(vectors[row], 1, scan=Scan.HNSW).hits[0].n == row + 1


def test_a_list_of_eligible_rows_is_met_exactly(linked: Path) -> None:
    index, q = reader(linked), cloud(1, 3)[0]
    some = list(range(1, COUNT, 3))
    assert index.search(q, 20, eligible=some, scan=Scan.HNSW) == index.search(q, 20, eligible=some)


def test_the_graph_follows_from_the_rows_not_from_when_it_was_made(tmp_path: Path) -> None:
    vectors = cloud(2 * SEGMENT + 10)
    write(tmp_path / "once", vectors)
    link(tmp_path / "once")
    write(tmp_path / "often", vectors[: SEGMENT + 77])
    link(tmp_path / "often")
    write(tmp_path / "often", vectors[SEGMENT + 77 :], SEGMENT + 78)
    link(tmp_path / "often")
    once, often = (next((tmp_path / name).glob("*/*.usearch")) for name in ("once", "often"))
    assert once.name == often.name and once.read_bytes() == often.read_bytes()
    assert graph_files(tmp_path / "often") == ["hnsw.0.16384.usearch", "hnsw.json"]


def test_few_rows_have_none(tmp_path: Path) -> None:
    index = write(tmp_path, cloud(SEGMENT - 1))
    assert index.unlinked() == 0
    assert index.link(None, lambda _: None) is None and index.hnsw is None
    q = cloud(1, 3)[0]
    assert index.search(q, 5, scan=Scan.HNSW) == index.search(q, 5)


@pytest.mark.parametrize("kept_later", [False, True])
def test_a_purge_leaves_nothing_of_it(copy: Path, kept_later: bool) -> None:
    assert len(graph_files(copy)) == 2
    with VectorIndex.open_for_write(copy, TAG, DIMS) as writer:
        assert writer.purge([17], codes_later=kept_later) == 1
        assert graph_files(copy) == []
    index = link(copy)
    assert index.hnsw is not None and index.hnsw.generation == 1
    assert 17 not in {h.n for h in index.search(cloud(COUNT)[16], 200, scan=Scan.HNSW).hits}


def test_a_purge_while_it_is_made_keeps_it_from_being_written(tmp_path: Path) -> None:
    write(tmp_path, cloud(COUNT))
    index = reader(tmp_path)
    seen: list[int] = []

    def purge_once(done: int) -> None:
        if not seen:
            with VectorIndex.open_for_write(tmp_path, TAG, DIMS) as writer:
                writer.purge([5])
        seen.append(done)

    assert index.link(None, purge_once) is None
    assert sum(seen) == SEGMENT and graph_files(tmp_path) == []
    assert link(tmp_path).hnsw is not None


def test_a_purge_just_before_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, cloud(COUNT))
    measured = hnsw_build.measured

    def purged(*values: Any) -> Any:
        with VectorIndex.open_for_write(tmp_path, TAG, DIMS) as writer:
            writer.purge([5])
        return measured(*values)

    monkeypatch.setattr(hnsw_build, "measured", purged)
    assert reader(tmp_path).link(None, lambda _: None) is None
    assert graph_files(tmp_path) == []


def test_a_purge_waits_while_it_is_written(copy: Path) -> None:
    (folder,) = (p.parent for p in copy.glob("*/hnsw.json"))
    lock = WriterLock(folder / hnsw.INSTALL_LOCK)
    threading.Timer(0.3, lock.release).start()
    with VectorIndex.open_for_write(copy, TAG, DIMS) as writer:
        writer.purge([3])
    assert graph_files(copy) == []


def test_what_a_killed_build_left_is_removed_by_the_next_writer(copy: Path) -> None:
    (folder,) = (p.parent for p in copy.glob("*/hnsw.json"))
    (folder / "hnsw.0.16384.usearch.tmp").write_bytes(b"half of it")
    (folder / "hnsw.3.8192.usearch").write_bytes(b"of other rows")
    with VectorIndex.open_for_write(copy, TAG, DIMS):
        pass
    assert graph_files(copy) == ["hnsw.0.8192.usearch", "hnsw.json"]


def test_rows_of_the_same_count_that_are_others_have_no_graph(copy: Path, tmp_path: Path) -> None:
    write(tmp_path / "other", cloud(COUNT, 1))
    (theirs,), (ours,) = ([p.parent for p in f.glob("*/meta.json")] for f in (tmp_path / "other", copy))
    for name in graph_files(copy):
        shutil.copy(ours / name, theirs / name)
    assert reader(tmp_path / "other").hnsw is None
    assert link(tmp_path / "other").hnsw is not None


@pytest.mark.parametrize("damage", ["flip", "cut", "gone", "document"])
def test_damage_costs_the_shortcut_only_and_is_said(copy: Path, damage: str) -> None:
    (path,) = copy.glob("*/*.usearch")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    if damage == "flip":
        path.write_bytes(data)
    elif damage == "cut":
        path.write_bytes(data[:1000])
    elif damage == "gone":
        path.unlink()
    else:
        document = path.with_name(hnsw.DOCUMENT)
        document.write_bytes(document.read_bytes().replace(b'"dims":16', b'"dims":17'))
    index, q = reader(copy), cloud(1, 3)[0]
    assert index.search(q, 20, scan=Scan.HNSW) == index.search(q, 20)
    assert ("its checksum does not hold" in index.graph_problem) == (damage == "flip")
    again = link(copy)
    assert again.hnsw is not None
    assert damage == "flip" or (again.search(q, 1, scan=Scan.HNSW).hits and not again.graph_problem)


def test_a_reader_sees_a_graph_that_was_made_since(tmp_path: Path) -> None:
    index = write(tmp_path, cloud(COUNT))
    assert index.hnsw is None and not index.refresh()
    link(tmp_path)
    assert index.refresh() and index.hnsw is not None and not index.refresh()


def test_two_at_once(copy: Path) -> None:
    (folder,) = (p.parent for p in copy.glob("*/hnsw.json"))
    lock = WriterLock(folder / hnsw.LOCK)
    try:
        with pytest.raises(BusyError):
            reader(copy).link(None, lambda _: None)
    finally:
        lock.release()


def test_threads_share_it(linked: Path) -> None:
    index, qs = reader(linked), cloud(24, 4)
    alone = [index.search(q, 15, scan=Scan.HNSW) for q in qs]
    found: dict[int, list[object]] = {}

    def ask(which: int) -> None:
        found[which] = [index.search(q, 15, scan=Scan.HNSW) for q in qs]

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(each == alone for each in found.values()) and len(found) == 4


KILLED = """
import os, sys
from pathlib import Path
from consilience.index.vectors import VectorIndex
done = 0
def advance(rows):
    global done
    done += rows
    if done > 5000:
        os._exit(9)
VectorIndex.open(Path(sys.argv[1]), "model:1").link(None, advance)
"""


def test_a_killed_build_leaves_what_was(tmp_path: Path) -> None:
    write(tmp_path, cloud(COUNT))
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], env={**os.environ}, check=False)
    assert done.returncode == 9 and graph_files(tmp_path) == []
    assert link(tmp_path).hnsw is not None


def test_without_the_library(linked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hnsw, "installed", lambda: False)
    index = reader(linked)
    assert index.hnsw is None and index.hnsw_lacks_library


def test_what_a_killed_build_left_is_purged_too(copy: Path) -> None:
    folder = next(copy.glob("*/hnsw.json")).parent
    left = folder / ".hnsw.0.16384.usearch.4194305.part"
    left.write_bytes(b"codes of vectors")
    hnsw_build.drop(folder)
    assert not left.exists() and not graph_files(copy)
