"""What is found in a text, where, and the quotation beside it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.citations.finding import find
from consilience.citations.quotations import normal, stands_in
from consilience.model import cite
from consilience.protocol import MemoryType

A, B, C = (cite("station", MemoryType.SEMANTIC, "sha256:" + x * 64, "sha256:" + "f" * 64) for x in "abc")


def quotations(text: str) -> list[str | None]:
    return [found.quotation for found in find(text)]


# --- where ---------------------------------------------------------------------------------------------------


def test_places_count_from_one() -> None:
    found = find(f"One {A}.\n\n  two ({B}),\n{C}")
    assert [(f.line, f.column, f.text) for f in found] == [(1, 5, A), (3, 8, B), (4, 1, C)]
    assert [str(f.citation) for f in found] == [A, B, C]


@pytest.mark.parametrize(
    "around",
    ["{}", "<{}>", "[1]({})", "({}).", "`{}`", "*{}*", "_{}_", "**{}**", '"{}"', "“{}”", "see {}; and", "{}…",
     "[x]: {}", "| {} |", "{}, {}", "{}。", "word{}"],
)  # fmt: skip
def test_whatever_stands_around_it(around: str) -> None:
    found = find(around.format(A, B))
    assert [f.text for f in found] == ([A, B] if around.count("{}") == 2 else [A])
    assert all(f.citation for f in found)


BROKEN = {
    f"{A}0": "nothing comes after",
    f"{A}-x": "nothing comes after",
    f"{A}/x": "nothing comes after",
    A[:-1]: "here are 63",
    A.replace("csl:", "CSL:"): "begins with csl:",
    A.replace("csl:", "cs1:"): "begins with csl:",
    A.replace("csl:station/", ""): "begins with csl:",
    A.replace("semantic", "semantik"): "the module is one of",
    A.replace("station", "stat\u200bion"): "letters, digits",
    A.replace("station", "estación"): "letters, digits",
    A.replace("station", "my\\_station"): "letters, digits",
    A.replace("@sha256", "@sha512"): "sha256:",
    A.replace("a" * 64, "a" * 12): "here are 12",
    A.replace("a" * 64, "a" * 60 + "…"): "here are 60",
    "csl:station": "after the brain comes",
    "csl:station/semantic/sha256:abc…": "here are 3",
    A.replace("a" * 64, "А" * 64): "64 digits",
}


@pytest.mark.parametrize("text", BROKEN, ids=range(len(BROKEN)))
def test_what_begins_like_a_citation_and_is_none_is_reported(text: str) -> None:
    (found,) = find(f"It says so [{text}] and more.\n")
    assert found.citation is None
    assert re.match(r"character \d+: ", found.fault) and BROKEN[text] in found.fault
    assert found.line == 1 and found.text


@pytest.mark.parametrize(
    "text",
    ["", "csl", "csl: chicago", "a csl: b", "`csl:`", "csl:", "xcsl:station", "csl:)", "sha256:" + "a" * 64],
)
def test_what_is_no_citation_at_all(text: str) -> None:
    assert find(text) == ()


def test_a_broken_one_does_not_hide_its_neighbours() -> None:
    text = f"{A[:80]} {B} {A[:-9]}\n{A}{B}"
    assert [f.citation is not None for f in find(text)] == [False, True, False, True, True]


@given(st.text(max_size=300), st.text(max_size=300))
def test_a_citation_apart_is_always_found(before: str, after: str) -> None:
    found = find(f"{before}\n\n{A} {after}")
    assert [f for f in found if f.text == A and f.citation is not None]


@given(st.lists(st.sampled_from(["csl:", A, A[:50], "sha256:", "@sha256:", " ", '"', "“", "”", "«", "»", "> ", "\n",
                                 "\n\n", "x", "[", "](", ")", "{", "\\"]), max_size=40).map("".join))  # fmt: skip
def test_any_mixture_is_read(text: str) -> None:
    found = find(text)
    assert text.count("csl:station/semantic/sha256:" + "a" * 22) <= len(found)
    places = [(f.line, f.column) for f in found]
    assert places == sorted(places) and len(set(places)) == len(places)


# --- the quotation beside it -----------------------------------------------------------------------------------


BESIDE: dict[str, list[str | None]] = {
    f'It says "the film breathes" {A}.': ["the film breathes"],
    f"It says “the film breathes” ({A}).": ["the film breathes"],
    f"Es heißt „der Film atmet“ {A}": ["der Film atmet"],
    f"Mówi „film oddycha” {A}": ["film oddycha"],
    f"Il dit « le film respire » {A}": [" le film respire "],
    f"Es heißt »der Film atmet« {A}": ["der Film atmet"],
    f"「膜は呼吸する」{A}": ["膜は呼吸する"],
    f'"One" and "two" {A}': ["two"],
    f'"One" {A} and "two" {B}': ["One", "two"],
    f'"One" {A}, and so it is {B}': ["One", None],
    f'"One" [1]({A}) [2]({B}), {C}.': ["One", "One", "One"],
    f'{A} "after it"': ["after it"],
    f'{A}: "after it"': ["after it"],
    f'[1]({A}) says "after it"': [None],
    f'{A} "between" {B}': [None, "between"],
    f'"before" {A}, "after"': ["before"],
    f'As in [1]({A}):\n\n> The film\n> breathes.': ["The film\nbreathes."],
    f'{A}\n> The film breathes.\n\n{B}': [None, "The film breathes."],
    f'{A} says much.\n\n> The film breathes.': [None],
    f'{A}:\n\n> The film breathes. {B}': [None, "The film breathes."],
    f'{{"quote": "the film", "cite": "{A}"}} in prose': ["the film"],
    f'so "cite": ["{A}", "{B}"]': [None, None],
    f'"One"\n\n{A}': [None],
    f'"One\ntwo" {A}': ["One\ntwo"],
    f'- "One"\n- two {A}': [None],
    f'1. "One" {A}\n2. "Two" {B}': ["One", "Two"],
    f'| "One" | {A} |\n| two | {B} |': ["One", None],
    f"“he said “x” to me” {A}": ["he said “x” to me"],
    f'"never closed and "two" {A}': ["two"],
    f'("in brackets") ({A})': ["in brackets"],
    f'He said: "it stops." ({A})': ["it stops."],
    f'"It stops!" said she. {A}': ["It stops!"],
    f'“he said "x" to me” {A}': ['he said "x" to me'],
    f'a 5" pipe holds "much" {A}': ["much"],
    f'a 5" pipe holds {A}': [None],
    f"the sensor's “fault” isn't “ours” {A}": ["ours"],
    f"‘single marks’ {A}": [None],
    f'"!" {A}': [None],
    f'open "never closed {A}': [None],
    f"> The film breathes.\n\n{A}": ["> The film breathes.\n".replace("> ", "")],
    f"> The film breathes.\n{A}": ["The film breathes.\n"],
    f"> The film\n> breathes.\n\n— the station, {A}": ["The film\nbreathes.\n"],
    f"> The film breathes.\n\n\n{A}": [None],
    f"> The film breathes.\n\nIt is so.\nSee {A}": [None],
    f"> The film breathes. {A}": ["The film breathes."],
    f"> The film breathes. [1]({A})": ["The film breathes."],
    f"> The film\n> breathes.\n> — station, {A}": ["The film\nbreathes.\n"],
    f'> "The film breathes", {A}': ["The film breathes"],
    f'> The "film" breathes. {A}': ['The "film" breathes.'],
    f"> One. {A}\n> Two. {B}": ["One.", "\nTwo."],
    f'> One.\n\nHe says "two" {A}': ["two"],
    f"> One. {A}\n\n{B}": ["One.", None],
    f"> One.\n> — somebody\n\n{A}": ["One."],
    f"> “One.”\n\n{A}": ["One."],
}  # fmt: skip


@pytest.mark.parametrize("text", BESIDE, ids=range(len(BESIDE)))
def test_the_quotation_beside_a_citation(text: str) -> None:
    assert [q if q is None else q.strip() for q in quotations(text)] == [
        q if q is None else q.strip() for q in BESIDE[text]
    ]


def test_many_marks_cost_no_more_than_their_number() -> None:
    """Nothing here goes through the text again for each mark (a quadratic scan would take minutes)."""
    for piece in ('"a ', "“a ", "„a", "« ", '" " ', "[", "](", "> ", "sha256:", "csl:", "csl:a@sha256:"):
        find(piece * 40_000 + A)


def test_ten_thousand_citations() -> None:
    text = "\n".join(f'{i}. "statement {i}" {A}' for i in range(10_000))
    assert quotations(text) == [f"statement {i}" for i in range(10_000)]


# --- JSON ------------------------------------------------------------------------------------------------------


def test_strings_of_json_are_read_with_their_place() -> None:
    document = {
        "answer": [{"cite": A, "quote": "the film"}, {"cite": B}],
        "prose": f'It says "x" {C}.',
        "n": 1,
    }
    text = json.dumps(document, indent=1)
    found = find(text)
    assert [(f.where, f.quotation) for f in found] == [
        ("answer[0].cite", "the film"),
        ("answer[1].cite", None),
        ("prose", "x"),
    ]
    assert [f.line for f in found] == [4, 8, 11]
    assert text.split("\n")[3][found[0].column - 1 :].startswith(A)


@pytest.mark.parametrize("name", ["quote", "quotation", "text", "content"])
def test_a_member_beside_the_citation_is_its_quotation(name: str) -> None:
    assert quotations(json.dumps({name: "x y", "source": A})) == ["x y"]
    assert quotations(json.dumps({"source": A, name: "x y"})) == ["x y"]
    assert quotations(json.dumps({name: {"statement": "x"}, "source": A})) == [None]
    assert quotations(json.dumps({name: A})) == [None]
    assert quotations(json.dumps({name: "x", "inner": {"source": A}})) == [None]
    assert quotations(json.dumps({name: "x", "prose": f"so it is {A}"})) == [None]


def test_the_first_of_several_members() -> None:
    assert quotations(json.dumps({"content": "c", "text": "t", "quote": "q", "cite": A})) == ["q"]


def test_escaped_json_hides_nothing() -> None:
    escaped = "".join(f"\\u{ord(c):04x}" for c in A)
    text = f'{{"cite": "{escaped}", "x": "{A[:50].replace("/", chr(92) + "/")}"}}'
    assert [(f.text, f.citation is not None) for f in find(text)] == [(A, True), (A[:50], False)]


def test_json_lines_and_keys() -> None:
    lines = f'{{"cite": "{A}", "quote": "one"}}\n\n{{"{B}": 1}}\n'
    assert [(f.line, f.text, f.quotation) for f in find(lines)] == [(1, A, "one"), (3, B, None)]


def test_what_only_looks_like_json_is_text() -> None:
    assert quotations(f'{{"a": "x" {A}') == ["x"]
    assert quotations("[" * 100_000 + A) == [None]


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | st.text(max_size=8) | st.just(A),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4) | st.just(B), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(values, st.sampled_from([None, 1]), st.booleans())
def test_any_json_gives_up_all_its_citations(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps([value], indent=indent, ensure_ascii=ascii_only)
    assert len(find(text)) == text.count(A) + text.count(B)
    assert all(f.where and f.citation for f in find(text))


# --- standing in a block ---------------------------------------------------------------------------------------


BLOCK = (
    "The film “breathes”: it uses up\noxygen in the water that touches the foil, unable to stop at 2 mg/L."
)
STANDS = {
    "The film": True,
    "the film": False,
    '"breathes": it uses up oxygen': True,
    "«breathes»: it uses\n\n up oxygen": True,
    "uses\u00a0up": True,
    "uses  up": True,
    "usesup": False,
    "able to stop": False,
    "unable": True,
    "film breathes": False,
    "touches the foil": True,
    "touches the foil.": False,
    "touches the foil,": True,
    "at 2 mg/L.": True,
    "at 2": True,
    "mg": True,
    "The film [...] touches": True,
    "The film […] touches": True,
    "The film ... touches": False,
    "touches [...] The film": False,
    "[...] the foil [...]": True,
    "[...]": False,
    "film [...] film": False,
    "": False,
    "foil – unable": False,
}


@pytest.mark.parametrize("quotation", STANDS, ids=range(len(STANDS)))
def test_white_space_and_marks_are_forgiven_and_nothing_else(quotation: str) -> None:
    assert stands_in(quotation, [normal(BLOCK)]) is STANDS[quotation]


def test_scripts_without_spaces() -> None:
    assert stands_in("呼吸する", [normal("膜は呼吸する。")])
    assert stands_in("cafe\u0301", [normal("un café noir")])


@given(st.text(min_size=1, max_size=60), st.text(max_size=20), st.text(max_size=20))
def test_what_was_cut_out_at_spaces_stands(middle: str, before: str, after: str) -> None:
    if normal(middle) and "[...]" not in middle and "[…]" not in middle:
        assert stands_in(middle, [normal(f"{before} {middle} {after}")])
