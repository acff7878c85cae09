"""JSON and JSON lines: one record, one passage, as `key: value | key: value`; its path is the heading it stands under.

Numbers stay as they are written, and of a key that comes twice both values are kept. What a record is, is decided in
docs/decisions/0201-json-records.md. Grammar: RFC 8259.
"""

from __future__ import annotations

import json
import re
from array import array
from bisect import bisect_right
from collections.abc import Generator, Iterator, Sequence
from typing import Any

import msgspec

from consilience.ingest import metadata
from consilience.ingest.decoding import Decoded, decode, decode_lines, is_visible
from consilience.ingest.model import Document, Skip, TextBlock
from consilience.ingest.passages import MAX_WORDS, measure, prose
from consilience.ingest.readers.formats import JSON, READERS
from consilience.ingest.readers.records import Problems, document_of, each_line

MAX_RECORDS = 1_000_000
MAX_DEPTH = 100
MAX_VALUES = 10_000_000
"""Values in a file, counted by commas and brackets: they are held in memory where they are not in an array."""

_SMALL = 8_192
_KEY_CHARS = 300
_MAX_NUMBERS = 32
_LONG_WORDS = 6
_NAMES = ("title", "name", "subject", "headline", "label", "id")
_SPACE = re.compile(r"[ \t\n\r]*")
_UNFIT = re.compile("[\ud800-\udfff\x00]")
_LINES_ENDING = re.compile(r"\.(?:jsonl|ndjson)$", re.IGNORECASE)


Piece = tuple[Sequence[str], str, int, int]
"""Path, words, and where in the text they begin and end."""


class Pairs(tuple[tuple[str, Any], ...]):
    """The members of an object, in their order."""

    __slots__ = ()


class Number(str):
    """A number as it is written."""

    __slots__ = ()


_DECODER = json.JSONDecoder(
    object_pairs_hook=Pairs, parse_int=Number, parse_float=Number, parse_constant=Number, strict=False
)


def read(data: bytes, name: str) -> Document | Skip:
    """Read JSON (one value or several), or one value a line. Never raises on any bytes; Skip where nothing is JSON."""
    by_line = _LINES_ENDING.search(name) is not None
    decoded = decode_lines(data) if by_line else decode(data)
    if isinstance(decoded, Skip):
        return decoded
    return _by_line(decoded, name) if by_line else _whole(decoded, name)


def _base(decoded: Decoded, title: str) -> Document:
    reader, version = READERS[JSON]
    return Document(
        title=title, reader=reader, version=version, encoding=decoded.encoding, warnings=decoded.warnings
    )


# --- one value a line -------------------------------------------------------------------------------------------


def _by_line(decoded: Decoded, name: str) -> Document | Skip:
    title = metadata.readable_name(name)
    problems = Problems()
    document = document_of(
        _base(decoded, title),
        lambda: _lines(decoded.text, title, Problems()),
        _lines(decoded.text, title, problems),
    )
    if not document.blocks and document.rows is None:
        where = problems.where("broken")
        return Skip(f"not valid JSON: {where}" if where else "no values in it")
    said = list(document.warnings)
    if where := problems.where("broken"):
        said.append(f"not valid JSON, left out: {where}")
    if where := problems.where("left"):
        said.append(f"more than {MAX_RECORDS:,} values: left out from {where} on")
    return msgspec.structs.replace(document, warnings=tuple(said))


def _lines(text: str, title: str, problems: Problems) -> Iterator[TextBlock]:
    taken = 0
    for number, line in enumerate(each_line(text), 1):
        if not is_visible(line):
            continue
        if taken == MAX_RECORDS:
            problems.note("left", number)
            return
        try:
            value = _DECODER.decode(line.strip())
            found = list(_records(value, (), record=True))
        except (ValueError, RecursionError):
            problems.note("broken", number)
            continue
        taken += 1
        for path, words in found:
            yield _block(title, path, words, number, number)


# --- one value a file -------------------------------------------------------------------------------------------


def _whole(decoded: Decoded, name: str) -> Document | Skip:
    """A value, element by element where it is an array or an object of many, so that only one is held."""
    if sum(map(decoded.text.count, "[{,")) > MAX_VALUES:
        return Skip(f"more than {MAX_VALUES:,} values in one file of JSON; JSON lines has no such limit")
    title = metadata.readable_name(name)
    reader = _Whole(decoded.text, title)
    document = document_of(_base(decoded, title), _Whole(decoded.text, title).blocks, reader.blocks())
    if reader.problem and not (document.blocks or document.rows):
        return Skip(reader.problem)
    said = document.warnings
    if reader.problem:
        said = (*said, f"{reader.problem}; what follows is left out")
    if reader.capped:
        said = (*said, f"more than {MAX_RECORDS:,} records: the rest is left out")
    return msgspec.structs.replace(document, warnings=said)


class _Whole:
    def __init__(self, text: str, title: str) -> None:
        self.text = text
        self.title = title
        self.problem = ""
        self.capped = False
        self._ends = array("q", (match.start() for match in re.finditer("\n", text)))

    def blocks(self) -> Iterator[TextBlock]:
        taken = 0
        try:
            for path, words, begin, end in self._found():
                if taken == MAX_RECORDS:
                    self.capped = True
                    return
                taken += 1
                yield _block(self.title, path, words, self._line(begin), self._line(end - 1))
        except json.JSONDecodeError as error:
            at = min(error.pos, len(self.text))
            self.problem = f"not valid JSON: {error.msg} (line {self._line(at):,})"
        except RecursionError:
            self.problem = "not read: nested too deeply"

    def _line(self, at: int) -> int:
        return bisect_right(self._ends, at - 1) + 1

    def _found(self) -> Iterator[Piece]:
        at = self._skip(0)
        while at < len(self.text):
            begins = self.text[at : at + 1]
            if begins not in ("{", "[") or (begins == "{" and self._is_small_record(at)):
                value, end = _DECODER.raw_decode(self.text, at)
                for path, words in _records(value, (), record=True):
                    yield path, words, at, end
            else:
                end = yield from self._container(at, ())
            at = self._skip(end)

    def _is_small_record(self, at: int) -> bool:
        """Whether the object that begins here is one passage by itself: short, and no list of objects in it."""
        try:
            value, _ = _DECODER.raw_decode(self.text[at : at + _SMALL])
        except ValueError:
            return False
        return measure(written([("", value)])) <= MAX_WORDS and not _has_lists_of_objects(value)

    def _container(self, at: int, path: tuple[str, ...]) -> Generator[Piece, None, int]:
        """What stands in an array or an object that begins at `at`; returns where it ends."""
        is_object = self.text[at] == "{"
        closing = "}" if is_object else "]"
        scalars: list[tuple[str, Any]] = []
        begin, number = at, 0
        at = self._skip(at + 1)
        while self.text[at : at + 1] != closing or number:
            key = ""
            if is_object:
                key, at = self._key(at)
            start = at
            step = (*path, key) if is_object else (*path, f"[{number}]")
            if is_object and self.text[at : at + 1] == "[" and not path:
                at = yield from self._container(at, step)
            else:
                value, at = _DECODER.raw_decode(self.text, at)
                if _is_flat(value) and (is_object or not _is_text(value)):
                    scalars.append((key, value))
                else:
                    for inner, words in _records(value, step, record=not is_object):
                        yield inner, words, start, at
            number += 1
            at = self._skip(at)
            if self.text[at : at + 1] == closing:
                break
            if self.text[at : at + 1] != ",":
                raise json.JSONDecodeError("Expecting ',' delimiter", self.text, at)
            at = self._skip(at + 1)
        if words := written(scalars):
            yield path, words, begin, at + 1
        return at + 1

    def _key(self, at: int) -> tuple[str, int]:
        if self.text[at : at + 1] != '"':
            raise json.JSONDecodeError("Expecting property name enclosed in double quotes", self.text, at)
        key, at = _DECODER.raw_decode(self.text, at)
        at = self._skip(at)
        if self.text[at : at + 1] != ":":
            raise json.JSONDecodeError("Expecting ':' delimiter", self.text, at)
        return key, self._skip(at + 1)

    def _skip(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        return match.end() if match else at


# --- what a record is -------------------------------------------------------------------------------------------


def _is_flat(value: Any) -> bool:
    """A value that is written behind its key: a scalar, or a list of scalars."""
    if isinstance(value, Pairs):
        return False
    return not isinstance(value, list) or not any(isinstance(each, list | Pairs) for each in value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and measure(prose(value)) >= _LONG_WORDS


def _has_lists_of_objects(value: Any, depth: int = 0) -> bool:
    if depth > MAX_DEPTH:
        return True
    if isinstance(value, list):
        return not _is_flat(value)
    return isinstance(value, Pairs) and any(_has_lists_of_objects(each, depth + 1) for _, each in value)


def _records(value: Any, path: tuple[str, ...], *, record: bool) -> Iterator[tuple[tuple[str, ...], str]]:
    """The passages of a value with their paths. `record`: an element, which is one passage wherever it is short."""
    words = written([("", value)])
    if _is_flat(value) or (measure(words) <= MAX_WORDS and (record or not _has_lists_of_objects(value))):
        if words:
            yield path, words
        return
    if len(path) > MAX_DEPTH:
        raise RecursionError
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from _records(each, (*path, f"[{number}]"), record=True)
        return
    named = (*path, name) if (name := _name_of(value)) else path
    scalars = [(key, each) for key, each in value if _is_flat(each)]
    if words := written(scalars):
        yield named, words
    for key, each in value:
        if not _is_flat(each):
            yield from _records(each, (*named, key), record=False)


def _name_of(record: Pairs) -> str:
    """What a record too long for one passage calls itself."""
    known = {key.lower(): each for key, each in record if isinstance(each, str)}
    for key in _NAMES:
        if (name := prose(known.get(key, ""))) and measure(name) <= 15:
            return name
    return ""


def written(members: Sequence[tuple[str, Any]]) -> str:
    """`key: value | outer.inner: value`; what is null or empty is left out."""
    parts: list[str] = []
    todo = [(key, value) for key, value in reversed(members)]
    while todo:
        key, value = todo.pop()
        if isinstance(value, Pairs):
            key = key[-_KEY_CHARS:]
            todo.extend((f"{key}.{inner}" if key else inner, each) for inner, each in reversed(value))
        elif isinstance(value, list) and not _is_flat(value):
            key = key[-_KEY_CHARS:]
            todo.extend((f"{key}[{n}]", each) for n, each in reversed(list(enumerate(value))))
        elif text := _list(value) if isinstance(value, list) else _scalar(value):
            name = " ".join(_UNFIT.sub("\ufffd", key).split())
            parts.append(f"{name}: {text}" if name else text)
    return " | ".join(parts)


def _list(values: Sequence[Any]) -> str:
    """Long runs of numbers (vectors, samples) are told by their beginning."""
    if len(values) > _MAX_NUMBERS and all(isinstance(value, Number) for value in values):
        return f"{', '.join(values[:8])}, … ({len(values):,} numbers)"
    return ", ".join(filter(None, map(_scalar, values)))


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else " ".join(_UNFIT.sub("\ufffd", value).split())


def _block(title: str, path: Sequence[str], words: str, first: int, last: int) -> TextBlock:
    headings = [" ".join(_UNFIT.sub("\ufffd", step).split())[:200] for step in path]
    steps: list[str] = []
    for step in headings:
        if step.startswith("[") and steps and not steps[-1].endswith("]"):
            steps[-1] += step
        elif step:
            steps.append(step)
    return TextBlock(text=words, role="table", headings=(title, *steps), first_line=first, last_line=last)
