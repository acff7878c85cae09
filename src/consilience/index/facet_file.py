"""The SQLite file of the facets: its schema."""

from __future__ import annotations

from typing import Final, Literal

from consilience.index.database import Schema

MONTH: Final = 2_629_746
"""Seconds of a mean month, the width of a bar in the histogram of dates."""

Facet = Literal["module", "kind", "subject", "tag", "language", "role", "origin"]

SCHEMA: Final = Schema(
    what="facets",
    application_id=0x43534C46,
    format=1,
    statements="""
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
""",
)
