"""What an export or an import did."""

from __future__ import annotations

from pathlib import Path

from consilience.model import Value

__all__ = ["ExportReport", "ImportReport", "ModuleCount"]


class ModuleCount(Value, frozen=True, kw_only=True):
    """One module at the head: `blocks` members, `redacted` of them without bytes."""

    module: str
    blocks: int
    redacted: int
    root: str


class ExportReport(Value, frozen=True, kw_only=True):
    """A layout as it stands after an export. `written`, `removed`: files of this run; `size`: bytes of all blobs.

    `artifact` is the digest of the published manifest, None where the packed layers were left out;
    `artifact_size` the bytes of its layers.
    """

    path: Path
    tag: str
    snapshot: str
    snapshots: int
    blocks: int
    originals: int
    redacted: int
    signatures: int
    files: int
    size: int
    written: int
    removed: int
    erased: int
    artifact: str | None
    artifact_size: int
    modules: tuple[ModuleCount, ...]
    warnings: tuple[str, ...]
    seconds: float


class ImportReport(Value, frozen=True, kw_only=True):
    """What came in. `created`: the brain was made by this import; `up_to_date`: nothing was new.

    `snapshots`, `blocks`, `originals`: what was written; `checked` bytes were hashed. `truncated`: the parents
    that the oldest snapshots name and the layout does not hold. `actors`: how many of the snapshots name the
    actor of their records, `by_importer` how many the one who imported. `unresolvable`: blocks of older
    snapshots whose bytes the layout does not hold.
    """

    path: Path
    snapshot: str
    created: bool
    up_to_date: bool
    snapshots: int
    blocks: int
    originals: int
    redacted: int
    unresolvable: int
    checked: int
    signatures: int
    actors: int
    by_importer: int
    truncated: tuple[str, ...]
    modules: tuple[ModuleCount, ...]
    warnings: tuple[str, ...]
    seconds: float
    interrupted: bool = False
    unembedded: int = 0
