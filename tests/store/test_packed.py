"""Packed derivation records: the bytes that come back are those that went in, and damage stays where it is."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stores import ACTOR, AT, NOW, PRODUCER, commit, derivation, fact, facts, original

from consilience.protocol import (
    Actor,
    ActorKind,
    Block,
    Collaborator,
    Derivation,
    MemoryType,
    format_digest,
    record_block,
)
from consilience.store import Store
from consilience.store.codec import PACKED
from consilience.store.verify import verify

BLOCKS = facts(0, 6)


def column(store: Store, statement: str, *parameters: object) -> list[Any]:
    raw = sqlite3.connect(store.path / "brain.db")
    try:
        return [row[0] for row in raw.execute(statement, parameters)]
    finally:
        raw.close()


def change(store: Store, statement: str) -> None:
    store.close()
    with sqlite3.connect(store.path / "brain.db") as raw:
        raw.execute(statement)
    raw.close()


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
hostile = st.sampled_from(
    ["", " ", "L1", "L1 ", " # A", "L1 # A > B", '","block":"sha256:', "\0", "L\0 \0", '\u2028 \\ " \x7f é 𝄞']
)
names = text.filter(bool)
helpers = st.builds(
    Collaborator, id=st.just("example/model"), kind=st.just(ActorKind.AGENT), name=text, model=st.just("a/b")
)
common = {
    "actor": st.builds(Actor, id=st.just("ana@example.org"), kind=st.sampled_from(ActorKind), name=text),
    "at": st.just(AT),
    "block": st.sampled_from([format_digest(b.id) for b in BLOCKS]),
    "derived_from": st.lists(
        st.sampled_from([format_digest(b.id) for b in BLOCKS]), min_size=1, max_size=4
    ).map(tuple),
}
optional = {"locator": text | hostile, "task": text | hostile}
records = st.fixed_dictionaries({**common, "producer": st.just(PRODUCER)}, optional=optional) | (
    st.fixed_dictionaries(
        {**common, "assisted_by": st.lists(helpers, min_size=1, max_size=2).map(tuple)}, optional=optional
    )
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(records, min_size=1, max_size=8))
def test_any_derivation_of_blocks_that_are_here_comes_back_as_it_was(
    store: Store, chosen: list[dict[str, Any]]
) -> None:
    made = [record_block(Derivation(**fields)) for fields in chosen]
    commit(store, [*BLOCKS, *made])
    with store.view() as view:
        ns = view.ordinals([b.id for b in made])
        found = view.blocks([ns[b.id] for b in made])
        assert [b.data for b in found] == [b.data for b in made]
        for block, fields in zip(made, chosen, strict=True):
            n = view.ordinals([BLOCKS[0].id])[BLOCKS[0].id]
            if fields["block"] == format_digest(BLOCKS[0].id):
                said = [s.locator for s in view.sources([n])[n] if s.record == format_digest(block.id)]
                assert all(locator == fields.get("locator") for locator in said)


def test_what_is_packed_is_verified(store: Store) -> None:
    sources = [b.id for b in BLOCKS[:3]]
    made = [
        record_block(
            Derivation(
                actor=ACTOR,
                at=AT,
                block=format_digest(b.id),
                derived_from=tuple(format_digest(s) for s in (*sources, sources[0])),
                producer=PRODUCER,
                locator=f"L{i} \x7f \u2028",
            )
        )
        for i, b in enumerate(BLOCKS)
    ]
    commit(store, [*made[:2], *BLOCKS, *made[2:]])
    assert column(store, "SELECT count(*) FROM blocks WHERE enc = ?", PACKED) == [6]
    assert verify(store.path).ok


def passages(store: Store) -> list[Block]:
    """A file of ten passages in one section."""
    blocks: list[Block] = facts(10, 20)
    with store.write(ACTOR, NOW) as writer:
        source = original(writer, b"text", "a.md")
        writer.add_many(blocks)
        writer.add_many([derivation(b, source, f"L{i} # Section") for i, b in enumerate(blocks, 1)])
    return blocks


def test_what_records_share_is_kept_once(store: Store) -> None:
    passages(store)
    assert column(store, "SELECT count(*) FROM fragment") == [2]
    assert column(store, "SELECT max(length(data)) FROM blocks WHERE enc = ?", PACKED)[0] < 20
    assert set(column(store, "SELECT locator FROM derivation")) == {None}


def test_a_record_that_comes_before_its_block_is_stored_whole(store: Store) -> None:
    block, source = fact("late"), fact("source")
    record = derivation(block, source, "L7 # Late")
    commit(store, [source, record])
    assert column(store, "SELECT enc FROM blocks WHERE id = ?", record.id) != [PACKED]
    commit(store, [block])
    with store.view() as view:
        n = view.ordinals([block.id])[block.id]
        assert [s.locator for s in view.sources([n])[n]] == ["L7 # Late"]
        assert [b.data for b in view.records_about(n)] == [record.data]
    assert verify(store.path).ok


def test_fragments_of_a_commit_that_failed_are_gone(store: Store) -> None:
    blocks = passages(store)
    with pytest.raises(ZeroDivisionError), store.write(ACTOR, NOW) as writer:
        writer.add(derivation(blocks[0], blocks[1], "L1 # Lost"))
        raise ZeroDivisionError
    commit(store, [derivation(blocks[0], blocks[1], "L1 # Kept", "2026-03-02T00:00:00Z")])
    assert b" # Lost" not in column(store, "SELECT data FROM fragment")
    assert verify(store.path).ok


def test_a_record_whose_bytes_were_destroyed_says_nothing_any_more(store: Store) -> None:
    blocks = passages(store)
    (record_n,) = column(store, "SELECT record_n FROM derivation WHERE block_n = 3")
    change(store, f"UPDATE blocks SET data = NULL WHERE n = {record_n}")
    with Store.open(store.path) as again, again.view() as view:
        assert view.blocks([record_n])[0].data is None
        assert [s.locator for s in view.sources([3])[3]] == [None]
        n = view.ordinals([blocks[1].id])[blocks[1].id]
        assert [s.locator for s in view.sources([n])[n]] == ["L2 # Section"]


@pytest.mark.parametrize(
    ("damage", "intact", "places"),
    [
        ("UPDATE fragment SET data = x'ff' WHERE n = 1", 0, {f"L{i} # Section" for i in range(1, 11)}),
        ("DELETE FROM fragment WHERE n = 2", 0, {""}),
        ("UPDATE fragment SET data = 12 WHERE n = 2", 0, {""}),
        ("UPDATE blocks SET id = 'text' WHERE n = 3", 9, {f"L{i} # Section" for i in range(1, 11)}),
        ("DELETE FROM blocks WHERE n = 3", 9, {f"L{i} # Section" for i in range(1, 11)}),
        (
            "UPDATE blocks SET data = x'c1' WHERE n = (SELECT min(n) FROM blocks WHERE enc = 3)",
            9,
            {"", *(f"L{i} # Section" for i in range(2, 11))},
        ),
    ],
)
def test_damage_takes_no_more_than_it_must(store: Store, damage: str, intact: int, places: set[str]) -> None:
    passages(store)
    ns = column(store, "SELECT n FROM blocks WHERE enc = ?", PACKED)
    change(store, damage)
    with Store.open(store.path) as again, again.view() as view:
        assert sum(b.intact for b in view.blocks(ns)) == intact
        assert {locator for _, locator in view.children(1)} == places
        list(view.scan([MemoryType.PROVENANCE]))
        view.sources(range(4, 13))
    assert "block" in {p.what for p in verify(store.path).problems}
