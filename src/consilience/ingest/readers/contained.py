"""Readers of risky formats in a process of their own, bound in time and memory (docs/decisions/0190).

One process reads many files; it is replaced when it dies, is stopped, or runs out of memory. The processes that ingest
parses in side by side are such processes too (docs/decisions/0310).
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

from consilience.ingest.model import Document, Passage, Skip

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
    """What the process is asked; the file's `size` bytes follow, then the `beside` bytes of the one other file that the
    format may name, if there is one. `module` reads; where it is "", the reader of `media_type` does, and the
    document is split into passages."""

    module: str
    name: str
    seconds: int
    size: int
    media_type: str = ""
    beside: int | None = None


class Reply(msgspec.Struct, frozen=True):
    """One of the first three is set. `memory`: the error is that there was not enough. `passages` are the distinct ones
    of a document that was asked for by its media type, which has no blocks then; `streams` says that it gives its
    blocks one at a time, and has to be read where they are used."""

    document: Document | None = None
    skip: Skip | None = None
    error: str = ""
    memory: bool = False
    passages: tuple[Passage, ...] = ()
    streams: bool = False


class Parsed(msgspec.Struct, frozen=True):
    """`bound`: it failed for time or memory. `streams` as in Reply."""

    found: Document | Skip
    passages: tuple[Passage, ...] = ()
    streams: bool = False
    bound: bool = False


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
        self._stopped = False
        self.started = 0
        """How many processes there were."""

    def read(self, module: str, data: bytes, name: str) -> Document | Skip:
        return self._run(Request(module, name, self.limits.seconds, len(data)), data).found

    def parse(self, media_type: str, data: bytes, name: str, beside: bytes | None = None) -> Parsed:
        """Read by the reader of a media type, contained or not, and split. Never raises on any bytes."""
        other = None if beside is None else len(beside)
        request = Request("", name, self.limits.seconds, len(data), media_type, other)
        return self._run(request, data, beside or b"")

    def _run(self, request: Request, *data: bytes) -> Parsed:
        with self._lock:
            result = self._once(request, data)
            if result is None and not self._stopped:
                # What other files left behind in the process must not decide about this one.
                result = self._once(request, data)
            return result or Parsed(Skip("its reader was stopped", failed=True))

    def _once(self, request: Request, data: tuple[bytes, ...]) -> Parsed | None:
        """None where another process may do better: a fresh one always says something."""
        try:
            fresh = self._ready()
        except OSError as error:
            said = f"no process could be started for its reader: {error.strerror or error}"
            return Parsed(Skip(said, failed=True))
        try:
            reply = self._ask(request, data)
        except _DiedError:
            reason, timed_out = self._post_mortem()
            return Parsed(Skip(reason, failed=True), bound=timed_out) if fresh or timed_out else None
        except BaseException:
            self._end()
            raise
        self._served += 1
        if reply.memory:
            self._end()
            reason = f"needs more than {self.limits.memory >> 20:,} MiB of memory to read"
            return Parsed(Skip(reason, failed=True), bound=True) if fresh else None
        found = reply.document or reply.skip or Skip(f"the reader failed: {reply.error}", failed=True)
        return Parsed(found, reply.passages, reply.streams)

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
            if self._stopped:
                self._process.kill()
            self._served = 0
            self.started += 1
        return self._served == 0

    def _ask(self, request: Request, data: tuple[bytes, ...]) -> Reply:
        head = msgspec.msgpack.encode(request)
        deadline = time.monotonic() + self.limits.seconds + _GRACE
        self._send(len(head).to_bytes(8) + head, deadline)
        for part in data:
            self._send(part, deadline)
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

    def stop(self) -> None:
        """As `close`, from another thread and without waiting for what is being read: that fails."""
        self._stopped = True
        process = self._process
        if process is not None and self._owner == os.getpid():
            process.kill()
        self.close()


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


_SHARED = Container()
atexit.register(close)
