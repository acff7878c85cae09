from __future__ import annotations

import errno
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import msgspec
import pytest
from lexical_brains import ask, entry, ns, random_entries, reader, write

from consilience.errors import BusyError, IndexUnusableError, StorageError
from consilience.index import lexical
from consilience.index.analysis import LENGTH_FLOOR
from consilience.index.lexical import LexicalIndex
from consilience.index.question import MAX_WORDS
from consilience.model import Hits
from consilience.protocol import MemoryType

# --- what is found ----------------------------------------------------------------------------------------------


def test_absent_until_something_is_written(tmp_path: Path) -> None:
    assert LexicalIndex.open(tmp_path / "lexical") is None
    index = write(tmp_path / "lexical", [entry(3, "wing flutter")])
    assert index.watermark == 3
    assert ns(ask(index, "fluttering wings")) == [3]


def test_statistics_count_entries_languages_and_terms(tmp_path: Path) -> None:
    index = write(tmp_path, [entry(1, "the wing"), entry(2, "la canción", language="es", context="Title")])
    held = index.statistics
    assert (held.documents, held.languages, held.modules) == (2, {"en": 1, "es": 1}, {"semantic": 2})
    assert held.tokens == (2 * LENGTH_FLOOR, 4, 1)


@pytest.mark.parametrize(
    "question",
    [
        "wing AND flow",
        "wing OR (flow",
        'wing" flow',
        "title:wing +flow -drag",
        "wing^4 flow~2 [a TO b]",
        "wing* \\flow\\",
        "{wing} && flow || !x",
        "/wing/ flow/",
        "<wing> 'flow'",
    ],
)
def test_query_syntax_is_text(tmp_path: Path, question: str) -> None:
    index = write(tmp_path, [entry(1, "the wing in a flow"), entry(2, "nothing")])
    assert ns(ask(index, question)) == [1]


@pytest.mark.parametrize("question", ["", "   ", "?!...", "🎉🎉", '""', "\x00\x07", "((((" * 1000])
def test_a_question_without_words_finds_nothing(tmp_path: Path, question: str) -> None:
    index = write(tmp_path, [entry(1, "the wing in a flow")])
    assert index.analyze(question).empty
    assert ask(index, question) == Hits(hits=(), exhausted=True)


def test_a_question_of_stop_words_only_is_searched_for_as_it_stands(tmp_path: Path) -> None:
    index = write(tmp_path, [entry(1, "to be or not to be"), entry(2, "a wing to be")])
    query = index.analyze("to be or not to be")
    assert query.stopwords_only
    assert ns(index.search(query, 10))[0] == 1


def test_a_huge_question_uses_its_most_selective_words(tmp_path: Path) -> None:
    common = [entry(n, " ".join(f"word{i}" for i in range(n, 300))) for n in range(1, 200)]
    index = write(tmp_path, [*common, entry(500, "needle")])
    question = " ".join(f"word{i} unknown{i} {'x' * 300}" for i in range(400)) + " needle"
    assert len(question) > 100_000
    query = index.analyze(question)
    assert len(query.words) == MAX_WORDS
    assert query.truncated
    assert "needle" in {word.surface for word in query.words}
    assert 500 in ns(index.search(query, 300))
    assert not index.analyze("needle word1").truncated


@pytest.mark.parametrize("quotes", ['"{}"', "“{}”", "«{}»"])
def test_a_quoted_part_must_stand_in_a_match(tmp_path: Path, quotes: str) -> None:
    texts = ["boundary layer control", "layer of the boundary", "the control of a Boundary-Layer", "control"]
    index = write(tmp_path, [entry(n, t) for n, t in enumerate(texts, 1)])
    query = index.analyze(f"control {quotes.format('boundary layer')}")
    assert query.phrases == (("boundary", "layer"),)
    assert sorted(ns(index.search(query, 10))) == [1, 3]
    assert sorted(ns(index.search(query.relaxed(), 10))) == [1, 2, 3, 4]


def test_two_phrases_must_both_stand(tmp_path: Path) -> None:
    index = write(
        tmp_path, [entry(1, "heat flow and shock wave"), entry(2, "heat flow"), entry(3, "shock wave")]
    )
    assert ns(ask(index, '"heat flow" "shock wave"')) == [1]


def test_context_counts_less_than_text(tmp_path: Path) -> None:
    index = write(
        tmp_path,
        [
            entry(1, "wing", context="nozzle"),
            entry(2, "nozzle", context="wing"),
            entry(3, "cone", context="cone"),
        ],
    )
    assert ns(ask(index, "nozzle")) == [2, 1]


def test_languages_of_the_brain_are_searched_in(tmp_path: Path) -> None:
    index = write(
        tmp_path,
        [entry(1, "las canciones más rápidas", language="es"), entry(2, "the fastest songs", language="en")],
    )
    query = index.analyze("canción rápida")
    assert set(query.languages) == {"en", "es"}
    assert ns(index.search(query, 10)) == [1]
    assert ns(ask(index, "fast song")) == [2]


@pytest.mark.parametrize("hints", [(), ("en",), ("it",), ("xx",), ("",)])
def test_function_words_are_dropped_also_where_the_language_was_detected_wrongly(
    tmp_path: Path, hints: tuple[str, ...]
) -> None:
    index = write(
        tmp_path, [entry(1, "the wing of a plane"), entry(2, "las alas de un avión", language="es")]
    )
    query = index.analyze("how does the wing work for you", languages=hints)
    assert [word.surface for word in query.words] == ["wing", "work"]


# --- filters, cuts, order ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_filters_inside_the_engine_equal_filters_afterwards(tmp_path: Path, seed: int) -> None:
    entries = random_entries(200, seed)
    index = write(tmp_path, entries)
    rng = random.Random(seed)
    eligible = sorted(rng.sample(range(1, 260), 70))
    everything = ask(index, "wing flow shock", 10**4)
    assert everything.exhausted
    modules = {e.n: e.module for e in entries}
    for wanted in ((), (MemoryType.EPISODIC,), (MemoryType.EPISODIC, MemoryType.SEMANTIC)):
        inside = ask(index, "wing flow shock", 10**4, eligible=eligible, modules=wanted)
        afterwards = [
            h for h in everything.hits if h.n in set(eligible) and (not wanted or modules[h.n] in wanted)
        ]
        assert list(inside.hits) == afterwards


def test_few_and_many_eligible_ordinals_give_the_same(tmp_path: Path) -> None:
    """Both ways of filtering, and the one that gives up and takes the other, are one rule."""
    index = write(tmp_path, random_entries(200, 11))
    everything = ask(index, "wing flow heat", 10**4).hits
    for share in (1, 2, 5, 20, 199, 200):
        eligible = list(range(1, 201, share))
        expected = [hit for hit in everything if hit.n in set(eligible)]
        for k in (1, 7, 100, 1000):
            found = ask(index, "wing flow heat", k, eligible=eligible)
            assert list(found.hits) == expected[:k], (share, k)
            assert found.exhausted == (len(expected) <= k), (share, k)


def test_a_filter_that_goes_against_the_question_is_still_exact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = [entry(n, "wing " * (1 + (n <= 600) * 3)) for n in range(1, 901)]
    index = write(tmp_path, entries)
    monkeypatch.setattr(lexical, "_TIES_LIMIT", 100)
    eligible = list(range(601, 901))
    assert ns(ask(index, "wing", 5, eligible=eligible)) == eligible[:5]


@pytest.mark.parametrize("canonical", [1, 50, 150, 199])
def test_modules_are_left_out_however_many_entries_they_have(tmp_path: Path, canonical: int) -> None:
    entries = [
        msgspec.structs.replace(e, module=MemoryType.CANONICAL if e.n <= canonical else MemoryType.SEMANTIC)
        for e in random_entries(200, 13)
    ]
    index = write(tmp_path, entries)
    everything = ask(index, "wing flow heat", 10**4).hits
    for wanted, kept in (
        (MemoryType.SEMANTIC, range(canonical + 1, 201)),
        (MemoryType.CANONICAL, range(canonical + 1)),
    ):
        expected = [hit for hit in everything if hit.n in kept]
        for eligible in (None, list(range(1, 201, 3))):
            passing = [h for h in expected if eligible is None or h.n in eligible]
            for k in (1, 30, 500):
                found = ask(index, "wing flow heat", k, modules=[wanted], eligible=eligible)
                assert (list(found.hits), found.exhausted) == (passing[:k], len(passing) <= k)


def test_nothing_eligible_or_no_such_module_finds_nothing(tmp_path: Path) -> None:
    index = write(tmp_path, [entry(1, "wing")])
    assert ask(index, "wing", eligible=[]) == Hits(hits=(), exhausted=True)
    assert ask(index, "wing", modules=[MemoryType.EPISODIC]).hits == ()


def test_exhausted_says_whether_something_was_cut(tmp_path: Path) -> None:
    index = write(tmp_path, [entry(n, "wing") for n in range(1, 41)])
    assert not ask(index, "wing", 39).exhausted
    assert ask(index, "wing", 40).exhausted
    assert ask(index, "wing", 41).exhausted
    assert not ask(index, "wing", 1).exhausted


def test_ties_are_broken_by_ordinal(tmp_path: Path) -> None:
    index = write(tmp_path, [entry(n, "wing flow") for n in range(1, 301)], batch=37)
    assert ns(ask(index, "wing", 25)) == list(range(1, 26))


@pytest.mark.parametrize("question", ["wing flow", "shock nozzle cone heat", "theory of panel flutter tests"])
def test_hits_do_not_depend_on_how_the_index_was_cut_into_commits(tmp_path: Path, question: str) -> None:
    entries = random_entries(400, 7)
    one = write(tmp_path / "one", entries)
    many = write(tmp_path / "many", entries, batch=29)
    for k in (1, 10, 50, 1000):
        assert ask(one, question, k) == ask(many, question, k)


# --- commits, kills, damage -------------------------------------------------------------------------------------


def run(code: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[bytes]:
    prelude = (
        "import sys, os, signal\nfrom pathlib import Path\nfrom consilience.model import Entry\n"
        "from consilience.protocol import MemoryType as M\nfrom consilience.index.lexical import LexicalIndex\n"
        "from consilience.index import lexical_writer\nfolder = Path(sys.argv[1])\n"
        "def entries(ns): return [Entry(n=n, module=M.SEMANTIC, text=f'wing number{n}', language='en') for n in ns]\n"
    )
    return subprocess.run(
        [sys.executable, "-c", prelude + code, *arguments], check=check, capture_output=True
    )


def test_another_process_reads_what_was_committed(tmp_path: Path) -> None:
    write(tmp_path, [entry(1, "wing"), entry(2, "flow")])
    code = "i = LexicalIndex.open(folder); print(i.watermark, [h.n for h in i.search(i.analyze('flow'), 5).hits])"
    assert run(code, str(tmp_path)).stdout == b"2 [2]\n"


KILL = "os.kill(os.getpid(), signal.SIGKILL)"


@pytest.mark.parametrize(
    "moment",
    [
        f"w.add(entries([3, 4])); {KILL}",
        f"lexical_writer.replace_json = lambda *a: {KILL}; w.add(entries([3, 4])); w.commit(4)",
        f"w._engine_writer = lambda: {KILL}; w._modules['semantic'] += 2; w.commit(4)",
    ],
    ids=["before commit", "before the state", "between state and engine"],
)
def test_a_kill_leaves_the_last_commit_and_the_next_writer_goes_on(tmp_path: Path, moment: str) -> None:
    write(tmp_path, [entry(1, "wing number1"), entry(2, "wing number2")])
    killed = run(f"w = LexicalIndex.open_for_write(folder); {moment}", str(tmp_path), check=False)
    assert killed.returncode == -signal.SIGKILL
    index = reader(tmp_path)
    assert (index.watermark, index.statistics.documents) == (2, 2)
    assert ns(ask(index, "wing")) == [1, 2]
    run(
        "w = LexicalIndex.open_for_write(folder); w.add(entries([3, 4])); w.commit(9); w.close()",
        str(tmp_path),
    )
    assert index.refresh()
    assert (index.watermark, ns(ask(index, "wing"))) == (9, [1, 2, 3, 4])


def test_a_kill_after_the_engine_s_commit_keeps_it(tmp_path: Path) -> None:
    write(tmp_path, [entry(1, "wing")])
    code = f"w = LexicalIndex.open_for_write(folder); w.add(entries([2])); w.commit(2); {KILL}"
    assert run(code, str(tmp_path), check=False).returncode == -signal.SIGKILL
    assert ns(ask(reader(tmp_path), "wing")) == [1, 2]
    with LexicalIndex.open_for_write(tmp_path) as writer:
        assert writer.watermark == 2


def test_what_is_not_committed_is_dropped(tmp_path: Path) -> None:
    write(tmp_path, [entry(1, "wing")])
    with LexicalIndex.open_for_write(tmp_path) as writer:
        writer.add([entry(2, "wing")])
    assert ns(ask(reader(tmp_path), "wing")) == [1]
    with LexicalIndex.open_for_write(tmp_path) as writer:
        writer.add([entry(3, "wing")])
        writer.commit(3)
    assert ns(ask(reader(tmp_path), "wing")) == [1, 3]


def test_entries_that_are_covered_are_not_added_again(tmp_path: Path) -> None:
    write(tmp_path, [entry(1, "wing"), entry(2, "wing")])
    with LexicalIndex.open_for_write(tmp_path) as writer:
        assert writer.add([entry(2, "wing"), entry(3, "wing")]) == 1
        writer.commit(3)
    assert ns(ask(reader(tmp_path), "wing")) == [1, 2, 3]


def test_the_watermark_moves_without_entries_and_never_back(tmp_path: Path) -> None:
    write(tmp_path, [entry(1, "wing")])
    with LexicalIndex.open_for_write(tmp_path) as writer:
        writer.commit(40)
        writer.commit(7)
    assert reader(tmp_path).watermark == 40
    assert ns(ask(reader(tmp_path), "wing")) == [1]


def test_a_full_disk_is_a_storage_error_and_keeps_the_last_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, [entry(1, "wing")])

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with LexicalIndex.open_for_write(tmp_path) as writer, monkeypatch.context() as patch:
        writer.add([entry(2, "wing")])
        patch.setattr(os, "fsync", full)
        with pytest.raises(StorageError, match="No space left"):
            writer.commit(2)
    assert ns(ask(reader(tmp_path), "wing")) == [1]
    assert write(tmp_path, [entry(3, "wing")]).statistics.documents == 2


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with LexicalIndex.open_for_write(tmp_path), pytest.raises(BusyError):
        LexicalIndex.open_for_write(tmp_path)
    LexicalIndex.open_for_write(tmp_path).close()


def test_a_reader_keeps_its_state_until_it_refreshes(tmp_path: Path) -> None:
    index = write(tmp_path, [entry(1, "wing")])
    assert not index.refresh()
    write(tmp_path, [entry(2, "wing")])
    assert ns(ask(index, "wing")) == [1]
    assert index.refresh()
    assert ns(ask(index, "wing")) == [1, 2]


def test_readers_are_consistent_while_a_writer_commits(tmp_path: Path) -> None:
    write(tmp_path, [entry(1, "wing")])
    problems: list[object] = []
    done = threading.Event()

    def read() -> None:
        index = reader(tmp_path)
        while not done.is_set():
            try:
                index.refresh()
                found = ns(index.search(index.analyze("wing"), 1000))
                fresh = reader(tmp_path)
                if found != list(range(1, len(found) + 1)) or fresh.statistics.documents < len(found):
                    problems.append(found)
            except Exception as error:
                problems.append(error)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for n in range(2, 22):
        write(tmp_path, [entry(n, "wing")])
    done.set()
    for thread in threads:
        thread.join()
    assert not problems


def test_sixty_small_commits_leave_few_files(tmp_path: Path) -> None:
    for n in range(1, 61):
        write(tmp_path, [entry(n, f"wing {n}")])
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) < 75
    assert len(ask(reader(tmp_path), "wing", 100).hits) == 60


def damage_empty(path: Path) -> None:
    path.write_bytes(b"")


def damage_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def damage_missing(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("damage", [damage_empty, damage_half, damage_missing])
def test_damaged_files_are_noticed_and_healed(tmp_path: Path, damage: object) -> None:
    write(tmp_path / "good", random_entries(50))
    good = tmp_path / "good"
    for path in sorted(p.relative_to(good) for p in good.rglob("*") if p.is_file() and "lock" not in p.name):
        if path.name == "checksums.json" or (path.name == ".managed.json" and damage is damage_missing):
            continue
        copy = tmp_path / f"bad-{path.name}"
        for each in good.rglob("*"):
            if each.is_file():
                (copy / each.relative_to(good)).parent.mkdir(parents=True, exist_ok=True)
                (copy / each.relative_to(good)).write_bytes(each.read_bytes())
        damage(copy / path)  # type: ignore[operator]
        with pytest.raises(IndexUnusableError):
            LexicalIndex.open(copy)
        with LexicalIndex.open_for_write(copy) as writer:
            assert writer.watermark == 0
            writer.add([entry(1, "wing")])
            writer.commit(1)
        assert ns(ask(reader(copy), "wing")) == [1]


@pytest.mark.parametrize(
    "state",
    [
        b'{"format": 999, "states": []}',
        b'{"format": 999, "shape": "of another version"}',
        b"[]",
        b'{"format": 3, "states": []}',
        b'{"format": 3, "states": [{"watermark": 5, "statistics": {"documents": 77}}]}',
    ],
)
def test_foreign_and_newer_states_are_refused(tmp_path: Path, state: bytes) -> None:
    write(tmp_path, [entry(1, "wing")])
    (tmp_path / "state.json").write_bytes(state)
    with pytest.raises(IndexUnusableError):
        LexicalIndex.open(tmp_path)


def test_an_index_that_vanishes_under_a_reader_is_an_error_of_ours(tmp_path: Path) -> None:
    index = write(tmp_path / "lexical", [entry(1, "wing")])
    (tmp_path / "lexical").rename(tmp_path / "gone")
    with pytest.raises(IndexUnusableError):
        index.refresh()


def test_a_reader_survives_a_rebuild(tmp_path: Path) -> None:
    index = write(tmp_path, [entry(1, "wing"), entry(2, "secret")])
    with LexicalIndex.open_for_write(tmp_path) as writer:
        assert not writer.purge([3])
        assert writer.purge([2, 3])
        assert writer.watermark == 0
        writer.add([entry(1, "wing")])
        writer.commit(2)
    assert index.refresh()
    assert ns(ask(index, "secret")) == []
    assert ns(ask(index, "wing")) == [1]


def test_purging_removes_the_files_that_held_the_words(tmp_path: Path) -> None:
    write(tmp_path, [entry(1, "wing"), entry(2, "secret")])
    held = {path.name for path in tmp_path.rglob("*.term")}
    with LexicalIndex.open_for_write(tmp_path) as writer:
        writer.purge([2])
    assert held
    assert not held & {path.name for path in tmp_path.rglob("*")}


@pytest.mark.skipif(sys.platform == "win32", reason="folders cannot be made read-only there")
def test_a_brain_that_nobody_may_write_is_read() -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        write(folder / "lexical", [entry(1, "wing")])
        code = (
            "from consilience.index.facets import FacetIndex\nw = FacetIndex.open_for_write(folder / 'facets.db')\n"
            "w.add(entries([1])); w.commit(1); w.close()\n"
            "for path in [*folder.rglob('*'), folder]: path.chmod(0o555 if path.is_dir() else 0o444)\n"
            "os.geteuid() or os.setuid(65534)\n"
            "i = LexicalIndex.open(folder / 'lexical'); print([h.n for h in i.search(i.analyze('wing'), 5).hits])\n"
            "print(i.refresh(), FacetIndex.open(folder / 'facets.db').count())"
        )
        done = run(code, str(folder), check=False)
        assert done.stdout == b"[1]\nFalse 1\n", done.stderr
    finally:
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755)
        shutil.rmtree(folder)


def test_import_is_light() -> None:
    code = "import consilience.index.lexical, consilience.index.facets; print('numpy' in sys.modules)"
    assert run(code, "-").stdout == b"False\n"


def test_state_is_small_and_readable(tmp_path: Path) -> None:
    write(tmp_path, random_entries(50), batch=10)
    state = json.loads((tmp_path / "state.json").read_bytes())
    assert len(state["states"]) == 2
    assert (tmp_path / "state.json").stat().st_size < 2000
