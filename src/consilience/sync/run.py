"""Bringing one brain up to date with its declared sources."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec

from consilience.brain import Brain
from consilience.config_sources import SourceConfig
from consilience.derived import not_indexed, with_indexed
from consilience.embed import EmbedderSpec
from consilience.errors import ConsilienceError, UsageError
from consilience.ingest.ending import Ended, Ending, end_origins
from consilience.ingest.pipeline import Ingest
from consilience.ingest.report import IngestReport
from consilience.progress import NO_PROGRESS, Progress
from consilience.sync import seen
from consilience.sync.around import Around
from consilience.sync.kinds import Opened, open_source
from consilience.sync.locking import locked
from consilience.sync.looking import Candidate, Held, Look, Looker, held_by
from consilience.sync.report import FileChange, SourceReport, SyncReport

if TYPE_CHECKING:
    from consilience.config import BrainConfig
    from consilience.project import Project
    from consilience.protocol import Actor
    from consilience.store import SnapshotInfo

Waiting = Callable[[float], None]


def sync(
    brain: Brain,
    sources: Sequence[SourceConfig],
    around: Around,
    *,
    actor: Actor,
    dry_run: bool = False,
    embed: bool = True,
    progress: Progress = NO_PROGRESS,
    waiting: Waiting | None = None,
) -> SyncReport:
    """Take what is new and changed, let origins follow files that moved, and deal with gone files by the rule of their
    source (docs/decisions/0220, 0221). With `dry_run`, say what would happen, file by file, and write nothing.

    A source that cannot be read is told in the report, and the others go on; so are files that fail or are refused.
    Work is committed in batches: a kill keeps what was committed, and the same call goes on from there. A second sync
    of the same brain waits for the first. Raises BusyError when another writer does not finish, StorageError; an error
    after a commit carries the report of what is in (`error.done`).
    """
    with locked(brain.path, waiting, only_look=dry_run), ExitStack() as stack:
        run = _Run(brain, around, actor=actor, progress=progress, waiting=waiting)
        opened = [stack.enter_context(closing(each)) for each in run.open(sources)]
        if dry_run:
            return run.preview(opened)
        return run.sync(opened, embed=embed)


class _Run:
    def __init__(
        self, brain: Brain, around: Around, *, actor: Actor, progress: Progress, waiting: Waiting | None
    ) -> None:
        self._brain, self._around, self._actor = brain, around, actor
        self._progress, self._waiting = progress, waiting
        self._derived = brain.path / "derived"
        self._started = time.monotonic()
        self._unopened: list[SourceReport] = []
        self._looked_at: SnapshotInfo | None = None

    def open(self, sources: Sequence[SourceConfig]) -> list[Opened]:
        opened = []
        for config in sources:
            try:
                opened.append(open_source(config, self._around))
            except ConsilienceError as error:
                self._unopened.append(SourceReport(name=config.name, error=error.message, hint=error.hint))
        return opened

    def _ingest(self) -> Ingest:
        return Ingest(
            self._brain.store,
            actor=self._actor,
            clock=self._around.clock,
            jobs=self._around.jobs,
            progress=self._progress,
            waiting=self._waiting,
        )

    def _look(self, opened: Sequence[Opened], *, deep: bool) -> tuple[Look, dict[str, Held]]:
        with self._brain.store.view() as view:
            held, self._looked_at = held_by(view), view.snapshot
        looker = Looker(held, seen.load(self._derived), self._ingest(), deep=deep, progress=self._progress)
        look = looker.run(opened)
        look.sources += self._unopened
        return look, held

    def preview(self, opened: Sequence[Opened]) -> SyncReport:
        try:
            look, _ = self._look(opened, deep=True)
        except KeyboardInterrupt:
            return SyncReport(brain=self._brain.name, dry_run=True, interrupted=True)
        changes = [*look.told, *(_change(candidate) for candidate in look.take)]
        return msgspec.structs.replace(self._report(look, changes), dry_run=True)

    def sync(self, opened: Sequence[Opened], *, embed: bool) -> SyncReport:
        try:
            look, held = self._look(opened, deep=False)
        except KeyboardInterrupt:
            return SyncReport(brain=self._brain.name, interrupted=True)
        stopped: ConsilienceError | None = None
        ended, interrupted = Ended(), False
        taken = IngestReport()
        try:
            taken = self._ingest().run(candidate.found for candidate in look.take)
            if not taken.interrupted:
                ended = self._end(look, held)
        except KeyboardInterrupt:
            interrupted = True
        except ConsilienceError as error:
            stopped = error
            taken = error.done if isinstance(error.done, IngestReport) else taken
        interrupted = interrupted or taken.interrupted
        report = self._outcome(look, held, taken, ended, whole=not interrupted and stopped is None)
        if stopped is None and not interrupted:
            report, stopped = self._caught_up(report, embed=embed)
        report = msgspec.structs.replace(
            report, interrupted=report.interrupted or interrupted, seconds=time.monotonic() - self._started
        )
        if stopped is not None:
            stopped.done = report if report.commits else None
            raise stopped
        return report

    def _end(self, look: Look, held: dict[str, Held]) -> Ended:
        """End what is gone, and what moved if its bytes did come in at the new place."""
        reasons = dict(look.ends)
        with self._brain.store.view() as view:
            for candidate in look.take:
                now = view.registered(candidate.found.origin) if candidate.before else None
                if now is not None and now.blob == candidate.digest:
                    reasons[candidate.before] = f"{candidate.before} is {candidate.found.origin} now"
        endings = [
            Ending(origin=origin, reason=reason, record=held[origin].record)
            for origin, reason in sorted(reasons.items())
        ]
        return end_origins(
            self._brain.store,
            endings,
            actor=self._actor,
            clock=self._around.clock,
            waiting=self._waiting,
        )

    def _outcome(
        self, look: Look, held: dict[str, Held], taken: IngestReport, ended: Ended, *, whole: bool
    ) -> SyncReport:
        """What did happen, by what the brain holds now; remembered for the next time."""
        with self._brain.store.view() as view:
            now = held if view.snapshot == self._looked_at else held_by(view)
        reasons = {
            each.path: (what, each.reason)
            for what, passed in (
                ("skipped", taken.skipped),
                ("failed", taken.failed),
                ("refused", taken.refused),
            )
            for each in passed
        }
        changes = [each for each in look.told if each.what != "hidden" or each.origin in set(ended.origins)]
        remembered, unchanged = dict(look.seen), 0
        for candidate in look.take:
            origin = candidate.found.origin
            if origin in reasons:
                what, reason = reasons[origin]
                changes.append(
                    FileChange(origin=origin, what=what, source=candidate.source, detail=reason)  # type: ignore[arg-type]
                )
                if what == "skipped" and candidate.stamp:
                    remembered[origin] = (candidate.stamp, b"", reason)
                continue
            after = now.get(origin)
            if after is None:
                continue
            if origin in held and held[origin].record == after.record:
                unchanged += whole
                continue
            changes.append(_change(candidate))
            if candidate.stamp and after.blob == candidate.digest:
                remembered[origin] = (candidate.stamp, bytes(after.record), "")
        seen.save(self._derived, remembered)
        report = self._report(look, changes)
        return msgspec.structs.replace(
            report,
            unchanged=report.unchanged + unchanged,
            ingest=taken,
            passages_hidden=ended.passages,
            commits=taken.commits + ended.commits,
            snapshot=ended.snapshot or taken.snapshot,
        )

    def _caught_up(self, report: SyncReport, *, embed: bool) -> tuple[SyncReport, ConsilienceError | None]:
        ingest = report.ingest or IngestReport()
        try:
            indexed = self._brain.index(progress=self._progress, embed=embed)
        except ConsilienceError as error:
            stopped = not_indexed(error)
            stopped.__cause__ = error
            ingest = with_indexed(ingest, error.done)
            return msgspec.structs.replace(report, ingest=ingest), stopped
        ingest = with_indexed(ingest, indexed)
        return msgspec.structs.replace(report, ingest=ingest, interrupted=ingest.interrupted), None

    def _report(self, look: Look, changes: Sequence[FileChange]) -> SyncReport:
        return SyncReport(
            brain=self._brain.name,
            sources=tuple(look.sources),
            changes=tuple(sorted(changes, key=lambda each: (each.origin, each.what))),
            unchanged=look.unchanged,
            seconds=time.monotonic() - self._started,
        )


def _change(candidate: Candidate) -> FileChange:
    detail = f"from {candidate.before}" if candidate.before else candidate.detail
    return FileChange(
        origin=candidate.found.origin, what=candidate.what, source=candidate.source, detail=detail
    )


def sync_declared(
    project: Project,
    config: BrainConfig,
    around: Around,
    *,
    actor: Actor,
    dry_run: bool = False,
    embed: bool = True,
    progress: Progress = NO_PROGRESS,
    waiting: Waiting | None = None,
) -> SyncReport:
    """`sync` of a brain of a project, whose layout is made if need be (not by a dry run). UsageError for a brain that
    declares no source."""
    if not config.sources:
        raise UsageError(
            f"brain {config.name!r} declares no source", hint=f"csl source add FOLDER --brain {config.name}"
        )
    with ExitStack() as stack:
        if dry_run and not project.has_layout(config):
            folder = stack.enter_context(TemporaryDirectory(prefix="csl-sync-"))
            brain = Brain.create(
                Path(folder) / "brain", name=config.name, embedder=EmbedderSpec(provider="none")
            )
            stack.enter_context(brain)
        elif dry_run:
            brain = stack.enter_context(project.brain(config.name, read_only=True))
        else:
            brain = stack.enter_context(project.writable(config.name, create=True))
        return sync(
            brain,
            config.sources,
            around,
            actor=actor,
            dry_run=dry_run,
            embed=embed,
            progress=progress,
            waiting=waiting,
        )
