"""A question at an older snapshot is answered as it was answered when that snapshot was the head."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import ACTOR, NOW, commit, demotion, derivation, fact, original, registration, supersession

from consilience.brain import Brain
from consilience.embed import EmbedderSpec
from consilience.errors import BlockNotFoundError, NotFoundError
from consilience.model import Filters, Query
from consilience.protocol import Digest, MemoryType, format_digest, parse_digest
from consilience.store.prune import Keep

TEXTS = [
    "The pump of the northern well loses pressure when sand clogs it.",
    "The pump of the southern well was replaced in spring.",
    "Solar panels deliver less current in the shadow of the water tower.",
    "A relay station repeats a frame at most three times.",
    "The pump must be greased before the first frost.",
    "Sorghum needs its second weeding forty days after sowing.",
    "A second pump stands ready in the shed.",
    "The pressure of the tower falls when both pumps rest.",
]
ASKED = (
    Query(text="pump pressure", limit=100, floor=False),
    Query(text="pump pressure", limit=100, floor=False, include_superseded=True),
    Query(text="tower", limit=100, floor=False, filters=Filters(sources=("file-1.md",))),
    Query(text="well files", limit=100, floor=False, filters=Filters(modules=(MemoryType.CANONICAL,))),
)

STEPS = st.lists(
    st.tuples(
        st.lists(st.integers(0, 7), max_size=4),
        st.lists(st.integers(0, 7), max_size=3),
        st.sampled_from(["none", "supersede", "demote"]),
        st.integers(0, 7),
        st.integers(0, 7),
        st.sampled_from(["index", "index", "no index"]),
    ),
    min_size=2,
    max_size=4,
)


@contextmanager
def fresh(provider: str) -> Iterator[Brain]:
    folder = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    try:
        with Brain.create(folder / "brain", name="wells", embedder=EmbedderSpec(provider=provider)) as brain:
            yield brain
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def step(brain: Brain, number: int, joining: Any, leaving: Any, what: str, x: int, y: int) -> None:
    with brain.store.write(ACTOR, NOW) as writer:
        source = original(writer, b"file number %d" % (number % 2), f"file-{number % 2}.md")
        passages = [fact(TEXTS[i]) for i in joining]
        writer.add_many(passages)
        writer.add_many([derivation(p, source, f"L{i + 1}", writer.at) for i, p in enumerate(passages)])
        if what == "supersede":
            writer.add(supersession(fact(TEXTS[x]), fact(TEXTS[y]), writer.at))
        if what == "demote":
            writer.add(demotion(fact(TEXTS[x]), writer.at))
        writer.withdraw(writer.ordinals([fact(TEXTS[i]).id for i in leaving]).values())


def asked(brain: Brain, at: Digest | None = None) -> list[dict[str, str | None]]:
    """For each question the blocks that it finds, with what they say of their successor."""
    return [{m.block_id: m.superseded_by for m in brain.search(query, at=at).matches} for query in ASKED]


ANY = (
    st.sampled_from(["none as it is", "none rebuilt", "none gone", "hashed as it is", "hashed rebuilt"]),
    STEPS,
)


@settings(max_examples=6, deadline=None)
@given(*ANY)
def test_the_past_answers_as_it_did(how: str, steps: Any) -> None:
    answers_as_it_did(*how.split(" ", 1), steps)


@pytest.mark.soak
@settings(max_examples=400, deadline=None)
@given(*ANY)
def test_the_past_answers_as_it_did_at_length(how: str, steps: Any) -> None:
    answers_as_it_did(*how.split(" ", 1), steps)


def answers_as_it_did(provider: str, derived: str, steps: Any) -> None:
    """Vectors find more than words do, and a block that came back may have got one since: there the past finds at
    least what it found, of what was a member."""
    with fresh(provider) as brain:
        then: dict[Digest, list[dict[str, str | None]]] = {}
        for number, (joining, leaving, what, x, y, index) in enumerate(steps):
            step(brain, number, joining, leaving, what, x, y)
            if index == "index" or provider != "none":
                brain.index()
            with brain.store.view() as view:
                if view.snapshot is not None:
                    then[view.snapshot.digest] = asked(brain)
        if derived == "rebuilt":
            brain.index(rebuild=True)
        if derived == "gone":
            brain._derived.close()
            shutil.rmtree(brain.path / "derived", ignore_errors=True)
        for digest, before in then.items():
            now = asked(brain, digest)
            if provider == "none":
                assert now == before
            with brain.store.view(digest) as view:
                members = {format_digest(Digest(i)) for m in MemoryType for i in view.sorted_ids(m)}
            for found, once in zip(now, before, strict=True):
                assert once.items() <= found.items() and found.keys() <= members
            for query, found in zip(ASKED, now, strict=True):
                bundle = brain.search(query, at=digest)
                assert bundle.snapshot == format_digest(digest) and bundle.all_verified
                assert not bundle.truncated and len(bundle.matches) == len(found)


@pytest.fixture
def brain() -> Iterator[Brain]:
    """Three snapshots: one passage about pumps; two hundred better ones; the first one gone."""
    with fresh("none") as made:
        first = fact("A pump stands in the yard, beside many other things that nobody counts or names.")
        commit(made.store, [first])
        commit(made.store, [fact(f"pump pump {i}") for i in range(200)])
        commit(made.store, [fact("later")], withdraw=[first])
        made.index()
        yield made


def test_what_came_later_does_not_crowd_out_what_was_there(brain: Brain) -> None:
    old = brain.snapshot("head~2")
    bundle = brain.search(Query(text="pump", floor=False, limit=3), at=old)
    assert [m.text[:12] for m in bundle.matches] == ["A pump stand"] and not bundle.truncated
    assert not bundle.warnings
    now = brain.search(Query(text="pump yard", floor=False, limit=300))
    assert all("yard" not in m.text for m in now.matches) and len(now.matches) == 200


def test_what_no_index_has_any_more_is_read(brain: Brain) -> None:
    brain.index(rebuild=True)
    old = brain.snapshot("head~1")
    bundle = brain.search(Query(text="pump yard", floor=False, limit=1), at=old)
    assert "yard" in bundle.matches[0].text and bundle.truncated


def test_explain_and_status_are_of_that_snapshot(brain: Brain) -> None:
    old = brain.snapshot("head~2")
    told = brain.explain(Query(text="pump"), at=old, analyze=True)
    assert told.snapshot == format_digest(old) and told.count == 1
    assert all(i.covered <= i.of == 1 for i in told.indices)
    assert "of a later state" in told.statistics
    status = brain.status(at=old)
    assert (status.blocks, status.snapshot, status.snapshots) == (1, format_digest(old), 1)
    assert status.advice == () and status.languages == ()
    assert brain.status().snapshots == 3


def test_a_block_is_shown_and_proven_as_a_member_of_then(brain: Brain) -> None:
    first = fact("A pump stands in the yard, beside many other things that nobody counts or names.")
    old, middle = brain.snapshot("head~2"), brain.snapshot("head~1")
    name = format_digest(first.id)
    proof = brain.prove(name, at=middle)
    assert proof.holds and proof.tree_size == 201 and proof.snapshot == format_digest(middle)
    assert brain.block(name, at=old).root != brain.block(name, at=middle).root
    assert brain.content(name, at=old) == first.data
    late = format_digest(fact("later").id)
    for ask in (brain.block, brain.prove, brain.content):
        with pytest.raises(BlockNotFoundError):
            ask(late, at=old)


def test_verify_recomputes_the_roots_of_that_snapshot(brain: Brain) -> None:
    old = brain.snapshot("head~1")
    plain, both = brain.verify(), brain.verify(at=old)
    assert plain.ok and both.ok and both.checked.modules == plain.checked.modules + 1
    with brain.store.write(ACTOR, NOW) as writer:
        first, second = (writer.ordinals([fact(f"pump pump {i}").id]) for i in (0, 1))
        (a,), (b,) = first.values(), second.values()
        writer.connection.run("UPDATE blocks SET entered = 3 WHERE n = ?", (a,))
        writer.connection.run("UPDATE blocks SET entered = 1 WHERE n = ?", (b,))
        writer.connection.run("UPDATE blocks SET entered = 2 WHERE n = 1")
    assert not brain.verify(at=old).ok


def test_files_are_those_of_then() -> None:
    with fresh("none") as brain:
        with brain.store.write(ACTOR, NOW) as writer:
            source = original(writer, b"one file", "first.md")
            writer.add(fact(TEXTS[0]))
            writer.add(derivation(fact(TEXTS[0]), source, "L1", writer.at))
        commit(brain.store, [registration(source, "second.md", "2026-04-01T00:00:00Z")])
        brain.index()
        query = Query(text="pump", floor=False, filters=Filters(sources=("second.md",)))
        assert len(brain.search(query).matches) == 1
        assert brain.search(query, at=brain.snapshot("head~1")).matches == ()
        first = Query(text="pump", floor=False, filters=Filters(sources=("first.md",)))
        assert len(brain.search(first, at=brain.snapshot("head~1")).matches) == 1


def test_a_snapshot_that_is_not_here(brain: Brain) -> None:
    with pytest.raises(NotFoundError):
        brain.search(Query(text="pump"), at=Digest(b"\1" * 32))


def test_pruned_and_indexed_it_still_answers(brain: Brain) -> None:
    query = Query(text="pump", floor=False, limit=300)
    before = {m.block_id for m in brain.search(query).matches}
    done = brain.prune(Keep(snapshots=1), actor=ACTOR, clock=lambda: NOW)
    assert done.notes == () and done.plan.snapshots == 3 and done.plan.blocks == 1
    bundle = brain.search(query)
    assert {m.block_id for m in bundle.matches} == before and bundle.warnings == ()
    assert brain.verify().ok and parse_digest(brain.history().snapshots[0].snapshot) == done.plan.snapshot
