"""The same question over the same snapshots gives the same bytes: in any process, whatever its hash seed.

What differs is documented in consilience.documents: `elapsed_ms`, and `actual_us` of an explanation.
"""

from __future__ import annotations

import concurrent.futures
import json
import re
import shutil
from typing import Any

import pytest
from product import QUESTION, Product, ground, new_project, untimed

ASKED = {
    "search": ("search", "--brain", "north", QUESTION),
    "no floor": ("search", "--brain", "north", QUESTION, "--no-floor", "-n", "100"),
    "filtered": ("search", "--brain", "south", "plot pump", "--source", "sources/*.md", "--no-floor"),
    "superseded": ("search", "--brain", "north", '"northern gate"', "--include-superseded"),
    "grouped": ("compound", "search", "--all", QUESTION, "--no-floor", "-n", "50"),
    "fused": ("compound", "search", "--all", QUESTION, "--no-floor", "--fuse", "-n", "50"),
    "explain": ("explain", "--brain", "north", QUESTION, "--analyze"),
    "side by side": ("compound", "explain", "--all", QUESTION, "--analyze"),
    "status": ("status",),
    "verify": ("verify", "--brain", "north"),
}
PROCESS = """
import sys
from consilience.cli.main import main
asked = {asked!r}
for args in asked:
    main([*args, "--json"])
sys.exit(0)
"""


def answers(farm: Product, **environment: str) -> list[bytes]:
    """Every question asked in one process of its own."""
    done = farm.process(before=PROCESS.format(asked=list(ASKED.values())), **environment)
    assert done.status == 0 and done.err == ""
    return done.out.splitlines()


def test_two_processes_with_other_hash_seeds_print_the_same_bytes(farm: Product) -> None:
    once = answers(farm, PYTHONHASHSEED="1")
    again = answers(farm, PYTHONHASHSEED="4242", OPENBLAS_NUM_THREADS="1", LC_ALL="C", TZ="Asia/Tokyo")
    assert len(once) == len(again) == len(ASKED)
    for name, one, other in zip(ASKED, once, again, strict=True):
        assert json.loads(one)["ok"] is True
        assert untimed(one) == untimed(other), name
        if name not in ("status", "verify"):
            assert untimed(one) != one, name


def test_timings_are_all_that_is_masked(farm: Product) -> None:
    """`untimed` touches numbers of these two names only, so that the other tests compare everything else."""
    for args in ASKED.values():
        out = farm.csl(*args, "--json").out
        masked = untimed(out)
        names = set(re.findall(rb'"(\w+)":[0-9.]+', out))
        assert len(re.findall(rb'"(\w+)":[0-9.]+', masked)) == len(re.findall(rb'"(\w+)":[0-9.]+', out))
        changed = {
            n
            for n in names
            if re.findall(rb'"%s":[0-9.]+' % n, out) != re.findall(rb'"%s":[0-9.]+' % n, masked)
        }
        assert changed <= {b"elapsed_ms", b"actual_us"}


def test_the_answer_does_not_depend_on_what_was_asked_before(farm: Product) -> None:
    """A brain kept open answers as one opened for the question; threads beside it change nothing."""
    from consilience.envelope import envelope, to_json
    from consilience.model import Query
    from consilience.project import Project

    project = Project.open(farm.root, cache_dir=farm.root / ".cache")
    query = Query(text=QUESTION, limit=50, floor=False)
    fresh = envelope("x", to_json(project.compound(all=True).search(query, fuse=True), timings=False))
    kept = project.compound(all=True)

    def asked(text: str) -> bytes:
        return envelope(
            "x", to_json(kept.search(Query(text=text, limit=50, floor=False), fuse=True), timings=False)
        )

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        texts = [QUESTION, "sorghum", QUESTION, "panel row 3", QUESTION, "relay", QUESTION]
        results = list(threads.map(asked, texts))
    assert {result for text, result in zip(texts, results, strict=True) if text == QUESTION} == {fresh}


def test_people_see_the_same_text(farm: Product) -> None:
    args = ("compound", "search", "--all", QUESTION, "--fuse")
    assert farm.csl(*args).out == farm.csl(*args).out != b""


def content_of(farm: Product, brain: str) -> dict[str, str]:
    """Roots of the modules that do not say when and by whom."""
    (shown,) = farm.csl("status", "--brain", brain, "--json").data["brains"]
    return {m["module"]: m["root"] for m in shown["status"]["modules"] if m["module"] != "provenance"}


def test_the_same_files_are_the_same_blocks_whatever_the_hash_seed_and_the_order(farm: Product) -> None:
    with ground() as folder:
        made = new_project(folder / "other")
        shutil.copytree(farm.root / "sources", made.root / "sources")
        runs = {
            "a": (("sources",), "1"),
            "b": (tuple(f"sources/{n}.md" for n in ("solar", "pumps", "notice", "crops", "radio")), "77"),
        }
        for brain, (paths, seed) in runs.items():
            assert made.csl("project", "add", brain, "--model", "hashed").status == 0
            assert made.process("ingest", *paths, "--brain", brain, PYTHONHASHSEED=seed).status == 0
        assert content_of(made, "a") == content_of(made, "b")
        assert set(content_of(made, "a")) == {"canonical", "semantic"}

        def found(brain: str) -> list[Any]:
            matches = made.search(brain, QUESTION, "-n", "50")["matches"]
            return sorted((m["block_id"], m["score"], m["strength"]) for m in matches)

        assert found("a") == found("b") != []


@pytest.mark.parametrize("mode", [[], ["--fuse"]])
def test_without_derived_and_with_it_made_anew_the_matches_are_the_same(
    own_farm: Product, mode: list[str]
) -> None:
    """Costs are measured anew with the indices; the matches are not moved by them."""
    ask = ("compound", "search", "--all", QUESTION, "-n", "50", *mode, "--json")
    before = own_farm.csl(*ask).data
    for brain in ("north", "south", "west"):
        shutil.rmtree(own_farm.brain(brain) / "derived")
        assert own_farm.csl("index", "--brain", brain).status == 0
    after = own_farm.csl(*ask).data
    assert after["matches"] == before["matches"] != []
