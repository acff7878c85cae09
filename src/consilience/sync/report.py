"""What a sync did, or would do: every file that is not simply unchanged, by name."""

from __future__ import annotations

from typing import Literal

from consilience.ingest.report import IngestReport
from consilience.model import Value

What = Literal["new", "changed", "moved", "hidden", "kept", "skipped", "failed", "refused"]

WRITTEN: tuple[What, ...] = ("new", "changed", "moved", "hidden")
"""What a brain is changed by."""


class FileChange(Value, frozen=True, kw_only=True):
    """One file. `origin` is where it stands now; `moved` ones say in `detail` where they stood before, others why.

    `hidden` files are gone, and so is, by the rule `deleted = "hide"`, what only they held; `kept` ones are gone, or
    left out by the rules by now, and what they held stays.
    """

    origin: str
    what: What
    source: str = ""
    detail: str = ""


class SourceReport(Value, frozen=True, kw_only=True):
    """One declared source: how many files it holds now, or why it could not be read."""

    name: str
    files: int = 0
    error: str | None = None
    hint: str | None = None


class SourceStatus(Value, frozen=True, kw_only=True):
    """One declared source. `behind` counts the files that a sync would look into or hide, None where nobody looked
    (a plug-in's source is not asked) or it cannot be read (`error` says why)."""

    name: str
    rule: str
    files: int | None = None
    behind: int | None = None
    error: str | None = None


class SyncReport(Value, frozen=True, kw_only=True):
    """One brain. `changes` are in the order of the origins; `ingest` is what taking files came to, None for a dry run;
    `passages_hidden` counts what the rule for gone files hid."""

    brain: str
    dry_run: bool = False
    sources: tuple[SourceReport, ...] = ()
    changes: tuple[FileChange, ...] = ()
    unchanged: int = 0
    ingest: IngestReport | None = None
    passages_hidden: int = 0
    commits: int = 0
    snapshot: str | None = None
    interrupted: bool = False
    seconds: float = 0.0

    def of(self, *what: What) -> tuple[FileChange, ...]:
        return tuple(each for each in self.changes if each.what in what)

    @property
    def failed_sources(self) -> tuple[SourceReport, ...]:
        return tuple(each for each in self.sources if each.error is not None)
