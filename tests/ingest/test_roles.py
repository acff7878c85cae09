"""Roles told from text and headings alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.ingest import role_of
from consilience.ingest.roles import is_licence_file

ROLES = {"prose", "code", "list", "table", "reference", "toc", "boilerplate", "heading"}


@pytest.mark.parametrize(
    ("role", "text", "headings"),
    [
        ("prose", "A pond holds still water, and the reeds that grow in it.", ()),
        (
            "prose",
            "The function f(x) returns a list of pairs, as does g(x), when x is a pond.",
            ("T", "Design"),
        ),
        (
            "prose",
            "Two passages about licences may mention that code is licensed under any of them.",
            ("T", "Design"),
        ),
        ("prose", "If the pond is dry, then return to the house and wait for rain.", ()),
        ("code", "def f(x):\n    return [x]", ()),
        ("code", "let x: Vec<u8> = vec![1, 2];", ()),
        ("code", "x = compute(y)", ()),
        ("code", "$ make pond", ()),
        ("code", ">>> pond.depth()\n2", ()),
        ("code", "func (p *Pond) Depth() int { return p.depth }", ()),
        ("list", "- reeds and rushes\n- mud\n- water", ()),
        ("table", "Name | Depth\nMill | 2 m\nWeir | 3 m", ()),
        ("table", "Name: Mill | Depth: 2 m", ()),
        ("toc", "- Introduction\n- Motivation\n- Proposed solution\n- Detailed design", ()),
        ("toc", "- Ponds\n- Weirs\n- Mills", ("T", "Table of contents")),
        ("reference", "[1] The Book of Ponds http://example.org/ponds", ()),
        ("reference", "The Book of Ponds, second edition, 1911", ("T", "References and Footnotes")),
        ("reference", "https://example.org/ponds", ()),
        ("boilerplate", "This document has been placed in the public domain.", ("T", "Copyright")),
        ("boilerplate", "Copyright (c) 2020 Ann Example. All rights reserved.", ()),
        ("boilerplate", "PEP: 9999\nTitle: Ponds\nAuthor: Ann\nStatus: Draft", ("PEP 9999 – Ponds",)),
        ("boilerplate", "- Feature Name: ponds\n- Start Date: 2020-01-02\n- RFC PR: #1", ("Ponds",)),
        ("boilerplate", "Last updated: 2017-10-23", ("Ponds",)),
        ("heading", "For example:", ()),
        ("heading", "Open questions", ("T",)),
    ],
)
def test_what_a_reader_would_call_it(role: str, text: str, headings: tuple[str, ...]) -> None:
    assert role_of(text, headings) == role


@given(st.text(max_size=300), st.lists(st.text(max_size=20), max_size=3))
def test_any_text_has_one_of_the_roles(text: str, headings: list[str]) -> None:
    assert role_of(text, headings) in ROLES


@pytest.mark.parametrize(
    "origin",
    ["LICENSE", "a/COPYING.LESSER", "pkg.zip!/licence.txt", "docs/NOTICE", "Unlicense", "debian/copyright"],
)
def test_licence_files_are_known_by_name(origin: str) -> None:
    assert is_licence_file(origin)


@pytest.mark.parametrize(
    "origin", ["licensing.md", "notice.txt", "copyrights-explained.md", "LICENSE/readme.md", ""]
)
def test_other_files_are_none(origin: str) -> None:
    assert not is_licence_file(origin)
