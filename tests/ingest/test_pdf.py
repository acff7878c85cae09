"""PDF: what a person reads on the page, in that order; what cannot be read is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from pdfs import Page, pdf

from consilience.ingest import Document, Skip, read, split

reader = pytest.importorskip("consilience.ingest.readers.pdf", reason="pypdfium2 is not installed")

TEXT = [
    "The heron waits in the reeds until the water is still and the fish",
    "come near. It does not move for an hour, and then it strikes faster",
    "than anybody can follow.",
]
WHOLE = " ".join(TEXT)


def document(data: bytes, name: str = "a.pdf") -> Document:
    found = reader.read(data, name)
    assert isinstance(found, Document), found
    return found


def told(data: bytes) -> list[tuple[str, str, str]]:
    return [(x.role, x.text, x.locator.text()) for x in split(document(data))]


def texts(data: bytes) -> list[str]:
    return [text for _, text, _ in told(data)]


def test_paragraphs_headings_and_pages() -> None:
    first = Page().text(72, 720, "Herons of the lake", 24).text(72, 680, "1 Life", 16).lines(72, 650, *TEXT)
    second = (
        Page().text(72, 720, "1.1 Food", 13).lines(72, 700, "Fish, frogs and what else comes near, all year.")
    )
    assert told(pdf(first, second)) == [
        ("prose", WHOLE, "page 1 # Herons of the lake > 1 Life"),
        (
            "prose",
            "Fish, frogs and what else comes near, all year.",
            "page 2 # Herons of the lake > 1 Life > 1.1 Food",
        ),
    ]


def test_title_and_date_of_the_file_and_titles_that_are_none() -> None:
    page = Page().lines(72, 700, *TEXT)
    found = document(pdf(page, title="Herons", created="D:20090618233000-02'00'"))
    assert (found.title, found.date, found.unit) == ("Herons", "2009-06-19", "page")
    assert document(pdf(page, title="Microsoft Word - heron.doc"), "grey_heron.pdf").title == "Grey heron"


def test_a_sentence_goes_on_over_the_page() -> None:
    one = Page().lines(
        72, 700, TEXT[0], "come near. It eats mostly fish, which it takes whole and with the head"
    )
    two = (
        Page()
        .lines(72, 640, "first, so that the fins lie flat.")
        .lines(72, 610, "Another paragraph begins here.")
    )
    assert told(pdf(one, two)) == [
        (
            "prose",
            f"{TEXT[0]} come near. It eats mostly fish, which it takes whole and with the head first, so that the fins "
            "lie flat.",
            "page 1-2 # A",
        ),
        ("prose", "Another paragraph begins here.", "page 2 # A"),
    ]


LEFT = [f"left column line {n} with some more words" for n in range(7)]
RIGHT = [f"right column line {n} with some more words" for n in range(7)]


@pytest.mark.parametrize("interleaved", [False, True])
def test_two_columns_are_read_one_after_the_other(interleaved: bool) -> None:
    page = Page().text(150, 740, "A title over both columns of this page", 20)
    if interleaved:
        for n in range(7):
            page.text(72, 700 - 12 * n, LEFT[n]).text(320, 700 - 12 * n, RIGHT[n])
    else:
        page.lines(72, 700, *LEFT).lines(320, 700, *RIGHT)
    page.text(
        72,
        520,
        "A line over the whole width of the page, from the left to the right margin of it, and a bit more.",
    )
    assert texts(pdf(page)) == [
        " ".join([*LEFT, *RIGHT]),
        "A line over the whole width of the page, from the left to the right margin of it, and a bit more.",
    ]


def test_a_table_is_read_row_by_row() -> None:
    page = Page().lines(72, 740, *TEXT)
    for n in range(14):
        page.text(72, 660 - 14 * n, f"bird {n}").text(250, 660 - 14 * n, f"{n * 10} cm").text(
            420, 660 - 14 * n, "grey"
        )
    found = told(pdf(page))
    assert found[1][:2] == ("table", "bird 0 | 0 cm | grey")
    assert len(found) == 15


def test_a_table_of_two_columns_with_wrapped_cells() -> None:
    page = Page().lines(72, 740, *TEXT)
    for n in range(5):
        y = 660 - 30 * n
        page.text(72, y, f"--option-{n}").text(
            220, y, f"What the option number {n} does, told in so many words"
        ).text(220, y - 12, "that they need a second line.")
    page.text(72, 480, "Words below the table, which are no part of it, all in one line of the page.")
    found = told(pdf(page))
    assert [role for role, _, _ in found] == ["prose", "table", "prose"]
    first, *_, last = found[1][1].split("\n")
    assert (
        first
        == "--option-0 | What the option number 0 does, told in so many words that they need a second line."
    )
    assert last.startswith("--option-4 | ")


def widths(*words: str) -> list[float]:
    import pypdfium2

    from consilience.ingest.readers.pdf_words import pieces_of

    page = Page()
    for n, word in enumerate(words):
        page.text(72, 700 - 20 * n, word)
    return [piece.width for piece in pieces_of(pypdfium2.PdfDocument(pdf(page))[0])]


def test_words_stretched_to_both_margins_are_no_row_of_a_table() -> None:
    words = ("come", "much", "nearer", "every", "day")
    full, *wide = widths(TEXT[0], *words)
    gap = (full - sum(wide)) / (len(words) - 1)
    page = Page().text(72, 700, TEXT[0]).text(72, 676, "of it.")
    x = 72.0
    for word, width in zip(words, wide, strict=True):
        page.text(round(x, 2), 688, word)
        x += width + gap
    assert texts(pdf(page)) == [f"{TEXT[0]} come much nearer every day of it."]


def test_headers_footers_and_page_numbers_are_dropped() -> None:
    pages = []
    for n in range(1, 9):
        page = (
            Page()
            .text(72, 760, f"The Book of Herons  chapter {n // 4}", 9)
            .lines(72, 700, f"{WHOLE[:50]} on day {n}.")
        )
        pages.append(page.text(300, 30, f"- {n} -").text(72, 45, "Printed at the lake"))
    assert texts(pdf(*pages)) == [f"{WHOLE[:50]} on day {n}." for n in range(1, 9)]


def test_one_page_keeps_what_stands_at_its_edges() -> None:
    page = Page().text(72, 760, "A letter to the keeper of the lake and its birds.").text(300, 30, "1904")
    assert texts(pdf(page)) == ["A letter to the keeper of the lake and its birds.", "1904"]


def test_hyphenation_is_undone_and_hyphens_stay() -> None:
    page = Page().lines(
        72, 700, "The observa-", "tion of a well-known bird takes patience, and a well-",
        "known observer has it, as the Franco-",
        "Prussian keeper of the lake says.",
    )  # fmt: skip
    assert texts(pdf(page)) == [
        "The observation of a well-known bird takes patience, and a well-known observer has it, as the Franco-"
        "Prussian keeper of the lake says."
    ]


def test_capitals_are_hyphenated_too() -> None:
    page = Page().lines(
        72, 700, "It returns the code that is called ELE-", "MENT in the book, not NATO-", "Russia."
    )
    assert texts(pdf(page)) == ["It returns the code that is called ELEMENT in the book, not NATO-Russia."]


def test_lists_code_and_contents() -> None:
    page = Page().text(72, 750, "Herons of the lake", 16)
    page.lines(72, 730, "Life . . . . . . . . . . . . 3", "Food . . . . . . . . . . . . 7")
    page.lines(72, 690, *TEXT).lines(80, 640, "• waits", "• strikes")
    page.lines(72, 600, "def strike():", font=2).lines(96, 588, "return fish", font=2)
    assert told(pdf(page)) == [
        ("toc", "- Life 3\n- Food 7", "page 1 # Herons of the lake"),
        ("prose", WHOLE, "page 1 # Herons of the lake"),
        ("list", "- waits\n- strikes", "page 1 # Herons of the lake"),
        ("code", "def strike():\n    return fish", "page 1 # Herons of the lake"),
    ]


def test_bold_lines_of_the_same_size_are_headings() -> None:
    page = Page().text(72, 720, "Where it lives", 10, 1).lines(72, 700, *TEXT)
    assert told(pdf(page)) == [("prose", WHOLE, "page 1 # A > Where it lives")]


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
def test_a_turned_page_is_read_as_it_is_shown(rotate: int) -> None:
    page = Page(rotate=rotate)
    places = {
        0: ("1 0 0 1", lambda n: (72, 700 - 12 * n)),
        90: ("0 1 -1 0", lambda n: (100 + 12 * n, 72)),
        180: ("-1 0 0 -1", lambda n: (540, 92 + 12 * n)),
        270: ("0 -1 1 0", lambda n: (512 - 12 * n, 720)),
    }
    matrix, place = places[rotate]
    for n, line in enumerate(TEXT):
        x, y = place(n)
        page.drawn.append(f"BT /F0 10 Tf {matrix} {x} {y} Tm ({line}) Tj ET")
    assert texts(pdf(page)) == [WHOLE]


def test_a_stamp_along_the_margin_is_not_read() -> None:
    page = Page().lines(72, 700, *TEXT).text(30, 200, "stamped by the library of the lake", 10, up=True)
    assert texts(pdf(page)) == [WHOLE]


def test_scanned_pages_are_named() -> None:
    picture = Page(picture=True)
    assert reader.read(pdf(picture), "a.pdf") == Skip(
        "no text in it: its page is a picture (scanned); a text layer (OCR) would make it readable"
    )
    assert reader.read(pdf(*[picture] * 3), "a.pdf").reason.startswith(
        "no text in it: its 3 pages are pictures"
    )
    mixed = document(pdf(Page().lines(72, 700, *TEXT), picture, picture, Page(), picture))
    assert mixed.warnings == ("no text on pages 2-3, 5: pictures (scanned)",)
    assert reader.read(pdf(Page()), "a.pdf") == Skip("no text in it")


def test_encrypted_files_are_named_and_read_where_no_password_is_asked_for() -> None:
    page = Page().lines(72, 700, *TEXT)
    assert reader.read(pdf(page, password=b"secret"), "a.pdf") == Skip(
        "encrypted PDF: it opens with a password only"
    )


def test_truncated_files_say_so() -> None:
    pages = [Page().lines(72, 700, f"{WHOLE[:60]} on page {n}.") for n in range(20)]
    whole = pdf(*pages)
    cut = whole[: len(whole) // 2]
    found = reader.read(cut, "a.pdf")
    if isinstance(found, Document):
        assert found.warnings[-1] == "cut off or damaged at its end; what could be read is in"
        assert found.warnings[0].startswith("damaged and left out: pages ")
    else:
        pytest.fail(found.reason)
    assert reader.read(b"%PDF-1.4\nnothing", "a.pdf").reason.startswith("damaged PDF")
    tail = document(whole[: whole.rindex(b"xref\n0")])
    assert len(tail.blocks) == 20
    assert tail.warnings == ("cut off or damaged at its end; what could be read is in",)


def test_bytes_turned_over_end_in_a_document_or_a_skip() -> None:
    data = pdf(Page().text(72, 740, "Herons", 20).lines(72, 700, *TEXT), title="Herons")
    for at in range(0, len(data), 23):
        damaged = bytearray(data)
        damaged[at] ^= 0x55
        assert isinstance(read(bytes(damaged), "a.pdf"), Document | Skip)


def test_the_same_bytes_give_the_same_document_in_another_process() -> None:
    data = pdf(Page().text(72, 740, "Herons", 20).lines(72, 700, *TEXT))
    here = reader.read(data, "a.pdf")
    there = read(data, "a.txt")
    assert isinstance(there, Document), there
    assert there.blocks == reader.read(data, "a.txt").blocks
    assert here.blocks == read(data, "a.pdf").blocks
    assert there.reader == "pdf"
    assert there.version.startswith("1.1+pypdfium2-")


REAL = sorted(Path("/usr/share/doc").glob("*/*.pdf"))[:40]


@pytest.mark.skipif(not REAL, reason="no PDF among the system's documentation")
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_files(path: Path) -> None:
    data = path.read_bytes()
    if len(data) > 2 << 20:
        pytest.skip("large")
    found = read(data, path.name)
    assert isinstance(found, Document), found
    passages = split(found)
    assert len(passages) > 10
    assert sum("\u00ad" in x.text or "\ufffe" in x.text for x in passages) == 0
