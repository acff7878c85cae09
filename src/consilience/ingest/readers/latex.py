"""LaTeX: sections, paragraphs, lists, tables, listings; mathematics as written, comments dropped, \\input not followed.

Nothing is expanded: commands that a document defines for itself lose their name and keep their arguments.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from consilience.ingest import metadata
from consilience.ingest.decoding import Decoded, decode, is_visible
from consilience.ingest.model import Document, Skip, TextBlock
from consilience.ingest.readers.formats import LATEX, READERS
from consilience.ingest.readers.latex_inline import plain_text
from consilience.ingest.readers.outline import Outline

_LEVELS = {
    "part": 1, "chapter": 2, "section": 3, "subsection": 4, "subsubsection": 5, "paragraph": 6, "subparagraph": 7,
}  # fmt: skip
_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)%.*")
_VERBATIM = ("verbatim", "Verbatim", "lstlisting", "minted", "alltt", "comment", "filecontents")
_OPENS = re.compile(rf"\\begin\{{({'|'.join(_VERBATIM)})\*?\}}")
_STRUCTURE = re.compile(
    r"\\(?P<section>part|chapter|section|subsection|subsubsection|paragraph|subparagraph)\*?\s*(?:\[[^\]]*\])?\s*(?=\{)"
    r"|\\(?P<edge>begin|end)\{(?P<env>[A-Za-z]+)\*?\}"
    r"|\\(?P<item>item)\b\s*(?:\[(?P<term>[^\]\n]{0,200})\])?"
    r"|\\(?P<bib>bibitem)\s*(?:\[[^\]\n]{0,200}\])?\s*(?=\{)"
    r"|\\(?P<caption>caption)\*?\s*(?:\[[^\]]*\])?\s*(?=\{)"
    r"|(?P<blank>\n[ \t]*\n\s*)|\\(?P<par>par)\b"
    r"|\\(?P<drop>newcommand|renewcommand|providecommand|def|newenvironment|newtheorem|title|author|date|thanks"
    r"|maketitle|tableofcontents)\b\*?"
    r"|\\(?P<input>input|include|subfile)\s*\{(?P<file>[^{}\n]{0,300})\}"
)
_MATH_ENVS = frozenset(
    [
        "equation",
        "align",
        "gather",
        "multline",
        "eqnarray",
        "displaymath",
        "math",
        "alignat",
        "flalign",
        "subequations",
        "array",
        "matrix",
        "cases",
    ]
)
_LISTS = frozenset(("itemize", "enumerate", "description", "compactitem", "thebibliography"))
_TABLES = frozenset(("tabular", "tabularx", "tabulary", "longtable", "tabu"))
_ARGUMENT = re.compile(r"\s*(?:\[[^\]\n]{0,200}\])?\s*")
_RULES = re.compile(
    r"\\(?:hline|toprule|midrule|bottomrule|endhead|endfirsthead|endfoot|endlastfoot|cline\{[^{}]*\}|cmidrule(?:\([a-z]*\))?"
    r"\{[^{}]*\})"
)
_ONCE_ONLY = re.compile(r"\\(endfirsthead|endhead|endfoot|endlastfoot)\b")
_SPAN = re.compile(r"\\multi(?:column|row)\*?\s*(?:\[[^\]\n]*\])?\s*(?=\{)")
_CAPTION = re.compile(r"\s*\\caption\*?\s*(?:\[[^\]]*\])?\s*(?=\{)")
_ROW = re.compile(r"(.+?)(?:\\\\(?:\[[^\]\n]*\])?|\\tabularnewline|\Z)", re.DOTALL)
_MAX_ARGUMENT = 5_000
_MAX_UNCLOSED = 50
_LABEL = re.compile(r"\s*\\label\{[^{}\n]*\}")


def read(data: bytes, name: str) -> Document | Skip:
    """Read LaTeX; run contained, which bounds the time that hostile nesting can take. Never raises on any bytes."""
    decoded = decode(data)
    return decoded if isinstance(decoded, Skip) else _Reader(decoded, name).document()


class _Reader:
    def __init__(self, decoded: Decoded, name: str) -> None:
        self.decoded = decoded
        self.text = _without_comments(decoded.text)
        self.starts = [0, *(match.end() for match in re.finditer("\n", self.text))]
        self.unclosed = 0
        title = plain_text(self._command("title")) or metadata.readable_name(name)
        self.outline = Outline(" ".join(title.split()))
        self.blocks: list[TextBlock] = []
        self.buffer: list[tuple[int, int]] = []
        self.lists = 0
        self.group = 0
        self.term = ""
        self.role = "prose"
        self.not_followed: list[str] = []

    def document(self) -> Document:
        begin = re.search(r"\\begin\{document\}", self.text)
        end = re.search(r"\\end\{document\}", self.text)
        at = begin.end() if begin else 0
        limit = end.start() if end and end.start() > at else len(self.text)
        while at < limit:
            match = _STRUCTURE.search(self.text, at, limit)
            stop = match.start() if match else limit
            if stop > at:
                self.buffer.append((at, stop))
            if match is None:
                break
            at = max(match.end(), self._structure(match))
        self._flush()
        said = list(self.decoded.warnings)
        if self.not_followed:
            shown = ", ".join(self.not_followed[:5]) + (", …" if len(self.not_followed) > 5 else "")
            said.append(f"other files that it includes are not followed: {shown}")
        reader, version = READERS[LATEX]
        return Document(
            title=self.outline.title,
            date=metadata.parse_date(plain_text(self._command("date"))),
            blocks=self.outline.with_bare_headings(self.blocks),
            reader=reader,
            version=version,
            encoding=self.decoded.encoding,
            warnings=tuple(said),
        )

    def _structure(self, match: re.Match[str]) -> int:
        """Act on what divides the text; where to go on."""
        at = match.end()
        if match["section"]:
            self._flush()
            argument, at = self._braces(at)
            heading = " ".join(plain_text(argument).split())
            self.outline.enter(_LEVELS[match["section"]], heading, self._line(match.start()))
            label = _LABEL.match(self.text, at)
            at = label.end() if label else at
        elif match["edge"]:
            return self._edge(match["edge"], match["env"], match)
        elif match["item"] or match["bib"]:
            self._flush()
            self.role = "reference" if match["bib"] else "list"
            self.term = plain_text(match["term"] or "").strip()
            if match["bib"]:
                key, at = self._braces(at)
                self.term = f"[{key.strip()}]"
        elif match["caption"]:
            self._flush()
            argument, end = self._braces(at)
            self._emit(plain_text(argument), "prose", at, end)
            at = end
        elif match["drop"]:
            for _ in range(4):
                skipped = _ARGUMENT.match(self.text, at)
                inner = skipped.end() if skipped else at
                if match["drop"] == "def":
                    inner = self.text.find("{", at, at + 200)
                if inner < 0 or self.text[inner : inner + 1] != "{":
                    break
                at = self._braces(inner)[1]
                if match["drop"] in ("title", "author", "date", "thanks", "def"):
                    break
        elif match["input"]:
            self.not_followed.append(match["file"].strip())
        else:
            self._flush()
        return at

    def _edge(self, edge: str, name: str, match: re.Match[str]) -> int:
        at = match.end()
        if edge == "begin" and name in _VERBATIM:
            return self._listing(name, at)
        if edge == "begin" and name in _MATH_ENVS:
            end = self._end_of(name, at)
            self.buffer.append((match.start(), end))
            return end
        if edge == "begin" and name in _TABLES:
            return self._table(name, at)
        self._flush()
        if name in _LISTS:
            self.lists = max(0, self.lists + (1 if edge == "begin" else -1))
            if edge == "begin" and self.lists == 1:
                self.group += 1
            self.role = "prose" if self.lists == 0 else "list"
            if edge == "begin" and name == "thebibliography":
                at = self._braces(at)[1]
        elif name == "abstract" and edge == "begin":
            self.outline.enter(3, "Abstract", self._line(match.start()))
        if edge == "begin" and self.text[at : at + 1] == "[":
            close = self.text.find("]", at, at + 200)
            at = close + 1 if close > 0 else at
        return at

    def _end_of(self, name: str, at: int) -> int:
        match = re.compile(rf"\\end\{{{re.escape(name)}\*?\}}").search(self.text, at)
        return match.end() if match else len(self.text)

    def _body(self, name: str, at: int) -> tuple[str, int]:
        """What stands in an environment that begins before `at`, and where it ends."""
        end = self._end_of(name, at)
        start = self.text.rfind("\\end{", at, end)
        return self.text[at : start if start >= 0 else end], end

    def _listing(self, name: str, at: int) -> int:
        self._flush()
        body, end = self._body(name, at)
        if name in ("comment", "filecontents"):
            return end
        first, _, _ = body.partition("\n")
        offset = len(first) + 1 if re.fullmatch(r"\s*(?:\[[^\]]*\])?(?:\{[^{}]*\})?\s*", first) else 0
        if is_visible(body[offset:]):
            code = body[offset:].rstrip()
            self._emit(code, "code", at + offset, at + offset + len(code))
        return end

    def _table(self, name: str, at: int) -> int:
        self._flush()
        body, end = self._body(name, at)
        self.group += 1
        body = _without_repeats(_without_columns(body))
        rows = [(match[1], at + match.start()) for match in _ROW.finditer(body)]
        for number, (written, offset) in enumerate(rows):
            if (caption := _CAPTION.match(written)) is not None:
                begins = offset + len(written) - len(written.lstrip())
                self._emit(plain_text(written[caption.end() :]), "prose", begins, offset + len(written))
                continue
            row = _RULES.sub(lambda match: " " * len(match[0]), written)
            cells = tuple(
                " ".join(plain_text(_spanning(cell)).split()) for cell in re.split(r"(?<!\\)&", row)
            )
            lead = len(row) - len(row.lstrip())
            if any(cells):
                head = number == 0 and len(rows) > 2 and _RULES.match(rows[1][0].strip()) is not None
                first, last = self._line(offset + lead), self._line(offset + max(lead, len(row.rstrip()) - 1))
                self.blocks.append(
                    TextBlock(
                        text=" | ".join(cells),
                        role="table",
                        headings=self.outline.path,
                        first_line=first,
                        last_line=max(first, last),
                        group=self.group,
                        cells=cells,
                        head=head,
                    )
                )
        self.group += 1
        return end

    # --- running text -----------------------------------------------------------------------------------------

    def _flush(self) -> None:
        spans, self.buffer = self.buffer, []
        if not spans:
            return
        start, end = spans[0][0], spans[-1][1]
        source = "".join(self.text[a:b] for a, b in spans)
        lead = len(source) - len(source.lstrip())
        text = plain_text(source.strip())
        if is_visible(text):
            self._emit(text, self.role if self.lists else "prose", start + lead, end)
        self.term = self.term if not is_visible(text) else ""

    def _emit(self, text: str, role: str, start: int, end: int) -> None:
        first = self._line(start)
        last = max(first, self._line(start + len(self.text[start:end].rstrip()) - 1))
        if self.term:
            text = f"{self.term} {text}" if self.term.endswith("]") else f"{self.term}: {text}"
        self.blocks.append(
            TextBlock(
                text=text,
                role=role,
                headings=self.outline.path,
                first_line=first,
                last_line=last,
                group=self.group if self.lists and role != "code" else 0,
                depth=max(0, self.lists - 1),
            )
        )

    def _line(self, at: int) -> int:
        return bisect_right(self.starts, max(0, at))

    def _braces(self, at: int) -> tuple[str, int]:
        """The argument in braces that begins at `at`, and where it ends; nothing where it is not closed."""
        if self.text[at : at + 1] != "{" or self.unclosed > _MAX_UNCLOSED:
            return "", at
        depth = 0
        for match in re.compile(r"\\.|[{}]", re.DOTALL).finditer(self.text, at, at + _MAX_ARGUMENT):
            depth += {"{": 1, "}": -1}.get(match[0], 0)
            if depth == 0:
                return self.text[at + 1 : match.start()], match.end()
        self.unclosed += 1
        return "", at + 1

    def _command(self, name: str) -> str:
        match = re.search(rf"\\{name}\s*(?:\[[^\]\n]*\])?\s*(?=\{{)", self.text)
        return self._braces(match.end())[0] if match else ""


def _closing(text: str, at: int) -> int:
    """Where the braces that open at `at` end; -1 where they do not."""
    depth = 0
    for match in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, at, at + _MAX_ARGUMENT):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return -1


def _blank(text: str, start: int, end: int) -> str:
    """The text with as many spaces in one place, its line ends kept: offsets and lines stay what they are."""
    return text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]


def _without_columns(body: str) -> str:
    """What follows the arguments that a table's environment begins with: position, width, columns."""
    at = 0
    for _ in range(3):
        skipped = _ARGUMENT.match(body, at)
        at = skipped.end() if skipped else at
        end = _closing(body, at) if body[at : at + 1] == "{" else -1
        if end < 0:
            break
        at = end
    return _blank(body, 0, at)


def _without_repeats(body: str) -> str:
    """A long table without the head that its next pages repeat and without their feet."""
    ends = {match[1]: match.span() for match in _ONCE_ONLY.finditer(body)}
    if not ends:
        return body
    kept = ends.get("endfirsthead") or ends.get("endhead")
    start = kept[1] if kept is not None else 0
    return _blank(body, start, max([start, *(end for _, end in ends.values())]))


def _spanning(cell: str) -> str:
    """The words of `\\multicolumn{2}{c}{words}`."""
    match = _SPAN.search(cell)
    if match is None:
        return cell
    at = match.end()
    for _ in range(2):
        end = _closing(cell, at) if cell[at : at + 1] == "{" else -1
        skipped = _ARGUMENT.match(cell, end) if end > 0 else None
        if skipped is None:
            return cell
        at = skipped.end()
    return cell[: match.start()] + cell[at:]


def _without_comments(text: str) -> str:
    """The text with the same lines, comments gone; a line that was all comment does not part paragraphs."""
    lines = text.split("\n")
    until = ""
    for n, line in enumerate(lines):
        if until:
            until = "" if until in line else until
        elif (opened := _OPENS.search(line)) is not None and f"\\end{{{opened[1]}" not in line:
            until = f"\\end{{{opened[1]}"
        elif "%" in line:
            rest = _COMMENT.sub(r"\1", line)
            lines[n] = rest if rest.strip() else "\x06"
    return "\n".join(lines)
