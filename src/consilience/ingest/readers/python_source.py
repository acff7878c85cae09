"""Python source: docstrings and comments as prose, definitions as code, under their qualified names (stdlib `ast`).

What this version of Python cannot parse is read by its shape, as other languages are.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence

import msgspec

from consilience.ingest.decoding import decode
from consilience.ingest.model import Document, Skip, TextBlock
from consilience.ingest.readers import source_code
from consilience.ingest.readers.formats import PYTHON, READERS

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_MARKS = re.compile(r"^\s*#+[:!]?|[-=#~*]+\s*$")
_HEAD = re.compile(r"#!|#.*coding[:=]|# -\*-")


def read(data: bytes, name: str) -> Document | Skip:
    """Read Python source; run contained, since its parser can be brought down."""
    decoded = decode(data)
    if isinstance(decoded, Skip):
        return decoded
    reader, version = READERS[PYTHON]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(decoded.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f" (line {error.lineno})" if isinstance(error, SyntaxError) and error.lineno else ""
        document = source_code.read(decoded, name)
        said = f"no Python that can be parsed here{where}: read by its shape"
        return msgspec.structs.replace(
            document, reader=reader, version=version, warnings=(*document.warnings, said)
        )
    title = source_code.title_of(name)
    blocks = tuple(_Module(decoded.text, title).scope(tree, "", 1, len(decoded.text.split("\n"))))
    return Document(
        title=title,
        blocks=blocks,
        reader=reader,
        version=version,
        encoding=decoded.encoding,
        warnings=decoded.warnings,
    )


class _Module:
    def __init__(self, text: str, title: str) -> None:
        self.lines = text.split("\n")
        self.title = title

    def scope(self, node: ast.Module | ast.ClassDef, name: str, first: int, last: int) -> Iterator[TextBlock]:
        """What stands in a module or a class, whose body lies within the lines `first` to `last`."""
        yield from self._docstring(node, name)
        body = node.body[1:] if _doc(node) is not None else node.body
        doc = _doc(node)
        before = doc.end_lineno or first if doc is not None else first - 1
        run: tuple[int, int] | None = None
        for statement in body:
            start, end = _start(statement), statement.end_lineno or statement.lineno
            if isinstance(statement, _Definition):
                if run is not None:
                    yield self._code(*run, name)
                run = None
                yield from self._comments(before, start, name, f"{name}.{statement.name}".strip("."))
                yield from self._definition(statement, f"{name}.{statement.name}".strip("."))
            else:
                above = self._comment_start(start, before)
                if run is None or any(self._is_comment(n) for n in range(before + 1, above)):
                    if run is not None:
                        yield self._code(*run, name)
                    yield from self._comments(before, above, name, name)
                    run = above, end
                run = run[0], max(run[1], end)
            before = max(before, end)
        if run is not None:
            yield self._code(*run, name)
        yield from self._comments(before, last + 1, name, name)

    def _definition(self, node: _Definition, name: str) -> Iterator[TextBlock]:
        start, end = _start(node), node.end_lineno or node.lineno
        first = node.body[0]
        if isinstance(node, ast.ClassDef) and _start(first) > node.lineno:
            yield self._code(start, self._comment_start(_start(first), node.lineno) - 1, name)
            yield from self.scope(node, name, node.lineno + 1, end)
            return
        yield from self._docstring(node, name)
        doc = _doc(node)
        after = _start(node.body[1]) if len(node.body) > 1 else end + 1
        if doc is None or doc.lineno <= self._header_end(node) or after <= (doc.end_lineno or end):
            yield self._code(start, end, name)
            return
        kept = self.lines[start - 1 : doc.lineno - 1] + self.lines[doc.end_lineno or end : end]
        yield self._block("\n".join(kept), "code", name, start, end)

    def _header_end(self, node: _Definition) -> int:
        """The last line before the body that holds a part of the definition."""
        ends = [node.lineno]
        if not isinstance(node, ast.ClassDef):
            ends += [a.end_lineno or 0 for a in (*node.args.args, *node.args.kwonlyargs)]
            ends += [node.returns.end_lineno or 0] if node.returns is not None else []
        return max(ends)

    def _docstring(self, node: ast.Module | _Definition, name: str) -> Iterator[TextBlock]:
        doc = _doc(node)
        if doc is None or not isinstance(doc.value, ast.Constant):
            return
        raw = str(doc.value.value)
        skipped = len(raw) - len(raw.lstrip())
        first = doc.lineno + raw[:skipped].count("\n")
        text = inspect.cleandoc(raw)
        for block in source_code.prose_blocks(text, first, doc.end_lineno or doc.lineno):
            yield self._prose(block, name)

    # --- comments ---------------------------------------------------------------------------------------------

    def _is_comment(self, number: int) -> bool:
        return self.lines[number - 1].lstrip().startswith("#")

    def _comment_start(self, start: int, before: int) -> int:
        """The first line of the comment that ends directly above line `start`; `start` where there is none."""
        while start - 1 > before and self._is_comment(start - 1):
            start -= 1
        return start

    def _comments(self, before: int, start: int, name: str, below: str) -> Iterator[TextBlock]:
        """Comments between two statements: that directly above a definition stands under its name."""
        run: list[int] = []
        for number in range(before + 1, start + 1):
            if number < start and self._is_comment(number):
                run.append(number)
                continue
            if run:
                lines = [self.lines[n - 1] for n in run]
                text = "\n".join("" if _HEAD.match(line) else _MARKS.sub("", line) for line in lines)
                for block in source_code.prose_blocks(textwrap.dedent(text), run[0], run[-1]):
                    if source_code.says_something(block.text):
                        yield self._prose(block, below if number == start else name)
            run = []

    def _prose(self, block: TextBlock, name: str) -> TextBlock:
        made = self._block(block.text, block.role, name, block.first_line, block.last_line)
        return msgspec.structs.replace(made, headings=(*made.headings, *block.headings))

    def _code(self, first: int, last: int, name: str) -> TextBlock:
        return self._block("\n".join(self.lines[first - 1 : last]), "code", name, first, max(first, last))

    def _block(self, text: str, role: str, name: str, first: int, last: int) -> TextBlock:
        headings = (self.title, name) if name else (self.title,)
        return TextBlock(text=text, role=role, headings=headings, first_line=first, last_line=last)


def _doc(node: ast.Module | _Definition) -> ast.Expr | None:
    first: Sequence[ast.stmt] = node.body[:1]
    for statement in first:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            return statement if isinstance(statement.value.value, str) else None
    return None


def _start(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, _Definition) else []
    return min([node.lineno, *(d.lineno for d in decorators)])
