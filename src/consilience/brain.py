"""One brain: open, ingest, index, search, explain, retain, verify, show."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from consilience.derived import CaughtUp, Derived, not_indexed, with_indexed
from consilience.embed import EmbedderSpec
from consilience.errors import ConsilienceError
from consilience.model import Bundle, Explanation, Query
from consilience.progress import NO_PROGRESS, Progress
from consilience.protocol import Actor, Digest, MemoryType
from consilience.store import Store

if TYPE_CHECKING:
    from consilience.history import DiffReport, HistoryReport, Pruned
    from consilience.ingest.report import IngestReport
    from consilience.inspection import BlockReport, BrainStatus, ProofReport
    from consilience.oci.model import ExportReport, ImportReport
    from consilience.plan.reader import Reader
    from consilience.retain.execute import Retention
    from consilience.retain.policy import Policy
    from consilience.retain.report import Plan, Retained
    from consilience.sql.engine import Asked, Source
    from consilience.sql.result import SqlExplanation, SqlResult
    from consilience.store import View
    from consilience.store.prune import Keep, PrunePlan
    from consilience.store.values import SnapshotInfo
    from consilience.store.verify import VerifyReport
    from consilience.trace import TraceReport
    from consilience.verification import RepairReport

Clock = Callable[[], datetime]
Waiting = Callable[[float], None]

ERASING_WAIT_S = 5.0
"""How long work that is about something else waits for what is in the way of an unfinished erasure."""


class Brain:
    """A verifiable store of knowledge in one folder, and what is derived from it.

    Opening reads nothing but the head of the database. One Brain may be used from several threads; each question
    sees one snapshot for the whole of it. `embedder` describes this brain's own model; `cache_dir` is where models
    keep what they compute once; `policy` says what may be removed (nothing by default).
    """

    def __init__(
        self,
        path: Path,
        store: Store,
        *,
        name: str,
        embedder: EmbedderSpec,
        cache_dir: Path | None,
        policy: Policy | None = None,
    ) -> None:
        self.path = path
        self.name = name
        self._store = store
        self._derived = Derived(path / "derived", embedder, cache_dir)
        self._lock = threading.Lock()
        self._policy = policy

    @classmethod
    def create(
        cls,
        path: Path,
        *,
        name: str,
        embedder: EmbedderSpec | None = None,
        cache_dir: Path | None = None,
        policy: Policy | None = None,
    ) -> Brain:
        """Make an empty brain in `path`. ConflictError if there is one."""
        store = Store.create(path)
        spec = embedder or EmbedderSpec()
        return cls(path, store, name=name, embedder=spec, cache_dir=cache_dir, policy=policy)

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        name: str,
        embedder: EmbedderSpec | None = None,
        cache_dir: Path | None = None,
        read_only: bool = False,
        policy: Policy | None = None,
    ) -> Brain:
        """Open the brain in `path`.

        Raises BrainNotFoundError where there is none, CorruptStoreError or FormatError where it cannot be read.
        """
        store = Store.open(path, read_only=read_only)
        spec = embedder or EmbedderSpec()
        return cls(path, store, name=name, embedder=spec, cache_dir=cache_dir, policy=policy)

    def close(self) -> None:
        self._derived.close()
        self._store.close()

    def __enter__(self) -> Brain:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Brain({self.name!r}, {str(self.path)!r})"

    @property
    def store(self) -> Store:
        return self._store

    @property
    def policy(self) -> Policy:
        """What may be removed: what it was opened with, else nothing that cannot be undone."""
        from consilience.retain.policy import Policy

        return self._policy or Policy()

    # --- asking -------------------------------------------------------------------------------------------------

    @contextmanager
    def reader(self, at: Digest | None = None) -> Iterator[Reader]:
        """This brain at its head, or at the snapshot `at`, with the indices it has, pinned until the block ends.

        Raises NotFoundError where there is no such snapshot.
        """
        made_from = self._derived.made_from()
        with self._store.view(at) as view:
            yield self._derived.reader(self.name, view, made_from)

    def search(self, query: Query, *, at: Digest | None = None) -> Bundle:
        """Ask the brain, as it is or as it was at a snapshot. Raises QueryError for a question that cannot be asked."""
        from consilience.plan.answer import answer

        with self.reader(at) as reader:
            return answer(reader, query).bundle

    def explain(self, query: Query, *, analyze: bool = False, at: Digest | None = None) -> Explanation:
        """Why the brain would answer as it does; with `analyze`, what was measured beside what was estimated."""
        from consilience.plan.explain import explain

        with self.reader(at) as reader:
            return explain(reader, query, analyze=analyze)

    def sql(self, query: str, *, at: Digest | None = None, asked: Asked | None = None) -> SqlResult:
        """Answer one SELECT over every block, exactly. `asked` holds the limits and choices, `query` replaces its text.

        Raises QueryError for what is refused or goes over a limit, MissingExtraError without the extra `sql`.
        """
        from consilience.sql.engine import question, run

        return run([lambda: self.tables(at)], (self.name,), question(query, asked), compound=False)

    def explain_sql(
        self, query: str, *, at: Digest | None = None, asked: Asked | None = None
    ) -> SqlExplanation:
        """What the query would read, and the engine's plan. As `sql`."""
        from consilience.sql.engine import explain, question

        return explain([lambda: self.tables(at)], (self.name,), question(query, asked), compound=False)

    def tables(self, at: Digest | None = None) -> Source:
        """What SQL reads of this brain, at its head or at a snapshot."""
        from consilience.sql.engine import Source

        def head() -> SnapshotInfo | None:
            with self._store.view() as view:
                return view.snapshot

        return Source(name=self.name, derived=self._derived.folder, reader=lambda: self.reader(at), head=head)

    # --- history ------------------------------------------------------------------------------------------------

    def snapshot(self, text: str, others: Iterable[tuple[str, Path]] = ()) -> Digest:
        """The snapshot that a text names; `others` are brains it may be mistaken for: `history.resolve_snapshot`."""
        from consilience.history import resolve_snapshot

        with self._store.view() as view:
            return resolve_snapshot(view, text, others)

    def describe(self, at: Digest | None = None) -> str:
        """A snapshot in words: its first digits, when it was made, how many came since."""
        from consilience.history import describe_snapshot

        with self._store.view(at) as view:
            return describe_snapshot(view)

    def history(self, *, limit: int | None = 20, module: MemoryType | None = None) -> HistoryReport:
        """The newest snapshots and what each changed; with `module` those that changed it."""
        from consilience.history import history_report

        with self._store.view() as view:
            return history_report(view, self.name, limit=limit, module=module)

    def diff(
        self, a: Digest, b: Digest, *, module: MemoryType | None = None, limit: int | None = 20
    ) -> DiffReport:
        """What leads from one snapshot to another. NotFoundError where one of them is not here."""
        from consilience.history import diff_report

        with self._store.view() as view:
            return diff_report(view, self.name, a, b, module=module, limit=limit)

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
        progress: Progress = NO_PROGRESS,
        waiting: Waiting | None = None,
    ) -> IngestReport:
        """Take files and folders in; then catch the indices up, embedding last (not at all with `embed=False`).

        `root` is the folder that origins are relative to. Commits in batches: an interrupt keeps what was committed,
        and is told in the report. Raises UsageError for a path that does not exist, BusyError when another writer
        does not finish, StorageError for a disk that is full; where that is so after the last commit, it says so. An
        error after a commit carries the report of what is in (`error.done`).
        """
        from consilience.ingest import discover
        from consilience.ingest.pipeline import Ingest, coverage_of

        found = discover(
            paths, include=include, exclude=exclude, use_ignore_files=use_ignore_files, root=root
        )
        run = Ingest(self._store, actor=actor, clock=clock, progress=progress, waiting=waiting)
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

        self._derived.close()
        return finish(self._store, self._derived.folder, waiting=waiting, timeout_s=timeout_s).remains

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

    # --- looking ------------------------------------------------------------------------------------------------

    def verify(self, *, progress: Progress = NO_PROGRESS, at: Digest | None = None) -> VerifyReport:
        """Recompute everything: every id, membership, root, snapshot, original, ledger row and derived file. Reports,
        never raises on what it finds. `at` names a snapshot whose roots are recomputed beside the head's."""
        from consilience.verification import verify_brain

        return verify_brain(self.path, progress, at=at)

    def repair(self, *, progress: Progress = NO_PROGRESS, waiting: Waiting | None = None) -> RepairReport:
        """Write anew what follows from the rest: derived files, the ledger, SQLite's indexes. Then verify again, open
        again, and ask a question. Blocks and originals follow from nothing. Raises BusyError, StorageError."""
        from consilience.verification import Handles, repair

        def ask_anew(query: Query) -> Bundle:
            spec, cache = self._derived.spec, self._derived.cache_dir
            with Brain.open(self.path, name=self.name, embedder=spec, cache_dir=cache) as again:
                return again.search(query)

        with self._lock:
            catch_up = partial(self._derived.catch_up, self._store, self.name, embed=True, rebuild=False)
            handles = Handles(self._derived.close, catch_up, ask_anew)
            return repair(self.path, handles, progress, waiting=waiting)

    def block(self, id_or_prefix: str, *, at: Digest | None = None) -> BlockReport:
        """One block with its provenance, as known at a snapshot. BlockNotFoundError for none, or one that is no member
        of a snapshot named; UsageError for a prefix of several."""
        from consilience.inspection import inspect_block

        with self._store.view(at) as view:
            return inspect_block(view, self.name, id_or_prefix)

    def prove(self, id_or_prefix: str, *, at: Digest | None = None) -> ProofReport:
        """The inclusion proof of one block into its module's root, checked before it is returned."""
        from consilience.inspection import prove_block

        with self._store.view(at) as view:
            return prove_block(view, self.name, id_or_prefix)

    def trace(
        self,
        id_or_prefix: str,
        *,
        depth: int = 8,
        limit: int = 10,
        up: bool = True,
        down: bool = True,
        at: Digest | None = None,
    ) -> TraceReport:
        """The lineage of one block: up to the files it came from, down to what was made from it. Raises as
        `block` does."""
        from consilience.inspection import trace

        with self._store.view(at) as view:
            return trace(view, self.name, id_or_prefix, depth=depth, limit=limit, up=up, down=down)

    def evidence(self, *ids_or_prefixes: str, records: bool = False, at: Digest | None = None) -> bytes:
        """A proof file of blocks, which anybody can check without this brain (`protocol.evidence`); with `records`
        also of the provenance records about them. BlockNotFoundError for a block that is no member."""
        from consilience.citations.proofs import prove_blocks
        from consilience.inspection import resolve

        with self._store.view(at) as view:
            ids = [resolve(view, each) for each in ids_or_prefixes]
            return prove_blocks(view, self.name, ids, records=records)

    def content(self, id_or_prefix: str, *, at: Digest | None = None) -> bytes:
        """The bytes of a block: a canonical block's original, any other block's canonical envelope."""
        from consilience.inspection import block_bytes

        with self._store.view(at) as view:
            return block_bytes(view, id_or_prefix)

    def status(self, *, at: Digest | None = None) -> BrainStatus:
        """What is here, and what is behind; or what was here at a snapshot."""
        from consilience.inspection import brain_status

        with self.reader(at) as reader:
            return brain_status(reader, self.path)
