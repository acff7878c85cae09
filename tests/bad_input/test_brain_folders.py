"""Folders that are no brain, half of one, damaged, newer, or not to be written: what each command says and keeps."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import random
import shutil
import sqlite3
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from product import QUESTION, Done, Product, spoil

import consilience

COMMANDS = {
    "search": ("search", QUESTION),
    "explain": ("explain", QUESTION),
    "block": ("block", "abcdef"),
    "verify": ("verify",),
    "index": ("index",),
    "ingest": ("ingest", "sources"),
}


def each_command(farm: Product) -> Iterator[tuple[str, Done]]:
    for name, args in COMMANDS.items():
        yield name, farm.csl(*args, "--brain", "north", "--json")


def others_answer(farm: Product, status: int = 0) -> Done:
    """A compound says what is wrong with north, and prints what the others know."""
    done = farm.csl("compound", "search", "--all", QUESTION, "--json")
    assert done.status == status
    assert [m["brain"] for m in done.json["data"]["members"]] == ["south", "west"]
    assert done.json["data"]["count"] > 0
    assert "north" in [s["brain"] for s in done.json["data"]["skipped"]]
    return done


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


# --- no brain -----------------------------------------------------------------------------------------------


def a_file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("I am a file")


def papers(path: Path) -> None:
    shutil.rmtree(path)
    path.mkdir()
    (path / "thesis.txt").write_text("ten years of work")


def a_folder_for_a_database(path: Path) -> None:
    shutil.rmtree(path)
    (path / "brain.db").mkdir(parents=True)


def another_application(path: Path) -> None:
    (path / "brain.db").unlink()
    database = sqlite3.connect(path / "brain.db")
    database.execute("CREATE TABLE songs (title)")
    database.close()


def no_database(path: Path) -> None:
    for file in path.glob("brain.db*"):
        file.unlink()


@pytest.mark.parametrize(
    ("spoiled", "says", "does"),
    [
        (a_file, "is a file", "correct the path"),
        (papers, "no brain.db in it, but thesis.txt", "move away what is there"),
        (a_folder_for_a_database, "brain.db is not a file", "move it away"),
        (another_application, "another application", "another folder"),
        (
            no_database,
            "what is left of a brain: no brain.db in it, but derived/",
            "restore brain.db from a copy",
        ),
    ],
)
def test_what_is_no_brain_is_named_and_left_alone(
    own_farm: Product, spoiled: Callable[[Path], None], says: str, does: str
) -> None:
    spoiled(own_farm.brain("north"))
    before = files_of(own_farm.brain("north"))
    for name, done in each_command(own_farm):
        assert done.status == 4, (name, done)
        assert done.error["code"] == "brain_not_found" and says in done.error["message"], (name, done)
        assert does in done.error["hint"], (name, done)
    assert files_of(own_farm.brain("north")) == before
    said = own_farm.csl("status")
    assert "north" in said.text
    others_answer(own_farm, 4 if spoiled is another_application else 0)


def test_following_the_advice_brings_half_a_brain_back(own_farm: Product) -> None:
    no_database(own_farm.brain("north"))
    own_farm.brain("north").rename(own_farm.root / "half")
    assert own_farm.ingest("sources", "--brain", "north")["taken"] == 5
    own_farm.verified("north")
    assert own_farm.search("north", QUESTION)["count"] > 0


def test_an_empty_folder_is_where_a_brain_may_be_made(own_farm: Product) -> None:
    own_farm.brain("gone").mkdir()
    assert own_farm.csl("search", QUESTION, "--brain", "gone").status == 4
    assert own_farm.ingest("sources", "--brain", "gone")["taken"] == 5


# --- damaged ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data[:100],
        lambda data: random.Random(1).randbytes(len(data)),
        lambda data: b"not a database at all\n" * 1_000,
    ],
    ids=["empty", "half", "a header", "noise", "text"],
)
def test_a_damaged_database_is_said_and_takes_no_other_with_it(
    own_farm: Product, change: Callable[[bytes], bytes]
) -> None:
    for rest in ("brain.db-wal", "brain.db-shm"):
        (own_farm.brain("north") / rest).unlink(missing_ok=True)
    spoil(own_farm.brain("north") / "brain.db", change)
    before = (own_farm.brain("north") / "brain.db").read_bytes()
    for name, done in each_command(own_farm):
        assert done.status == 5, (name, done)
        assert done.error["code"] == "corrupt_store" and "copy" in done.error["hint"]
    assert (own_farm.brain("north") / "brain.db").read_bytes() == before
    assert others_answer(own_farm, 5).error["message"].startswith("north: ")
    for command in (("status",), ("project", "show")):
        assert own_farm.csl(*command).status == 5


# --- half a brain: what is derived is gone -----------------------------------------------------------------

PARTS = {
    "all of it": ("",),
    "the words": ("lexical",),
    "the engine's files": ("lexical/engine",),
    "the state of the words": ("lexical/state.json",),
    "the facets": ("facets.db",),
    "the relations": ("edges.db",),
    "the vectors": ("vectors",),
    "the statistics": ("statistics.json",),
}


def same_answer(one: dict, other: dict) -> bool:
    return [(m["block_id"], m["score"]) for m in one["matches"]] == [
        (m["block_id"], m["score"]) for m in other["matches"]
    ]


@pytest.mark.parametrize("part", PARTS)
def test_without_derived_it_answers_and_index_makes_it_anew(own_farm: Product, part: str) -> None:
    whole = own_farm.search("north", QUESTION, "-n", "50")
    for name in PARTS[part]:
        path = own_farm.brain("north") / "derived" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    bare = own_farm.csl("search", QUESTION, "--brain", "north", "--json", "-n", "50")
    assert bare.data["count"] > 0 and bare.data["snapshot"] == whole["snapshot"]
    assert all("pump" in match["content"]["statement"] for match in bare.data["matches"][:5])
    assert own_farm.csl("explain", QUESTION, "--brain", "north", "--json").status == 0
    missing = own_farm.csl("verify", "--brain", "north", "--json").json["data"]["problems"]
    assert all(p["file"].startswith("derived/") and "missing" in p["detail"] for p in missing), missing
    assert own_farm.csl("index", "--brain", "north").status == 0
    own_farm.verified("north")
    assert same_answer(own_farm.search("north", QUESTION, "-n", "50"), whole)
    assert own_farm.csl("status", "--brain", "north").text.count("healthy") == 1


@pytest.mark.parametrize(
    "part",
    [
        "lexical/state.json",
        "lexical/engine/meta.json",
        "facets.db",
        "edges.db",
        "vectors/*/meta.json",
        "statistics.json",
    ],
)
@pytest.mark.parametrize("damage", ["noise", "empty", "newer"])
def test_damaged_derived_is_left_out_and_index_mends_it(own_farm: Product, part: str, damage: str) -> None:
    whole = own_farm.search("north", QUESTION, "-n", "50")
    (path,) = (own_farm.brain("north") / "derived").glob(part)
    if damage == "newer":
        if path.suffix != ".json":
            return
        held = json.loads(path.read_bytes())
        held |= {key: 99 for key in ("format", "version") if key in held}
        path.write_text(json.dumps(held))
    else:
        path.write_bytes(b"" if damage == "empty" else random.Random(1).randbytes(path.stat().st_size))
    done = own_farm.csl("search", QUESTION, "--brain", "north", "--json", "-n", "50")
    assert done.data["count"] > 0 and done.data["snapshot"] == whole["snapshot"]
    assert {m["block_id"] for m in done.data["matches"][:5]} <= {m["block_id"] for m in whole["matches"]}
    assert own_farm.csl("index", "--brain", "north").status == 0
    assert same_answer(own_farm.search("north", QUESTION, "-n", "50"), whole)


@pytest.mark.parametrize("part", ["codes.0.i8", "scales.0.f32", "ns.0.i64", "hashes.0.b16"])
@pytest.mark.parametrize("damage", ["noise", "empty"])
def test_damaged_rows_of_vectors_bring_nothing_false_in(own_farm: Product, part: str, damage: str) -> None:
    """Rows carry no checksum: noise in them spoils the order at most. Deleting the folder mends it."""
    whole = own_farm.search("north", QUESTION, "-n", "50")
    (path,) = (own_farm.brain("north") / "derived" / "vectors").glob(f"*/{part}")
    path.write_bytes(b"" if damage == "empty" else random.Random(1).randbytes(path.stat().st_size))
    done = own_farm.csl("search", QUESTION, "--brain", "north", "--no-floor", "-n", "50", "--json")
    assert done.data["all_verified"] is True and done.data["count"] > 0
    assert done.json["warnings"] or damage == "noise"
    assert own_farm.csl("explain", QUESTION, "--brain", "north", "--analyze").status == 0
    shutil.rmtree(path.parent)
    assert own_farm.csl("index", "--brain", "north").status == 0
    assert same_answer(own_farm.search("north", QUESTION, "-n", "50"), whole)


def test_derived_that_is_a_file_is_an_error_where_it_is_to_be_written(own_farm: Product) -> None:
    shutil.rmtree(own_farm.brain("north") / "derived")
    (own_farm.brain("north") / "derived").write_text("in the way")
    assert own_farm.search("north", QUESTION)["count"] > 0
    assert own_farm.csl("index", "--brain", "north", "--json").error["code"] == "storage"
    own_farm.write("sources/late.md", "# Late\n\nThe mule sleeps in the barn.\n")
    done = own_farm.csl("ingest", "sources/late.md", "--brain", "north", "--json")
    assert done.status == 11 and "committed" in done.error["message"]
    assert own_farm.texts("north", "sleeping mule barn")[0] == "The mule sleeps in the barn."


# --- an original is gone ------------------------------------------------------------------------------------


@pytest.fixture
def large(own_farm: Product) -> str:
    """A brain with an original that has a file of its own; its block id."""
    noise = base64.b64encode(random.Random(1).randbytes(1_500_000))
    page = b"<html><body><p>The ledger of the mill lies open.</p><!-- " + noise + b" --></body></html>"
    own_farm.write("sources/large.html", page)
    own_farm.ingest("sources/large.html", "--brain", "west", "--no-embed")
    assert len([p for p in (own_farm.brain("west") / "content").rglob("*") if p.is_file()]) == 1
    found = own_farm.search("west", "ledger of the mill", "--no-floor", "-n", "1")["matches"][0]
    return str(found["sources"][0]["block_id"])


def test_an_original_whose_file_is_gone_is_said_and_ingest_puts_it_back(
    own_farm: Product, large: str
) -> None:
    shutil.rmtree(own_farm.brain("west") / "content")
    assert own_farm.search("west", "ledger of the mill")["count"] > 0
    gone = own_farm.csl("block", large, "--brain", "west", "--bytes")
    assert gone.status == 11 and "is gone" in gone.err and "ingest the original again" in gone.err
    done = own_farm.csl("verify", "--brain", "west", "--json")
    assert done.status == 5 and [p["what"] for p in done.json["data"]["problems"]] == ["content"]
    assert own_farm.csl("ingest", "sources", "--brain", "west", "--json", "--no-embed").status == 0
    own_farm.verified("west")
    back = own_farm.csl("block", large, "--brain", "west", "--bytes")
    assert back.out == (own_farm.root / "sources" / "large.html").read_bytes()
    again = own_farm.ingest("sources", "--brain", "west", "--no-embed")
    assert (again["taken"], again["changed"], again["commits"]) == (0, 0, 0)


def test_an_original_that_is_damaged_is_never_given_out(own_farm: Product, large: str) -> None:
    (file,) = (p for p in (own_farm.brain("west") / "content").rglob("*") if p.is_file())
    spoil(file, lambda data: data[:1_000] + b"?" + data[1_001:])
    done = own_farm.csl("block", large, "--brain", "west", "--bytes")
    assert done.status == 5 and done.out == b"" and "damaged" in done.err
    assert own_farm.csl("verify", "--brain", "west").status == 5


# --- of a newer version -------------------------------------------------------------------------------------


def test_a_brain_of_a_newer_version_is_refused_by_every_command_and_left_alone(own_farm: Product) -> None:
    database = sqlite3.connect(own_farm.brain("north") / "brain.db")
    database.execute("PRAGMA user_version = 99")
    database.close()
    before = (own_farm.brain("north") / "brain.db").read_bytes()
    for name, done in each_command(own_farm):
        assert done.status == 3, (name, done)
        assert "newer version (format 99" in done.error["message"] and "upgrade" in done.error["hint"]
    assert (own_farm.brain("north") / "brain.db").read_bytes() == before
    assert others_answer(own_farm, 3).error["message"].startswith("north: ")


# --- not to be written --------------------------------------------------------------------------------------


@pytest.fixture
def read_only(own_farm: Product) -> Iterator[Product]:
    """A project whose brain north may only be read, by this process too: root gives its rights up meanwhile."""
    if not hasattr(os, "setresuid"):
        pytest.skip("no way to give rights up for a while")
    folder = own_farm.brain("north")
    own_farm.root.parent.chmod(0o755)
    if os.geteuid() == 0 and not _open_to_all(Path(consilience.__file__), Path(sys.prefix)):
        pytest.skip("nobody cannot read the code where it lies, below a private folder")
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    (own_farm.root / ".cache").mkdir(exist_ok=True)
    ids = os.getresuid()
    with contextlib.chdir(own_farm.root):  # nobody may not be able to go back to where this one started
        if ids[1] == 0:
            os.setresuid(65534, 65534, 0)
        yield own_farm
        os.setresuid(*ids)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755)


def _open_to_all(*paths: Path) -> bool:
    return all(parent.stat().st_mode & stat.S_IXOTH for path in paths for parent in path.resolve().parents)


def test_a_read_only_brain_answers_everything_that_is_asked(own_farm: Product, read_only: Product) -> None:
    asked = read_only.csl("search", QUESTION, "--brain", "north", "--json")
    assert asked.data["count"] > 0 and asked.json["warnings"] == []
    assert "vectors" in asked.data["plan"]["generators"]
    block = asked.data["matches"][0]["block_id"]
    for args in (("explain", QUESTION), ("block", block, "--prove"), ("verify",), ("status",)):
        assert read_only.csl(*args, "--brain", "north", "--json").status == 0, args
    together = read_only.csl("compound", "search", "--brains", "north,south", QUESTION, "--fuse", "--json")
    assert together.data["count"] > 0


def test_a_read_only_brain_is_not_written_and_it_is_said(own_farm: Product, read_only: Product) -> None:
    before = files_of(own_farm.brain("north"))
    done = read_only.csl("ingest", "sources/crops.md", "--brain", "north", "--json")
    assert done.status == 11 and done.error["code"] == "storage"
    assert "read-only" in done.error["message"] or "denied" in done.error["message"]
    rebuilt = read_only.csl("index", "--rebuild", "--brain", "north", "--json")
    assert rebuilt.status == 11 and rebuilt.error["code"] == "storage"
    assert files_of(own_farm.brain("north")) == before
