"""Texts made to break a reader: each is read, keeps its lines in range and what can be read of it."""

from __future__ import annotations

import pytest

from consilience.ingest import Document, read, split

HOSTILE = {
    "unclosed_fence.md": "```py\nx = 1\n\nwords at the end",
    "nested_lists.md": "".join("  " * n + f"- level {n}\n" for n in range(500)) + "\nwords at the end",
    "nested_quotes.md": ">" * 100_000 + " words at the end",
    "brackets.md": "[" * 100_000 + " words at the end",
    "links_unclosed.md": "[a](" * 20_000 + " words at the end",
    "emphasis.md": "**a_" * 12_000 + " words at the end",
    "backticks.md": " ".join("`" * n for n in range(1, 400)) + " words at the end",
    "tags_unclosed.md": "<a " * 50_000 + " words at the end",
    "wide_table.md": "|a" * 2_000 + "|\n" + "|-" * 2_000 + "|\n" + "|b" * 2_000 + "|\n\nwords at the end",
    "front_matter_unclosed.md": "---\n" + "a: b\n" * 10_000 + "words at the end",
    "one_line.md": "word " * 1_000_000 + "at the end words at the end",
    "one_word.txt": "x" * 1_000_000 + " words at the end",
    "one_line.rst": "word `a " * 100_000 + " words at the end",
    "one_line.html": "<p>" + "word " * 200_000 + "words at the end",
    "nested.rst": "\n\n".join(" " * n + "- a" for n in range(1_000)) + "\n\nwords at the end",
    "backquotes.rst": "``a `b <" * 30_000 + " words at the end",
    "stars.rst": "*a **b |c " * 30_000 + " words at the end",
    "dots.rst": "a.b" * 100_000 + " words at the end",
    "rules.rst": "=\n" * 20_000 + "\nwords at the end",
    "short_underline.rst": "A title that is long\n==\n\nwords at the end",
    "nested_directives.rst": "\n".join(" " * (3 * n) + ".. note::" for n in range(300))
    + "\n\nwords at the end",
    "broken_grid.rst": "+-+-+\n" + "| | |\n" * 5_000 + "\nwords at the end",
    "broken_simple.rst": "=== ===\n" + "a b\n" * 3_000 + "\nwords at the end",
    "options.rst": "-a " * 3_000 + "\n\nwords at the end",
    "divs.html": "<div>" * 50_000 + "words at the end",
    "bold.html": "<b>" * 50_000 + "words at the end",
    "bold_paragraphs.html": "<b><p>" * 10_000 + "words at the end",
    "tables.html": "<table>" * 5_000 + "words at the end",
    "lists.html": "<ul><li>" * 5_000 + "words at the end",
    "less_than.html": "<" * 200_000 + " words at the end",
    "marks.html": "\U000f0001\U000f0002 words at the end",
    "zero_width.md": "\u200b" * 100_000 + "words at the end",
    "form_feeds.txt": "\x0c\x0bone\x0c\n\nwords at the end",
    "lone_returns.md": "a\rb\r\rwords at the end",
    "entities.md": "&#xD800; &#0; &bad; &amp; " * 3_000 + "\n\nwords at the end",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_read_to_its_end(name: str) -> None:
    text = HOSTILE[name]
    found = read(text.encode(), name)
    assert isinstance(found, Document)
    passages = split(found)
    count = len(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    assert "words at the end" in passages[-1].text
    for passage in passages:
        first, last = passage.locator.first_line, passage.locator.last_line
        assert first is not None and last is not None and 1 <= first <= last <= count


@pytest.mark.parametrize("name", ["comments.md", "comments.html", "scripts.html", "definitions.md"])
def test_what_has_no_text_at_all_is_skipped(name: str) -> None:
    texts = {
        "comments.md": "<!--" * 20_000,
        "comments.html": "<!--" * 20_000,
        "scripts.html": "<script>" * 5_000,
        "definitions.md": "".join(f"[r{n}]: http://x/{n}\n" for n in range(2_000)),
    }
    assert not isinstance(read(texts[name].encode(), name), Document)
