"""How fast files go in, by format, beside reading their bytes and beside the parser's library alone.

Nothing is asked of a model and no index is made: what is timed is what differs between formats.
"""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from consilience.bench import generated, parsers
from consilience.errors import UsageError
from consilience.ingest.discover import Found, discover
from consilience.ingest.model import Skip
from consilience.ingest.passages import each_passage
from consilience.ingest.pipeline import Ingest
from consilience.ingest.preparing import processors
from consilience.ingest.readers import media_type_of, read_as
from consilience.ingest.readers.formats import ARCHIVES, FORMAT_OF
from consilience.model import Value
from consilience.progress import NO_PROGRESS, Progress
from consilience.protocol import Actor, ActorKind
from consilience.store import Store

ACTOR = Actor(id="consilience/bench", kind=ActorKind.AGENT)
SEED = 7


class FormatSpeed(Value, frozen=True, kw_only=True):
    """One format. `bytes` are those of its `files`, `left` of which could not be read as it; times are seconds.

    `read_s`: opening and reading the files. `raw_s`: the library that `raw` names, alone; None where there is none.
    `parse_s`: reader and splitter in this process; both are CPU time. `ingest_s`: everything up to the commit, by the
    clock, with the processes that `jobs` of the report allows.
    """

    format: str
    files: int
    left: int
    bytes: int
    passages: int
    read_s: float
    raw: str | None
    raw_s: float | None
    parse_s: float
    ingest_s: float


class IngestSpeed(Value, frozen=True, kw_only=True):
    """`data` of `bench ingest`. `folder` is None where the files were generated; `other` files are of no format."""

    folder: str | None
    jobs: int
    formats: tuple[FormatSpeed, ...]
    other: int


def ingest_speed(
    work: Path,
    folder: Path | None,
    *,
    clock: Callable[[], datetime],
    files: int | None = None,
    size: int = 1 << 20,
    jobs: int | None = None,
    progress: Progress = NO_PROGRESS,
) -> IngestSpeed:
    """Time the files below `folder`, at most `files` of each format; without one, generated files of about `size`
    bytes a format. Brains are made in `work`, which has to be empty. Raises UsageError where there is nothing to read.
    """
    if folder is not None and not folder.exists():
        raise UsageError(f"there is no folder {folder}", hint="name one, or none for generated files")
    if folder is None:
        made = work / "files"
        generated.write(made, size, random.Random(SEED))
    by_format, other = _sorted(made if folder is None else folder, files)
    if not by_format:
        raise UsageError(f"{folder} holds no file that there is a reader for", hint="csl readers lists them")
    used = processors() if jobs is None else jobs
    progress.start("timing", len(by_format), "formats")
    found = []
    for n, (media_type, listed) in enumerate(sorted(by_format.items())):
        found.append(_one(work / f"brain{n}", media_type, listed, clock, used))
        progress.advance()
    progress.close()
    found.sort(key=lambda each: each.format)
    return IngestSpeed(
        folder=str(folder) if folder is not None else None, jobs=used, formats=tuple(found), other=other
    )


def _sorted(folder: Path, most: int | None) -> tuple[dict[str, list[Found]], int]:
    """Files by what they are, and how many are of no format or archives."""
    found: dict[str, list[Found]] = defaultdict(list)
    other = 0
    for item in discover([folder], root=folder):
        if not isinstance(item, Found):
            other += 1
            continue
        try:
            media_type = media_type_of(item.name, item.read())
        except OSError:
            other += 1
            continue
        if isinstance(media_type, Skip) or media_type in ARCHIVES:
            other += 1
        elif most is None or len(found[media_type]) < most:
            found[media_type].append(item)
    return found, other


def _one(
    brain: Path, media_type: str, listed: Sequence[Found], clock: Callable[[], datetime], jobs: int
) -> FormatSpeed:
    began = time.perf_counter()
    data = [(item, item.read()) for item in listed]
    read_s = time.perf_counter() - began
    raw, raw_s = parsers.of(media_type), None
    left = passages = 0
    if raw is not None:
        raw.parse(data[0][1])  # what the library loads, once
        began = time.process_time()
        for _, each in data:
            raw.parse(each)
        raw_s = time.process_time() - began
    _parsed(media_type, *data[0])
    began = time.process_time()
    for item, each in data:
        count = _parsed(media_type, item, each)
        passages += count or 0
        left += count is None
    parse_s = time.process_time() - began
    with Store.create(brain) as store:
        began = time.perf_counter()
        Ingest(store, actor=ACTOR, clock=clock, jobs=jobs).run(listed)
        ingest_s = time.perf_counter() - began
    return FormatSpeed(
        format=FORMAT_OF[media_type].title,
        files=len(listed),
        left=left,
        bytes=sum(len(each) for _, each in data),
        passages=passages,
        read_s=read_s,
        raw=raw.name if raw is not None else None,
        raw_s=raw_s,
        parse_s=parse_s,
        ingest_s=ingest_s,
    )


def _parsed(media_type: str, item: Found, data: bytes) -> int | None:
    """How many passages a file has, read in this process whatever the format; None where its reader gives none."""
    document = read_as(media_type, data, item.name, item.beside, here=True)
    return None if isinstance(document, Skip) else sum(1 for _ in each_passage(document))
