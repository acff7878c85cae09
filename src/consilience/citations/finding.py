"""Every citation in a text, and everything that begins like one. Pure; docs/citations.md has the rules.

A text that is JSON (or JSON lines) is read string by string, so that an escaped citation is found too; every
other text is read as it stands, Markdown or not.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, NamedTuple

from consilience.citations.model import Found
from consilience.citations.quotations import beside
from consilience.errors import FormatError
from consilience.protocol import MemoryType
from consilience.protocol.citation import CITATION, Citation, citation_fault

__all__ = ["QUOTING_MEMBERS", "find"]

QUOTING_MEMBERS = ("quote", "quotation", "text", "content")
"""Members of a JSON object that hold the quotation of a citation in the same object; the first there is counts."""

SHOWN = 240
"""Characters of something malformed that are kept."""

_BEGINS = re.compile(r"csl:|sha256:[^\s\"'<>`|]{0,200}?@sha256:", re.IGNORECASE)
_GOES_ON = re.compile(r"(?!csl:)[A-Za-z0-9]|\d|[-/@%~+=&?#][A-Za-z0-9]")
_RUN = re.compile(r"(?:(?!csl:)[^\s\"'`<>()\[\]{}|,;“”«»]){1,4000}", re.IGNORECASE)
_SAYS_SOMETHING = re.compile(r"[^\s\"'`<>()\[\]{}|,;:.!?*“”«»…]")
_NAMES_A_MODULE = re.compile(rf"csl:[^\s/]{{1,200}}/(?:{'|'.join(MemoryType)})\b", re.IGNORECASE)
_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*+)"|[\[\]{},:]|[^\s\[\]{},:"]+', re.DOTALL)


class _Place(NamedTuple):
    """A citation, or what begins like one, at a span of a string."""

    start: int
    end: int
    citation: Citation | None
    fault: str


def find(text: str) -> tuple[Found, ...]:
    """Everything in a text that is a citation or begins like one, in the order in which it stands."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lowered = text.lower()
    if "csl:" not in lowered and "@sha256:" not in lowered and "\\" not in text:
        return ()
    lines = [0, *(end.end() for end in re.finditer("\n", text))]
    if _is_json(text):
        return tuple(_in_json(text, lines))
    return tuple(_in_text(text, text, 0, lines, ""))


def _in_text(
    text: str, whole: str, offset: int, lines: list[int], where: str, shifted: bool = True
) -> Iterator[Found]:
    """What is in `text`, which stands in `whole` at `offset`; not `shifted`: only its beginning is known."""
    places = list(_places(text))
    quotations = beside(text, [(place.start, place.end) for place in places])
    for place, quotation in zip(places, quotations, strict=True):
        at = offset + (place.start if shifted else 0)
        line = bisect_right(lines, at)
        shown = text[place.start : place.end]
        yield Found(
            text=shown if place.citation or len(shown) <= SHOWN else shown[:SHOWN] + "…",
            line=line,
            column=at - lines[line - 1] + 1,
            where=where,
            citation=place.citation,
            fault=place.fault,
            quotation=quotation,
        )


def _places(text: str) -> Iterator[_Place]:
    at = 0
    while begins := _BEGINS.search(text, at):
        start = begins.start()
        if begins[0][:4].lower() != "csl:":
            end = _run_end(text, start)
            yield _Place(start, end, None, f"character 1: {_HEADLESS}")
            at = end
            continue
        whole = CITATION.match(text, start)
        if whole is not None and not _GOES_ON.match(text, whole.end()):
            try:
                yield _Place(start, whole.end(), Citation.parse(whole[0]), "")
                at = whole.end()
                continue
            except FormatError:
                pass
        glued = whole is None and start > at and text[start - 1].isalnum()
        if (glued and not _NAMES_A_MODULE.match(text, start)) or not _SAYS_SOMETHING.match(text, start + 4):
            at = start + 4
            continue
        end = _run_end(text, start)
        fault = citation_fault(text[start:end]) or (end - start, "nothing comes after the root")
        yield _Place(start, end, None, f"character {fault[0] + 1}: {fault[1]}")
        at = end


_HEADLESS = "a citation begins with csl:, the brain and the module"


def _run_end(text: str, start: int) -> int:
    run = _RUN.match(text, start + 4)
    end = run.end() if run else start + 4
    while end > start + 5 and text[end - 1] in ".:!?*_…":
        end -= 1
    return end


# --- JSON ---------------------------------------------------------------------------------------------------


def _is_json(text: str) -> bool:
    """Whether a text is one JSON object or array, or a line of JSON each."""
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
        return True
    except (ValueError, RecursionError):
        pass
    try:
        return all(isinstance(json.loads(line), dict | list) for line in text.splitlines() if line.strip())
    except (ValueError, RecursionError):
        return False


class _Level:
    """An object or array that is being read."""

    def __init__(self, where: str, is_object: bool) -> None:
        self.where = where
        self.is_object = is_object
        self.index = 0
        self.key: str | None = None
        self.said: dict[str, str] = {}
        self.found: list[tuple[str, Found]] = []

    def place(self) -> str:
        if not self.is_object:
            return f"{self.where}[{self.index}]"
        plain = self.key is not None and re.fullmatch(r"\w{1,60}", self.key)
        name = self.key if plain else json.dumps((self.key or "")[:60], ensure_ascii=False)
        return f"{self.where}.{name}" if self.where else str(name)


def _in_json(text: str, lines: list[int]) -> Iterator[Found]:
    """The tokens of text that is known to be JSON; no recursion, so that depth does not matter."""
    found: list[Found] = []
    levels: list[_Level] = []
    for token in _TOKEN.finditer(text):
        sign = token[0]
        level = levels[-1] if levels else None
        if sign in "{[":
            levels.append(_Level(level.place() if level else "", sign == "{"))
        elif sign in "}]":
            found += _with_quotations(levels.pop())
        elif sign == ",":
            if level is not None:
                level.index += 1
                level.key = None
        elif token[1] is not None:
            _string(token, level, text, lines, found)
    yield from sorted(found, key=lambda each: (each.line, each.column))


def _string(
    token: re.Match[str], level: _Level | None, text: str, lines: list[int], found: list[Found]
) -> None:
    escaped = "\\" in token[1]
    value: Any = json.loads(token[0], strict=False) if escaped else token[1]
    if level is not None and level.is_object and level.key is None:
        found += _in_text(value, text, token.start() + 1, lines, level.where, shifted=not escaped)
        level.key = value
        return
    if level is not None and level.is_object and level.key in QUOTING_MEMBERS:
        level.said.setdefault(str(level.key), value)
    where = level.place() if level is not None else ""
    for each in _in_text(value, text, token.start() + 1, lines, where, shifted=not escaped):
        alone = level is not None and level.is_object and value.strip() == each.text and each.citation
        if alone and level is not None:
            level.found.append((str(level.key), each))
        else:
            found.append(each)


def _with_quotations(level: _Level) -> Iterator[Found]:
    """The citations that are members of an object, each with the quotation that another member holds."""
    from msgspec.structs import replace

    for key, each in level.found:
        said = next((level.said[name] for name in QUOTING_MEMBERS if name in level.said and name != key), "")
        yield replace(each, quotation=said) if said.strip() else each
