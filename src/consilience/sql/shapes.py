"""The nodes of a parsed query that are known, and the members each may have. Data only.

Names are those of the engine's serialised tree (DuckDB 2.0).
"""

from __future__ import annotations

from typing import Final

__all__ = ["EXPRESSIONS", "QUERIES", "REFUSED", "SHAPES", "TABLE_REFS"]

_AT = "query_location query_location_length"
_EXPRESSION = f"class type alias {_AT}"
_CALL = "function_name schema catalog arguments qualified_name distinct is_legacy_function_call"


def _keys(*texts: str) -> frozenset[str]:
    return frozenset(" ".join(texts).split())


QUERIES: Final = frozenset(("SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE"))
TABLE_REFS: Final = frozenset(
    ("BASE_TABLE", "EMPTY", "EXPRESSION_LIST", "JOIN", "SUBQUERY", "TABLE_FUNCTION")
)

EXPRESSIONS: Final = {
    "BETWEEN": _keys("COMPARE_BETWEEN COMPARE_NOT_BETWEEN"),
    "CASE": _keys("CASE_EXPR"),
    "CAST": _keys("OPERATOR_CAST"),
    "COLLATE": _keys("COLLATE"),
    "COLUMN_REF": _keys("COLUMN_REF"),
    "COMPARISON": _keys(
        "COMPARE_EQUAL COMPARE_NOTEQUAL COMPARE_LESSTHAN COMPARE_GREATERTHAN COMPARE_LESSTHANOREQUALTO",
        "COMPARE_GREATERTHANOREQUALTO COMPARE_DISTINCT_FROM COMPARE_NOT_DISTINCT_FROM",
    ),
    "CONJUNCTION": _keys("CONJUNCTION_AND CONJUNCTION_OR"),
    "CONSTANT": _keys("VALUE_CONSTANT"),
    "FUNCTION": _keys("FUNCTION"),
    "LAMBDA": _keys("LAMBDA"),
    "OPERATOR": _keys(
        "ARRAY_CONSTRUCTOR ARRAY_EXTRACT ARRAY_SLICE COMPARE_IN COMPARE_NOT_IN GROUPING_FUNCTION",
        "OPERATOR_COALESCE OPERATOR_IS_NOT_NULL OPERATOR_IS_NULL OPERATOR_NOT OPERATOR_NULLIF OPERATOR_TRY",
        "OPERATOR_UNPACK STRUCT_EXTRACT ARROW",
    ),
    "POSITIONAL_REFERENCE": _keys("POSITIONAL_REFERENCE"),
    "STAR": _keys("STAR"),
    "SUBQUERY": _keys("SUBQUERY"),
    "TYPE": _keys("TYPE"),
    "WINDOW": _keys(
        "WINDOW_AGGREGATE WINDOW_CUME_DIST WINDOW_FIRST_VALUE WINDOW_LAG WINDOW_LAST_VALUE WINDOW_LEAD",
        "WINDOW_NTH_VALUE WINDOW_NTILE WINDOW_PERCENT_RANK WINDOW_RANK WINDOW_RANK_DENSE WINDOW_ROW_NUMBER",
        "WINDOW_FILL",
    ),
}
"""Classes of expression and the types that each may have."""

SHAPES: Final = {
    "SELECT_NODE": _keys(
        "type modifiers cte_map select_list from_table where_clause group_expressions group_sets",
        "aggregate_handling having sample qualify",
    ),
    "SET_OPERATION_NODE": _keys("type modifiers cte_map setop_type setop_all left right children"),
    "RECURSIVE_CTE_NODE": _keys("type modifiers cte_map cte_name union_all left right aliases key_targets"),
    "CTE": _keys("aliases materialized key_targets payload_aggregates query_node"),
    "LIMIT_MODIFIER": _keys("type limit offset limit_type"),
    "ORDER_MODIFIER": _keys("type orders"),
    "DISTINCT_MODIFIER": _keys("type distinct_on_targets"),
    "ORDER": _keys("type null_order expression"),
    "BASE_TABLE": _keys(
        "type alias sample schema_name table_name catalog_name column_name_alias at_clause qualified_name", _AT
    ),
    "EMPTY": _keys("type alias sample", _AT),
    "EXPRESSION_LIST": _keys("type alias sample expected_names expected_types values", _AT),
    "JOIN": _keys(
        "type alias sample left right condition join_type ref_type using_columns delim_flipped is_implicit",
        "duplicate_eliminated_columns ranking_expression nearest_count nearest_order_type nearest_approx", _AT,
    ),
    "SUBQUERY": _keys(
        _EXPRESSION, "sample subquery column_name_alias child comparison_type subquery_type"
    ),
    "TABLE_FUNCTION": _keys("type alias sample function column_name_alias with_ordinality", _AT),
    "BETWEEN": _keys(_EXPRESSION, "input lower upper"),
    "CASE": _keys(_EXPRESSION, "case_checks else_expr"),
    "CAST": _keys(_EXPRESSION, "child type_expr try_cast"),
    "COLLATE": _keys(_EXPRESSION, "child collation"),
    "COLUMN_REF": _keys(_EXPRESSION, "column_names"),
    "COMPARISON": _keys(_EXPRESSION, "left right"),
    "CONJUNCTION": _keys(_EXPRESSION, "children"),
    "CONSTANT": _keys(_EXPRESSION, "literal value"),
    "FUNCTION": _keys(_EXPRESSION, _CALL, "filter order_bys is_operator export_state"),
    "LAMBDA": _keys(_EXPRESSION, "lhs expr syntax_type"),
    "OPERATOR": _keys(_EXPRESSION, "children"),
    "POSITIONAL_REFERENCE": _keys(_EXPRESSION, "index"),
    "STAR": _keys(
        _EXPRESSION,
        "relation_name exclude_list replace_list columns expr qualified_exclude_list rename_list",
    ),
    "TYPE": _keys(_EXPRESSION, "catalog schema type_name children qualified_name"),
    "WINDOW": _keys(
        _EXPRESSION, _CALL, "partitions orders arg_orders start end start_expr end_expr offset_expr",
        "default_expr ignore_nulls has_ignore_nulls filter_expr exclude_clause",
    ),
}  # fmt: skip
"""By node, the members it may have."""

REFUSED: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "DELETE_QUERY_NODE": ("DELETE is refused: a query reads", ("delete", "truncate")),
    "INSERT_QUERY_NODE": ("INSERT is refused: a query reads", ("insert",)),
    "UPDATE_QUERY_NODE": ("UPDATE is refused: a query reads", ("update",)),
    "MERGE_QUERY_NODE": ("MERGE is refused: a query reads", ("merge",)),
    "COPY_QUERY_NODE": ("COPY is refused: a query reads", ("copy",)),
    "STATEMENT_NODE": ("a statement inside a query is refused: a query reads", ("with",)),
    "SHOW_REF": ("DESCRIBE, SHOW and SUMMARIZE are refused", ("describe", "desc", "show", "summarize")),
    "PIVOT": ("PIVOT and UNPIVOT are refused", ("unpivot", "pivot")),
    "PARAMETER": ("a query has no parameters", ("?", "$")),
    "VALUE_PARAMETER": ("a query has no parameters", ("?", "$")),
    "DEFAULT": ("DEFAULT is refused", ("default",)),
    "VALUE_DEFAULT": ("DEFAULT is refused", ("default",)),
}
"""What is refused in words of its own, and words to find it by."""
