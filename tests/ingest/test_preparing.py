"""Parsing ahead in other processes: what comes out is what one process makes, and nothing is left running."""

from __future__ import annotations

import os
import time
import zipfile
from pathlib import Path

import msgspec
import pytest

from consilience.ingest import discover
from consilience.ingest.discover import Found
from consilience.ingest.model import Document, Skip
from consilience.ingest.pipeline import Ingest
from consilience.ingest.pool import Parsers
from consilience.ingest.preparing import Done, Outcome, Preparing
from consilience.ingest.readers import records
from consilience.ingest.readers.formats import MARKDOWN
from consilience.ingest.report import IngestReport
from tests.ingest.test_pipeline import ACTOR, Clock, Kept

FILES = 12


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes are started for the first file."""
    monkeypatch.setattr("consilience.ingest.preparing.HOME_BYTES", 0)
    monkeypatch.setattr("consilience.ingest.preparing.WORTH_BYTES", 0)


def fill(folder: Path) -> None:
    for n in range(FILES):
        (folder / f"{n:02d}.md").write_text(
            f"# Well {n}\n\n" + "".join(f"Pump {n}.{k} turns.\n\n" for k in range(9))
        )
    (folder / "code.py").write_text(
        '"""A module of the mill."""\n\n\ndef turn() -> None:\n    """Turn it once."""\n'
    )
    (folder / "table.csv").write_text("id,v\n" + "".join(f"{n},word {n}\n" for n in range(30)))
    (folder / "broken.json").write_text("{not json")
    (folder / "fake.pdf").write_text("no pdf at all")
    (folder / "blank.md").write_text("\n \n")
    with zipfile.ZipFile(folder / "z.zip", "w") as archive:
        archive.writestr(zipfile.ZipInfo("in.md"), "# In\n\nA valve in the archive closes by itself.\n")
        archive.writestr(zipfile.ZipInfo("bad.json"), "[")


def take(root: Path, jobs: int) -> IngestReport:
    root.mkdir()
    kept = Kept(root)
    fill(kept.docs)
    run = Ingest(kept.brain.store, actor=ACTOR, clock=Clock(), jobs=jobs)
    report = run.run(discover([kept.docs], root=kept.root), covers=lambda origin: True)
    kept.brain.close()
    return msgspec.structs.replace(report, seconds=0.0)


def test_snapshots_and_reports_do_not_depend_on_the_number_of_processes(
    tmp_path: Path, at_once: None
) -> None:
    one, three = (take(tmp_path / str(jobs), jobs) for jobs in (1, 3))
    assert one.taken == FILES + 4 and one.skipped and one.snapshot is not None
    assert one == three


def test_a_table_that_gives_its_rows_one_at_a_time_is_read_here(tmp_path: Path, at_once: None) -> None:
    kept = Kept(tmp_path)
    (kept.docs / "t.csv").write_text("id,v\n" + "".join(f"{n},w\n" for n in range(records.STREAM_FROM + 1)))
    found = [each for each in discover([kept.docs], root=tmp_path) if isinstance(each, Found)]
    steps = Preparing(kept.brain.store, jobs=2).each(found)
    (outcome,) = [step for step in steps if isinstance(step, Outcome)]
    assert outcome.prepared is not None and outcome.prepared.document.rows is not None
    kept.brain.close()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone(pid: int) -> bool:
    """Within a while that a busy machine may need."""
    for _ in range(600):
        if not alive(pid):
            return True
        time.sleep(0.05)
    return False


def processes(parsers: Parsers) -> list[int]:
    return [each._process.pid for each in parsers._all if each._process is not None]


def test_whoever_stops_asking_ends_the_processes(tmp_path: Path, at_once: None) -> None:
    kept = Kept(tmp_path)
    fill(kept.docs)
    preparing = Preparing(kept.brain.store, jobs=2)
    found = [each for each in discover([kept.docs], root=tmp_path) if isinstance(each, Found)]
    steps = preparing.each(found)
    assert next(step for step in steps if isinstance(step, Outcome)).what == "prepared"
    assert preparing._parsers is not None
    pids = processes(preparing._parsers)
    assert pids and all(map(alive, pids))
    steps.close()
    assert not any(map(alive, pids))
    assert preparing._parsers is None
    kept.brain.close()


def test_a_small_job_and_one_that_is_known_start_no_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> Parsers:
        raise AssertionError("a process was started")

    monkeypatch.setattr("consilience.ingest.pool.Parsers", never)
    kept = Kept(tmp_path)
    for n in range(30):
        kept.write(f"{n}.md", *(f"Pump {n}.{k} turns without a sound." for k in range(200)))
    found = [each for each in discover([kept.docs], root=tmp_path) if isinstance(each, Found)]
    steps = list(Preparing(kept.brain.store, jobs=4).each(found))
    assert sum(isinstance(step, Done) for step in steps) == 30
    kept.ingest()
    monkeypatch.setattr("consilience.ingest.preparing.HOME_BYTES", 0)
    monkeypatch.setattr("consilience.ingest.preparing.WORTH_BYTES", 0)
    assert kept.ingest().unchanged == 30
    kept.brain.close()


def test_a_process_that_dies_is_replaced_for_the_next_file() -> None:
    parsers = Parsers(1)
    try:
        first = parsers.submit(MARKDOWN, b"# A\n\nThe pump turns.\n", "a.md")()
        assert isinstance(first.found, Document) and [p.text for p in first.passages] == ["The pump turns."]
        os.kill(processes(parsers)[0], 9)
        second = parsers.submit(MARKDOWN, b"# B\n\nThe valve closes.\n", "b.md")()
        assert [p.text for p in second.passages] == ["The valve closes."]
        assert parsers.started == 2
    finally:
        parsers.stop()


def test_a_process_that_cannot_be_started_is_a_failure_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    parsers = Parsers(1)
    try:
        found = parsers.submit(MARKDOWN, b"# A\n\nThe pump turns.\n", "a.md")().found
    finally:
        parsers.stop()
    assert isinstance(found, Skip) and found.failed and "no process could be started" in found.reason
