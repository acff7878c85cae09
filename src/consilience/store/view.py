"""A reader: one snapshot of a brain, held still for the whole of a question."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from types import TracebackType
from typing import Self

from consilience.errors import NotFoundError
from consilience.protocol import Digest, MemoryType, format_digest
from consilience.protocol import snapshot as snapshots
from consilience.store.connection import Closed, Connection
from consilience.store.pruned import pruned_snapshot
from consilience.store.reads import parsed_snapshot, read_snapshots
from consilience.store.redaction import RedactionReads
from consilience.store.values import ModuleState, SnapshotInfo

__all__ = ["View", "module_states"]


class View(RedactionReads):
    """A pinned read transaction on its own connection, at one snapshot.

    Whatever writers commit meanwhile, every answer is of that snapshot. Use it as a context manager, from one
    thread at a time; open one for each thread. Made by `Store.view`.
    """

    def __init__(
        self, connection: Connection, at: Digest | None, release: Callable[[Connection], None]
    ) -> None:
        self._release: Callable[[Connection], None] | None = release
        connection.run("BEGIN")
        head = read_snapshots(connection, "ORDER BY seq DESC LIMIT 1")
        found = head if at is None else read_snapshots(connection, "WHERE digest = ?", (at,))
        if at is not None and not found:
            raise NotFoundError(
                f"no snapshot {format_digest(at)} in {connection.path.parent}",
                hint="`history` lists those that are here",
            )
        self.snapshot: SnapshotInfo | None = found[0] if found else None
        super().__init__(connection, self.snapshot.seq if self.snapshot else 0, at_head=found == head)

    @property
    def max_n(self) -> int:
        return self.snapshot.max_n if self.snapshot else 0

    def has_snapshot(self, digest: Digest) -> bool:
        """Whether a snapshot of this brain, as far as this transaction sees it, pruned or not, has that digest."""
        if self._db.row("SELECT 1 FROM snapshots WHERE digest = ?", (digest,)) is not None:
            return True
        return pruned_snapshot(self._db, digest.hex()) is not None

    @property
    def is_head(self) -> bool:
        """Whether no later snapshot was there when this one was pinned."""
        return self._at_head

    def snapshot_count(self) -> int:
        """Snapshots that are here, up to this one."""
        return int(self._db.rows("SELECT count(*) FROM snapshots WHERE seq <= ?", (self._seq,))[0][0])

    def snapshots_after(self) -> int:
        """Snapshots that were made since this one."""
        return int(self._db.rows("SELECT count(*) FROM snapshots WHERE seq > ?", (self._seq,))[0][0])

    def modules(self) -> tuple[ModuleState, ...]:
        return self._modules

    @cached_property
    def _modules(self) -> tuple[ModuleState, ...]:
        return () if self.snapshot is None else module_states(parsed_snapshot(self.snapshot.document))

    def count(self, memory_type: MemoryType) -> int:
        return next((m.count for m in self.modules() if m.memory_type is memory_type), 0)

    def close(self) -> None:
        """Let go of the snapshot. Again: nothing."""
        release, self._release = self._release, None
        if release is not None:
            connection, self._db = self._db, Closed(self._db.path)
            release(connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def module_states(snapshot: snapshots.Snapshot) -> tuple[ModuleState, ...]:
    """What a snapshot document says of each module it names."""
    return tuple(
        ModuleState(ref.memory_type, ref.root, ref.composition, ref.block_count, frozenset(ref.tombstones))
        for ref in snapshot.modules
    )
