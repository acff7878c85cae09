"""Checksums of what the indices keep on disk: how they are made, and whether they still hold.

Vectors: a CRC-32 of each column for every 4,096 rows, in meta.json, continued with what a commit appends. Files that
are replaced whole, or that an engine writes: their size and SHA-256 in a list, which is removed before the files are
changed and written when they are at rest. JSON documents end in a seal (consilience/files.py).
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import struct
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from consilience.files import seal_holds
from consilience.index._files import read_json, remove_tree, replace_json
from consilience.model import Value

SUM_ROWS: Final = 4096
"""Rows of vectors that have one checksum a column."""

COLUMNS: Final = ("codes", "scales", "ns", "hashes")

Sums = tuple[tuple[int, ...], ...]

LIST: Final = "checksums.json"


def continued(
    sums: Sums, count: int, columns: Mapping[str, bytes | memoryview], widths: Mapping[str, int]
) -> Sums:
    """The checksums of `count` rows and of these columns of further ones."""
    found = [list(block) for block in sums]
    added = len(columns["ns"]) // widths["ns"]
    done = 0
    while done < added:
        block, filled = divmod(count + done, SUM_ROWS)
        take = min(added - done, SUM_ROWS - filled)
        if block == len(found):
            found.append([0] * len(COLUMNS))
        for i, column in enumerate(COLUMNS):
            width = widths[column]
            part = columns[column][done * width : (done + take) * width]
            found[block][i] = zlib.crc32(part, found[block][i])
        done += take
    return tuple([tuple(block) for block in found])


class FileSum(Value, frozen=True, kw_only=True):
    size: int
    sha256: str


class FileSums(Value, frozen=True, kw_only=True):
    """The checksums of files, by name."""

    files: dict[str, FileSum]


def sum_of(path: Path) -> FileSum:
    """Size and SHA-256 of a file. Raises OSError."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    return FileSum(size=path.stat().st_size, sha256=digest.hexdigest())


def forget(listed: Path) -> None:
    """Remove a list before what it lists is changed. Raises StorageError."""
    remove_tree(listed)


def note(listed: Path, files: Iterable[Path], known: FileSums | None = None) -> None:
    """Write a list of files at rest. Those that `known` names are taken from there: their kind never changes. Files
    whose own checksum does not hold are left out, so that checking names them. Raises StorageError."""
    found: dict[str, FileSum] = {}
    for path in sorted(files):
        held = known.files.get(path.name) if known is not None else None
        with contextlib.suppress(OSError):
            if held is None and footer_holds(path) is False:
                continue
            found[path.name] = held or sum_of(path)
    replace_json(listed, FileSums(files=found))


def listed_sums(listed: Path) -> FileSums | None:
    """What a list says; None where there is none. Raises IndexUnusableError."""
    return read_json(listed, FileSums)


_FOOTER = struct.Struct("<II")
_FOOTER_MAGIC = 1337


class _Footer(msgspec.Struct):
    crc: int


def footer_holds(path: Path) -> bool | None:
    """Whether a file of tantivy's is what its footer says (CRC-32 of all before it); None where it has none."""
    if path.suffix in (".json", ".lock") or path.name.startswith("."):
        return None
    data = path.read_bytes()
    try:
        length, magic = _FOOTER.unpack(data[-_FOOTER.size :])
        end = len(data) - _FOOTER.size - length
        footer = msgspec.json.decode(data[end : -_FOOTER.size], type=_Footer)
    except (struct.error, msgspec.MsgspecError, ValueError):
        return False if re.fullmatch(r"[0-9a-f]{32}\..+", path.name) else None
    return magic == _FOOTER_MAGIC and end >= 0 and zlib.crc32(data[:end]) == footer.crc


class _Segment(msgspec.Struct):
    segment_id: str


class _Meta(msgspec.Struct):
    segments: list[_Segment]


def uncommitted(engine: Path, files: Iterable[Path]) -> set[Path]:
    """Those of tantivy's files that belong to no committed segment: what a writer that was stopped left, which no
    reader opens and the next writer removes. Empty where the engine's own list cannot be read."""
    try:
        meta = msgspec.json.decode((engine / "meta.json").read_bytes(), type=_Meta)
    except (OSError, msgspec.MsgspecError):
        return set()
    held = {segment.segment_id.replace("-", "") for segment in meta.segments}
    return {p for p in files if (m := re.match(r"([0-9a-f]{32})\.", p.name)) and m[1] not in held}


def document_problem(path: Path) -> str | None:
    """What is wrong with a sealed document; None for nothing, or where there is none."""
    try:
        holds = seal_holds(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"it cannot be read: {error.strerror or error}"
    if holds is None:
        return "it bears no checksum: it is damaged, or an older version wrote it"
    return None if holds else "its checksum does not hold"
