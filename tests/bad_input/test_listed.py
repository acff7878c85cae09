"""Bad input that people have, one test for each kind, by the commands: named with its reason, and the rest goes in.

Encrypted and scanned PDF, bombs and damaged packages, billion laughs, and wrong endings are in test_documents; files
that cannot be read, links, and encodings in test_files.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest
from pdfs import Page, pdf
from product import Product

from tests.bad_input.test_documents import HAS_PDF
from tests.bad_input.test_files import POSIX, good, reasons, taken


def zipped(**files: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


NOTE = b"# Note\n\nThe heron in the archive waits in the reeds.\n"


@pytest.mark.skipif(not HAS_PDF, reason="wants pypdfium2")
@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_pdf_cut_off(own_farm: Product, share: float) -> None:
    good(own_farm, "in")
    pages = [Page().text(72, 700, f"The heron of page {n} waits in the reeds.") for n in range(20)]
    whole = pdf(*pages)
    own_farm.write("in/cut.pdf", whole[: int(len(whole) * share)])
    done = own_farm.csl("ingest", "in", "--brain", "west", "--json")
    assert done.data["taken"] >= 2
    said = {**reasons(done.data), **reasons(done.data, "failed"), **reasons(done.data, "warnings")}
    assert "in/cut.pdf" in said or done.data["taken"] == 3, done.data
    taken(own_farm, "in")


def test_a_bomb_in_a_zip_and_in_gzip(own_farm: Product) -> None:
    good(own_farm, "in")
    own_farm.write("in/bomb.zip", zipped(**{"bomb.txt": b"a" * (40 << 20), "note.md": NOTE}))
    own_farm.write("in/bomb.txt.gz", gzip.compress(b"a" * (80 << 20)))
    done = own_farm.csl("ingest", "in", "--brain", "west", "--json")
    assert done.status == 11
    assert "taken for a bomb" in reasons(done.json["data"])["in/bomb.zip!/bomb.txt"]
    assert "taken for a bomb" in reasons(done.json["data"], "failed")["in/bomb.txt.gz"]
    assert own_farm.texts("west", "heron in the archive", "--source", "in/bomb.zip*") == [
        "The heron in the archive waits in the reeds."
    ]


def test_archives_in_archives(own_farm: Product) -> None:
    good(own_farm, "in")
    data = NOTE
    name = "note.md"
    for depth in range(30):
        data, name = zipped(**{name: data}), f"depth {depth}.zip"
    own_farm.write("in/russian doll.zip", data)
    own_farm.write("in/two.zip", zipped(**{"inner.zip": zipped(**{"note.md": NOTE})}))
    done = own_farm.csl("ingest", "in", "--brain", "west", "--json").data
    (doll,) = [each for each in done["skipped"] if each["path"].startswith("in/russian doll.zip!/")]
    assert doll["reason"] == "an archive nested more than 2 deep"
    assert own_farm.texts("west", "heron in the archive", "--source", "in/two.zip*")
    taken(own_farm, "in")


def ragged(rows: int) -> bytes:
    """A table whose rows are too long, too short, quoted without an end, empty, and in two encodings."""
    lines = [b"name;place;height"]
    for n in range(rows):
        lines.append(f"heron {n};Größe {n % 7};{90 + n % 9}".encode("cp1252" if n % 3 else "utf-8"))
        if n % 10 == 1:
            lines.append(b"short")
        if n % 10 == 2:
            lines.append(b"one;two;three;four;five;")
        if n % 1_000 == 3:
            lines.append(b'open;"quote;1')
        if n % 10 == 4:
            lines.append(b"")
    return b"\r\n".join(lines)


def read_ragged(farm: Product, rows: int) -> None:
    good(farm, "in")
    farm.write("in/herons.csv", ragged(rows))
    done = farm.csl("ingest", "in", "--brain", "west", "--no-embed", "--json").data
    assert (done["taken"], done["failed"]) == (3, [])
    said = " ".join(each["reason"] for each in done["warnings"])
    for what in ("read as Windows-1252", "not the 3 cells", "a quote that is never closed"):
        assert what in said, said
    best = farm.search("west", f"heron {rows - 1}", "--source", "in/herons.csv")["matches"][0]
    said = best["content"]["statement"]
    assert said == f"name: heron {rows - 1} | place: Größe {(rows - 1) % 7} | height: {90 + (rows - 1) % 9}"
    taken(farm, "in/*.md")


def test_a_ragged_table_of_two_encodings(own_farm: Product) -> None:
    read_ragged(own_farm, 2_000)


@pytest.mark.soak
def test_a_ragged_table_of_a_million_lines(own_farm: Product) -> None:
    read_ragged(own_farm, 750_000)


def test_a_page_without_end_tags(own_farm: Product) -> None:
    good(own_farm, "in")
    page = "<html><body><table><tr><td><ul><li>The heron of the page<li>waits in the reeds<p>until <b>dusk <i>falls"
    own_farm.write("in/open.html", page + "<div>" * 5_000 + "and the water is still")
    own_farm.write(
        "in/tag soup.html", "</p></div><p>The heron of the soup waits </b>in the </i>reeds.</td></table>"
    )
    own_farm.write("in/cut.html", '<p>The heron of the cut page waits.</p><a href="http://exam')
    assert own_farm.ingest("in", "--brain", "west")["taken"] == 5
    texts = own_farm.texts(
        "west", "heron of the page waits in the reeds until dusk water is still", "--source", "in"
    )
    said = " ".join(texts)
    for words in (
        "The heron of the page",
        "until dusk falls",
        "and the water is still",
        "soup waits in the reeds.",
    ):
        assert words in said, said
    taken(own_farm, "in")


V2 = {
    "nbformat": 2,
    "worksheets": [{"cells": [{"cell_type": "markdown", "source": "The heron of 2 waits."}]}],
}
V3: dict[str, Any] = {
    "nbformat": 3,
    "metadata": {"name": "Old"},
    "worksheets": [
        {
            "cells": [
                {"cell_type": "heading", "level": 2, "source": "Reeds"},
                {
                    "cell_type": "code",
                    "input": ["wade(", "3)"],
                    "outputs": [{"output_type": "pyout", "text": "wet"}],
                },
                {"cell_type": "markdown", "source": ["The heron of 3 ", "waits."]},
            ]
        }
    ],
}
NEWER = {"nbformat": 5, "cells": [{"cell_type": "poem", "source": "The heron of 5 waits."}, None, 7]}


def test_notebooks_of_old_and_of_later_versions(own_farm: Product) -> None:
    good(own_farm, "in")
    for name, notebook in (("two", V2), ("three", V3), ("five", NEWER)):
        own_farm.write(f"in/{name}.ipynb", json.dumps(notebook))
    own_farm.write("in/one.ipynb", json.dumps({"nbformat": 1, "cells": "The heron of 1 waits."}))
    done = own_farm.csl("ingest", "in", "--brain", "west", "--json").data
    assert (done["taken"], done["failed"]) == (5, [])
    assert reasons(done) == {"in/one.ipynb": "not a notebook: no cells in it"}
    texts = own_farm.texts("west", "heron waits wade", "--source", "in/*.ipynb", "-n", "20", "--no-floor")
    assert {f"The heron of {n} waits." for n in (2, 3, 5)} <= set(texts)
    assert "wade(3)" in texts


def test_a_file_that_changes_while_it_is_read(own_farm: Product, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once: the second reading counts. Always: it is named, and the next ingest takes it."""
    good(own_farm, "in")
    names = {"once.md": 1, "always.md": 99}
    for name in names:
        own_farm.write(f"in/{name}", f"# {name}\n\nThe heron of {name} waits in the reeds.\n")
    whole = Path.read_bytes

    def read_bytes(self: Path) -> bytes:
        data = whole(self)
        if names.get(self.name, 0) > 0:
            names[self.name] -= 1
            with self.open("ab") as file:
                file.write(b"And it goes on waiting there.\n")
        return data

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    done = own_farm.csl("ingest", "in", "--brain", "west", "--json")
    assert done.status == 11
    assert reasons(done.json["data"], "failed") == {"in/always.md": "it changes while it is read"}
    assert done.json["data"]["taken"] == 3
    assert any(
        "goes on waiting" in text
        for text in own_farm.texts("west", "heron once waits", "--source", "in/once.md")
    )
    monkeypatch.undo()
    assert own_farm.ingest("in", "--brain", "west")["taken"] == 1
    taken(own_farm, "in", 3)


@POSIX
def test_names_with_every_byte(own_farm: Product) -> None:
    folder = own_farm.root / "in"
    folder.mkdir()
    known = 0
    for byte in range(1, 256):
        if byte != ord("/"):
            name = os.fsencode(str(folder)) + b"/x" + bytes([byte]) + b".md"
            try:
                Path(os.fsdecode(name)).write_text(f"# Name\n\nThe heron of byte {byte} waits.\n")
                known += 1
            except OSError:  # this file system has no such names
                continue
    done = own_farm.csl("ingest", "in", "--brain", "west", "--no-embed", "--json").data
    assert (done["taken"], done["failed"], done["skipped"]) == (known, [], [])
    again = own_farm.csl("ingest", "in", "--brain", "west", "--no-embed", "--json").data
    assert (again["unchanged"], again["gone"], again["commits"]) == (known, [], 0)
    for byte in (10, 42, 92, 128, 255):
        best = own_farm.search("west", f"heron of byte {byte}", "--source", "in")["matches"][0]
        assert best["content"]["statement"] == f"The heron of byte {byte} waits."
    shown = own_farm.csl("search", "heron of byte 255", "--brain", "west", "--source", "in")
    assert shown.status == 0 and "x%FF.md" in shown.text
    own_farm.verified("west")


@POSIX
def test_permission_denied_in_the_middle_of_a_tree(
    own_farm: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    good(own_farm, "in")
    for name in ("a/one", "locked/two", "locked/deep/three", "z/four"):
        own_farm.write(f"in/{name}.md", f"# Note\n\nThe heron of {name} waits in the reeds.\n")
    scan = os.scandir

    def scandir(path: Any = ".") -> Any:
        if not isinstance(path, int) and os.fspath(path).endswith("locked"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", scandir)
    done = own_farm.csl("ingest", "in", "--brain", "west", "--json")
    assert done.status == 11
    assert reasons(done.json["data"], "failed") == {"in/locked": "cannot be read: Permission denied"}
    assert done.json["data"]["taken"] == 4
    monkeypatch.undo()
    assert own_farm.ingest("in", "--brain", "west")["taken"] == 2
    monkeypatch.setattr(os, "scandir", scandir)
    again = own_farm.csl("ingest", "in", "--brain", "west", "--json")
    assert again.status == 11 and "in/locked" in reasons(again.json["data"], "failed")
    assert len(own_farm.texts("west", "heron waits in the reeds", "--source", "in", "-n", "20")) == 6
