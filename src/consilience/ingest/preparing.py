"""Files made ready to be committed: read, parsed and split, in the order in which they were found.

Where it pays, they are parsed in processes of their own, a few files ahead of the one that is asked for; what comes out
does not depend on that (docs/decisions/0310-parsing-ahead.md).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from consilience.errors import ConsilienceError
from consilience.ingest import archives
from consilience.ingest.discover import Found, Inside
from consilience.ingest.model import Document, Passage, Skip
from consilience.ingest.passages import split
from consilience.ingest.prepared import Prepared, distinct, passage_block
from consilience.ingest.readers import media_type_of, read_as, reader_id
from consilience.ingest.readers.formats import ARCHIVES, FORMAT_OF, HOLDERS
from consilience.ingest.standing import is_current
from consilience.protocol import Digest, sha256
from consilience.store import Store

if TYPE_CHECKING:
    from consilience.ingest.pool import Parsers
    from consilience.ingest.readers.contained import Parsed

HOME_BYTES = 256 << 10
"""So much is parsed in this process before any other is started: a process costs about as much as parsing that."""

WORTH_BYTES = 1 << 20
"""What must still be to come when one is started."""

HOME_FILE = 4 << 20
"""A larger file of records or text is parsed in this process: its reader may give its records one at a time."""

AHEAD_BYTES = 16 << 20
AHEAD_FILES = 8
"""Bytes and, for each process, files that are read ahead of the one that is committed."""

What = Literal["prepared", "unchanged", "skipped", "failed"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one file came to. `prepared` is set where it is to be committed; else `reason` says why it is not."""

    origin: str
    what: What
    reason: str = ""
    prepared: Prepared | None = None


@dataclass(frozen=True, slots=True)
class Met:
    """An origin that is there, whatever it comes to; `read` bytes of it were read."""

    origin: str
    read: int = 0


@dataclass(frozen=True, slots=True)
class Done:
    """A listed file, with all that is in it, was dealt with."""

    size: int


Step = Outcome | Met | Done


@dataclass(slots=True)
class _Work:
    """A file that is to be parsed; `ahead` gives what came of that where another process does it."""

    found: Found
    data: bytes
    media_type: str
    digest: Digest
    ahead: Callable[[], Parsed] | None = field(default=None)

    @property
    def name(self) -> str:
        return "/".join(self.found.path.parts[-2:])


class Preparing:
    """`jobs`: how many processes may parse; 1 is this one alone, None as many as there are processors."""

    def __init__(self, store: Store, *, jobs: int | None = None) -> None:
        self._store = store
        self._jobs = processors() if jobs is None else jobs
        self._parsers: Parsers | None = None
        self._parsed_here = self._to_come = 0

    def one(self, found: Found) -> Outcome:
        """One file, and not what is in it. In this process, but for contained readers."""
        opened = self._open(found)
        if isinstance(opened, Outcome):
            return opened
        started = self._started(found, *opened)
        return started if isinstance(started, Outcome) else self._finished(started)

    def each(self, files: Sequence[Found]) -> Generator[Step]:
        """Every file, in order. Closing the iterator ends the processes that were started for it."""
        self._parsed_here, self._to_come = 0, sum(found.size for found in files)
        waiting: deque[tuple[Step | _Work, int]] = deque()
        weight = 0
        try:
            for step in self._steps(files):
                size = len(step.data) if isinstance(step, _Work) else 0
                waiting.append((step, size))
                weight += size
                while waiting and (weight > AHEAD_BYTES or len(waiting) > self._ahead):
                    first, size = waiting.popleft()
                    weight -= size
                    yield self._finished(first) if isinstance(first, _Work) else first
            for first, _ in waiting:
                yield self._finished(first) if isinstance(first, _Work) else first
        finally:
            if self._parsers is not None:
                self._parsers.stop()
                self._parsers = None

    @property
    def _ahead(self) -> int:
        return 0 if self._parsers is None else AHEAD_FILES * self._jobs

    # --- what is to be done -----------------------------------------------------------------------------------

    def _steps(self, files: Sequence[Found]) -> Iterator[Step | _Work]:
        for found in files:
            yield Met(found.origin)
            opened = self._open(found)
            if isinstance(opened, Outcome):
                yield opened
            else:
                yield Met(found.origin, len(opened[0]))
                yield from self._with_members(found, *opened)
            self._to_come -= found.size
            yield Done(found.size)

    def _with_members(self, found: Found, data: bytes, media_type: str) -> Iterator[Step | _Work]:
        """The files of an archive before itself, so that it is taken when they are."""
        whole = True
        if media_type in HOLDERS:
            for each in archives.members(data, media_type, found.name):
                origin = f"{found.origin}!/{each.path}" if each.path else found.origin
                yield Met(origin)
                if isinstance(each, archives.Left):
                    yield Outcome(origin, "failed" if each.failed else "skipped", each.reason)
                    whole = whole and bool(each.path)
                    continue
                path = f"{found.file}{os.sep}{each.path}"
                member = Inside(path, origin, len(each.data), each.data, each.path, each.lookup)
                opened = self._open(member)
                if isinstance(opened, Outcome):
                    yield opened
                    continue
                yield Met(origin, len(opened[0]))
                yield self._started(member, *opened)
        if whole:
            yield self._started(found, data, media_type)

    def _open(self, found: Found) -> tuple[bytes, str] | Outcome:
        """The bytes of a file and its media type, or why not."""
        try:
            data = found.read()
        except OSError as error:
            return Outcome(found.origin, "failed", error.strerror or str(error))
        media_type = media_type_of(found.name, data)
        if isinstance(media_type, Skip):
            return Outcome(found.origin, "skipped", media_type.reason)
        return data, media_type

    def _started(self, found: Found, data: bytes, media_type: str) -> Outcome | _Work:
        """Unchanged files end here, before any parsing."""
        digest = sha256(data)
        try:
            with self._store.view() as view:
                if is_current(view, found.origin, digest, media_type):
                    return Outcome(found.origin, "unchanged")
        except ConsilienceError as error:
            return Outcome(found.origin, "failed", error.message)
        work = _Work(found, data, media_type, digest)
        if (parsers := self._parsers_for(work)) is not None:
            beside = FORMAT_OF[media_type].beside
            other = found.beside(beside) if beside else None
            work.ahead = parsers.submit(media_type, data, work.name, other)
        return work

    def _parsers_for(self, work: _Work) -> Parsers | None:
        """The processes, where this file is for them; started when enough was done here and is still to come."""
        format = FORMAT_OF[work.media_type]
        if (
            self._jobs < 2
            or work.media_type in ARCHIVES
            or (len(work.data) > HOME_FILE and not format.contained)
        ):
            return None
        if self._parsers is None:
            if self._parsed_here < HOME_BYTES or self._to_come < WORTH_BYTES:
                return None
            self._parsers = _started_for(self._jobs)
        return self._parsers

    # --- what came of it --------------------------------------------------------------------------------------

    def _finished(self, work: _Work) -> Outcome:
        origin = work.found.origin
        try:
            document, passages = self._parsed(work)
            if isinstance(document, Skip):
                return Outcome(origin, "failed" if document.failed else "skipped", document.reason)
            blocks = tuple(map(passage_block, passages))
        except ConsilienceError as error:
            return Outcome(origin, "failed", error.message)
        prepared = Prepared(work.found, work.data, work.digest, work.media_type, document, passages, blocks)
        return Outcome(origin, "prepared", prepared=prepared)

    def _parsed(self, work: _Work) -> tuple[Document | Skip, tuple[Passage, ...]]:
        if work.ahead is not None:
            parsed = work.ahead()
            # What takes its time or memory as a text is not a matter of containment.
            again = parsed.streams or (parsed.bound and not FORMAT_OF[work.media_type].contained)
            if not again:
                return parsed.found, parsed.passages
        if work.media_type in ARCHIVES:
            reader, version = reader_id(work.media_type)
            return Document(title=work.found.name, reader=reader, version=version), ()
        self._parsed_here += len(work.data)
        document = read_as(work.media_type, work.data, work.name, work.found.beside)
        if isinstance(document, Skip) or document.rows is not None:
            return document, ()
        return document, distinct(split(document))


def _started_for(jobs: int) -> Parsers:
    from consilience.ingest.pool import Parsers  # threads and pipes, which a small job is spared

    return Parsers(jobs)


def processors() -> int:
    """Processors that this process may use, at most eight: one more gives less than it takes in memory."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:
        count = os.cpu_count() or 1
    return min(8, count)
