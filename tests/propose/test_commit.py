"""All or nothing, in one snapshot, with the records that say who and how; and again: nothing."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from proposals import Proposals, at, codes
from stores import ACTOR, NOW

from consilience.errors import BusyError, DecisionNeededError, PolicyError, UsageError, ValidationError
from consilience.propose.gate import CHECKS
from consilience.propose.report import Validation as Report
from consilience.protocol import (
    Actor,
    ActorKind,
    Derivation,
    Producer,
    ProducerKind,
    Provenance,
    Record,
    Validation,
    decode,
    parse_digest,
)
from consilience.retain.execute import Retention
from consilience.store import View
from consilience.store.verify import verify

MODEL = Producer(kind=ProducerKind.MODEL, id="qwen3-32b", version="2507")
AGENT = Actor(id="lab/reader", kind=ActorKind.AGENT)


def records(view: View, block_id: str | None) -> list[Record]:
    n = view.ordinals([parse_digest(str(block_id))])[parse_digest(str(block_id))]
    found = []
    for block in view.records_about(n):
        assert block.data is not None
        payload = decode(block.data).payload
        assert isinstance(payload, Provenance)
        found.append(payload.record)
    return found


def sound(brain: Proposals) -> None:
    assert verify(brain.folder / "brain").problems == ()


def test_one_snapshot_with_who_and_how(brain: Proposals) -> None:
    before = brain.head()
    task = brain.task()
    first = brain.passages()[0]
    made = brain.commit(
        brain.fact(evidence=[first], locator="L3", quote="loses pressure"),
        brain.event(),
        brain.procedure(),
        task=task,
        actor=AGENT,
        producer=MODEL,
    )
    assert made.changed and (made.blocks, made.records) == (3, 6)
    assert made.producer == "model qwen3-32b 2507" and made.actor == "lab/reader"
    assert all(each.wrote for each in made.candidates)
    assert set(made.roots) == {"canonical", "semantic", "episodic", "procedural", "provenance"}
    with brain.view() as view:
        assert view.snapshot is not None and view.snapshot.parents == (before,)
        derivation, verdict = records(view, made.candidates[0].block_id)
        assert isinstance(derivation, Derivation) and isinstance(verdict, Validation)
        assert derivation.derived_from == (first,) and derivation.producer == MODEL
        assert (derivation.task, derivation.locator) == (task.task_id, "L3")
        assert (
            derivation.actor.id == verdict.actor.id == "lab/reader" and derivation.at == verdict.at == made.at
        )
        assert verdict.verdict == "validated" and verdict.task == task.task_id
        assert set(verdict.checks) - set(CHECKS) == {
            "consilience:evidence/quotation",
            "consilience:evidence/locator",
        }
        assert list(verdict.checks) == sorted(verdict.checks)
        block = view.blocks([view.max_n - 8])[0]
        assert block.data is not None and b"loses pressure" not in block.data
    sound(brain)


def test_who_made_it_where_nobody_says(brain: Proposals) -> None:
    assert brain.commit(brain.fact()).producer == "actor ana@example.org"
    task = brain.task()
    read = brain.read(task, brain.event(), producer={"kind": "model", "id": "m", "version": None})
    assert read.producer == Producer(kind=ProducerKind.MODEL, id="m")


def test_the_same_candidates_again_change_nothing(brain: Proposals) -> None:
    candidates = [brain.fact(), brain.event(), brain.procedure(), brain.fact()]
    brain.commit(*candidates)
    head = brain.head()
    again = brain.commit(*candidates, clock=lambda: at(3), actor=AGENT)
    assert not again.changed and (again.blocks, again.records) == (0, 0)
    assert again.counts["duplicate"] == 4 and not any(each.wrote for each in again.candidates)
    assert brain.head() == head


def test_an_empty_list_changes_nothing(brain: Proposals) -> None:
    head = brain.head()
    assert not brain.commit().changed and brain.head() == head


def test_one_that_may_not_stops_all(brain: Proposals) -> None:
    head = brain.head()
    with pytest.raises(ValidationError, match="1 of 3") as caught:
        brain.commit(brain.fact(), brain.event(quote="not in it"), brain.procedure())
    assert brain.head() == head
    report = caught.value.done
    assert isinstance(report, Report)
    assert [each.verdict for each in report.candidates] == ["validated", "rejected", "validated"]
    assert brain.commit(brain.fact(), brain.procedure()).blocks == 2
    sound(brain)


def test_new_evidence_for_a_known_block(brain: Proposals) -> None:
    first = brain.passages()[0]
    made = brain.commit(brain.fact())
    more = brain.commit(brain.fact(evidence=[first, brain.file()]))
    assert more.changed and more.blocks == 0 and more.counts["duplicate"] == 1
    with brain.view() as view:
        said = [r for r in records(view, made.candidates[0].block_id) if isinstance(r, Derivation)]
    assert [r.derived_from for r in said] == [(brain.file(),), (first,)]
    assert not brain.commit(brain.fact(evidence=[brain.file(), first])).changed


def test_two_evidences_of_one_block_in_one_document(brain: Proposals) -> None:
    first, second, _ = brain.passages()
    made = brain.commit(brain.fact(evidence=[first]), brain.fact(evidence=[second]))
    assert (made.blocks, made.records) == (1, 3)
    assert not brain.commit(brain.fact(evidence=[first]), brain.fact(evidence=[second])).changed
    sound(brain)


# --- what needs a person ----------------------------------------------------------------------------------------


def test_a_person_lets_a_contradiction_in(brain: Proposals) -> None:
    brain.commit(brain.fact("It needs 1.2 bar.", label="P"))
    other = brain.fact("It needs 3 bar.", label="P")
    head = brain.head()
    with pytest.raises(DecisionNeededError, match="1 of 2 candidates needs"):
        brain.commit(brain.event(), other)
    with pytest.raises(PolicyError, match="no person"):
        brain.commit(brain.event(), other, actor=AGENT, accept=[2])
    with pytest.raises(UsageError, match="no candidate 3"):
        brain.commit(brain.event(), other, accept=[3])
    with pytest.raises(DecisionNeededError):
        brain.commit(brain.event(), other, accept=[1])
    assert brain.head() == head
    made = brain.commit(brain.event(), other, accept=[2])
    assert made.blocks == 2 and made.candidates[1].accepted
    with brain.view() as view:
        [_, verdict] = records(view, made.candidates[1].block_id)
    assert isinstance(verdict, Validation) and "consilience:decision/accepted" in verdict.checks


def test_a_rejected_one_cannot_be_accepted(brain: Proposals) -> None:
    with pytest.raises(ValidationError):
        brain.commit(brain.fact(quote="not in it"), accept=[1])


def test_a_person_shows_a_hidden_block_again(brain: Proposals) -> None:
    made = brain.commit(brain.fact())
    block = parse_digest(str(made.candidates[0].block_id))
    Retention(brain.store, "north", actor=ACTOR, clock=lambda: NOW).demote([block])
    with pytest.raises(DecisionNeededError):
        brain.commit(brain.fact())
    assert brain.commit(brain.fact(), accept=[1]).changed
    with brain.view() as view:
        assert not view.hidden(view.ordinals([block]).values())
    assert not brain.commit(brain.fact()).changed


# --- the files that proposals rest on ---------------------------------------------------------------------------


def test_a_changed_file_leaves_proposals_alone(brain: Proposals) -> None:
    made = brain.commit(brain.fact(), brain.event())
    brain.ingest("pumps.md", "# Pumps\n\nAll pumps were sold to the neighbours.\n")
    with brain.view() as view:
        ids = [parse_digest(str(each.block_id)) for each in made.candidates]
        assert not view.hidden(view.ordinals(ids).values())
    assert not brain.commit(brain.fact(evidence=brain.passages()), task=brain.task()).counts["rejected"]
    sound(brain)


# --- together ---------------------------------------------------------------------------------------------------


def test_two_at_once_write_it_once(brain: Proposals) -> None:
    task = brain.task()
    candidates = [brain.fact(), brain.event(), brain.procedure()]
    made: list[Any] = []

    def work() -> None:
        made.append(brain.commit(*candidates, task=task))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each.blocks for each in made) == [0, 0, 0, 3]
    assert len({each.snapshot for each in made}) == 1
    sound(brain)


def test_a_writer_that_does_not_end(brain: Proposals, monkeypatch: pytest.MonkeyPatch) -> None:
    from consilience.store import store as stores

    original = stores.Store.write
    monkeypatch.setattr(
        stores.Store, "write", lambda self, *a, **k: original(self, *a, **{**k, "timeout_s": 0.05})
    )
    with original(brain.store, ACTOR, NOW), pytest.raises(BusyError):
        brain.commit(brain.fact(evidence=[brain.file()]), task=brain.task())


words = st.text(alphabet="abc \u00e4\ufb01.", min_size=1, max_size=6).filter(lambda t: bool(t.strip()))
proposals = st.lists(
    st.tuples(st.sampled_from(["fact", "event", "procedure"]), words, st.integers(0, 3)), max_size=6
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(chosen=proposals)
def test_what_was_committed_is_known(brain: Proposals, chosen: list[tuple[str, str, int]]) -> None:
    """validate after commit says duplicate of all, and whatever the gate lets through can be committed."""
    evidence = [brain.file(), *brain.passages()]
    candidates = []
    for at_, (kind, text, source) in enumerate(chosen):
        made = getattr(brain, kind)(text) if kind != "fact" else brain.fact(text, label=f"L{text}{at_}")
        candidates.append(made | {"evidence": [evidence[source]]})
    before = brain.judge(*candidates)
    assert before.rejected == 0
    accept = [each.number for each in before.candidates if each.verdict in ("contradicted", "pending_review")]
    done = brain.commit(*candidates, accept=accept)
    assert done.blocks == len({c.block_id for c in before.candidates if c.verdict != "duplicate"})
    after = brain.judge(*candidates)
    assert {each.verdict for each in after.candidates} <= {"duplicate"}
    assert not any(each.adds_evidence for each in after.candidates)
    assert all(codes(each) == {"duplicate"} for each in after.candidates)
    assert not brain.commit(*candidates).changed


def test_the_other_implementation_accounts_for_each_verdict(brain: Proposals) -> None:
    from boltzmann import Actor as TheirActor
    from boltzmann import Brain
    from boltzmann.blocks.provenance import ActorKind as TheirKind

    from consilience.oci import export_brain

    made = brain.commit(brain.fact(), brain.event(), brain.procedure(), producer=MODEL)
    export_brain(brain.store, brain.folder / "out", name="north")
    theirs = Brain.open(brain.folder / "out", actor=TheirActor(id="ana@example.org", kind=TheirKind.HUMAN))
    assert theirs.verify()
    accounted = {str(each) for found in theirs.audit_validation().accounted.values() for each in found}
    assert accounted == {each.block_id for each in made.candidates}
