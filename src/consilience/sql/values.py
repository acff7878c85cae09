"""From the engine's values to values that any output can hold, none of them rounded (C29).

A value that Python would round, shift or refuse (intervals, infinite or very old dates, nanoseconds) leaves the
engine as text. DECIMAL becomes its exact text, an integer beyond 2^53 too, a float that is not finite `NaN`,
`Infinity` or `-Infinity`, a BLOB its hex digits, an instant `2024-05-01T12:00:00Z`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final

__all__ = ["Type", "converter", "portable"]

Type = Any
"""The engine's own type objects: `id`, `children`, and their text in SQL."""

Convert = Callable[[Any], Any]

AS_TEXT: Final = frozenset(
    (
        "date", "time", "time_ns", "time with time zone", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns",
        "timestamp with time zone", "interval", "uuid", "bit", "enum", "bignum", "varint", "variant", "union",
        "geometry",
    )
)  # fmt: skip
"""Types whose values leave the engine as text."""

LARGEST = 2**53
"""JSON readers may round integers beyond this."""


def portable(type_: Type) -> str:
    """The SQL type that a value is cast to before it leaves the engine; its own where that is as good."""
    kind = type_.id
    if kind in AS_TEXT or kind == "null":
        return "VARCHAR"
    if kind == "list":
        return f"{portable(type_.children[0][1])}[]"
    if kind == "array":
        return f"{portable(type_.children[0][1])}[{type_.children[1][1]}]"
    if kind == "struct":
        return f"STRUCT({', '.join(f'{_quoted(name)} {portable(inner)}' for name, inner in type_.children)})"
    if kind == "map":
        return f"MAP({portable(type_.children[0][1])}, {portable(type_.children[1][1])})"
    return str(type_)


def converter(type_: Type) -> Convert:
    """What turns a value of this type, cast as `portable` says, into one that JSON can hold."""
    kind = type_.id
    if kind in ("list", "array"):
        inner = converter(type_.children[0][1])
        return lambda value: None if value is None else [inner(each) for each in value]
    if kind == "struct":
        fields = [(name, converter(each)) for name, each in type_.children]
        return lambda value: None if value is None else _struct(value, fields)
    if kind == "map":
        key, each = converter(type_.children[0][1]), converter(type_.children[1][1])
        return lambda value: None if value is None else _map(value, key, each)
    if kind.startswith("timestamp"):
        return _instant
    return _scalar


def _scalar(value: Any) -> Any:
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if -LARGEST <= value <= LARGEST else str(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    return str(value)


def _instant(value: Any) -> Any:
    """`2024-05-01 12:00:00` as RFC 3339 has it. Infinities and years before Christ stay as the engine says them."""
    if not isinstance(value, str) or not value[:1].isdigit() or "(" in value:
        return value
    return value.removesuffix("+00").replace(" ", "T") + "Z"


def _struct(value: Any, fields: Sequence[tuple[str, Convert]]) -> Any:
    if isinstance(value, dict):
        return {name: convert(value.get(name)) for name, convert in fields}
    return [convert(each) for (_, convert), each in zip(fields, value, strict=True)]


def _map(value: Any, key: Convert, each: Convert) -> Any:
    """An object where the keys are texts, else a list of pairs."""
    pairs = value.items() if isinstance(value, dict) else zip(value["key"], value["value"], strict=True)
    converted = [(key(k), each(v)) for k, v in pairs]
    if all(isinstance(k, str) for k, _ in converted):
        return dict(converted)
    return [list(pair) for pair in converted]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
