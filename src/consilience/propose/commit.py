"""Validating candidates, and committing them: all or nothing, one transaction, with the records that say how."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from msgspec import UNSET

from consilience.errors import (
    ConsilienceError,
    DecisionNeededError,
    PolicyError,
    UsageError,
    ValidationError,
)
from consilience.propose import report
from consilience.propose.candidates import Candidates
from consilience.propose.gate import CHECKS, REDACTED, Gate, Outcome, counts
from consilience.propose.report import DUPLICATE, Committed, Judged
from consilience.propose.task import Task, check_here
from consilience.protocol import (
    Actor,
    ActorKind,
    Block,
    Derivation,
    Producer,
    ProducerKind,
    Validation,
    Verdict,
    format_digest,
    record_block,
)
from consilience.protocol import snapshot as snapshots
from consilience.store import Store, View, Writer

__all__ = ["commit", "outcome_error", "validate"]

ACCEPTED = "consilience:decision/accepted"
QUOTED = "consilience:evidence/quotation"
LOCATED = "consilience:evidence/locator"

Clock = Callable[[], datetime]
Waiting = Callable[[float], None]


def validate(view: View, brain: str, task: Task, candidates: Candidates) -> report.Validation:
    """The verdict on each candidate, as a commit now would find. Writes nothing.

    Raises NotFoundError where the task is one of another brain.
    """
    check_here(view, task, brain)
    judged = tuple(each.judged() for each in Gate(view, task).judge(candidates.listed))
    snapshot = view.snapshot
    return _validation(brain, task, judged, format_digest(snapshot.digest) if snapshot else None)


def _validation(brain: str, task: Task, judged: Sequence[Judged], snapshot: str | None) -> report.Validation:
    return report.Validation(
        brain=brain,
        task_id=task.task_id,
        snapshot=snapshot,
        counts=counts(judged),
        candidates=tuple(judged),
    )


def outcome_error(made: report.Validation) -> ConsilienceError | None:
    """What stands in the way of a commit: rejected candidates before undecided ones. None for nothing."""
    count = len(made.candidates)
    if made.rejected:
        said = f"{made.rejected:,} of {count:,} candidate{'s are' if count > 1 else ' is'} rejected"
        codes = {
            issue.code
            for each in made.candidates
            for issue in each.issues
            if each.verdict == Verdict.REJECTED
        }
        if codes == {REDACTED}:
            return PolicyError(
                f"{said}: redacted bytes do not come back by themselves",
                hint="`csl retain readmit ID` lets them in again",
            )
        return ValidationError(said, hint="mend or leave them out: a commit takes all of them or none")
    if made.undecided:
        need = f"need{'s' if made.undecided == 1 else ''} a person's decision"
        return DecisionNeededError(
            f"{made.undecided:,} of {count:,} candidate{'s' if count > 1 else ''} {need}",
            hint="leave them out, or `csl task commit ... --accept NUMBER` by a person",
        )
    return None


def commit(
    store: Store,
    brain: str,
    task: Task,
    candidates: Candidates,
    *,
    actor: Actor,
    clock: Clock,
    producer: Producer | None = None,
    accept: Collection[int] = (),
    waiting: Waiting | None = None,
) -> Committed:
    """Commit every candidate in one snapshot, or none. What is there already is not written again.

    `accept` numbers candidates that a person lets in although they contradict the brain or cannot be decided.
    `producer` defaults to the document's own, else to the actor. Everything derived is the caller's to catch up.

    Raises ValidationError (PolicyError where redaction is the only reason), DecisionNeededError, each with the
    `report.Validation` as its `done`; NotFoundError as `validate`; UsageError for a number that there is not,
    PolicyError for one accepted by an actor that is no person; BusyError, StorageError.
    """
    _check_accepted(candidates, accept, actor)
    made_by = producer or candidates.producer or Producer(kind=ProducerKind.ACTOR, id=actor.id)
    with store.write(actor, clock(), waiting=waiting) as writer:
        check_here(writer, task, brain)
        outcomes = Gate(writer, task, accept=accept).judge(candidates.listed)
        base = writer.base
        found = _validation(
            brain, task, [each.judged() for each in outcomes], format_digest(base.digest) if base else None
        )
        if (error := outcome_error(found)) is not None:
            error.done = found
            raise error
        wrote = {each.candidate.number: _records(each, task, made_by, writer) for each in outcomes}
        added = writer.add_many(
            [each.block for each in outcomes if wrote[each.candidate.number] and each.block]
        )
        records = list({record.id: record for made in wrote.values() for record in made}.values())
        writer.add_many(records)
    blocks = sum(new for _, new in added)
    judged = [each.judged(wrote=bool(wrote[each.candidate.number])) for each in outcomes]
    made = writer.snapshot or writer.base
    parsed = snapshots.parse(made.document) if made is not None else None
    return Committed(
        brain=brain,
        task_id=task.task_id,
        actor=actor.id,
        at=writer.at,
        producer=_named(made_by),
        changed=writer.snapshot is not None,
        blocks=blocks,
        records=len(records),
        snapshot=format_digest(made.digest) if made is not None else None,
        roots={m.memory_type.value: format_digest(m.root) for m in parsed.modules} if parsed else {},
        counts=counts(judged),
        candidates=tuple(judged),
    )


def _check_accepted(candidates: Candidates, accept: Collection[int], actor: Actor) -> None:
    for number in sorted(accept):
        if not 1 <= number <= len(candidates.listed):
            raise UsageError(
                f"there is no candidate {number}",
                hint=f"they are numbered from 1 to {len(candidates.listed)}",
            )
    if accept and actor.kind is not ActorKind.HUMAN:
        raise PolicyError(
            f"{actor.id} is no person, and --accept is a person's decision",
            hint="--actor you@example.org",
        )


def _records(outcome: Outcome, task: Task, producer: Producer, writer: Writer) -> list[Block]:
    """The derivation and the verdict of one candidate; nothing where the brain knows all of it."""
    block, candidate = outcome.block, outcome.candidate
    if block is None or (outcome.verdict == DUPLICATE and not outcome.adds_evidence):
        return []
    evidence = candidate.evidence if outcome.accepted else outcome.evidence
    derivation = Derivation(
        block=format_digest(block.id),
        derived_from=tuple(format_digest(each) for each in evidence if each != block.id),
        producer=producer,
        task=task.task_id,
        locator=candidate.locator or UNSET,
        actor=writer.actor,
        at=writer.at,
    )
    checks = {*CHECKS}
    checks |= {QUOTED} if candidate.quote is not None else set()
    checks |= {LOCATED} if candidate.locator is not None else set()
    checks |= {ACCEPTED} if outcome.accepted else set()
    verdict = Validation(
        block=format_digest(block.id),
        verdict=Verdict.VALIDATED,
        checks=tuple(sorted(checks)),
        task=task.task_id,
        actor=writer.actor,
        at=writer.at,
    )
    return [record_block(derivation), record_block(verdict)]


def _named(producer: Producer) -> str:
    version = producer.version if isinstance(producer.version, str) else ""
    return f"{producer.kind.value} {producer.id}" + (f" {version}" if version else "")
