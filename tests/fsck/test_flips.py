"""Every flipped bit in every file of a brain is found, or means nothing, by a list that is computed."""

from __future__ import annotations

import itertools
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from damage import build, files, flip
from sqlite_pages import Pages

from consilience.errors import ConsilienceError
from consilience.store.codec import PACKED, Codec
from consilience.store.verify import verify
from consilience.store.verify_file import HEADER_WITHOUT_MEANING
from consilience.verification import check_derived, verify_brain

FLIPS = 240
SOAKED = 20_000


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("farm"))


@pytest.fixture
def brain(sound: Path, tmp_path: Path) -> Path:
    shutil.copytree(sound, tmp_path / "brain")
    return tmp_path / "brain"


def is_found(brain: Path, file: Path) -> bool:
    if "derived" in file.relative_to(brain).parts:
        return bool(check_derived(brain)[0])
    try:
        return not verify(brain).ok
    except ConsilienceError:
        return True


def values(database: Path) -> object:
    """Everything that brain.db says, decompressed: to tell a flip that compression forgives."""
    raw, codec = sqlite3.connect(database), Codec()
    raw.text_factory = bytes
    raw.create_function(
        "unpacked", 2, lambda enc, data: data if enc == PACKED or data is None else codec.unpack(enc, data)
    )
    try:
        found = {}
        for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            columns = [row[1].decode() for row in raw.execute(f"PRAGMA table_info({name.decode()})")]
            if "enc" in columns:
                columns = [c if c != "data" else "unpacked(enc, data)" for c in columns]
            found[name] = sorted(map(repr, raw.execute(f"SELECT {', '.join(columns)} FROM {name.decode()}")))
        return found
    finally:
        raw.close()


class Meaningless:
    """What a flip may go unnoticed in: bytes of pages that no record uses, two fields of the header, and bits of
    compressed values that decompress to the same bytes."""

    def __init__(self, brain: Path) -> None:
        self._database = brain / "brain.db"
        self._used = Pages(self._database).used
        self._values = values(self._database)

    def forgives(self, file: Path, offset: int) -> bool:
        if file != self._database:
            return False
        if not self._used[offset] or any(offset in span for span in HEADER_WITHOUT_MEANING):
            return True
        return values(self._database) == self._values


def each_flip(brain: Path, count: int, chosen: random.Random) -> None:
    forgiven = Meaningless(brain)
    candidates = list(files(brain))
    for _ in range(count):
        file = chosen.choice(candidates)
        offset, bit = chosen.randrange(file.stat().st_size), chosen.randrange(8)
        flip(file, offset, bit)
        where = (file.relative_to(brain), offset, bit)
        assert is_found(brain, file) or forgiven.forgives(file, offset), where
        for name in ("brain.db", "derived/facets.db", "derived/edges.db"):
            (brain / f"{name}-wal").unlink(missing_ok=True)
            rest = f"{name}-shm"
            (brain / rest).unlink(missing_ok=True)
        flip(file, offset, bit)
    assert verify_brain(brain).ok


def test_a_sound_brain_has_no_damage(brain: Path) -> None:
    report = verify_brain(brain)
    assert report.ok and report.unsummed == () and report.checked.derived_files > 20
    used = Pages(brain / "brain.db").used
    assert 0.2 < sum(used) / len(used) < 1


def test_flipped_bits_of_every_file(brain: Path) -> None:
    each_flip(brain, FLIPS, random.Random(7))


@pytest.mark.soak
def test_flipped_bits_of_every_file_for_long(brain: Path) -> None:
    each_flip(brain, SOAKED, random.Random())


def test_flipped_bits_that_are_used_in_brain_db(brain: Path) -> None:
    """Aimed where it matters: bytes of records and page headers."""
    forgiven = Meaningless(brain)
    database = brain / "brain.db"
    used = [at for at, is_used in enumerate(Pages(database).used) if is_used]
    chosen = random.Random(8)
    unnoticed = 0
    for offset in chosen.sample(used, min(len(used), FLIPS // 2)):
        bit = chosen.randrange(8)
        flip(database, offset, bit)
        if not is_found(brain, database):
            unnoticed += 1
            assert forgiven.forgives(database, offset), (offset, bit)
        for rest in ("brain.db-wal", "brain.db-shm"):
            (brain / rest).unlink(missing_ok=True)
        flip(database, offset, bit)
    assert unnoticed < FLIPS / 20


# --- more than a bit ------------------------------------------------------------------------------------------------

MAY_BE_GONE = {
    "made-from.json",
    "statistics.json",
    "costs.json",
    "facets.json",
    "edges.json",
    "checksums.json",
}
"""Derived files that may be deleted at any moment, beside the trees, and are then made or written again."""


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def cut_by_one(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def lengthened(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"more")


def zeroed(file: Path) -> None:
    file.write_bytes(bytes(file.stat().st_size))


@pytest.mark.parametrize("damage", [cut, cut_by_one, emptied, lengthened, zeroed])
def test_files_cut_lengthened_and_emptied(brain: Path, damage: Callable[[Path], None]) -> None:
    for file in list(files(brain)):
        data = file.read_bytes()
        damage(file)
        torn_tail = damage is lengthened and "vectors" in file.parts and file.name != "meta.json"
        assert is_found(brain, file) or torn_tail, file.relative_to(brain)
        file.write_bytes(data)
    assert verify_brain(brain).ok


def test_deleted_files(brain: Path) -> None:
    for file in list(files(brain)):
        data = file.read_bytes()
        file.unlink()
        may_be_gone = file.name in MAY_BE_GONE or file.parent.name == "merkle"
        assert is_found(brain, file) is not may_be_gone, file.relative_to(brain)
        file.write_bytes(data)
    assert verify_brain(brain).ok


def test_files_in_each_others_place(brain: Path) -> None:
    listed = [f for f in files(brain) if f.name != "brain.db"]
    for one, other in itertools.pairwise(listed):
        a, b = one.read_bytes(), other.read_bytes()
        one.write_bytes(b)
        other.write_bytes(a)
        assert not verify_brain(brain).ok, (one.name, other.name)
        one.write_bytes(a)
        other.write_bytes(b)
    assert verify_brain(brain).ok


def test_files_of_another_brain(brain: Path, tmp_path: Path) -> None:
    other = build(tmp_path / "other", seed=3)
    for part in ("derived/lexical", "derived/vectors", "derived", "content"):
        shutil.move(brain / part, tmp_path / "aside")
        shutil.copytree(other / part, brain / part)
        report = verify_brain(brain)
        assert not report.ok, part
        shutil.rmtree(brain / part)
        shutil.move(tmp_path / "aside", brain / part)
    for name in ("made-from.json", "facets.db", "lexical/state.json"):
        mine = (brain / "derived" / name).read_bytes()
        (brain / "derived" / name).write_bytes((other / "derived" / name).read_bytes())
        assert not verify_brain(brain).ok, name
        (brain / "derived" / name).write_bytes(mine)
    shutil.copyfile(other / "brain.db", brain / "brain.db")
    assert not verify_brain(brain).ok
