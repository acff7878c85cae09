"""Word documents: what becomes a passage, and the files that are made to break a reader."""

from __future__ import annotations

import pytest
from office import core, docx, footnotes, p, table, zipped

from consilience.ingest import Document, Skip, read, split
from consilience.ingest.readers import docx as reader
from consilience.ingest.readers.formats import DOCX, READERS

LONG = "The heron waits in the reeds until the water is still"


def told(data: bytes) -> list[tuple[str, str, str]]:
    document = reader.read(data, "a.docx")
    assert isinstance(document, Document), document
    return [(x.role, x.text, x.locator.text()) for x in split(document)]


def test_headings_by_the_names_of_styles_not_their_ids() -> None:
    data = docx(
        p("Herons", "Titel"), p("Life", "berschrift1"), p(f"{LONG}."), p("Food", "Mine"), p(f"{LONG} again.")
    )
    assert told(data) == [
        ("prose", f"{LONG}.", "paragraph 3 # Herons > Life"),
        ("prose", f"{LONG} again.", "paragraph 5 # Herons > Life > Food"),
    ]


def test_lists_are_one_list_and_nest() -> None:
    data = docx(p("one", level=0), p("two", level=1), p("three", "Liste"), p(f"{LONG}."))
    assert told(data) == [
        ("list", "- one\n  - two\n- three", "paragraph 1-3 # A"),
        ("prose", f"{LONG}.", "paragraph 4 # A"),
    ]


def test_a_table_with_its_header() -> None:
    rows = [("bird", "height"), *((f"heron {n}", f"{n} cm") for n in range(20))]
    found = told(docx(table(*rows, head=True)))
    assert found[0] == ("table", "bird: heron 0 | height: 0 cm", "paragraph 3-4 # A")
    assert len(found) == 20
    assert told(docx(table(*rows, look="04A0"))) == found
    assert told(docx(table(*rows)))[1] == ("table", "heron 0 | 0 cm", "paragraph 3-4 # A")


def test_a_table_that_lays_out_a_page_is_read_as_its_text() -> None:
    data = docx(table((f"{LONG}.",), (f"{LONG} again.",)), table(("left", f"{LONG} too.")))
    assert [x[1] for x in told(data)] == [f"{LONG}.", f"{LONG} again.", "left", f"{LONG} too."]


def test_footnotes_stand_after_their_paragraph() -> None:
    note = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    data = docx(
        p(f"{LONG}", inside=note), p("After it."), footnotes=footnotes("first", "Seen in 1904 by the lake.")
    )
    assert [x[:2] for x in told(data)][:2] == [
        ("prose", f"{LONG}[2]"),
        ("reference", "[2] Seen in 1904 by the lake."),
    ]


def test_code_keeps_its_lines_and_contents_are_contents() -> None:
    data = docx(
        p("Life 3", "Verzeichnis1"),
        p("Food 7", "Verzeichnis1"),
        p("def f():", "SourceCode"),
        p("    pass", "SourceCode"),
    )
    assert told(data) == [
        ("toc", "- Life 3\n- Food 7", "paragraph 1-2 # A"),
        ("code", "def f():\n    pass", "paragraph 3-4 # A"),
    ]


def test_what_was_deleted_or_hidden_is_not_there() -> None:
    inside = (
        "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:rPr><w:vanish/></w:rPr><w:t>hid</w:t></w:r>"
        "<w:ins><w:r><w:t> and more</w:t></w:r></w:ins><w:r><w:instrText>PAGE</w:instrText></w:r>"
        "<w:r><w:noBreakHyphen/><w:tab/><w:t>end.</w:t></w:r>"
    )
    assert told(docx(p(LONG, inside=inside)))[0][1] == f"{LONG} and more- end."


def test_a_text_box_is_read_once() -> None:
    box = f"<w:txbxContent>{p(f'{LONG} in a box.')}</w:txbxContent>"
    inside = (
        f"<w:r><mc:AlternateContent><mc:Choice><w:drawing>{box}</w:drawing></mc:Choice>"
        f"<mc:Fallback><w:pict>{box}</w:pict></mc:Fallback></mc:AlternateContent></w:r>"
    )
    assert [x[1] for x in told(docx(p(f"{LONG}.", inside=inside)))] == [f"{LONG}.", f"{LONG} in a box."]


def test_title_and_date_of_the_properties() -> None:
    data = docx(p("x"))
    parts = {"docProps/core.xml": core("Herons", "2009-06-18T23:30:00-02:00"), **_parts(data)}
    document = reader.read(zipped(parts), "a.docx")
    assert isinstance(document, Document)
    assert (document.title, document.date, document.unit) == ("Herons", "2009-06-19", "paragraph")


def _parts(data: bytes) -> dict[str, str | bytes]:
    import io
    import zipfile

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def with_document(xml: str | bytes) -> bytes:
    return docx() if not xml else zipped({**_parts(docx()), "word/document.xml": xml})


BILLION = (
    '<!DOCTYPE x [<!ENTITY a "' + "ha" * 50 + '">'
    + "".join(f'<!ENTITY {y} "{f"&{x};" * 50}">' for x, y in zip("abcdefgh", "bcdefghi", strict=True))
    + "]><x>&i;</x>"
)  # fmt: skip


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "damaged Word document"),
        (docx(p(LONG))[:300], "damaged Word document: File is not a zip file"),
        (with_document(BILLION), "its XML declares a document type of its own"),
        (with_document('<!DOCTYPE x [<!ENTITY a SYSTEM "file:///a">]><x>&a;</x>'), "its XML declares a document"),
        (with_document("<a>" * 100_000), "its XML is nested deeper than 200"),
        (with_document("<a><b></a>"), "damaged Word document: word/document.xml: mismatched tag"),
        (with_document('<?xml version="1.0" encoding="x-none"?><a/>'), "its XML cannot be decoded: unknown encoding"),
        (with_document(b"<a>" + b" " * (65 << 20) + b"</a>"), "unpacks to more than 64 MiB: word/document.xml"),
        (zipped({"[Content_Types].xml": "", "a": ""}), "damaged Word document: word/document.xml is not in it"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_skipped_with_the_reason(data: bytes, reason: str) -> None:
    skip = reader.read(data, "a.docx")
    assert isinstance(skip, Skip), skip
    assert skip.reason.startswith(reason)


@pytest.mark.parametrize("figure", ["²", "9" * 5_000, "-1", "x", "", "999999999"])
def test_numbers_that_are_none_or_too_large_do_no_harm(figure: str) -> None:
    strange = p("two").replace(
        "<w:pPr>", f'<w:pPr><w:numPr><w:ilvl w:val="{figure}"/><w:numId w:val="1"/></w:numPr>'
    )
    leveled = p("three").replace("<w:pPr>", f'<w:pPr><w:outlineLvl w:val="{figure}"/>')
    wide = table(("a", "b"), ("c", "d")).replace(
        "<w:tc>", f'<w:tc><w:tcPr><w:gridSpan w:val="{figure}"/></w:tcPr>'
    )
    found = told(docx(p("one", level=0), strange, leveled, wide))
    assert found[0][0] == "list"
    assert found[-1][0] == "table"
    assert all(len(text) < 1_000 for _, text, _ in found)


def test_an_encrypted_member_is_named() -> None:
    data = bytearray(docx(p(LONG)))
    at = -1
    while (at := data.find(b"PK\x01\x02", at + 1)) >= 0:
        data[at + 8] |= 1
    assert reader.read(bytes(data), "a.docx") == Skip("encrypted Word document")


def test_bytes_turned_over_one_by_one_end_in_a_document_or_a_skip() -> None:
    data = docx(p("Herons", "Titel"), p(f"{LONG}."), table(("a", "b"), ("c", "d")))
    for at in range(0, len(data), 7):
        damaged = bytearray(data)
        damaged[at] ^= 0x55
        assert isinstance(reader.read(bytes(damaged), "a.docx"), Document | Skip)


def test_a_document_goes_the_whole_way_through_its_own_process() -> None:
    document = read(docx(p(f"{LONG}.")), "heron.docx")
    assert isinstance(document, Document), document
    assert document.reader_id == "/".join(READERS[DOCX])
    assert (document.title, document.blocks[0].text) == ("Heron", f"{LONG}.")
    assert read(docx(), "a.docx") == Skip("no text in it")
    assert read(docx(p(f"{LONG}.")), "a.txt") == read(docx(p(f"{LONG}.")), "a.docx")
