from __future__ import annotations

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from consilience.index.scan import Scan
from consilience.plan.cost import PARTS, SHIPPED, CostModel, Costs
from consilience.plan.intent import RECALL_FLOOR, Intent, understand
from consilience.plan.planner import Access, Chosen, Situation, choose, hnsw_pays, summary

QUESTION = understand("how are features deprecated")


def situation(**changes: object) -> Situation:
    base = Situation(
        blocks=10_000, indexed=10_000, embedded=10_000, postings=3_000.0, known_share=1.0, eligible=None, depth=100,
        stale=False, has_lexical=True, has_vectors=True, has_facets=True,
    )  # fmt: skip
    return msgspec.structs.replace(base, **changes)  # type: ignore[arg-type]


def generators(chosen: Chosen) -> tuple[str, ...]:
    return tuple(step.generator for step in chosen.plan.steps)


def test_a_question_in_words_wants_words_and_vectors() -> None:
    assert generators(choose(QUESTION, situation(), CostModel())) == ("lexical", "vectors")


def test_an_identifier_is_found_by_its_word_alone() -> None:
    chosen = choose(understand("BTreeMap_entry2"), situation(), CostModel())
    assert generators(chosen) == ("lexical",)


def test_the_scan_wins_on_a_tiny_brain_and_loses_on_a_large_one() -> None:
    asked = understand("E0308")
    assert generators(choose(asked, situation(blocks=1, indexed=1, postings=1.0), CostModel())) == ("scan",)
    assert generators(choose(asked, situation(blocks=100_000), CostModel())) == ("lexical",)


def test_without_any_index_the_brain_scans() -> None:
    bare = situation(has_lexical=False, has_vectors=False, has_facets=False, known_share=0.0)
    assert generators(choose(QUESTION, bare, CostModel())) == ("scan",)


def test_a_selective_filter_is_pushed_down_and_a_weak_one_is_applied_after() -> None:
    asked = understand("E0308")
    few = choose(asked, situation(blocks=100_000, eligible=300.0), CostModel())
    assert few.plan.steps[0].access in (Access.PUSHED, Access.ROWS)
    most = choose(asked, situation(blocks=100_000, eligible=95_000.0), CostModel())
    assert most.plan.steps[0].access is Access.CHECKED  # a list of what passes is longer than what is found
    half = choose(understand("why is it slow"), situation(blocks=5_000, eligible=1_200.0), CostModel())
    assert {Access.AFTER, Access.PUSHED, Access.CHECKED} <= {
        step.access for plan, _ in half.rejected for step in plan.steps
    } | {half.plan.steps[0].access}


def two_stages(chosen: Chosen) -> list[bool]:
    return [step.scan is Scan.TWO_STAGE for step in chosen.plan.steps if step.generator == "vectors"]


def test_the_two_stage_scan_where_it_misses_little_and_saves_much() -> None:
    large = {"blocks": 500_000, "indexed": 500_000, "embedded": 500_000, "coded": 480_000}
    assert two_stages(choose(QUESTION, situation(**large, two_stage=0.95), CostModel())) == [True]
    assert two_stages(choose(QUESTION, situation(**large, two_stage=0.89), CostModel())) == [False]
    assert two_stages(choose(QUESTION, situation(**large), CostModel())) == [False]
    phrase = understand('where is "structured concurrency" said')
    told = choose(phrase, situation(**large, two_stage=0.95), CostModel())
    assert not [p for p in (told.plan, *(p for p, _ in told.rejected)) if "two-stage" in p.name]


def test_the_exact_scan_where_codes_cover_too_little() -> None:
    few = situation(blocks=60_000, indexed=60_000, embedded=60_000, coded=1_000, two_stage=0.99)
    chosen = choose(QUESTION, few, CostModel())
    assert two_stages(chosen) == [False]
    assert "lexical+two-stage vectors" in {plan.name for plan, _ in chosen.rejected}


def test_the_graph_of_neighbours_where_it_misses_little_and_nothing_is_filtered() -> None:
    large = {"blocks": 500_000, "indexed": 500_000, "embedded": 500_000, "linked": 499_712}
    codes = {"coded": 480_000, "two_stage": 0.95}
    assert choose(QUESTION, situation(**large, hnsw=0.95), SHIPPED).plan.name == "lexical+hnsw vectors"
    assert (
        choose(QUESTION, situation(**large, **codes, hnsw=0.95), SHIPPED).plan.name == "lexical+hnsw vectors"
    )
    assert choose(QUESTION, situation(**large, hnsw=0.89), SHIPPED).plan.name == "lexical+vectors"
    for told in (
        choose(understand('where is "structured concurrency" said'), situation(**large, hnsw=0.98), SHIPPED),
        choose(QUESTION, situation(**large, hnsw=0.98, eligible=450_000.0), SHIPPED),
    ):
        assert not [p for p in (told.plan, *(p for p, _ in told.rejected)) if "hnsw" in p.name]


def test_a_graph_of_neighbours_pays_from_so_many_vectors() -> None:
    """The table of docs/decisions/0260."""
    alone = [rows for rows in range(8192, 2_000_000, 8192) if hnsw_pays(rows, None)]
    beside = [rows for rows in range(8192, 2_000_000, 8192) if hnsw_pays(rows, 0.95)]
    assert alone == list(range(alone[0], 2_000_000, 8192)) and 50_000 < alone[0] < 80_000
    assert beside == list(range(beside[0], 2_000_000, 8192)) and 400_000 < beside[0] < 700_000
    assert hnsw_pays(100_000, 0.89) and not hnsw_pays(100_000, 0.9)


def test_the_plan_names_which_scan() -> None:
    large = situation(blocks=500_000, indexed=500_000, embedded=500_000, coded=480_000, two_stage=0.95)
    chosen = choose(QUESTION, large, CostModel())
    assert chosen.plan.name == "lexical+two-stage vectors"
    assert "lexical+vectors" in {plan.name for plan, _ in chosen.rejected}
    assert summary(chosen.plan, [1.0, 1.0]).generators == ("lexical", "vectors")


def test_stale_statistics_make_every_plan_dearer() -> None:
    fresh, stale = (choose(QUESTION, situation(stale=s), CostModel()) for s in (False, True))
    assert stale.plan.us > fresh.plan.us


def test_every_plan_that_does_not_run_has_its_reason() -> None:
    chosen = choose(QUESTION, situation(eligible=500.0), CostModel())
    assert len(chosen.rejected) >= 4
    assert all(reason for _, reason in chosen.rejected)
    assert len({p.name for p, _ in chosen.rejected} | {chosen.plan.name}) == len(chosen.rejected) + 1


situations = st.builds(
    situation,
    blocks=st.integers(1, 2_000_000),
    embedded=st.integers(0, 2_000_000),
    postings=st.floats(0, 1e6),
    known_share=st.floats(0, 1),
    eligible=st.none() | st.floats(0, 1e6),
    stale=st.booleans(),
    has_facets=st.booleans(),
    coded=st.integers(0, 2_000_000),
    two_stage=st.none() | st.floats(0.5, 1),
    linked=st.integers(0, 2_000_000),
    hnsw=st.none() | st.floats(0.5, 1),
).map(lambda s: msgspec.structs.replace(s, coded=min(s.coded, s.embedded), linked=min(s.linked, s.embedded)))
scales = st.floats(0.1, 20.0)
cost_models = st.builds(CostModel, **{f"{part}_scale": scales for part in PARTS})
questions = st.sampled_from(["why is it slow", "x_y1", '"exact words" here', "word", "what does E0308 mean"])


@given(situations, questions)
def test_the_chosen_plan_is_the_cheapest_admissible_one(s: Situation, text: str) -> None:
    asked = understand(text)
    chosen = choose(asked, s, CostModel())
    floor = RECALL_FLOOR[asked.intent]
    everything = [chosen.plan, *(p for p, _ in chosen.rejected)]
    admissible = [p for p in everything if p.recall >= floor]
    if admissible:
        assert chosen.plan.recall >= floor
        assert chosen.plan.us == min(p.us for p in admissible)
    else:
        assert chosen.plan.recall == max(p.recall for p in everything)


INDICES = {
    "lexical": {"has_lexical": False, "indexed": 0, "postings": 0.0},
    "vectors": {
        "has_vectors": False,
        "embedded": 0,
        "coded": 0,
        "two_stage": None,
        "linked": 0,
        "hnsw": None,
    },
    "neighbours": {"linked": 0, "hnsw": None},
    "facets": {"has_facets": False},
    "codes": {"coded": 0, "two_stage": None},
}
"""What a brain lacks without each of its indices."""


@example(
    situation(blocks=1, indexed=1, embedded=1, postings=1.0, eligible=1.0), "E0308", "facets", CostModel()
)
@given(situations, questions, st.sampled_from(sorted(INDICES)), cost_models)
def test_an_index_more_never_makes_the_choice_worse(
    s: Situation, text: str, index: str, costs: CostModel
) -> None:
    """More available means at least the recall that the intent asks for, or else a cheaper or a better plan; cheaper
    by the shipped costs, and by those of this machine where it returns the same."""
    asked = understand(text)
    floor = RECALL_FLOOR[asked.intent]
    s = msgspec.structs.replace(s, known_share=1.0)  # a brain without its words knows none to be missing
    less = msgspec.structs.replace(s, **INDICES[index])
    without, with_it = choose(asked, less, SHIPPED).plan, choose(asked, s, SHIPPED).plan
    here_without, here = choose(asked, less, costs).plan, choose(asked, s, costs).plan
    if without.recall >= floor:
        assert with_it.recall >= floor and with_it.us <= without.us * (1 + 1e-9)
        assert here.recall >= floor
        if here.returns == here_without.returns:
            assert here.us <= here_without.us * (1 + 1e-9)
    else:
        assert with_it.recall >= without.recall and here.recall >= here_without.recall


@given(situations, questions, cost_models)
def test_costs_choose_among_admissible_plans_only(s: Situation, text: str, costs: CostModel) -> None:
    """What a plan is expected to find does not hang on what it costs."""
    asked = understand(text)
    usual, other = choose(asked, s, CostModel()), choose(asked, s, costs)
    recalls = [
        {p.name: p.recall for p in (each.plan, *(p for p, _ in each.rejected))} for each in (usual, other)
    ]
    assert recalls[0] == recalls[1]
    floor = RECALL_FLOOR[asked.intent]
    assert (usual.plan.recall >= floor) == (other.plan.recall >= floor)


@given(situations, questions, cost_models)
def test_costs_of_this_machine_do_not_choose_what_is_returned(
    s: Situation, text: str, costs: CostModel
) -> None:
    asked = understand(text)
    usual, here = choose(asked, s, SHIPPED).plan, choose(asked, s, costs)
    assert here.plan.returns == usual.returns
    same = [p for p in (here.plan, *(p for p, _ in here.rejected)) if p.returns == usual.returns]
    assert here.plan.us == min(
        p.us for p in same if p.recall >= min(usual.recall, RECALL_FLOOR[asked.intent])
    )


def test_a_plan_that_is_cheaper_here_only_says_why_it_does_not_run() -> None:
    slow_model = Costs().with_samples({"embed": [20.0] * 5, "vector": [20.0] * 5}).model()
    asked = understand("BTreeMap_entry2")
    chosen = choose(asked, situation(known_share=0.2), slow_model)
    usual = choose(asked, situation(known_share=0.2), SHIPPED)
    assert chosen.plan.returns == usual.plan.returns
    large = situation(blocks=500_000, indexed=500_000, embedded=500_000, coded=480_000, two_stage=0.95)
    dear = Costs().with_samples({"two_stage": [20.0] * 5, "vector": [0.1] * 5}).model()
    told = choose(QUESTION, large, dear)
    assert told.plan.name == "lexical+two-stage vectors"
    assert {p.name: why for p, why in told.rejected}["lexical+vectors"] == (
        "cheaper on this machine only, and may return other blocks"
    )


@given(situations, questions)
def test_no_two_plans_bear_one_name(s: Situation, text: str) -> None:
    chosen = choose(understand(text), s, CostModel())
    names = [p.name for p in (chosen.plan, *(p for p, _ in chosen.rejected))]
    assert len(names) == len({*names})


def test_intents() -> None:
    assert understand("sha256:" + "a" * 64).intent is Intent.IDENTITY
    assert understand("0123456789ab").identity == "0123456789ab"
    assert understand("deadbeef").intent is not Intent.IDENTITY  # eight hex letters can be a word
    assert understand('the "noise floor" of it').phrases == ("noise floor",)
    assert understand("«piso de ruido»").intent is Intent.EXACT
    assert understand('an unclosed " quote').intent is Intent.SEMANTIC
    assert understand("E0308").intent is Intent.LEXICAL
    assert understand("cancellation").intent is Intent.SEMANTIC
    assert understand("how does __init__ work in a class body").identifiers == ("__init__",)
