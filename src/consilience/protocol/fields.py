"""The field types that payloads, records and snapshots share (WIRE 4), checked when bytes are decoded."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import msgspec

from consilience.protocol.canonical import MAX_SAFE_INTEGER
from consilience.protocol.identity import DIGEST_PATTERN

__all__ = ["Count", "DigestText", "Name", "Timestamp", "Wire", "is_calendar_instant", "timestamp"]

DigestText = Annotated[str, msgspec.Meta(pattern=DIGEST_PATTERN)]
Timestamp = Annotated[str, msgspec.Meta(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z\Z")]
"""RFC 3339 in UTC with whole seconds: one spelling an instant. The shape is checked, the calendar not."""
Name = Annotated[str, msgspec.Meta(min_length=1)]
Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_SAFE_INTEGER)]


class Wire(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all that is written in JSON. An optional member is absent (UNSET), never null; `()` is `[]`."""


_PARTS = ((0, 4), (5, 2), (8, 2), (11, 2), (14, 2), (17, 2))


def timestamp(moment: datetime) -> str:
    """An instant as the protocol writes it, `2026-11-30T06:50:30Z`, cut to the second; a naive one is UTC."""
    utc = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return utc.replace(microsecond=0, tzinfo=None).isoformat() + "Z"


def is_calendar_instant(text: str) -> bool:
    """Whether a Timestamp names a second that exists (no 30 February, no leap second)."""
    year, month, day, hour, minute, second = (int(text[at : at + n]) for at, n in _PARTS)
    try:
        datetime(year, month, day, hour, minute, second)
    except ValueError:
        return False
    return True
