"""Files into a brain: read, split, commit in batches, supersede what changed. Embedding and indices come after."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from consilience.errors import ConsilienceError
from consilience.ingest import archives
from consilience.ingest.discover import Found, Inside, Skipped, origin_of
from consilience.ingest.model import Document, Passage, Skip
from consilience.ingest.passages import split
from consilience.ingest.prepared import (
    BATCH_PASSAGES,
    Prepared,
    distinct,
    file_block,
    passage_block,
)
from consilience.ingest.prepared import label_of as label_of
from consilience.ingest.readers import media_type_of, read, reader_id
from consilience.ingest.readers.formats import ARCHIVES, HOLDERS
from consilience.ingest.replace import Fresh, Gone, replacements
from consilience.ingest.report import IngestReport, Passed
from consilience.progress import NO_PROGRESS, Progress
from consilience.protocol import (
    Actor,
    Block,
    Demotion,
    Derivation,
    Digest,
    Episodic,
    Normalization,
    Producer,
    ProducerKind,
    Provenance,
    Record,
    Registration,
    Semantic,
    Supersession,
    decode,
    derivation_block,
    format_digest,
    record_block,
    sha256,
)
from consilience.store import Registered, Store, StoredBlock, View, Writer
from consilience.store.redaction import RedactionReads

BATCH_BYTES = 16 << 20

Clock = Callable[[], datetime]


@dataclass(slots=True)
class _Tally:
    """Running totals; becomes the report."""

    taken: int = 0
    changed: int = 0
    unchanged: int = 0
    skipped: list[Passed] = field(default_factory=list)
    failed: list[Passed] = field(default_factory=list)
    refused: list[Passed] = field(default_factory=list)
    warnings: list[Passed] = field(default_factory=list)
    passages: int = 0
    blocks: int = 0
    superseded: int = 0
    demoted: int = 0
    commits: int = 0
    bytes_read: int = 0
    snapshot: str | None = None


class Ingest:
    """One run of `ingest` into one store."""

    def __init__(
        self,
        store: Store,
        *,
        actor: Actor,
        clock: Clock,
        progress: Progress = NO_PROGRESS,
        waiting: Callable[[float], None] | None = None,
    ) -> None:
        self._store, self._actor, self._clock = store, actor, clock
        self._progress, self._waiting = progress, waiting
        self._tally = _Tally()

    def run(
        self, items: Iterable[Found | Skipped], *, covers: Callable[[str], bool] | None = None
    ) -> IngestReport:
        """Take every found file; `covers` tells which origins the given paths should still hold (for `gone`).

        One failing file is reported and the rest goes on; an interrupt keeps what was committed and says so. An error
        that ends the run after a commit carries the report so far (`done`).
        """
        started = time.monotonic()
        seen: set[str] = set()
        found = self._sift(items)
        self._progress.start("reading", sum(f.size for f in found), "B")
        interrupted = False
        gone: tuple[str, ...] = ()
        stopped: ConsilienceError | None = None
        try:
            for batch in self._batches(found, seen):
                self._commit(batch)
            if covers is not None:
                gone = self._gone(seen | {f.origin for f in found}, covers)
        except KeyboardInterrupt:
            interrupted = True
        except ConsilienceError as error:
            stopped = error
        finally:
            self._progress.close()
        t = self._tally
        report = IngestReport(
            taken=t.taken, changed=t.changed, unchanged=t.unchanged, skipped=tuple(t.skipped), failed=tuple(t.failed),
            refused=tuple(t.refused), warnings=tuple(t.warnings), gone=gone, passages=t.passages, blocks=t.blocks,
            superseded=t.superseded,
            demoted=t.demoted, commits=t.commits, bytes_read=t.bytes_read, snapshot=t.snapshot,
            interrupted=interrupted, seconds=time.monotonic() - started,
        )  # fmt: skip
        if stopped is not None:
            stopped.done = report if report.wrote else None
            raise stopped
        return report

    def foresee(self, item: Found) -> tuple[str, str]:
        """What taking this file now would come to, and why where it would not be taken; nothing is written.

        The first is `new`, `changed`, `unchanged`, `skipped`, `failed` or `refused`.
        """
        kept, self._tally = self._tally, _Tally()
        try:
            prepared = self._prepare(item)
            passed = [("skipped", each) for each in self._tally.skipped]
            passed += [("failed", each) for each in self._tally.failed]
        finally:
            self._tally = kept
        if passed:
            return passed[0][0], passed[0][1].reason
        if prepared is None:
            return "unchanged", ""
        with self._store.view() as view:
            if (why := _refused(view, prepared)) is not None:
                return "refused", why
            return ("new" if view.registered(item.origin) is None else "changed"), ""

    def _sift(self, items: Iterable[Found | Skipped]) -> list[Found]:
        found = []
        for item in items:
            if isinstance(item, Found):
                found.append(item)
            else:
                (self._tally.failed if item.error else self._tally.skipped).append(
                    Passed(path=item.origin, reason=item.reason)
                )
        return found

    def _batches(self, found: Sequence[Found], seen: set[str]) -> Iterator[list[Prepared]]:
        batch: list[Prepared] = []
        passages = size = 0
        for item in found:
            for prepared in self._each(item, seen):
                batch.append(prepared)
                passages += len(prepared.passages)
                size += len(prepared.data)
                if passages >= BATCH_PASSAGES or size >= BATCH_BYTES:
                    yield batch
                    batch, passages, size = [], 0, 0
            self._progress.advance(item.size)
        if batch:
            yield batch

    def _each(self, item: Found, seen: set[str]) -> Iterator[Prepared]:
        """The file, ready to be committed; of an archive its files first, so that it is taken when they are."""
        opened = self._open(item)
        seen.add(item.origin)
        if opened is None:
            return
        whole = True
        if opened[1] in HOLDERS:
            for each in archives.members(*opened, item.name):
                origin = f"{item.origin}!/{each.path}" if each.path else item.origin
                seen.add(origin)
                if isinstance(each, archives.Left):
                    tally = self._tally.failed if each.failed else self._tally.skipped
                    tally.append(Passed(path=origin, reason=each.reason))
                    whole = whole and bool(each.path)
                    continue
                path = f"{item.file}{os.sep}{each.path}"
                member = Inside(path, origin, len(each.data), each.data, each.path, each.lookup)
                if (inner := self._prepare(member)) is not None:
                    yield inner
        if whole and (prepared := self._prepare(item, opened)) is not None:
            yield prepared

    def _open(self, item: Found) -> tuple[bytes, str] | None:
        """The bytes of a file and its media type, or record why not."""
        try:
            data = item.read()
        except OSError as error:
            self._tally.failed.append(Passed(path=item.origin, reason=error.strerror or str(error)))
            return None
        self._tally.bytes_read += len(data)
        media_type = media_type_of(item.name, data)
        if isinstance(media_type, Skip):
            self._tally.skipped.append(Passed(path=item.origin, reason=media_type.reason))
            return None
        return data, media_type

    def _prepare(self, item: Found, opened: tuple[bytes, str] | None = None) -> Prepared | None:
        """Read and split one file, or record why not. Unchanged files stop here, before any parsing."""
        opened = opened or self._open(item)
        if opened is None:
            return None
        data, media_type = opened
        digest = sha256(data)
        try:
            if self._is_current(item.origin, digest, media_type):
                self._tally.unchanged += 1
                return None
            document = self._document(item, data, media_type)
            if isinstance(document, Skip):
                tally = self._tally.failed if document.failed else self._tally.skipped
                tally.append(Passed(path=item.origin, reason=document.reason))
                return None
            passages = distinct(split(document)) if document.rows is None else ()
            blocks = tuple(map(passage_block, passages))
        except ConsilienceError as error:
            self._tally.failed.append(Passed(path=item.origin, reason=error.message))
            return None
        self._tally.warnings.extend(Passed(path=item.origin, reason=w) for w in document.warnings)
        return Prepared(item, data, digest, media_type, document, passages, blocks)

    def _document(self, item: Found, data: bytes, media_type: str) -> Document | Skip:
        if media_type in ARCHIVES:
            reader, version = reader_id(media_type)
            return Document(title=item.name, reader=reader, version=version)
        return read(data, "/".join(item.path.parts[-2:]), item.beside)

    def _is_current(self, origin: str, digest: Digest, media_type: str) -> bool:
        with self._store.view() as view:
            registered = view.registered(origin)
            return (
                registered is not None
                and registered.blob == digest
                and view.holds_content(digest)
                and _read_by(view, registered, media_type)
                and _are_intact(view, registered)
            )

    # --- one commit ---------------------------------------------------------------------------------------------

    def _commit(self, batch: Sequence[Prepared]) -> None:
        counted = replace(self._tally)
        try:
            with self._store.write(self._actor, self._clock(), waiting=self._waiting) as writer:
                before = writer.max_n
                for prepared in batch:
                    self._one(writer, prepared)
                added = writer.max_n - before
        except BaseException:
            self._tally = counted  # nothing of this batch was committed
            raise
        if writer.snapshot is not None:
            self._tally.commits += 1
            self._tally.snapshot = format_digest(writer.snapshot.digest)
        self._tally.blocks += added

    def _one(self, writer: Writer, prepared: Prepared) -> None:
        origin = prepared.found.origin
        if (why := _refused(writer, prepared)) is not None:
            self._tally.refused.append(Passed(path=origin, reason=why))
            return
        old = writer.registered(origin)
        if old is not None and not is_file(writer, old):
            old = None  # words that somebody remembered from this source: the file does not replace them
        canonical = self._register(writer, prepared)
        ns = self._derive(writer, prepared, canonical)
        self._tally.passages += len(ns)
        if old is None:
            self._tally.taken += 1
            return
        self._tally.changed += 1
        self._replace(writer, prepared, old, canonical, ns)

    def _register(self, writer: Writer, prepared: Prepared) -> tuple[int, Digest]:
        writer.put_content(prepared.data, prepared.media_type)
        block = file_block(prepared)
        n, _ = writer.add(block)
        pipeline, version = prepared.pipeline
        block_id = format_digest(block.id)
        at = writer.at
        writer.add(
            record_block(Registration(block=block_id, actor=self._actor, at=at, origin=prepared.found.origin))
        )
        writer.add(
            record_block(
                Normalization(
                    block=block_id, pipeline=pipeline, pipeline_version=version, actor=self._actor, at=at
                )
            )
        )
        return n, block.id

    def _derive(self, writer: Writer, prepared: Prepared, canonical: tuple[int, Digest]) -> list[int]:
        """Passages and their derivation records; a passage already derived from these bytes and visible gains none."""
        known = {n for n, _ in writer.children(canonical[0])}
        ns: list[int] = []
        for passages, blocks in prepared.parts():
            ns.extend(self._derive_part(writer, prepared, canonical[1], passages, blocks, known))
        return ns

    def _derive_part(
        self,
        writer: Writer,
        prepared: Prepared,
        canonical_id: Digest,
        passages: Sequence[Passage],
        blocks: Sequence[Block],
        known: set[int],
    ) -> list[int]:
        ns = [n for n, _ in writer.add_many(blocks)]
        again = known & set(ns)
        hidden = set(writer.hidden(sorted(again))) if again else set()
        name, version = prepared.pipeline
        producer = Producer(kind=ProducerKind.PIPELINE, id=name, version=version)
        records = [
            derivation_block(
                block=block.id,
                derived_from=[canonical_id],
                producer=producer,
                actor=self._actor,
                at=writer.at,
                locator=passage.locator.text() or None,
            )
            for passage, block, n in zip(passages, blocks, ns, strict=True)
            if n not in known or n in hidden
        ]
        writer.add_many(records)
        return ns

    # --- what a changed file leaves behind ----------------------------------------------------------------------

    def _replace(
        self,
        writer: Writer,
        prepared: Prepared,
        old: Registered,
        canonical: tuple[int, Digest],
        ns: Sequence[int],
    ) -> None:
        canonical_n, canonical_id = canonical
        still_elsewhere = old.n != canonical_n and writer.has_other_origin(old.n, prepared.found.origin)
        if still_elsewhere:
            return
        if old.n != canonical_n:
            reason = f"{prepared.found.origin} changed"
            writer.add(self._supersession(writer, canonical_id, old.id, reason))
        lost = self._lost(writer, old, set(ns))
        old_ns = {n for n, _ in writer.children(old.n)}
        # Of a table of very many rows none is said to have taken another's place: that is compared row by row.
        fresh = [
            Fresh(n=n, text=p.text, position=i / max(1, len(ns)))
            for i, (n, p) in enumerate(zip(ns, prepared.passages, strict=bool(prepared.passages)))
            if n not in old_ns or old.n == canonical_n
        ]
        ids = {b.n: b.id for b in writer.blocks([*(g.n for g in lost), *(f.n for f in fresh)])}
        for each in replacements(lost, fresh):
            if each.by is None:
                self._tally.demoted += 1
                reason = f"no longer in {prepared.found.origin}"
                writer.add(
                    record_block(
                        Demotion(
                            block=format_digest(ids[each.n]), actor=self._actor, at=writer.at, reason=reason
                        )
                    )
                )
            else:
                self._tally.superseded += 1
                reason = f"edited in {prepared.found.origin}"
                writer.add(self._supersession(writer, ids[each.by], ids[each.n], reason))

    def _lost(self, writer: Writer, old: Registered, kept: set[int]) -> list[Gone]:
        """Visible passages of the old bytes that neither the new file nor any other current file holds."""
        children = [n for n, _ in writer.children(old.n)]
        candidates = [n for n in dict.fromkeys(children) if n not in kept]
        hidden = writer.hidden(candidates)
        elsewhere = writer.derived_from_current(candidates, besides=old.n)
        rank = {n: i for i, n in enumerate(children)}
        lost = [n for n in candidates if n not in hidden and n not in elsewhere]
        out = []
        for block in writer.blocks(lost):
            if block.data is None:
                continue
            if not is_from_reader(writer, block.n):
                continue
            payload = decode(block.data).payload
            text = payload.statement if isinstance(payload, Semantic) else ""
            text = payload.summary if isinstance(payload, Episodic) else text
            if text:
                out.append(Gone(n=block.n, text=text, position=rank[block.n] / max(1, len(children))))
        return out

    def _supersession(self, writer: Writer, winner: Digest, loser: Digest, reason: str) -> Block:
        return record_block(
            Supersession(
                block=format_digest(winner),
                supersedes=format_digest(loser),
                actor=self._actor,
                at=writer.at,
                reason=reason,
            )
        )

    def _gone(self, seen: set[str], covers: Callable[[str], bool]) -> tuple[str, ...]:
        with self._store.view() as view:
            unseen = [(o, r) for o, r in view.origins() if o not in seen and covers(o)]
            return tuple(sorted(origin for origin, registered in unseen if is_file(view, registered)))


def _refused(reads: RedactionReads, prepared: Prepared) -> str | None:
    """Why a file is not taken: it is, or holds, what was redacted and not readmitted since."""
    file = file_block(prepared)
    originals = [file.id, *reads.redacted_content(prepared.digest)]
    found = reads.redactions(originals)
    for _, blocks in prepared.parts():
        found.update(reads.redactions([block.id for block in blocks]))
    standing = [each for each in found.values() if not each.readmitted]
    exact = next((each for each in standing if each.block_id in originals), None)
    if exact is None and not standing:
        return None
    said = f"it is {exact}" if exact is not None else f"it holds {standing[0]}"
    more = f", and {len(standing) - 1:,} more" if exact is None and len(standing) > 1 else ""
    named = format_digest((exact or standing[0]).block_id)[7:19]
    return f"{said}{more}; `csl retain readmit {named}` lets it in again"


def is_from_reader(reads: RedactionReads, n: int) -> bool:
    """Whether ingest made a block. What was derived from a file otherwise (a proposal) is not replaced with it."""
    records = (_record(block) for block in reads.derivations_of(n))
    producers = (record.producer for record in records if isinstance(record, Derivation))
    return any(isinstance(each, Producer) and each.kind is ProducerKind.PIPELINE for each in producers)


def is_file(reads: RedactionReads, registered: Registered) -> bool:
    """Whether what an origin holds was read from a file: a reader says so (docs/decisions/0212)."""
    return _last_reading(reads, registered) is not None


def _read_by(view: View, registered: Registered, media_type: str) -> bool:
    """Whether the reader that takes this kind of file today is the one that made the passages."""
    name, version = reader_id(media_type)
    latest = _last_reading(view, registered)
    return latest is not None and (latest.pipeline, latest.pipeline_version) == (
        f"consilience/{name}",
        version,
    )


def _last_reading(reads: RedactionReads, registered: Registered) -> Normalization | None:
    records = [_record(block) for block in reads.records_about(registered.n)]
    return next((each for each in reversed(records) if isinstance(each, Normalization)), None)


def _record(block: StoredBlock) -> Record | None:
    payload = decode(block.data).payload if block.data is not None else None
    return payload.record if isinstance(payload, Provenance) else None


def _are_intact(view: View, registered: Registered) -> bool:
    """Whether the passages that were made of a file are as they were written; redacted ones are."""
    ns = [n for n, _ in view.children(registered.n)]
    parts = (view.blocks(ns[at : at + BATCH_PASSAGES]) for at in range(0, len(ns), BATCH_PASSAGES))
    return all(block.data is None or block.intact for part in parts for block in part)


def coverage_of(
    paths: Sequence[str | Path], root: Path | None, *, include: Sequence[str] = ()
) -> Callable[[str], bool] | None:
    """Which origins an ingest of these paths should still find: those below a folder given, and files given by name.

    None where `include` narrows a folder or a pattern was given: then a file that is not met says nothing.
    """
    if include or any(set(str(p)) & set("*?[") for p in paths):
        return None
    origins = tuple(origin_of(Path(p), root) for p in paths)
    folders = tuple("" if o in (".", "") else o.rstrip("/") + "/" for o in origins)
    folders += tuple(f"{o}!/" for o in origins)  # the files of an archive
    return lambda origin: origin in origins or any(origin.startswith(f) for f in folders)
