"""Which quotation stands beside a citation, and whether it stands in a block. Pure; docs/citations.md has the
rules.

One pass over the text: lines make parts (a paragraph, a block quotation), marks make spans, and each citation
takes the nearest span before it in its part.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

__all__ = ["beside", "normal", "stands_in"]

Span = tuple[int, int]

_QUOTED_LINE = re.compile(r" {0,3}>")
_QUOTE_SIGNS = re.compile(r"(?: {0,3}> ?)+")
_BEGINS_A_PART = re.compile(r"\s*(?:[-*+] |\d{1,9}[.)] |\||#{1,6} |```|~~~)| {0,3}\[[^\]\n]+\]:")
_ATTRIBUTION = re.compile(r"[\s*_]*(?:[—–―]|--)")
_JOINING = re.compile(r"(?>\[[^\]\n]{0,80}\]\(|[\W\d_])*+")
"""What stands between citations that follow each other: signs, digits, the beginnings of links."""
_KEY = re.compile(r'\s*:\s*[\[{]?\s*"')
"""What stands between the name of a member and the citation that it holds, in JSON inside of prose."""
_WORD = re.compile(r"[^\W_]")
_MARKS = re.compile('["„“”«»‹›「」『』]')
_PAIRS = {"«": "»", "»": "«", "‹": "›", "›": "‹", "「": "」", "『": "』"}
_OMISSION = re.compile(r"\[(?:\.\.\.|…)\]")
_STRAIGHT = str.maketrans(dict.fromkeys("„“”‟″«»「」『』", '"') | dict.fromkeys("‘’‚‛′‹›", "'"))
_UNSPACED = "\u0e00"
"""From here on (Thai, then CJK) most scripts put no space between words."""


# --- beside -------------------------------------------------------------------------------------------------


class _Part(NamedTuple):
    """A run of lines. `quoted`: a Markdown block quotation; `below`: it directly follows the part before it, with
    one empty line between them at most."""

    start: int
    end: int
    quoted: bool
    below: bool


def beside(text: str, citations: Sequence[Span]) -> list[str | None]:
    """The quotation beside each citation (spans in the order of the text), None where there is none."""
    if not citations:
        return []
    parts = _parts(text)
    starts = [part.start for part in parts]
    inside: dict[int, list[Span]] = defaultdict(list)
    for span in citations:
        inside[max(bisect_right(starts, span[0]) - 1, 0)].append(span)
    found: list[str | None] = []
    for index, spans in inside.items():
        quotations = _in_part(text, parts[index], spans)
        if quotations[0] is None and _claims_above(text, parts, index, inside):
            quotations[0] = _whole(text[parts[index - 1].start : parts[index - 1].end])
        if quotations[-1] is None and _claims_below(text, parts, index, inside):
            quotations[-1] = _whole(text[parts[index + 1].start : parts[index + 1].end])
        found += _shared(text, spans, quotations)
    return found


def _claims_above(
    text: str, parts: Sequence[_Part], index: int, inside: Mapping[int, Sequence[Span]]
) -> bool:
    """Whether the first citation of a paragraph stands on its first line, directly below a block quotation that
    has no citation in it."""
    part = parts[index]
    if part.quoted or not index or not part.below or not parts[index - 1].quoted or index - 1 in inside:
        return False
    return index in inside and "\n" not in text[part.start : inside[index][0][0]]


def _claims_below(
    text: str, parts: Sequence[_Part], index: int, inside: Mapping[int, Sequence[Span]]
) -> bool:
    """Whether a paragraph ends with a citation and a block quotation without one follows directly, which no
    citation below it claims."""
    if index + 1 == len(parts) or parts[index].quoted or index + 1 in inside:
        return False
    following = parts[index + 1]
    if not (following.quoted and following.below):
        return False
    if index + 2 < len(parts) and _claims_above(text, parts, index + 2, inside):
        return False
    return _JOINING.fullmatch(text, inside[index][-1][1], parts[index].end) is not None


def _parts(text: str) -> list[_Part]:
    parts: list[_Part] = []
    start, end, quoted, below, empty = 0, 0, False, False, 2
    for line in re.finditer(r"[^\n]*\n?", text):
        begin, stop = line.span()
        if begin == stop:
            break
        content = line[0]
        if not content.strip():
            if end > start:
                parts.append(_Part(start, end, quoted, below))
                start = end = stop
            empty += 1
            continue
        now_quoted = _QUOTED_LINE.match(content) is not None
        if end > start and (now_quoted != quoted or (not quoted and _BEGINS_A_PART.match(content))):
            parts.append(_Part(start, end, quoted, below))
            end = start
        if end <= start:
            start, quoted, below, empty = begin, now_quoted, empty < 2, 0
        end = stop
    if end > start or not parts:
        parts.append(_Part(start, max(end, len(text)), quoted, below))
    return parts


def _in_part(text: str, part: _Part, citations: Sequence[Span]) -> list[str | None]:
    """The quotation before each citation of a part, else the one directly after it."""
    spans = _marked(text, part, citations)
    ends = [span[1] for span in spans]
    found: list[str | None] = []
    taken: set[Span] = set()
    before = part.start
    for start, end in citations:
        nearest = _nearest(text, spans, ends, before, start)
        if part.quoted:
            found.append(_of_block(text, before, start, nearest))
        else:
            found.append(text[slice(*nearest)][1:-1] if nearest else None)
            taken |= {nearest} if nearest else set()
        before = end
    if not part.quoted:
        by_start = sorted(spans, key=lambda span: (span[0], -span[1]))
        first = [span[0] for span in by_start]
        for at, (_, end) in enumerate(citations):
            index = bisect_left(first, end)
            if found[at] is None and index < len(by_start) and by_start[index] not in taken:
                start, stop = by_start[index]
                if _JOINING.fullmatch(text, end, start):
                    found[at] = text[start + 1 : stop - 1]
    return found


def _shared(text: str, citations: Sequence[Span], quotations: list[str | None]) -> list[str | None]:
    """Citations that follow each other with nothing between them share the quotation of the first."""
    for at in range(1, len(citations)):
        if quotations[at] is None and _JOINING.fullmatch(text, citations[at - 1][1], citations[at][0]):
            quotations[at] = quotations[at - 1]
    return quotations


def _marked(text: str, part: _Part, citations: Sequence[Span]) -> list[Span]:
    """The quotations between marks in a part, each kind of mark on its own, ordered by where they end. None
    holds a citation."""
    edges = [part.start, *(edge for span in citations for edge in span), part.end]
    found: list[Span] = []
    for start, end in list(pairwise(edges))[::2]:
        opened: dict[str, list[int]] = defaultdict(list)
        for mark in _MARKS.finditer(text, start, end):
            kind, closes = _role(text, mark[0], mark.start(), start, end, opened)
            if not closes:
                opened[kind].append(mark.start())
            elif opened[kind]:
                begin = opened[kind].pop()
                if _WORD.search(text, begin, mark.start()):
                    found.append((begin, mark.end()))
    return sorted(found, key=lambda span: (span[1], -span[0]))


def _role(
    text: str, sign: str, at: int, start: int, end: int, opened: dict[str, list[int]]
) -> tuple[str, bool]:
    """Which kind of quotation a mark belongs to, and whether it closes one."""
    if sign == '"':
        before = text[at - 1] if at > start else " "
        after = text[at + 1] if at + 1 < end else " "
        if after.isspace() or (not before.isspace() and _WORD.match(before)):
            return '"', True
        return '"', not before.isspace() and not _WORD.match(after) and bool(opened['"'])
    if sign in "„“”":
        if sign == "„":
            return "„", False
        if opened["„"]:
            return "„", True
        return "“", sign == "”"
    if sign in "」』":
        return "「" if sign == "」" else "『", True
    partner = _PAIRS[sign]
    if opened[partner] and sign in "«»‹›":
        return partner, True
    return sign, False


def _nearest(text: str, spans: Sequence[Span], ends: Sequence[int], after: int, before: int) -> Span | None:
    """The last quotation between two places, of nested ones the outer; names of members in JSON are none."""
    index = bisect_right(ends, before) - 1
    while index >= 0 and spans[index][0] >= after and _KEY.fullmatch(text, ends[index], before):
        index -= 1
    if index < 0 or spans[index][0] < after:
        return None
    end = ends[index]
    while index and ends[index - 1] == end:
        index -= 1
    return spans[index]


def _of_block(text: str, after: int, start: int, marked: Span | None) -> str | None:
    """The quotation of a citation inside a block quotation: what stands before it there.

    A line that is an attribution (begins with a dash, or has nothing before the citation) is not part of it;
    where the rest begins with a quotation mark, that quotation counts.
    """
    line = text.rfind("\n", after, start) + 1
    own = _QUOTE_SIGNS.sub("", text[max(line, after) : start], count=1)
    attribution = bool(line > after) and (_ATTRIBUTION.match(own) or not _WORD.search(own))
    body = _without_link(_unquoted(text[after : line if attribution else start]))
    if marked is not None and _unquoted(text[after : marked[0]]).strip("*_ \n\t") == "":
        return _unquoted(text[slice(*marked)])[1:-1]
    return body if _WORD.search(body) and not _ATTRIBUTION.match(body) else None


def _without_link(body: str) -> str:
    """Text without the beginning of the link or the brackets around the citation that follows it."""
    while True:
        cut = body.rstrip(" \t\n<*_—–")
        if cut.endswith("]("):
            cut = cut[: cut.rfind("[")]
        elif cut.endswith(("(", "[")):
            cut = cut[:-1]
        if cut == body:
            return body
        body = cut


def _whole(block: str) -> str | None:
    """The text of a block quotation without its attribution."""
    lines = _unquoted(block).rstrip().split("\n")
    if len(lines) > 1 and _ATTRIBUTION.match(lines[-1]):
        lines.pop()
    body = "\n".join(lines)
    marked = body.strip()
    if len(marked) > 2 and marked[0] in '"“„«»' and marked[-1] in '"”“»«':
        body = marked[1:-1]
    return body if _WORD.search(body) else None


def _unquoted(text: str) -> str:
    """Lines without the signs of a block quotation."""
    return "\n".join(_QUOTE_SIGNS.sub("", line, count=1) for line in text.split("\n"))


# --- stands in ----------------------------------------------------------------------------------------------


def normal(text: str) -> str:
    """Text as quotations are compared: runs of white space are one space, quotation marks are straight, and
    characters composed (NFC), so that text which reads the same is the same."""
    return unicodedata.normalize("NFC", " ".join(text.translate(_STRAIGHT).split()))


def stands_in(quotation: str, texts: Iterable[str]) -> bool:
    """Whether the quotation stands, word for word, in one of the texts (each `normal`).

    `[...]` or `[…]` stands for anything left out; what is on its sides must stand in this order.
    """
    pieces = [piece for part in _OMISSION.split(quotation) if (piece := normal(part))]
    return bool(pieces) and any(_stand(pieces, text) for text in texts)


def _stand(pieces: Sequence[str], text: str) -> bool:
    at = 0
    for piece in pieces:
        while True:
            at = text.find(piece, at)
            if at < 0:
                return False
            if not _inside_a_word(text, at) and not _inside_a_word(text, at + len(piece)):
                break
            at += 1
        at += len(piece)
    return True


def _inside_a_word(text: str, at: int) -> bool:
    """Whether the place between two characters is inside a word: `able` does not stand in `unable`."""
    if not 0 < at < len(text):
        return False
    return all(c.isalnum() and c < _UNSPACED for c in (text[at - 1], text[at]))
