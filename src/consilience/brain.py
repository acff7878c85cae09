"""One brain: open, ingest, index, search, explain, retain, verify, show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from consilience.changes import Changes, Waiting
from consilience.derived import Derived
from consilience.embed import EmbedderSpec
from consilience.model import Bundle, Explanation, Query
from consilience.progress import NO_PROGRESS, Progress
from consilience.protocol import Digest, MemoryType
from consilience.store import Store

if TYPE_CHECKING:
    from consilience.history import DiffReport, HistoryReport
    from consilience.inspection import BlockReport, BrainStatus, ProofReport
    from consilience.plan.local import LocalAnswer
    from consilience.plan.reader import Reader
    from consilience.retain.policy import Policy
    from consilience.sql.engine import Asked, Source
    from consilience.sql.result import SqlExplanation, SqlResult
    from consilience.store.values import SnapshotInfo
    from consilience.store.verify import VerifyReport
    from consilience.trace import TraceReport
    from consilience.verification import RepairReport


class Brain(Changes):
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
        derived = Derived(path / "derived", embedder, cache_dir)
        super().__init__(path, store, derived, name=name, policy=policy)
        self._has_tables = False

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
        self._let_go()
        self._store.close()

    def _let_go(self) -> None:
        super()._let_go()
        if self._has_tables:
            from consilience.sql.pool import POOL

            POOL.discard(self._derived.folder)

    def __enter__(self) -> Brain:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Brain({self.name!r}, {str(self.path)!r})"

    @property
    def store(self) -> Store:
        return self._store

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

    def answer(self, query: Query, *, at: Digest | None = None) -> LocalAnswer:
        """As `search`, for a compound in this process."""
        from consilience.plan.local import local_answer

        with self.reader(at) as reader:
            return local_answer(reader, query)

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

        self._has_tables = True
        return Source(
            name=self.name,
            derived=self._derived.folder,
            view=lambda: self._store.view(at),
            reader=lambda: self.reader(at),
            head=head,
            at_head=at is None,
        )

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
            handles = Handles(self._let_go, catch_up, ask_anew)
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
