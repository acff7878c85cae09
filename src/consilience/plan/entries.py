"""A block as an index sees it: its own text, and what provenance knows of where it stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from consilience.ingest import detect_language, role_of
from consilience.ingest.model import QUIET
from consilience.ingest.roles import is_licence_file
from consilience.model import Entry, Locator, Source, Value
from consilience.plan.introduced import Introducer
from consilience.protocol import (
    CatalogEntry,
    Episodic,
    MemoryType,
    Payload,
    Procedural,
    Semantic,
    decode,
    format_digest,
)
from consilience.store import StoredBlock, View

if TYPE_CHECKING:
    from consilience.index.facets import FacetIndex

CHUNK = 512
INDEXED = (MemoryType.CANONICAL, MemoryType.EPISODIC, MemoryType.SEMANTIC, MemoryType.PROCEDURAL)


def entries_after(view: View, after: int, *, broken: list[str] | None = None) -> Iterator[Entry]:
    """Entries of every indexable member with an ordinal above `after`, ascending, streaming.

    Blocks whose bytes do not hash to their id have none; their ids are added to `broken`.
    """
    chunk: list[StoredBlock] = []
    introducer = Introducer(view)
    for block in view.scan(INDEXED, after=after):
        chunk.append(block)
        if len(chunk) == CHUNK:
            yield from _entries(view, chunk, broken=broken, introducer=introducer)
            chunk = []
    if chunk:
        yield from _entries(view, chunk, broken=broken, introducer=introducer)


class Seen(Value, frozen=True, kw_only=True):
    """Blocks as they were read for their entries, and their sources, by ordinal: what is shown of them later."""

    blocks: dict[int, StoredBlock] = msgspec.field(default_factory=dict)
    sources: dict[int, tuple[Source, ...]] = msgspec.field(default_factory=dict)


def entries_of(
    view: View,
    ns: Sequence[int],
    facets: FacetIndex | None = None,
    *,
    introduced: bool = False,
    seen: Seen | None = None,
) -> Iterator[Entry]:
    """Entries of the given ordinals, in the order asked; provenance and redacted blocks have none.

    `facets`, where there are some, tell role and language of what they cover, which is then not worked out again.
    `introduced`: the context is to be whole, as it is indexed; what is only shown does without the introduction.
    `seen` is given what was read.
    """
    introducer = Introducer(view) if introduced else None
    for start in range(0, len(ns), CHUNK):
        part = ns[start : start + CHUNK]
        traits = facets.traits(part) if facets is not None else {}
        yield from _entries(view, view.blocks(part), traits, introducer=introducer, seen=seen)


def _entries(
    view: View,
    blocks: Sequence[StoredBlock],
    traits: Mapping[int, tuple[str, str]] = MappingProxyType({}),
    broken: list[str] | None = None,
    introducer: Introducer | None = None,
    seen: Seen | None = None,
) -> list[Entry]:
    sources = view.sources([b.n for b in blocks], current=True)
    if seen is not None:
        seen.blocks.update((b.n, b) for b in blocks)
        seen.sources.update((b.n, sources.get(b.n, ())) for b in blocks)
    introductions = introducer.of(sources) if introducer is not None else {}
    out = []
    for block in blocks:
        if block.data is None or block.memory_type not in INDEXED:
            continue
        if not block.intact:
            if broken is not None:
                broken.append(format_digest(block.id))
            continue
        n, payload = block.n, decode(block.data).payload
        said = introductions.get(n, "")
        out.append(entry_of(n, block.memory_type, payload, sources.get(n, ()), traits.get(n), said))
    return _with_majority_language(out)


def entry_of(
    n: int,
    module: MemoryType,
    payload: Payload,
    sources: Sequence[Source],
    traits: tuple[str, str] | None = None,
    introduction: str = "",
) -> Entry:
    """One entry. The first source gives heading path and date; every source gives its origin.

    `traits` are its role and language where they are known already; `introduction` is what the first source says of
    the list, table or code that the block belongs to.
    """
    place = sources[0].place if sources else Locator()
    text = text_of(payload) if module is not MemoryType.CANONICAL else _file_text(sources)
    if traits is not None:
        role, language = traits
    else:
        role = _passage_role(text, sources) if module is MemoryType.SEMANTIC else _event_role(payload)
        language = detect_language(text)
    return Entry(
        n=n,
        module=module,
        text=text,
        context=context_of(place, introduction),
        language=language,
        role=role,
        kind=payload.kind if isinstance(payload, Semantic | CatalogEntry) else "",
        subject=_optional(payload, "subject"),
        tags=_tags(payload),
        origins=tuple(dict.fromkeys(s.origin for s in sources if s.origin)),
        date=payload.occurred_at if isinstance(payload, Episodic) else place.date,
    )


def _tags(payload: Payload) -> tuple[str, ...]:
    """An event's tags; a statement's aliases, which are what it has of the kind (docs/decisions/0213)."""
    found = payload.tags if isinstance(payload, Episodic) else ()
    found = payload.aliases if isinstance(payload, Semantic) else found
    return tuple(found) if found else ()


def text_of(payload: Payload) -> str:
    """The words of a block, as they are searched, embedded and shown."""
    match payload:
        case Semantic():
            stem = payload.label.rstrip("…").rstrip()
            if " ".join(payload.statement.split()).startswith(stem):
                return payload.statement
            return f"{payload.label}\n{payload.statement}"
        case Episodic():
            parts = [payload.summary, _optional(payload, "context"), _optional(payload, "outcome")]
            return "\n".join(p for p in parts if p)
        case Procedural():
            return "\n".join([payload.label, payload.goal, *(step.action for step in payload.steps)])
        case CatalogEntry():
            return " ".join(p for p in (_optional(payload, "scheme"), _optional(payload, "label")) if p)
        case _:
            return ""


def context_of(place: Locator, introduction: str = "") -> str:
    """Heading path, and below it the introduction, as index context; kept out of the block so that the same words stay
    the same block."""
    return "\n".join(part for part in (" > ".join(place.headings), introduction) if part)


def embedded_text(entry: Entry) -> str:
    """What the embedding model reads of an entry."""
    return f"{entry.context}\n{entry.text}" if entry.context else entry.text


def _passage_role(text: str, sources: Sequence[Source]) -> str:
    """What it is by its text, but what stands in licence files alone is a part of a licence."""
    if sources and all(s.origin and is_licence_file(s.origin) for s in sources):
        return "boilerplate"
    return role_of(text, sources[0].place.headings if sources else ())


def _event_role(payload: Payload) -> str:
    """What an e-mail quotes or is signed with, and what a chat says of itself, is ranked down."""
    tags = payload.tags if isinstance(payload, Episodic) and payload.tags else ()
    return "prose" if QUIET.isdisjoint(tags) else "boilerplate"


def _file_text(sources: Iterable[Source]) -> str:
    names = [PurePosixPath(s.origin).stem.replace("-", " ").replace("_", " ") for s in sources if s.origin]
    return "\n".join(dict.fromkeys(names))


def _optional(payload: Payload, name: str) -> str:
    value = getattr(payload, name, None)
    return value if isinstance(value, str) else ""


def _with_majority_language(entries: list[Entry]) -> list[Entry]:
    """Give entries too short to tell the language of the file they stand in, or of their neighbours."""
    if all(entry.language for entry in entries):
        return entries
    by_origin: dict[str, Counter[str]] = {}
    overall: Counter[str] = Counter()
    for entry in entries:
        if entry.language:
            overall[entry.language] += 1
            by_origin.setdefault(entry.origins[0] if entry.origins else "", Counter())[entry.language] += 1
    if not overall:
        return entries
    out = []
    for entry in entries:
        if not entry.language:
            counts = by_origin.get(entry.origins[0] if entry.origins else "") or overall
            language = min(counts, key=lambda code: (-counts[code], code))
            entry = msgspec.structs.replace(entry, language=language)
        out.append(entry)
    return out


__all__ = [
    "INDEXED",
    "Seen",
    "context_of",
    "embedded_text",
    "entries_after",
    "entries_of",
    "entry_of",
    "text_of",
]
