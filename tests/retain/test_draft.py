"""What goes along with what, worked out in small ledgers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from product import ground
from stores import ACTOR, NOW, derivation, fact, original

from consilience.errors import PolicyError
from consilience.protocol import (
    Block,
    Canonical,
    Episodic,
    Kind,
    Producer,
    ProducerKind,
    Semantic,
    build,
    derivation_block,
    format_digest,
)
from consilience.retain.execute import Retention
from consilience.retain.plan import plan_of
from consilience.retain.policy import Policy
from consilience.retain.report import Plan
from consilience.store import Store, Writer
from consilience.store.verify import verify

ALL = Policy(canonical_drop=True, redact=True, canonical_redact=True)
TEXT = "The word that opens the gate is known to nobody."


@pytest.fixture
def store() -> Iterator[Store]:
    with ground() as folder, Store.create(folder / "brain") as made:
        yield made


def episode(text: str) -> Block:
    return build(Episodic(summary=text, occurred_at="2026-01-01T00:00:00Z"))


def plan(store: Store, what: str, *blocks: Block) -> Plan:
    with store.view() as view:
        return plan_of(view, "brain", what, [b.id for b in blocks], ALL)


def why(made: Plan) -> dict[str, str]:
    return {g.block_id: g.why for g in made.goes}


def text_of(block: Block) -> str:
    return format_digest(block.id)


def file(writer: Writer, *passages: Block, text: bytes = b"# A file\n", locator: str | None = None) -> Block:
    made = original(writer, text, f"{text!r}.md")
    writer.add_many(passages)
    writer.add_many(derivation(p, made, locator, at=writer.at) for p in passages)
    return made


def test_a_cascade_goes_down_until_something_has_another_source(store: Store) -> None:
    a, b, summary, both = fact("Passage a."), fact("Passage b."), fact("Summary of a."), fact("Of a and b.")
    with store.write(ACTOR, NOW) as writer:
        one, two = file(writer, a, text=b"one"), file(writer, b, text=b"two")
        writer.add_many([summary, both])
        writer.add_many([derivation(summary, a), derivation(both, a), derivation(both, b)])
    made = plan(store, "drop", one)
    assert why(made) == {text_of(one): "named", text_of(a): "derived", text_of(summary): "derived"}
    assert [(s.block_id, s.sources) for s in made.stays] == [(text_of(both), (text_of(b),))]
    assert len(plan(store, "drop", one, two).goes) == 6


def test_what_was_made_from_itself_in_a_circle_goes_as_a_whole(store: Store) -> None:
    a, b = fact("Passage a."), fact("Passage b.")
    with store.write(ACTOR, NOW) as writer:
        one = file(writer, a, text=b"one")
        writer.add(b)
        writer.add_many([derivation(b, a)])
    assert len(plan(store, "drop", one).goes) == 3


def test_episodes_are_never_dropped_and_the_plan_says_which_lose_their_source(store: Store) -> None:
    happened, after = episode("The gate was opened."), fact("It had been opened.")
    with store.write(ACTOR, NOW) as writer:
        one = file(writer, happened, text=b"one")
        writer.add(after)
        writer.add(derivation(after, happened))
    with pytest.raises(PolicyError, match="append-only") as caught:
        plan(store, "drop", happened)
    assert caught.value.hint is not None and "redact" in caught.value.hint
    made = plan(store, "drop", one)
    assert why(made) == {text_of(one): "named"}
    assert [u.block_id for u in made.unsourced] == [text_of(happened)]
    Retention(store, "brain", actor=ACTOR, clock=lambda: NOW).drop([one.id], reason="x", policy=ALL)
    assert verify(store.path).ok
    with store.view() as view:
        assert view.members(view.ordinals([happened.id, after.id]).values()) == set(
            view.ordinals([happened.id, after.id]).values()
        )


def test_an_episode_can_be_redacted(store: Store) -> None:
    happened = episode(TEXT)
    with store.write(ACTOR, NOW) as writer:
        writer.add(happened)
    work = Retention(store, "brain", actor=ACTOR, clock=lambda: NOW)
    assert len(work.redact([happened.id], reason="x", policy=ALL).changed) == 1
    assert verify(store.path).ok


def test_all_versions_of_a_file_that_hold_a_passage_go_with_it(store: Store) -> None:
    secret, other = fact(TEXT), fact("Another line of the file.")
    with store.write(ACTOR, NOW) as writer:
        files = [file(writer, secret, other, text=f"version {i}".encode()) for i in range(3)]
        file(writer, other, text=b"no secret here")
    made = plan(store, "redact", secret)
    assert why(made) == {text_of(secret): "named"} | {text_of(f): "original" for f in files}
    assert set(made.needs) == {"redact", "canonical_redact"}


def test_the_same_bytes_under_another_type_go_too(store: Store) -> None:
    secret = fact(TEXT)
    with store.write(ACTOR, NOW) as writer:
        one = file(writer, secret, text=TEXT.encode())
        payload = one.payload
        assert isinstance(payload, Canonical)
        twin = build(Canonical(blob=payload.blob, media_type="text/plain", size=payload.size))
        writer.add(twin)
    assert why(plan(store, "redact", secret))[text_of(twin)] == "same_bytes"


def test_a_fact_that_somebody_proposed_does_not_take_the_file_along_unless_it_quotes_it(store: Store) -> None:
    words, quote = fact("A summary in other words."), fact("The gate  is\nknown")
    by = Producer(kind=ProducerKind.MODEL, id="lab/model")
    with store.write(ACTOR, NOW) as writer:
        one = file(writer, text=b"It is said that the gate is known to all.")
        quoting = build(Semantic(kind=Kind.CONCEPT, label="Gate", statement="the gate is known"))
        writer.add_many([words, quote, quoting])
        for block in (words, quote, quoting):
            writer.add(derivation_block(block.id, [one.id], by, ACTOR, writer.at))
    assert text_of(one) not in why(plan(store, "redact", words))
    assert why(plan(store, "redact", quoting))[text_of(one)] == "original"


def test_the_very_same_text_goes_and_a_part_is_only_named(store: Store) -> None:
    secret = fact(TEXT)
    same = build(Semantic(kind=Kind.CONCEPT, label="Gate", statement=TEXT))
    longer = fact(f"Somebody said: {TEXT} And so on.")
    short, yes = fact("Yes."), fact("Yes. It is open.")
    with store.write(ACTOR, NOW) as writer:
        writer.add_many([secret, same, longer, short, yes])
    made = plan(store, "redact", secret)
    assert why(made) == {text_of(secret): "named", text_of(same): "same_text"}
    assert made.elsewhere == (text_of(longer),) and made.elsewhere_count == 1
    assert plan(store, "redact", short).elsewhere == ()


def test_so_many_texts_are_not_looked_for_and_the_plan_says_so(store: Store) -> None:
    many = [fact(f"Line {i} of many lines.") for i in range(20)]
    with store.write(ACTOR, NOW) as writer:
        writer.add_many(many)
    assert plan(store, "redact", *many).elsewhere_searched is False
    assert plan(store, "redact", *many[:3]).elsewhere_searched is True


@pytest.mark.parametrize("heading", [TEXT, "a > b", "back\\slash", "ünï"])
def test_records_whose_place_is_the_text_go_and_the_ledger_keeps_its_rows(store: Store, heading: str) -> None:
    title, below, elsewhere = fact(heading), fact("A passage below it."), fact("A passage of another part.")
    escaped = heading.replace("\\", "\\\\").replace(">", "\\>")
    with store.write(ACTOR, NOW) as writer:
        one = file(writer, title, below, text=b"one", locator=f"L1-L2 # Title > {escaped}")
        file(writer, elsewhere, text=b"two", locator="L9 # Title > Other")
    made = plan(store, "redact", title)
    assert sorted(why(made).values()) == ["named", "names_it", "names_it", "original"]
    work = Retention(store, "brain", actor=ACTOR, clock=lambda: NOW)
    work.redact([title.id], reason="x", policy=ALL)
    assert verify(store.path).problems == ()
    with store.view() as view:
        n = view.ordinals([below.id, one.id, elsewhere.id])
        (source,) = view.sources([n[below.id]])[n[below.id]]
        assert source.block_id == text_of(one) and source.locator is None
        (kept,) = view.sources([n[elsewhere.id]])[n[elsewhere.id]]
        assert kept.locator == "L9 # Title > Other"


def test_an_original_that_another_block_refers_to_stays(store: Store) -> None:
    with store.write(ACTOR, NOW) as writer:
        ref = writer.put_content(b"some long content of two facts", "text/plain")
        one, two = (
            build(Semantic(kind=Kind.FACT, label=name, statement=name, content=ref))
            for name in ("One", "Two")
        )
        writer.add_many([one, two])
    work = Retention(store, "brain", actor=ACTOR, clock=lambda: NOW)
    work.redact([one.id], reason="x", policy=ALL)
    with store.view() as view:
        from consilience.protocol import parse_digest

        assert view.content(parse_digest(ref.blob)) == b"some long content of two facts"
    assert verify(store.path).problems == ()
    work.redact([two.id], reason="x", policy=ALL)
    with store.view() as view:
        assert not view.has_content(parse_digest(ref.blob))
    assert verify(store.path).problems == ()


def test_the_same_plan_has_the_same_name_whoever_asks(store: Store, tmp_path: Path) -> None:
    a = fact("Passage a.")
    with store.write(ACTOR, NOW) as writer:
        one = file(writer, a, text=b"one")
    assert plan(store, "drop", one, a).name == plan(store, "drop", a, one, a).name
    assert plan(store, "drop", one).name != plan(store, "redact", one).name
