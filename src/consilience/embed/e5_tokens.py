"""Unigram tokenizer (Kudo 2018) over the piece table of multilingual-e5-small.

Pieces are found in an open-addressing hash table that lies in the model's cache file, so that a new process builds
nothing before its first question: slot = CRC-32 of the piece's UTF-8 bytes, linear probing, entries are piece id + 1.
When many new words come, a dictionary of all pieces is built once and used instead.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from consilience.embed.e5_source import Shape, SourceFile

WORD_START = "▁"
LONGEST_PIECE = 16
UNKNOWN_PENALTY = 10.0

_TABLE_BITS = 20
_MASK = (1 << _TABLE_BITS) - 1
_DICT_AFTER = 2000
_CACHED_WORDS = 200_000
_CACHED_WORD_LENGTH = 64
_LONGEST_WORD = 8192
_LONGEST_TEXT = 1 << 17

Array = npt.NDArray[Any]


def build_arrays(source: SourceFile) -> dict[str, Array]:
    """The tokenizer's part of the model cache."""
    found = {piece: i for i, piece in enumerate(source.pieces) if piece}
    found.pop(source.pieces[source.shape.unk], None)
    raw = [piece.encode("utf-8") for piece in source.pieces]
    points = sorted(source.normaliser)
    texts = [source.normaliser[point].encode("utf-8") for point in points]
    return {
        "piece.table": _hash_table(found),
        "piece.offsets": _offsets(raw),
        "piece.bytes": np.frombuffer(b"".join(raw), np.uint8),
        "piece.scores": source.scores,
        "fold.points": np.array(points, np.uint32),
        "fold.offsets": _offsets(texts),
        "fold.bytes": np.frombuffer(b"".join(texts), np.uint8),
    }


def _offsets(parts: list[bytes]) -> Array:
    return np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.uint32)


def _hash_table(found: Mapping[str, int]) -> Array:
    slots = [0] * (_MASK + 1)
    for piece, index in found.items():
        slot = zlib.crc32(piece.encode("utf-8")) & _MASK
        while slots[slot]:
            slot = (slot + 1) & _MASK
        slots[slot] = index + 1
    return np.array(slots, np.uint32)


class Tokenizer:
    """Text to piece ids. Keeps the ids of words it has seen; threads may share one."""

    def __init__(self, arrays: Mapping[str, Array], shape: Shape) -> None:
        self._table = arrays["piece.table"].data
        self._offsets = arrays["piece.offsets"].data
        self._bytes = arrays["piece.bytes"].data
        self._scores = arrays["piece.scores"].data
        self._unk = shape.unk
        self._unk_score = float(arrays["piece.scores"].min()) - UNKNOWN_PENALTY
        self._fold = _Fold(arrays)
        self._words: dict[str, tuple[int, ...]] = {}
        self._pieces: dict[str, int] | None = None
        self._misses = 0

    def tokenize(self, text: str, limit: int) -> list[int]:
        """At most `limit` piece ids of the text's beginning, without special tokens. Time is bounded by `limit`."""
        folded = text[:_LONGEST_TEXT].translate(self._fold)
        ids: list[int] = []
        words = self._words
        for word in folded.split(None, limit)[:limit]:
            known = words.get(word)
            ids += self._word(word) if known is None else known
            if len(ids) >= limit:
                return ids[:limit]
        return ids

    def _word(self, word: str) -> tuple[int, ...]:
        self._misses += 1
        if self._pieces is None and self._misses >= _DICT_AFTER:
            self._pieces = self._all_pieces()
        ids = self._segment(WORD_START + word[:_LONGEST_WORD])
        if len(word) <= _CACHED_WORD_LENGTH and len(self._words) < _CACHED_WORDS:
            self._words[word] = ids
        return ids

    def _segment(self, word: str) -> tuple[int, ...]:
        """The segmentation of greatest total score (Viterbi over piece ends); unknown characters are single pieces."""
        n = len(word)
        best = [0.0] + [-1e30] * n
        piece = [0] * (n + 1)
        start = [0] * (n + 1)
        find = self._find if self._pieces is None else self._pieces.get
        scores = self._scores
        for i in range(n):
            base = best[i]
            for end in range(i + 1, min(n, i + LONGEST_PIECE) + 1):
                index = find(word[i:end])
                if index is not None:
                    score = base + scores[index]
                    if score > best[end]:
                        best[end], piece[end], start[end] = score, index, i
            if base + self._unk_score > best[i + 1]:
                best[i + 1], piece[i + 1], start[i + 1] = base + self._unk_score, self._unk, i
        ids: list[int] = []
        while n > 0:
            ids.append(piece[n])
            n = start[n]
        return tuple(reversed(ids))

    def _find(self, piece: str) -> int | None:
        raw = piece.encode("utf-8", "surrogatepass")
        slot = zlib.crc32(raw) & _MASK
        while entry := self._table[slot]:
            if self._bytes[self._offsets[entry - 1] : self._offsets[entry]] == raw:
                return entry - 1
            slot = (slot + 1) & _MASK
        return None

    def _all_pieces(self) -> dict[str, int]:
        raw = self._bytes.tobytes()
        offsets = self._offsets.tolist()
        present = np.asarray(self._table)
        members = np.sort(present[present > 0]) - 1
        return {raw[offsets[i] : offsets[i + 1]].decode("utf-8"): i for i in members.tolist()}


class _Fold(dict[int, str]):
    """Code point to its normalised text, for `str.translate`; filled as characters occur."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        super().__init__()
        self._points = arrays["fold.points"].data
        self._offsets = arrays["fold.offsets"].data
        self._bytes = arrays["fold.bytes"].data

    def __missing__(self, point: int) -> str:
        at = bisect_left(self._points, point)
        if at < len(self._points) and self._points[at] == point:
            text = bytes(self._bytes[self._offsets[at] : self._offsets[at + 1]]).decode("utf-8")
        else:
            text = chr(point)
        self[point] = text
        return text
