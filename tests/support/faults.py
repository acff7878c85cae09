"""A process whose calls to the system can be made to go wrong (faults.c, fault_worker.py), as tests drive it."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from product import Done, Product

WRITE, SYNC, RENAME, UNLINK, OPEN, MKDIR, TRUNCATE, READ = (1 << i for i in range(8))
CHANGES = WRITE | SYNC | RENAME | UNLINK | OPEN | MKDIR | TRUNCATE
KILL, TORN, FAIL, SHORT = 1, 2, 3, 4
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Fault:
    """What happens to the `at`-th call of the kinds in `mask` below the folder, counted from 0.

    `mode`: KILL before it, TORN half a write and then a kill, FAIL with an errno, SHORT half a write.
    `sticky`: to every one from then on.
    """

    at: int
    mode: int = KILL
    mask: int = CHANGES
    code: int = 0
    sticky: bool = False

    def __str__(self) -> str:
        what = {KILL: "kill", TORN: "torn write", FAIL: errno.errorcode.get(self.code, "?"), SHORT: "short"}
        return f"{what[self.mode]} at call {self.at}{' and on' if self.sticky else ''} of {self.mask:#x}"


@dataclass(frozen=True)
class Outcome:
    """How a command line ended in the worker. `acks`: the digests of the snapshots it committed, as it told them."""

    status: int
    acks: tuple[str, ...]
    out: str
    err: str
    calls: int

    @property
    def done(self) -> Done:
        return Product.checked(Done(self.status, self.out.encode(), self.err))


class Worker:
    """A process that forks one child for each command line. One at a time."""

    def __init__(self, shim: Path) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("CONSILIENCE_")}
        environment = {**kept, "LD_PRELOAD": str(shim), "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "fault_worker.py")],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def run(
        self,
        product: Product,
        args: Sequence[str],
        *,
        folder: Path | None = None,
        fault: Fault | None = None,
        trace: Path | None = None,
        kill_after: float | None = None,
    ) -> Outcome:
        """One command line of a project; `fault` is for calls below `folder` (the project's brains)."""
        request: dict[str, Any] = {
            "project": str(product.root),
            "environment": {"CONSILIENCE_CACHE": str(product.root / ".cache")},
            "args": list(args),
            "folder": str(folder or product.root / "brains"),
            "kill_after": kill_after,
            "trace": None if trace is None else str(trace),
            "arm": None,
        }
        if fault is not None:
            request["arm"] = {
                "mode": fault.mode, "mask": fault.mask, "at": fault.at, "code": fault.code,
                "sticky": int(fault.sticky),
            }  # fmt: skip
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        return Outcome(answer["status"], tuple(answer["acks"]), answer["out"], answer["err"], answer["calls"])

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


def workers() -> Iterator[Worker]:
    """For a fixture: a worker, or a skip that says why there is none."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not sys.platform.startswith("linux"):
        pytest.skip("faults are injected by LD_PRELOAD and /proc, which only Linux has")
    if compiler is None:
        pytest.skip("no C compiler (cc) for tests/support/faults.c")
    with tempfile.TemporaryDirectory() as folder:
        shim = Path(folder) / "faults.so"
        built = subprocess.run(
            [
                compiler,
                "-O1",
                "-shared",
                "-fPIC",
                "-o",
                str(shim),
                str(HERE / "faults.c"),
                "-ldl",
                "-lpthread",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if built.returncode:
            pytest.skip(f"tests/support/faults.c does not compile here: {built.stderr[:300]}")
        worker = Worker(shim)
        try:
            yield worker
        finally:
            worker.close()
