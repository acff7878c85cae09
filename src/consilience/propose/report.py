"""What the gate says of candidates, and what a commit of them did."""

from __future__ import annotations

from consilience.model import Value
from consilience.protocol import MemoryType, Verdict

DUPLICATE = "duplicate"
"""The verdict on a candidate whose block the brain has already. The others are `protocol.Verdict`."""

VERDICTS = (
    Verdict.VALIDATED.value,
    DUPLICATE,
    Verdict.PENDING_REVIEW.value,
    Verdict.CONTRADICTED.value,
    Verdict.REJECTED.value,
)


class Issue(Value, frozen=True, kw_only=True):
    """One thing that a check found. `code` names the check; `field` the member it is about, `blocks` the blocks of the
    brain, `candidate` the other candidate of the same document, counted from 1."""

    code: str
    detail: str
    field: str | None = None
    blocks: tuple[str, ...] = ()
    candidate: int | None = None


class Judged(Value, frozen=True, kw_only=True):
    """The verdict on one candidate. `number` counts from 1.

    `issues` led to the verdict, `notes` did not. `block_id` is None where the payload makes no block. `title` is the
    candidate's own label or summary. `adds_evidence`: a duplicate that names sources the brain does not know for it.
    `accepted`: a person decided that it goes in all the same. `wrote`: a commit wrote a block or record of it.
    """

    number: int
    verdict: str
    memory_type: MemoryType | None
    block_id: str | None
    title: str
    evidence: tuple[str, ...] = ()
    issues: tuple[Issue, ...] = ()
    notes: tuple[Issue, ...] = ()
    adds_evidence: bool = False
    accepted: bool = False
    wrote: bool = False


class Validation(Value, frozen=True, kw_only=True):
    """The verdict on every candidate of one document. `snapshot` is that of the brain it was held against."""

    brain: str
    task_id: str
    snapshot: str | None
    counts: dict[str, int]
    candidates: tuple[Judged, ...]

    @property
    def rejected(self) -> int:
        return self.counts[Verdict.REJECTED.value]

    @property
    def undecided(self) -> int:
        """Candidates that need a person, who has not decided."""
        open_ = (Verdict.PENDING_REVIEW.value, Verdict.CONTRADICTED.value)
        return sum(each.verdict in open_ and not each.accepted for each in self.candidates)


class Committed(Value, frozen=True, kw_only=True):
    """What a commit wrote: blocks that became members, records, the snapshot (None for an empty brain); `changed` is
    false where everything was there already."""

    brain: str
    task_id: str
    actor: str
    at: str
    producer: str
    changed: bool
    blocks: int
    records: int
    snapshot: str | None
    roots: dict[str, str]
    counts: dict[str, int]
    candidates: tuple[Judged, ...]
    notes: tuple[str, ...] = ()


class Remembered(Value, frozen=True, kw_only=True):
    """A fact taken by hand. `known`: its block was a member before; `changed`: something was written. `source` is
    where it is said to come from, `hidden` why it is not shown by default. `near` blocks say nearly the same,
    `otherwise` ones something else of the same label, subject and kind: told, since a person decides."""

    brain: str
    memory_type: MemoryType
    block_id: str
    text: str
    cite: str
    known: bool
    changed: bool
    source: str
    words: str
    actor: str
    at: str
    snapshot: str | None
    hidden: str | None = None
    near: tuple[str, ...] = ()
    otherwise: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
