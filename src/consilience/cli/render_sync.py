"""What `csl sync`, `csl watch` and `csl source` say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from consilience.cli.render_work import IngestDocument, ingest_document, seconds, vectors
from consilience.cli.terminal import Terminal, clean, wrap
from consilience.model import Value

if TYPE_CHECKING:
    from consilience.config_sources import SourceConfig
    from consilience.sync.report import FileChange, SourceReport, SourceStatus, SyncReport, What

LISTED = 20
"""Files of one kind that a sync names one by one; a dry run names all."""

NAMED = 3
_COLOURS = {"new": "green", "changed": "yellow", "moved": "cyan", "hidden": "red"}
_ONE_BY_ONE: tuple[What, ...] = ("new", "changed", "moved", "hidden", "failed", "refused")


class ChangeDocument(Value, frozen=True, kw_only=True):
    """One file: what it is now, and from where (`moved`) or why."""

    path: str
    what: str
    source: str
    detail: str


class SourceDocument(Value, frozen=True, kw_only=True):
    name: str
    files: int
    error: str | None


class SyncDocument(Value, frozen=True, kw_only=True):
    """One brain in `data` of `sync`; see `SyncReport`."""

    brain: str
    dry_run: bool
    sources: tuple[SourceDocument, ...]
    changes: tuple[ChangeDocument, ...]
    unchanged: int
    passages_hidden: int
    commits: int
    snapshot: str | None
    interrupted: bool
    ingest: IngestDocument | None
    elapsed_ms: float


class StoppedDocument(Value, frozen=True, kw_only=True):
    """A brain that could not be synced at all."""

    brain: str
    error: str


class DeclaredDocument(Value, frozen=True, kw_only=True):
    """`data` of `source add` and `source remove`."""

    brain: str
    name: str
    file: str


class SourceStateDocument(Value, frozen=True, kw_only=True):
    """One of `source list`; see `SourceStatus`."""

    brain: str
    name: str
    deleted: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    revision: str | None
    files: int | None
    behind: int | None
    error: str | None


def sync_document(report: SyncReport, actor: str) -> SyncDocument:
    return SyncDocument(
        brain=report.brain,
        dry_run=report.dry_run,
        sources=tuple(SourceDocument(name=s.name, files=s.files, error=s.error) for s in report.sources),
        changes=tuple(
            ChangeDocument(path=c.origin, what=c.what, source=c.source, detail=c.detail)
            for c in report.changes
        ),
        unchanged=report.unchanged,
        passages_hidden=report.passages_hidden,
        commits=report.commits,
        snapshot=report.snapshot,
        interrupted=report.interrupted,
        ingest=None if report.ingest is None else ingest_document(report.brain, actor, report.ingest),
        elapsed_ms=round(report.seconds * 1000, 1),
    )


def sync(report: SyncReport, actor: str, terminal: Terminal) -> Iterator[str]:
    """One brain: a line of counts, the files, what failed."""
    counts = [(what, len(report.of(what))) for what in _ONE_BY_ONE[:4]]
    said = ", ".join(f"{count:,} {what}" for what, count in counts if count)
    said = ", ".join(filter(None, [said, f"{report.unchanged:,} unchanged" if report.unchanged else ""]))
    name = terminal.style(report.brain, "bold")
    nothing = "stopped" if report.interrupted else "no file found"
    would = "would be " if report.dry_run else ""
    yield f"{name}: {would}{said or nothing}; {seconds(report.seconds)}"
    for what in _ONE_BY_ONE:
        files = report.of(what)
        shown = files if report.dry_run else files[:LISTED]
        yield from (change(each, terminal) for each in shown)
        if len(files) > len(shown):
            yield f"  and {len(files) - len(shown):,} more {what} (--json names all)"
    yield from _by_reason("skipped", report.of("skipped"), terminal)
    yield from _by_reason("kept", report.of("kept"), terminal)
    for source in report.failed_sources:
        yield from _indented(f"source failed: {clean(_error(source))}", terminal)
    if report.dry_run:
        yield "  nothing was written"
        return
    yield from _written(report, actor, terminal)


def _written(report: SyncReport, actor: str, terminal: Terminal) -> Iterator[str]:
    ingest = report.ingest
    if report.commits and ingest is not None:
        yield from _indented(
            f"{ingest.passages:,} passages; {ingest.blocks:,} new blocks in {report.commits:,} "
            f"commit{'s' if report.commits != 1 else ''} by {actor}",
            terminal,
        )
    elif not report.interrupted:
        yield "  nothing new, nothing written"
    if ingest is not None and (ingest.superseded or ingest.demoted or report.passages_hidden):
        demoted = ingest.demoted + report.passages_hidden
        counts = [(ingest.superseded, "superseded"), (demoted, "demoted")]
        told = ", ".join(f"{what} {count:,}" for count, what in counts if count)
        yield from _indented(f"passages {told}", terminal)
    if ingest is not None:
        yield from vectors(ingest.embedded, ingest.reused, ingest.unembedded, terminal)


def change(each: FileChange, terminal: Terminal) -> str:
    """One file in one line."""
    word = terminal.style(each.what.ljust(8), _COLOURS.get(each.what, "red"))
    detail = f" ({clean(each.detail)})" if each.detail else ""
    if each.what in ("failed", "refused") and each.detail:
        detail = f": {clean(each.detail)}"
    return f"  {word} {clean(each.origin)}{detail}"


def added(document: DeclaredDocument, terminal: Terminal) -> Iterator[str]:
    yield f"source {terminal.style(clean(document.name), 'bold')} added to {document.brain}"
    yield terminal.style(f"next: csl sync --brain {document.brain} --dry-run", "dim")


def removed(document: DeclaredDocument, terminal: Terminal) -> Iterator[str]:
    yield f"source {terminal.style(clean(document.name), 'bold')} is out of {document.brain}"
    yield "what was taken from it stays"


def state_document(brain: str, config: SourceConfig, state: SourceStatus) -> SourceStateDocument:
    return SourceStateDocument(
        brain=brain,
        name=config.name,
        deleted=config.deleted,
        include=config.include,
        exclude=config.exclude,
        revision=config.revision if config.git is not None else None,
        files=state.files,
        behind=state.behind,
        error=state.error,
    )


def listed(sources: Sequence[SourceStateDocument], terminal: Terminal) -> Iterator[str]:
    brain = None
    for each in sources:
        if each.brain != brain:
            brain = each.brain
            yield terminal.style(brain, "bold")
        revision = f" at {clean(each.revision)}" if each.revision is not None else ""
        yield f"  {clean(each.name)}{revision}: {said_of(each.files, each.behind, each.error)}"
        rules = [f"only {' '.join(each.include)}"] if each.include else []
        rules += [f"without {' '.join(each.exclude)}"] if each.exclude else []
        rules.append("gone files are hidden" if each.deleted == "hide" else "gone files are kept")
        yield terminal.style(f"    {clean('; '.join(rules))}", "dim")


def said_of(files: int | None, behind: int | None, error: str | None) -> str:
    """The state of a source in a few words."""
    if error is not None:
        return clean(error)
    if files is None or behind is None:
        return "not looked at"
    held = f"{files:,} file{'s' if files != 1 else ''}"
    return f"{held}, {behind:,} to be taken or looked at" if behind else f"{held}, up to date"


def _error(source: SourceReport) -> str:
    return f"{source.error}" + (f" ({source.hint})" if source.hint else "")


def _by_reason(what: str, files: Sequence[FileChange], terminal: Terminal) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for each in files:
        reasons.setdefault(each.detail, []).append(each.origin)
    for reason, names in sorted(reasons.items(), key=lambda item: (-len(item[1]), item[0])):
        more = f", and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
        some = ", ".join(clean(name) for name in names[:NAMED])
        yield from _indented(f"{what} {len(names):,}, {clean(reason)}: {some}{more}", terminal)


def _indented(text: str, terminal: Terminal) -> Iterator[str]:
    for at, line in enumerate(wrap(text, terminal.prose - 4)):
        yield ("  " if at == 0 else "    ") + line
