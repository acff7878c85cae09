"""The history that leads to a snapshot: which snapshots are here, in what order, and what each one changed.

A snapshot counts as here when its document and all its composition documents are. Where one is not, history
begins after it, and what is missing is named.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from consilience.errors import FormatError, IntegrityError
from consilience.oci import names
from consilience.oci.source import Source
from consilience.protocol import (
    Digest,
    MemoryType,
    ModuleRef,
    Snapshot,
    format_digest,
    merkle,
    parse_composition,
)
from consilience.protocol import snapshot as snapshots

__all__ = ["Change", "Lineage", "Past", "changes", "read_lineage"]


class Past(msgspec.Struct, frozen=True):
    """A snapshot that is here."""

    digest: Digest
    document: bytes
    snapshot: Snapshot


class Lineage(msgspec.Struct, frozen=True, kw_only=True):
    """Snapshots, parents before children, the head last; `missing` are parents that are not here."""

    past: tuple[Past, ...]
    missing: tuple[Digest, ...]

    @property
    def head(self) -> Past:
        return self.past[-1]


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What a snapshot changed against the one before it in the order of a Lineage: ids by module, ascending.

    `direct`: the one before it is its first parent too.
    """

    past: Past
    joined: Mapping[MemoryType, Sequence[bytes]]
    left: Mapping[MemoryType, Sequence[bytes]]
    direct: bool


def read_lineage(source: Source, *, known: frozenset[Digest] = frozenset()) -> Lineage:
    """Walk from the head over all parents, to those in `known`, which are not looked behind.

    Raises IntegrityError where the head is not whole or a promised snapshot is not there, FormatError.
    """
    found: dict[Digest, Past] = {}
    missing: set[Digest] = set()
    waiting = [source.head]
    while waiting:
        digest = waiting.pop()
        if digest in found or digest in missing or digest in known:
            continue
        past = _read(source, digest)
        lacking = _lacking(source, past.snapshot) if past is not None else None
        if digest == source.head and (past is None or lacking):
            raise IntegrityError(
                f"snapshot {format_digest(digest)}: its {lacking or 'document'} is not in the layout",
                hint="copy the layout again from where it came",
            )
        if past is None or lacking:
            missing.add(digest)
            continue
        found[digest] = past
        waiting.extend(past.snapshot.parents)
    for digest in source.retained:
        if digest not in found and digest not in known and _read(source, digest) is None:
            raise IntegrityError(
                f"{names.HEAD} retains the snapshot {format_digest(digest)}, which is not in the layout",
                hint="copy the layout again from where it came",
            )
    return Lineage(past=tuple(_ordered(found, known)), missing=tuple(sorted(missing)))


def _read(source: Source, digest: Digest) -> Past | None:
    what = f"snapshot {format_digest(digest)}"
    data = source.document(digest, names.MOST_SNAPSHOT, what)
    if data is None:
        return None
    try:
        return Past(digest, data, snapshots.parse(data))
    except FormatError as error:
        raise FormatError(f"{what}: {error.message}", hint=error.hint) from error


def _lacking(source: Source, snapshot: Snapshot) -> str | None:
    """The first composition document of a snapshot that is not here."""
    for ref in snapshot.modules:
        if not source.has(ref.composition):
            return _composition_name(ref)
    return None


def _composition_name(ref: ModuleRef) -> str:
    return f"composition {format_digest(ref.composition)} of {ref.memory_type}"


def _ordered(found: Mapping[Digest, Past], known: frozenset[Digest]) -> Iterator[Past]:
    """Parents first; of those that could come next the oldest by its own time, then by digest."""
    waits = {d: sum(parent in found for parent in past.snapshot.parents) for d, past in found.items()}
    children: dict[Digest, list[Digest]] = {d: [] for d in found}
    for digest, past in found.items():
        for parent in past.snapshot.parents:
            if parent in found:
                children[parent].append(digest)
    ready = [(past.snapshot.created_at, d) for d, past in found.items() if not waits[d]]
    heapq.heapify(ready)
    count = 0
    while ready:
        _, digest = heapq.heappop(ready)
        count += 1
        yield found[digest]
        for child in children[digest]:
            waits[child] -= 1
            if not waits[child]:
                heapq.heappush(ready, (found[child].snapshot.created_at, child))
    if count != len(found):
        raise IntegrityError("the parents of snapshots run in a circle")


# --- what changed -------------------------------------------------------------------------------------------


def changes(
    source: Source,
    lineage: Lineage,
    before: Mapping[MemoryType, Sequence[bytes]],
    parent: Digest | None,
) -> Iterator[Change]:
    """Each snapshot's change; `before` are the members at `parent`, from where the first one starts.

    Checks on the way that every composition is of its module, has as many members as its snapshot says and leads
    to the root it names, and that tombstones are members. Raises IntegrityError, FormatError.
    """
    roots = _Roots(source)
    members = {m: set(before.get(m, ())) for m in MemoryType}
    compositions: dict[MemoryType, Digest | None] = dict.fromkeys(MemoryType)
    for past in lineage.past:
        joined: dict[MemoryType, list[bytes]] = {}
        left: dict[MemoryType, list[bytes]] = {}
        for memory_type in MemoryType:
            ref = past.snapshot.module(memory_type)
            composition = ref.composition if ref is not None else None
            if ref is not None and composition == compositions[memory_type]:
                roots.check(past, ref, members[memory_type])
                continue
            now = roots.members(past, ref) if ref is not None else set()
            if ref is not None:
                roots.check(past, ref, now)
            compositions[memory_type] = composition
            joined[memory_type] = sorted(now - members[memory_type])
            left[memory_type] = sorted(members[memory_type] - now)
            members[memory_type] = now
        direct = past.snapshot.parents[:1] == (() if parent is None else (parent,))
        yield Change(past=past, joined=joined, left=left, direct=direct)
        parent = past.digest


class _Roots:
    """Recomputes the roots of compositions, each once, with the leaf hashes that many of them share."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._leaves: dict[MemoryType, dict[bytes, bytes]] = {m: {} for m in MemoryType}
        self._known: dict[Digest, tuple[MemoryType, Digest, int]] = {}

    def members(self, past: Past, ref: ModuleRef) -> set[bytes]:
        what = _composition_name(ref)
        data = self._source.document(ref.composition, names.MOST_COMPOSITION, what)
        if data is None:
            raise IntegrityError(f"{what} is not in the layout")
        try:
            memory_type, ids = parse_composition(data)
        except FormatError as error:
            raise FormatError(f"{what}: {error.message}", hint=error.hint) from error
        if ref.composition not in self._known:
            leaves = self._leaves[ref.memory_type]
            new = [raw for raw in ids if raw not in leaves]
            leaves.update(zip(new, merkle.leaf_hashes(new), strict=True))
            root = merkle.root_of_leaves([leaves[raw] for raw in ids])
            self._known[ref.composition] = (memory_type, root, len(ids))
        return set(ids)

    def check(self, past: Past, ref: ModuleRef, members: set[bytes]) -> None:
        where = f"snapshot {format_digest(past.digest)}, module {ref.memory_type}"
        memory_type, root, count = self._known[ref.composition]
        if memory_type is not ref.memory_type:
            raise IntegrityError(f"{where}: its composition is one of {memory_type}")
        if count != ref.block_count:
            raise IntegrityError(f"{where}: {count:,} members, it says {ref.block_count:,}")
        if root != ref.root:
            raise IntegrityError(
                f"{where}: its members lead to the root {format_digest(root)}, it says {format_digest(ref.root)}"
            )
        if outside := [t for t in ref.tombstones if t not in members]:
            raise IntegrityError(f"{where}: the tombstone {format_digest(outside[0])} is not a member")
