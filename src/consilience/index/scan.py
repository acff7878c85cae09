"""How the rows of vectors are looked through."""

from __future__ import annotations

from enum import StrEnum


class Scan(StrEnum):
    """All rows, the nearest by 1-bit codes and those again (docs/decisions/0054), or along a graph of neighbours
    (docs/decisions/0260)."""

    EXACT = "exact"
    TWO_STAGE = "two-stage"
    HNSW = "hnsw"
