"""The SQLite file of the facets: schema, connections, what is checked when it is opened."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Final, Literal

from consilience.errors import IndexUnusableError
from consilience.index._files import unusable
from consilience.index.checksums import listed_sums, sum_of

FORMAT: Final = 1
APPLICATION_ID: Final = 0x43534C46
MONTH: Final = 2_629_746
"""Seconds of a mean month, the width of a bar in the histogram of dates."""

Facet = Literal["module", "kind", "subject", "tag", "language", "role", "origin"]

SCHEMA: Final = f"""
CREATE TABLE value(id INTEGER PRIMARY KEY, field TEXT NOT NULL, value TEXT NOT NULL, folded TEXT NOT NULL,
                   count INTEGER NOT NULL DEFAULT 0, UNIQUE(field, value));
CREATE INDEX value_folded ON value(field, folded);
CREATE TABLE entry(n INTEGER PRIMARY KEY, module INTEGER NOT NULL, kind INTEGER NOT NULL, subject INTEGER
NOT NULL,
                   language INTEGER NOT NULL, role INTEGER NOT NULL, first INTEGER, last INTEGER);
CREATE INDEX entry_subject ON entry(subject);
CREATE INDEX entry_date ON entry(first, last) WHERE first IS NOT NULL;
CREATE TABLE label(value INTEGER NOT NULL, n INTEGER NOT NULL, PRIMARY KEY(value, n)) WITHOUT ROWID;
CREATE TABLE month(month INTEGER PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE state(watermark INTEGER NOT NULL, documents INTEGER NOT NULL);
INSERT INTO state VALUES (0, 0);
PRAGMA application_id={APPLICATION_ID};
PRAGMA user_version={FORMAT};
"""


def connect(path: Path, *, writable: bool = False) -> sqlite3.Connection:
    """A connection. Where the folder cannot be written, SQLite cannot make the files that a reader of a WAL needs;
    nobody writes there either, so the file is read as one that does not change."""
    mode = "rwc" if writable else "ro" if os.access(path.parent, os.W_OK) else "ro&immutable=1"
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        isolation_level=None,
        timeout=5.0,
        check_same_thread=False,
    )
    connection.execute("PRAGMA query_only=" + ("0" if writable else "1"))
    return connection


def check(connection: sqlite3.Connection, path: Path) -> None:
    kind = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if kind != APPLICATION_ID:
        raise unusable(path, "it is another program's database")
    if version != FORMAT:
        raise unusable(path, f"format {version}, this version reads {FORMAT}")
    connection.execute("SELECT watermark FROM state").fetchone()[0]


def tune(connection: sqlite3.Connection) -> None:
    """A writer's settings: derived data may lose its last commits to a power cut, never its consistency."""
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA secure_delete=ON")


def sums_file(path: Path) -> Path:
    """Where the checksum of the facets is kept while no writer is at work (see checksums.py)."""
    return path.with_suffix(".json")


def log_is_empty(path: Path) -> bool:
    """Whether all that was committed is in the file itself."""
    try:
        return path.with_name(path.name + "-wal").stat().st_size == 0
    except OSError:
        return True


def facet_sums_hold(path: Path) -> bool | None:
    """Whether the facets are as their last writer left them; None where no checksum says so, or a log is on top."""
    try:
        listed = listed_sums(sums_file(path))
    except IndexUnusableError:
        return None
    said = listed.files.get(path.name) if listed is not None else None
    if said is None or not log_is_empty(path):
        return None
    try:
        return sum_of(path) == said
    except OSError as error:
        raise unusable(path, error.strerror or str(error)) from error
