"""Facts that a source declares about itself at its head: `Key: value` lines, front matter, dates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime

DATE_KEYS = (
    "created",
    "date",
    "start date",
    "published",
    "date published",
    "publication date",
    "last updated",
    "last update",
    "updated",
    "last modified",
    "modified",
)
"""In order of preference: when it was written before when it was last touched."""

_MONTHS = {
    name: number
    for number, names in enumerate(
        ("jan january", "feb february", "mar march", "apr april", "may", "jun june", "jul july", "aug august",
         "sep sept september", "oct october", "nov november", "dec december"),
        start=1,
    )
    for name in names.split()
}  # fmt: skip
_INSTANT = re.compile(
    r"(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2})?)(?:\.\d+)? ?(Z|[+-]\d{2}:?\d{2})\b", re.ASCII
)
_YMD = re.compile(r"\b(\d{4})([-/.])(\d{1,2})\2(\d{1,2})\b", re.ASCII)
_DMY = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)?[- ,.]+(?:of )?([A-Za-z]{3,9})\.?[- ,.]+(\d{4})\b", re.ASCII)
_MDY = re.compile(r"\b([A-Za-z]{3,9})\.?[- ]+(\d{1,2})(?:st|nd|rd|th)?,?[- ]+(\d{4})\b", re.ASCII)
_FIELD = re.compile(
    r"^[ \t]*(?:[*+-][ \t]+)?([A-Z]\w[\w ()/-]{0,38}?)(?: #)?[ \t]*:(?:[ \t]+(.*))?$", re.DOTALL
)


def parse_date(text: str) -> str | None:
    """The first date in `text` as an ISO 8601 UTC day, or None: a month alone is no date."""
    text = text[:200]
    if match := _INSTANT.search(text):
        day = _utc_day(*match.groups())
        if day:
            return day
    candidates = [(m.start(), int(m[1]), int(m[3]), int(m[4])) for m in _YMD.finditer(text)]
    candidates += [
        (m.start(), int(m[3]), _MONTHS.get(m[2].lower(), 0), int(m[1])) for m in _DMY.finditer(text)
    ]
    candidates += [
        (m.start(), int(m[3]), _MONTHS.get(m[1].lower(), 0), int(m[2])) for m in _MDY.finditer(text)
    ]
    for _, year, month, day_of_month in sorted(candidates):
        try:
            return date(year, month, day_of_month).isoformat()
        except ValueError:
            continue
    return None


def _utc_day(day: str, time: str, zone: str) -> str | None:
    zone = "+0000" if zone == "Z" else zone.replace(":", "")
    pattern = "%Y-%m-%d %H:%M:%S %z" if time.count(":") == 2 else "%Y-%m-%d %H:%M %z"
    try:
        return datetime.strptime(f"{day} {time} {zone}", pattern).astimezone(UTC).date().isoformat()
    except (ValueError, OverflowError):
        return None


def field(text: str) -> tuple[str, str] | None:
    """`Start Date: 2018-01-13` -> ("Start Date", "2018-01-13"); None where it is not such a line."""
    match = _FIELD.match(text)
    return (match[1].strip(), (match[2] or "").strip()) if match else None


def date_of(fields: Mapping[str, str]) -> str | None:
    """The date among declared fields (keys in lower case), by `DATE_KEYS`."""
    for key in DATE_KEYS:
        if key in fields and (day := parse_date(fields[key])):
            return day
    return None


def fields_of(lines: Iterable[str]) -> dict[str, str]:
    """The declared fields among lines, keys in lower case, the first of each."""
    found: dict[str, str] = {}
    for line in lines:
        if pair := field(line):
            found.setdefault(pair[0].lower(), pair[1])
    return found


def readable_name(name: str) -> str:
    """A file's name as a title: `2289-associated_type-bounds.md` -> `2289 – Associated type bounds`."""
    stem = name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    stem = re.sub(r"(?<=.)\.(?:[A-Za-z0-9]{1,5}|(?i:parquet|markdown|geojson|ndjson))$", "", stem)
    match = re.match(r"(\d+)[-_. ]+(?=\D)", stem)
    number, rest = (match[1], stem[match.end() :]) if match else ("", stem)
    words = re.sub(r"[-_\s]+", " ", rest).strip()
    words = words[:1].upper() + words[1:]
    return f"{number} – {words}" if number and words else words or stem


HEAD_KEYS = frozenset(DATE_KEYS) | frozenset(
    (
        "author", "authors", "author(s)", "editor", "status", "version", "discussion", "discussion at",
        "discussions-to",
        "feature name", "feature gate", "rfc pr", "rust issue", "tracking issue", "issue", "rfc", "proposal",
        "review manager", "review", "reviews", "implementation", "bug", "bugs", "decision notes", "pitch", "roadmap",
        "previous proposal", "previous revision", "previous revisions", "upcoming feature flag", "swift version",
        "pep", "title", "sponsor", "pep-delegate", "bdfl-delegate", "type", "content-type", "topic", "requires",
        "python-version", "post-history", "resolution", "replaces", "superseded-by", "vision", "toolchain",
        "experimental feature flag", "bug tracker", "license", "copyright", "keywords", "tags", "category", "subject",
    )
)  # fmt: skip
"""Keys (lower case) that tell the head of a document from a list that merely has colons in it."""
