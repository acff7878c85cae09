"""C1 to C5 through the command line, over real brains."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest
from product import QUESTION, Product, ground, new_project, untimed

KNOWN = "north, south, west, gone"


def members(farm: Product, *args: str) -> list[str]:
    return [
        each["brain"] for each in farm.csl("compound", "search", *args, QUESTION, "--json").data["members"]
    ]


@pytest.mark.parametrize("names", list(itertools.permutations(["north", "south", "west"])))
def test_c01_order_is_kept_however_the_names_are_given(farm: Product, names: tuple[str, ...]) -> None:
    one, two, three = names
    assert members(farm, "--brains", f"{one},{two},{three}") == list(names)
    assert members(farm, "--brains", one, "--brains", f" {two} ,{three},") == list(names)


def test_c01_a_name_said_twice_counts_once(farm: Product) -> None:
    assert members(farm, "--brains", "west,north,west", "--brains", "north,west") == ["west", "north"]


@pytest.mark.parametrize(
    "name",
    [
        "east",
        "North",
        "brains/north",
        "./brains/north",
        "..",
        "/",
        "farm/north",
        "*",
        "all",
        "north;south",
        "🌾",
    ],
)
@pytest.mark.parametrize("command", ["search", "explain"])
def test_c01_a_path_or_an_undeclared_name_gets_the_one_error(farm: Product, command: str, name: str) -> None:
    done = farm.csl("compound", command, "--brains", f"north,{name}", QUESTION, "--json")
    assert done.status == 2 and done.json["data"] is None
    assert done.error == {
        "code": "usage",
        "message": f"this project has no brain called '{name}'",
        "hint": f"a compound takes brain names from this project only; known: {KNOWN}",
        "retryable": False,
    }


def test_c01_a_name_of_another_project_and_the_path_of_a_brain_are_undeclared(farm: Product) -> None:
    with ground() as folder:
        other = new_project(folder / "other")
        assert other.csl("project", "add", "tides", "--model", "none").status == 0
        for name in ("north", str(farm.brain("north"))):
            done = other.csl("compound", "search", "--brains", f"tides,{name}", QUESTION)
            assert done.status == 2 and done.out == b""
            assert done.err.splitlines() == [
                f"error: this project has no brain called '{name}'",
                "hint: a compound takes brain names from this project only; known: tides",
            ]


def test_c01_the_path_of_a_folder_is_no_name_even_where_it_reads_like_one(own_farm: Product) -> None:
    shutil.copytree(own_farm.brain("north"), own_farm.root / "east")
    assert own_farm.csl("compound", "search", "--brains", "north,east", QUESTION).status == 2


@pytest.mark.parametrize("brain", ["nowhere", "gone", "west", "../north", ""])
def test_c02_the_one_brain_of_every_other_command_is_ignored(farm: Product, brain: str) -> None:
    ask = ["compound", "search", "--brains", "north,south", QUESTION, "--json"]
    plain = untimed(farm.csl(*ask).out)
    assert b'"north"' in plain
    assert untimed(farm.csl(*ask, CONSILIENCE_BRAIN=brain).out) == plain
    assert untimed(farm.csl("--brain", brain, *ask).out) == plain
    assert untimed(farm.csl(*ask, "--brain", brain, CONSILIENCE_BRAIN="nowhere").out) == plain


def test_c03_all_takes_the_brains_that_are_here_in_the_order_of_declaration(farm: Product) -> None:
    data = farm.csl("compound", "search", "--all", QUESTION, "--json").data
    assert [each["brain"] for each in data["members"]] == ["north", "south", "west"]
    assert data["skipped"] == [{"brain": "gone", "reason": "no layout at ./brains/gone"}]


def test_c03_all_never_fails_on_what_is_not_here(own_farm: Product) -> None:
    (own_farm.brain("gone") / "derived").mkdir(parents=True)
    shutil.rmtree(own_farm.brain("south"))
    own_farm.brain("south").write_text("a file where a folder should be")
    assert own_farm.csl("project", "add", "east").status == 0
    for command in ("search", "explain"):
        data = own_farm.csl("compound", command, "--all", QUESTION, "--json").data
        assert [each["brain"] for each in data["members"]] == ["north", "west"]
        assert data["skipped"] == [
            {"brain": "south", "reason": "no brain in ./brains/south"},
            {"brain": "gone", "reason": "no brain in ./brains/gone"},
            {"brain": "east", "reason": "no layout at ./brains/east"},
        ]
    said = own_farm.csl("compound", "search", "--all", QUESTION)
    assert said.status == 0 and "gone: skipped, no brain in ./brains/gone" in said.text


@pytest.mark.parametrize("command", ["search", "explain"])
def test_c03_a_brain_that_is_named_and_not_here_is_an_error_that_says_how_to_get_it(
    farm: Product, command: str
) -> None:
    done = farm.csl("compound", command, "--brains", "north,gone,south", QUESTION, "--json")
    assert done.status == 4 and done.json["data"] is None
    assert done.error["code"] == "brain_not_found"
    assert "'gone'" in done.error["message"] and "./brains/gone" in done.error["message"]
    assert "pull" in done.error["hint"] and "ingest" in done.error["hint"]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--brains", "north"], "two brains at least"),
        (["--brains", "north,north"], "two brains at least"),
        (["--brains", ","], "two brains at least"),
        ([], "no brains chosen"),
        (["--all", "--brains", "north,south"], "exclude each other"),
    ],
)
@pytest.mark.parametrize("command", ["search", "explain"])
def test_c04_fewer_than_two_neither_flag_or_both(
    farm: Product, command: str, args: list[str], says: str
) -> None:
    done = farm.csl("compound", command, *args, QUESTION, "--json")
    assert done.status == 2 and done.error["code"] == "usage" and says in done.error["message"]
    hint = done.error["hint"]
    assert "`search`" in hint if says == "two brains at least" else KNOWN in hint


def test_c04_all_that_leaves_one_points_at_search_and_names_what_was_skipped(own_farm: Product) -> None:
    for name in ("south", "west"):
        shutil.rmtree(own_farm.brain(name))
    done = own_farm.csl("compound", "search", "--all", QUESTION, "--json")
    assert done.status == 2 and "only 'north'" in done.error["message"]
    for expected in ("`search`", *(f"{n} (no layout at ./brains/{n})" for n in ("south", "west", "gone"))):
        assert expected in done.error["hint"]


def test_c04_nothing_is_ever_asked_of_the_person(farm: Product) -> None:
    """Standard input stays open and silent; a prompt would wait for it."""
    child = farm.started("compound", "search", QUESTION)
    try:
        assert child.wait(timeout=300) == 2
        assert child.stdout is not None and child.stdout.read() == b""
    finally:
        child.kill()
        child.communicate()


@pytest.mark.parametrize("command", ["search", "explain"])
def test_c05_outside_of_a_project(command: str) -> None:
    with ground() as folder:
        done = Product(folder).csl("compound", command, "--all", QUESTION, "--json")
        assert done.status == 3 and done.error["code"] == "no_project"
        assert str(folder) in done.error["message"] and "project init" in done.error["hint"]


BROKEN = {
    "no TOML": ("[project]\nname = 'x'\n[brains.a\n", 3),
    "no table": ("[project]\nname = 'x'\n\n[brain.a]\n", 4),
    "a name that is none": ("[project]\nname = 'x'\n[brains.A]\n[brains.b]\n", 3),
    "a provider that is none": ("[project]\nname = 'x'\n[brains.a.embedding]\nprovider = 'magic'\n", 4),
    "a number for a name": ("[project]\nname = 7\n", 2),
    "a path outside": ("[project]\nname = 'x'\n[brains.a]\npath = '../elsewhere'\n", 4),
    "a table twice": ("[project]\nname = 'x'\n[project]\n", 3),
    "not UTF-8": (b"[project]\nname = 'x'\nactor = '\xff'\n", 3),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_c05_a_broken_configuration_is_named_with_file_and_line(tmp_path: Path, broken: str) -> None:
    text, line = BROKEN[broken]
    project = Product(tmp_path.resolve())
    project.write("consilience.toml", text)
    for command in ("search", "explain"):
        done = project.csl("compound", command, "--brains", "a,b", QUESTION, "--json")
        assert done.status == 3 and done.error["code"] == "configuration"
        assert done.error["message"].startswith(f"{project.file}:{line}:"), done.error
