"""C21 to C30 through the command line, over real brains."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from product import PARAGRAPHS, Product

pytest.importorskip("duckdb")

MODULES = ("canonical", "episodic", "semantic", "procedural", "provenance")


def compound(farm: Product, query: str, *args: str) -> Any:
    return farm.csl("compound", "sql", "--all", query, "--format", "json", *args).data


def one(farm: Product, brain: str, query: str, *args: str) -> Any:
    return farm.csl("sql", "--brain", brain, query, "--json", *args).data


def names(data: Any) -> list[str]:
    return [column["name"] for column in data["columns"]]


# --- C21 ----------------------------------------------------------------------------------------------------


def test_c21_a_bare_table_spans_every_member_and_leads_with_brain(farm: Product) -> None:
    data = compound(farm, "SELECT * FROM semantic")
    assert names(data)[0] == "brain"
    assert {row[0] for row in data["rows"]} == {"north", "south", "west"}
    counts = {
        brain: one(farm, brain, "SELECT count(*) FROM semantic")["rows"][0][0]
        for brain in ("north", "south", "west")
    }
    assert dict(compound(farm, "SELECT brain, count(*) FROM semantic GROUP BY brain")["rows"]) == counts


def test_c21_a_qualified_table_reads_one_member_without_that_column(farm: Product) -> None:
    data = compound(farm, "SELECT * FROM north.semantic")
    assert "brain" not in names(data)
    assert set(data["verified_against"]) == {"north.semantic", "north.provenance"}
    assert names(data) == names(one(farm, "north", "SELECT * FROM semantic"))


def test_c21_a_name_with_a_dash_is_quoted(own_farm: Product) -> None:
    text = own_farm.file.read_text().replace("[brains.north", "[brains.north-west")
    own_farm.file.write_text(text)
    shutil.move(own_farm.brain("north"), own_farm.brain("north-west"))
    assert compound(own_farm, 'SELECT count(*) > 0 FROM "north-west".semantic')["rows"] == [[True]]


def test_c21_a_brain_outside_of_the_compound_is_refused_by_name(farm: Product) -> None:
    done = farm.csl("compound", "sql", "--brains", "north,south", "FROM west.semantic", "--json")
    assert done.status == 2
    assert done.error["message"] == "line 1, column 6: the brain west is not in this compound"


# --- C22 ----------------------------------------------------------------------------------------------------


def test_c22_every_member_of_every_module_is_a_row(farm: Product) -> None:
    for brain in ("north", "south", "west"):
        query = "SELECT memory_type, count(*) FROM blocks GROUP BY 1"
        rows = dict(one(farm, brain, query, "--include-superseded")["rows"])
        (status,) = farm.csl("status", "--brain", brain, "--json").data["brains"]
        modules = status["status"]["modules"]
        assert rows == {module["module"]: module["count"] for module in modules if module["count"]}
        for module, count in rows.items():
            data = one(farm, brain, f"SELECT count(*) FROM {module}", "--include-superseded")
            assert data["rows"] == [[count]]


def test_c22_a_block_whose_bytes_are_gone_is_a_row_of_nulls(own_farm: Product) -> None:
    own_farm.file.write_text(
        own_farm.file.read_text() + "\n[retention]\nredact = true\ncanonical_redact = true\n"
    )
    block = one(own_farm, "west", "SELECT id FROM semantic LIMIT 1")["rows"][0][0]
    done = own_farm.csl(
        "retain", "redact", block, "--brain", "west", "--reason", "asked for", "--yes", "--json"
    )
    assert done.status == 0, done
    data = one(
        own_farm,
        "west",
        f"SELECT resolvable, schema_version, label, statement FROM semantic WHERE id = '{block}'",
    )
    assert data["rows"] == [[False, None, None, None]]


# --- C23 ----------------------------------------------------------------------------------------------------


def test_c23_what_is_hidden_is_counted_by_brain_and_module(farm: Product) -> None:
    data = compound(farm, "SELECT count(*) FROM semantic")
    assert data["hidden"] == {"south.semantic": 0, "north.semantic": 1, "west.semantic": 0}
    shown = compound(farm, "SELECT brain FROM semantic WHERE superseded", "--include-superseded")
    assert shown["rows"] == [["north"]]
    assert shown["hidden"] == {}


def test_c23_each_brain_hides_by_its_own_provenance(farm: Product) -> None:
    query = "SELECT brain FROM semantic WHERE statement LIKE 'The northern gate%six%'"
    assert compound(farm, query)["rows"] == [["south"]]
    assert compound(farm, query, "--include-superseded")["rows"] == [["north"], ["south"]]


# --- C24 ----------------------------------------------------------------------------------------------------


def test_c24_keys_are_brain_and_module(farm: Product) -> None:
    data = compound(farm, "SELECT count(*) FROM episodic, semantic")
    for key in (*data["verified_against"], *data["hidden"], *data["not_installed"]):
        brain, _, module = key.partition(".")
        assert brain in ("north", "south", "west") and module in MODULES


def test_c24_zero_of_a_missing_module_is_not_zero(farm: Product) -> None:
    data = compound(farm, "SELECT count(*) FROM episodic")
    assert data["rows"] == [[0]]
    assert sorted(data["not_installed"]) == ["north.episodic", "south.episodic", "west.episodic"]
    assert compound(farm, "SELECT count(*) FROM semantic WHERE false")["not_installed"] == []


# --- C25 ----------------------------------------------------------------------------------------------------


def test_c25_a_shared_block_is_a_row_per_brain_and_counts_once(farm: Product) -> None:
    query = "SELECT count(*), count(DISTINCT id) FROM semantic WHERE statement LIKE 'The pump of well%'"
    assert compound(farm, query)["rows"] == [[2 * PARAGRAPHS, PARAGRAPHS]]


# --- C26 ----------------------------------------------------------------------------------------------------

NEAR = "SELECT brain, id, similarity(id, 'pump loses pressure') AS s FROM semantic"


def test_c26_every_row_is_scored_by_its_own_brain(farm: Product) -> None:
    data = compound(farm, NEAR)
    assert data["exact"] is False
    by_brain: dict[str, set[bool]] = {}
    for brain, _, score in data["rows"]:
        by_brain.setdefault(brain, set()).add(score is None)
    assert by_brain == {"north": {False}, "south": {False}, "west": {True}}
    told = {each["brain"]: each for each in data["approximate"]}
    assert told["west"]["model"] is None and told["west"]["unscored"] == ["semantic"]
    assert told["north"]["model"] and told["north"]["unscored"] == []
    for brain in ("north", "south"):
        alone = one(farm, brain, "SELECT id, similarity(id, 'pump loses pressure') FROM semantic")
        assert {tuple(row[1:]) for row in data["rows"] if row[0] == brain} == {
            tuple(row) for row in alone["rows"]
        }


def test_c26_about_is_similarity_that_reaches_a_value(farm: Product) -> None:
    rows = one(farm, "north", "SELECT id, similarity(id, 'pump loses pressure') FROM semantic")["rows"]
    least = sorted(score for _, score in rows)[len(rows) // 2]
    query = f"SELECT id FROM semantic WHERE about(id, 'pump loses pressure', {least})"
    data = one(farm, "north", query)
    assert [row[0] for row in data["rows"]] == sorted(block for block, score in rows if score >= least)
    assert data["approximate"][0]["min"] == least


def test_c26_only_brains_that_are_read_are_scored(farm: Product) -> None:
    data = compound(farm, "SELECT id FROM north.semantic WHERE about(id, 'pump', 0.1)")
    assert [each["brain"] for each in data["approximate"]] == ["north"]


# --- C27 ----------------------------------------------------------------------------------------------------


def test_c27_a_cache_can_be_absent_or_new_but_never_wrong(own_farm: Product) -> None:
    query = "SELECT brain, id, label, sources FROM semantic"
    first = compound(own_farm, query)
    shutil.rmtree(own_farm.brain("north") / "derived" / "tables")
    assert compound(own_farm, query) == first
    own_farm.write("sources/notice.md", "The gate is closed for good.\n")
    own_farm.ingest("sources/notice.md", "--brain", "north")
    after = compound(own_farm, query)
    assert len([row for row in after["rows"] if row[2] == "The gate is closed for good."]) == 1
    shutil.rmtree(own_farm.brain("north") / "derived" / "tables")
    assert compound(own_farm, query) == after


def test_c27_removing_knowledge_removes_it_from_the_cache(own_farm: Product) -> None:
    own_farm.file.write_text(
        own_farm.file.read_text() + "\n[retention]\nredact = true\ncanonical_redact = true\n"
    )
    block, statement = one(own_farm, "west", "SELECT id, statement FROM semantic LIMIT 1")["rows"][0]
    assert one(own_farm, "west", "SELECT count(*) FROM blocks")["count"] == 1
    done = own_farm.csl(
        "retain", "redact", block, "--brain", "west", "--reason", "asked for", "--yes", "--json"
    )
    assert done.status == 0, done
    folder = own_farm.brain("west") / "derived" / "tables"
    assert not folder.exists() or not list(folder.iterdir())
    one(own_farm, "west", "SELECT count(*) FROM semantic")
    for path in folder.iterdir():
        assert statement.encode() not in path.read_bytes()


# --- C28 ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM semantic",
        "WITH x AS (DELETE FROM semantic RETURNING *) SELECT * FROM x",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM 'consilience.toml'",
        "COPY semantic TO 'out.csv'",
        "ATTACH 'x.db'",
        "INSTALL httpfs",
        "SET threads = 1",
        "SELECT random()",
        "SELECT * FROM semantic USING SAMPLE 1",
        "SELECT 1; SELECT 2",
    ],
)
def test_c28_what_is_no_reading_is_refused_with_its_place(farm: Product, query: str) -> None:
    before = sorted(path.name for path in farm.root.iterdir())
    for done in (
        farm.csl("sql", "--brain", "north", query, "--json"),
        farm.csl("compound", "sql", "--all", query, "--json"),
    ):
        assert done.status == 2
        assert done.error["message"].startswith("line 1, column ")
    assert sorted(path.name for path in farm.root.iterdir()) == before


def test_c28_limits_hold_with_a_clear_error(farm: Product) -> None:
    slow = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range <> b.range"
    done = farm.csl("sql", "--brain", "north", slow, "--timeout", "0.2", "--json")
    assert done.status == 2 and "longer than 0.2 s" in done.error["message"]
    large = "SELECT list(range) FROM range(1000000000)"
    done = farm.csl("sql", "--brain", "north", large, "--memory", "64", "--json")
    assert done.status == 2 and "64 MiB" in done.error["message"]
    data = one(farm, "north", "SELECT id FROM blocks", "--limit", "5")
    assert (data["count"], data["truncated"]) == (5, True)


# --- C29 ----------------------------------------------------------------------------------------------------


def test_c29_no_value_is_rounded(farm: Product) -> None:
    query = "SELECT 1.10::DECIMAL(20, 5), 'nan'::DOUBLE, 'inf'::DOUBLE, 9007199254740993, 0.1 + 0.2::DOUBLE"
    assert one(farm, "north", query)["rows"] == [
        ["1.10000", "NaN", "Infinity", "9007199254740993", 0.1 + 0.2]
    ]


STABLE = (
    "SELECT * FROM semantic",
    "SELECT brain, kind, list(label), avg(length(statement) / 7) FROM semantic GROUP BY brain, kind",
    "SELECT id FROM semantic LIMIT 5",
    "SELECT kind, row_number() OVER (ORDER BY kind) FROM semantic",
    "SELECT DISTINCT kind, brain FROM blocks, (SELECT 1 AS kind LIMIT 1)",
    "SELECT id FROM semantic ORDER BY kind LIMIT 7",
)


def test_c29_the_same_query_gives_the_same_bytes(own_farm: Product) -> None:
    def ask(query: str) -> bytes:
        return own_farm.csl("compound", "sql", "--all", query, "--format", "json").out

    first = [ask(query) for query in STABLE]
    assert [ask(query) for query in STABLE] == first
    for brain in ("north", "south", "west"):
        shutil.rmtree(own_farm.brain(brain) / "derived" / "tables", ignore_errors=True)
    assert [ask(query) for query in STABLE] == first
    assert own_farm.process("compound", "sql", "--all", STABLE[1], "--format", "json").out == first[1]


def test_c29_the_signature_stays_while_the_roots_do_not(own_farm: Product) -> None:
    query = "SELECT count(*) FROM semantic"
    before = compound(own_farm, query)
    own_farm.write("sources/notice.md", "The gate is open all day.\n")
    own_farm.ingest("sources/notice.md", "--brain", "north")
    after = compound(own_farm, query)
    assert before["signature"] == after["signature"]
    assert before["verified_against"] != after["verified_against"]


# --- C30 ----------------------------------------------------------------------------------------------------


def test_c30_declared_brains_without_a_layout_are_named(farm: Product) -> None:
    data = compound(farm, "SELECT 1")
    assert data["skipped"] == [{"brain": "gone", "reason": "no layout at ./brains/gone"}]
