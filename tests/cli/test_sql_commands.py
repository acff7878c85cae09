"""`csl sql` and `csl compound sql` as a person types them."""

from __future__ import annotations

import json

import pytest
from product import Product, new_project

duckdb = pytest.importorskip("duckdb")

TEXT = "# Tides\n\nThe tide table of the harbour is printed in May.\n\nBoats leave at high water.\n"
COUNT = "SELECT kind, count(*) AS n FROM semantic GROUP BY kind"


@pytest.fixture(scope="module")
def harbour(tmp_path_factory) -> Product:
    made = new_project(tmp_path_factory.mktemp("harbour"))
    for name in ("one", "two"):
        assert made.csl("project", "add", name, "--model", "none").status == 0
        made.write(f"{name}.md", TEXT + f"\nOnly in {name}.\n")
        made.ingest(f"{name}.md", "--brain", name)
    return made


def test_rows_and_what_they_rest_on(harbour: Product) -> None:
    done = harbour.csl("sql", "--brain", "one", COUNT)
    lines = done.text.splitlines()
    assert lines[:4] == ["kind  n", "────  ─", "fact  3", ""]
    assert lines[4] == "1 row"
    assert lines[5].startswith("  read under one.semantic sha256:")


def test_wide_rows_stand_one_under_the_other(harbour: Product) -> None:
    done = harbour.csl("sql", "--brain", "one", "FROM semantic", "-n", "1", COLUMNS="60")
    assert all(len(line) <= 60 for line in done.text.splitlines())
    assert "memory_type     semantic" in done.text
    assert "null in every row: superseded_by, subject" in done.text
    assert "there are more (--limit 1)" in done.text


def test_a_table_in_a_narrow_terminal_fits(harbour: Product) -> None:
    done = harbour.csl("sql", "--brain", "one", "SELECT id, statement, kind FROM semantic", COLUMNS="40")
    assert all(len(line) <= 40 for line in done.text.splitlines())


def test_nothing_a_terminal_obeys_is_printed(harbour: Product) -> None:
    done = harbour.csl(
        "sql", "--brain", "one", "SELECT chr(27) || '[31mred' AS \"a\x1b[1m\", chr(10) || 'x' AS b"
    )
    assert "\x1b" not in done.text


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_rows_alone_on_standard_output(harbour: Product, form: str) -> None:
    query = "SELECT statement, length(statement) AS n, NULL AS nothing FROM semantic ORDER BY n LIMIT 2"
    done = harbour.csl("sql", "--brain", "one", query, "--format", form)
    if form == "csv":
        assert done.out.decode().split("\r\n") == [
            "statement,n,nothing", "Only in one.,12,", "Boats leave at high water.,26,", "",
        ]  # fmt: skip
    else:
        assert [json.loads(line)["n"] for line in done.out.splitlines()] == [12, 26]
    assert "2 rows" in done.err and "read under" in done.err


def test_parquet_keeps_types(harbour: Product) -> None:
    path = harbour.root / "rows.parquet"
    values = "1.50::DECIMAL(5, 2) AS d, DATE '2024-01-01' AS day, 'x'::BLOB AS b, NULL AS n"
    query = f"SELECT id, sources, {values} FROM semantic"
    done = harbour.csl("sql", "--brain", "one", query, "--format", "parquet", "--out", str(path))
    assert done.status == 0 and "wrote 3 rows" in done.text
    described = duckdb.sql(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
    assert [row[1] for row in described] == [
        "VARCHAR", "STRUCT(block VARCHAR, origin VARCHAR, heading_path VARCHAR[], locator VARCHAR)[]", "DECIMAL(5,2)",
        "DATE", "BLOB", '"NULL"',
    ]  # fmt: skip
    assert not [p for p in harbour.root.iterdir() if p.name.startswith(".rows")]


def test_a_query_from_a_file_and_from_standard_input(harbour: Product) -> None:
    harbour.write("count.sql", COUNT)
    said = harbour.csl("sql", "--brain", "one", COUNT).text
    assert harbour.csl("sql", "--brain", "one", "--file", "count.sql").text == said
    process = harbour.started("sql", "--brain", "one", "-")
    assert process.communicate(COUNT.encode())[0].decode() == said


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--file", "absent.sql"), "cannot read absent.sql"),
        (("--file", "count.sql", "SELECT 1"), "not both"),
        (("SELECT 1", "--format", "xml"), "xml"),
        (("SELECT 1", "--limit", "0"), "0"),
        (("SELECT 1", "--format", "csv", "--out", "no/such/folder/x.csv"), "no folder"),
        (("SELECT 1", "--at", "head~9"), "head~9"),
    ],
)
def test_what_cannot_be_done_is_told(harbour: Product, args: tuple[str, ...], message: str) -> None:
    done = harbour.csl("sql", "--brain", "one", *args)
    assert done.status != 0
    assert message in done.err


def test_a_file_that_is_no_text_is_no_query(harbour: Product) -> None:
    harbour.write("latin.sql", "SELECT 'é'".encode("latin-1"))
    done = harbour.csl("sql", "--brain", "one", "--file", "latin.sql")
    assert done.status == 2 and "not UTF-8" in done.err


def test_the_schema_needs_no_project(tmp_path) -> None:
    outside = Product(tmp_path)
    done = outside.csl("sql", "--schema")
    assert done.status == 0 and "  statement" in done.text
    columns = outside.csl("compound", "sql", "--schema", "--json").data
    assert list(columns) == ["canonical", "episodic", "semantic", "procedural", "provenance", "blocks"]
    assert columns["semantic"][0]["name"] == "brain"


def test_a_plan_names_what_is_read(harbour: Product) -> None:
    done = harbour.csl("compound", "sql", "--all", "--explain", "SELECT count(*) FROM one.semantic")
    assert "one.semantic: 3 rows, from a base" in done.text
    assert "two.semantic" not in done.text
    assert "brain:" not in done.text


def test_proofs_on_demand(harbour: Product) -> None:
    good = harbour.csl("sql", "--brain", "one", "SELECT id FROM semantic", "--verify")
    assert good.status == 0 and "3 ids proven" in good.text
    made_up = harbour.csl("sql", "--brain", "one", f"SELECT 'sha256:{'0' * 64}' AS id", "--verify")
    assert made_up.status == 5 and "are in no root" in made_up.err


def test_a_snapshot_is_named(harbour: Product) -> None:
    done = harbour.csl("sql", "--brain", "one", COUNT, "--at", "head~0")
    assert "at snapshot" in done.text
    done = harbour.csl("compound", "sql", "--all", "SELECT count(*) FROM semantic", "--at", "one=head~0")
    assert done.status == 0


def test_without_the_engine_the_extra_is_named(harbour: Product) -> None:
    before = "import sys; sys.modules['duckdb'] = None\n"
    done = harbour.process("sql", "--brain", "one", "SELECT 1", before=before)
    assert done.status == 3
    assert "pip install 'consilience[sql]'" in done.err


def test_help_loads_no_engine(harbour: Product) -> None:
    check = "import atexit, sys; atexit.register(lambda: print('duckdb' in sys.modules, file=sys.stderr))\n"
    assert harbour.process("sql", "--schema", before=check).err.strip().endswith("False")


# --- files as tables, results as files ------------------------------------------------------------------------------


def test_files_that_ingest_takes_are_tables(harbour: Product) -> None:
    harbour.write("tables/rates.csv", "name,mass,seen\nSun,1.5,2020-01-01\nMoon,,2021-02-03\n")
    harbour.write("tables/rates.tsv", "name\tmass\nSun\t2\n")
    harbour.write("tables/rows.jsonl", '{"a": 1, "b": [1, 2]}\n{"a": 2, "b": null}\n')
    assert harbour.csl("project", "add", "tables", "--model", "none").status == 0
    harbour.ingest("tables", "--brain", "tables")

    def ask(query: str, *command: str) -> list[list[object]]:
        return harbour.csl(*(command or ("sql", "--brain", "tables")), query, "--json").data["rows"]

    assert ask('FROM data."rates.csv"') == [["Moon", None, "2021-02-03"], ["Sun", 1.5, "2020-01-01"]]
    assert ask('FROM data."rows.jsonl"') == [[1, [1, 2]], [2, None]]
    joined = 'SELECT c.mass + t.mass FROM data."rates.csv" c JOIN data."tables/rates.tsv" t USING (name)'
    assert ask(joined) == [[3.5]]
    both = 'SELECT count(*) FROM tables.data."rates.csv", one.semantic'
    assert ask(both, "compound", "sql", "--brains", "tables,one") == [[6]]
    passages = "SELECT count(*) > 0 FROM semantic, unnest(sources) t(s) WHERE s.origin = 'tables/rates.csv'"
    assert ask(passages) == [[True]]


def test_arrow_and_parquet_to_a_pipe_and_to_a_file(harbour: Product) -> None:
    pa = pytest.importorskip("pyarrow")
    piped = harbour.csl("sql", "--brain", "one", COUNT, "--format", "arrow")
    assert pa.ipc.open_file(piped.out).read_all().to_pylist() == [{"kind": "fact", "n": 3}]
    assert "1 row" in piped.err
    piped = harbour.csl("sql", "--brain", "one", COUNT, "--format", "parquet")
    assert piped.out[:4] == piped.out[-4:] == b"PAR1"
    path = harbour.root / "rows.arrow"
    done = harbour.csl("sql", "--brain", "one", COUNT, "--format", "arrow", "--out", str(path))
    assert done.status == 0 and pa.ipc.open_file(path.read_bytes()).read_all().num_rows == 1


def test_brains_that_are_compared_alike_are_told_in_one_line(harbour: Product) -> None:
    done = harbour.csl(
        "compound", "sql", "--brains", "one,two", "SELECT similarity(id, 'tide') FROM semantic"
    )
    assert "not exact: one, two compared with 'tide' by no model" in done.text
