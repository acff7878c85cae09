"""A brain of a judged collection: one semantic block a document, made once in a work folder and used again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import msgspec

from consilience.bench import known
from consilience.brain import Brain
from consilience.embed import EmbedderSpec
from consilience.progress import Progress
from consilience.protocol import (
    Actor,
    ActorKind,
    Block,
    Canonical,
    Kind,
    MemoryType,
    Producer,
    ProducerKind,
    Registration,
    Semantic,
    build,
    derivation_block,
    format_digest,
    record_block,
)

ACTOR = Actor(id="bench@example.org", kind=ActorKind.PIPELINE)
MEDIA_TYPE = "application/json"


@dataclass(frozen=True, slots=True)
class Made:
    """A brain, and which documents stand in each of its blocks (equal texts are one block)."""

    name: str
    brain: Brain
    documents: Mapping[str, tuple[str, ...]]


def block_of(text: str) -> Block:
    """The block of a document's text."""
    return build(Semantic(kind=Kind.FACT, label=text[:80].split("\n")[0] or text[:80], statement=text))


def make(
    work: Path,
    name: str,
    documents: Mapping[str, str],
    *,
    embedder: EmbedderSpec,
    cache_dir: Path,
    clock: Callable[[], datetime],
    progress: Progress,
) -> Made:
    """The brain `name` of these documents in `work`, complete and indexed: as it stands there, or made now.

    Its folder is named by what it holds and how it is embedded, so that a changed collection gets another. Killed
    at any moment, it is completed by the next call. Raises StorageError, BusyError, MissingExtraError.
    """
    blocks = {text: block_of(text) for text in dict.fromkeys(documents.values())}
    held: dict[str, tuple[str, ...]] = {}
    for document, text in documents.items():
        key = format_digest(blocks[text].id)
        held[key] = (*held.get(key, ()), document)
    path = work / f"{name}-{_fingerprint(held, embedder)}"
    opening = Brain.open if (path / "brain.db").exists() else Brain.create
    brain = opening(path, name=name, embedder=embedder, cache_dir=cache_dir)
    with brain.store.view() as view:
        complete = view.count(MemoryType.SEMANTIC) == len(blocks)
    if not complete:
        fill(brain, name, documents, list(blocks.values()), clock())
        others = sorted(each.parent for each in work.glob("*/brain.db") if each.parent != path)
        known.lend(path, others, blocks, embedder, cache_dir)
    brain.index(progress=progress)
    return Made(name, brain, held)


def _fingerprint(held: Mapping[str, tuple[str, ...]], embedder: EmbedderSpec) -> str:
    text = "\n".join([embedder.provider, embedder.model or "", *sorted(held)])
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def fill(brain: Brain, name: str, documents: Mapping[str, str], blocks: list[Block], now: datetime) -> None:
    """Commit the blocks of these documents as one snapshot."""
    with brain.store.write(ACTOR, now) as writer:
        ref = writer.put_content(msgspec.json.encode(documents), MEDIA_TYPE)
        canonical = build(Canonical(blob=ref.blob, media_type=ref.media_type, size=ref.size))
        writer.add(canonical)
        source = Registration(block=format_digest(canonical.id), actor=ACTOR, at=writer.at, origin=name)
        writer.add(record_block(source))
        producer = Producer(kind=ProducerKind.PIPELINE, id="bench/beir")
        for block in blocks:
            writer.add(block)
            writer.add(
                derivation_block(
                    block=block.id,
                    derived_from=[canonical.id],
                    producer=producer,
                    actor=ACTOR,
                    at=writer.at,
                    locator=None,
                )
            )
