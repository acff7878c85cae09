"""The script that makes judged collections of proposals, on a few that are written here."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from consilience.bench import collection

SCRIPT = Path(__file__).parents[2] / "bench" / "make_splits.py"

GATES = """PEP: 101
Title: Gates that close by weight
Author: Somebody
Created: 01-Jan-2020

Abstract
========

A sluice shuts when the millpond falls below its sill.

Details
=======

Gates that Close by Weight need no keeper, and see gates-that-close-by-weight for a drawing.

The counterweight hangs on a chain.

References
==========

.. [1] A drawing of a sluice.
"""
KEEPERS = """PEP: 102
Title: Keepers
Author: Somebody
Created: 01-Jan-2021

Abstract
========

With the sluice of :pep:`101` no keeper has to watch the millpond at night any more.

Details
=======

A keeper sleeps. This follows the rules that were accepted long ago, as was decided in PEP 101.

The sluice and the millpond of PEP 101 and the keepers' house of PEP 103 stand side by side here.
"""
HOUSES = """PEP: 103
Title: A house at the weir
Author: Somebody
Created: 01-Jan-2022

Abstract
========

The house stands on oak piles.
"""
LADDERS = """# Ladders for the salmon

* Proposal: [SE-0001](0001-ladders.md)

## Introduction

Fish climb a spillway in steps.

## Detailed design

Each basin holds enough water to rest in.
"""
BASINS = """# Basins of concrete

* Proposal: [SE-0002](0002-basins.md)

## Introduction

A [spillway with one basin a step](0001-ladders.md) was built of timber before concrete became cheap enough.
"""
COMMON = "This is the one that stands here and on which a no or a that was decided in, for, by and with them"
FILLER = f"# Filler number {{0}}\n\n## Introduction\n\n{COMMON}, {{0}} times.\n\nNo {{0}}.\n"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_splits", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_splits"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def splits(script: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("splits")
    documents = {
        "python/pep-0101.rst": GATES,
        "python/pep-0102.rst": KEEPERS,
        "python/pep-0103.rst": HOUSES,
        "swift/0001-ladders.md": LADDERS,
        "swift/0002-basins.md": BASINS,
    }
    documents |= {f"swift/00{n}-filler.md": FILLER.format(n) for n in range(10, 40)}
    documents |= {f"python/pep-02{n}.md": FILLER.format(n) for n in range(10, 40)}
    for name, text in documents.items():
        (folder / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "in" / name).write_text(text)
    script.main([str(folder / "in"), str(folder / "out")])
    return folder


def read(folder: Path, name: str) -> collection.Collection:
    return collection.load(folder / "out" / name)


def test_a_title_finds_the_passages_of_its_document(splits: Path) -> None:
    found = read(splits, "titles/python")
    (gates,) = [q for q, text in found.questions.items() if text == "Gates that close by weight"]
    graded = {found.documents[name].split("\n")[-1]: grade for name, grade in found.relevant[gates].items()}
    assert graded == {
        "A sluice shuts when the millpond falls below its sill.": 2,
        "need no keeper, and see for a drawing.": 1,
        "The counterweight hangs on a chain.": 1,
    }
    assert "Keepers" not in found.questions.values()  # one word is no question


def test_no_title_that_is_asked_for_stands_in_the_corpus(splits: Path, script: ModuleType) -> None:
    for brain in ("python", "swift"):
        found = read(splits, f"titles/{brain}")
        corpus = " ".join(" ".join(script.words(text.casefold())) for text in found.documents.values())
        assert found.questions
        for text in found.questions.values():
            assert " ".join(script.words(text.casefold())) not in corpus


def test_a_sentence_of_another_document_asks_for_what_it_names(splits: Path) -> None:
    python, swift = read(splits, "citations/python"), read(splits, "citations/swift")
    assert list(python.questions.values()) == [
        "With the sluice of no keeper has to watch the millpond at night any more."
    ]
    assert list(swift.questions.values()) == [
        "A spillway with one basin a step was built of timber before concrete became cheap enough."
    ]
    (relevant,) = swift.relevant.values()
    assert relevant == {"0001-ladders#2": 2, "0001-ladders#3": 1}


def test_documents_that_ask_are_not_in_the_corpus(splits: Path) -> None:
    for brain, asking in (("python", "pep-0102"), ("swift", "0002-basins")):
        names = {name.split("#")[0] for name in read(splits, f"citations/{brain}").documents}
        assert asking not in names and len(names) > 10


def test_the_same_input_gives_the_same_files(splits: Path, script: ModuleType, tmp_path: Path) -> None:
    script.main([str(splits / "in"), str(tmp_path / "out")])
    for path in sorted((splits / "out").rglob("*.*")):
        assert (tmp_path / "out" / path.relative_to(splits / "out")).read_bytes() == path.read_bytes()


def test_a_sample_keeps_to_its_bounds(splits: Path, script: ModuleType, tmp_path: Path) -> None:
    script.main([str(splits / "in"), str(tmp_path / "out"), "--documents", "5", "--passages", "9"])
    corpus = (tmp_path / "out" / "titles" / "swift" / "corpus.jsonl").read_text().splitlines()
    names = {json.loads(line)["_id"].split("#")[0] for line in corpus}
    assert 1 <= len(names) <= 5 and len(corpus) <= 9


def test_a_folder_without_communities_is_refused(script: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        script.main([str(tmp_path), str(tmp_path / "out")])


@pytest.mark.parametrize(
    ("title", "bare"),
    [
        ("PEP 484 – Type Hints", "Type Hints"),
        ("0447 – No unused impl parameters", "No unused impl parameters"),
        ("Proposal: Rules for passing pointers", "Rules for passing pointers"),
        ("Design Document: Proposal: Monotonic time", "Monotonic time"),
        ("Add a bool type", "Add a bool type"),
    ],
)
def test_a_title_without_its_number(script: ModuleType, title: str, bare: str) -> None:
    assert script.bare_title(title) == bare
