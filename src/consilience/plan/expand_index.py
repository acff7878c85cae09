"""Making the index of relations: what each registered document lays down of its blocks (docs/decisions/0250)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from consilience.errors import ConsilienceError
from consilience.index.edges_file import ANYWHERE, Laid, Mention
from consilience.index.edges_links import named_in, names_of, section_key
from consilience.ingest import role_of
from consilience.ingest.readers.formats import CSV, JSON_LINES, TSV
from consilience.model import Locator
from consilience.plan.entries import text_of
from consilience.plan.rank import QUIET_ROLES
from consilience.progress import NO_PROGRESS, Progress
from consilience.protocol import Canonical, Digest, MemoryType, decode, parse_digest
from consilience.store import StoredBlock, View

if TYPE_CHECKING:
    from consilience.index.edges_writer import EdgeWriter

LINKED = frozenset(("text/markdown", "text/x-rst", "text/plain", "text/html", "application/xhtml+xml"))
"""Media types whose lines are looked through for links."""

LARGEST = 16 << 20
"""Bytes of a text from which on it is not looked through."""

APART = frozenset(("record",))
"""Units of which two that stand beside each other share a file and nothing more: rows."""

ROWS = frozenset((CSV, TSV, JSON_LINES))
"""Media types that hold such by the line."""

OPENING = 16
"""Blocks of a document among which the first that says something is looked for."""


def catch_up(view: View, writer: EdgeWriter, progress: Progress = NO_PROGRESS) -> int:
    """Lay down every document that came, or of which more was made, since the index was written; returns how many.

    A file that cannot be read any more is laid down without its links. The caller commits.
    """
    sources = view.documents_after(writer.watermark)
    progress.start("relating", len(sources), "documents")
    count = 0
    for source in sources:
        document = _laid(view, source)
        if document is not None:
            writer.lay(document)
            count += 1
        progress.advance()
    return count


def _laid(view: View, source: int) -> Laid | None:
    block = view.blocks([source])[0]
    if block.memory_type is not MemoryType.CANONICAL:
        return None
    places = [(n, Locator.parse(text)) for n, text in view.children(source)]
    located = [(n, place) for n, place in places if place.first_line is not None]
    rows = _media_type(block) in ROWS or any(place.unit in APART for _, place in located)
    ordered = bool(located) and not rows
    laid = located if ordered else places
    if laid and not ordered:
        laid = []  # they share a file: nothing that leads from one to another
    origins = sorted({s.origin for s in view.sources([source]).get(source, ()) if s.origin is not None})
    lines = _lines(view, block.data) if block.data is not None and block.intact else ()
    head = "\n".join(lines[:40])
    names = dict.fromkeys(key for origin in origins for key in names_of(origin, head))
    ns = tuple(n for n, _ in laid)
    return Laid(
        source=source,
        head=_head(view, ns or tuple(n for n, _ in places[:OPENING])),
        ordered=ordered,
        ns=ns,
        sections=_sections([place for _, place in laid]),
        names=tuple(names),
        mentions=tuple(dict.fromkeys(_mentions(origins[0], lines, laid))) if origins and lines else (),
    )


def _media_type(block: StoredBlock) -> str:
    try:
        payload = decode(block.data).payload if block.data is not None and block.intact else None
    except ConsilienceError:
        return ""
    return payload.media_type if isinstance(payload, Canonical) else ""


def _lines(view: View, envelope: bytes) -> Sequence[str]:
    """The lines of a text as its reader counts them; none of what is no text, too large, or not here."""
    try:
        payload = decode(envelope).payload
        if not isinstance(payload, Canonical) or payload.media_type not in LINKED or payload.size > LARGEST:
            return ()
        data = view.content(Digest(parse_digest(payload.blob)))
    except ConsilienceError:
        return ()
    text = data.decode("utf-8-sig", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _sections(places: Sequence[Locator]) -> tuple[int, ...]:
    """The section of each place, by its last heading; what bears no heading stands in the section before it."""
    found: list[int] = []
    for place in places:
        if place.headings:
            found.append(section_key(place.headings[-1]))
        else:
            found.append(found[-1] if found else ANYWHERE)
    return tuple(found)


def _mentions(origin: str, lines: Sequence[str], laid: Sequence[tuple[int, Locator]]) -> Iterator[Mention]:
    """What the lines of each block name, by the lines that its place says it covers."""
    by_line: dict[int, list[tuple[int, int]]] = {}
    for named in named_in(origin, lines):
        by_line.setdefault(named.line, []).append((named.key, named.section))
    if not by_line:
        return
    for n, place in laid:
        if place.unit != "line" or place.first_line is None or place.last_line is None:
            continue
        span = place.last_line - place.first_line
        within = (
            range(place.first_line, place.last_line + 1)
            if span < len(by_line)
            else [line for line in by_line if place.first_line <= line <= place.last_line]
        )
        for line in within:
            for key, section in by_line.get(line, ()):
                yield Mention(n, key, section)


def _head(view: View, ns: Sequence[int]) -> int:
    """The first of a document's blocks that is not its licence, contents or the like; else the first."""
    for block in view.blocks(ns[:OPENING]):
        if block.data is None or not block.intact or block.memory_type is MemoryType.CANONICAL:
            continue
        if role_of(text_of(decode(block.data).payload)) not in QUIET_ROLES:
            return block.n
    return ns[0] if ns else 0
