"""What is still known of snapshots that a prune removed: digest, time, and the root of each module.

The table is made by the first prune (docs/decisions/0122). It answers whether an index or a citation goes back to
this brain's own past, and says of the oldest snapshot kept that its parent was here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from consilience.protocol import Digest, MemoryType, sha256
from consilience.store.connection import Connection
from consilience.store.schema import CODE, MODULES
from consilience.store.values import ModuleState, SnapshotInfo

__all__ = ["PRUNED_TABLE", "PrunedSnapshot", "all_pruned", "insert_pruned", "pruned_root", "pruned_snapshot"]

PRUNED_TABLE: Final = (
    "CREATE TABLE pruned (seq INTEGER PRIMARY KEY, digest BLOB NOT NULL, at TEXT NOT NULL, roots BLOB NOT NULL,"
    " seal BLOB NOT NULL)"
)
"""`roots`: for each module its number in one byte and its root in 32. `seal`: eight bytes over the rest."""

_ITEM = 33
_COLUMNS = "seq, digest, at, roots, seal"


class PrunedSnapshot(msgspec.Struct, frozen=True):
    """A snapshot that was here. `sound`: the row is as it was written."""

    seq: int
    digest: Digest
    at: str
    roots: tuple[tuple[MemoryType, Digest], ...]
    sound: bool


def has_pruned(connection: Connection) -> bool:
    return connection.row("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'pruned'") is not None


def all_pruned(connection: Connection) -> list[PrunedSnapshot]:
    """Every pruned snapshot, oldest first."""
    return _select(connection, "ORDER BY seq")


def pruned_snapshot(connection: Connection, hex_prefix: str) -> PrunedSnapshot | None:
    """The pruned snapshot whose digest begins with these hex digits; the newest, where there are several."""
    low, high = bytes.fromhex(hex_prefix.ljust(64, "0")), bytes.fromhex(hex_prefix.ljust(64, "f"))
    found = _select(connection, "WHERE digest BETWEEN ? AND ? ORDER BY seq DESC LIMIT 1", low, high)
    return found[0] if found else None


def pruned_root(connection: Connection, module: MemoryType, root: Digest) -> PrunedSnapshot | None:
    """The latest pruned snapshot at which this was the root of the module."""
    wanted = bytes([CODE[module]]) + root
    found = _select(connection, "WHERE instr(roots, ?) ORDER BY seq DESC", wanted)
    return next((each for each in found if (module, root) in each.roots), None)


def insert_pruned(
    connection: Connection, rows: Iterable[tuple[SnapshotInfo, tuple[ModuleState, ...]]]
) -> None:
    """Note snapshots that are about to go; makes the table where there is none."""
    if not has_pruned(connection):
        connection.run(PRUNED_TABLE)
    for info, modules in rows:
        roots = b"".join(bytes([CODE[m.memory_type]]) + m.root for m in modules)
        seal = _seal(info.seq, info.digest, info.created_at, roots)
        connection.run(
            f"INSERT INTO pruned ({_COLUMNS}) VALUES (?, ?, ?, ?, ?)",
            (info.seq, info.digest, info.created_at, roots, seal),
        )


def _select(connection: Connection, condition: str, *parameters: object) -> list[PrunedSnapshot]:
    if not has_pruned(connection):
        return []
    return [
        PrunedSnapshot(seq, Digest(digest), at, _roots(roots), seal == _seal(seq, digest, at, roots))
        for seq, digest, at, roots, seal in connection.rows(
            f"SELECT {_COLUMNS} FROM pruned {condition}", parameters
        )
    ]


def _roots(data: bytes) -> tuple[tuple[MemoryType, Digest], ...]:
    items = [data[i : i + _ITEM] for i in range(0, len(data), _ITEM)]
    return tuple((MODULES[i[0]], Digest(i[1:])) for i in items if len(i) == _ITEM and i[0] < len(MODULES))


def _seal(seq: int, digest: bytes, at: str, roots: bytes) -> bytes:
    return sha256(f"{seq} {at} ".encode() + digest + roots)[:8]
