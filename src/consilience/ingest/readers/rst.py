"""reStructuredText by its structure: sections, lists, literal blocks, directives, tables, notes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from consilience.ingest import metadata
from consilience.ingest.decoding import Decoded
from consilience.ingest.model import Document, TextBlock
from consilience.ingest.readers import inline_html, rst_tables
from consilience.ingest.readers.media import READERS, RST
from consilience.ingest.readers.outline import Outline
from consilience.ingest.readers.rst_inline import normal_name, render

NAME, VERSION = READERS[RST]
MAX_DEPTH = 40

_RULE = re.compile(r"^([!-/:-@\[-`{-~])\1*\s*$")
_BULLET = re.compile(r"^([-*+•‣⁃])(\s+|$)")
_ENUM = re.compile(r"^(\(?(?:\d{1,4}|[a-zA-Z]|[ivxlcdm]{1,6}|[IVXLCDM]{1,6}|#)[.)])(\s+|$)")
_FIELD = re.compile(r"^:(?![:\s])((?:[^\\:\n]|\\.|:(?!\s|$|`))+?):(\s+|$)")
_OPTION = re.compile(
    r"^(?:-\w|--\w[\w-]*)(?:[ =]<?[\w.-]+>?)?(?:, (?:-\w|--\w[\w-]*)(?:[ =]<?[\w.-]+>?)?){0,4}(?:  |$)"
)
_NOTE = re.compile(r"^\.\. +\[([#*]?[\w.:+-]*)\](?:\s+|$)")
_HYPERLINK = re.compile(r"^\.\. +(?:_(`(?:[^`\\]|\\.)+`|(?:[^\\:]|\\.|:(?!\s|$))+)|_):(?:\s+|$)")
_SUBSTITUTION = re.compile(r"^\.\. +\|([^|]+)\|\s+([\w-]+)::\s*(.*)$")
_DIRECTIVE = re.compile(r"^\.\. +([A-Za-z][\w.+:-]*)\s?::(?:\s+|$)")
_HEADER = re.compile(r"^([A-Za-z][A-Za-z0-9-]*):(?:\s|$)")
_CODE = frozenset(
    [
        "code",
        "code-block",
        "sourcecode",
        "parsed-literal",
        "productionlist",
        "math",
        "literalinclude",
        "doctest",
        "testcode",
        "prompt",
    ]
)
_SILENT = frozenset(
    (
        "contents", "highlight", "include", "sectnum", "section-numbering", "default-role", "role", "currentmodule",
        "module", "index", "sectionauthor", "codeauthor", "meta", "target-notes", "header", "footer", "title",
        "default-domain", "toctree", "only", "tabularcolumns",
    )
)  # fmt: skip


@dataclass(eq=False)
class _Unit:
    """The list item, definition or note that paragraphs are read into."""

    role: str
    group: int
    depth: int = 0
    last: int = field(default=-1)


def read(decoded: Decoded, name: str) -> Document:
    """Read reStructuredText. Never raises on any text; markup that is wrong is read as the text it is."""
    return _Reader(decoded, name).document()


class _Reader:
    def __init__(self, decoded: Decoded, name: str) -> None:
        self.decoded = decoded
        self.name = name
        self.lines = [line.expandtabs(8).rstrip() for line in decoded.text.split("\n")]
        self.blocks: list[TextBlock] = []
        self.groups = 0
        self.note_group = 0
        self.fields: dict[str, str] = {}
        self.styles: list[str] = []
        self.targets: set[str] = set()
        self.substitutions: dict[str, str] = {}
        self.outline = Outline("")

    def document(self) -> Document:
        self._definitions()
        start, header = self._header()
        self.outline = Outline(self._title(start))
        if not header:
            self._docinfo()
        if header:
            self._emit(header, "boilerplate", start - header.count("\n") - 1, start - 1)
        self._body(start, len(self.lines), 0, 0, None)
        return Document(
            title=self.outline.title,
            date=metadata.date_of(self.fields),
            blocks=self.outline.with_bare_headings(self.blocks),
            reader=NAME,
            version=VERSION,
            encoding=self.decoded.encoding,
            warnings=self.decoded.warnings,
        )

    # --- before the body --------------------------------------------------------------------------------------

    def _definitions(self) -> None:
        for i, raw in enumerate(self.lines):
            line = raw.lstrip()
            if not line.startswith(".. "):
                continue
            if match := _HYPERLINK.match(line):
                if match[1]:
                    self.targets.add(normal_name(match[1].strip("`").replace("\\", "")))
            elif match := _SUBSTITUTION.match(line):
                text = match[3]
                if match[2] == "replace":
                    for more in self.lines[i + 1 : self._block_end(i + 1, len(self.lines), _indent(raw) + 1)]:
                        if not more.strip():
                            break
                        text += " " + more.strip()
                self.substitutions[normal_name(match[1])] = render(text)

    def _header(self) -> tuple[int, str]:
        """Read the header of a PEP, or a field list at the top: the first line after it, and what it says."""
        first = next((i for i, line in enumerate(self.lines) if line.strip()), len(self.lines))
        end = first
        while end < len(self.lines) and self.lines[end].strip():
            end += 1
        head = self.lines[first:end]
        if not head or not (_HEADER.match(head[0]) or _FIELD.match(head[0])):
            return 0, ""
        pattern = _HEADER if _HEADER.match(head[0]) else _FIELD
        if not all(pattern.match(line) or line[0].isspace() for line in head):
            return 0, ""
        shown: list[str] = []
        key = ""
        for line in head:
            if match := pattern.match(line):
                key = match[1].lower()
                value = line[match.end() :]
                self.fields.setdefault(key, "")
                shown.append(f"{match[1]}: {value}".rstrip())
            else:
                value = line
                shown.append(line)
            self.fields[key] = f"{self.fields[key]} {render(value).strip()}".strip()
        if pattern is _HEADER and not (self.fields.keys() & metadata.HEAD_KEYS):
            return 0, ""
        return end, render("\n".join(shown))

    def _docinfo(self) -> None:
        """The fields below the title (author, date), which stay in the body: what they declare is remembered."""
        shown = [i for i, line in enumerate(self.lines[:60]) if line.strip()][:8]
        first = next((i for i in shown if _FIELD.match(self.lines[i])), None)
        if first is None:
            return
        for line in self.lines[first:]:
            match = _FIELD.match(line)
            if match is None and not line[:1].isspace():
                return
            if match is not None and match[1].lower() in metadata.HEAD_KEYS:
                self.fields.setdefault(match[1].lower(), render(line[match.end() :]).strip())

    def _title(self, start: int) -> str:
        title = self.fields.get("title", "")
        if title:
            number = self.fields.get("pep", "")
            return f"PEP {number} – {title}" if number else title
        i = start
        while i < len(self.lines):
            line = self.lines[i]
            if line.strip() and not (line.startswith("..") or line[0].isspace()):
                break
            i += 1
        section = self._section(i, len(self.lines)) if i < len(self.lines) else None
        if section:
            return section[0]
        return metadata.readable_name(self.name)

    # --- structure --------------------------------------------------------------------------------------------

    def _block_end(self, i: int, end: int, indent: int) -> int:
        """The first line from i on that has text left of `indent`; trailing blank lines are given back."""
        j = last = i
        while j < end:
            line = self.lines[j]
            if line:
                if _indent(line) < indent:
                    break
                last = j + 1
            j += 1
        return last

    def _body(self, i: int, end: int, indent: int, depth: int, unit: _Unit | None) -> None:
        list_group = 0
        while i < end:
            line = self.lines[i]
            if not line:
                i += 1
                continue
            at = _indent(line)
            if at != indent:
                stop = max(i + 1, self._block_end(i, end, at))
                if depth >= MAX_DEPTH:
                    self._text(i, stop, at, unit)
                else:
                    self._body(
                        i, stop, at, depth + 1, unit if at > indent and unit and unit.last >= 0 else None
                    )
                i = stop
                continue
            text = line[indent:]
            if indent == 0 and depth == 0 and (section := self._section(i, end)):
                i = self._enter(*section, i)
                list_group = 0
                continue
            if depth < MAX_DEPTH and (marker := self._marker(i, end, indent)):
                if not list_group:
                    list_group = self._group(unit)
                i = self._item(i, end, indent, depth, marker, list_group, unit)
                continue
            if text[0] == "." and (text == ".." or text.startswith(".. ")):
                i = self._explicit(i, end, indent, depth, unit)
                continue
            step = self._special(i, end, indent, text)
            if step:
                list_group, i = 0, step
                continue
            if depth < MAX_DEPTH and self._defines(i, end, indent):
                if not list_group:
                    list_group = self._group(unit)
                i = self._definition(i, end, indent, depth, list_group, unit)
                continue
            list_group = 0
            i = self._paragraph(i, end, indent, unit)

    def _group(self, unit: _Unit | None) -> int:
        if unit and unit.group and unit.role == "list":
            return unit.group
        self.groups += 1
        return self.groups

    def _section(self, i: int, end: int) -> tuple[str, str, int] | None:
        """(title, style, lines used) where a section title stands at line i."""
        line = self.lines[i]
        if i + 2 < end and _RULE.match(line) and (below := _RULE.match(self.lines[i + 2])):
            title = self.lines[i + 1].strip()
            if title and below[1] == line[0] and len(line) >= min(4, len(title)) and not _RULE.match(title):
                return title, line[0] * 2, 3
        if i + 1 < end and not line[0].isspace() and (below := _RULE.match(self.lines[i + 1])):
            length = len(self.lines[i + 1])
            if not _RULE.match(line) and (length >= len(line) or length >= 4):
                return line.strip(), below[1], 2
        return None

    def _enter(self, title: str, style: str, used: int, i: int) -> int:
        if style not in self.styles:
            self.styles.append(style)
        heading = " ".join(render(title, self.targets, self.substitutions).split())
        level = self.styles.index(style) + 1
        self.note_group = 0
        if heading != self.outline.title or self.blocks:
            self.outline.enter(level, heading, i + used - 1)
        return i + used

    def _marker(self, i: int, end: int, indent: int) -> re.Match[str] | None:
        text = self.lines[i][indent:]
        match = _BULLET.match(text) or _FIELD.match(text)
        if match:
            return match
        match = _ENUM.match(text)
        if match is None:
            return None
        following = self.lines[i + 1] if i + 1 < end else ""
        if not following or _indent(following) >= indent + 2 or _ENUM.match(following[indent:]):
            return match
        return None

    def _item(
        self,
        i: int,
        end: int,
        indent: int,
        depth: int,
        marker: re.Match[str],
        group: int,
        outer: _Unit | None,
    ) -> int:
        is_field = marker.re is _FIELD
        width = indent + marker.end()
        rest = self.lines[i][width:]
        following = next((j for j in range(i + 1, end) if self.lines[j]), end)
        if not rest or is_field:
            deeper = _indent(self.lines[following]) if following < end else 0
            width = deeper if deeper > indent else indent + 1
        stop = max(i + 1, self._block_end(i + 1, end, width if not is_field else indent + 1))
        unit = _Unit("list", group, outer.depth + 1 if outer and outer.role == "list" else 0)
        if is_field:
            self._start(unit, f"{marker[1]}: {rest}".rstrip(), i)
            self._body(i + 1, stop, width, depth + 1, unit)
        else:
            self.lines[i] = " " * width + rest if rest else ""
            self._body(i, stop, width, depth + 1, unit)
        return stop

    def _defines(self, i: int, end: int, indent: int) -> bool:
        return i + 1 < end and bool(self.lines[i + 1]) and _indent(self.lines[i + 1]) > indent

    def _definition(self, i: int, end: int, indent: int, depth: int, group: int, outer: _Unit | None) -> int:
        stop = self._block_end(i + 1, end, indent + 1)
        term = self.lines[i].strip()
        literal = term.endswith("::")
        if literal:
            term = term[:-1]
        unit = _Unit("list", group, outer.depth + 1 if outer and outer.role == "list" else 0)
        self._start(unit, term if term[-1] in ".:,;?!—" else f"{term}:", i)
        if literal:
            self._literal(i + 1, stop)
        else:
            self._body(i + 1, stop, _indent(self.lines[i + 1]), depth + 1, unit)
        return stop

    def _special(self, i: int, end: int, indent: int, text: str) -> int:
        """Tables, doctests, line blocks, options, transitions. Returns the line after it, or 0."""
        first = text[0]
        if (first == "+" and rst_tables.GRID.match(text)) or (first == "=" and rst_tables.SIMPLE.match(text)):
            return self._table(i, end, indent)
        if first == ">" and text.startswith(">>>"):
            return self._doctest(i, end)
        if first == "|" and (text == "|" or text.startswith("| ")):
            stop = i
            while stop < end and self.lines[stop][indent:].startswith("|"):
                self.lines[stop] = " " * (indent + 1) + self.lines[stop][indent + 1 :]
                stop += 1
            while stop < end and self.lines[stop] and _indent(self.lines[stop]) > indent:
                stop += 1
            self._text(i, stop, indent, None)
            return stop
        if first in "-/" and _OPTION.match(text):
            stop = max(i + 1, self._block_end(i + 1, end, indent + 1))
            self._text(i, stop, indent, None)
            return stop
        if _RULE.match(text) and len(text) >= 4:
            return i + 1
        if text.startswith("__ "):
            return max(i + 1, self._block_end(i + 1, end, indent + 1))
        return 0

    def _paragraph(self, i: int, end: int, indent: int, unit: _Unit | None) -> int:
        stop = i + 1
        while stop < end and self.lines[stop] and _indent(self.lines[stop]) == indent:
            if indent == 0 and self._section(stop, end) and self.lines[stop - 1].endswith("::"):
                break
            stop += 1
        literal = self.lines[stop - 1].endswith("::")
        if literal:
            shown = self.lines[stop - 1]
            bare = shown.strip() == "::"
            self.lines[stop - 1] = (
                "" if bare else (shown[:-2].rstrip() if shown[:-2].endswith(" ") else shown[:-1])
            )
        self._text(i, stop, indent, unit)
        if not literal:
            return stop
        after = next((j for j in range(stop, end) if self.lines[j]), end)
        if after == end:
            return stop
        if _indent(self.lines[after]) > indent:
            last = self._block_end(after, end, indent + 1)
            self._literal(after, last)
            return last
        quote = self.lines[after][indent : indent + 1]
        if quote and not quote.isalnum() and after > stop:
            last = after
            while last < end and self.lines[last][indent : indent + 1] == quote:
                last += 1
            self._literal(after, last)
            return last
        return stop

    # --- explicit markup --------------------------------------------------------------------------------------

    def _explicit(self, i: int, end: int, indent: int, depth: int, unit: _Unit | None) -> int:
        text = self.lines[i][indent:]
        stop = max(i + 1, self._block_end(i + 1, end, indent + 1))
        if text == ".." and (i + 1 >= end or not self.lines[i + 1]):
            return i + 1
        if match := _NOTE.match(text):
            if not self.note_group:
                self.groups += 1
                self.note_group = self.groups
            note = _Unit("reference", self.note_group)
            label = match[1].lstrip("#") or match[1]
            self._start(note, f"[{label}] {text[match.end() :]}", i)
            if i + 1 < stop and depth < MAX_DEPTH:
                following = next(j for j in range(i + 1, stop) if self.lines[j])
                self._body(i + 1, stop, _indent(self.lines[following]), depth + 1, note)
            return stop
        if _HYPERLINK.match(text) or _SUBSTITUTION.match(text):
            return stop
        if match := _DIRECTIVE.match(text):
            self._directive(match[1].lower(), text[match.end() :].strip(), i, stop, depth)
        return stop

    def _directive(self, name: str, argument: str, i: int, stop: int, depth: int) -> None:
        """A directive at line i whose content ends before `stop`."""
        content = i + 1
        options: dict[str, str] = {}
        while content < stop and (match := _FIELD.match(self.lines[content].strip())):
            options[match[1]] = self.lines[content].strip()[match.end() :]
            content += 1
        while content < stop and not self.lines[content]:
            content += 1
        indent = min((_indent(line) for line in self.lines[content:stop] if line), default=0)
        if name in _CODE:
            inline_code = name in ("math", "productionlist") and argument
            self._literal(i if inline_code else content, stop, drop=f".. {name}::" if inline_code else "")
        elif name == "raw":
            for piece in inline_html.blocks("\n".join(self.lines[content:stop])):
                self._emit(piece.text, piece.role, content + piece.first, content + piece.last)
        elif name in ("image", "figure"):
            if alt := options.get("alt"):
                self._emit(alt, "prose", i, max(i, content - 1))
            self._nested(content, stop, indent, depth)
        elif name == "list-table":
            self._emit(self._inline(argument), "prose", i, i)
            self._list_table(content, stop, indent, int(options.get("header-rows", "0") or 0))
        elif name == "csv-table":
            self._emit(self._inline(argument), "prose", i, i)
            self._csv(options.get("header", ""), content, stop)
        elif name not in _SILENT:
            if argument:
                self._emit(self._inline(argument), "prose", i, i)
            self._nested(content, stop, indent, depth)

    def _nested(self, i: int, stop: int, indent: int, depth: int) -> None:
        if i < stop and depth < MAX_DEPTH:
            self._body(i, stop, indent, depth + 1, None)
        elif i < stop:
            self._text(i, stop, indent, None)

    # --- tables -----------------------------------------------------------------------------------------------

    def _table(self, i: int, end: int, indent: int) -> int:
        lines = [line[indent:] if _indent(line) >= indent else line for line in self.lines[i:end]]
        table = rst_tables.grid(lines) if lines[0].startswith("+") else rst_tables.simple(lines)
        if not table.rows:
            stop = max(i + 1, i + table.used)
            self._text(i, stop, indent, None)
            return stop
        self._rows(table.rows, i)
        return i + table.used

    def _list_table(self, i: int, stop: int, indent: int, header_rows: int) -> None:
        rows = rst_tables.list_table(self.lines[i:stop], indent, header_rows)
        if rows:
            self._rows(rows, i)
        elif i < stop:
            self._text(i, stop, indent, None)

    def _csv(self, header: str, i: int, stop: int) -> None:
        rows = rst_tables.csv_table(header, [line.strip() for line in self.lines[i:stop]])
        self._rows(rows, i)

    def _rows(self, rows: Sequence[rst_tables.Row], offset: int) -> None:
        self.groups += 1
        for row in rows:
            cells = tuple(" ".join(self._inline(cell).split()) for cell in row.cells)
            if any(cells):
                self._add(
                    TextBlock(text=" | ".join(cells), role="table", headings=self.outline.path,
                              first_line=offset + row.first + 1, last_line=offset + row.last + 1,
                              group=self.groups, cells=cells, head=row.head)
                )  # fmt: skip

    # --- text -------------------------------------------------------------------------------------------------

    def _inline(self, text: str) -> str:
        return render(text, self.targets, self.substitutions)

    def _text(self, i: int, stop: int, indent: int, unit: _Unit | None) -> None:
        while stop > i and not self.lines[stop - 1]:
            stop -= 1
        if stop == i:
            return
        text = self._inline("\n".join(line[min(indent, _indent(line)) :] for line in self.lines[i:stop]))
        if unit is None:
            self._emit(text, "prose", i, stop - 1)
        elif unit.last >= 0 and unit.last == len(self.blocks) - 1:
            block = self.blocks.pop()
            joined = block.text + "\n" * (i + 1 - block.last_line) + text
            self._emit(joined, unit.role, block.first_line - 1, stop - 1, unit)
        else:
            self._emit(text, unit.role, i, stop - 1, unit)

    def _start(self, unit: _Unit, text: str, i: int) -> None:
        self._emit(self._inline(text), unit.role, i, i, unit)

    def _doctest(self, i: int, end: int) -> int:
        stop = i
        while stop < end and self.lines[stop]:
            stop += 1
        self._literal(i, stop)
        return stop

    def _literal(self, i: int, stop: int, drop: str = "") -> None:
        while i < stop and not self.lines[i]:
            i += 1
        while stop > i and not self.lines[stop - 1]:
            stop -= 1
        if i < stop:
            text = "\n".join(self.lines[i:stop])
            self._emit(text.replace(drop, "", 1) if drop else text, "code", i, stop - 1)

    def _emit(self, text: str, role: str, first: int, last: int, unit: _Unit | None = None) -> None:
        if not text.strip():
            return
        self._add(
            TextBlock(text=text, role=role, headings=self.outline.path, first_line=first + 1, last_line=last + 1,
                      group=unit.group if unit else 0, depth=unit.depth if unit else 0)
        )  # fmt: skip
        if unit:
            unit.last = len(self.blocks) - 1

    def _add(self, block: TextBlock) -> None:
        if block.role != "reference":
            self.note_group = 0
        self.blocks.append(block)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
