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
