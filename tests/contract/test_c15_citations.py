"""C15 and C7 together: what an answer cites can be checked later by anybody, and nothing else can."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from product import NEW_NOTICE, QUESTION, Product

from consilience import Project
from consilience.protocol.citation import Citation


def asked(farm: Product, *args: str) -> Any:
    return farm.csl("compound", "search", "--all", "--no-floor", "--json", *args, QUESTION)


def cites(document: Any) -> list[str]:
    return [held["cite"] for match in document["matches"] for held in match["brains"]]


def checked(farm: Product, *args: str) -> tuple[int, Any]:
    done = farm.csl("check", "--json", *args)
    return done.status, done.json["data"]


@pytest.mark.parametrize("mode", [(), ("--fuse",)])
def test_c15_everything_that_an_answer_cites_holds(
    farm: Product, tmp_path: Path, mode: tuple[str, ...]
) -> None:
    answer = asked(farm, *mode)
    (tmp_path / "answer.json").write_bytes(answer.out)
    status, data = checked(farm, str(tmp_path / "answer.json"))
    assert status == 0 and [found["cite"] for found in data["citations"]] == cites(answer.data)
    assert {found["status"] for found in data["citations"]} == {"current"}
    members = {member["brain"]: member for member in answer.data["members"]}
    for found in data["citations"]:
        assert found["root"] == members[found["brain"]]["verified_against"][found["module"]]
    assert data["snapshots"] == {
        found["brain"]: members[found["brain"]]["snapshot"] for found in data["citations"]
    }


def test_c15_no_citation_can_be_invented(farm: Product) -> None:
    """Another digit anywhere, another module, another brain: it fails."""
    cite = cites(asked(farm).data)[0]
    project = Project.open(farm.root)
    digits = [at for at in range(cite.index("sha256:") + 7, len(cite)) if cite[at] in "0123456789abcdef"]
    others = [cite[:at] + ("0" if cite[at] != "0" else "1") + cite[at + 1 :] for at in digits]
    others += [cite.replace("/semantic/", f"/{name}/") for name in ("canonical", "episodic", "provenance")]
    parsed = Citation.parse(cite)
    others += [cite.replace(f"csl:{parsed.brain}/", f"csl:{name}/") for name in ("west", "gone", "elsewhere")]
    report = project.check("\n".join(others))
    assert len(report.findings) == len(others)
    assert [str(finding.found.text) for finding in report.findings if finding.ok] == []


def test_c15_a_citation_outlives_the_change_of_what_it_cites(own_farm: Product) -> None:
    [match] = own_farm.search("south", "--no-floor", "--limit", "1", "northern gate of the farm")["matches"]
    own_farm.write("sources/notice.md", NEW_NOTICE)
    own_farm.ingest("sources/notice.md", "--brain", "south")
    status, data = checked(own_farm, match["cite"])
    (found,) = data["citations"]
    assert status == 0 and found["status"] in ("superseded", "demoted") and found["older"]["later"] == 1


def test_c15_the_quotation_is_checked_with_the_citation(farm: Product, tmp_path: Path) -> None:
    [match] = farm.search("south", "--no-floor", "--limit", "1", QUESTION)["matches"]
    words = match["content"]["statement"]
    file = tmp_path / "quoted.json"
    for quotation, status in (
        (words, 0),
        (words.replace(" ", "\n  "), 0),
        (words.replace("pump", "pimp"), 5),
    ):
        file.write_text(json.dumps({"cite": match["cite"], "quote": quotation}))
        assert checked(farm, str(file))[0] == status


def test_c07_what_fails_verification_fails_as_a_citation(own_farm: Product) -> None:
    """Bytes that do not hash to the id are dropped from answers (C7), and a citation of them does not pass."""
    import sqlite3

    [match] = own_farm.search("south", "--no-floor", "--limit", "1", QUESTION)["matches"]
    with sqlite3.connect(own_farm.brain("south") / "brain.db") as raw:
        raw.execute(
            "UPDATE blocks SET data = zeroblob(20), enc = 0 WHERE hex(id) = ?",
            (match["block_id"][7:].upper(),),
        )
    status, data = checked(own_farm, match["cite"])
    assert status == 5 and data["citations"][0]["status"] == "damaged"
