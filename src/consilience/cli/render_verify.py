"""What verifying and repairing found. Lines out, nothing printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from consilience.cli.terminal import Terminal, clean, wrap
from consilience.model import Value

if TYPE_CHECKING:
    from consilience.store.verify import Problem, VerifyReport
    from consilience.verification import RepairReport

MOST_REMEDIES = 3


class Verified(msgspec.Struct, frozen=True):
    """One brain: what verifying found in the end, and what a repair did before."""

    brain: str
    report: VerifyReport
    repaired: RepairReport | None
    told: str | None


class Failed(msgspec.Struct, frozen=True):
    """One brain that could not be looked at; `skipped`: it is not on this machine."""

    brain: str
    reason: str
    hint: str | None = None
    skipped: bool = False


class ProblemDocument(Value, frozen=True, kw_only=True):
    what: str
    detail: str
    module: str | None
    block_id: str | None
    file: str | None
    remedy: str


class AskedDocument(Value, frozen=True, kw_only=True):
    question: str
    block_id: str
    matches: int
    found: bool


class RepairDocument(Value, frozen=True, kw_only=True):
    """`problems` there were before, what was written anew, and the question asked afterwards."""

    problems: int
    done: tuple[str, ...]
    notes: tuple[str, ...]
    asked: AskedDocument | None


class VerifyDocument(Value, frozen=True, kw_only=True):
    """`data` of `verify`: how much was checked, what does not follow, `more` problems not listed, content
    files that no block names (`orphans`; harmless), the parent of the oldest snapshot where it is not here, and
    the parts of what is derived that bear no checksums (`unsummed`)."""

    brain: str
    blocks: int
    records: int
    snapshots: int
    modules: int
    contents: int
    derived_files: int
    problems: tuple[ProblemDocument, ...]
    more: int
    orphans: tuple[str, ...]
    truncated: str | None
    unsummed: tuple[str, ...]
    repair: RepairDocument | None = None


class NotVerified(Value, frozen=True, kw_only=True):
    brain: str
    reason: str


class VerifyAllDocument(Value, frozen=True, kw_only=True):
    """`data` of `verify --all`: each brain, those that could not be looked at, those that are not here."""

    brains: tuple[VerifyDocument, ...]
    failed: tuple[NotVerified, ...]
    skipped: tuple[NotVerified, ...]


def document(verified: Verified) -> VerifyDocument:
    report, checked = verified.report, verified.report.checked
    return VerifyDocument(
        brain=verified.brain,
        blocks=checked.blocks,
        records=checked.records,
        snapshots=checked.snapshots,
        modules=checked.modules,
        contents=checked.contents,
        derived_files=checked.derived_files,
        problems=tuple(
            ProblemDocument(
                what=problem.what,
                detail=problem.detail,
                module=problem.module.value if problem.module is not None else None,
                block_id=problem.block_id,
                file=problem.file,
                remedy=problem.remedy,
            )
            for problem in report.problems
        ),
        more=report.more,
        orphans=report.orphans,
        truncated=report.truncated,
        unsummed=report.unsummed,
        repair=_repair_document(verified.repaired),
    )


def _repair_document(repaired: RepairReport | None) -> RepairDocument | None:
    if repaired is None:
        return None
    asked = repaired.asked
    return RepairDocument(
        problems=len(repaired.before.problems) + repaired.before.more,
        done=repaired.done,
        notes=repaired.notes,
        asked=None
        if asked is None
        else AskedDocument(
            question=asked.question, block_id=asked.block_id, matches=asked.matches, found=asked.found
        ),
    )


def documents(found: Sequence[Verified | Failed]) -> VerifyAllDocument:
    return VerifyAllDocument(
        brains=tuple(document(each) for each in found if isinstance(each, Verified)),
        failed=tuple(_not_verified(f) for f in found if isinstance(f, Failed) and not f.skipped),
        skipped=tuple(_not_verified(f) for f in found if isinstance(f, Failed) and f.skipped),
    )


def _not_verified(failed: Failed) -> NotVerified:
    return NotVerified(brain=failed.brain, reason=failed.reason)


def all_lines(found: Sequence[Verified | Failed], terminal: Terminal) -> Iterator[str]:
    """Every brain in turn; one that could not be looked at in one line."""
    for each in found:
        if isinstance(each, Verified):
            yield from lines(each, terminal)
            continue
        verdict = "skipped" if each.skipped else terminal.style("not verified", "red", "bold")
        yield f"{terminal.style(each.brain, 'bold')}: {verdict}: {clean(each.reason)}"
        if each.hint:
            yield from _wrapped(f"to do: {each.hint}", terminal)


def lines(verified: Verified, terminal: Terminal) -> Iterator[str]:
    """The verdict, what was recomputed, what was repaired, each problem, and what to do."""
    report, checked, repaired = verified.report, verified.report.checked, verified.repaired
    yield f"{terminal.style(verified.brain, 'bold')}: {_verdict(verified, terminal)}"
    said = (
        f"recomputed {checked.blocks:,} blocks, {checked.records:,} records, {checked.contents:,} originals, "
        f"{checked.modules:,} roots, snapshots {checked.snapshots:,}; "
        f"checked {checked.derived_files:,} derived files"
    )
    yield from (f"  {line}" for line in wrap(said, terminal.prose - 2))
    if repaired is not None:
        yield from _repair_lines(repaired, terminal)
    for problem in report.problems:
        yield from _wrapped(_said(problem), terminal, "red")
    if report.more:
        yield f"  and {report.more:,} more problems"
    for remedy in list(dict.fromkeys(p.remedy for p in report.problems))[:MOST_REMEDIES]:
        kinds = ", ".join(dict.fromkeys(p.what for p in report.problems if p.remedy == remedy))
        yield from _wrapped(f"to do ({kinds}): {remedy}", terminal)
    if report.unsummed:
        parts = ", ".join(report.unsummed)
        yield from _wrapped(f"no checksums yet of: {parts}; `index` writes them", terminal)
    if report.truncated is not None:
        text = (
            f"the chain of snapshots begins after {report.truncated}, which is not here any more (no damage)"
        )
        yield from _wrapped(text, terminal)
    if report.orphans:
        yield f"  {len(report.orphans):,} content files that no block names (harmless)"


def _verdict(verified: Verified, terminal: Terminal) -> str:
    repaired = verified.repaired
    if verified.report.problems or (repaired is not None and not repaired.ok):
        return terminal.style("damaged", "red", "bold")
    if repaired is not None and repaired.done:
        return terminal.style("repaired, everything follows", "green")
    return terminal.style("everything follows", "green")


def _repair_lines(repaired: RepairReport, terminal: Terminal) -> Iterator[str]:
    if not repaired.before.problems:
        yield "  nothing to repair"
    for done in repaired.done:
        yield from _wrapped(f"made anew: {done}", terminal)
    for note in repaired.notes:
        yield from _wrapped(note, terminal)
    asked = repaired.asked
    if asked is not None:
        outcome = "found" if asked.found else "not found"
        text = f"opened again and asked for a block in its own words: {outcome} ({asked.matches} matches)"
        yield from _wrapped(text, terminal)


def _said(problem: Problem) -> str:
    where = problem.block_id or (str(problem.module) if problem.module else "") or problem.file or ""
    if problem.block_id and problem.module:
        where = f"{problem.module} {problem.block_id}"
    return f"{clean(problem.what)}{' ' + clean(where) if where else ''}: {clean(problem.detail)}"


def _wrapped(text: str, terminal: Terminal, *styles: str) -> Iterator[str]:
    for at, line in enumerate(wrap(text, max(terminal.width - 4, 75))):
        yield ("  " if at == 0 else "    ") + terminal.style(line, *styles)
