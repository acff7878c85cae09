"""Bytes to text, media types, declared dates."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.ingest import Document, Skip, media_type_of, read
from consilience.ingest.decoding import Decoded, decode
from consilience.ingest.metadata import parse_date, readable_name

TEXT = "Señal débil, según el operador de la antena — «1».\n"


@pytest.mark.parametrize(
    ("encoding", "bom", "named"),
    [
        ("utf-8", b"", "utf-8"),
        ("utf-8", b"\xef\xbb\xbf", "utf-8-sig"),
        ("utf-16-le", b"\xff\xfe", "utf-16-le"),
        ("utf-16-be", b"\xfe\xff", "utf-16-be"),
        ("utf-32-le", b"\xff\xfe\x00\x00", "utf-32-le"),
        ("cp1252", b"", "cp1252"),
    ],
)
def test_encodings(encoding: str, bom: bytes, named: str) -> None:
    found = decode(bom + TEXT.encode(encoding))
    assert isinstance(found, Decoded)
    assert (found.text, found.encoding, bool(found.warnings)) == (TEXT, named, named == "cp1252")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_are_one(end: str) -> None:
    found = decode(f"a{end}{end}b".encode())
    assert isinstance(found, Decoded)
    assert found.text == "a\n\nb"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b" \n\t\r\n", "empty"),
        (b"\xef\xbb\xbf", "empty"),
        ("\u200b\u200d\n".encode(), "empty"),
        (b"\x00" * 10, "binary"),
        (b"text with\x00a NUL", "binary"),
        (b"%PDF-1.7 and so on", "PDF"),
        (b"\x89PNG\r\n\x1a\n", "PNG"),
        (bytes(range(256)) * 4, "binary"),
        (b"\x01\x02\x03\x04 few words", "binary"),
        (b"\xff\xfe\x00", "utf-16"),
        (bytes(range(0x80, 0x100)) * 4, "encoding"),
    ],
)
def test_what_is_no_text_is_skipped_with_a_reason(data: bytes, reason: str) -> None:
    found = read(data, "note.md")
    assert isinstance(found, Skip)
    assert reason in found.reason


@given(st.binary(max_size=300), st.sampled_from(["a.md", "a.rst", "a.txt", "a.html"]))
def test_no_bytes_raise(data: bytes, name: str) -> None:
    assert isinstance(read(data, name), Document | Skip)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.MD", "text/markdown"),
        ("a.rst", "text/x-rst"),
        ("a.htm", "text/html"),
        ("folder/README", "text/plain"),
        ("LICENSE", "text/plain"),
        ("a.txt", "text/plain"),
    ],
)
def test_media_types(name: str, expected: str) -> None:
    assert media_type_of(name) == expected


@pytest.mark.parametrize("name", ["a.png", "a", ".md", "Makefile", "a.md.bak"])
def test_names_without_a_reader(name: str) -> None:
    assert isinstance(media_type_of(name), Skip)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2018-01-13", "2018-01-13"),
        ("18-Jun-2009", "2009-06-18"),
        ("Oct 23, 2017", "2017-10-23"),
        ("23 October 2017", "2017-10-23"),
        ("the 1st of March, 2001", "2001-03-01"),
        ("2014/06/08 (revised 2015-01-01)", "2014-06-08"),
        ("2020-01-01T01:30:00+02:00", "2019-12-31"),
        ("2020-01-01T23:30:00Z", "2020-01-01"),
        ("February 2016", None),
        ("2019-02-30", None),
        ("soon", None),
        ("", None),
        ("12-34-5678", None),
    ],
)
def test_dates(text: str, day: str | None) -> None:
    assert parse_date(text) == day


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("2289-associated_type-bounds.md", "2289 – Associated type bounds"),
        ("docs/of-ponds.txt", "Of ponds"),
        ("README", "README"),
        ("1234.md", "1234"),
    ],
)
def test_readable_names(name: str, title: str) -> None:
    assert readable_name(name) == title
