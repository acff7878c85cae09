"""C19 and C20 through the command line, over real brains."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from product import OFF_TOPIC, QUESTION, Product


def explained(farm: Product, brain: str, *args: str, text: str = QUESTION) -> Any:
    return farm.csl("explain", text, "--brain", brain, "--json", *args).data


def chosen(explanation: Any) -> Any:
    (one,) = [plan for plan in explanation["plans"] if plan["chosen"]]
    return one


def index(explanation: Any, name: str) -> Any:
    (one,) = [each for each in explanation["indices"] if each["name"] == name]
    return one


def test_c19_one_explanation_for_each_member_and_no_plan_of_the_compound(farm: Product) -> None:
    data = farm.csl("compound", "explain", "--brains", "west,south,north", QUESTION, "--json").data
    assert set(data) == {"query", "members", "skipped"}
    assert [member["brain"] for member in data["members"]] == ["west", "south", "north"]
    for member in data["members"]:
        alone = explained(farm, member["brain"])
        alone.pop("query")
        assert member == alone


def test_c19_the_plan_every_rejected_one_and_why(farm: Product) -> None:
    for brain in ("north", "west"):
        data = explained(farm, brain)
        assert chosen(data)["name"] == farm.search(brain, QUESTION)["plan"]["name"]
        assert len(data["plans"]) >= 2
        for plan in data["plans"]:
            assert plan["reason"] and plan["estimated_us"] > 0 and 0 <= plan["estimated_recall"] <= 1
            assert plan["generators"]
    assert {plan["name"] for plan in explained(farm, "north")["plans"]} >= {
        "lexical",
        "vectors",
        "scan",
        "lexical+vectors",
    }


def test_c19_indices_statistics_and_floor(farm: Product) -> None:
    data = explained(farm, "north")
    assert {"lexical", "vectors", "facets"} <= {each["name"] for each in data["indices"]}
    assert index(data, "vectors")["available"] is True and index(data, "vectors")["consulted"] is True
    assert "fresh" in data["statistics"]
    assert data["floor"]["samples"] > 0
    assert (data["floor"]["threshold"], data["floor"]["speaks"]) == ("0.2000", "0.7500")
    assert index(explained(farm, "west"), "vectors")["available"] is False


def test_c19_analyze_adds_what_was_measured(farm: Product) -> None:
    planned, measured = explained(farm, "north"), explained(farm, "north", "--analyze")
    assert (planned["analyzed"], measured["analyzed"]) == (False, True)
    assert planned["count"] is None and measured["count"] == farm.search("north", QUESTION)["count"]
    assert chosen(planned)["actual_us"] is None and chosen(measured)["actual_us"] > 0
    assert all(g["actual_us"] is not None and g["actual_rows"] > 0 for g in chosen(measured)["generators"])
    for field in ("name", "reason", "estimated_us", "estimated_recall"):
        assert chosen(planned)[field] == chosen(measured)[field]
    both = farm.csl("compound", "explain", "--all", OFF_TOPIC, "--analyze", "--json").data
    assert {m["brain"]: m["floor"]["withheld"] > 0 for m in both["members"]} == {
        "north": True,
        "south": True,
        "west": False,
    }


def test_c19_side_by_side_for_people(farm: Product) -> None:
    for extra in ([], ["--analyze"]):
        done = farm.csl("compound", "explain", "--all", QUESTION, *extra)
        assert done.status == 0
        for said in ("── north ", "── south ", "── west ", "gone: ", "floor "):
            assert said in done.text


def test_c20_without_indices_it_scans_and_says_so(own_farm: Product) -> None:
    shutil.rmtree(own_farm.brain("north") / "derived")
    data = explained(own_farm, "north")
    assert chosen(data)["name"] == "scan"
    assert not [each for each in data["indices"] if each["available"]]
    assert "run `index`" in " ".join(
        own_farm.csl("explain", QUESTION, "--brain", "north", "--json").json["warnings"]
    )
    done = own_farm.csl("search", QUESTION, "--brain", "north", "--json")
    assert done.data["count"] > 0 and done.data["plan"]["name"] == "scan"
    assert [w for w in done.json["warnings"] if "every block was scanned" in w]


def test_c20_stale_statistics_are_said_and_planned_with_pessimistically(own_farm: Product) -> None:
    import msgspec

    statistics = own_farm.brain("north") / "derived" / "statistics.json"
    fresh = explained(own_farm, "north")
    held = msgspec.json.decode(statistics.read_bytes())
    held["blocks"] //= 2
    held.pop(next(name for name in held if "crc" in name))
    statistics.write_bytes(msgspec.json.encode(held))
    stale = explained(own_farm, "north")
    assert "stale" not in fresh["statistics"] and "stale" in stale["statistics"]
    dearer = {plan["name"]: plan["estimated_us"] for plan in stale["plans"]}
    for plan in fresh["plans"]:
        assert dearer[plan["name"]] > plan["estimated_us"]
    assert "statistics are stale: run `index`" in own_farm.csl("status", "--brain", "north").text


def test_c20_another_model_than_that_of_the_vectors_is_not_consulted_and_named(
    own_farm: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    from consilience.embed.hashed import HashedEmbedder

    old = HashedEmbedder.tag
    monkeypatch.setattr(HashedEmbedder, "tag", old.replace("d256", "d512"))
    done = own_farm.csl("explain", QUESTION, "--brain", "north", "--json")
    vectors = index(done.data, "vectors")
    assert (vectors["available"], vectors["consulted"]) == (False, False)
    assert old in vectors["detail"] and HashedEmbedder.tag in vectors["detail"]
    assert "vectors" not in chosen(done.data)["name"]
    searched = own_farm.csl("search", QUESTION, "--brain", "north", "--json")
    assert searched.data["count"] > 0 and "vectors" not in searched.data["plan"]["generators"]
    assert [w for w in searched.json["warnings"] if old in w and HashedEmbedder.tag in w]


def test_c20_vectors_that_cover_a_part_say_how_much(own_farm: Product) -> None:
    own_farm.write("sources/late.md", "# Late\n\n" + "\n\n".join(f"The mule {i} sleeps." for i in range(20)))
    own_farm.ingest("sources/late.md", "--brain", "north", "--no-embed")
    done = own_farm.csl("search", "--brain", "north", "sleeping mule", "--json")
    covered = index(explained(own_farm, "north", text="sleeping mule"), "vectors")
    assert 0 < covered["covered"] < covered["of"]
    assert [w for w in done.json["warnings"] if f"{covered['covered']} of {covered['of']} blocks" in w]
    assert own_farm.csl("index", "--brain", "north").status == 0
    assert own_farm.csl("search", "--brain", "north", "sleeping mule", "--json").json["warnings"] == []
