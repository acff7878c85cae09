"""The process that a contained reader runs in: reads requests from standard input, answers on standard output.

It binds itself before it looks at a byte: address space, no files written, no core dump, and for each file a timer
whose signal ends it wherever it stands, in foreign code too.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
from typing import BinaryIO

import msgspec

from consilience.ingest.model import Skip
from consilience.ingest.readers.contained import Reply, Request


def main(memory: int) -> None:
    requests, replies = _private_pipes()
    _bound(memory)
    while head := requests.read(8):
        request = msgspec.msgpack.decode(requests.read(int.from_bytes(head)), type=Request)
        signal.setitimer(signal.ITIMER_REAL, request.seconds)
        reply = _answer(request, requests)
        answer = _encoded(reply)
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


def _answer(request: Request, requests: BinaryIO) -> Reply:
    try:
        data = requests.read(request.size)
        found = importlib.import_module(request.module).read(data, request.name)
    except MemoryError:
        return Reply(error="out of memory", memory=True)
    except RecursionError:
        return Reply(error="nested too deeply")
    except Exception as error:
        return Reply(error=f"{type(error).__name__}: {error}"[:300])
    return Reply(skip=found) if isinstance(found, Skip) else Reply(document=found)


def _encoded(reply: Reply) -> bytes:
    try:
        return msgspec.msgpack.encode(reply)
    except MemoryError:
        return msgspec.msgpack.encode(Reply(error="out of memory", memory=True))
    except Exception as error:  # a reader that gives back what is no Document
        return msgspec.msgpack.encode(Reply(error=f"{type(error).__name__}: {error}"[:300]))
