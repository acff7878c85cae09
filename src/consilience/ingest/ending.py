"""Files that are gone or stand elsewhere by now: their origins end (docs/decisions/0220)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from consilience.model import Value
from consilience.protocol import Actor, Demotion, Digest, format_digest, record_block
from consilience.store import Registered, Store, Writer
from consilience.store.reads import chunks

ORIGINS_A_COMMIT = 500


class Ending(Value, frozen=True, kw_only=True):
    """An origin that is to hold nothing any more, and why (`docs/a.md is gone`). `record` names the registration that
    was seen: one that was made since is left alone."""

    origin: str
    reason: str
    record: Digest


class Ended(Value, frozen=True, kw_only=True):
    """Totals: origins that ended, files and passages that were hidden with them, and the commits that took."""

    origins: tuple[str, ...] = ()
    files: int = 0
    passages: int = 0
    commits: int = 0
    snapshot: str | None = None


def end_origins(
    store: Store,
    endings: Iterable[Ending],
    *,
    actor: Actor,
    clock: Callable[[], datetime],
    waiting: Callable[[float], None] | None = None,
) -> Ended:
    """End origins, in commits of 500: the registration is demoted, so that the origin holds nothing; the file, if no
    other origin holds it; and what was derived from it, if no other current file has that. Nothing is removed, and
    taking the file again undoes it all. Raises BusyError, StorageError."""
    done = Ended()
    for part in chunks(endings, ORIGINS_A_COMMIT):
        with store.write(actor, clock(), waiting=waiting) as writer:
            counted = [(each.origin, _end(writer, actor, each)) for each in part]
        if writer.snapshot is None:
            continue
        hidden = [(origin, count) for origin, count in counted if count is not None]
        done = Ended(
            origins=(*done.origins, *(origin for origin, _ in hidden)),
            files=done.files + sum(files for _, (files, _) in hidden),
            passages=done.passages + sum(passages for _, (_, passages) in hidden),
            commits=done.commits + 1,
            snapshot=format_digest(writer.snapshot.digest),
        )
    return done


def _end(writer: Writer, actor: Actor, ending: Ending) -> tuple[int, int] | None:
    held = writer.registered(ending.origin)
    if held is None or held.record != ending.record:
        return None

    def hide(block: Digest, reason: str) -> None:
        record = Demotion(block=format_digest(block), actor=actor, at=writer.at, reason=reason)
        writer.add(record_block(record))

    hide(held.record, ending.reason)
    if writer.has_other_origin(held.n, ending.origin):
        return 0, 0
    lost = _lost(writer, held)
    if held.n not in writer.hidden([held.n]):
        hide(held.id, ending.reason)
    for n, block_id in sorted(writer.ids(lost).items()):
        if n in lost:
            hide(block_id, f"no longer in {ending.origin}")
    return 1, len(lost)


def _lost(writer: Writer, held: Registered) -> set[int]:
    """What was derived from a file, is shown, and is in no other current file."""
    children = writer.members({n for n, _ in writer.children(held.n)})
    elsewhere = writer.derived_from_current(children, besides=held.n)
    return children - elsewhere - writer.hidden(children).keys()
