"""Readers of risky formats in a process of their own, bound in time and memory (docs/decisions/0190).

One process reads many files; it is replaced when it dies, is stopped, or runs out of memory.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time

import msgspec

from consilience.ingest.model import Document, Skip

SECONDS = 60
MEMORY = 1 << 30
MAX_REPLY = 256 << 20
_GRACE = 5.0
_CHUNK = 1 << 20
_START = (
    "import json, sys\n"
    "sys.path[:] = json.loads(sys.argv[1])\n"
    "from consilience.ingest.readers.contained_worker import main\n"
    "main(int(sys.argv[2]))\n"
)


class Limits(msgspec.Struct, frozen=True):
    """What one file may use: wall-clock seconds, bytes of address space."""

    seconds: int = SECONDS
    memory: int = MEMORY


class Request(msgspec.Struct, frozen=True):
    """What the process is asked; the file's `size` bytes follow."""

    module: str
    name: str
    seconds: int
    size: int


class Reply(msgspec.Struct, frozen=True):
    """One of the three is set. `memory`: the error is that there was not enough."""

    document: Document | None = None
    skip: Skip | None = None
    error: str = ""
    memory: bool = False


class _DiedError(Exception):
    """The process ended, or said nothing in time, before it answered."""


def read(reader: str, data: bytes, name: str) -> Document | Skip:
    """Read a file by the reader `consilience.ingest.readers.READER`, contained. Never raises on any bytes: what a
    reader does wrong becomes a failed Skip."""
    return _SHARED.read(f"consilience.ingest.readers.{reader}", data, name)


def close() -> None:
    """End the process that is kept for the next file, if there is one."""
    _SHARED.close()


class Container:
    """Keeps one process that reads files with modules that have `read(data, name)`. Threads wait for one another."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._served = 0
        self.started = 0
        """How many processes there were."""

    def read(self, module: str, data: bytes, name: str) -> Document | Skip:
        with self._lock:
            result = self._once(module, data, name)
            if isinstance(result, Reply):
                # What other files left behind in the process must not decide about this one.
                result = self._once(module, data, name)
            if isinstance(result, Reply):
                return Skip(result.error, failed=True)
            return result

    def _once(self, module: str, data: bytes, name: str) -> Document | Skip | Reply:
        """A Reply where another process may do better."""
        try:
            fresh = self._ready()
        except OSError as error:
            return Skip(f"no process could be started for its reader: {error.strerror or error}", failed=True)
        request = Request(module, name, self.limits.seconds, len(data))
        try:
            reply = self._ask(request, data)
        except _DiedError:
            reason, timed_out = self._post_mortem()
            return Skip(reason, failed=True) if fresh or timed_out else Reply(error=reason)
        except BaseException:
            self._end()
            raise
        self._served += 1
        if reply.memory:
            self._end()
            reason = f"needs more than {self.limits.memory >> 20:,} MiB of memory to read"
            return Skip(reason, failed=True) if fresh else Reply(error=reason)
        if reply.document is not None:
            return reply.document
        return reply.skip or Skip(f"the reader failed: {reply.error}", failed=True)

    # --- the process ------------------------------------------------------------------------------------------

    def _ready(self) -> bool:
        """Have a process; whether it has read nothing yet."""
        if self._process is not None and self._owner != os.getpid():
            self._process = None  # of the process that this one was forked from
        if self._process is not None and self._process.poll() is not None:
            self._end()
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _START, json.dumps(sys.path), str(self.limits.memory)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=0,
            )
            os.set_blocking(self._pipe(0), False)
            self._owner = os.getpid()
            self._served = 0
            self.started += 1
        return self._served == 0

    def _ask(self, request: Request, data: bytes) -> Reply:
        head = msgspec.msgpack.encode(request)
        deadline = time.monotonic() + self.limits.seconds + _GRACE
        self._send(len(head).to_bytes(8) + head, deadline)
        self._send(data, deadline)
        size = int.from_bytes(self._receive(8, deadline))
        if size > MAX_REPLY:
            raise _DiedError
        try:
            return msgspec.msgpack.decode(self._receive(size, deadline), type=Reply)
        except msgspec.MsgspecError:
            raise _DiedError from None

    def _send(self, data: bytes, deadline: float) -> None:
        fd = self._pipe(0)
        view = memoryview(data)
        while view:
            _, writable, _ = select.select([], [fd], [], max(0.0, deadline - time.monotonic()))
            if not writable:
                raise _DiedError
            try:
                view = view[os.write(fd, view[:_CHUNK]) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise _DiedError from None

    def _receive(self, size: int, deadline: float) -> bytes:
        fd = self._pipe(1)
        parts: list[bytes] = []
        while size:
            readable, _, _ = select.select([fd], [], [], max(0.0, deadline - time.monotonic()))
            part = os.read(fd, min(size, _CHUNK)) if readable else b""
            if not part:
                raise _DiedError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _pipe(self, which: int) -> int:
        process = self._process
        pipe = (process.stdout if which else process.stdin) if process is not None else None
        if pipe is None:
            raise _DiedError
        return pipe.fileno()

    def _post_mortem(self) -> tuple[str, bool]:
        """End the process; why it did not answer, in words, and whether that was time."""
        process = self._process
        code: int | None = None
        if process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = process.wait(0.5)
        self._end()
        if code is None or code in (-signal.SIGALRM, -signal.SIGXCPU):
            return f"took longer than {self.limits.seconds:,} s to read", True
        if code < 0:
            return f"its reader crashed ({_signal(-code)})", False
        return f"its reader ended with status {code}", False

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        process.wait()

    def close(self) -> None:
        with self._lock:
            self._end()


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


_SHARED = Container()
atexit.register(close)
