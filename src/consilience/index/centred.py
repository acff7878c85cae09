"""Vectors without what all vectors of an index have in common (docs/decisions/0290)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from consilience.index.vector_files import Floats, Ints, Rows

LEAST_ROWS: Final = 32
"""Rows below which their mean says too little of what any text would have in common with them."""

SAMPLE: Final = 512
"""Rows, evenly spread over the ordinals, whose mean stands for that of all: off by at most 0.01 in a cosine."""


LENGTH_OFF: Final = 0.05
"""How far the length of a stored vector may be from 1; of a damaged row it is."""


def centre(rows: Rows) -> NDArray[np.float64] | None:
    """The mean vector, (dims,); None where there are too few rows. Kept with the rows."""
    if rows.centre is None:
        places = rows.current()[1]
        if len(places) > SAMPLE:
            places = places[np.linspace(0, len(places) - 1, SAMPLE).astype(np.int64)]
        vectors = rows.floats(places)
        sound = vectors[_sound(vectors)]
        if len(sound) < LEAST_ROWS:
            return None
        rows.centre = sound.mean(axis=0, dtype=np.float64)
    return rows.centre


def centred(rows: Rows, ns: Sequence[int] | Ints) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """(which of the ordinals have a sound vector, the vectors of those, of length 1, without the mean)."""
    found, places = rows.rows_of(np.asarray(ns, dtype=np.int64))
    middle = centre(rows) if len(places) else None
    if middle is None:
        return np.zeros(len(found), np.bool_), np.empty((0, rows.meta.dims))
    stored = rows.floats(places)
    vectors = stored - middle
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    sound = _sound(stored) & (lengths > 0)
    found[found] = sound
    return found, vectors[sound] / lengths[sound, None]


def _sound(vectors: Floats) -> NDArray[np.bool_]:
    with np.errstate(over="ignore", invalid="ignore"):
        lengths: Floats = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        near_one: NDArray[np.bool_] = np.abs(lengths - 1.0) <= LENGTH_OFF
    return near_one
