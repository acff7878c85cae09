"""Results as Arrow, Parquet and data frames: the types and values that the engine itself would give."""

from __future__ import annotations

import warnings

import pytest
from sql_brains import make

from consilience.errors import MissingExtraError, UsageError
from consilience.sql import export

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

VALUES = (
    "0.1::DECIMAL(38, 20)", "123456789012345678901234567890123456::HUGEINT", "18446744073709551615::UBIGINT",
    "9007199254740993", "'-inf'::FLOAT", "1e308", "INTERVAL '1 year 2 days 03:04:05.000006'", "DATE '2024-02-29'",
    "TIME '01:02:03'", "TIMESTAMP '2024-01-01 00:00:00.000001'", "TIMESTAMP 'infinity'", "true", "''", "'null'",
    "'ü''\"'", "chr(0)", "NULL", "'6ba7b810-9dad-11d1-80b4-00c04fd430c8'::UUID", "'101'::BIT",
    "'\\xAB\\x00'::BLOB", "''::BLOB", "['\\xAB'::BLOB, NULL, 'ab'::BLOB]", "{'b': 'a\\x5C'::BLOB}",
    "[1.50, NULL]", "{'a': [NULL, 1e-7], 'b': 'x\"y'}", "MAP {'k': 3}", "MAP {1: ['x'], 2: NULL}",
    "MAP {DATE '2024-01-01': 'x'}", "MAP {1.50: '\\xAB'::BLOB}", "[MAP {true: 1}]", "{'m': MAP {'': NULL}}",
    "[{'a': 1}]", "[DATE '2024-01-01']", "[NULL, 'inf'::DOUBLE]", "{'x': NULL}", "[]", "[1, 2]::INTEGER[2]",
    "[9007199254740993]", "{'d': 1.10::DECIMAL(38, 10)}",
)  # fmt: skip


@pytest.fixture(scope="module")
def brain(tmp_path_factory):
    made = make(tmp_path_factory.mktemp("export"))
    yield made.brain
    made.brain.close()


def test_every_type_comes_out_of_arrow_and_parquet_as_the_engine_has_it(brain, tmp_path):
    query = f"SELECT {', '.join(f'{value} AS c{at}' for at, value in enumerate(VALUES))}"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = brain.sql(query).arrow()
    expected = duckdb.sql(query).to_arrow_table()
    for at, value in enumerate(VALUES):
        assert table.column(at).equals(expected.column(at)), value
    assert table.schema.types == expected.schema.types
    path = tmp_path / "it's.parquet"
    export.parquet(brain.sql(query), path)
    read = duckdb.sql(f"FROM '{str(path).replace(chr(39), chr(39) * 2)}'")
    (row,), (same,) = read.fetchall(), duckdb.sql(query).fetchall()
    for at, value in enumerate(VALUES):
        if "INTERVAL" in value:
            assert row[at] == "1 year 2 days 03:04:05.000006"
        else:
            assert row[at] == (list(same[at]) if isinstance(same[at], tuple) else same[at]), value


def test_what_parquet_would_round_is_written_whole(brain, tmp_path):
    result = brain.sql("SELECT sum(9007199254740993) AS s, {'HUGEINT': [1::UHUGEINT], 'INTERVAL': 2} AS x")
    export.parquet(result, tmp_path / "x.parquet")
    read = duckdb.sql(f"FROM '{tmp_path}/x.parquet'")
    assert str(read.types[0]) == "DECIMAL(38,0)"
    assert read.fetchall() == [(9007199254740993, {"HUGEINT": [1], "INTERVAL": 2})]


def test_nan_stays_nan(brain):
    (row,) = brain.sql("SELECT 'nan'::DOUBLE AS a, ['nan'::FLOAT] AS b").arrow().to_pylist()
    assert row["a"] != row["a"] and row["b"][0] != row["b"][0]


@pytest.mark.parametrize("table", ["semantic", "provenance", "canonical", "episodic", "procedural", "blocks"])
def test_every_table_is_an_arrow_table(brain, table):
    result = brain.sql(f"SELECT * FROM {table}")
    made = result.arrow()
    assert made.num_rows == result.count and made.column_names == [column.name for column in result.columns]
    assert [row["id"] for row in made.to_pylist()] == [row[0] for row in result.rows]


def test_no_rows_keep_their_types(brain):
    table = brain.sql("SELECT id, sources, 1.5 AS d FROM semantic WHERE false").arrow()
    assert table.num_rows == 0 and pa.types.is_list(table.schema.field("sources").type)


def test_columns_of_one_name_are_told_apart(brain):
    table = brain.sql("SELECT 1 AS a, 2 AS A, 3 AS a").arrow()
    assert len({name.lower() for name in table.column_names}) == 3


def test_an_arrow_file_is_read_back(brain, tmp_path):
    result = brain.sql("SELECT id, sources FROM semantic")
    export.write_arrow(result, tmp_path / "rows.arrow")
    with pa.OSFile(str(tmp_path / "rows.arrow")) as file:
        assert pa.ipc.open_file(file).read_all().equals(result.arrow())
    assert [path.name for path in tmp_path.iterdir()] == ["rows.arrow"]


def test_a_map_whose_keys_are_lists_is_refused(brain):
    with pytest.raises(UsageError, match="map with keys of"):
        brain.sql("SELECT MAP {[1]: 2}").arrow()


def test_a_data_frame(brain):
    pytest.importorskip("pandas", reason="pandas is not installed")
    result = brain.sql("SELECT id, label FROM semantic")
    assert list(result.df()["id"]) == [row[0] for row in result.rows]


@pytest.mark.parametrize("library", ["pyarrow", "pandas"])
def test_a_library_that_is_not_there_is_named(brain, monkeypatch, library):
    monkeypatch.setattr(export.importlib.util, "find_spec", lambda name: None)
    result = brain.sql("SELECT 1")
    with pytest.raises(MissingExtraError, match=library):
        result.arrow() if library == "pyarrow" else result.df()
