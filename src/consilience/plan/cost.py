"""What a generator costs, in microseconds: constants measured once, scaled by what ran on this machine
(docs/decisions/0232)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from consilience.files import seal_holds, sealed, write_atomically
from consilience.model import Value

COSTS_VERSION = 1
FILE_NAME = "costs.json"

MOST_SAMPLES = 64
"""Samples of each part that are kept, the latest."""

LEAST_SAMPLES = 3
"""Samples from which on a part is scaled."""

LEAST_SCALE, MOST_SCALE = 0.1, 20.0


class CostModel(Value, frozen=True, kw_only=True):
    """Cost constants, µs. The `*_scale` factors are the median of actual over estimated on this machine."""

    lexical_base: float = 150.0
    lexical_posting: float = 0.004
    lexical_pushed_row: float = 0.25
    vector_base: float = 60.0
    vector_row: float = 0.16
    vector_code: float = 0.006
    vector_again: float = 0.22
    hnsw_base: float = 100.0
    hnsw_step: float = 0.2
    embed_query: float = 16_000.0
    scan_base: float = 30.0
    scan_row: float = 90.0
    read_base: float = 100.0
    read_row: float = 60.0
    facet_base: float = 120.0
    facet_row: float = 0.35
    candidate: float = 90.0
    relation_base: float = 6_000.0
    relation_row: float = 300.0
    lexical_scale: float = 1.0
    vector_scale: float = 1.0
    two_stage_scale: float = 1.0
    hnsw_scale: float = 1.0
    embed_scale: float = 1.0
    scan_scale: float = 1.0
    read_scale: float = 1.0
    facet_scale: float = 1.0
    finish_scale: float = 1.0

    def lexical(self, postings: float, *, pushed: float = 0.0) -> float:
        """An index query over `postings` entries of its terms' lists, `pushed` eligible ordinals handed to it."""
        raw = self.lexical_base + self.lexical_posting * postings + self.lexical_pushed_row * pushed
        return raw * self.lexical_scale

    def vectors(self, rows: float) -> float:
        """An exact scan of `rows` vectors, the question already embedded."""
        return (self.vector_base + self.vector_row * rows) * self.vector_scale

    def two_stage(self, coded: float, again: float) -> float:
        """A scan of `coded` 1-bit codes and an exact look at `again` rows, the question already embedded."""
        raw = 2.0 * self.vector_base + self.vector_code * coded + self.vector_again * again
        return raw * self.two_stage_scale

    def hnsw(self, linked: float, width: float, again: float) -> float:
        """A search as wide as `width` along a graph over `linked` rows, and an exact look at `again` rows, the question
        already embedded."""
        steps = width * math.log2(max(2.0, linked))
        raw = 2.0 * self.vector_base + self.hnsw_base + self.hnsw_step * steps + self.vector_again * again
        return raw * self.hnsw_scale

    def embed(self) -> float:
        """Embedding a question."""
        return self.embed_query * self.embed_scale

    def scan(self, rows: float) -> float:
        """Reading, decoding and scoring `rows` blocks without any index."""
        return (self.scan_base + self.scan_row * rows) * self.scan_scale

    def read(self, rows: float) -> float:
        """Reading `rows` blocks of which the facets know what takes long to work out."""
        return (self.read_base + self.read_row * rows) * self.read_scale

    def facets(self, rows: float) -> float:
        """Listing `rows` eligible ordinals."""
        return (self.facet_base + self.facet_row * rows) * self.facet_scale

    def relations(self, brought: float) -> float:
        """Following relations from the best candidates, and judging `brought` blocks that they lead to."""
        return (self.relation_base + self.relation_row * brought) * self.finish_scale

    def finish(self, candidates: float) -> float:
        """Strength, visibility and verification of the candidates."""
        return self.candidate * candidates * self.finish_scale


SHIPPED = CostModel()
"""The constants alone: by these it is chosen what a plan returns."""

PARTS = ("lexical", "vector", "two_stage", "hnsw", "embed", "scan", "read", "facet", "finish")
"""What is scaled by itself."""


class Costs(Value, frozen=True, kw_only=True):
    """The latest samples of each part, oldest first: actual time over what the constants alone estimate."""

    version: int = COSTS_VERSION
    ratios: dict[str, tuple[float, ...]] = msgspec.field(default_factory=dict)

    def with_samples(self, samples: Mapping[str, Sequence[float]]) -> Costs:
        """These and further ones, as many as are kept. What is no ratio is left out."""
        found = {}
        for part in PARTS:
            sound = [round(r, 4) for r in samples.get(part, ()) if 0.0 < r < 1e6]
            if kept := (*self.ratios.get(part, ()), *sound)[-MOST_SAMPLES:]:
                found[part] = kept
        return Costs(ratios=found)

    def model(self) -> CostModel:
        """The constants, each part scaled by the median of its samples, within a tenth and twenty times."""
        scales = {}
        for part in PARTS:
            ratios = self.ratios.get(part, ())[-MOST_SAMPLES:]
            if len(ratios) >= LEAST_SAMPLES:
                scales[f"{part}_scale"] = round(min(MOST_SCALE, max(LEAST_SCALE, _median(ratios))), 3)
        return CostModel(**scales)


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def load(derived: Path) -> Costs:
    """The samples on disk; none where there are none, or none that this version reads."""
    try:
        data = (derived / FILE_NAME).read_bytes()
        found = msgspec.json.decode(data, type=Costs)
    except (OSError, msgspec.DecodeError):
        return Costs()
    return found if found.version == COSTS_VERSION and seal_holds(data) else Costs()


def save(derived: Path, costs: Costs) -> None:
    """Replace the samples on disk, whole or not at all. Raises StorageError."""
    write_atomically(derived / FILE_NAME, sealed(msgspec.json.encode(costs)))
