from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from product import ground
from sql_brains import make
from stores import ACTOR, NOW, demotion, derivation, fact, facts, original, registration, supersession

from consilience.brain import Brain
from consilience.errors import ConsilienceError
from consilience.protocol import MemoryType
from consilience.sql import cache
from consilience.sql.engine import Asked

EVERYTHING = (
    "SELECT * FROM semantic",
    "SELECT * FROM canonical",
    "SELECT * FROM provenance",
    "SELECT * FROM blocks",
)
ALL = Asked(text="", include_superseded=True, limit=100_000)


@pytest.fixture
def algebra(bare):
    return bare


def tables(brain: Brain) -> list[str]:
    folder = brain.path / "derived" / "tables"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def answers(brain: Brain) -> list[object]:
    return [brain.sql(query, asked=ALL).rows for query in EVERYTHING]


def anew(brain: Brain) -> list[object]:
    shutil.rmtree(brain.path / "derived" / "tables", ignore_errors=True)
    return answers(brain)


# --- a delta tells the same as a new base --------------------------------------------------------------------------

STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["add", "leave", "back", "supersede", "demote", "revive", "source", "origin", "query"]
        ),
        st.integers(0, 11),
        st.integers(0, 11),
    ),
    max_size=12,
)


@settings(max_examples=2, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_whatever_happens_a_delta_tells_the_same_as_a_new_base(steps):
    _check_deltas(steps)


def test_what_left_in_a_commit_without_new_blocks_is_gone_from_the_delta():
    _check_deltas([("leave", 0, 0), ("add", 1, 6)])
    _check_deltas([("leave", 0, 0), ("query", 0, 0), ("back", 0, 0), ("leave", 1, 1), ("add", 1, 6)])


@pytest.mark.soak
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(STEPS)
def test_whatever_happens_a_delta_tells_the_same_many_times(steps):
    _check_deltas(steps)


def _check_deltas(steps):
    with ground() as folder, Brain.create(folder / "b", name="b") as brain:
        known = [fact(f"Statement {i}.") for i in range(12)]
        with brain.store.write(ACTOR, NOW) as writer:
            file = original(writer, b"# A file\n", "a.md")
            writer.add_many(known[:6])
        answers(brain)
        for number, (step, a, b) in enumerate(steps):
            _step(brain, step, known[a], known[b], file, number)
            if step == "query":
                brain.sql(EVERYTHING[a % 4])
        kept = answers(brain)
        assert kept == anew(brain)


def _step(brain, step, one, other, file, number):
    with brain.store.write(ACTOR, NOW) as writer:
        members = writer.members(writer.ordinals([one.id, other.id]).values())
        here = writer.ordinals([one.id]).get(one.id) in members
        if step in ("add", "back"):
            writer.add_many((one, other))
        elif step == "leave" and here:
            writer.withdraw([writer.ordinals([one.id])[one.id]])
        elif step == "supersede" and one.id != other.id:
            writer.add_many((one, other, supersession(one, other)))
        elif step == "demote":
            writer.add_many((one, demotion(one, f"2026-03-01T12:00:{number:02}Z")))
        elif step == "revive" and here:
            writer.add(registration(one, f"revived-{number}.md"))
        elif step == "source" and here:
            writer.add(derivation(one, file, f"L{number + 1} # Part {number}"))
        elif step == "origin":
            writer.add(registration(file, f"copy-{number}.md"))


# --- what is kept --------------------------------------------------------------------------------------------------


def test_only_what_a_query_reads_is_made(algebra):
    algebra.rows("SELECT count(*) FROM semantic")
    assert {name.partition(".")[0] for name in tables(algebra.brain)} == {"semantic"}


def test_a_second_query_makes_nothing(algebra):
    algebra.rows("SELECT count(*) FROM semantic")
    before = {
        name: (algebra.brain.path / "derived/tables" / name).stat().st_mtime_ns
        for name in tables(algebra.brain)
    }
    algebra.rows("SELECT count(*) FROM semantic")
    after = {
        name: (algebra.brain.path / "derived/tables" / name).stat().st_mtime_ns
        for name in tables(algebra.brain)
    }
    assert before == after


def test_after_a_commit_the_base_stays_and_a_delta_comes(algebra):
    algebra.rows("SELECT count(*) FROM semantic")
    (base,) = [name for name in tables(algebra.brain) if name.endswith(".base.duckdb")]
    algebra.commit(*facts(0, 10))
    assert algebra.rows("SELECT count(*) FROM semantic") == [(12,)]
    names = tables(algebra.brain)
    assert base in names and len(names) == 3
    algebra.commit(*facts(10, 20))
    assert algebra.rows("SELECT count(*) FROM semantic") == [(22,)]
    assert base in tables(algebra.brain) and len(tables(algebra.brain)) == 3


def test_a_large_commit_makes_a_new_base(algebra, monkeypatch):
    monkeypatch.setattr(cache, "DELTA_LEAST", 5)
    algebra.rows("SELECT count(*) FROM semantic")
    algebra.commit(*facts(0, 10))
    assert algebra.rows("SELECT count(*) FROM semantic") == [(12,)]
    assert not [name for name in tables(algebra.brain) if ".delta." in name]


def test_what_is_damaged_is_read_in_memory_and_told(algebra):
    with algebra.brain.store.write(ACTOR, NOW) as writer:
        writer.connection.run(
            "UPDATE blocks SET enc = 0, data = ? WHERE id = ?", (b"{}", algebra.blocks["rich"].id)
        )
    result = algebra.brain.sql("SELECT resolvable, label FROM semantic ORDER BY id")
    assert (False, None) in result.rows
    assert result.warnings == ("1 damaged blocks of semantic have no fields: run `verify`",)
    assert [name for name in tables(algebra.brain) if name.endswith(".json")] == []


@pytest.mark.parametrize("part", ["base.duckdb", "json"])
@pytest.mark.parametrize("damage", ["removed", "empty", "cut", "flipped"])
def test_a_cache_that_cannot_be_read_is_made_again(algebra, part, damage):
    expected = algebra.rows("SELECT * FROM semantic")
    (path,) = (algebra.brain.path / "derived/tables").glob(f"semantic.*.{part}")
    data = path.read_bytes()
    if damage == "removed":
        path.unlink()
    else:
        broken = {
            "empty": b"",
            "cut": data[: len(data) // 2],
            "flipped": data[:40] + bytes([data[40] ^ 255]) + data[41:],
        }
        path.write_bytes(broken[damage])
    assert algebra.rows("SELECT * FROM semantic") == expected


def test_flipped_bits_do_no_harm(algebra, tmp_path):
    expected = algebra.rows("SELECT * FROM semantic")
    folder = algebra.brain.path / "derived/tables"
    (name,) = [each for each in tables(algebra.brain) if each.endswith(".base.duckdb")]
    sound = shutil.copytree(folder, tmp_path / "sound")
    data = (sound / name).read_bytes()
    for at in range(0, len(data), max(1, len(data) // 8)):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(sound, folder)
        (folder / name).write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        assert algebra.rows("SELECT * FROM semantic") == expected, at


def test_a_folder_that_cannot_be_written_is_read_in_memory(algebra, monkeypatch):
    (algebra.brain.path / "derived").mkdir(exist_ok=True)
    (algebra.brain.path / "derived/tables").write_text("in the way")
    assert algebra.rows("SELECT count(*) FROM semantic") == [(2,)]


def test_purge_leaves_nothing(algebra):
    algebra.rows("SELECT count(*) FROM blocks")
    cache.purge(algebra.brain.path / "derived")
    assert tables(algebra.brain) == []
    assert algebra.rows("SELECT count(*) FROM semantic") == [(2,)]


def test_what_a_killed_maker_left_is_removed(algebra):
    folder = algebra.brain.path / "derived/tables"
    folder.mkdir(parents=True)
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left = folder / f".{gone.pid}.1.semantic.0.base.duckdb"
    left.write_bytes(b"half")
    algebra.rows("SELECT count(*) FROM semantic")
    assert not left.exists()


def test_two_processes_make_the_same_tables_at_once(tmp_path):
    made = make(tmp_path)
    made.commit(*facts(0, 500))
    script = (
        "import sys; from pathlib import Path; from consilience.brain import Brain\n"
        f"brain = Brain.open(Path({str(made.brain.path)!r}), name='algebra')\n"
        "sys.stdin.readline()\n"
        "print(brain.sql('SELECT memory_type, count(*) FROM blocks GROUP BY 1').rows)\n"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    said = {process.communicate(timeout=120)[0] for process in processes}
    assert len(said) == 1 and "502" in said.pop()
    assert made.rows("SELECT count(*) FROM semantic") == [(502,)]
    made.brain.close()


def test_a_reader_keeps_its_tables_while_they_are_replaced(algebra):
    from consilience.sql.seal import connect

    algebra.rows("SELECT count(*) FROM semantic")
    with connect() as connection, algebra.brain.store.view() as view:
        derived = algebra.brain.path / "derived"
        state = cache.kept_state(view, derived, MemoryType.SEMANTIC)
        table = cache.attached(connection, derived / "tables", state, "x")
        algebra.commit(*facts(0, 3000))
        assert algebra.rows("SELECT count(*) FROM semantic") == [(3002,)]
        cache.purge(derived)
        ((source, where),) = table.parts(["id"], visible=True)
        assert connection.execute(f"SELECT count(*) FROM {source}{where}").fetchall() == [(2,)]


def test_a_maker_whose_brain_moves_on_leaves_nothing_behind(algebra):
    from consilience.sql.seal import connect

    with algebra.brain.store.view() as view:
        algebra.commit(fact("In between."))

        def head():
            with algebra.brain.store.view() as now:
                return now.snapshot

        derived = algebra.brain.path / "derived"
        assert cache.make_state(connect, view, derived, MemoryType.SEMANTIC, head) is None
    assert [name for name in tables(algebra.brain) if name.endswith((".json", ".duckdb"))] == []


def test_paths_with_quotes(tmp_path):
    folder = tmp_path / 'it\'s a "folder"'
    made = make(folder)
    assert made.rows("SELECT count(*) FROM semantic") == [(2,)]
    made.brain.close()


def test_errors_of_the_cache_are_ours(algebra):
    with pytest.raises(ConsilienceError):
        algebra.brain.sql("SELECT * FROM semantic WHERE label = 1 / 0 + 'x'")
    assert isinstance(algebra.brain.path, Path)
