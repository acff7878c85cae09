"""Near agreement and collapsed copies, as they are typed and seen."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from consilience.cli.main import main

RULE = "Nobody goes out on the boat when the wind is stronger than twenty knots or the harbour is closed."
LOG = "The log is filled in before the boat leaves the pier, and again by whoever comes back last."
FILES = {
    "a": {
        "one.md": f"# Boat rules\n\n{RULE}\n\n{LOG}\n",
        "two.md": f"# Boat rules, printed\n\n1. {RULE.upper()}\n",
    },
    "b": {"x.md": f"# The boat\n\n{RULE.replace('closed', 'shut')}\n"},
    "c": {"y.md": f"# Everything\n\n{LOG} {RULE} Guests are told so by whoever brings them along.\n"},
}


@pytest.fixture(scope="module")
def boats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("boats")
    where = ["--project", str(folder), "-q", "--actor", "ana@example.org"]
    assert main(["project", "init", "boats", "--path", str(folder), *where[2:]]) == 0
    for brain, files in FILES.items():
        (folder / f"docs-{brain}").mkdir()
        for name, text in files.items():
            (folder / f"docs-{brain}" / name).write_text(text)
        assert main(["project", "add", brain, "--model", "none", *where]) == 0
        assert main(["ingest", str(folder / f"docs-{brain}"), "--brain", brain, *where]) == 0
    return folder


@pytest.fixture
def said(boats: Path, capfdbinary: Any) -> Any:
    def ask(*args: str) -> str:
        capfdbinary.readouterr()
        assert main([*args, "boat wind harbour", "--no-floor", "--project", str(boats)]) == 0
        return str(capfdbinary.readouterr().out.decode())

    return ask


def data(text: str) -> Any:
    return json.loads(text)["data"]


def test_near_is_a_block_under_the_match_and_only_when_asked_for(said: Any) -> None:
    for mode in ([], ["--fuse"]):
        plain, near = (
            said("compound", "search", "--all", *mode),
            said("compound", "search", "--all", "--near", *mode),
        )
        links = [line for line in near.splitlines() if line.startswith(("    ≈ ", " " * 8))]
        assert [line for line in near.splitlines() if line not in links] == plain.splitlines()
        shown = " ".join(" ".join(links).split())
        assert "≈ b#1 0.89 of the wording in common · docs-b/x.md:3 · " in shown
        assert "1.00 of the shorter is in the longer" in shown and "docs-c/y.md:3" in shown


def test_json_has_near_always_and_the_same_for_every_order_of_brains(said: Any) -> None:
    seen = set()
    for brains in itertools.permutations("abc"):
        found = data(said("compound", "search", "--brains", ",".join(brains), "--fuse", "--json"))
        assert all(
            set(n) == {"brain", "block_id", "measure", "rule"} for m in found["matches"] for n in m["near"]
        )
        near = {m["block_id"]: {n["block_id"] for n in m["near"]} for m in found["matches"]}
        assert all(mine in near[other] for mine, others in near.items() for other in others)
        seen.add(json.dumps([(m["block_id"], m["score"], m["near"]) for m in found["matches"]]))
    assert len(seen) == 1
    first = json.loads(seen.pop())
    assert sum(len(near) for _, _, near in first) >= 4


def test_copies_are_one_match_until_they_are_asked_for(said: Any) -> None:
    found = data(said("search", "--brain", "a", "--json"))
    assert (found["count"], found["collapsed"], found["query"]["collapse"]) == (2, 1, True)
    (first,) = [m for m in found["matches"] if m["also"]]
    assert {s["origin"] for s in first["sources"]} == {"docs-a/one.md", "docs-a/two.md"}
    apart = data(said("search", "--brain", "a", "--no-collapse", "--json"))
    assert (apart["count"], apart["collapsed"]) == (3, 0)
    assert {first["block_id"], *first["also"]} <= {m["block_id"] for m in apart["matches"]}
    text = said("search", "--brain", "a")
    assert "1 more but for case, punctuation or numbering: " + first["also"][0][7:19] in text
    assert "a: 2 matches; 1 copy collapsed (--no-collapse)" in text
