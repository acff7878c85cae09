"""The Markdown reader: structure, inline text, front matter, exact lines."""

from __future__ import annotations

from consilience.ingest import Document, Passage, Skip, read, split


def document(text: str, name: str = "note.md") -> Document:
    found = read(text.encode(), name)
    assert isinstance(found, Document)
    return found


def passages(text: str, name: str = "note.md") -> list[Passage]:
    return list(split(document(text, name)))


def lines(passage: Passage) -> tuple[int | None, int | None]:
    return passage.locator.first_line, passage.locator.last_line


def test_paragraphs_under_their_headings() -> None:
    found = passages(
        "# Ponds\n\nA pond holds *still*\nwater and `reeds`.\n\n## Edges\n\nMud, [mostly](http://x/y) soft.\n"
    )
    assert [p.text for p in found] == ["A pond holds still water and reeds.", "Mud, mostly soft."]
    assert [p.locator.headings for p in found] == [("Ponds",), ("Ponds", "Edges")]
    assert [lines(p) for p in found] == [(3, 4), (8, 8)]


def test_inline_markup_becomes_the_text_that_is_seen() -> None:
    text = "**Bold** ~~gone~~ ![a heron](h.png) <b>tag</b> a&amp;b `x<y>` <https://e.org/z> 2<sup>33</sup>\n"
    assert passages(text)[0].text == "Bold gone a heron tag a&b x<y> https://e.org/z 2^33"


def test_what_only_looks_like_a_tag_stays() -> None:
    assert (
        passages("A Vec<T> maps to Option<Box<T>> here.\n")[0].text == "A Vec<T> maps to Option<Box<T>> here."
    )


def test_comments_and_link_definitions_are_dropped() -> None:
    found = passages(
        "Before [one][r] it.\n\n<!-- fill this\n\nin -->\n\n[r]: http://x/y 'T'\n\nAfter all of it.\n"
    )
    assert [p.text for p in found] == ["Before one it.", "After all of it."]
    assert lines(found[1]) == (9, 9)


def test_footnote_definitions_are_kept_as_references() -> None:
    found = passages("Text with a note[^1] in it.\n\n[^1]: http://example.org/\n")
    assert found[1].role == "reference"
    assert "http://example.org/" in found[1].text


def test_setext_headings_and_repeated_titles() -> None:
    found = passages(
        "Ponds\n=====\n\nA pond holds still water.\n\nEdges\n-----\n\nMud is soft at the edge.\n"
    )
    assert [p.locator.headings for p in found] == [("Ponds",), ("Ponds", "Edges")]


def test_a_document_of_sections_takes_its_title_from_the_file_name() -> None:
    text = "# Summary\n\nWe want deeper ponds now.\n\n# Motivation\n\nShallow ponds dry out early.\n"
    found = passages(text, "2289-deeper-ponds.md")
    assert [p.locator.headings for p in found] == [
        ("2289 – Deeper ponds", "Summary"),
        ("2289 – Deeper ponds", "Motivation"),
    ]


def test_a_first_heading_that_fields_follow_is_the_title() -> None:
    text = "## RFC: Deeper ponds\n\n- Feature Name: deep\n- Start Date: 2020-02-03\n\n## Why\n\nBecause of summers.\n"
    found = document(text)
    assert (found.title, found.date) == ("RFC: Deeper ponds", "2020-02-03")


def test_front_matter_gives_title_and_date_and_keeps_the_lines() -> None:
    text = "---\ntitle: Of ponds\ndate: 2021-05-06\ntags: [water]\n---\n\nA pond holds still water.\n"
    found = document(text)
    assert (found.title, found.date) == ("Of ponds", "2021-05-06")
    head, body = split(found)
    assert (head.role, head.locator.headings) == ("boilerplate", ("Of ponds",))
    assert lines(body) == (7, 7)


def test_a_rule_at_the_top_is_no_front_matter() -> None:
    assert [p.text for p in passages("---\n\nA pond holds still water.\n\n---\n")] == [
        "A pond holds still water."
    ]


def test_declared_fields_at_the_head_are_one_boilerplate_passage() -> None:
    text = "# Ponds\n\n* Proposal: [P-1](p1.md)\n* Author: [Ann](a)\n* Status: **Done**\n\nA pond holds still water.\n"
    head, body = passages(text)
    assert head.text == "- Proposal: P-1\n- Author: Ann\n- Status: Done"
    assert head.role == "boilerplate"
    assert body.role == "prose"


def test_a_table_of_contents_is_told_by_its_links() -> None:
    text = "# Ponds\n\n* [Edges of it all](#e)\n* [Depth](#d)\n  * [Deep end](#de)\n\n## Edges\n\nMud is soft here.\n"
    toc = passages(text)[0]
    assert toc.role == "toc"
    assert toc.text == "- Edges of it all\n- Depth\n  - Deep end"


def test_list_items_are_passages_and_keep_their_paragraphs() -> None:
    text = (
        "- The first item says something long enough.\n\n  And goes on in a second paragraph.\n\n"
        "- The second item says something else, also long.\n  - A nested item that is also long enough.\n"
    )
    found = passages(text)
    assert [p.text for p in found] == [
        "The first item says something long enough. And goes on in a second paragraph.",
        "The second item says something else, also long.",
        "A nested item that is also long enough.",
    ]
    assert [lines(p) for p in found] == [(1, 3), (5, 5), (6, 6)]


def test_code_keeps_its_lines_and_knows_where_they_stand() -> None:
    text = "Look at this here:\n\n```py\n\ndef f():\n    return 1  \n\n```\n\n    indented = True\n"
    _, fenced, indented = passages(text)
    assert (fenced.text, fenced.role, lines(fenced)) == ("def f():\n    return 1", "code", (5, 6))
    assert (indented.text, lines(indented)) == ("indented = True", (10, 10))


def test_code_in_a_list_item_stands_alone() -> None:
    text = "1. Run this command first:\n\n   ```sh\n   make pond\n   ```\n\n2. Then wait until it is full of water.\n"
    assert [p.role for p in passages(text)] == ["heading", "code", "prose"]


def test_a_small_table_is_one_passage_with_its_header() -> None:
    found = passages("| Name | Depth |\n|---|---|\n| Mill | 2 m |\n| Weir | `3` m |\n")
    assert len(found) == 1
    assert found[0].text == "Name | Depth\nMill | 2 m\nWeir | 3 m"
    assert (found[0].role, lines(found[0])) == ("table", (1, 4))


def test_rows_of_a_large_table_name_their_columns() -> None:
    rows = "".join(f"| Pond {n} | {n} m |\n" for n in range(20))
    found = passages("| Name | Depth |\n|---|---|\n" + rows)
    assert len(found) == 20
    assert found[3].text == "Name: Pond 3 | Depth: 3 m"
    assert lines(found[3]) == (6, 6)


def test_html_tables_are_read_by_rows() -> None:
    text = "<table>\n<tr><th>Name</th><th>Depth</th></tr>\n<tr><td>Mill</td>\n<td>2 m</td></tr>\n</table>\n"
    assert passages(text)[0].text == "Name | Depth\nMill | 2 m"


def test_a_span_over_a_line_end_does_not_move_the_lines() -> None:
    words = " ".join(f"word{n} runs on." for n in range(60))
    text = f"Start with `code that\ngoes on` here. {words}\n{words}\nEnd of the matter.\n"
    found = passages(text)
    assert len(found) > 1
    assert lines(found[0])[0] == 1
    assert lines(found[-1]) == (3, 4)


def test_a_heading_without_text_below_it_is_kept() -> None:
    found = passages("# Ponds\n\nA pond holds still water.\n\n## Open questions\n")
    assert (found[1].text, found[1].role, lines(found[1])) == ("Open questions", "heading", (5, 5))


def test_an_unclosed_fence_loses_nothing() -> None:
    assert passages("Before the code.\n\n```\nx = 1\n\ny = 2\n")[-1].text == "x = 1\n\ny = 2"


def test_nesting_beyond_the_parser_keeps_the_text() -> None:
    found = document("".join("  " * n + f"- level {n}\n" for n in range(150)))
    text = " ".join(p.text for p in split(found))
    assert "level 0" in text and "level 149" in text
    assert found.warnings


def test_nothing_but_markup_is_skipped() -> None:
    assert read(b"<!-- only a comment -->\n", "a.md") == Skip("no text in it")
