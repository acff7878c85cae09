"""What a reader does to its process stays there: one file fails with its reason, the next one is read."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from consilience.ingest.model import Document, Skip
from consilience.ingest.readers.contained import Container, Limits

MODULE = "misbehaving"


@pytest.fixture
def container() -> Iterator[Container]:
    made = Container(Limits(seconds=20, memory=1 << 28))
    yield made
    made.close()


def good(container: Container) -> None:
    document = container.read(MODULE, b"good", "a.pdf")
    assert isinstance(document, Document), document
    assert document.blocks[0].text == "a.pdf: 4"


def failure(container: Container, data: bytes) -> str:
    skip = container.read(MODULE, data, "a.pdf")
    assert isinstance(skip, Skip)
    assert skip.failed
    return skip.reason


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        (b"crash", "its reader crashed (SIGSEGV)"),
        (b"kill", "its reader crashed (SIGKILL)"),
        (b"exit", "its reader ended with status 3"),
        (b"eat", "needs more than 256 MiB of memory to read"),
        (b"deep", "the reader failed: nested too deeply"),
        (b"raise", "the reader failed: ValueError: the reader is wrong"),
        (b"nonsense", "the reader failed: TypeError: Encoding objects of type object is unsupported"),
    ],
)
def test_a_failing_file_names_its_reason_and_the_next_is_read(
    container: Container, word: bytes, reason: str
) -> None:
    good(container)
    assert failure(container, word) == reason
    good(container)
    assert failure(container, word) == reason
    good(container)


def test_a_reader_that_does_not_end_is_stopped() -> None:
    container = Container(Limits(seconds=1, memory=1 << 28))
    try:
        assert failure(container, b"spin") == "took longer than 1 s to read"
        good(container)
    finally:
        container.close()


def test_a_reader_that_shuts_its_ears_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("consilience.ingest.readers.contained._GRACE", 0.5)
    container = Container(Limits(seconds=1, memory=1 << 28))
    try:
        assert failure(container, b"sleep") == "took longer than 1 s to read"
        good(container)
    finally:
        container.close()


def test_one_process_reads_many_files(container: Container) -> None:
    for _ in range(20):
        good(container)
    assert container.read(MODULE, b"skip", "a") == Skip("by rule")
    failure(container, b"raise")
    assert container.started == 1


def test_what_files_before_left_behind_decides_nothing(container: Container) -> None:
    for _ in range(6):
        document = container.read(MODULE, b"leak %d" % (80 << 20), "a.pdf")
        assert isinstance(document, Document), document
    assert container.started > 1


def test_what_a_library_prints_or_asks_for_is_no_answer(container: Container) -> None:
    assert isinstance(container.read(MODULE, b"print", "a"), Document)
    assert container.read(MODULE, b"ask", "a") == Skip("standard input says ''")
    good(container)


def test_a_reader_writes_no_file(container: Container, tmp_path: Path) -> None:
    path = tmp_path / "written"
    reason = failure(container, b"write %s" % os.fsencode(path))
    assert "SIGXFSZ" in reason or "File too large" in reason
    assert not path.exists() or path.stat().st_size == 0


def test_a_large_file_goes_through_the_pipe(container: Container) -> None:
    document = container.read(MODULE, b"x" * (20 << 20), "a")
    assert isinstance(document, Document)
    assert document.blocks[0].text == f"a: {20 << 20}"


def test_a_process_that_died_between_two_files_is_replaced(container: Container) -> None:
    good(container)
    assert container._process is not None
    container._process.send_signal(signal.SIGKILL)
    good(container)


def test_the_process_ends_with_the_one_that_began_it() -> None:
    script = (
        "import os\nfrom consilience.ingest.readers.contained import Container\n"
        "c = Container()\nc.read('misbehaving', b'good', 'a')\n"
        "print(c._process.pid, flush=True)\nos.kill(os.getpid(), 9)\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, timeout=60)
    child = int(done.stdout)
    for _ in range(100):
        try:
            os.kill(child, 0)
            state = Path(f"/proc/{child}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0]
        except (ProcessLookupError, FileNotFoundError):
            return
        if state == "Z":
            return
        subprocess.run(["sleep", "0.05"], check=True)
    pytest.fail("the reader's process outlived its parent")


def test_the_process_ends_with_the_one_that_began_it_while_it_reads() -> None:
    script = (
        "import os, threading, time\nfrom consilience.ingest.readers.contained import Container\n"
        "c = Container()\nc.read('misbehaving', b'good', 'a')\n"
        "threading.Thread(target=c.read, args=('misbehaving', b'spin', 'a'), daemon=True).start()\n"
        "time.sleep(1)\nprint(c._process.pid, flush=True)\nos.kill(os.getpid(), 9)\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, timeout=60)
    stat = Path(f"/proc/{int(done.stdout)}/stat")
    for _ in range(200):
        try:
            if stat.read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] == "Z":
                return
        except (ProcessLookupError, FileNotFoundError):
            return
        subprocess.run(["sleep", "0.05"], check=True)
    pytest.fail("the reader's process outlived its parent")
