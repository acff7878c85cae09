"""A passage as people see it in a result: trimmed around the words that matched, those words marked. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from consilience.cli.terminal import clean, columns, fit, wrap

PROSE_LINES = 4
CODE_LINES = 6
_AS_WRITTEN = ("code", "table", "toc")
"""Roles whose line structure says something."""


def excerpt(text: str, words: Sequence[str], role: str, width: int) -> list[str]:
    """At most PROSE_LINES lines of running text, or CODE_LINES lines as they stand, around what matched.

    Lines are clean, and at most `width` columns wide; an ellipsis stands where something was left out.
    """
    matched = word_pattern(words)
    if role in _AS_WRITTEN and "\n" in text.strip("\n"):
        return _lines_around(clean(text, lines=True).expandtabs(4), matched, width)
    return _prose_around(" ".join(clean(text).split()), matched, width)


def word_pattern(words: Sequence[str]) -> re.Pattern[str] | None:
    """Finds the words, whole, whatever their case; None if there are none."""
    known = sorted({w for word in words if (w := " ".join(clean(word).split()))}, key=lambda w: (-len(w), w))
    if not known:
        return None
    return re.compile(r"(?<!\w)(?:" + "|".join(map(re.escape, known)) + r")(?!\w)", re.IGNORECASE)


def spans(line: str, matched: re.Pattern[str] | None) -> list[tuple[int, int]]:
    """Where the words stand in a line."""
    return [] if matched is None else [match.span() for match in matched.finditer(line)]


def _lines_around(text: str, matched: re.Pattern[str] | None, width: int) -> list[str]:
    lines = [line.rstrip() for line in text.strip("\n").split("\n")]
    indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    lines = [line[min(indents, default=0) :] for line in lines]
    if len(lines) > CODE_LINES:
        lines = _window(lines, matched)
    return [fit(line, width) for line in lines]


def _window(lines: list[str], matched: re.Pattern[str] | None) -> list[str]:
    """CODE_LINES of more lines, ellipses included: those with most matches, if it can be with one line before."""
    body = CODE_LINES - 2
    hits = [len({line[a:b].lower() for a, b in spans(line, matched)}) for line in lines]
    starts = range(len(lines) - body + 1)
    start = max(starts, key=lambda at: (sum(hits[at : at + body]), not hits[at], -at))
    if start <= 1:
        return [*lines[: body + 1], "…"]
    if start + body >= len(lines) - 1:
        return ["…", *lines[-body - 1 :]]
    return ["…", *lines[start : start + body], "…"]


def _prose_around(text: str, matched: re.Pattern[str] | None, width: int) -> list[str]:
    whole = wrap(text, width)
    if len(whole) <= PROSE_LINES:
        return whole
    start = _best_start(text, matched, PROSE_LINES * width - 2)
    lines = wrap(("… " if start else "") + text[start:], width)
    if len(lines) > PROSE_LINES:
        lines = lines[:PROSE_LINES]
        last = lines[-1]
        lines[-1] = (last if columns(last) + 2 <= width else last.rsplit(" ", 1)[0]) + " …"
        lines[-1] = fit(lines[-1], width)
    return lines


def _best_start(text: str, matched: re.Pattern[str] | None, budget: int) -> int:
    """Where a window of some `budget` characters holds the most different words, and then the most of them.

    It begins at the start of a sentence if one is near, else at a word; at the text's own start if that does.
    """
    found = [(a, text[a:b].lower()) for a, b in spans(text, matched)]
    if not found:
        return 0
    reach = int(budget * 0.85)
    best: tuple[int, int, int] = (-1, -1, 0)
    for at in [0, *(a for a, _ in found)]:
        inside = [word for a, word in found if at <= a < at + reach]
        value = (len(set(inside)), len(inside), -at)
        if value > best:
            best = value
    first = -best[2]
    if first == 0:
        return 0
    lead = text.rfind(". ", max(0, first - budget // 3), first)
    if lead >= 0:
        return lead + 2
    space = text.rfind(" ", 0, max(0, first - budget // 8))
    return space + 1 if space >= 0 else 0
