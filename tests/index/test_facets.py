from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from consilience.errors import BusyError, IndexUnusableError, QueryError
from consilience.index.dates import Interval, interval, window
from consilience.index.facet_writer import FacetWriter
from consilience.index.facets import FacetIndex, passes, source_matcher
from consilience.model import Entry, Filters
from consilience.protocol import MemoryType


def entry(n: int, **more: object) -> Entry:
    fields = {"module": MemoryType.SEMANTIC, "text": "x", **more}
    return Entry(n=n, **fields)  # type: ignore[arg-type]


def write(path: Path, *entries: Entry) -> FacetIndex:
    with FacetIndex.open_for_write(path) as writer:
        writer.add(entries)
        writer.commit(max((e.n for e in entries), default=0))
    return reader(path)


def reader(path: Path) -> FacetIndex:
    index = FacetIndex.open(path)
    assert index is not None
    return index


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "derived" / "facets.db"


# --- the rules --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "matching", "failing"),
    [
        ("rust/*", ["rust/a.md", "rust/b/c.md"], ["rusty/a.md", "go/rust/a.md", "rust"]),
        ("rust", ["rust/a.md", "rust", "go/rust"], ["rusty/a.md", "go/rust/a.md"]),
        ("rust/", ["rust/a.md"], ["rusty/a.md"]),
        ("./rust", ["rust/a.md", "./rust/b.md"], ["go/a.md"]),
        ("*.md", ["a.md", "x/y.md"], ["a.rst", "a.md.txt"]),
        ("pep-0008*", ["peps/pep-0008.rst"], ["peps/pep-0009.rst"]),
        ("peps/pep-000?.rst", ["peps/pep-0008.rst"], ["peps/pep-0010.rst"]),
        ("peps/pep-[01]*", ["peps/pep-0008.rst"], ["peps/pep-3000.rst"]),
        ("pep-0008.rst", ["peps/pep-0008.rst", "pep-0008.rst"], ["peps/xpep-0008.rst"]),
        ("a.md", ["a.md"], ["axmd", "A.md"]),
        ("*", ["anything/at/all"], []),
    ],
)
def test_source_patterns(pattern: str, matching: list[str], failing: list[str]) -> None:
    matches = source_matcher([pattern])
    assert [o for o in matching if not matches(o)] == []
    assert [o for o in failing if matches(o)] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01", Interval(0, 86_399)),
        ("1970-01", Interval(0, 31 * 86_400 - 1)),
        ("1970", Interval(0, 365 * 86_400 - 1)),
        ("1970-01-02T00:00:01Z", Interval(86_401, 86_401)),
        ("1970-01-01T02:00:00+02:00", Interval(0, 0)),
        ("1970-01-01T00:00:05", Interval(5, 5)),
        ("1969-12-31", Interval(-86_400, -1)),
        ("2024-02-30", None),
        ("2024-13", None),
        ("0000", None),
        ("yesterday", None),
        ("", None),
        ("9999-12-31T23:59:59-23:59", None),
    ],
)
def test_interval_of_a_date(text: str, expected: Interval | None) -> None:
    found = interval(text)
    if text.startswith("9999"):
        assert found is None or found.start == found.end
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("since", "until"), [("soon", None), (None, "2024-99-01"), ("2024-05-02", "2024-05-01")]
)
def test_a_window_that_is_none_is_refused(since: str | None, until: str | None) -> None:
    with pytest.raises(QueryError):
        window(since, until)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(since="2024-05-01"), {1, 2, 3}),
        (Filters(since="2024-05-02"), {2, 3}),
        (Filters(since="2024-05-01T12:00:00Z", until="2024-05-01T13:00:00Z"), {1}),
        (Filters(until="2024-05-01"), {1, 4}),
        (Filters(until="2024-05-02T10:00:00Z"), {1, 2, 4}),
        (Filters(until="2024-05-02T09:59:59Z"), {1, 4}),
        (Filters(since="2024", until="2024"), {1, 2, 3}),
        (Filters(kinds=("Definition",)), {1, 2}),
        (Filters(kinds=(" definition ", "fact")), {1, 2, 3}),
        (Filters(tags=("A",)), {1, 3}),
        (Filters(tags=("a", "b")), {1, 2, 3}),
        (Filters(subjects=("Group theory",)), {4}),
        (Filters(sources=("x/*",)), {1, 2}),
        (Filters(sources=("x/*",), tags=("b",)), {2}),
        (Filters(sources=("nowhere",)), set()),
        (Filters(kinds=("nothing",)), set()),
        (Filters(modules=(MemoryType.EPISODIC,), tags=("a",)), {3}),
        (Filters(modules=(MemoryType.CANONICAL,), tags=("a",)), set()),
        (Filters(tags=("'; DROP TABLE entry; --",)), set()),
    ],
)
def test_filters(path: Path, filters: Filters, expected: set[int]) -> None:
    entries = [
        entry(1, date="2024-05-01", kind="definition", tags=("a",), origins=("x/1.md",)),
        entry(2, date="2024-05-02T10:00:00Z", kind="Definition", tags=("b",), origins=("x/2.md", "y/2.md")),
        entry(3, date="2024-06", kind="fact", tags=("a", "c"), module=MemoryType.EPISODIC),
        entry(4, date="1999-01-01", subject="group THEORY"),
        entry(5, date="not a date", origins=("x",)),
    ]
    index = write(path, *entries)
    if filters.sources == ("x/*",) and not filters.tags:
        expected = expected - {5}
    assert set(index.eligible(filters) or ()) == expected
    assert {e.n for e in entries if passes(e, filters)} == expected


def test_no_filter_beyond_modules_lists_nothing(path: Path) -> None:
    index = write(path, entry(1))
    assert index.eligible(Filters()) is None
    assert index.eligible(Filters(modules=(MemoryType.SEMANTIC,))) is None
    assert list(index.eligible(Filters(kinds=("",))) or ()) == [1]


NAMES = st.sampled_from(["", "a", "A", "b", "straße", "STRASSE"])
ENTRIES = st.builds(
    Entry,
    n=st.integers(1, 50),
    module=st.sampled_from([MemoryType.SEMANTIC, MemoryType.EPISODIC]),
    text=st.just("x"),
    kind=NAMES,
    subject=NAMES,
    tags=st.lists(NAMES, max_size=2).map(tuple),
    origins=st.lists(st.sampled_from(["x/a.md", "x/b.md", "y/a.md", "a.md"]), max_size=2).map(tuple),
    date=st.sampled_from([None, "2024-05-01", "2024-05", "2023-05-01T10:00:00Z", "bad"]),
)
DATES = st.sampled_from([None, "2023-05-01T10:00:00Z", "2024-05-01", "2024-05-20"])
FILTERS = st.builds(
    Filters,
    modules=st.lists(st.sampled_from(list(MemoryType)), max_size=2).map(tuple),
    kinds=st.lists(NAMES, max_size=2).map(tuple),
    subjects=st.lists(NAMES, max_size=1).map(tuple),
    tags=st.lists(NAMES, max_size=2).map(tuple),
    sources=st.lists(st.sampled_from(["x", "x/*", "a.md", "*b*", "zzz"]), max_size=2).map(tuple),
    since=DATES,
)


@settings(max_examples=80, deadline=None)
@given(st.lists(ENTRIES, max_size=12, unique_by=lambda e: e.n), st.lists(FILTERS, min_size=1, max_size=6))
def test_no_filter_lets_an_entry_through_that_fails_it(
    tmp_path_factory: pytest.TempPathFactory, entries: list[Entry], asked: list[Filters]
) -> None:
    entries.sort(key=lambda e: e.n)
    index = write(tmp_path_factory.mktemp("facets") / "facets.db", *entries)
    for filters in asked:
        eligible = index.eligible(filters)
        if eligible is not None:
            assert list(eligible) == [e.n for e in entries if passes(e, filters)]
            assert 0 <= index.estimate(filters) <= len(entries)
    index.close()


# --- what is read off -------------------------------------------------------------------------------------------


def test_counts_histograms_and_roles(path: Path) -> None:
    index = write(
        path,
        entry(1, kind="fact", role="code", language="en"),
        entry(2, kind="fact", module=MemoryType.EPISODIC),
        entry(3, kind="step"),
    )
    assert index.histogram("kind") == {"fact": 2, "step": 1}
    assert index.histogram("language") == {"": 2, "en": 1}
    assert index.histogram("module") == {"semantic": 2, "episodic": 1}
    assert (index.count(), index.count([MemoryType.EPISODIC])) == (3, 1)
    assert index.roles([1, 3, 99]) == {1: "code", 3: "prose"}
    assert index.roles([]) == {}


def test_an_estimate_is_near_where_facets_are_independent(path: Path) -> None:
    entries = [
        entry(
            n, kind=f"k{n % 4}", tags=(f"t{n % 5}",), date=f"{2000 + n % 10}-06-15", origins=(f"f{n % 3}/x",)
        )
        for n in range(1, 601)
    ]
    index = write(path, *entries)
    for filters in (
        Filters(kinds=("k1",)),
        Filters(kinds=("k1",), tags=("t2", "t3")),
        Filters(since="2004-01-01", until="2005-12-31"),
        Filters(sources=("f1",), kinds=("k0",)),
    ):
        assert index.estimate(filters) == pytest.approx(len(index.eligible(filters) or ()), rel=0.2)
    assert index.estimate(Filters()) == 600
    assert index.estimate(Filters(), [MemoryType.EPISODIC]) == 0


def test_origins_grow(path: Path) -> None:
    write(path, entry(1, origins=("x/1.md",)), entry(2, origins=("x/1.md",)))
    with FacetIndex.open_for_write(path) as writer:
        writer.add_origin(1, "y/1.md")
        writer.add_origin(1, "y/1.md")
        writer.commit(2)
    index = reader(path)
    assert list(index.eligible(Filters(sources=("y",))) or ()) == [1]
    assert index.histogram("origin") == {"x/1.md": 2, "y/1.md": 1}


def test_entries_that_are_covered_are_not_added_again(path: Path) -> None:
    write(path, entry(1, kind="a"))
    index = write(path, entry(1, kind="b"), entry(2, kind="c"))
    assert index.histogram("kind") == {"a": 1, "c": 1}


def test_purged_values_are_on_no_file(path: Path) -> None:
    write(path, entry(1, subject="kept"), entry(2, subject="zeppelinsecret", date="2024-01-01", tags=("t",)))
    assert b"zeppelinsecret" in contents(path.parent)
    with FacetIndex.open_for_write(path) as writer:
        assert writer.purge([2, 77]) == 1
        writer.commit(2)
    assert b"zeppelinsecret" not in contents(path.parent)
    index = reader(path)
    assert (index.count(), index.watermark) == (1, 2)
    assert index.estimate(Filters(since="2024")) == 0
    assert index.histogram("subject") == {"kept": 1}


def contents(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


# --- commits, kills, damage -------------------------------------------------------------------------------------


def test_absent_until_something_is_written(path: Path) -> None:
    assert FacetIndex.open(path) is None


def test_what_is_not_committed_is_dropped(path: Path) -> None:
    index = write(path, entry(1))
    with FacetIndex.open_for_write(path) as writer:
        writer.add([entry(2)])
    assert (index.count(), index.watermark) == (1, 1)


@pytest.mark.parametrize("step", ["w.add([Entry(n=2, module=M.SEMANTIC, text='x')])", "w.add_origin(1, 'z')"])
def test_a_kill_before_commit_leaves_the_last_one(path: Path, step: str) -> None:
    write(path, entry(1))
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom consilience.index.facets import FacetIndex\n"
        "from consilience.model import Entry\nfrom consilience.protocol import MemoryType as M\n"
        f"w = FacetIndex.open_for_write(Path(sys.argv[1]))\n{step}\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    index = reader(path)
    assert (index.count(), index.watermark, index.histogram("origin")) == (1, 1, {})
    assert write(path, entry(2)).count() == 2


def test_a_second_writer_is_refused(path: Path) -> None:
    with FacetIndex.open_for_write(path), pytest.raises(BusyError):
        FacetWriter(path)


def test_readers_see_every_commit_and_never_half_of_one(path: Path) -> None:
    index = write(path, entry(1, kind="a"))
    problems: list[object] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            try:
                eligible = index.eligible(Filters(kinds=("a",)))
                if (
                    list(eligible or ()) != list(range(1, len(eligible or ()) + 1))
                    or len(eligible or ()) % 3 != 1
                ):
                    problems.append(eligible)
            except Exception as error:
                problems.append(error)

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for n in range(2, 62, 3):
        write(path, *(entry(i, kind="a") for i in range(n, n + 3)))
    done.set()
    for thread in threads:
        thread.join()
    assert not problems
    assert index.count() == 61


def test_threads_that_come_and_go_leave_no_connection_behind(path: Path) -> None:
    index = write(path, entry(1))
    for _ in range(20):
        thread = threading.Thread(target=index.count)
        thread.start()
        thread.join()
    assert len(index._idle) == 1


@pytest.mark.parametrize(
    "damage", [b"", b"not a database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 5000]
)
def test_damaged_files_are_noticed_and_healed(path: Path, damage: bytes) -> None:
    write(path, entry(1)).close()
    path.write_bytes(damage)
    with pytest.raises(IndexUnusableError):
        FacetIndex.open(path)
    assert write(path, entry(5)).count() == 1


@pytest.mark.parametrize("pragma", ["application_id=7", "user_version=99"])
def test_foreign_and_newer_files_are_refused(path: Path, pragma: str) -> None:
    write(path, entry(1)).close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA {pragma}")
    connection.close()
    with pytest.raises(IndexUnusableError):
        FacetIndex.open(path)


def test_a_reader_notices_that_the_file_was_replaced(path: Path) -> None:
    index = write(path, entry(1))
    assert not index.refresh()
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    with pytest.raises(IndexUnusableError):
        index.refresh()
    write(path, entry(1), entry(2))
    assert index.refresh()
    assert index.count() == 2
