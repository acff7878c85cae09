"""What changes a brain: ingest, index, retention, exchange. `Brain` is this and the questions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from consilience.derived import CaughtUp, Derived, not_indexed, with_indexed
from consilience.errors import ConsilienceError
from consilience.progress import NO_PROGRESS, Progress
from consilience.protocol import Actor, Digest
from consilience.store import Store

if TYPE_CHECKING:
    from consilience.history import Pruned
    from consilience.ingest.report import IngestReport
    from consilience.oci.model import ExportReport, ImportReport
    from consilience.retain.execute import Retention
    from consilience.retain.policy import Policy
    from consilience.retain.report import Plan, Retained
    from consilience.store import View
    from consilience.store.prune import Keep, PrunePlan

Clock = Callable[[], datetime]
Waiting = Callable[[float], None]

ERASING_WAIT_S = 5.0
"""How long work that is about something else waits for what is in the way of an unfinished erasure."""


class Changes:
    """One brain's store with everything derived from it, and every way to change them.

    `policy` says what may be removed (nothing that cannot be undone by default).
    """

    def __init__(
        self, path: Path, store: Store, derived: Derived, *, name: str, policy: Policy | None
    ) -> None:
        self.path = path
        self.name = name
        self._store = store
        self._derived = derived
        self._lock = threading.Lock()
        self._policy = policy

    @property
    def policy(self) -> Policy:
        """What may be removed: what it was opened with, else nothing that cannot be undone."""
        from consilience.retain.policy import Policy

        return self._policy or Policy()

    # --- writing ------------------------------------------------------------------------------------------------

    def ingest(
        self,
        paths: Sequence[str | Path],
        *,
        actor: Actor,
        clock: Clock,
        root: Path | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        use_ignore_files: bool = True,
        embed: bool = True,
        jobs: int | None = None,
        progress: Progress = NO_PROGRESS,
        waiting: Waiting | None = None,
    ) -> IngestReport:
        """Take files and folders in; then catch the indices up, embedding last (not at all with `embed=False`).

        `root` is the folder that origins are relative to. `jobs` processes may parse side by side: as many as there are
        processors by default, 1 for none but this one; what comes out is the same. Commits in batches: an interrupt
        keeps what was committed, and is told in the report. Raises UsageError for a path that does not exist, BusyError
        when another writer does not finish, StorageError for a disk that is full; where that is so after the last
        commit, it says so. An error after a commit carries the report of what is in (`error.done`).
        """
        from consilience.ingest import discover
        from consilience.ingest.pipeline import Ingest, coverage_of

        found = discover(
            paths, include=include, exclude=exclude, use_ignore_files=use_ignore_files, root=root
        )
        run = Ingest(self._store, actor=actor, clock=clock, jobs=jobs, progress=progress, waiting=waiting)
        report = run.run(found, covers=coverage_of(paths, root, include=include))
        if not report.interrupted:
            try:
                indexed = self.index(progress=progress, embed=embed)
            except ConsilienceError as error:
                stopped = not_indexed(error)
                stopped.done = with_indexed(report, error.done)
                raise stopped from error
            report = with_indexed(report, indexed)
        return report

    def index(
        self, *, progress: Progress = NO_PROGRESS, embed: bool = True, rebuild: bool = False
    ) -> CaughtUp:
        """Catch up everything derived: lexical, facets, vectors, statistics. Interrupting keeps what is done.

        `rebuild` throws the lexical index, the facets and the statistics away first; vectors are reused by the hash
        of their text.
        """
        import msgspec

        remains = self.finish_erasing(timeout_s=ERASING_WAIT_S)
        with self._lock:
            done = self._derived.catch_up(
                self._store, self.name, progress=progress, embed=embed, rebuild=rebuild
            )
        return done if remains is None else msgspec.structs.replace(done, notes=(*done.notes, remains))

    # --- what leaves --------------------------------------------------------------------------------------------

    def retain_plan(self, what: str, ids: Sequence[str]) -> Plan:
        """What a `drop` or a `redact` of these blocks would do. Nothing is changed.

        Raises BlockNotFoundError and UsageError for ids that name no block or several, PolicyError for what is never
        dropped or redacted.
        """
        from consilience.retain.plan import plan_of

        with self._store.view() as view:
            return plan_of(view, self.name, what, self._named(view, ids), self.policy)

    def drop(
        self,
        ids: Sequence[str],
        *,
        reason: str,
        actor: Actor,
        clock: Clock,
        plan: str | None = None,
        waiting: Waiting | None = None,
    ) -> Retained:
        """End the membership of blocks and of what was derived only from them. See `Retention.drop`."""
        work = self._retention(actor, clock, waiting)
        return self._settled(
            work.drop(self._ids(ids), reason=reason, policy=self.policy, plan=plan), waiting, NO_PROGRESS
        )

    def redact(
        self,
        ids: Sequence[str],
        *,
        reason: str,
        actor: Actor,
        clock: Clock,
        plan: str | None = None,
        progress: Progress = NO_PROGRESS,
        waiting: Waiting | None = None,
    ) -> Retained:
        """Destroy the bytes of blocks in every file of the brain. See `Retention.redact`."""
        work = self._retention(actor, clock, waiting)
        return self._settled(
            work.redact(self._ids(ids), reason=reason, policy=self.policy, plan=plan), waiting, progress
        )

    def supersede(
        self,
        old: str,
        by: str,
        *,
        actor: Actor,
        clock: Clock,
        reason: str | None = None,
        waiting: Waiting | None = None,
    ) -> Retained:
        """Hide a block behind another one. See `Retention.supersede`."""
        first, second = self._ids([old, by])
        work = self._retention(actor, clock, waiting)
        return self._settled(work.supersede(first, second, reason=reason), waiting, NO_PROGRESS)

    def demote(
        self,
        ids: Sequence[str],
        *,
        actor: Actor,
        clock: Clock,
        reason: str | None = None,
        waiting: Waiting | None = None,
    ) -> Retained:
        """Hide blocks. See `Retention.demote`."""
        work = self._retention(actor, clock, waiting)
        return self._settled(work.demote(self._ids(ids), reason=reason), waiting, NO_PROGRESS)

    def restore(
        self, ids: Sequence[str], *, actor: Actor, clock: Clock, waiting: Waiting | None = None
    ) -> Retained:
        """Show hidden blocks again. See `Retention.restore`."""
        work = self._retention(actor, clock, waiting)
        return self._settled(work.restore(self._ids(ids)), waiting, NO_PROGRESS)

    def readmit(
        self, ids: Sequence[str], *, reason: str, actor: Actor, clock: Clock, waiting: Waiting | None = None
    ) -> Retained:
        """Let redacted bytes in again. See `Retention.readmit`."""
        work = self._retention(actor, clock, waiting)
        return self._settled(work.readmit(self._ids(ids), reason=reason), waiting, NO_PROGRESS)

    def prune_plan(self, keep: Keep, *, clock: Clock) -> PrunePlan:
        """What a prune now would take. Nothing is changed. Raises UsageError for a rule that keeps nothing."""
        from consilience.store.prune import plan_prune

        with self._store.view() as view:
            return plan_prune(view, keep, clock())

    def prune(self, keep: Keep, *, actor: Actor, clock: Clock, waiting: Waiting | None = None) -> Pruned:
        """Remove the older snapshots and the bytes that only they name; give the space back. See `history.prune`."""
        from consilience.history import prune

        settle = (lambda: (self.finish_erasing(waiting=waiting),), lambda: self.index(embed=False).notes)
        return prune(self._store, keep, actor=actor, now=clock(), waiting=waiting, settle=settle)

    def finish_erasing(self, *, waiting: Waiting | None = None, timeout_s: float = 30.0) -> str | None:
        """Erase what a redaction that was cut short has left to be erased; why not all of it, or None. Costs one look
        where there is nothing. `ingest` and `index` do it first."""
        if not self._store.to_erase():
            return None
        from consilience.retain.erase import finish

        self._let_go()
        return finish(self._store, self._derived.folder, waiting=waiting, timeout_s=timeout_s).remains

    def _let_go(self) -> None:
        """Close what is open of the derived files."""
        self._derived.close()

    def _ids(self, ids: Sequence[str]) -> list[Digest]:
        with self._store.view() as view:
            return self._named(view, ids)

    @staticmethod
    def _named(view: View, ids: Sequence[str]) -> list[Digest]:
        from consilience.inspection import resolve

        return [resolve(view, each) for each in ids]

    def _retention(self, actor: Actor, clock: Clock, waiting: Waiting | None) -> Retention:
        from consilience.retain.execute import Retention

        return Retention(self._store, self.name, actor=actor, clock=clock, waiting=waiting)

    def _settled(self, report: Retained, waiting: Waiting | None, progress: Progress) -> Retained:
        """What was committed, with everything derived brought after it. What fails there is told, not raised."""
        import msgspec

        remains = self.finish_erasing(waiting=waiting)
        notes = list(report.notes)
        try:
            if report.records and remains is None:
                notes += self.index(progress=progress, embed=False).notes
        except ConsilienceError as error:
            notes.append(not_indexed(error).message)
        return msgspec.structs.replace(
            report, erased=remains is None, remains=remains, notes=tuple(dict.fromkeys(notes))
        )

    # --- exchange -----------------------------------------------------------------------------------------------

    def export(
        self,
        path: Path,
        *,
        tag: str = "latest",
        artifact: bool = True,
        progress: Progress = NO_PROGRESS,
    ) -> ExportReport:
        """Write the head and the whole history as an OCI image layout. See `oci.export_brain`."""
        from consilience.oci import export_brain

        return export_brain(self._store, path, name=self.name, tag=tag, artifact=artifact, progress=progress)

    def import_layout(
        self,
        path: Path,
        *,
        actor: Actor,
        clock: Clock,
        tag: str | None = None,
        embed: bool = True,
        progress: Progress = NO_PROGRESS,
        waiting: Waiting | None = None,
    ) -> ImportReport:
        """Bring the brain forward to the snapshot of an OCI image layout, then catch up everything derived. See
        `oci.import_into`; `Project.import_layout` makes a brain that is not here yet."""
        from consilience.oci import import_into

        report = import_into(
            self._store, path, actor=actor, now=clock(), tag=tag, progress=progress, waiting=waiting
        )
        return self.index_imported(report, embed=embed, progress=progress)

    def index_imported(
        self, report: ImportReport, *, embed: bool = True, progress: Progress = NO_PROGRESS
    ) -> ImportReport:
        """Catch up everything derived after an import; what it did, added to the report."""
        import msgspec

        try:
            indexed = self.index(progress=progress, embed=embed)
        except ConsilienceError as error:
            stopped = not_indexed(error)
            stopped.done = report
            raise stopped from error
        return msgspec.structs.replace(
            report,
            unembedded=indexed.unembedded,
            interrupted=indexed.interrupted,
            warnings=(*report.warnings, *indexed.notes),
            seconds=report.seconds + indexed.seconds,
        )
