"""`about(id, 'text', min)` and `similarity(id, 'text')` in a query: read, and replaced by a hidden column."""

from __future__ import annotations

import math
from collections.abc import Callable

from consilience.errors import QueryError
from consilience.model import Value
from consilience.sql.parse import Node
from consilience.sql.relations import score_column

__all__ = ["Call", "read_call", "replacement"]

LONGEST_TEXT = 10_000


class Call(Value, frozen=True, kw_only=True):
    """One call: the column given as id, the text, and for `about` the least similarity, with its node."""

    column: tuple[str, ...]
    text: str
    least: float | None = None
    literal: Node | None = None


def read_call(node: Node, name: str, refuse: Callable[[str, str | None], QueryError]) -> Call:
    """The call that a FUNCTION node is. `refuse` makes the error for what it is not."""
    form = "about(id, 'text', 0.8)" if name == "about" else "similarity(id, 'text')"
    arguments = node["arguments"]
    orders = node["order_bys"] or {"orders": []}
    plain = not (node["distinct"] or node["filter"] is not None or orders["orders"] or node["is_operator"])
    if not plain or len(arguments) != (3 if name == "about" else 2) or any(a.get("name") for a in arguments):
        raise refuse(f"{name}(...) is called as {form}", None)
    column, text, *rest = (argument["expression"] for argument in arguments)
    if column.get("class") != "COLUMN_REF":
        raise refuse(f"{name}(...) takes the id column of a table first", form)
    said = _string(text)
    if said is None:
        raise refuse(f"{name}(...) takes a text in quotes, no expression", form)
    if not said.strip() or len(said) > LONGEST_TEXT:
        raise refuse(f"the text of {name}(...) has 1 to {LONGEST_TEXT:,} characters", form)
    least = _number(rest[0]) if rest else None
    if rest and (least is None or not -1.0 <= least <= 1.0):
        raise refuse("the least similarity of about(...) is a number from -1 to 1, no expression", form)
    return Call(
        column=tuple(column["column_names"]), text=said, least=least, literal=rest[0] if rest else None
    )


def replacement(node: Node, call: Call, number: int) -> Node:
    """Turn the call into what stands for it; the reference to the hidden column, whose table's name is open."""
    alias = node["alias"] or ("about" if call.least is not None else "similarity")
    place = {key: node[key] for key in ("query_location", "query_location_length")}
    column: Node = {"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": "", **place,
                    "column_names": [score_column(number)]}  # fmt: skip
    if call.least is None:
        node.clear()
        node.update(column, alias=alias)
        return node
    reached: Node = {"class": "COMPARISON", "type": "COMPARE_GREATERTHANOREQUALTO", "alias": "", **place,
                     "left": column, "right": call.literal}  # fmt: skip
    node.clear()
    node.update(
        {"class": "OPERATOR", "type": "OPERATOR_COALESCE", "alias": alias, **place,
         "children": [reached, _constant("false", "BOOLEAN", place)]}
    )  # fmt: skip
    return column


def _constant(text: str, kind: str, place: Node) -> Node:
    return {"class": "CONSTANT", "type": "VALUE_CONSTANT", "alias": "", **place,
            "literal": {"kind": kind, "text": text}}  # fmt: skip


def _string(node: Node) -> str | None:
    literal = node.get("literal")
    if node.get("class") != "CONSTANT" or not isinstance(literal, dict) or literal.get("kind") != "STRING":
        return None
    return str(literal["text"])


def _number(node: Node) -> float | None:
    """A literal number, with a minus before it or none."""
    if node.get("class") == "FUNCTION" and node.get("function_name") == "-" and len(node["arguments"]) == 1:
        inner = _number(node["arguments"][0]["expression"])
        return None if inner is None else -inner
    literal = node.get("literal")
    if node.get("class") != "CONSTANT" or not isinstance(literal, dict):
        return None
    try:
        value = float(str(literal.get("text")))
    except ValueError:
        return None
    return value if literal.get("kind") != "STRING" and math.isfinite(value) else None
