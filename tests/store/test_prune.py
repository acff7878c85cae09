"""Pruning takes the oldest snapshots and what only they named; everything that stays is as it was, and is proven."""

from __future__ import annotations

import datetime as dt
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stores import ACTOR, NOW, commit, demotion, derivation, fact, facts, original, supersession

from consilience.errors import BusyError, NotFoundError, UsageError
from consilience.protocol import (
    Digest,
    MemoryType,
    Provenance,
    Removal,
    decode,
    format_digest,
    verify_inclusion,
)
from consilience.store import Store, View
from consilience.store.content import INLINE_LIMIT
from consilience.store.prune import Keep, plan_prune, prune
from consilience.store.pruned import all_pruned, pruned_root, pruned_snapshot
from consilience.store.verify import verify

LARGE = random.Random(2).randbytes(INLINE_LIMIT + 10)
DAY = dt.timedelta(days=1)


def state(view: View) -> dict[str, Any]:
    """All that a snapshot says of itself and its members."""
    members = {m: view.sorted_ids(m) for m in MemoryType}
    ns = {n: i for i, n in view.ordinals([Digest(i) for ids in members.values() for i in ids]).items()}
    blocks = view.blocks(list(ns))
    origins = [(o, r) for o, r in view.origins() if r.n in ns]
    return {
        "document": view.snapshot.document if view.snapshot else None,
        "members": members,
        "data": {b.id: b.data for b in blocks},
        "hidden": {ns[n]: h for n, h in view.hidden(list(ns)).items()},
        "sources": {ns[n]: s for n, s in view.sources(list(ns)).items()},
        "origins": {o: (r.id, r.blob) for o, r in origins},
        "content": {r.blob: view.content(r.blob) for _, r in origins if r.blob},
        "about": {ns[n]: sorted(r.id for r in view.records_about(n)) for n in list(ns)[:20]},
    }


def states(store: Store) -> dict[Digest, dict[str, Any]]:
    with store.view() as head:
        digests = [info.digest for info in head.history()]
    found = {}
    for digest in digests:
        with store.view(digest) as view:
            found[digest] = state(view)
    return found


def finish(store: Store) -> None:
    if todo := store.to_erase():
        store.finish_erasing(todo)
    store.compact()


def is_sound(store: Store) -> None:
    report = verify(store.path, every_snapshot=True)
    assert report.ok, report.problems[:5]


# --- any history ------------------------------------------------------------------------------------------------

STEPS = st.lists(
    st.tuples(
        st.lists(st.integers(0, 15), max_size=4),
        st.lists(st.integers(0, 15), max_size=4),
        st.sampled_from(["none", "supersede", "demote", "derive"]),
        st.integers(0, 15),
        st.integers(0, 15),
    ),
    min_size=1,
    max_size=7,
)


def grow(store: Store, steps: Any) -> None:
    """Blocks join and leave, come back, derive from an original that may have left, supersede each other."""
    for number, (joining, leaving, what, x, y) in enumerate(steps):
        with store.write(ACTOR, NOW) as writer:
            source = original(writer, b"source %d" % (number % 3), f"file-{number % 3}.md")
            writer.add_many([fact(f"text {i}") for i in joining])
            if what == "supersede":
                writer.add(supersession(fact(f"text {x}"), fact(f"text {y}"), writer.at))
            if what == "demote":
                writer.add(demotion(fact(f"text {x}"), writer.at))
            if what == "derive":
                writer.add(derivation(fact(f"text {x}"), source, f"L{y + 1} # Part {y}", writer.at))
            ids = [fact(f"text {i}").id for i in leaving]
            if x == y:
                ids.append(source.id)
            writer.withdraw(writer.ordinals(ids).values())


@settings(max_examples=60, deadline=None)
@given(STEPS, st.integers(1, 5), st.booleans())
def test_what_stays_is_as_it_was_and_follows(steps: Any, keep: int, again: bool) -> None:
    folder = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    try:
        with Store.create(folder / "brain") as store:
            grow(store, steps)
            before = states(store)
            newest = list(before)
            report = prune(store, Keep(snapshots=keep), actor=ACTOR, now=NOW)
            finish(store)
            is_sound(store)
            after = states(store)
            assert len(after) == min(keep, len(before)) and len(before) - report.snapshots == len(
                after
            ) - bool(report.snapshot)
            for digest, held in after.items():
                if digest != report.snapshot:
                    same = {**before[digest], "about": held["about"]}
                    assert held == same
                    assert held["about"] == before[digest]["about"]
            assert list(after)[bool(report.snapshot) :] == newest[: len(after) - bool(report.snapshot)]
            with store.view() as head:
                assert {p.digest for p in all_pruned(head.connection)} == set(before) - set(after)
                if not report.snapshot and report.snapshots == 0:
                    assert head.snapshot is not None and head.snapshot.digest == newest[0]
            if again:
                commit(store, [fact("later"), fact("text 1"), fact("text 2")])
                is_sound(store)
                assert prune(store, Keep(snapshots=keep), actor=ACTOR, now=NOW).of == len(after) + 1
                finish(store)
                is_sound(store)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# --- by example -------------------------------------------------------------------------------------------------


@pytest.fixture
def grown(folder: Path) -> Iterator[Store]:
    """Five snapshots: two files and their passages; one passage superseded; a file and its passages leave."""
    with Store.create(folder / "brain") as store:
        a, b = facts(0, 30), facts(30, 60)
        with store.write(ACTOR, NOW) as writer:
            one = original(writer, b"one " * 300, "one.md")
            two = original(writer, LARGE, "two.bin")
            writer.add_many([*a, *b])
            writer.add_many([derivation(x, one, f"L{i + 1} # One > Part {i % 3}") for i, x in enumerate(a)])
            writer.add_many([derivation(x, two, f"L{i + 1} # Two > Part {i % 3}") for i, x in enumerate(b)])
        commit(store, [supersession(a[0], b[0])])
        commit(store, [], withdraw=[two, *b])
        commit(store, [fact("one more")])
        commit(store, [fact("and another")])
        yield store


def test_the_plan_says_what_goes_and_changes_nothing(grown: Store) -> None:
    before = states(grown)
    with grown.view() as view:
        plan = plan_prune(view, Keep(snapshots=3), NOW)
    assert (plan.snapshots, plan.of, plan.blocks, plan.originals, plan.records) == (3, 5, 31, 1, 2)
    assert plan.original_bytes == len(LARGE) and plan.keep == "keep 3 snapshots"
    assert {m.module: m.blocks for m in plan.modules} == {MemoryType.CANONICAL: 1, MemoryType.SEMANTIC: 30}
    assert states(grown) == before
    done = prune(grown, Keep(snapshots=3), actor=ACTOR, now=NOW)
    assert (done.snapshots, done.blocks, done.originals, done.records) == (3, 31, 1, 2)
    assert done.snapshot is not None


def test_bytes_files_and_space_are_gone_and_the_record_says_which(grown: Store) -> None:
    files = [p for p in (grown.path / "content").rglob("*") if p.is_file()]
    assert len(files) == 1
    lost = [fact(f"Statement number {i} of this brain.").id for i in range(30, 60)]
    prune(grown, Keep(snapshots=1), actor=ACTOR, now=NOW)
    assert grown.to_erase().files == ("content/" + files[0].parent.name + "/" + files[0].name,)
    finish(grown)
    assert not files[0].exists() and not grown.to_erase()
    with grown.view() as view:
        emptied = view.blocks(list(view.ordinals(lost).values()))
        assert len(emptied) == 30 and all(b.data is None for b in emptied)
        assert not view.members(b.n for b in emptied)
        assert view.connection.rows("PRAGMA freelist_count") == [(0,)]
        records = [decode(b.data).payload for b in view.scan([MemoryType.PROVENANCE]) if b.data]
        removals = [p.record for p in records if isinstance(p, Provenance) and isinstance(p.record, Removal)]
        named = {i for r in removals for i in r.blocks}
        assert {r.mechanism.value for r in removals} == {"prune"} and {r.actor.id for r in removals} == {
            ACTOR.id
        }
        assert {format_digest(i) for i in lost} < named and len(named) == 31
        kept = fact("Statement number 3 of this brain.").id
        proof, root = view.prove(kept)
        assert verify_inclusion(proof, root)
    is_sound(grown)
    assert verify(grown.path).orphans == ()


def test_the_space_comes_back(folder: Path) -> None:
    words = random.Random(3)
    with Store.create(folder / "brain") as store:
        many = [fact(words.randbytes(400).hex()) for _ in range(400)]
        with store.write(ACTOR, NOW) as writer:
            source = original(writer, words.randbytes(200_000), "a.bin")
            writer.add_many([*many, *(derivation(x, source) for x in many)])
        commit(store, [fact("x")], withdraw=[source, *many])
        store.compact()
        before = (store.path / "brain.db").stat().st_size
        plan = prune(store, Keep(snapshots=1), actor=ACTOR, now=NOW)
        finish(store)
        freed = before - (store.path / "brain.db").stat().st_size
        assert freed > 0.8 * (plan.original_bytes + sum(m.stored_bytes for m in plan.modules)) > 250_000
        is_sound(store)


def test_a_redacted_block_that_left_still_refuses_its_bytes(folder: Path) -> None:
    from consilience.errors import PolicyError
    from consilience.protocol import Mechanism, record_block

    secret = fact("the code of the gate is 4711")
    with Store.create(folder / "brain") as store:
        commit(store, [secret, fact("x")])
        with store.write(ACTOR, NOW) as writer:
            n = writer.ordinals([secret.id])[secret.id]
            writer.destroy([n], {})
            writer.add(
                record_block(
                    Removal(
                        blocks=(format_digest(secret.id),),
                        mechanism=Mechanism.TOMBSTONE,
                        memory_type=MemoryType.SEMANTIC,
                        actor=ACTOR,
                        at=writer.at,
                        reason="asked for",
                    )
                )
            )
        commit(store, [fact("y")], withdraw=[secret])
        commit(store, [fact("z")])
        report = prune(store, Keep(snapshots=1), actor=ACTOR, now=NOW)
        assert report.snapshots == 3 and report.blocks == 0 and report.snapshot is None
        is_sound(store)
        with pytest.raises(PolicyError):
            commit(store, [secret])


def test_the_oldest_kept_names_a_parent_that_is_known_and_not_here(grown: Store) -> None:
    with grown.view() as view:
        infos = view.history()
        root = next(m.root for m in view.modules() if m.memory_type is MemoryType.SEMANTIC)
    with grown.view(infos[-1].digest) as view:
        old_root = next(m.root for m in view.modules() if m.memory_type is MemoryType.SEMANTIC)
    prune(grown, Keep(snapshots=2), actor=ACTOR, now=NOW)
    report = verify(grown.path)
    assert report.ok and report.truncated == format_digest(infos[1].digest)
    with grown.view() as view:
        assert view.has_snapshot(infos[-1].digest) and not view.has_snapshot(Digest(b"\0" * 32))
        gone = pruned_snapshot(view.connection, infos[-1].digest.hex()[:8])
        assert gone is not None and gone.at == infos[-1].created_at and gone.sound
        found = pruned_root(view.connection, MemoryType.SEMANTIC, old_root)
        assert found is not None and found.digest in {infos[-1].digest, infos[-2].digest}
        assert pruned_root(view.connection, MemoryType.CANONICAL, old_root) is None
        assert pruned_root(view.connection, MemoryType.SEMANTIC, Digest(bytes(reversed(root)))) is None
        assert view.history()[-1].digest == infos[0].digest
    with pytest.raises(NotFoundError), grown.view(infos[-1].digest):
        pass


def test_days_keep_what_was_the_head_at_any_time_of_them(folder: Path) -> None:
    with Store.create(folder / "brain") as store:
        for day in range(6):
            with store.write(ACTOR, NOW + day * DAY) as writer:
                writer.add(fact(f"day {day}"))
        now = NOW + 5.5 * DAY
        with store.view() as view:
            plans = [plan_prune(view, Keep(days=d), now).snapshots for d in (1, 2, 5, 6, 10_000_000)]
            both = plan_prune(view, Keep(days=2, snapshots=1), now).snapshots
            more = plan_prune(view, Keep(days=2, snapshots=5), now).snapshots
        assert plans == [4, 3, 0, 0, 0] and both == 3 and more == 1


@pytest.mark.parametrize("keep", [Keep(), Keep(snapshots=0), Keep(days=0), Keep(days=-1), Keep(snapshots=-3)])
def test_a_rule_that_keeps_nothing_is_refused(grown: Store, keep: Keep) -> None:
    before = states(grown)
    with pytest.raises(UsageError):
        prune(grown, keep, actor=ACTOR, now=NOW)
    assert states(grown) == before


def test_nothing_to_do_writes_nothing(grown: Store) -> None:
    before = states(grown)
    assert prune(grown, Keep(snapshots=5), actor=ACTOR, now=NOW).nothing and states(grown) == before
    with Store.create(grown.path.parent / "empty") as empty:
        assert prune(empty, Keep(snapshots=1), actor=ACTOR, now=NOW).nothing


def test_an_original_that_another_block_names_stays(folder: Path) -> None:
    from consilience.protocol import Canonical, build

    with Store.create(folder / "brain") as store:
        with store.write(ACTOR, NOW) as writer:
            first = original(writer, b"shared bytes", "a.md")
            ref = writer.put_content(b"shared bytes", "text/markdown")
            writer.add(build(Canonical(blob=ref.blob, media_type="text/plain", size=ref.size)))
        commit(store, [fact("x")], withdraw=[first])
        commit(store, [fact("y")])
        report = prune(store, Keep(snapshots=1), actor=ACTOR, now=NOW)
        assert report.blocks == 1 and report.originals == 0
        finish(store)
        is_sound(store)


def test_pruned_bytes_may_come_back(grown: Store) -> None:
    prune(grown, Keep(snapshots=1), actor=ACTOR, now=NOW)
    back = facts(30, 60)
    with grown.write(ACTOR, NOW) as writer:
        source = original(writer, LARGE, "two.bin")
        added = writer.add_many(back)
    assert all(new for _, new in added)
    finish(grown)
    with grown.view() as view:
        assert view.content(Digest(bytes.fromhex(_blob(source)))) == LARGE
        assert len(view.sources([n for n, _ in added])) == 30
    is_sound(grown)


def _blob(block: Any) -> str:
    return str(block.payload.blob)[7:]


def test_a_reader_of_before_sees_what_it_saw(grown: Store) -> None:
    with grown.view() as view:
        oldest = view.history()[-1].digest
    with grown.view(oldest) as old:
        before = state(old)
        prune(grown, Keep(snapshots=1), actor=ACTOR, now=NOW)
        grown.compact()
        assert {k: v for k, v in state(old).items() if k != "content"} == {
            k: v for k, v in before.items() if k != "content"
        }
    finish(grown)
    is_sound(grown)


def test_the_space_waits_for_a_writer_and_says_so(grown: Store) -> None:
    with grown.write(ACTOR, NOW), Store.open(grown.path) as other, pytest.raises(BusyError):
        waits: list[float] = []
        other.compact(waiting=waits.append, timeout_s=0.3)
    assert waits


@pytest.mark.parametrize("column", ["digest", "at", "roots", "seal"])
def test_a_flipped_bit_of_what_is_kept_of_the_pruned_is_found(grown: Store, column: str) -> None:
    prune(grown, Keep(snapshots=2), actor=ACTOR, now=NOW)
    with grown.write(ACTOR, NOW) as writer:
        (value,) = writer.connection.rows(f"SELECT {column} FROM pruned WHERE seq = 2")[0]
        raw = value.encode() if isinstance(value, str) else value
        flipped = bytes([raw[0] ^ 1]) + raw[1:]
        writer.connection.run(
            f"UPDATE pruned SET {column} = ? WHERE seq = 2",
            (flipped.decode() if isinstance(value, str) else flipped,),
        )
    report = verify(grown.path)
    assert not report.ok and {p.what for p in report.problems} == {"snapshot"}


def test_a_missing_row_of_the_pruned_is_found(grown: Store) -> None:
    prune(grown, Keep(snapshots=2), actor=ACTOR, now=NOW)
    with grown.write(ACTOR, NOW) as writer:
        writer.connection.run("DELETE FROM pruned WHERE seq = (SELECT max(seq) FROM pruned)")
    assert not verify(grown.path).ok


KILLED = """
import random, sys, datetime as dt
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from stores import ACTOR, NOW
from consilience.store import Store
from consilience.store.prune import Keep, prune
with Store.open(Path(sys.argv[1])) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    prune(store, Keep(snapshots=2), actor=ACTOR, now=NOW)
    print("pruned", flush=True)
    if todo := store.to_erase():
        store.finish_erasing(todo)
    store.compact()
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_a_kill_at_any_point_leaves_the_one_or_the_other(grown: Store) -> None:
    grown.close()
    support = str(Path(__file__).parents[1] / "support")
    rng = random.Random(5)
    with Store.open(grown.path) as store:
        before = states(store)
    for round_ in range(8):
        copy = grown.path.parent / f"killed-{round_}"
        shutil.copytree(grown.path, copy)
        worker = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(copy), support], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert worker.stdin is not None and worker.stdout is not None
        assert worker.stdout.readline() == b"ready\n"
        worker.stdin.write(b"go\n")
        worker.stdin.flush()
        try:
            worker.wait(rng.random() * 0.06)
        except subprocess.TimeoutExpired:
            worker.send_signal(signal.SIGKILL)
        said = worker.stdout.read()
        worker.wait()
        with Store.open(copy) as store:
            now = states(store)
            kept = {d: s for d, s in now.items() if d in before}
            assert all(
                s["members"] == before[d]["members"] and s["data"] == before[d]["data"]
                for d, s in kept.items()
            )
            assert len(now) in (5, 2) and (b"pruned" not in said or len(now) == 2)
            is_sound(store)
            prune(store, Keep(snapshots=2), actor=ACTOR, now=NOW)
            finish(store)
            is_sound(store)
            assert len(states(store)) == 2 and verify(copy).orphans == ()
            assert not [p for p in (copy / "content").rglob("*") if p.is_file()]
        shutil.rmtree(copy)
