"""Whether a brain's vectors can be trusted as far as its words: known items, hidden and asked for (decision 0233)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from consilience.model import SEARCHED_BY_DEFAULT, Entry, Value
from consilience.plan.entries import embedded_text, entries_of

if TYPE_CHECKING:
    from consilience.plan.reader import Reader

ITEMS = 96
LEAST_ITEMS = 32
LOOKED_AT = 240
"""Passages that are looked at for so many that can be taken apart."""

LEAST_WORDS = 12
LEAST_PART = 4
QUESTION_WORDS = 20
DEPTH = 100

LEAST_FOUND = 0.05
"""Gain of the words under which the brain's passages are too unlike themselves to tell anything."""

LEAST_RATIO = 0.8
"""Vectors that surely find less than this share of what the words find are weak."""

CONFIDENCE = 1.645
"""Deviations of a one-sided bound that holds 19 times of 20."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+")


class Trust(Value, frozen=True, kw_only=True):
    """What words and vectors of the model `tag` found of hidden passages: mean gains, 0..1, their ratio and how large
    it may be."""

    tag: str
    items: int
    lexical: float
    vectors: float
    ratio: float
    at_most: float

    @property
    def weak(self) -> bool:
        return self.items >= LEAST_ITEMS and self.lexical >= LEAST_FOUND and self.at_most < LEAST_RATIO


def taken_apart(text: str) -> tuple[str, str] | None:
    """A question made of a passage's first sentence, and the rest; of its first half where it has one sentence; None
    for a short passage."""
    words = text.split()
    if len(words) < LEAST_WORDS:
        return None
    first, *others = _SENTENCE.split(text.strip())
    rest = " ".join(others)
    if len(first.split()) < LEAST_PART or len(rest.split()) < LEAST_PART:
        first, rest = " ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :])
    return " ".join(first.split()[:QUESTION_WORDS]), rest


def gain(rank: int) -> float:
    """What finding the hidden passage at this rank is worth: 1 at the first, nothing beyond the hundredth."""
    return 1.0 / math.log2(1.0 + rank) if rank <= DEPTH else 0.0


def compared(tag: str, lexical: Sequence[float], vectors: Sequence[float]) -> Trust | None:
    """The ratio of mean gains and its upper bound (delta method: the deviation of v - ratio x l, item by item)."""
    count = len(lexical)
    if count < 2:
        return None
    l_mean, v_mean = math.fsum(lexical) / count, math.fsum(vectors) / count
    if not l_mean:
        return None
    ratio = v_mean / l_mean
    variance = math.fsum((v - ratio * w) ** 2 for v, w in zip(vectors, lexical, strict=True)) / (count - 1)
    error = math.sqrt(variance / count) / l_mean
    rounded = [round(x, 4) for x in (l_mean, v_mean, ratio, ratio + CONFIDENCE * error)]
    return Trust(
        tag=tag, items=count, lexical=rounded[0], vectors=rounded[1], ratio=rounded[2], at_most=rounded[3]
    )


def measure_trust(reader: Reader) -> Trust | None:
    """Ask for passages by a sentence that they are then scored without. None where there is nothing to compare."""
    if reader.lexical is None or reader.vectors is None or reader.embedder is None or reader.facets is None:
        return None
    items: list[tuple[Entry, str, str]] = []
    for entry in _sample(reader):
        parts = taken_apart(entry.text)
        if parts is not None and len(items) < ITEMS:
            items.append((entry, *parts))
    if len(items) < LEAST_ITEMS:
        return None
    embedder = reader.embedder()
    asked = embedder.embed([question for _, question, _ in items], role="query")
    hidden = embedder.embed(
        [embedded_text(msgspec.structs.replace(entry, text=rest)) for entry, _, rest in items], role="passage"
    )
    lexical, vectors = [], []
    for (entry, question, rest), q, p in zip(items, asked, hidden, strict=True):
        lexical.append(_by_words(reader, entry, question, rest))
        hits = reader.vectors.search(q, DEPTH + 1).hits
        vectors.append(_gain_of(float(q @ p), [h.score for h in hits if h.n != entry.n]))
    return compared(reader.vectors.tag, lexical, vectors)


def _sample(reader: Reader) -> list[Entry]:
    """Passages of prose that have a vector, from all over the brain."""
    assert reader.facets is not None and reader.vectors is not None
    ns = sorted({n for module in SEARCHED_BY_DEFAULT for n in reader.facets.ordinals(module)})
    ns = sorted({ns[i * len(ns) // LOOKED_AT] for i in range(LOOKED_AT)}) if ns else []
    members = reader.view.members(ns)
    return [
        e
        for e in entries_of(reader.view, [n for n in ns if n in members], reader.facets, introduced=True)
        if e.role in ("prose", "list")
    ]


def _by_words(reader: Reader, entry: Entry, question: str, rest: str) -> float:
    index = reader.lexical
    assert index is not None
    asked = index.analyze(question, languages=(entry.language,) if entry.language else ())
    score = index.scorer(asked).score(rest, entry.context, entry.language)
    if score <= 0.0:
        return 0.0
    return _gain_of(score, [h.score for h in index.search(asked, DEPTH + 1).hits if h.n != entry.n])


def _gain_of(score: float, others: Sequence[float]) -> float:
    return gain(1 + sum(other > score for other in others[:DEPTH]))
