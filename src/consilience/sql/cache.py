"""Each brain's tables, kept: immutable files of the engine, made once for what they are made from (C27).

    derived/tables/semantic.<key>.json                what the table is made of: a base, perhaps a delta, counts
    derived/tables/semantic.<key>.<sum>.base.duckdb   all rows of the module at some snapshot
    derived/tables/semantic.<key>.<sum>.delta.duckdb  rows that are new or other since, and the ordinals that are gone

The key is a hash of all that rows follow from: module root, provenance root, tombstones, version of the projection.
The sum is the beginning of the file's SHA-256; the JSON is sealed and has the whole of it, for `verify`.
After a commit the delta alone is made, until it grows past a share of the base. Files are written under another name
and renamed, the JSON last; two makers at once write the same. Only the head's tables are kept (docs/decisions/0171).
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from consilience.errors import ConsilienceError, StorageError
from consilience.files import discard_abandoned, seal_holds, sealed, write_atomically
from consilience.index.checksums import FileSum, sum_of
from consilience.model import Value
from consilience.protocol import MemoryType, format_digest, parse_digest, sha256
from consilience.sql.names import PROJECTION
from consilience.store import StoredBlock, View
from consilience.store.values import SnapshotInfo

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["FOLDER", "State", "Table", "UnusableError", "attached", "holds", "in_memory", "kept_state", "key_of",
           "make_state", "purge"]  # fmt: skip

FOLDER: Final = "tables"
"""Below a brain's `derived`."""

DELTA_SHARE = 0.2
DELTA_LEAST = 2_000
"""A delta of more rows than this share of its base, and more than DELTA_LEAST, becomes a new base."""

BEING_MADE_S = 60.0
"""How old a file without a state is at least before it is taken for left over: its state may be on its way."""

_STATE = re.compile(r"([a-z]+)\.([0-9a-f]{32})\.json")


class State(Value, frozen=True, kw_only=True):
    """What a table is made of. `gone` ordinals of the base do not count; `hidden` rows are superseded or demoted.
    Its document is one of `FileSums` too (index/checksums.py)."""

    module: MemoryType
    base: str
    delta: str | None
    rows: int
    hidden: int
    gone: int
    base_rows: int
    snapshot: str
    base_snapshot: str
    base_max_n: int
    base_records: int
    tombstones: str
    files: dict[str, FileSum]


class Table(Value, frozen=True, kw_only=True):
    """A module's rows, readable on one connection. `base` and `delta` are SQL names of its parts."""

    module: MemoryType
    base: str | None
    delta: str | None = None
    gone: int = 0
    rows: int = 0
    hidden: int = 0
    damaged: int = 0

    @property
    def made_of(self) -> str:
        """In words, where its rows are read from."""
        if self.base is None:
            return "nothing: the module is not here"
        if self.base.startswith("memory."):
            return "memory, for this query"
        return "a base and a delta" if self.delta is not None else "a base"

    def parts(self, columns: Sequence[str], *, visible: bool) -> list[tuple[str, str]]:
        """What to select its rows from, called `t`, and a WHERE for each part: ordinal `n` and at least these columns;
        with `visible` without the hidden ones."""
        parts = []
        shown = ["NOT t.superseded AND NOT t.demoted"] if visible and self.hidden else []
        for name, with_gone in ((self.base, False), (self.delta, True)):
            if name is None:
                continue
            conditions = list(shown)
            if not with_gone and self.gone:
                conditions.append(f"t.n NOT IN (SELECT n FROM {_beside(self.delta)}.gone)")
            parts.append((f"{name} t", f" WHERE {' AND '.join(conditions)}" if conditions else ""))
        return parts or [(f"({empty_select(self.module, columns)}) t", "")]


def empty_select(module: MemoryType, columns: Sequence[str]) -> str:
    """SQL for no rows, of the types that the columns have."""
    from consilience.sql.names import columns_of

    types = {column.name: column.type for column in columns_of(module.value)}
    listed = ", ".join(["NULL::BIGINT AS n", *(f'NULL::{types[name]} AS "{name}"' for name in columns)])
    return f"SELECT {listed} WHERE false"


def _beside(name: str | None) -> str:
    """The database that a table stands in."""
    return str(name).rpartition(".")[0]


def purge(folder: Path) -> None:
    """Remove every table below a brain's `derived`. StorageError where that fails."""
    from consilience.index._files import remove_tree

    remove_tree(folder / FOLDER)


# --- keys -------------------------------------------------------------------------------------------------------


def key_of(view: View, module: MemoryType) -> str:
    """What the rows of a module at this snapshot follow from, in 32 hex digits."""
    parts = [f"{PROJECTION}", module.value]
    for state in view.modules():
        if state.memory_type in (module, MemoryType.PROVENANCE):
            parts += [
                state.memory_type.value,
                format_digest(state.root),
                *sorted(map(format_digest, state.tombstones)),
            ]
    return sha256("\n".join(parts).encode()).hex()[:32]


def _tombstones(view: View, module: MemoryType) -> str:
    """What was redacted in a module and in provenance, as one hash."""
    gone = sorted(
        format_digest(digest)
        for state in view.modules()
        if state.memory_type in (module, MemoryType.PROVENANCE)
        for digest in state.tombstones
    )
    return sha256("\n".join(gone).encode()).hex()[:32]


def _records(view: View) -> int:
    return next((m.count for m in view.modules() if m.memory_type is MemoryType.PROVENANCE), 0)


# --- finding and making -----------------------------------------------------------------------------------------


def holds(view: View, module: MemoryType) -> bool:
    """Whether a brain has blocks of a module at this snapshot."""
    return any(state.memory_type is module and state.count for state in view.modules())


def kept_state(view: View, derived: Path, module: MemoryType) -> State | None:
    """What is kept of a module's table for this state of the brain."""
    return _read_state(derived / FOLDER, module, key_of(view, module))


def make_state(
    connect: Callable[[], AbstractContextManager[DuckDBPyConnection]],
    view: View,
    derived: Path,
    module: MemoryType,
    head: Callable[[], SnapshotInfo | None],
) -> State | None:
    """Make a module's table, and keep it.

    `connect` opens a database to make it with. `head` tells the brain's head: `view` is at it. None where nothing can
    be kept: blocks are damaged, the folder cannot be written, or the brain moved on.
    """
    folder = derived / FOLDER
    with contextlib.suppress(StorageError, _DamagedError), connect() as connection:
        made = _Maker(connection, view, folder, module).make()
        if head() == view.snapshot:
            return made
        _discard(
            folder, made, key_of(view, module)
        )  # what was just written may hold what was redacted meanwhile
    return None


def _discard(folder: Path, state: State, key: str) -> None:
    for name in (f"{state.module.value}.{key}.json", state.delta, state.base):
        if name is not None:
            with contextlib.suppress(OSError):
                (folder / name).unlink(missing_ok=True)


class UnusableError(Exception):
    """A file of a cache is missing, or the engine cannot read it."""


class _DamagedError(Exception):
    """Some blocks' bytes do not hash to their ids: what is made of them is not kept."""


def _read_state(folder: Path, module: MemoryType, key: str) -> State | None:
    try:
        data = (folder / f"{module.value}.{key}.json").read_bytes()
        return msgspec.json.decode(data, type=State) if seal_holds(data) else None
    except (OSError, msgspec.DecodeError):
        return None


def attached(connection: DuckDBPyConnection, folder: Path, state: State, prefix: str) -> Table:
    """The table that a state tells of, attached under names that begin with `prefix`. Raises UnusableError."""
    import duckdb

    names: dict[str, str | None] = {"b": state.base, "d": state.delta}
    attached: list[str] = []
    try:
        for letter, file in names.items():
            if file is not None:
                connection.execute(f"ATTACH {_quoted(folder / file)} AS {prefix}{letter} (READ_ONLY)")
                attached.append(f"{prefix}{letter}")
    except duckdb.Error as error:
        for name in attached:
            connection.execute(f"DETACH {name}")
        raise UnusableError(str(error)) from error
    return Table(
        module=state.module,
        base=f"{prefix}b.rows",
        delta=None if state.delta is None else f"{prefix}d.rows",
        gone=state.gone,
        rows=state.rows,
        hidden=state.hidden,
    )


def in_memory(connection: DuckDBPyConnection, view: View, module: MemoryType, prefix: str) -> Table:
    """The table in the database in memory, for this one query."""
    from consilience.sql.projection import create_table, insert, rows_of

    name = f"memory.{prefix}m.rows"
    connection.execute(f"CREATE SCHEMA memory.{prefix}m")
    create_table(connection, name, module)
    rows = damaged = hidden = 0
    for chunk, broken in rows_of(view, module, view.scan((module,))):
        insert(connection, name, module, chunk)
        rows, damaged = rows + len(chunk), damaged + broken
        hidden += sum(1 for row in chunk if row.s or row.d)
    return Table(module=module, base=name, rows=rows, hidden=hidden, damaged=damaged)


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


@dataclass(slots=True)
class _Made:
    """A file that is made: what its database is called meanwhile; its name and checksum afterwards."""

    database: str = "making"
    name: str = ""
    sum: FileSum = field(default_factory=lambda: FileSum(size=0, sha256=""))


class _Maker:
    """Makes the files of one module's table at one snapshot."""

    def __init__(self, connection: DuckDBPyConnection, view: View, folder: Path, module: MemoryType) -> None:
        self._connection, self._view, self._folder, self._module = connection, view, folder, module
        self._key = key_of(view, module)
        self._temporary = f".{os.getpid()}.{threading.get_ident()}."

    def make(self) -> State:
        """Raises StorageError, _DamagedError."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            discard_abandoned(self._folder, ".")
        except OSError as error:
            raise StorageError(f"cannot make {self._folder}: {error.strerror}") from error
        state = self._delta() or self._base()
        path = self._folder / f"{self._module.value}.{self._key}.json"
        write_atomically(path, sealed(msgspec.json.encode(state)))
        self._collect(state)
        return state

    # --- the base -------------------------------------------------------------------------------------------

    def _base(self) -> State:
        snapshot = self._view.snapshot
        assert snapshot is not None
        with self._file("base") as made:
            rows, hidden = self._fill(f"{made.database}.rows", self._view.scan((self._module,)))
        return State(
            module=self._module,
            base=made.name,
            files={made.name: made.sum},
            delta=None,
            rows=rows,
            hidden=hidden,
            gone=0,
            base_rows=rows,
            snapshot=format_digest(snapshot.digest),
            base_snapshot=format_digest(snapshot.digest),
            base_max_n=snapshot.max_n,
            base_records=_records(self._view),
            tombstones=_tombstones(self._view, self._module),
        )

    def _fill(self, table: str, blocks: Iterator[StoredBlock]) -> tuple[int, int]:
        from consilience.sql.projection import create_table, insert, rows_of

        create_table(self._connection, table, self._module)
        rows = hidden = 0
        for chunk, damaged in rows_of(self._view, self._module, blocks):
            if damaged:
                raise _DamagedError
            insert(self._connection, table, self._module, chunk)
            rows += len(chunk)
            hidden += sum(1 for row in chunk if row.s or row.d)
        return rows, hidden

    @contextlib.contextmanager
    def _file(self, kind: str) -> Iterator[_Made]:
        """A database under a temporary name, open to be filled; it has its own name and sum once the block ends.

        The name holds the sum: what two makers write at once differs in its bytes, and each has a state that fits.
        """
        import duckdb

        stem = f"{self._module.value}.{self._key}"
        temporary = self._folder / f"{self._temporary}{stem}.{kind}.duckdb"
        made = _Made()
        try:
            temporary.unlink(missing_ok=True)
            self._connection.execute(f"ATTACH {_quoted(temporary)} AS {made.database}")
            try:
                self._connection.execute("BEGIN")
                yield made
                self._connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(duckdb.Error):
                    self._connection.execute("ROLLBACK")
                raise
            finally:
                with contextlib.suppress(duckdb.Error):
                    self._connection.execute(f"DETACH {made.database}")
            made.sum = sum_of(temporary)
            made.name = f"{stem}.{made.sum.sha256[:12]}.{kind}.duckdb"
            temporary.replace(self._folder / made.name)
        except (duckdb.IOException, duckdb.FatalException, OSError) as error:
            raise StorageError(f"cannot write the {kind} of {self._folder / stem}: {error}") from error
        finally:
            for left in (temporary, Path(f"{temporary}.wal")):
                with contextlib.suppress(OSError):
                    left.unlink(missing_ok=True)

    # --- the delta ------------------------------------------------------------------------------------------

    def _delta(self) -> State | None:
        """The state on top of a base that is here, None where a new base is due."""
        held = self._best_base()
        if held is None:
            return None
        changed = self._changed(held)
        limit = max(DELTA_LEAST, int(held.base_rows * DELTA_SHARE))
        if changed is None or len(changed) > limit:
            return None
        new = [block.n for block in _at_most(self._view.scan((self._module,), after=held.base_max_n), limit)]
        if len(new) + len(changed) > limit:
            return None
        return self._write_delta(held, changed, new)

    def _best_base(self) -> State | None:
        best: State | None = None
        for path in self._folder.iterdir():
            found = _STATE.fullmatch(path.name)
            if found is None or found[1] != self._module.value:
                continue
            state = _read_state(self._folder, self._module, found[2])
            if (
                state is not None
                and self._fits(state)
                and (best is None or state.base_max_n > best.base_max_n)
            ):
                best = state
        return best

    def _fits(self, state: State) -> bool:
        """Whether a base was made from an earlier snapshot of this brain, since when nothing was redacted and no
        provenance record left."""
        snapshot = self._view.snapshot
        assert snapshot is not None
        if state.base_max_n >= snapshot.max_n or state.tombstones != _tombstones(self._view, self._module):
            return False
        with contextlib.suppress(ConsilienceError):
            if not self._view.has_snapshot(parse_digest(state.base_snapshot)):
                return False
            since = sum(1 for _ in self._view.scan((MemoryType.PROVENANCE,), after=state.base_max_n))
            here = state.base in state.files and (self._folder / state.base).is_file()
            return here and state.base_records + since == _records(self._view)
        return False

    def _changed(self, held: State) -> set[int] | None:
        """Ordinals of the base that left, or whose row is another by now; None where the base cannot be read."""
        import duckdb

        now = {
            n: (None if hidden.superseded_by is None else format_digest(hidden.superseded_by), hidden.demoted)
            for n, hidden in self._view.hidden(self._view.hidden_members(self._module)).items()
            if n <= held.base_max_n
        }
        try:
            self._connection.execute(f"ATTACH {_quoted(self._folder / held.base)} AS held (READ_ONLY)")
            try:
                before = {
                    n: (by, demoted)
                    for n, by, demoted in self._connection.execute(
                        "SELECT n, superseded_by, demoted FROM held.rows WHERE superseded OR demoted"
                    ).fetchall()
                }
                other = {n for n in now.keys() | before.keys() if now.get(n) != before.get(n)}
                touched = sorted(other.union(self._view.touched(held.base_max_n, same=True)))
                inside = self._connection.execute(
                    "SELECT n FROM held.rows WHERE n IN (SELECT unnest(?::BIGINT[]))", [touched]
                ).fetchall()
            finally:
                self._connection.execute("DETACH held")
        except duckdb.Error:
            return None
        came_back = {block.n for block in self._view.blocks(touched) if block.memory_type is self._module}
        return {row[0] for row in inside} | self._view.members(came_back)

    def _write_delta(self, held: State, changed: Collection[int], new: Sequence[int]) -> State:
        snapshot = self._view.snapshot
        assert snapshot is not None
        name: str | None = None
        files = {held.base: held.files[held.base]}
        if changed or new:
            with self._file("delta") as made:
                blocks = self._view.blocks([*sorted(self._view.members(changed)), *new])
                self._fill(f"{made.database}.rows", iter(blocks))
                self._connection.execute(
                    f"CREATE TABLE {made.database}.gone AS SELECT unnest(?::BIGINT[]) AS n", [sorted(changed)]
                )
            name = made.name
            files[name] = made.sum
        return msgspec.structs.replace(
            held,
            snapshot=format_digest(snapshot.digest),
            delta=name,
            files=files,
            gone=len(changed),
            rows=self._view.count(self._module),
            hidden=self._view.hidden_count(self._module),
        )

    # --- what is of no use any more ---------------------------------------------------------------------------

    def _collect(self, state: State) -> None:
        """Remove this module's files of earlier snapshots, and old ones that belong to nothing. Readers that have one
        open keep it; what another process made of a later snapshot stays."""
        own = f"{self._module.value}.{self._key}.json"
        keep, past = {own, state.base, state.delta}, set()
        mine = [path for path in self._folder.iterdir() if path.name.startswith(f"{self._module.value}.")]
        for path in mine:
            found = _STATE.fullmatch(path.name)
            other = None if found is None else _read_state(self._folder, self._module, found[2])
            if other is not None:
                names = {path.name, other.base, other.delta}
                if self._is_past(other):
                    past |= names
                else:
                    keep |= names
        with contextlib.suppress(OSError):
            now = (self._folder / own).stat().st_mtime
            for path in mine:
                if path.name not in keep and (path.name in past or now - path.stat().st_mtime > BEING_MADE_S):
                    path.unlink(missing_ok=True)

    def _is_past(self, state: State) -> bool:
        with contextlib.suppress(ConsilienceError):
            return self._view.has_snapshot(parse_digest(state.snapshot))
        return True


def _at_most(blocks: Iterator[StoredBlock], limit: int) -> Iterator[StoredBlock]:
    for count, block in enumerate(blocks):
        if count > limit:
            return
        yield block
