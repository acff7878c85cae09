"""A brain's snapshots, and the difference of two, as people read them and as JSON. Lines out, nothing printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from consilience.cli.render_search import place, short
from consilience.cli.terminal import Terminal, clean, columns, fit, pad, wrap
from consilience.history import DiffedBlock, DiffReport, HistoryEntry, HistoryReport, ModuleDiff
from consilience.model import Source, Value

FILES = 3
"""Files named for one snapshot."""

MARKS = {"joined": "+", "left": "-", "superseded": "~", "demoted": "~", "shown": "^", "redacted": "x"}
WORDS = {"shown": "shown again"}


class HistoryDocument(Value, frozen=True, kw_only=True):
    """`data` of `history`. `of` is how many snapshots there are to list, `pruned` how many older ones are known and
    not here."""

    brain: str
    module: str | None
    count: int
    of: int
    truncated: bool
    pruned: int
    snapshots: tuple[HistoryEntry, ...]


class EndDocument(Value, frozen=True, kw_only=True):
    snapshot: str
    created_at: str


class DiffDocument(Value, frozen=True, kw_only=True):
    """`data` of `diff`: from snapshot `a` to `b`. `of` is how many blocks could be listed."""

    brain: str
    a: EndDocument
    b: EndDocument
    modules: tuple[ModuleDiff, ...]
    count: int
    of: int
    truncated: bool
    blocks: tuple[DiffedBlock, ...]


def history_document(report: HistoryReport) -> HistoryDocument:
    return HistoryDocument(
        brain=report.brain,
        module=report.module.value if report.module is not None else None,
        count=len(report.snapshots),
        of=report.of,
        truncated=report.truncated,
        pruned=report.pruned,
        snapshots=report.snapshots,
    )


def diff_document(report: DiffReport) -> DiffDocument:
    return DiffDocument(
        brain=report.brain,
        a=EndDocument(snapshot=report.a, created_at=report.a_at),
        b=EndDocument(snapshot=report.b, created_at=report.b_at),
        modules=report.modules,
        count=len(report.blocks),
        of=report.of,
        truncated=report.truncated,
        blocks=report.blocks,
    )


# --- history ------------------------------------------------------------------------------------------------


def history(report: HistoryReport, terminal: Terminal) -> Iterator[str]:
    """Each snapshot on a line of its own, what it changed and which files below it."""
    for entry in report.snapshots:
        when = entry.created_at.replace("T", " ").removesuffix("Z")
        yield f"{terminal.style(short(entry.snapshot), 'bold')}  {when}  {clean(entry.actor)}"
        changed = "; ".join(f"{c.module.value} {_amounts(c)}" for c in entry.changed) or "nothing"
        if entry.partial:
            changed += "; what left with it is not known any more"
        yield from _indented(changed, terminal)
        if entry.files:
            yield from _indented(_files(entry, terminal.prose - 4), terminal, "dim")
    if report.snapshots:
        yield ""
    what = "snapshot" if report.module is None else f"snapshot that changed {report.module.value}"
    if not report.of:
        yield f"{clean(report.brain)}: no {what}" + (" yet" if report.module is None else "")
    else:
        said = f"{len(report.snapshots):,} of {report.of:,}" if report.truncated else f"{report.of:,}"
        more = " (--limit)" if report.truncated else ""
        plural = "" if report.of == 1 else what.replace("snapshot", "snapshots")
        yield f"{clean(report.brain)}: {said} {plural or what}{more}"
    if report.pruned:
        yield f"  {report.pruned:,} older ones were pruned"


def _amounts(change: object) -> str:
    """`+12 -3, 4 superseded`."""
    said = " ".join(
        f"{sign}{count:,}"
        for sign, name in (("+", "joined"), ("-", "left"))
        if (count := getattr(change, name))
    )
    others = [
        f"{count:,} {WORDS.get(name, name)}"
        for name in ("superseded", "demoted", "shown", "redacted")
        if (count := getattr(change, name, 0))
    ]
    return ", ".join([said, *others] if said else others)


def _files(entry: HistoryEntry, width: int) -> str:
    """The first files, as many as fit, and how many more."""
    names = [clean(name) for name in entry.files]
    for shown in range(min(FILES, len(names)), 0, -1):
        rest = len(names) - shown
        at_least = "at least " if entry.more_files else ""
        more = f" and {at_least}{rest:,} more" if rest else " and maybe others" if entry.more_files else ""
        text = ", ".join(names[:shown]) + more
        if columns(text) <= width or shown == 1:
            break
    return text


def _indented(text: str, terminal: Terminal, *styles: str) -> Iterator[str]:
    for line in wrap(text, terminal.prose - 4):
        yield "    " + (terminal.style(line, *styles) if styles else line)


# --- the difference of two ----------------------------------------------------------------------------------


def diff(report: DiffReport, terminal: Terminal) -> Iterator[str]:
    """The counts of each module, then the blocks, a line of text each and where they come from."""
    yield terminal.style(clean(report.brain), "bold")
    yield f"  from {short(report.a)}  {report.a_at.replace('T', ' ').removesuffix('Z')}"
    yield f"  to   {short(report.b)}  {report.b_at.replace('T', ' ').removesuffix('Z')}"
    width = max((len(m.module.value) for m in report.modules), default=0)
    for module in report.modules:
        yield f"  {pad(module.module.value, width)}  {_amounts(module)}"
    if not report.modules:
        yield "  nothing differs"
    if report.blocks:
        yield ""
    for block in report.blocks:
        yield from _block(block, terminal)
    if report.truncated:
        yield f"{len(report.blocks):,} of {report.of:,} blocks listed (--limit)"


def _block(block: DiffedBlock, terminal: Terminal) -> Iterator[str]:
    colour = {"joined": "green", "left": "red", "redacted": "red"}.get(block.change, "yellow")
    mark = terminal.style(MARKS[block.change], colour, "bold")
    text = clean(block.text) or "its bytes are not here"
    yield f"{mark} {short(block.block_id)}  {fit(text, terminal.prose - 16)}"
    said = [block.module.value, WORDS.get(block.change, block.change)]
    if block.by is not None:
        said[-1] += f" by {short(block.by)}"
    if (where := _where(block.sources)) and block.text.partition(" (")[0] != where:
        said.append(where)
    yield "  " + terminal.style(fit(" · ".join(said), terminal.prose - 2), "dim")


def _where(sources: Sequence[Source]) -> str:
    return place(sources)
