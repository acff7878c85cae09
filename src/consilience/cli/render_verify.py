"""What verifying a brain found. Lines out, nothing printed."""

from __future__ import annotations

from collections.abc import Iterator

from consilience.cli.terminal import Terminal, clean, wrap
from consilience.model import Value
from consilience.store.verify import VerifyReport


class ProblemDocument(Value, frozen=True, kw_only=True):
    what: str
    detail: str
    module: str | None
    block_id: str | None


class VerifyDocument(Value, frozen=True, kw_only=True):
    """`data` of `verify`: how much was checked, what does not follow, `more` problems not listed, content
    files that no block names (`orphans`; harmless), and the parent of the oldest snapshot where it is not here."""

    brain: str
    blocks: int
    records: int
    snapshots: int
    modules: int
    contents: int
    problems: tuple[ProblemDocument, ...]
    more: int
    orphans: tuple[str, ...]
    truncated: str | None


def document(brain: str, report: VerifyReport) -> VerifyDocument:
    checked = report.checked
    return VerifyDocument(
        brain=brain,
        blocks=checked.blocks,
        records=checked.records,
        snapshots=checked.snapshots,
        modules=checked.modules,
        contents=checked.contents,
        problems=tuple(
            ProblemDocument(
                what=problem.what,
                detail=problem.detail,
                module=problem.module.value if problem.module is not None else None,
                block_id=problem.block_id,
            )
            for problem in report.problems
        ),
        more=report.more,
        orphans=report.orphans,
        truncated=report.truncated,
    )


def verified(brain: str, report: VerifyReport, terminal: Terminal) -> Iterator[str]:
    """The verdict, what was recomputed, and each problem."""
    checked = report.checked
    fine = not report.problems
    verdict = (
        terminal.style("everything follows", "green") if fine else terminal.style("damaged", "red", "bold")
    )
    yield f"{terminal.style(brain, 'bold')}: {verdict}"
    said = (
        f"recomputed {checked.blocks:,} blocks, {checked.records:,} records, {checked.contents:,} originals, "
        f"{checked.modules:,} roots, snapshots {checked.snapshots:,}"
    )
    yield from (f"  {line}" for line in wrap(said, terminal.prose - 2))
    for problem in report.problems:
        where = f" {problem.block_id}" if problem.block_id else f" {problem.module}" if problem.module else ""
        text = f"{clean(problem.what)}{where}: {clean(problem.detail)}"
        for at, line in enumerate(wrap(text, max(terminal.width - 4, 75))):
            yield ("  " if at == 0 else "    ") + terminal.style(line, "red")
    if report.more:
        yield f"  and {report.more:,} more problems"
    if report.truncated is not None:
        text = (
            f"the chain of snapshots begins after {report.truncated}, which is not here any more (no damage)"
        )
        for at, line in enumerate(wrap(text, max(terminal.width - 4, 75))):
            yield ("  " if at == 0 else "    ") + line
    if report.orphans:
        yield f"  {len(report.orphans):,} content files that no block names (harmless)"
