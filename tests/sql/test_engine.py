from __future__ import annotations

import datetime as dt
import decimal
import io
import json

import pytest
from stores import ACTOR, NOW, fact, original

from consilience.errors import IntegrityError, QueryError, UsageError
from consilience.protocol import MemoryType
from consilience.sql.documents import to_json
from consilience.sql.engine import Asked


def test_every_member_of_a_module_is_a_row(algebra):
    rows = algebra.rows("SELECT memory_type, count(*) FROM blocks GROUP BY 1", include_superseded=True)
    counted = dict(rows)
    with algebra.brain.store.view() as view:
        assert counted == {state.memory_type.value: state.count for state in view.modules()}


def test_fields_are_as_the_block_wrote_them(algebra):
    row = algebra.rows(
        "SELECT kind, label, statement, subject, aliases, relations, evidence, sources FROM semantic"
        f" WHERE id = '{algebra.id('rich')}'"
    )[0]
    assert row[:4] == ("concept", "group", "A set with one operation.", "algebra")
    assert row[4:7] == (["Gruppe", "groupe"], [{"predicate": "is_a", "target": "sha256:" + "a" * 64}], None)
    assert row[7] == [
        {
            "block": algebra.id("file"),
            "origin": "notes/algebra.md",
            "heading_path": ["Notes", "Groups"],
            "locator": "L3 # Notes > Groups",
        }
    ]


def test_steps_stay_structs_and_times_are_utc(algebra):
    assert algebra.rows("SELECT steps FROM procedural")[0][0] == [
        {"action": "add", "condition": None, "alternatives": ["subtract"], "uses": None},
        {"action": "divide", "condition": "a != 0", "alternatives": None, "uses": None},
    ]
    rows = algebra.rows(
        "SELECT summary, occurred_at, occurred_at + INTERVAL 1 DAY FROM episodic ORDER BY summary"
    )
    assert rows == [
        ("Lecture", "2024-02-29T10:00:00Z", "2024-03-01T10:00:00Z"),
        ("Never", None, None),
    ]


def test_provenance_records_are_rows(algebra):
    rows = algebra.rows(
        "SELECT record_type, actor.id, block, supersedes, derived_from, locator FROM provenance ORDER BY 1"
    )
    by_type = {row[0]: row for row in rows}
    assert by_type["supersession"][2:4] == (algebra.id("new"), algebra.id("old"))
    assert by_type["derivation"][4:] == ([algebra.id("file")], "L3 # Notes > Groups")
    assert {row[1] for row in rows} == {"ana@example.org"}


def test_superseded_and_demoted_are_hidden_until_asked_for(algebra):
    result = algebra.brain.sql("SELECT label FROM semantic")
    assert sorted(row[0] for row in result.rows) == ["The new statement.", "group"]
    assert [(c.key, c.count) for c in result.hidden] == [("algebra.semantic", 2)]
    query = (
        "SELECT superseded, demoted, superseded_by FROM semantic WHERE superseded OR demoted ORDER BY label"
    )
    assert algebra.rows(query, include_superseded=True) == [
        (False, True, None),
        (True, False, algebra.id("new")),
    ]


def test_a_redacted_block_is_a_row_of_nulls(bare):
    with bare.brain.store.write(ACTOR, NOW) as writer:
        connection = writer.connection
        connection.run("UPDATE blocks SET enc = 0, data = NULL WHERE id = ?", (bare.blocks["rich"].id,))
    bare.commit(fact("Something else, so that there is a snapshot."))
    rows = bare.rows(
        "SELECT resolvable, schema_version, kind, label, aliases, sources FROM semantic"
        f" WHERE id = '{bare.id('rich')}'"
    )
    assert rows[0][:5] == (False, None, None, None, None)
    assert rows[0][5][0]["origin"] == "notes/algebra.md"


def test_more_rows_than_the_limit_are_told(algebra):
    cut = algebra.brain.sql("SELECT id FROM blocks", asked=Asked(text="", limit=3))
    assert (cut.count, cut.truncated) == (3, True)
    whole = algebra.brain.sql("SELECT id FROM semantic", asked=Asked(text="", limit=2))
    assert (whole.count, whole.truncated) == (2, False)
    own = algebra.brain.sql("SELECT id FROM blocks LIMIT 3", asked=Asked(text="", limit=3))
    assert (own.count, own.truncated) == (3, False)


@pytest.mark.parametrize("limit", [0, -1, 10_000_001])
def test_a_limit_that_is_none(algebra, limit):
    with pytest.raises(UsageError, match="limit"):
        algebra.brain.sql("SELECT 1", asked=Asked(text="", limit=limit))


def test_the_same_query_gives_the_same_bytes(algebra):
    query = "SELECT kind, list(label), first(id), sum(length(statement) / 3) FROM semantic GROUP BY kind"
    first, second = (json.dumps(_document(algebra.brain.sql(query))) for _ in range(2))
    assert first == second


def _document(result):
    import msgspec

    return msgspec.to_builtins(to_json(result))


def test_a_signature_names_query_brains_visibility_and_limit(pair):
    one, _, compound = pair
    queries = ["SELECT 1", "select   1 -- x", "SELECT 2"]
    a, b, c = (one.brain.sql(query).signature for query in queries)
    assert a == b != c
    hidden = one.brain.sql("SELECT 1", asked=Asked(text="", include_superseded=True)).signature
    assert len({a, c, hidden, compound.sql("SELECT 1").signature}) == 4


def test_values_are_not_rounded(algebra):
    query = (
        "SELECT 0.1::DECIMAL(38, 20), 123456789012345678901234567890123456::HUGEINT, 9007199254740993, 'nan'::DOUBLE,"
        " '-inf'::FLOAT, 1e308 * 10, INTERVAL 1 MONTH, DATE 'infinity', '\\xAB'::BLOB, [1.50, 2], {'a': [NULL, 1e-7]},"
        " MAP {'k': INTERVAL 3 DAY}, MAP {1: 'x'}, TIMESTAMP '2024-01-01 00:00:00.000001', NULL, 9007199254740992"
    )
    assert algebra.rows(query) == [
        (
            "0.10000000000000000000", "123456789012345678901234567890123456", "9007199254740993", "NaN", "-Infinity",
            "Infinity", "1 month", "infinity", "ab", ["1.50", "2.00"], {"a": [None, 1e-07]},
            {"k": "3 days"}, [[1, "x"]], "2024-01-01T00:00:00.000001Z", None, 9007199254740992,
        )
    ]  # fmt: skip


@pytest.mark.parametrize(
    "made",
    [
        "epoch_ms(1714564800000)",
        """max("strptime"('2024-05-01 12', '%Y-%m-%d %H'))""",
        "max(TIMESTAMP '2024-05-01 12:00:00')",
    ],
)
def test_times_that_a_query_makes_itself_are_instants(algebra, made):
    result = algebra.brain.sql(f"SELECT {made} AS t, NULL AS n, count(*) FROM semantic GROUP BY ALL")
    assert [row[:2] for row in result.rows] == [("2024-05-01T12:00:00Z", None)]


def test_ids_are_proven_on_demand(algebra):
    good = algebra.brain.sql("SELECT id FROM blocks", asked=Asked(text="", verify=True))
    assert good.verified == good.count > 5
    assert good.error is None
    bad = algebra.brain.sql(f"SELECT 'sha256:{'0' * 64}' AS id", asked=Asked(text="", verify=True))
    assert bad.verified == 0
    assert isinstance(bad.error, IntegrityError)


def test_names_that_are_no_columns_get_near_ones(algebra):
    with pytest.raises(QueryError, match="lable") as caught:
        algebra.brain.sql("SELECT lable FROM semantic")
    assert "label" in (caught.value.hint or "")
    assert "brain:" not in caught.value.message


def test_errors_of_a_query_are_told_without_internal_names(algebra):
    for query in (
        "SELECT 1/'a'",
        "SELECT CAST('x' AS INTEGER)",
        "SELECT sum(label) FROM semantic",
        "SELECT semantic.x.y FROM semantic",
    ):
        with pytest.raises(QueryError) as caught:
            algebra.brain.sql(query)
        assert not {"brain:", "scored:", "LINE 1"} & set(caught.value.message.split())


def test_an_empty_brain(tmp_path):
    from consilience.brain import Brain

    with Brain.create(tmp_path / "empty", name="empty") as brain:
        result = brain.sql("SELECT count(*) FROM blocks")
        assert result.rows == ((0,),)
        assert result.not_installed == tuple(f"empty.{module.value}" for module in MemoryType)
        assert brain.sql("SELECT * FROM semantic").rows == ()
        assert brain.sql("SELECT steps, kind FROM semantic, procedural").rows == ()


def test_an_older_snapshot_is_asked_in_memory(algebra):
    with algebra.brain.store.view() as view:
        before = view.snapshot.digest
    algebra.commit(fact("Later."))
    assert algebra.brain.sql("SELECT count(*) FROM semantic").rows == ((3,),)
    kept = sorted((algebra.brain.path / "derived" / "tables").iterdir())
    assert algebra.brain.sql("SELECT count(*) FROM semantic", at=before).rows == ((2,),)
    assert sorted((algebra.brain.path / "derived" / "tables").iterdir()) == kept


# --- registered files --------------------------------------------------------------------------------------------


@pytest.fixture
def files(algebra):
    def add(origin: str, data: bytes) -> None:
        with algebra.brain.store.write(ACTOR, NOW) as writer:
            original(writer, data, origin)

    return algebra, add


def test_registered_files_are_tables(files):
    made, add = files
    add("tables/stars.csv", b"name,mass,seen\nSun,1.5,2020-01-01\nMoon,,2021-02-03\n")
    add("tables/stars.tsv", b"name\tmass\nSun\t1\n")
    add("rows.jsonl", b'{"a": 1, "b": [1, 2]}\n{"a": 2, "b": null}\n')
    assert made.rows('SELECT * FROM data."stars.csv"') == [
        ("Moon", None, "2021-02-03"),
        ("Sun", 1.5, "2020-01-01"),
    ]
    assert made.rows(
        'SELECT data."tables/stars.csv".mass FROM data."tables/stars.csv" WHERE name = \'Sun\''
    ) == [(1.5,)]
    assert made.rows('SELECT mass + 1 FROM data."stars.tsv"') == [(2,)]
    assert made.rows('SELECT a, b FROM data."rows.jsonl"') == [(1, [1, 2]), (2, None)]
    roots = {root.key for root in made.brain.sql('FROM data."rows.jsonl"').verified_against}
    assert roots == {"algebra.canonical", "algebra.provenance"}
    assert not [
        p
        for p in (made.brain.path / "derived" / "tables").iterdir()
        if p.suffix in (".csv", ".tsv", ".jsonl")
    ]


def test_a_registered_parquet_file_is_a_table(files):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    made, add = files
    day = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
    rows = [
        {"name": "Sun", "mass": decimal.Decimal("1.50"), "moons": [], "seen": day},
        {"name": "Earth", "mass": None, "moons": ["Moon"], "seen": None},
    ]
    written = io.BytesIO()
    types = pyarrow.schema(
        {
            "name": pyarrow.string(),
            "mass": pyarrow.decimal128(9, 2),
            "moons": pyarrow.list_(pyarrow.string()),
            "seen": pyarrow.timestamp("us", tz="UTC"),
        }.items()
    )
    parquet.write_table(pyarrow.Table.from_pylist(rows, schema=types), written)
    add("tables/bodies.parquet", written.getvalue())
    assert made.rows('SELECT * FROM data."bodies.parquet" ORDER BY name') == [
        ("Earth", None, ["Moon"], None),
        ("Sun", "1.50", [], "2024-05-01T12:00:00Z"),
    ]
    assert made.rows('SELECT count(*), sum(mass) FROM data."tables/bodies.parquet"') == [(2, "1.50")]
    roots = {root.key for root in made.brain.sql('FROM data."bodies.parquet"').verified_against}
    assert roots == {"algebra.canonical", "algebra.provenance"}
    add("tables/cut.parquet", written.getvalue()[:-20])
    with pytest.raises(QueryError, match=r"cut\.parquet: it cannot be read as a table"):
        made.rows('FROM data."cut.parquet"')


def test_a_name_that_several_files_have_is_refused(files):
    made, add = files
    add("a/x.csv", b"v\n1\n")
    add("b/x.csv", b"v\n2\n")
    with pytest.raises(QueryError, match="2 registered files"):
        made.rows('FROM data."x.csv"')
    assert made.rows('FROM data."b/x.csv"') == [(2,)]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("latin.csv", b"name,x\ncaf\xe9,1\n", "latin.csv: it cannot be read as a table"),
        ("broken.jsonl", b'{"a": 1}\n{"a": \n', "broken.jsonl: it cannot be read as a table"),
        ("no.parquet", b"PAR1 nothing", "no.parquet: it cannot be read as a table"),
        ("notes.txt", b"a text\n", "notes.txt: a file is read as a table if"),
    ],
)
def test_files_that_are_no_tables(files, name, data, message):
    made, add = files
    add(name, data)
    with pytest.raises(QueryError, match=message) as caught:
        made.rows(f'FROM data."{name}"')
    assert str(made.brain.path) not in caught.value.message + (caught.value.hint or "")


def test_a_file_that_is_not_there_gets_a_near_name(files):
    made, add = files
    add("stars.csv", b"a\n1\n")
    with pytest.raises(QueryError, match="no registered file") as caught:
        made.rows('FROM data."star.csv"')
    assert caught.value.hint == "did you mean stars.csv?"


def test_huge_decimals_and_nan_in_a_file(files):
    made, add = files
    add("n.csv", b"a,b\n123456789012345678901234567890.5,NaN\n1,inf\n")
    rows = made.rows('SELECT a::VARCHAR, b FROM data."n.csv"')
    assert [row[1] for row in rows] == ["Infinity", "NaN"]


def test_a_column_called_like_a_word_of_sql_is_told_how_to_be_written(algebra):
    with pytest.raises(QueryError, match=r"line 1, column 14: syntax error") as caught:
        algebra.rows("SELECT min(at) FROM provenance")
    assert caught.value.hint == 'the column at is called "at", in quotes: it is a word of SQL'
    assert algebra.rows('SELECT count(DISTINCT "at") > 0 FROM provenance') == [(True,)]
    for query in ('SELECT min("at" FROM provenance', "SELECT 'at' FROM", "SELECT t.at FROM FROM"):
        with pytest.raises(QueryError) as caught:
            algebra.rows(query)
        assert caught.value.hint is None


def test_a_column_that_is_not_there_is_told_in_our_words(algebra):
    with pytest.raises(QueryError) as caught:
        algebra.rows("SELECT statment FROM semantic")
    assert caught.value.message == "line 1, column 8: there is no column statment in the tables of its FROM"
    assert caught.value.hint is not None and caught.value.hint.startswith("did you mean statement")


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("SELECT 'nope',\n  label, nope FROM semantic", "line 2, column 10"),
        ('SELECT "nope" FROM semantic', "line 1, column 8"),
        ("SELECT s.nope FROM semantic s", "line 1, column 8"),
        ("SELECT label, algebra.semantic.nope FROM algebra.semantic", "line 1, column 15"),
        (
            "SELECT s.label FROM semantic s JOIN blocks b ON b.id = s.id WHERE b.label = 'x'",
            "line 1, column 67",
        ),
        ("SELECT 'ä', /* nope */ id FROM semantic ORDER BY nope", "line 1, column 50"),
        ("SELECT count(*) FROM semantic GROUP BY nope", "line 1, column 40"),
        ("SELECT * EXCLUDE (nope) FROM semantic", "line 1, column 19"),
        ("SELECT * FROM semantic JOIN blocks USING (nope)", "line 1, column 43"),
        ("SELECT (SELECT max(nope) FROM blocks) FROM semantic", "line 1, column 20"),
        ("SELECT x.id FROM semantic", "line 1, column 8"),
        ("SELECT s.nope FROM (SELECT unnest(sources) AS s FROM semantic)", "line 1, column 8"),
    ],
)
def test_a_name_that_is_not_there_is_told_with_its_place(algebra, query, place):
    with pytest.raises(QueryError) as caught:
        algebra.rows(query)
    assert caught.value.message.startswith(f"{place}: ")
    assert "brain:" not in caught.value.message
