"""What the contract says of removal: redacted here and readable there, hidden here and shown there."""

from __future__ import annotations

from typing import Any

import pytest
from product import QUESTION, Product

ALLOWED = "\n[retention]\nredact = true\ncanonical_redact = true\ncanonical_drop = true\n"


@pytest.fixture
def shared(own_farm: Product) -> str:
    """The id of a passage that north and south hold; south has redacted it."""
    own_farm.file.write_text(own_farm.file.read_text() + ALLOWED)
    block = str(own_farm.search("south", QUESTION)["matches"][0]["block_id"])
    done = own_farm.csl("retain", "redact", block, "--reason", "asked", "--yes", "--brain", "south", "--json")
    assert done.data["erased"] is True
    return block


def compound(farm: Product, text: str, *args: str, brains: str = "north,south") -> Any:
    return farm.csl("compound", "search", "--brains", brains, text, "--no-floor", "--json", *args).data


def test_c15_redacted_in_one_brain_is_quoted_from_the_other(own_farm: Product, shared: str) -> None:
    for brains in ("north,south", "south,north"):
        (match,) = compound(own_farm, shared, "--fuse", brains=brains)["matches"]
        assert match["resolvable"] is True and match["content"]["statement"].startswith("The pump")
        assert {b["brain"]: b["resolvable"] for b in match["brains"]} == {"north": True, "south": False}
        cites = {b["brain"]: b["cite"] for b in match["brains"]}
        assert all(shared in cite for cite in cites.values()) and len(set(cites.values())) == 2


def test_c10_grouped_each_brain_says_what_it_can_read(own_farm: Product, shared: str) -> None:
    matches = compound(own_farm, shared)["matches"]
    assert {m["brains"][0]["brain"]: (m["resolvable"], m["content"] is None) for m in matches} == {
        "north": (True, False),
        "south": (False, True),
    }


def test_c07_a_redacted_match_is_verified_by_its_membership(own_farm: Product, shared: str) -> None:
    data = own_farm.search("south", shared)
    assert data["all_verified"] is True and data["matches"][0]["resolvable"] is False
    own_farm.verified("south")
    proof = own_farm.csl("block", shared, "--prove", "--brain", "south", "--json").data["proof"]
    assert proof["holds"] is True and proof["root"] == data["verified_against"]["semantic"]


def test_c08_a_redacted_block_is_no_answer_to_its_own_words(own_farm: Product, shared: str) -> None:
    words = own_farm.search("north", shared)["matches"][0]["content"]["statement"]
    assert shared not in {m["block_id"] for m in own_farm.search("south", words, "--no-floor")["matches"]}
    assert shared in {m["block_id"] for m in own_farm.search("north", words, "--no-floor")["matches"]}


def test_c12_the_fused_rank_of_a_redacted_block_comes_from_those_that_return_it(
    own_farm: Product, shared: str
) -> None:
    words = own_farm.search("north", shared)["matches"][0]["content"]["statement"]
    match = next(
        m for m in compound(own_farm, words, "--fuse", "--limit", "100")["matches"] if m["block_id"] == shared
    )
    assert [b["brain"] for b in match["brains"]] == ["north"]


def test_c23_what_is_demoted_is_hidden_by_its_own_brain_only(own_farm: Product, shared: str) -> None:
    done = own_farm.csl("retain", "demote", shared, "--brain", "north", "--json")
    assert done.data["what"] == "demoted"
    words = "pump of well loses pressure"
    assert shared not in {m["block_id"] for m in own_farm.search("north", words, "--no-floor")["matches"]}
    again = own_farm.search("north", words, "--no-floor", "--include-superseded", "--limit", "100")["matches"]
    assert shared in {m["block_id"] for m in again}
