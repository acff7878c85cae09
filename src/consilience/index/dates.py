"""Dates of entries and of a question's window, as closed intervals of UTC epoch seconds."""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime
from typing import NamedTuple

from consilience.errors import QueryError

_PARTIAL = re.compile(r"(\d{4})(?:-(\d{2}))?")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


class Interval(NamedTuple):
    """First and last second, inclusive."""

    start: int
    end: int


def interval(text: str) -> Interval | None:
    """What a date covers: a year, month or day all of it, an instant its second. None for what is no date
    (RFC 3339)."""
    text = text.strip()
    try:
        partial = _PARTIAL.fullmatch(text)
        if partial:
            year, month = int(partial[1]), partial[2]
            first, last = (int(month), int(month)) if month else (1, 12)
            days = calendar.monthrange(year, last)[1]
            return Interval(
                _second(datetime(year, first, 1)), _second(datetime(year, last, days, 23, 59, 59))
            )
        if _DAY.fullmatch(text):
            day = datetime.fromisoformat(text)
            return Interval(_second(day), _second(day) + 86_399)
        instant = _second(datetime.fromisoformat(text))
        return Interval(instant, instant)
    except (ValueError, OverflowError):
        return None


def _second(moment: datetime) -> int:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return calendar.timegm(aware.utctimetuple())


def window(since: str | None, until: str | None) -> Interval | None:
    """The window of a question; None where it sets none. Raises QueryError for a bound that is no date."""
    if since is None and until is None:
        return None
    bounds = []
    for name, text in (("since", since), ("until", until)):
        found = interval(text) if text is not None else None
        if text is not None and found is None:
            raise QueryError(
                f"--{name}: {text!r} is not a date", hint="write 2024-05-01 or 2024-05-01T12:00:00Z"
            )
        bounds.append(found)
    start = bounds[0].start if bounds[0] else -(2**62)
    end = bounds[1].end if bounds[1] else 2**62
    if start > end:
        raise QueryError(f"--since {since} is later than --until {until}", hint="exchange the two")
    return Interval(start, end)


def overlaps(entry: Interval | None, wanted: Interval) -> bool:
    """Whether an entry's date lies in a window, at least in part; an entry without a date does not."""
    return entry is not None and entry.start <= wanted.end and entry.end >= wanted.start
