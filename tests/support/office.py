"""Minimal office documents, written part by part, for the tests of their readers."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from html import escape

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_MC = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
TYPES = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def zipped(parts: dict[str, str | bytes], stored: Iterable[str] = ()) -> bytes:
    """The parts as a zip file, compressed but for those named."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            method = zipfile.ZIP_STORED if name in stored else zipfile.ZIP_DEFLATED
            archive.writestr(name, data, method)
    return out.getvalue()


def relations(*targets: tuple[str, str, str]) -> str:
    """Relations (id, last word of the type, target)."""
    inside = "".join(
        f'<Relationship Id="{i}" Type="{_RELATIONS}/{t}" Target="{to}"/>' for i, t, to in targets
    )
    return f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{inside}</Relationships>'


STYLES = f"""<w:styles {_W}>
<w:style w:type="paragraph" w:styleId="Titel"><w:name w:val="Title"/></w:style>
<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>
<w:style w:type="paragraph" w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>
<w:style w:type="paragraph" w:styleId="Mine"><w:name w:val="My part"/><w:basedOn w:val="berschrift2"/></w:style>
<w:style w:type="paragraph" w:styleId="Liste"><w:name w:val="List Bullet"/>
<w:pPr><w:numPr><w:numId w:val="3"/></w:numPr></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="SourceCode"><w:name w:val="Source Code"/></w:style>
<w:style w:type="paragraph" w:styleId="Verzeichnis1"><w:name w:val="toc 1"/></w:style>
<w:style w:type="paragraph" w:styleId="A"><w:name w:val="a"/><w:basedOn w:val="B"/></w:style>
<w:style w:type="paragraph" w:styleId="B"><w:name w:val="b"/><w:basedOn w:val="A"/></w:style>
</w:styles>"""


def p(text: str = "", style: str = "", level: int | None = None, inside: str = "") -> str:
    """A paragraph of Word; `level` makes it an item of a list; `inside` is XML after the text."""
    numbered = "" if level is None else f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="1"/></w:numPr>'
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    run = f'<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r>' if text else ""
    return f"<w:p><w:pPr>{named}{numbered}</w:pPr>{run}{inside}</w:p>"


def table(*rows: tuple[str, ...], head: bool = False, look: str = "0000") -> str:
    """A table of Word; `head` marks its first row as a header."""
    shown = []
    for n, row in enumerate(rows):
        properties = "<w:trPr><w:tblHeader/></w:trPr>" if head and n == 0 else ""
        cells = "".join(f"<w:tc>{p(cell)}</w:tc>" for cell in row)
        shown.append(f"<w:tr>{properties}{cells}</w:tr>")
    return f'<w:tbl><w:tblPr><w:tblLook w:val="{look}"/></w:tblPr>{"".join(shown)}</w:tbl>'


def docx(*body: str, **parts: str | bytes) -> bytes:
    """A Word document; `parts` are further ones by name, `word/` and `.xml` added."""
    document = f"<w:document {_W} {_MC}><w:body>{''.join(body)}</w:body></w:document>"
    members: dict[str, str | bytes] = {
        "[Content_Types].xml": TYPES,
        "_rels/.rels": relations(("rId1", "officeDocument", "word/document.xml")),
        "word/document.xml": document,
        "word/styles.xml": STYLES,
        "word/_rels/document.xml.rels": relations(
            ("rId1", "styles", "styles.xml"), ("rId2", "footnotes", "footnotes.xml")
        ),
    }
    members.update({f"word/{name}.xml": data for name, data in parts.items()})
    return zipped(members)


def footnotes(*texts: str) -> str:
    inside = "".join(f'<w:footnote w:id="{n}">{p(text)}</w:footnote>' for n, text in enumerate(texts, 1))
    return f"<w:footnotes {_W}>{inside}</w:footnotes>"


def core(title: str = "", created: str = "") -> str:
    return (
        '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">'
        f"<dc:title>{title}</dc:title><dcterms:created>{created}</dcterms:created></cp:coreProperties>"
    )


# --- PowerPoint -------------------------------------------------------------------------------------------------

_P = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    f'xmlns:r="{_RELATIONS}"'
)


def shape(*lines: tuple[str, int] | str, kind: str = "") -> str:
    """A shape of PowerPoint; lines are text, or text and depth; `kind` is that of a placeholder."""
    placeholder = f'<p:nvPr><p:ph type="{kind}"/></p:nvPr>' if kind else "<p:nvPr/>"
    shown = ""
    for line in lines:
        text, depth = (line, 0) if isinstance(line, str) else line
        shown += f'<a:p><a:pPr lvl="{depth}"/><a:r><a:t>{escape(text)}</a:t></a:r></a:p>'
    return f"<p:sp><p:nvSpPr>{placeholder}</p:nvSpPr><p:txBody>{shown}</p:txBody></p:sp>"


def slide_table(*rows: tuple[str, ...], first_row: bool = True) -> str:
    shown = ""
    for row in rows:
        cells = "".join(
            f"<a:tc><a:txBody><a:p><a:r><a:t>{c}</a:t></a:r></a:p></a:txBody></a:tc>" for c in row
        )
        shown += f"<a:tr>{cells}</a:tr>"
    return (
        f'<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tblPr firstRow="{int(first_row)}"/>{shown}</a:tbl>'
        "</a:graphicData></a:graphic></p:graphicFrame>"
    )


def _slide(root: str, shapes: str) -> str:
    return f"<p:{root} {_P}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:{root}>"


def pptx(*slides: tuple[str, str]) -> bytes:
    """A presentation of slides (shapes, text of the notes)."""
    ids = "".join(f'<p:sldId r:id="rId{n}" id="{255 + n}"/>' for n in range(1, len(slides) + 1))
    members: dict[str, str | bytes] = {
        "[Content_Types].xml": TYPES,
        "_rels/.rels": relations(("rId1", "officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": f"<p:presentation {_P}><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>",
        "ppt/_rels/presentation.xml.rels": relations(
            # The file of the first slide has the last number: the order is that of the list.
            *(
                (f"rId{n}", "slide", f"slides/slide{len(slides) + 1 - n}.xml")
                for n in range(1, len(slides) + 1)
            )
        ),
    }
    for n, (shapes, notes) in enumerate(slides, 1):
        file = len(slides) + 1 - n
        members[f"ppt/slides/slide{file}.xml"] = _slide("sld", shapes)
        if notes:
            members[f"ppt/slides/_rels/slide{file}.xml.rels"] = relations(
                ("rId1", "notesSlide", f"../notesSlides/notesSlide{file}.xml")
            )
            inside = shape(notes, kind="body") + shape("7", kind="sldNum")
            members[f"ppt/notesSlides/notesSlide{file}.xml"] = _slide("notes", inside)
    return zipped(members)


# --- OpenDocument and EPUB --------------------------------------------------------------------------------------

_O = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for name in ("office", "text", "table", "style", "drawing")
)


def odt(body: str, **parts: str | bytes) -> bytes:
    """OpenDocument text; `meta` and `manifest` may be given."""
    styles = (
        '<style:style style:name="P1" style:parent-style-name="Title"/>'
        '<style:style style:name="P2" style:parent-style-name="Preformatted_20_Text"/>'
    )
    content = (
        f"<office:document-content {_O}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:text>{body}</office:text></office:body></office:document-content>"
    )
    members: dict[str, str | bytes] = {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "content.xml": content,
    }
    if "meta" in parts:
        members["meta.xml"] = parts["meta"]
    if "manifest" in parts:
        members["META-INF/manifest.xml"] = parts["manifest"]
    return zipped(members, stored=["mimetype"])


def epub(*chapters: str | bytes, title: str = "Herons", toc: str = "", **parts: str | bytes) -> bytes:
    """A book of XHTML chapters; `toc` is an NCX; `encryption` may be given."""
    items = "".join(
        f'<item id="c{n}" href="text/c%20{n}.xhtml" media-type="application/xhtml+xml"/>'
        for n in range(1, len(chapters) + 1)
    )
    if toc:
        items += '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>'
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(1, len(chapters) + 1))
    members: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
        "OEBPS/book.opf": '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<metadata><dc:title>{title}</dc:title><dc:language>en-GB</dc:language><dc:date>1904-05-02</dc:date>"
        f"</metadata><manifest>{items}</manifest><spine>{spine}</spine></package>",
    }
    if toc:
        members["OEBPS/toc.ncx"] = toc
    members.update({f"OEBPS/text/c {n}.xhtml": chapter for n, chapter in enumerate(chapters, 1)})
    members.update({f"META-INF/{name}.xml": data for name, data in parts.items()})
    return zipped(members, stored=["mimetype"])
