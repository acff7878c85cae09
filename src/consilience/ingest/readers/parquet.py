"""Parquet: one row, one passage, each value with its column's name, as a row of CSV; places are records.

Values are written so that they say the same on every machine: instants in UTC, numbers in the shortest digits that
name them. Nested values are written as those of JSON (docs/decisions/0200-rows.md, 0321-parquet.md).
"""

from __future__ import annotations

import importlib
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any

from consilience.ingest import metadata
from consilience.ingest.model import Document, Skip, TextBlock
from consilience.ingest.readers.json_values import Number, Pairs, written

MAX_ROWS = 200_000
MAX_CHARS = 64 << 20
"""Characters of all rows together: they go through a pipe, and the process that reads them is bounded."""
MAX_COLUMNS = 10_000
_BATCH = 1_000
_MAX_BYTES_SHOWN = 32
_INDEX = re.compile(r"__index_level_\d+__")
"""What pandas calls an index without a name."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read(data: bytes, name: str) -> Document | Skip:
    """Read a table; run contained. Skip where it is damaged or encrypted."""
    pyarrow: Any = importlib.import_module("pyarrow")
    parquet: Any = importlib.import_module("pyarrow.parquet")

    pyarrow.set_memory_pool(pyarrow.system_memory_pool())
    title = metadata.readable_name(name)
    blocks: list[TextBlock] = []
    said: list[str] = []
    chars = number = 0
    try:
        file = parquet.ParquetFile(pyarrow.BufferReader(data), memory_map=False, pre_buffer=False)
        names = list(file.schema_arrow.names)[:MAX_COLUMNS]
        if len(file.schema_arrow.names) > MAX_COLUMNS:
            said.append(f"more than {MAX_COLUMNS:,} columns: the rest is left out")
        total = file.metadata.num_rows
        for number, row in enumerate(islice(_rows(file, names), MAX_ROWS), 1):
            if text := written(row):
                chars += len(text)
                if chars > MAX_CHARS:
                    break
                blocks.append(_block(title, text, number))
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:150]
        if not blocks:
            return Skip(
                "encrypted Parquet file" if "encrypt" in reason.lower() else f"damaged Parquet file: {reason}"
            )
        said.append(f"damaged: left out after record {number:,}: {reason}")
    else:
        if number < total or chars > MAX_CHARS:
            bound = f"{MAX_ROWS:,} records" if chars <= MAX_CHARS else f"{MAX_CHARS >> 20:,} MiB of text"
            said.append(
                f"more than {bound}: left out from record {number + (chars <= MAX_CHARS):,} of {total:,} on"
            )
    return Document(
        title=title, blocks=tuple(blocks), reader="", version="", unit="record", warnings=tuple(said)
    )


def _block(title: str, text: str, number: int) -> TextBlock:
    return TextBlock(text=text, role="table", headings=(title,), first_line=number, last_line=number)


def _rows(file: Any, names: Sequence[str]) -> Iterator[list[tuple[str, Any]]]:
    for batch in file.iter_batches(batch_size=_BATCH, columns=names, use_threads=False):
        columns = [_values(batch.column(n)) for n in range(batch.num_columns)]
        titles = ["" if _INDEX.fullmatch(title) else title for title in batch.schema.names]
        for n in range(batch.num_rows):
            yield [(title, column[n]) for title, column in zip(titles, columns, strict=True)]


def _values(column: Any) -> list[Any]:
    """A column's values as `written` takes them. What Python cannot hold (the year 200,000) is as Arrow writes it."""
    pyarrow: Any = importlib.import_module("pyarrow")

    if pyarrow.types.is_timestamp(column.type):
        whole = column.cast(pyarrow.timestamp("us", column.type.tz), safe=False).cast(pyarrow.int64())
        return [_instant(each, column.type.tz is not None) for each in whole.to_pylist()]
    narrow = "float" in str(column.type) and "double" not in str(column.type)
    try:
        return [_plain(each, narrow) for each in column.to_pylist()]
    except (ValueError, OverflowError):
        return [_plain(each, narrow) for each in column.cast(pyarrow.string()).to_pylist()]


def _instant(microseconds: int | None, zoned: bool) -> Any:
    if microseconds is None:
        return None
    try:
        moment = _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return Number(microseconds)
    return Number(moment.replace(tzinfo=None).isoformat() + ("Z" if zoned else ""))


def _plain(value: Any, narrow: bool = False) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, float):
        return Number(_narrow(value) if narrow else repr(value))
    if isinstance(value, Decimal):
        return Number(format(value, "f"))
    if isinstance(value, bytes):
        return _bytes(value)
    if isinstance(value, datetime):
        return Number(_utc(value))
    if isinstance(value, date | time):
        return Number(value.isoformat())
    if isinstance(value, Mapping):
        return Pairs((str(key), _plain(each, narrow)) for key, each in value.items())
    if isinstance(value, tuple):  # an entry of a map
        return Pairs([(str(value[0]), _plain(value[1], narrow))])
    if isinstance(value, list):
        return [_plain(each, narrow) for each in value]
    return Number(value)


def _utc(moment: datetime) -> str:
    return (
        moment.isoformat()
        if moment.tzinfo is None
        else moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"
    )


def _narrow(value: float) -> str:
    """The shortest digits that name a number of 32 bits: 0.1, not 0.10000000149011612."""
    for digits in range(1, 9):
        shown = f"{value:.{digits}g}"
        if struct.pack("<f", float(shown)) == struct.pack("<f", value):
            return shown if "e" in shown else repr(float(shown))
    return repr(value)


def _bytes(value: bytes) -> str:
    """Text where the bytes are text, else the first of them as hex digits."""
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value[:_MAX_BYTES_SHOWN].hex() + ("…" if len(value) > _MAX_BYTES_SHOWN else "")
