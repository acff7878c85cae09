"""`csl export` and `csl import` as people and programs see them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from product import Product, new_project

TEXT = "# Kilns\n\nKilns are lit in the winter.\n\nBricks are fired for two days.\n"


@pytest.fixture
def farm(tmp_path: Path) -> Product:
    made = new_project(tmp_path / "farm")
    for name in ("one", "two", "three"):
        assert made.csl("project", "add", name, "--model", "none").status == 0
    made.write("docs/kilns.md", TEXT)
    made.ingest("docs", "--brain", "one")
    return made


def exported(farm: Product, *more: str) -> dict:
    return farm.csl("export", "out", "--brain", "one", "--json", *more).data


def test_a_brain_goes_out_and_comes_in(farm: Product) -> None:
    out = exported(farm)
    assert (out["snapshots"], out["originals"], out["redacted"], out["tag"]) == (1, 1, 0, "latest")
    assert exported(farm)["written"] == 0
    came = farm.csl("import", "out", "--brain", "two", "--json").data
    assert came["created"] and came["snapshot"] == out["snapshot"]
    assert came["authorship"] == "not checked"
    assert [m["root"] for m in came["modules"]] == [m["root"] for m in out["modules"]]
    assert farm.texts("two", "kilns") == farm.texts("one", "kilns") != []
    farm.verified("two")
    assert farm.csl("import", "out", "--brain", "two", "--json").data["up_to_date"]
    farm.write("docs/kilns.md", TEXT + "\nClay is dug in spring.\n")
    farm.ingest("docs", "--brain", "one")
    assert exported(farm)["snapshots"] == 2
    assert farm.csl("import", "out", "--brain", "two", "--json").data["snapshots"] == 1
    assert "Clay is dug in spring." in farm.texts("two", "clay")
    assert farm.csl("import", "out", "--brain", "three", "--tag", "latest", "--json").data["created"]
    farm.verified("three")


def test_what_people_read(farm: Product) -> None:
    lines = farm.csl("export", "out", "--brain", "one").text.splitlines()
    assert lines[0].startswith(f"one: exported to {farm.root / 'out'}; ")
    assert lines[1].startswith("  1 snapshot, 7 blocks, 1 original; ")
    assert lines[2].startswith("  artifact latest: ")
    assert lines[3] == "  snapshot " + exported(farm)["snapshot"].removeprefix("sha256:")
    assert "nothing had changed" in farm.csl("export", "out", "--brain", "one").text
    came = farm.csl("import", "out", "--brain", "two").text
    assert came.startswith("two: made from out; ") and "  authorship not checked\n" in came
    assert "already has what out holds" in farm.csl("import", "out", "--brain", "two").text


def test_how_it_ends_otherwise(farm: Product) -> None:
    exported(farm)
    for args, status, says in (
        (("export", "docs", "--brain", "one"), 2, "not an earlier export"),
        (("export", "new", "--brain", "two"), 4, "not here yet"),
        (("import", "docs", "--brain", "two"), 4, "not an OCI image layout"),
        (("import", "out", "--brain", "two", "--tag", "v9"), 4, "lists no artifact 'v9'"),
        (("import", "out", "--brain", "four"), 2, "four"),
    ):
        done = farm.csl(*args, "--json")
        assert done.status == status and says in done.error["message"], done
    farm.write("docs/other.md", "# Other\n\nSomething else.\n")
    farm.ingest("docs/other.md", "--brain", "two")
    done = farm.csl("import", "out", "--brain", "two", "--json")
    assert done.status == 8 and "histories diverged" in done.error["message"]
    blob = next((farm.root / "out" / "blobs" / "sha256").iterdir())
    blob.write_bytes(b"spoilt")
    done = farm.csl("import", "out", "--brain", "three", "--json")
    assert done.status == 5 and blob.name in done.error["message"]
    assert not farm.brain("three").exists()
    assert sorted(p.name for p in (farm.root / "brains").iterdir()) == ["one", "two"]


def test_a_brain_with_signatures_is_removed_whole(farm: Product) -> None:
    farm.brain("one").joinpath("signatures.json").write_text('{"boltzmann":1,"records":[]}')
    assert farm.csl("project", "remove", "one", "--delete-data").status == 0
    assert not farm.brain("one").exists()


def test_a_redaction_reaches_a_copy_that_follows(farm: Product) -> None:
    exported(farm)
    shutil.copytree(farm.root / "out", farm.root / "before")
    farm.csl("import", "out", "--brain", "two", "--json")
    with farm.file.open("a") as file:
        file.write("\n[retention]\nredact = true\ncanonical_redact = true\n")
    (block,) = [m["block_id"] for m in farm.search("one", "--no-floor", "bricks fired")["matches"][:1]]
    done = farm.csl("retain", "redact", block, "--reason", "asked", "--yes", "--brain", "one")
    assert done.status == 0, done
    out = exported(farm)
    assert (out["redacted"], out["erased"]) == (2, 3), "a passage, its file's block, and the file"
    farm.csl("import", "out", "--brain", "two", "--json")
    for place in ("out", "brains/two", "brains/one"):
        for path in (farm.root / place).rglob("*"):
            assert not path.is_file() or b"Bricks are fired" not in path.read_bytes(), path
    assert farm.csl("import", "before", "--brain", "two", "--json").data["up_to_date"]
    farm.verified("two")
    came = farm.csl("import", "out", "--brain", "three", "--json").data
    assert came["redacted"] == 2
    farm.verified("three")
    for brain in ("two", "three"):
        done = farm.csl("ingest", "docs", "--brain", brain, "--json")
        assert b"redacted" in done.out and done.status != 0, done
