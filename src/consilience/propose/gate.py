"""The gate: mechanical checks of candidates against a brain, each with a code (WIRE 4), and the verdict they lead to.

Nothing here judges whether knowledge is good. A candidate that cannot stand is rejected; one that says otherwise than
the brain is contradicted, and one that no check can settle needs a person. Codes with a colon are this product's own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from consilience.errors import ConsilienceError
from consilience.ingest.decoding import is_visible
from consilience.model import Locator
from consilience.propose.candidates import Candidate
from consilience.propose.evidence import Evidence
from consilience.propose.held import Claim, Held, claim_of
from consilience.propose.report import DUPLICATE, VERDICTS, Issue, Judged
from consilience.propose.task import Task
from consilience.protocol import (
    Block,
    CatalogEntry,
    Digest,
    MemoryType,
    Procedural,
    Semantic,
    Verdict,
    build_document,
    canonical,
    content_refs,
    format_digest,
    parse_digest,
)
from consilience.store.redaction import RedactionReads

__all__ = ["CHECKS", "Gate", "Outcome", "counts"]

SCHEMA = "schema"
NOT_ALLOWED = "memory-type-not-allowed"
CATALOG = "catalog-declaration-not-allowed"
NOT_FOUND = "evidence-not-found"
MISMATCH = "evidence-mismatch"
TARGET = "relation-target-not-found"
CONTENT = "content-mismatch"
CONTRADICTION = "contradiction"
CHECKS = (CATALOG, CONTENT, CONTRADICTION, DUPLICATE, MISMATCH, NOT_FOUND, NOT_ALLOWED, TARGET, SCHEMA)
"""The codes of WIRE 4, sorted: every candidate that passes was held against all of them."""

REDACTED = "consilience:redacted"
HIDDEN = "consilience:hidden"
INVISIBLE = "consilience:invisible-characters"
NEAR = "consilience:near-duplicate"
UNDECIDABLE = frozenset({HIDDEN, INVISIBLE})
"""Codes that no check can settle."""

NAMED = 3
_INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
"""Characters that make text read otherwise than it is stored (Unicode TR 36, 2.2; CVE-2021-42574)."""

_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}").fullmatch
_SAID = {
    MemoryType.SEMANTIC: ("label", "statement"),
    MemoryType.EPISODIC: ("summary",),
    MemoryType.PROCEDURAL: ("label", "goal"),
}


@dataclass(slots=True)
class Outcome:
    """A candidate on its way through the gate; becomes a `Judged`."""

    candidate: Candidate
    block: Block | None = None
    issues: list[Issue] = field(default_factory=list)
    notes: list[Issue] = field(default_factory=list)
    evidence: tuple[Digest, ...] = ()
    adds_evidence: bool = False
    accepted: bool = False

    @property
    def verdict(self) -> str:
        codes = {issue.code for issue in self.issues}
        if codes - UNDECIDABLE - {CONTRADICTION, DUPLICATE}:
            return Verdict.REJECTED.value
        if CONTRADICTION in codes:
            return Verdict.CONTRADICTED.value
        if codes & UNDECIDABLE:
            return Verdict.PENDING_REVIEW.value
        return DUPLICATE if codes else Verdict.VALIDATED.value

    def reject(self, code: str, detail: str, field: str | None = None, *blocks: Digest) -> None:
        self.issues.append(_issue(code, detail, field, *blocks))

    def judged(self, *, wrote: bool = False) -> Judged:
        return Judged(
            number=self.candidate.number,
            verdict=self.verdict,
            memory_type=self.candidate.memory_type,
            block_id=format_digest(self.block.id) if self.block is not None else None,
            title=_title(self.candidate),
            evidence=tuple(format_digest(each) for each in self.candidate.evidence),
            issues=tuple(self.issues),
            notes=tuple(self.notes),
            adds_evidence=self.adds_evidence,
            accepted=self.accepted,
            wrote=wrote,
        )


def _issue(
    code: str, detail: str, field: str | None = None, *blocks: Digest, candidate: int | None = None
) -> Issue:
    return Issue(
        code=code,
        detail=detail,
        field=field,
        blocks=tuple(format_digest(each) for each in blocks),
        candidate=candidate,
    )


def _title(candidate: Candidate) -> str:
    payload = candidate.payload or {}
    found = next(
        (payload[key] for key in ("label", "summary", "statement") if isinstance(payload.get(key), str)), ""
    )
    return " ".join(found.split())[:200].encode("utf-8", "replace").decode()


def counts(outcomes: Sequence[Judged]) -> dict[str, int]:
    """How many candidates have each verdict; every verdict is named."""
    return {verdict: sum(each.verdict == verdict for each in outcomes) for verdict in VERDICTS}


class Gate:
    """Holds candidates of one task against one state of a brain. Writes nothing."""

    def __init__(self, view: RedactionReads, task: Task, *, accept: Collection[int] = ()) -> None:
        self._view, self._task, self._accept = view, task, frozenset(accept)
        self._evidence = Evidence(view)
        self._scope = frozenset(self._evidence.scope(task.source))

    def judge(self, candidates: Sequence[Candidate]) -> list[Outcome]:
        """One outcome per candidate, in their order. A candidate that fails takes no other with it."""
        outcomes = [self._alone(each) for each in candidates]
        built = [each for each in outcomes if each.block is not None]
        held = Held(self._view, [each.block for each in built if each.block is not None])
        own = {each.block.id for each in built if each.block is not None}
        first: dict[Digest, Outcome] = {}
        claims: dict[Claim, dict[str, int]] = {}
        for each in built:
            self._targets(each, own)
            self._against_brain(each, held)
            self._against_each_other(each, first, claims)
        for each in outcomes:
            each.accepted = each.candidate.number in self._accept and each.verdict in (
                Verdict.CONTRADICTED.value,
                Verdict.PENDING_REVIEW.value,
            )
        return outcomes

    # --- by itself ----------------------------------------------------------------------------------------------

    def _alone(self, candidate: Candidate) -> Outcome:
        outcome = Outcome(candidate)
        if candidate.fault is not None or candidate.memory_type is None or candidate.payload is None:
            outcome.reject(SCHEMA, candidate.fault or "it has no payload")
            return outcome
        if candidate.memory_type not in self._task.allowed:
            allowed = ", ".join(self._task.allowed)
            outcome.reject(
                NOT_ALLOWED, f"it is {candidate.memory_type}; the task allows {allowed}", "memory_type"
            )
            if candidate.memory_type not in _SAID:
                return outcome
        try:
            block = build_document(candidate.memory_type, candidate.payload)
        except ConsilienceError as error:
            outcome.reject(SCHEMA, error.message, "payload")
        else:
            self._payload(outcome, block)
        self._rests_on(outcome)
        return outcome

    def _payload(self, outcome: Outcome, block: Block) -> None:
        payload = outcome.candidate.payload or {}
        if isinstance(block.payload, CatalogEntry):
            what = "schemes, classes and what is placed in them are not proposed as candidates"
            outcome.reject(CATALOG, what, "kind")
            return
        for name in _SAID[block.memory_type]:
            if not is_visible(payload[name]):
                outcome.reject(SCHEMA, f"{name} says nothing", name)
        if (
            found := next(
                (hit for text in canonical.strings_in(payload) if (hit := _INVISIBLE.search(text))), None
            )
        ) is not None:
            code = f"U+{ord(found[0]):04X}"
            outcome.reject(INVISIBLE, f"{code} makes the text read otherwise than it is stored", "payload")
        stated = payload.get("evidence")
        if stated is not None and set(stated) != {format_digest(e) for e in outcome.candidate.evidence}:
            outcome.reject(MISMATCH, "the payload states other evidence than the candidate", "evidence")
        self._content(outcome, block)
        outcome.block = block

    def _content(self, outcome: Outcome, block: Block) -> None:
        for ref in content_refs(block.payload):
            digest = parse_digest(ref.blob)
            if not _MEDIA_TYPE(ref.media_type):
                outcome.reject(
                    CONTENT, f"{ref.media_type[:60]!r} is not a bare type/subtype in lower case", "content"
                )
            if not self._view.has_content(digest):
                outcome.reject(CONTENT, f"this brain has no bytes {ref.blob[:19]}…", "content")
                continue
            try:
                size = len(self._view.content(digest))
            except ConsilienceError as error:
                outcome.reject(CONTENT, error.message, "content")
                continue
            if size != ref.size:
                outcome.reject(CONTENT, f"the bytes are {size:,}, not {ref.size:,}", "content")

    def _rests_on(self, outcome: Outcome) -> None:
        candidate = outcome.candidate
        pieces = [self._evidence.piece(each) for each in candidate.evidence]
        for piece in pieces:
            if piece.why is not None:
                outcome.reject(
                    NOT_FOUND, f"{_short(piece.block_id)}: {piece.why}", "evidence", piece.block_id
                )
            elif piece.block_id not in self._scope:
                detail = f"{_short(piece.block_id)} is neither a source of the task nor a passage of one"
                outcome.reject(MISMATCH, detail, "evidence", piece.block_id)
        readable = [piece for piece in pieces if piece.why is None]
        if candidate.quote is not None and readable and not any(p.says(candidate.quote) for p in readable):
            outcome.reject(MISMATCH, "the quote does not stand in the evidence", "quote")
        if candidate.locator is not None and readable:
            place = Locator.parse(candidate.locator)
            if place.text() != candidate.locator:
                outcome.reject(
                    MISMATCH, "the locator is no place: L3-L9, page 2; words go into `quote`", "locator"
                )
            elif not any(piece.reaches(place) for piece in readable):
                outcome.reject(
                    MISMATCH, f"{candidate.locator[:60]} is not a place in the evidence", "locator"
                )
        outcome.evidence = candidate.evidence

    # --- against what there is -----------------------------------------------------------------------------------

    def _targets(self, outcome: Outcome, own: Collection[Digest]) -> None:
        """Relations and the blocks that steps use lead somewhere: into the brain, or to another candidate."""
        assert outcome.block is not None
        named = dict.fromkeys(_targets(outcome.block))
        if not named:
            return
        ordinals = self._view.ordinals(list(named))
        here = self._view.members(ordinals.values())
        for target in named:
            if target not in own and ordinals.get(target) not in here:
                detail = f"{_short(target)} is not a member of this brain"
                outcome.reject(TARGET, detail, "relations", target)

    def _against_brain(self, outcome: Outcome, held: Held) -> None:
        assert outcome.block is not None
        block = outcome.block
        redaction = held.redacted.get(block.id)
        if redaction is not None:
            outcome.reject(REDACTED, f"it is {redaction}", None, block.id)
            return
        n = held.members.get(block.id)
        if n is not None:
            self._known(outcome, n, held)
            return
        claim, says = claim_of(block)
        if claim is not None and (against := held.otherwise(claim, says)):
            detail = f"{_shorts(against)} says otherwise of the same label, subject and kind"
            outcome.reject(CONTRADICTION, detail, "statement", *against[:NAMED])
        if same := held.same_words(block):
            detail = f"{_shorts(same)} says the same, but for case, spacing, marks or other members"
            outcome.notes.append(_issue(NEAR, detail, None, *same[:NAMED]))

    def _known(self, outcome: Outcome, n: int, held: Held) -> None:
        assert outcome.block is not None
        block_id = outcome.block.id
        hidden = held.hidden.get(n)
        if hidden is not None:
            by = f"superseded by {_short(hidden.superseded_by)}" if hidden.superseded_by else "demoted"
            outcome.reject(HIDDEN, f"the brain has it, {by}; `csl retain restore` shows it", None, block_id)
        outcome.reject(DUPLICATE, "the brain has this block already", None, block_id)
        outcome.evidence, more = held.further(n, outcome.candidate.evidence)
        outcome.adds_evidence = bool(more) and hidden is None
        if outcome.adds_evidence:
            outcome.evidence = more

    def _against_each_other(
        self, outcome: Outcome, first: dict[Digest, Outcome], claims: dict[Claim, dict[str, int]]
    ) -> None:
        assert outcome.block is not None
        block = outcome.block
        before = first.setdefault(block.id, outcome)
        if before is not outcome:
            if DUPLICATE not in {issue.code for issue in outcome.issues}:
                number = before.candidate.number
                same = set(outcome.candidate.evidence) <= set(before.candidate.evidence)
                outcome.issues.append(
                    _issue(DUPLICATE, f"the same block as candidate {number}", candidate=number)
                )
                outcome.adds_evidence = not same
            return
        claim, says = claim_of(block)
        if claim is None or DUPLICATE in {issue.code for issue in outcome.issues}:
            return
        said = claims.setdefault(claim, {})
        against = next((number for other, number in said.items() if other != says), None)
        if against is not None:
            detail = f"candidate {against} says otherwise of the same label, subject and kind"
            outcome.issues.append(_issue(CONTRADICTION, detail, "statement", candidate=against))
        said.setdefault(says, outcome.candidate.number)


def _targets(block: Block) -> Iterator[Digest]:
    payload = block.payload
    if isinstance(payload, Semantic) and payload.relations:
        yield from (parse_digest(each.target) for each in payload.relations)
    if isinstance(payload, Procedural):
        for step in payload.steps:
            yield from (parse_digest(each) for each in step.uses or ())


def _short(block_id: Digest) -> str:
    return format_digest(block_id)[7:19]


def _shorts(ids: Sequence[Digest]) -> str:
    named = ", ".join(_short(each) for each in ids[:NAMED])
    return named if len(ids) <= NAMED else f"{named} and {len(ids) - NAMED:,} more"
