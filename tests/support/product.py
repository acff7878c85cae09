"""The whole product as its users meet it: real brains on disk, asked through the command line.

`Product.csl` runs a command line in this process, `Product.process` in one of its own. Both start from an
environment without the settings of whoever runs the tests.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

MAIN = "import sys\nfrom consilience.cli.main import main\nsys.exit(main())\n"
SENTENCES = {
    "pumps": "The pump of well {i} loses pressure when its inlet filter is clogged with sand.",
    "solar": "Panel row {i} delivers less current once the water tower casts its shadow over it.",
    "radio": "Relay station {i} repeats a frame at most three times, and then it counts the loss.",
    "crops": "Plot {i} of sorghum needs its second weeding some forty days after the sowing.",
}
PARAGRAPHS = 14
"""Paragraphs of each file."""

OLD_NOTICE = "The northern gate of the farm is opened for visitors at six in the morning.\n"
NEW_NOTICE = "The northern gate of the farm is opened for visitors at nine in the morning.\n"
QUESTION = "why does a pump lose pressure"
OFF_TOPIC = "who won the chess championship in Reykjavik"
TIMINGS = ("elapsed_ms", "actual_us")
"""What differs between two runs over the same snapshots (consilience.documents says so)."""


@dataclass(frozen=True)
class Done:
    """What one call of the command line did."""

    status: int
    out: bytes
    err: str

    @property
    def json(self) -> Any:
        """The envelope; fails where standard output is anything but that one object."""
        assert self.out.endswith(b"}\n") and self.out.count(b"\n") == 1, (self.out, self.err)
        return json.loads(self.out)

    @property
    def data(self) -> Any:
        """`data` of an answer in which nothing went wrong."""
        assert self.status == 0 and self.json["ok"] is True and self.json["error"] is None, self
        return self.json["data"]

    @property
    def error(self) -> Any:
        assert self.json["ok"] is False and self.status != 0, self
        return self.json["error"]

    @property
    def text(self) -> str:
        return self.out.decode()


@dataclass(frozen=True)
class Product:
    """One project on disk."""

    root: Path

    def brain(self, name: str) -> Path:
        return self.root / "brains" / name

    @property
    def file(self) -> Path:
        return self.root / "consilience.toml"

    def write(self, name: str, text: str | bytes) -> Path:
        """Put a file below the project's folder."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def environment(self, **more: str) -> dict[str, str]:
        ours = ("CONSILIENCE_", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "COLUMNS", "EMAIL", "PYTHONHASHSEED")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        made = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        return {**kept, **made, "CONSILIENCE_CACHE": str(self.root / ".cache"), **more}

    def csl(self, *args: str, **environment: str) -> Done:
        """One command line, in this process, from the project's folder."""
        from consilience.cli.main import main

        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
        err = io.StringIO()
        with (
            contextlib.chdir(self.root),
            mock.patch.dict(os.environ, self.environment(**environment), clear=True),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            status = main(list(args))
        return self.checked(Done(status, out.buffer.getvalue(), err.getvalue()))  # type: ignore[attr-defined]

    def process(
        self, *args: str | bytes, before: str = "", cwd: Path | None = None, **environment: str
    ) -> Done:
        """One command line in a process of its own; `before` is Python to run there first."""
        done = subprocess.run(
            [sys.executable, "-c", before + MAIN, *args],
            cwd=cwd or self.root,
            env=self.environment(**environment),
            capture_output=True,
            timeout=300,
            check=False,
        )
        return self.checked(Done(done.returncode, done.stdout, done.stderr.decode()))

    def started(self, *args: str, before: str = "", **environment: str) -> subprocess.Popen[bytes]:
        """The same, not waited for."""
        return subprocess.Popen(
            [sys.executable, "-c", before + MAIN, *args],
            cwd=self.root,
            env=self.environment(**environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    @staticmethod
    def checked(done: Done) -> Done:
        """No call, however it ends, shows a traceback or calls itself a bug."""
        assert "Traceback" not in done.err and b"Traceback" not in done.out, done
        assert "bug of ours" not in done.err and b"bug of ours" not in done.out, done
        return done

    def ingest(self, *args: str, **environment: str) -> Any:
        return self.csl("ingest", *args, "--json", **environment).data

    def search(self, brain: str, *args: str) -> Any:
        return self.csl("search", "--brain", brain, "--json", *args).data

    def texts(self, brain: str, *args: str) -> list[str]:
        """What a brain answers, floor aside: the statements of its matches."""
        matches = self.search(brain, "--no-floor", "--limit", "1000", *args)["matches"]
        return [match["content"]["statement"] for match in matches]

    def verified(self, brain: str) -> None:
        """Everything that a brain claims follows."""
        assert self.csl("verify", "--brain", brain, "--json").data["problems"] == []


def untimed(out: bytes) -> bytes:
    """The bytes of an envelope with its timings masked, and nothing else touched."""
    import re

    return re.sub(rb'"(elapsed_ms|actual_us)":[0-9.]+', rb'"\1":0', out)


def new_project(root: Path) -> Product:
    root.mkdir(parents=True, exist_ok=True)
    made = Product(root)
    assert made.csl("project", "init", "farm", "--actor", "ana@example.org").status == 0
    return made


def library(root: Path) -> Product:
    """A project of four brains.

    north and south share `pumps` and an old notice, which north has replaced; west has no model; gone is
    declared and has no layout here.
    """
    made = new_project(root)
    for name, model in (("north", "hashed"), ("south", "hashed"), ("west", "none"), ("gone", "hashed")):
        assert made.csl("project", "add", name, "--model", model).status == 0
    for subject, sentence in SENTENCES.items():
        paragraphs = "\n\n".join(sentence.format(i=i) for i in range(PARAGRAPHS))
        made.write(f"sources/{subject}.md", f"# All about {subject}\n\n{paragraphs}\n")
    made.write("sources/notice.md", OLD_NOTICE)
    made.ingest("sources/pumps.md", "sources/crops.md", "sources/notice.md", "--brain", "south")
    other = ("--actor", "ben@example.org")  # records of one actor in one second would be the same blocks
    made.ingest("sources/pumps.md", "sources/solar.md", "sources/notice.md", "--brain", "north", *other)
    made.ingest("sources/radio.md", "sources/solar.md", "--brain", "west")
    made.write("sources/notice.md", NEW_NOTICE)
    made.ingest("sources/notice.md", "--brain", "north")
    return made


def spoil(file: Path, change: Callable[[bytes], bytes]) -> None:
    file.write_bytes(change(file.read_bytes()))


@contextlib.contextmanager
def ground() -> Iterator[Path]:
    """A folder of one's own, in memory where the system has such a file system: every commit is an fsync."""
    memory = Path("/dev/shm")
    made = Path(tempfile.mkdtemp(prefix="csl-", dir=memory if memory.is_dir() else None)).resolve()
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)
