"""`csl verify`, `--repair` and `--all`, as people and programs meet them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from damage import flip
from product import Product, ground, library


@pytest.fixture
def product() -> Iterator[Product]:
    with ground() as root:
        yield library(root)


def damage_index(product: Product, name: str) -> Path:
    file = next((product.brain(name) / "derived" / "lexical" / "engine").glob("*.term"))
    flip(file, 3, 1)
    return file


def damage_block(product: Product, name: str) -> None:
    with sqlite3.connect(product.brain(name) / "brain.db") as raw:
        raw.execute("UPDATE blocks SET data = x'00' WHERE n = 6")
    raw.close()


def test_a_damaged_index_is_named_and_repaired(product: Product) -> None:
    name = "north"
    damage_index(product, name)
    done = product.csl("verify", "--brain", name)
    assert done.status == 5 and "lexical" in done.text and "verify --repair" in done.text
    document = product.csl("verify", "--brain", name, "--json").json
    (problem,) = document["data"]["problems"]
    assert problem["what"] == "lexical" and problem["file"].startswith("derived/lexical/engine/")
    assert "verify --repair" in problem["remedy"] and document["error"]["code"] == "integrity"
    done = product.csl("verify", "--brain", name, "--repair")
    assert done.status == 0 and "repaired, everything follows" in done.text, done
    assert "made anew: the lexical index" in done.text and "in its own words: found" in done.text
    repair = product.csl("verify", "--brain", name, "--repair", "--json").data["repair"]
    assert repair["done"] == [] and repair["problems"] == 0 and repair["asked"]["found"]


def test_a_damaged_block_is_named_with_its_module_and_what_to_do(product: Product) -> None:
    name = "north"
    damage_block(product, name)
    for more in ((), ("--repair",)):
        done = product.csl("verify", "--brain", name, *more)
        assert done.status == 5
        said = " ".join(done.text.split())
        assert "block semantic sha256:" in said and "ingest the original again" in said


def test_one_failing_brain_does_not_stop_the_others(product: Product) -> None:
    first, second = "south", "north"
    (product.brain(first) / "brain.db").write_bytes(b"")
    damage_index(product, second)
    done = product.csl("verify", "--all")
    assert done.status == 5
    assert f"{first}: not verified" in done.text and f"{second}: damaged" in done.text
    everything = product.csl("verify", "--all", "--json").json
    assert [each["brain"] for each in everything["data"]["failed"]] == [first]
    assert [each["brain"] for each in everything["data"]["brains"]] == ["north", "west"]
    assert [each["brain"] for each in everything["data"]["skipped"]] == ["gone"]
    done = product.csl("verify", "--all", "--repair")
    assert done.status == 5 and f"{second}: repaired" in done.text


def test_a_snapshot_goes_with_one_brain(product: Product) -> None:
    assert product.csl("verify", "--all", "--at", "head").status == 2
