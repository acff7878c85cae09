"""What a brain has measured of itself: counts to plan by, the noise floor, cost factors. One file in derived/."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec

from consilience.files import seal_holds, sealed, write_atomically
from consilience.model import Value
from consilience.plan.cost import CostModel

STATISTICS_VERSION = 3
STALE_GROWTH = 0.2
"""Statistics are stale once the brain has grown or shrunk by more than this share since they were measured."""

FILE_NAME = "statistics.json"


class Spread(Value, frozen=True, kw_only=True):
    """Mean and standard deviation of a measure over the noise questions."""

    mean: float
    deviation: float

    def z(self, value: float) -> float:
        return (value - self.mean) / self.deviation


class Noise(Value, frozen=True, kw_only=True):
    """How well questions in one language that have nothing to do with the brain match it.

    `coverage` and `similarity` are of the best match a question finds (each measure's own best), in part what brains
    show on the average. `similarity` is None in a brain without vectors. `held`: the brain has passages in this
    language.
    """

    language: str
    held: bool
    questions_version: int
    samples: int
    tag: str | None
    coverage: Spread
    similarity: Spread | None


class Statistics(Value, frozen=True, kw_only=True):
    """Measured over the blocks up to ordinal `max_n`: `blocks` of the searched modules, `vectors` of them embedded.

    `noises`: one for each language that questions were asked in, the brain's main language first. `centre`: the mean
    vector of the noise questions in the brain's own model; what a vector has in common with it says nothing.
    """

    version: int = STATISTICS_VERSION
    max_n: int = 0
    blocks: int = 0
    vectors: int = 0
    mean_postings: float = 0.0
    noises: tuple[Noise, ...] = ()
    centre: tuple[float, ...] = ()
    costs: CostModel = CostModel()

    def noise_for(self, language: str) -> Noise | None:
        """The noise of questions in this language; for any other that of the brain's own, which stands first."""
        return next(
            (n for n in self.noises if n.language == language), self.noises[0] if self.noises else None
        )

    def stale(self, blocks: int) -> bool:
        """Whether a brain of `blocks` blocks has outgrown these figures."""
        return abs(blocks - self.blocks) > STALE_GROWTH * max(1, self.blocks)


def load(derived: Path) -> Statistics | None:
    """The statistics on disk; None where there are none, or none that this version reads."""
    try:
        data = (derived / FILE_NAME).read_bytes()
        found = msgspec.json.decode(data, type=Statistics)
    except (OSError, msgspec.DecodeError):
        return None
    if seal_holds(data) is False:
        return None
    return found if found.version == STATISTICS_VERSION else None


def save(derived: Path, statistics: Statistics) -> None:
    """Replace the statistics on disk, whole or not at all. Raises StorageError."""
    write_atomically(derived / FILE_NAME, sealed(msgspec.json.encode(statistics)))


def spread(values: list[float], *, least: float) -> Spread:
    """Mean and sample deviation; `least` bounds the deviation from below: a constant measure divides nothing."""
    count = len(values)
    mean = math.fsum(values) / count
    variance = math.fsum((v - mean) ** 2 for v in values) / max(1, count - 1)
    return Spread(mean=mean, deviation=max(math.sqrt(variance), least))
