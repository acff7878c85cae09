"""What sources need of the world around them, handed in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Around:
    """`root` is the project's folder, from which places are meant and origins named; `environ` is what programs that
    are run (git) find as their environment; `jobs` processes may parse files, None for as many as there are processors.
    """

    root: Path
    clock: Callable[[], datetime]
    environ: Mapping[str, str] = field(default_factory=dict)
    jobs: int | None = None
