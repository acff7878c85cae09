"""One block, with its provenance and its proof. Lines out, nothing printed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from consilience.cli.render_search import place, short
from consilience.cli.render_trace import RECORDS, both, said
from consilience.cli.terminal import Terminal, clean, wrap
from consilience.inspection import BlockReport, ProofReport
from consilience.model import Source, Value

LABEL = 9
_SAYS = {"semantic": "statement", "episodic": "summary", "procedural": "goal"}
"""The member of each module's payload that is the block's own text."""


class BlockDocument(Value, frozen=True, kw_only=True):
    """`data` of `block`; `proof` with `--prove` only."""

    block: BlockReport
    proof: ProofReport | None


def document(report: BlockReport, proof: ProofReport | None) -> BlockDocument:
    return BlockDocument(block=report, proof=proof)


def block(report: BlockReport, proof: ProofReport | None, terminal: Terminal) -> Iterator[str]:
    """What the block says, then where it comes from, then what happened to it."""
    payload: dict[str, Any] = msgspec.json.decode(report.content) if report.content is not None else {}
    text = payload.pop(_SAYS.get(report.memory_type.value, ""), None)
    yield from _fact("block", report.block_id, terminal)
    yield from _fact("brain", clean(report.brain), terminal)
    yield from _fact("module", report.memory_type.value, terminal)
    yield from _fact("root", report.root, terminal)
    record = payload.pop("record", None) if report.memory_type.value == "provenance" else None
    for key, value in payload.items():
        shown = value if isinstance(value, str | int) else msgspec.json.encode(value).decode()
        yield from _fact(clean(key), clean(str(shown)), terminal)
    yield from _state(report, terminal)
    if isinstance(text, str):
        yield ""
        for line in clean(text, lines=True).expandtabs(4).split("\n"):
            yield from (f"    {piece}" for piece in _kept(line, terminal.width - 4))
    if isinstance(record, dict):
        yield ""
        yield from _record(record, terminal)
    yield ""
    for source in report.sources:
        yield from _fact("from", _source(source), terminal)
    for source in report.former:
        yield from _fact("formerly", _source(source), terminal)
    told = [record for record in report.records if record.what != "derived"]
    for record in told[:RECORDS]:
        yield from _fact("record", said(record, detail=True), terminal)
    if len(told) > RECORDS:
        yield from _fact("", f"and {len(told) - RECORDS:,} more records", terminal)
    yield from _fact("cite", report.cite, terminal)
    if record is None or report.derived or (report.up is not None and report.up.edges):
        yield from both(report.up, report.down, terminal)
    if proof is not None:
        yield ""
        yield from _proof(proof, terminal)


_FIRST = ("record_type", "block", "blocks", "supersedes", "derived_from")


def _record(record: dict[str, Any], terminal: Terminal) -> Iterator[str]:
    """A provenance record member by member, whatever its type: what it is about first, people by their ids."""
    names = [name for name in _FIRST if name in record] + sorted(record.keys() - set(_FIRST))
    width = max(map(len, names), default=0) + 2
    for name in names:
        shown = {"block": "about", "blocks": "about"}.get(name, name.replace("_", " "))
        lines = wrap(clean(_member(record[name])), max(terminal.width - 4 - width, 71)) or [""]
        for at, line in enumerate(lines):
            yield f"    {shown if at == 0 else '':{width}}{line}"


def _member(value: Any) -> str:
    """A member of a record on one line: parties as `id (kind, ...)`, lists with commas."""
    if isinstance(value, list):
        return ", ".join(_member(each) for each in value)
    if isinstance(value, dict) and "id" in value:
        rest = ", ".join(str(value[name]) for name in sorted(value) if name != "id")
        return f"{value['id']} ({rest})"
    if isinstance(value, dict):
        return ", ".join(f"{name} {value[name]}" for name in sorted(value))
    return str(value)


def _state(report: BlockReport, terminal: Terminal) -> Iterator[str]:
    if not report.resolvable:
        yield from _fact(
            "bytes", terminal.style("not here; a verifiable member all the same", "yellow"), terminal
        )
    elif not report.intact:
        yield from _fact("bytes", terminal.style("do not hash to the id", "red", "bold"), terminal)
    if report.superseded_by is not None:
        yield from _fact("hidden", f"superseded by {report.superseded_by}", terminal)
    elif report.demoted:
        yield from _fact("hidden", "demoted; still a member", terminal)


def _proof(proof: ProofReport, terminal: Terminal) -> Iterator[str]:
    verdict = (
        terminal.style("holds", "green") if proof.holds else terminal.style("does not hold", "red", "bold")
    )
    leaf = f"leaf {proof.leaf_index:,} of {proof.tree_size:,}, {len(proof.audit_path)} steps"
    yield f"{'proof':{LABEL}}{verdict}: {leaf}"
    yield from _fact("leads to", proof.root, terminal)
    for step, node in enumerate(proof.audit_path):
        yield from _fact(f"step {step + 1}", node, terminal)


def written(out: str | None, terminal: Terminal) -> Iterator[str]:
    """Where a proof file went, and what checks it."""
    if out is not None:
        yield ""
        yield f"{'written':{LABEL}}{clean(out)}"
        yield from _fact("", "csl check verifies it anywhere, without this brain", terminal)


def _source(source: Source) -> str:
    headings = " > ".join(clean(heading) for heading in source.place.headings)
    where = place((source,)) or short(source.block_id)
    return f"{where}  {headings}" if headings else where


def _fact(name: str, text: str, terminal: Terminal) -> Iterator[str]:
    """A name and what it stands for. One long word (an id, a citation) is never broken, so that it can be
    copied."""
    lines = [text] if " " not in text else wrap(text, max(terminal.width - LABEL, 71))
    for at, line in enumerate(lines or [""]):
        yield f"{name if at == 0 else '':{LABEL}}{line}" if len(name) < LABEL or at else f"{name} {line}"


def _kept(line: str, width: int) -> list[str]:
    """A line as it stands if it fits, else wrapped under its own indent."""
    indent = line[: len(line) - len(line.lstrip(" "))]
    if len(indent) > width // 2:
        indent = ""
    return [indent + piece for piece in wrap(line, width - len(indent))] or [""]
