"""A total order for every query, so that the same query over the same roots gives the same bytes (C29).

Rows come in the order that the query asks for, then by what identifies them: the key of the tables' rows where a row
of the result is one of them, else all columns of the result. The same goes for every SELECT inside whose LIMIT or
DISTINCT ON takes some rows and leaves others, for aggregates whose value depends on the order of their input (sums
of floats do, in their last bits), and for windows that number rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from consilience.sql.allowed import AGGREGATES, ORDER_FREE
from consilience.sql.parse import Node
from consilience.sql.relations import ALL, is_internal, table_schema
from consilience.sql.shapes import QUERIES

__all__ = ["limit_rows", "order_totally"]

NUMBERING = frozenset(("row_number", "lag", "lead", "ntile", "fill"))
"""Windows that depend on the order of rows alone, whatever their frame."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


EXACT_SUMS = frozenset(("sum", "avg", "mean"))
EXACT_COLUMNS = frozenset(("size", "schema_version"))
EXACT_CALLS = _words(
    "len length strlen count count_star char_length character_length array_length cardinality list_count"
)
EXACT_OPERATORS = frozenset(("+", "-", "*", "%", "//"))

_SPANNING = frozenset((table_schema(ALL, scored=False), table_schema(ALL, scored=True)))
_NO_PLACE = {"query_location": 2**64 - 1, "query_location_length": 0}


def order_totally(statement: Node) -> None:
    """Add what makes the order total, in place."""
    _walk(statement["node"], outermost=True)


def limit_rows(statement: Node, rows: int) -> None:
    """Let the engine stop after `rows` rows, unless the query has a LIMIT itself."""
    modifiers = statement["node"]["modifiers"]
    if not any(modifier["type"] == "LIMIT_MODIFIER" for modifier in modifiers):
        limit = _number(rows)
        modifiers.append(
            {"type": "LIMIT_MODIFIER", "limit": limit, "offset": None, "limit_type": "ROW_COUNT"}
        )


def _walk(node: object, *, outermost: bool = False) -> None:
    if isinstance(node, list):
        for each in node:
            _walk(each)
        return
    if not isinstance(node, dict):
        return
    kind = node.get("type")
    if kind in QUERIES:
        _order_query(node, outermost=outermost)
    elif kind == "FUNCTION" and node.get("class") == "FUNCTION":
        _order_aggregate(node)
    for each in list(node.values()):
        _walk(each)


def _order_query(node: Node, *, outermost: bool) -> None:
    modifiers: list[Node] = node["modifiers"]
    kinds = {modifier["type"]: modifier for modifier in modifiers}
    distinct = kinds.get("DISTINCT_MODIFIER")
    keys = _row_keys(node, distinct)
    if node["type"] == "SELECT_NODE":
        _order_windows(node, keys)
    takes_some = "LIMIT_MODIFIER" in kinds or (distinct is not None and distinct["distinct_on_targets"])
    if not outermost and not takes_some:
        return
    ordering = kinds.get("ORDER_MODIFIER")
    if ordering is None:
        ending = keys or [_all_columns()]
        at = next((i for i, m in enumerate(modifiers) if m["type"] == "LIMIT_MODIFIER"), len(modifiers))
        modifiers.insert(at, {"type": "ORDER_MODIFIER", "orders": [_order(key) for key in ending]})
    elif not _is_all(ordering["orders"]):
        ending = keys or _positions(node) or [_all_columns()]
        ordering["orders"] = [*ordering["orders"], *(_order(key) for key in ending)]


def _is_all(orders: list[Node]) -> bool:
    """Whether it is `ORDER BY ALL`, which is total and may have nothing after it."""
    return len(orders) == 1 and bool(orders[0]["expression"].get("class") == "STAR")


def _positions(node: Node) -> list[Node]:
    """The columns of a result by their numbers; none where a star leaves open how many there are."""
    while node["type"] != "SELECT_NODE":
        node = node["left"] or node["children"][0]
    if any(True for _ in _stars(node["select_list"])):
        return []
    return [_number(at) for at in range(1, len(node["select_list"]) + 1)]


def _stars(node: object) -> Iterator[Node]:
    if isinstance(node, list):
        for each in node:
            yield from _stars(each)
    elif isinstance(node, dict) and node.get("class") != "SUBQUERY":
        if node.get("class") == "STAR":
            yield node
        for each in node.values():
            yield from _stars(each)


def _number(value: int) -> Node:
    literal = {"kind": "INTEGER", "text": str(value)}
    return {"class": "CONSTANT", "type": "VALUE_CONSTANT", "alias": "", **_NO_PLACE, "literal": literal}


def _row_keys(node: Node, distinct: Node | None) -> list[Node]:
    """Columns that identify a row of this SELECT; none where its rows are not rows of tables of ours."""
    if node["type"] != "SELECT_NODE" or (distinct is not None and not distinct["distinct_on_targets"]):
        return []
    if node["group_expressions"] or node["group_sets"] or node["having"] is not None:
        return []
    if node["aggregate_handling"] != "STANDARD_HANDLING" or any(_regroups(node["select_list"])):
        return []
    keys: list[Node] = []
    for relation in _visible(node["from_table"]):
        path: list[str] = relation["qualified_name"]["path"] if relation["type"] == "BASE_TABLE" else []
        if (
            len(path) != 2
            or not is_internal(path[0])
            or path[0].startswith("files:")
            or relation["column_name_alias"]
        ):
            return []
        name = [relation["alias"]] if relation["alias"] else list(path)
        columns = ("brain", "id") if path[0] in _SPANNING else ("id",)
        keys += [{"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": "", **_NO_PLACE,
                  "column_names": [*name, column]} for column in columns]  # fmt: skip
    return keys


def _visible(node: Node) -> Iterator[Node]:
    """The relations of a FROM whose columns a SELECT sees."""
    if node["type"] != "JOIN":
        yield node
        return
    yield from _visible(node["left"])
    if node["join_type"] not in ("SEMI", "ANTI"):
        yield from _visible(node["right"])


def _regroups(node: object) -> Iterator[bool]:
    """True for each call that makes one row of many, or many of one, outside of subqueries."""
    if isinstance(node, list):
        for each in node:
            yield from _regroups(each)
    elif isinstance(node, dict) and node.get("class") != "SUBQUERY":
        if node.get("class") == "FUNCTION" and node["function_name"].lower() in AGGREGATES | {"unnest"}:
            yield True
        for each in node.values():
            yield from _regroups(each)


def _order_windows(node: Node, keys: list[Node]) -> None:
    """Let windows that number rows break their ties by `keys`."""
    for window in _windows([node["select_list"], node["qualify"], node["modifiers"]]):
        by_rows = str(window["start"]).endswith("_ROWS") or str(window["end"]).endswith("_ROWS")
        if window["function_name"].lower() in NUMBERING or by_rows:
            breaking = keys or node["group_expressions"]
            window["orders"] = [*window["orders"], *(_order(key) for key in breaking)]
        elif window["function_name"].lower() in AGGREGATES:
            window["arg_orders"] = [*window["arg_orders"], *_argument_orders(window)]


def _windows(node: object) -> Iterator[Node]:
    if isinstance(node, list):
        for each in node:
            yield from _windows(each)
    elif isinstance(node, dict) and node.get("class") != "SUBQUERY":
        if node.get("class") == "WINDOW":
            yield node
        for each in node.values():
            yield from _windows(each)


def _order_aggregate(node: Node) -> None:
    orders = _argument_orders(node)
    if orders:
        held = node["order_bys"] or {"type": "ORDER_MODIFIER", "orders": []}
        node["order_bys"] = {**held, "orders": [*held["orders"], *orders]}


def _argument_orders(node: Node) -> list[Node]:
    """An order of an aggregate's input by the values that it takes in, where its result depends on the order."""
    name = node["function_name"].lower()
    if name not in AGGREGATES or name in ORDER_FREE:
        return []
    arguments = [argument["expression"] for argument in node["arguments"]]
    if name in EXACT_SUMS and all(map(_exact, arguments)):
        return []
    return [_order(each) for each in arguments if each.get("class") not in ("CONSTANT", "STAR", "LAMBDA")]


def _exact(node: Node) -> bool:
    """Whether an expression is surely an integer, by its form: adding those up gives the same in any order."""
    kind = node.get("class")
    if kind == "COLUMN_REF":
        return str(node["column_names"][-1]).lower() in EXACT_COLUMNS
    if kind == "CONSTANT":
        return bool((node.get("literal") or {}).get("kind") == "INTEGER")
    if kind != "FUNCTION":
        return False
    name = node["function_name"].lower()
    arguments = [argument["expression"] for argument in node["arguments"]]
    return name in EXACT_CALLS or (name in EXACT_OPERATORS and all(map(_exact, arguments)))


def _all_columns() -> Node:
    """`COLUMNS(*)`, which alone in ORDER BY means every column of the result, after others every one of FROM."""
    return {
        "class": "STAR",
        "type": "STAR",
        "alias": "",
        **_NO_PLACE,
        "relation_name": "",
        "exclude_list": [],
        "replace_list": [],
        "columns": True,
        "expr": None,
        "qualified_exclude_list": [],
        "rename_list": [],
    }


def _order(expression: Node) -> Node:
    return {"type": "ORDER_DEFAULT", "null_order": "ORDER_DEFAULT", "expression": {**expression, "alias": ""}}
