"""An OCI image layout into a brain: everything is checked before anything is visible.

A new brain is made beside its place and renamed. Into a brain that is there, what is new is written in one
transaction, and only where its head is an ancestor of the snapshot that comes in.
"""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from consilience.errors import ConflictError, IntegrityError
from consilience.files import discard_abandoned
from consilience.oci import names
from consilience.oci.blobs import Layout, Spool
from consilience.oci.checking import Arrivals, Need, one_actor, record_of
from consilience.oci.documents import parse_index, parse_manifest, parse_signature_record
from consilience.oci.folders import beside, publish
from consilience.oci.history import Change, Lineage, changes, read_lineage
from consilience.oci.model import ImportReport, ModuleCount
from consilience.oci.signatures import keep_signatures
from consilience.oci.source import LooseSource, Source, open_source
from consilience.progress import NO_PROGRESS, Progress
from consilience.protocol import (
    Actor,
    Digest,
    MemoryType,
    Snapshot,
    content_refs,
    decode,
    format_digest,
    parse_digest,
)
from consilience.protocol import snapshot as snapshots
from consilience.store import Store, View, Writer
from consilience.store.replay import Replay, ReplayedBlock
from consilience.store.store import UNFINISHED

__all__ = ["import_brain", "import_into"]

Waiting = Callable[[float], None]


def import_brain(
    path: Path,
    target: Path,
    *,
    actor: Actor,
    now: datetime,
    tag: str | None = None,
    progress: Progress = NO_PROGRESS,
) -> ImportReport:
    """Make a brain in `target`, a folder that is empty or not there, from the layout in `path`.

    `actor` stands for snapshots whose records name nobody, or several. Raises NotFoundError, UsageError (two
    artifacts and no tag), IntegrityError and FormatError, ActorError, StorageError; nothing is left behind then.
    """
    layout = Layout(path)
    target = target.resolve() if target.is_symlink() else target
    with beside(target, "importing") as temporary:
        with Store.create(temporary) as store:
            report = _import(layout, store, actor, now, tag, progress, None)
        with contextlib.suppress(FileNotFoundError):
            discard_abandoned(target, UNFINISHED)
        publish(temporary, target)
    return msgspec.structs.replace(report, path=target, created=True)


def import_into(
    store: Store,
    path: Path,
    *,
    actor: Actor,
    now: datetime,
    tag: str | None = None,
    progress: Progress = NO_PROGRESS,
    waiting: Waiting | None = None,
) -> ImportReport:
    """Bring a brain forward to the snapshot of the layout in `path`.

    Raises as `import_brain`, ConflictError where its head is no ancestor of that snapshot, BusyError,
    PolicyError for bytes that were redacted here and that the layout brings back.
    """
    return _import(Layout(path), store, actor, now, tag, progress, waiting)


def _import(
    layout: Layout,
    store: Store,
    actor: Actor,
    now: datetime,
    tag: str | None,
    progress: Progress,
    waiting: Waiting | None,
) -> ImportReport:
    started = time.monotonic()
    spool = Spool(store.path)
    try:
        source = open_source(layout, spool, tag)
        with store.view() as view:
            incoming = _Incoming(layout, source, view, progress)
        if incoming.lineage is not None:
            with store.write(actor, now, waiting=waiting) as writer:
                incoming.write(writer, actor)
        signatures = keep_signatures(store.path, incoming.signatures)
    finally:
        spool.close()
        progress.close()
    return incoming.report(store.path, signatures, time.monotonic() - started)


class _Incoming:
    """What a layout would add to a brain, checked. `lineage` is None where it adds nothing."""

    def __init__(self, layout: Layout, source: Source, view: View, progress: Progress) -> None:
        self._layout = layout
        self._source = source
        self._progress = progress
        self._base = view.snapshot
        self._base_digest = view.snapshot.digest if view.snapshot is not None else None
        self._events: list[Change] = []
        self._arrivals = Arrivals(source)
        self._dead: set[bytes] = set()
        self._refill: list[Need] = []
        self._contents: list[Digest] = []
        self._vectors: list[Digest] = []
        self._carried = [0, 0]
        self._written = [0, 0]
        self.warnings = list(source.warnings)
        self.lineage: Lineage | None = None
        self._head: Snapshot
        if self._base is not None and view.has_snapshot(source.head):
            self._head = snapshots.parse(self._base.document)
        else:
            self.lineage = self._read(view)
            self._head = self.lineage.head.snapshot
            self._check(view)
        self.signatures = self._known_signatures(view)

    # --- checking -------------------------------------------------------------------------------------------

    def _read(self, view: View) -> Lineage:
        known = frozenset(info.digest for info in view.history())
        lineage = read_lineage(self._source, known=known)
        if self._base_digest is None:
            return lineage
        parents = {parent for past in lineage.past for parent in past.snapshot.parents}
        if self._base_digest not in parents:
            here = format_digest(self._base_digest)
            there = format_digest(self._source.head)
            if lineage.missing and not parents & known:
                raise ConflictError(
                    f"the history of {there} begins after {format_digest(lineage.missing[0])}, which is not in the"
                    f" layout, so that it cannot be told whether it follows this brain's {here}",
                    hint="import it as a brain of its own",
                )
            raise ConflictError(
                f"histories diverged: this brain is at {here}, which is no ancestor of {there}",
                hint="import it as a brain of its own: csl project add NAME, csl import DIR --brain NAME",
            )
        return lineage

    def _check(self, view: View) -> None:
        assert self.lineage is not None
        before = {m: view.sorted_ids(m) for m in MemoryType} if self._base is not None else {}
        self._progress.start("checking history", len(self.lineage.past), "snapshots")
        current: set[bytes] = {raw for ids in before.values() for raw in ids}
        self._dead = {t for ref in self._base_modules() for t in ref.tombstones}
        modules: dict[bytes, tuple[MemoryType, int]] = {}
        for position, change in enumerate(changes(self._source, self.lineage, before, self._base_digest)):
            self._events.append(change)
            self._follow(change, position, modules, current)
            self._progress.advance()
        self._check_blocks(view, modules, current)
        self._check_contents(view)
        self._check_rest()

    def _base_modules(self) -> Sequence[snapshots.ModuleRef]:
        return snapshots.parse(self._base.document).modules if self._base is not None else ()

    def _follow(
        self, change: Change, position: int, modules: dict[bytes, tuple[MemoryType, int]], current: set[bytes]
    ) -> None:
        """Keep account of members, of where each block joined first, and of tombstones."""
        tombstones = {t for ref in change.past.snapshot.modules for t in ref.tombstones}
        for memory_type, ids in change.joined.items():
            for raw in ids:
                if modules.setdefault(raw, (memory_type, position))[0] is not memory_type or raw in current:
                    raise IntegrityError(f"block {format_digest(raw)} is in two modules")
                current.add(raw)
                self._dead.discard(raw)
        for ids in change.left.values():
            current.difference_update(ids)
        self._dead = {raw for raw in self._dead if raw in tombstones or raw not in current} | tombstones

    def _check_blocks(
        self, view: View, modules: Mapping[bytes, tuple[MemoryType, int]], current: set[bytes]
    ) -> None:
        stored = view.ordinals([Digest(raw) for raw in modules]) if self._base is not None else {}
        empty = set()
        for block in (b for part in _parts(list(stored.values())) for b in view.blocks(part)):
            if block.memory_type is not modules[block.id][0]:
                raise IntegrityError(f"block {format_digest(block.id)} is in two modules")
            if block.data is None:
                empty.add(block.id)
        self._progress.start("checking blocks", len(modules), "blocks")
        for raw, (memory_type, position) in modules.items():
            self._progress.advance()
            block_id = Digest(raw)
            required = raw in current and raw not in self._dead
            need = Need(block_id, memory_type, position, required, raw in self._dead)
            if block_id not in stored:
                self._arrivals.check(need)
            elif block_id in empty and required:
                self._take_back(need)
        for ref in self._base_modules():
            for block_id in ref.tombstones:
                if block_id in current and block_id not in self._dead and block_id not in modules:
                    self._take_back(Need(block_id, ref.memory_type, len(self._events), True, False))

    def _take_back(self, need: Need) -> None:
        """A block that is here without bytes is to have them again."""
        self._arrivals.look_again(need)
        self._refill.append(need)

    def _check_contents(self, view: View) -> None:
        """Read every original once; what only blocks that left name may be missing, and they with it."""
        wanted = sorted(self._arrivals.contents.items())
        self._progress.start("checking originals", len(wanted), "files")
        missing: list[Digest] = []
        for digest, (size, required) in wanted:
            self._progress.advance()
            what = f"the original {format_digest(digest)}"
            if view.has_content(digest):
                continue
            if self._source.content(digest, size, what) is not None:
                self._contents.append(digest)
            elif required:
                raise IntegrityError(f"{what}, which a block names, is not in the layout", hint=_AGAIN)
            else:
                missing.append(digest)
        if missing:
            self.warnings.append(f"{len(missing):,} originals of blocks that have left are not in the layout")
            self._arrivals.forget_naming(missing)
        for ref in self._head.modules:
            if ref.index_digest is None or view.has_content(ref.index_digest):
                continue
            named = f"the vector index of {ref.memory_type}"
            if self._source.content(ref.index_digest, None, named) is None:
                self.warnings.append(f"{named} is named by the snapshot and not in the layout")
            else:
                self._vectors.append(ref.index_digest)

    def _check_rest(self) -> None:
        """Hash what nothing asked for, and say what is left out."""
        assert self.lineage is not None
        published = _published(self._layout)
        loose = isinstance(self._source, LooseSource)
        self._progress.start("hashing the rest", None, "files")
        others = 0
        for name in self._layout.others():
            others += loose and name not in published
            self._progress.advance()
        if others:
            self.warnings.append(f"{others:,} blobs that this history does not name: not carried")
        if self._arrivals.ignored:
            self.warnings.append(
                f"the layout still holds the bytes of {self._arrivals.ignored:,} redacted blocks: not taken"
            )
        gone = {raw for e in self._events if e.direct for ids in e.left.values() for raw in ids}
        if unexplained := gone - self._arrivals.removed:
            self.warnings.append(f"{len(unexplained):,} blocks left without a record that says so")

    def _known_signatures(self, view: View) -> list[bytes]:
        records = self._source.signatures()
        here = {past.digest for past in self.lineage.past} if self.lineage is not None else set()
        kept = [
            data
            for data in records
            if (about := parse_signature_record(data)[0]) in here or view.has_snapshot(about)
        ]
        if len(kept) < len(records):
            count = len(records) - len(kept)
            self.warnings.append(f"{count:,} signatures of snapshots that are not here: not carried")
        return kept

    # --- writing --------------------------------------------------------------------------------------------

    def write(self, writer: Writer, actor: Actor) -> None:
        """Write everything in the writer's transaction. Raises ConflictError where the brain moved meanwhile."""
        if (writer.base.digest if writer.base is not None else None) != self._base_digest:
            raise ConflictError("the brain changed while the layout was checked", hint="import again")
        order = self._arrivals.ordered()
        self._progress.start("writing", len(order) + len(self._contents), "blocks")
        for digest in self._contents + self._vectors:
            data = self._source.content(digest, None, f"the original {format_digest(digest)}")
            if data is None:
                raise IntegrityError(f"the original {format_digest(digest)} went away", hint="import again")
            writer.put_content(data, "application/octet-stream")
            self._progress.advance()
        replay = Replay(writer)
        arriving: dict[int, list[Need]] = defaultdict(list)
        for need in order:
            arriving[need.position].append(need)
        for position, change in enumerate(self._events):
            self._one(replay, position, change, arriving.pop(position, []), actor)
        replay.refill(self._replayed(self._refill))
        for original, blocks in self._erased_originals(order):
            replay.note_erased(original, blocks)
        self._destroy(writer, replay)

    def _erased_originals(self, order: Sequence[Need]) -> Iterator[tuple[bytes, list[bytes]]]:
        """Tombstones of the layout that are no blocks, with the redacted canonical blocks of the same reason."""
        reasons = self._source.tombstones
        with_reason: dict[str, list[bytes]] = defaultdict(list)
        for need in order:
            if need.memory_type is MemoryType.CANONICAL and need.tombstoned and need.id in reasons:
                with_reason[reasons[need.id]].append(need.id)
        for digest in reasons.keys() - {need.id for need in order}:
            if blocks := with_reason.get(reasons[digest]):
                yield digest, blocks

    def _one(
        self, replay: Replay, position: int, change: Change, needs: Sequence[Need], actor: Actor
    ) -> None:
        fresh = {need.id for need in needs}
        replay.join(self._replayed(needs))
        replay.join(
            ReplayedBlock(Digest(raw), memory_type, None)
            for memory_type, ids in change.joined.items()
            for raw in ids
            if raw not in fresh
        )
        for ids in change.left.values():
            replay.leave(ids)
        by = one_actor(self._arrivals.actors.get(position, ()))
        self._carried[by is None] += 1
        replay.snapshot(change.past.digest, change.past.document, actor if by is None else by)
        self._written[0] += len(needs)

    def _replayed(self, needs: Iterable[Need]) -> Iterator[ReplayedBlock]:
        for need in needs:
            self._progress.advance()
            if need.id in self._arrivals.without_bytes:
                yield ReplayedBlock(need.id, need.memory_type, None)
                continue
            data = self._source.again(need.id)
            record = record_of(decode(data)) if need.memory_type is MemoryType.PROVENANCE else None
            yield ReplayedBlock(need.id, need.memory_type, data, record)

    def _destroy(self, writer: Writer, replay: Replay) -> None:
        """What this history redacted and the brain still has."""
        if self._base is None:
            return
        gone = {
            b.id: b for b in writer.blocks(list(writer.ordinals(sorted(map(Digest, self._dead))).values()))
        }
        named: dict[bytes, list[bytes]] = defaultdict(list)
        live = [block for block in gone.values() if block.data is not None]
        for block in live:
            for ref in content_refs(decode(block.data or b"").payload):
                named[parse_digest(ref.blob)].append(block.id)
        if named:
            for block in writer.scan([m for m in MemoryType if m is not MemoryType.PROVENANCE]):
                if block.data is not None and block.id not in gone:
                    for ref in content_refs(decode(block.data).payload):
                        named.pop(parse_digest(ref.blob), None)
        if live:
            replay.destroy([block.id for block in live], named)

    # --- telling --------------------------------------------------------------------------------------------

    def report(self, path: Path, signatures: int, seconds: float) -> ImportReport:
        lineage = self.lineage
        return ImportReport(
            path=path,
            snapshot=format_digest(self._source.head if lineage is not None else self._base_digest or b""),
            created=False,
            up_to_date=lineage is None,
            snapshots=len(lineage.past) if lineage is not None else 0,
            blocks=self._written[0],
            originals=len(self._contents),
            redacted=sum(len(ref.tombstones) for ref in self._head.modules),
            unresolvable=len(self._arrivals.without_bytes - self._dead),
            checked=self._layout.checked,
            signatures=signatures,
            actors=self._carried[0],
            by_importer=self._carried[1],
            truncated=tuple(format_digest(d) for d in lineage.missing) if lineage is not None else (),
            modules=tuple(
                ModuleCount(
                    module=ref.memory_type.value,
                    blocks=ref.block_count,
                    redacted=len(ref.tombstones),
                    root=format_digest(ref.root),
                )
                for ref in self._head.modules
            ),
            warnings=tuple(self.warnings),
            seconds=seconds,
        )


_AGAIN = "copy the layout again from where it came"


def _parts(ns: Sequence[int], size: int = 500) -> Iterator[Sequence[int]]:
    for first in range(0, len(ns), size):
        yield ns[first : first + size]


def _published(layout: Layout) -> set[str]:
    """The names of the blobs that the artifacts of a layout consist of."""
    index = layout.small(names.INDEX_FILE)
    found: set[str] = set()
    for listed in parse_index(index) if index is not None else ():
        found.add(listed.digest.hex())
        data = layout.blob(listed.digest, names.MOST_JSON, "a manifest")
        if data is None or listed.artifact_type != names.BRAIN:
            continue
        manifest = parse_manifest(data, f"manifest {format_digest(listed.digest)[:19]}")
        found.update(each.digest.hex() for each in (manifest.config, *manifest.layers))
    return found
