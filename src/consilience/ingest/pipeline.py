"""Files into a brain: read, split, commit in batches, supersede what changed. Embedding and indices come after."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from consilience.errors import ConsilienceError
from consilience.ingest.discover import Found, Inside, Skipped, origin_of
from consilience.ingest.prepared import (
    BATCH_PASSAGES,
    PART_PASSAGES,
    Part,
    Prepared,
    file_block,
)
from consilience.ingest.prepared import label_of as label_of
from consilience.ingest.preparing import Done, Met, Outcome, Preparing
from consilience.ingest.replace import Fresh, Gone, replacements
from consilience.ingest.report import IngestReport, Passed
from consilience.ingest.standing import is_file as is_file
from consilience.ingest.standing import is_from_reader as is_from_reader
from consilience.ingest.standing import refused, refused_blocks
from consilience.progress import NO_PROGRESS, Progress
from consilience.protocol import (
    Actor,
    Block,
    Demotion,
    Digest,
    Episodic,
    Normalization,
    Producer,
    ProducerKind,
    Registration,
    Semantic,
    Supersession,
    decode,
    derivation_block,
    format_digest,
    record_block,
)
from consilience.store import Registered, Store, Writer

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


class _RefusedError(Exception):
    """A part of a file holds what was redacted since the first was committed."""


class Ingest:
    """One run of `ingest` into one store. `jobs`: how many processes may parse; None: as many as pay here."""

    def __init__(
        self,
        store: Store,
        *,
        actor: Actor,
        clock: Clock,
        jobs: int | None = None,
        progress: Progress = NO_PROGRESS,
        waiting: Callable[[float], None] | None = None,
    ) -> None:
        self._store, self._actor, self._clock = store, actor, clock
        self._progress, self._waiting = progress, waiting
        self._preparing = Preparing(store, jobs=jobs)
        self._tally = _Tally()
        self._shown = 0

    def run(
        self, items: Iterable[Found | Skipped], *, covers: Callable[[str], bool] | None = None
    ) -> IngestReport:
        """Take every found file; `covers` tells which origins the given paths should still hold (for `gone`).

        One failing file is reported and the rest goes on; an interrupt keeps what was committed and says so. An error
        that ends the run after a commit carries the report so far (`done`).
        """
        started = time.monotonic()
        seen: set[str] = set()
        interrupted = False
        gone: tuple[str, ...] = ()
        stopped: ConsilienceError | None = None
        try:
            found = self._sift(items)
            self._progress.start("reading", sum(f.size for f in found), "B")
            with closing(self._batches(found, seen)) as batches:
                for batch in batches:
                    if batch[0].is_large:
                        self._commit_parts(batch[0])
                    else:
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
        outcome = self._preparing.one(item)
        if outcome.prepared is None:
            return outcome.what, outcome.reason
        with self._store.view() as view:
            if (why := refused(view, outcome.prepared)) is not None:
                return "refused", why
            return ("new" if view.registered(item.origin) is None else "changed"), ""

    def _sift(self, items: Iterable[Found | Skipped]) -> list[Found]:
        """List what there is, which takes its time in a large folder."""
        found = []
        self._progress.start("listing", None, "files")
        for item in items:
            if isinstance(item, Found):
                found.append(item)
                self._progress.advance()
            else:
                (self._tally.failed if item.error else self._tally.skipped).append(
                    Passed(path=item.origin, reason=item.reason)
                )
        return found

    def _batches(self, found: Sequence[Found], seen: set[str]) -> Generator[list[Prepared]]:
        """Files that are committed together; one that goes in by parts comes alone."""
        batch: list[Prepared] = []
        passages = size = 0
        with closing(self._preparing.each(found)) as steps:
            for prepared in self._prepared(steps, seen):
                if prepared.is_large:
                    if batch:
                        yield batch
                    yield [prepared]
                    batch, passages, size = [], 0, 0
                    continue
                batch.append(prepared)
                passages += len(prepared.passages)
                size += len(prepared.data)
                if passages >= BATCH_PASSAGES or size >= BATCH_BYTES:
                    yield batch
                    batch, passages, size = [], 0, 0
        if batch:
            yield batch

    def _prepared(self, steps: Iterable[Outcome | Met | Done], seen: set[str]) -> Iterator[Prepared]:
        """The files that are to be committed; the others are counted."""
        for step in steps:
            if isinstance(step, Met):
                seen.add(step.origin)
                self._tally.bytes_read += step.read
            elif isinstance(step, Done):
                self._progress.advance(step.size - self._shown)
                self._shown = 0
            elif step.prepared is not None:
                warnings = step.prepared.document.warnings
                self._tally.warnings.extend(Passed(path=step.origin, reason=each) for each in warnings)
                yield step.prepared
            elif step.what == "unchanged":
                self._tally.unchanged += 1
            else:
                tally = self._tally.failed if step.what == "failed" else self._tally.skipped
                tally.append(Passed(path=step.origin, reason=step.reason))

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
        self._committed(writer, added)

    def _committed(self, writer: Writer, added: int) -> None:
        if writer.snapshot is not None:
            self._tally.commits += 1
            self._tally.snapshot = format_digest(writer.snapshot.digest)
        self._tally.blocks += added

    def _one(self, writer: Writer, prepared: Prepared) -> None:
        if (why := refused(writer, prepared)) is not None:
            self._tally.refused.append(Passed(path=prepared.found.origin, reason=why))
            return
        old = self._held(writer, prepared)
        canonical = self._put(writer, prepared)
        self._register(writer, prepared, canonical[1])
        ns: list[int] = []
        for part in prepared.parts():
            ns.extend(self._derive(writer, prepared, canonical, part))
        self._take(writer, prepared, old, canonical, ns)

    def _take(
        self,
        writer: Writer,
        prepared: Prepared,
        old: Registered | None,
        canonical: tuple[int, Digest],
        ns: Sequence[int],
    ) -> None:
        """Everything of a file is in: count it, and replace what stood at its origin."""
        self._tally.passages += len(ns)
        if old is None:
            self._tally.taken += 1
            return
        self._tally.changed += 1
        self._replace(writer, prepared, old, canonical, ns)

    def _held(self, writer: Writer, prepared: Prepared) -> Registered | None:
        """What the file's origin holds until now. Words that somebody remembered from this source are not replaced."""
        old = writer.registered(prepared.found.origin)
        return old if old is not None and is_file(writer, old) else None

    def _put(self, writer: Writer, prepared: Prepared) -> tuple[int, Digest]:
        writer.put_content(prepared.data, prepared.media_type)
        block = file_block(prepared)
        return writer.add(block)[0], block.id

    def _register(self, writer: Writer, prepared: Prepared, block: Digest) -> None:
        pipeline, version = prepared.pipeline
        block_id, at = format_digest(block), writer.at
        origin = prepared.found.origin
        writer.add(record_block(Registration(block=block_id, actor=self._actor, at=at, origin=origin)))
        writer.add(
            record_block(
                Normalization(
                    block=block_id, pipeline=pipeline, pipeline_version=version, actor=self._actor, at=at
                )
            )
        )

    def _derive(
        self, writer: Writer, prepared: Prepared, canonical: tuple[int, Digest], part: Part
    ) -> list[int]:
        """Passages and their derivation records; a passage already derived from these bytes and visible gains none."""
        passages, blocks = part
        canonical_n, canonical_id = canonical
        ns = [n for n, _ in writer.add_many(blocks)]
        known = {n for n, sources in writer.sources_of(ns).items() if canonical_n in sources}
        if known:
            known -= writer.hidden(sorted(known)).keys()
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
            if n not in known
        ]
        writer.add_many(records)
        return ns

    # --- a file in several commits ------------------------------------------------------------------------------

    def _commit_parts(self, prepared: Prepared) -> None:
        """Commit a large file part by part; only the last registers it, so that what was cut short is not held for
        taken, and is gone on with by the next ingest (docs/decisions/0311)."""
        with self._store.view() as view:
            why = refused(view, prepared)
        if why is not None:
            self._tally.refused.append(Passed(path=prepared.found.origin, reason=why))
            return
        taken: array[int] = array("q")
        parts = prepared.parts()
        part = next(parts, None)
        try:
            while part is not None:
                counted = replace(self._tally)
                try:
                    with self._store.write(self._actor, self._clock(), waiting=self._waiting) as writer:
                        before = writer.max_n
                        part = self._some(writer, prepared, part, parts, taken)
                        added = writer.max_n - before
                except BaseException:
                    self._tally = counted
                    raise
                self._committed(writer, added)
        except _RefusedError as refusal:
            self._tally.refused.append(Passed(path=prepared.found.origin, reason=str(refusal)))
        except BaseException:
            if taken:
                reason = "only begun: what is in of it stays, and the same command goes on from there"
                self._tally.warnings.append(Passed(path=prepared.found.origin, reason=reason))
            raise

    def _some(
        self,
        writer: Writer,
        prepared: Prepared,
        part: Part | None,
        parts: Iterator[Part],
        taken: array[int],
    ) -> Part | None:
        """One commit of a large file, and what is next; None where that was the last, which registers it."""
        if (why := refused_blocks(writer, prepared, [])) is not None:
            raise _RefusedError(why)
        canonical = self._put(writer, prepared)
        room = PART_PASSAGES
        while part is not None and room > 0:
            if (why := refused_blocks(writer, prepared, list(part[1]))) is not None:
                raise _RefusedError(why)
            taken.extend(self._part(writer, prepared, canonical, part))
            room -= len(part[0])
            self._show(prepared, part)
            part = next(parts, None)
        if part is None:
            old = self._held(writer, prepared)
            self._register(writer, prepared, canonical[1])
            self._take(writer, prepared, old, canonical, list(dict.fromkeys(taken)))
        return part

    def _part(
        self, writer: Writer, prepared: Prepared, canonical: tuple[int, Digest], part: Part
    ) -> Sequence[int]:
        """As `_derive`, but what an earlier run has brought in is only looked up."""
        ns = writer.ordinals([block.id for block in part[1]])
        if len(ns) == len(part[1]):
            here, sources = writer.members(ns.values()), writer.sources_of(ns.values())
            held = all(n in here and canonical[0] in sources.get(n, ()) for n in ns.values())
            if held and not writer.hidden(ns.values()):
                return [ns[block.id] for block in part[1]]
        return self._derive(writer, prepared, canonical, part)

    def _show(self, prepared: Prepared, part: Part) -> None:
        """Progress inside of a file: by the length of its passages, never beyond the file's."""
        if isinstance(prepared.found, Inside):
            return
        size = min(prepared.found.size - self._shown, sum(len(passage.text) for passage in part[0]))
        self._shown += size
        self._progress.advance(size)

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
