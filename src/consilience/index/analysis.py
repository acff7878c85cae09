"""Text to index terms: one analysis for the index side, the question side and the scan.

A text becomes `chunks` (words, identifiers, runs of a script without spaces). A chunk gives two kinds of
terms:

- *terms*, a bag: the stem of every word that is not a stop word, folded; for an identifier (`foo.bar::baz`,
  `__init__`, `--flag`, `3.11.2`) its parts and the whole; for `camelCase` the parts and the whole;
- *exact*, a sequence with positions: every word, lowercased and folded, unstemmed, for phrases and exact
  forms.

Stemmers are Snowball's (tantivy), stems are folded after stemming (docs/decisions/0050). Scripts without
spaces give overlapping character bigrams. Everything is a pure function of (text, language).
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

from consilience.index._stopwords import BUILT_IN, stop_words

STEMMERS: Final = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nb": "norwegian",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
"""ISO 639-1 code -> Snowball stemmer."""

FALLBACK: Final = "en"
"""The stemmer of text whose language nobody detected: short passages are most often Latin script and
English."""

MAX_TERM: Final = 80
"""Characters of a term; what is longer (base64, hashes of hashes) is cut, the same way on both sides."""

LENGTH_FLOOR: Final = 32
"""Terms that a text counts for at least: among shorter ones length says nothing (docs/decisions/0051)."""

FILLER: Final = "\x01"
"""What a short text is filled up with; no text analyses to it."""

_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_MARKS: Final = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09d7"
    "\u0a01-\u0a03\u0a3c-\u0a51\u0a70\u0a71\u0a81-\u0a83\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82\u0bbe-\u0bd7"
    "\u0c00-\u0c04\u0c3e-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d57\u0d81-\u0ddf"
)
_WORD: Final = rf"(?:[^\W{_UNSPACED}]|[{_MARKS}])+"
_CHUNK: Final = re.compile(
    rf"[{_UNSPACED}]+"
    rf"|(?:(?<!\w)(?:--?(?=[^\W\d])|[.@#$]))?{_WORD}(?:(?:::|->|[-._/:+@])(?:--?)?{_WORD})*(?:(?:\+\+|#)(?!\w))?"
)
_UNSPACED_CHUNK: Final = re.compile(rf"[{_UNSPACED}]")
_PART: Final = re.compile(rf"(?:[^\W_]|[{_MARKS}])+")
_CAMEL: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+[0-9]*|[A-Z]+[0-9]*|[0-9]+")
_INVISIBLE: Final = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff\u0640"))
_LETTERS: Final = str.maketrans(
    {
        "æ": "ae",
        "œ": "oe",
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "þ": "th",
        "ı": "i",
        "ß": "ss",
        "ς": "σ",
        "ħ": "h",
    }
)
_SCRIPT_STEMMERS: Final = (
    ("\u0370", "\u03ff", "el"),
    ("\u0400", "\u04ff", "ru"),
    ("\u0600", "\u06ff", "ar"),
    ("\u0b80", "\u0bff", "ta"),
)


def _is_mark(character: str) -> bool:
    return (
        "\u0300" <= character <= "\u036f"
        or "\u0591" <= character <= "\u05c7"
        or "\u064b" <= character <= "\u065f"
    )


def fold(word: str) -> str:
    """A lowercase word without the marks that people leave out when they type: `canción` -> `cancion`,
    `straße` -> `strasse`.

    Marks that make another letter (Indic vowels, Japanese voicing) stay. Idempotent.
    """
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFKD", word)
    kept = "".join(c for c in decomposed if not _is_mark(c) and c != "\u0670")
    return unicodedata.normalize("NFC", kept.translate(_LETTERS))


class Word(NamedTuple):
    """A word of a chunk. `text` is lowercase NFC, `parts` what `camelCase` is made of (empty where it is
    not)."""

    text: str
    parts: tuple[str, ...]


class Chunk(NamedTuple):
    """A chunk split. `whole` is the identifier as such, `joined` the hyphenated word written as one; both
    may be ""."""

    words: tuple[Word, ...]
    whole: str
    joined: str
    unspaced: bool


def chunks(text: str) -> Iterator[str]:
    """The chunks of a text in NFKC (so that ligatures and wide forms are letters), invisible characters removed."""
    for _, chunk in spaced_chunks(text):
        yield chunk


def all_chunks(text: str) -> list[str]:
    """The same at once."""
    return _CHUNK.findall(_plain(text))


def _plain(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text).translate(_INVISIBLE)


def spaced_chunks(text: str) -> Iterator[tuple[str, str]]:
    """(what stands between, chunk) of every chunk of `chunks`; the first pair has what stands before all."""
    text = _plain(text)
    end = 0
    for match in _CHUNK.finditer(text):
        yield text[end : match.start()], match[0]
        end = match.end()


def _camel_parts(word: str) -> tuple[str, ...]:
    if (
        len(word) > MAX_TERM
        or not word.isascii()
        or word.islower()
        or word.isupper()
        or word[1:].islower()
        or word.isdigit()
    ):
        return ()
    parts = tuple(part.lower() for part in _CAMEL.findall(word))
    return parts if len(parts) > 1 else ()


def split(chunk: str) -> Chunk:
    """The words of one chunk, and what the chunk is as a whole."""
    if _UNSPACED_CHUNK.match(chunk):
        return Chunk((Word(chunk.lower(), ()),), "", "", True)
    if chunk.isalnum():
        return Chunk((Word(chunk.lower()[:MAX_TERM], _camel_parts(chunk)),), "", "", False)
    raw = [part for part in _PART.findall(chunk) if fold(part)]
    words = tuple(Word(part.lower()[:MAX_TERM], _camel_parts(part)) for part in raw)
    if not words or raw == [chunk]:
        return Chunk(words, "", "", False)
    if "-".join(raw) == chunk and not any(part.isdigit() for part in raw):
        joined = "".join(word.text for word in words)
        return Chunk(words, "", joined if len(joined) <= MAX_TERM else "", False)
    return Chunk(words, fold(chunk.lower())[:MAX_TERM], "", False)


def grams(run: str) -> tuple[str, ...]:
    """Overlapping bigrams of a run of a script without spaces; a single character is itself."""
    folded = fold(run)
    if len(folded) < 2:
        return (folded,) if folded else ()
    return tuple(folded[i : i + 2] for i in range(len(folded) - 1))


class Terms(NamedTuple):
    """What an index keeps of a text: a bag of terms, and the sequence of exact words."""

    terms: list[str]
    exact: list[str]

    @property
    def filler(self) -> int:
        """How many fillers bring the terms to LENGTH_FLOOR; none where there are no terms."""
        return max(0, LENGTH_FLOOR - len(self.terms)) if self.terms else 0


class Analyzer:
    """The analysis of one language. Thread-safe; keeps what it has seen, up to a bound."""

    CACHE = 200_000

    def __init__(self, language: str) -> None:
        from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

        self.language = language if language in STEMMERS else ""
        self._stems_by_script = not language
        self._keeps_words = bool(language) and not self.language
        name = STEMMERS[self.language or FALLBACK]
        self._stemmer = TextAnalyzerBuilder(Tokenizer.raw()).filter(Filter.stemmer(name)).build()
        code = "" if self._keeps_words else self.language or FALLBACK
        self._more_stops = stop_words(code)
        self._stopper = None
        if code in BUILT_IN:
            self._stopper = TextAnalyzerBuilder(Tokenizer.raw()).filter(Filter.stopword(name)).build()
        self._words: dict[str, str] = {}
        self._stops: dict[str, bool] = {}
        self._chunks: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}

    def is_stop(self, word: str) -> bool:
        """Whether a lowercase word is a function word of this language."""
        known = self._stops.get(word)
        if known is None:
            if len(self._stops) >= self.CACHE:
                self._stops.clear()
            known = word in self._more_stops or (
                self._stopper is not None and not self._stopper.analyze(word)
            )
            self._stops[word] = known
        return known

    def stem(self, word: str) -> str:
        """The folded stem of a lowercase NFC word."""
        known = self._words.get(word)
        if known is None:
            if len(self._words) >= self.CACHE:
                self._words.clear()
            known = self._words[word] = self._stem(word)
        return known

    def _stem(self, word: str) -> str:
        if self._keeps_words or not word:
            return fold(word)
        if self._stems_by_script and not word.isascii():
            for first, last, language in _SCRIPT_STEMMERS:
                if first <= word[0] <= last:
                    return analyzer(language).stem(word)
        stems: list[str] = self._stemmer.analyze(word)
        return fold(stems[0] if stems else word)

    def chunk(self, chunk: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(terms, exact) of one chunk."""
        known = self._chunks.get(chunk)
        if known is None and len(chunk) > MAX_TERM:
            return self._chunk(chunk)
        if known is None:
            if len(self._chunks) >= self.CACHE:
                self._chunks.clear()
            known = self._chunks[chunk] = self._chunk(chunk)
        return known

    def _chunk(self, chunk: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        words, whole, joined, unspaced = split(chunk)
        if unspaced:
            bigrams = grams(words[0].text)
            single = tuple(c for c in fold(words[0].text)) if len(bigrams) > 1 or len(chunk) > 1 else ()
            return (*bigrams, *single), bigrams
        terms: list[str] = []
        for text, parts in words:
            if not self.is_stop(text):
                terms.append(self.stem(text))
            terms.extend(self.stem(part) for part in parts if len(part) > 1 and not self.is_stop(part))
        if whole:
            terms.append(whole)
        if joined:
            terms.append(self.stem(joined))
        return tuple(terms), tuple(fold(text) for text, _ in words)

    def analyze(self, text: str) -> Terms:
        terms: list[str] = []
        exact: list[str] = []
        for chunk in chunks(text):
            chunk_terms, chunk_exact = self.chunk(chunk)
            terms += chunk_terms
            exact += chunk_exact
        return Terms(terms, exact)


_analyzers: dict[str, Analyzer] = {}
_lock = threading.Lock()


def analyzer(language: str) -> Analyzer:
    """The analyzer of an ISO 639-1 code; "" (not detected) stems by script, a language without a stemmer
    not at all."""
    found = _analyzers.get(language)
    if found is None:
        with _lock:
            found = _analyzers.setdefault(language, Analyzer(language))
    return found
