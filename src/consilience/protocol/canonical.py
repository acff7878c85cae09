"""Canonical JSON, `jcs/1`: RFC 8785 over null, booleans, strings, arrays, objects and safe integers.

RFC 8785 serialises numbers as ECMAScript does; the protocol leaves floats and integers beyond 2^53-1 out, so
that no two readers disagree on a number (RFC 7493, 2.2). Unicode is not normalised: NFC and NFD differ.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from consilience.errors import FormatError

__all__ = ["MAX_SAFE_INTEGER", "decode", "encode", "encode_struct", "require", "strings_in"]

MAX_SAFE_INTEGER: Final = 2**53 - 1
"""The largest integer n such that IEEE 754 doubles hold every integer from -n to n exactly."""

_SURROGATES = range(0xD800, 0xE000)
_in_given_order = msgspec.json.Encoder().encode

encode_struct = msgspec.json.Encoder(order="sorted").encode
"""Canonical bytes of a struct whose every object key is ASCII, where all sort orders agree.

Types and integer range go unchecked. msgspec escapes strings as RFC 8785, 3.2.2.2 demands (see the tests).
"""


def encode(value: Any) -> bytes:
    """Canonical UTF-8 bytes of a JSON value; tuples are arrays.

    Raises FormatError for a float, an integer outside +-(2^53-1), a key that is not a string, a lone
    surrogate, any other type, and nesting deeper than the interpreter's stack.
    """
    try:
        return _in_given_order(_ordered(value, "$"))
    except UnicodeEncodeError as error:
        raise FormatError(f"a lone surrogate has no UTF-8 form: {error.object[:40]!r}") from error
    except RecursionError as error:
        raise FormatError("the value is nested too deeply") from error


def decode(data: bytes) -> Any:
    """The JSON value of strict UTF-8 JSON: one meaning or none. It need not be canonical; see `require`.

    Raises FormatError for what is not UTF-8 JSON (RFC 8259) and for what readers disagree on: a repeated key,
    a lone surrogate, NaN or Infinity, a float, an integer outside +-(2^53-1).
    """
    try:
        text = bytes(data).decode("utf-8")
        value = _DECODER.decode(text)
        if "\\u" in text:
            _refuse_surrogates(value)
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8: byte {error.object[error.start]:#04x} at {error.start}") from error
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON: {error}") from error
    except RecursionError as error:
        raise FormatError("the JSON is nested too deeply") from error
    return value


def require(data: bytes, what: str) -> Any:
    """The value of canonical bytes; FormatError naming `what` where encoding the value gives other bytes."""
    try:
        value = decode(data)
        canonical = encode(value)
    except FormatError as error:
        raise FormatError(f"{what}: {error.message}", hint=error.hint) from error
    if canonical != data:
        raise FormatError(
            f"{what}: not in canonical form (RFC 8785), first at byte {_first_difference(data, canonical)}"
        )
    return value


# --- encoding -----------------------------------------------------------------------------------------------


def _utf16(key: str) -> bytes:
    """The sort key of RFC 8785, 3.2.3: the string's UTF-16 code units (U+1F600 sorts before U+FF5E)."""
    return key.encode("utf-16-be")


def _ordered(value: Any, path: str) -> Any:
    """A copy of plain types with every object in canonical key order."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        if not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
            raise FormatError(f"{path}: integer outside +-(2^53-1)", hint="write it as a string")
        return int(value)
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise FormatError(f"{path}: the key {key!r} is not a string")
        return {str.__str__(key): _ordered(value[key], f"{path}.{key}") for key in sorted(value, key=_utf16)}
    if isinstance(value, (list, tuple)):
        return [_ordered(item, f"{path}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, float):
        raise FormatError(
            f"{path}: {value!r} is a float, which has no canonical form", hint="write it as a string"
        )
    raise FormatError(f"{path}: {type(value).__name__} is not a JSON type")


# --- decoding -----------------------------------------------------------------------------------------------


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        keys = [key for key, _ in pairs]
        raise FormatError(
            f"the key {next(k for k in keys if keys.count(k) > 1)!r} stands twice in one object"
        )
    return value


def _integer(digits: str) -> int:
    if len(digits) <= 17 and abs(number := int(digits)) <= MAX_SAFE_INTEGER:
        return int(digits) if number else 0
    raise FormatError(f"the integer {digits[:40]} is outside +-(2^53-1)")


def _refused_number(token: str) -> Any:
    raise FormatError(f"{token[:40]} is not an integer, and no other number is allowed")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_int=_integer,
    parse_float=_refused_number,
    parse_constant=_refused_number,
)


def _refuse_surrogates(value: Any) -> None:
    if isinstance(value, str):
        if any(ord(c) in _SURROGATES for c in value):
            raise FormatError(f"lone surrogate in {value[:40]!r}")
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_surrogates(key)
            _refuse_surrogates(item)
    elif isinstance(value, list):
        for item in value:
            _refuse_surrogates(item)


def _first_difference(a: bytes, b: bytes) -> int:
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def strings_in(value: Any) -> Iterator[str]:
    """Every string value of a JSON value, keys left out, in no particular order, however deep."""
    rest = [value]
    while rest:
        value = rest.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            rest += value.values()
        elif isinstance(value, list):
            rest += value
