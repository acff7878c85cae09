"""C7: what is not a member under the root is dropped, however sound it looks in the database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from product import Product, ground, library

from consilience.protocol import Kind, Semantic, build

TEXT = "The pump of well 99 loses pressure when a heron nests on its inlet filter."


@pytest.fixture
def product() -> Iterator[Product]:
    with ground() as root:
        yield library(root)


def plant(product: Product, name: str) -> str:
    """A block that is sound in itself, written into the database as a member, and indexed."""
    block = build(Semantic(kind=Kind.FACT, label="The pump of well 99", statement=TEXT))
    with sqlite3.connect(product.brain(name) / "brain.db") as raw:
        entered, last = raw.execute("SELECT max(seq), max(max_n) FROM snapshots").fetchone()
        row = (last + 1, block.id, entered, block.data)
        raw.execute("INSERT INTO blocks VALUES (?, ?, 2, ?, NULL, 0, ?)", row)
        raw.execute("UPDATE snapshots SET max_n = ? WHERE seq = ?", (last + 1, entered))
    raw.close()
    return f"sha256:{block.id.hex()}"


@pytest.mark.parametrize("indexed", [False, True])
def test_c07_a_planted_block_is_dropped_and_the_others_are_printed(product: Product, indexed: bool) -> None:
    name = "south"
    planted = plant(product, name)
    if indexed:
        assert product.csl("index", "--brain", name).status == 0
    options = ("--no-floor", "--limit", "100")
    done = product.csl("search", "pump pressure inlet filter heron", "--brain", name, *options, "--json")
    assert done.status == 5
    matches = done.json["data"]["matches"]
    assert matches and planted not in {match["block_id"] for match in matches}
    assert any("verification_failed" in warning and planted in warning for warning in done.json["warnings"])
    people = product.csl("search", "pump pressure inlet filter heron", "--brain", name, *options)
    assert people.status == 5 and "pump" in people.text and "heron" not in people.text
    assert product.csl("block", planted, "--prove", "--brain", name).status == 5
