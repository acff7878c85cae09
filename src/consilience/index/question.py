"""A question as the lexical index reads it: words with their rarity, phrases, languages. No query syntax
but quotes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Final

import msgspec

from consilience.index.analysis import (
    FALLBACK,
    Chunk,
    all_chunks,
    analyzer,
    chunks,
    fold,
    grams,
    spaced_chunks,
    split,
)
from consilience.model import Value

if TYPE_CHECKING:
    from consilience.index.bm25 import Field, Statistics

MAX_WORDS: Final = 64
"""Distinct words of a question that are searched for: the most selective ones."""

MAX_TEXT: Final = 200_000
"""Characters of a question that are read."""

MAX_CONSIDERED: Final = 4_000
"""Distinct words, the first ones, among which the most selective are looked for."""

MAX_LANGUAGES: Final = 4
MIN_SHARE: Final = 0.02
"""Languages of the brain that a question is stemmed in: at most four, each with this share of the entries."""

MAX_PHRASES: Final = 8
MAX_PHRASE: Final = 32
"""Quoted parts that are looked for, and the words of each, the first ones."""

COMPOUND_WEIGHT: Final = 0.5
"""What the parts of `camelCase` count beside the whole."""

JOINED_WEIGHT: Final = 0.25
"""What a hyphenated word written as one counts beside its parts."""

CAPITAL_NOUNS: Final = frozenset({"de", "lb"})
"""Languages that write every noun with a capital."""

_SENTENCE_END: Final = re.compile(r"[.!?…¿¡\n]")
_QUOTED: Final = re.compile(r'"([^"]*)"|“([^“”]*)”|«([^«»]*)»|„([^„“”]*)[“”]')


class QueryWord(Value, frozen=True, kw_only=True):
    """A word of the question. `stems` are its forms in the index's terms, one per language that differs;
    `exact` its folded form; `idf` its rarity here; `known` whether any entry has it; `counts` whether
    coverage counts it, with `importance` (docs/decisions/0104)."""

    surface: str
    stems: tuple[str, ...]
    exact: str
    idf: float
    known: bool
    importance: float = 0.0
    counts: bool = True
    weight: float = 1.0

    def term_set(self) -> frozenset[str]:
        return frozenset(self.stems)


class LexicalQuery(Value, frozen=True, kw_only=True):
    """A question analysed. `truncated`: it had more words than are searched for. `stopwords_only`: nothing
    else was in it, so the exact forms of its stop words are searched for. Every quoted phrase must stand
    in a match while `phrases_required`; `relaxed()` makes them a preference."""

    text: str
    words: tuple[QueryWord, ...]
    phrases: tuple[tuple[str, ...], ...] = ()
    phrases_required: bool = True
    languages: tuple[str, ...] = ()
    truncated: bool = False
    stopwords_only: bool = False

    @property
    def empty(self) -> bool:
        return not self.words and not self.phrases

    def relaxed(self) -> LexicalQuery:
        return msgspec.structs.replace(self, phrases_required=False)

    def clauses(self) -> Iterator[tuple[Field, str, float]]:
        """(field, term, boost) of everything that adds to a score, phrases aside; terms that no entry has
        included."""
        from consilience.index.bm25 import WEIGHTS

        seen: set[tuple[str, str]] = set()
        for word in self.words:
            for stem in word.stems:
                for field in ("terms", "context"):
                    if (field, stem) not in seen:
                        seen.add((field, stem))
                        yield field, stem, WEIGHTS[field] * word.weight
            boost = 1.0 if self.stopwords_only else WEIGHTS["exact"]
            if word.exact and ("exact", word.exact) not in seen:
                seen.add(("exact", word.exact))
                yield "exact", word.exact, boost * word.weight


def _spread(languages: Mapping[str, int], hints: Sequence[str]) -> tuple[str, ...]:
    """The languages to stem in: those asked for, then the brain's by share."""
    total = sum(languages.values())
    ranked = sorted(
        (item for item in languages.items() if item[1] >= MIN_SHARE * total),
        key=lambda item: (-item[1], item[0]),
    )
    chosen = [code for code, _ in ranked[:MAX_LANGUAGES]]
    return tuple(dict.fromkeys([*(h for h in hints if h), *chosen])) or (FALLBACK,)


def _asked_in(words: Sequence[str], languages: Sequence[str], hints: Sequence[str]) -> tuple[str, ...]:
    """The languages whose stop words are dropped: the hints, and the one that the question has most function words
    of (a detector is often wrong about a few words)."""
    counts = [(sum(analyzer(code).is_stop(word) for word in words), code) for code in languages]
    most = max((count for count, _ in counts), default=0)
    return tuple(
        dict.fromkeys([*(h for h in hints if h), *(code for count, code in counts if count == most)])
    )


class _Draft:
    """Collects the distinct words of a question in order."""

    def __init__(self, languages: tuple[str, ...], statistics: Statistics, names: Set[str]) -> None:
        self._languages = languages
        self._statistics = statistics
        self._names = names
        self.words: dict[tuple[str, ...], QueryWord] = {}

    def add(
        self, surface: str, stems: tuple[str, ...], exact: str, *, counts: bool = True, weight: float = 1.0
    ) -> None:
        from consilience.index.bm25 import idf

        stems = tuple(dict.fromkeys(stems))
        key = (*stems, exact)
        held = self.words.get(key)
        if held is not None and (held.counts or not counts):
            return
        frequency = max((self._statistics.frequency("terms", s) for s in stems), default=0)
        if exact and not stems:
            frequency = self._statistics.frequency("exact", exact)
        if not counts and not frequency:
            return
        documents = max(self._statistics.documents, 1)
        rarity = idf(documents, frequency)
        self.words[key] = QueryWord(
            surface=surface,
            stems=stems,
            exact=exact,
            idf=rarity,
            known=frequency > 0,
            importance=idf(documents, 0) if surface in self._names else rarity,
            counts=counts,
            weight=weight,
        )

    def word(self, surface: str, text: str, *, counts: bool = True, weight: float = 1.0) -> None:
        stems = tuple(analyzer(code).stem(text) for code in self._languages)
        self.add(surface, stems, fold(text), counts=counts, weight=weight)

    def chunk(self, surface: str, chunk: Chunk, stops: Sequence[str]) -> None:
        if chunk.unspaced:
            for gram in grams(chunk.words[0].text)[:MAX_CONSIDERED]:
                self.add(gram, (gram,), gram)
            return
        for text, parts in chunk.words:
            if not any(analyzer(code).is_stop(text) for code in stops):
                self.word(surface, text)
            for part in parts:
                if len(part) > 1 and not any(analyzer(code).is_stop(part) for code in stops):
                    self.word(surface, part, counts=False, weight=COMPOUND_WEIGHT)
        if chunk.whole:
            self.add(surface, (chunk.whole,), "", counts=False)
        if chunk.joined:
            self.word(surface, chunk.joined, counts=False, weight=JOINED_WEIGHT)


def _names(text: str, hints: Sequence[str]) -> Set[str]:
    """The chunks of a question that are written as names: with a capital, not at the beginning of a sentence.

    None where capitals tell nothing: nearly everything has one, or every noun of the language has.
    """
    if text.isupper() or any(code in CAPITAL_NOUNS for code in hints):
        return frozenset()
    found, seen = set(), 0
    for at, (between, chunk) in enumerate(itertools.islice(spaced_chunks(text), MAX_CONSIDERED)):
        seen += 1
        if at and chunk[0].isupper() and not _SENTENCE_END.search(between):
            found.add(chunk)
    return found if 2 * len(found) <= seen else frozenset()


def _phrases(text: str) -> tuple[tuple[str, ...], ...]:
    """The quoted parts as exact words; one word in quotes is a phrase too."""
    found: dict[tuple[str, ...], None] = {}
    for match in _QUOTED.finditer(text):
        words = tuple(analyzer("").analyze(next(g for g in match.groups() if g is not None)).exact)
        if words:
            found[words[:MAX_PHRASE]] = None
        if len(found) == MAX_PHRASES:
            break
    return tuple(found)


def analyze_question(
    text: str, statistics: Statistics, languages: Mapping[str, int], hints: Sequence[str] = ()
) -> LexicalQuery:
    """The question against a collection with these statistics and languages (code -> entries).

    `hints` are languages that the caller detected. Any text is accepted; the size of the result is bounded.
    """
    cut = len(text) > MAX_TEXT
    text = text[:MAX_TEXT]
    spread = _spread(languages, hints)
    surfaces = list(dict.fromkeys(chunks(text)))
    parsed = [(surface, split(surface)) for surface in surfaces]
    stops = _asked_in([w.text for _, chunk in parsed for w in chunk.words], spread, hints)
    draft = _Draft(spread, statistics, _names(text, hints))
    for surface, chunk in parsed:
        if len(draft.words) >= MAX_CONSIDERED:
            cut = True
            break
        draft.chunk(surface, chunk, stops)
    words = list(draft.words.values())
    only = not words and bool(parsed)
    if only:
        for surface, chunk in parsed:
            for word in chunk.words:
                draft.add(surface, (), fold(word.text))
        words = list(draft.words.values())
    if len(words) > MAX_WORDS:
        best = sorted(range(len(words)), key=lambda i: (not words[i].known, -words[i].idf, i))[:MAX_WORDS]
        words, cut = [words[i] for i in sorted(best)], True
    return LexicalQuery(
        text=text,
        words=tuple(words),
        phrases=_phrases(text),
        languages=spread,
        truncated=cut,
        stopwords_only=only,
    )


def matched_words(query: LexicalQuery, text: str, language: str = "") -> tuple[str, ...]:
    """The words of `text`, as they stand there, that the question hit: distinct, in order, for
    highlighting."""
    return Highlighter(query).words(text, language)


class Highlighter:
    """`matched_words` of many texts: what a word of a language is to one question is worked out once."""

    def __init__(self, query: LexicalQuery) -> None:
        self._wanted = {stem for word in query.words for stem in word.stems}
        self._exact = {word.exact for word in query.words if word.exact}
        self._exact.update(w for phrase in query.phrases for w in phrase)
        self._hit: dict[str, dict[str, tuple[str, ...]]] = {}

    def words(self, text: str, language: str = "") -> tuple[str, ...]:
        """The words of `text` that the question hit, as in `matched_words`."""
        hit = self._hit.setdefault(language, {})
        found: dict[str, None] = {}
        for chunk in dict.fromkeys(all_chunks(text)):
            parts = hit.get(chunk)
            if parts is None:
                parts = hit[chunk] = self._parts(chunk, language)
            for part in parts:
                found[part] = None
        return tuple(found)

    def _parts(self, chunk: str, language: str) -> tuple[str, ...]:
        terms, forms = analyzer(language).chunk(chunk)
        if self._wanted.isdisjoint(terms) and self._exact.isdisjoint(forms):
            return ()
        return tuple(_hit_runs(chunk, self._wanted)) if split(chunk).unspaced else (chunk,)


def _hit_runs(run: str, wanted: Set[str]) -> Iterator[str]:
    """The parts of a run without spaces that consist of wanted bigrams, else its wanted characters."""
    hit = [False] * len(run)
    for at in range(len(run) - 1):
        if fold(run[at : at + 2].lower()) in wanted:
            hit[at] = hit[at + 1] = True
    if not any(hit):
        hit = [fold(c.lower()) in wanted for c in run]
    for marked, group in itertools.groupby(zip(hit, run, strict=True), key=lambda pair: pair[0]):
        if marked:
            yield "".join(c for _, c in group)
