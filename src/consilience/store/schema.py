"""The tables of brain.db. One file per brain; a change of layout raises FORMAT (SQLite's user_version).

A block is a row for ever; membership is what changes. It joined its module at snapshot `entered` and left it
at `departed` (NULL: still a member); where it left and came back, the intervals before are in `earlier`.
Intervals are half open, in snapshot numbers: a member at s has entered <= s < departed. A commit costs
O(change). `seal` ties `actor`, which no hash covers, to its snapshot.

The ledger says in ordinals what the provenance records say in digests; it is written in the record's own
transaction and can be recomputed from the records (docs/decisions/0020). `record_n` is the record's block. A
digest that no stored block has gets a negative number in `absent`, until the block arrives.

`fragment` holds what packed derivation records share (docs/decisions/0024); `locator` is NULL where the record is
packed. One index, in which no id stands twice, finds blocks by id and lists a module in the order of the ids.
"""

from __future__ import annotations

from typing import Final

from consilience.protocol import MemoryType

__all__ = ["APPLICATION_ID", "CODE", "FORMAT", "MODULES", "SCHEMA"]

APPLICATION_ID: Final = 0x43534C42
"""`CSLB`, at byte 68 of the file: what SQLite keeps to tell applications apart."""

FORMAT: Final = 2

MODULES: Final = tuple(MemoryType)
CODE: Final = {memory_type: code for code, memory_type in enumerate(MODULES)}
"""A module's number in the `type` column."""

SCHEMA: Final = (
    "CREATE TABLE blocks (n INTEGER PRIMARY KEY, id BLOB NOT NULL, type INTEGER NOT NULL,"
    " entered INTEGER NOT NULL, departed INTEGER, enc INTEGER NOT NULL, data BLOB)",
    "CREATE INDEX block_id ON blocks (id, type, entered, departed)",
    "CREATE INDEX departed ON blocks (departed) WHERE departed IS NOT NULL",
    "CREATE TABLE earlier (n INTEGER NOT NULL REFERENCES blocks, entered INTEGER NOT NULL,"
    " departed INTEGER NOT NULL, PRIMARY KEY (n, entered)) WITHOUT ROWID",
    "CREATE TABLE snapshots (seq INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, document BLOB NOT NULL,"
    " max_n INTEGER NOT NULL, actor BLOB NOT NULL, seal BLOB NOT NULL)",
    "CREATE TABLE content (digest BLOB NOT NULL PRIMARY KEY, size INTEGER NOT NULL, enc INTEGER NOT NULL,"
    " data BLOB)",
    "CREATE TABLE fragment (n INTEGER PRIMARY KEY, enc INTEGER NOT NULL, data BLOB NOT NULL)",
    "CREATE TABLE absent (n INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE)",
    "CREATE TABLE derivation (block_n INTEGER NOT NULL, record_n INTEGER NOT NULL, source_n INTEGER NOT NULL,"
    " locator TEXT, PRIMARY KEY (block_n, record_n, source_n)) WITHOUT ROWID",
    "CREATE INDEX derivation_source ON derivation (source_n)",
    "CREATE TABLE registration (block_n INTEGER NOT NULL, record_n INTEGER NOT NULL, origin TEXT,"
    " PRIMARY KEY (block_n, record_n)) WITHOUT ROWID",
    "CREATE INDEX registration_origin ON registration (origin, record_n)",
    "CREATE TABLE hiding (block_n INTEGER NOT NULL, record_n INTEGER NOT NULL, by_n INTEGER,"
    " PRIMARY KEY (block_n, record_n)) WITHOUT ROWID",
    "CREATE INDEX hiding_by ON hiding (by_n)",
    "CREATE TABLE mention (block_n INTEGER NOT NULL, record_n INTEGER NOT NULL,"
    " PRIMARY KEY (block_n, record_n)) WITHOUT ROWID",
    *(
        f"CREATE INDEX {table}_record ON {table} (record_n)"
        for table in ("derivation", "registration", "hiding", "mention")
    ),
)
"""`mention`: normalization, validation and removal records, which neither place nor hide a block."""
