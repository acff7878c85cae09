"""Source code: symbols with their docstrings and comments, code as it stands, other languages by their shape."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.ingest import Document, Passage, Skip, read, split
from consilience.ingest.readers import python_source, source_code

PYTHON = b'''\
#!/usr/bin/env python3
"""What the module is for, in a sentence.

A second paragraph of it.
"""

import os

# The limit was found by measuring three machines.
LIMIT = 3


# This one is called by everybody who retries.
@cached
def retry(times: int) -> bool:
    """Try again until it works.

    Args:
        times: how often.
    """
    # a comment inside
    return times > LIMIT


class Client(Base):
    """Talks to the service."""

    timeout = 5

    # ---------------
    # Closes what was opened before, also twice.
    async def close(self):
        "Closed."
        await self.x()

    class Inner:
        def f(self): return 1
'''


def passages(data: bytes, name: str) -> list[Passage]:
    document = read(data, name)
    assert isinstance(document, Document), document
    return list(split(document))


def told(data: bytes, name: str) -> list[tuple[str, str, str]]:
    return [(p.role, p.locator.text(), p.text) for p in passages(data, name)]


def test_python_by_symbol() -> None:
    found = told(PYTHON, "client.py")
    assert found[:4] == [
        ("prose", "L2 # client.py", "What the module is for, in a sentence."),
        ("prose", "L4 # client.py", "A second paragraph of it."),
        (
            "code",
            "L7-L10 # client.py",
            "import os\n\n# The limit was found by measuring three machines.\nLIMIT = 3",
        ),
        ("prose", "L13 # client.py > retry", "This one is called by everybody who retries."),
    ]
    assert ("prose", "L16 # client.py > retry", "Try again until it works.") in found
    assert (
        "code",
        "L14-L22 # client.py > retry",
        "@cached\ndef retry(times: int) -> bool:\n    # a comment inside\n    return times > LIMIT",
    ) in found
    assert ("prose", "L26 # client.py > Client", "Talks to the service.") in found
    assert ("code", "L28 # client.py > Client", "timeout = 5") in found
    assert ("prose", "L31 # client.py > Client.close", "Closes what was opened before, also twice.") in found
    assert ("code", "L37 # client.py > Client.Inner.f", "def f(self): return 1") in found


def test_every_line_of_code_is_in_a_passage() -> None:
    text = "\n".join(p.text for p in passages(PYTHON, "client.py"))
    for line in PYTHON.decode().split("\n")[1:]:
        words = line.strip().strip("#").strip('" ')
        assert not words.strip("-") or " ".join(words.split()) in " ".join(text.split())


def test_the_real_package_is_read_and_nothing_of_it_falls_back() -> None:
    for path in sorted(Path(python_source.__file__).parent.glob("*.py"))[:12]:
        document = python_source.read(path.read_bytes(), path.name)
        assert isinstance(document, Document)
        assert document.warnings == ()
        names = {block.headings[1] for block in document.blocks if len(block.headings) > 1}
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert {n.name for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)} <= names


def test_code_that_another_version_of_python_wrote_is_read_by_its_shape() -> None:
    document = read(b"def f(x):\n    print x\n\nclass A:\n    pass\n", "old.py")
    assert isinstance(document, Document)
    assert document.warnings == ("no Python that can be parsed here (line 2): read by its shape",)
    assert [b.headings for b in document.blocks] == [("old.py", "f"), ("old.py", "A")]


@pytest.mark.parametrize(
    "data",
    [
        b"(" * 50_000,
        b"x = " + b"-" * 50_000 + b"1",
        b"f(" * 3_000 + b")" * 3_000,
        b"\n".join(b" " * n + b"if x:" for n in range(200)) + b"\n" + b" " * 200 + b"pass",
        b"x = '''" + b"\n" * 10_000,
        b"\x0c\nclass A: 'doc'; x = 1\ndef f(): 'doc'\n",
        b"def f():\n    '''doc'''; return 1\n",
        b"class A:\n    '''only'''\n",
        b"x = 1; y = 2\r\rdef f():\r    pass\r",
        b"# only a comment of several words",
    ],
    ids=[
        "brackets", "minus", "calls", "deep blocks", "open string", "one line", "doc and code", "doc only", "CR",
        "comment",
    ],
)  # fmt: skip
def test_hostile_python(data: bytes) -> None:
    assert isinstance(read(data, "x.py"), Document), read(data, "x.py")


GO = b"""\
// Package client talks to the service over one connection.
package client

import (
\t"fmt"
)

// Run sends the request again until it is answered.
// It never waits for more than a minute.
func (c *Client) Run() error {
\treturn nil
}

type Client struct {
\tname string
}
"""
C = b"""\
/*
 * Closes what was opened before, also where that failed.
 */
static int
close_it(struct handle *h, const char *why)
{
    return 0;
}

static struct methods table[] = {
    {"module init", 0},
};
"""
JS = b"""\
/** Adds what it is given to the sum of all. */
export const add = (a, b) => {
  return a + b;
};

class Sum extends Base {
  constructor() {
    super();
  }
}
"""
RUBY = b"""\
# Counts how often each word is met.
class Counter
  def count(words)
    words.size
  end
end
"""


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        (
            GO,
            "client.go",
            [("code", ()), ("code", ()), ("prose", ("Run",)), ("code", ("Run",)), ("code", ("Client",))],
        ),
        (C, "it.c", [("prose", ("close_it",)), ("code", ("close_it",)), ("code", ("table",))]),
        (JS, "sum.js", [("prose", ("add",)), ("code", ("add",)), ("code", ("Sum",))]),
        (RUBY, "c.rb", [("prose", ("Counter",)), ("code", ("Counter",))]),
    ],
)
def test_other_languages_by_their_shape(
    data: bytes, name: str, expected: list[tuple[str, tuple[str, ...]]]
) -> None:
    found = [(p.role, p.locator.headings[1:]) for p in passages(data, name)]
    assert [f for f in found if f not in (("prose", ()),)] == expected


def test_comments_lose_their_marks_and_code_keeps_its_indentation() -> None:
    found = {p.locator.text(): p.text for p in passages(GO, "client.go")}
    assert found["L8-L9 # client.go > Run"] == (
        "Run sends the request again until it is answered. It never waits for more than a minute."
    )
    assert found["L10-L12 # client.go > Run"] == "func (c *Client) Run() error {\n\treturn nil\n}"


def test_a_long_class_is_taken_apart() -> None:
    methods = "\n\n".join(
        f"    // Gives the number {n} to whoever asks.\n    int get{n}() {{\n        return {n};\n    }}"
        for n in range(30)
    )
    found = passages(f"public class Numbers {{\n{methods}\n}}\n".encode(), "Numbers.java")
    assert ("code", ("Numbers.java", "Numbers.get7")) in {(p.role, p.locator.headings) for p in found}
    assert ("prose", ("Numbers.java", "Numbers.get7")) in {(p.role, p.locator.headings) for p in found}


@given(
    st.text(alphabet="ab (){}=;:\n\t#/*\"'def class"), st.sampled_from(["x.js", "x.py", "x.sql", "x.lisp"])
)
def test_no_text_makes_it_raise_and_no_code_is_lost(text: str, name: str) -> None:
    from consilience.ingest.decoding import decode

    decoded = decode(text.encode())
    if isinstance(decoded, Skip):
        return
    document = source_code.read(decoded, name)
    covered = {n for b in document.blocks if b.role == "code" for n in range(b.first_line, b.last_line + 1)}
    lines = decoded.text.split("\n")
    marker = {"x.js": "//", "x.py": "#", "x.sql": "--", "x.lisp": ";"}[name]
    if marker == "//" and "/*" in text:
        return
    for number, line in enumerate(lines, 1):
        assert not line.strip() or line.lstrip().startswith(marker) or number in covered


@given(st.binary(max_size=200))
def test_no_bytes_make_python_raise(data: bytes) -> None:
    assert isinstance(python_source.read(data, "x.py"), Document | Skip)
