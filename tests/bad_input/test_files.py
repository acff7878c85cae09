"""Files that cannot or should not be taken: each skipped or failed by name, the rest taken, nothing lost."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from product import QUESTION, Product

NOISE = random.Random(1).randbytes(2_000).replace(b"\x00", b"\x01")
POSIX = pytest.mark.skipif(os.name != "posix", reason="links, permissions and special files of POSIX")


def good(farm: Product, folder: str) -> None:
    """Two files that must be taken whatever stands beside them."""
    for name in ("a-first", "z-last"):
        farm.write(f"{folder}/{name}.md", f"# {name}\n\nThe heron of {name} waits in the reeds.\n")


def reasons(data: Any, what: str = "skipped") -> dict[str, str]:
    return {each["path"]: each["reason"] for each in data[what]}


def taken(farm: Product, folder: str, count: int = 2) -> None:
    """The good files are in, can be found, and stay as they are when asked for again."""
    assert len(farm.texts("west", "heron waits in the reeds", "--source", folder)) >= count
    again = farm.csl("ingest", folder, "--brain", "west", "--json").json["data"]
    assert (again["taken"], again["changed"], again["commits"]) == (0, 0, 0)
    farm.verified("west")


CONTENTS = {
    "empty": (b"", "empty"),
    "white space": (b" \n\t \r\n", "empty"),
    "a byte order mark alone": (b"\xef\xbb\xbf", "empty"),
    "NUL bytes": (b"\x00" * 5_000, "binary: NUL bytes only"),
    "a NUL byte in text": (b"good text " * 99 + b"\x00" + b"good text", "binary: contains NUL bytes"),
    "a PNG": (b"\x89PNG\r\n\x1a\n" + NOISE, "binary: a PNG image"),
    "an executable": (b"\x7fELF" + NOISE, "binary: an executable"),
    "a PDF": (
        b"%PDF-1.7\n" + NOISE,
        ("damaged PDF", "the reader of PDF is not installed", "no reader for PDF"),
    ),
    "a database": (b"SQLite format 3\x00" + NOISE, "binary: an SQLite database"),
    "noise": (NOISE, "binary: control characters"),
    "control characters": (bytes(range(1, 9)) * 99, "binary: control characters"),
    "UTF-16 without a mark": ("sans marque, le héron".encode("utf-16-le"), "binary: contains NUL bytes"),
    "UTF-16 cut short": ("le héron".encode("utf-16")[:-1], "not valid utf-16-le"),
    "KOI8": ("Цапля ждёт в камышах на рассвете.".encode("koi8-r"), "not UTF-8"),
    "Shift JIS": ("鷺は葦の中で待っている。".encode("shift-jis") * 9, "not UTF-8"),
    "high bytes": (bytes(range(128, 256)) * 20, "not UTF-8"),
}


def test_contents_that_are_no_text_are_skipped_by_name_and_the_rest_is_taken(own_farm: Product) -> None:
    good(own_farm, "in")
    for name, (data, _) in CONTENTS.items():
        own_farm.write(f"in/{name}.md", data)
    done = own_farm.csl("ingest", "in", "--brain", "west", "--json")
    assert done.data["taken"] == 2 and done.data["failed"] == []
    said = reasons(done.data)
    assert set(said) == {f"in/{name}.md" for name in CONTENTS}
    for name, (_, reason) in CONTENTS.items():
        assert said[f"in/{name}.md"].startswith(reason), name
    people = own_farm.csl("ingest", "in", "--brain", "west")
    assert people.status == 0 and f"2 unchanged, {len(CONTENTS)} skipped" in people.text
    assert "binary: a PNG image: in/a PNG.md" in people.text
    taken(own_farm, "in")


@pytest.mark.parametrize("magic", [b"PK\x03\x04", b"\x1f\x8b\x08"], ids=["zip", "gzip"])
def test_noise_that_begins_like_an_archive_is_a_damaged_one(own_farm: Product, magic: bytes) -> None:
    good(own_farm, "in")
    own_farm.write("in/noise.md", magic + NOISE)
    done = own_farm.csl("ingest", "in", "--brain", "west", "--json")
    assert done.status == 11 and done.json["data"]["taken"] == 2
    (failed,) = done.json["data"]["failed"]
    assert failed["path"] == "in/noise.md" and failed["reason"].startswith("damaged: ")
    assert "taken" not in failed["reason"]
    taken(own_farm, "in")


@pytest.mark.parametrize("name", CONTENTS)
def test_such_a_file_named_itself_is_skipped_too(own_farm: Product, name: str) -> None:
    path = own_farm.write(f"in/{name}.md", CONTENTS[name][0])
    before = own_farm.search("west", "radio")["snapshot"]
    done = own_farm.csl("ingest", str(path), "--brain", "west", "--json")
    assert list(reasons(done.data)) == [f"in/{name}.md"]
    assert own_farm.search("west", "radio")["snapshot"] == before


ENCODED = {
    "cp1252": ("Le héron attend dans les roseaux, à l’aube.".encode("cp1252"), "read as Windows-1252"),
    "utf-8 cut short": (
        "Le héron attend dans les roseaux à l’aubé".encode()[:-1],
        "damaged places replaced: 1",
    ),
    "utf-16": ("Le héron attend dans les roseaux à l’aube.".encode("utf-16"), None),
    "utf-32": ("Le héron attend dans les roseaux à l’aube.".encode("utf-32"), None),
    "utf-8 with a mark": (b"\xef\xbb\xbf" + "Le héron attend dans les roseaux à l’aube.".encode(), None),
    "windows lines": ("Le héron attend\r\ndans les roseaux à l’aube.\r\n".encode(), None),
}


@pytest.mark.parametrize("encoding", ENCODED)
def test_text_in_another_encoding_is_read_and_a_guess_is_said(own_farm: Product, encoding: str) -> None:
    data, warning = ENCODED[encoding]
    path = own_farm.write("in/heron.md", data)
    done = own_farm.csl("ingest", "in", "--brain", "west", "--json")
    assert done.data["taken"] == 1
    said = reasons(done.data, "warnings")
    assert (list(said) == ["in/heron.md"] and warning in said["in/heron.md"]) if warning else not said
    (text,) = own_farm.texts("west", "héron roseaux", "--source", "in")
    assert text.startswith("Le héron attend") and "roseaux" in text
    source = own_farm.search("west", "héron roseaux", "--source", "in", "--no-floor")["matches"][0][
        "sources"
    ][0]
    original = own_farm.csl("block", source["block_id"], "--brain", "west", "--bytes")
    assert original.out == path.read_bytes()


def test_a_file_of_100_megabytes_is_skipped_without_being_read(own_farm: Product) -> None:
    good(own_farm, "in")
    with (own_farm.root / "in" / "huge.md").open("wb") as file:
        file.truncate(100 << 20)
    before = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({50 << 20}, {50 << 20}))\n"
    done = own_farm.process("ingest", "in", "--brain", "west", "--json", before=before)
    assert reasons(done.data) == {"in/huge.md": "too large: 100 MiB, the limit is 64 MiB"}
    assert done.data["bytes_read"] < 1_000
    taken(own_farm, "in")


@pytest.mark.parametrize("text", ["word and more words " * 50_000, "w" * 1_000_000, "\n" * 1_000_000 + "end"])
def test_a_megabyte_in_one_line_or_one_word_or_none(own_farm: Product, text: str) -> None:
    good(own_farm, "in")
    own_farm.write("in/line.txt", text)
    assert own_farm.ingest("in", "--brain", "west")["taken"] == 3
    taken(own_farm, "in")


def unreadable(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No permission to read: really, or, for root whom bits do not stop, in the call that reads."""
    path.chmod(0)
    if os.geteuid() != 0:
        return
    whole = Path.read_bytes

    def read_bytes(self: Path) -> bytes:
        if self.name == path.name:
            raise PermissionError(13, "Permission denied", str(self))
        return whole(self)

    monkeypatch.setattr(Path, "read_bytes", read_bytes)


def vanished(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gone between finding it and reading it."""
    before_reading(path, monkeypatch, path.unlink)


def turned_into_a_folder(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def change() -> None:
        path.unlink()
        path.mkdir()

    before_reading(path, monkeypatch, change)


def failing_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OSError(5, "Input/output error", str(path))

    before_reading(path, monkeypatch, fail)


def before_reading(path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
    whole = Path.read_bytes

    def read_bytes(self: Path) -> bytes:
        if self == path:
            change()
        return whole(self)

    monkeypatch.setattr(Path, "read_bytes", read_bytes)


@POSIX
@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (unreadable, "Permission denied"),
        (vanished, "No such file or directory"),
        (turned_into_a_folder, "Is a directory"),
        (failing_disk, "Input/output error"),
    ],
)
def test_a_file_that_cannot_be_read_fails_by_name_and_is_taken_once_it_can(
    own_farm: Product, monkeypatch: pytest.MonkeyPatch, spoil: Callable[..., None], reason: str
) -> None:
    good(own_farm, "in")
    path = own_farm.write("in/middle.md", "# Middle\n\nThe heron in the middle waits in the reeds.\n")
    spoil(path, monkeypatch)
    done = own_farm.csl("ingest", "in", "--brain", "west", "--json")
    assert done.status == 11 and done.error["retryable"] is True
    assert reasons(done.json["data"], "failed") == {"in/middle.md": reason}
    assert done.json["data"]["taken"] == 2
    people = own_farm.csl("ingest", "in", "--brain", "west")
    if spoil is unreadable:
        assert people.status == 11 and f"failed: in/middle.md: {reason}" in people.text
        assert "error: 1 file could not be taken" in people.err
    monkeypatch.undo()
    path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
    own_farm.write("in/middle.md", "# Middle\n\nThe heron in the middle waits in the reeds.\n")
    assert own_farm.ingest("in", "--brain", "west")["taken"] == 1
    taken(own_farm, "in", 3)


def test_a_file_that_became_unreadable_keeps_what_was_taken_from_it(
    own_farm: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = own_farm.search("west", "relay station", "-n", "100")
    unreadable(own_farm.root / "sources" / "radio.md", monkeypatch)
    done = own_farm.csl("ingest", "sources/radio.md", "--brain", "west", "--json")
    assert done.status == 11 and done.json["data"]["gone"] == []
    assert own_farm.search("west", "relay station", "-n", "100")["matches"] == before["matches"]


def test_what_is_named_and_does_not_exist(own_farm: Product) -> None:
    good(own_farm, "in")
    done = own_farm.csl(
        "ingest", "in", "nowhere.md", "none/*.md", "in/a-first.md/x", "--brain", "west", "--json"
    )
    assert done.status == 11
    assert reasons(done.json["data"], "failed") == {
        "nowhere.md": "does not exist",
        "none/*.md": "matches no file",
        "in/a-first.md/x": "does not exist",
    }
    assert done.json["data"]["taken"] == 2
    taken(own_farm, "in")


def test_an_empty_path_is_not_this_folder(own_farm: Product) -> None:
    """An unset variable of the shell must not take everything in."""
    done = own_farm.csl("ingest", "", "sources", "--brain", "gone", "--json")
    assert done.status == 2 and "empty" in done.error["message"]
    assert own_farm.csl("status", "--brain", "gone", "--json").status in (0, 4)
    assert own_farm.csl("search", "--brain", "gone", QUESTION, "--json").json["data"] in (None,) or (
        own_farm.search("gone", QUESTION)["snapshot"] is None
    )


def test_the_folders_of_brains_are_not_read_as_documents(own_farm: Product) -> None:
    good(own_farm, "in")
    data = own_farm.ingest(".", "--brain", "gone")
    said = reasons(data)
    for name in ("north", "south", "west"):
        assert said[f"brains/{name}"] == "the folder of a brain"
    assert not [path for path in said if path.startswith("brains/") and path.count("/") > 1]
    assert data["taken"] == 7


# --- links, special files, names ----------------------------------------------------------------------------


@POSIX
def test_links_in_circles_out_and_to_nowhere(own_farm: Product) -> None:
    good(own_farm, "in")
    own_farm.write("elsewhere/secret.md", "# Secret\n\nThe heron's secret waits in the reeds.\n")
    links = {
        "one": "two",
        "two": "one",
        "self": "self",
        "nowhere.md": "missing.md",
        "here": ".",
        "again.md": "a-first.md",
        "out": "/etc",
        "out.md": "/etc/hostname",
    }
    for name, target in links.items():
        (own_farm.root / "in" / name).symlink_to(target)
    done = own_farm.csl("ingest", "in", "--brain", "west", "--json")
    assert done.status == 11 and done.json["data"]["taken"] == 2
    astray = "a link that leads nowhere or in a circle"
    assert reasons(done.json["data"], "failed") == {
        f"in/{name}": astray for name in ("one", "two", "self", "nowhere.md")
    }
    out, twice = "a link that leads out of the folders given", "a link to what is taken under its own name"
    assert reasons(done.json["data"]) == {
        "in/out": out,
        "in/out.md": out,
        "in/here": twice,
        "in/again.md": twice,
    }
    for name in ("one", "self"):
        named = own_farm.csl("ingest", f"in/{name}", "--brain", "west", "--json")
        assert named.status == 11 and "Too many levels" in named.json["data"]["failed"][0]["reason"]
    assert len(own_farm.texts("west", "heron waits", "--source", "in")) == 2
    own_farm.verified("west")


@POSIX
def test_what_is_no_file_is_never_opened(own_farm: Product) -> None:
    """A pipe that nobody writes to would be waited for for ever."""
    good(own_farm, "in")
    os.mkfifo(own_farm.root / "in" / "pipe.md")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(own_farm.root / "in" / "socket.md"))
        data = own_farm.process("ingest", "in", "in/pipe.md", "/dev/zero", "--brain", "west", "--json").data
    assert data["taken"] == 2
    assert set(reasons(data).values()) == {"not a regular file"}
    assert {"in/pipe.md", "in/socket.md", "file:///dev/zero"} == set(reasons(data))


def test_a_path_outside_of_the_project_has_an_origin_of_its_own(own_farm: Product, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("# Outside\n\nThe heron outside waits in the reeds.\n")
    relative = os.path.relpath(tmp_path, own_farm.root)
    for given, expected in ((str(tmp_path / "outside.md"), 1), (relative, 0)):
        assert own_farm.ingest(given, "--brain", "west")["taken"] == expected
    (match,) = own_farm.search("west", "heron outside waits", "--no-floor")["matches"]
    assert {s["origin"] for s in match["sources"]} == {(tmp_path / "outside.md").as_uri()}


@POSIX
def test_two_names_that_differ_by_case_are_two_files(own_farm: Product) -> None:
    own_farm.write("in/Note.md", "# Note\n\nThe upper heron waits in the reeds.\n")
    own_farm.write("in/note.md", "# Note\n\nThe lower heron waits in the reeds.\n")
    if len(list((own_farm.root / "in").iterdir())) == 1:
        pytest.skip("this file system takes them for one")
    assert own_farm.ingest("in", "--brain", "west")["taken"] == 2
    own_farm.write("in/Note.md", "# Note\n\nThe upper heron sleeps in the reeds.\n")
    assert own_farm.ingest("in", "--brain", "west")["changed"] == 1
    texts = own_farm.texts("west", "heron waits in the reeds", "--source", "in")
    assert sorted(texts) == [
        "The lower heron waits in the reeds.",
        "The upper heron sleeps in the reeds.",
    ]
    own_farm.verified("west")


NAMES = [
    "[a]*?.md",
    "-dash.md",
    "new\nline.md",
    "x" * 250 + ".md",
    "ünïcödé 漢.md",
    "e\u0301.md",
    "\u00e9.md",
    " .md",
]


@POSIX
def test_names_that_other_programs_misread(own_farm: Product) -> None:
    for i, name in enumerate(NAMES):
        own_farm.write(f"in/{name}", f"# Name\n\nThe heron number {i} waits in the reeds.\n")
    assert own_farm.ingest("in", "--brain", "west")["taken"] == len(NAMES)
    for name in NAMES:
        again = own_farm.csl("ingest", "--brain", "west", "--json", "--", f"in/{name}").data
        assert (again["unchanged"], again["failed"]) == (1, []), name
    matches = own_farm.search("west", "heron number", "--source", "in", "--no-floor", "-n", "50")["matches"]
    assert {s["origin"] for m in matches for s in m["sources"]} == {f"in/{name}" for name in NAMES}
    said = own_farm.csl(
        "search", "heron number", "--brain", "west", "--source", "in", "--no-floor", "-n", "50"
    )
    assert said.status == 0 and "new\nline" not in said.text


def test_one_failing_passage_takes_no_other_file_with_it(
    own_farm: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug in a reader is still that file's alone... where the error is one of ours."""
    from consilience.errors import ValidationError
    from consilience.ingest import preparing

    good(own_farm, "in")
    own_farm.write("in/middle.md", "# Middle\n\nspoiled\n")
    whole = preparing.split

    def split(document: Any) -> Any:
        passages = whole(document)
        if any("spoiled" in p.text for p in passages):
            raise ValidationError("a passage that cannot be a block")
        return passages

    monkeypatch.setattr(preparing, "split", split)
    done = own_farm.csl("ingest", "in", "--brain", "west", "--json")
    assert done.status == 11 and done.json["data"]["taken"] == 2
    assert reasons(done.json["data"], "failed") == {"in/middle.md": "a passage that cannot be a block"}
