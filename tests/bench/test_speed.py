"""The bench of speed: every operation at every size, on text that is the same each time. No figure is asserted."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from consilience.bench import speed as bench
from consilience.bench.speed import SpeedReport, speed
from consilience.cli.render_bench import speed_lines
from consilience.cli.terminal import Terminal
from consilience.errors import UsageError

OPERATIONS = [
    "commit all",
    "index all",
    "ingest one file",
    "add one passage",
    "open",
    "block",
    "search",
    "compound of two",
    "embed all",
    "search, vectors",
    "cold search",
    "verify",
]


def now() -> datetime.datetime:
    return datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> SpeedReport:
    return speed(tmp_path_factory.mktemp("speed") / "brains", [60, 20], clock=now, repeat=2)


def test_every_operation_is_timed_at_every_size(report: SpeedReport) -> None:
    assert report.sizes == (20, 60)
    assert [(row.what, row.size) for row in report.rows] == [(o, s) for o in OPERATIONS for s in (20, 60)]
    assert all(row.ms > 0 and row.raw_ms > 0 and row.times > 0 for row in report.rows)
    by_time = [row for row in report.rows if row.what == "compound of two"]
    assert all(row.times == pytest.approx(row.ms / row.raw_ms, abs=0.02) for row in by_time)
    assert report.text[0] < report.text[1] and all(report.bytes)


def test_people_see_a_row_an_operation(report: SpeedReport) -> None:
    lines = list(speed_lines(report, Terminal()))
    assert [line[:15].strip() for line in lines[1 : len(OPERATIONS) + 1]] == OPERATIONS
    assert all(len(line) <= 80 for line in lines)


def test_generated_text_is_the_same_each_time_and_never_twice() -> None:
    texts = bench._texts(500)
    assert texts == bench._texts(500) and len(set(texts.values())) == 500
    assert len({bench._word(place) for place in range(30_000)}) == 30_000


def test_sizes_that_cannot_be_made(tmp_path: Path) -> None:
    for sizes in ([], [0], [10**9]):
        with pytest.raises(UsageError):
            speed(tmp_path / "x", sizes, clock=now)


def test_the_command(capfdbinary: Any) -> None:
    from consilience.cli.main import main

    assert main(["bench", "speed", "--sizes", "15", "--repeat", "1", "--json"]) == 0
    data = json.loads(capfdbinary.readouterr().out)["data"]
    assert [row["what"] for row in data["rows"]] == OPERATIONS
    assert main(["bench", "speed", "--sizes", "many"]) == 2
