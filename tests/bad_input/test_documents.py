"""Documents of office, PDF and the like that are damaged or made to harm, among good ones, by the commands."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
from office import docx, epub, odt, p, pptx, shape, zipped
from pdfs import Page, pdf
from product import Product

HAS_PDF = importlib.util.find_spec("pypdfium2") is not None
SAID = "The heron of the {} waits in the reeds until the water is still."
TYPES = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'
LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {y} "{f"&{x};" * 60}">' for x, y in zip("abcdefg", "bcdefgh", strict=True))
    + "]><x>&h;</x>"
)  # fmt: skip


def word(document: str | bytes) -> bytes:
    return zipped({"[Content_Types].xml": TYPES, "word/document.xml": document})


GOOD = {
    "a.docx": docx(p(SAID.format("north"))),
    "b.odt": odt(f"<text:p>{SAID.format('south')}</text:p>"),
    "c.pptx": pptx((shape(SAID.format("east")), "")),
    "d.epub": epub(f"<html><body><p>{SAID.format('west')}</p></body></html>"),
    "z.ipynb": b'{"cells": [{"cell_type": "markdown", "source": "The heron of the middle waits in the reeds."}]}',
    "named wrongly.txt": docx(p(SAID.format("hills"))),
    "named wrongly too.docx": odt(f"<text:p>{SAID.format('dunes')}</text:p>"),
}
BAD: dict[str, tuple[bytes, str]] = {
    "cut.docx": (GOOD["a.docx"][:-60], "damaged Word document: "),
    "bomb.docx": (
        word(b"<a>" + b" " * (100 << 20) + b"</a>"),
        "unpacks to more than 64 MiB: word/document.xml",
    ),
    "laughs.docx": (word(LAUGHS), "its XML declares a document type of its own"),
    "deep.docx": (word("<a>" * 1_000_000), "its XML is nested deeper than 200"),
    "empty.docx": (docx(), "no text in it"),
    "words.docx": (b"These are but words.", "not Word (.docx) by its bytes, though its name says so"),
    "old.docx": (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(999),
        "no reader for an old or an encrypted Office",
    ),
    "cut.epub": (GOOD["d.epub"][:200], "damaged EPUB: "),
    "sheet.pptx": (
        zipped({"[Content_Types].xml": TYPES, "xl/workbook.xml": "<a/>"}),
        "no reader for Excel (.xlsx)",
    ),
    "cut.ipynb": (GOOD["z.ipynb"][:40], "not a notebook: not valid JSON"),
}
if HAS_PDF:
    GOOD["e.pdf"] = pdf(Page().text(72, 700, SAID.format("lake")))
    BAD |= {
        "locked.pdf": (
            pdf(Page().text(72, 700, "x"), password=b"secret"),
            "encrypted PDF: it opens with a password",
        ),
        "scanned.pdf": (pdf(Page(picture=True)), "no text in it: its page is a picture (scanned)"),
        "cut.pdf": (GOOD["e.pdf"][:20], "damaged PDF: its structure cannot be read"),
        "web page.pdf": (b"\x89PNG not a PDF", "not PDF by its bytes, though its name says so"),
    }


def reasons(data: Any, what: str) -> dict[str, str]:
    return {each["path"].removeprefix("in/"): each["reason"] for each in data[what]}


def test_bad_documents_are_named_and_the_good_ones_taken(own_farm: Product) -> None:
    for name, data in {**GOOD, **{name: data for name, (data, _) in BAD.items()}}.items():
        own_farm.write(f"in/{name}", data)
    done = own_farm.csl("ingest", "in", "--brain", "west", "--json")
    said = reasons(done.data, "skipped")
    assert done.data["failed"] == []
    assert set(said) == set(BAD)
    for name, (_, reason) in BAD.items():
        assert said[name].startswith(reason), name
    assert done.data["taken"] == len(GOOD)
    assert len(own_farm.texts("west", "heron waits in the reeds", "--source", "in")) == len(GOOD)
    again = own_farm.csl("ingest", "in", "--brain", "west", "--json").data
    assert (again["taken"], again["changed"], again["commits"], again["unchanged"]) == (0, 0, 0, len(GOOD))
    own_farm.verified("west")


def test_the_place_of_a_passage_is_shown_as_people_name_it(own_farm: Product) -> None:
    own_farm.write("in/talk.pptx", pptx((shape("Birds", kind="title"), ""), (shape(SAID.format("east")), "")))
    own_farm.csl("ingest", "in", "--brain", "west")
    assert "in/talk.pptx slide 2" in own_farm.csl("search", "heron of the east", "--brain", "west").text


@pytest.mark.skipif(HAS_PDF, reason="pypdfium2 is installed")
def test_a_pdf_without_its_reader_is_named_with_what_installs_it(own_farm: Product) -> None:
    own_farm.write("in/a.pdf", pdf(Page().text(72, 700, "words")))
    done = own_farm.csl("ingest", "in", "--brain", "west", "--json")
    assert reasons(done.data, "skipped") == {
        "a.pdf": "the reader of PDF is not installed: pip install 'consilience[pdf]'"
    }
