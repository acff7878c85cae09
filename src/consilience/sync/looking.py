"""Comparing what sources hold with what a brain took from them. Nothing is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from consilience.errors import ConsilienceError
from consilience.ingest.archives import archive_of
from consilience.ingest.discover import Found, Skipped
from consilience.ingest.pipeline import Ingest
from consilience.progress import NO_PROGRESS, Progress
from consilience.protocol import Digest, sha256
from consilience.store import View
from consilience.sync.kinds import Opened
from consilience.sync.report import FileChange, SourceReport, What

EMPTY = "empty"
"""The reason for which a file without bytes is left out; it counts as gone."""

EMPTIED = (
    "it holds no file any more, though {count:,} were taken from it before: nothing is hidden, since a folder that is "
    "not mounted looks like that"
)


@dataclass(slots=True)
class Held:
    """What an origin holds: the registration, and the digest of the bytes (None where they were redacted)."""

    record: Digest
    blob: Digest | None


@dataclass(slots=True)
class Candidate:
    """A file that is there. `what` is what taking it comes to as far as is known by then; `digest` is that of its bytes
    where they were read, `before` where they stood until now."""

    found: Found
    stamp: str
    source: str
    what: What
    detail: str = ""
    digest: Digest | None = None
    before: str = ""


@dataclass(slots=True)
class Look:
    """`take` are files that are new, changed or moved; `ends` are gone origins that end, each with its reason; `seen`
    is what there is to remember of unchanged and skipped files."""

    sources: list[SourceReport] = field(default_factory=list)
    take: list[Candidate] = field(default_factory=list)
    told: list[FileChange] = field(default_factory=list)
    ends: dict[str, str] = field(default_factory=dict)
    unchanged: int = 0
    seen: dict[str, tuple[str, bytes, str]] = field(default_factory=dict)


class Looker:
    """One look at all sources of a brain.

    `known` is what the last sync saw; `deep` reads new and changed files to the end, so that what would be skipped,
    refused or fail is known without taking it.
    """

    def __init__(
        self,
        held: Mapping[str, Held],
        known: Mapping[str, tuple[str, bytes, str]],
        ingest: Ingest,
        *,
        deep: bool,
        progress: Progress = NO_PROGRESS,
    ) -> None:
        self._held, self._known, self._ingest = held, known, ingest
        self._deep, self._progress = deep, progress
        self._met: dict[str, str] = {}
        """Origins met: "" where there is something to read, else why it is left out, or how it failed."""
        self.look = Look()

    def run(self, sources: Sequence[Opened]) -> Look:
        self._progress.start("looking", None, "file")
        try:
            sound = [source for source in sources if self._list(source)]
        finally:
            self._progress.close()
        self._match(sound)
        return self.look

    def _list(self, source: Opened) -> bool:
        """Look at every file of one source; whether it could be listed to the end."""
        name, count = source.config.name, 0
        try:
            for item, stamp in source.items():
                self._progress.advance(1)
                if self._met.get(item.origin) == "":
                    continue
                if isinstance(item, Skipped):
                    self._left_out(item, name)
                else:
                    count += 1
                    self._met[item.origin] = ""
                    self._file(item, stamp, name)
        except ConsilienceError as error:
            self.look.sources.append(
                SourceReport(name=name, files=count, error=error.message, hint=error.hint)
            )
            return False
        self.look.sources.append(SourceReport(name=name, files=count))
        return True

    def _left_out(self, item: Skipped, source: str) -> None:
        self._met.setdefault(item.origin, item.reason)
        self._tell(item.origin, "failed" if item.error else "skipped", source, item.reason)

    def _tell(self, origin: str, what: What, source: str, detail: str = "") -> None:
        self.look.told.append(FileChange(origin=origin, what=what, source=source, detail=detail))

    # --- one file -----------------------------------------------------------------------------------------------

    def _file(self, found: Found, stamp: str, source: str) -> None:
        held, known = self._held.get(found.origin), self._known.get(found.origin)
        if known is not None and stamp and known[0] == stamp:
            if known[2]:
                self._skipped(found, stamp, source, known[2])
                return
            if held is not None and held.blob is not None and held.record == known[1]:
                self._unchanged(found, stamp, held)
                return
        try:
            digest = sha256(found.read())
        except FileNotFoundError:
            del self._met[found.origin]  # gone between listing and reading
            return
        except OSError as error:
            self._tell(found.origin, "failed", source, f"cannot be read: {error.strerror or error}")
            return
        candidate = Candidate(found, stamp, source, "new" if held is None else "changed", digest=digest)
        if self._deep or (held is not None and held.blob == digest):
            self._foresee(candidate, held)
        else:
            self.look.take.append(candidate)

    def _foresee(self, candidate: Candidate, held: Held | None) -> None:
        found, source = candidate.found, candidate.source
        what, why = self._ingest.foresee(found)
        if what == "unchanged" and held is not None:
            self._unchanged(found, candidate.stamp, held)
        elif what == "skipped":
            self._skipped(found, candidate.stamp, source, why)
        elif what in ("failed", "refused") and self._deep:
            self._tell(found.origin, "failed" if what == "failed" else "refused", source, why)
        else:
            if held is not None and held.blob == candidate.digest:
                candidate.detail = "read anew: by another reader, or what was taken is damaged"
            self.look.take.append(candidate)

    def _unchanged(self, found: Found, stamp: str, held: Held) -> None:
        self.look.unchanged += 1
        if stamp:
            self.look.seen[found.origin] = (stamp, bytes(held.record), "")

    def _skipped(self, found: Found, stamp: str, source: str, why: str) -> None:
        self._tell(found.origin, "skipped", source, why)
        if stamp:
            self.look.seen[found.origin] = (stamp, b"", why)

    # --- what is not there --------------------------------------------------------------------------------------

    def _match(self, sources: Sequence[Opened]) -> None:
        """Find the origins that are gone, and where their bytes stand now."""
        gone = dict(self._unlisted(sources))
        taken = {c.digest: c for c in reversed(self.look.take) if c.digest is not None and c.detail == ""}
        for origin in sorted(gone):
            held = self._held[origin]
            candidate = taken.pop(held.blob, None) if held.blob is not None else None
            if candidate is not None:
                candidate.what, candidate.before = "moved", origin
        moved = {c.before for c in self.look.take if c.before}
        for origin, (source, rule) in gone.items():
            if origin in moved:
                continue
            if rule == "hide":
                self.look.ends[origin] = f"{origin} is gone"
            self._tell(origin, "hidden" if rule == "hide" else "kept", source, "it is gone")

    def _unlisted(self, sources: Sequence[Opened]) -> Iterator[tuple[str, tuple[str, str]]]:
        """Gone origins, each with the source that it was of and the rule for it: `keep` where any source that covers it
        says so, or is empty by now."""
        empty = self._emptied(sources)
        for origin in self._held:
            met = self._met.get(origin, self._met.get(archive_of(origin)))
            if met == "":
                continue
            covering = [source for source in sources if source.covers(origin)]
            if not covering:
                continue
            first = covering[0].config.name
            absent = [source.absent(origin) for source in covering] if met in (None, EMPTY) else [False]
            if all(absent):
                careful = any(s.config.deleted != "hide" or s.config.name in empty for s in covering)
                yield origin, (first, "keep" if careful else "hide")
            elif None in absent:
                self._tell(origin, "kept", first, "whether it is gone cannot be seen")
            else:
                self._tell(origin, "kept", first, met or "left out by the rules by now")

    def _emptied(self, sources: Sequence[Opened]) -> set[str]:
        """Sources from which everything is gone at once; told as failures where their rule would hide it."""
        counts = {report.name: report.files for report in self.look.sources}
        empty: set[str] = set()
        for source in sources:
            name = source.config.name
            if counts[name] or source.config.deleted != "hide":
                continue
            held = sum(source.covers(origin) for origin in self._held)
            if held:
                empty.add(name)
                self.look.sources = [
                    SourceReport(name=name, error=f"{name}: {EMPTIED.format(count=held)}", hint=None)
                    if report.name == name
                    else report
                    for report in self.look.sources
                ]
        return empty


def held_by(view: View) -> dict[str, Held]:
    """What every origin of a brain holds now that was read from a file; remembered words have none (decision 212)."""
    read = view.mentioned()
    return {origin: Held(each.record, each.blob) for origin, each in view.origins() if each.n in read}
