"""Carrying out what `retain` is asked: each one transaction, with the records that say who, when and why."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

import msgspec
from msgspec import UNSET

from consilience.errors import BlockNotFoundError, PolicyError, UsageError, ValidationError
from consilience.protocol import (
    Actor,
    Block,
    Demotion,
    Derivation,
    Digest,
    Mechanism,
    MemoryType,
    Producer,
    ProducerKind,
    Provenance,
    Registration,
    Removal,
    Supersession,
    Validation,
    Verdict,
    decode,
    format_digest,
    parse_digest,
    record_block,
)
from consilience.protocol import snapshot as snapshots
from consilience.retain.draft import Draft
from consilience.retain.plan import draft_of, needs_of, plan_from, same, stale
from consilience.retain.policy import Policy, refuse
from consilience.retain.report import Changed, Plan, Retained
from consilience.store import Store, StoredBlock, Writer
from consilience.store.redaction import READMISSION

CHECK = "consilience:retention/readmission"
TASK_RESTORE = "restore"

Clock = Callable[[], datetime]
Waiting = Callable[[float], None]


@dataclass(slots=True)
class Work:
    """One transaction of `retain`: the writer, and what is to be said of it."""

    writer: Writer
    actor: Actor
    changed: list[Changed] = field(default_factory=list)
    records: list[Block] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def block(self, block_id: Digest) -> StoredBlock:
        return self.writer.blocks([self.writer.ordinals([block_id])[block_id]])[0]

    def member(self, block_id: Digest) -> StoredBlock:
        """A block that records may hide. BlockNotFoundError for one that has left, PolicyError for a record."""
        block = self.block(block_id)
        if block.memory_type is MemoryType.PROVENANCE:
            raise PolicyError(
                f"{format_digest(block_id)} is a provenance record: the ledger is not hidden",
                hint="name the block that it speaks of; `csl block ID` shows which",
            )
        if not self.writer.members([block.n]):
            raise BlockNotFoundError(
                f"{format_digest(block_id)} is not a member of this brain any more",
                hint="`csl block ID` shows when it left and by whom",
            )
        return block

    def note(self, block: StoredBlock, record: Block, detail: str = "") -> None:
        self.records.append(record)
        self.changed.append(
            Changed(block_id=format_digest(block.id), memory_type=block.memory_type, detail=detail)
        )


class Retention:
    """What `retain` does to one store. Every method is one commit, or none where nothing is to be said.

    Raises BusyError when another writer does not finish, StorageError, and what each method names.
    """

    def __init__(
        self, store: Store, brain: str, *, actor: Actor, clock: Clock, waiting: Waiting | None = None
    ) -> None:
        self._store, self._brain = store, brain
        self._actor, self._clock, self._waiting = actor, clock, waiting

    @contextmanager
    def _write(self) -> Iterator[Work]:
        with self._store.write(self._actor, self._clock(), waiting=self._waiting) as writer:
            work = Work(writer=writer, actor=self._actor)
            yield work

    def _report(self, what: str, work: Work, started: float, plan: Plan | None = None) -> Retained:
        made = work.writer.snapshot or work.writer.base
        parsed = snapshots.parse(made.document) if made is not None else None
        return Retained(
            brain=self._brain,
            what=what,
            actor=self._actor.id,
            at=work.writer.at,
            changed=tuple(work.changed),
            records=tuple(format_digest(r.id) for r in work.records),
            snapshot=format_digest(made.digest) if made is not None else None,
            roots={m.memory_type.value: format_digest(m.root) for m in parsed.modules} if parsed else {},
            plan=plan,
            notes=tuple(work.notes),
            elapsed_ms=round((time.monotonic() - started) * 1e3, 1),
        )

    # --- drop and redact ----------------------------------------------------------------------------------------

    def drop(
        self, ids: Sequence[Digest], *, reason: str, policy: Policy, plan: str | None = None
    ) -> Retained:
        """End the membership of blocks and of what was derived only from them; their bytes stay.

        Raises ConflictError where `plan` names another plan than what would be done now, PolicyError for what the
        policy does not allow and for episodic memory, BlockNotFoundError for a block that is no member.
        """
        started = time.monotonic()
        _check_reason(reason)
        with self._planned("drop", ids, policy, plan) as (work, draft, made):
            work.writer.withdraw(draft.goes)
            roots = {m.memory_type: format_digest(m.root) for m in work.writer.modules()}
            self._removals(work, draft, Mechanism.DROP, reason, roots)
            work.writer.add_many(work.records)
        return self._report("dropped", work, started, made)

    def redact(
        self, ids: Sequence[Digest], *, reason: str, policy: Policy, plan: str | None = None
    ) -> Retained:
        """Destroy the bytes of blocks and of the originals that hold them. What lies outside of the database is still
        to be erased afterwards (retain/erase.py).

        Raises as `drop`; UsageError for a block whose bytes are gone already.
        """
        started = time.monotonic()
        _check_reason(reason)
        with self._planned("redact", ids, policy, plan) as (work, draft, made):
            self._removals(work, draft, Mechanism.TOMBSTONE, reason, {})
            work.writer.add_many(work.records)
            work.writer.destroy(draft.goes, draft.contents)
        return self._report("redacted", work, started, _without_words(made))

    @contextmanager
    def _planned(
        self, what: str, ids: Sequence[Digest], policy: Policy, name: str | None
    ) -> Iterator[tuple[Work, Draft, Plan]]:
        conflict: Plan | None = None
        with self._write() as work:
            draft = draft_of(work.writer, what, ids)
            base = work.writer.base
            made = plan_from(work.writer, self._brain, what, draft, policy, base.digest if base else None)
            if name is None or same(made, name):
                refuse(policy, made.lacking)
                yield work, draft, made
            else:
                conflict = made
        if conflict is not None:
            raise stale(self._store, conflict, name or "", ids)

    def _removals(
        self, work: Work, draft: Draft, mechanism: Mechanism, reason: str, roots: dict[MemoryType, str]
    ) -> None:
        """One removal record a module; those of modules that only the cascade reached say which block it came from."""
        blocks = {b.n: b for b in work.writer.blocks(sorted(draft.goes))}
        modules: dict[MemoryType, list[StoredBlock]] = {}
        for n in draft.goes:
            modules.setdefault(blocks[n].memory_type, []).append(blocks[n])
        needs = ", ".join(f"retention.{name}" for name in needs_of(mechanism_word(mechanism), list(modules)))
        for module in (m for m in MemoryType if m in modules):
            going = modules[module]
            named = any(draft.goes[b.n][0] == "named" for b in going)
            record = Removal(
                blocks=tuple(format_digest(i) for i in sorted(b.id for b in going)),
                mechanism=mechanism,
                memory_type=module,
                actor=work.actor,
                at=work.writer.at,
                reason=reason,
                policy=needs or UNSET,
                cascaded_from=UNSET if named else format_digest(blocks[draft.targets[0]].id),
                resulting_roots={module.value: roots[module]} if module in roots else UNSET,
            )
            work.records.append(record_block(record))
        work.changed = [
            Changed(
                block_id=format_digest(blocks[n].id),
                memory_type=blocks[n].memory_type,
                detail=draft.goes[n][0],
            )
            for n in draft.goes
        ]

    # --- hiding -------------------------------------------------------------------------------------------------

    def supersede(self, old: Digest, by: Digest, *, reason: str | None = None) -> Retained:
        """Hide a block behind another of its module.

        Raises UsageError for a block by itself or by one of another module, ValidationError for a circle, naming it.
        """
        started = time.monotonic()
        with self._write() as work:
            loser, winner = work.member(old), work.member(by)
            self._check_pair(work, loser, winner)
            before = work.writer.successor(loser.n)
            if before == winner.n:
                work.notes.append(f"{_short(old)} is superseded by {_short(by)} already; nothing was written")
            else:
                if before is not None:
                    earlier = work.writer.ids([before])[before]
                    was = f"{_short(old)} was superseded by {_short(earlier)}"
                    work.notes.append(f"{was}; the latest word counts: now by {_short(by)}")
                after = work.writer.hidden([winner.n]).get(winner.n)
                if after is not None and after.superseded_by is not None:
                    work.notes.append(f"{_short(by)} is superseded itself, by {_short(after.superseded_by)}")
                elif after is not None:
                    work.notes.append(f"{_short(by)} is demoted itself, so neither is shown by default")
                record = Supersession(
                    block=format_digest(by),
                    supersedes=format_digest(old),
                    actor=work.actor,
                    at=work.writer.at,
                    reason=reason or UNSET,
                )
                work.note(loser, record_block(record), format_digest(by))
                work.writer.add_many(work.records)
        return self._report("superseded", work, started)

    def _check_pair(self, work: Work, loser: StoredBlock, winner: StoredBlock) -> None:
        if loser.n == winner.n:
            raise UsageError(f"{_short(loser.id)} cannot take its own place", hint="--by names another block")
        if loser.memory_type is not winner.memory_type:
            raise UsageError(
                f"{_short(loser.id)} is {loser.memory_type}, {_short(winner.id)} is {winner.memory_type}: a block is "
                "superseded by one of its own module",
                hint="`retain demote` hides a block without a successor",
            )
        chain = [winner.n]
        while (after := work.writer.successor(chain[-1])) is not None and after not in chain:
            chain.append(after)
            if after == loser.n:
                ids = work.writer.ids(chain)
                way = " -> ".join(_short(ids[n]) for n in [loser.n, *chain])
                raise ValidationError(
                    f"that would close a circle, in which each supersedes the next: {way}",
                    hint=f"`csl retain restore {_short(winner.id)}` first, if it is to be shown again",
                )

    def demote(self, ids: Sequence[Digest], *, reason: str | None = None) -> Retained:
        """Show blocks no longer by default; those that are demoted already are only noted."""
        started = time.monotonic()
        with self._write() as work:
            for block in [work.member(block_id) for block_id in dict.fromkeys(ids)]:
                hidden = work.writer.hidden([block.n]).get(block.n)
                if hidden is not None and hidden.demoted:
                    work.notes.append(f"{_short(block.id)} is demoted already")
                    continue
                record = Demotion(
                    block=format_digest(block.id),
                    actor=work.actor,
                    at=work.writer.at,
                    reason=reason or UNSET,
                )
                work.note(block, record_block(record))
            work.writer.add_many(work.records)
        return self._report("demoted", work, started)

    def restore(self, ids: Sequence[Digest]) -> Retained:
        """Show hidden blocks again, by a derivation or registration record that is newer than what hid them."""
        started = time.monotonic()
        with self._write() as work:
            for block in [work.member(block_id) for block_id in dict.fromkeys(ids)]:
                if block.n not in work.writer.hidden([block.n]):
                    work.notes.append(f"{_short(block.id)} is not hidden")
                    continue
                work.note(block, record_block(_said_again(work, block)))
            work.writer.add_many(work.records)
        return self._report("restored", work, started)

    # --- readmission --------------------------------------------------------------------------------------------

    def readmit(self, ids: Sequence[Digest], *, reason: str) -> Retained:
        """Let redacted bytes in again: those of the blocks named, and of what went along with them.

        The bytes are not here; whoever has them ingests them. Raises UsageError for a block that is not redacted.
        """
        started = time.monotonic()
        _check_reason(reason)
        with self._write() as work:
            lifted = [i for block_id in dict.fromkeys(ids) for i in self._lifted(work, block_id)]
            for block_id in dict.fromkeys(lifted):
                block = work.block(block_id)
                record = Validation(
                    block=format_digest(block_id),
                    verdict=Verdict.VALIDATED,
                    checks=(CHECK,),
                    actor=work.actor,
                    at=work.writer.at,
                    task=f"{READMISSION}: {reason}",
                )
                work.note(block, record_block(record), "" if block_id in ids else "went along")
            work.writer.readmit_content(lifted)
            work.writer.add_many(work.records)
        return self._report("readmitted", work, started)

    def _lifted(self, work: Work, block_id: Digest) -> list[Digest]:
        known = work.writer.redactions([block_id]).get(block_id)
        if known is None or work.block(block_id).memory_type is MemoryType.PROVENANCE:
            raise UsageError(
                f"{format_digest(block_id)} is not redacted",
                hint="`csl block ID` shows what happened to a block",
            )
        if known.readmitted:
            work.notes.append(f"{_short(block_id)} is readmitted already; `csl ingest` brings its bytes back")
            return []
        record_n = work.writer.ordinals([known.record])[known.record]
        along = [
            parse_digest(other)
            for removal in work.writer.removed_with(record_n, known.at)
            if isinstance(removal.cascaded_from, str) and removal.memory_type is not MemoryType.PROVENANCE
            for other in removal.blocks
        ]
        waiting = work.writer.redactions(along)
        return [block_id, *(i for i in along if i != block_id and i in waiting and not waiting[i].readmitted)]


def mechanism_word(mechanism: Mechanism) -> str:
    """What a plan calls it."""
    return "drop" if mechanism is Mechanism.DROP else "redact"


def _said_again(work: Work, block: StoredBlock) -> Derivation | Registration:
    """The latest derivation of a block, said again by this actor now; a registration where it has none.

    An original is registered again under its file only where that file holds it: else it would take the place of
    what the file holds by now.
    """
    for stored in reversed(work.writer.derivations_of(block.n)):
        payload = decode(stored.data).payload if stored.data is not None and stored.intact else None
        if isinstance(payload, Provenance) and isinstance(payload.record, Derivation):
            held = payload.record
            return Derivation(
                block=held.block,
                derived_from=held.derived_from,
                producer=Producer(kind=ProducerKind.ACTOR, id=work.actor.id),
                actor=work.actor,
                at=work.writer.at,
                task=TASK_RESTORE,
                locator=held.locator,
            )
    origins = [s.origin for s in work.writer.sources([block.n]).get(block.n, ()) if s.origin]
    held_by = [o for o in origins if (now := work.writer.registered(o)) is not None and now.n == block.n]
    return Registration(
        block=format_digest(block.id),
        actor=work.actor,
        at=work.writer.at,
        origin=held_by[0] if held_by else UNSET,
    )


def _without_words(plan: Plan) -> Plan:
    """A plan that was carried out, without the words that are gone."""
    return msgspec.structs.replace(
        plan, goes=tuple(msgspec.structs.replace(each, title="") for each in plan.goes)
    )


def _check_reason(reason: str) -> None:
    if not reason.strip():
        raise UsageError("a removal needs a reason", hint="--reason says why; it stands in the record")


def _short(block_id: Digest) -> str:
    return block_id.hex()[:12]
