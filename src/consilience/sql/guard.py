"""The first wall: a query is a tree of known nodes that names known tables and functions, or it is refused.

An allow-list over the parsed tree, total: a node, a member of a node, a function or a type that is not known
here is refused with its position. The tree is rewritten on the way: table names onto internal views, `about` and
`similarity` onto hidden columns. What is run is the text of the rewritten tree, parsed and looked at once more
(`checked`), so that an error of the engine's own printer lets nothing through either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from consilience.errors import QueryError
from consilience.model import Value
from consilience.sql import allowed, parse
from consilience.sql.names import DATA, TABLES
from consilience.sql.parse import NOWHERE, Node
from consilience.sql.relations import FileRead, Members, Scoring, TableRead
from consilience.sql.scope import Relation, Scope
from consilience.sql.shapes import EXPRESSIONS, QUERIES, REFUSED, SHAPES, TABLE_REFS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["Guarded", "checked", "guard"]

SIMILARITY = frozenset(("about", "similarity"))


class Guarded(Value, frozen=True, kw_only=True):
    """A query that may run. `canonical` is its text as the parser prints it, before any rewriting; `texts` what
    rows are compared with, each once, in order of appearance."""

    canonical: str
    statement: dict[str, Any]
    reads: tuple[TableRead, ...]
    files: tuple[FileRead, ...]
    texts: tuple[str, ...]
    thresholds: tuple[float | None, ...]
    scorings: tuple[Scoring, ...]


def guard(connection: DuckDBPyConnection, text: str, members: Members) -> Guarded:
    """Parse `text`, refuse what is not allowed (QueryError with the position), rewrite the rest."""
    statement = parse.parse(connection, text)
    walk = _Walk(text, members)
    try:
        rewritten = deepcopy(statement)
        walk.statement(rewritten)
    except RecursionError:
        raise parse.too_deep() from None
    return Guarded(
        canonical=parse.unparse(connection, statement),
        statement=rewritten,
        reads=tuple(dict.fromkeys(walk.reads)),
        files=tuple(dict.fromkeys(walk.files)),
        texts=tuple(walk.texts),
        thresholds=tuple(walk.thresholds),
        scorings=walk.scorings(),
    )


def checked(connection: DuckDBPyConnection, statement: Node) -> str:
    """The text to run. It is parsed and walked again: only internal names, known nodes, and a fixed point."""
    text = parse.unparse(connection, statement)
    again = parse.parse(connection, text)
    try:
        _Walk(text, None).statement(again)
        parse.unwrap_values(again)
    except RecursionError:
        raise parse.too_deep() from None
    if parse.unparse(connection, again) != text:
        raise QueryError("the query does not survive being written out", hint="write it in a simpler way")
    return text


class _Walk:
    """One pass over a tree. `members` is None when internal names are looked at again."""

    def __init__(self, text: str, members: Members | None) -> None:
        self._text = text
        self._members = members
        self.reads: list[TableRead] = []
        self.files: list[FileRead] = []
        self.texts: list[str] = []
        self.thresholds: list[float | None] = []
        self._relations: list[Relation] = []

    def scorings(self) -> tuple[Scoring, ...]:
        found: dict[TableRead, set[int]] = {}
        for relation in self._relations:
            if relation.read is not None and relation.texts:
                found.setdefault(relation.read, set()).update(relation.texts)
        return tuple(Scoring(read=read, texts=tuple(sorted(found[read]))) for read in found)

    # --- refusing -------------------------------------------------------------------------------------------

    def _refuse(
        self, node: Node | None, what: str, hint: str | None = None, *, words: Iterable[str] = ()
    ) -> QueryError:
        """The error that names a construct and its place; `words` are looked for where the node has no place."""
        offset = node.get("query_location", NOWHERE) if node else NOWHERE
        if not isinstance(offset, int) or offset >= NOWHERE:
            offset = parse.find_words(self._text, words)
        length = node.get("query_location_length", 0) if node else 0
        place = parse.place_of(self._text, offset, length if isinstance(length, int) else 0)
        return QueryError(f"{place}: {what}", hint=hint)

    def _shape(self, node: Node, kind: str) -> None:
        """Refuse a node with a member that is not known: the next version of the engine may mean something by it."""
        unknown = node.keys() - SHAPES[kind]
        if unknown:
            raise self._refuse(node, f"{kind} with {', '.join(sorted(unknown))} is not known here")

    # --- statements and queries -----------------------------------------------------------------------------

    def statement(self, statement: Node) -> None:
        if statement.keys() - {"node", "named_param_map"}:
            raise self._refuse(None, "a statement of a form that is not known here")
        self.query(statement["node"], None, frozenset())

    def query(self, node: Node, outer: Scope | None, ctes: frozenset[str]) -> None:
        kind = str(node.get("type"))
        if kind not in QUERIES:
            raise self._unknown(node, kind)
        self._shape(node, kind)
        ctes = self._ctes(node, outer, ctes)
        if kind == "SELECT_NODE":
            self._select(node, outer, ctes)
            return
        if kind == "RECURSIVE_CTE_NODE":
            self._expressions(node["key_targets"], Scope(outer), ctes)
            self.query(node["left"], outer, ctes)
            self.query(node["right"], outer, ctes | {str(node["cte_name"]).lower()})
        else:
            for part in (node["left"], node["right"], *node["children"]):
                if part is not None:
                    self.query(part, outer, ctes)
        self._modifiers(node["modifiers"], Scope(outer), ctes)

    def _ctes(self, node: Node, outer: Scope | None, ctes: frozenset[str]) -> frozenset[str]:
        if node["cte_map"].keys() != {"map"}:
            raise self._refuse(None, "WITH of a form that is not known here", words=("with",))
        for entry in node["cte_map"]["map"]:
            name, value = str(entry["key"]), entry["value"]
            self._shape(value, "CTE")
            self._own_name(name, "WITH")
            if value["payload_aggregates"]:
                raise self._refuse(None, "WITH ... USING KEY with aggregates is refused", words=(name,))
            self._expressions(value["key_targets"], Scope(outer), ctes)
            self.query(value["query_node"], outer, ctes)
            ctes = ctes | {name.lower()}
        return ctes

    def _own_name(self, name: str, where: str) -> None:
        """Refuse a name of a WITH that would hide a table."""
        if self._members is not None and name.lower() in (*TABLES, DATA):
            raise self._refuse(
                None,
                f"{where} {name} would hide the table {name.lower()}",
                "choose another name",
                words=(name,),
            )

    def _select(self, node: Node, outer: Scope | None, ctes: frozenset[str]) -> None:
        if node["sample"] is not None:
            raise self._sampling()
        scope = Scope(outer)
        self._collect(node["from_table"], scope, ctes)
        self._from(node["from_table"], scope, ctes)
        self._expressions(node["select_list"], scope, ctes)
        for key in ("where_clause", "having", "qualify"):
            self._maybe(node[key], scope, ctes)
        self._expressions(node["group_expressions"], scope, ctes)
        self._modifiers(node["modifiers"], scope, ctes)
        revealing = scope.reveals()
        if revealing is not None:
            raise self._refuse(*revealing, "name the columns", words=("natural",))
        scope.close()

    def _modifiers(self, modifiers: Sequence[Node], scope: Scope, ctes: frozenset[str]) -> None:
        for modifier in modifiers:
            kind = str(modifier.get("type"))
            if kind not in ("LIMIT_MODIFIER", "ORDER_MODIFIER", "DISTINCT_MODIFIER"):
                raise self._unknown(modifier, kind)
            self._shape(modifier, kind)
            if kind == "LIMIT_MODIFIER":
                self._maybe(modifier["limit"], scope, ctes)
                self._maybe(modifier["offset"], scope, ctes)
            elif kind == "ORDER_MODIFIER":
                self._orders(modifier["orders"], scope, ctes)
            else:
                self._expressions(modifier["distinct_on_targets"], scope, ctes)

    def _orders(self, orders: Sequence[Node], scope: Scope, ctes: frozenset[str]) -> None:
        for order in orders:
            self._shape(order, "ORDER")
            self.expression(order["expression"], scope, ctes)

    # --- FROM -----------------------------------------------------------------------------------------------

    def _collect(self, node: Node, scope: Scope, ctes: frozenset[str]) -> None:
        """What the FROM brings into scope, before any expression in it is looked at."""
        kind = str(node.get("type"))
        if kind not in TABLE_REFS:
            raise self._unknown(node, kind)
        self._shape(node, kind)
        if node.get("sample") is not None:
            raise self._sampling()
        if kind == "JOIN":
            if node["ref_type"] == "NATURAL":
                scope.natural.append(node)
            self._collect(node["left"], scope, ctes)
            self._collect(node["right"], scope, ctes)
        elif kind == "BASE_TABLE":
            relation = self._base_table(node, ctes)
            self._relations.append(relation)
            scope.relations.append(relation)
        elif kind != "EMPTY":
            scope.relations.append(Relation(node=node, alias=str(node["alias"]), read=None))

    def _base_table(self, node: Node, ctes: frozenset[str]) -> Relation:
        if node["at_clause"] is not None:
            raise self._refuse(node, "AT is refused", "`--at SNAPSHOT` asks at another snapshot")
        path = [str(part) for part in node["qualified_name"]["path"]]
        if len(path) == 1 and path[0].lower() in ctes:
            return Relation(node=node, alias=str(node["alias"] or path[0]), read=None)
        from consilience.sql.resolve import resolve_checked, resolve_table

        if self._members is None:
            resolve_checked(path, lambda what: self._refuse(node, what))
            return Relation(node=node, alias=str(node["alias"] or path[-1]), read=None)
        found = resolve_table(path, self._members, lambda what, hint: self._refuse(node, what, hint))
        if isinstance(found, TableRead):
            self.reads.append(found)
            return Relation(node=node, alias=str(node["alias"]), read=found, path=tuple(path))
        self.files.append(found)
        return Relation(node=node, alias=str(node["alias"]), read=None, file=found, path=tuple(path))

    def _from(self, node: Node, scope: Scope, ctes: frozenset[str]) -> None:
        kind = node["type"]
        if kind == "JOIN":
            if node["ranking_expression"] is not None or node["duplicate_eliminated_columns"]:
                raise self._refuse(node, "a join of this kind is refused")
            self._from(node["left"], scope, ctes)
            self._from(node["right"], scope, ctes)
            self._maybe(node["condition"], scope, ctes)
        elif kind == "SUBQUERY":
            inner = node["subquery"]
            if inner.keys() - {"node", "named_param_map"}:
                raise self._refuse(node, "a subquery of a form that is not known here")
            self.query(inner["node"], scope, ctes)
        elif kind == "EXPRESSION_LIST":
            for row in node["values"]:
                self._expressions(row, scope, ctes)
        elif kind == "TABLE_FUNCTION":
            self._table_function(node, scope, ctes)

    def _table_function(self, node: Node, scope: Scope, ctes: frozenset[str]) -> None:
        function = node["function"]
        if function.get("type") != "FUNCTION":
            raise self._refuse(node, "a table function of a form that is not known here")
        name = str(function["function_name"]).lower()
        self._shape(function, "FUNCTION")
        self._plain_name(function, name)
        if name not in allowed.TABLE_FUNCTIONS:
            raise self._refuse(
                node, f"{name}(...) in FROM is refused: {allowed.why_not(name)}", words=(name,)
            )
        self._arguments(function["arguments"], scope, ctes)

    def _sampling(self) -> QueryError:
        return self._refuse(
            None,
            "a sample is refused: it differs from run to run",
            "ORDER BY and LIMIT take the same rows each time",
            words=("tablesample", "sample"),
        )

    # --- expressions ----------------------------------------------------------------------------------------

    def _expressions(self, nodes: Iterable[Node], scope: Scope, ctes: frozenset[str]) -> None:
        for node in nodes:
            self.expression(node, scope, ctes)

    def _maybe(self, node: Node | None, scope: Scope, ctes: frozenset[str]) -> None:
        if node is not None:
            self.expression(node, scope, ctes)

    def expression(self, node: Node, scope: Scope, ctes: frozenset[str]) -> None:
        kind = str(node.get("class"))
        kinds = EXPRESSIONS.get(kind)
        if kinds is None or node.get("type") not in kinds:
            raise self._unknown(node, str(node.get("type")))
        self._shape(node, kind)
        handler: Callable[[Node, Scope, frozenset[str]], None] | None = getattr(
            self, f"_x_{kind.lower()}", None
        )
        if handler is not None:
            handler(node, scope, ctes)

    def _x_between(self, node: Node, scope: Scope, ctes: frozenset[str]) -> None:
        self._expressions((node["input"], node["lower"], node["upper"]), scope, ctes)

    def _x_case(self, node: Node, scope: Scope, ctes: frozenset[str]) -> None:
        for check in node["case_checks"]:
            self._expressions((check["when_expr"], check["then_expr"]), scope, ctes)
        self._maybe(node["else_expr"], scope, ctes)

    def _x_cast(self, node: Node, scope: Scope, ctes: frozenset[str]) -> None:
        self.expression(node["child"], scope, ctes)
        self.expression(node["type_expr"], scope, ctes)

    def _x_type(self, node: Node, scope: Scope, ctes: frozenset[str]) -> None:
        name = str(node["type_name"])
        if node["catalog"] or node["schema"] or node["qualified_name"]["path"] != [name]:
            raise self._refuse(node, f"the type {name} of a schema is refused")
        if name.lower() not in allowed.TYPES:
            raise self._refuse(node, f"the type {name} is refused: it is not among those a query may use")
        self._expressions(node["children"], scope, ctes)

    def _x_collate(self, node: Node, scope: Scope, ctes: frozenset[str]) -> None:
        names = str(node["collation"]).lower().split(".")
        if not set(names) <= allowed.COLLATIONS:
            raise self._refuse(
                node, f"the collation {node['collation']} is refused", "there is nocase, noaccent"
            )
        self.expression(node["child"], scope, ctes)

    def _x_column_ref(self, node: Node, scope: Scope, ctes: frozenset[str]) -> None:
        names = [str(name) for name in node["column_names"]]
        if len(names) == 1 and names[0].lower() in allowed.VALUE_FUNCTIONS:
            raise self._refuse(
                node,
                f"{names[0]} is refused: {allowed.why_not(names[0].lower())}",
                "a column of this name is read with its table before it: t.name",
            )
        scope.refer(node, names)

    def _x_comparison(self, node: Node, scope: Scope, ctes: frozenset[str]) -> None:
        self._expressions((node["left"], node["right"]), scope, ctes)

    def _x_conjunction(self, node: Node, scope: Scope, ctes: frozenset[str]) -> None:
        self._expressions(node["children"], scope, ctes)

    _x_operator = _x_conjunction

    def _x_lambda(self, node: Node, scope: Scope, ctes: frozenset[str]) -> None:
        self._expressions((node["lhs"], node["expr"]), scope, ctes)

    def _x_star(self, node: Node, scope: Scope, ctes: frozenset[str]) -> None:
        self._maybe(node["expr"], scope, ctes)
        for replaced in node["replace_list"]:
            self.expression(replaced["value"], scope, ctes)
        scope.stars.append(node)

    def _x_subquery(self, node: Node, scope: Scope, ctes: frozenset[str]) -> None:
        self._maybe(node["child"], scope, ctes)
        inner = node["subquery"]
        if inner.keys() - {"node", "named_param_map"}:
            raise self._refuse(node, "a subquery of a form that is not known here")
        self.query(inner["node"], scope, ctes)

    def _x_function(self, node: Node, scope: Scope, ctes: frozenset[str]) -> None:
        name = str(node["function_name"]).lower()
        self._plain_name(node, name)
        if name in SIMILARITY and self._members is not None:
            self._similarity(node, name, scope)
            return
        known = allowed.OPERATORS if node["is_operator"] else allowed.FUNCTIONS | allowed.AGGREGATES
        if name not in known and name not in allowed.FUNCTIONS:
            raise self._refuse(node, f"{name}(...) is refused: {allowed.why_not(name)}", words=(name,))
        self._arguments(node["arguments"], scope, ctes)
        self._maybe(node["filter"], scope, ctes)
        if node["order_bys"] is not None:
            self._modifiers((node["order_bys"],), scope, ctes)

    def _plain_name(self, node: Node, name: str) -> None:
        path = [str(part).lower() for part in node["qualified_name"]["path"]]
        if node["schema"] or node["catalog"] or path != [name]:
            raise self._refuse(
                node,
                f"a function is called by its name alone, not as {'.'.join(path)}",
                f"{path[-1]}({'.'.join(path[:-1])}, ...)",
            )
        if node.get("export_state"):
            raise self._refuse(node, "EXPORT_STATE is refused")

    def _arguments(self, arguments: Iterable[Node], scope: Scope, ctes: frozenset[str]) -> None:
        for argument in arguments:
            if argument.keys() - {"name", "expression"}:
                raise self._refuse(None, "an argument of a form that is not known here")
            self.expression(argument["expression"], scope, ctes)

    def _x_window(self, node: Node, scope: Scope, ctes: frozenset[str]) -> None:
        name = str(node["function_name"]).lower()
        self._plain_name(node, name)
        if name not in allowed.WINDOWS | allowed.AGGREGATES:
            raise self._refuse(node, f"{name}(...) OVER is refused: {allowed.why_not(name)}", words=(name,))
        self._arguments(node["arguments"], scope, ctes)
        self._expressions(node["partitions"], scope, ctes)
        self._orders(node["orders"], scope, ctes)
        self._orders(node["arg_orders"], scope, ctes)
        for key in ("start_expr", "end_expr", "offset_expr", "default_expr", "filter_expr"):
            self._maybe(node[key], scope, ctes)

    # --- about and similarity -------------------------------------------------------------------------------

    def _similarity(self, node: Node, name: str, scope: Scope) -> None:
        """Put the hidden column in the place of the call."""
        from consilience.sql.similar import read_call, replacement

        call = read_call(node, name, lambda what, hint: self._refuse(node, what, hint, words=(name,)))
        relation = scope.owner(call.column)
        if relation is None:
            raise self._refuse(
                node,
                f"{name}(...) does not know which table's id {'.'.join(call.column)} is",
                "give the id of a table in the same FROM, with its name before it: semantic.id",
                words=(name,),
            )
        if call.text not in self.texts:
            self.texts.append(call.text)
            self.thresholds.append(None)
        number = self.texts.index(call.text)
        if call.least is not None:
            held = self.thresholds[number]
            self.thresholds[number] = call.least if held is None else min(held, call.least)
        relation.texts.add(number)
        column = replacement(node, call, number)
        relation.references.append((column, None))

    def _unknown(self, node: Node, kind: str) -> QueryError:
        what, words = REFUSED.get(kind, (f"{kind.lower().replace('_', ' ')} is refused", ()))
        hint = "`csl sql --schema` lists tables and columns" if kind == "SHOW_REF" else None
        return self._refuse(node, what, hint, words=words)
