"""What things cost here: samples kept in a bounded file, factors that no outlier moves."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consilience.brain import Brain
from consilience.cli import render_explain
from consilience.cli.terminal import Terminal
from consilience.embed import EmbedderSpec
from consilience.model import Query
from consilience.plan import cost
from consilience.plan.cost import MOST_SAMPLES, PARTS, CostModel, Costs
from consilience.protocol import Actor, ActorKind

ratios = st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=200)


@given(
    st.dictionaries(st.sampled_from([*PARTS, "nonsense"]), ratios),
    st.dictionaries(st.sampled_from(PARTS), ratios),
)
def test_whatever_was_measured_the_file_is_bounded_and_the_factors_are(
    first: dict[str, list[float]], second: dict[str, list[float]]
) -> None:
    costs = Costs().with_samples(first).with_samples(second)
    assert {*costs.ratios} <= {*PARTS}
    assert all(len(each) <= MOST_SAMPLES for each in costs.ratios.values())
    model = costs.model()
    assert all(0.1 <= getattr(model, f"{part}_scale") <= 20.0 for part in PARTS)
    assert model.lexical_base == CostModel().lexical_base


def test_a_few_wild_samples_change_little() -> None:
    calm = {"lexical": [1.9, 2.0, 2.1] * 7}
    wild = {"lexical": [1.9, 2.0, 2.1] * 7 + [400.0, 900.0, 0.001, 5000.0]}
    assert Costs().with_samples(calm).model().lexical_scale == pytest.approx(2.0, abs=0.11)
    assert Costs().with_samples(wild).model().lexical_scale == pytest.approx(2.0, abs=0.11)


def test_one_or_two_samples_say_nothing() -> None:
    assert Costs().with_samples({"scan": [9.0, 9.0]}).model() == CostModel()


def test_the_latest_samples_count() -> None:
    costs = Costs().with_samples({"scan": [5.0] * 100}).with_samples({"scan": [2.0] * MOST_SAMPLES})
    assert costs.model().scan_scale == 2.0


def test_every_part_is_scaled_by_its_own_factor() -> None:
    usual = CostModel()
    for part, run in {
        "lexical": lambda m: m.lexical(10.0, pushed=3.0),
        "vector": lambda m: m.vectors(50.0),
        "two_stage": lambda m: m.two_stage(50.0, 5.0),
        "hnsw": lambda m: m.hnsw(50.0, 5.0, 5.0),
        "embed": lambda m: m.embed(),
        "scan": lambda m: m.scan(4.0),
        "read": lambda m: m.read(4.0),
        "facet": lambda m: m.facets(4.0),
        "finish": lambda m: m.finish(4.0),
    }.items():
        twice = Costs().with_samples({part: [2.0] * 5}).model()
        assert run(twice) == pytest.approx(2 * run(usual)), part


def test_a_damaged_file_or_another_version_is_no_samples(tmp_path: Path) -> None:
    assert cost.load(tmp_path) == Costs()
    costs = Costs().with_samples({"scan": [2.0] * 5})
    cost.save(tmp_path, costs)
    assert cost.load(tmp_path) == costs
    file = tmp_path / cost.FILE_NAME
    data = file.read_bytes()
    for damaged in (
        data.replace(b"2.0", b"3.0", 1),
        data[:-3],
        b"",
        b"[]",
        data.replace(b'"version":1', b'"version":2'),
    ):
        file.write_bytes(damaged)
        assert cost.load(tmp_path) == Costs()


def now() -> datetime.datetime:
    return datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)


@pytest.fixture
def brain(tmp_path: Path) -> Brain:
    text = "\n\n".join(
        f"Pump {i} loses pressure when its filter {i % 7} is clogged with sand." for i in range(60)
    )
    (tmp_path / "pumps.md").write_text(f"# Pumps\n\n{text}\n")
    brain = Brain.create(tmp_path / "brain", name="farm", embedder=EmbedderSpec(provider="hashed"))
    actor = Actor(id="ana@example.org", kind=ActorKind.HUMAN)
    brain.ingest([tmp_path / "pumps.md"], actor=actor, clock=now, root=tmp_path)
    return brain


def test_indexing_takes_samples_and_a_question_takes_none(brain: Brain) -> None:
    with brain:
        file = brain.path / "derived" / cost.FILE_NAME
        held = cost.load(file.parent)
        assert {*held.ratios} == {"lexical", "vector", "embed", "scan", "read", "facet", "finish"}
        assert all(3 <= len(each) <= MOST_SAMPLES for each in held.ratios.values())
        before = file.read_bytes()
        brain.search(Query(text="why does a pump lose pressure"))
        brain.explain(Query(text="why does a pump lose pressure"), analyze=True)
        brain.index()
        assert file.read_bytes() == before
        file.unlink()
        assert brain.search(Query(text="why does a pump lose pressure")).matches
        assert not file.exists()
        brain.index()
        assert {*cost.load(file.parent).ratios} == {*held.ratios}


def test_answers_do_not_depend_on_what_things_cost(brain: Brain) -> None:
    """Plans that look words up and plans that scan, whichever is cheaper, find the same."""
    asked = [
        Query(text=text, limit=5)
        for text in ("why does pump 7 lose pressure", "filter", '"clogged with sand"')
    ]
    with brain:
        usual = [brain.search(q).matches for q in asked]
        for part, factor in (("lexical", 20.0), ("scan", 0.1), ("vector", 20.0), ("scan", 20.0)):
            cost.save(brain.path / "derived", Costs().with_samples({part: [factor] * 9}))
            assert [brain.search(q).matches for q in asked] == usual


def test_the_error_of_each_estimate_is_shown(brain: Brain) -> None:
    with brain:
        query = Query(text="why does a pump lose pressure")
        told = brain.explain(query, analyze=True)
        lines = list(render_explain.explanation(told, Terminal(width=120)))
        planned = list(render_explain.explanation(brain.explain(query), Terminal(width=120)))
    plan = next(p for p in told.plans if p.chosen)
    assert plan.actual_us is not None
    head = next(line for line in lines if "measured µs" in line)
    assert "error" in head and not [line for line in planned if "error" in line]
    assert [line for line in lines if f"x{plan.actual_us / plan.estimated_us:,.2f}" in line]
    assert sum(" x" in line for line in lines) >= 1 + len(plan.generators)
