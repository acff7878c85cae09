"""The SQLite file of the relations between blocks: schema and values.

Numbers only: ordinals of the store, and names as 63 bits of their BLAKE2b. No word of a text is in it.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final, NamedTuple

from consilience.index.database import Schema
from consilience.model import Value

ANYWHERE: Final = 0
"""The section that a link names where it names none."""

SCHEMA: Final = Schema(
    what="relations",
    application_id=0x43534C45,
    format=1,
    statements="""
CREATE TABLE document(source INTEGER PRIMARY KEY, head INTEGER NOT NULL, ordered INTEGER NOT NULL,
                      ns BLOB NOT NULL, sections BLOB NOT NULL);
CREATE TABLE place(n INTEGER NOT NULL, source INTEGER NOT NULL, PRIMARY KEY(n, source)) WITHOUT ROWID;
CREATE TABLE name(key INTEGER NOT NULL, source INTEGER NOT NULL, PRIMARY KEY(key, source)) WITHOUT ROWID;
CREATE INDEX name_source ON name(source);
CREATE TABLE mention(n INTEGER NOT NULL, key INTEGER NOT NULL, section INTEGER NOT NULL, source INTEGER NOT NULL,
                     PRIMARY KEY(n, key, section, source)) WITHOUT ROWID;
CREATE INDEX mention_key ON mention(key);
CREATE INDEX mention_source ON mention(source);
CREATE TABLE state(watermark INTEGER NOT NULL);
INSERT INTO state VALUES (0);
""",
)


def key_of(kind: str, text: str) -> int:
    """A name as a number: 63 bits of the BLAKE2b of its kind and its text."""
    digest = blake2b(f"{kind}\0{text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


class Mention(NamedTuple):
    """That block `n` names what `key` names; `section` of it, or ANYWHERE."""

    n: int
    key: int
    section: int


class Laid(Value, frozen=True, kw_only=True):
    """One registered document: its blocks in the order in which they stand there, the section of each, the first of
    them that says something (`head`, 0 for none), what it is called, and what its blocks name.

    `ordered`: whether standing beside each other means something; rows of a table only share a file.
    """

    source: int
    head: int
    ordered: bool
    ns: tuple[int, ...]
    sections: tuple[int, ...]
    names: tuple[int, ...] = ()
    mentions: tuple[Mention, ...] = ()


def packed(numbers: Iterable[int]) -> bytes:
    """Numbers as little-endian 64-bit integers."""
    found = array("q", numbers)
    if sys.byteorder == "big":
        found.byteswap()
    return found.tobytes()


def unpacked(data: bytes) -> array[int]:
    """What `packed` made. Raises ValueError for anything else."""
    found = array("q")
    found.frombytes(data)
    if sys.byteorder == "big":
        found.byteswap()
    return found
