"""The HTML reader: main content, structure, exact lines."""

from __future__ import annotations

from consilience.ingest import Document, Passage, read, split

PAGE = """<!DOCTYPE html>
<html lang="es-MX">
<head>
<title>Of ponds</title>
<meta name="date" content="2020-02-03">
<style>p { color: red }</style>
</head>
<body>
<nav><ul><li>Home</li><li>About us all</li></ul></nav>
<main>
<h1>Of ponds &amp; weirs</h1>
<p>A pond holds <b>still</b>
water, 2<sup>3</sup> fathoms.
<p>A second paragraph, whose
start tag alone begins it.
<h2>Edges</h2>
<ul>
<li>The first item says something long enough.</li>
<li>The second item
says something else.</li>
</ul>
<pre>
def f():
    return 1
</pre>
<table>
<tr><th>Name</th><th>Depth</th></tr>
<tr><td>Mill</td><td>2 m</td></tr>
</table>
<script>var x = "never shown";</script>
</main>
<footer>Copyright of somebody</footer>
</body>
</html>
"""


def document(text: str, name: str = "page.html") -> Document:
    found = read(text.encode(), name)
    assert isinstance(found, Document)
    return found


def passages(text: str) -> list[Passage]:
    return list(split(document(text)))


def test_a_page_is_read_by_its_structure() -> None:
    found = document(PAGE)
    assert (found.title, found.date, found.language) == ("Of ponds & weirs", "2020-02-03", "es")
    assert [(p.text, p.role, p.locator.first_line, p.locator.last_line) for p in split(found)] == [
        ("A pond holds still water, 2^3 fathoms.", "prose", 12, 13),
        ("A second paragraph, whose start tag alone begins it.", "prose", 14, 15),
        ("The first item says something long enough.", "prose", 18, 18),
        ("The second item says something else.", "prose", 19, 20),
        ("def f():\n    return 1", "code", 23, 24),
        ("Name | Depth\nMill | 2 m", "table", 27, 28),
    ]


def test_headings_make_the_path() -> None:
    assert [p.locator.headings for p in passages(PAGE)][1:3] == [
        ("Of ponds & weirs",),
        ("Of ponds & weirs", "Edges"),
    ]


def test_without_end_tags_nothing_is_lost() -> None:
    found = passages(
        "<h1>Ponds</h1><p>One is here<p>Two is here<ul><li>three is one of them<li>four is one of them"
    )
    text = " ".join(p.text for p in found)
    assert all(word in text for word in ("One", "Two", "three", "four"))


def test_text_outside_any_block_is_read() -> None:
    assert [p.text for p in passages("Just some words<br>and more of them")] == [
        "Just some words and more of them"
    ]


def test_a_page_of_layout_tables_is_read_as_text() -> None:
    found = passages(
        "<table><tr><td><table><tr><td>Inner words stand here.</td></tr></table></td></tr></table>"
    )
    assert [p.text for p in found] == ["Inner words stand here."]


def test_hidden_parts_and_roles_of_furniture_are_dropped() -> None:
    found = passages(
        '<div role="navigation">Go elsewhere now</div><p hidden>Not shown at all</p><p>Shown to everybody.</p>'
    )
    assert [p.text for p in found] == ["Shown to everybody."]


def test_html_in_a_text_file_is_known_by_its_start() -> None:
    found = read(b"<!DOCTYPE html><title>T</title><p>Words of a page.", "saved.txt")
    assert isinstance(found, Document)
    assert found.reader == "html"


def test_deep_nesting_keeps_the_text() -> None:
    assert (
        passages("<div>" * 10_000 + "at the bottom" + "</div>" * 10_000 + "<p>afterwards")[0].text
        == "at the bottom"
    )


def test_a_term_and_what_it_means_are_one() -> None:
    page = "<dl><dt>stdin<dd>The stream that is read first.<p>More.<dt>stdout<dd>Written to.<dd>Another sense.</dl>"
    document = read(page.encode(), "a.html")
    assert isinstance(document, Document)
    assert [b.text for b in document.blocks] == [
        "stdin\n\nThe stream that is read first.\n\nMore.",
        "stdout\n\nWritten to.",
        "Another sense.",
    ]


def test_what_is_folded_away_is_read() -> None:
    page = "<details><summary>More about herons</summary><p>They stand still for hours at a time.</details>"
    document = read(page.encode(), "a.html")
    assert isinstance(document, Document)
    assert [b.text for b in document.blocks] == ["More about herons", "They stand still for hours at a time."]


def test_lists_of_the_pages_own_sections_are_contents() -> None:
    item = '<ul><li><a href="#one">One of the sections</a></li></ul>'
    for start in ('<div class="toc">', '<div class="contents topic">', '<section role="doc-toc">'):
        document = read(f"{start}{item}</div></section><ul><li>An item of its own</ul>".encode(), "a.html")
        assert isinstance(document, Document)
        assert [b.role for b in document.blocks] == ["toc", "list"], start
    document = read(f'<div class="contents">{item}</div>'.encode(), "a.html")
    assert isinstance(document, Document) and document.blocks[0].role == "list"


def test_the_name_of_a_form_control_is_no_text() -> None:
    document = read(b"<label>4</label><p>A paragraph of the page.", "a.html")
    assert isinstance(document, Document)
    assert [b.text for b in document.blocks] == ["A paragraph of the page."]


def test_what_leads_from_page_to_page_is_kept_and_ranked_down() -> None:
    page = (
        '<ul class="docnav top"><li><a href="a.html">Previous</a></li></ul><div id="banner">Get the book</div>'
        '<h2>Ponds</h2><p>The pond is still.</p><div class="navfooter"><table><tr><td>Next<td>Up</table></div>'
    )
    document = read(page.encode(), "a.html")
    assert isinstance(document, Document)
    assert [(b.role, b.text) for b in document.blocks] == [
        ("boilerplate", "Previous"),
        ("boilerplate", "Get the book"),
        ("prose", "The pond is still."),
        ("boilerplate", "Next | Up"),
    ]
    whole = read(
        b'<div class="navigation"><main><h1>Ponds</h1><p>The pond is still.</p></main></div>', "a.html"
    )
    assert isinstance(whole, Document) and [b.role for b in whole.blocks] == ["prose"]


def test_asides_that_are_notes_are_text_and_others_are_not() -> None:
    page = (
        '<p>The pond is still.</p><aside class="footnote brackets"><p>At dawn.</p></aside>'
        '<aside class="admonition warning"><p>Do not swim.</p></aside><aside role="doc-footnote">At dusk.</aside>'
        '<aside class="ads">Buy a boat.</aside><aside>Read more elsewhere.</aside>'
    )
    document = read(page.encode(), "a.html")
    assert isinstance(document, Document)
    assert [b.text for b in document.blocks] == ["The pond is still.", "At dawn.", "Do not swim.", "At dusk."]
