from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from consilience.plan.cost import CostModel
from consilience.plan.intent import RECALL_FLOOR, Intent, understand
from consilience.plan.planner import Access, Chosen, Situation, choose

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
    assert most.plan.steps[0].access is Access.AFTER


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
)
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


@given(situations, questions)
def test_an_index_more_never_makes_the_choice_worse(s: Situation, text: str) -> None:
    """More available means at least the recall that the intent asks for, or else a cheaper or a better plan."""
    asked = understand(text)
    floor = RECALL_FLOOR[asked.intent]
    without = choose(asked, msgspec.structs.replace(s, has_vectors=False), CostModel()).plan
    with_it = choose(asked, msgspec.structs.replace(s, has_vectors=True), CostModel()).plan
    if without.recall >= floor:
        assert with_it.recall >= floor and with_it.us <= without.us
    else:
        assert with_it.recall >= without.recall


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
