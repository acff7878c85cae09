"""What snapshots changed and how two differ: held to a count of every block at every snapshot."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import ACTOR, NOW, commit, demotion, derivation, fact, facts, original, supersession

from consilience.errors import NotFoundError, UsageError
from consilience.history import describe_snapshot, diff_report, history_report, resolve_snapshot
from consilience.protocol import Digest, MemoryType, format_digest
from consilience.store import Store, View
from consilience.store.history import Moment, changes, difference
from consilience.store.prune import Keep, prune

STEPS = st.lists(
    st.tuples(
        st.lists(st.integers(0, 9), max_size=4),
        st.lists(st.integers(0, 9), max_size=4),
        st.sampled_from(["none", "supersede", "demote", "derive"]),
        st.integers(0, 9),
        st.integers(0, 9),
    ),
    min_size=1,
    max_size=8,
)


@contextmanager
def fresh() -> Iterator[Store]:
    folder = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    try:
        with Store.create(folder / "brain") as store:
            yield store
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def grow(store: Store, steps: Any) -> None:
    for joining, leaving, what, x, y in steps:
        with store.write(ACTOR, NOW) as writer:
            writer.add_many([fact(f"text {i}") for i in joining])
            if what == "supersede":
                writer.add(supersession(fact(f"text {x}"), fact(f"text {y}"), writer.at))
            if what == "demote":
                writer.add(demotion(fact(f"text {x}"), writer.at))
            if what == "derive":
                writer.add(derivation(fact(f"text {x}"), fact(f"text {y}"), at=writer.at))
            writer.withdraw(writer.ordinals([fact(f"text {i}").id for i in leaving]).values())


def digests(view: View) -> list[Digest]:
    return [info.digest for info in view.history()]


@settings(max_examples=80, deadline=None)
@given(STEPS)
def test_counts_are_those_of_the_members_before_and_after(steps: Any) -> None:
    with fresh() as store:
        grow(store, steps)
        with store.view() as view:
            infos = view.history()
            told = {change.snapshot.digest: change for change in changes(view, infos)}
            single = {i.digest: changes(view, [i])[0] for i in infos}
        before: dict[MemoryType, set[bytes]] = {m: set() for m in MemoryType}
        for info in reversed(infos):
            with store.view(info.digest) as view:
                now = {m: set(view.sorted_ids(m)) for m in MemoryType}
            change = told[info.digest]
            assert change == single[info.digest]
            found = {c.module: (c.joined, c.left) for c in change.modules}
            for m in MemoryType:
                expected = (len(now[m] - before[m]), len(before[m] - now[m]))
                assert found.get(m, (0, 0)) == expected
            before = now


@settings(max_examples=80, deadline=None)
@given(STEPS, st.data())
def test_a_difference_leads_from_one_to_the_other(steps: Any, data: st.DataObject) -> None:
    with fresh() as store:
        grow(store, steps)
        with store.view() as view:
            held = digests(view)
            if not held:
                return
            a, b = (Moment(view, data.draw(st.sampled_from(held))) for _ in range(2))
            for module in MemoryType:
                told, back = difference(a, b, module), difference(b, a, module)
                of_a, of_b = ({*view_ids(x, module)} for x in (a, b))
                joined, left = ({*x.ids(ns).values()} for x, ns in ((b, told.joined), (a, told.left)))
                assert (of_a - left) | joined == of_b and not joined & of_a and left <= of_a
                assert (told.joined, told.left) == (back.left, back.joined)
                both = a.members(b.ordinals([Digest(i) for i in of_a & of_b]).values())
                hidden_a, hidden_b = a.hidden(both), b.hidden(both)
                assert told.superseded | told.demoted == hidden_b.keys() - hidden_a.keys()
                assert told.shown == hidden_a.keys() - hidden_b.keys() == back.superseded | back.demoted
                assert all(hidden_b[n].superseded_by is not None for n in told.superseded)


def view_ids(moment: Moment, module: MemoryType) -> list[Digest]:
    return [Digest(i) for i in moment.sorted_ids(module)]


# --- what people see ----------------------------------------------------------------------------------------


@pytest.fixture
def told(store: Store) -> Store:
    """A file with three passages; one of them replaced; one demoted; the file gone with one passage."""
    a, b, c, d = facts(0, 4)
    with store.write(ACTOR, NOW) as writer:
        source = original(writer, b"All about wells.", "docs/wells.md")
        writer.add_many([a, b, c])
        writer.add_many(
            [derivation(x, source, f"L{i} # Wells", writer.at) for i, x in enumerate((a, b, c), 1)]
        )
    commit(store, [d, supersession(d, a)])
    commit(store, [demotion(b)])
    commit(store, [fact("last")], withdraw=[source, c])
    return store


def test_history_says_what_when_who_and_which_files(told: Store) -> None:
    with told.view() as view:
        report = history_report(view, "wells")
        newest = digests(view)
    assert [e.snapshot for e in report.snapshots] == [format_digest(d) for d in newest]
    last, demoted, superseded, first = report.snapshots
    said = {c.module: c for c in first.changed}
    assert (said[MemoryType.SEMANTIC].joined, said[MemoryType.CANONICAL].joined) == (3, 1)
    assert first.files == ("docs/wells.md",) and first.actor == ACTOR.id and not first.partial
    assert {c.module: (c.joined, c.superseded) for c in superseded.changed}[MemoryType.SEMANTIC] == (1, 1)
    assert superseded.files == ("docs/wells.md",) and superseded.parents == (first.snapshot,)
    assert Counter({c.module: c.demoted for c in demoted.changed})[MemoryType.SEMANTIC] == 1
    assert {c.module: c.left for c in last.changed} == {MemoryType.CANONICAL: 1, MemoryType.SEMANTIC: 1}
    assert last.files == ("docs/wells.md",) and not report.truncated and report.pruned == 0


def test_history_of_one_module_lists_what_changed_it(told: Store) -> None:
    with told.view() as view:
        report = history_report(view, "wells", module=MemoryType.CANONICAL)
        newest = digests(view)
        one = history_report(view, "wells", module=MemoryType.CANONICAL, limit=1)
        none = history_report(view, "wells", module=MemoryType.EPISODIC)
    assert [e.snapshot for e in report.snapshots] == [format_digest(newest[0]), format_digest(newest[3])]
    assert all([c.module for c in e.changed] == [MemoryType.CANONICAL] for e in report.snapshots)
    assert one.truncated and one.of == 2 and len(one.snapshots) == 1
    assert none.snapshots == () and none.of == 0


def test_history_after_a_prune_says_what_it_does_not_know(told: Store) -> None:
    with told.view() as view:
        old = history_report(view, "wells").snapshots
    prune(told, Keep(snapshots=3), actor=ACTOR, now=NOW)
    with told.view() as view:
        report = history_report(view, "wells")
    assert report.pruned == 1 and [e.snapshot for e in report.snapshots] == [e.snapshot for e in old[:3]]
    assert [e.partial for e in report.snapshots] == [False, False, True]
    assert report.snapshots[:2] == old[:2]


def test_diff_lists_each_block_with_its_text_and_place(told: Store) -> None:
    with told.view() as view:
        newest = digests(view)
        report = diff_report(view, "wells", newest[3], newest[0])
        cut = diff_report(view, "wells", newest[3], newest[0], limit=2)
        same = diff_report(view, "wells", newest[1], newest[1])
        records = diff_report(view, "wells", newest[1], newest[2], module=MemoryType.PROVENANCE)
    a, b, c, d = (format_digest(x.id) for x in facts(0, 4))
    said = {(x.change, x.block_id): x for x in report.blocks}
    assert said["superseded", a].by == d and said["superseded", a].sources[0].origin == "docs/wells.md"
    assert {("left", c), ("demoted", b), ("joined", d)} <= said.keys()
    assert (
        said["left", c].text.startswith("Statement number 2")
        and said["left", c].sources[0].locator == "L3 # Wells"
    )
    canonical = next(x for x in report.blocks if x.module is MemoryType.CANONICAL)
    assert canonical.change == "left" and canonical.text == "docs/wells.md (text/markdown, 16 bytes)"
    assert {m.module: (m.joined, m.left) for m in report.modules}[MemoryType.PROVENANCE] == (2, 0)
    assert not any(x.module is MemoryType.PROVENANCE for x in report.blocks)
    assert cut.truncated and cut.of == report.of == 6 and cut.blocks == report.blocks[:2]
    assert same.modules == () and same.blocks == () and not same.truncated
    assert [x.change for x in records.blocks] == ["left"] and "demotion" in records.blocks[0].text


# --- naming a snapshot --------------------------------------------------------------------------------------


def test_every_way_to_name_a_snapshot(told: Store) -> None:
    with told.view() as view:
        newest = digests(view)
        assert resolve_snapshot(view, "head") == resolve_snapshot(view, " HEAD~0 ") == newest[0]
        assert [resolve_snapshot(view, f"head~{i}") for i in range(4)] == newest
        for digest in newest:
            text = format_digest(digest)
            for said in (text, text[7:], text[7:19], text[:15], text[7:].upper()):
                assert resolve_snapshot(view, said) == digest
        assert "2 before the head" in describe_snapshot_at(told, newest[2])


def describe_snapshot_at(store: Store, at: Digest) -> str:
    with store.view(at) as view:
        return describe_snapshot(view)


@pytest.mark.parametrize(
    "text", ["", "hea", "abc", "head~", "head~-1", "head~x", "latest", "xyz1234", "HEAD^", "0" * 65]
)
def test_what_names_no_snapshot(told: Store, text: str) -> None:
    with told.view() as view, pytest.raises(UsageError) as raised:
        resolve_snapshot(view, text)
    assert raised.value.hint is not None and "head~N" in raised.value.hint


def test_what_is_not_here_is_told_for_what_it_is(told: Store, folder: Path) -> None:
    with Store.create(folder / "other") as other:
        commit(other, [fact("of another brain")])
        with other.view() as view:
            theirs = format_digest(digests(view)[0])
    with told.view() as view:
        newest = digests(view)
        with pytest.raises(NotFoundError, match="brain 'physics'"):
            resolve_snapshot(view, theirs, [("broken", folder / "nothing"), ("physics", folder / "other")])
        with pytest.raises(NotFoundError, match="no snapshot") as raised:
            resolve_snapshot(view, "0" * 64, [("physics", folder / "other")])
        assert raised.value.hint is not None and format_digest(newest[0])[7:19] in raised.value.hint
        with pytest.raises(NotFoundError, match="4 snapshots") as raised:
            resolve_snapshot(view, "head~4")
        assert raised.value.hint == "the oldest is head~3"
    prune(told, Keep(snapshots=2), actor=ACTOR, now=NOW)
    with told.view() as view:
        with pytest.raises(NotFoundError, match="was pruned") as raised:
            resolve_snapshot(view, format_digest(newest[3])[7:15])
        assert raised.value.hint is not None and "oldest that is here" in raised.value.hint
        with pytest.raises(NotFoundError, match="pruned"):
            resolve_snapshot(view, "head~3")


def test_an_empty_brain_has_none(store: Store) -> None:
    with store.view() as view:
        for text in ("head", "head~1", "0" * 8):
            with pytest.raises(NotFoundError):
                resolve_snapshot(view, text)
        assert history_report(view, "x").snapshots == ()
        assert describe_snapshot(view) == "no snapshot yet"
