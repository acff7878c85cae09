"""A brain's past: which snapshots there are, what each changed, how two differ, and which one a text names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from consilience.errors import ConsilienceError, NotFoundError, UsageError
from consilience.model import Source, Value
from consilience.plan.entries import text_of
from consilience.protocol import Actor, Canonical, Digest, MemoryType, Provenance, decode, format_digest
from consilience.store import Hidden, SnapshotInfo, Store, StoredBlock, View
from consilience.store.history import (
    Change,
    Difference,
    ModuleChange,
    Moment,
    changes,
    difference,
    find_snapshots,
    page,
)
from consilience.store.prune import Keep, PrunePlan
from consilience.store.prune import prune as prune_store
from consilience.store.pruned import all_pruned, pruned_snapshot

__all__ = [
    "DiffReport",
    "DiffedBlock",
    "HistoryEntry",
    "HistoryReport",
    "ModuleDiff",
    "Pruned",
    "describe_snapshot",
    "diff_report",
    "history_report",
    "prune",
    "resolve_snapshot",
]

HEAD = "head"
LEAST_DIGITS = 4
SEVERAL = 5
LINE = 200
_HEX = re.compile(rf"(?:sha256:)?([0-9a-f]{{{LEAST_DIGITS},64}})")
_BACK = re.compile(r"head~([0-9]{1,9})")
_WHAT = f"`head`, `head~N`, or a digest's first {LEAST_DIGITS} hex digits or more; `history` lists them"


# --- naming a snapshot --------------------------------------------------------------------------------------


def resolve_snapshot(view: View, text: str, others: Iterable[tuple[str, Path]] = ()) -> Digest:
    """The snapshot that a text names: `head`, `head~N` (N before it), a digest, or the start of one.

    `view` is of the head; `others` are the names and folders of other brains, looked into only where the text names no
    snapshot here. Raises UsageError for a text that can name none or names several, NotFoundError for one that is
    not here, with what is known of it: pruned, another brain's, or the newest that there are.
    """
    asked = text.strip().lower()
    back = 0 if asked == HEAD else int(match[1]) if (match := _BACK.fullmatch(asked)) else None
    if back is not None:
        return _before_head(view, back)
    digits = _HEX.fullmatch(asked)
    if digits is None:
        raise UsageError(f"{text!r} names no snapshot", hint=f"a snapshot is {_WHAT}")
    found = find_snapshots(view, digits[1], SEVERAL + 1)
    if len(found) > 1:
        some = ", ".join(format_digest(i.digest)[7:23] for i in found[:SEVERAL])
        raise UsageError(f"{text!r} fits several snapshots: {some}", hint="give more digits")
    if found:
        return found[0].digest
    raise _not_here(view, text, digits[1], others)


def describe_snapshot(view: View) -> str:
    """The view's snapshot in words: `snapshot 3f2a9c01d2e4 of 2026-11-30T09:24:04Z, 4 before the head`."""
    if view.snapshot is None:
        return "no snapshot yet"
    behind = view.snapshots_after()
    place = f"{behind:,} before the head" if behind else "the head"
    return f"snapshot {_short(view.snapshot.digest)} of {view.snapshot.created_at}, {place}"


def _before_head(view: View, back: int) -> Digest:
    found = view.history(back + 1)
    if not found:
        raise NotFoundError("this brain has no snapshot yet", hint="`ingest` makes the first one")
    if len(found) <= back:
        pruned = len(all_pruned(view.connection))
        older = f" ({pruned} older ones were pruned)" if pruned else ""
        raise NotFoundError(
            f"there is no head~{back}: this brain has {_counted(len(found))}{older}",
            hint=f"the oldest is head~{len(found) - 1}",
        )
    return found[back].digest


def _not_here(view: View, text: str, digits: str, others: Iterable[tuple[str, Path]]) -> NotFoundError:
    gone = pruned_snapshot(view.connection, digits)
    if gone is not None:
        oldest = view.history()[-1]
        return NotFoundError(
            f"the snapshot {_short(gone.digest)} of {gone.at} was pruned",
            hint=f"the oldest that is here is {_short(oldest.digest)} of {oldest.created_at}",
        )
    owner = _owner(digits, others)
    if owner is not None:
        return NotFoundError(f"{text} is a snapshot of the brain {owner!r}", hint=f"--brain {owner}")
    newest = ", ".join(_short(i.digest) for i in view.history(3))
    hint = f"the newest are {newest}; `history` lists them" if newest else "this brain has none yet"
    return NotFoundError(f"no snapshot {text} in this brain", hint=hint)


def _owner(digits: str, others: Iterable[tuple[str, Path]]) -> str | None:
    """The other brain that has such a snapshot; one that cannot be read has none."""
    for name, path in others:
        try:
            with Store.open(path, read_only=True) as store, store.view() as view:
                if find_snapshots(view, digits, 1):
                    return name
        except ConsilienceError:
            continue
    return None


def _short(digest: Digest) -> str:
    return format_digest(digest)[7:19]


def _counted(count: int) -> str:
    return f"{count:,} snapshot{'' if count == 1 else 's'}"


# --- history ------------------------------------------------------------------------------------------------


class HistoryEntry(Value, frozen=True, kw_only=True):
    """One snapshot: who made it and when, its parents, what it changed, and the files that it concerned.

    `partial`: the snapshot before it is not here, so what left or was redacted with it is not known.
    """

    snapshot: str
    created_at: str
    actor: str
    parents: tuple[str, ...]
    changed: tuple[ModuleChange, ...]
    files: tuple[str, ...]
    more_files: bool
    partial: bool


class HistoryReport(Value, frozen=True, kw_only=True):
    """A brain's snapshots, newest first: those shown, of how many; `pruned` older ones are known and not here."""

    brain: str
    module: MemoryType | None
    snapshots: tuple[HistoryEntry, ...]
    of: int
    pruned: int

    @property
    def truncated(self) -> bool:
        return len(self.snapshots) < self.of


def history_report(
    view: View, brain: str, *, limit: int | None = 20, module: MemoryType | None = None
) -> HistoryReport:
    """The newest snapshots and what each changed; with `module` only those that changed it, and that."""
    infos, total = page(view, limit, module)
    return HistoryReport(
        brain=brain,
        module=module,
        snapshots=tuple(_entry(change, module) for change in _in_runs(view, infos)),
        of=total,
        pruned=len(all_pruned(view.connection)),
    )


def _in_runs(view: View, infos: Sequence[SnapshotInfo]) -> list[Change]:
    """Changes of neighbouring snapshots together, of others apart: what lies between is not counted."""
    runs: list[list[SnapshotInfo]] = []
    for info in infos:
        if runs and runs[-1][-1].seq - info.seq <= NEAR:
            runs[-1].append(info)
        else:
            runs.append([info])
    return [change for run in runs for change in changes(view, run)]


NEAR = 50
"""Snapshots whose distance is larger are counted apart."""


def _entry(change: Change, module: MemoryType | None) -> HistoryEntry:
    info = change.snapshot
    return HistoryEntry(
        snapshot=format_digest(info.digest),
        created_at=info.created_at,
        actor=info.actor.id,
        parents=tuple(format_digest(parent) for parent in info.parents),
        changed=tuple(m for m in change.modules if module is None or m.module is module),
        files=change.origins,
        more_files=change.more_origins,
        partial=change.oldest,
    )


# --- the difference of two ----------------------------------------------------------------------------------


class DiffedBlock(Value, frozen=True, kw_only=True):
    """One block that a difference names: `change` is joined, left, superseded, demoted, shown or redacted; `text` its
    first line, `by` what took its place, `sources` where it comes from."""

    change: str
    module: MemoryType
    block_id: str
    text: str
    by: str | None = None
    sources: tuple[Source, ...] = ()


class ModuleDiff(Value, frozen=True, kw_only=True):
    """How many blocks of one module each kind of change met. `joined` and `left` are changes of membership; the
    others are of members of both snapshots."""

    module: MemoryType
    joined: int = 0
    left: int = 0
    superseded: int = 0
    demoted: int = 0
    shown: int = 0
    redacted: int = 0


class DiffReport(Value, frozen=True, kw_only=True):
    """From one snapshot of a brain to another. `blocks` are at most a limit of the changed ones, `of` all of them
    that could be listed; provenance records are counted, and listed only where that module is asked for."""

    brain: str
    a: str
    b: str
    a_at: str
    b_at: str
    modules: tuple[ModuleDiff, ...]
    blocks: tuple[DiffedBlock, ...]
    of: int

    @property
    def truncated(self) -> bool:
        return len(self.blocks) < self.of


KINDS = ("joined", "left", "superseded", "demoted", "shown", "redacted")


def diff_report(
    view: View, brain: str, a: Digest, b: Digest, *, module: MemoryType | None = None, limit: int | None = 20
) -> DiffReport:
    """What leads from snapshot `a` to `b` of one brain. NotFoundError where one of them is not here."""
    before, after = Moment(view, a), Moment(view, b)
    asked = tuple(MemoryType) if module is None else (module,)
    found = [each for m in asked if not (each := difference(before, after, m)).empty]
    listed = [
        (kind, each.module, n)
        for each in found
        if each.module is not MemoryType.PROVENANCE or module is MemoryType.PROVENANCE
        for kind in KINDS
        for n in sorted(getattr(each, kind))
    ]
    return DiffReport(
        brain=brain,
        a=format_digest(a),
        b=format_digest(b),
        a_at=before.snapshot.created_at,
        b_at=after.snapshot.created_at,
        modules=tuple(_counts(each) for each in found),
        blocks=tuple(_blocks(before, after, listed[:limit])),
        of=len(listed),
    )


def _counts(found: Difference) -> ModuleDiff:
    return ModuleDiff(module=found.module, **{kind: len(getattr(found, kind)) for kind in KINDS})


def _blocks(
    before: Moment, after: Moment, listed: Sequence[tuple[str, MemoryType, int]]
) -> Iterator[DiffedBlock]:
    """The blocks as one line each: what left as it stood before, the rest as it stands afterwards."""
    places: dict[int, tuple[StoredBlock, tuple[Source, ...], Hidden | None]] = {}
    for at, ns in (
        (before, [n for kind, _, n in listed if kind == "left"]),
        (after, [n for kind, _, n in listed if kind != "left"]),
    ):
        sources, hidden = at.sources(ns, current=True), at.hidden(ns)
        places.update((b.n, (b, sources.get(b.n, ()), hidden.get(b.n))) for b in at.blocks(ns))
    for kind, module, n in listed:
        block, where, hiding = places[n]
        by = hiding.superseded_by if hiding is not None and kind == "superseded" else None
        yield DiffedBlock(
            change=kind,
            module=module,
            block_id=format_digest(block.id),
            text=_line(block, where),
            by=format_digest(by) if by is not None else None,
            sources=where,
        )


def _line(block: StoredBlock, sources: Sequence[Source]) -> str:
    """A block in one line; "" where its bytes are gone or damaged."""
    if block.data is None or not block.intact:
        return ""
    payload = decode(block.data).payload
    match payload:
        case Canonical():
            named = next((s.origin for s in sources if s.origin), payload.blob)
            text = f"{named} ({payload.media_type}, {payload.size:,} bytes)"
        case Provenance():
            text = type(payload.record).__name__.lower() + f" {payload.record.at} {payload.record.actor.id}"
        case _:
            text = text_of(payload)
    return " ".join(text.split())[:LINE]


# --- pruning ------------------------------------------------------------------------------------------------


class Pruned(Value, frozen=True, kw_only=True):
    """What a prune took, the bytes that its files are smaller by, and what of the rest could not be done yet."""

    plan: PrunePlan
    freed_bytes: int = 0
    notes: tuple[str, ...] = ()


def prune(
    store: Store,
    keep: Keep,
    *,
    actor: Actor,
    now: datetime,
    waiting: Callable[[float], None] | None = None,
    settle: Iterable[Callable[[], Iterable[str | None]]] = (),
) -> Pruned:
    """Take the older snapshots and the bytes that only they name, then `settle` what is derived, and compact.

    What fails after the commit is told in the notes, not raised. Raises as `store.prune.prune` before it.
    """
    before = store.stored_bytes()
    plan = prune_store(store, keep, actor=actor, now=now, waiting=waiting)
    if plan.nothing:
        return Pruned(plan=plan)
    notes: list[str] = []
    steps: list[Callable[[], Iterable[str | None]]] = [*settle, lambda: _compacted(store, waiting)]
    for step in steps:
        try:
            notes += [note for note in step() if note is not None]
        except ConsilienceError as error:
            notes.append(
                f"pruned, but not all is done yet: {error.message}; `retain prune` or `index` goes on"
            )
    return Pruned(plan=plan, freed_bytes=max(0, before - store.stored_bytes()), notes=tuple(notes))


def _compacted(store: Store, waiting: Callable[[float], None] | None) -> Iterable[str]:
    store.compact(waiting=waiting)
    return ()
