"""JSON and JSON lines: what a record is, where it stands, what is kept as written, and broken and hostile values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.ingest import Document, Skip, read, split
from consilience.ingest.readers import json_values


def values(data: bytes, name: str = "data.json") -> Document:
    document = read(data, name)
    assert isinstance(document, Document), document
    return document


def places(data: bytes, name: str = "data.json") -> list[tuple[str, str]]:
    return [(p.locator.text(), p.text) for p in split(values(data, name))]


def test_an_element_of_an_array_is_a_passage_under_its_path() -> None:
    data = b'[\n {"name": "Ada", "born": 1815},\n {"name": "Alan", "born": 1912}\n]'
    assert places(data) == [
        ("L2 # Data > [0]", "name: Ada | born: 1815"),
        ("L3 # Data > [1]", "name: Alan | born: 1912"),
    ]


def test_arrays_inside_an_object_too() -> None:
    data = b'{"version": 2,\n"users": [{"id": 1},\n{"id": 2, "groups": [{"n": "x"}, {"n": "y"}]}]}'
    assert places(data) == [
        ("L2 # Data > users[0]", "id: 1"),
        ("L3 # Data > users[1]", "id: 2 | groups[0].n: x | groups[1].n: y"),
        ("L1-L3 # Data", "version: 2"),
    ]


def test_a_small_object_is_one_passage() -> None:
    assert places(b'{"a": {"b": [1, 2], "c": null}, "d": true, "e": ""}') == [
        ("L1 # Data", "a.b: 1, 2 | d: true")
    ]


def test_a_long_record_is_taken_apart_under_its_name() -> None:
    long = "A sentence of several words. " * 60
    data = json.dumps([{"title": "A tale", "text": long, "parts": {"one": long}}]).encode()
    document = values(data)
    assert {block.headings for block in document.blocks} == {
        ("Data", "[0]", "A tale"),
        ("Data", "[0]", "A tale", "parts"),
    }
    assert all(len(p.text.split()) <= 150 for p in split(document))


@pytest.mark.parametrize("number", ["1.10", "12345678901234567890123", "1e400", "-0", "9" * 5000])
def test_numbers_stay_as_they_are_written(number: str) -> None:
    document = values(f'{{"n": {number}}}'.encode())
    assert document.blocks[0].text == f"n: {number}"


def test_a_key_that_comes_twice_keeps_both() -> None:
    assert places(b'{"a": 1, "a": 2}')[0][1] == "a: 1 | a: 2"


def test_vectors_are_told_by_their_beginning() -> None:
    text = places(json.dumps({"id": 7, "embedding": list(range(768))}).encode())[0][1]
    assert text == "id: 7 | embedding: 0, 1, 2, 3, 4, 5, 6, 7, … (768 numbers)"


def test_json_lines_have_their_line() -> None:
    assert places(b'{"a": 1}\n\n{"b": {"c": 2}}\n"some words"\n', "x.jsonl") == [
        ("L1 # X", "a: 1"),
        ("L3 # X", "b.c: 2"),
        ("L4 # X", "some words"),
    ]


def test_malformed_lines_are_reported_by_number_and_the_rest_goes_in() -> None:
    document = values(b'{"a": 1}\n{"b"\n{"c": 3} x\n{"d": 4}\n', "x.ndjson")
    assert [b.text for b in document.blocks] == ["a: 1", "d: 4"]
    assert document.warnings == ("not valid JSON, left out: 2 lines (2; 3)",)


def test_several_values_in_a_file_called_json() -> None:
    assert places(b'{"a": 1}\n{"b": 2}\n') == [("L1 # Data", "a: 1"), ("L2 # Data", "b: 2")]


def test_what_stands_before_the_place_where_a_file_is_cut_off_goes_in() -> None:
    document = values(b'[{"a": 1},\n{"b": 2},\n{"c"')
    assert [b.text for b in document.blocks] == ["a: 1", "b: 2"]
    assert document.warnings == (
        "not valid JSON: Expecting ':' delimiter (line 3); what follows is left out",
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"[" * 100_000, "not read: nested too deeply"),
        (b"[" * 100_000 + b"]" * 100_000, "not read: nested too deeply"),
        (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, "not read: nested too deeply"),
        (b"hello", "not valid JSON: Expecting value (line 1)"),
        (b"[1 2]", "not valid JSON: Expecting ',' delimiter (line 1)"),
        (b'{"a" 1}', "not valid JSON: Expecting ':' delimiter (line 1)"),
        (b"{1: 2}", "not valid JSON: Expecting property name enclosed in double quotes (line 1)"),
        (b"[]", "no text in it"),
        (b"null", "no text in it"),
        (b"{}", "no text in it"),
        (b"", "empty"),
    ],
)
def test_bad_input(data: bytes, reason: str) -> None:
    assert read(data, "x.json") == Skip(reason)


def test_lines_that_are_all_broken() -> None:
    assert read(b"a\nb\n", "x.jsonl") == Skip("not valid JSON: 2 lines (1; 2)")


def test_halves_of_surrogates_and_nul_do_not_get_through() -> None:
    assert places(b'{"\\ud800": "a\\u0000b"}')[0][1] == "\ufffd: a\ufffdb"


def test_a_file_of_too_many_values_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_values, "MAX_VALUES", 10)
    skip = read(b"[" + b"[]," * 20 + b"1]", "x.json")
    assert isinstance(skip, Skip)
    assert "more than 10 values" in skip.reason


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=30,
)


@given(_JSON, st.sampled_from([None, 1]))
def test_any_value_is_read_and_every_word_of_it_is_there(value: Any, indent: int | None) -> None:
    document = read(json.dumps(value, indent=indent).encode(), "x.json")
    words = "".join(b.text for b in document.blocks) if isinstance(document, Document) else ""
    for leaf in _leaves(value):
        assert all(word in words for word in leaf.replace("\x00", "\ufffd").split()) or isinstance(
            document, Skip
        )


def _leaves(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [leaf for each in value.values() for leaf in _leaves(each)]
    if isinstance(value, list):
        return [leaf for each in value for leaf in _leaves(each)]
    return [value] if isinstance(value, str) else []


@given(st.text(alphabet='[]{}:,"\\ \nab1'))
def test_no_text_makes_it_raise(text: str) -> None:
    for name in ("x.json", "x.jsonl"):
        assert isinstance(read(text.encode(), name), Document | Skip)
