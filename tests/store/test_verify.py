"""Damage, single bits of it included, is found and reported, never raised."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from stores import ACTOR, NOW, commit, demotion, derivation, fact, facts, original, registration, supersession

from consilience.errors import BrainNotFoundError, ConsilienceError, CorruptStoreError
from consilience.protocol import MemoryType, format_digest, sha256
from consilience.store import Store
from consilience.store.codec import PACKED, Codec
from consilience.store.content import INLINE_LIMIT
from consilience.store.verify import VerifyReport, verify

LARGE = random.Random(1).randbytes(INLINE_LIMIT + 10)


def build(path: Path) -> None:
    """A small brain with one of everything, cleanly closed."""
    a, b, c = facts(0, 3)
    many = facts(10, 40)
    with Store.create(path) as store:
        with store.write(ACTOR, NOW) as writer:
            source = original(writer, b"All about wells. " * 400, "docs/wells.md")
            original(writer, LARGE, "docs/large.pdf")
            writer.add_many([a, b, c, *many])
            writer.add_many([derivation(x, source, f"L{i} # Wells") for i, x in enumerate((a, b, c, *many))])
        commit(store, [supersession(b, a), demotion(c), derivation(a, fact("not here"))])
        commit(store, [fact("more")], withdraw=[c, many[0]])
        commit(store, [c, registration(c, "copy.md", "2026-04-01T00:00:00Z")])


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "brain"
    build(path)
    return path


@pytest.fixture
def brain(sound: Path, folder: Path) -> Path:
    shutil.copytree(sound, folder / "copy")
    return folder / "copy"


def test_a_sound_brain(sound: Path) -> None:
    for every in (False, True):
        report = verify(sound, every_snapshot=every)
        assert report.ok and report.problems == () and report.orphans == () and report.more == 0
    assert report.checked.blocks == 75 and report.checked.records == 39
    assert (report.checked.snapshots, report.checked.contents, report.checked.modules) == (4, 2, 12)
    with Store.open(sound) as store, store.view() as view:
        assert verify(view).ok


def test_progress_is_told(sound: Path) -> None:
    class Listening:
        def __init__(self) -> None:
            self.phases: list[tuple[str, int | None]] = []
            self.done: list[int] = []

        def start(self, label: str, total: int | None = None, unit: str = "items") -> None:
            self.phases.append((label, total))
            self.done.append(0)

        def advance(self, n: int = 1) -> None:
            self.done[-1] += n

        def note(self, text: str) -> None: ...

        def close(self) -> None: ...

    listening = Listening()
    verify(sound, listening)
    assert listening.phases == [("blocks", 75), ("originals", 2)] and listening.done == [75, 2]


def test_an_empty_brain_is_sound(store: Store) -> None:
    report = verify(store.path)
    assert report.ok and report.checked.blocks == 0


def test_nothing_to_verify(folder: Path) -> None:
    with pytest.raises(BrainNotFoundError):
        verify(folder / "none")


# --- one kind of damage each --------------------------------------------------------------------------------


def sql(path: Path, statement: str, *parameters: object) -> None:
    with sqlite3.connect(path / "brain.db") as raw:
        raw.execute(statement, parameters)
    raw.close()


def stored(path: Path, statement: str) -> Any:
    raw = sqlite3.connect(path / "brain.db")
    try:
        return raw.execute(statement).fetchone()[0]
    finally:
        raw.close()


def content_file(path: Path) -> Path:
    (file,) = [p for p in (path / "content").rglob("*") if p.is_file()]
    return file


DAMAGE: dict[str, tuple[str, Callable[[Path], object]]] = {
    "block bytes": ("block", lambda p: sql(p, "UPDATE blocks SET data = substr(data, 2) WHERE n = 6")),
    "block bytes of another": (
        "block",
        lambda p: sql(p, "UPDATE blocks SET data = (SELECT data FROM blocks WHERE n = 7) WHERE n = 6"),
    ),
    "block bytes gone": ("block", lambda p: sql(p, "UPDATE blocks SET data = NULL WHERE n = 6")),
    "block encoding": ("block", lambda p: sql(p, "UPDATE blocks SET enc = 9 WHERE n = 6")),
    "block of another module": ("block", lambda p: sql(p, "UPDATE blocks SET type = 1 WHERE n = 6")),
    "block of no module": ("block", lambda p: sql(p, "UPDATE blocks SET type = 77 WHERE n = 6")),
    "block id": ("block", lambda p: sql(p, "UPDATE blocks SET id = zeroblob(32) WHERE n = 6")),
    "block id of another type": ("block", lambda p: sql(p, "UPDATE blocks SET id = 'text' WHERE n = 6")),
    "block twice": (
        "block",
        lambda p: sql(p, "UPDATE blocks SET id = (SELECT id FROM blocks WHERE n = 7) WHERE n = 6"),
    ),
    "packed record of another": (
        "block",
        lambda p: sql(p, "UPDATE blocks SET data = (SELECT data FROM blocks WHERE n = 45) WHERE n = 44"),
    ),
    "packed record of no record": ("block", lambda p: sql(p, "UPDATE blocks SET enc = 3 WHERE n = 6")),
    "packed record of far away": (
        "block",
        lambda p: sql(p, "UPDATE blocks SET data = x'9501d380000000000000019102039200' WHERE n = 44"),
    ),
    "packed record without bytes": ("block", lambda p: sql(p, "UPDATE blocks SET data = NULL WHERE n = 44")),
    "packed record named as text": ("block", lambda p: sql(p, "UPDATE blocks SET data = 'x' WHERE n = 44")),
    "packed locator in the ledger": (
        "ledger",
        lambda p: sql(p, "UPDATE derivation SET locator = 'L0 # Wells' WHERE record_n = 44"),
    ),
    "fragment": ("block", lambda p: sql(p, "UPDATE fragment SET data = substr(data, 2) WHERE n = 2")),
    "fragment gone": ("block", lambda p: sql(p, "DELETE FROM fragment WHERE n = 1")),
    "fragment of another type": ("block", lambda p: sql(p, "UPDATE fragment SET data = 7 WHERE n = 2")),
    "fragment too many": ("block", lambda p: sql(p, "INSERT INTO fragment VALUES (99, 0, x'00')")),
    "block gone": ("module", lambda p: sql(p, "DELETE FROM blocks WHERE n = 6")),
    "block too many": (
        "module",
        lambda p: sql(p, "INSERT INTO blocks VALUES (76, zeroblob(32), 2, 1, NULL, 0, x'00')"),
    ),
    "joined earlier": ("module", lambda p: sql(p, "UPDATE blocks SET entered = 2 WHERE n = 6")),
    "joined in the future": ("membership", lambda p: sql(p, "UPDATE blocks SET entered = 9 WHERE n = 6")),
    "joined never": ("membership", lambda p: sql(p, "UPDATE blocks SET entered = 'x' WHERE n = 6")),
    "left": ("module", lambda p: sql(p, "UPDATE blocks SET departed = 4 WHERE n = 6")),
    "left before it joined": ("membership", lambda p: sql(p, "UPDATE blocks SET departed = 0 WHERE n = 6")),
    "interval gone": ("module", lambda p: sql(p, "DELETE FROM earlier")),
    "interval overlapping": ("membership", lambda p: sql(p, "UPDATE earlier SET departed = 4, entered = 5")),
    "interval of nothing": ("membership", lambda p: sql(p, "INSERT INTO earlier VALUES (999, 1, 2)")),
    "snapshot gone": ("snapshot", lambda p: sql(p, "DELETE FROM snapshots WHERE seq = 2")),
    "head gone": ("membership", lambda p: sql(p, "DELETE FROM snapshots WHERE seq = 4")),
    "snapshot digest": ("snapshot", lambda p: sql(p, "UPDATE snapshots SET digest = x'00' WHERE seq = 2")),
    "snapshot document": (
        "snapshot",
        lambda p: sql(p, "UPDATE snapshots SET document = replace(document, '12:00', '13:00') WHERE seq = 2"),
    ),
    "snapshot actor": (
        "snapshot",
        lambda p: sql(p, "UPDATE snapshots SET actor = replace(actor, 'ana', 'eva') WHERE seq = 2"),
    ),
    "snapshot ordinals": ("ordinals", lambda p: sql(p, "UPDATE snapshots SET max_n = 69 WHERE seq = 1")),
    "derivation gone": ("ledger", lambda p: sql(p, "DELETE FROM derivation WHERE block_n = 6")),
    "derivation locator": (
        "ledger",
        lambda p: sql(p, "UPDATE derivation SET locator = 'L9' WHERE block_n = 6"),
    ),
    "derivation of no record": ("ledger", lambda p: sql(p, "INSERT INTO derivation VALUES (6, 7, 1, NULL)")),
    "derivation after all": ("ledger", lambda p: sql(p, "INSERT INTO derivation VALUES (6, 999, 1, NULL)")),
    "registration": ("ledger", lambda p: sql(p, "UPDATE registration SET origin = 'x' WHERE block_n = 1")),
    "hiding": ("ledger", lambda p: sql(p, "DELETE FROM hiding WHERE by_n IS NULL")),
    "mention": ("ledger", lambda p: sql(p, "INSERT INTO mention VALUES (1, 2)")),
    "absent": ("ledger", lambda p: sql(p, "UPDATE absent SET id = zeroblob(32)")),
    "absent too many": ("ledger", lambda p: sql(p, "INSERT INTO absent VALUES (-7, zeroblob(32))")),
    "original": ("content", lambda p: sql(p, "UPDATE content SET data = zeroblob(40) WHERE data NOT NULL")),
    "original of another size": (
        "content",
        lambda p: sql(p, "UPDATE content SET size = 5 WHERE data NOT NULL"),
    ),
    "original gone": ("content", lambda p: sql(p, "DELETE FROM content WHERE data NOT NULL")),
    "file": ("content", lambda p: content_file(p).write_bytes(LARGE[:-1])),
    "file gone": ("content", lambda p: content_file(p).unlink()),
    "index dropped": ("schema", lambda p: sql(p, "DROP INDEX departed")),
    "table too many": ("schema", lambda p: sql(p, "CREATE TABLE more (x)")),
    "application": ("database", lambda p: sql(p, "PRAGMA application_id=7")),
    "cut short": ("database", lambda p: (p / "brain.db").write_bytes((p / "brain.db").read_bytes()[:20_000])),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_each_kind_of_damage_is_reported(brain: Path, name: str) -> None:
    what, damage = DAMAGE[name]
    damage(brain)
    report = verify(brain)
    assert what in {p.what for p in report.problems}, report


def test_a_problem_names_its_block(brain: Path) -> None:
    block_id = stored(brain, "SELECT id FROM blocks WHERE n = 6")
    sql(brain, "UPDATE blocks SET data = x'00' WHERE n = 6")
    (problem,) = verify(brain).problems
    assert problem.block_id == format_digest(block_id) and problem.module is MemoryType.SEMANTIC


def test_an_interval_moved_in_the_past_is_found_when_all_snapshots_are_recomputed(brain: Path) -> None:
    """Two blocks that swap their intervals leave every count as it was; only older roots tell."""
    late = stored(brain, "SELECT n FROM blocks WHERE entered = 3 AND type = 2")
    sql(brain, "UPDATE blocks SET entered = 3 WHERE n = 6")
    sql(brain, "UPDATE blocks SET entered = 1 WHERE n = ?", late)
    assert "module" in {p.what for p in verify(brain, every_snapshot=True).problems}


def test_problems_are_counted_beyond_the_first_thousand(store: Store) -> None:
    commit(store, facts(0, 1_300))
    store.close()
    sql(store.path, "UPDATE blocks SET data = x'00'")
    report = verify(store.path)
    assert len(report.problems) == 1_000 and report.more == 300


# --- single bits --------------------------------------------------------------------------------------------


def meaning(path: Path) -> object:
    """Everything that a brain.db says: identity, definitions, and every value of every row, unpacked."""
    raw, codec = sqlite3.connect(path / "brain.db"), Codec()
    raw.text_factory = bytes
    raw.create_function(
        "unpacked", 2, lambda enc, data: data if enc == PACKED or data is None else codec.unpack(enc, data)
    )
    try:
        tables = raw.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name").fetchall()
        rows = {}
        for name in (name.decode() for kind, name, *_ in tables if kind == b"table"):
            columns = {
                "blocks": "n, id, type, entered, departed, enc, unpacked(enc, data)",
                "fragment": "n, enc, unpacked(enc, data)",
                "content": "digest, size, enc, unpacked(enc, data)",
            }.get(name, "*")
            rows[name] = sorted(map(repr, raw.execute(f"SELECT {columns} FROM {name}")))
        identity = [raw.execute(f"PRAGMA {p}").fetchall() for p in ("application_id", "user_version")]
        return tables, rows, identity
    finally:
        raw.close()


def looked_at(path: Path) -> VerifyReport:
    try:
        return verify(path)
    except ConsilienceError as error:
        pytest.fail(f"verify raised {error!r}")


def test_every_flipped_bit_of_the_database_is_reported_or_means_nothing(sound: Path, folder: Path) -> None:
    """Unreported flips are allowed only where not one value that is read from the file differs: free space inside
    pages, header fields that SQLite rewrites or ignores, and a compressed bit that decodes to the same bytes."""
    shutil.copytree(sound, folder / "brain")
    path = folder / "brain" / "brain.db"
    data = path.read_bytes()
    assert not (folder / "brain" / "brain.db-wal").exists()
    before = meaning(folder / "brain")
    chosen = random.Random(20)
    used = [i for i in range(108, len(data)) if data[i]]
    offsets = [*range(16, 108, 3), *chosen.sample(used, 150), *chosen.sample(range(108, len(data)), 30)]
    unreported = 0
    for offset in offsets:
        for rest in ("brain.db-wal", "brain.db-shm"):
            (folder / "brain" / rest).unlink(missing_ok=True)
        flipped = data[offset] ^ (1 << chosen.randrange(8))
        path.write_bytes(data[:offset] + bytes([flipped]) + data[offset + 1 :])
        if looked_at(folder / "brain").ok:
            unreported += 1
            assert meaning(folder / "brain") == before, f"offset {offset}: {data[offset]} became {flipped}"
    assert unreported < len(offsets) / 2


def test_every_flipped_bit_of_a_stored_value_is_reported(sound: Path, folder: Path) -> None:
    """The same, aimed: bytes inside values that stand in the file as they are."""
    shutil.copytree(sound, folder / "brain")
    path = folder / "brain" / "brain.db"
    data = path.read_bytes()
    chosen = random.Random(21)
    values = [
        *(row[0] for row in sqlite3.connect(path).execute("SELECT id FROM blocks WHERE n % 9 = 0")),
        *(row[0] for row in sqlite3.connect(path).execute("SELECT data FROM blocks WHERE n % 9 = 4")),
        *(row[0] for row in sqlite3.connect(path).execute("SELECT digest FROM snapshots")),
        *(row[0] for row in sqlite3.connect(path).execute("SELECT actor FROM snapshots")),
        *(row[0] for row in sqlite3.connect(path).execute("SELECT digest FROM content")),
        b"docs/wells.md",
        *(
            row[0]
            for row in sqlite3.connect(path).execute("SELECT data FROM blocks WHERE enc = 3 AND n % 9 = 5")
        ),
        *(row[0] for row in sqlite3.connect(path).execute("SELECT data FROM fragment")),
        b'"block_count":',
    ]
    for value in values:
        at = data.find(value)
        assert at > 0
        while at >= 0:
            offset = at + chosen.randrange(len(value))
            path.write_bytes(data[:offset] + bytes([data[offset] ^ 1]) + data[offset + 1 :])
            assert not looked_at(folder / "brain").ok, (value, offset)
            at = data.find(value, at + 1)


def test_every_flipped_bit_of_an_original_is_reported(sound: Path, folder: Path) -> None:
    shutil.copytree(sound, folder / "brain")
    path = content_file(folder / "brain")
    data = path.read_bytes()
    for offset in random.Random(22).sample(range(len(data)), 10):
        path.write_bytes(data[:offset] + bytes([data[offset] ^ 4]) + data[offset + 1 :])
        assert [p.what for p in looked_at(folder / "brain").problems] == ["content"]
    path.write_bytes(data)
    assert verify(folder / "brain").ok and sha256(data) == sha256(LARGE)


def test_blocks_out_of_order_end_the_walk(brain: Path) -> None:
    """A damaged ordinal that is smaller than the one before it must not send a reader round in a circle."""
    last, block_id = (
        stored(brain, "SELECT max(n) FROM blocks"),
        stored(brain, "SELECT id FROM blocks ORDER BY n DESC LIMIT 1"),
    )
    data = bytearray((brain / "brain.db").read_bytes())
    record = next(
        at
        for at in range(data.find(block_id) - 12, len(data))
        if data[at] == last
        and data[at + 1] in range(7, 11)
        and data[at + 1 + data[at + 1] :].startswith(block_id)
    )
    data[record] = 1
    (brain / "brain.db").write_bytes(data)
    assert "block" in {p.what for p in verify(brain).problems}
    with Store.open(brain) as store, store.view() as view, pytest.raises(CorruptStoreError):
        list(view.scan())


def test_pages_of_zeros_and_noise(sound: Path, folder: Path) -> None:
    """Whole pages, as a failing disk loses them. The other pages are still looked at."""
    shutil.copytree(sound, folder / "brain")
    path = folder / "brain" / "brain.db"
    data = path.read_bytes()
    for page in range(len(data) // 4096):
        for filler in (bytes(4096), random.Random(page).randbytes(4096)):
            path.write_bytes(data[: page * 4096] + filler + data[(page + 1) * 4096 :])
            assert not looked_at(folder / "brain").ok, page
