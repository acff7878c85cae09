"""The members of a module at many snapshots, read once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from consilience.protocol import MemoryType
from consilience.store.reads import BlockReads
from consilience.store.schema import CODE

__all__ = ["members_over_time"]


def members_over_time(
    view: BlockReads, memory_type: MemoryType, seqs: Sequence[int]
) -> Iterator[tuple[int, list[bytes]]]:
    """For each snapshot number, the ids of the module's members, ascending. One row in memory a member."""
    code = CODE[memory_type]
    earlier: dict[int, list[tuple[int, int]]] = defaultdict(list)
    sql = "SELECT e.n, e.entered, e.departed FROM earlier e JOIN blocks b USING (n) WHERE b.type = ?"
    for n, entered, departed in view.connection.rows(sql, (code,)):
        earlier[n].append((entered, departed))
    intervals: list[tuple[bytes, int, int]] = []
    never = 1 << 62
    sql = "SELECT id, n, entered, departed FROM blocks INDEXED BY block_id WHERE type = ? ORDER BY id"
    for block_id, n, entered, departed in view.connection.rows(sql, (code,)):
        intervals.append((block_id, entered, never if departed is None else departed))
        if earlier:
            intervals.extend((block_id, begins, ends) for begins, ends in earlier.get(n, ()))
    for seq in seqs:
        yield seq, [block_id for block_id, begins, ends in intervals if begins <= seq < ends]
