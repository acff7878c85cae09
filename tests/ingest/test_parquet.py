"""Parquet: a row as a record, values written alike on every machine, bounds and damage named."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from typing import Any

import pytest

from consilience.ingest import Document, Skip, media_type_of, read, split
from consilience.ingest.readers import parquet as reader
from consilience.ingest.readers.formats import PARQUET

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def table(columns: dict[str, Any], **options: Any) -> bytes:
    out = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), out, **options)
    return out.getvalue()


def rows(data: bytes, name: str = "birds.parquet") -> list[str]:
    document = read(data, name)
    assert isinstance(document, Document), document
    return [block.text for block in document.blocks]


def test_a_row_is_a_record_and_its_number_its_place() -> None:
    document = read(table({"name": ["Heron", None, "Coot"], "cm": [90, None, 40]}), "water_birds.parquet")
    assert isinstance(document, Document)
    assert (document.title, document.unit, document.warnings) == ("Water birds", "record", ())
    assert [(p.text, p.locator.text()) for p in split(document)] == [
        ("name: Heron | cm: 90", "record 1 # Water birds"),
        ("name: Coot | cm: 40", "record 3 # Water birds"),
    ]


WHEN = dt.datetime(2024, 3, 1, 10, 30, tzinfo=dt.timezone(dt.timedelta(hours=1)))


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (lambda: pyarrow.array([0.1], pyarrow.float32()), "0.1"),
        (lambda: pyarrow.array([0.1], pyarrow.float64()), "0.1"),
        (lambda: pyarrow.array([16777217.0], pyarrow.float32()), "16777216.0"),
        (lambda: pyarrow.array([Decimal("1.50")]), "1.50"),
        (lambda: pyarrow.array([WHEN], pyarrow.timestamp("us", "Europe/Berlin")), "2024-03-01T09:30:00Z"),
        (lambda: pyarrow.array([1709285400000000001], pyarrow.timestamp("ns")), "2024-03-01T09:30:00"),
        (lambda: pyarrow.array([2**62], pyarrow.timestamp("s")), str(2**62)),
        (lambda: pyarrow.array([dt.date(2024, 3, 1)]), "2024-03-01"),
        (lambda: pyarrow.array([True]), "true"),
        (lambda: pyarrow.array([b"words"]), "words"),
        (lambda: pyarrow.array([b"\xff" * 40]), "ff" * 32 + "…"),
        (lambda: pyarrow.array([["a", "b"]]), "a, b"),
        (lambda: pyarrow.array(["u"]).dictionary_encode(), "u"),
    ],
)
def test_values_are_written_alike_everywhere(column: Any, shown: str) -> None:
    try:
        data = table({"x": column()})
    except (pyarrow.ArrowInvalid, OverflowError):
        pytest.skip("this version of Arrow does not write it")
    assert rows(data) == [f"x: {shown}"]


def test_nested_values_are_those_of_json() -> None:
    vector = pyarrow.array([[0.1] * 40], pyarrow.list_(pyarrow.float32()))
    where = pyarrow.array([{"lake": "North", "at": {"x": 1}}])
    pairs = pyarrow.array([[("k", 1)]], pyarrow.map_(pyarrow.string(), pyarrow.int32()))
    assert rows(table({"v": vector, "where": where, "m": pairs})) == [
        f"v: {', '.join(['0.1'] * 8)}, … (40 numbers) | where.lake: North | where.at.x: 1 | m[0].k: 1"
    ]


def test_bounds_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    data = table({"n": list(range(10))})
    monkeypatch.setattr(reader, "MAX_ROWS", 4)
    document = reader.read(data, "n.parquet")
    assert isinstance(document, Document)
    assert [b.text for b in document.blocks] == ["n: 0", "n: 1", "n: 2", "n: 3"]
    assert document.warnings == ("more than 4 records: left out from record 5 of 10 on",)
    monkeypatch.setattr(reader, "MAX_ROWS", 100)
    monkeypatch.setattr(reader, "MAX_CHARS", 9)
    document = reader.read(data, "n.parquet")
    assert isinstance(document, Document)
    assert len(document.blocks) == 2
    assert document.warnings[0].endswith(": left out from record 3 of 10 on")


def test_what_is_damaged_is_named_and_what_came_before_is_read() -> None:
    data = table(
        {"name": [f"bird number {n}" for n in range(5_000)]}, row_group_size=2_500, use_dictionary=False
    )
    for broken in (data[:-40], data[:4], b"PAR1 only in name PAR1"):
        skip = read(broken, "x.parquet")
        assert isinstance(skip, Skip) and skip.reason.startswith("damaged Parquet file"), skip
    second = parquet.ParquetFile(io.BytesIO(data)).metadata.row_group(1).column(0).data_page_offset
    harmed = bytearray(data)
    harmed[second : second + 64] = b"\xff" * 64
    document = read(bytes(harmed), "x.parquet")
    assert isinstance(document, Document)
    assert 1_000 <= len(document.blocks) <= 2_500
    assert document.warnings[0].startswith("damaged: left out after record ")


def test_bytes_say_what_it_is() -> None:
    data = table({"n": [1]})
    assert media_type_of("n.txt", data) == PARQUET
    assert media_type_of("n.txt", b"PAR1 is a word") == "text/plain"
