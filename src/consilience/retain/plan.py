"""A plan: what a drop or a redaction would do, under a name by which it is carried out."""

from __future__ import annotations

from collections.abc import Sequence

from consilience.errors import BlockNotFoundError, ConflictError, ConsilienceError, UsageError
from consilience.plan.entries import text_of
from consilience.protocol import Canonical, Digest, MemoryType, format_digest, sha256
from consilience.retain.draft import Draft, draft_drop, draft_redaction, payload_of
from consilience.retain.policy import Policy
from consilience.retain.report import Leaving, Plan, Staying
from consilience.store import Store, View
from consilience.store.redaction import RedactionReads

WHATS = ("drop", "redact")
TITLE_CHARS = 60
ELSEWHERE_NAMED = 20
_SNAPSHOT_DIGITS = 12
_CONTENT_DIGITS = 16


def plan_of(view: View, brain: str, what: str, ids: Sequence[Digest], policy: Policy) -> Plan:
    """The plan at a view's snapshot. Raises what `draft_drop` and `draft_redaction` raise, UsageError."""
    draft = draft_of(view, what, ids)
    return plan_from(view, brain, what, draft, policy, view.snapshot.digest if view.snapshot else None)


def draft_of(reads: RedactionReads, what: str, ids: Sequence[Digest]) -> Draft:
    if what not in WHATS:
        raise UsageError(f"there is no plan for {what!r}", hint=f"there are {', '.join(WHATS)}")
    ns = reads.ordinals(ids)
    for block_id in ids:
        if block_id not in ns:
            raise BlockNotFoundError(
                f"no block {format_digest(block_id)} in this brain", hint="it was pruned"
            )
    targets = [ns[block_id] for block_id in dict.fromkeys(ids)]
    return draft_drop(reads, targets) if what == "drop" else draft_redaction(reads, targets)


def plan_from(
    reads: RedactionReads, brain: str, what: str, draft: Draft, policy: Policy, snapshot: Digest | None
) -> Plan:
    """A draft as it is shown, and its name: the snapshot's first digits and those of a hash over all it says."""
    blocks = {b.n: b for b in reads.blocks(sorted(draft.goes))}
    ids = reads.ids({*draft.stays, *draft.unsourced, *(n for s in draft.stays.values() for n in s)})
    goes = []
    for n, (why, cause) in draft.goes.items():
        block, payload = blocks[n], payload_of(blocks[n])
        title = (
            _file(reads, n) if isinstance(payload, Canonical) else _title(text_of(payload)) if payload else ""
        )
        by = format_digest(blocks[cause].id) if cause is not None else None
        goes.append(
            Leaving(
                block_id=format_digest(block.id),
                memory_type=block.memory_type,
                why=why,
                cause=by,
                title=title,
            )
        )
    modules = {b.n: b.memory_type for b in reads.blocks(sorted({*draft.stays, *draft.unsourced}))}
    stays = tuple(
        Staying(
            block_id=format_digest(ids[n]),
            memory_type=modules[n],
            sources=tuple(sorted(format_digest(ids[s]) for s in others if s in ids)),
        )
        for n, others in sorted(draft.stays.items())
    )
    unsourced = tuple(
        Staying(block_id=format_digest(ids[n]), memory_type=modules[n]) for n in sorted(draft.unsourced)
    )
    needs = needs_of(what, [g.memory_type for g in goes])
    elsewhere = reads.ids(draft.elsewhere[:ELSEWHERE_NAMED])
    return Plan(
        brain=brain,
        what=what,
        name=_name(what, snapshot, goes, stays, unsourced),
        snapshot=format_digest(snapshot) if snapshot is not None else None,
        goes=tuple(goes),
        stays=stays,
        unsourced=unsourced,
        elsewhere=tuple(format_digest(i) for i in elsewhere.values()),
        elsewhere_count=len(draft.elsewhere),
        elsewhere_searched=draft.searched,
        needs=needs,
        lacking=policy.lacking(needs),
    )


def needs_of(what: str, modules: Sequence[MemoryType]) -> tuple[str, ...]:
    """The settings that a plan needs to be true."""
    files = MemoryType.CANONICAL in modules
    if what == "drop":
        return ("canonical_drop",) if files else ()
    return ("redact", "canonical_redact") if files else ("redact",)


def _name(
    what: str,
    snapshot: Digest | None,
    goes: Sequence[Leaving],
    stays: Sequence[Staying],
    unsourced: Sequence[Staying],
) -> str:
    said = [what, *sorted(f"{g.block_id} {g.why}" for g in goes)]
    said += ["stays", *sorted(s.block_id for s in stays), "unsourced", *sorted(s.block_id for s in unsourced)]
    content = sha256("\n".join(said).encode()).hex()[:_CONTENT_DIGITS]
    return f"{snapshot.hex()[:_SNAPSHOT_DIGITS] if snapshot is not None else '0'}-{content}"


def same(plan: Plan, name: str) -> bool:
    """Whether a plan is the one that a name was given to, at whatever snapshot."""
    return plan.name.rpartition("-")[2] == name.strip().lower().rpartition("-")[2]


def stale(store: Store, plan: Plan, name: str, ids: Sequence[Digest]) -> ConsilienceError:
    """Why a plan's name does not fit what would be done now: what changed since, as far as it can be told."""
    hint = f"csl retain plan {plan.what} shows what would be done now"
    try:
        with store.view() as view:
            prefix = name.strip().lower().partition("-")[0]
            found = [i.digest for i in view.history() if i.digest.hex().startswith(prefix)] if prefix else []
        if not found:
            return ConflictError(
                f"the plan {name} was made at a snapshot that this brain does not hold", hint=hint
            )
        with store.view(found[0]) as view:
            before = plan_of(view, plan.brain, plan.what, ids, Policy())
    except ConsilienceError as error:
        return ConflictError(f"the plan {name} no longer fits: {error.message}", hint=hint)
    if not same(before, name):
        return ConflictError(f"the plan {name} is not a {plan.what} of these blocks", hint=hint)
    return ConflictError(f"the plan {name} no longer fits: {_difference(before, plan)}", hint=hint)


def _difference(before: Plan, now: Plan) -> str:
    said = []
    for what, then, today in (
        ("go", {g.block_id for g in before.goes}, {g.block_id for g in now.goes}),
        ("stay for another source", {s.block_id for s in before.stays}, {s.block_id for s in now.stays}),
        (
            "stay without a source",
            {s.block_id for s in before.unsourced},
            {s.block_id for s in now.unsourced},
        ),
    ):
        said += [_some(today - then, f"would {what} by now")] if today - then else []
        said += [_some(then - today, f"would {what} no longer")] if then - today else []
    return "; ".join(said) or "the reasons differ"


def _some(ids: set[str], what: str) -> str:
    return f"{len(ids):,} block{'s' if len(ids) > 1 else ''} {what} ({min(ids)[7:19]}{', ...' if len(ids) > 1 else ''})"


def _title(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1].rstrip() + "…"


def _file(reads: RedactionReads, n: int) -> str:
    return ", ".join(dict.fromkeys(s.origin for s in reads.sources([n]).get(n, ()) if s.origin))
