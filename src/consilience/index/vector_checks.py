"""Whether the files of a model's vectors are what was written."""

from __future__ import annotations

import zlib
from pathlib import Path

from consilience.index import checksums
from consilience.index._files import read_json
from consilience.index.vector_files import Meta, Rows, damaged_blocks, read_meta, slug
from consilience.model import Value


class Checked(Value, frozen=True, kw_only=True):
    """What is wrong, by file; how many files were looked at; whether all of them bear checksums."""

    problems: tuple[tuple[Path, str], ...] = ()
    files: int = 1
    summed: bool = True


def check(folder: Path) -> Checked:
    """The vectors of one model, without their graph of neighbours. Raises IndexUnusableError, OSError."""
    document = folder / "meta.json"
    if problem := checksums.document_problem(document):
        return Checked(problems=((document, problem),))
    meta = read_json(document, Meta)
    if read_meta(folder, "" if meta is None else meta.tag) is None or meta is None:
        return Checked()
    problems: list[tuple[Path, str]] = []
    if slug(meta.tag) != folder.name:
        problems.append((document, f"it belongs to the model {meta.tag!r}, not in this folder"))
    try:
        rows = Rows(folder, meta)
    except FileNotFoundError as error:
        problems.append((Path(error.filename or folder), "it is missing"))
        return Checked(problems=tuple(problems))
    summed = not meta.count or bool(meta.sums)
    if summed and (bad := damaged_blocks(rows)):
        rows_each = checksums.SUM_ROWS
        spans = ", ".join(
            f"{i * rows_each:,} to {min((i + 1) * rows_each, meta.count) - 1:,}" for i in bad[:5]
        )
        problems.append((folder, f"the checksums of rows {spans} do not hold"))
    codes = meta.coarse
    if codes is not None:
        path = folder / str(meta.coarse_file())
        summed = summed and codes.crc32 is not None
        if codes.crc32 is not None and zlib.crc32(path.read_bytes()) != codes.crc32:
            problems.append((path, "its checksum does not hold"))
    files = 1 + len(meta.files()) + (codes is not None)
    return Checked(problems=tuple(problems), files=files, summed=summed)
