"""The second wall: a database in memory that can only be read, whatever is asked of it.

Caches are attached READ_ONLY first. Then external access, extensions, temporary files and Python's own names are
shut off, the configuration is locked, and every query runs alone in a read-only transaction, on a connection of its
own, under a limit of time and of memory. Settings and their meaning: DuckDB, "Securing DuckDB".
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from consilience.errors import ConsilienceError, MissingExtraError, QueryError, StorageError
from consilience.model import Value

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, Statement

__all__ = ["EngineError", "Limits", "Sealed", "connect", "translated", "translating"]

Answer = TypeVar("Answer")


class EngineError(StorageError):
    """The engine could not read one of its files, or failed otherwise than over the query."""


NEAR = 2
"""Names that a hint gives at most."""

INTERRUPT_AGAIN_S = 0.02
"""How often a query that was told to stop is told again."""


class Limits(Value, frozen=True, kw_only=True):
    """What one query may take: seconds, mebibytes of memory beside what Python takes, threads (None: all cores)."""

    seconds: float = 30.0
    memory_mib: int = 1024
    threads: int | None = None


_OPENING = {
    "temp_directory": "",
    "max_temp_directory_size": "0KiB",
    "allow_community_extensions": "false",
    "allow_unsigned_extensions": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",
    "python_scan_all_frames": "false",
}
"""Settings from the beginning."""

_CLOSING = (
    "enable_progress_bar = false",
    "GLOBAL TimeZone = 'UTC'",
    "enable_external_access = false",
    "lock_configuration = true",
)
"""Settings that seal, in this order: the last two let nothing through afterwards."""


def connect(limits: Limits | None = None) -> DuckDBPyConnection:
    """An open database in memory, within limits of memory and threads where some are given.

    MissingExtraError where the engine is not installed.
    """
    try:
        import duckdb
    except ImportError as error:
        raise MissingExtraError(
            "SQL needs the engine, which is not installed", hint="pip install 'consilience[sql]'"
        ) from error
    config: dict[str, str | bool | int | float | list[str]] = {**_OPENING}
    if limits is not None:
        config["memory_limit"] = f"{limits.memory_mib}MiB"
        if limits.threads is not None:
            config["threads"] = limits.threads
    return duckdb.connect(":memory:", config=config)


class Sealed:
    """One database in memory. Prepare it through `connection`, then `seal` it, then `run` queries.

    `sealed`: it is shut. `sound`: no query ran out of time or memory in it, or broke the engine. `limits` may be others
    for the next query, if memory and threads are the same.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.connection = connect(self.limits)
        self.sealed = False
        self.sound = True

    def seal(self) -> None:
        """Shut it. What was attached before stays readable; nothing can be attached, set or loaded any more."""
        for setting in _CLOSING:
            self.connection.execute(f"SET {setting}")
        self.sealed = True

    def run(self, sql: str, rows: int) -> list[tuple[Any, ...]]:
        """At most `rows` rows of one SELECT.

        QueryError where the query is wrong, is no single SELECT, or goes over a limit.
        """
        return self.within(lambda connection: connection.execute(_one(connection, sql)).fetchmany(rows))

    def run_typed(
        self,
        sql: str,
        rows: int,
        cast: Callable[[list[Any]], Sequence[str] | None],
        *,
        likely_plain: bool = False,
    ) -> tuple[list[str], list[Any], list[tuple[Any, ...]]]:
        """Names and types of the columns, and the rows. `cast` says of types which SQL types the values are cast to
        before they leave the engine, None for none. As `run`.

        With `likely_plain` the query runs first and its types are looked at then, which spares binding it twice; where
        they need casts after all, it runs once more.
        """

        def work(connection: DuckDBPyConnection) -> tuple[list[str], list[Any], list[tuple[Any, ...]]]:
            statement = _one(connection, sql)
            if likely_plain:
                described = connection.execute(statement).description or []
                names, types = [each[0] for each in described], [each[1] for each in described]
            else:
                relation = connection.sql(sql)
                names, types = list(relation.columns), list(relation.types)
            casts = cast(types)
            if casts is None:
                if not likely_plain:
                    connection.execute(statement)
                return names, types, connection.fetchmany(rows)
            columns = [f"c{at}" for at in range(len(types))]
            listed = ", ".join(
                f"CAST({c} AS {type_}) AS {c}" for c, type_ in zip(columns, casts, strict=True)
            )
            statement = _one(connection, f"SELECT {listed} FROM ({sql}) AS t({', '.join(columns)})")
            return names, types, connection.execute(statement).fetchmany(rows)

        return self.within(work)

    def within(self, work: Callable[[DuckDBPyConnection], Answer]) -> Answer:
        """`work` in a read-only transaction under the limits, in a thread of its own, so that an interrupt of the
        caller (Ctrl-C) stops it too.

        Its connection is its own and is closed after it: temporary tables, prepared statements, variables and the
        search path belong to a connection.
        """
        if not self.sealed:
            raise ConsilienceError("a query is run in a sealed database only")
        connection = self.connection.cursor()
        outcome: list[tuple[bool, Any]] = []
        over = threading.Event()

        def target() -> None:
            try:
                connection.execute("BEGIN TRANSACTION READ ONLY")
                outcome.append((True, work(connection)))
            except BaseException as error:
                outcome.append((False, error))
            finally:
                over.set()

        thread = threading.Thread(target=target, name="consilience-sql", daemon=True)
        thread.start()
        try:
            late = self._wait(connection, over)
        except BaseException:
            self.sound = False
            raise
        finally:
            thread.join()
            with contextlib.suppress(Exception):  # there is no transaction where `work` ended it
                connection.execute("ROLLBACK")
            connection.close()
        good, result = outcome[0]
        if good:
            answer: Answer = result
            return answer
        told = translated(result, self.limits, late=late)
        self.sound = not late and _harmless(result) and not isinstance(told, EngineError)
        raise told from result

    def _wait(self, connection: DuckDBPyConnection, over: threading.Event) -> bool:
        """Wait for the query; whether it had to be interrupted. An interrupt of the caller interrupts it too."""
        try:
            if over.wait(self.limits.seconds):
                return False
        finally:
            while not over.is_set():
                connection.interrupt()
                over.wait(INTERRUPT_AGAIN_S)
        return True

    def close(self) -> None:
        self.connection.close()

    def __enter__(self) -> Sealed:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _one(connection: DuckDBPyConnection, sql: str) -> Statement:
    """The one statement of `sql`, which must be a SELECT."""
    import duckdb

    statements = connection.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise QueryError("only one SELECT is answered", hint="a brain is read only")
    return statements[0]


# --- errors -----------------------------------------------------------------------------------------------------

_INTERNAL = re.compile(r'"(?:brain|scored|files):([^"]*)"\.|\b(?:brain|scored|files):([A-Za-z0-9_-]*)\.')
_NO_COLUMN = re.compile(r'^Referenced column "(.+)" not found in FROM clause!?')
_HIDDEN = re.compile(r'"?similarity:\d+"?')


@contextlib.contextmanager
def translating(limits: Limits) -> Iterator[None]:
    """Let errors of the engine out as errors of this package; an interrupt of the caller as one."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise translated(error, limits) from error
    except RuntimeError as error:
        if "interrupted" in str(error):
            raise KeyboardInterrupt from error
        raise


def _harmless(error: BaseException) -> bool:
    """Whether an error says something of the query only: names, types, values."""
    import duckdb

    of_query = (duckdb.ProgrammingError, duckdb.DataError, duckdb.NotSupportedError, ConsilienceError)
    return isinstance(error, of_query)


def translated(error: BaseException, limits: Limits, *, late: bool = False) -> ConsilienceError:
    """The error of this package for one of the engine's."""
    import duckdb

    if isinstance(error, ConsilienceError):
        return error
    if isinstance(error, duckdb.InterruptException) or (
        late and isinstance(error, (RuntimeError, duckdb.Error))
    ):
        return QueryError(
            f"the query was stopped: it took longer than {limits.seconds:g} s",
            hint="ask for less, or raise --timeout",
        )
    if isinstance(error, (duckdb.OutOfMemoryException, MemoryError)):
        return QueryError(
            f"the query was stopped: it needs more than {limits.memory_mib:,} MiB of memory",
            hint="ask for less: fewer columns, a WHERE, a LIMIT",
        )
    broken = (
        duckdb.FatalException,
        duckdb.InternalException,
        duckdb.IOException,
        duckdb.SerializationException,
    )
    if isinstance(error, broken) or "Corrupt database file" in str(error):
        return EngineError(f"the SQL engine failed: {said(error)}", hint="the brain is not touched by it")
    if isinstance(error, duckdb.Error):
        return QueryError(said(error), hint=_hint(error))
    return ConsilienceError(f"{type(error).__name__}: {error}")


def said(error: BaseException) -> str:
    """The engine's message in one line, without its own names for our tables."""
    first = str(error).partition("\n")[0].strip()
    first = re.sub(r"^[A-Za-z]+ (?:Error|Exception): ", "", first)
    first = _INTERNAL.sub(lambda m: f"{m[1] or m[2]}." if (m[1] or m[2]) else "", first)
    first = _NO_COLUMN.sub(r"there is no column \1 in the tables of its FROM", first)
    return _HIDDEN.sub("similarity", first)


def _hint(error: BaseException) -> str | None:
    found = re.search(r"Candidate bindings: (.*)", str(error)) or re.search(
        r"Did you mean (.*)\?", str(error)
    )
    if found is None:
        return None
    listed = _HIDDEN.sub("", _INTERNAL.sub("", found[1])).replace('"', "").strip(" ,?").split(", ")
    names = [name for name in dict.fromkeys(listed) if name][:NEAR]
    return f"did you mean {' or '.join(names)}?" if names else None
