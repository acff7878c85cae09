"""What a provenance record says, as rows of the ledger tables (store/schema.py). Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import msgspec

from consilience.protocol import Demotion, Derivation, Record, Registration, Removal, Supersession

__all__ = ["INSERTS", "TABLES", "LedgerRows", "named_by", "rows_of", "text_or_none"]

TABLES = {
    "derivation": ("block_n", "record_n", "source_n", "locator"),
    "registration": ("block_n", "record_n", "origin"),
    "hiding": ("block_n", "record_n", "by_n"),
    "mention": ("block_n", "record_n"),
}
"""The ledger tables and their columns."""

INSERTS = {
    table: f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
    for table, columns in TABLES.items()
}


class LedgerRows(msgspec.Struct):
    """Rows to be written, by table."""

    derivation: list[tuple[int, int, int, str | None]] = []
    registration: list[tuple[int, int, str | None]] = []
    hiding: list[tuple[int, int, int | None]] = []
    mention: list[tuple[int, int]] = []


def named_by(record: Record) -> Iterator[bytes]:
    """The digests of the blocks that a record speaks of."""
    if isinstance(record, Removal):
        yield from map(_raw, record.blocks)
        return
    yield _raw(record.block)
    if isinstance(record, Derivation):
        yield from map(_raw, record.derived_from)
    elif isinstance(record, Supersession):
        yield _raw(record.supersedes)


def rows_of(
    records: Iterable[tuple[int, Record]], n_of: Callable[[bytes], int], packed: Collection[int] = ()
) -> LedgerRows:
    """The rows of records and their ordinals; `n_of` gives the ordinal behind a digest.

    Rows of records in `packed` leave the locator to the packed form. A block that supersedes itself hides
    nothing: such a record is kept as a mention.
    """
    rows = LedgerRows()
    for record_n, record in records:
        if isinstance(record, Derivation):
            block_n = n_of(_raw(record.block))
            locator = None if record_n in packed else text_or_none(record.locator)
            for source in record.derived_from:
                rows.derivation.append((block_n, record_n, n_of(_raw(source)), locator))
        elif isinstance(record, Registration):
            rows.registration.append((n_of(_raw(record.block)), record_n, text_or_none(record.origin)))
        elif isinstance(record, Demotion):
            rows.hiding.append((n_of(_raw(record.block)), record_n, None))
        elif isinstance(record, Supersession) and record.block != record.supersedes:
            rows.hiding.append((n_of(_raw(record.supersedes)), record_n, n_of(_raw(record.block))))
        else:
            rows.mention.extend((n_of(digest), record_n) for digest in dict.fromkeys(named_by(record)))
    return rows


def _raw(text: str) -> bytes:
    """The bytes of a digest's text, which a decoded record has already had checked."""
    return bytes.fromhex(text[7:])


def text_or_none(value: Any) -> str | None:
    """An optional text of a record, as the ledger keeps it."""
    return None if value is msgspec.UNSET else value
