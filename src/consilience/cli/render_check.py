"""Citations and proof files, checked. Lines out, nothing printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from consilience.citations.model import CheckReport, EvidenceReport, Finding, Found, Older, Status
from consilience.cli.render_search import short
from consilience.cli.terminal import Terminal, clean, columns, fit, wrap
from consilience.errors import ConsilienceError
from consilience.model import Value
from consilience.protocol import format_digest

SAYS = ("statement", "summary", "goal", "label")
QUOTED = 160
"""Characters of a quotation that are shown."""

_QUOTATION = {
    True: "the quotation stands in it",
    False: "the quotation does not stand in it:",
    None: "the quotation cannot be checked:",
}
_WORDS = {
    Status.CURRENT: "current",
    Status.SUPERSEDED: "superseded",
    Status.DEMOTED: "demoted",
    Status.REDACTED: "redacted",
    Status.PAST: "of an older snapshot only",
    Status.PROVEN: "by proof only",
}


@dataclass(frozen=True, slots=True)
class Checked:
    """One argument of `check`: what was found in a text and then its report, a proof file, or why it could not be
    read."""

    name: str
    found: tuple[Found, ...] | None = None
    report: CheckReport | None = None
    proof: EvidenceReport | None = None
    error: ConsilienceError | None = None

    @property
    def count(self) -> int:
        return len(self.report.findings) if self.report is not None else int(self.proof is not None)

    @property
    def failed(self) -> int:
        if self.report is not None:
            return self.report.failed
        return int(self.proof is not None and not self.proof.ok)


# --- JSON ---------------------------------------------------------------------------------------------------


class FindingDocument(Value, frozen=True, kw_only=True):
    """One citation. `cite` as it stands in the text; brain to root are null where it is none."""

    source: str
    line: int
    column: int
    where: str
    cite: str
    brain: str | None
    module: str | None
    block_id: str | None
    root: str | None
    ok: bool
    status: str
    reason: str
    superseded_by: str | None
    older: Older | None
    quotation: str | None
    quotation_stands: bool | None


class InputDocument(Value, frozen=True, kw_only=True):
    """One argument: how many citations or proofs are in it, how many fail, or why it could not be read."""

    name: str
    count: int
    failed: int
    error: str | None


class CheckDocument(Value, frozen=True, kw_only=True):
    """`data` of `check`. `snapshots`: where each brain was asked."""

    count: int
    failed: int
    inputs: tuple[InputDocument, ...]
    citations: tuple[FindingDocument, ...]
    proofs: tuple[EvidenceReport, ...]
    snapshots: dict[str, str]


def document(checked: Sequence[Checked], snapshots: Mapping[str, str]) -> CheckDocument:
    return CheckDocument(
        count=sum(each.count for each in checked),
        failed=sum(each.failed for each in checked),
        inputs=tuple(
            InputDocument(
                name=each.name,
                count=each.count,
                failed=each.failed,
                error=each.error.message if each.error is not None else None,
            )
            for each in checked
        ),
        citations=tuple(
            _finding_document(each.name, finding)
            for each in checked
            if each.report is not None
            for finding in each.report.findings
        ),
        proofs=tuple(each.proof for each in checked if each.proof is not None),
        snapshots=dict(snapshots),
    )


def _finding_document(source: str, finding: Finding) -> FindingDocument:
    found = finding.found
    citation = found.citation
    return FindingDocument(
        source=source,
        line=found.line,
        column=found.column,
        where=found.where,
        cite=found.text,
        brain=citation.brain if citation is not None else None,
        module=citation.module.value if citation is not None else None,
        block_id=format_digest(citation.block_id) if citation is not None else None,
        root=format_digest(citation.root) if citation is not None else None,
        ok=finding.ok,
        status=finding.status.value,
        reason=finding.reason,
        superseded_by=finding.superseded_by,
        older=finding.older,
        quotation=found.quotation,
        quotation_stands=finding.quotation_stands,
    )


# --- for people ---------------------------------------------------------------------------------------------


def lines(checked: Sequence[Checked], snapshots: Mapping[str, str], terminal: Terminal) -> Iterator[str]:
    """A line for each citation, then what they come to."""
    for each in checked:
        if each.report is not None:
            for finding in each.report.findings:
                yield from _finding(each.name, finding, terminal)
        elif each.proof is not None:
            yield from _proof(each.proof, terminal)
        elif each.error is not None and len(checked) > 1:
            yield from _marked("✗", clean(each.name), clean(each.error.message), terminal)
    texts = [each for each in checked if each.report is not None]
    if texts:
        yield ""
    for each in texts:
        yield from _summary(each, terminal)
    for name, snapshot in snapshots.items():
        yield f"  {clean(name)} at snapshot {snapshot[:15]}…"


def _finding(name: str, finding: Finding, terminal: Terminal) -> Iterator[str]:
    found, citation = finding.found, finding.found.citation
    mark = "✗" if not finding.ok else "✓" if finding.status is Status.CURRENT else "~"
    place = f"{clean(name)}:{clean(found.where) or found.line}  " if name else ""
    if citation is None:
        what = fit(clean(found.text), 32)
    else:
        what = f"{clean(citation.brain)}/{citation.module.value} {citation.block_id.hex()[:12]}"
    said = finding.reason
    if finding.older is not None and finding.status is not Status.PAST:
        older = finding.older
        said += f"; under the root of snapshot {older.seq} of {older.created_at}, {_later(older)}"
    if found.quotation is not None and finding.status.holds:
        said += f"; {_QUOTATION[finding.quotation_stands]}"
    yield from _marked(mark, f"{place}{what}", clean(said), terminal)
    if found.quotation is not None and not finding.quotation_stands:
        quoted = fit(" ".join(clean(found.quotation).split()), QUOTED)
        for line in wrap(f"“{quoted}”", terminal.prose - 4):
            yield "    " + terminal.style(line, "red")


def _later(older: Older) -> str:
    return f"{older.later:,} snapshot{'' if older.later == 1 else 's'} ago"


def _marked(mark: str, head: str, text: str, terminal: Terminal) -> Iterator[str]:
    """A mark and what it is about, then the verdict: on the same line where it fits."""
    colours = {"✓": ("green",), "~": ("yellow",), "✗": ("red", "bold")}
    lead = f"{terminal.style(mark, *colours[mark])} {head}"
    if columns(head) + columns(text) + 4 <= terminal.prose:
        yield f"{lead}  {text}"
        return
    yield lead
    yield from (f"    {line}" for line in wrap(text, terminal.prose - 4))


def _summary(checked: Checked, terminal: Terminal) -> Iterator[str]:
    assert checked.report is not None
    findings = checked.report.findings
    counts = Counter(_WORDS[finding.status] for finding in findings if finding.ok)
    said = [f"{counts[word]:,} {word}" for word in _WORDS.values() if counts[word]]
    if checked.failed:
        said.append(f"{checked.failed:,} fail{'s' if checked.failed == 1 else ''}")
    quoted = [finding for finding in findings if finding.found.quotation is not None]
    stand = sum(finding.quotation_stands is True for finding in quoted)
    total = f"{len(findings):,} citation{'' if len(findings) == 1 else 's'}"
    text = f"{total}: {', '.join(said)}"
    if quoted:
        text += f"; {stand:,} of {len(quoted):,} quotation{'' if len(quoted) == 1 else 's'} stand"
        text += "s" if len(quoted) == 1 else ""
    lead = f"{clean(checked.name)}: " if checked.name else ""
    if columns(lead + text) <= terminal.prose:
        yield lead + text
        return
    if lead:
        yield lead.rstrip()
    yield from (f"  {line}" for line in wrap(text, terminal.prose - 2))


def _proof(proof: EvidenceReport, terminal: Terminal) -> Iterator[str]:
    if proof.error is not None:
        yield from _marked("✗", clean(proof.name), f"does not hold: {clean(proof.error)}", terminal)
        return
    for block in proof.blocks:
        said = f"{block.memory_type.value} {short(block.block_id)} is a member, leaf {block.leaf_index:,} of "
        said += f"{block.tree_size:,}, under {block.root[:15]}…"
        if block.content is None:
            said += "; its bytes were destroyed" if block.redacted else "; its bytes are not in the file"
        yield from _marked("✓", clean(proof.name), f"holds: {said}", terminal)
        if block.content is not None and (text := _text(block.content)):
            for line in wrap(fit(text, 3 * terminal.prose), terminal.prose - 4):
                yield "    " + line
    yield f"  snapshot {proof.snapshot}"
    pinned = (
        "the one that --snapshot names"
        if proof.pinned
        else "not compared with one that you trust (--snapshot)"
    )
    yield from (f"  {line}" for line in wrap(f"of {proof.created_at}: {pinned}", terminal.prose - 2))
    said = (
        f"It calls its brain {clean(proof.brain)!r}. That name, the time, and who made the snapshot are not "
        "proven: docs/proofs.md"
    )
    yield from (f"  {line}" for line in wrap(said, terminal.prose - 2))


def _text(content: msgspec.Raw) -> str:
    payload = msgspec.json.decode(content)
    text = next((payload[name] for name in SAYS if isinstance(payload.get(name), str)), "")
    if not text and isinstance(payload.get("record"), dict):
        record = payload["record"]
        text = f"{record.get('record_type')} at {record.get('at')} by {record.get('actor', {}).get('id')}"
    return " ".join(clean(text).split())
