"""Plain text: paragraphs between blank lines, and only those headings that are plainly headings."""

from __future__ import annotations

import re

from consilience.ingest import metadata
from consilience.ingest.decoding import Decoded
from consilience.ingest.model import Document, TextBlock
from consilience.ingest.readers.media import PLAIN, READERS
from consilience.ingest.readers.outline import Outline

NAME, VERSION = READERS[PLAIN]
_RULE = re.compile(r"^([=\-~*#_^+])\1{2,}\s*$")
_NUMBERED = re.compile(r"^(\d+(?:\.\d+)*)\.?\s+[A-Z]\S*(?:\s\S+){0,9}$")
_ITEM = re.compile(r"^\s{0,8}(?:[-*•+]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+(?=\S)")


def read(decoded: Decoded, name: str) -> Document:
    """Read plain text. Never raises on any text."""
    return _Reader(decoded, name).document()


class _Reader:
    def __init__(self, decoded: Decoded, name: str) -> None:
        self.decoded = decoded
        self.name = name
        self.lines = decoded.text.split("\n")
        self.blocks: list[TextBlock] = []
        self.fields: dict[str, str] = {}
        self.groups = 0

    def document(self) -> Document:
        paragraphs = self._paragraphs()
        title = ""
        if paragraphs:
            first, last = paragraphs[0]
            if self._heading(first, last):
                title = self.lines[first].strip()
        self.outline = Outline(title or metadata.readable_name(self.name))
        previous = None
        for number, (first, last) in enumerate(paragraphs):
            heading = self._heading(first, last)
            if heading:
                if number or not title:
                    self.outline.enter(*heading, first + 1)
                previous = None
                continue
            previous = self._paragraph(first, last, previous)
        return Document(
            title=self.outline.title,
            date=metadata.date_of(self.fields),
            blocks=self.outline.with_bare_headings(self.blocks),
            reader=NAME,
            version=VERSION,
            encoding=self.decoded.encoding,
            warnings=self.decoded.warnings,
        )

    def _paragraphs(self) -> list[tuple[int, int]]:
        """Runs of lines with text, 0-based, inclusive."""
        found: list[tuple[int, int]] = []
        start: int | None = None
        for i, line in enumerate([*self.lines, ""]):
            if line.strip():
                start = i if start is None else start
            elif start is not None:
                found.append((start, i - 1))
                start = None
        return found

    def _heading(self, first: int, last: int) -> tuple[int, str] | None:
        line = self.lines[first].strip()
        if last == first + 1 and _RULE.match(self.lines[last]) and len(line) <= 100:
            return (1 if self.lines[last].lstrip()[0] in "=#*" else 2), line
        if last != first or len(line) > 80:
            return None
        if match := _NUMBERED.match(line):
            return match[1].count(".") + 2, line
        letters = [c for c in line if c.isalpha()]
        if len(letters) >= 4 and line.isupper() and line[-1] not in ".,;:" and len(line.split()) <= 10:
            return 2, line
        return None

    def _paragraph(self, first: int, last: int, group: int | None) -> int | None:
        lines = self.lines[first : last + 1]
        if not self.blocks and all(metadata.field(line) for line in lines):
            self.fields.update(metadata.fields_of(lines))
            if any(key in metadata.HEAD_KEYS for key in self.fields):
                self._emit(lines, "boilerplate", first)
                return None
        starts = [i for i, line in enumerate(lines) if _ITEM.match(line)]
        if starts and starts[0] == 0:
            if group is None:
                self.groups += 1
                group = self.groups
            for begin, end in zip(starts, [*starts[1:], len(lines)], strict=True):
                item = [_ITEM.sub("", lines[begin]), *lines[begin + 1 : end]]
                self._emit(item, "list", first + begin, group)
            return group
        indented = [len(line) - len(line.lstrip()) for line in lines]
        role = "code" if min(indented) >= 4 and not _looks_written(lines) else "prose"
        self._emit(lines, role, first)
        return None

    def _emit(self, lines: list[str], role: str, first: int, group: int = 0) -> None:
        self.blocks.append(
            TextBlock(
                text="\n".join(lines),
                role=role,
                headings=self.outline.path,
                first_line=first + 1,
                last_line=first + len(lines),
                group=group,
            )
        )


def _looks_written(lines: list[str]) -> bool:
    words = " ".join(lines).split()
    plain = sum(word.strip(".,;:!?\"'()").isalpha() for word in words)
    return plain >= len(words) * 0.75
