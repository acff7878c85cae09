"""Verdicts on candidates, what a commit took, what was remembered. Lines out, nothing printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from consilience.cli.render_search import short
from consilience.cli.terminal import Terminal, clean, fit, wrap
from consilience.propose.report import DUPLICATE, Committed, Judged, Remembered, Validation

SHOWN = 20
"""Candidates with nothing to say of them that are listed; those with something are all."""

_WORDS = {
    "validated": ("validated", "green"),
    DUPLICATE: ("known already", "dim"),
    "pending_review": ("needs a person", "yellow"),
    "contradicted": ("contradicted", "yellow"),
    "rejected": ("rejected", "red"),
}
_MARKS = {"validated": "✓", DUPLICATE: "·", "pending_review": "?", "contradicted": "?", "rejected": "✗"}
LABEL = 9
OWN = "consilience:"


def validation(made: Validation, terminal: Terminal, *, committed: bool | None = None) -> Iterator[str]:
    """One line a candidate, below it why; then how many of each."""
    yield from _listed(made.candidates, terminal)
    name, count = terminal.style(clean(made.brain), "bold"), len(made.candidates)
    end = "; nothing was written" if committed is False else ""
    if not count:
        yield f"{name}: no candidates{end}"
    else:
        yield f"{name}: {_candidates(count)}: {_counted(made.counts)}{end}"


def committed(made: Committed, terminal: Terminal) -> Iterator[str]:
    """The candidates, then what was written, and where it can be looked at."""
    yield from _listed(made.candidates, terminal)
    name = terminal.style(clean(made.brain), "bold")
    count = len(made.candidates)
    if not made.changed:
        why = "all of it is here already" if count else "there are no candidates"
        yield f"{name}: nothing to do, {why}"
        return
    records = f"{made.records:,} record{'s' if made.records != 1 else ''}"
    blocks = f"{made.blocks:,} new block{'s' if made.blocks != 1 else ''}"
    yield f"{name}: {_candidates(count)}: {_counted(made.counts)}"
    yield from _hanging(
        f"{blocks} and {records} by {clean(made.actor)}, {made.at}; made by {clean(made.producer)}", terminal
    )
    yield terminal.style(f"  snapshot {made.snapshot}", "dim")


def remembered(made: Remembered, terminal: Terminal) -> Iterator[str]:
    """What was taken, its id, and the line that cites it."""
    name = terminal.style(clean(made.brain), "bold")
    if made.hidden is not None:
        yield f"{name}: known and hidden, {made.hidden}; `csl retain restore {short(made.block_id)}` shows it"
    elif made.known:
        yield f"{name}: known already" + (f"; a source more, {clean(made.source)}" if made.changed else "")
    else:
        yield f"{name}: remembered, by {clean(made.actor)}, {made.at}"
    for line in wrap(clean(made.text), terminal.prose - 4)[:4]:
        yield f"    {line}"
    yield f"{'block':{LABEL}}{made.block_id}"
    yield f"{'module':{LABEL}}{made.memory_type.value}"
    if not made.known:
        yield f"{'from':{LABEL}}{clean(made.source)}"
    yield f"{'cite':{LABEL}}{made.cite}"
    if made.near:
        near = ", ".join(map(short, made.near))
        yield from _hanging(f"{near} says the same, but for case, spacing, marks or other members", terminal)
    if made.otherwise:
        against = ", ".join(map(short, made.otherwise))
        yield from _hanging(f"{against} says otherwise of the same label, subject and kind", terminal)


def _listed(candidates: Sequence[Judged], terminal: Terminal) -> Iterator[str]:
    plain = left = 0
    for each in candidates:
        telling = bool(each.notes) or (bool(each.issues) and each.verdict != DUPLICATE)
        plain += not telling
        if not telling and plain > SHOWN:
            left += 1
            continue
        yield from _one(each, terminal)
    if left:
        yield f"      and {left:,} more validated or known (--json has all)"
    if candidates:
        yield ""


def _one(each: Judged, terminal: Terminal) -> Iterator[str]:
    word, colour = ("accepted", "yellow") if each.accepted else _WORDS[each.verdict]
    mark = terminal.style(_MARKS[each.verdict], colour)
    kind = each.memory_type.value if each.memory_type is not None else ""
    block = short(each.block_id) if each.block_id is not None else "-"
    line = f"{each.number:>4}  {block:<12}  {kind:<10}  {word:<14}  {clean(each.title)}"
    yield f"{mark} {fit(line.rstrip(), terminal.width - 2)}"
    for issue in (*each.issues, *each.notes):
        if issue.code == DUPLICATE:
            if issue.candidate is not None:
                yield from _hanging(clean(issue.detail), terminal, 8)
        else:
            yield from _hanging(f"{issue.code.removeprefix(OWN)}: {clean(issue.detail)}", terminal, 8)
    if each.adds_evidence:
        yield from _hanging("names evidence that is new for it", terminal, 8)


def _hanging(text: str, terminal: Terminal, indent: int = 2) -> Iterator[str]:
    for at, line in enumerate(wrap(text, max(terminal.prose - indent - 2, 24))):
        yield " " * (indent if at == 0 else indent + 2) + line


def _candidates(count: int) -> str:
    return f"{count:,} candidate{'s' if count != 1 else ''}"


def _counted(counts: dict[str, int]) -> str:
    said = {"pending_review": "in need of a person", DUPLICATE: "known already"}
    return ", ".join(f"{count:,} {said.get(verdict, verdict)}" for verdict, count in counts.items() if count)
