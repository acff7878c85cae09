"""What a prune would take, or took, for people and as JSON. Lines out, nothing printed."""

from __future__ import annotations

from collections.abc import Iterator

from consilience.cli.render_search import short
from consilience.cli.terminal import Terminal, clean, size, wrap
from consilience.history import Pruned
from consilience.model import Value
from consilience.protocol import format_digest
from consilience.store.prune import PrunedModule, PrunePlan


class PruneDocument(Value, frozen=True, kw_only=True):
    """`data` of `retain prune`. `done`: it was carried out; then `freed_bytes` are what the files are smaller by,
    and `snapshot` is the prune's own, None where there was nothing to record. `oldest`: the oldest snapshot that
    stays (None in a plan by which only the prune's own will)."""

    brain: str
    done: bool
    keep: str
    snapshots: int
    of: int
    oldest: str | None
    oldest_at: str | None
    modules: tuple[PrunedModule, ...]
    originals: int
    original_bytes: int
    snapshot: str | None
    freed_bytes: int


def document(brain: str, plan: PrunePlan, done: Pruned | None = None) -> PruneDocument:
    return PruneDocument(
        brain=brain,
        done=done is not None,
        keep=plan.keep,
        snapshots=plan.snapshots,
        of=plan.of,
        oldest=format_digest(plan.oldest.digest) if plan.oldest is not None else None,
        oldest_at=plan.oldest.created_at if plan.oldest is not None else None,
        modules=plan.modules,
        originals=plan.originals,
        original_bytes=plan.original_bytes,
        snapshot=format_digest(plan.snapshot) if plan.snapshot is not None else None,
        freed_bytes=done.freed_bytes if done is not None else 0,
    )


def planned(brain: str, plan: PrunePlan, terminal: Terminal) -> Iterator[str]:
    """What would go, and what that means."""
    name = terminal.style(clean(brain), "bold")
    if plan.nothing:
        yield f"{name}: nothing to prune ({plan.keep}; {_snapshots(plan.of)} here)"
        return
    yield f"{name}: {plan.keep}: {plan.snapshots:,} of {_snapshots(plan.of)} would go; nothing is done yet"
    if plan.oldest is not None:
        yield f"  the oldest to stay is {_named(plan)}"
    else:
        yield "  only the one that records this prune would stay"
    yield from _bytes(plan, terminal, "would lose their bytes", "would go")
    for line in wrap(
        "what goes can be neither opened nor asked any more; there is no way back", terminal.prose - 2
    ):
        yield f"  {line}"


def pruned(brain: str, done: Pruned, terminal: Terminal) -> Iterator[str]:
    """What went, and where that is recorded."""
    plan, name = done.plan, terminal.style(clean(brain), "bold")
    if plan.nothing:
        yield f"{name}: nothing to prune ({plan.keep}; {_snapshots(plan.of)} here)"
        return
    verb = "is" if plan.snapshots == 1 else "are"
    yield f"{name}: {plan.snapshots:,} of {_snapshots(plan.of)} {verb} gone ({plan.keep})"
    yield f"  the oldest is now {_named(plan)}"
    yield from _bytes(plan, terminal, "lost their bytes", "is gone" if plan.originals == 1 else "are gone")
    if plan.snapshot is not None:
        yield f"  recorded in snapshot {short(format_digest(plan.snapshot))}"
    yield f"  {size(done.freed_bytes)} given back"


def _bytes(plan: PrunePlan, terminal: Terminal, lost: str, gone: str) -> Iterator[str]:
    if plan.blocks:
        each = ", ".join(f"{m.module.value} {m.blocks:,}" for m in plan.modules)
        stored = size(sum(m.stored_bytes for m in plan.modules))
        said = f"{plan.blocks:,} blocks that no snapshot kept names {lost}: {each} ({stored})"
        yield from (f"  {line}" for line in wrap(said, terminal.prose - 2))
    if plan.originals:
        what = "original" if plan.originals == 1 else "originals"
        yield f"  {plan.originals:,} {what} {gone} ({size(plan.original_bytes)})"


def _named(plan: PrunePlan) -> str:
    assert plan.oldest is not None
    return f"{short(format_digest(plan.oldest.digest))} of {plan.oldest.created_at}"


def _snapshots(count: int) -> str:
    return f"{count:,} snapshot{'' if count == 1 else 's'}"
