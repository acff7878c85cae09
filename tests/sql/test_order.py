"""A total order: the same rows in the same order, however the tables' rows lie on disk."""

from __future__ import annotations

import pytest

from consilience.sql.guard import checked, guard
from consilience.sql.order import limit_rows, order_totally
from consilience.sql.relations import Members
from consilience.sql.seal import connect

TABLE = """CREATE TABLE "{schema}".semantic AS
    SELECT 'sha256:' || md5(range::VARCHAR) AS id, {brain} 'k' || (range % 3) AS kind, 'l' || (range % 7) AS label,
    'a text ' || (range % 5) AS statement, [range % 2, 1] AS sources, range % 4 AS schema_version FROM range(60)
    ORDER BY {order}"""

QUERIES = (
    "SELECT * FROM semantic",
    "SELECT kind FROM semantic LIMIT 7",
    "SELECT id FROM semantic ORDER BY kind LIMIT 7",
    "SELECT id, label FROM semantic ORDER BY kind DESC, label OFFSET 3",
    "SELECT kind, count(*) AS n FROM semantic GROUP BY kind ORDER BY n",
    "SELECT kind, count(*) AS n FROM semantic GROUP BY ALL ORDER BY n DESC",
    "SELECT kind, label FROM semantic GROUP BY ALL ORDER BY ALL DESC",
    "SELECT DISTINCT kind, label FROM semantic ORDER BY kind",
    "SELECT DISTINCT * FROM semantic ORDER BY label LIMIT 9",
    "SELECT DISTINCT ON (kind) kind, id FROM semantic",
    "SELECT DISTINCT ON (kind) kind, id FROM semantic ORDER BY kind, label",
    "SELECT list(label), string_agg(id, ','), first(id), any_value(label), arg_max(id, label) FROM semantic",
    "SELECT kind, list(DISTINCT label), mode(label), array_agg(id) FROM semantic GROUP BY kind",
    "SELECT sum(length(label) / 3), avg(1 / (1 + schema_version)), stddev(schema_version / 7) FROM semantic",
    "SELECT id, row_number() OVER (ORDER BY kind), lag(id) OVER (ORDER BY label) FROM semantic",
    "SELECT id, sum(schema_version / 7) OVER (ORDER BY kind ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM semantic",
    "SELECT id FROM semantic QUALIFY row_number() OVER (PARTITION BY kind) = 1",
    "SELECT count(*) FROM (SELECT * FROM semantic LIMIT 20) WHERE kind = 'k1'",
    "SELECT label FROM (SELECT * FROM semantic ORDER BY kind LIMIT 20) ORDER BY kind LIMIT 5",
    "WITH a AS (SELECT id, kind FROM semantic ORDER BY kind LIMIT 11) SELECT * FROM a JOIN semantic USING (id)",
    "SELECT id FROM semantic UNION ALL SELECT id FROM semantic ORDER BY 1 LIMIT 11",
    "(SELECT label FROM semantic LIMIT 3) UNION ALL (SELECT kind FROM semantic LIMIT 3)",
    "SELECT * FROM semantic a, semantic b WHERE a.label = b.label ORDER BY a.kind LIMIT 17",
    "SELECT s, kind FROM semantic, unnest(sources) t(s) ORDER BY s LIMIT 13",
    "SELECT unnest(sources), kind FROM semantic LIMIT 13",
    "SELECT s.kind, count(DISTINCT id) AS n FROM semantic s, unnest(sources) t(x) GROUP BY ALL ORDER BY n DESC",
    "SELECT (SELECT label FROM semantic LIMIT 1), count(*) FROM semantic",
    "SELECT * FROM (VALUES (2, 'a'), (1, 'b')) v(x, y)",
    "SELECT kind, label, count(*) FROM semantic GROUP BY ROLLUP (kind, label) ORDER BY kind",
)


@pytest.mark.parametrize("compound", [False, True], ids=["one", "several"])
@pytest.mark.parametrize("query", QUERIES)
def test_rows_do_not_depend_on_how_they_lie(query, compound):
    members = Members(names=("a", "b") if compound else ("a",), compound=compound)
    seen = set()
    for order, threads in (("range", 1), ("-range", 2), ("hash(range)", 1), ("md5(range::VARCHAR) DESC", 2)):
        with connect() as connection:
            connection.execute(f"SET threads = {threads}")
            schema = "brain:" if compound else "brain:a"
            connection.execute(f'CREATE SCHEMA "{schema}"')
            brain = "CASE range % 2 WHEN 1 THEN 'a' ELSE 'b' END AS brain," if compound else ""
            connection.execute(TABLE.format(schema=schema, brain=brain, order=order))
            statement = guard(connection, query, members).statement
            order_totally(statement)
            limit_rows(statement, 1000)
            seen.add(repr(connection.execute(checked(connection, statement)).fetchall()))
    assert len(seen) == 1
