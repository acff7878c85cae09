"""Databases that are kept between queries: the same tables, the same seal, nothing of the query before."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading

import pytest
from sql_brains import make
from stores import ACTOR, NOW, fact, original

from consilience.compound import Compound
from consilience.errors import ConsilienceError, QueryError
from consilience.sql import engine
from consilience.sql.pool import Pool
from consilience.sql.seal import Limits

COUNT = "SELECT count(*) FROM semantic"


@pytest.fixture
def pool(monkeypatch):
    """A pool of its own, with every database that was opened in `opened`."""
    made = Pool()
    made.opened = []  # type: ignore[attr-defined]
    new = made.new

    def counted(limits):
        made.opened.append(new(limits))
        return made.opened[-1]

    monkeypatch.setattr(made, "new", counted)
    monkeypatch.setattr(engine, "POOL", made)
    monkeypatch.setattr("consilience.sql.pool.POOL", made)
    yield made
    made.close()


def closed(database) -> bool:
    import duckdb

    try:
        database.sealed.connection.execute("SELECT 1")
    except duckdb.ConnectionException:
        return True
    return False


def test_queries_over_the_same_tables_share_one_database(algebra, pool):
    for query in (COUNT, "SELECT kind FROM semantic", "SELECT 1", COUNT):
        algebra.rows(query)
    algebra.rows(COUNT, include_superseded=True)
    assert len(pool.opened) == 1


def test_what_a_query_shows_and_hides_is_its_own(algebra, pool):
    for _ in range(2):
        assert algebra.rows(COUNT) == [(2,)]
        assert algebra.rows(COUNT, include_superseded=True) == [(4,)]
    assert len(pool.opened) == 1


def test_another_module_takes_the_tables_along(algebra, pool):
    algebra.rows(COUNT)
    algebra.rows("SELECT count(*) FROM episodic")
    algebra.rows(COUNT)
    algebra.rows("SELECT count(*) FROM episodic, semantic")
    assert len(pool.opened) == 2


def test_a_commit_replaces_it(algebra, pool):
    algebra.rows(COUNT)
    algebra.commit(fact("Later."))
    assert algebra.rows(COUNT) == [(3,)]
    assert closed(pool.opened[0])
    algebra.rows(COUNT)
    assert len(pool.opened) == 2


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_files_that_are_gone_or_others_replace_it(algebra, pool, how):
    expected = algebra.rows("SELECT * FROM semantic")
    folder = algebra.brain.path / "derived" / "tables"
    if how == "removed":
        shutil.rmtree(folder)
    else:
        (base,) = folder.glob("semantic.*.base.duckdb")
        base.write_bytes(base.read_bytes()[:5000])
    assert algebra.rows("SELECT * FROM semantic") == expected
    assert closed(pool.opened[0])


def test_a_snapshot_a_file_and_damage_leave_no_database_behind(algebra, pool):
    with algebra.brain.store.view() as view:
        first = view.snapshot.digest
    with algebra.brain.store.write(ACTOR, NOW) as writer:
        original(writer, b"a\n1\n", "x.csv")
    algebra.brain.sql(COUNT, at=first)
    algebra.rows('FROM data."x.csv"')
    assert all(closed(each) for each in pool.opened)
    with pytest.raises(QueryError, match="no registered file"):
        algebra.rows('FROM data."y.csv"')


def test_a_brain_that_is_closed_takes_its_databases_with_it(tmp_path, pool):
    one, two = make(tmp_path), make(tmp_path, "rust")
    two.brain.sql(COUNT)
    Compound([one.brain, two.brain]).sql(COUNT)
    one.brain.close()
    assert [closed(each) for each in pool.opened] == [False, True]
    two.brain.close()
    assert closed(pool.opened[0])


def test_what_is_redacted_is_in_no_open_database(algebra, pool):
    from consilience.retain.policy import Policy

    algebra.rows(COUNT)
    algebra.brain._policy = Policy(redact=True)
    algebra.brain.redact([algebra.id("new")], reason="asked for", actor=ACTOR, clock=lambda: NOW)
    assert closed(pool.opened[0])


def test_a_database_in_use_is_closed_when_it_is_given_back(algebra, pool):
    algebra.rows(COUNT)
    with pool.lease(Limits()) as lease:
        pool.discard(algebra.brain.path / "derived")
        assert not closed(lease.database)
    assert closed(lease.database)


# --- nothing stays ------------------------------------------------------------------------------------------------


def state(database):
    """All that a connection of its own could find of another query."""
    looked = (
        "SELECT database_name, schema_name, table_name FROM duckdb_tables()",
        "SELECT schema_name, view_name, sql FROM duckdb_views() WHERE NOT internal",
        "SELECT name, value FROM duckdb_settings()",
        "SELECT name FROM duckdb_variables()",
        "SELECT name FROM duckdb_prepared_statements()",
        "SELECT database_name FROM duckdb_databases()",
        "SELECT function_name FROM duckdb_functions() WHERE NOT internal",
        "SELECT schema_name, type_name FROM duckdb_types() WHERE NOT internal",
    )
    return [
        database.sealed.within(lambda c, sql=sql: sorted(map(repr, c.execute(sql).fetchall())))
        for sql in looked
    ]


@pytest.mark.parametrize(
    "attack",
    [
        "CREATE TEMP TABLE semantic AS SELECT 'x' AS id",
        "CREATE TEMP VIEW semantic AS SELECT 'x' AS id",
        "CREATE TEMP MACRO lower(x) AS 'theirs'",
        "CREATE TEMP TYPE kind AS ENUM ('a')",
        'USE "brain:algebra"',
        "SET search_path = 'temp'",
        "SET VARIABLE x = 1",
        "PREPARE q AS SELECT 1",
        "BEGIN",
        "COMMIT; CREATE TEMP TABLE semantic AS SELECT 'x' AS id",
        "SELECT * FROM nothing",
    ],
)
def test_no_query_finds_anything_of_the_one_before(algebra, pool, attack):
    """With the guard off: what the attack managed to do on its own connection is gone with it."""
    expected = algebra.brain.sql("SELECT id, lower(kind) FROM semantic")
    (database,) = pool.opened
    before = state(database)
    with contextlib.suppress(ConsilienceError):
        database.sealed.within(lambda connection: connection.execute(attack).fetchall())
    assert state(database) == before
    assert algebra.brain.sql("SELECT id, lower(kind) FROM semantic") == expected
    assert len(pool.opened) == 1


def test_similarities_are_gone_after_their_query(algebra, pool):
    algebra.brain.index()
    algebra.rows("SELECT id FROM semantic WHERE about(id, 'operation', 0.1)")
    tables = "SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'scores'"
    (database,) = pool.opened
    assert database.sealed.within(lambda c: c.execute(tables).fetchall()) == [(0,)]
    first = algebra.rows("SELECT id, similarity(id, 'operation') FROM semantic")
    other = algebra.rows("SELECT id, similarity(id, 'statement') FROM semantic")
    assert first != other
    assert first == algebra.rows("SELECT id, similarity(id, 'operation') FROM semantic")
    assert len(pool.opened) == 1


# --- limits, threads, processes --------------------------------------------------------------------------------------


def test_a_query_that_hit_a_limit_leaves_none_and_one_that_was_wrong_does(algebra, pool):
    algebra.rows(COUNT)
    with pytest.raises(QueryError, match="lable"):
        algebra.rows("SELECT lable FROM semantic")
    with pytest.raises(QueryError, match=r"INT32|INTEGER"):
        algebra.rows("SELECT CAST(label AS INTEGER) FROM semantic")
    with pytest.raises(QueryError, match="refused"):
        algebra.rows("SELECT random()")
    assert not closed(pool.opened[0]) and len(pool.opened) == 1
    slow = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range <> b.range"
    with pytest.raises(QueryError, match=r"longer than 0\.2 s"):
        algebra.rows(slow, limits=Limits(seconds=0.2))
    assert closed(pool.opened[0])
    assert algebra.rows(COUNT) == [(2,)]


def test_the_time_is_each_querys_own_and_memory_has_a_database_of_its_own(algebra, pool):
    algebra.rows(COUNT, limits=Limits(seconds=5))
    algebra.rows(COUNT, limits=Limits(seconds=6))
    assert len(pool.opened) == 1
    with pytest.raises(QueryError, match="64 MiB"):
        algebra.rows("SELECT list(range) FROM range(1000000000)", limits=Limits(memory_mib=64))
    assert len(pool.opened) == 2


def test_many_threads_ask_at_once(pair, pool):
    one, two, compound = pair
    expected = {one.brain.sql(COUNT).rows, two.brain.sql(COUNT).rows, compound.sql(COUNT).rows}
    found, wrong = set(), []

    def ask(number):
        try:
            for at in range(6):
                asked = (one.brain, two.brain, compound)[(number + at) % 3]
                found.add(asked.sql(COUNT).rows)
                if number == 0:
                    pool.discard(one.brain.path)
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (found, wrong) == (expected, [])
    assert sum(not closed(each) for each in pool.opened) <= 2
    assert pool._used == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_opens_its_own(algebra, pool):
    algebra.rows(COUNT)
    (database,) = pool.opened
    database._process -= 1  # what a fork makes of it, without threads that nobody runs
    assert algebra.rows(COUNT) == [(2,)]
    assert len(pool.opened) == 2
    database._process += 1
    database.close()
