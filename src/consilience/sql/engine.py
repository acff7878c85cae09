"""One query over one brain or several: guard, open what it reads, attach the tables, seal, run.

Every brain is pinned to one snapshot for the whole of the query. Only brains that the query reads are opened, and of
those only the modules that it reads. The database with their tables is kept for the next query (`sql.pool`).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import msgspec

from consilience.errors import QueryError, StorageError, UsageError
from consilience.model import Skipped, Value
from consilience.protocol import MemoryType, format_digest
from consilience.sql import cache
from consilience.sql.guard import Guarded, checked, guard
from consilience.sql.opening import CacheError, Opened, Opening, Source
from consilience.sql.order import limit_rows, order_totally
from consilience.sql.pool import POOL, Lease
from consilience.sql.relations import Members
from consilience.sql.result import (
    Count,
    ResultColumn,
    Root,
    SqlExplanation,
    SqlResult,
    TableReport,
    signature,
)
from consilience.sql.seal import EngineError, Limits, Sealed, translating
from consilience.sql.values import converter, portable
from consilience.sql.views import make_views

if TYPE_CHECKING:
    from consilience.sql.about import Scores

__all__ = ["LIMIT", "MOST", "Asked", "Source", "explain", "question", "run"]

LIMIT = 1_000
MOST = 10_000_000


class Asked(Value, frozen=True, kw_only=True):
    """A query and how it is to be answered. `limit` rows at most; `verify` proves every id of the rows; `declared`
    are all brains of the project, for what is said of one that is not read."""

    text: str
    limit: int = LIMIT
    include_superseded: bool = False
    verify: bool = False
    declared: tuple[str, ...] = ()
    limits: Limits = Limits()


def question(text: str, asked: Asked | None) -> Asked:
    """The query with the limits and choices of `asked`."""
    return Asked(text=text) if asked is None else msgspec.structs.replace(asked, text=text)


def run(
    sources: Sequence[Callable[[], Source]],
    names: Sequence[str],
    asked: Asked,
    *,
    compound: bool,
    skipped: Sequence[Skipped] = (),
) -> SqlResult:
    """Answer a query over the brains `names`; each of `sources` opens the one at its place.

    Raises QueryError for what the guard refuses and what the engine cannot do within its limits, MissingExtraError.
    A brain of a compound that fails stands in `skipped` and `failures`, unless the query names it, or all fail.
    """
    members = Members(names=tuple(names), declared=asked.declared, compound=compound)
    try:
        with _opened(sources, members, asked) as query:
            return query.answer(tuple(skipped))
    except CacheError as error:
        for folder in error.folders:  # damaged: all that is in it can be made again
            POOL.discard(folder)
            with contextlib.suppress(StorageError):
                cache.purge(folder)
    with _opened(sources, members, asked, kept=False) as query:
        return query.answer(tuple(skipped))


def explain(
    sources: Sequence[Callable[[], Source]],
    names: Sequence[str],
    asked: Asked,
    *,
    compound: bool,
) -> SqlExplanation:
    """How the query would be answered; its tables are made if they are not there, and it is not run. As `run`."""
    members = Members(names=tuple(names), declared=asked.declared, compound=compound)
    with _opened(sources, members, asked) as query:
        return query.explain()


@contextlib.contextmanager
def _opened(
    sources: Sequence[Callable[[], Source]], members: Members, asked: Asked, *, kept: bool = True
) -> Iterator[_Query]:
    if not 1 <= asked.limit <= MOST:
        raise UsageError(f"the limit is {asked.limit}", hint=f"a limit is 1 to {MOST:,}")
    with POOL.lease(asked.limits) as lease, ExitStack() as stack, translating(asked.limits):
        guarded = guard(lease.database.sealed.connection, asked.text, members)
        opening = Opening(lease, guarded, members, asked.limits, kept=kept)
        opening.open(dict(zip(members.names, sources, strict=True)), stack)
        query = _Query(lease, guarded, members, asked, opening)
        stack.callback(query.tidy)
        yield query


class _Query:
    """One query on its way."""

    def __init__(
        self, lease: Lease, guarded: Guarded, members: Members, asked: Asked, opening: Opening
    ) -> None:
        self._lease, self._guarded, self._members, self._asked = lease, guarded, members, asked
        self._opened = opening.opened
        self._from_files = opening.kept
        self._failures = opening.failures
        self._warnings: list[str] = []
        self._with_files: frozenset[str] = frozenset()
        for name, module, count in opening.damaged:
            self._warn(name, f"{count} damaged blocks of {module.value} have no fields: run `verify`")

    @property
    def _sealed(self) -> Sealed:
        return self._lease.database.sealed

    def _warn(self, brain: str, what: str) -> None:
        self._warnings.append(f"{brain}: {what}" if self._members.compound else what)

    # --- answering ------------------------------------------------------------------------------------------

    def prepare(self) -> tuple[str, Scores | None]:
        """Make the views and seal; the SQL to run, and what was compared."""
        if self._guarded.files:
            from consilience.sql.files import load_files

            self._with_files = load_files(self._sealed.connection, self._opened, self._guarded.files)
            self._lease.database.discarded = True
        if not self._sealed.sealed:
            self._sealed.seal()
        scores = self._scores()
        make_views(
            self._lease.database,
            self._opened,
            self._guarded,
            visible=not self._asked.include_superseded,
            scores=scores,
        )
        statement = self._guarded.statement
        order_totally(statement)
        limit_rows(statement, self._asked.limit + 1)
        sql = checked(self._sealed.connection, statement)
        return sql, scores

    def tidy(self) -> None:
        """Leave nothing of this query in the database but its views."""
        if self._guarded.texts and self._lease.database.kept:
            from consilience.sql.about import forget

            forget(self._sealed.connection)

    def explain(self) -> SqlExplanation:
        sql, _ = self.prepare()
        with self._placing():
            rows = self._sealed.within(lambda connection: connection.execute(f"EXPLAIN {sql}").fetchall())
        return SqlExplanation(
            query=self._guarded.canonical,
            tables=tuple(
                TableReport(
                    brain=opened.name,
                    module=module.value,
                    rows=opened.tables[module].rows,
                    hidden=opened.tables[module].hidden,
                    made_of=opened.tables[module].made_of,
                )
                for opened, module in self._read()
            ),
            texts=self._guarded.texts,
            plan=tuple(line for row in rows for line in str(row[1]).rstrip().split("\n")),
        )

    def answer(self, skipped: tuple[Skipped, ...]) -> SqlResult:
        sql, scores = self.prepare()
        columns, rows = self._run(sql)
        truncated = len(rows) > self._asked.limit
        rows = rows[: self._asked.limit]
        verified, unverified = self._verify(columns, rows) if self._asked.verify else (None, ())
        brains = self._members.names
        include = self._asked.include_superseded
        return SqlResult(
            query=self._guarded.canonical,
            signature=signature(
                self._guarded.canonical, brains, include_superseded=include, limit=self._asked.limit
            ),
            brains=brains,
            include_superseded=include,
            limit=self._asked.limit,
            columns=columns,
            rows=tuple(rows),
            truncated=truncated,
            exact=not self._guarded.texts and "approx_count_distinct" not in self._guarded.canonical,
            approximate=scores.told if scores is not None else (),
            verified_against=self._roots(),
            snapshots=tuple(
                (name, format_digest(each.view.snapshot.digest))
                for name, each in self._opened.items()
                if each.view.snapshot is not None
            ),
            hidden=self._hidden(),
            not_installed=self._missing(),
            skipped=skipped
            + tuple(Skipped(brain=f.brain, reason=f"failed: {f.error.message}") for f in self._failures),
            failures=tuple(self._failures),
            warnings=tuple(self._warnings)
            + tuple(f"{failure.brain}: failed: {failure.error.message}" for failure in self._failures),
            verified=verified,
            unverified=unverified,
        )

    def _scores(self) -> Scores | None:
        if not self._guarded.texts:
            return None
        from consilience.sql.about import score

        return score(self._sealed.connection, self._opened, self._guarded, self._warn)

    def _run(self, sql: str) -> tuple[tuple[ResultColumn, ...], list[tuple[Any, ...]]]:
        """Run it, with casts where a value would not leave the engine as it is."""
        try:
            with self._placing():
                names, types, rows = self._sealed.run_typed(
                    sql, self._asked.limit + 1, _casts, likely_plain=_likely_plain(sql, self._guarded)
                )
        except EngineError as error:
            folders = tuple(opened.derived for opened in self._opened.values() if opened.tables)
            raise (CacheError(error, folders) if self._from_files and folders else error) from error
        converters = [converter(type_) for type_ in types]
        columns = tuple(
            ResultColumn(name=name, type=_shown(type_)) for name, type_ in zip(names, types, strict=True)
        )
        return columns, [
            tuple(convert(value) for convert, value in zip(converters, row, strict=True)) for row in rows
        ]

    @contextlib.contextmanager
    def _placing(self) -> Iterator[None]:
        """Let an error about a name out with its place in the query."""
        try:
            yield
        except QueryError as error:
            from consilience.sql.placing import placed

            raise placed(error, self._asked.text, self._guarded.statement) from error.__cause__

    # --- what it rests on -------------------------------------------------------------------------------------

    def _read(self) -> Iterable[tuple[Opened, MemoryType]]:
        for opened in self._opened.values():
            for module in opened.tables:
                yield opened, module

    def _roots(self) -> tuple[Root, ...]:
        """Roots of the modules read, and of provenance, from which comes what is hidden and where blocks are from."""
        found = []
        for opened in self._opened.values():
            wanted = {*opened.tables, MemoryType.PROVENANCE} if opened.tables else set()
            if opened.name in self._with_files:
                wanted |= {MemoryType.CANONICAL, MemoryType.PROVENANCE}
            for state in opened.view.modules():
                if state.memory_type in wanted:
                    root = format_digest(state.root)
                    found.append(Root(brain=opened.name, module=state.memory_type.value, root=root))
        return tuple(found)

    def _hidden(self) -> tuple[Count, ...]:
        if self._asked.include_superseded:
            return ()
        return tuple(
            Count(brain=opened.name, module=module.value, count=opened.tables[module].hidden)
            for opened, module in self._read()
            if opened.tables[module].base is not None
        )

    def _missing(self) -> tuple[str, ...]:
        return tuple(
            f"{opened.name}.{module.value}"
            for opened, module in self._read()
            if opened.tables[module].base is None
        )

    def _verify(
        self, columns: Sequence[ResultColumn], rows: Sequence[tuple[Any, ...]]
    ) -> tuple[int, tuple[str, ...]]:
        """Prove every id in the rows: how many were, and those that were not."""
        from consilience.sql.proving import prove_ids

        return prove_ids([opened.view for opened in self._opened.values()], columns, rows)


_MAKES_TIMES = re.compile(
    r"\b(?:cast|(?:make|to|date|time|try)_\w+|strptime|last_day|normalized_interval)\b", re.I
)


def _likely_plain(sql: str, guarded: Guarded) -> bool:
    """Whether the values can probably leave the engine as they are: no table read has times, and nothing makes them."""
    timed = {str(MemoryType.EPISODIC), str(MemoryType.PROVENANCE)}
    return not (guarded.files or timed & {read.table for read in guarded.reads} or _MAKES_TIMES.search(sql))


def _casts(types: list[Any]) -> list[str] | None:
    """What values are cast to before they leave the engine, None where they are as good as they are."""
    casts = [portable(type_) for type_ in types]
    return None if casts == [str(type_) for type_ in types] else casts


def _shown(type_: Any) -> str:
    text = str(type_)
    return "NULL" if text == '"NULL"' else text
