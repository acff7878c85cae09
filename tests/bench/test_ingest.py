"""The bench of ingest: every format that is generated, and a folder of anything. No figure is asserted."""

from __future__ import annotations

import datetime
from pathlib import Path

import msgspec
import pytest

from consilience.bench.ingest import IngestSpeed, ingest_speed
from consilience.cli.render_bench import ingest_lines
from consilience.cli.terminal import Terminal
from consilience.errors import UsageError


def now() -> datetime.datetime:
    return datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)


def test_generated_files_are_timed_by_format(tmp_path: Path) -> None:
    report = ingest_speed(tmp_path / "work", None, clock=now, size=2_000, jobs=1)
    assert [each.format for each in report.formats] == sorted(each.format for each in report.formats)
    assert {"Markdown", "HTML", "CSV", "JSON lines", "Python", "mailbox (mbox)"} <= {
        each.format for each in report.formats
    }
    for each in report.formats:
        assert each.passages > 10 and each.left == 0 and each.bytes > 1_000
        assert min(each.read_s, each.parse_s, each.ingest_s) > 0
        assert (each.raw is None) is (each.raw_s is None)
    assert msgspec.json.decode(msgspec.json.encode(report), type=IngestSpeed) == report
    lines = list(ingest_lines(report, Terminal(width=100)))
    assert sum("MB/s" in line for line in lines) == 1 and any("markdown-it-py" in line for line in lines)


def test_a_folder_of_anything_is_sorted_by_what_its_files_are(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for n in range(3):
        (folder / f"{n}.md").write_text(f"# Well {n}\n\nThe pump of well {n} turns.\n")
    (folder / "bad.json").write_text("[")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    report = ingest_speed(tmp_path / "work", folder, clock=now, files=2, jobs=1)
    assert [(each.format, each.files, each.left) for each in report.formats] == [
        ("JSON", 1, 1),
        ("Markdown", 2, 0),
    ]
    assert report.other == 1
    assert "1 could not be read as what they are; 1 are archives or of no format" in ingest_lines(
        report, Terminal()
    )


def test_a_folder_without_a_file_to_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with pytest.raises(UsageError, match="holds no file that there is a reader for"):
        ingest_speed(tmp_path / "work", tmp_path / "in", clock=now)


def test_a_folder_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no folder"):
        ingest_speed(tmp_path / "work", tmp_path / "nowhere", clock=now)
