"""One fact by hand: its block, its words, its source, and the same fact again."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from proposals import FILTER, PUMP, Proposals
from stores import ACTOR, NOW

from consilience.errors import PolicyError, UsageError, ValidationError
from consilience.propose.remember import MOST, Fact, fact_block, remember
from consilience.propose.report import Remembered
from consilience.protocol import Episodic, Kind, MemoryType, Semantic, decode, parse_digest
from consilience.protocol.citation import Citation
from consilience.retain.execute import Retention
from consilience.retain.policy import Policy
from consilience.store.verify import verify

TEXT = "The northern pump needs 1.2 bar."


def take(brain: Proposals, text: str = TEXT, source: str | None = None, **more: Any) -> Remembered:
    return remember(
        brain.store, "north", Fact(text=text, **more), actor=ACTOR, clock=lambda: NOW, source=source
    )


def origins(brain: Proposals, made: Remembered) -> list[str | None]:
    with brain.view() as view:
        n = view.ordinals([parse_digest(made.block_id)])[parse_digest(made.block_id)]
        return [source.origin for source in view.sources([n]).get(n, ())]


def test_a_statement(brain: Proposals) -> None:
    made = take(brain, subject="pump", tags=("pressure", "pressure", ""), source="https://example.org/p")
    assert made.changed and not made.known and made.memory_type is MemoryType.SEMANTIC
    with brain.view() as view:
        [block] = view.blocks(list(view.ordinals([parse_digest(made.block_id)]).values()))
        assert block.data is not None
        assert decode(block.data).payload == Semantic(
            kind=Kind.FACT, label=TEXT, statement=TEXT, subject="pump", aliases=("pressure",)
        )
        registered = view.registered("https://example.org/p")
        assert registered is not None and registered.blob is not None
        assert view.content(registered.blob) == TEXT.encode()
        cited = Citation.parse(made.cite)
        assert cited.root == next(m.root for m in view.modules() if m.memory_type is cited.module)
    assert origins(brain, made) == ["https://example.org/p"]
    assert verify(brain.folder / "brain").problems == ()


def test_an_event(brain: Proposals) -> None:
    made = take(brain, "The filter was replaced.", when="2026-05", subject="well 3", tags=("upkeep",))
    assert made.memory_type is MemoryType.EPISODIC and origins(brain, made) == ["remember"]
    payload = fact_block(Fact("x", when="2026-05", subject="well 3", tags=("upkeep",))).payload
    assert payload == Episodic(
        summary="x",
        occurred_at="2026-05-01T00:00:00Z",
        ended_at="2026-05-31T23:59:59Z",
        context="well 3",
        tags=("upkeep",),
    )


@pytest.mark.parametrize(
    ("when", "began"),
    [
        ("2026-05-01", "2026-05-01T00:00:00Z"),
        ("2026-05-01T12:00:00Z", "2026-05-01T12:00:00Z"),
        ("2026-05-01T01:30:00+02:00", "2026-04-30T23:30:00Z"),
        ("1066", "1066-01-01T00:00:00Z"),
    ],
)
def test_dates(when: str, began: str) -> None:
    payload = fact_block(Fact("x", when=when)).payload
    assert isinstance(payload, Episodic) and payload.occurred_at == began


@pytest.mark.parametrize("when", ["", "yesterday", "2026-02-30", "0000", "01.05.2026", "2026-13"])
def test_what_is_no_date(when: str) -> None:
    with pytest.raises(UsageError, match="--when"):
        fact_block(Fact("x", when=when))


def test_the_same_again(brain: Proposals) -> None:
    first = take(brain)
    head = brain.head()
    for text in (TEXT, f"  {TEXT}\r\n", f"{TEXT} \n\n"):
        again = take(brain, text)
        assert again.known and not again.changed and again.block_id == first.block_id
    assert brain.head() == head


def test_a_passage_is_known(brain: Proposals) -> None:
    made = take(brain, FILTER)
    assert made.known and not made.changed and made.block_id == brain.passages()[1]


def test_a_source_more(brain: Proposals) -> None:
    first = take(brain)
    second = take(brain, source="a book")
    assert second.known and second.changed and set(origins(brain, first)) == {"remember", "a book"}
    head = brain.head()
    assert not take(brain, source="a book").changed and not take(brain).changed
    assert brain.head() == head
    known = take(brain, PUMP, source="a book") if len(PUMP) < 80 else take(brain, FILTER, source="a book")
    assert known.known and known.changed and "a book" in origins(brain, known)


def test_a_file_of_the_brain_as_source(brain: Proposals) -> None:
    made = take(brain, source="notes/pumps.md")
    assert set(origins(brain, made)) == {"remember", "notes/pumps.md"}
    assert not take(brain, source="notes/pumps.md").changed
    file = brain.file()
    brain.ingest("pumps.md", "# Pumps\n\nAll pumps were sold.\n")
    assert brain.file() != file
    with brain.view() as view:
        assert not view.hidden(view.ordinals([parse_digest(made.block_id)]).values())
    assert verify(brain.folder / "brain").problems == ()


def test_a_file_that_comes_later_replaces_nothing(brain: Proposals) -> None:
    made = take(brain, source="notes/later.md")
    brain.ingest("later.md", "# Later\n\nThis file came later than what was remembered of it.\n")
    brain.ingest("later.md", "# Later\n\nAnd then it changed altogether, to say something else.\n")
    with brain.view() as view:
        ids = [parse_digest(made.block_id), parse_digest(made.words)]
        assert not view.hidden(view.ordinals(ids).values())
    assert take(brain).known


def test_hidden_stays_hidden(brain: Proposals) -> None:
    made = take(brain)
    retention = Retention(brain.store, "north", actor=ACTOR, clock=lambda: NOW)
    retention.demote([parse_digest(made.block_id)])
    again = take(brain, source="a book")
    assert again.known and not again.changed and again.hidden == "demoted"


def test_redacted_words_do_not_come_back(brain: Proposals) -> None:
    made = take(brain)
    retention = Retention(brain.store, "north", actor=ACTOR, clock=lambda: NOW)
    policy = Policy(canonical_drop=True, redact=True, canonical_redact=True)
    retention.redact([parse_digest(made.block_id)], reason="asked", policy=policy)
    head = brain.head()
    for more in ({}, {"subject": "pump"}, {"when": "2026-05-01"}):
        with pytest.raises(PolicyError, match="these bytes"):
            take(brain, **more)
    assert brain.head() == head
    retention.readmit([parse_digest(made.block_id)], reason="consent")
    assert take(brain).changed
    assert verify(brain.folder / "brain").problems == ()


def test_dropped_words_come_back(brain: Proposals) -> None:
    made = take(brain)
    retention = Retention(brain.store, "north", actor=ACTOR, clock=lambda: NOW)
    policy = Policy(canonical_drop=True, redact=True, canonical_redact=True)
    retention.drop([parse_digest(made.words)], reason="wrong", policy=policy)
    again = take(brain)
    assert again.changed and not again.known and again.block_id == made.block_id
    assert verify(brain.folder / "brain").problems == ()


@pytest.mark.parametrize("text", ["", "  \n", "\u200b", "x" * (MOST + 1)])
def test_what_is_no_fact(brain: Proposals, text: str) -> None:
    with pytest.raises(UsageError):
        take(brain, text)


def test_what_has_no_utf8(brain: Proposals) -> None:
    for more in ({"text": "\ud800"}, {"subject": "\udcff"}, {"tags": ("\ud800",)}, {"source": "\udcff"}):
        with pytest.raises(ValidationError, match="UTF-8"):
            take(brain, **more)  # type: ignore[arg-type]


@given(st.text(max_size=40), st.text(max_size=5), st.sampled_from([None, "2026-05-01"]))
def test_one_block_for_one_fact(text: str, subject: str, when: str | None) -> None:
    fact = Fact(f"x{text}", subject=subject, when=when)
    spaced = Fact(f"\n x{text}\r\n ", subject=f" {subject} ", when=when)
    assert fact_block(fact).id == fact_block(spaced).id


def test_what_is_beside_it_is_said(brain: Proposals) -> None:
    near = take(brain, PUMP.upper())
    assert not near.known and near.near == (brain.passages()[0],) and near.otherwise == ()
    again = take(brain, PUMP.upper())
    assert again.known and again.near == ()
    long = "The same beginning of a long statement, which goes on well beyond eighty characters: "
    one, two = take(brain, long + "first."), take(brain, long + "second.")
    assert two.changed and two.otherwise == (one.block_id,) and two.near == ()


def test_a_large_module_is_not_looked_through(brain: Proposals, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("consilience.propose.remember.LOOKED_THROUGH", 1)
    made = take(brain, PUMP.upper())
    assert made.changed and made.near == () and "not looked through" in made.notes[0]
