"""The sealed database with the guard off: whatever is asked, nothing happens outside of it."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import sys
import time

import pytest
from sql_attacks import ATTACKS

duckdb = pytest.importorskip("duckdb")

from consilience.errors import ConsilienceError, QueryError  # noqa: E402
from consilience.sql.seal import Limits, Sealed, connect  # noqa: E402

TOKEN = "the-secret-of-the-file"
ONLY_GUARDED = frozenset(
    (
        "SELECT NULL::STRUCT(a STRUCT",
        "SELECT {'a': {'a': {'a': ",
        *(a[:28] for a in ATTACKS["more memory or time than there is"]),
    )
)
"""What only the guard stops, by its beginning: it takes long where the engine cannot be interrupted."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a table cache, and files that nobody may read."""
    for name in ("secret.csv", "brain.db", "file.csv", "x.csv", "x.json", "file.parquet"):
        (tmp_path / name).write_text(f"a,b\n{TOKEN},1\n")
    with connect() as made:
        made.execute(f"ATTACH '{tmp_path / 'cache.duckdb'}' AS cache")
        made.execute(
            "CREATE TABLE cache.semantic AS SELECT 'sha256:' || range AS id, 'x' AS label FROM range(10)"
        )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def sealed(folder):
    with Sealed(Limits(seconds=2, memory_mib=256)) as made:
        made.connection.execute(f"ATTACH '{folder / 'cache.duckdb'}' AS cache0 (READ_ONLY)")
        for schema in ("algebra", "brain:algebra", "scored:algebra"):
            made.connection.execute(f'CREATE SCHEMA "{schema}"')
            made.connection.execute(f'CREATE VIEW "{schema}".semantic AS FROM cache0.semantic')
        made.connection.execute("CREATE VIEW semantic AS FROM cache0.semantic")
        made.seal()
        yield made


def _files(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _state(sealed):
    """`USE` alone moves something: where bare names are looked up, which no query of ours has."""
    sql = (
        "SELECT name, value FROM duckdb_settings() WHERE name NOT IN ('schema', 'search_path') ORDER BY name"
    )
    settings = sealed.connection.execute(sql).fetchall()
    functions = sealed.connection.execute("SELECT count(*) FROM duckdb_functions()").fetchall()
    databases = sealed.connection.execute(
        "SELECT database_name FROM duckdb_databases() ORDER BY 1"
    ).fetchall()
    views = sealed.connection.execute("SELECT schema_name, view_name, sql FROM duckdb_views() ORDER BY 1, 2")
    return settings, functions, databases, views.fetchall()


def _blocks(sealed):
    return sealed.connection.execute("SELECT * FROM cache0.semantic ORDER BY id").fetchall()


@pytest.mark.parametrize("kind", ATTACKS)
def test_no_attack_does_anything_outside(folder, sealed, kind):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        files, state, blocks = _files(folder), _state(sealed), _blocks(sealed)
        leaked = []
        for attack in ATTACKS[kind]:
            if attack[:28] in ONLY_GUARDED or attack[:25] in ONLY_GUARDED:
                continue
            query = attack.replace("/etc/passwd", str(folder / "secret.csv")).replace("/tmp/", f"{folder}/")
            query = query.replace("https://example.org", address)
            try:
                rows = sealed.within(lambda connection, query=query: connection.execute(query).fetchall())
            except (ConsilienceError, UnicodeEncodeError):
                continue
            if TOKEN in repr(rows):
                leaked.append(attack)
        assert leaked == []
        assert _files(folder) == files
        assert _state(sealed) == state
        assert _blocks(sealed) == blocks
        with pytest.raises(TimeoutError):
            server.accept()


def test_types_that_were_guessed_wrong_make_no_other_answer(sealed):
    query = "SELECT DATE '0044-03-15 (BC)' AS d, 1 AS x, 2 AS x, [INTERVAL 1 MONTH] AS i"

    def cast(types):
        return ["VARCHAR", "INTEGER", "INTEGER", "VARCHAR[]"]

    first, after = (sealed.run_typed(query, 5, cast, likely_plain=likely) for likely in (False, True))
    assert first == after == (["d", "x", "x", "i"], first[1], [("0044-03-15 (BC)", 1, 2, ["1 month"])])


def test_a_query_that_is_likely_plain_is_one_select_in_the_seal_too(sealed):
    for text in (
        "SELECT 1; SELECT 2",
        "CREATE TABLE t (x INTEGER)",
        "COPY (SELECT 1) TO 'x.csv'",
        "SET threads = 1",
    ):
        with pytest.raises(QueryError):
            sealed.run_typed(text, 5, lambda types: None, likely_plain=True)


def test_every_statement_but_one_select_is_refused_by_run(sealed):
    for query in ("SELECT 1; SELECT 2", "COMMIT", "CREATE TEMP TABLE x (a INTEGER)", "SET threads = 1"):
        with pytest.raises(QueryError):
            sealed.run(query, 1)
    assert sealed.run("SELECT count(*) FROM cache0.semantic", 5) == [(10,)]


def test_temporary_tables_and_variables_do_not_outlive_their_query(sealed):
    with pytest.raises(QueryError):
        sealed.run("WITH x AS (INSERT INTO cache0.semantic VALUES ('a', 'b') RETURNING *) FROM x", 1)
    sealed.within(lambda connection: connection.execute("CREATE TEMP TABLE semantic2 (a INTEGER)"))
    with pytest.raises(QueryError):
        sealed.run("FROM semantic2", 1)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM range(1000000) a, range(1000000) b, range(1000000) c",
        "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b",
        "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n FROM t) SELECT max(n) FROM t WHERE n > 2",
        "SELECT count(*) FROM range(100000) a JOIN range(10000000) b ON a.range < b.range + 1",
        "SELECT sleep_ms(100000000)",
    ],
)
def test_a_query_stops_at_its_time(folder, query):
    with Sealed(Limits(seconds=0.3, memory_mib=256)) as made:
        made.seal()
        with pytest.raises(QueryError, match=r"longer than 0\.3 s"):
            made.run(query, 1)
        assert made.run("SELECT 1", 5) == [(1,)]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT list(range) FROM range(1000000000)",
        "SELECT string_agg(range::VARCHAR) FROM range(1000000000)",
        "SELECT * FROM range(300000000) ORDER BY range DESC",
        "SELECT range, count(*) FROM range(300000000) GROUP BY range",
        "WITH RECURSIVE r(s, n) AS (SELECT 'x', 0 UNION ALL SELECT s || s, n + 1 FROM r WHERE n < 40)"
        " SELECT max(length(s)) FROM r",
    ],
)
def test_a_query_stops_at_its_memory_and_spills_nowhere(folder, query):
    files = _files(folder)
    with Sealed(Limits(seconds=60, memory_mib=64)) as made:
        made.seal()
        with pytest.raises(QueryError, match="64 MiB"):
            made.run(query, 1)
        assert made.run("SELECT 1", 5) == [(1,)]
    assert _files(folder) == files


def test_the_time_limit_holds_while_rows_are_taken(folder):
    with Sealed(Limits(seconds=0.3)) as made:
        made.seal()
        with pytest.raises(QueryError, match="longer than"):
            made.run("SELECT * FROM range(100000000000)", 100_000_000_000)


def test_ctrl_c_stops_a_query(tmp_path):
    script = (
        "from consilience.sql.seal import Sealed, Limits\n"
        "made = Sealed(Limits(seconds=600)); made.seal()\n"
        "print('ready', flush=True)\n"
        "try:\n"
        "    made.run('SELECT count(*) FROM range(10000000) a, range(100000000) b WHERE a.range <> b.range', 1)\n"
        "except KeyboardInterrupt:\n"
        "    print('stopped', flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, preexec_fn=_let_interrupts_through
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    os.kill(process.pid, signal.SIGINT)
    assert process.communicate(timeout=30)[0] == "stopped\n"
    assert process.returncode == 0


def _let_interrupts_through():
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_python_names_are_no_tables(sealed):
    hidden = [(1, TOKEN)]
    assert hidden
    with pytest.raises(QueryError):
        sealed.run("SELECT * FROM hidden", 1)


def test_an_unsealed_database_runs_nothing():
    with Sealed() as made, pytest.raises(ConsilienceError, match="sealed"):
        made.run("SELECT 1", 1)
