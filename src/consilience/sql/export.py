"""Results as files and as other libraries' tables, with the types that the columns have.

The rows are put into an open database of their own, never into the sealed one, and written from there.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from consilience.errors import MissingExtraError, StorageError, UsageError
from consilience.sql.result import ResultColumn, SqlResult
from consilience.sql.seal import connect

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["arrow", "csv", "data_frame", "jsonl", "parquet", "write_arrow"]


_ROUNDED = re.compile(r'"(?:[^"]|"")*"|\b(?:U?HUGEINT|INTERVAL)\b(?! )')
"""Types that the engine rounds on writing Parquet, but no names: a field's is quoted, or followed by its type."""


def _exact(found: re.Match[str]) -> str:
    if found[0].startswith('"'):
        return found[0]
    return "VARCHAR" if found[0] == "INTERVAL" else "DECIMAL(38,0)"


def jsonl(result: SqlResult) -> bytes:
    """One JSON object a row. A name that several columns have gets `_2`, `_3`, ... from the second on."""
    names = _distinct([column.name for column in result.columns])
    encode = msgspec.json.Encoder().encode
    return b"".join(encode(dict(zip(names, row, strict=True))) + b"\n" for row in result.rows)


def csv(result: SqlResult) -> str:
    """RFC 4180 with a header. Null is an empty field, lists and objects are JSON."""
    import csv as writer
    import io

    out = io.StringIO()
    written = writer.writer(out, lineterminator="\r\n")
    written.writerow([column.name for column in result.columns])
    for row in result.rows:
        written.writerow([_cell(value) for value in row])
    return out.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def parquet(result: SqlResult, path: Path) -> None:
    """Write the rows as a Parquet file, whole or not at all. StorageError.

    Its integers have 64 bits and its intervals milliseconds: larger integers are written as DECIMAL(38, 0), intervals
    as text, none rounded, as the engine would.
    """
    columns = [
        ResultColumn(name=column.name, type=_ROUNDED.sub(_exact, column.type)) for column in result.columns
    ]
    exact = msgspec.structs.replace(result, columns=tuple(columns))
    with _loaded(exact) as connection, _whole(path) as temporary:
        connection.execute(
            f"COPY result TO '{str(temporary).replace(chr(39), chr(39) * 2)}' (FORMAT parquet)"
        )


def arrow(result: SqlResult) -> Any:
    """A pyarrow Table."""
    _need("pyarrow")
    with _loaded(result) as connection:
        return connection.sql("FROM result").to_arrow_table()


def data_frame(result: SqlResult) -> Any:
    """A pandas DataFrame."""
    _need("pandas")
    with _loaded(result) as connection:
        return connection.sql("FROM result").df()


def write_arrow(result: SqlResult, path: Path) -> None:
    """Write the rows as an Arrow IPC file. MissingExtraError, StorageError."""
    table = arrow(result)
    pa = importlib.import_module("pyarrow")
    with (
        _whole(path) as temporary,
        pa.OSFile(str(temporary), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as out,
    ):
        out.write_table(table)


def _need(library: str) -> None:
    if importlib.util.find_spec(library) is None:
        raise MissingExtraError(
            f"this needs {library}, which is not installed", hint=f"pip install {library}"
        )


@contextlib.contextmanager
def _whole(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to; it becomes `path` once the block ends."""
    import duckdb

    temporary: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        temporary.replace(path)
    except (OSError, duckdb.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error).partition("\n")[0]
        raise StorageError(
            f"cannot write {path}: {reason}", hint="free space, or name another file"
        ) from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def _loaded(result: SqlResult) -> Iterator[DuckDBPyConnection]:
    """A database with the rows in a table `result`, typed as the columns are. UsageError for a map whose keys are no
    single values."""
    names = _distinct([column.name for column in result.columns])
    columns = [
        _typed(at, name, column.type)
        for at, (name, column) in enumerate(zip(names, result.columns, strict=True))
    ]
    with connect() as connection:
        loaders = [_loader(_type(connection, column.type)) for column in result.columns]
        documents = [
            msgspec.json.encode([load(value) for load, value in zip(loaders, row, strict=True)]).decode()
            for row in result.rows
        ]
        connection.execute(
            f"CREATE TABLE result AS SELECT {', '.join(columns)}"
            " FROM (SELECT unnest(?::JSON[]) AS j, generate_subscripts(?::JSON[], 1) AS i) ORDER BY i",
            [documents, documents],
        )
        yield connection


def _typed(at: int, name: str, type_: str) -> str:
    quoted = '"' + name.replace('"', '""') + '"'
    if type_ == "NULL":
        return f"NULL AS {quoted}"
    nested = type_.endswith("]") or type_.startswith(("STRUCT(", "MAP("))
    return f"CAST({'j->' if nested else 'j->>'}{at} AS {type_}) AS {quoted}"


def _type(connection: DuckDBPyConnection, name: str) -> Any:
    quoted = '"NULL"' if name == "NULL" else name
    return connection.sql(f"SELECT NULL::{quoted}").types[0]


def _loader(type_: Any) -> Callable[[Any], Any]:
    """What turns a value of a result into one that the engine reads back from JSON: bytes are escaped, maps objects."""
    kind = type_.id
    if kind == "blob":
        return lambda value: (
            None if value is None else "".join(rf"\x{byte:02X}" for byte in bytes.fromhex(value))
        )
    if kind in ("list", "array"):
        inner = _loader(type_.children[0][1])
        return lambda value: None if value is None else [inner(each) for each in value]
    if kind == "struct":
        fields = {name: _loader(each) for name, each in type_.children}
        return lambda value: (
            {name: load(value[name]) for name, load in fields.items()} if isinstance(value, dict) else value
        )
    if kind == "map":
        keys, values = (each for _, each in type_.children)
        if keys.id in ("list", "array", "struct", "map", "union"):
            raise UsageError(
                f"a map with keys of {keys} is in no such file", hint="select map_entries(...) of it"
            )
        key, each = _loader(keys), _loader(values)
        return lambda value: None if value is None else dict(_entries(value, key, each))
    return lambda value: value


def _entries(value: Any, key: Callable[[Any], Any], each: Callable[[Any], Any]) -> Iterator[tuple[str, Any]]:
    for name, held in value.items() if isinstance(value, dict) else value:
        loaded = key(name)
        yield loaded if isinstance(loaded, str) else msgspec.json.encode(loaded).decode(), each(held)


def _distinct(names: list[str]) -> list[str]:
    """Names of which none equals another, whatever their case."""
    taken: set[str] = set()
    found = []
    for name in names:
        candidate, number = name, 1
        while candidate.lower() in taken:
            number += 1
            candidate = f"{name}_{number}"
        taken.add(candidate.lower())
        found.append(candidate)
    return found
