"""Admonitions and footnotes of Markdown: marks go, words stay where they are, code is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.ingest import Document, read
from consilience.ingest.readers.admonitions import plain


def blocks(text: str) -> list[tuple[str, str, int]]:
    document = read(text.encode(), "a.md")
    assert isinstance(document, Document)
    return [(b.role, b.text, b.first_line) for b in document.blocks]


BODY = "The pond is deeper than it looks."


@pytest.mark.parametrize(
    "source",
    [
        f"!!! warning\n    {BODY}\n",
        f"!!! warning\n\n    {BODY}\n",
        f"??? note inline end\n    {BODY}\n",
        f":::warning\n{BODY}\n:::\n",
        f"::: {{.callout-note}}\n{BODY}\n:::\n",
        f"> [!WARNING]\n> {BODY}\n",
    ],
)
def test_the_body_is_a_paragraph_in_its_place(source: str) -> None:
    line = source.split("\n").index(next(each for each in source.split("\n") if BODY in each)) + 1
    assert [(role, text.strip()) for role, text, _ in blocks(source)] == [("prose", BODY)]
    assert blocks(source)[0][2] in (line, line - 1)


def test_a_title_is_kept_and_what_is_nested_too() -> None:
    source = '!!! note "Of depth"\n\n    One.\n\n    ```py\n    wade()\n    ```\n'
    source += "\n    ??? tip\n        Two.\n\nThree.\n"
    assert blocks(source) == [
        ("prose", "Of depth", 1), ("prose", "One.", 3), ("code", "wade()", 6), ("prose", "Two.", 10),
        ("prose", "Three.", 12),
    ]  # fmt: skip


def test_a_footnote_of_two_paragraphs_holds_no_code() -> None:
    source = "A pond[^1].\n\n[^1]: It is deep.\n    And cold.\n\n    In winter it freezes.\n\nAfter.\n\n    code()\n"
    assert [(role, text) for role, text, _ in blocks(source)] == [
        ("prose", "A pond[^1]."),
        ("reference", "[^1]: It is deep.\nAnd cold."),
        ("prose", "In winter it freezes."),
        ("prose", "After."),
        ("code", "code()"),
    ]


@pytest.mark.parametrize(
    "source",
    [
        "```\n!!! note\n    x\n:::tip\n> [!NOTE]\n```\n",
        "Wow!!! note that\n",
        "a ::: b\n\n::: never closed\n",
        "!!! note without a body\n\nText.\n",
        "    [^1] in code\n",
        "[^1] begins a paragraph.\n\n    code()\n",
    ],
)
def test_what_only_looks_like_one_is_left_as_it_is(source: str) -> None:
    assert plain(source) == source


@given(st.text(alphabet='!?:>[]^NOTEw1"{}`~ \n'))
def test_lines_stay_lines_and_letters_are_never_made(text: str) -> None:
    made = plain(text)
    assert made.count("\n") == text.count("\n")
    for before, after in zip(text.split("\n"), made.split("\n"), strict=True):
        assert len(after) <= len(before)
    assert isinstance(read(text.encode() + b"\nwords", "a.md"), Document)
