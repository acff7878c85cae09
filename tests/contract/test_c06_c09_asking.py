"""C6 to C9 through the command line, over real brains."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from typing import Any

import pytest
from product import OFF_TOPIC, PARAGRAPHS, QUESTION, SENTENCES, Product

from consilience.brain import Brain
from consilience.model import Bundle, Query
from consilience.protocol import parse_digest, sha256


def matches_of(data: dict, brain: str) -> list[dict]:
    return [match for match in data["matches"] if match["brains"][0]["brain"] == brain]


# --- C6 -----------------------------------------------------------------------------------------------------


def test_c06_each_member_plans_for_itself_with_its_own_model(farm: Product) -> None:
    data = farm.csl("compound", "search", "--all", QUESTION, "--json").data
    plans = {member["brain"]: member["plan"]["generators"] for member in data["members"]}
    assert "vectors" in plans["north"] and "vectors" in plans["south"]
    assert "vectors" not in plans["west"]


def test_c06_a_member_answers_as_it_does_alone(farm: Product) -> None:
    data = farm.csl("compound", "search", "--all", QUESTION, "-n", "6", "--json").data
    for member in data["members"]:
        alone = farm.search(member["brain"], QUESTION, "-n", "6")
        for field in (
            "count",
            "truncated",
            "withheld",
            "all_verified",
            "verified_against",
            "snapshot",
            "plan",
        ):
            assert member[field] == alone[field], (member["brain"], field)
        inside = [
            (m["block_id"], m["brains"][0]["rank"], m["brains"][0]["score"], m["brains"][0]["strength"])
            for m in matches_of(data, member["brain"])
        ]
        assert inside == [(m["block_id"], m["rank"], m["score"], m["strength"]) for m in alone["matches"]]


def test_c06_filters_apply_inside_each_member(farm: Product) -> None:
    args = ("compound", "search", "--all", "current of a panel", "--source", "sources/solar.md", "--no-floor")
    data = farm.csl(*args, "-n", "100", "--json").data
    origins = {s["origin"] for match in data["matches"] for s in match["sources"]}
    assert origins == {"sources/solar.md"}
    assert {m["brain"]: m["count"] > 0 for m in data["members"]} == {
        "north": True,
        "south": False,
        "west": True,
    }


def test_c06_members_run_side_by_side(farm: Product, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waits for the other two to have begun: one after another they would never all have."""
    together = threading.Barrier(3)
    whole = Brain.search

    def search(self: Brain, query: Query, **more: Any) -> Bundle:
        together.wait(timeout=120)
        return whole(self, query, **more)

    monkeypatch.setattr(Brain, "search", search)
    assert farm.csl("compound", "search", "--all", QUESTION, "--json").data["count"] > 0


# --- C7 -----------------------------------------------------------------------------------------------------


def test_c07_every_match_proves_into_the_root_it_was_verified_against(farm: Product) -> None:
    data = farm.csl("compound", "search", "--all", QUESTION, "--no-floor", "-n", "4", "--json").data
    roots = {member["brain"]: member["verified_against"] for member in data["members"]}
    assert len(data["matches"]) >= 8
    for match in data["matches"]:
        brain = match["brains"][0]["brain"]
        shown = farm.csl("block", match["block_id"], "--brain", brain, "--prove", "--json").data
        assert shown["proof"]["holds"] is True
        assert shown["proof"]["root"] == roots[brain][match["memory_type"]]
        raw = farm.csl("block", match["block_id"], "--brain", brain, "--bytes").out
        assert sha256(raw) == parse_digest(match["block_id"])


def damage(product: Product, brain: str, block_id: str) -> None:
    """Put the bytes of another block where those of this one were."""
    database = sqlite3.connect(product.brain(brain) / "brain.db")
    with database:
        other = database.execute(
            "SELECT data, enc FROM blocks WHERE id != ? AND type = (SELECT type FROM blocks WHERE id = ?)",
            (parse_digest(block_id), parse_digest(block_id)),
        ).fetchone()
        database.execute("UPDATE blocks SET data = ?, enc = ? WHERE id = ?", (*other, parse_digest(block_id)))
    database.close()


@pytest.mark.parametrize("mode", [[], ["--fuse"]])
def test_c07_what_fails_is_dropped_with_a_warning_and_exit_5(own_farm: Product, mode: list[str]) -> None:
    ask = ["compound", "search", "--brains", "south,north", QUESTION, "-n", "100", *mode, "--json"]
    victim = own_farm.csl(*ask).data["matches"][0]["block_id"]
    damage(own_farm, "north", victim)
    done = own_farm.csl(*ask)
    assert done.status == 5 and done.error["code"] == "integrity"
    assert "north" in done.error["message"] and "verify" in done.error["hint"]
    data = done.json["data"]
    assert data["all_verified"] is False
    assert {m["brain"]: m["all_verified"] for m in data["members"]} == {"south": True, "north": False}
    held = [b["brain"] for m in data["matches"] if m["block_id"] == victim for b in m["brains"]]
    assert held == ["south"]
    assert len(data["matches"]) >= PARAGRAPHS
    assert [w for w in done.json["warnings"] if w.startswith("north: verification_failed") and victim in w]
    said = own_farm.csl(*ask[:-1])
    assert said.status == 5 and "The pump of well" in said.text
    assert "warning: north: verification_failed" in said.err and "error: " in said.err
    checked = own_farm.csl("verify", "--brain", "north", "--json")
    assert checked.status == 5 and victim in [p["block_id"] for p in checked.json["data"]["problems"]]


def test_c07_one_brain_alone_drops_it_too(own_farm: Product) -> None:
    victim = own_farm.search("south", QUESTION)["matches"][0]["block_id"]
    damage(own_farm, "south", victim)
    done = own_farm.csl("search", "--brain", "south", QUESTION, "--json", "-n", "100")
    assert done.status == 5 and done.json["data"]["all_verified"] is False
    assert victim not in [m["block_id"] for m in done.json["data"]["matches"]]
    assert done.json["data"]["count"] == len(done.json["data"]["matches"]) >= PARAGRAPHS - 1


def test_c07_an_index_of_another_brain_brings_nothing_in_that_is_not_a_member(own_farm: Product) -> None:
    shutil.rmtree(own_farm.brain("south") / "derived")
    shutil.copytree(own_farm.brain("north") / "derived", own_farm.brain("south") / "derived")
    answers = own_farm.csl(
        "search", "--brain", "south", "current of a panel row", "--no-floor", "--json"
    ).data
    for match in answers["matches"]:
        proof = own_farm.csl("block", match["block_id"], "--brain", "south", "--prove", "--json").data[
            "proof"
        ]
        assert proof["holds"] and proof["root"] == answers["verified_against"]["semantic"]
    foreign = SENTENCES["solar"].split("{i}")[1]
    assert not [m for m in answers["matches"] if foreign in m["content"]["statement"]]


# --- C8 -----------------------------------------------------------------------------------------------------


def test_c08_a_brain_with_nothing_on_the_subject_returns_an_empty_bundle(farm: Product) -> None:
    for mode in ([], ["--fuse"]):
        done = farm.csl("compound", "search", "--all", OFF_TOPIC, *mode, "--json")
        assert done.data["count"] == 0 and done.data["matches"] == []
        assert {m["brain"]: m["withheld"] > 0 for m in done.data["members"]} == {
            "north": True,
            "south": True,
            "west": False,
        }
    said = farm.csl("search", OFF_TOPIC, "--brain", "north")
    assert said.status == 0 and "no match" in said.text and "--no-floor" in said.text


def test_c08_each_brain_abstains_by_its_own_floor(farm: Product) -> None:
    data = farm.csl("compound", "search", "--all", "shadow of the water tower", "--json").data
    assert {m["brain"]: m["count"] > 0 for m in data["members"]} == {
        "north": True,
        "south": False,
        "west": True,
    }
    assert {SENTENCES["solar"].split("{i}")[1] in m["content"]["statement"] for m in data["matches"]} == {
        True
    }


def test_c08_the_floor_is_shown_and_lifted_for_one_question(farm: Product) -> None:
    floor = farm.csl("explain", OFF_TOPIC, "--brain", "north", "--analyze", "--json").data["floor"]
    assert floor["applied"] is True and floor["samples"] > 0 and floor["withheld"] > 0
    assert float(floor["best_withheld"]) < float(floor["speaks"])
    held = farm.search("north", OFF_TOPIC)
    assert floor["withheld"] == held["withheld"]
    lifted = farm.search("north", OFF_TOPIC, "--no-floor", "-n", "100")
    assert lifted["withheld"] == 0 and lifted["count"] == held["withheld"]
    strengths = [float(match["strength"]) for match in lifted["matches"]]
    assert max(strengths) == pytest.approx(float(floor["best_withheld"]), abs=0.006)
    assert farm.search("north", OFF_TOPIC)["count"] == 0


def test_c08_the_strength_of_a_match_is_a_percentile_at_or_above_the_floor(farm: Product) -> None:
    threshold = float(farm.csl("explain", QUESTION, "--brain", "north", "--json").data["floor"]["threshold"])
    matches = farm.search("north", QUESTION, "-n", "100")["matches"]
    assert matches and all(threshold <= float(match["strength"]) <= 1.0 for match in matches)


def test_c08_a_brain_into_which_nothing_went_answers_with_nothing(own_farm: Product) -> None:
    own_farm.write("sources/empty.md", b"")
    own_farm.csl("ingest", "sources/empty.md", "--brain", "gone")
    data = own_farm.search("gone", QUESTION)
    assert (data["count"], data["matches"], data["snapshot"], data["verified_against"]) == (0, [], None, {})
    for mode in ([], ["--fuse"]):
        both = own_farm.csl("compound", "search", "--brains", "gone,north", QUESTION, *mode, "--json").data
        assert [m["count"] > 0 for m in both["members"]] == [False, True]
    own_farm.verified("gone")


# --- C9 -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 3, 10])
def test_c09_the_limit_is_each_members_and_of_the_fused_list_as_a_whole(farm: Product, limit: int) -> None:
    ask = ["compound", "search", "--all", "--no-floor", "filter of the panel row", "-n", str(limit), "--json"]
    grouped = farm.csl(*ask).data
    assert {m["brain"]: m["count"] for m in grouped["members"]} == {
        name: min(limit, len(farm.texts(name, "filter of the panel row")))
        for name in ("north", "south", "west")
    }
    assert grouped["depth"] == limit
    fused = farm.csl(*ask, "--fuse").data
    assert fused["count"] == len(fused["matches"]) == limit and fused["depth"] > limit
    assert fused["query"]["limit"] == grouped["query"]["limit"] == limit


def test_c09_a_block_deep_in_two_brains_rises_over_the_first_of_one(farm: Product) -> None:
    """Asked no deeper than the limit of one, no member would have named it."""
    ask = [
        "compound",
        "search",
        "--brains",
        "north,west",
        "relay station 3 repeats a frame, panel row 3",
        "--no-floor",
        "--json",
    ]
    top = farm.csl(*ask, "-n", "1", "--fuse").data["matches"][0]
    assert [b["brain"] for b in top["brains"]] == ["north", "west"]
    assert max(b["rank"] for b in top["brains"]) > 1
