"""What is found in a text, and what checking it says."""

from __future__ import annotations

import enum

import msgspec

from consilience.model import Value
from consilience.protocol import MemoryType
from consilience.protocol.citation import Citation


class Found(Value, frozen=True, kw_only=True):
    """Something in a text that is a citation, or begins like one. Lines and columns count characters from 1.

    `text` as it stands there, cut where it is long; `fault` says what makes it no citation. `quotation` is the
    one beside it (docs/citations.md). `where` is the place in a JSON document, "" elsewhere.
    """

    text: str
    line: int
    column: int
    where: str = ""
    citation: Citation | None = None
    fault: str = ""
    quotation: str | None = None


class Status(enum.StrEnum):
    """What becomes of a citation. The first six hold: the block is a member under the root that it names."""

    CURRENT = "current"
    SUPERSEDED = "superseded"
    DEMOTED = "demoted"
    REDACTED = "redacted"
    PAST = "past"
    PROVEN = "proven"
    NOT_UNDER_ROOT = "not_under_root"
    NOT_A_MEMBER = "not_a_member"
    UNKNOWN_ROOT = "unknown_root"
    ROOT_NOT_RETAINED = "root_not_retained"
    UNKNOWN_BRAIN = "unknown_brain"
    ABSENT_BRAIN = "absent_brain"
    UNREADABLE = "unreadable"
    DAMAGED = "damaged"
    MALFORMED = "malformed"

    @property
    def holds(self) -> bool:
        return self in _HOLDS


_HOLDS = frozenset(
    {Status.CURRENT, Status.SUPERSEDED, Status.DEMOTED, Status.REDACTED, Status.PAST, Status.PROVEN}
)


class Older(Value, frozen=True, kw_only=True):
    """The last snapshot under which a module had a root that it has no longer, and how many came since."""

    snapshot: str
    seq: int
    created_at: str
    later: int


class Finding(Value, frozen=True, kw_only=True):
    """One citation, checked. `reason` in words; `superseded_by` where another block took its place; `older` where
    the root is not that of the head.

    `quotation_stands`: whether the quotation stands in the block; None where there is none, or where the block
    cannot be read.
    """

    found: Found
    status: Status
    reason: str
    superseded_by: str | None = None
    older: Older | None = None
    quotation_stands: bool | None = None

    @property
    def ok(self) -> bool:
        """Whether it holds, and a quotation beside it stands in the block."""
        return self.status.holds and (self.found.quotation is None or self.quotation_stands is True)


class ProvenBlock(Value, frozen=True, kw_only=True):
    """A block that a proof file proves to be a member; `content` is its payload as JSON, None where the file does
    not hold its bytes (`redacted`: because they were destroyed)."""

    memory_type: MemoryType
    block_id: str
    root: str
    leaf_index: int
    tree_size: int
    content: msgspec.Raw | None
    redacted: bool


class EvidenceReport(Value, frozen=True, kw_only=True):
    """A proof file, checked. Where it fails `error` says why, and nothing else of it counts. `brain` is what the
    file calls the brain, which nothing proves; `pinned`: the snapshot is the one that was asked for."""

    name: str
    brain: str = ""
    snapshot: str = ""
    created_at: str = ""
    pinned: bool = False
    blocks: tuple[ProvenBlock, ...] = ()
    error: str | None = None

    @property
    def ok(self) -> bool:
        return self.error is None


class CheckReport(Value, frozen=True, kw_only=True):
    """The citations of one text, in the order in which they stand. `name` is what the text is called."""

    name: str
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()

    @property
    def failed(self) -> int:
        return sum(not finding.ok for finding in self.findings)

    @property
    def ok(self) -> bool:
        """Whether nothing fails; true of a text without citations, which `findings` tells."""
        return not self.failed
