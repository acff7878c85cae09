"""Names inside one SELECT: the tables of its FROM, the columns that refer to them, its stars."""

from __future__ import annotations

from dataclasses import dataclass, field

from consilience.sql.parse import Node
from consilience.sql.relations import FileRead, TableRead, file_schema, score_column, table_schema

__all__ = ["Relation", "Scope"]

Reference = tuple[Node, "int | None"]
"""A column that refers to a relation by its qualified name, and how many of its first names that takes;
None for a hidden column, which is to be given the relation's name."""


@dataclass(slots=True)
class Relation:
    """One entry of a FROM. `read` or `file` where it is a table of ours; `path` is how the query names it."""

    node: Node
    alias: str
    read: TableRead | None
    file: FileRead | None = None
    path: tuple[str, ...] = ()
    texts: set[int] = field(default_factory=set)
    references: list[Reference] = field(default_factory=list)

    @property
    def internal(self) -> tuple[str, str]:
        if self.file is not None:
            return file_schema(self.file.brain), self.file.name
        assert self.read is not None
        return table_schema(self.read.brain, scored=bool(self.texts)), self.read.table

    def rename(self) -> None:
        """Put internal names into the tree: of the table, and of the columns that name it in full."""
        if self.read is None and self.file is None:
            return
        schema, table = self.internal
        self.node["qualified_name"] = {"path": [schema, table]}
        self.node["catalog_name"], self.node["schema_name"], self.node["table_name"] = "", schema, table
        for column, taken in self.references:
            names = column["column_names"]
            if taken is None:
                column["column_names"] = [*([self.alias] if self.alias else [schema, table]), names[-1]]
            elif not self.alias:
                column["column_names"] = [schema, table, *names[taken:]]


@dataclass(slots=True)
class Scope:
    """The names of one SELECT, and of those around it."""

    outer: Scope | None
    relations: list[Relation] = field(default_factory=list)
    stars: list[Node] = field(default_factory=list)
    natural: list[Node] = field(default_factory=list)
    rows: list[tuple[Node, Relation]] = field(default_factory=list)

    def refer(self, node: Node, names: list[str]) -> None:
        """Remember a column that names its table in full, `algebra.semantic.id`, to be renamed with it, and one that
        may mean a whole row of a table."""
        if len(names) < 3:
            self._remember_row(node, names)
            return
        scope: Scope | None = self
        while scope is not None:
            for relation in scope.relations:
                taken = len(relation.path)
                if not relation.alias and taken > 1 and _same(names[:taken], relation.path):
                    relation.references.append((node, taken))
                    return
            scope = scope.outer

    def _remember_row(self, node: Node, names: list[str]) -> None:
        scope: Scope | None = self if len(names) == 1 else None
        while scope is not None:
            scope.rows += [
                (node, relation) for relation in scope.relations if _name(relation) == names[0].lower()
            ]
            scope = scope.outer

    def reveals(self) -> tuple[Node, str] | None:
        """A construct that would show, or join on, the hidden column of a table that is compared with a text."""
        if not any(relation.texts for relation in self.relations):
            return None
        for join in self.natural:
            return join, "NATURAL JOIN of a table that is compared with a text is refused"
        for star in self.stars:
            if star["expr"] is not None:
                return star, "COLUMNS(...) over a table that is compared with a text is refused"
        for node, relation in self.rows:
            if relation.texts:
                return node, "the whole row of a table that is compared with a text is refused"
        return None

    def owner(self, column: tuple[str, ...]) -> Relation | None:
        """The table whose `id` a column is: the one named, or the only relation of the FROM."""
        *prefix, name = column
        if name.lower() != "id":
            return None
        scope: Scope | None = self
        while scope is not None:
            if not prefix:
                if len(scope.relations) == 1:
                    only = scope.relations[0]
                    return only if only.read is not None else None
                if scope.relations:
                    return None
            found = [relation for relation in scope.relations if _called(relation, prefix)]
            if prefix and found:
                return found[0] if len(found) == 1 and found[0].read is not None else None
            scope = scope.outer
        return None

    def close(self) -> None:
        """After everything inside was looked at: rename, and keep hidden columns out of `*`."""
        for relation in self.relations:
            relation.rename()
        for star in self.stars:
            hidden: set[str] = set()
            for relation in self.relations:
                if not star["relation_name"] or star["relation_name"].lower() == _name(relation):
                    hidden |= {score_column(text) for text in relation.texts}
            if hidden:
                star["exclude_list"] = [*star["exclude_list"], *sorted(hidden)]


def _same(names: list[str], path: tuple[str, ...]) -> bool:
    return [name.lower() for name in names] == [part.lower() for part in path]


def _name(relation: Relation) -> str:
    return (relation.alias or (relation.path[-1] if relation.path else "")).lower()


def _called(relation: Relation, prefix: list[str]) -> bool:
    if len(prefix) == 1:
        return _name(relation) == prefix[0].lower()
    return not relation.alias and _same(prefix, relation.path)
