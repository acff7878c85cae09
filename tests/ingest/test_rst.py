"""The reStructuredText reader: structure, inline text, directives, tables, exact lines."""

from __future__ import annotations

import pytest

from consilience.ingest import Document, Passage, read, split
from consilience.ingest.readers.rst_inline import render


def document(text: str, name: str = "note.rst") -> Document:
    found = read(text.encode(), name)
    assert isinstance(found, Document)
    return found


def passages(text: str) -> list[Passage]:
    return list(split(document(text)))


def lines(passage: Passage) -> tuple[int | None, int | None]:
    return passage.locator.first_line, passage.locator.last_line


HEADER = """PEP: 9999
Title: Deeper Ponds
Author: Ann Example <ann@example.org>,
        Bob Example
Status: Draft
Created: 18-Jun-2009

"""


def test_a_header_gives_title_and_date() -> None:
    found = document(HEADER + "Abstract\n========\n\nPonds should be deeper.\n")
    assert (found.title, found.date) == ("PEP 9999 – Deeper Ponds", "2009-06-18")
    head, body = split(found)
    assert head.role == "boilerplate"
    assert "Bob Example" in head.text
    assert head.locator.headings == ("PEP 9999 – Deeper Ponds",)
    assert body.locator.headings == ("PEP 9999 – Deeper Ponds", "Abstract")
    assert lines(body) == (11, 11)


def test_sections_nest_by_the_order_of_their_styles() -> None:
    text = (
        "=====\nPonds\n=====\n\nOne\n---\n\nFirst text here.\n\nDeep\n~~~~\n\nSecond text here.\n\n"
        "Two\n---\n\nThird text here.\n"
    )
    assert [p.locator.headings for p in passages(text)] == [
        ("Ponds", "One"),
        ("Ponds", "One", "Deep"),
        ("Ponds", "Two"),
    ]


def test_an_underline_that_is_too_short_still_makes_a_title() -> None:
    assert passages("A rather long title\n=====\n\nSome text stands here.\n")[0].locator.headings == (
        "A rather long title",
    )


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("``x = *y``", "x = *y"),
        ("*a* and **b c**", "a and b c"),
        (":pep:`387`", "PEP 387"),
        (":func:`~os.path.join`", "join()"),
        (":class:`!Pond`", "Pond"),
        ("`text <http://x/y>`__ more", "text more"),
        ("`two words`_, and so", "two words, and so"),
        ("see [1]_ and [#note]_.", "see [1] and [note]."),
        ("wiki_ but not snake_case_ nor self.x_", "wiki but not snake_case_ nor self.x_"),
        (r"2\ :sup:`33` and \*literal\*", "2^33 and *literal*"),
        ("|version| and |other|", "3.14 and other"),
        ("*args and **kwargs", "*args and **kwargs"),
        ("a * b * c", "a * b * c"),
    ],
)
def test_inline_markup(source: str, shown: str) -> None:
    assert render(source, {"wiki", "two words"}, {"version": "3.14"}) == shown


def test_literal_blocks_follow_a_double_colon() -> None:
    found = passages("Look at this example::\n\n    x = 1\n\n    y = 2\n\nAnd text goes on here.\n")
    assert [p.text for p in found] == ["Look at this example:", "x = 1\n\ny = 2", "And text goes on here."]
    assert (found[1].role, lines(found[1])) == ("code", (3, 5))


def test_quoted_literal_blocks() -> None:
    found = passages("As they wrote::\n\n> not indented\n> at all\n\nThat is what they wrote.\n")
    assert found[1].text == "> not indented\n> at all"


def test_code_directives_drop_their_options() -> None:
    found = passages(
        ".. code-block:: python\n   :caption: Example\n\n   def f():\n       pass\n\nText after the code.\n"
    )
    assert (found[0].text, found[0].role, lines(found[0])) == ("def f():\n    pass", "code", (4, 5))


def test_admonitions_are_read_and_contents_are_not() -> None:
    found = passages(
        ".. contents::\n   :depth: 2\n\n.. note::\n   Mind the edge of it.\n\n"
        ".. unknown:: thing\n\n   Still read, though.\n"
    )
    assert [p.text for p in found] == ["Mind the edge of it.", "thing", "Still read, though."]


def test_comments_and_targets_are_dropped_and_notes_are_references() -> None:
    text = (
        "Text before [1]_ the notes.\n\n.. a comment\n   that goes on\n\n.. _target: http://x/y\n\n"
        ".. [1] The Book of Ponds,\n   http://example.org/ponds\n\n..  [#b] Another book of them, http://example.org/b\n"
    )
    found = passages(text)
    assert [p.role for p in found] == ["prose", "reference", "reference"]
    assert found[1].text == "[1] The Book of Ponds, http://example.org/ponds"
    assert lines(found[1]) == (8, 9)


def test_lists_nest_and_keep_their_paragraphs() -> None:
    text = (
        "* The first item says something long enough\n  and goes on.\n\n  A second paragraph belongs to it.\n\n"
        "  1. A nested and numbered item of some length.\n\n* The second item is here, and long as well.\n"
    )
    found = passages(text)
    assert [p.text for p in found] == [
        "The first item says something long enough and goes on. A second paragraph belongs to it.",
        "A nested and numbered item of some length.",
        "The second item is here, and long as well.",
    ]
    assert [lines(p) for p in found] == [(1, 4), (6, 6), (8, 8)]


def test_a_line_that_begins_like_an_item_but_goes_on_is_a_paragraph() -> None:
    assert passages("A. Einstein was a physicist who\nthought about time.\n")[0].text.startswith(
        "A. Einstein"
    )


def test_definitions_and_fields_keep_their_terms() -> None:
    found = passages(
        "pond\n    A body of water that stands still all year.\n\n:depth: how deep it is at its deepest point\n"
    )
    assert [p.text for p in found] == [
        "pond: A body of water that stands still all year.",
        "depth: how deep it is at its deepest point",
    ]


def test_grid_tables() -> None:
    text = (
        "+------+-------+\n| Name | Depth |\n+======+=======+\n| Mill | 2 m   |\n|      | deep  |\n"
        "+------+-------+\n| Weir | 3 m   |\n+------+-------+\n"
    )
    assert passages(text)[0].text == "Name | Depth\nMill | 2 m deep\nWeir | 3 m"


def test_simple_tables_with_continued_rows() -> None:
    text = "====  =====\nName  Depth\n====  =====\nMill  2 m\n      deep\nWeir  3 m\n====  =====\n\nAfter the table.\n"
    found = passages(text)
    assert found[0].text == "Name | Depth\nMill | 2 m deep\nWeir | 3 m"
    assert lines(found[0]) == (2, 6)


def test_list_tables_and_csv_tables() -> None:
    listed = ".. list-table::\n   :header-rows: 1\n\n   * - Name\n     - Depth\n   * - Mill\n     - 2 m,\n       deep\n"
    assert passages(listed)[0].text == "Name | Depth\nMill | 2 m, deep"
    comma = '.. csv-table:: Ponds\n   :header: Name, Depth\n\n   Mill, "2 m,\n   deep"\n'
    assert passages(comma)[1].text == "Name | Depth\nMill | 2 m, deep"


def test_a_malformed_table_is_text() -> None:
    assert "Mill" in passages("+------+\n| Mill\n\nText after it all.\n")[0].text


def test_tabs_and_line_blocks() -> None:
    found = passages("| First line of verse\n| second line of verse\n\nTab::\n\n\tx = 1\n")
    assert found[0].text == "First line of verse second line of verse"
    assert found[-1].text == "x = 1"


def test_the_date_in_the_fields_below_a_title_is_the_documents() -> None:
    for date in ("2024-08-15", "$Date: 2024-08-15 10:43:38 +0200 (Do, 15. Aug 2024) $"):
        document = read(f"Ponds\n=====\n\n:Author: Ada\n:Date: {date}\n\nWords.\n".encode(), "a.rst")
        assert isinstance(document, Document) and document.date == "2024-08-15"
    document = read(b"Ponds\n=====\n\nWords first.\n\n* an item\n\n:Date: 2024-08-15\n", "a.rst")
    assert isinstance(document, Document)
