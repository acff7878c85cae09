"""What a table name in a query means: a module of one brain, of all, or a registered file."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence

from consilience.errors import QueryError
from consilience.sql.names import DATA, TABLES
from consilience.sql.relations import ALL, FileRead, Members, TableRead, is_internal

__all__ = ["resolve_checked", "resolve_table"]

Refuse = Callable[[str, str | None], QueryError]


def resolve_table(path: Sequence[str], members: Members, refuse: Refuse) -> TableRead | FileRead:
    """The table that a path of names means; `refuse` makes the error for what is none."""
    if len(path) == 1:
        if path[0].lower() in TABLES:
            return TableRead(brain=_all_or_only(members), table=path[0].lower())
        raise _no_table(path[0], members, refuse)
    if len(path) == 2:
        first, second = path
        if second.lower() in TABLES and (first.lower() != DATA or _member(first, members)):
            return TableRead(brain=_brain(first, members, refuse), table=second.lower())
        if first.lower() == DATA:
            return FileRead(brain=_all_or_only(members), name=second)
        _brain(first, members, refuse)
        raise _no_table(second, members, refuse)
    if len(path) == 3 and path[1].lower() == DATA:
        return FileRead(brain=_brain(path[0], members, refuse), name=path[2])
    name = ".".join(path)
    raise refuse(
        f"there is no table {name}", 'a table is called semantic, algebra.semantic, or data."file.csv"'
    )


def resolve_checked(path: Sequence[str], refuse: Callable[[str], QueryError]) -> None:
    """Refuse every name that is not one of ours."""
    if len(path) != 2 or not is_internal(path[0]):
        raise refuse(f"the table {'.'.join(path)} is none of ours")


def _all_or_only(members: Members) -> str:
    return ALL if members.compound else members.names[0]


def _member(name: str, members: Members) -> str | None:
    return next((each for each in members.names if each.lower() == name.lower()), None)


def _brain(name: str, members: Members, refuse: Refuse) -> str:
    found = _member(name, members)
    if found is not None:
        return found
    if name.lower() in (each.lower() for each in members.declared):
        if members.compound:
            raise refuse(
                f"the brain {name} is not in this compound",
                f"add it: --brains {','.join([*members.names, name])}",
            )
        raise refuse(
            f"this query reads {members.names[0]}, not {name}",
            f"csl compound sql --brains {members.names[0]},{name}",
        )
    near = difflib.get_close_matches(name.lower(), members.names, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]}?" if near else f"there is {', '.join(members.names)}"
    raise refuse(f"there is no brain {name} in this query", hint)


def _no_table(name: str, members: Members, refuse: Refuse) -> QueryError:
    near = difflib.get_close_matches(name.lower(), TABLES, n=1, cutoff=0.6)
    if near:
        hint = f"did you mean {near[0]}?"
    elif _member(name, members):
        hint = f"a brain is no table: {name}.semantic"
    elif "." in name or "/" in name or "\\" in name:
        hint = f'a registered file is read as data."{name}"; other files are not read'
    else:
        hint = f"there is {', '.join(TABLES)}"
    return refuse(f"there is no table {name}", hint)
