"""CSV and TSV: what the delimiter and the header are told by, quotes of every kind, ragged and very many rows."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.ingest import Document, Skip, read, split
from consilience.ingest.readers import delimited, records


def table(data: bytes, name: str = "people.csv") -> Document:
    document = read(data, name)
    assert isinstance(document, Document), document
    return document


def texts(data: bytes, name: str = "people.csv") -> list[str]:
    return [passage.text for passage in split(table(data, name))]


def test_a_row_is_a_passage_with_the_names_of_its_columns() -> None:
    document = table(b"name,born,known for\nAda Lovelace,1815,the first program\nAlan Turing,1912,\n")
    first, second = split(document)
    assert first.text == "name: Ada Lovelace | born: 1815 | known for: the first program"
    assert first.locator.text() == "L2 # People"
    assert second.text == "name: Alan Turing | born: 1912"
    assert document.warnings == ()


def test_short_tables_and_short_rows_are_not_joined() -> None:
    assert texts(b"k,v\na,1\nb,2\n") == ["k: a | v: 1", "k: b | v: 2"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_told_from_the_rows(delimiter: str) -> None:
    rows = [["name", "price"], ["bread, white", "2"], ["cheese; old", "3"], ["milk", "1"]]
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter).writerows(rows)
    assert texts(out.getvalue().encode())[0] == "name: bread, white | price: 2"


def test_decimal_commas_do_not_make_columns() -> None:
    assert (
        texts(b"Name;Preis;Gewicht\nBrot;2,50;1,0\nMilch;1,10;1,0\n")[0]
        == "Name: Brot | Preis: 2,50 | Gewicht: 1,0"
    )


def test_what_a_spreadsheet_says_of_its_delimiter_is_believed() -> None:
    assert texts(b"sep=;\na;b,c\nx;1\n") == ["a: x | b,c: 1"]


def test_quoted_line_ends_quotes_and_delimiters() -> None:
    data = b'id,note\r\n1,"two\r\nlines, and a ""word"""\r\n2,"last"\r\n'
    passages = split(table(data))
    assert [p.text for p in passages] == ['id: 1 | note: two lines, and a "word"', "id: 2 | note: last"]
    assert [p.locator.text() for p in passages] == ["L2-L3 # People", "L4 # People"]


@pytest.mark.parametrize(
    ("data", "header"),
    [
        (b"1,2\n3,4\n", False),
        (b"id,x\n3,4\n", True),
        (b"country,1990,2000\nFrance,1,2\n", True),
        (b"name,city\nalan,london\n", True),
        (b"ada,london\nalan,london\n", False),
        (b"2024-01-01,rain\n2024-01-02,sun\n", False),
        (b"a,a\nb,c\n", False),
    ],
)
def test_the_first_row_is_a_header_only_if_it_looks_like_one(data: bytes, header: bool) -> None:
    document = table(data)
    assert (": " in document.blocks[0].text) is header
    assert any("names of columns" in w for w in document.warnings) is not header


def test_ragged_rows_are_kept_and_reported_by_line() -> None:
    document = table(b"a,b,c\n1,2,3\n1,2\n1,2,3,4\n1,2,3\n")
    assert [b.text for b in document.blocks][1:3] == ["a: 1 | b: 2", "a: 1 | b: 2 | c: 3 | 4"]
    assert document.warnings == ("not the 3 cells that the header has: 2 lines (3; 4)",)


def test_a_quote_that_is_never_closed_takes_no_other_row_with_it() -> None:
    document = table(b'a,b\n1,2\n"3,4\n5,6\n7,8\n')
    assert [b.text for b in document.blocks] == ["a: 1 | b: 2", 'a: "3 | b: 4', "a: 5 | b: 6", "a: 7 | b: 8"]
    assert document.warnings == ("a quote that is never closed, taken as a character: line 3",)


def test_lines_of_two_encodings() -> None:
    document = table("a,b\nMünchen,1\n".encode() + "Köln,2\n".encode("cp1252"))
    assert [b.text for b in document.blocks] == ["a: München | b: 1", "a: Köln | b: 2"]
    assert document.warnings == ("not UTF-8, and read as Windows-1252: line 3",)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks_stay_out_of_the_first_name(encoding: str) -> None:
    assert texts("naïve,b\nx,1\n".encode(encoding)) == ["naïve: x | b: 1"]


@pytest.mark.parametrize("data", [b"", b"\n\n", b",,,\n,,,\n", b"\x00\x01", b"PK\x03\x04"])
def test_nothing_in_it(data: bytes) -> None:
    assert isinstance(read(data, "x.csv"), Skip)


@pytest.mark.parametrize(
    "data",
    [
        b'a","b\n' * 20_000,
        b'"a\n' + b"x\n" * 20_000,
        b'"a""\n' * 20_000,
        b'"' * 100_000,
        b"," * 100_000,
        b'"\n' * 9_999,
        b"x" * 1_000_000,
    ],
    ids=["reopening", "one open", "doubled", "quotes only", "commas only", "odd lines", "one long word"],
)
def test_hostile_tables_cost_no_more_than_their_length(data: bytes) -> None:
    result = read(data, "x.csv")
    assert isinstance(result, Document | Skip)


def test_a_row_of_very_many_cells_is_cut_and_reported() -> None:
    document = table(b"1," * 10_500 + b"1\n2,3\n")
    assert document.warnings[-1] == "cells left out beyond the first 10,000: line 1"


@given(
    st.lists(
        st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\x00\r")), min_size=2, max_size=4)
    )
)
def test_what_a_writer_of_csv_writes_comes_back(rows: list[list[str]]) -> None:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    assert [list(row.cells) for row in delimited.rows_of(out.getvalue(), ",")] == rows


def test_very_many_rows_are_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"id,v\n" + b"".join(b"%d,word%d\n" % (n, n) for n in range(50))
    held = table(data)
    monkeypatch.setattr(records, "STREAM_FROM", 10)
    streamed = table(data)
    assert streamed.blocks == ()
    assert split(streamed) == split(held)
    assert split(streamed) == split(streamed)


def test_rows_beyond_the_cap_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "MAX_ROWS", 3)
    document = table(b"id,v\n1,a\n2,b\n3,c\n4,d\n5,e\n")
    assert len(document.blocks) == 3
    assert document.warnings == ("more than 3 rows: left out from line 5 on",)


def test_a_streamed_table_goes_in_as_a_held_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.ingest.test_pipeline import Kept

    kept = Kept(tmp_path)
    path = kept.docs / "t.csv"
    path.write_text("id,v\n" + "".join(f"{n},word number {n % 7}\n" for n in range(60)) + "3,word number 3\n")
    monkeypatch.setattr(records, "STREAM_FROM", 10)
    monkeypatch.setattr("consilience.ingest.prepared.BATCH_PASSAGES", 16)
    report = kept.ingest()
    assert (report.taken, report.passages) == (1, 60)
    assert len(kept.texts()) == 60
    assert kept.ingest().unchanged == 1
    path.write_text(
        "id,v\n" + "".join(f"{n},word number {n % 7}\n" for n in range(1, 50)) + "70,another word\n"
    )
    again = kept.ingest()
    assert (again.changed, again.demoted, again.superseded) == (1, 11, 0)
    assert len(kept.texts()) == 50
    kept.brain.close()
