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
LABEL_CHARS = 80
PASSAGE_KIND = Kind.FACT
"""The one kind of every passage: identity must not depend on what a reader guessed about it."""


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

    def parts(self) -> Iterator[tuple[Sequence[Passage], Sequence[Block]]]:
        """The passages and their blocks, each once, a bounded number at a time."""
        if self.document.rows is None:
            yield self.passages, self.blocks
            return
        seen: set[Digest] = set()
        part: dict[Digest, tuple[Passage, Block]] = {}
        for passage in each_passage(self.document):
            block = passage_block(passage)
            if block.id not in seen:
                seen.add(block.id)
                part[block.id] = passage, block
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
