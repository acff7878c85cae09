"""Reading JSON that strangers wrote: one meaning or none, and what is wrong said in one line."""

from __future__ import annotations

import json
from collections.abc import Set as AbstractSet
from typing import Any

__all__ = ["MAX_BYTES", "BadDocumentError", "members", "read_object", "repeated_key"]

MAX_BYTES = 256 << 20


class BadDocumentError(ValueError):
    """What is wrong with a document. Never leaves this package."""


class Repeated(dict[str, Any]):
    """An object in which a key stands twice: no reader knows which one is meant. `key` is that key."""

    key: str = ""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    keys = [key for key, _ in pairs]
    repeated = Repeated(value)
    repeated.key = next(key for key in keys if keys.count(key) > 1)
    return repeated


def read_object(data: bytes) -> dict[str, Any]:
    """The object that a document is. Numbers with a fraction and repeated keys are kept, for the part they stand in to
    fail by itself. Raises BadDocumentError for what is not UTF-8 JSON, or no object."""
    if len(data) > MAX_BYTES:
        raise BadDocumentError(f"it has {len(data):,} bytes, more than {MAX_BYTES:,}")
    try:
        value = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_pairs, parse_int=_integer)
    except UnicodeDecodeError as error:
        raise BadDocumentError(f"not UTF-8: byte {error.object[error.start]:#04x} at {error.start}") from None
    except json.JSONDecodeError as error:
        raise BadDocumentError("it is empty" if not data.strip() else f"not JSON: {error}") from None
    except RecursionError:
        raise BadDocumentError("the JSON is nested too deeply") from None
    if not isinstance(value, dict):
        raise BadDocumentError(f"a {_name(value)} and not an object")
    return value


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= 20 else float("inf")


def _name(value: Any) -> str:
    return {list: "list", str: "text", bool: "boolean", type(None): "null"}.get(type(value), "number")


def members(
    value: Any, *, required: AbstractSet[str], optional: AbstractSet[str], what: str = "it"
) -> dict[str, Any]:
    """An object that has these members and no others; one that is null counts as absent where it may be. Raises
    BadDocumentError."""
    if not isinstance(value, dict):
        raise BadDocumentError(f"{what} is a {_name(value)} and not an object")
    if isinstance(value, Repeated):
        raise BadDocumentError(f"{value.key!r} stands twice in one object")
    if missing := sorted(required - value.keys()):
        raise BadDocumentError(f"{missing[0]!r} is missing" + ("" if what == "it" else f" in {what}"))
    if unknown := sorted(value.keys() - required - optional):
        raise BadDocumentError(
            f"{unknown[0][:60]!r} is no member that is known; there are {', '.join(sorted(required | optional))}"
        )
    return {key: each for key, each in value.items() if each is not None or key in required}


def repeated_key(value: Any) -> str | None:
    """A key that stands twice in one object anywhere in a value."""
    rest = [value]
    while rest:
        value = rest.pop()
        if isinstance(value, Repeated):
            return value.key
        if isinstance(value, dict):
            rest += value.values()
        elif isinstance(value, list):
            rest += value
    return None
