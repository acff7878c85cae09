"""What introduces a list, a table or code is context of its passages in the indices, and in no block."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest

from consilience.brain import Brain
from consilience.embed import EmbedderSpec
from consilience.model import Entry, Query
from consilience.plan.entries import embedded_text, entries_after, entries_of
from consilience.plan.introduced import may_be_introduced_by
from consilience.protocol import Actor, ActorKind

ACTOR = Actor(id="ana@example.org", kind=ActorKind.HUMAN)
LEAD_IN = "We know the ferry well. The crossing is cancelled in these cases:"
ITEM = "the wind at the harbour mouth is above eight knots for an hour"
INNER = "a gust of more than twelve knots counts as an hour of eight"
CODE = "horn.sound(3)\nhorn.sound(1)"
PAGE = f"""# Ferry

{LEAD_IN}

- {ITEM}
  - {INNER}
- the swell at the outer pier is higher than a metre and a half

The captain decides about everything else, and tells the office at once.

The signal is given like this:

```
{CODE}
```
"""


def now() -> datetime.datetime:
    return datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)


@pytest.fixture
def brain(tmp_path: Path) -> Iterator[Brain]:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "ferry.md").write_text(PAGE)
    with Brain.create(tmp_path / "brain", name="ferry", embedder=EmbedderSpec(provider="none")) as made:
        made.ingest([tmp_path / "docs"], actor=ACTOR, clock=now, root=tmp_path)
        yield made


def entries(brain: Brain) -> dict[str, Entry]:
    with brain.store.view() as view:
        return {e.text: e for e in entries_after(view, 0)}


def test_the_last_sentence_of_the_lead_in_is_context(brain: Brain) -> None:
    found = entries(brain)
    said = "The crossing is cancelled in these cases:"
    assert found[ITEM].context == f"Ferry\n{said}"
    assert embedded_text(found[ITEM]) == f"Ferry\n{said}\n{ITEM}"
    assert found[INNER].context == f"Ferry\n{ITEM}"
    assert found[CODE].context == "Ferry\nThe signal is given like this:"
    assert found[LEAD_IN].context == "Ferry"
    assert (
        found["The captain decides about everything else, and tells the office at once."].context == "Ferry"
    )


def test_it_is_looked_up_where_the_context_is_indexed_and_not_to_show_a_match(brain: Brain) -> None:
    whole = entries(brain)[ITEM]
    with brain.store.view() as view:
        assert [*entries_of(view, [whole.n], introduced=True)] == [whole]
        assert [e.context for e in entries_of(view, [whole.n])] == ["Ferry"]


def test_an_item_is_found_by_words_of_its_introduction(brain: Brain) -> None:
    matches = brain.search(Query(text="crossing cancelled wind harbour", floor=False)).matches
    assert matches[0].text == ITEM


def test_the_same_item_is_the_same_block_without_the_introduction(brain: Brain, tmp_path: Path) -> None:
    before = entries(brain)[ITEM].n
    (tmp_path / "docs" / "alone.md").write_text(f"# Weather\n\n{ITEM}\n")
    brain.ingest([tmp_path / "docs"], actor=ACTOR, clock=now, root=tmp_path)
    assert entries(brain)[ITEM].n == before
    assert len(entries(brain)[ITEM].origins) == 2


def test_on_a_line_of_many_passages_the_one_that_announces_is_meant(tmp_path: Path) -> None:
    body = f"<h1>Ferry</h1><p>No word of it here.</p><p>{LEAD_IN}</p><ul><li>{ITEM}</li><li>{INNER}</li></ul>"
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "ferry.html").write_text(f"<html><body>{body}</body></html>")
    with Brain.create(tmp_path / "brain", name="ferry", embedder=EmbedderSpec(provider="none")) as brain:
        brain.ingest([tmp_path / "docs"], actor=ACTOR, clock=now, root=tmp_path)
        found = entries(brain)
    assert found[INNER].context.endswith("The crossing is cancelled in these cases:")


def test_everything_introduced_in_the_files_of_a_block_may_hold_its_words(brain: Brain) -> None:
    found = entries(brain)
    with brain.store.view() as view:
        touched = may_be_introduced_by(view, [found[LEAD_IN].n])
    assert {found[ITEM].n, found[INNER].n, found[CODE].n} <= touched
    assert found[LEAD_IN].n not in touched


def test_what_stands_in_licence_files_alone_is_boilerplate(brain: Brain, tmp_path: Path) -> None:
    terms = "You may sail this ferry for any purpose, provided that you bring it back."
    (tmp_path / "docs" / "LICENSE").write_text(f"{terms}\n\n{ITEM}\n")
    brain.ingest([tmp_path / "docs"], actor=ACTOR, clock=now, root=tmp_path)
    found = entries(brain)
    assert found[terms].role == "boilerplate"
    assert found[ITEM].role == "prose"
