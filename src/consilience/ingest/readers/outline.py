"""The heading path of the place where a reader stands."""

from __future__ import annotations


class Outline:
    """Open sections, outermost first. The title of the document is not among them; `path` puts it in front."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._open: list[tuple[int, str]] = []
        self._path: tuple[str, ...] | None = None

    def enter(self, level: int, heading: str) -> None:
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
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
