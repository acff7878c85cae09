"""What a filter asks of an entry: the rules, on one entry (docs/decisions/0055)."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Sequence

from consilience.index.dates import interval, overlaps, window
from consilience.model import Entry, Filters


def fold(value: str) -> str:
    """How a facet's value is compared: ignoring case and outer space."""
    return value.strip().casefold()


def source_matcher(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Whether an origin is one that `--source` asks for.

    A pattern with `*`, `?` or `[` is a glob over the whole origin (`*` spans `/`), or, without a `/`, over
    the file name too. Another one is the exact origin, a leading folder of it, or the file name. A leading
    `./` is dropped.
    """
    forms: list[str] = []
    for pattern in patterns:
        text = pattern.removeprefix("./")
        if any(c in text for c in "*?["):
            whole = fnmatch.translate(text)
            forms.append(whole if "/" in text else f"(?:.*/)?{whole}")
        else:
            exact = re.escape(text.rstrip("/"))
            forms += [
                rf"{exact}(?:/.*)?\Z",
                rf".*/{exact}\Z" if "/" not in text.rstrip("/") else rf"{exact}\Z",
            ]
    wanted = re.compile("|".join(rf"(?:\./)?(?:{form})" for form in forms), re.DOTALL)
    return lambda origin: wanted.match(origin) is not None


def passes(entry: Entry, filters: Filters) -> bool:
    """Whether one entry is what the filters ask for: the rules of `FacetIndex.eligible`, for an entry not
    indexed yet."""
    if filters.modules and entry.module not in filters.modules:
        return False
    if filters.kinds and fold(entry.kind) not in map(fold, filters.kinds):
        return False
    if filters.subjects and fold(entry.subject) not in map(fold, filters.subjects):
        return False
    if filters.tags and not set(map(fold, filters.tags)) & set(map(fold, entry.tags)):
        return False
    if filters.sources and not any(map(source_matcher(filters.sources), entry.origins)):
        return False
    wanted = window(filters.since, filters.until)
    return wanted is None or overlaps(interval(entry.date) if entry.date else None, wanted)


def narrows(filters: Filters) -> bool:
    """Whether filters bound anything beyond the module."""
    dated = filters.since is not None or filters.until is not None
    return bool(dated or filters.kinds or filters.subjects or filters.tags or filters.sources)
