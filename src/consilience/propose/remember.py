"""One fact, taken by hand: the words are registered as what they are, and the fact is derived from them."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from msgspec import UNSET

from consilience.errors import UsageError, ValidationError
from consilience.index.dates import interval
from consilience.ingest.decoding import is_visible
from consilience.ingest.pipeline import label_of
from consilience.model import cite
from consilience.propose.held import Held, claim_of
from consilience.propose.report import Remembered
from consilience.protocol import (
    Actor,
    Block,
    Canonical,
    Digest,
    Episodic,
    Kind,
    Normalization,
    Producer,
    ProducerKind,
    Provenance,
    Registration,
    Semantic,
    build,
    decode,
    derivation_block,
    format_digest,
    record_block,
    sha256,
    timestamp,
)
from consilience.protocol import snapshot as snapshots
from consilience.store import Hidden, Store, Writer
from consilience.store.redaction import refusal

__all__ = ["ORIGIN", "Fact", "fact_block", "remember"]

ORIGIN = "remember"
"""Where a fact comes from that nobody names a source for."""

MOST = 20_000
"""Characters of one fact."""

MEDIA_TYPE = "text/plain"
NAMED = 5
LOOKED_THROUGH = 200_000
"""Blocks of a module that one fact is held against: some seconds."""

Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Fact:
    """What is to be remembered. With `when` (a year, month, day or instant) it is an event, else a statement."""

    text: str
    subject: str | None = None
    tags: tuple[str, ...] = ()
    when: str | None = None
    kind: Kind = Kind.FACT


def fact_block(fact: Fact) -> Block:
    """The block of a fact: its words in NFC, line ends and outer white space aside.

    Raises UsageError for no words, too many, or a date that is none; ValidationError for what has no UTF-8 form.
    """
    text = _words(fact.text)
    tags = tuple(dict.fromkeys(tag for each in fact.tags if (tag := _words(each))))
    subject = _words(fact.subject or "") or UNSET
    if fact.when is None:
        return build(
            Semantic(
                kind=fact.kind, label=label_of(text), statement=text, subject=subject, aliases=tags or UNSET
            )
        )
    began, ended = _when(fact.when)
    return build(
        Episodic(
            summary=text,
            occurred_at=began,
            ended_at=ended if ended is not None else UNSET,
            context=subject,
            tags=tags or UNSET,
        )
    )


def _words(text: str) -> str:
    lines = unicodedata.normalize("NFC", text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    kept = "\n".join(line.rstrip() for line in lines).strip()
    try:
        kept.encode()
    except UnicodeEncodeError:
        raise ValidationError(f"{kept[:40]!r} has no UTF-8 form") from None
    return kept


def _when(text: str) -> tuple[str, str | None]:
    """The first second of a date, and the last where it is a month or a year."""
    found = interval(text)
    if found is None:
        raise UsageError(
            f"--when: {text!r} is not a date", hint="write 2026-05-01, 2026-05 or 2026-05-01T12:00:00Z"
        )
    try:
        began, ended = (timestamp(datetime.fromtimestamp(at, UTC)) for at in found)
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"--when: {text!r} is outside the years that can be written") from None
    return began, ended if found.end - found.start > 86_399 else None


def remember(
    store: Store,
    brain: str,
    fact: Fact,
    *,
    actor: Actor,
    clock: Clock,
    source: str | None = None,
    waiting: Callable[[float], None] | None = None,
) -> Remembered:
    """Take one fact, in one commit, with who said so and where it comes from. What is known is not written again; a
    source that is new for it is.

    `source` is any text, a URL say; one that names a file of this brain makes the fact one of that file too.
    Everything derived is the caller's to catch up. Raises as `fact_block`; PolicyError for what was redacted.
    """
    _check(fact)
    block = fact_block(fact)
    words = _words(fact.text).encode()
    origin = _words(source or "") or None
    near, otherwise, notes = _beside(store, block)
    with store.write(actor, clock(), waiting=waiting) as writer:
        gone = writer.redactions([block.id])
        for redaction in gone.values():
            if not redaction.readmitted:
                raise refusal(redaction)
        n = writer.ordinals([block.id]).get(block.id, 0)
        known = n in writer.members([n]) and not gone
        hidden = writer.hidden([n]).get(n) if known else None
        if hidden is None and (not known or origin is not None):
            _write(writer, actor, block, words, origin, known=known)
    made = writer.snapshot or writer.base
    assert made is not None
    roots = {m.memory_type: format_digest(m.root) for m in snapshots.parse(made.document).modules}
    block_id = format_digest(block.id)
    return Remembered(
        brain=brain,
        memory_type=block.memory_type,
        block_id=block_id,
        text=words.decode(),
        cite=cite(brain, block.memory_type, block_id, roots[block.memory_type]),
        known=known,
        changed=writer.snapshot is not None,
        source=origin or ORIGIN,
        words=format_digest(_words_block(words).id),
        actor=actor.id,
        at=writer.at,
        snapshot=format_digest(made.digest),
        hidden=_why(hidden),
        near=near,
        otherwise=otherwise,
        notes=notes,
    )


def _why(hidden: Hidden | None) -> str | None:
    if hidden is None:
        return None
    return f"superseded by {format_digest(hidden.superseded_by)}" if hidden.superseded_by else "demoted"


def _check(fact: Fact) -> None:
    if not is_visible(fact.text):
        raise UsageError("there is nothing to remember", hint="csl remember TEXT, or - for standard input")
    if len(fact.text) > MOST:
        raise UsageError(
            f"{len(fact.text):,} characters are more than one fact ({MOST:,})",
            hint="csl ingest FILE takes a whole text, passage by passage",
        )


def _beside(store: Store, block: Block) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Blocks that say nearly the same, and those that say otherwise; a note where there are too many to look."""
    with store.view() as view:
        if view.count(block.memory_type) > LOOKED_THROUGH:
            return (), (), (f"over {LOOKED_THROUGH:,} blocks were not looked through for the same words",)
        held = Held(view, [block])
        if block.id in held.members or block.id in held.redacted:
            return (), (), ()
        claim, says = claim_of(block)
        against = held.otherwise(claim, says) if claim is not None else []
        same = held.same_words(block)
    named = [tuple(format_digest(each) for each in found[:NAMED]) for found in (same, against)]
    return named[0], named[1], ()


def _words_block(words: bytes) -> Block:
    return build(Canonical(blob=format_digest(sha256(words)), media_type=MEDIA_TYPE, size=len(words)))


def _write(
    writer: Writer, actor: Actor, block: Block, words: bytes, origin: str | None, *, known: bool
) -> None:
    """The words as evidence, their registration, the fact, its derivation; of a known fact what is new of these.

    The words stand for themselves: where the source is a file of this brain, they are registered as remembered, and
    never as what that file holds.
    """
    file = _file(writer, origin) if origin is not None else None
    evidence = _words_block(words)
    ids = [block.id, evidence.id] if file is None else [block.id, evidence.id, file]
    here = writer.ordinals(ids)
    sources = writer.sources_of([here[block.id]]).get(here[block.id], set()) if known else set()
    says = ORIGIN if file is not None or origin is None else origin
    if not known or (file is None and not _is_from(writer, here.get(evidence.id), says)):
        writer.put_content(words, MEDIA_TYPE)
        writer.add(evidence)
        registered = Registration(block=format_digest(evidence.id), actor=actor, at=writer.at, origin=says)
        writer.add(record_block(registered))
    writer.add(block)
    wanted = [file] if known and file is not None else ids[1:]
    more = [each for each in wanted if each not in here or here[each] not in sources]
    if more:
        producer = Producer(kind=ProducerKind.ACTOR, id=actor.id)
        writer.add(derivation_block(block.id, more, producer, actor, writer.at))


def _is_from(writer: Writer, n: int | None, origin: str) -> bool:
    return n is not None and any(source.origin == origin for source in writer.sources([n]).get(n, ()))


def _file(writer: Writer, origin: str) -> Digest | None:
    """The file that an origin names in this brain: one that a reader has read."""
    registered = writer.registered(origin)
    if registered is None:
        return None
    for record in writer.records_about(registered.n):
        payload = decode(record.data).payload if record.data is not None else None
        if isinstance(payload, Provenance) and isinstance(payload.record, Normalization):
            return registered.id
    return None
