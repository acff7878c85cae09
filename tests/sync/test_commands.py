"""`csl sync`, `watch`, `source` and what `status` says of sources, as typed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from product import Product, new_project

RETRIES = "# Notes\n\nRetries are spaced so that a service which comes back is not met by all at once.\n"
QUEUE = "# Notes\n\nA queue keeps the work that could not be done, and says how old its oldest entry is.\n"
LONG_AGO = 1_500_000_000


@pytest.fixture
def farm(tmp_path: Path) -> Product:
    made = new_project(tmp_path)
    for name in ("north", "south"):
        assert made.csl("project", "add", name, "--model", "none").status == 0
    made.write("docs/a.md", RETRIES)
    made.write("docs/b.md", QUEUE)
    return made


def changes(farm: Product, *args: str) -> list[tuple[str, str]]:
    (data,) = farm.csl("sync", "--brain", "north", "--json", *args).data
    return [(each["what"], each["path"]) for each in data["changes"]]


class TestSource:
    def test_add_list_remove_leave_the_rest_of_the_file(self, farm: Product) -> None:
        before = farm.file.read_text() + "\n# a word of mine\n"
        farm.file.write_text(before)
        added = farm.csl("source", "add", "docs", "--brain", "north", "--exclude", "x/", "--deleted", "hide")
        assert "source docs added to north" in added.text
        assert farm.file.read_text().startswith(before)
        assert farm.file.read_text().endswith(
            '[[brains.north.sources]]\npath = "docs"\nexclude = ["x/"]\ndeleted = "hide"\n'
        )
        (listed,) = farm.csl("source", "list", "--json").data
        assert (listed["name"], listed["files"], listed["behind"]) == ("docs", 2, 2)
        assert farm.csl("source", "remove", "docs", "--brain", "north").status == 0
        assert farm.file.read_text() == before

    def test_a_relative_place_is_meant_from_here_and_written_from_the_project(self, farm: Product) -> None:
        done = farm.process("source", "add", "a.md", "--brain", "north", "--json", cwd=farm.root / "docs")
        assert done.data["name"] == "docs/a.md"

    @pytest.mark.parametrize(
        ("args", "status", "said"),
        [
            (("add", "nowhere"), 2, "does not exist"),
            (("add",), 2, "either a PLACE or a --kind"),
            (("add", "docs", "--kind", "mail"), 2, "either a PLACE or a --kind"),
            (("add", "docs", "--revision", "v1"), 2, "goes with --git"),
            (("add", "docs/a.md", "--git"), 2, "is not a folder"),
            (("add", "--kind", "mail", "--option", "x"), 2, "is not KEY=VALUE"),
            (("add", "docs", "--deleted", "drop"), 2, "drop"),
            (("remove", "docs"), 4, "has no source 'docs'"),
        ],
    )
    def test_refusals_change_nothing(
        self, farm: Product, args: tuple[str, ...], status: int, said: str
    ) -> None:
        before = farm.file.read_bytes()
        done = farm.csl("source", *args, "--brain", "north", "--json")
        assert done.status == status
        assert said in done.error["message"]
        assert farm.file.read_bytes() == before

    def test_twice(self, farm: Product) -> None:
        assert farm.csl("source", "add", "docs", "--brain", "north").status == 0
        assert farm.csl("source", "add", "docs", "--brain", "north").status == 2
        assert farm.csl("source", "add", "docs", "--brain", "south").status == 0

    def test_options_of_a_plugin_are_written(self, farm: Product) -> None:
        farm.csl("source", "add", "--kind", "mail", "--option", "server=a=b", "--brain", "north")
        assert 'kind = "mail"\nserver = "a=b"\n' in farm.file.read_text()

    def test_in_the_middle_of_others(self, farm: Product) -> None:
        head = farm.file.read_text()
        tables = [f'[[brains.north.sources]]\n# about {n}\npath = "{n}"\n\n' for n in ("one", "two", "three")]
        farm.file.write_text(head + "\n" + "".join(tables))
        assert farm.csl("source", "remove", "two", "--brain", "north").status == 0
        text = farm.file.read_text()
        assert '"two"' not in text and "about two" not in text
        assert text.startswith(head) and "about one" in text and "about three" in text

    def test_sources_in_one_list_are_left_to_the_person(self, farm: Product) -> None:
        text = farm.file.read_text().replace(
            "[brains.north]", '[brains.north]\nsources = [{ path = "docs" }]'
        )
        farm.file.write_text(text)
        done = farm.csl("source", "remove", "docs", "--brain", "north", "--json")
        assert done.status == 3
        assert "written in one list" in done.error["message"]
        assert farm.file.read_text() == text


class TestSync:
    @pytest.fixture
    def synced(self, farm: Product) -> Product:
        farm.csl("source", "add", "docs", "--brain", "north", "--deleted", "hide")
        return farm

    def test_a_dry_run_makes_nothing(self, synced: Product) -> None:
        assert changes(synced, "--dry-run") == [("new", "docs/a.md"), ("new", "docs/b.md")]
        assert not (synced.root / "brains").exists()

    def test_and_then(self, synced: Product) -> None:
        first = synced.csl("sync", "--brain", "north")
        assert "north: 2 new; " in first.text
        assert "  new      docs/a.md\n" in first.text
        (synced.root / "docs/a.md").rename(synced.root / "docs/z.md")
        (synced.root / "docs/b.md").unlink()
        text = synced.csl("sync", "--brain", "north").text
        assert "  moved    docs/z.md (from docs/a.md)\n" in text
        assert "  hidden   docs/b.md (it is gone)\n" in text
        assert "nothing new, nothing written" in synced.csl("sync", "--brain", "north").text
        synced.verified("north")

    def test_status_says_whether_it_is_behind(self, synced: Product) -> None:
        def state() -> tuple[str, int]:
            (north,) = synced.csl("status", "--brain", "north", "--json").data["brains"]
            return north["state"], north["sources"][0]["behind"]

        assert state() == ("missing", 2)
        synced.csl("sync", "--brain", "north")
        assert state() == ("healthy", 0)
        synced.write(
            "docs/c.md", RETRIES + "\nAnd one more paragraph about the spacing of retries, at some length.\n"
        )
        (synced.root / "docs/b.md").unlink()
        assert state() == ("stale", 2)
        assert "behind its sources: csl sync --brain north" in synced.csl("status").text
        synced.csl("sync", "--brain", "north")
        assert state() == ("healthy", 0)

    def test_a_failing_source_is_told_and_the_rest_is_in(self, synced: Product) -> None:
        (synced.root / "later").mkdir()
        synced.csl("source", "add", "later", "--brain", "north")
        (synced.root / "later").rmdir()
        done = synced.csl("sync", "--brain", "north", "--json")
        assert done.status == 11
        assert done.error["message"] == "1 source failed: later"
        assert [each["what"] for each in done.json["data"][0]["changes"]] == ["new", "new"]

    def test_no_source(self, farm: Product) -> None:
        for args in (("--brain", "north"), ("--all",)):
            done = farm.csl("sync", *args, "--json")
            assert done.status == 2
            assert "declares" in done.error["message"]

    def test_all_and_one_brain_that_is_damaged(self, synced: Product) -> None:
        synced.csl("source", "add", "docs", "--brain", "south")
        synced.write("brains/north/brain.db", b"this is no database")
        done = synced.csl("sync", "--all", "--json")
        assert done.status == 5
        assert {each["brain"] for each in done.json["data"]} == {"north", "south"}
        assert len(synced.texts("south", "retries queue")) == 2

    def test_brain_and_all_exclude_each_other(self, synced: Product) -> None:
        assert synced.csl("sync", "--brain", "north", "--all").status == 2

    def test_a_redacted_file_is_exit_status_6(self, synced: Product) -> None:
        synced.file.write_text(
            synced.file.read_text() + "\n[retention]\nredact = true\ncanonical_redact = true\n"
        )
        synced.csl("sync", "--brain", "north")
        match = synced.search("north", "retries spaced")["matches"][0]
        redacted = synced.csl(
            "retain", "redact", match["block_id"], "--reason", "private", "--brain", "north", "--yes"
        )
        assert redacted.status == 0, redacted
        for _ in range(2):
            done = synced.csl("sync", "--brain", "north")
            assert done.status == 6
            assert "refused  docs/a.md: " in done.text

    def test_killed_and_again(self, synced: Product) -> None:
        for n in range(30):
            synced.write(
                f"docs/n{n}.md", f"# N\n\nPlot {n} of sorghum needs its second weeding after {n} days.\n"
            )
        small = "from consilience.ingest import pipeline; pipeline.BATCH_PASSAGES = 4\n"
        process = synced.started("sync", "--brain", "north", before=small)
        deadline = time.monotonic() + 60
        while not (synced.brain("north") / "brain.db-wal").exists() and time.monotonic() < deadline:
            time.sleep(0.005)
        process.kill()
        process.communicate()
        rest = [each for each in changes(synced) if each[0] == "new"]
        assert changes(synced) == []
        assert len(rest) <= 32
        assert len(synced.texts("north", "plot sorghum weeding retries queue")) == 32
        synced.verified("north")

    def test_two_at_once(self, synced: Product) -> None:
        first = [synced.started("sync", "--brain", "north", "--json") for _ in range(2)]
        ended = [json.loads(each.communicate()[0]) for each in first]
        assert all(each["ok"] for each in ended), ended
        news = [sum(c["what"] == "new" for c in each["data"][0]["changes"]) for each in ended]
        assert sorted(news) == [0, 2]
        synced.verified("north")


class TestWatch:
    @pytest.fixture
    def watching(self, farm: Product) -> Iterator[subprocess.Popen[bytes]]:
        farm.csl("source", "add", "docs", "--brain", "north", "--deleted", "hide")
        for name in ("a.md", "b.md"):
            os.utime(farm.root / "docs" / name, (LONG_AGO, LONG_AGO))
        process = farm.started("watch", "--brain", "north", "--interval", "0.2")
        yield process
        process.kill()
        process.communicate()

    def line(self, process: subprocess.Popen[bytes]) -> str:
        assert process.stdout is not None
        return process.stdout.readline().decode()

    def test_each_change_is_a_line_until_interrupted(
        self, farm: Product, watching: subprocess.Popen[bytes]
    ) -> None:
        assert [self.line(watching) for _ in range(2)] == [
            "north  new      docs/a.md\n",
            "north  new      docs/b.md\n",
        ]
        (farm.root / "docs/a.md").rename(farm.root / "docs/c.md")
        assert self.line(watching) == "north  moved    docs/c.md (from docs/a.md)\n"
        farm.write(
            "docs/b.md", QUEUE + "\nThe oldest entry of a queue is the one to be looked at first, always.\n"
        )
        assert self.line(watching) == "north  changed  docs/b.md\n"
        (farm.root / "docs/b.md").unlink()
        assert self.line(watching) == "north  hidden   docs/b.md (it is gone)\n"
        watching.send_signal(signal.SIGINT)
        out, err = watching.communicate(timeout=60)
        assert (watching.returncode, out) == (0, b"")
        assert b"Traceback" not in err
        farm.verified("north")
