"""A brain into an OCI image layout that other software of the protocol opens: every retained snapshot, and the
packed artifact of the head.

The same snapshot gives the same bytes: no clock, no random name, everything in the order of digests. A new
folder appears whole. One that an earlier export made is brought up to date: blobs first, then index.json, then
the head, and last of all what is no longer part of it is removed.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from consilience.errors import (
    ConflictError,
    ConsilienceError,
    FormatError,
    IntegrityError,
    NotFoundError,
    UsageError,
)
from consilience.oci import names
from consilience.oci.documents import (
    Descriptor,
    head_document,
    index_document,
    layout_document,
    parse_head,
    signatures_document,
    tombstones_document,
)
from consilience.oci.folders import beside, disk_error, publish
from consilience.oci.model import ExportReport, ModuleCount
from consilience.oci.packing import Entries, Packed, TooLargeError, pack
from consilience.oci.signatures import kept_signatures
from consilience.oci.tree import Tree
from consilience.progress import NO_PROGRESS, Progress
from consilience.protocol import (
    Digest,
    Mechanism,
    MemoryType,
    Provenance,
    Removal,
    composition_document,
    content_refs,
    decode,
    format_digest,
    parse_digest,
    sha256,
)
from consilience.protocol import snapshot as snapshots
from consilience.store import Store, View
from consilience.store.compositions import members_over_time
from consilience.store.replay import erased_originals
from consilience.store.values import SnapshotInfo

__all__ = ["export_brain"]

ROWS = 500
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}").fullmatch
_OURS = {"head.json", "tombstones.json", "signatures.json"}
_VERSION = re.compile(rb'"schema_version":([0-9]+),"serialization":"jcs/1"\}').search
_REDACTIONS = (Mechanism.TOMBSTONE, Mechanism.CRYPTO_SHRED, Mechanism.LINEAGE_REWRITE)


def export_brain(
    store: Store,
    target: Path,
    *,
    name: str,
    tag: str = "latest",
    artifact: bool = True,
    progress: Progress = NO_PROGRESS,
) -> ExportReport:
    """Write the head of a brain and its whole history to the folder `target`.

    Raises UsageError for a tag that is none or a folder that holds something else, NotFoundError for a brain
    without a snapshot, ConflictError where `target` holds history that this brain has not, IntegrityError where
    stored bytes are damaged (nothing is written then), StorageError.
    """
    started = time.monotonic()
    if not _TAG(tag):
        raise UsageError(f"{tag!r} is not a tag", hint="letters, digits, . _ -, at most 128, as in v1.2")
    with store.view() as view:
        if view.snapshot is None:
            raise NotFoundError(f"brain {name!r} has no snapshot yet: there is nothing to export")
        run = _Export(view, store.path, tag=tag, artifact=artifact, progress=progress)
        target = target.resolve() if target.is_symlink() else target
        if _is_vacant(target):
            with beside(target, "exporting") as temporary:
                report = run.run(Tree(temporary, fresh=True), target)
                publish(temporary, target)
        else:
            _check_earlier(target, view, name)
            report = run.run(Tree(target, fresh=False), target)
    progress.close()
    return msgspec.structs.replace(report, seconds=time.monotonic() - started)


def _is_vacant(target: Path) -> bool:
    try:
        return not any(target.iterdir())
    except FileNotFoundError:
        return True
    except NotADirectoryError as error:
        raise UsageError(f"{target} is a file, not a folder", hint="name a new folder") from error
    except OSError as error:
        raise UsageError(f"{target} cannot be read: {error.strerror or error}") from error


def _check_earlier(target: Path, view: View, name: str) -> None:
    """Refuse a folder that is not an earlier export of this brain, unchanged since by other software."""
    found = {entry.name for entry in target.iterdir()}
    if "oci-layout" not in found:
        raise UsageError(
            f"{target} is not empty and not an earlier export", hint="name a new folder, or an empty one"
        )
    sidecar = target / names.SIDECAR
    foreign = sorted(
        {entry.name for entry in sidecar.iterdir() if not entry.name.startswith(".")} - _OURS
        if sidecar.is_dir()
        else ()
    )
    if foreign:
        raise ConflictError(
            f"{target} has been changed by other software: {names.SIDECAR}/{foreign[0]}",
            hint="export to a new folder; `import` takes in what that software added",
        )
    path = target / names.HEAD
    try:
        document = path.read_bytes() if path.is_file() else b""
    except OSError as error:
        raise disk_error(error, "cannot read", path) from error
    try:
        head = parse_head(document)
    except FormatError as error:
        raise ConflictError(
            f"{target} is a layout, but not an earlier export of {name!r}: {error}",
            hint="export to a new folder",
        ) from error
    unknown = [digest for digest in (head.snapshot, *head.retained) if not view.has_snapshot(digest)]
    if unknown:
        raise ConflictError(
            f"{target} holds the snapshot {format_digest(unknown[0])}, which {name!r} does not have",
            hint="it is another brain, or ahead of this one: `import` it first, or export to a new folder",
        )


class _Export:
    """One run over a pinned view."""

    def __init__(self, view: View, folder: Path, *, tag: str, artifact: bool, progress: Progress) -> None:
        assert view.snapshot is not None
        self._view = view
        self._folder = folder
        self._tag = tag
        self._artifact = artifact
        self._progress = progress
        self._infos: list[SnapshotInfo] = list(reversed(view.history()))
        self._head = snapshots.parse(view.snapshot.document)
        self._at_head: dict[MemoryType, list[bytes]] = {m: [] for m in MemoryType}
        self._named: dict[MemoryType, set[bytes]] = defaultdict(set)
        self._named_before: set[bytes] = set()
        self._versions: dict[MemoryType, set[int]] = defaultdict(set)
        self._gone: set[bytes] = set()
        self._blocks = 0
        self._warnings: list[str] = []

    def run(self, tree: Tree, target: Path) -> ExportReport:
        tree.file("oci-layout", layout_document())
        compositions, ids = self._history(tree)
        self._all_blocks(tree, ids)
        originals = self._originals(tree)
        vectors = self._vectors(tree)
        signatures = self._signatures(tree)
        packed = self._pack(tree, compositions, vectors) if self._artifact else None
        reasons = self._reasons()
        tree.file(names.TOMBSTONES, tombstones_document(reasons) if reasons else None)
        tree.file(names.SIGNATURES, signatures_document(signatures) if signatures else None)
        tree.file(names.INDEX_FILE, index_document(self._index(packed)))
        head = self._view.snapshot
        assert head is not None
        retained = [info.digest for info in reversed(self._infos)]
        tree.file(names.HEAD, head_document(head.digest, retained))
        removed = tree.sweep()
        tombstoned = {digest.hex() for digest in reasons}
        return ExportReport(
            path=target,
            tag=self._tag,
            snapshot=format_digest(head.digest),
            snapshots=len(self._infos),
            blocks=self._blocks,
            originals=originals,
            redacted=len(self._gone & reasons.keys()),
            signatures=sum(len(found) for found in signatures.values()),
            files=tree.files,
            size=tree.size,
            written=tree.written,
            removed=len(removed),
            erased=len(tombstoned & set(removed)),
            artifact=format_digest(packed[0]) if packed else None,
            artifact_size=packed[2] if packed else 0,
            modules=tuple(self._counts(ref) for ref in self._head.modules),
            warnings=tuple(self._warnings),
            seconds=0.0,
        )

    def _counts(self, ref: snapshots.ModuleRef) -> ModuleCount:
        return ModuleCount(
            module=ref.memory_type.value,
            blocks=ref.block_count,
            redacted=len(self._gone & set(self._at_head[ref.memory_type])),
            root=format_digest(ref.root),
        )

    # --- snapshots and compositions -------------------------------------------------------------------------

    def _history(self, tree: Tree) -> tuple[list[Digest], set[bytes]]:
        """Write every retained snapshot and composition; the digests of these, and every id they name."""
        parsed = {info.seq: snapshots.parse(info.document) for info in self._infos}
        self._progress.start("history", len(self._infos), "snapshots")
        compositions: list[Digest] = []
        ids: set[bytes] = set()
        for memory_type in MemoryType:
            refs = {seq: ref for seq, s in parsed.items() if (ref := s.module(memory_type)) is not None}
            fresh = _first_of_each(refs)
            for seq, members in members_over_time(self._view, memory_type, fresh):
                document = composition_document(memory_type, members)
                digest = sha256(document)
                if digest != refs[seq].composition:
                    raise IntegrityError(
                        f"the members of {memory_type} at snapshot {seq} are not those that it names",
                        hint="run `verify`",
                    )
                tree.blob(document, digest)
                compositions.append(digest)
                ids.update(members)
            if memory_type in {ref.memory_type for ref in self._head.modules}:
                self._at_head[memory_type] = self._view.sorted_ids(memory_type)
        for info in self._infos:
            if sha256(info.document) != info.digest:
                raise IntegrityError(f"snapshot {info.seq} does not hash to its digest", hint="run `verify`")
            tree.blob(info.document, info.digest)
            self._progress.advance()
        return compositions, ids

    # --- blocks ---------------------------------------------------------------------------------------------

    def _all_blocks(self, tree: Tree, ids: set[bytes]) -> None:
        """Write the blocks that some retained snapshot names, in the order in which they came."""
        self._progress.start("blocks", len(ids), "blocks")
        current = {block_id for members in self._at_head.values() for block_id in members}
        ns = sorted(self._view.ordinals([Digest(i) for i in ids]).values())
        for first in range(0, len(ns), ROWS):
            for block in self._view.blocks(ns[first : first + ROWS]):
                self._progress.advance()
                if block.data is None:
                    self._gone.add(block.id)
                    continue
                if not block.intact:
                    raise IntegrityError(
                        f"the stored bytes of {format_digest(block.id)} ({block.memory_type}) are damaged",
                        hint="run `verify`; nothing was exported",
                    )
                tree.blob(block.data, block.id)
                self._blocks += 1
                self._look_into(block.memory_type, block.data, at_head=block.id in current)

    def _look_into(self, memory_type: MemoryType, data: bytes, *, at_head: bool) -> None:
        """Note what content a block names and, for the artifact, its schema version."""
        if at_head and (found := _VERSION(data, len(data) - 60)):
            self._versions[memory_type].add(int(found[1]))
        if memory_type is MemoryType.PROVENANCE:
            return
        if memory_type is MemoryType.CANONICAL or b'"content":' in data:
            for ref in content_refs(decode(data).payload):
                digest = parse_digest(ref.blob)
                (self._named[memory_type] if at_head else self._named_before).add(digest)

    # --- what blocks name -----------------------------------------------------------------------------------

    def _originals(self, tree: Tree) -> int:
        """Write the originals and contents that blocks name; how many."""
        current = set().union(*self._named.values())
        older = self._named_before - current
        self._progress.start("originals", len(current) + len(older), "files")
        missing = 0
        for digest in map(Digest, sorted(current | older)):
            self._progress.advance()
            if digest in older and not self._view.has_content(digest):
                missing += 1
                continue
            tree.blob(self._content(digest), digest)
        if missing:
            self._warnings.append(f"{missing:,} originals of blocks that have left are no longer here")
        return len(current) + len(older) - missing

    def _content(self, digest: Digest) -> bytes:
        try:
            return self._view.content(digest)
        except NotFoundError as error:
            raise IntegrityError(
                f"the original {format_digest(digest)} is named by a block and not here",
                hint="run `verify`; nothing was exported",
            ) from error

    def _vectors(self, tree: Tree) -> dict[MemoryType, int]:
        """Write the vector indices that came with an import and that the head names; their sizes."""
        found = {}
        for ref in self._head.modules:
            if ref.index_digest is None:
                continue
            if not self._view.has_content(ref.index_digest):
                self._warnings.append(
                    f"the vector index that {ref.memory_type} names ({format_digest(ref.index_digest)}) is not here"
                )
                continue
            data = self._view.content(ref.index_digest)
            tree.blob(data, ref.index_digest)
            found[ref.memory_type] = len(data)
        return found

    def _signatures(self, tree: Tree) -> dict[Digest, list[Digest]]:
        """Write the signature records of the snapshots exported."""
        known = {info.digest for info in self._infos}
        found: dict[Digest, list[Digest]] = defaultdict(list)
        for digest, (snapshot, data) in sorted(kept_signatures(self._folder).items()):
            if snapshot in known:
                tree.blob(data, digest)
                found[snapshot].append(digest)
        return found

    def _reasons(self) -> dict[bytes, str]:
        """Why the bytes of blocks and originals were destroyed, by the records of it; in order."""
        tombstones = {t for ref in self._head.modules for t in ref.tombstones}
        for info in self._infos:
            tombstones.update(t for ref in snapshots.parse(info.document).modules for t in ref.tombstones)
        current = {block_id for members in self._at_head.values() for block_id in members}
        wanted = sorted(b for b in self._gone if b in tombstones or b in current)
        ns = self._view.ordinals([Digest(b) for b in wanted])
        reasons = {block_id: self._reason(ns[Digest(block_id)]) for block_id in wanted}
        for digest, blocks in erased_originals(self._view).items():
            if with_it := [reasons[block_id] for block_id in blocks if block_id in reasons]:
                reasons[digest] = with_it[0]
        return {digest: reasons[digest] for digest in sorted(reasons)}

    def _reason(self, n: int) -> str:
        for record in reversed(self._view.records_about(n)):
            try:
                payload = None if record.data is None else decode(record.data).payload
            except ConsilienceError:
                continue
            if not isinstance(payload, Provenance) or not isinstance(payload.record, Removal):
                continue
            if payload.record.mechanism in _REDACTIONS:
                return payload.record.reason
        return "redacted"

    # --- the artifact ---------------------------------------------------------------------------------------

    def _pack(
        self, tree: Tree, compositions: list[Digest], vectors: dict[MemoryType, int]
    ) -> tuple[Digest, int, int] | None:
        """Write the packed layers, or say why not."""
        assert self._view.snapshot is not None
        total = sum(len(self._at_head[m]) + len(self._named[m]) for m in MemoryType)
        self._progress.start("packing", total, "files")
        by_digest = {info.digest: info.document for info in self._infos}
        blobs = tree.root / names.BLOBS

        def read(digest: Digest) -> bytes:
            return by_digest[digest] if digest in by_digest else (blobs / digest.hex()).read_bytes()

        packed = Packed(
            snapshot=self._head,
            digest=self._view.snapshot.digest,
            modules={ref.memory_type: self._entries(ref.memory_type) for ref in self._head.modules},
            versions=self._versions,
            vectors=vectors,
            documents=list(by_digest),
            compositions=list(dict.fromkeys(compositions)),
        )
        try:
            return pack(tree, packed, read)
        except TooLargeError as error:
            self._warnings.append(f"no artifact was packed: {error}, more than any reader unpacks")
            return None

    def _entries(self, memory_type: MemoryType) -> Entries:
        def entries() -> Iterator[tuple[str, bytes]]:
            members = self._at_head[memory_type]
            yield names.COMPOSITION_ENTRY, composition_document(memory_type, members)
            here = [b for b in members if b not in self._gone]
            listed = sorted({*here, *self._named[memory_type]})
            for first in range(0, len(listed), ROWS):
                part = listed[first : first + ROWS]
                ns = self._view.ordinals([Digest(b) for b in part])
                data = {block.id: block.data for block in self._view.blocks(list(ns.values()))}
                for digest in part:
                    self._progress.advance()
                    yield (
                        names.BLOB_ENTRY + digest.hex(),
                        data.get(Digest(digest)) or self._content(Digest(digest)),
                    )

        return entries

    def _index(self, packed: tuple[Digest, int, int] | None) -> Iterable[Descriptor]:
        if packed is None:
            return ()
        digest, size, _ = packed
        return (
            Descriptor(
                media_type=names.IMAGE_MANIFEST,
                digest=digest,
                size=size,
                artifact_type=names.BRAIN,
                annotations={names.REF_NAME: self._tag},
            ),
        )


def _first_of_each(refs: dict[int, snapshots.ModuleRef]) -> list[int]:
    """The snapshot numbers at which a composition stands for the first time."""
    first: dict[Digest, int] = {}
    for seq, ref in refs.items():
        first.setdefault(ref.composition, seq)
    return list(first.values())
