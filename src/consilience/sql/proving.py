"""Ids in a result, proven into the roots that the result names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from consilience.errors import ConsilienceError
from consilience.protocol import parse_digest
from consilience.sql.result import ResultColumn
from consilience.store import View

__all__ = ["prove_ids"]

_ID = re.compile(r"sha256:[0-9a-f]{64}")


def prove_ids(
    views: Sequence[View], columns: Sequence[ResultColumn], rows: Sequence[tuple[Any, ...]]
) -> tuple[int, tuple[str, ...]]:
    """How many ids of the columns called `id` were proven into a root of one of the brains read, and those that
    were not, ascending."""
    proven, failed = 0, []
    for block_id in sorted(set(_ids(columns, rows))):
        if any(_proves(view, block_id) for view in views):
            proven += 1
        else:
            failed.append(block_id)
    return proven, tuple(failed)


def _ids(columns: Sequence[ResultColumn], rows: Sequence[tuple[Any, ...]]) -> Iterator[str]:
    places = [at for at, column in enumerate(columns) if column.name.lower() == "id"]
    for row in rows:
        for at in places:
            if isinstance(row[at], str) and _ID.fullmatch(row[at]):
                yield row[at]


def _proves(view: View, block_id: str) -> bool:
    try:
        view.prove(parse_digest(block_id))
    except ConsilienceError:
        return False
    return True
