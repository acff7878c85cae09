"""Runs command lines that are killed or meet a failing disk: a process that has everything imported and forks.

Started with faults.c preloaded. Reads requests, a JSON object a line; answers each with one. In the child every
commit that `Writer` made is acknowledged through a pipe before the next step, so that what was acknowledged survives
any kill.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import io
import json
import os
import pkgutil
import select
import signal
import sys
import time
from typing import Any

import consilience

LATE = ("consilience.embed.e5", "consilience.embed.http", "consilience.__main__")
"""Not imported ahead: they want models."""


def imported() -> None:
    for module in pkgutil.walk_packages(consilience.__path__, "consilience."):
        if not module.name.startswith(LATE):
            with contextlib.suppress(ImportError):  # an extra that is not installed
                importlib.import_module(module.name)


def acknowledging(pipe: int, faults: ctypes.CDLL) -> None:
    from consilience.ingest import pipeline
    from consilience.store.writer import Writer

    pipeline.BATCH_PASSAGES = 12  # several commits of a few files
    whole = Writer.__exit__

    def ended(self: Writer, *failure: Any) -> None:
        whole(self, *failure)
        if self.snapshot is not None:
            text = f"ack {self.snapshot.digest.hex()}\n".encode()
            faults.fault_mark(text.strip())
            os.write(pipe, text)

    Writer.__exit__ = ended  # type: ignore[method-assign]


def child(request: dict[str, Any], pipe: int) -> None:
    """Run the command line and report; leaves by os._exit."""
    from consilience.cli.main import main

    faults = ctypes.CDLL(None)
    acknowledging(pipe, faults)
    os.chdir(request["project"])
    os.environ.update(request["environment"])
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True), io.StringIO()
    arm = request.get("arm")
    trace = os.open(request["trace"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC) if request.get("trace") else -1
    if arm is not None or trace >= 0:
        arm = arm or {"mode": 0, "mask": 0, "at": 0, "code": 0, "sticky": 0}
        faults.fault_arm(
            request["folder"].encode(), arm["mode"], arm["mask"], ctypes.c_long(arm["at"]), arm["code"],
            arm["sticky"], trace,
        )  # fmt: skip
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(request["args"])
        except BaseException as error:
            status = 99
            err.write(f"Traceback: {error!r}")
    calls = ctypes.c_long.in_dll(faults, "fault_count").value
    faults.fault_disarm()
    said = {"out": out.buffer.getvalue().decode(), "err": err.getvalue(), "calls": calls}  # type: ignore[attr-defined]
    os.write(pipe, ("end " + json.dumps(said) + "\n").encode())
    os._exit(status)


def run(request: dict[str, Any]) -> dict[str, Any]:
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.close(reading)
            child(request, writing)
        finally:
            os._exit(98)
    os.close(writing)
    kill_after = request.get("kill_after")
    until = time.monotonic() + (120 if kill_after is None else kill_after)
    received = b""
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            os.kill(pid, signal.SIGKILL)
            until = time.monotonic() + 120
            continue
        data = os.read(reading, 1 << 16)
        if not data:
            break
        received += data
    os.close(reading)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    answer: dict[str, Any] = {"status": status, "acks": [], "out": "", "err": "", "calls": 0}
    for line in received.decode().splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "ack":
            answer["acks"].append(rest)
        else:
            answer.update(json.loads(rest))
    return answer


def serve() -> None:
    imported()
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)


if __name__ == "__main__":
    serve()
