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
_MARGIN_APART = 2.0
"""Lead that is asked where only what two close languages do not share is counted."""


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
    evidence = _evidence(words, sample)
    scores: dict[str, float] = {}
    for hits in evidence:
        for language, weight in hits:
            scores[language] = scores.get(language, 0.0) + weight
    if not scores:
        return ""
    (first, best), *others = sorted(((score, language) for language, score in scores.items()), reverse=True)
    if first < max(_LEAST, 0.06 * len(words)):
        return ""
    second, other = others[0] if others else (0.0, "")
    if first >= second * _MARGIN:
        return best
    return _apart(evidence, best, other)


def _evidence(words: list[str], sample: str) -> list[_Hits]:
    """Of each word, ending and letter that tells something: what it tells."""
    known, endings, letters = _tables()
    found = []
    for word in words:
        hits = known.get(word)
        if hits is None and len(word) > 5:
            if "'" in word or "’" in word:
                hits = known.get(re.split("['’]", word)[0] + "'")
            else:
                hits = endings.get(word[-4:]) or endings.get(word[-3:]) or endings.get(word[-5:])
        if hits:
            found.append(hits)
    if not sample.isascii():
        found += [letters[c] for c in {c for c in sample.lower() if c > "\x7f"} if c in letters]
    return found


def _apart(evidence: list[_Hits], one: str, other: str) -> str:
    """Which of two languages with many words in common (Danish and Norwegian) it is, by the rest; "" for neither."""
    ones = others = 0.0
    for hits in evidence:
        told = dict(hits)
        if (one in told) != (other in told):
            ones += told.get(one, 0.0)
            others += told.get(other, 0.0)
    if ones < others:
        one, ones, others = other, others, ones
    return one if ones >= max(_LEAST, others * _MARGIN_APART) else ""


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
