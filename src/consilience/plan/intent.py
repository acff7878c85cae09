"""What kind of question this is: how it may be answered, and how much may be missed."""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

from consilience.model import Value

_IDENTITY = re.compile(r"\s*(?:sha256:)?([0-9a-f]{8,64})\s*")
_PHRASE = re.compile(r'"([^"]+)"|“([^“”]+)”|«([^«»]+)»')
_WORD = re.compile(r"\w+")
_INSIDE_IDENTIFIER = re.compile(r"[a-z][A-Z]|\w_\w")
_LETTER = re.compile(r"[A-Za-z_]")
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"\d{2,}")

KEYWORDS_AT_MOST = 3
"""A question of at most this many words that holds an identifier is asked for by its words."""


class Intent(StrEnum):
    """How a question is meant. The recall floor of each is what a plan must reach to be admissible."""

    IDENTITY = "identity"
    EXACT = "exact"
    LEXICAL = "lexical"
    SEMANTIC = "semantic"
    ASSOCIATIVE = "associative"


RECALL_FLOOR: dict[Intent, float] = {
    Intent.IDENTITY: 1.0,
    Intent.EXACT: 0.99,
    Intent.LEXICAL: 0.90,
    Intent.SEMANTIC: 0.90,
    Intent.ASSOCIATIVE: 0.90,
}
"""Least share of the blocks worth returning that an admissible plan is expected to reach."""

FOUND_SHARE = 0.85
"""Of the blocks worth returning to who asks for what is related too, the share that is found without relations."""

BROUGHT = 60
"""Blocks that relations bring in at most: as many as a generator is asked for."""


class Asked(Value, frozen=True, kw_only=True):
    """A question taken apart: its intent, the hex of a block id, quoted phrases, identifiers said word by word.
    `related`: what is related to what is found is asked for too."""

    intent: Intent
    identity: str | None = None
    phrases: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    words: int = 0
    related: bool = False


def understand(text: str, *, related: bool = False) -> Asked:
    """Classify a question from its text, and by whether what is related is asked for too. Deterministic, no vocabulary,
    at most linear in the text."""
    asked = _of_text(text)
    if not related:
        return asked
    intent = asked.intent if asked.intent is Intent.IDENTITY else Intent.ASSOCIATIVE
    return msgspec.structs.replace(asked, intent=intent, related=True)


def _of_text(text: str) -> Asked:
    match = _IDENTITY.fullmatch(text)
    if match is not None and (text.strip().startswith("sha256:") or len(match.group(1)) >= 12):
        return Asked(intent=Intent.IDENTITY, identity=match.group(1), words=1)
    phrases = tuple(next(g for g in m if g).strip() for m in _PHRASE.findall(text))
    phrases = tuple(p for p in phrases if _WORD.search(p))
    words = _WORD.findall(text)
    identifiers = tuple(dict.fromkeys(w for w in words if _is_identifier(w)))
    if phrases:
        intent = Intent.EXACT
    elif identifiers and len(words) <= KEYWORDS_AT_MOST:
        intent = Intent.LEXICAL
    else:
        intent = Intent.SEMANTIC
    return Asked(intent=intent, phrases=phrases, identifiers=identifiers, words=len(words))


def _is_identifier(word: str) -> bool:
    """`utf8`, `camelCase`, `snake_case`, `__init__`, `3119`: a word that is meant letter by letter.

    Separate searches, since one pattern for all of it backtracks over a long word.
    """
    if _INSIDE_IDENTIFIER.search(word) or _NUMBER.fullmatch(word):
        return True
    return _DIGIT.search(word) is not None and _LETTER.search(word) is not None
