"""Small brains for tests of the store: blocks, records, folders where a fsync is cheap."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence

from consilience.protocol import (
    Actor,
    ActorKind,
    Block,
    Canonical,
    Demotion,
    Kind,
    Producer,
    ProducerKind,
    Registration,
    Semantic,
    Supersession,
    build,
    derivation_block,
    format_digest,
    record_block,
)
from consilience.store import Store, Writer

ACTOR = Actor(id="ana@example.org", kind=ActorKind.HUMAN)
PRODUCER = Producer(kind=ProducerKind.PIPELINE, id="consilience/markdown", version="1")
NOW = dt.datetime(2026, 3, 1, 12, 0, 0, tzinfo=dt.UTC)
AT = "2026-03-01T12:00:00Z"


def fact(text: str) -> Block:
    """A passage."""
    return build(Semantic(kind=Kind.FACT, label=text[:80], statement=text))


def facts(first: int, last: int) -> list[Block]:
    """Passages numbered `first` to `last` - 1."""
    return [fact(f"Statement number {i} of this brain.") for i in range(first, last)]


def original(writer: Writer, data: bytes, origin: str | None = None) -> Block:
    """Register bytes: content, canonical block, and a registration record where an origin is given."""
    ref = writer.put_content(data, "text/markdown")
    block = build(Canonical(blob=ref.blob, media_type=ref.media_type, size=ref.size))
    writer.add(block)
    if origin is not None:
        writer.add(registration(block, origin, at=writer.at))
    return block


def registration(block: Block, origin: str, at: str = AT) -> Block:
    return record_block(Registration(block=format_digest(block.id), actor=ACTOR, at=at, origin=origin))


def derivation(block: Block, source: Block, locator: str | None = None, at: str = AT) -> Block:
    return derivation_block(block.id, [source.id], PRODUCER, ACTOR, at, locator)


def supersession(winner: Block, loser: Block, at: str = AT) -> Block:
    record = Supersession(
        block=format_digest(winner.id), supersedes=format_digest(loser.id), actor=ACTOR, at=at
    )
    return record_block(record)


def demotion(block: Block, at: str = AT) -> Block:
    return record_block(Demotion(block=format_digest(block.id), actor=ACTOR, at=at))


def commit(store: Store, blocks: Iterable[Block], *, withdraw: Sequence[Block] = ()) -> Writer:
    """One commit that adds some blocks and ends the membership of others; the writer, closed."""
    with store.write(ACTOR, NOW) as writer:
        writer.add_many(blocks)
        if withdraw:
            writer.withdraw(writer.ordinals([b.id for b in withdraw]).values())
    return writer
