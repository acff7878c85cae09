"""Progress on standard error: a bar with rate and time left on a terminal, a line every ten seconds
elsewhere."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import click

from consilience.cli.terminal import DEFAULT_WIDTH, clean, size

EVERY_SECONDS = 10.0


def _has_size() -> bool:
    """Whether the terminal says how large it is; some say 0, and no bar fits into that."""
    try:
        return min(os.get_terminal_size(sys.stderr.fileno())) > 0
    except (OSError, ValueError):
        return False


class TerminalProgress:
    """One bar at a time. tqdm is imported with the first phase."""

    def __init__(self) -> None:
        self._bar: Any = None

    def start(self, label: str, total: int | None = None, unit: str = "items") -> None:
        from tqdm import tqdm  # type: ignore[import-untyped]

        self.close()
        sized = _has_size()
        self._bar = tqdm(
            total=total,
            desc=clean(label),
            unit=unit if unit == "B" else f" {unit}",
            unit_scale=unit == "B",
            file=sys.stderr,
            leave=False,
            dynamic_ncols=sized,
            ncols=None if sized else DEFAULT_WIDTH,
            nrows=None if sized else 24,
            smoothing=0.1,
        )

    def advance(self, n: int = 1) -> None:
        if self._bar is not None:
            self._bar.update(n)

    def note(self, text: str) -> None:
        if self._bar is None:
            click.echo(clean(text), file=sys.stderr)
        else:
            self._bar.write(clean(text), file=sys.stderr)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class LineProgress:
    """For logs: nothing for short work, then a line every EVERY_SECONDS."""

    def __init__(self, clock: Any = time.monotonic) -> None:
        self._clock = clock
        self._label = ""
        self._unit = ""
        self._total: int | None = None
        self._done = 0
        self._began = self._said = 0.0

    def start(self, label: str, total: int | None = None, unit: str = "items") -> None:
        self._label, self._total, self._unit, self._done = clean(label), total, unit, 0
        self._began = self._said = self._clock()

    def advance(self, n: int = 1) -> None:
        self._done += n
        now = self._clock()
        if self._label and now - self._said >= EVERY_SECONDS:
            self._said = now
            of = f" of {self._count(self._total)}" if self._total is not None else ""
            unit = "" if self._unit == "B" else f" {self._unit}"
            rate = self._done / max(now - self._began, 1e-9)
            left = f", {max(0, self._total - self._done) / rate:,.0f} s left" if self._total and rate else ""
            said = f"{self._count(self._done)}{of}{unit}, {self._count(rate)} a second{left}"
            click.echo(f"{self._label}: {said}", file=sys.stderr)

    def note(self, text: str) -> None:
        click.echo(clean(text), file=sys.stderr)

    def close(self) -> None:
        self._label = ""

    def _count(self, value: float) -> str:
        if self._unit == "B":
            return size(round(value))
        return f"{value:,.1f}" if isinstance(value, float) and value < 10 else f"{value:,.0f}"
