"""Queries nobody wrote: pieces of attacks and of good queries, cut, joined and changed.

The guard either refuses with a QueryError or lets through what runs in the sealed database, or fails there with an
error of ours, within its limits and without a trace outside.
"""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import HealthCheck, given, settings, target
from hypothesis import strategies as st
from sql_attacks import ATTACKS

from consilience.errors import ConsilienceError, QueryError
from consilience.sql.allowed import AGGREGATES, FUNCTIONS, TABLE_FUNCTIONS, WINDOWS
from consilience.sql.guard import checked, guard
from consilience.sql.names import TABLES, columns_of
from consilience.sql.order import limit_rows, order_totally
from consilience.sql.relations import Members
from consilience.sql.seal import Limits, Sealed, connect

MEMBERS = Members(names=("algebra", "rust"), declared=("algebra", "rust", "go"), compound=True)
GOOD = (
    "SELECT count(*), kind FROM semantic GROUP BY kind ORDER BY 1 DESC LIMIT 3",
    "SELECT * FROM algebra.semantic a LEFT JOIN rust.semantic b USING (id) WHERE a.kind = 'fact'",
    "WITH x AS (SELECT id, unnest(sources) AS s FROM semantic) SELECT s.origin, count(*) FROM x GROUP BY ALL",
    "SELECT row_number() OVER (PARTITION BY kind ORDER BY label) FROM semantic QUALIFY row_number() OVER () < 9",
    "SELECT id FROM semantic UNION ALL SELECT id FROM episodic EXCEPT SELECT id FROM blocks",
    "SELECT list_transform([1, 2], lambda x: x + 1), {'a': 1}.a, CASE WHEN true THEN 1 END, [1, 2][1]",
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT n FROM t",
    "SELECT string_agg(label, ', ' ORDER BY label), first(id), sum(length(label) / 3) FROM semantic",
    "SELECT max(similarity(s.id, 'x')) FROM semantic s WHERE about(s.id, 'y', 0.5)",
)
_TOKEN = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|\w+|\s+|.", re.DOTALL)
TOKENS = sorted(
    {
        t
        for query in (*GOOD, *(q for kind in ATTACKS for q in ATTACKS[kind] if len(q) < 300))
        for t in _TOKEN.findall(query)
    }
)
NAMES = sorted(
    {*TABLES, *(c.name for t in TABLES for c in columns_of(t)), "x", "s", '"brain:algebra"', "memory", "main"}
)
CALLS = sorted(FUNCTIONS | AGGREGATES | WINDOWS | TABLE_FUNCTIONS)

TEXTS = st.lists(st.sampled_from(TOKENS), max_size=25).map("".join)
WHOLE = st.sampled_from([*GOOD, *(q for kind in ATTACKS for q in ATTACKS[kind] if len(q) < 300)])


@st.composite
def changed(draw):
    """A query with some of its tokens left out, doubled, or put in the place of others."""
    tokens = _TOKEN.findall(draw(WHOLE))
    for _ in range(draw(st.integers(0, 6))):
        at = draw(st.integers(0, len(tokens)))
        new = draw(
            st.one_of(
                st.sampled_from(TOKENS), st.sampled_from(NAMES), st.sampled_from(CALLS), st.text(max_size=3)
            )
        )
        tokens[at : at + draw(st.integers(0, 2))] = draw(
            st.sampled_from([[], [new], [" ", new, " "], [new, "("]])
        )
    return "".join(tokens)


@st.composite
def expressions(draw):
    """A SELECT of calls of allowed functions, over what may be anything."""
    leaf = st.sampled_from(
        ["id", "label", "statement", "sources", "1", "-1", "0.5", "'x'", "NULL", "[1]", "kind", "true"]
    )
    inner = st.recursive(
        leaf,
        lambda sub: st.tuples(st.sampled_from(CALLS), st.lists(sub, max_size=3)).map(
            lambda c: f"{c[0]}({', '.join(c[1])})"
        ),
        max_leaves=6,
    )
    listed = draw(st.lists(inner, min_size=1, max_size=3))
    group = draw(st.sampled_from(["", " GROUP BY ALL", " WHERE kind = 'fact'", " ORDER BY 1", " LIMIT 2"]))
    return f"SELECT {', '.join(listed)} FROM semantic{group}"


QUERIES = st.one_of(changed(), changed(), expressions(), TEXTS)


@pytest.fixture(scope="module")
def ground(tmp_path_factory):
    with sealed_ground(tmp_path_factory.mktemp("fuzz")) as made:
        yield made


@contextlib.contextmanager
def sealed_ground(folder):
    """A sealed database with a view for every table that a query may name, and a folder to watch."""
    with connect() as made:
        made.execute(f"ATTACH '{folder / 'cache.duckdb'}' AS cache")
        made.execute("CREATE TABLE cache.t AS SELECT range AS n FROM range(20)")
    with Sealed(Limits(seconds=3, memory_mib=256, threads=1)) as sealed, connect() as parser:
        connection = sealed.connection
        connection.execute(f"ATTACH '{folder / 'cache.duckdb'}' AS c0 (READ_ONLY)")
        for brain in ("", "algebra", "rust"):
            for kind in ("brain", "scored"):
                connection.execute(f'CREATE SCHEMA "{kind}:{brain}"')
                for table in TABLES:
                    listed = [
                        _value(column.name, column.type) for column in columns_of(table, brain=not brain)
                    ]
                    more = "".join(f', 0.5 AS "similarity:{i}"' for i in range(3)) if kind == "scored" else ""
                    connection.execute(
                        f'CREATE VIEW "{kind}:{brain}".{table} AS SELECT {", ".join(listed)}{more} FROM c0.t'
                    )
        sealed.seal()
        yield folder, sealed, parser


def _value(name: str, type_: str) -> str:
    value = "'v' || n" if type_ == "VARCHAR" else "n" if type_ in ("BIGINT", "INTEGER") else "NULL"
    return f'CAST({value} AS {type_}) AS "{name}"'


def _check(ground, query: str) -> None:
    folder, sealed, parser = ground
    before = sorted((path.name, path.stat().st_mtime_ns) for path in folder.iterdir())
    try:
        statement = guard(parser, query, MEMBERS).statement
        order_totally(statement)
        limit_rows(statement, 10)
        text = checked(parser, statement)
    except QueryError:
        target(0, label="let through")
        return
    target(len(text), label="let through")
    try:
        sealed.run_typed(text, 10, lambda types: None)
    except ConsilienceError as error:
        assert error.exit_status != 1, (query, text, error)
    assert sorted((path.name, path.stat().st_mtime_ns) for path in folder.iterdir()) == before
    assert sealed.connection.execute("SELECT count(*) FROM c0.t").fetchall() == [(20,)]


_CHECKS = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.large_base_example]


@settings(max_examples=80, deadline=None, suppress_health_check=_CHECKS)
@given(QUERIES)
def test_whatever_is_asked_is_refused_or_reads(ground, query):
    _check(ground, query)


@pytest.mark.soak
@settings(max_examples=20_000, deadline=None, suppress_health_check=_CHECKS)
@given(QUERIES)
def test_whatever_is_asked_is_refused_or_reads_many_times(ground, query):
    _check(ground, query)
