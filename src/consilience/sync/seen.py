"""What the last sync saw: by origin the stamp of the file and the registration it was taken with.

A file whose stamp and registration are still those is not read again. Derived state: where the file is missing, damaged
or of another version, everything is read once more.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from consilience.files import write_atomically

_VERSION = 1
NAME = "sources.bin"


class Seen(msgspec.Struct, frozen=True, array_like=True):
    """`readers` is a digest of every reader's version; `files` maps an origin to (stamp, record), the record as 32
    bytes, empty where the file was looked at and not taken; `reason` says why not."""

    version: int
    readers: str
    files: dict[str, tuple[str, bytes, str]]


def load(derived: Path) -> Mapping[str, tuple[str, bytes, str]]:
    """What was seen with the readers of today; nothing where that is not known."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        seen = msgspec.msgpack.decode((derived / NAME).read_bytes(), type=Seen)
        if seen.version == _VERSION and seen.readers == _readers():
            return seen.files
    return {}


def save(derived: Path, files: Mapping[str, tuple[str, bytes, str]]) -> None:
    """Raises StorageError."""
    if not files and not (derived / NAME).exists():
        return
    document = Seen(_VERSION, _readers(), dict(files))
    write_atomically(derived / NAME, msgspec.msgpack.encode(document))


def _readers() -> str:
    from consilience.ingest.readers.registry import readers

    said = [(each.reader, each.version, each.installed) for each in readers()]
    return hashlib.sha256(msgspec.json.encode(said)).hexdigest()
