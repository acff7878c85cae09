"""C16 to C18 through the command line, over real brains."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from product import PARAGRAPHS, QUESTION, Product

MODES = pytest.mark.parametrize("mode", [[], ["--fuse"]], ids=["grouped", "fused"])


def compound(farm: Product, *args: str) -> Any:
    return farm.csl("compound", "search", "--all", QUESTION, "--json", *args).data


def by_brain(data: Any, field: str) -> dict[str, Any]:
    return {member["brain"]: member[field] for member in data["members"]}


@MODES
def test_c16_roots_are_those_of_each_brain_and_stand_nowhere_else(farm: Product, mode: list[str]) -> None:
    data = compound(farm, *mode)
    for member in data["members"]:
        proof_of = farm.csl(
            "search", "--brain", member["brain"], QUESTION, "--no-floor", "-n", "1", "--json"
        ).data
        assert member["verified_against"] == proof_of["verified_against"]
        assert {"semantic", "provenance"} <= set(member["verified_against"])
        assert member["snapshot"].startswith("sha256:")
    roots = [root for member in data["members"] for root in member["verified_against"].values()]
    assert len(set(roots)) == len(roots) == 6
    assert "verified_against" not in data and "snapshot" not in data
    assert not [m for m in data["matches"] if "verified_against" in m]


@MODES
def test_c16_truncated_is_any_and_all_verified_is_all(farm: Product, mode: list[str]) -> None:
    for limit in ("3", "1000"):
        data = compound(farm, *mode, "-n", limit)
        assert data["truncated"] == any(by_brain(data, "truncated").values()) == (limit == "3")
        assert data["all_verified"] == all(by_brain(data, "all_verified").values()) is True


def test_c16_both_modes_have_one_shape(farm: Product) -> None:
    grouped, fused = compound(farm), compound(farm, "--fuse")
    assert list(grouped) == list(fused)
    for part in ("members", "matches", "skipped"):
        assert list(grouped[part][0]) == list(fused[part][0])
    assert list(grouped["matches"][0]["brains"][0]) == list(fused["matches"][0]["brains"][0])
    assert (grouped["fused"], fused["fused"]) == (False, True)


# --- C17 ----------------------------------------------------------------------------------------------------

QUESTIONS = (QUESTION, "shadow of the water tower", '"counts the loss"', "visitors", "sorghum weeding plot 3")
FILTERS = ((), ("--source", "sources/solar.md"), ("--module", "semantic"), ("--module", "canonical"))
BARE = {
    "all indices": (),
    "no facets": ("facets.db",),
    "no lexical index": ("lexical",),
    "no vectors": ("vectors",),
    "no statistics": ("statistics.json",),
}


@pytest.mark.parametrize("missing", BARE)
def test_c17_what_is_cut_is_said_whatever_indices_there_are(own_farm: Product, missing: str) -> None:
    """Fewer matches than without a limit are never an answer that calls itself complete, nor the other way round."""
    for name in BARE[missing]:
        path = own_farm.brain("north") / "derived" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for question in QUESTIONS:
        for filters in FILTERS:
            whole = own_farm.search("north", question, "-n", "10000", *filters)
            assert whole["truncated"] is False
            for limit in (1, 5, max(whole["count"], 1)):
                cut = own_farm.search("north", question, "-n", str(limit), *filters)
                assert cut["count"] == min(limit, whole["count"]), (question, filters, limit)
                assert cut["truncated"] is (cut["count"] < whole["count"]), (question, filters, limit)


def test_c17_what_an_index_cut_by_its_own_k_is_said(own_farm: Product) -> None:
    """More blocks agree with the words than a generator is asked for; few of them pass the filter."""
    many = "\n\n".join(f"The ferry number {i} carries goats to the island." for i in range(400))
    own_farm.write("sources/many.md", f"# Ferries\n\n{many}\n")
    few = "\n\n".join(
        f"On day {i} of the strike a ferry without any number drifted past the old island." for i in range(9)
    )
    own_farm.write("sources/few.md", f"# Strike\n\n{few}\n")
    own_farm.ingest("sources/many.md", "sources/few.md", "--brain", "west")
    facets = own_farm.brain("west") / "derived" / "facets.db"
    for bare in (False, True):
        if bare:
            facets.unlink()
        for args in ([], ["--source", "sources/few.md"], ["--source", "sources/many.md"]):
            whole = own_farm.search("west", "ferry number", "--no-floor", "-n", "10000", *args)
            cut = own_farm.search("west", "ferry number", "--no-floor", "-n", "9", *args)
            assert whole["truncated"] is False
            assert cut["count"] == 9 and cut["truncated"] is (whole["count"] > 9), (bare, args)
    assert own_farm.search("west", "ferry number", "--no-floor", "-n", "9")["truncated"] is True


def test_c17_a_list_of_which_a_filter_left_nothing_is_not_complete(
    own_farm: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All candidates of the index come from other files, and what is beyond its k was never looked at."""
    from consilience.plan import answer

    many = "\n\n".join(f"The ferry number {i} carries goats to the island." for i in range(400))
    own_farm.write("sources/many.md", f"# Ferries\n\n{many}\n")
    own_farm.write(
        "sources/few.md", "# Strike\n\nOn a day of the strike a ferry drifted past the old island, empty.\n"
    )
    own_farm.ingest("sources/many.md", "sources/few.md", "--brain", "west")
    (own_farm.brain("west") / "derived" / "facets.db").unlink()
    ask = ("ferry number", "--no-floor", "--source", "sources/few.md")
    assert own_farm.search("west", *ask)["count"] == 1
    monkeypatch.setattr(answer, "MOST_ROUNDS", 1)
    cut = own_farm.search("west", *ask)
    assert (cut["count"], cut["truncated"]) == (0, True)


def test_c17_what_the_floor_held_back_is_withheld_and_no_truncation(farm: Product) -> None:
    data = farm.search("north", QUESTION, "-n", "100")
    assert data["count"] >= PARAGRAPHS and data["withheld"] > 0 and data["truncated"] is False


def test_c17_a_fused_cut_truncates_the_members_that_it_cut(farm: Product) -> None:
    data = compound(farm, "--fuse", "-n", "1")
    assert by_brain(data, "count") == {"north": 1, "south": 1, "west": 0}
    assert by_brain(data, "truncated") == {"north": True, "south": True, "west": False}
    data = compound(farm, "--fuse", "-n", "100")
    assert not any(by_brain(data, "truncated").values())


# --- C18 ----------------------------------------------------------------------------------------------------


@MODES
def test_c18_each_degradation_bears_the_name_of_its_brain(own_farm: Product, mode: list[str]) -> None:
    shutil.rmtree(own_farm.brain("south") / "derived" / "lexical")
    spoiled = own_farm.brain("west") / "derived" / "facets.db"
    spoiled.write_bytes(b"rubbish")
    done = own_farm.csl("compound", "search", "--all", QUESTION, *mode, "--json")
    assert done.data["count"] > 0
    warned = done.json["warnings"]
    assert [w for w in warned if w.startswith("south: no lexical index")]
    assert [w for w in warned if w.startswith("west: ") and "facets.db" in w and "`index`" in w]
    assert all(w.startswith(("south: ", "west: ")) for w in warned)
    said = own_farm.csl("compound", "search", "--all", QUESTION, *mode)
    assert said.status == 0
    for warning in warned:
        assert f"warning: {warning}" in said.err
    explained = own_farm.csl("compound", "explain", "--all", QUESTION, "--json").json["warnings"]
    assert [w for w in explained if w.startswith("south: no lexical index")]


def test_c18_a_sound_compound_warns_of_nothing(farm: Product) -> None:
    assert farm.csl("compound", "search", "--all", QUESTION, "--json").json["warnings"] == []


def test_c18_a_member_that_fails_is_a_warning_with_its_name_and_the_rest_is_printed(
    own_farm: Product,
) -> None:
    (own_farm.brain("south") / "brain.db").write_bytes(b"no database at all, " * 1000)
    done = own_farm.csl("compound", "search", "--all", QUESTION, "--json")
    assert done.status == 5 and done.error["message"].startswith("south: ")
    assert [m["brain"] for m in done.json["data"]["members"]] == ["north", "west"]
    assert done.json["data"]["matches"]
    assert [w for w in done.json["warnings"] if w.startswith("south: failed: ")]
    assert [s["brain"] for s in done.json["data"]["skipped"]] == ["gone", "south"]
