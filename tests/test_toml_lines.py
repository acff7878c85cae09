"""Lines of keys in TOML, and edits that leave everything else byte for byte."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.toml_lines import append_table, bare_key, line_of, literal, remove, statements

FILE = '''\
# what this is
[project]
name = "x"  # the name
note = """
[brains.algebra]
not a table
"""

# algebra is ours
[brains.algebra]
path = "a"  # a path
# inside algebra

# about its embedding
[brains.algebra.embedding]
provider = "none"

# physics is theirs
# and here

[brains.physics]
sizes = [
  1,  # one
  2,
]

# the end
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("project",), 2),
        (("project", "name"), 3),
        (("project", "note"), 4),
        (("brains", "algebra", "path"), 11),
        (("brains", "algebra", "embedding", "provider"), 16),
        (("brains", "physics", "sizes"), 22),
        (("brains", "physics", "missing"), 21),
        (("brains",), 10),
        (("nowhere",), None),
    ],
)
def test_lines(path: tuple[str, ...], line: int | None) -> None:
    assert line_of(FILE, path) == line


def test_every_line_belongs_to_one_statement() -> None:
    found = list(statements(FILE))
    assert [s.first for s in found] == [0, *(s.last for s in found[:-1])]
    assert found[-1].last == FILE.count("\n")


def test_remove_takes_the_tables_and_leaves_the_comments_of_others() -> None:
    text = remove(FILE, ("brains", "algebra"))
    assert text is not None
    assert tomllib.loads(text)["brains"] == {"physics": {"sizes": [1, 2]}}
    assert "# inside algebra" not in text
    assert "# about its embedding" not in text
    for comment in ("# what this is", "# the name", "# algebra is ours", "# physics is theirs", "# and here"):
        assert comment in text
    assert text.endswith("]\n\n# the end\n")


def test_remove_last() -> None:
    text = remove(FILE, ("brains", "physics"))
    assert text is not None
    assert tomllib.loads(text)["brains"].keys() == {"algebra"}
    assert text.endswith("# the end\n")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('brains.a.path = "x"\nbrains.b.path = "y"\n', 'brains.b.path = "y"\n'),
        ('[brains]\na.path = "x"\na.outside = true\nb = {path = "y"}\n', '[brains]\nb = {path = "y"}\n'),
        ('[brains]\nb = {path = "y"}\na = {path = "x"}\n', '[brains]\nb = {path = "y"}\n'),
        ('[brains."a"]\npath = "x"\n', ""),
        ("[ brains . a ]\n\n\n", ""),
        ('[brains.a]\r\npath = "x"\r\n[brains.b]\r\n', "[brains.b]\r\n"),
        ("[brains.ab]\n[brains.a]\n[brains.a-b]\n", "[brains.ab]\n[brains.a-b]\n"),
        ("[brains.a]", ""),
    ],
)
def test_remove_however_it_is_written(text: str, left: str) -> None:
    assert remove(text, ("brains", "a")) == left


def test_remove_refuses_what_shares_a_line() -> None:
    assert remove('brains = {a = {path = "x"}, b = {path = "y"}}\n', ("brains", "a")) is None


@pytest.mark.parametrize("text", ["", "x = 1", "x = 1\n", "x = 1\n\n\n", "x = 1\r\n", "# only a comment"])
def test_append_keeps_what_was_there(text: str) -> None:
    after = append_table(text, ("brains", "a"), [("path", "p"), ("outside", True), ("dims", 3)])
    assert after.startswith(text)
    assert tomllib.loads(after)["brains"] == {"a": {"path": "p", "outside": True, "dims": 3}}
    assert ("\r\n" in after) == ("\r\n" in text)
    assert after.replace("\r\n", "\n").count("\r") == 0


plain = st.text(st.characters(exclude_categories=["Cs"]))


@given(plain)
def test_any_string_survives_as_a_literal(value: str) -> None:
    assert tomllib.loads(f"x = {literal(value)}\n") == {"x": value}


@given(plain)
def test_any_string_survives_as_a_key(key: str) -> None:
    assert tomllib.loads(f"{bare_key(key)} = 1\n") == {key: 1}


names = st.from_regex(r"[a-z][a-z0-9]{0,5}", fullmatch=True)


@given(st.lists(names, min_size=1, max_size=6, unique=True), st.data())
def test_adding_and_removing_touch_nothing_else(brains: list[str], data: st.DataObject) -> None:
    text = "# head\n[project]\nname = 'x'\n"
    for brain in brains:
        text = append_table(text, ("brains", brain), [("description", data.draw(plain))])
    gone = data.draw(st.sampled_from(brains))
    left = remove(text, ("brains", gone))
    assert left is not None
    expected = tomllib.loads(text)
    del expected["brains"][gone]
    if not expected["brains"]:
        del expected["brains"]
    assert tomllib.loads(left) == expected
    again = append_table(
        left, ("brains", gone), [("description", tomllib.loads(text)["brains"][gone]["description"])]
    )
    assert tomllib.loads(again) == tomllib.loads(text)
