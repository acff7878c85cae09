"""What a generator costs, in microseconds. Defaults measured (bench/bench_speed.py), scaled by what ran here."""

from __future__ import annotations

from consilience.model import Value


class CostModel(Value, frozen=True, kw_only=True):
    """Cost constants, µs. The `*_scale` factors are the median of actual over estimated on this machine."""

    lexical_base: float = 150.0
    lexical_posting: float = 0.004
    lexical_pushed_row: float = 0.25
    vector_base: float = 60.0
    vector_row: float = 0.16
    vector_code: float = 0.006
    vector_again: float = 0.22
    embed_query: float = 16_000.0
    scan_base: float = 30.0
    scan_row: float = 90.0
    facet_base: float = 120.0
    facet_row: float = 0.35
    candidate: float = 90.0
    lexical_scale: float = 1.0
    vector_scale: float = 1.0
    scan_scale: float = 1.0

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
        return raw * self.vector_scale

    def scan(self, rows: float) -> float:
        """Reading, decoding and scoring `rows` blocks without any index."""
        return (self.scan_base + self.scan_row * rows) * self.scan_scale

    def facets(self, rows: float) -> float:
        """Listing `rows` eligible ordinals."""
        return self.facet_base + self.facet_row * rows

    def finish(self, candidates: float) -> float:
        """Strength, visibility and verification of the candidates."""
        return self.candidate * candidates
