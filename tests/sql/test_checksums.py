"""A bit that flips in `derived/tables` is found by `verify`, and mended by `verify --repair`."""

from __future__ import annotations

import random
import shutil

import pytest
from sql_brains import make
from stores import facts

from consilience.embed import EmbedderSpec
from consilience.verification import check_derived, verify_brain


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A brain with a base and a delta."""
    made = make(tmp_path_factory.mktemp("sums"))
    made.rows("SELECT count(*) FROM blocks")
    made.commit(*facts(0, 10))
    made.rows("SELECT count(*) FROM semantic, provenance")
    made.brain.close()
    return made


@pytest.fixture
def path(sound, tmp_path):
    return shutil.copytree(sound.brain.path, tmp_path / "algebra")


def tables(path):
    return sorted(each for each in (path / "derived" / "tables").iterdir())


def flip(file, at, bit=0):
    data = bytearray(file.read_bytes())
    data[at] ^= 1 << bit
    file.write_bytes(data)


def test_a_sound_folder_has_no_problems(path):
    names = [each.name for each in tables(path)]
    assert any(".delta." in name for name in names) and any(".base." in name for name in names)
    assert verify_brain(path).ok
    assert check_derived(path)[1] >= len(names)


def test_every_flipped_bit_is_found(path):
    chosen = random.Random(3)
    for file in tables(path):
        for _ in range(6):
            at, bit = chosen.randrange(file.stat().st_size), chosen.randrange(8)
            flip(file, at, bit)
            problems = check_derived(path)[0]
            assert problems and {each.what for each in problems} == {"tables"}, (file.name, at, bit)
            flip(file, at, bit)
    assert check_derived(path)[0] == ()


def test_a_file_that_is_missing_is_found_and_one_that_nobody_names_is_not(path):
    stray = path / "derived/tables/semantic.base.duckdb"
    stray.write_bytes(b"left over")
    assert check_derived(path)[0] == ()
    base = next(file for file in tables(path) if ".base." in file.name and file.name.startswith("canonical"))
    base.unlink()
    (problem,) = check_derived(path)[0]
    assert (problem.what, problem.detail, problem.file) == (
        "tables",
        "it is missing",
        f"derived/tables/{base.name}",
    )


def test_a_repair_mends_it_and_the_next_query_answers(path):
    from consilience.brain import Brain

    with Brain.open(path, name="algebra", embedder=EmbedderSpec(provider="hashed")) as brain:
        expected = brain.sql("SELECT * FROM semantic").rows
        base = next(
            file for file in tables(path) if file.name.startswith("semantic") and ".base." in file.name
        )
        flip(base, base.stat().st_size // 2)
        assert not brain.verify().ok
        report = brain.repair()
        assert report.after.ok and any("SQL tables" in each for each in report.done)
        assert brain.sql("SELECT * FROM semantic").rows == expected
        assert brain.verify().ok


def test_a_state_whose_seal_is_broken_is_not_read(path):
    """A count in it would be believed."""
    from consilience.brain import Brain

    (state,) = (file for file in tables(path) if file.name.startswith("semantic") and file.suffix == ".json")
    assert b'"hidden":2' in state.read_bytes()
    state.write_bytes(state.read_bytes().replace(b'"hidden":2', b'"hidden":3'))
    with Brain.open(path, name="algebra") as brain:
        assert [each.count for each in brain.sql("SELECT 1 FROM semantic").hidden] == [2]
