"""How long work says how far it is, without knowing who listens.

A caller hands a `Progress` down; brain, ingest and verify call it. One phase at a time: `start` closes the
phase before it. Nothing here prints, and no method raises.
"""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives the progress of one long piece of work."""

    def start(self, label: str, total: int | None = None, unit: str = "items") -> None:
        """Begin a phase. `total` is in `unit`s, None where it is not known beforehand."""

    def advance(self, n: int = 1) -> None:
        """`n` more units of the present phase are done."""

    def note(self, text: str) -> None:
        """Something a person should read now: a file skipped, a wait for another writer."""

    def close(self) -> None:
        """End the present phase. Calling it twice, or before any `start`, does nothing."""


class NoProgress:
    """The listener that ignores everything; the default wherever a Progress is taken."""

    def start(self, label: str, total: int | None = None, unit: str = "items") -> None:
        pass

    def advance(self, n: int = 1) -> None:
        pass

    def note(self, text: str) -> None:
        pass

    def close(self) -> None:
        pass


NO_PROGRESS: Progress = NoProgress()
