from __future__ import annotations

import pytest
from sql_brains import make

from consilience.compound import Compound
from consilience.errors import BrainNotFoundError, QueryError
from consilience.sql.engine import Asked


def test_a_bare_table_spans_and_leads_with_the_brain(pair):
    one, _, compound = pair
    result = compound.sql("SELECT * FROM semantic")
    assert result.columns[0].name == "brain"
    counts = compound.sql("SELECT brain, count(*) FROM semantic GROUP BY 1").rows
    assert dict(counts) == {"algebra": 2, "rust": 3}
    assert one.brain.sql("FROM semantic").columns == result.columns[1:]


def test_a_qualified_table_reads_one_member_and_no_other(pair):
    _, _, compound = pair
    result = compound.sql("SELECT * FROM rust.semantic")
    assert result.columns[0].name == "id"
    assert {root.brain for root in result.verified_against} == {"rust"}


def test_a_shared_block_is_a_row_for_each(pair):
    _, _, compound = pair
    assert compound.sql("SELECT count(*), count(DISTINCT id) FROM semantic").rows == ((5, 3),)


def test_what_both_cite(pair):
    one, _, compound = pair
    query = "SELECT a.id FROM algebra.semantic a JOIN rust.semantic b USING (id) WHERE a.kind = 'concept'"
    assert compound.sql(query).rows == ((one.id("rich"),),)


def test_two_tables_of_one_name_are_told_apart_by_their_brains(pair):
    _, _, compound = pair
    query = (
        "SELECT count(*) FROM algebra.semantic, rust.semantic"
        " WHERE algebra.semantic.id = rust.semantic.id AND algebra.semantic.label = 'group'"
    )
    assert compound.sql(query).rows == ((1,),)


def test_hidden_and_missing_are_counted_by_brain_and_module(pair):
    _, _, compound = pair
    result = compound.sql("SELECT count(*) FROM semantic")
    assert [(c.key, c.count) for c in result.hidden] == [("algebra.semantic", 2), ("rust.semantic", 2)]


def test_a_member_that_fails_takes_no_other_with_it(pair):
    class Gone:
        name = "gone"

        def tables(self):
            raise BrainNotFoundError("no layout")

    one, _, _ = pair
    compound = Compound([one.brain, Gone()])
    result = compound.sql("SELECT brain, count(*) FROM semantic GROUP BY 1")
    assert result.rows == (("algebra", 2),)
    assert [(s.brain, s.reason) for s in result.skipped] == [("gone", "failed: no layout")]
    assert isinstance(result.error, BrainNotFoundError)
    with pytest.raises(BrainNotFoundError):
        compound.sql("SELECT count(*) FROM gone.semantic")


def test_a_brain_outside_is_refused_by_name(pair):
    _, _, compound = pair
    with pytest.raises(QueryError, match="the brain go is not in this compound"):
        compound.sql("FROM go.semantic", asked=Asked(text="", declared=("algebra", "rust", "go")))


def test_the_order_does_not_depend_on_the_order_of_the_brains(pair):
    one, two, compound = pair
    other = Compound([two.brain, one.brain])
    query = "SELECT brain, id, label FROM semantic"
    assert compound.sql(query).rows == other.sql(query).rows


def test_brains_called_like_schemas(tmp_path):
    names = ("main", "data", "temp", "select", "semantic", "a-b")
    brains = [make(tmp_path, name).brain for name in names]
    compound = Compound(brains)
    for name in names:
        assert compound.sql(f'SELECT count(*) FROM "{name}".semantic').rows == ((2,),)
        assert (
            compound.sql(f'SELECT DISTINCT "{name}".semantic.kind FROM "{name}".semantic LIMIT 1').count == 1
        )
    assert compound.sql("SELECT count(DISTINCT brain) FROM semantic").rows == ((6,),)
    for brain in brains:
        brain.close()


def test_a_member_whose_tables_cannot_be_made_is_named_and_the_others_answer(pair, monkeypatch):
    from consilience.errors import CorruptStoreError
    from consilience.sql import cache

    one, two, compound = pair
    made = cache.make_state

    def failing(connect, view, derived, module, head):
        if derived == two.brain.path / "derived":
            raise CorruptStoreError("a page cannot be read")
        return made(connect, view, derived, module, head)

    monkeypatch.setattr(cache, "make_state", failing)
    one.commit()
    result = compound.sql("SELECT brain, count(*) FROM semantic GROUP BY 1")
    assert result.rows == (("algebra", 2),)
    assert [(s.brain, s.reason) for s in result.skipped] == [("rust", "failed: a page cannot be read")]
    with pytest.raises(CorruptStoreError):
        compound.sql("SELECT count(*) FROM rust.semantic")
