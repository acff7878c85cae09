"""Which reader a file gets: by its name, by its bytes where they say otherwise; what is said where it is missing."""

from __future__ import annotations

import importlib
import io
import zipfile
from pathlib import Path

import pytest

from consilience.ingest import Found, Skip, discover, media_type_of, read
from consilience.ingest.readers import formats, registry
from consilience.ingest.readers.formats import DOCX, EPUB, ODT, PPTX
from consilience.ingest.readers.media import XLSX, ZIP, content_type
from consilience.ingest.readers.zip_names import names_in

PAGE = b"<!doctype html><title>x</title><p>Words."


def zipped(*members: tuple[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return out.getvalue()


TYPES = ("[Content_Types].xml", b"<Types/>")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (zipped(TYPES, ("word/document.xml", b"<x/>")), DOCX),
        (zipped(TYPES, ("ppt/presentation.xml", b"<x/>")), PPTX),
        (zipped(TYPES, ("xl/workbook.xml", b"<x/>")), XLSX),
        (zipped(("mimetype", EPUB.encode()), ("a", b"")), EPUB),
        (zipped(("mimetype", ODT.encode() + b"\n"), ("a", b"")), ODT),
        (zipped(("META-INF/container.xml", b""), ("mimetype", EPUB.encode())), EPUB),
        (zipped(("a.txt", b"words")), ZIP),
        (zipped(("inner.docx", zipped(TYPES, ("word/document.xml", b"<x/>")))), ZIP),
        (zipped(), ZIP),
        (b"%PDF-1.4\n", "application/pdf"),
        (b"words about %PDF-", None),
        (b"PKWARE made it", None),
        (b"", None),
    ],
)
def test_bytes_say_what_they_are(data: bytes, expected: str | None) -> None:
    assert content_type(data) == expected


def test_a_zip_with_something_before_and_after_it_is_told_apart() -> None:
    data = zipped(TYPES, ("word/document.xml", b"<x/>"))
    assert b"word/document.xml" in names_in(b"#!/bin/sh\n" + data + b"\x00" * 50)


@pytest.mark.parametrize("cut", [1, 22, 60, 200])
def test_a_zip_cut_off_is_nothing_to_stumble_over(cut: int) -> None:
    data = zipped(TYPES, ("word/document.xml", b"<x/>"))
    assert content_type(data[:-cut]) in (ZIP, DOCX, None)


def test_names_of_an_archive_are_bounded() -> None:
    data = zipped(*((f"{n}", b"") for n in range(5000)))
    assert len(names_in(data)) == 4096


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.txt", PAGE, "text/html"),
        ("a.md", b"# <html>", "text/markdown"),
        ("README", b"words", "text/plain"),
    ],
)
def test_bytes_outrank_the_ending(name: str, data: bytes, expected: str) -> None:
    assert media_type_of(name, data) == expected


@pytest.mark.parametrize("name", ["report", "1706.03762", "folder.d/Report"])
def test_a_document_needs_no_ending(name: str) -> None:
    assert media_type_of(name, zipped(TYPES, ("word/document.xml", b"<x/>"))) == DOCX
    assert media_type_of(name, b"%PDF-1.4\n") == "application/pdf"
    for data in (zipped(("a", b"")), b"words", b"\x7fELF", zipped(TYPES, ("xl/workbook.xml", b""))):
        assert isinstance(media_type_of(name, data), Skip)
    assert isinstance(media_type_of("report.xyz", b"%PDF-1.4\n"), Skip)


def test_files_without_an_ending_are_looked_at(tmp_path: Path) -> None:
    for name, data in {
        "paper": b"%PDF-1.4\n",
        "tool": b"\x7fELF",
        "1706.03762": b"%PDF-1.4\n",
        "a.bin": b"%PDF-",
    }.items():
        (tmp_path / name).write_bytes(data)
    found = [item.path.name for item in discover([tmp_path]) if isinstance(item, Found)]
    assert found == ["1706.03762", "paper"]


def test_an_old_office_document_is_named() -> None:
    skip = media_type_of("a.txt", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    assert skip == Skip("no reader for an old or an encrypted Office document")


def test_every_format_has_its_module_and_no_ending_two_of_them() -> None:
    for format in formats.FORMATS:
        if not registry.missing(format):
            assert callable(importlib.import_module(f"consilience.ingest.readers.{format.reader}").read)
        assert format.media_types
        assert all(suffix == suffix.lower() and suffix[0] == "." for suffix in format.suffixes)
        assert bool(format.needs) == bool(format.extra)
    suffixes = [suffix for format in formats.FORMATS for suffix in format.suffixes]
    assert len(suffixes) == len(set(suffixes))
    types = [media_type for format in formats.FORMATS for media_type in format.media_types]
    assert len(types) == len(set(types))


def test_every_extra_that_is_named_exists() -> None:
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    assert {format.extra for format in formats.FORMATS if format.extra} <= extras.keys()


def test_a_missing_reader_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = formats.Format(
        title="PDF",
        reader="pdf",
        media_types=("text/markdown",),
        suffixes=(".md",),
        extra="pdf",
        needs=("a_module_that_is_nowhere",),
    )
    monkeypatch.setitem(formats.FORMAT_OF, "text/markdown", missing)
    monkeypatch.setattr(registry, "FORMATS", (missing,))
    skip = read(b"words", "a.md")
    assert isinstance(skip, Skip)
    assert skip.reason == "the reader of PDF is not installed: pip install 'consilience[pdf]'"
    (info,) = registry.readers()
    assert not info.installed
    assert info.install == "pip install 'consilience[pdf]'"
