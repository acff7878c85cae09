"""A tiny model in the layout of the real weight file, so that most tests need neither the package nor its time."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from consilience.embed import EmbedderSpec, available, e5_cache, e5_source
from consilience.embed.e5 import E5Embedder

HIDDEN, LAYERS, HEADS, INNER, POSITIONS = 64, 2, 2, 96, 512
PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁que", "ry", ":", "▁passage", "▁ab", "abc", "c", "a", "b"]
PIECES += ["d", "é", "漢", "漢字", "▁x", "\u200d"]
SCORES = [0.0, 0.0, 0.0, 0.0, -3, -5, -6, -4, -7, -5, -7, -5, -4, -4, -6, -8, -9, -10, -6, -9]
FOLDS = {0xA0: " ", 0x01: "", 0xFB01: "fi", ord("Ａ"): "a", ord("B"): "b"}


def _quantised(rng: np.random.Generator, rows: int, columns: int) -> bytes:
    blocks = np.empty((rows, columns // 32, 18), np.uint8)
    scales = (rng.random((rows, columns // 32)) * 0.05 + 0.01).astype("<f2")
    blocks[:, :, :2] = scales[..., None].view(np.uint8)
    blocks[:, :, 2:] = rng.integers(0, 256, (rows, columns // 32, 16))
    return blocks.tobytes()


def _tensors(rng: np.random.Generator) -> dict[str, bytes]:
    def floats(n: int, centre: float = 0.0) -> bytes:
        return (rng.standard_normal(n) * 0.1 + centre).astype("<f4").tobytes()

    out = {"emb.word": _quantised(rng, len(PIECES), HIDDEN)}
    out |= {"emb.pos": floats(POSITIONS * HIDDEN), "emb.type": floats(2 * HIDDEN)}
    out |= {"emb.ln.w": floats(HIDDEN, 1), "emb.ln.b": floats(HIDDEN)}
    for i in range(LAYERS):
        shapes = {"q": (HIDDEN, HIDDEN), "k": (HIDDEN, HIDDEN), "v": (HIDDEN, HIDDEN), "ao": (HIDDEN, HIDDEN)}
        shapes |= {"fi": (INNER, HIDDEN), "fo": (HIDDEN, INNER)}
        for name, (rows, columns) in shapes.items():
            out[f"l{i}.{name}.w"] = _quantised(rng, rows, columns)
            out[f"l{i}.{name}.b"] = floats(rows)
        for name in ("aln", "oln"):
            out[f"l{i}.{name}.w"], out[f"l{i}.{name}.b"] = floats(HIDDEN, 1), floats(HIDDEN)
    return out


def tiny_file() -> bytes:
    raw = [piece.encode() for piece in PIECES]
    ends = np.concatenate([[0], np.cumsum([len(piece) for piece in raw])]).astype("<u4")
    folds = b"".join(
        struct.pack("<IB", point, len(text)) + struct.pack(f"<{len(text)}I", *map(ord, text))
        for point, text in FOLDS.items()
    )
    head = struct.pack(
        "<2I7ifi", 0x45354E50, 1, HIDDEN, LAYERS, HEADS, INNER, len(PIECES), POSITIONS, 2, 1e-12, 32
    )
    head += struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, len(b"".join(raw)))
    head += ends.tobytes() + np.array(SCORES, "<f4").tobytes() + b"".join(raw)
    head += struct.pack("<iI", len(FOLDS), len(folds)) + folds
    tensors = _tensors(np.random.default_rng(7))
    directory = len(head) + 4 + sum(2 + len(name) + 21 for name in tensors)
    head += struct.pack("<i", len(tensors))
    for name, data in tensors.items():
        head += (
            struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", 0, 0, directory, len(data))
        )
        directory += len(data)
    return head + b"".join(tensors.values())


@pytest.fixture
def tiny_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A weight file that takes the place of the real one."""
    path = tmp_path / "weights.bin"
    data = tiny_file()
    path.write_bytes(data)
    monkeypatch.setattr(e5_source, "FILE_SIZE", len(data))
    monkeypatch.setattr(e5_source, "FILE_SHA256", hashlib.sha256(data).hexdigest())
    monkeypatch.setattr(e5_source, "locate", lambda: path)
    return path


@pytest.fixture
def tiny(tiny_source: Path, tmp_path: Path) -> E5Embedder:
    return E5Embedder(e5_cache.load(tmp_path / "cache"), accelerate=False)


@pytest.fixture(scope="session")
def e5(tmp_path_factory: pytest.TempPathFactory) -> Iterator[E5Embedder]:
    """The real model on numpy."""
    reason = available(EmbedderSpec())
    if reason is not None:
        pytest.skip(reason)
    yield E5Embedder(e5_cache.load(tmp_path_factory.mktemp("e5")), accelerate=False)
