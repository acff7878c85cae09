"""Registered files as tables: `data."file.csv"`, read from bytes that were hashed on the way out of the store."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol

from consilience.errors import ConsilienceError, IntegrityError, QueryError, StorageError
from consilience.sql.relations import ALL, FileRead, file_schema
from consilience.store import View
from consilience.store.values import Registered

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["load_files"]

_READERS = {
    ".csv": "read_csv({path}, sample_size = -1, null_padding = false, strict_mode = true)",
    ".tsv": "read_csv({path}, delim = '\t', sample_size = -1, null_padding = false, strict_mode = true)",
    ".tab": "read_csv({path}, delim = '\t', sample_size = -1, null_padding = false, strict_mode = true)",
    ".jsonl": "read_json({path}, format = 'newline_delimited', sample_size = -1)",
    ".ndjson": "read_json({path}, format = 'newline_delimited', sample_size = -1)",
    ".parquet": "read_parquet({path})",
}
"""How the engine reads a file, by the end of its name. Types are told from all of its rows."""

SHOWN = 5
"""Names that a message lists."""


class _Opened(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def view(self) -> View: ...

    @property
    def derived(self) -> Path: ...


def load_files(
    connection: DuckDBPyConnection, opened: Mapping[str, _Opened], reads: tuple[FileRead, ...]
) -> frozenset[str]:
    """Make a table in memory of every file that a query reads; the brains that they came from.

    QueryError for a name that no registered file has, or several, and for bytes that are no such table.
    """
    used: set[str] = set()
    made: set[str] = set()
    for read in reads:
        brains = list(opened.values()) if read.brain == ALL else [opened[read.brain]]
        brain, file = _find(brains, read.name)
        used.add(brain.name)
        schema = file_schema(read.brain)
        if schema not in made:
            connection.execute(f'CREATE SCHEMA memory."{schema}"')
            made.add(schema)
        _load(connection, brain, file, f'memory."{schema}".{_quoted(read.name)}')
    return frozenset(used)


def _find(brains: list[_Opened], name: str) -> tuple[_Opened, Registered]:
    found = [(brain, file) for brain in brains for file in _in_brain(brain, name)]
    if not found:
        raise QueryError(
            f'data."{name}": no registered file of this name',
            hint=_near(brains, name) or "`status` counts the files",
        )
    if len({(brain.name, file.n) for brain, file in found}) > 1:
        places = [f"{brain.name}: {file.origin}" for brain, file in found][:SHOWN]
        more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
        raise QueryError(
            f'data."{name}": {len(found)} registered files have this name: {", ".join(places)}{more}',
            hint='give the whole origin, and the brain: algebra.data."folder/file.csv"',
        )
    return found[0]


def _in_brain(brain: _Opened, name: str) -> list[Registered]:
    """The file of that origin, else those whose last part is the name."""
    view = brain.view
    exact = view.registered(name)
    if exact is not None:
        return [exact]
    return [file for origin, file in view.origins() if PurePosixPath(origin).name == name]


def _near(brains: list[_Opened], name: str) -> str | None:
    import difflib

    names = {
        PurePosixPath(origin).name
        for brain in brains
        for origin, _ in brain.view.origins()
        if PurePosixPath(origin).suffix.lower() in _READERS
    }
    if not names:
        return "no CSV, TSV, JSONL or Parquet file is registered here"
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f"did you mean {near[0]}?" if near else f"there is {', '.join(sorted(names)[:SHOWN])}"


def _load(connection: DuckDBPyConnection, brain: _Opened, file: Registered, table: str) -> None:
    import duckdb

    ending = PurePosixPath(file.origin).suffix.lower()
    reader = _READERS.get(ending)
    if reader is None:
        raise QueryError(
            f"{file.origin}: a file is read as a table if it is CSV, TSV, JSONL or Parquet",
            hint="its passages are in the table semantic",
        )
    data = _bytes_of(brain, file)
    with _temporary(brain.derived / "tables", ending, data) as path:
        sql = reader.format(path="'" + str(path).replace("'", "''") + "'")
        try:
            connection.execute(f"CREATE TABLE {table} AS SELECT * FROM {sql}")
        except duckdb.OutOfMemoryException as error:
            raise QueryError(
                f"{file.origin}: it does not fit into the memory that a query may take"
            ) from error
        except duckdb.Error as error:
            message = str(error).replace(str(path), file.origin).partition("\n")
            raise QueryError(
                f"{file.origin}: it cannot be read as a table: {message[0].partition(': ')[2] or message[0]}",
                hint=next((line.strip() for line in message[2].split("\n") if line.strip()), None),
            ) from None


def _bytes_of(brain: _Opened, file: Registered) -> bytes:
    """The original bytes. The block that names them is a member, and hashes to its id."""
    view = brain.view
    blocks = view.blocks([file.n])
    if file.blob is None or not blocks:
        raise QueryError(f"{file.origin}: its bytes are gone", hint="it is still a member of canonical")
    if not blocks[0].intact or file.n not in view.proven(blocks):
        raise IntegrityError(f"{file.origin}: its block is damaged or no member", hint="run `verify`")
    try:
        return view.content(file.blob)
    except ConsilienceError as error:
        raise type(error)(f"{file.origin}: {error.message}", hint=error.hint) from error


@contextlib.contextmanager
def _temporary(folder: Path, ending: str, data: bytes) -> Iterator[Path]:
    """The bytes as a file below the brain's folder, which a redaction clears; elsewhere where that is read-only."""
    handle = None
    for place in (folder, None):
        try:
            if place is not None:
                place.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=f".{os.getpid()}.0.file", suffix=ending, dir=place)
            break
        except OSError:
            continue
    if handle is None:
        raise StorageError("there is nowhere to put a temporary file", hint="free space")
    path = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        yield path
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}", hint="free space") from error
    finally:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
