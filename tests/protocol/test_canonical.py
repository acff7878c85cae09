"""RFC 8785: golden vectors, fuzz against an independent implementation, hostile documents by name."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
import rfc8785
from boltzmann.conformance import golden
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience.errors import FormatError
from consilience.protocol import canonical, format_digest, sha256

SAFE = canonical.MAX_SAFE_INTEGER
scalars = st.none() | st.booleans() | st.integers(-SAFE, SAFE) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)
VECTORS = golden.load("serialization.json")["vectors"]


@pytest.mark.parametrize("vector", [v for v in VECTORS if not v.get("rejected")], ids=lambda v: v["name"])
def test_golden_values_have_these_bytes(vector: dict[str, Any]) -> None:
    data = canonical.encode(vector["value"])
    assert data == vector["canonical_bytes"].encode()
    assert format_digest(sha256(data)) == vector["sha256"]
    assert canonical.require(data, "vector") == vector["value"]


@pytest.mark.parametrize("vector", [v for v in VECTORS if v.get("rejected")], ids=lambda v: v["name"])
def test_golden_documents_are_rejected(vector: dict[str, Any]) -> None:
    with pytest.raises(FormatError):
        canonical.decode(vector["document"].encode())


@settings(max_examples=300)
@given(values)
def test_encoding_equals_an_independent_rfc8785(value: Any) -> None:
    data = canonical.encode(value)
    assert data == rfc8785.dumps(value)
    assert canonical.require(data, "value") == value


def test_msgspec_escapes_every_code_point_as_rfc8785_demands() -> None:
    """The claim that `encode_struct` rests on: all of the BMP, and the edges of the astral planes."""
    points = [c for c in range(0x10000) if not 0xD800 <= c < 0xE000] + [0x10000, 0x1F600, 0x10FFFF]
    for start in range(0, len(points), 64):
        text = "".join(map(chr, points[start : start + 64]))
        assert msgspec.json.encode(text) == rfc8785.dumps(text), hex(points[start])


@pytest.mark.parametrize("text", ["\x00", "\x1f", "\x7f", "\u2028", "\u2029", "\ufeff", "\U0001f600", '"\\/'])
def test_characters_that_serialisers_disagree_on(text: str) -> None:
    assert canonical.encode(text) == rfc8785.dumps(text)
    assert canonical.encode({text: text}) == rfc8785.dumps({text: text})


@given(
    st.dictionaries(
        st.text(st.sampled_from("aZ~\ud7ff\ue000\uff5e\U00010000\U0001f600"), max_size=3), st.just(0)
    )
)
def test_keys_sort_by_utf16_code_unit(value: dict[str, int]) -> None:
    assert canonical.encode(value) == rfc8785.dumps(value)


def test_only_ascii_keys_may_go_through_encode_struct() -> None:
    """Where code point and UTF-16 order differ msgspec sorts the other way: free-form keys need `encode`."""
    keys = {"\uff5e": 1, "\U0001f600": 2}
    assert canonical.encode_struct(keys) != canonical.encode(keys)


# --- hostile input ------------------------------------------------------------------------------------------

HOSTILE_DOCUMENTS = {
    "duplicate key": b'{"a":1,"a":1}',
    "duplicate key in a nested object": b'[{"x":{"a":1,"a":2}}]',
    "duplicate key spelled with an escape": b'{"a":1,"\\u0061":2}',
    "duplicate key spelled with a surrogate pair": '{"\U0001f600":1,"\\ud83d\\ude00":2}'.encode(),
    "high surrogate alone": b'"\\ud800"',
    "low surrogate alone": b'"\\uDC00"',
    "surrogates in the wrong order": b'"\\ude00\\ud83d"',
    "lone surrogate in a key": b'{"\\ud800":1}',
    "lone surrogate in UTF-8": b'"\xed\xa0\x80"',
    "overlong UTF-8": b'"\xc0\xaf"',
    "truncated UTF-8": b'"\xe2\x82"',
    "latin-1": b'"caf\xe9"',
    "UTF-16": '{"a":1}'.encode("utf-16"),
    "byte order mark": b'\xef\xbb\xbf{"a":1}',
    "NaN": b'{"a":NaN}',
    "Infinity": b"[Infinity]",
    "-Infinity": b"[-Infinity]",
    "float": b'{"a":1.5}',
    "float with integral value": b"1.0",
    "exponent": b"1e3",
    "2^53": b"9007199254740992",
    "-2^53": b"-9007199254740992",
    "integer of 5000 digits": b"9" * 5000,
    "leading zero": b"01",
    "leading plus": b"+1",
    "single quotes": b"{'a':1}",
    "trailing comma": b'{"a":1,}',
    "comment": b'{"a":1/**/}',
    "raw control character": b'"\x01"',
    "two values": b"{}{}",
    "empty": b"",
    "unterminated": b'{"a":',
    "nested 100,000 deep": b"[" * 100_000 + b"]" * 100_000,
}


@pytest.mark.parametrize("data", HOSTILE_DOCUMENTS.values(), ids=HOSTILE_DOCUMENTS)
def test_hostile_document_is_a_format_error(data: bytes) -> None:
    with pytest.raises(FormatError):
        canonical.decode(data)


HOSTILE_VALUES = {
    "float": 1.0,
    "NaN": float("nan"),
    "2^53": 2**53,
    "-2^53": -(2**53),
    "lone surrogate": "\ud800",
    "lone surrogate in a key": {"\ud800": 1},
    "key that is no string": {1: 1},
    "None as a key": {None: 1},
    "bytes": b"x",
    "set": {1},
}


@pytest.mark.parametrize("value", HOSTILE_VALUES.values(), ids=HOSTILE_VALUES)
@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: [v], lambda v: {"a": [v]}])
def test_value_without_a_canonical_form_is_a_format_error(value: Any, wrap: Any) -> None:
    with pytest.raises(FormatError):
        canonical.encode(wrap(value))


def test_value_nested_beyond_the_stack_is_a_format_error() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(FormatError):
        canonical.encode(value)


NOT_CANONICAL = {
    "space": b'{"a": 1}',
    "newline at the end": b'{"a":1}\n',
    "key order": b'{"b":1,"a":1}',
    "escaped solidus": b'"\\/"',
    "escape for a printable character": b'"\\u0041"',
    "upper case hex": b'"\\u001F"',
    "long form of a short escape": b'"\\u000a"',
    "escaped astral character": b'"\\ud83d\\ude00"',
    "escaped delete": b'"\\u007f"',
    "minus zero": b"-0",
}


@pytest.mark.parametrize("data", NOT_CANONICAL.values(), ids=NOT_CANONICAL)
def test_json_in_another_spelling_decodes_but_is_not_canonical(data: bytes) -> None:
    assert canonical.decode(data) == json.loads(data)
    with pytest.raises(FormatError, match="thing: not in canonical form"):
        canonical.require(data, "thing")


def test_string_and_integer_subclasses_become_plain() -> None:
    class Loud(str):
        def __str__(self) -> str:
            return "LOUD"

    assert canonical.encode({Loud("k"): [Loud("v"), True, 1]}) == b'{"k":["v",true,1]}'
