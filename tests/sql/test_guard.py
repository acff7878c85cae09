from __future__ import annotations

import re

import pytest
from sql_attacks import ATTACKS, UNPLACED

duckdb = pytest.importorskip("duckdb")

from consilience.errors import QueryError  # noqa: E402
from consilience.sql.guard import checked, guard  # noqa: E402
from consilience.sql.relations import Members  # noqa: E402
from consilience.sql.seal import connect  # noqa: E402

COMPOUND = Members(names=("algebra", "rust"), declared=("algebra", "rust", "go"), compound=True)
ONE = Members(names=("algebra",), declared=("algebra", "rust", "go"))


@pytest.fixture(scope="module")
def connection():
    with connect() as made:
        yield made


def test_there_are_three_hundred_attacks():
    assert sum(map(len, ATTACKS.values())) >= 300


@pytest.mark.parametrize("kind", ATTACKS)
@pytest.mark.parametrize("members", [COMPOUND, ONE], ids=["compound", "one"])
def test_every_attack_is_refused_with_its_place(connection, kind, members):
    through, unplaced = [], []
    for query in ATTACKS[kind]:
        try:
            checked(connection, guard(connection, query, members).statement)
        except QueryError as error:
            if not re.match(r"line \d+, column \d+: ", error.message):
                unplaced.append((query, error.message))
        else:
            through.append(query)
    assert through == []
    if kind not in UNPLACED:
        assert unplaced == []


def test_the_lists_name_functions_that_the_engine_has(connection):
    from consilience.sql import allowed

    rows = connection.execute("SELECT DISTINCT lower(function_name) FROM duckdb_functions()").fetchall()
    known = {row[0] for row in rows} | {"coalesce", "ifnull", "!"}
    for names in (allowed.FUNCTIONS, allowed.AGGREGATES, allowed.OPERATORS, allowed.WINDOWS):
        assert names - known == frozenset()


ALLOWED = (
    "SELECT count(*), kind FROM semantic GROUP BY kind ORDER BY 1 DESC LIMIT 3",
    "FROM semantic",
    "SELECT * EXCLUDE (id) REPLACE (upper(label) AS label) RENAME (kind AS k) FROM semantic",
    "SELECT count(DISTINCT id) FILTER (WHERE kind = 'fact') FROM semantic",
    "SELECT kind, row_number() OVER (PARTITION BY kind ORDER BY id) FROM semantic QUALIFY row_number() OVER () < 3",
    "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT * FROM t",
    "WITH a AS MATERIALIZED (SELECT 1 x), b(y) AS (SELECT x FROM a) SELECT * FROM b",
    "SELECT id FROM semantic UNION SELECT id FROM episodic EXCEPT SELECT id FROM canonical",
    "SELECT x FROM (VALUES (1, 'a'), (2, 'b')) v(x, y)",
    "VALUES (1, 2), (3, 4)",
    "SELECT * FROM semantic a JOIN semantic b USING (id) LEFT JOIN episodic c ON a.id = c.id CROSS JOIN blocks d",
    "SELECT * FROM semantic SEMI JOIN episodic USING (id)",
    "SELECT s.origin FROM semantic, unnest(sources) t(s)",
    "SELECT unnest(steps).action FROM procedural",
    "SELECT CASE WHEN 1 > 2 THEN 1 ELSE 2 END, 1 BETWEEN 1 AND 2, 1 IN (1, 2), NOT true, 1 IS NULL",
    "SELECT label LIKE 'x%', label ILIKE 'y', label NOT LIKE 'z' ESCAPE '!', label SIMILAR TO 'b' FROM semantic",
    "SELECT [x + 1 FOR x IN [1, 2] IF x > 1], list_transform([1], lambda x: x + 1), {'a': 1}.a, MAP {'k': 1}['k']",
    "SELECT 1::DECIMAL(10, 2), TRY_CAST('x' AS DATE), [1]::VARCHAR[], NULL::STRUCT(a INTEGER, b VARCHAR)",
    "SELECT date_trunc('month', occurred_at), extract(year FROM ended_at), ended_at + INTERVAL 1 DAY FROM episodic",
    "SELECT string_agg(label, ', ' ORDER BY label DESC NULLS LAST) FROM semantic",
    "SELECT kind, subject, grouping(kind) FROM semantic GROUP BY ROLLUP (kind, subject)",
    "SELECT kind, count(*) FROM semantic GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL",
    "SELECT DISTINCT ON (kind) kind, id FROM semantic ORDER BY kind, id",
    "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY size) FROM canonical",
    "SELECT id FROM semantic WHERE id IN (SELECT unnest(derived_from) FROM provenance)",
    "SELECT (SELECT max(size) FROM canonical), EXISTS (FROM episodic), 1 = ANY (SELECT 1)",
    "SELECT * FROM range(10)",
    "SELECT 'it''s', $$dollar$$, 1e10, -1, 2 ^ 3, 7 // 2, 'a' || 'b', x'ab'::BLOB, 1_000",
    'SELECT "count"(*) FROM "semantic" AS "select"',
    "SELECT 1 -- comment\n",
    "/* comment */ SELECT 1;",
    'SELECT * FROM data."file.csv"',
    "SELECT label COLLATE NOCASE FROM semantic ORDER BY label COLLATE NOCASE",
    "SELECT algebra.semantic.id FROM algebra.semantic WHERE algebra.semantic.kind = 'fact'",
    "SELECT * FROM semantic s WHERE about(s.id, 'x', 0.5) ORDER BY similarity(s.id, 'x') DESC",
    "SELECT unicode('é'), 'ünï' AS ñ",
)  # fmt: skip


@pytest.mark.parametrize("query", ALLOWED)
@pytest.mark.parametrize("members", [COMPOUND, ONE], ids=["compound", "one"])
def test_what_reads_blocks_is_let_through(connection, query, members):
    from consilience.sql.order import limit_rows, order_totally

    guarded = guard(connection, query, members)
    checked(connection, guarded.statement)
    order_totally(guarded.statement)
    limit_rows(guarded.statement, 10)
    assert checked(connection, guarded.statement)


def test_names_are_told_apart_by_where_they_stand(connection):
    query = "SELECT algebra.semantic.id, a.id FROM algebra.semantic, rust.semantic a"
    text = checked(connection, guard(connection, query, COMPOUND).statement)
    assert '"brain:algebra".semantic.id, a.id' in text
    assert 'FROM "brain:algebra".semantic , "brain:rust".semantic AS a' in text


def test_a_bare_table_spans_a_compound_and_is_the_one_brain_else(connection):
    assert guard(connection, "FROM semantic", COMPOUND).reads[0].brain == ""
    assert guard(connection, "FROM semantic", ONE).reads[0].brain == "algebra"


@pytest.mark.parametrize(
    "name", ["main", "memory", "temp", "system", "information_schema", "data", "select", "blocks", "semantic"]
)
def test_brains_may_be_called_like_schemas_keywords_and_tables(connection, name):
    members = Members(names=(name, "rust"), declared=(name, "rust"), compound=True)
    text = checked(
        connection,
        guard(connection, f'SELECT "{name}".semantic.id FROM "{name}".semantic', members).statement,
    )
    assert text == f'SELECT "brain:{name}".semantic.id FROM "brain:{name}".semantic'


def test_a_dash_is_quoted(connection):
    members = Members(names=("analisis-ii", "rust"), declared=(), compound=True)
    assert guard(connection, 'FROM "analisis-ii".semantic', members).reads[0].brain == "analisis-ii"


def test_each_text_is_scored_once(connection):
    query = (
        "SELECT similarity(a.id, 'x'), similarity(b.id, 'y') FROM algebra.semantic a, rust.semantic b"
        " WHERE about(a.id, 'x', 0.7) AND about(b.id, 'x', 0.5)"
    )
    guarded = guard(connection, query, COMPOUND)
    assert guarded.texts == ("x", "y")
    assert guarded.thresholds == (0.5, None)
    assert [(s.read.brain, s.texts) for s in guarded.scorings] == [("algebra", (0,)), ("rust", (0, 1))]


def test_hidden_columns_stay_out_of_stars(connection):
    text = checked(
        connection, guard(connection, "SELECT * FROM semantic WHERE about(id, 'x', 0.5)", ONE).statement
    )
    assert text.startswith('SELECT * EXCLUDE ("similarity:0") FROM "scored:algebra".semantic')


@pytest.mark.parametrize(
    ("query", "members", "message", "hint"),
    [
        (
            "SELECT *\nFROM\n  semantix",
            ONE,
            "line 3, column 3: there is no table semantix",
            "did you mean semantic?",
        ),
        (
            "SELECT 'é', now()",
            ONE,
            "line 1, column 13: now(...) is refused: its value differs from run to run",
            None,
        ),
        (
            "FROM go.semantic",
            COMPOUND,
            "line 1, column 6: the brain go is not in this compound",
            "add it: --brains algebra,rust,go",
        ),
        (
            "FROM go.semantic",
            ONE,
            "line 1, column 6: this query reads algebra, not go",
            "csl compound sql --brains algebra,go",
        ),
        (
            "FROM algbra.semantic",
            COMPOUND,
            "line 1, column 6: there is no brain algbra in this query",
            "did you mean algebra?",
        ),
        (
            "FROM 'x.csv'",
            ONE,
            "line 1, column 6: there is no table x.csv",
            'a registered file is read as data."x.csv"; other files are not read',
        ),
        (
            "SELECT 1; DROP TABLE x",
            ONE,
            "line 1, column 11: only one SELECT is answered, and this is DROP",
            "a brain is read only; WITH, joins, UNION and windows are fine",
        ),
    ],
)
def test_a_refusal_says_what_where_and_what_instead(connection, query, members, message, hint):
    with pytest.raises(QueryError) as caught:
        guard(connection, query, members)
    assert (caught.value.message, caught.value.hint) == (message, hint)


@pytest.mark.parametrize(
    ("query", "what"),
    [
        ("SELECT 1 FROM semantic a NATURAL JOIN blocks b WHERE about(a.id, 'x', 0.1)", "NATURAL JOIN"),
        ("SELECT COLUMNS('.*') FROM semantic WHERE about(id, 'x', 0.1)", "COLUMNS"),
        ("SELECT semantic FROM semantic WHERE about(id, 'x', 0.1)", "whole row"),
        ("SELECT (SELECT s) FROM semantic s WHERE about(s.id, 'x', 0.1)", "whole row"),
    ],
)
def test_hidden_columns_are_shown_by_nothing(connection, query, what):
    with pytest.raises(QueryError, match=rf"line 1, column \d+: .*{what}"):
        guard(connection, query, ONE)
    plain = query.partition(" WHERE about")[0]
    assert checked(connection, guard(connection, plain, ONE).statement)
