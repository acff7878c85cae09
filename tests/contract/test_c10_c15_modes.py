"""C10 to C15 through the command line, over real brains: each answer is recomputed from the brains' own."""

from __future__ import annotations

import itertools
import json
import re
import sqlite3
from fractions import Fraction
from typing import Any

import pytest
from product import OLD_NOTICE, QUESTION, Product, untimed

from consilience.protocol import parse_digest

BROAD = "filter of the panel row, the pump and the relay station"
BRAINS = ("north", "south", "west")


def compound(farm: Product, *args: str, brains: tuple[str, ...] = BRAINS, text: str = BROAD) -> Any:
    return farm.csl(
        "compound", "search", "--brains", ",".join(brains), text, "--no-floor", "--json", *args
    ).data


def alone(farm: Product, depth: int, text: str = BROAD, *args: str) -> dict[str, list[Any]]:
    """What each brain answers by itself."""
    return {
        name: farm.search(name, text, "--no-floor", "--limit", str(depth), *args)["matches"]
        for name in BRAINS
    }


def test_c10_every_ranking_is_intact_in_the_order_named(farm: Product) -> None:
    own = alone(farm, 7)
    for brains in (("west", "north", "south"), ("south", "west", "north")):
        data = compound(farm, "--limit", "7", brains=brains)
        assert data["fused"] is False
        assert [(m["brains"][0]["brain"], m["block_id"]) for m in data["matches"]] == [
            (name, match["block_id"]) for name in brains for match in own[name]
        ]
        assert {len(m["brains"]) for m in data["matches"]} == {1}


def test_c10_a_block_of_two_brains_appears_once_per_brain(farm: Product) -> None:
    ids = [m["block_id"] for m in compound(farm, "--limit", "100")["matches"]]
    shared = {i for i in ids if ids.count(i) == 2}
    assert len(shared) > 10
    said = farm.csl("compound", "search", "--brains", "north,south", QUESTION, "-n", "1").text
    assert said.index("── north") < said.index("── south")


def test_c11_a_score_is_a_two_decimal_string_and_the_best_of_each_brain_reads_one(farm: Product) -> None:
    for mode in ([], ["--fuse"]):
        data = compound(farm, "--limit", "50", *mode)
        scores = [m["score"] for m in data["matches"]] + [
            b["score"] for m in data["matches"] for b in m["brains"]
        ]
        assert all(re.fullmatch(r"0\.\d\d|1\.00", score) for score in scores)
        firsts = [b["score"] for m in data["matches"] for b in m["brains"] if b["rank"] == 1]
        assert firsts == ["1.00"] * 3
    assert data["matches"][0]["score"] == "1.00"


def test_c11_no_output_for_people_shows_another_score(farm: Product) -> None:
    for mode in ([], ["--fuse"]):
        said = farm.csl("compound", "search", "--all", BROAD, "--no-floor", *mode).text
        heads = re.findall(r"^ ?\d+  (\S+)  ", said, re.MULTILINE)
        assert heads and all(re.fullmatch(r"0\.\d\d|1\.00", head) for head in heads)


def fused_by_hand(own: dict[str, list[Any]]) -> list[tuple[str, str]]:
    """Block ids, best first, with their scores, by the rules of C12 and C14."""
    values: dict[str, Fraction] = {}
    strength: dict[str, str] = {}
    best: dict[str, int] = {}
    for matches in own.values():
        for match in matches:
            block = match["block_id"]
            values[block] = values.get(block, Fraction()) + Fraction(1, 60 + match["rank"])
            strength[block] = max(strength.get(block, ""), match["strength"] or "")
            best[block] = min(best.get(block, match["rank"]), match["rank"])
    top = max(values.values())
    order = sorted(values, key=lambda b: (-values[b], [-ord(c) for c in strength[b]], best[b], b))
    return [(block, f"{float(values[block] / top):.2f}") for block in order]


def test_c12_fusion_is_reciprocal_rank_over_what_each_brain_answers(farm: Product) -> None:
    data = compound(farm, "--fuse", "--limit", "100")
    expected = fused_by_hand(alone(farm, data["depth"]))
    found = [(m["block_id"], m["score"]) for m in data["matches"]]
    assert [score for _, score in found] == [score for _, score in expected]
    assert {block for block, _ in found} == {block for block, _ in expected}
    # Strengths are compared before they are rounded: where the rounded ones tie, the order may differ.
    moved = [(a, b) for a, b in zip(found, expected, strict=True) if a != b]
    assert all(a[1] == b[1] for a, b in moved) and len(moved) < len(found) / 2


def test_c13_the_same_block_of_two_brains_is_one_match_with_both_names(farm: Product) -> None:
    data = compound(farm, "--fuse", "--limit", "100")
    ids = [m["block_id"] for m in data["matches"]]
    assert len(ids) == len(set(ids))
    ranks = {
        (name, match["block_id"]): match["rank"]
        for name, matches in alone(farm, data["depth"]).items()
        for match in matches
    }
    for match in data["matches"]:
        held = {(b["brain"], match["block_id"]): b["rank"] for b in match["brains"]}
        assert held == {key: rank for key, rank in ranks.items() if key[1] == match["block_id"]}
    assert {len(m["brains"]) for m in data["matches"]} == {1, 2}


def test_c13_people_see_both_names_with_their_ranks(farm: Product) -> None:
    top = compound(farm, "--fuse", brains=("south", "north"), text=QUESTION)["matches"][0]
    shown = " ".join(f"{b['brain']}#{b['rank']}" for b in top["brains"])
    said = farm.csl("compound", "search", "--brains", "south,north", QUESTION, "--fuse", "--no-floor").text
    assert re.search(rf"^ 1  1\.00  {shown}  ", said, re.MULTILINE)


def test_c14_the_order_of_naming_changes_only_the_order_of_the_lists(farm: Product) -> None:
    def without_order(data: Any) -> Any:
        data = json.loads(untimed(json.dumps(data, separators=(",", ":")).encode()))
        data["members"].sort(key=lambda m: m["brain"])
        for match in data["matches"]:
            match["brains"].sort(key=lambda b: b["brain"])
            match["sources"].sort(key=json.dumps)
        return data

    answers = [compound(farm, "--fuse", brains=order) for order in itertools.permutations(BRAINS)]
    assert all(without_order(each) == without_order(answers[0]) for each in answers)
    for order, data in zip(itertools.permutations(BRAINS), answers, strict=True):
        assert [m["brain"] for m in data["members"]] == list(order)
        for match in data["matches"]:
            assert [b["brain"] for b in match["brains"]] == [
                n for n in order if n in {b["brain"] for b in match["brains"]}
            ]


def notice(farm: Product, *args: str, brains: tuple[str, ...] = ("north", "south")) -> Any:
    """The notice that south still holds and north has replaced."""
    data = compound(farm, *args, brains=brains, text=f'"{OLD_NOTICE.strip()}"')
    return [
        m for m in data["matches"] if m["content"] is None or m["content"]["statement"] == OLD_NOTICE.strip()
    ]


def test_c15_superseded_in_one_brain_and_current_in_another_is_one_block_with_two_states(
    farm: Product,
) -> None:
    (current,) = notice(farm, "--fuse")
    assert [b["brain"] for b in current["brains"]] == ["south"] and current["superseded_by"] is None
    for brains in (("north", "south"), ("south", "north")):
        (both,) = notice(farm, "--fuse", "--include-superseded", brains=brains)
        states = {b["brain"]: b["superseded_by"] for b in both["brains"]}
        assert states["south"] is None and states["north"] is not None
        assert both["superseded_by"] == states["north"]
    after = farm.csl("block", states["north"], "--brain", "north", "--json").data["block"]
    assert "at nine" in after["content"]["statement"]


def test_c15_unreadable_in_one_brain_is_quoted_from_the_other(own_farm: Product) -> None:
    shared = own_farm.search("south", QUESTION)["matches"][0]["block_id"]
    database = sqlite3.connect(own_farm.brain("south") / "brain.db")
    with database:
        database.execute("UPDATE blocks SET data = NULL WHERE id = ?", (parse_digest(shared),))
    database.close()
    for brains in (("north", "south"), ("south", "north")):
        (match,) = compound(own_farm, "--fuse", brains=brains, text=shared)["matches"]
        assert match["resolvable"] is True and match["content"]["statement"].startswith("The pump")
        assert {b["brain"]: b["resolvable"] for b in match["brains"]} == {"north": True, "south": False}
    (alone_there,) = own_farm.search("south", shared)["matches"]
    assert (alone_there["resolvable"], alone_there["content"]) == (False, None)


def test_c15_sources_are_the_union_and_each_brain_keeps_its_own(farm: Product) -> None:
    match = next(m for m in compound(farm, "--fuse", text=QUESTION)["matches"] if len(m["brains"]) == 2)
    own = [b["sources"] for b in match["brains"]]
    assert own[0] and own[1] and own[0] != own[1]
    assert match["sources"] == [*own[0], *(s for s in own[1] if s not in own[0])]


def test_c15_a_cite_leads_to_the_block_in_its_brain_and_names_the_root(farm: Product) -> None:
    data = compound(farm, "--fuse", text=QUESTION)
    roots = {m["brain"]: m["verified_against"] for m in data["members"]}
    for match in data["matches"]:
        for held in match["brains"]:
            root = roots[held["brain"]][match["memory_type"]]
            assert held["cite"] == f"csl:{held['brain']}/{match['memory_type']}/{match['block_id']}@{root}"
            shown = farm.csl("block", match["block_id"], "--brain", held["brain"], "--json").data["block"]
            assert shown["cite"] == held["cite"]


@pytest.mark.parametrize("mode", [[], ["--fuse"]])
def test_c15_no_answer_field_and_no_prose(farm: Product, mode: list[str]) -> None:
    data = compound(farm, *mode)
    keys = {"query", "fused", "depth", "count", "truncated", "all_verified", "members", "matches", "skipped"}
    assert set(data) == keys
