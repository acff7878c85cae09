"""BM25 in Python, equal to tantivy's: for text that is not indexed yet, and for a brain that has no index
at all.

Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009; k1 = 1.2, b = 0.75, idf = ln(1 + (N
- df + .5) / (df + .5)). Field lengths are rounded down to one byte as tantivy stores them, so that a score
  here and a score there compare.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, Protocol

from consilience.index.analysis import Terms, analyzer
from consilience.index.question import LexicalQuery, analyze_question
from consilience.model import Entry, Hit, Hits
from consilience.protocol import MemoryType

Field = Literal["terms", "exact", "context"]
FIELDS: Final[tuple[Field, ...]] = ("terms", "exact", "context")

K1: Final = 1.2
B: Final = 0.75

WEIGHTS: Final[dict[Field, float]] = {"terms": 1.0, "exact": 0.2, "context": 0.3}
"""What a match in a field counts (docs/decisions/0051)."""

PHRASE_WEIGHT: Final = 1.0


def _lengths() -> list[int]:
    """The 256 field lengths that one byte stands for: exact to 40, then eight steps to each doubling."""
    lengths = list(range(41))
    step = 2
    while len(lengths) < 256:
        lengths.extend(range(lengths[-1] + step, lengths[-1] + 8 * step + 1, step))
        step *= 2
    return lengths[:256]


_LENGTHS: Final = _lengths()


def stored_length(length: int) -> int:
    """The length that the index remembers of a field with `length` terms (the next smaller representable
    one)."""
    return _LENGTHS[bisect_right(_LENGTHS, length) - 1]


def idf(documents: int, frequency: int) -> float:
    """How rare a term is: natural logarithm, 0 < idf; `frequency` 0 gives the largest value."""
    return math.log(1 + (documents - frequency + 0.5) / (frequency + 0.5))


def rounded(score: float) -> float:
    """A score without the last bits, which depend on the order of additions: four significant digits."""
    return float(f"{score:.4g}")


class Statistics(Protocol):
    """What BM25 has to know of a collection."""

    @property
    def documents(self) -> int: ...

    def total_length(self, field: Field) -> int: ...

    def frequency(self, field: Field, term: str) -> int: ...


class Scorer:
    """One question against single texts: a score comparable with the index's, and the coverage that the
    floor reads."""

    def __init__(self, query: LexicalQuery, statistics: Statistics) -> None:
        documents = max(statistics.documents, 1)
        self._query = query
        self._average = {f: max(statistics.total_length(f) / documents, 1e-9) for f in FIELDS}
        self._weights: dict[Field, dict[str, float]] = {f: {} for f in FIELDS}
        for field, term, boost in query.clauses():
            weight = boost * (K1 + 1) * idf(documents, statistics.frequency(field, term))
            self._weights[field][term] = self._weights[field].get(term, 0.0) + weight
        self._phrases = [
            (
                phrase,
                PHRASE_WEIGHT
                * (K1 + 1)
                * sum(idf(documents, statistics.frequency("exact", w)) for w in phrase),
            )
            for phrase in query.phrases
        ]
        self._counted = [
            (word.importance, word.term_set(), word.exact) for word in query.words if word.counts
        ]
        self._total = sum(weight for weight, _, _ in self._counted)

    def _field(self, field: Field, terms: Sequence[str], filler: int = 0) -> float:
        weights = self._weights[field]
        if not weights or not terms:
            return 0.0
        norm = K1 * (1 - B + B * stored_length(len(terms) + filler) / self._average[field])
        return sum(weights[t] * n / (n + norm) for t, n in Counter(t for t in terms if t in weights).items())

    def _phrase(self, exact: list[str]) -> float | None:
        """The phrases' part of the score; None where one is required and absent."""
        total = 0.0
        norm = K1 * (1 - B + B * stored_length(len(exact)) / self._average["exact"])
        for phrase, weight in self._phrases:
            size = len(phrase)
            count = sum(tuple(exact[i : i + size]) == phrase for i in range(len(exact) - size + 1))
            if not count and self._query.phrases_required:
                return None
            total += weight * count / (count + norm) if count else 0.0
        return total

    def score(self, text: str, context: str = "", language: str = "") -> float:
        """BM25 of one text for the question, rounded as the index's scores are; 0 where nothing matches."""
        analysis = analyzer(language)
        return self.score_terms(analysis.analyze(text), analysis.analyze(context).terms if context else [])

    def score_terms(self, terms: Terms, context: list[str]) -> float:
        phrases = self._phrase(terms.exact) if self._phrases else 0.0
        if phrases is None:
            return 0.0
        total = (
            self._field("terms", terms.terms, terms.filler)
            + self._field("exact", terms.exact)
            + self._field("context", context)
        )
        return rounded(total + phrases)

    def coverage(self, text: str, context: str = "", language: str = "") -> float:
        """How much of the question this text has, words weighted by rarity: 0..1, 0 for a question without
        words.

        A word that no text of the brain has counts with the largest idf, so it lowers every text's coverage; a name
        counts as much however many texts have it.
        """
        if not self._total:
            return 0.0
        terms, exact = analyzer(language).analyze(text)
        have = set(terms)
        if context:
            have.update(analyzer(language).analyze(context).terms)
        words = set(exact)
        matched = sum(w for w, wanted, form in self._counted if not wanted.isdisjoint(have) or form in words)
        return self.share(matched)

    def counted(self) -> Iterator[tuple[float, frozenset[str], str]]:
        """(weight, terms, exact form) of every word that coverage counts."""
        return iter(self._counted)

    def share(self, matched: float) -> float:
        """The coverage of a text that holds words of this weight together, to six places."""
        return round(min(1.0, matched / self._total), 6) if self._total else 0.0


class MemoryIndex:
    """A lexical index in memory for the length of one question: the scan plan of a brain without a
    persisted one."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._rows: list[tuple[int, MemoryType, Terms, list[str]]] = []
        self._frequencies: dict[Field, Counter[str]] = {f: Counter() for f in FIELDS}
        self._totals: dict[Field, int] = dict.fromkeys(FIELDS, 0)
        self.languages: Counter[str] = Counter()
        for entry in entries:
            self._add(entry)

    def _add(self, entry: Entry) -> None:
        analysis = analyzer(entry.language)
        terms = analysis.analyze(entry.text)
        context = analysis.analyze(entry.context).terms if entry.context else []
        self.languages[entry.language] += 1
        self._rows.append((entry.n, entry.module, terms, context))
        for field, values in zip(FIELDS, (*terms, context), strict=True):
            self._frequencies[field].update(set(values))
            self._totals[field] += len(values)
        self._totals["terms"] += terms.filler

    @property
    def documents(self) -> int:
        return len(self._rows)

    def total_length(self, field: Field) -> int:
        return self._totals[field]

    def frequency(self, field: Field, term: str) -> int:
        return self._frequencies[field][term]

    def analyze(self, text: str, *, languages: Sequence[str] = ()) -> LexicalQuery:
        return analyze_question(text, self, self.languages, languages)

    def scorer(self, query: LexicalQuery) -> Scorer:
        return Scorer(query, self)

    def search(
        self,
        query: LexicalQuery,
        k: int,
        *,
        eligible: Sequence[int] | None = None,
        modules: Sequence[MemoryType] = (),
    ) -> Hits:
        """As `LexicalIndex.search`, by scoring every entry."""
        scorer = self.scorer(query)
        allowed = None if eligible is None else set(map(int, eligible))
        hits = [
            Hit(n, score)
            for n, module, terms, context in self._rows
            if (allowed is None or n in allowed)
            and (not modules or module in modules)
            and (score := scorer.score_terms(terms, context)) > 0
        ]
        hits.sort(key=lambda hit: (-hit.score, hit.n))
        return Hits(hits=tuple(hits[:k]), exhausted=len(hits) <= k)
