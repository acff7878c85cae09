"""A disk that is full, at every place where something is written: the old state stays, and more room is enough."""

from __future__ import annotations

import base64
import errno
import os
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from product import QUESTION, Product

MANY = "# Ferries\n\n" + "\n\n".join(
    f"The ferry number {i} leaves the island {i * 7} at dawn with {i % 13} goats aboard." for i in range(900)
)


@pytest.fixture
def small_disk(own_farm: Product) -> Iterator[Product]:
    """The project on a file system of three megabytes of its own."""
    folder = own_farm.root.parent / "small"
    folder.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if not mounted or mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield Product(Path(shutil.copytree(own_farm.root, folder / "farm")))
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def leave(farm: Product, size: int) -> None:
    """Fill the disk up to so many bytes."""
    file = farm.root.parent / "fill"
    file.unlink(missing_ok=True)
    file.write_bytes(bytes(shutil.disk_usage(farm.root).free - size))


def test_a_disk_with_less_and_less_room(small_disk: Product) -> None:
    """Nothing, too little for the commit, enough for the commit and not for the index: each is told, none loses."""
    farm = small_disk
    farm.write("many.md", MANY)
    head = farm.search("west", "relay station")["snapshot"]
    for room in (0, 40_000, 150_000):
        leave(farm, room)
        done = farm.csl("ingest", "many.md", "--brain", "west", "--json")
        assert done.status == 11 and done.error["code"] == "storage" and done.error["retryable"] is True
        assert "disk is full" in done.error["message"] and "free some space" in done.error["hint"]
        assert "ingest" in str(done.json["command"]) and done.json["data"] is None
        for brain, text in (("west", "relay station"), ("north", QUESTION)):
            assert farm.search(brain, text)["count"] > 0
        assert farm.search("west", "relay station")["snapshot"] == head
        assert farm.csl("status", "--json").status == 0
        farm.verified("west")
    (farm.root.parent / "fill").unlink()
    assert farm.ingest("many.md", "--brain", "west")["taken"] == 1
    assert farm.search("west", "ferry number 77")["count"] > 0
    farm.verified("west")


def test_no_room_for_the_index_keeps_what_is_committed(small_disk: Product) -> None:
    farm = small_disk
    farm.write("many.md", MANY)
    assert farm.csl("ingest", "many.md", "--brain", "gone", "--no-embed").status == 0
    shutil.rmtree(farm.brain("gone") / "derived")
    leave(farm, 60_000)
    done = farm.csl("index", "--brain", "gone", "--json")
    assert done.status == 11 and done.error["code"] == "storage"
    asked = farm.csl("search", "--brain", "gone", "ferry number 77", "--json")
    assert asked.data["count"] > 0 and asked.json["warnings"]
    (farm.root.parent / "fill").unlink()
    assert farm.csl("index", "--brain", "gone").status == 0
    assert farm.csl("search", "--brain", "gone", "ferry number 77", "--json").json["warnings"] == []
    farm.verified("gone")


def no_space(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def refused(farm: Product, *args: str) -> Any:
    done = farm.csl(*args, "--json")
    assert done.status == 11 and done.error["code"] == "storage", done
    assert "No space left" in done.error["message"] and done.error["hint"]
    return done.error


def test_a_limit_on_the_size_of_a_file(own_farm: Product) -> None:
    """A real failed write without a mount: the largest size of a file, as the kernel enforces it."""
    if os.name != "posix":
        pytest.skip("no such limit here")
    own_farm.write("many.md", MANY)
    size = (own_farm.brain("west") / "brain.db").stat().st_size
    before = (
        "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))\n"
    )
    done = own_farm.process("ingest", "many.md", "--brain", "west", "--json", before=before)
    assert done.status == 11 and done.error["code"] == "storage"
    own_farm.verified("west")
    assert own_farm.texts("west", "ferry number") == []
    assert own_farm.ingest("many.md", "--brain", "west")["taken"] == 1


def test_no_room_for_a_large_original(own_farm: Product, monkeypatch: pytest.MonkeyPatch) -> None:
    from consilience.store import content

    noise = base64.b64encode(random.Random(1).randbytes(1_500_000))
    own_farm.write(
        "in/large.html", b"<html><body><p>The ledger lies open.</p><!-- " + noise + b" --></body></html>"
    )
    monkeypatch.setattr(content.os, "fsync", no_space)
    refused(own_farm, "ingest", "in", "--brain", "west", "--no-embed")
    monkeypatch.undo()
    assert not [p for p in (own_farm.brain("west") / "content").rglob("*") if p.is_file()]
    own_farm.verified("west")
    assert own_farm.ingest("in", "--brain", "west", "--no-embed")["taken"] == 1
    own_farm.verified("west")


def test_no_room_for_what_is_derived(own_farm: Product, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full from the first, the second ... write of what is derived on."""
    whole = os.fsync
    for at in range(100):
        calls = [0]

        def fsync(handle: int, at: int = at, calls: list[int] = calls) -> None:
            calls[0] += 1
            if calls[0] > at:
                no_space()
            whole(handle)

        own_farm.write(f"in/{at}.md", f"# Number {at}\n\n{MANY[at * 90 : at * 90 + 800]}")
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fsync)
            done = own_farm.csl("ingest", f"in/{at}.md", "--brain", "north", "--json")
        if done.status == 0:
            break
        assert done.status == 11 and done.error["message"].startswith("everything is committed"), done
        assert "No space left" in done.error["message"] and "`index` goes on" in done.error["hint"]
        assert own_farm.search("north", "ferry goats")["count"] > 0
        own_farm.verified("north")
        assert own_farm.csl("index", "--brain", "north").status == 0
        assert own_farm.csl("status", "--brain", "north").text.count("healthy") == 1
    assert 3 < at < 99


def test_no_room_for_the_projects_file(own_farm: Product, monkeypatch: pytest.MonkeyPatch) -> None:
    from consilience import files

    before = own_farm.file.read_bytes()
    monkeypatch.setattr(files.os, "fsync", no_space)
    refused(own_farm, "project", "add", "east")
    refused(own_farm, "project", "remove", "west")
    monkeypatch.undo()
    assert own_farm.file.read_bytes() == before
    assert [p.name for p in own_farm.root.iterdir() if p.name.startswith(".consilience")] == []
    assert own_farm.csl("project", "add", "east").status == 0


def test_no_room_for_a_new_brain(own_farm: Product) -> None:
    """The layout is complete or not there."""
    if os.name != "posix":
        pytest.skip("no such limit here")
    before = (
        "import resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, 8_000))\n"
    )
    done = own_farm.process("ingest", "sources", "--brain", "gone", "--json", before=before)
    assert done.status == 11 and done.error["code"] == "storage"
    assert not (own_farm.brain("gone") / "brain.db").exists()
    assert own_farm.ingest("sources", "--brain", "gone")["taken"] == 5
    own_farm.verified("gone")
