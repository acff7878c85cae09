"""How far a brain's vectors can be trusted beside its words: parts of passages and passages that stand side by side,
asked for (decisions 0233 and 0271)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING

import msgspec

from consilience.model import SEARCHED_BY_DEFAULT, Entry, Value
from consilience.plan.entries import embedded_text, entries_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from consilience.plan.reader import Reader

    Vector = NDArray[np.float32]

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

LEAST_RATIO_KNOWN: Mapping[str, float] = {"e5-small": 0.5}
"""The same by model, where it was measured on many collections and one brain's own figure need not be believed alone
(decision 0271)."""

CONFIDENCE = 1.645
"""Deviations of a one-sided bound that holds 19 times of 20."""

LEAST_ACROSS = 0.8
"""Translations found first from which on a model is taken to read across languages."""

USUAL_DEVIATION = 0.25
"""How far from 1 the ratio is taken to lie before anything was measured: what an uncertain one is drawn back by."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+")


class Trust(Value, frozen=True, kw_only=True):
    """What words and vectors of the model `tag` found of passages that they were asked for: mean gains, 0..1, their
    ratio and how large it may be.

    `across`: the share of everyday questions whose translation the model finds first among all that are in another
    language; None where they were asked in one.
    """

    tag: str
    items: int
    lexical: float
    vectors: float
    ratio: float
    at_most: float
    across: float | None = None

    @property
    def weak(self) -> bool:
        least = LEAST_RATIO_KNOWN.get(self.tag.split(":", 1)[0], LEAST_RATIO)
        return self.told and self.at_most < least

    @property
    def told(self) -> bool:
        """Whether enough was found for the ratio to say anything."""
        return self.items >= LEAST_ITEMS and self.lexical >= LEAST_FOUND

    @property
    def weight(self) -> float:
        """What vectors count beside words, 0..1: the square of the ratio, which is first drawn to 1 as far as it is
        uncertain (the mean of a normal prior about 1 and of what was measured)."""
        if not self.told:
            return 1.0
        error = max((self.at_most - self.ratio) / CONFIDENCE, 1e-6)
        measured, usual = error**-2, USUAL_DEVIATION**-2
        believed = (self.ratio * measured + usual) / (measured + usual)
        return round(min(1.0, max(0.0, believed)) ** 2, 3)

    @property
    def reads_across(self) -> bool:
        """Whether the model finds the same in another language, as far as it was asked."""
        return self.across is None or self.across >= LEAST_ACROSS


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


def measure_trust(reader: Reader, parallel: Sequence[Sequence[Vector | None]] = ()) -> Trust | None:
    """Ask for passages by a sentence that they are then scored without, and for those next to a passage by its words.

    `parallel`: vectors of the same questions, in the same order, in several languages. None where there are no vectors
    to be trusted.
    """
    if reader.lexical is None or reader.vectors is None or reader.embedder is None or reader.facets is None:
        return None
    sampled = _sample(reader)
    pairs = [*_hidden(reader, sampled), *_beside(reader, sampled[:: max(1, len(sampled) // ITEMS)][:ITEMS])]
    found = compared(reader.vectors.tag, [w for w, _ in pairs], [v for _, v in pairs])
    if found is None:
        found = Trust(tag=reader.vectors.tag, items=0, lexical=0.0, vectors=0.0, ratio=1.0, at_most=1.0)
    return msgspec.structs.replace(found, across=translations_found(parallel))


def translations_found(parallel: Sequence[Sequence[Vector | None]]) -> float | None:
    """The share of questions, of either language, whose translation is nearest of all in the other; None for one
    language."""
    import numpy as np

    if len(parallel) < 2 or any(v is None for vectors in parallel for v in vectors):
        return None
    first, *others = (np.stack([v for v in vectors if v is not None]) for vectors in parallel)
    right: list[bool] = []
    for other in others:
        near = first @ other.T
        same = np.arange(len(first))
        right += [*(near.argmax(axis=1) == same).tolist(), *(near.argmax(axis=0) == same).tolist()]
    return round(sum(right) / len(right), 4)


def _hidden(reader: Reader, sampled: Sequence[Entry]) -> list[tuple[float, float]]:
    """Gains of words and vectors for passages that are asked for by a part, and scored by the rest."""
    assert reader.vectors is not None and reader.embedder is not None
    items: list[tuple[Entry, str, str]] = []
    for entry in sampled:
        parts = taken_apart(entry.text)
        if parts is not None and len(items) < ITEMS:
            items.append((entry, *parts))
    if not items:
        return []
    embedder = reader.embedder()
    asked = embedder.embed([question for _, question, _ in items], role="query")
    hidden = embedder.embed(
        [embedded_text(msgspec.structs.replace(entry, text=rest)) for entry, _, rest in items], role="passage"
    )
    found = []
    for (entry, question, rest), q, p in zip(items, asked, hidden, strict=True):
        hits = reader.vectors.search(q, DEPTH + 1).hits
        by_vectors = _gain_of(float(q @ p), [h.score for h in hits if h.n != entry.n])
        found.append((_by_words(reader, entry, question, rest), by_vectors))
    return found


def _beside(reader: Reader, sampled: Sequence[Entry]) -> list[tuple[float, float]]:
    """Gains of words and vectors for the better found of the passages that stand beside one, asked for by all of it.

    What stands side by side in a text is about the same, also where it repeats nothing (a conversation).
    """
    index, words = reader.vectors, reader.lexical
    assert index is not None and words is not None
    near = _next_to(reader, sampled)
    asked = [entry for entry in sampled if near.get(entry.n)]
    if not asked:
        return []
    found = []
    for entry, vector in zip(asked, index.vectors([e.n for e in asked]), strict=True):
        hints = (entry.language,) if entry.language else ()
        question = words.analyze(embedded_text(entry), languages=hints)
        lists = [words.search(question, DEPTH + 1).hits, index.search(vector, DEPTH + 1).hits]
        by_words, by_vectors = (
            _best_gain([h.n for h in hits if h.n != entry.n], near[entry.n]) for hits in lists
        )
        found.append((by_words, by_vectors))
    return found


def _next_to(reader: Reader, sampled: Sequence[Entry]) -> dict[int, set[int]]:
    """For each passage that has a vector, the ordinals of those just before and after it in its module that are of the
    same file and have one."""
    import numpy as np

    assert reader.vectors is not None and reader.facets is not None
    beside: dict[int, list[int]] = {}
    for module in {e.module for e in sampled}:
        every = np.asarray(reader.facets.ordinals(module), np.int64)
        every = every[np.isin(every, reader.vectors.ordinals)]
        for n in [e.n for e in sampled if e.module is module]:
            at = int(np.searchsorted(every, n))
            if at < len(every) and every[at] == n:
                beside[n] = [int(every[i]) for i in (at - 1, at + 1) if 0 <= i < len(every)]
    members = reader.view.members(sorted({n for ns in beside.values() for n in ns}))
    origins = {e.n: {*e.origins} for e in entries_of(reader.view, sorted(members), reader.facets)}
    return {
        e.n: {n for n in beside[e.n] if not origins.get(n, set()).isdisjoint(e.origins)}
        for e in sampled
        if e.n in beside
    }


def _best_gain(ranked: Sequence[int], wanted: Set[int]) -> float:
    return max((gain(rank) for rank, n in enumerate(ranked, 1) if n in wanted), default=0.0)


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
