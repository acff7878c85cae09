"""A reader that does whatever the file says, for the tests of containment."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time

from consilience.ingest.model import Document, Skip, TextBlock

_kept: list[bytearray] = []


def read(data: bytes, name: str) -> Document | Skip:
    word, _, rest = data.partition(b" ")
    if word == b"crash":
        ctypes.string_at(0)
    elif word == b"exit":
        os._exit(3)
    elif word == b"kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif word == b"spin":
        while True:
            pass
    elif word == b"sleep":
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        time.sleep(1000)
    elif word == b"eat":
        _kept.extend(bytearray(1 << 24) for _ in range(1 << 10))
    elif word == b"leak":
        _kept.append(bytearray(int(rest)))
    elif word == b"deep":
        return read(data, name)
    elif word == b"raise":
        raise ValueError("the reader is wrong")
    elif word == b"print":
        print("words on standard output", flush=True)
        os.write(1, b"x" * 100_000)
    elif word == b"ask":
        return Skip(f"standard input says {sys.stdin.readline()!r}")
    elif word == b"write":
        with open(rest, "wb") as file:  # noqa: PTH123
            file.write(b"x")
    elif word == b"nonsense":
        return object()  # type: ignore[return-value]
    elif word == b"skip":
        return Skip("by rule")
    block = TextBlock(text=f"{name}: {len(data)}", role="prose", first_line=1, last_line=1)
    return Document(title=name, reader="misbehaving", version="1", blocks=(block,))
