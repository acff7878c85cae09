"""Source code of any language by its shape: definitions as they stand, comments as prose, under the symbol's name.

What a definition is, is told by indentation alone (docs/decisions/0204-source-code.md): nothing is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from consilience.ingest.decoding import Decoded, is_visible
from consilience.ingest.model import Document, TextBlock
from consilience.ingest.readers import plain
from consilience.ingest.readers.formats import READERS, SOURCE

MAX_UNIT_LINES = 60
MAX_DEPTH = 3
MAX_HEAD_LINES = 8
MIN_COMMENT_WORDS = 4

_MARKERS = {
    "#": "py pyw pyi rb sh bash zsh fish pl pm r jl ex exs nim tcl awk mk cmake tf ps1 coffee cr",
    "--": "sql lua hs elm adb ads vhd vhdl",
    ";": "lisp cl el clj cljs cljc scm rkt asm s",
    "%": "erl hrl m pro",
    "!": "f90 f95 f03",
}
_MARKER_OF = {suffix: marker for marker, suffixes in _MARKERS.items() for suffix in suffixes.split()}
_CONTINUES = re.compile(
    r"\s*(?:[\]})>{]|(?:end|else|elif|elsif|catch|finally|except|rescue|ensure|then|do|done|fi|esac|where|begin)\b)"
)
_CONTROL = re.compile(
    r"\s*(?:if|for|while|switch|match|return|import|from|using|use|include|require|#|@?package|else|try|with|end)\b|\s*#"
)
_NAMED = re.compile(
    r"\b(?:class|struct|enum|union|interface|trait|impl|protocol|extension|module|namespace|object|record|fn|func|fun"
    r"|function|def|sub|proc|procedure|type|typealias|macro_rules!|defn|defun|defmodule|macro|table|view|instance)\b"
    r"(?:<[^>\n]{0,80}>)?\s*(?:\([^)\n]{0,80}\)\s*)?([A-Za-z_$][\w$.:]*[\w$!?]|[A-Za-z_$])"
)
_ASSIGNED = re.compile(r"\b(?:const|let|var|val)\s+(?:mut\s+)?([A-Za-z_$][\w$]*)(?=\s*[:=])")
_CALLABLE = re.compile(r"[^={(\"]*?([A-Za-z_$~][\w$:~]*)\s*\(")
_BEFORE_EQUALS = re.compile(r"[^={(\"]*?([A-Za-z_$][\w$]*)\s*(?:\[[^\]=]*\]\s*)?=(?!=)")
_CUT = re.compile(r"[({=\"]|//|/\*")
_RUNS = re.compile(r"^\s*(?:[#/*;!%=~+<>-]|\(\*)+|[*/=~#+-]+\s*$")


def read(decoded: Decoded, name: str) -> Document:
    """Read source code. Never raises on any text."""
    title = title_of(name)
    shape = Shape(decoded.text, title, _MARKER_OF.get(title.rpartition(".")[2].lower(), "//"))
    reader, version = READERS[SOURCE]
    return Document(
        title=title,
        blocks=tuple(shape.blocks()),
        reader=reader,
        version=version,
        encoding=decoded.encoding,
        warnings=decoded.warnings,
    )


def title_of(name: str) -> str:
    """The file's name; with its folder's where it says nothing."""
    parts = name.replace("\\", "/").split("/")
    alone = parts[-1].rpartition(".")[0] not in (
        "__init__",
        "__main__",
        "mod",
        "lib",
        "main",
        "index",
        "package-info",
    )
    return parts[-1] if alone or len(parts) < 2 else "/".join(parts[-2:])


class Shape:
    def __init__(self, text: str, title: str, marker: str) -> None:
        self.lines = text.expandtabs(4).split("\n") if "\t" in text else text.split("\n")
        self.raw = text.split("\n")
        self.title = title
        self.marker = marker
        self.comments = self._comment_ends()

    def blocks(self) -> Iterator[TextBlock]:
        yield from self._level(0, len(self.lines), ())

    def _comment_ends(self) -> list[int]:
        """For each line on which a comment begins, with nothing before it: the line after the comment; else 0."""
        ends = [0] * len(self.lines)
        n, closes = 0, self.marker == "//"
        while n < len(self.lines):
            line = self.lines[n].lstrip()
            end = n + 1
            if closes and line.startswith("/*"):
                at = self._closing(n)
                closes = at > 0
                end = at or n + 1
                ends[n] = end
            elif line.startswith(self.marker):
                ends[n] = end
            n = end
        return ends

    def _closing(self, start: int) -> int:
        """The line after the block comment that begins at line `start`; 0 where it is never closed."""
        rest = self.lines[start].partition("/*")[2]
        for n in range(start, len(self.lines)):
            if "*/" in (rest if n == start else self.lines[n]):
                return n + 1
        return 0

    def _level(self, low: int, high: int, path: tuple[str, ...]) -> Iterator[TextBlock]:
        """Units of the lines [low, high): comments, definitions, and other statements in runs."""
        base = min((_indent(self.lines[n]) for n in range(low, high) if self._is_code(n)), default=0)
        pending: tuple[int, int] | None = None
        run: tuple[int, int] | None = None
        n = low
        while n < high:
            if not self.lines[n].strip():
                if run is not None:
                    yield self._code(*run, path)
                run, n = None, n + 1
                if pending is not None:
                    yield from self._comment(*pending, path)
                pending = None
                continue
            if self.comments[n]:
                end = min(self.comments[n], high)
                if run is None:
                    pending = (pending[0] if pending else n, end)
                else:
                    run = run[0], end
                n = end
                continue
            end = self._end_of_unit(n, high, base)
            start = n
            while end == start + 1 and start - n < MAX_HEAD_LINES and self._leads(start, high):
                start, end = end, self._end_of_unit(end, high, base)
            if end == start + 1:
                start, end = n, n + 1
            name = self._name(start, end)
            if name or end - n > 1:
                if run is not None:
                    yield self._code(*run, path)
                run = None
                inner = (*path, name) if name else path
                if pending is not None:
                    yield from self._comment(*pending, inner)
                pending = None
                yield from self._unit(n, end, inner)
            else:
                first = pending[0] if pending else n
                run, pending = (run[0] if run else first, end), None
            n = end
        if run is not None:
            yield self._code(*run, path)
        if pending is not None:
            yield from self._comment(*pending, path)

    def _leads(self, n: int, high: int) -> bool:
        """Whether a line may be the head of what stands directly below: a type, an attribute, a decorator."""
        line = self.lines[n].rstrip()
        return n + 1 < high and self._is_code(n + 1) and not line.endswith((";", "}", ",", '"', ">"))

    def _is_code(self, n: int) -> bool:
        return bool(self.lines[n].strip()) and not self.comments[n]

    def _end_of_unit(self, start: int, high: int, base: int) -> int:
        """After the last line that is indented deeper than `base`, closes, or goes on with what stands before it."""
        end = n = start + 1
        while n < high:
            line = self.lines[n]
            if line.strip():
                if _indent(line) <= base and not _CONTINUES.match(line):
                    break
                end = n + 1
            n += 1
        return end

    def _name(self, start: int, end: int) -> str:
        header = " ".join(line.strip() for line in self.lines[start : min(end, start + 4)])[:400]
        while header.startswith("@") and " " in header:
            header = header.partition(" ")[2]
        if _CONTROL.match(header):
            return ""
        cut = _CUT.search(header)
        limit = cut.start() if cut else len(header)
        if cut is not None and cut[0] == "=" and end - start > 1:
            match = _ASSIGNED.search(header, 0, limit + 1) or _BEFORE_EQUALS.match(header)
        else:
            match = _NAMED.search(header)
            if match is None or match.start() >= limit:
                match = _CALLABLE.match(header) if end - start > 1 else None
        return match[1].strip(":") if match else ""

    def _unit(self, start: int, end: int, path: tuple[str, ...]) -> Iterator[TextBlock]:
        if end - start <= MAX_UNIT_LINES or len(path) >= MAX_DEPTH:
            yield self._code(start, end, path)
            return
        body = next(
            (n for n in range(start + 1, end) if _indent(self.lines[n]) > _indent(self.lines[start])), end
        )
        last = end - 1 if _CONTINUES.match(self.lines[end - 1]) else end
        yield self._code(start, min(body, last), path)
        yield from self._level(body, last, path)

    def _code(self, start: int, end: int, path: Sequence[str]) -> TextBlock:
        return self._block("\n".join(self.raw[start:end]), "code", path, start + 1, end)

    def _comment(self, start: int, end: int, path: Sequence[str]) -> Iterator[TextBlock]:
        text = "\n".join(_RUNS.sub("", line) for line in self.raw[start:end])
        for block in prose_blocks(text, start + 1, end):
            if says_something(block.text):
                made = self._block(block.text, block.role, path, block.first_line, block.last_line)
                yield msgspec.structs.replace(made, headings=(*made.headings, *block.headings))

    def _block(self, text: str, role: str, path: Sequence[str], first: int, last: int) -> TextBlock:
        headings = (self.title, ".".join(path)) if path else (self.title,)
        return TextBlock(text=text, role=role, headings=headings, first_line=first, last_line=last)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def says_something(comment: str) -> bool:
    """Whether a comment is more than a rule or a label."""
    return sum(any(map(str.isalpha, word)) for word in comment.split()) >= MIN_COMMENT_WORDS


def prose_blocks(text: str, first: int, last: int) -> Iterator[TextBlock]:
    """Paragraphs, lists and examples of a text that stands in the lines `first` to `last`."""
    if not is_visible(text):
        return
    for block in plain.read(Decoded(text, "utf-8"), "x").blocks:
        begin = min(last, first + block.first_line - 1)
        below = tuple(heading for heading in block.headings if heading != "X")
        yield msgspec.structs.replace(
            block,
            headings=below,
            group=0,
            first_line=begin,
            last_line=max(begin, min(last, first + block.last_line - 1)),
        )
