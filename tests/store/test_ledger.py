"""What provenance records do to blocks: sources, origins, hiding. docs/decisions/0020."""

from __future__ import annotations

import itertools

import pytest
from stores import (
    ACTOR,
    AT,
    NOW,
    PRODUCER,
    commit,
    demotion,
    derivation,
    fact,
    facts,
    original,
    registration,
    supersession,
)

from consilience.protocol import (
    Block,
    Derivation,
    Mechanism,
    MemoryType,
    Normalization,
    Removal,
    Validation,
    Verdict,
    format_digest,
    record_block,
    sha256,
)
from consilience.store import Hidden, Store


class Word:
    """Records that differ although they say the same: each has its own second."""

    def __init__(self) -> None:
        self._seconds = itertools.count()

    def at(self) -> str:
        return f"2026-03-01T12:{next(self._seconds):02d}:00Z"

    def replaced(self, loser: Block, winner: Block) -> Block:
        return supersession(winner, loser, self.at())

    def demoted(self, block: Block) -> Block:
        return demotion(block, self.at())

    def derived(self, block: Block, source: Block) -> Block:
        return derivation(block, source, at=self.at())

    def registered(self, block: Block) -> Block:
        return registration(block, "a.md", self.at())


@pytest.fixture
def word() -> Word:
    return Word()


def hidden(store: Store, *blocks: Block) -> list[Hidden | None]:
    with store.view() as view:
        ns = view.ordinals([b.id for b in blocks])
        found = view.hidden(list(ns.values()))
        return [found.get(ns[b.id]) for b in blocks]


# --- the latest word about a block --------------------------------------------------------------------------


def test_superseded_and_demoted_blocks_are_hidden(store: Store, word: Word) -> None:
    a, b, c, source = *facts(0, 3), fact("source")
    commit(store, [source, a, b, c, *(word.derived(x, source) for x in (a, b, c))])
    assert hidden(store, a, b, c) == [None, None, None]
    commit(store, [word.replaced(a, b), word.demoted(c)])
    assert hidden(store, a, b, c) == [Hidden(b.id, False), None, Hidden(None, True)]
    with store.view() as view:
        assert view.hidden_count(MemoryType.SEMANTIC) == 2
        assert view.hidden_members(MemoryType.SEMANTIC) == view.hidden_members() == frozenset({2, 4})
        assert view.hidden_count(MemoryType.PROVENANCE) == 0


def test_a_later_derivation_or_registration_revives(store: Store, word: Word) -> None:
    a, b, source = *facts(0, 2), fact("source")
    commit(store, [source, a, b, word.derived(a, source), word.replaced(a, b), word.demoted(b)])
    assert hidden(store, a, b) == [Hidden(b.id, False), Hidden(None, True)]
    commit(store, [word.derived(a, source), word.registered(b)])
    assert hidden(store, a, b) == [None, None]
    commit(store, [word.demoted(a)])
    assert hidden(store, a, b) == [Hidden(None, True), None]


def test_the_word_that_revives_need_not_be_the_last_record(store: Store, word: Word) -> None:
    """Derived again and then demoted: demoted, and the older supersession no longer counts."""
    a, b, source = *facts(0, 2), fact("source")
    commit(store, [source, a, b, word.replaced(a, b), word.derived(a, source), word.demoted(a)])
    assert hidden(store, a) == [Hidden(None, True)]


def test_both_at_once(store: Store, word: Word) -> None:
    a, b = facts(0, 2)
    commit(store, [a, b, word.demoted(a), word.replaced(a, b), word.demoted(a)])
    assert hidden(store, a) == [Hidden(b.id, True)]


def test_of_two_successors_the_later_counts(store: Store, word: Word) -> None:
    a, b, c = facts(0, 3)
    commit(store, [a, b, c, word.replaced(a, b), word.replaced(a, c)])
    assert hidden(store, a) == [Hidden(c.id, False)]


def test_chains_resolve_to_their_end(store: Store, word: Word) -> None:
    blocks = facts(0, 30)
    pairs = list(itertools.pairwise(blocks))
    commit(store, [*blocks, *(word.replaced(old, new) for old, new in reversed(pairs))])
    assert hidden(store, *blocks) == [Hidden(blocks[-1].id, False)] * 29 + [None]
    commit(store, [word.registered(blocks[10])])
    assert hidden(store, blocks[0], blocks[10], blocks[11]) == [
        Hidden(blocks[10].id, False),
        None,
        Hidden(blocks[-1].id, False),
    ]


def test_a_chain_ends_at_a_demoted_block(store: Store, word: Word) -> None:
    a, b, c = facts(0, 3)
    commit(store, [a, b, c, word.replaced(a, b), word.replaced(b, c), word.demoted(c)])
    assert hidden(store, a, c) == [Hidden(c.id, False), Hidden(None, True)]


def test_circles_end(store: Store, word: Word) -> None:
    a, b, c, d = facts(0, 4)
    circle = [word.replaced(a, b), word.replaced(b, c), word.replaced(c, a)]
    commit(store, [a, b, c, d, *circle, word.replaced(d, a)])
    assert hidden(store, a, b, c, d) == [
        Hidden(c.id, False),
        Hidden(a.id, False),
        Hidden(b.id, False),
        Hidden(c.id, False),
    ]


def test_a_block_cannot_replace_itself(store: Store, word: Word) -> None:
    (a,) = facts(0, 1)
    commit(store, [a, word.replaced(a, a)])
    assert hidden(store, a) == [None]
    with store.view() as view:
        assert len(view.records_about(1)) == 1


def test_a_successor_that_is_not_here_is_still_named(store: Store, word: Word) -> None:
    a, elsewhere, further = facts(0, 3)
    commit(store, [a, word.replaced(a, elsewhere), word.replaced(elsewhere, further)])
    assert hidden(store, a) == [Hidden(further.id, False)]


def test_hiding_is_as_of_the_snapshot(store: Store, word: Word) -> None:
    a, b, source = *facts(0, 2), fact("source")
    commits = [
        commit(store, [source, a, b, word.derived(a, source)]),
        commit(store, [word.replaced(a, b)]),
        commit(store, [word.derived(a, source)]),
        commit(store, [word.demoted(a)]),
    ]
    seen = []
    for made in commits:
        assert made.snapshot is not None
        with store.view(made.snapshot.digest) as view:
            seen.append(view.hidden([2]).get(2))
            assert view.hidden_count(MemoryType.SEMANTIC) == (seen[-1] is not None)
    assert seen == [None, Hidden(b.id, False), None, Hidden(None, True)]


def test_a_withdrawn_record_says_nothing(store: Store, word: Word) -> None:
    a, b = facts(0, 2)
    record = word.replaced(a, b)
    commit(store, [a, b, record])
    commit(store, [], withdraw=[record])
    assert hidden(store, a) == [None]
    commit(store, [record])
    assert hidden(store, a) == [Hidden(b.id, False)]


def test_the_writer_sees_its_own_words(store: Store, word: Word) -> None:
    a, b = facts(0, 2)
    commit(store, [a, b])
    with store.write(ACTOR, NOW) as writer:
        writer.add(word.replaced(a, b))
        assert writer.hidden([1, 2]) == {1: Hidden(b.id, False)}
        with store.view() as view:
            assert view.hidden([1, 2]) == {}


# --- records before the blocks they speak of ----------------------------------------------------------------


def test_the_order_of_arrival_does_not_matter(store: Store, word: Word) -> None:
    a, b, source = *facts(0, 2), fact("source")
    records = [word.derived(a, source), word.registered(source), word.replaced(a, b), word.demoted(b)]
    commit(store, records)
    with store.view() as view:
        assert view.count(MemoryType.PROVENANCE) == 4 and view.max_n == 4
    commit(store, [b])
    commit(store, [a, source])
    assert hidden(store, a, b, source) == [Hidden(b.id, False), Hidden(None, True), None]
    with store.view() as view:
        n = view.ordinals([a.id])[a.id]
        assert n == 6 and [s.block_id for s in view.sources([n])[n]] == [format_digest(source.id)]
        assert view.children(view.ordinals([source.id])[source.id]) == [(n, "")]
        assert view.connection.rows("SELECT * FROM absent") == []


def test_sources_that_are_not_here_are_named(store: Store, word: Word) -> None:
    a, source = facts(0, 2)
    commit(store, [a, word.derived(a, source)])
    with store.view() as view:
        (found,) = view.sources([1])[1]
        assert (found.block_id, found.origin, found.locator) == (format_digest(source.id), None, None)
        assert view.find_prefix(source.id.hex()) == [] and view.ordinals([source.id]) == {}


# --- sources and origins ------------------------------------------------------------------------------------


def test_sources_are_the_union_of_derivations_and_origins(store: Store) -> None:
    passage = fact("The same paragraph stands in two files.")
    with store.write(ACTOR, NOW) as writer:
        one = original(writer, b"one", "docs/one.md")
        two = original(writer, b"two", "docs/two.md")
        writer.add(registration(two, "copies/two.md"))
        n, _ = writer.add(passage)
        records = [derivation(passage, two, "L7 # Two"), derivation(passage, one, "L3-L4 # One > Sub")]
        writer.add_many(records)
    with store.view() as view:
        found = view.sources([n])[n]
        assert [(s.block_id, s.origin, s.locator, s.record) for s in found] == [
            (format_digest(two.id), "copies/two.md", "L7 # Two", format_digest(records[0].id)),
            (format_digest(two.id), "docs/two.md", "L7 # Two", format_digest(records[0].id)),
            (format_digest(one.id), "docs/one.md", "L3-L4 # One > Sub", format_digest(records[1].id)),
        ]
        assert found[2].place.headings == ("One", "Sub")
        canonical = view.ordinals([two.id])[two.id]
        own = view.sources([canonical])[canonical]
        assert [(s.block_id, s.origin, s.locator) for s in own] == [
            (format_digest(two.id), "docs/two.md", None),
            (format_digest(two.id), "copies/two.md", None),
        ]
        assert view.sources([999]) == {}


def test_current_sources_leave_out_what_a_file_no_longer_holds(store: Store, word: Word) -> None:
    passage, gone = facts(0, 2)
    with store.write(ACTOR, NOW) as writer:
        old = original(writer, b"old", "a.md")
        copy = original(writer, b"copy", "b.md")
        n, _ = writer.add(passage)
        m, _ = writer.add(gone)
        writer.add_many([derivation(passage, old, "L1"), derivation(passage, copy, "L9")])
        writer.add(derivation(gone, old, "L5"))
    with store.write(ACTOR, NOW) as writer:
        new = original(writer, b"new", "a.md")
        writer.add_many([derivation(passage, new, "L2"), word.replaced(old, new)])
    with store.view() as view:
        assert [(s.origin, s.locator) for s in view.sources([n])[n]] == [
            ("a.md", "L1"),
            ("b.md", "L9"),
            ("a.md", "L2"),
        ]
        assert [(s.origin, s.locator) for s in view.sources([n], current=True)[n]] == [
            ("b.md", "L9"),
            ("a.md", "L2"),
        ]
        assert [s.locator for s in view.sources([m], current=True)[m]] == ["L5"]


def test_what_an_origin_holds(store: Store) -> None:
    with store.write(ACTOR, NOW) as writer:
        first = original(writer, b"first", "a.md")
        same = original(writer, b"first", "b.md")
        assert first == same
        original(writer, b"other", "c.md")
        seen = writer.registered("a.md")
        assert seen is not None and (seen.id, seen.blob, seen.origin) == (first.id, sha256(b"first"), "a.md")
        assert seen.at == writer.at == AT
    before = writer.snapshot
    with store.write(ACTOR, NOW) as writer:
        second = original(writer, b"second", "a.md")
        assert writer.at == "2026-03-01T12:00:01Z"
    with store.view() as view:
        now, b = view.registered("a.md"), view.registered("b.md")
        assert now is not None and now.id == second.id and now.at == "2026-03-01T12:00:01Z"
        assert b is not None and b.id == first.id
        assert view.registered("d.md") is None and view.registered("") is None
        assert [(o, r.id) for o, r in view.origins()][:2] == [("a.md", second.id), ("b.md", first.id)]
        assert view.has_other_origin(b.n, "a.md") and not view.has_other_origin(b.n, "b.md")
        assert not view.has_other_origin(now.n, "a.md")
    assert before is not None
    with store.view(before.digest) as view:
        then = view.registered("a.md")
        assert then is not None and then.id == first.id


def test_a_file_changed_back_holds_its_old_bytes_again(store: Store) -> None:
    for data in (b"one", b"two", b"one"):
        with store.write(ACTOR, NOW) as writer:
            original(writer, data, "a.md")
        with store.view() as view:
            held = view.registered("a.md")
            assert held is not None and held.blob == sha256(data)


def test_many_origins(store: Store) -> None:
    with store.write(ACTOR, NOW) as writer:
        for i in range(1_100):
            original(writer, b"%d" % (i // 2), f"docs/{i:04}.md")
    with store.view() as view:
        found = list(view.origins())
        assert [o for o, _ in found] == [f"docs/{i:04}.md" for i in range(1_100)]
        assert all(r.blob == sha256(b"%d" % (i // 2)) for i, (_, r) in enumerate(found))


def test_a_registration_of_a_passage_is_not_a_file(store: Store) -> None:
    a = fact("a")
    commit(store, [a, registration(a, "catalog:scheme/x")])
    with store.view() as view:
        assert view.registered("catalog:scheme/x") is None
        assert [s.origin for s in view.sources([1])[1]] == ["catalog:scheme/x"]


def test_children_are_in_the_order_of_the_document(store: Store, word: Word) -> None:
    a, b, c, source = *facts(0, 3), fact("source")
    records = [
        derivation(c, source, "L100-L104 # T"),
        derivation(a, source, "L9 # T"),
        derivation(b, source, "L20-L21"),
        derivation(a, source, "L30"),
        derivation(a, source, "L30", at="2026-03-02T00:00:00Z"),
        derivation(b, source, "somewhere"),
    ]
    commit(store, [source, a, b, c, *records])
    with store.view() as view:
        assert view.children(1) == [
            (3, "somewhere"),
            (2, "L9 # T"),
            (3, "L20-L21"),
            (2, "L30"),
            (4, "L100-L104 # T"),
        ]
        assert view.children(2) == []


def test_derived_from_something_current(store: Store, word: Word) -> None:
    a, b, c = facts(0, 3)
    with store.write(ACTOR, NOW) as writer:
        one, two = original(writer, b"one", "1.md"), original(writer, b"two", "2.md")
        no_file = fact("no file")
        writer.add_many([no_file, a, b, c])
        writer.add_many([derivation(a, one), derivation(a, two), derivation(b, one), derivation(c, no_file)])
        ns = writer.ordinals([a.id, b.id, c.id, one.id, two.id])
        n_a, n_b, n_c, n_one, n_two = (ns[x.id] for x in (a, b, c, one, two))
        assert writer.derived_from_current([n_a, n_b, n_c]) == {n_a, n_b}
        assert writer.derived_from_current([n_a, n_b, n_c], besides=n_one) == {n_a}
        writer.add(word.demoted(two))
        assert writer.derived_from_current([n_a, n_b, n_c], besides=n_one) == set()
        assert n_two in writer.hidden([n_two])


def test_records_as_blocks(store: Store, word: Word) -> None:
    a, b, source = *facts(0, 2), fact("source")
    block = format_digest(a.id)
    records = [
        registration(source, "a.md"),
        record_block(
            Normalization(
                block=format_digest(source.id), pipeline="p", pipeline_version="1", actor=ACTOR, at=AT
            )
        ),
        derivation(a, source),
        record_block(
            Derivation(
                block=format_digest(b.id),
                derived_from=(block, format_digest(source.id), block),
                producer=PRODUCER,
                actor=ACTOR,
                at=AT,
            )
        ),
        record_block(
            Validation(block=block, verdict=Verdict.VALIDATED, checks=("schema",), actor=ACTOR, at=AT)
        ),
        word.replaced(a, b),
        word.demoted(a),
        record_block(
            Removal(
                blocks=(block, block),
                mechanism=Mechanism.DROP,
                memory_type=MemoryType.SEMANTIC,
                reason="r",
                actor=ACTOR,
                at=AT,
            )
        ),
    ]
    commit(store, [source, a, b, *records])
    numbered = {n: r.id for n, r in enumerate(records, 4)}
    with store.view() as view:
        assert {r.n: r.id for r in view.records_about(1)} == {n: numbered[n] for n in (4, 5)}
        assert {r.n: r.id for r in view.records_about(2)} == {n: numbered[n] for n in (6, 8, 9, 10, 11)}
        assert [r.n for r in view.records_about(3)] == [7, 9]
        assert [r.n for r in view.derivations_of(3)] == [7]
        assert [r.n for r in view.derived_from(1)] == [6, 7] and [r.n for r in view.derived_from(2)] == [7]
        assert all(r.intact for r in view.records_about(2))


# --- what an index has to read again ------------------------------------------------------------------------


def test_touched(store: Store, word: Word) -> None:
    a, b, c = facts(0, 3)
    with store.write(ACTOR, NOW) as writer:
        one = original(writer, b"one", "1.md")
        writer.add_many([a, b, c])
        writer.add_many([derivation(a, one), derivation(b, one)])
        n_one, n_a, n_b, n_c = (writer.ordinals([x.id])[x.id] for x in (one, a, b, c))
        mark = writer.max_n
    with store.view() as view:
        assert view.touched(mark) == [] and view.touched(0) == []
    with store.write(ACTOR, NOW) as writer:
        two = original(writer, b"two", "2.md")
        writer.add(derivation(a, two))
        second = writer.max_n
    with store.view() as view:
        assert view.touched(mark) == [n_a] and view.touched(second) == []
    commit(store, [registration(one, "copy.md")])
    with store.view() as view:
        assert view.touched(second) == [n_one, n_a, n_b]
        third = view.max_n
    commit(store, [fact("more")], withdraw=[c])
    with store.view() as view:
        assert view.touched(third) == [n_c]
        fourth = view.max_n
    commit(store, [fact("even more"), c])
    with store.view() as view:
        assert view.touched(fourth) == [n_c]
        assert view.touched(view.max_n) == []
