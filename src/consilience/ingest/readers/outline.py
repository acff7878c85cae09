"""The heading path of the place where a reader stands."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.ingest.model import TextBlock


class Outline:
    """Open sections, outermost first. The title of the document is not among them; `path` puts it in front."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._open: list[tuple[int, str]] = []
        self._path: tuple[str, ...] | None = None
        self._entered: list[tuple[int, int, str, tuple[str, ...]]] = []

    def enter(self, level: int, heading: str, line: int) -> None:
        """Begin a section (level 1 outermost) whose heading stands at `line`."""
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        self._entered.append((line, level, heading, self.path))
        self._open.append((level, heading))
        self._path = None

    @property
    def path(self) -> tuple[str, ...]:
        if self._path is None:
            names = [name for _, name in self._open if name]
            if names and names[0].casefold() == self.title.casefold():
                names = names[1:]
            self._path = (self.title, *names) if self.title else tuple(names)
        return self._path

    def with_bare_headings(self, blocks: Sequence[TextBlock]) -> tuple[TextBlock, ...]:
        """The blocks, by line, and one more for each heading that has neither text nor sections below it."""
        starts = sorted(block.first_line for block in blocks)
        bare: list[TextBlock] = []
        at = 0
        for n, (line, level, heading, above) in enumerate(self._entered):
            following = self._entered[n + 1] if n + 1 < len(self._entered) else None
            while at < len(starts) and starts[at] < line:
                at += 1
            filled = at < len(starts) and (following is None or starts[at] < following[0])
            if not filled and heading and (following is None or following[1] <= level):
                bare.append(
                    TextBlock(text=heading, role="heading", headings=above, first_line=line, last_line=line)
                )
        return tuple(sorted((*blocks, *bare), key=lambda block: (block.first_line, block.last_line)))
