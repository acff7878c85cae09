"""Opening what is, and what is not, a brain."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from stores import ACTOR, NOW, commit, fact, facts

from consilience.errors import (
    ActorError,
    BrainNotFoundError,
    ConfigurationError,
    ConflictError,
    ConsilienceError,
    CorruptStoreError,
    NotFoundError,
    StorageError,
    UsageError,
)
from consilience.protocol import Actor, ActorKind, MemoryType, sha256
from consilience.store import Store
from consilience.store.schema import FORMAT

POSIX = pytest.mark.skipif(os.name != "posix", reason="POSIX permissions and signals")


def test_a_new_brain_is_empty_and_has_no_snapshot(folder: Path) -> None:
    with Store.create(folder / "a" / "b") as store, store.view() as view:
        assert view.snapshot is None and view.modules() == () and view.max_n == 0
        assert list(view.scan()) == [] and view.history() == [] and list(view.origins()) == []
        assert view.hidden([1]) == {} and view.sources([1]) == {} and view.registered("x") is None
    assert sorted(p.name for p in (folder / "a" / "b").iterdir()) == ["brain.db"]


def test_creating_twice_is_a_conflict_and_harms_nothing(store: Store) -> None:
    commit(store, [fact("kept")])
    with pytest.raises(ConflictError):
        Store.create(store.path)
    with Store.open(store.path) as again, again.view() as view:
        assert view.count(MemoryType.SEMANTIC) == 1
    assert not [p for p in store.path.iterdir() if p.name.startswith(".")]


def test_two_that_create_at_once_make_one_brain(folder: Path) -> None:
    outcomes: list[object] = []
    barrier = threading.Barrier(4)

    def create() -> None:
        barrier.wait()
        try:
            outcomes.append(Store.create(folder / "brain"))
        except ConsilienceError as error:
            outcomes.append(type(error))

    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count(ConflictError) == 3
    Store.open(folder / "brain").close()


def test_create_beside_other_files(folder: Path) -> None:
    (folder / "notes.md").write_text("mine")
    Store.create(folder).close()
    assert (folder / "notes.md").read_text() == "mine" and Store.exists(folder)


def test_create_where_a_file_is(folder: Path) -> None:
    (folder / "file").write_text("x")
    for path in (folder / "file", folder / "file" / "below"):
        with pytest.raises((BrainNotFoundError, StorageError)):
            Store.create(path)


# --- hostile folders ----------------------------------------------------------------------------------------


def no_folder(path: Path) -> None:
    shutil.rmtree(path)


def a_file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_bytes(b"I am a file")


def an_empty_folder(path: Path) -> None:
    (path / "brain.db").unlink()


def other_files(path: Path) -> None:
    (path / "brain.db").unlink()
    for i in range(9):
        (path / f"page{i}.md").write_text("x")


def a_folder_in_its_place(path: Path) -> None:
    (path / "brain.db").unlink()
    (path / "brain.db").mkdir()


def an_empty_file(path: Path) -> None:
    (path / "brain.db").write_bytes(b"")


def garbage(path: Path) -> None:
    (path / "brain.db").write_bytes(random.Random(1).randbytes(50_000))


def text(path: Path) -> None:
    (path / "brain.db").write_text("not a database\n" * 500)


def a_header_alone(path: Path) -> None:
    (path / "brain.db").write_bytes((path / "brain.db").read_bytes()[:100])


def truncated(path: Path) -> None:
    (path / "brain.db").write_bytes((path / "brain.db").read_bytes()[:9_000])


def another_application(path: Path) -> None:
    (path / "brain.db").unlink()
    with sqlite3.connect(path / "brain.db") as raw:
        raw.execute("CREATE TABLE songs (title)")
    raw.close()


def a_newer_version(path: Path) -> None:
    with sqlite3.connect(path / "brain.db") as raw:
        raw.execute(f"PRAGMA user_version={FORMAT + 1}")
    raw.close()


def an_older_version(path: Path) -> None:
    with sqlite3.connect(path / "brain.db") as raw:
        raw.execute("PRAGMA user_version=1")


def no_version(path: Path) -> None:
    with sqlite3.connect(path / "brain.db") as raw:
        raw.execute("PRAGMA user_version=0")
    raw.close()


@pytest.mark.parametrize(
    ("spoil", "error", "says"),
    [
        (no_folder, BrainNotFoundError, "no such folder"),
        (a_file, BrainNotFoundError, "a file, not a brain's folder"),
        (an_empty_folder, BrainNotFoundError, "but nothing"),
        (other_files, BrainNotFoundError, "page0.md, page1.md, page2.md, page3.md, page4.md and 4 more"),
        (a_folder_in_its_place, BrainNotFoundError, "is not a file"),
        (an_empty_file, CorruptStoreError, "is empty"),
        (garbage, CorruptStoreError, "damaged"),
        (text, CorruptStoreError, "damaged"),
        (a_header_alone, CorruptStoreError, "damaged"),
        (truncated, CorruptStoreError, "damaged"),
        (another_application, BrainNotFoundError, "another application"),
        (a_newer_version, ConfigurationError, "newer version"),
        (an_older_version, ConfigurationError, "older version"),
        (no_version, CorruptStoreError, "format 0"),
    ],
)
def test_what_is_not_a_brain_is_named(
    store: Store, spoil: Callable[[Path], None], error: type[ConsilienceError], says: str
) -> None:
    commit(store, facts(0, 100))
    store.close()
    shutil.rmtree(store.path / "derived")
    spoil(store.path)
    with pytest.raises(error, match=says) as raised:
        Store.open(store.path)
    assert type(raised.value) is error
    assert raised.value.hint


def test_a_store_open_meanwhile_says_so_too(store: Store) -> None:
    commit(store, [fact("x")])
    shutil.rmtree(store.path)
    with pytest.raises(BrainNotFoundError):
        store.view()
    with pytest.raises(BrainNotFoundError):
        store.write(ACTOR, NOW)


@POSIX
def test_a_commit_into_a_folder_that_is_gone_is_not_reported_as_done(store: Store) -> None:
    commit(store, [fact("x")])
    with pytest.raises(StorageError), store.write(ACTOR, NOW) as writer:
        writer.add(fact("y"))
        shutil.rmtree(store.path)
    assert writer.snapshot is None and not store.path.exists()
    with pytest.raises(StorageError), Store.create(store.path).write(ACTOR, NOW) as writer:
        writer.add(fact("y"))
        shutil.rmtree(store.path)
        Store.create(store.path).close()
    with Store.open(store.path) as opened, opened.view() as view:
        assert view.snapshot is None


def test_a_brain_made_anew_in_its_place_is_what_the_next_view_sees(store: Store) -> None:
    commit(store, [fact("old"), fact("older")])
    shutil.rmtree(store.path)
    with Store.create(store.path) as other:
        commit(other, [fact("new")])
    with store.view() as view:
        assert view.count(MemoryType.SEMANTIC) == 1
    assert commit(store, [fact("newer")]).max_n == 2


def test_tables_that_are_gone_are_damage(store: Store) -> None:
    store.close()
    with sqlite3.connect(store.path / "brain.db") as raw:
        raw.execute("DROP TABLE snapshots")
    raw.close()
    with Store.open(store.path) as opened:
        with pytest.raises(CorruptStoreError):
            opened.view()
        with pytest.raises(CorruptStoreError):
            opened.write(ACTOR, NOW)


@pytest.mark.parametrize("column", ["document", "actor"])
def test_a_damaged_snapshot_row_is_damage(store: Store, column: str) -> None:
    commit(store, [fact("x")])
    raw = store._writing_connection()
    raw.run(f"UPDATE snapshots SET {column} = ?", (b"{}",))
    raw.close()
    with pytest.raises(CorruptStoreError):
        store.view()


@pytest.mark.parametrize("name", ["with space", "what?#%20", "ñandú", "a'b\"c", "-rf"])
def test_names_that_a_uri_would_misread(folder: Path, name: str) -> None:
    with Store.create(folder / name) as store:
        commit(store, [fact("x")])
    with Store.open(folder / name) as store, store.view() as view:
        assert view.count(MemoryType.SEMANTIC) == 1
    assert [p.name for p in folder.iterdir()] == [name]


def test_no_such_snapshot(store: Store) -> None:
    commit(store, [fact("x")])
    with pytest.raises(NotFoundError):
        store.view(sha256(b"never"))
    with store.view() as view:
        assert view.max_n == 1


# --- closed things ------------------------------------------------------------------------------------------


def test_closed_views_writers_and_stores_say_so(store: Store) -> None:
    view = store.view()
    rest = view.scan()
    view.close()
    view.close()
    with pytest.raises(UsageError):
        view.blocks([1])
    with pytest.raises(UsageError):
        next(rest)
    with store.write(ACTOR, NOW) as writer:
        writer.add(fact("x"))
    with pytest.raises(UsageError):
        writer.add(fact("y"))
    store.close()
    store.close()
    with pytest.raises(UsageError):
        store.view()
    with pytest.raises(UsageError):
        store.write(ACTOR, NOW)


def test_a_view_outlives_its_store(store: Store) -> None:
    commit(store, [fact("x")])
    with store.view() as view:
        store.close()
        assert view.count(MemoryType.SEMANTIC) == 1 and len(view.blocks([1])) == 1


def test_writes_name_an_actor_and_respect_read_only(store: Store) -> None:
    with pytest.raises(ActorError):
        store.write(Actor(id="Ana", kind=ActorKind.HUMAN), NOW)
    with Store.open(store.path, read_only=True) as reader:
        with pytest.raises(UsageError, match="reading only"):
            reader.write(ACTOR, NOW)
        with reader.view() as view:
            assert view.snapshot is None


def test_views_cannot_write(store: Store) -> None:
    commit(store, [fact("x")])
    with store.view() as view:
        with pytest.raises(StorageError):
            view.connection.run("DELETE FROM blocks")
        assert view.count(MemoryType.SEMANTIC) == 1


# --- read-only media ----------------------------------------------------------------------------------------


@pytest.fixture
def guest() -> Iterator[Callable[[], None]]:
    """A call after which this process has no rights on others' files, until the test ends."""
    if os.name != "posix":
        pytest.skip("POSIX permissions")
    before = os.geteuid()

    def become() -> None:
        if before == 0:
            os.seteuid(65534)

    yield become
    os.seteuid(before)


@pytest.fixture
def shared() -> Iterator[Path]:
    """A brain's folder that everybody can reach."""
    made = Path(tempfile.mkdtemp(prefix="csl-"))
    made.chmod(0o755)
    with Store.create(made / "brain") as store:
        commit(store, facts(0, 3))
    yield made / "brain"
    (made / "brain").chmod(0o755)
    shutil.rmtree(made)


def lock_up(path: Path) -> None:
    for file in path.iterdir():
        file.chmod(0o444)
    path.chmod(0o555)


def killed_after_commit(path: Path) -> None:
    """A commit by a process that is killed before SQLite moves it from the log into the database."""
    child = os.fork()
    if not child:
        commit(Store.open(path), facts(3, 5))
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)


def test_a_read_only_folder_opens_for_reading(shared: Path, guest: Callable[[], None]) -> None:
    lock_up(shared)
    guest()
    with Store.open(shared) as store:
        for _ in range(2):
            with store.view() as view:
                assert view.count(MemoryType.SEMANTIC) == 3 and all(b.intact for b in view.blocks([1, 2, 3]))
        with pytest.raises(StorageError):
            store.write(ACTOR, NOW)
    assert sorted(p.name for p in shared.iterdir()) == ["brain.db", "derived"]


def test_a_read_only_file_in_a_folder_that_is_not(shared: Path, guest: Callable[[], None]) -> None:
    (shared / "brain.db").chmod(0o444)
    shared.chmod(0o777)
    guest()
    with Store.open(shared) as store:
        with store.view() as view:
            assert view.count(MemoryType.SEMANTIC) == 3
        with pytest.raises(StorageError):
            store.write(ACTOR, NOW)


def test_the_log_of_a_killed_writer_is_read_even_read_only(shared: Path, guest: Callable[[], None]) -> None:
    killed_after_commit(shared)
    assert {p.name for p in shared.iterdir()} >= {"brain.db-shm", "brain.db-wal"}
    lock_up(shared)
    guest()
    with Store.open(shared) as store, store.view() as view:
        assert view.count(MemoryType.SEMANTIC) == 5


def test_a_log_that_cannot_be_read_is_never_ignored(shared: Path, guest: Callable[[], None]) -> None:
    killed_after_commit(shared)
    (shared / "brain.db-shm").unlink()
    lock_up(shared)
    guest()
    with pytest.raises(StorageError, match="commits that are not in"):
        Store.open(shared)


def test_an_unreadable_folder(shared: Path, guest: Callable[[], None]) -> None:
    shared.chmod(0o000)
    guest()
    with pytest.raises(StorageError, match="denied"):
        Store.open(shared)
    assert Store.exists(shared) is False


def test_an_unreadable_file(shared: Path, guest: Callable[[], None]) -> None:
    (shared / "brain.db").chmod(0o000)
    guest()
    with pytest.raises(StorageError):
        Store.open(shared)


@POSIX
def test_what_a_killed_writer_leaves_is_recovered(store: Store) -> None:
    killed_after_commit(store.path)
    with Store.open(store.path) as opened, opened.view() as view:
        assert view.count(MemoryType.SEMANTIC) == 2
    store.close()
    assert sorted(p.name for p in store.path.iterdir()) == ["brain.db", "derived"]
