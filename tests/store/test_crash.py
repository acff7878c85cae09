"""A writer killed at any moment, a disk that fills up, writers and readers of several processes."""

from __future__ import annotations

import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from stores import ACTOR, NOW, commit, derivation, fact, facts, original, supersession

from consilience.errors import BusyError, StorageError
from consilience.protocol import MemoryType, sha256
from consilience.store import Store
from consilience.store.connection import Connection
from consilience.store.content import INLINE_LIMIT
from consilience.store.verify import verify

pytestmark = pytest.mark.skipif(os.name != "posix", reason="forks and kills processes")

LARGE = random.Random(1).randbytes(INLINE_LIMIT + 10)


def forked(work: Callable[[], None]) -> int:
    """Run in a child process; its exit status, negative the signal that ended it."""
    child = os.fork()
    if not child:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def second_commit(path: Path) -> None:
    a, b, c = facts(0, 3)
    with Store.open(path) as store, store.write(ACTOR, NOW) as writer:
        source = original(writer, LARGE, "large.pdf")
        writer.add_many([*facts(3, 40), *(derivation(x, source) for x in facts(3, 40))])
        writer.add(supersession(a, b))
        writer.withdraw(writer.ordinals([c.id]).values())


# --- killed -------------------------------------------------------------------------------------------------


class Killer:
    """Stands behind every statement, fsync and rename of a child, and kills it after the chosen one."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.calls = 0

    def step(self) -> None:
        if self.calls == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        self.calls += 1

    def around(self, function: Callable[..., object]) -> Callable[..., object]:
        def stepping(*arguments: object, **named: object) -> object:
            result = function(*arguments, **named)
            self.step()
            return result

        return stepping

    def install(self) -> None:
        for name in ("run", "run_many", "begin_writing"):
            setattr(Connection, name, self.around(getattr(Connection, name)))
        os.fsync = self.around(os.fsync)  # type: ignore[assignment]
        Path.replace = self.around(Path.replace)  # type: ignore[method-assign,assignment]


def test_killed_at_any_moment_leaves_the_old_or_the_new_snapshot(store: Store, folder: Path) -> None:
    commit(store, facts(0, 3))
    store.close()
    seen = set()
    for at in range(1_000):
        path = folder / f"killed{at}"
        shutil.copytree(store.path, path)

        def work(path: Path = path, at: int = at) -> None:
            Killer(at).install()
            second_commit(path)

        status = forked(work)
        report = verify(path)
        assert report.ok, (at, report)
        with Store.open(path) as left, left.view() as view:
            state = view.snapshot.seq if view.snapshot else 0
            assert (state, view.count(MemoryType.SEMANTIC)) in ((1, 3), (2, 39)), at
            assert len(view.hidden([1, 2, 3])) == state - 1
        if status == 0:
            break
        assert status == -signal.SIGKILL
        if at % 7 == 0:
            second_commit(path)
            with Store.open(path) as left, left.view() as view:
                assert view.count(MemoryType.SEMANTIC) == 39 and view.content(sha256(LARGE)) == LARGE
        seen.add(state)
        shutil.rmtree(path)
    assert seen == {1, 2} and 20 < at < 999


def test_an_original_without_its_commit_is_an_orphan_and_no_problem(store: Store) -> None:
    commit(store, [fact("x")])
    with pytest.raises(RuntimeError), store.write(ACTOR, NOW) as writer:
        original(writer, LARGE, "large.pdf")
        raise RuntimeError
    report = verify(store.path)
    assert report.ok and [Path(p).name for p in report.orphans] == [sha256(LARGE).hex()]
    second_commit_of = commit(store, [fact("y")])
    assert second_commit_of.snapshot is not None


def test_an_interrupt_in_the_middle_of_a_commit_releases_the_lock(store: Store) -> None:
    with pytest.raises(KeyboardInterrupt), store.write(ACTOR, NOW) as writer:
        writer.add_many(facts(0, 10))
        raise KeyboardInterrupt
    assert commit(store, facts(0, 2)).max_n == 2


# --- a full disk --------------------------------------------------------------------------------------------


def test_a_full_disk_leaves_the_old_snapshot(store: Store) -> None:
    commit(store, facts(0, 3))
    with pytest.raises(StorageError, match="disk is full"), store.write(ACTOR, NOW) as writer:
        pages = writer.connection.rows("PRAGMA page_count")[0][0]
        writer.connection.rows(f"PRAGMA max_page_count={pages + 2}")
        writer.add_many(facts(3, 5_000))
    assert verify(store.path).ok
    with store.view() as view:
        assert view.max_n == 3 and view.count(MemoryType.SEMANTIC) == 3
    store.close()
    with Store.open(store.path) as again:
        assert commit(again, facts(3, 5_000)).max_n == 5_000


def test_a_caller_that_swallows_the_error_cannot_commit_half(store: Store) -> None:
    commit(store, facts(0, 3))
    with pytest.raises(StorageError), store.write(ACTOR, NOW) as writer:
        writer.add(fact("before"))
        pages = writer.connection.rows("PRAGMA page_count")[0][0]
        writer.connection.rows(f"PRAGMA max_page_count={pages + 2}")
        for _ in range(2):
            with pytest.raises(StorageError):
                writer.add_many(facts(3, 5_000))
    assert writer.snapshot is None
    with store.view() as view:
        assert view.max_n == 3


def test_a_limit_of_the_file_system(store: Store) -> None:
    """A real failed write: the largest size of a file, as the kernel enforces it."""
    import resource

    commit(store, facts(0, 3))
    store.close()

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
        with Store.open(store.path) as limited:
            with pytest.raises(StorageError), limited.write(ACTOR, NOW) as writer:
                writer.add_many(facts(3, 20_000))
            with pytest.raises(StorageError), limited.write(ACTOR, NOW) as writer:
                writer.put_content(LARGE, "application/pdf")

    assert forked(work) == 0
    assert verify(store.path).ok and verify(store.path).orphans == ()
    with Store.open(store.path) as again, again.view() as view:
        assert view.count(MemoryType.SEMANTIC) == 3


# --- several processes --------------------------------------------------------------------------------------


def test_a_second_writer_waits_and_says_so(store: Store) -> None:
    commit(store, facts(0, 1))
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        with Store.open(store.path) as other, other.write(ACTOR, NOW) as writer:
            writer.add(fact("of the other"))
            os.write(ready[1], b"!")
            os.read(go[0], 1)
        os._exit(0)
    os.read(ready[0], 1)
    waits: list[float] = []

    def waiting(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            os.write(go[1], b"!")

    with store.write(ACTOR, NOW, waiting=waiting, timeout_s=60.0) as writer:
        assert writer.count(MemoryType.SEMANTIC) == 2
        writer.add(fact("mine"))
    assert len(waits) >= 3 and waits == sorted(waits) and waits[0] >= 0
    os.waitpid(child, 0)
    with store.view() as view:
        assert view.count(MemoryType.SEMANTIC) == 3 and len(view.history()) == 3


def test_a_writer_gives_up_after_its_time(store: Store) -> None:
    waits: list[float] = []
    with store.write(ACTOR, NOW) as writer:
        writer.add(fact("x"))
        with pytest.raises(BusyError, match="gave up") as raised:
            store.write(ACTOR, NOW, waiting=waits.append, timeout_s=0.1)
        with pytest.raises(BusyError):
            store.write(ACTOR, NOW, timeout_s=0)
        with store.view() as view:
            assert view.snapshot is None
    assert raised.value.retryable and waits
    with store.view() as view:
        assert view.max_n == 1


def test_no_write_is_lost_between_processes(store: Store) -> None:
    def work(worker: int) -> None:
        with Store.open(store.path) as own:
            for i in range(5):
                with own.write(ACTOR, NOW, timeout_s=120.0) as writer:
                    writer.add_many([fact(f"worker {worker} says {i}"), fact(f"all say {i}")])

    children = []
    for worker in range(4):
        child = os.fork()
        if not child:
            status = 1
            try:
                work(worker)
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    with Store.open(store.path) as watching:
        while children:
            pid, status = os.waitpid(children[0], os.WNOHANG)
            if pid:
                assert status == 0
                children.pop(0)
            with watching.view() as view:
                found = sum(1 for _ in view.scan())
                assert found == view.count(MemoryType.SEMANTIC)
    with store.view() as view:
        assert view.count(MemoryType.SEMANTIC) == 25
        assert len(view.history()) == 20 and len({s.created_at for s in view.history()}) == 20
    assert verify(store.path, every_snapshot=True).ok


def test_readers_in_threads_see_whole_snapshots_while_one_writes(store: Store) -> None:
    commit(store, facts(0, 10))
    stop = threading.Event()
    wrong: list[object] = []

    def read() -> None:
        while not stop.is_set():
            with store.view() as view:
                counts = (
                    view.count(MemoryType.SEMANTIC),
                    len(view.sorted_ids(MemoryType.SEMANTIC)),
                    view.max_n,
                )
                if len(set(counts)) != 1 or counts[0] % 10:
                    wrong.append(counts)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(1, 15):
        commit(store, facts(10 * i, 10 * i + 10))
        time.sleep(0.002)
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
