"""OpenDocument, PowerPoint and EPUB: what becomes a passage and where it stands; damage is named."""

from __future__ import annotations

import io
import zipfile
from types import ModuleType

import pytest
from office import epub, odt, pptx, shape, slide_table, zipped

from consilience.ingest import Document, Skip, read, split
from consilience.ingest.readers import epub as epub_reader
from consilience.ingest.readers import odt as odt_reader
from consilience.ingest.readers import pptx as pptx_reader
from consilience.ingest.readers.formats import BY_SUFFIX, READERS

LONG = "The heron waits in the reeds until the water is still"


def told(reader: ModuleType, data: bytes) -> list[tuple[str, str, str]]:
    document = reader.read(data, "a.file")
    assert isinstance(document, Document), document
    return [(x.role, x.text, x.locator.text()) for x in split(document)]


# --- PowerPoint -------------------------------------------------------------------------------------------------


def test_slides_come_in_the_order_of_the_list_with_their_notes() -> None:
    data = pptx(
        (
            shape("Herons", kind="ctrTitle") + shape("A talk about birds that stand still.", kind="subTitle"),
            "",
        ),
        (
            shape("Life", kind="title") + shape(("waits", 0), ("until still", 1), kind="body"),
            f"{LONG}, say it.",
        ),
        (shape("Life", kind="title") + slide_table(("bird", "cm"), ("heron", "90")), ""),
        (shape("3", kind="sldNum") + shape("2 May", kind="dt") + shape(f"{LONG}."), ""),
    )
    assert told(pptx_reader, data) == [
        ("prose", "A talk about birds that stand still.", "slide 1 # Herons"),
        ("list", "- waits\n  - until still", "slide 2 # Herons > Life"),
        ("prose", f"{LONG}, say it.", "slide 2 # Herons > Life > Notes"),
        ("table", "bird | cm\nheron | 90", "slide 3 # Herons > Life"),
        ("prose", f"{LONG}.", "slide 4 # Herons"),
    ]


def test_shapes_in_groups_and_long_tables() -> None:
    rows = [("bird", "height"), *((f"heron {n}", f"{n} cm") for n in range(20))]
    data = pptx((f"<p:grpSp><p:grpSp>{shape(f'{LONG}.')}</p:grpSp></p:grpSp>{slide_table(*rows)}", ""))
    found = [text for _, text, _ in told(pptx_reader, data)]
    assert found[:2] == [f"{LONG}.", "bird: heron 0 | height: 0 cm"]


def test_a_damaged_slide_is_left_out_with_a_warning() -> None:
    data = pptx((shape(f"{LONG}."), ""), ("<unclosed>", ""))
    document = pptx_reader.read(data, "a.pptx")
    assert isinstance(document, Document)
    assert [block.text for block in document.blocks] == [f"{LONG}."]
    assert document.warnings[0].startswith(
        "slide 2 left out: damaged PowerPoint presentation: ppt/slides/slide1.xml"
    )


# --- OpenDocument -----------------------------------------------------------------------------------------------

BODY = f"""<text:p text:style-name="P1">Herons</text:p><text:h text:outline-level="1">Life</text:h>
<text:tracked-changes><text:p>gone</text:p></text:tracked-changes>
<text:p>{LONG}<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Seen in 1904.</text:p>
</text:note-body></text:note>, <text:s text:c="3"/><text:span>and then</text:span><text:tab/>it strikes.</text:p>
<text:list><text:list-item><text:p>one</text:p><text:list><text:list-item><text:p>two</text:p></text:list-item>
</text:list></text:list-item></text:list>
<text:section><text:p text:style-name="P2">def f():</text:p>
<text:p text:style-name="P2"><text:s text:c="4"/>pass</text:p>
</text:section>
<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>bird</text:p></table:table-cell>
<table:table-cell><text:p>cm</text:p></table:table-cell></table:table-row></table:table-header-rows>
<table:table-row><table:table-cell><text:p>heron</text:p></table:table-cell>
<table:table-cell><text:p>90</text:p></table:table-cell></table:table-row></table:table>"""


def test_opendocument_text() -> None:
    assert told(odt_reader, odt(BODY)) == [
        ("prose", f"{LONG}[1], and then it strikes.", "paragraph 3 # Herons > Life"),
        ("reference", "[1] Seen in 1904.", "paragraph 3 # Herons > Life"),
        ("list", "- one\n  - two", "paragraph 4-5 # Herons > Life"),
        ("code", "def f():\n    pass", "paragraph 6-7 # Herons > Life"),
        ("table", "bird | cm\nheron | 90", "paragraph 8-11 # Herons > Life"),
    ]


def test_a_title_by_a_style_of_another_program() -> None:
    document = odt_reader.read(
        odt(f'<text:p text:style-name="rststyle-title">Herons</text:p><text:p>{LONG}.</text:p>'), "a"
    )
    assert document.title == "Herons"
    assert [block.text for block in document.blocks] == [f"{LONG}."]


def test_encrypted_opendocument_is_named() -> None:
    manifest = '<m:manifest xmlns:m="x"><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>'
    assert odt_reader.read(odt(BODY, manifest=manifest), "a.odt") == Skip("encrypted OpenDocument text")


# --- EPUB -------------------------------------------------------------------------------------------------------


def page(body: str, title: str = "<title/>") -> str:
    return (
        f'<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head>{title}'
        f"</head><body>{body}</body></html>"
    )


NCX = """<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://www.daisy.org/z3986/2005/ncx-2005-1.dtd">
<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>The Lake</text></navLabel>
<content src="text/c%202.xhtml#top"/></navPoint></navMap></ncx>"""


def test_chapters_in_the_order_of_the_spine_with_their_names() -> None:
    data = epub(
        page(f"<h1>Life</h1><p>{LONG}.</p><h2>Food</h2><p>{LONG} and a fish comes by.</p>"),
        page(f"<p>{LONG} of the lake.</p>", "<title>Herons</title>"),
        toc=NCX,
    )
    assert told(epub_reader, data) == [
        ("prose", f"{LONG}.", "chapter 1 @1904-05-02 # Herons > Life"),
        ("prose", f"{LONG} and a fish comes by.", "chapter 1 @1904-05-02 # Herons > Life > Food"),
        ("prose", f"{LONG} of the lake.", "chapter 2 @1904-05-02 # Herons > The Lake"),
    ]


def test_a_page_that_the_spine_lists_section_by_section_is_read_once() -> None:
    """Some makers of books list every section as an item of its own, in the same file."""
    data = epub(page(f"<h1>Life</h1><p>{LONG}.</p>"), page(f"<h1>Lake</h1><p>{LONG} of the lake.</p>"))
    spine = "".join(
        f'<item id="s{n}" href="text/c%201.xhtml#s{n}" media-type="application/xhtml+xml"/>'
        for n in range(50)
    )
    refs = "".join(f'<itemref idref="s{n}"/>' for n in range(50))
    more = repacked(
        data, "OEBPS/book.opf", ("<manifest>", "<manifest>" + spine), ("<spine>", "<spine>" + refs)
    )
    assert [place for _, _, place in told(epub_reader, more)] == [
        "chapter 1 @1904-05-02 # Herons > Life",
        "chapter 52 @1904-05-02 # Herons > Lake",
    ]


def test_the_contents_of_a_book_are_told_from_its_lists() -> None:
    items = "".join(f'<li><a href="{n}.xhtml">Chapter {n}</a></li>' for n in "ab")
    data = epub(page(f'<div class="toc"><ul>{items}</ul></div><p>{LONG}.</p>'))
    assert [role for role, _, _ in told(epub_reader, data)] == ["toc", "prose"]


def repacked(data: bytes, part: str, *changes: tuple[str, str]) -> bytes:
    """A package with words of one part replaced."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    text = bytes(parts[part]).decode() if isinstance(parts[part], bytes) else str(parts[part])
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return zipped({**parts, part: text}, stored=["mimetype"])


def test_lists_of_two_chapters_are_two_lists() -> None:
    items = "<ul><li>one</li><li>two</li></ul>"
    assert [
        text for _, text, _ in told(epub_reader, epub(page(items), page(items.replace("one", "three"))))
    ] == [
        "- one\n- two",
        "- three\n- two",
    ]


def test_a_locked_book_is_named_and_hidden_fonts_are_no_lock() -> None:
    def encryption(algorithm: str) -> str:
        return (
            '<encryption><e:EncryptedData xmlns:e="x"><e:EncryptionMethod '
            f'Algorithm="{algorithm}"/></e:EncryptedData></encryption>'
        )

    book = page(f"<p>{LONG}.</p>")
    aes = encryption("http://www.w3.org/2001/04/xmlenc#aes128-cbc")
    assert epub_reader.read(epub(book, encryption=aes), "a.epub") == Skip(
        "encrypted EPUB (digital rights management)"
    )
    fonts = encryption("http://www.idpf.org/2008/embedding")
    assert isinstance(epub_reader.read(epub(book, encryption=fonts), "a.epub"), Document)


def test_a_damaged_chapter_is_left_out_with_a_warning() -> None:
    document = epub_reader.read(epub(b"\x00\x01" * 500, page(f"<p>{LONG}.</p>")), "a.epub")
    assert isinstance(document, Document)
    assert [block.text for block in document.blocks] == [f"{LONG}."]
    assert document.warnings == ("chapter 1 left out: binary: contains NUL bytes",)


# --- damage -----------------------------------------------------------------------------------------------------

SOUND = {
    "pptx": (pptx_reader, pptx((shape("Herons", kind="title") + shape(f"{LONG}."), f"{LONG}"))),
    "odt": (odt_reader, odt(BODY)),
    "epub": (epub_reader, epub(page(f"<p>{LONG}.</p>"), toc=NCX)),
}


@pytest.mark.parametrize("kind", SOUND)
def test_bytes_turned_over_one_by_one_end_in_a_document_or_a_skip(kind: str) -> None:
    reader, data = SOUND[kind]
    for at in range(0, len(data), 7):
        damaged = bytearray(data)
        damaged[at] ^= 0x55
        assert isinstance(reader.read(bytes(damaged), f"a.{kind}"), Document | Skip)
    for cut in range(0, len(data), 101):
        skip = reader.read(data[:cut], f"a.{kind}")
        assert isinstance(skip, Skip)
        assert skip.reason.startswith("damaged ")


@pytest.mark.parametrize("kind", SOUND)
def test_it_goes_the_whole_way_through_its_own_process(kind: str) -> None:
    reader, data = SOUND[kind]
    here = reader.read(data, f"heron.{kind}")
    document = read(data, f"heron.{kind}")
    assert isinstance(document, Document), document
    assert document.blocks == here.blocks
    assert document.reader_id == "/".join(READERS[BY_SUFFIX[f".{kind}"]])
    assert read(data, "heron.txt") == document or document.title == "Heron"


def test_a_package_of_another_kind_is_what_its_bytes_say() -> None:
    document = read(SOUND["odt"][1], "wrong.docx")
    assert isinstance(document, Document)
    assert document.reader == "odt"
    assert read(zipped({"a": "b"}), "wrong.epub") == Skip("damaged EPUB: META-INF/container.xml is not in it")
    assert read(b"just words", "wrong.docx") == Skip("not Word (.docx) by its bytes, though its name says so")
