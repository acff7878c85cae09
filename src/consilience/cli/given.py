"""What an argument names: a file, or standard input for `-`."""

from __future__ import annotations

import sys
from pathlib import Path

from consilience.errors import NotFoundError, UsageError

STANDARD_INPUT = "standard input"


def name_of(given: str) -> str:
    """What to call it in a message."""
    return STANDARD_INPUT if given == "-" else given


def read(given: str, *, hint: str | None = None) -> bytes:
    """All of its bytes. NotFoundError where there is no such file, with `hint`, or where it cannot be read; UsageError
    for a folder and for standard input that is closed."""
    try:
        if given == "-":
            if sys.stdin is None:
                raise UsageError("standard input is closed")
            return sys.stdin.buffer.read()
        return Path(given).read_bytes()
    except FileNotFoundError:
        raise NotFoundError(f"no file {given}", hint=hint) from None
    except IsADirectoryError:
        raise UsageError(f"{given} is a folder", hint="name the file in it") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise NotFoundError(f"{name_of(given)} cannot be read: {reason}") from None
