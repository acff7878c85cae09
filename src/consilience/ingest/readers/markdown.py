"""Markdown: CommonMark with tables and strikethrough, front matter, and the HTML that people put in between."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from consilience.ingest import metadata
from consilience.ingest.decoding import Decoded
from consilience.ingest.model import Document, TextBlock
from consilience.ingest.readers import admonitions, inline_html
from consilience.ingest.readers.media import MARKDOWN, READERS
from consilience.ingest.readers.outline import Outline

NAME, VERSION = READERS[MARKDOWN]
MAX_NESTING = 100
MAX_INLINE = 50_000
_GENERIC = frozenset(
    [
        "summary",
        "abstract",
        "introduction",
        "motivation",
        "overview",
        "background",
        "rationale",
        "contents",
        "preface",
        "status",
        "description",
        "proposal",
        "goals",
        "problem",
        "meta",
        "changelog",
    ]
) | {
    "table of contents",
    "one-paragraph summary",
    "one paragraph summary",
    "tl;dr",
    "feature name",
    "proposed solution",
}
_FRONT = re.compile(r"(---|\+\+\+)[ \t]*\n((?:.*\n)*?)(?:\1|\.\.\.)[ \t]*(?:\n|$)")
_BARE_MARKER = re.compile(r"(?:[*+-]|\d{1,9}[.)])?")
_FRONT_KEY = re.compile(r"""^["']?([A-Za-z_][\w .-]*?)["']?[ \t]*[:=][ \t]*(.*)$""", re.MULTILINE)


def read(decoded: Decoded, name: str) -> Document:
    """Read CommonMark text. Never raises on any text."""
    return _Reader(decoded, name).document()


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable(["table", "strikethrough"])
    rules = {rule.name: rule.fn for rule in parser.inline.ruler.__rules__}
    for rule in ("backticks", "link", "image", "html_inline"):
        parser.inline.ruler.at(rule, _counting_lines(rules[rule]))
    parser.core.ruler.at("inline", _inline)
    return parser


def _inline(state: StateCore) -> None:
    """Inline markup of every paragraph. A huge one is taken as it stands: its time would grow with the square."""
    for token in state.tokens:
        if token.type != "inline":
            continue
        token.children = token.children or []
        if len(token.content) <= MAX_INLINE:
            state.md.inline.parse(token.content, state.md, state.env, token.children)
        else:
            token.children.append(Token("text", "", 0, content=token.content))


def _counting_lines(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """Wrap an inline rule so that line ends it swallows (in a code span, a destination) are noted on its last token."""

    def wrapped(state: StateInline, silent: bool) -> bool:
        start, before = state.pos, len(state.tokens)
        if not rule(state, silent):
            return False
        swallowed = state.src.count("\n", start, state.pos)
        if swallowed and not silent and len(state.tokens) > before:
            token = state.tokens[-1]
            if token.type == "code_inline":
                width = len(token.markup)
                token.content = state.src[start + width : state.pos - width]
            else:
                kept = sum(map(_line_ends, state.tokens[before:]))
                token.meta = {**token.meta, "lines": swallowed - kept}
        return True

    return wrapped


def _line_ends(token: Token) -> int:
    if token.type in ("softbreak", "hardbreak"):
        return 1
    return int(token.meta.get("lines", 0)) + token.content.count("\n")


class _Reader:
    def __init__(self, decoded: Decoded, name: str) -> None:
        self.decoded = decoded
        self.name = name
        self.text = admonitions.plain(decoded.text)
        self.lines = self.text.split("\n")
        self.warnings = list(decoded.warnings)
        self.blocks: list[TextBlock] = []
        self.covered = bytearray(len(self.lines) + 1)
        self.groups = 0
        self.fields: dict[str, str] = {}
        self.in_head = True
        self.front: list[str] = []
        self.outline = Outline("")

    def document(self) -> Document:
        text = self._front_matter(self.text)
        env: dict[str, Any] = {}
        tokens = _parser().parse(text, env)
        self.outline = Outline(self._title(tokens))
        if self.front:
            self._emit("\n".join(self.front), "boilerplate", 1, len(self.front) + 1)
        self._walk(tokens)
        self._uncovered(env)
        return Document(
            title=self.outline.title,
            date=metadata.date_of(self.fields),
            blocks=self.outline.with_bare_headings(self.blocks),
            reader=NAME,
            version=VERSION,
            encoding=self.decoded.encoding,
            warnings=tuple(self.warnings),
        )

    # --- the head ---------------------------------------------------------------------------------------------

    def _front_matter(self, text: str) -> str:
        match = _FRONT.match(text)
        if match is None:
            return text
        inside = match[2]
        pairs = _FRONT_KEY.findall(inside)
        first = inside.lstrip().split("\n", 1)[0]
        if not pairs or not (_FRONT_KEY.match(first) or first.startswith("#")):
            return text
        for key, value in pairs:
            self.fields.setdefault(key.lower().replace("_", " "), value.strip().strip("\"'").strip())
        ends = match[0].rstrip("\n").count("\n") + 1
        self.front = inside.rstrip().split("\n")
        self.covered[0:ends] = b"\x01" * ends
        return "\n" * match[0].count("\n") + text[match.end() :]

    def _title(self, tokens: Sequence[Token]) -> str:
        declared = self.fields.get("title", "")
        if declared:
            return declared
        headings = [
            (token, _plain(tokens[i + 1].children or ()))
            for i, token in enumerate(tokens)
            if token.type == "heading_open" and token.level == 0
        ]
        token, text = next(((t, text) for t, text in headings if text), (None, ""))
        generic = text.casefold().strip(" :.") in _GENERIC
        if token is not None and token.tag == "h1":
            if not generic or sum(t.tag == "h1" for t, _ in headings) == 1:
                return text
        elif token is not None and not generic and _heads_fields(tokens, token):
            return text
        return metadata.readable_name(self.name)

    # --- the tokens -------------------------------------------------------------------------------------------

    def _walk(self, tokens: Sequence[Token]) -> None:
        lists: list[int] = []
        owner: object = None
        quiet: list[Token] = []
        for i, token in enumerate(tokens):
            kind = token.type
            if kind == "paragraph_open":
                item = quiet[-1] if quiet else None
                self._paragraph(token, tokens[i + 1], lists, item is not None and item is owner)
                owner = item
                continue
            if kind == "heading_open":
                self._heading(token, tokens[i + 1])
            elif kind in ("bullet_list_open", "ordered_list_open"):
                if not lists:
                    self.groups += 1
                lists.append(self.groups)
            elif kind in ("bullet_list_close", "ordered_list_close"):
                group = lists.pop()
                if not lists:
                    self._judge_list(group)
            elif kind == "list_item_open":
                quiet.append(token)
            elif kind == "list_item_close":
                quiet.pop()
            elif kind == "table_open":
                self._table(tokens, i)
            elif kind in ("fence", "code_block"):
                self._code(token)
            elif kind == "html_block":
                self._html(token)
            elif kind == "hr":
                self._cover(token)
            elif kind in ("inline", "paragraph_close"):
                continue
            owner = None

    def _heading(self, token: Token, inline: Token) -> None:
        self._cover(token)
        text = " ".join(_plain(inline.children or ()).split())
        level = int(token.tag[1:])
        if (
            token.level == 0
            and text.casefold() == self.outline.title.casefold()
            and not self.outline.path[1:]
        ):
            return
        self.in_head = False
        self.outline.enter(level, text, (token.map or [0])[0] + 1)

    def _paragraph(self, token: Token, inline: Token, lists: list[int], continues: bool) -> None:
        first, last = self._cover(token)
        text = _plain(inline.children or ())
        if not text.strip():
            return
        if self.in_head and not lists and self._head_fields(text):
            self._emit(text, "boilerplate", first, last)
            return
        if lists:
            if continues and self.blocks and self.blocks[-1].group == lists[-1]:
                self._continue(text, first, last)
                return
            role = _link_role(inline.children or ()) or "list"
            self._emit(text, role, first, last, group=lists[-1], depth=len(lists) - 1)
            return
        role = _link_role(inline.children or ()) or "prose"
        if re.match(r"\[\^[^\]\s]+\]:", text):
            role = "reference"
        self._emit(text, role, first, last)

    def _continue(self, text: str, first: int, last: int) -> None:
        """Add a paragraph to the list item that the last block began, as far below as it stands in the source."""
        block = self.blocks.pop()
        gap = "\n" * max(2, first - block.last_line)
        joined = f"{block.text}{gap}{text}"
        self._emit(joined, block.role, block.first_line, last, group=block.group, depth=block.depth)

    def _head_fields(self, text: str) -> bool:
        lines = text.split("\n")
        pairs = [pair for line in lines if (pair := metadata.field(line))]
        if not pairs or pairs[0][0].lower() not in metadata.HEAD_KEYS:
            return False
        for key, value in pairs:
            self.fields.setdefault(key.lower(), value)
        return True

    def _judge_list(self, group: int) -> None:
        """Decide what a finished outermost list is as a whole: the head's fields, contents, links or a list."""
        start = len(self.blocks)
        while start and (self.blocks[start - 1].group == group or self.blocks[start - 1].group == 0):
            start -= 1
        items = [b for b in self.blocks[start:] if b.group == group]
        if not items:
            return
        pairs = [pair for b in items if (pair := metadata.field(b.text))]
        role = ""
        if (
            self.in_head
            and len(pairs) * 2 > len(items)
            and any(k.lower() in metadata.HEAD_KEYS for k, _ in pairs)
        ):
            role = "boilerplate"
            for key, value in pairs:
                self.fields.setdefault(key.lower(), value)
        else:
            for candidate in ("toc", "reference"):
                if sum(b.role == candidate for b in items) * 5 >= len(items) * 4:
                    role = candidate
            if role != "toc":
                self.in_head = False
        role = role or "list"
        for i in range(start, len(self.blocks)):
            block = self.blocks[i]
            if block.group == group:
                self.blocks[i] = _with_role(block, role)

    def _table(self, tokens: Sequence[Token], at: int) -> None:
        self._cover(tokens[at])
        self.groups += 1
        row: list[str] = []
        head = False
        for i in range(at + 1, len(tokens)):
            token = tokens[i]
            if token.type == "table_close":
                break
            if token.type == "thead_open":
                head = True
            elif token.type == "tbody_open":
                head = False
            elif token.type == "tr_open":
                row = []
                line = (token.map or tokens[at].map or [0, 1])[0] + 1
            elif token.type == "inline":
                row.append(" ".join(_plain(token.children or ()).split()))
            elif token.type == "tr_close" and any(row):
                self._emit(
                    " | ".join(row), "table", line, line, group=self.groups, cells=tuple(row), head=head
                )

    def _code(self, token: Token) -> None:
        self.in_head = False
        first, last = self._cover(token)
        lines = token.content.split("\n")
        start = first + 1 if token.type == "fence" else first
        while lines and not lines[-1].strip():
            lines.pop()
        while lines and not lines[0].strip():
            lines.pop(0)
            start += 1
        if lines:
            self._emit("\n".join(lines), "code", start, min(start + len(lines) - 1, last))

    def _html(self, token: Token) -> None:
        first, _ = self._cover(token)
        table = 0
        for piece in inline_html.blocks(token.content):
            if piece.cells and not table:
                self.groups += 1
                table = self.groups
            self._emit(piece.text, piece.role, first + piece.first, first + piece.last,
                       group=table if piece.cells else 0, cells=piece.cells, head=piece.head)  # fmt: skip

    # --- common -----------------------------------------------------------------------------------------------

    def _cover(self, token: Token) -> tuple[int, int]:
        begin, end = token.map or [0, 1]
        self.covered[begin:end] = b"\x01" * (end - begin)
        last = max(begin + 1, min(end, len(self.lines)))
        while last > begin + 1 and not self.lines[last - 1].strip():
            last -= 1
        return begin + 1, last

    def _emit(
        self, text: str, role: str, first: int, last: int, *, group: int = 0, depth: int = 0,
        cells: tuple[str, ...] = (), head: bool = False,
    ) -> None:  # fmt: skip
        self.blocks.append(
            TextBlock(text=text, role=role, headings=self.outline.path, first_line=first, last_line=last, group=group,
                      depth=depth, cells=cells, head=head)
        )  # fmt: skip

    def _uncovered(self, env: dict[str, Any]) -> None:
        """Lines that the parser gave to no token: definitions are dropped, anything else is kept as it stands."""
        definitions = [*env.get("references", {}).items()]
        definitions += [(ref.get("label", ""), ref) for ref in env.get("duplicate_refs", ())]
        for label, reference in definitions:
            begin, end = reference.get("map") or (0, 0)
            self.covered[begin:end] = b"\x01" * (end - begin)
            if label.startswith("^"):
                self._emit("\n".join(self.lines[begin:end]), "reference", begin + 1, max(begin + 1, end))
        lost = 0
        for first, last in self._runs():
            text = "\n".join(self.lines[first - 1 : last])
            if any(not _BARE_MARKER.fullmatch(line.strip(" \t>")) for line in self.lines[first - 1 : last]):
                lost += last - first + 1
                self._emit(text, "prose", first, last)
        if lost:
            self.warnings.append(f"{lost} lines nested too deeply for their structure: taken as plain text")

    def _runs(self) -> Iterator[tuple[int, int]]:
        first = 0
        for number, line in enumerate(self.lines, start=1):
            if not self.covered[number - 1] and line.strip():
                first = first or number
            elif first:
                yield first, number - 1
                first = 0
        if first:
            yield first, len(self.lines)


def _heads_fields(tokens: Sequence[Token], heading: Token) -> bool:
    """Whether a heading is the first thing in the document and declared fields are the second."""
    inlines = [token for token in tokens if token.type == "inline"][:2]
    if len(inlines) < 2 or inlines[0].map != heading.map:
        return False
    pair = metadata.field(_plain(inlines[1].children or ()))
    return pair is not None and pair[0].lower() in metadata.HEAD_KEYS


def _with_role(block: TextBlock, role: str) -> TextBlock:
    return block if block.role == role else msgspec.structs.replace(block, role=role)


def _plain(children: Sequence[Token]) -> str:
    """Inline tokens as the text that a reader sees; one line end per source line end."""
    parts: list[str] = []
    for token in children:
        kind = token.type
        if kind in ("text", "code_inline"):
            parts.append(token.content)
        elif kind in ("softbreak", "hardbreak"):
            parts.append("\n")
        elif kind == "image":
            parts.append(" ".join(_plain(token.children or ()).split()))
            parts.append("\n" * int(token.meta.get("lines", 0)))
        elif kind == "html_inline":
            parts.append(inline_html.inline(token.content))
        elif token.meta:
            parts.append("\n" * int(token.meta.get("lines", 0)))
    return "".join(parts)


def _link_role(children: Sequence[Token]) -> str:
    """`toc` or `reference` where nothing but links stands: all of them within the document, or not."""
    inside = 0
    hrefs: list[str] = []
    for token in children:
        if token.type == "link_open":
            inside += 1
            hrefs.append(str(token.attrs.get("href", "")))
        elif token.type == "link_close":
            inside -= 1
        elif not inside and token.content and re.search(r"\w", token.content):
            return ""
    if not hrefs:
        return ""
    return "toc" if all(href.startswith("#") for href in hrefs) else "reference"
