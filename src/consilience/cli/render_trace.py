"""The lineage of a block as a tree. Lines out, nothing printed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from consilience.cli.terminal import Terminal, clean, columns, fit, wrap
from consilience.model import Locator
from consilience.trace import Direction, RecordLine, TraceNode, TraceReport

RECORDS = 20
"""Records about one block that are listed."""


def short(digest: str) -> str:
    return digest[7:19]


def trace(report: TraceReport, terminal: Terminal) -> Iterator[str]:
    """The block, the way up to its sources, the way down to what was made from it."""
    head = f"{report.memory_type.value} {short(report.block_id)} of {clean(report.brain)}"
    yield terminal.style(head, "bold")
    if report.title:
        for line in wrap(clean(report.title), terminal.prose - 4)[:3]:
            yield f"    {line}"
    if report.superseded_by is not None:
        yield "    " + terminal.style(f"superseded by {short(report.superseded_by)}", "yellow")
    if report.demoted:
        yield "    " + terminal.style("demoted", "yellow")
    if not report.resolvable:
        yield "    " + terminal.style("its bytes are not here; a verifiable member all the same", "yellow")
    yield from records(report.records, terminal)
    yield from both(report.up, report.down, terminal)


def both(up: Direction | None, down: Direction | None, terminal: Terminal) -> Iterator[str]:
    if up is not None:
        yield ""
        yield from _heading("comes from", "no other block", up, terminal)
        yield from _Tree(up, terminal, up=True).lines()
    if down is not None:
        yield ""
        yield from _heading("led to", "nothing", down, terminal)
        yield from _Tree(down, terminal, up=False).lines()


def records(about: tuple[RecordLine, ...], terminal: Terminal) -> Iterator[str]:
    """What provenance says of a block, but its derivations, which the tree shows."""
    told = [record for record in about if record.what != "derived"]
    for record in told[:RECORDS]:
        for at, line in enumerate(wrap(said(record, detail=True), terminal.prose - 6)):
            yield ("    " if at == 0 else "      ") + terminal.style(line, "dim")
    if len(told) > RECORDS:
        yield f"    and {len(told) - RECORDS:,} more records"


def said(record: RecordLine, *, detail: bool = False) -> str:
    """When what was done, and by whom."""
    text = f"{record.at} {record.what} by {clean(record.actor)}" if record.actor else record.what
    if detail and record.detail:
        text += f", {clean(record.detail)}"
    return f"{text} ({short(record.record)})" if detail else text


def _heading(what: str, nothing: str, direction: Direction, terminal: Terminal) -> Iterator[str]:
    if not direction.edges:
        yield f"{terminal.style(what, 'bold')} {nothing}"
        return
    if direction.edges == 1 == direction.total and not direction.hidden:
        yield terminal.style(what, "bold")
        return
    text = f"{direction.edges:,} block{'' if direction.edges == 1 else 's'}"
    if direction.hidden:
        text += f", {direction.hidden:,} superseded or demoted"
    if not direction.counted_all:
        text += f"; more than {direction.total:,} in all"
    elif direction.total > direction.edges:
        text += f"; {direction.total:,} in all"
    yield f"{terminal.style(what, 'bold')} {text}"


class _Row(NamedTuple):
    """A node, or None for what is left out, under a prefix."""

    node: int | None
    prefix: str
    last: bool
    before: TraceNode | None
    text: str = ""


class _Tree:
    def __init__(self, direction: Direction, terminal: Terminal, *, up: bool) -> None:
        self._direction = direction
        self._terminal = terminal
        self._up = up
        self._inner: dict[int | None, list[int]] = defaultdict(list)
        for at, node in enumerate(direction.nodes):
            self._inner[node.parent].append(at)

    def lines(self) -> Iterator[str]:
        rows = self._rows(None, "", self._direction.edges)
        while rows:
            row = rows.pop()
            branch = row.prefix + ("└─ " if row.last else "├─ ")
            if row.node is None:
                yield branch + row.text
                continue
            node = self._direction.nodes[row.node]
            inner = self._rows(row.node, row.prefix + ("   " if row.last else "│  "), node.edges)
            yield from self._node(
                node, branch, row.prefix + ("   " if row.last else "│  "), row.before, bool(inner)
            )
            rows += inner

    def _rows(self, parent: int | None, prefix: str, edges: int) -> list[_Row]:
        """What stands below a node, the first one last, so that it is taken first."""
        nodes = self._direction.nodes
        inner = self._inner[parent]
        more = edges - len(inner) if inner else 0
        rows = [
            _Row(at, prefix, not more and i == len(inner) - 1, nodes[inner[i - 1]] if i else None)
            for i, at in enumerate(inner)
        ]
        if more:
            rows.append(_Row(None, prefix, True, None, f"and {more:,} more (--limit)"))
        return rows[::-1]

    def _node(
        self, node: TraceNode, branch: str, below: str, before: TraceNode | None, inner: bool
    ) -> Iterator[str]:
        style = self._terminal.style
        place = Locator.parse(node.locator)
        lines = _lines(place)
        name = f"{node.memory_type.value if node.memory_type else 'not here'} {short(node.block_id)}"
        title = clean(node.title)
        unit = "" if place.unit == "line" else f"{place.unit} "
        where = f"  {unit}{lines}" if lines and not self._up else ""
        head = f"{branch}{name}{where}"
        room = self._terminal.prose - columns(head) - 2
        shown = f"  {fit(title, room)}" if title and room > 8 else ""
        yield f"{style(branch, 'dim')}{style(name, 'bold')}{where}{shown}"
        below += "│    " if inner else "     "
        below = below if inner else below[:-2]
        for text, colour in self._details(node, place, lines, before, inner):
            for line in wrap(text, max(self._terminal.prose - columns(below), 24)):
                yield style(below, "dim") + style(line, colour)

    def _details(
        self, node: TraceNode, place: Locator, lines: str, before: TraceNode | None, inner: bool
    ) -> Iterator[tuple[str, str]]:
        if self._up:
            headings = " > ".join(clean(heading) for heading in place.headings)
            if where := ", ".join(part for part in (lines and _counted(place, lines), headings) if part):
                yield where, "dim"
        how = _how(node, with_file=self._up or before is None)
        if before is None or how != _how(before, with_file=self._up):
            yield from ((line, "dim") for line in how)
        if node.more_records:
            yield f"and by {node.more_records:,} more record{'' if node.more_records == 1 else 's'}", "dim"
        if node.superseded_by is not None:
            yield f"superseded by {short(node.superseded_by)}", "yellow"
        if node.demoted:
            yield "demoted", "yellow"
        if node.memory_type is not None and not node.member:
            yield "not a member any more", "yellow"
        if node.memory_type is not None and not node.resolvable:
            yield "its bytes are not here", "yellow"
        if node.repeated:
            yield "shown above already", "dim"
        elif node.edges and not inner:
            yield f"{node.edges:,} more beyond it (--depth)", "dim"


def _lines(place: Locator) -> str:
    if place.first_line is None:
        return ""
    last = place.last_line
    return f"{place.first_line}" + (f"-{last}" if last is not None and last != place.first_line else "")


def _counted(place: Locator, lines: str) -> str:
    return f"lines {lines}" if place.unit == "line" else f"{place.unit} {lines}"


def _how(node: TraceNode, *, with_file: bool) -> list[str]:
    """Who registered, read and derived it, when and with what, in one line where it was one doing."""
    lines: list[tuple[tuple[str, str], list[str], list[str]]] = []
    for record in (*(node.registered if with_file else ()), node.record):
        by = (record.at, record.actor)
        rest = [p for p in record.detail.split("; ") if p and not p.startswith("from ")]
        if lines and lines[-1][0] == by:
            lines[-1][1].append(record.what)
            lines[-1][2].extend(part for part in rest if part not in lines[-1][2])
        else:
            lines.append((by, [record.what], rest))
    return [_doing(at, actor, done, rest) for (at, actor), done, rest in lines]


def _doing(at: str, actor: str, done: list[str], rest: list[str]) -> str:
    whats = ", ".join(dict.fromkeys(done))
    text = f"{at} {whats} by {actor}" if actor else whats
    return clean(f"{text} {'; '.join(rest)}".rstrip())
