"""A database restored from a copy, and indices of another brain: never consulted, said, made anew by `index`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from product import QUESTION, Product

FOREIGN = "made from blocks that this brain does not hold"
COMMANDS = (("search", "violinist sonata"), ("explain", "violinist sonata", "--analyze"), ("status",))


def restored(farm: Product) -> None:
    """north, as it was before a file was ingested that its indices know of."""
    folder = farm.brain("north")
    copy = farm.root / "copy.db"
    shutil.copy(folder / "brain.db", copy)
    farm.write(
        "in/ferry.md", "# Ferry\n\nThe ferry leaves at dawn.\n\nThe mule sleeps.\n\nThe cat is grey.\n"
    )
    farm.ingest("in/ferry.md", "--brain", "north")
    for file in folder.glob("brain.db*"):
        file.unlink()
    copy.rename(folder / "brain.db")


def of_another_brain(farm: Product) -> None:
    """north, with the indices of south."""
    shutil.rmtree(farm.brain("north") / "derived")
    shutil.copytree(farm.brain("south") / "derived", farm.brain("north") / "derived")


@pytest.mark.parametrize("changed", [restored, of_another_brain])
def test_it_answers_by_a_scan_and_says_why(own_farm: Product, changed: Callable[[Product], None]) -> None:
    whole = own_farm.search("north", QUESTION, "-n", "50")
    changed(own_farm)
    done = own_farm.csl("search", QUESTION, "--brain", "north", "-n", "50", "--json")
    assert done.data["plan"]["name"] == "scan" and done.data["snapshot"] == whole["snapshot"]
    assert [w for w in done.json["warnings"] if FOREIGN in w and "run `index`" in w]
    assert "pump" in done.data["matches"][0]["content"]["statement"]
    together = own_farm.csl("compound", "search", "--all", QUESTION, "--json").json["warnings"]
    assert [w for w in together if w.startswith("north: ") and FOREIGN in w]
    (shown,) = own_farm.csl("status", "--brain", "north", "--json").data["brains"]
    assert shown["state"] == "stale" and [a for a in shown["advice"] if FOREIGN in a]


@pytest.mark.parametrize("changed", [restored, of_another_brain])
def test_index_makes_it_anew_and_embeds_no_text_twice(
    own_farm: Product, changed: Callable[[Product], None]
) -> None:
    whole = own_farm.search("north", QUESTION, "-n", "50")
    changed(own_farm)
    known = 15 if changed is of_another_brain else None
    data = own_farm.csl("index", "--brain", "north", "--json").data
    assert data["indexed"] > 0 and data["reused"] >= (known or 1) and data["unembedded"] == 0
    if changed is restored:
        assert data["embedded"] == 0
    done = own_farm.csl("search", QUESTION, "--brain", "north", "-n", "50", "--json")
    assert done.json["warnings"] == [] and done.data["matches"] == whole["matches"]
    assert not (own_farm.brain("north") / "derived" / "vectors-kept").exists()
    again = own_farm.csl("index", "--brain", "north", "--json").data
    assert (again["indexed"], again["embedded"], again["reused"]) == (0, 0, 0)


@pytest.mark.parametrize("changed", [restored, of_another_brain])
def test_what_is_ingested_next_is_found(own_farm: Product, changed: Callable[[Product], None]) -> None:
    """Its ordinals are those of blocks that the old indices knew."""
    changed(own_farm)
    text = "A violinist rehearses the sonata in the empty theatre."
    own_farm.write("late/violin.md", f"# Violin\n\n{text}\n")
    own_farm.ingest("late", "--brain", "north")
    for args in COMMANDS:
        assert own_farm.csl(*args, "--brain", "north", "--json").json["warnings"] == []
    first = own_farm.search("north", "violinist rehearses a sonata", "--no-floor", "-n", "3")["matches"][0]
    assert first["content"]["statement"] == text and first["score"] == "1.00"
    words = {s["origin"] for s in first["sources"]}
    assert words == {"late/violin.md"}


def test_an_interrupted_remake_goes_on_with_the_vectors_that_were_kept(
    own_farm: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    from consilience.index.vector_writer import VectorWriter

    restored(own_farm)
    with monkeypatch.context() as patch:

        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        patch.setattr(VectorWriter, "append", interrupted)
        assert own_farm.csl("index", "--brain", "north").status == 130
    data = own_farm.csl("index", "--brain", "north", "--json").data
    assert data["embedded"] == 0 and data["reused"] > 0 and data["unembedded"] == 0


@pytest.mark.parametrize("content", [None, b"", b"rubbish", b'{"snapshot":"sha256:12"}', b"[]"])
def test_a_folder_that_does_not_say_is_the_brains_own(own_farm: Product, content: bytes | None) -> None:
    file = own_farm.brain("north") / "derived" / "made-from.json"
    assert json.loads(file.read_bytes())["snapshot"] == own_farm.search("north", QUESTION)["snapshot"]
    file.unlink() if content is None else file.write_bytes(content)
    done = own_farm.csl("search", QUESTION, "--brain", "north", "--json")
    assert done.json["warnings"] == [] and done.data["plan"]["name"] != "scan"


def test_a_whole_brain_moved_or_copied_keeps_its_indices(own_farm: Product) -> None:
    whole = own_farm.search("north", QUESTION)
    moved = Product(Path(shutil.copytree(own_farm.root, own_farm.root.parent / "moved")))
    shutil.rmtree(own_farm.root)
    done = moved.csl("search", QUESTION, "--brain", "north", "--json")
    assert done.json["warnings"] == [] and done.data["matches"] == whole["matches"]
