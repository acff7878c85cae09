"""The process that a contained reader runs in: reads requests from standard input, answers on standard output.

It binds itself before it looks at a byte: address space, no files written, no core dump, and for each file a timer
whose signal ends it wherever it stands, in foreign code too. So does the end of the process that asked.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import select
import signal
from typing import BinaryIO

import msgspec

from consilience.ingest.model import Skip
from consilience.ingest.readers.contained import Reply, Request


def main(memory: int) -> None:
    requests, replies = _private_pipes()
    _bound(memory)
    leash = _Leash(requests.fileno())
    while head := requests.read(8):
        request = msgspec.msgpack.decode(requests.read(int.from_bytes(head)), type=Request)
        signal.setitimer(signal.ITIMER_REAL, request.seconds)
        reply = _answer(request, requests, leash)
        answer = _encoded(reply)
        leash.loosen()
        signal.setitimer(signal.ITIMER_REAL, 0)
        replies.write(len(answer).to_bytes(8))
        replies.write(answer)
        replies.flush()


def _private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """The two pipes, out of reach of what a library prints or asks for."""
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    return requests, replies


def _bound(memory: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    import resource

    for what, limit in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):  # some systems know a limit only by name
            hard = resource.getrlimit(what)[1]
            resource.setrlimit(what, (limit if hard == resource.RLIM_INFINITY else min(limit, hard),) * 2)


class _Leash:
    """Ends this process with the one that asks, while it reads a file too: nothing more comes through the pipe then, so
    that a signal about it says that the other end is gone. Where the system has none, the timer is what there is."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._held = False
        self.loosen()
        with contextlib.suppress(ImportError, AttributeError, OSError):
            import fcntl

            fcntl.fcntl(pipe, fcntl.F_SETOWN, os.getpid())
            fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
            self._held = True

    def loosen(self) -> None:
        signal.signal(signal.SIGIO, signal.SIG_IGN)

    def tighten(self) -> None:
        if not self._held:
            return
        signal.signal(signal.SIGIO, signal.SIG_DFL)
        poll = select.poll()
        poll.register(self._pipe, 0)
        if any(event & select.POLLHUP for _, event in poll.poll(0)):
            signal.raise_signal(signal.SIGIO)


def _answer(request: Request, requests: BinaryIO, leash: _Leash) -> Reply:
    try:
        data = requests.read(request.size)
        beside = requests.read(request.beside) if request.beside is not None else None
        leash.tighten()
        if request.media_type:
            return _parsed(request, data, beside)
        found = importlib.import_module(request.module).read(data, request.name)
    except MemoryError:
        return Reply(error="out of memory", memory=True)
    except RecursionError:
        return Reply(error="nested too deeply")
    except Exception as error:
        return Reply(error=f"{type(error).__name__}: {error}"[:300])
    return Reply(skip=found) if isinstance(found, Skip) else Reply(document=found)


def _parsed(request: Request, data: bytes, beside: bytes | None) -> Reply:
    from consilience.ingest.passages import split
    from consilience.ingest.prepared import distinct
    from consilience.ingest.readers import read_as

    found = read_as(request.media_type, data, request.name, lambda _: beside, here=True)
    if isinstance(found, Skip):
        return Reply(skip=found)
    if found.rows is not None:
        return Reply(document=msgspec.structs.replace(found, rows=None), streams=True)
    passages = distinct(split(found))
    return Reply(document=msgspec.structs.replace(found, blocks=()), passages=passages)


def _encoded(reply: Reply) -> bytes:
    try:
        return msgspec.msgpack.encode(reply)
    except MemoryError:
        return msgspec.msgpack.encode(Reply(error="out of memory", memory=True))
    except Exception as error:  # a reader that gives back what is no Document
        return msgspec.msgpack.encode(Reply(error=f"{type(error).__name__}: {error}"[:300]))
