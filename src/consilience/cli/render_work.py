"""What long work did: ingest, index, verify. Lines out, nothing printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from consilience.cli.terminal import Terminal, clean, fit, wrap
from consilience.model import Value

if TYPE_CHECKING:
    from consilience.derived import CaughtUp
    from consilience.ingest.report import IngestReport, Passed

NAMED = 3
FAILURES_NAMED = 20


class FileDocument(Value, frozen=True, kw_only=True):
    path: str
    reason: str


class IngestDocument(Value, frozen=True, kw_only=True):
    """`data` of `ingest`; see `IngestReport`."""

    brain: str
    actor: str
    taken: int
    changed: int
    unchanged: int
    skipped: tuple[FileDocument, ...]
    failed: tuple[FileDocument, ...]
    refused: tuple[FileDocument, ...]
    warnings: tuple[FileDocument, ...]
    gone: tuple[str, ...]
    passages: int
    blocks: int
    superseded: int
    demoted: int
    commits: int
    bytes_read: int
    embedded: int
    reused: int
    unembedded: int
    snapshot: str | None
    interrupted: bool
    elapsed_ms: float


class IndexDocument(Value, frozen=True, kw_only=True):
    """`data` of `index`; see `CaughtUp`."""

    brain: str
    indexed: int
    embedded: int
    reused: int
    unembedded: int
    measured: bool
    interrupted: bool
    elapsed_ms: float


def ingest_document(brain: str, actor: str, report: IngestReport) -> IngestDocument:
    return IngestDocument(
        brain=brain,
        actor=actor,
        taken=report.taken,
        changed=report.changed,
        unchanged=report.unchanged,
        skipped=_files(report.skipped),
        failed=_files(report.failed),
        refused=_files(report.refused),
        warnings=_files(report.warnings),
        gone=report.gone,
        passages=report.passages,
        blocks=report.blocks,
        superseded=report.superseded,
        demoted=report.demoted,
        commits=report.commits,
        bytes_read=report.bytes_read,
        embedded=report.embedded,
        reused=report.reused,
        unembedded=report.unembedded,
        snapshot=report.snapshot,
        interrupted=report.interrupted,
        elapsed_ms=round(report.seconds * 1000, 1),
    )


def index_document(brain: str, report: CaughtUp) -> IndexDocument:
    return IndexDocument(
        brain=brain,
        indexed=report.indexed,
        embedded=report.embedded,
        reused=report.reused,
        unembedded=report.unembedded,
        measured=report.measured,
        interrupted=report.interrupted,
        elapsed_ms=round(report.seconds * 1000, 1),
    )


def _files(files: Sequence[Passed]) -> tuple[FileDocument, ...]:
    return tuple(FileDocument(path=each.path, reason=each.reason) for each in files)


def ingest(brain: str, actor: str, report: IngestReport, terminal: Terminal) -> Iterator[str]:
    """What was taken, what not and why, what became of it."""
    counts = [(report.taken, "taken"), (report.changed, "changed"), (report.unchanged, "unchanged")]
    counts += [(len(report.skipped), "skipped"), (len(report.failed), "failed")]
    counts += [(len(report.refused), "refused")]
    said = ", ".join(f"{count:,} {what}" for count, what in counts if count) or "no file found"
    name = terminal.style(brain, "bold")
    yield f"{name}: {said}; {seconds(report.seconds)}"
    if report.wrote:
        yield from _indented(
            f"{report.passages:,} passages; {report.blocks:,} new blocks in "
            f"{report.commits:,} commit{'s' if report.commits != 1 else ''} by {actor}",
            terminal,
        )
    elif not report.interrupted:
        yield "  nothing new, nothing written"
    if report.superseded or report.demoted:
        yield from _indented(
            f"passages superseded {report.superseded:,}, demoted {report.demoted:,}, by what changed",
            terminal,
        )
    yield from vectors(report.embedded, report.reused, report.unembedded, terminal)
    yield from _by_reason("skipped", report.skipped, terminal)
    yield from _one_by_one("failed", report.failed, terminal, "red")
    for each in report.refused[:FAILURES_NAMED]:
        yield from _indented(f"refused: {clean(each.path)}: {clean(each.reason)}", terminal)
    if len(report.refused) > FAILURES_NAMED:
        yield f"  and {len(report.refused) - FAILURES_NAMED:,} more refused (--json names all)"
    yield from _by_reason("taken, but", report.warnings, terminal)
    if report.gone:
        some = ", ".join(clean(origin) for origin in report.gone[:NAMED])
        more = f", and {len(report.gone) - NAMED:,} more" if len(report.gone) > NAMED else ""
        yield from _indented(f"no longer there, kept all the same: {some}{more}", terminal)


def index(brain: str, report: CaughtUp, terminal: Terminal) -> Iterator[str]:
    """What catching up did."""
    did = report.indexed or report.embedded or report.reused or report.measured
    name = terminal.style(brain, "bold")
    if not did and report.interrupted:
        yield f"{name}: stopped; {seconds(report.seconds)}"
    elif not did:
        yield f"{name}: up to date; {seconds(report.seconds)}"
    else:
        yield f"{name}: {report.indexed:,} blocks indexed; {seconds(report.seconds)}"
    yield from vectors(report.embedded, report.reused, report.unembedded, terminal)
    if report.measured:
        yield "  statistics and noise floor measured"


def seconds(value: float) -> str:
    """A duration as people say it."""
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def vectors(embedded: int, reused: int, unembedded: int, terminal: Terminal) -> Iterator[str]:
    if embedded or reused:
        yield from _indented(f"vectors: {embedded:,} computed, {reused:,} known already", terminal)
    if unembedded:
        yield from _indented(f"{unembedded:,} passages have no vector yet", terminal)


def _by_reason(what: str, files: Sequence[Passed], terminal: Terminal) -> Iterator[str]:
    """One line a reason, the most frequent first, with a few names."""
    reasons: dict[str, list[str]] = {}
    for each in files:
        reasons.setdefault(each.reason, []).append(each.path)
    for reason, names in sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0])):
        more = f", and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
        some = ", ".join(clean(name) for name in names[:NAMED])
        yield from _indented(f"{what} {len(names):,}, {clean(reason)}: {some}{more}", terminal)


def _one_by_one(what: str, files: Sequence[Passed], terminal: Terminal, colour: str) -> Iterator[str]:
    for each in files[:FAILURES_NAMED]:
        line = fit(f"{what}: {clean(each.path)}: {clean(each.reason)}", max(terminal.width - 2, 200))
        yield f"  {terminal.style(line, colour)}"
    if len(files) > FAILURES_NAMED:
        yield f"  and {len(files) - FAILURES_NAMED:,} more (--json names all)"


def _indented(text: str, terminal: Terminal) -> Iterator[str]:
    for at, line in enumerate(wrap(text, terminal.prose - 4)):
        yield ("  " if at == 0 else "    ") + line
