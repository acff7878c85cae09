"""What a query reads: brains pinned to a snapshot each, and a database that has their tables."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from consilience.errors import ConsilienceError
from consilience.model import Failure
from consilience.protocol import MemoryType
from consilience.sql import cache
from consilience.sql.guard import Guarded
from consilience.sql.names import BLOCKS
from consilience.sql.pool import Lease, Wanted
from consilience.sql.relations import ALL, Members
from consilience.sql.seal import EngineError, Limits, connect, translating

if TYPE_CHECKING:
    from consilience.plan.reader import Reader
    from consilience.store import View
    from consilience.store.values import SnapshotInfo

__all__ = ["CacheError", "Opened", "Opening", "Source"]


@dataclass(frozen=True, slots=True)
class Source:
    """A brain as a query reads it, at one snapshot. `derived` is the folder below which its tables are kept; `head`
    tells what its head is by now; `reader` opens its indices too, for queries that compare rows with texts. With
    `at_head` both open the head, whichever it is by then."""

    name: str
    derived: Path
    view: Callable[[], AbstractContextManager[View]]
    reader: Callable[[], AbstractContextManager[Reader]]
    head: Callable[[], SnapshotInfo | None]
    at_head: bool = False


@dataclass(slots=True)
class Opened:
    """One brain, read by the query: its snapshot and the tables of the modules that are read."""

    name: str
    view: View
    reader: Reader | None
    derived: Path
    head: Callable[[], SnapshotInfo | None] | None
    prefix: str
    states: dict[MemoryType, cache.State] = field(default_factory=dict)
    tables: dict[MemoryType, cache.Table] = field(default_factory=dict)

    def wanted(self) -> list[Wanted]:
        """The tables that are kept."""
        folder = self.derived / cache.FOLDER
        return [
            Wanted(folder=folder, key=cache.key_of(self.view, module), state=state)
            for module, state in self.states.items()
        ]


class CacheError(Exception):
    """A kept table could not be read while a query ran; the tables of these folders are in doubt."""

    def __init__(self, error: EngineError, folders: tuple[Path, ...]) -> None:
        super().__init__(str(error))
        self.folders = folders


class Opening:
    """Opens what a query reads, into the database that `lease` holds in the end.

    `opened`: the brains by name; `failures`: those that could not be; `damaged`: blocks without fields, by brain and
    module. With `kept` False no table is read from a file.
    """

    def __init__(
        self, lease: Lease, guarded: Guarded, members: Members, limits: Limits, *, kept: bool
    ) -> None:
        self._lease, self._guarded, self._members, self._limits = lease, guarded, members, limits
        self.kept = kept
        self.opened: dict[str, Opened] = {}
        self.failures: list[Failure] = []
        self.damaged: list[tuple[str, MemoryType, int]] = []

    def open(self, sources: dict[str, Callable[[], Source]], stack: ExitStack) -> None:
        """Open every brain that is read, and make or attach the tables of the modules that are read."""
        named = {read.brain for read in self._guarded.reads} | {file.brain for file in self._guarded.files}
        wanted = [name for name in self._members.names if name in named or ALL in named]
        for number, name in enumerate(wanted):
            with self._failing(name, named):
                self.opened[name] = self._open_one(sources[name], name, f"m{number}", stack)
        unmade = {name: opened for name, opened in self.opened.items() if not self._find_states(opened)}
        for name, opened in unmade.items():
            try:
                with self._failing(name, named), translating(self._limits):
                    self._make_states(opened)
            finally:
                if any(failure.brain == name for failure in self.failures):
                    del self.opened[name]
        if self.failures and not self.opened:
            raise self.failures[0].error
        self._attach()

    @contextlib.contextmanager
    def _failing(self, name: str, named: set[str]) -> Iterator[None]:
        """A brain that fails is told beside the answer of the others, unless the query names it (C30)."""
        try:
            yield
        except ConsilienceError as error:
            if name in named or not self._members.compound:
                raise
            self.failures.append(Failure(brain=name, error=error))

    def _open_one(self, source: Callable[[], Source], name: str, prefix: str, stack: ExitStack) -> Opened:
        brain = source()
        reader = stack.enter_context(brain.reader()) if self._guarded.texts else None
        view = reader.view if reader is not None else stack.enter_context(brain.view())
        at_head = self.kept and (brain.at_head or view.snapshot == brain.head())
        return Opened(
            name=name,
            view=view,
            reader=reader,
            derived=brain.derived,
            head=brain.head if at_head else None,
            prefix=prefix,
        )

    def _find_states(self, opened: Opened) -> bool:
        """Find what is kept of a brain's tables; whether nothing is left to be made."""
        if opened.head is None:
            return True
        here = [module for module in self._modules(opened.name) if cache.holds(opened.view, module)]
        for module in here:
            state = cache.kept_state(opened.view, opened.derived, module)
            if state is not None:
                opened.states[module] = state
        return len(opened.states) == len(here)

    def _make_states(self, opened: Opened, *, again: bool = False) -> None:
        """Make what is not kept of a brain's tables, or make all `again`."""
        assert opened.head is not None
        for module in self._modules(opened.name):
            if cache.holds(opened.view, module) and (again or module not in opened.states):
                connecting = partial(connect, self._limits)
                state = cache.make_state(connecting, opened.view, opened.derived, module, opened.head)
                opened.states.pop(module, None)
                if state is not None:
                    opened.states[module] = state

    def _attach(self) -> None:
        """Hold a database with all tables: one that another query left, or a new one."""
        wanted = [each for opened in self.opened.values() for each in opened.wanted()]
        in_memory = [
            (opened, module)
            for opened in self.opened.values()
            for module in self._modules(opened.name)
            if module not in opened.states and cache.holds(opened.view, module)
        ]
        if in_memory or self._guarded.files or not self._lease.fit(wanted):
            carried = [] if in_memory or self._guarded.files else self._carried()
            self._lease.open([*wanted, *carried])
            for each in carried:
                with contextlib.suppress(cache.UnusableError):
                    self._lease.database.attach(each)
        for opened in self.opened.values():
            for module, each in zip(list(opened.states), opened.wanted(), strict=True):
                opened.tables[module] = self._table(opened, module, each)
        for opened, module in in_memory:
            opened.tables[module] = self._read_in_memory(opened, module)
        for opened in self.opened.values():
            opened.tables = {
                module: opened.tables.get(module) or cache.Table(module=module, base=None)
                for module in self._modules(opened.name)
            }

    def _carried(self) -> list[Wanted]:
        """Tables of the brains read that the database before had, as they are now: another query may want them."""
        found = []
        for opened in self.opened.values():
            folder = opened.derived / cache.FOLDER
            for module in self._lease.modules(folder):
                if module not in opened.states and opened.head is not None:
                    state = cache.kept_state(opened.view, opened.derived, module)
                    if state is not None:
                        key = cache.key_of(opened.view, module)
                        found.append(Wanted(folder=folder, key=key, state=state))
        return found

    def _table(self, opened: Opened, module: MemoryType, wanted: Wanted) -> cache.Table:
        """One table, attached; made again where its files cannot be read."""
        database = self._lease.database
        if database.sealed.sealed:
            return database.held(wanted)
        try:
            return database.attach(wanted)
        except cache.UnusableError:
            self._make_states(opened, again=True)
        for again in opened.wanted():
            if again.state.module is module:
                with contextlib.suppress(cache.UnusableError):
                    return database.attach(again)
        return self._read_in_memory(opened, module)

    def _read_in_memory(self, opened: Opened, module: MemoryType) -> cache.Table:
        table = cache.in_memory(
            self._lease.database.sealed.connection, opened.view, module, f"{opened.prefix}_{module.value}_"
        )
        self._lease.database.discarded = True
        if table.damaged:
            self.damaged.append((opened.name, module, table.damaged))
        return table

    def _modules(self, brain: str) -> tuple[MemoryType, ...]:
        """The modules of a brain that the query reads."""
        tables = {read.table for read in self._guarded.reads if read.brain in (brain, ALL)}
        return tuple(module for module in MemoryType if module.value in tables or BLOCKS in tables)
