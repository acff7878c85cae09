"""Documents to passages: the smallest units that make sense alone. No rule looks at a unit's neighbours.

What is normalised, and how lists, tables and long units are cut, is written down in docs/decisions/0040.
"""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from operator import attrgetter

from consilience.ingest.decoding import is_visible, nfc
from consilience.ingest.introductions import Introductions
from consilience.ingest.model import Document, Passage, TextBlock
from consilience.ingest.roles import role_of
from consilience.model import Locator

MAX_WORDS = 150
SHORT_WORDS = 6
SMALL_TABLE_ROWS = 12
MAX_CODE_LINES = 60


@dataclass(frozen=True, slots=True)
class Limits:
    """Where units are cut and joined. The product uses the defaults; a passage is a block, so that other values give
    other blocks (what they would do is measured in docs/passages.md)."""

    words: int = MAX_WORDS
    """Of one passage of running text, as `measure` counts them."""

    short_words: int = SHORT_WORDS
    """An item of fewer joins its list."""

    table_rows: int = SMALL_TABLE_ROWS
    """A table of at most so many rows is one passage."""

    code_lines: int = MAX_CODE_LINES


LIMITS = Limits()

_WIDE = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]"
)
_SENTENCE_END = re.compile(r"(?:[.!?…][\"'”’)\]]*\s+(?=[^a-z\s])|[。！？]+)")
_CLAUSE_END = re.compile(r"(?:[;:,—–][\"'”’)\]]*\s+|[、；，])")
_SPACE = re.compile(r"\s+")
_ABBREVIATED = re.compile(
    r"(?:\b(?:e\.g|i\.e|cf|vs|etc|al|Dr|Mr|Mrs|Ms|Prof|Fig|fig|No|no|Sec|sec|Vol|pp|p|St|approx|Eq|Ref)|\b[A-Z])$"
)
_PARAGRAPH_END = re.compile(r"\n\s*\n")


def split(document: Document, limits: Limits = LIMITS) -> tuple[Passage, ...]:
    """The passages of a document, in its order. Deterministic; a passage's text depends on its own unit alone."""
    return tuple(each_passage(document, limits))


def each_passage(document: Document, limits: Limits = LIMITS) -> Iterator[Passage]:
    """As `split`, one at a time: of a document of very many records no more than one is held."""
    if document.rows is not None:
        for block in document.rows():
            yield from _passages(document, 0, [block], limits)
        return
    key = attrgetter("group", "role", "event")
    introductions = Introductions()
    for (group, _, _), members in groupby(document.blocks, key=key):
        blocks = list(members)
        introductions.begin(blocks)
        for passage in _passages(document, group, blocks, limits):
            yield introductions.of(passage)


def _passages(
    document: Document, group: int, blocks: Sequence[TextBlock], limits: Limits
) -> Iterator[Passage]:
    event = blocks[0].event
    for text, role, path, first, last in _units(group, blocks, limits):
        if not is_visible(text):
            continue
        locator = Locator(
            first_line=first,
            last_line=last,
            date=document.date if event is None else None,
            headings=path,
            unit=document.unit,
        )
        yield Passage(text=text, locator=locator, role=role, event=event)


_Unit = tuple[str, str, tuple[str, ...], int, int]


def _units(group: int, blocks: Sequence[TextBlock], limits: Limits) -> Iterator[_Unit]:
    role = blocks[0].role
    if group and role == "table":
        yield from _table(blocks, limits)
    elif group and role != "code":
        yield from _list(blocks, limits)
    else:
        for block in blocks:
            if role == "code":
                yield from _code(block, limits)
            elif role == "boilerplate":
                yield from _boilerplate(block, limits)
            else:
                yield from _prose(block, limits)


# --- prose ------------------------------------------------------------------------------------------------------


def prose(text: str) -> str:
    """The normal form of running text: one line, single spaces, NFC."""
    return nfc(" ".join(text.split()))


def measure(text: str) -> int:
    """Length in words; scripts written without spaces count two characters, other long runs ten, as one word."""
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    return max(text.count(" ") + 1, (len(text) - wide) // 10) + wide // 2


def _prose(block: TextBlock, limits: Limits) -> Iterator[_Unit]:
    for text, first, last in _pieces(block, limits):
        yield text, _refined(block.role, text, block.headings), block.headings, first, last


def _refined(role: str, text: str, headings: tuple[str, ...]) -> str:
    """What the reader knows from markup stands; the rest is told from the text, as it will be at index time."""
    if role in ("code", "table", "toc", "heading"):
        return role
    found = role_of(text, headings)
    if role == "boilerplate" or found not in ("code", "table"):
        return role if role == "boilerplate" else found
    return "list" if "\n" in text else "prose"


def _pieces(block: TextBlock, limits: Limits) -> Iterator[tuple[str, int, int]]:
    """A block's text in normal form, cut where it is too long, with the lines that each piece stands in."""
    whole = prose(block.text)
    if measure(whole) <= limits.words:
        if whole:
            yield whole, block.first_line, block.last_line
        return
    text = nfc(block.text)
    ends = list(accumulate(_visible_length(line) for line in text.split("\n")))
    aligned = len(ends) == block.last_line - block.first_line + 1
    at = 0
    for part in _PARAGRAPH_END.split(text):
        for piece in cut_prose(prose(part), limits.words):
            begin, at = at, at + _visible_length(piece)
            if aligned:
                yield (
                    piece,
                    block.first_line + bisect_right(ends, begin),
                    block.first_line + bisect_left(ends, at),
                )
            else:
                yield piece, block.first_line, block.last_line


def _visible_length(text: str) -> int:
    return sum(map(len, text.split()))


def cut_prose(text: str, words: int = MAX_WORDS) -> list[str]:
    """Cut a normalised paragraph into balanced pieces of at most `words`: at sentence, clause or word ends."""
    done: list[str] = []
    todo = [text] if text else []
    while todo:
        piece = todo.pop()
        size = measure(piece)
        if size <= words:
            done.append(piece)
            continue
        parts = -(-size // words)
        todo.extend(reversed(_halves(piece, parts)))
    return done


def _halves(text: str, parts: int) -> list[str]:
    """Cut in two, so that about parts/2 of `parts` equal pieces lie on either side."""
    share = len(text) / parts
    target = max(1, int(share * (parts // 2)))
    for pattern, spread in ((_SENTENCE_END, 0.6), (_CLAUSE_END, 0.5), (_SPACE, 0.5)):
        low, high = max(1, int(target - share * spread)), min(len(text) - 1, int(target + share * spread))
        cuts = [
            match.end()
            for match in pattern.finditer(text, low, high)
            if not (
                pattern is _SENTENCE_END
                and _ABBREVIATED.search(text, max(0, match.start() - 8), match.start())
            )
        ]
        if cuts:
            target = min(cuts, key=lambda cut: abs(cut - target))
            break
    return [half for half in (text[:target].strip(), text[target:].strip()) if half]


# --- lists ------------------------------------------------------------------------------------------------------


def _list(blocks: Sequence[TextBlock], limits: Limits) -> Iterator[_Unit]:
    """Items of one list. Where most are very short it is one passage; else a short one joins the item before it."""
    texts = [prose(block.text) for block in blocks]
    sizes = [measure(text) for text in texts]
    short = sum(size < limits.short_words for size in sizes)
    if len(blocks) > 1 and (short * 2 > len(blocks) or blocks[0].role in ("toc", "boilerplate")):
        yield from _joined(blocks, texts, sizes, limits)
        return
    run: list[int] = []
    for n, size in enumerate(sizes):
        if size >= limits.short_words and any(sizes[k] >= limits.short_words for k in run):
            yield from _run(blocks, texts, sizes, run, limits)
            run = []
        run.append(n)
    yield from _run(blocks, texts, sizes, run, limits)


def _run(
    blocks: Sequence[TextBlock],
    texts: Sequence[str],
    sizes: Sequence[int],
    run: Sequence[int],
    limits: Limits,
) -> Iterator[_Unit]:
    if len(run) == 1:
        yield from _prose(blocks[run[0]], limits)
    elif run:
        yield from _joined([blocks[n] for n in run], [texts[n] for n in run], [sizes[n] for n in run], limits)


def _joined(
    blocks: Sequence[TextBlock], texts: Sequence[str], sizes: Sequence[int], limits: Limits
) -> Iterator[_Unit]:
    """One passage with one marked line per item, or balanced runs of items where that is too long."""
    total = sum(sizes)
    parts = -(-total // limits.words)
    limit = total / parts
    start, size = 0, 0
    for n in range(len(blocks) + 1):
        full = n < len(blocks) and n > start and size + sizes[n] / 2 > limit
        if n == len(blocks) or full:
            yield from _joined_run(blocks[start:n], texts[start:n], limits)
            start, size = n, 0
        if n < len(blocks):
            size += sizes[n]


def _joined_run(blocks: Sequence[TextBlock], texts: Sequence[str], limits: Limits) -> Iterator[_Unit]:
    if len(blocks) == 1:
        yield from _prose(blocks[0], limits)
        return
    base = min(block.depth for block in blocks)
    role = blocks[0].role
    if role == "reference" and all(text.startswith("[") for text in texts):
        text = "\n".join(texts)
    else:
        text = "\n".join(
            f"{'  ' * (block.depth - base)}- {item}" for block, item in zip(blocks, texts, strict=True)
        )
    first, last = blocks[0].first_line, max(block.last_line for block in blocks)
    yield nfc(text), _refined(role, text, blocks[0].headings), blocks[0].headings, first, last


# --- code, tables, metadata -------------------------------------------------------------------------------------


def _code(block: TextBlock, limits: Limits) -> Iterator[_Unit]:
    """Lines as they stand, without common indentation and trailing space; long blocks are cut at blank lines."""
    lines = [line.rstrip() for line in textwrap.dedent(block.text).split("\n")]
    aligned = len(lines) == block.last_line - block.first_line + 1
    for begin, end in _code_pieces(lines, limits.code_lines):
        while begin < end and not lines[begin]:
            begin += 1
        while end > begin and not lines[end - 1]:
            end -= 1
        if begin == end:
            continue
        first, last = (
            (block.first_line + begin, block.first_line + end - 1)
            if aligned
            else (block.first_line, block.last_line)
        )
        text = nfc(textwrap.dedent("\n".join(lines[begin:end])))
        for piece in _chunks(text):
            yield piece, "code", block.headings, first, last


def _code_pieces(lines: Sequence[str], most: int) -> list[tuple[int, int]]:
    parts = -(-len(lines) // most)
    if parts == 1:
        return [(0, len(lines))]
    bounds = [0]
    for k in range(1, parts):
        target = k * len(lines) // parts
        near = [
            n for n in range(max(bounds[-1] + 1, target - 15), min(len(lines), target + 15)) if not lines[n]
        ]
        bounds.append(min(near, key=lambda n: (abs(n - target), n)) if near else max(target, bounds[-1] + 1))
    bounds.append(len(lines))
    return list(pairwise(bounds))


def _chunks(text: str, limit: int = 6000) -> Iterator[str]:
    for start in range(0, len(text), limit):
        if piece := text[start : start + limit].strip("\n"):
            yield piece


def _table(rows: Sequence[TextBlock], limits: Limits) -> Iterator[_Unit]:
    head = [row for row in rows if row.head]
    body = [row for row in rows if not row.head] or head
    names = (
        tuple(" ".join(parts).strip() for parts in zip(*(row.cells for row in head), strict=False))
        if head
        else ()
    )
    path = rows[0].headings
    lines = [prose(" | ".join(row.cells)) for row in rows]
    if len(rows) <= limits.table_rows and sum(map(measure, lines)) <= limits.words:
        yield "\n".join(lines), "table", path, rows[0].first_line, max(row.last_line for row in rows)
        return
    for row in body:
        named = []
        for n, cell in enumerate(row.cells):
            if cell:
                name = names[n] if n < len(names) else ""
                named.append(f"{name}: {cell}" if name else cell)
        text = prose(" | ".join(named))
        for piece in cut_prose(text, limits.words):
            yield piece, "table", path, row.first_line, row.last_line


def _boilerplate(block: TextBlock, limits: Limits) -> Iterator[_Unit]:
    """Metadata keeps one line per field."""
    lines = [prose(line) for line in block.text.split("\n")]
    text = nfc("\n".join(line for line in lines if line))
    if measure(text) > 2 * MAX_WORDS:
        yield from _prose(block, limits)
    elif text:
        yield text, "boilerplate", block.headings, block.first_line, block.last_line
