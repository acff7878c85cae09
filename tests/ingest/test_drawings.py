"""Charts and diagrams of Office documents: the data that a chart shows is a table, the words of a diagram a list."""

from __future__ import annotations

import io
import zipfile

import pytest
from office import docx, p, pptx, relations, shape, zipped

from consilience.ingest import Document
from consilience.ingest.readers import docx as docx_reader
from consilience.ingest.readers import pptx as pptx_reader

_A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
_C = f'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" {_A}'


def points(tag: str, values: list[str], code: str = "General") -> str:
    inside = "".join(f'<c:pt idx="{n}"><c:v>{v}</c:v></c:pt>' for n, v in enumerate(values))
    cache = f"<c:numCache><c:formatCode>{code}</c:formatCode>{inside}</c:numCache>"
    return f"<c:{tag}><c:numRef><c:f>Sheet1!A1</c:f>{cache}</c:numRef></c:{tag}>"


def series(name: str, names: str, values: list[str]) -> str:
    cache = f'<c:strCache><c:pt idx="0"><c:v>{name}</c:v></c:pt></c:strCache>'
    return f"<c:ser><c:tx><c:strRef>{cache}</c:strRef></c:tx>{names}{points('val', values)}</c:ser>"


def chart(title: str, *shown: str) -> str:
    named = f"<c:title><c:tx><c:rich><a:p><a:r><a:t>{title}</a:t></a:r></a:p></c:rich></c:tx></c:title>"
    plot = f"<c:plotArea><c:barChart>{''.join(shown)}</c:barChart></c:plotArea>"
    return f"<c:chartSpace {_C}><c:chart>{named}{plot}</c:chart></c:chartSpace>"


def frame(inside: str) -> str:
    return f"<p:graphicFrame><a:graphic><a:graphicData>{inside}</a:graphicData></a:graphic></p:graphicFrame>"


def repacked(data: bytes, **parts: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        kept: dict[str, str | bytes] = {name: archive.read(name) for name in archive.namelist()}
    return zipped({**kept, **parts})


def slide_with(kind: str, inside: str, xml: str) -> Document:
    data = pptx((shape("Rain", kind="title") + frame(inside), ""))
    rels = {"ppt/slides/_rels/slide1.xml.rels": relations(("rId9", kind, "../drawn/one.xml"))}
    document = pptx_reader.read(repacked(data, **rels, **{"ppt/drawn/one.xml": xml}), "weather.pptx")
    assert isinstance(document, Document), document
    return document


_R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
CHART = f'<c:chart {_C} {_R} r:id="rId9"/>'


def test_a_chart_is_the_table_of_its_data() -> None:
    years = points("cat", ["45292", "45658"], "yyyy-mm-dd")
    xml = chart(
        "Rain by year", series("North", years, ["4.2999999999999998", "5"]), series("South", years, ["2"])
    )
    assert [(b.role, b.text, b.head) for b in slide_with("chart", CHART, xml).blocks] == [
        ("prose", "Rain by year", False),
        ("table", " | North | South", True),
        ("table", "2024-01-01 | 4.3 | 2", False),
        ("table", "2025-01-01 | 5 | ", False),
    ]


def test_series_of_points_of_their_own_are_tables_of_their_own() -> None:
    one, two = points("xVal", ["1", "2"]), points("xVal", ["7"])
    xml = chart("", series("A", one, ["10", "20"]), series("B", two, ["70"]))
    blocks = slide_with("chart", CHART, xml).blocks
    assert [b.text for b in blocks] == [" | A", "1 | 10", "2 | 20", " | B", "7 | 70"]
    assert blocks[0].group != blocks[3].group


@pytest.mark.parametrize("xml", ["<c:chartSpace", chart("", "<c:ser/>"), "<x/>", chart("", "")])
def test_one_that_is_damaged_or_empty_takes_no_slide_with_it(xml: str) -> None:
    document = slide_with("chart", CHART, xml)
    assert [b.text for b in document.blocks] == ["Rain"]
    assert document.warnings == (
        ("a chart left out: ppt/drawn/one.xml is damaged",) if xml == "<c:chartSpace" else ()
    )


def test_a_diagram_is_a_list() -> None:
    words = "".join(
        f"<d:pt><d:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></d:t></d:pt>" for text in ("Plan", "", "Act")
    )
    xml = f'<d:dataModel xmlns:d="http://schemas.openxmlformats.org/drawingml/2006/diagram" {_A}>{words}</d:dataModel>'
    document = slide_with("diagramData", f'<d:relIds {_A} xmlns:d="d" r:dm="rId9"/>', xml)
    assert [(b.role, b.text) for b in document.blocks] == [("list", "Plan"), ("list", "Act")]


def test_a_chart_in_a_word_document() -> None:
    drawing = f"<w:r><w:drawing>{CHART}</w:drawing></w:r>"
    rels = relations(("rId9", "chart", "charts/one.xml"))
    data = repacked(
        docx(p("Rain fell as follows.", inside=drawing)),
        **{"word/_rels/document.xml.rels": rels, "word/charts/one.xml": chart("", series("A", "", ["10"]))},
    )
    document = docx_reader.read(data, "rain.docx")
    assert isinstance(document, Document), document
    assert [b.text for b in document.blocks] == ["Rain fell as follows.", " | A", " | 10"]
