from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from consilience.ingest.replace import Fresh, Gone, replacements

OLD = "the scheduler retries a failed job three times before it gives up"
EDITED = "the scheduler retries a failed job five times before it gives up"


def test_an_edited_passage_is_replaced_by_its_new_wording() -> None:
    fresh = [
        Fresh(n=7, text="something else altogether", position=0.0),
        Fresh(n=8, text=EDITED, position=0.9),
    ]
    (only,) = replacements([Gone(n=1, text=OLD, position=0.0)], fresh)
    assert only.by == 8


def test_a_passage_that_nothing_resembles_is_replaced_by_nothing() -> None:
    (only,) = replacements(
        [Gone(n=1, text=OLD, position=0.0)], [Fresh(n=8, text="an apple a day", position=0.0)]
    )
    assert only.by is None


def test_of_two_equal_replacements_the_nearer_one_is_taken() -> None:
    fresh = [Fresh(n=9, text=EDITED, position=0.9), Fresh(n=8, text=EDITED, position=0.1)]
    (only,) = replacements([Gone(n=1, text=OLD, position=0.0)], fresh)
    assert only.by == 8


@given(
    st.lists(st.text(alphabet="ab c", max_size=12), max_size=6),
    st.lists(st.text(alphabet="ab c", max_size=12), max_size=6),
)
def test_every_gone_passage_gets_one_verdict_and_only_fresh_ones_replace(
    old: list[str], new: list[str]
) -> None:
    gone = [Gone(n=i, text=t, position=0.5) for i, t in enumerate(old)]
    fresh = [Fresh(n=100 + i, text=t, position=0.5) for i, t in enumerate(new)]
    verdicts = replacements(gone, fresh)
    assert [v.n for v in verdicts] == [g.n for g in gone]
    assert {v.by for v in verdicts if v.by is not None} <= {f.n for f in fresh}
    for verdict, passage in zip(verdicts, gone, strict=True):
        if passage.text.split() and any(f.text.split() == passage.text.split() for f in fresh):
            assert verdict.by is not None
