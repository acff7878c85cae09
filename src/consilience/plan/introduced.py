"""What introduces a block, read where its first source says that it stands (docs/decisions/0300)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from consilience.errors import ConsilienceError
from consilience.ingest.introductions import announces, introduction
from consilience.model import Locator, Source
from consilience.protocol import Payload, decode, parse_digest
from consilience.store import View

LOOKED_AT = 8
"""Passages that begin on the line named: a page, or a file of one long line, has many."""


class Introducer:
    """Looks introductions up, file by file; the passages of the last file are kept."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._file = ""
        self._passages: list[tuple[int, str]] = []
        self._position: dict[tuple[int, str], int] = {}
        self._at: dict[int, list[int]] = {}

    def of(self, sources: Mapping[int, Sequence[Source]]) -> dict[int, str]:
        """By ordinal the sentence that introduces a block in its first source; of those that have one."""
        wanted = [
            (places[0].block_id, n, places[0].locator or "", line)
            for n, places in sources.items()
            if places and (line := _introduced_by(places[0].locator)) is not None
        ]
        found: dict[int, str] = {}
        for file, n, locator, line in sorted(wanted):
            self._open(file)
            said = self._introduction(n, locator, line)
            if said:
                found[n] = said
        return found

    def _open(self, file: str) -> None:
        if file == self._file:
            return
        self._file, self._passages, self._position, self._at = file, [], {}, {}
        digest = parse_digest(file)
        n = self._view.ordinals([digest]).get(digest)
        if n is None:
            return
        self._passages = self._view.children(n)
        for position, (passage, locator) in enumerate(self._passages):
            self._position[passage, locator] = position
            first = Locator.parse(locator).first_line
            if first is not None:
                self._at.setdefault(first, []).append(position)

    def _introduction(self, n: int, locator: str, line: int) -> str:
        """That of the last passage before the block which begins on the line, and rather one that announces it."""
        there, own = self._at.get(line, []), self._position.get((n, locator), 0)
        before = there[: bisect_left(there, own)][-LOOKED_AT:]
        texts = self._texts([self._passages[position][0] for position in before])
        said = [text for text in texts if announces(text)] or texts
        return introduction(said[-1]) if said else ""

    def _texts(self, ns: Sequence[int]) -> list[str]:
        """The words of those that can be read, in the order asked."""
        from consilience.plan.entries import text_of

        texts = {}
        for block in self._view.blocks(sorted({*ns})):
            if block.data is not None and block.intact:
                payload: Payload = decode(block.data).payload
                texts[block.n] = text_of(payload)
        return [texts[n] for n in ns if n in texts]


def _introduced_by(locator: str | None) -> int | None:
    """`Locator.introduced_by`, most of the time without reading the whole."""
    if locator is None or "<" not in locator:
        return None
    return Locator.parse(locator).introduced_by


def may_be_introduced_by(view: View, ns: Iterable[int]) -> set[int]:
    """The blocks whose context may hold words of one of these: what is introduced at all in the files that they stand
    in. Rather too many: the line may be gone with the block."""
    files = {source for sources in view.sources_of(ns).values() for source in sources if source > 0}
    found: set[int] = set()
    for file in files:
        try:
            children = view.children(file)
        except ConsilienceError:
            continue
        found.update(n for n, locator in children if _introduced_by(locator) is not None)
    return found - {*ns}
