"""History, `--at` and prune through the command line: what people type, and what they are told."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from product import Product


@pytest.fixture(scope="module")
def lake() -> Iterator[Product]:
    """Two brains; `station` has a file that changed and a file that was dropped."""
    root = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    product = Product(root)
    tables = "".join(f'[brains.{n}]\n[brains.{n}.embedding]\nprovider = "none"\n' for n in ("station", "lab"))
    rule = "[retention]\nkeep_snapshots = 9\ncanonical_drop = true\n"
    product.write("consilience.toml", f'[project]\nname = "lake"\nactor = "ana@example.org"\n{rule}{tables}')
    product.write("notes/gate.md", "# Gate\n\nThe northern gate opens at six.\n")
    product.write("notes/buoy.md", "# Buoy\n\nThe buoy is visited in June.\n")
    product.write("other/lab.md", "# Lab\n\nThe oven is switched off at eight.\n")
    for args in (("notes", "--brain", "station"), ("other", "--brain", "lab")):
        assert product.csl("ingest", *args).status == 0
    product.write("notes/gate.md", "# Gate\n\nThe northern gate opens at nine.\n")
    assert product.csl("ingest", "notes", "--brain", "station").status == 0
    yield product
    shutil.rmtree(root, ignore_errors=True)


def test_history_and_diff(lake: Product) -> None:
    data = lake.csl("history", "--brain", "station", "--json").data
    assert data["count"] == data["of"] == 2 and not data["truncated"] and data["pruned"] == 0
    newest, oldest = data["snapshots"]
    assert oldest["files"] == ["notes/buoy.md", "notes/gate.md"] and newest["files"] == ["notes/gate.md"]
    shown = lake.csl("history", "--brain", "station", "--limit", "1").text
    assert (
        newest["snapshot"][7:19] in shown and "superseded" in shown and "1 of 2 snapshots (--limit)" in shown
    )
    diff = lake.csl("diff", "head~1", newest["snapshot"][7:15], "--brain", "station")
    assert (
        diff.status == 0 and "The northern gate opens at nine." in diff.text and "superseded by" in diff.text
    )
    nothing = lake.csl("diff", "head", "head", "--brain", "station").text
    assert "nothing differs" in nothing
    cut = lake.csl("diff", "head~1", "head", "--brain", "station", "--limit", "0", "--json").data
    assert cut["blocks"] == [] and cut["truncated"] and cut["of"] > 0


def test_the_past_is_asked_and_says_so(lake: Product) -> None:
    ask = ("--brain", "station", "northern gate", "--no-floor")
    now, then = lake.csl("search", *ask), lake.csl("search", *ask, "--at", "head~1")
    assert "at nine" in now.text and "at six" in then.text and "at nine" not in then.text
    assert "1 before the head" in then.text and "before the head" not in now.text
    snapshot = lake.csl("history", "--brain", "station", "--json").data["snapshots"][1]["snapshot"]
    data = lake.csl("search", *ask, "--at", "head~1", "--json").data
    assert data["snapshot"] == snapshot
    block = data["matches"][0]["block_id"]
    for args in (
        ("block", block),
        ("block", block, "--prove"),
        ("explain", "gate"),
        ("status",),
        ("verify",),
    ):
        done = lake.csl(*args, "--brain", "station", "--at", "head~1")
        assert done.status == 0 and snapshot[7:19] in done.text, args
    late = lake.csl("search", *ask, "--json").data["matches"][0]["block_id"]
    gone = lake.csl("block", late, "--brain", "station", "--at", "head~1", "--json")
    assert gone.status == 4 and "at this snapshot" in gone.error["message"]


def test_a_compound_asks_one_brain_in_the_past(lake: Product) -> None:
    ask = ("compound", "search", "--all", "gate oven", "--no-floor")
    done = lake.csl(*ask, "--at", "station=head~1")
    assert done.status == 0 and "at six" in done.text and "oven" in done.text
    assert "at station: snapshot" in done.text
    data = lake.csl(*ask, "--at", "station=head~1", "--json").data
    told = lake.csl("compound", "explain", "--all", "gate", "--at", "station=head~1", "--json").data
    old = lake.csl("history", "--brain", "station", "--json").data["snapshots"][1]["snapshot"]
    assert [m["snapshot"] == old for m in data["members"]] == [True, False]
    assert [m["snapshot"] == old for m in told["members"]] == [True, False]


@pytest.mark.parametrize(
    ("args", "status", "said"),
    [
        (("search", "gate", "--brain", "station", "--at", "nonsense"), 2, "names no snapshot"),
        (("search", "gate", "--brain", "station", "--at", "head~7"), 4, "this brain has 2 snapshots"),
        (("compound", "search", "--all", "gate", "--at", "head~1"), 2, "BRAIN=SNAPSHOT"),
        (("compound", "search", "--all", "gate", "--at", "pond=head"), 2, "which is not asked"),
        (
            ("compound", "search", "--all", "gate", "--at", "lab=head", "--at", "lab=head~1"),
            2,
            "two snapshots",
        ),
        (("compound", "search", "--all", "gate", "--at", "lab=head~5"), 4, "1 snapshot"),
        (("history", "--brain", "station", "--module", "semantics"), 2, "no module"),
        (("diff", "head", "head~9", "--brain", "station"), 4, "this brain has 2 snapshots"),
        (("retain", "prune", "--brain", "station", "--dry-run", "--yes"), 2, "do not go together"),
        (("retain", "prune", "--brain", "station", "--keep", "0"), 2, "0"),
    ],
)
def test_what_cannot_be_done_is_told(lake: Product, args: tuple[str, ...], status: int, said: str) -> None:
    done = lake.csl(*args)
    assert done.status == status and said in done.err


def test_a_snapshot_of_another_brain_is_named_as_such(lake: Product) -> None:
    theirs = lake.csl("history", "--brain", "lab", "--json").data["snapshots"][0]["snapshot"]
    error = lake.csl("search", "gate", "--brain", "station", "--at", theirs, "--json").error
    assert (
        error["code"] == "not_found" and "brain 'lab'" in error["message"] and error["hint"] == "--brain lab"
    )


def test_prune_by_policy_and_by_option(lake: Product) -> None:
    assert (
        "nothing to prune (keep 9 snapshots; 2 snapshots here)"
        in lake.csl("retain", "prune", "--brain", "station").text
    )
    asked = lake.csl("retain", "prune", "--brain", "station", "--keep", "1")
    assert (
        asked.status == 10
        and "csl retain prune --keep 1 --yes" in asked.err
        and "1 of 2 snapshots" in asked.text
    )
    dry = lake.csl("retain", "prune", "--brain", "station", "--keep", "1", "--dry-run", "--json").data
    assert dry["done"] is False and dry["snapshots"] == 1 and dry["freed_bytes"] == 0
    old = lake.csl("history", "--brain", "station", "--json").data["snapshots"][1]["snapshot"]
    done = lake.csl("retain", "prune", "--brain", "station", "--keep", "1", "--yes", "--json").data
    assert done["done"] is True and done["snapshots"] == 1
    report = lake.csl("verify", "--brain", "station", "--json").data
    assert report["truncated"] == old and report["problems"] == []
    gone = lake.csl("search", "gate", "--brain", "station", "--at", old, "--json")
    assert gone.status == 4 and "was pruned" in gone.error["message"]
    assert "at nine" in lake.csl("search", "northern gate", "--brain", "station", "--no-floor").text


def test_prune_without_any_rule(lake: Product) -> None:
    text = lake.file.read_text()
    lake.file.write_text(text.replace("keep_snapshots = 9\n", ""))
    done = lake.csl("retain", "prune", "--brain", "lab")
    lake.file.write_text(text)
    assert done.status == 2 and "nothing says what to keep" in done.err and "keep_snapshots" in done.err
