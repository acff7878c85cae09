"""What introduces a list, a table or code: the line that its passages point to (docs/decisions/0300).

Only the locator says it. A passage's text, and so its identity, knows nothing of what stands before it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from consilience.ingest.model import Passage, TextBlock

_COLON = re.compile("[:：﹕]\\W*$")
_SENTENCE = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+(?=[^a-z\s])|(?<=[。！？])")
MOST = 300
"""Characters of an introduction that count: its end, which stands next to what it introduces."""


def announces(text: str) -> bool:
    """Whether a passage says that something follows: it ends with a colon."""
    return _COLON.search(text[-8:]) is not None


def introduction(text: str) -> str:
    """The sentence of a passage that introduces what follows: its last one, or the end of that."""
    last = _SENTENCE.split(text.strip())[-1]
    if len(last) <= MOST:
        return last
    cut = last[-MOST:]
    return cut[cut.find(" ") + 1 :]


class Introductions:
    """Goes through a document's runs of blocks in order and tells each passage's locator what introduces it.

    A list, a table or a block of code is introduced by the passage directly before it, if that stands under the same
    headings and ends with a colon; a nested item by the item that it belongs to.
    """

    def __init__(self) -> None:
        self._before: Passage | None = None
        self._of_group: dict[int, int | None] = {}
        self._line: int | None = None
        self._parents: dict[int, int] = {}

    def begin(self, blocks: Sequence[TextBlock]) -> None:
        """The next run: the blocks of one group, role and event, or those between two groups."""
        group, role = blocks[0].group, blocks[0].role
        self._parents = {}
        self._line = None
        if group:
            if group not in self._of_group:
                self._of_group = {group: self._lead_in(blocks[0])}
            self._line = self._of_group[group]
            self._parents = _parents(blocks)
        elif role == "code":
            self._line = self._lead_in(blocks[0])

    def _lead_in(self, block: TextBlock) -> int | None:
        before = self._before
        if before is None or before.event != block.event or before.locator.headings != block.headings:
            return None
        return before.locator.first_line if announces(before.text) else None

    def of(self, passage: Passage) -> Passage:
        """The passage of the current run, its locator completed."""
        self._before = passage
        first = passage.locator.first_line
        line = self._line if first is None else self._parents.get(first, self._line)
        if line is None:
            return passage
        return msgspec.structs.replace(
            passage, locator=msgspec.structs.replace(passage.locator, introduced_by=line)
        )


def _parents(items: Sequence[TextBlock]) -> dict[int, int]:
    """By the first line of a nested item that of the item it belongs to."""
    found: dict[int, int] = {}
    path: list[TextBlock] = []
    for item in items:
        while path and path[-1].depth >= item.depth:
            path.pop()
        if path and path[-1].first_line != item.first_line:
            found[item.first_line] = path[-1].first_line
        path.append(item)
    return found
