"""Plans and what came of them. Lines out, nothing printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from consilience.cli.render_search import short
from consilience.cli.terminal import Terminal, clean, fit, wrap
from consilience.errors import ConsilienceError, StorageError
from consilience.protocol import MemoryType
from consilience.retain.policy import ALLOWS
from consilience.retain.report import Changed, Leaving, Plan, Retained, Staying

NAMED = 12
"""Blocks that a group names; --json names all."""

_GOES = {
    "named": "named",
    "derived": "derived from nothing else",
    "original": "the originals that hold these bytes",
    "same_bytes": "the same bytes, registered once more",
    "same_text": "the same text in another block",
    "names_it": "records whose place in the file repeats the text",
}
_DID = {
    "dropped": "dropped",
    "redacted": "redacted",
    "superseded": "superseded",
    "demoted": "demoted",
    "restored": "shown again",
    "readmitted": "may come back",
}


def plan(made: Plan, terminal: Terminal) -> Iterator[str]:
    """What goes, why, what stays, whether it is allowed, and how to carry it out."""
    verb = "drop" if made.what == "drop" else "redaction"
    name, count = terminal.style(made.brain, "bold"), _count(len(made.goes))
    yield f"{name}: this {verb} takes {count} ({_modules(made.goes)}); nothing is done yet"
    for why, title in _GOES.items():
        yield from _leaving(title, [each for each in made.goes if each.why == why], terminal)
    yield from _staying("stays, it has another source", made.stays, terminal)
    yield from _staying(
        "stays without a source, since episodic memory is append-only", made.unsourced, terminal
    )
    yield from _elsewhere(made, terminal)
    if made.lacking:
        what = " and ".join(ALLOWS[name] for name in made.lacking)
        yield terminal.style(f"  not allowed: the policy does not allow {what}", "yellow")
    yield f"  plan {made.name}"


def _leaving(title: str, group: Sequence[Leaving], terminal: Terminal) -> Iterator[str]:
    if group:
        yield f"  {title}"
    for each in group[:NAMED]:
        line = f"    {short(each.block_id)}  {each.memory_type.value:<10}  {clean(each.title)}"
        yield fit(line.rstrip(), terminal.width)
    yield from _more(len(group))


def _staying(title: str, group: Sequence[Staying], terminal: Terminal) -> Iterator[str]:
    if group:
        yield f"  {title}"
    for each in group[:NAMED]:
        others = ", ".join(short(source) for source in each.sources[:3])
        more = f" and {len(each.sources) - 3:,} more" if len(each.sources) > 3 else ""
        came = f"from {others}{more}" if others else ""
        yield fit(
            f"    {short(each.block_id)}  {each.memory_type.value:<10}  {came}".rstrip(), terminal.width
        )
    yield from _more(len(group))


def _elsewhere(made: Plan, terminal: Terminal) -> Iterator[str]:
    if not made.elsewhere_searched:
        yield from _wrapped("so many texts were not looked for in other blocks", terminal)
    elif made.elsewhere_count:
        some = ", ".join(short(block_id) for block_id in made.elsewhere)
        more = (
            f" and {made.elsewhere_count - len(made.elsewhere):,} more"
            if made.elsewhere_count > len(made.elsewhere)
            else ""
        )
        yield from _wrapped(
            f"{_count(made.elsewhere_count)} hold these words as a part of theirs, and keep them unless named too: "
            f"{some}{more}",
            terminal,
        )


def retained(report: Retained, terminal: Terminal) -> Iterator[str]:
    """What was written about which blocks, and what is left to do."""
    name = terminal.style(report.brain, "bold")
    if not report.changed:
        yield f"{name}: nothing to do, nothing written"
        return
    count = _count(len(report.changed))
    yield f"{name}: {count} {_DID[report.what]} ({_modules(report.changed)}) by {clean(report.actor)}, {report.at}"
    for each in report.changed[:NAMED]:
        detail = (
            f"by {short(each.detail)}" if report.what == "superseded" else _GOES.get(each.detail, each.detail)
        )
        yield fit(
            f"    {short(each.block_id)}  {each.memory_type.value:<10}  {detail}".rstrip(), terminal.width
        )
    yield from _more(len(report.changed))
    if report.what == "redacted":
        made = report.plan
        if report.erased:
            yield "  their bytes are in no file of this brain any more"
        if made is not None:
            yield from _elsewhere(made, terminal)
    if report.what == "readmitted":
        yield "  `csl ingest` of a file that holds the bytes brings them back"
    records = ", ".join(short(record) for record in report.records[:3])
    more = f" and {len(report.records) - 3:,} more" if len(report.records) > 3 else ""
    yield terminal.style(f"  record{'s' if len(report.records) > 1 else ''} {records}{more}", "dim")


def unfinished(report: Retained) -> ConsilienceError | None:
    """The error of a redaction that could not be finished: what is left, and how."""
    if report.remains is None:
        return None
    return StorageError(report.remains, hint="csl index finishes it")


def _modules(group: Sequence[Leaving | Changed]) -> str:
    counts = {m: sum(each.memory_type is m for each in group) for m in MemoryType}
    return ", ".join(f"{count:,} {m.value}" for m, count in counts.items() if count)


def _count(count: int) -> str:
    return f"{count:,} block{'s' if count != 1 else ''}"


def _more(count: int) -> Iterator[str]:
    if count > NAMED:
        yield f"    and {count - NAMED:,} more (--json names all)"


def _wrapped(text: str, terminal: Terminal) -> Iterator[str]:
    for at, line in enumerate(wrap(text, terminal.prose - 4)):
        yield ("  " if at == 0 else "    ") + line
