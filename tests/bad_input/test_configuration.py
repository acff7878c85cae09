"""A consilience.toml that cannot be used: exit 3 with file and line, whatever is asked, and nothing is written."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from product import QUESTION, Product

COMMANDS = (
    ("search", QUESTION),
    ("explain", QUESTION),
    ("compound", "search", "--all", QUESTION),
    ("compound", "explain", "--all", QUESTION),
    ("ingest", "sources"),
    ("index",),
    ("verify",),
    ("block", "abcdef"),
    ("status",),
    ("project", "show"),
    ("project", "add", "east"),
    ("project", "remove", "north"),
)

TEXTS: dict[str, tuple[str | bytes, int]] = {
    "empty": ("", 1),
    "white space": ("\n\n \n", 1),
    "cut short": ("[project]\nname = 'farm'\n\n[brains.nor", 4),
    "not TOML": ("[project]\nname = farm\n", 2),
    "binary": (b"\x89PNG\r\n\x1a\n\x00\x01", 1),
    "UTF-16": ("[project]\nname = 'farm'\n".encode("utf-16"), 1),
    "a name with a control character": ("[project]\nname = 'fa\\u0007rm'\n".replace("'", '"'), 2),
    "a misspelt table": ("[project]\nname = 'farm'\n[brian.north]\n", 3),
    "a misspelt setting": ("[project]\nname = 'farm'\n[brains.north]\npaht = 'x'\n", 4),
    "an actor that is none": ("[project]\nname = 'farm'\nactor = 'Not An Id'\n", 3),
    "a brain that is no table": ("[project]\nname = 'farm'\n[brains]\nnorth = 1\n", 4),
    "a reserved name": ("[project]\nname = 'farm'\n[brains.semantic]\n", 3),
    "a path outside": ("[project]\nname = 'farm'\n[brains.north]\npath = '../../etc'\n", 4),
    "an absolute path outside": ("[project]\nname = 'farm'\n[brains.north]\npath = '/etc'\n", 4),
    "the project's own folder": ("[project]\nname = 'farm'\n[brains.north]\npath = '.'\n", 4),
    "one folder for two": ("[project]\nname = 'f'\n[brains.a]\npath = 'x'\n[brains.b]\npath = 'x'\n", 6),
    "folders that differ by case": (
        "[project]\nname = 'f'\n[brains.a]\npath = 'x'\n[brains.b]\npath = 'X'\n",
        6,
    ),
    "one inside the other": ("[project]\nname = 'f'\n[brains.a]\npath = 'x'\n[brains.b]\npath = 'x/y'\n", 6),
    "a provider that is none": ("[project]\nname = 'f'\n[brains.north.embedding]\nprovider = 'magic'\n", 4),
    "a width that is none": ("[project]\nname = 'f'\n[brains.north.embedding]\ndims = -1\n", 4),
}


def refused(farm: Product, says: str) -> None:
    """Every command stops with exit 3 and these words, and leaves every file as it is."""
    before = {p: p.stat().st_mtime_ns for p in farm.root.rglob("*") if p.is_file()}
    for args in COMMANDS:
        brain = () if args[0] in ("compound", "project") else ("--brain", "north")
        done = farm.csl(*args, *brain, "--json")
        assert done.status == 3 and done.json["data"] is None, (args, done)
        assert says in done.error["message"] and done.error["retryable"] is False, (args, done)
    people = farm.csl("status")
    assert people.status == 3 and people.out == b"" and people.err.startswith("error: ")
    assert {p: p.stat().st_mtime_ns for p in farm.root.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize("name", TEXTS)
def test_a_broken_file_is_named_with_its_line(own_farm: Product, name: str) -> None:
    text, line = TEXTS[name]
    own_farm.write("consilience.toml", text)
    refused(own_farm, f"{own_farm.file}:{line}:")


def gone(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.unlink()


def a_folder(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.unlink()
    file.mkdir()


def a_link_to_nowhere(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.unlink()
    file.symlink_to("nowhere.toml")


def a_link_in_a_circle(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.unlink()
    file.symlink_to(file.name)


def huge(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with file.open("r+b") as stream:
        stream.truncate(100 << 20)


def unreadable(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No permission: for root, whom bits do not stop, in the call that opens."""
    file.chmod(0)
    if os.geteuid() != 0:
        return
    whole = Path.open

    def opened(self: Path, *args: object, **named: object) -> object:
        if self == file:
            raise PermissionError(13, "Permission denied", str(self))
        return whole(self, *args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "open", opened)


@pytest.mark.skipif(os.name != "posix", reason="links and permissions of POSIX")
@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (gone, "no consilience.toml in"),
        (a_folder, "cannot be read: Is a directory"),
        (a_link_to_nowhere, "a link to a file that does not exist"),
        (a_link_in_a_circle, "Too many levels of symbolic links"),
        (huge, "larger than 1 MB"),
        (unreadable, "cannot be read: Permission denied"),
    ],
)
def test_a_file_that_cannot_be_read(
    own_farm: Product, monkeypatch: pytest.MonkeyPatch, spoil: Callable[..., None], says: str
) -> None:
    spoil(own_farm.file, monkeypatch)
    refused(own_farm, says)


def test_every_complaint_at_once(own_farm: Product) -> None:
    own_farm.write("consilience.toml", "[project]\nname = 7\n[brains.A]\n[brains.b]\npaht = 'x'\n")
    done = own_farm.csl("status", "--json")
    lines = [line.split(":")[1] for line in done.error["message"].splitlines()]
    assert done.status == 3 and lines == ["2", "3", "5"]


def test_a_brain_that_is_declared_twice_in_two_spellings(own_farm: Product) -> None:
    """Names that differ by case are no two names: only lowercase ones are names."""
    for name in ("North", "NORTH", "north ", "nörth", "north/", "..", "-north", "north--x", ""):
        done = own_farm.csl("project", "add", "--json", "--", name)
        assert done.status == 2, (name, done)
    assert own_farm.csl("project", "add", "north", "--json").status == 2
