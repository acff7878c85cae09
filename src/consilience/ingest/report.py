"""What an ingest did: counted, and named where somebody has to look."""

from __future__ import annotations

from consilience.model import Value


class Passed(Value, frozen=True, kw_only=True):
    """A file that was not taken, or was taken with a reservation, and why."""

    path: str
    reason: str


class IngestReport(Value, frozen=True, kw_only=True):
    """Totals of one ingest.

    `taken` files are new, `changed` replaced what stood at their origin, `unchanged` wrote nothing. `passages` counts
    those of taken and changed files; `blocks` the new blocks of every module, provenance included. `refused` files hold
    what was redacted, and were not taken. `gone` are origins below the given paths that were taken before and are not
    there now: they stay. `embedded` texts went through the model, `reused` had a vector already; `unembedded` blocks
    have none yet, and `notes` say why.
    """

    taken: int = 0
    changed: int = 0
    unchanged: int = 0
    skipped: tuple[Passed, ...] = ()
    failed: tuple[Passed, ...] = ()
    refused: tuple[Passed, ...] = ()
    warnings: tuple[Passed, ...] = ()
    gone: tuple[str, ...] = ()
    passages: int = 0
    blocks: int = 0
    superseded: int = 0
    demoted: int = 0
    commits: int = 0
    bytes_read: int = 0
    snapshot: str | None = None
    interrupted: bool = False
    embedded: int = 0
    reused: int = 0
    unembedded: int = 0
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def wrote(self) -> bool:
        return self.commits > 0
