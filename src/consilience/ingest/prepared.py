"""A file read and split, and the blocks that its passages become."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec import UNSET

from consilience.ingest.discover import Found
from consilience.ingest.model import Document, Event, Passage
from consilience.ingest.passages import each_passage
from consilience.protocol import Block, Canonical, Digest, Episodic, Kind, Semantic, build, format_digest

BATCH_PASSAGES = 4_000
PART_PASSAGES = 50_000
"""Of a larger file so many passages go into one commit."""

LABEL_CHARS = 80
PASSAGE_KIND = Kind.FACT
"""The one kind of every passage: identity must not depend on what a reader guessed about it."""

Part = tuple[Sequence[Passage], Sequence[Block]]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A file read and split, ready to be committed."""

    found: Found
    data: bytes
    digest: Digest
    media_type: str
    document: Document
    passages: tuple[Passage, ...]
    """Empty where the document has its blocks by `rows`."""

    blocks: tuple[Block, ...]

    @property
    def is_large(self) -> bool:
        """Whether it goes in by parts, several commits (docs/decisions/0311)."""
        return self.document.rows is not None or len(self.passages) > PART_PASSAGES

    def parts(self) -> Iterator[Part]:
        """The passages and their blocks, a bounded number at a time; those of a part are distinct, and what is held in
        memory is distinct altogether."""
        if self.document.rows is None:
            for at in range(0, len(self.passages), BATCH_PASSAGES):
                yield self.passages[at : at + BATCH_PASSAGES], self.blocks[at : at + BATCH_PASSAGES]
            return
        part: dict[Digest, tuple[Passage, Block]] = {}
        for passage in each_passage(self.document):
            block = passage_block(passage)
            part.setdefault(block.id, (passage, block))
            if len(part) == BATCH_PASSAGES:
                yield [p for p, _ in part.values()], [b for _, b in part.values()]
                part = {}
        if part:
            yield [p for p, _ in part.values()], [b for _, b in part.values()]

    @property
    def pipeline(self) -> tuple[str, str]:
        return f"consilience/{self.document.reader}", self.document.version


def file_block(prepared: Prepared) -> Block:
    blob = format_digest(prepared.digest)
    return build(Canonical(blob=blob, media_type=prepared.media_type, size=len(prepared.data)))


def passage_block(passage: Passage) -> Block:
    if (event := passage.event) is not None:
        return build(
            Episodic(
                summary=passage.text,
                occurred_at=event.when,
                context=event.context or UNSET,
                participants=event.participants or UNSET,
                tags=event.tags or UNSET,
            )
        )
    return build(Semantic(kind=PASSAGE_KIND, label=label_of(passage.text), statement=passage.text))


def label_of(text: str) -> str:
    """A block's label from its own text alone: its first line, cut at a word to at most 80 characters."""
    line = " ".join(text.split("\n", 1)[0].split()) or " ".join(text.split())
    if len(line) <= LABEL_CHARS:
        return line or text[:LABEL_CHARS]
    cut = line[: LABEL_CHARS - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > LABEL_CHARS // 2 else cut).rstrip() + "…"


def distinct(passages: Sequence[Passage]) -> tuple[Passage, ...]:
    """One passage per text: a document that repeats itself derives the block once, from where it says it first."""
    first: dict[tuple[str, Event | None], Passage] = {}
    for passage in passages:
        first.setdefault((passage.text, passage.event), passage)
    return tuple(first.values())
