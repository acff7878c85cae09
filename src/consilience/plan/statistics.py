"""What a brain has measured of itself: counts to plan by, the noise floor. One file in derived/."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import msgspec

from consilience.files import seal_holds, sealed, write_atomically
from consilience.index.facet_profile import FacetProfile
from consilience.model import SEARCHED_BY_DEFAULT, Value
from consilience.plan.trust import Trust
from consilience.protocol import MemoryType

STATISTICS_VERSION = 6
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
    show on the average; `foreign` is the similarity of the best match in another language than the question's. Both are
    None in a brain without vectors. `held`: the brain has passages in this language.
    """

    language: str
    held: bool
    questions_version: int
    samples: int
    tag: str | None
    coverage: Spread
    similarity: Spread | None
    foreign: Spread | None = None


class ModuleStatistics(Value, frozen=True, kw_only=True):
    """One module: `blocks` that are members with bytes, `embedded` of what the facets hold, words a block on the
    average (of a sample), and what its facets look like (decision 0230)."""

    module: MemoryType
    blocks: int
    embedded: int
    mean_words: float
    facets: FacetProfile


class TwoStage(Value, frozen=True, kw_only=True):
    """The recall of the two-stage scan: the share of the exact best 10 and 60 that it returns.

    The lower of two figures: rows of the index as questions, and questions about other things (decision 0231).
    `generation`: of the codes that were measured.
    """

    generation: int
    questions: int
    recall_10: float
    recall_60: float

    def recall(self, limit: int) -> float:
        """For a question that wants `limit` matches."""
        return self.recall_10 if limit <= 10 else self.recall_60


class Statistics(Value, frozen=True, kw_only=True):
    """Measured over the blocks up to ordinal `max_n`: `blocks` of the searched modules, `vectors` of them embedded.

    `noises`: one for each language that questions were asked in, the brain's main language first. `centre`: the mean
    vector of the noise questions in the brain's own model; what a vector has in common with it says nothing.
    """

    version: int = STATISTICS_VERSION
    max_n: int = 0
    blocks: int = 0
    vectors: int = 0
    noises: tuple[Noise, ...] = ()
    centre: tuple[float, ...] = ()
    modules: tuple[ModuleStatistics, ...] = ()
    two_stage: TwoStage | None = None
    trust: Trust | None = None

    def noise_for(self, language: str) -> Noise | None:
        """The noise of questions in this language; for any other that of the brain's own, which stands first."""
        return next(
            (n for n in self.noises if n.language == language), self.noises[0] if self.noises else None
        )

    def module(self, module: MemoryType) -> ModuleStatistics | None:
        return next((m for m in self.modules if m.module is module), None)

    def measured_at(self, modules: Sequence[MemoryType]) -> int:
        """How many blocks these modules had when all this was measured."""
        searched = {m.module for m in self.modules if m.module in SEARCHED_BY_DEFAULT}
        if not searched or searched <= {*modules}:
            others = [m.blocks for m in self.modules if m.module in modules and m.module not in searched]
            return self.blocks + sum(others)
        return sum(m.blocks for m in self.modules if m.module in modules)

    def stale(self, blocks: int, modules: Sequence[MemoryType] = SEARCHED_BY_DEFAULT) -> bool:
        """Whether a brain of `blocks` blocks in these modules has outgrown the figures."""
        measured = self.measured_at(modules)
        return abs(blocks - measured) > STALE_GROWTH * max(1, measured)


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
