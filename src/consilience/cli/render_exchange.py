"""What an export or an import did. Lines out, nothing printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from consilience.cli.render_work import seconds
from consilience.cli.terminal import Terminal, clean, size, table, wrap
from consilience.model import Value
from consilience.oci.model import ExportReport, ImportReport, ModuleCount


class ExportDocument(Value, frozen=True, kw_only=True):
    """`data` of `export`; see `ExportReport`."""

    brain: str
    path: str
    tag: str
    snapshot: str
    snapshots: int
    blocks: int
    originals: int
    redacted: int
    signatures: int
    files: int
    bytes: int
    written: int
    removed: int
    erased: int
    artifact: str | None
    artifact_bytes: int
    modules: tuple[ModuleCount, ...]
    elapsed_ms: float


class ImportDocument(Value, frozen=True, kw_only=True):
    """`data` of `import`; see `ImportReport`. `authorship` is always `not checked`."""

    brain: str
    path: str
    snapshot: str
    created: bool
    up_to_date: bool
    snapshots: int
    blocks: int
    originals: int
    redacted: int
    unresolvable: int
    bytes_hashed: int
    signatures: int
    authorship: str
    actors_from_records: int
    actors_from_importer: int
    truncated: tuple[str, ...]
    modules: tuple[ModuleCount, ...]
    unembedded: int
    interrupted: bool
    elapsed_ms: float


def export_document(brain: str, report: ExportReport) -> ExportDocument:
    return ExportDocument(
        brain=brain,
        path=str(report.path),
        tag=report.tag,
        snapshot=report.snapshot,
        snapshots=report.snapshots,
        blocks=report.blocks,
        originals=report.originals,
        redacted=report.redacted,
        signatures=report.signatures,
        files=report.files,
        bytes=report.size,
        written=report.written,
        removed=report.removed,
        erased=report.erased,
        artifact=report.artifact,
        artifact_bytes=report.artifact_size,
        modules=report.modules,
        elapsed_ms=round(report.seconds * 1000, 1),
    )


def import_document(brain: str, source: str, report: ImportReport) -> ImportDocument:
    return ImportDocument(
        brain=brain,
        path=source,
        snapshot=report.snapshot,
        created=report.created,
        up_to_date=report.up_to_date,
        snapshots=report.snapshots,
        blocks=report.blocks,
        originals=report.originals,
        redacted=report.redacted,
        unresolvable=report.unresolvable,
        bytes_hashed=report.checked,
        signatures=report.signatures,
        authorship="not checked",
        actors_from_records=report.actors,
        actors_from_importer=report.by_importer,
        truncated=report.truncated,
        modules=report.modules,
        unembedded=report.unembedded,
        interrupted=report.interrupted,
        elapsed_ms=round(report.seconds * 1000, 1),
    )


def exported(brain: str, report: ExportReport, terminal: Terminal) -> Iterator[str]:
    """Where it is, what is in it, under which digests."""
    where = clean(str(report.path))
    yield f"{terminal.style(brain, 'bold')}: exported to {where}; {seconds(report.seconds)}"
    counts = _counts(report.snapshots, report.blocks, report.originals)
    yield from _indented(f"{counts}; {size(report.size)} in {report.files:,} blobs", terminal)
    if not report.written and not report.removed:
        yield "  nothing had changed since the export before"
    elif report.removed:
        said = f"{report.written:,} files written, {report.removed:,} removed that are no longer part of it"
        if report.erased:
            said += f", {report.erased:,} of them bytes that were redacted"
        yield from _indented(said, terminal)
    if report.redacted:
        yield from _indented(f"{_many(report.redacted, 'tombstone')} of redacted bytes", terminal)
    if report.signatures:
        yield from _indented(f"{_many(report.signatures, 'signature')} carried", terminal)
    if report.artifact is not None:
        packed = f"{size(report.artifact_size)} packed, manifest {_hex(report.artifact)[:12]}"
        yield from _indented(f"artifact {clean(report.tag)}: {packed}", terminal)
    yield f"  snapshot {_hex(report.snapshot)}"
    yield from _modules(report.modules, terminal)


def imported(brain: str, source: str, report: ImportReport, terminal: Terminal) -> Iterator[str]:
    """What came in, from where its history begins, who stands for it."""
    name = terminal.style(brain, "bold")
    if report.up_to_date:
        yield f"{name}: already has what {clean(source)} holds, nothing written; {seconds(report.seconds)}"
        return
    did = "made from" if report.created else "brought forward by"
    yield f"{name}: {did} {clean(source)}; {seconds(report.seconds)}"
    counts = _counts(report.snapshots, report.blocks, report.originals)
    yield from _indented(f"{counts}; {size(report.checked)} hashed, every root recomputed", terminal)
    if report.redacted:
        yield from _indented(f"{_many(report.redacted, 'redacted block')}, members without bytes", terminal)
    if report.unresolvable:
        yield from _indented(
            f"{_many(report.unresolvable, 'block')} of older snapshots came without bytes", terminal
        )
    for digest in report.truncated:
        yield from _indented(f"history begins after {digest}, which is not in the layout", terminal)
    yield f"  snapshot {_hex(report.snapshot)}"
    yield from _modules(report.modules, terminal)
    yield from _indented(_authors(report), terminal)
    if report.unembedded:
        yield from _indented(f"{report.unembedded:,} passages have no vector yet", terminal)


def _authors(report: ImportReport) -> str:
    signed = f"{_many(report.signatures, 'signature')} carried, " if report.signatures else ""
    said = f"{signed}authorship not checked"
    if report.by_importer:
        said += (
            f"; {_many(report.by_importer, 'snapshot')} whose records name nobody, or several, "
            f"{'is' if report.by_importer == 1 else 'are'} listed under the actor of this import"
        )
    return said


def _modules(modules: Sequence[ModuleCount], terminal: Terminal) -> Iterator[str]:
    rows = [["module", "members", "root"]]
    rows += [[each.module, f"{each.blocks:,}", _hex(each.root)[:12]] for each in modules]
    for lines in table(rows, terminal.width - 2, right=(1,)):
        for line in lines:
            yield f"  {line.rstrip()}"


def _counts(snapshots: int, blocks: int, originals: int) -> str:
    return f"{_many(snapshots, 'snapshot')}, {_many(blocks, 'block')}, {_many(originals, 'original')}"


def _hex(digest: str) -> str:
    return digest.removeprefix("sha256:")


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' if count != 1 else ''}"


def _indented(text: str, terminal: Terminal) -> Iterator[str]:
    for at, line in enumerate(wrap(text, terminal.prose - 4)):
        yield ("  " if at == 0 else "    ") + line
