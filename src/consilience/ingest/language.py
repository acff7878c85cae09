"""The language of a passage: by its script, or by the function words it is held together with (docs/decisions/0045)."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from consilience.ingest import language_data as data

MIN_LETTERS = 10
MAX_CHARACTERS = 400
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_ENDING_WEIGHT = 0.35
_SINGLE = 0.2
_LETTER_WEIGHT = 0.8
_LEAST = 1.0
_MARGIN = 1.25


def detect(text: str) -> str:
    """ISO 639-1 code of what `text` (its first MAX_CHARACTERS) is written in, or "" where it does not tell.

    Text of fewer than MIN_LETTERS letters tells nothing, unless its script does. Pure; some twenty microseconds.
    """
    sample = text[:MAX_CHARACTERS]
    if not sample.isascii() and (language := _by_script(sample)):
        return language
    words = _WORD.findall(sample.lower())
    if sum(map(len, words)) < MIN_LETTERS:
        return ""
    scores = _scores(words, sample)
    if not scores:
        return ""
    (first, best), *others = sorted(((score, language) for language, score in scores.items()), reverse=True)
    second = others[0][0] if others else 0.0
    if first < max(_LEAST, 0.06 * len(words)) or first < second * _MARGIN:
        return ""
    return best


def _scores(words: list[str], sample: str) -> dict[str, float]:
    known, endings, letters = _tables()
    scores: dict[str, float] = {}
    for word in words:
        hits = known.get(word)
        if hits is None and len(word) > 5:
            if "'" in word or "’" in word:
                hits = known.get(re.split("['’]", word)[0] + "'")
            else:
                hits = endings.get(word[-4:]) or endings.get(word[-3:]) or endings.get(word[-5:])
        for language, weight in hits or ():
            scores[language] = scores.get(language, 0.0) + weight
    if not sample.isascii():
        for letter in {c for c in sample.lower() if c > "\x7f"}:
            for language, weight in letters.get(letter, ()):
                scores[language] = scores.get(language, 0.0) + weight
    return scores


def _by_script(sample: str) -> str:
    counts: Counter[str] = Counter()
    letters = 0
    for character in sample:
        if character.isalpha():
            letters += 1
            if character > "\u036f":
                for first, last, language in data.SCRIPTS:
                    if first <= character <= last:
                        counts[language] += 1
                        break
    if not counts:
        return ""
    if counts["ja"] * 10 >= counts["zh"]:
        counts["ja"] += counts.pop("zh", 0) if counts["ja"] else 0
    language, count = counts.most_common(1)[0]
    if count * 3 < letters or count < 4:
        return ""
    for other, telling in data.WITHIN_SCRIPT.get(language, ()):
        if sum(map(sample.lower().count, telling)) * 50 > count:
            return other
    return language


_Hits = tuple[tuple[str, float], ...]
_Table = dict[str, _Hits]


@lru_cache(maxsize=1)
def _tables() -> tuple[_Table, _Table, _Table]:
    """Words, endings and letters -> languages with weights; what several languages share weighs less in each."""
    words = _weighted({language: text.split() for language, text in data.WORDS.items()}, 1.0)
    for word in [word for word in words if len(word) == 1 or word in data.CODE_WORDS]:
        words[word] = tuple((language, weight * _SINGLE) for language, weight in words[word])
    for elided, languages in data.ELISIONS.items():
        words[elided + "'"] = tuple((language, 1 / len(languages)) for language in languages)
    endings = _weighted({language: text.split() for language, text in data.ENDINGS.items()}, _ENDING_WEIGHT)
    return words, endings, _weighted({k: list(v) for k, v in data.LETTERS.items()}, _LETTER_WEIGHT)


def _weighted(table: dict[str, list[str]], weight: float) -> _Table:
    users: dict[str, list[str]] = {}
    for language, keys in table.items():
        for key in dict.fromkeys(keys):
            users.setdefault(key, []).append(language)
    return {key: tuple((language, weight / len(ls)) for language in ls) for key, ls in users.items()}
