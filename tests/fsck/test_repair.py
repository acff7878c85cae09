"""Each kind of derived state: damaged, still answered without, named, rebuilt, and as it was before."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from damage import QUESTION, answer, build, files, flip, ingest, opened

from consilience.index.checksums import SUM_ROWS
from consilience.store.content import INLINE_LIMIT
from consilience.verification import verify_brain


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("farm"))


@pytest.fixture
def farm(sound: Path, tmp_path: Path) -> Path:
    shutil.copytree(sound.parent, tmp_path / "farm")
    return tmp_path / "farm"


@pytest.fixture
def brain(farm: Path) -> Path:
    return farm / "brain"


def middle(file: Path) -> None:
    flip(file, file.stat().st_size // 2, 3)


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def one(brain: Path, pattern: str) -> Path:
    return next(iter(sorted((brain / "derived").glob(pattern))))


KINDS = {
    "lexical": "lexical/engine/*.term",
    "facets": "facets.db",
    "relations": "edges.db",
    "vectors": "vectors/*/codes.*",
    "statistics": "statistics.json",
    "costs": "costs.json",
    "made-from": "made-from.json",
    "tree": "merkle/semantic-*",
}


@pytest.mark.parametrize("damage", [middle, emptied])
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_named_rebuilt(brain: Path, kind: str, damage: Callable[[Path], None]) -> None:
    before = answer(brain)
    for file in sorted((brain / "derived").glob(KINDS[kind])):
        damage(file)
    hit = answer(brain)
    assert {block for block, _, _ in hit} and all(root == before[0][1] for _, root, _ in hit)
    found = verify_brain(brain).problems
    assert {p.what for p in found} == {kind} and all(p.derived and p.file for p in found)
    with opened(brain) as handle:
        report = handle.repair()
    assert report.ok and report.before.problems == found and report.done
    assert report.asked is not None and report.asked.found
    assert answer(brain) == before and verify_brain(brain).ok


def test_a_sound_brain_is_left_as_it_is(brain: Path) -> None:
    before = {file: file.read_bytes() for file in files(brain)}
    with opened(brain) as handle:
        report = handle.repair()
    assert report.ok and report.done == () and report.asked is not None and report.asked.found
    assert {file: file.read_bytes() for file in files(brain)} == before


def test_everything_derived_at_once_and_a_handle_that_was_open(brain: Path) -> None:
    before = answer(brain)
    with opened(brain) as handle:
        handle.search(QUESTION)
        for pattern in KINDS.values():
            for file in sorted((brain / "derived").glob(pattern)):
                middle(file)
        assert handle.repair().ok
        assert [m.block_id for m in handle.search(QUESTION).matches] == [block for block, _, _ in before]
    assert answer(brain) == before


def test_sound_rows_of_damaged_vectors_are_not_embedded_again(
    brain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from consilience.embed import hashed

    assert SUM_ROWS == 4096
    for module in ("checksums", "vector_files", "vector_writer"):
        monkeypatch.setattr(f"consilience.index.{module}.SUM_ROWS", 8, raising=False)
    shutil.rmtree(brain / "derived" / "vectors")
    with opened(brain) as handle:
        handle.index()
    embedded: list[str] = []
    model = next(v for v in vars(hashed).values() if isinstance(v, type) and hasattr(v, "embed"))
    plain = model.embed

    def listening(self: object, texts: list[str], *, role: str) -> object:
        embedded.extend(texts if role == "passage" else ())
        return plain(self, texts, role=role)

    monkeypatch.setattr(model, "embed", listening)
    flip(one(brain, "vectors/*/codes.*"), 256 * 9, 1)
    assert [p.detail for p in verify_brain(brain).problems] == ["the checksums of rows 8 to 15 do not hold"]
    with opened(brain) as handle:
        assert handle.repair().ok
    assert 0 < len(embedded) <= 8


def test_a_killed_writer_leaves_no_checksums_and_the_next_writes_them(brain: Path) -> None:
    for name in ("lexical/checksums.json", "facets.json"):
        (brain / "derived" / name).unlink()
    report = verify_brain(brain)
    assert report.ok and set(report.unsummed) == {"lexical", "facets"}
    file = one(brain, "lexical/engine/*.idx")
    middle(file)
    assert [p.what for p in verify_brain(brain).problems] == ["lexical"]
    middle(file)
    with opened(brain) as handle:
        handle.index()
    assert verify_brain(brain).unsummed == ()


# --- the truth ------------------------------------------------------------------------------------------------------


def sql(brain: Path, statement: str) -> None:
    with sqlite3.connect(brain / "brain.db") as raw:
        raw.execute(statement)
    raw.close()


def dump(brain: Path) -> dict[str, list[str]]:
    raw = sqlite3.connect(brain / "brain.db")
    try:
        tables = [row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: sorted(map(repr, raw.execute(f"SELECT * FROM {table}"))) for table in tables}
    finally:
        raw.close()


PROVABLE = {
    "derivation": "DELETE FROM derivation WHERE record_n % 3 = 0",
    "registration": "UPDATE registration SET origin = 'elsewhere.md'",
    "hiding": "DELETE FROM hiding",
    "mention": "INSERT INTO mention VALUES (1, 2)",
    "a row of no record": "INSERT INTO derivation VALUES (1, 999, 2, NULL)",
    "ordinals": "UPDATE snapshots SET max_n = max_n - 1 WHERE seq = 1",
}


@pytest.mark.parametrize("name", PROVABLE)
def test_what_follows_from_the_records_is_written_anew(brain: Path, name: str) -> None:
    before = dump(brain)
    sql(brain, PROVABLE[name])
    assert not verify_brain(brain).ok
    with opened(brain) as handle:
        report = handle.repair()
    assert report.ok and report.done, report
    assert dump(brain) == before


def test_an_index_of_the_database_is_made_anew(brain: Path) -> None:
    raw = sqlite3.connect(brain / "brain.db")
    raw.execute("PRAGMA writable_schema=ON")
    (root,) = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = 'registration_origin'").fetchone()
    raw.close()
    data = bytearray((brain / "brain.db").read_bytes())
    page = (root - 1) * 4096
    at = data.index(b"docs/", page, page + 4096)
    data[at] ^= 1
    (brain / "brain.db").write_bytes(data)
    assert "database" in {p.what for p in verify_brain(brain).problems}
    with opened(brain) as handle:
        assert handle.repair().ok


UNPROVABLE = {
    "block": "UPDATE blocks SET data = substr(data, 2) WHERE n = 12",
    "snapshot": "UPDATE snapshots SET actor = replace(actor, 'ana', 'eva')",
    "module": "UPDATE blocks SET departed = 2 WHERE n = 12",
}


@pytest.mark.parametrize("what", UNPROVABLE)
def test_what_follows_from_nothing_stays_and_says_what_to_do(brain: Path, what: str) -> None:
    sql(brain, UNPROVABLE[what])
    sql(brain, "DELETE FROM hiding")
    before = dump(brain)
    with opened(brain) as handle:
        report = handle.repair()
    assert not report.ok and report.done == () and report.asked is None and dump(brain) == before
    (problem, *_) = [p for p in report.after.problems if p.what == what]
    assert "restore the brain from a copy" in problem.remedy


# --- ingesting the original again -----------------------------------------------------------------------------------


def again(farm: Path) -> None:
    with opened(farm / "brain") as handle:
        ingest(handle, farm)


def test_a_damaged_original_in_the_database_is_healed(farm: Path, brain: Path) -> None:
    sql(brain, "UPDATE content SET data = zeroblob(40) WHERE data NOT NULL")
    assert {p.what for p in verify_brain(brain).problems} == {"content"}
    again(farm)
    left = verify_brain(brain).problems
    assert len(left) == 1  # the earlier bytes of the changed file, which no file holds any more


@pytest.mark.parametrize("damage", [middle, emptied, Path.unlink])
def test_a_damaged_original_in_a_file_is_healed(
    farm: Path, brain: Path, damage: Callable[[Path], None]
) -> None:
    (file,) = [f for f in (brain / "content").rglob("*") if f.is_file()]
    sound = file.read_bytes()
    assert len(sound) > INLINE_LIMIT
    damage(file)
    (problem,) = verify_brain(brain).problems
    assert problem.what == "content" and "ingest the original again" in problem.remedy
    again(farm)
    assert verify_brain(brain).ok and file.read_bytes() == sound


def test_damaged_passages_are_healed(farm: Path, brain: Path) -> None:
    with opened(brain) as handle, handle.store.view() as view:
        passages = [b.n for b in view.scan() if b.memory_type.value in ("semantic", "canonical")]
    sql(brain, f"UPDATE blocks SET data = x'00' WHERE n IN ({','.join(map(str, passages))})")
    again(farm)
    left = verify_brain(brain).problems
    hidden = 3  # two passages and the bytes before the change of one file
    assert len([p for p in left if p.what == "block"]) <= hidden, left


def test_ingesting_again_what_is_sound_changes_nothing(farm: Path, brain: Path) -> None:
    before = dump(brain)
    again(farm)
    assert dump(brain) == before
