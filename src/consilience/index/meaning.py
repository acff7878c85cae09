"""Passages of different brains that say the same in other words, by the vectors of one model. Pure.

A vector is compared without what all vectors of its brain have in common: its language, its kind of text, and what
crowds the cosines of a model. Decision 0290.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from consilience.model import Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LEAST_ALIKE = 0.80
"""Two passages are near in meaning from this cosine on, each vector taken without the mean of its brain."""

DECIMALS = 4


class Meanings(Value, frozen=True, kw_only=True):
    """Where the matches of one brain's answer stand among all of its passages. It stays in the process.

    `tag` names the model. `placed` takes block ids of the answer and gives those that have a vector, with their
    vectors, (ids, dims) float64 of length 1, the brain's mean taken away.
    """

    tag: str
    placed: Callable[[Sequence[str]], tuple[tuple[str, ...], Floats]]


def alike(
    vectors: Sequence[Floats], owners: Sequence[int], *, least: float = LEAST_ALIKE
) -> list[tuple[int, int, float]]:
    """Pairs of rows of different owners whose cosine is `least` or more, a < b, with it, to four decimals.

    vectors: parts of (rows, dims) float64 of length 1, of one model, one below the other; owners: (rows,).
    """
    import numpy as np

    if len(owners) < 2:
        return []
    rows, of = np.concatenate(vectors), np.asarray(owners)
    cosines = np.round(rows @ rows.T, DECIMALS)
    found = np.nonzero(np.triu((cosines >= least) & (of[:, None] != of[None, :])))
    return [(int(a), int(b), min(1.0, float(cosines[a, b]))) for a, b in zip(*found, strict=True)]
