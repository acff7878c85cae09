"""Every verdict and every code of the gate, and that one candidate that fails takes no other with it."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from proposals import PUMP, Proposals, codes
from stores import ACTOR, NOW

from consilience.errors import DecisionNeededError, PolicyError, ValidationError
from consilience.propose.candidates import read_candidates
from consilience.propose.commit import outcome_error
from consilience.propose.gate import CHECKS
from consilience.protocol import MemoryType, format_digest, parse_digest, sha256
from consilience.retain.execute import Retention
from consilience.retain.policy import Policy

ALL = Policy(canonical_drop=True, redact=True, canonical_redact=True)
NOWHERE = "sha256:" + "0" * 64


def retention(brain: Proposals) -> Retention:
    return Retention(brain.store, "north", actor=ACTOR, clock=lambda: NOW)


def test_the_codes_are_those_of_the_format() -> None:
    from boltzmann.ingest.validators import DEFAULT_VALIDATORS

    assert list(CHECKS) == sorted(each.code for each in DEFAULT_VALIDATORS)


def test_all_three_kinds_are_validated(brain: Proposals) -> None:
    made = brain.judge(brain.fact(), brain.event(), brain.procedure())
    assert made.counts == {
        "validated": 3, "duplicate": 0, "pending_review": 0, "contradicted": 0, "rejected": 0
    }  # fmt: skip
    assert [each.number for each in made.candidates] == [1, 2, 3]
    assert outcome_error(made) is None and not any(each.issues or each.notes for each in made.candidates)


def test_an_empty_list_is_an_answer(brain: Proposals) -> None:
    made = brain.judge()
    assert made.candidates == () and outcome_error(made) is None


# --- shape ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "candidate",
    [
        None,
        7,
        "a fact",
        [],
        {},
        {"memory_type": "semantic"},
        {"memory_type": "dreamt", "payload": {}, "evidence": [NOWHERE]},
        {"memory_type": "semantic", "payload": [], "evidence": [NOWHERE]},
        {"memory_type": "semantic", "payload": {}, "evidence": []},
        {"memory_type": "semantic", "payload": {}, "evidence": NOWHERE},
        {"memory_type": "semantic", "payload": {}, "evidence": [7]},
        {"memory_type": "semantic", "payload": {}, "evidence": [NOWHERE.upper()]},
        {"memory_type": "semantic", "payload": {}, "evidence": [NOWHERE], "surprise": 1},
        {"memory_type": "semantic", "payload": {}, "evidence": [NOWHERE], "confidence": 0.9},
    ],
)
def test_what_is_no_candidate(brain: Proposals, candidate: Any) -> None:
    made = brain.judge(brain.fact(), candidate, brain.event())
    assert [each.verdict for each in made.candidates] == ["validated", "rejected", "validated"]
    assert codes(made.candidates[1]) == {"schema"} and made.candidates[1].block_id is None
    assert isinstance(outcome_error(made), ValidationError)


@pytest.mark.parametrize(
    "payload",
    [
        {"kind": "rumour"},
        {"kind": "scheme"},
        {"statement": ""},
        {"statement": " \n"},
        {"label": "\u200b\u2060"},
        {"statement": None},
        {"statement": 7},
        {"statement": "\ud800"},
        {"subject": None},
        {"weight": 0.5},
        {"aliases": "one"},
        {"relations": [{"predicate": "", "target": NOWHERE}]},
    ],
)
def test_payloads_that_are_none(brain: Proposals, payload: dict[str, Any]) -> None:
    verdict, found = brain.verdict(brain.fact(payload=payload))
    assert verdict == "rejected" and found == {"schema"}


def test_an_event_without_a_day_that_exists(brain: Proposals) -> None:
    ended = {"occurred_at": "2026-05-01T00:00:00Z", "ended_at": "2026-04-01T00:00:00Z"}
    assert brain.verdict(brain.event(payload=ended)) == ("rejected", {"schema"})
    assert brain.verdict(brain.event(payload={"occurred_at": "yesterday"})) == ("rejected", {"schema"})
    assert brain.verdict(brain.procedure(payload={"steps": []})) == ("rejected", {"schema"})


def test_a_repeated_key_fails_its_candidate_alone(brain: Proposals) -> None:
    task = brain.task()
    good = json.dumps(brain.fact())
    bad = json.dumps(brain.event()).replace('"summary"', '"summary": "another", "summary"')
    data = f'{{"schema_version": "boltzmann.candidates/v1", "candidates": [{good}, {bad}]}}'
    read = read_candidates(data.encode(), task)
    assert read.listed[0].fault is None and "twice" in str(read.listed[1].fault)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b"{", "not JSON"),
        (b"\xff", "UTF-8"),
        (b"[]", "a list and not an object"),
        (b"{}", "'candidates' is missing"),
        (b'{"schema_version": "boltzmann.candidates/v2", "candidates": []}', "v2"),
        (b'{"schema_version": "boltzmann.candidates/v1", "candidates": {}}', "not a list"),
        (b'{"schema_version": "boltzmann.candidates/v1", "candidates": [], "task_id": "task:x"}', "task:x"),
        (b'{"schema_version": "boltzmann.candidates/v1", "candidates": [], "more": 1}', "'more'"),
        (b'{"schema_version": "boltzmann.candidates/v1", "candidates": ' + b"[" * 100_000, "deep"),
    ],
)
def test_documents_that_are_none(brain: Proposals, data: bytes, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        read_candidates(data, brain.task())


# --- kinds and catalogs -----------------------------------------------------------------------------------------


def test_kinds_that_the_task_does_not_allow(brain: Proposals) -> None:
    task = brain.task(allowed=[MemoryType.SEMANTIC])
    assert brain.verdict(brain.event(), task) == ("rejected", {"memory-type-not-allowed"})
    for kind in ("canonical", "provenance"):
        verdict, found = brain.verdict(brain.fact() | {"memory_type": kind})
        assert verdict == "rejected" and "memory-type-not-allowed" in found


def test_catalogs_are_not_proposed(brain: Proposals) -> None:
    placed = {"kind": "relation", "relations": [{"predicate": "classified_as", "target": brain.file()}]}
    for payload in (
        {"kind": "scheme", "scheme": "topics", "exclusive": True},
        {"kind": "class", "scheme": "topics", "label": "pumps"},
        placed | {"evidence": [brain.file()]},
    ):
        candidate = {"memory_type": "semantic", "payload": payload, "evidence": [brain.file()]}
        assert brain.verdict(candidate) == ("rejected", {"catalog-declaration-not-allowed"})


# --- evidence ---------------------------------------------------------------------------------------------------


def test_evidence_that_is_not_here(brain: Proposals) -> None:
    assert brain.verdict(brain.fact(evidence=[NOWHERE])) == ("rejected", {"evidence-not-found"})
    with brain.view() as view:
        record = format_digest(next(iter(view.scan([MemoryType.PROVENANCE]))).id)
    assert brain.verdict(brain.fact(evidence=[record])) == ("rejected", {"evidence-not-found"})
    both = brain.fact(evidence=[brain.file(), NOWHERE])
    assert brain.verdict(both) == ("rejected", {"evidence-not-found"})


def test_evidence_outside_of_the_task(brain: Proposals) -> None:
    brain.ingest("other.md", "# Other\n\nSomething that has nothing to do with pumps at all.\n")
    assert brain.verdict(brain.fact(evidence=[brain.file("other.md")])) == ("rejected", {"evidence-mismatch"})
    assert brain.verdict(brain.fact(evidence=brain.passages("other.md")))[0] == "rejected"
    assert brain.verdict(brain.fact(evidence=brain.passages()))[0] == "validated"
    narrow = brain.task(brain.passages()[0])
    assert brain.verdict(brain.fact(), narrow) == ("rejected", {"evidence-mismatch"})


def test_the_payload_may_state_the_same_evidence(brain: Proposals) -> None:
    first, second, _ = brain.passages()
    same = brain.fact(evidence=[first, second], payload={"evidence": [second, first]})
    assert brain.verdict(same)[0] == "validated"
    other = brain.fact(evidence=[first], payload={"evidence": [second]})
    assert brain.verdict(other) == ("rejected", {"evidence-mismatch"})


def test_a_source_dropped_or_redacted_meanwhile(brain: Proposals) -> None:
    task = brain.task()
    first, second, third = brain.passages()
    retention(brain).redact([parse_digest(first)], reason="asked", policy=ALL)
    retention(brain).drop([parse_digest(second)], reason="wrong", policy=ALL)
    for gone in (first, second):
        verdict, found = brain.verdict(brain.fact(evidence=[gone]), task)
        assert verdict == "rejected" and found == {"evidence-not-found"}
    assert brain.verdict(brain.fact(evidence=[third]), brain.task(third))[0] == "validated"


@pytest.mark.parametrize(
    "quote",
    [
        "loses pressure when its filter is clogged",
        "loses\n  pressure",
        "The pump [...] filter is clogged with sand.",
        PUMP,
    ],
)
def test_quotes_that_stand(brain: Proposals, quote: str) -> None:
    assert brain.verdict(brain.fact(quote=quote))[0] == "validated"
    assert brain.verdict(brain.fact(quote=quote, evidence=brain.passages()[:1]))[0] == "validated"


@pytest.mark.parametrize(
    "quote", ["gains pressure", "LOSES PRESSURE", "lter is clog", "clogged [...] The pump"]
)
def test_quotes_that_do_not(brain: Proposals, quote: str) -> None:
    assert brain.verdict(brain.fact(quote=quote)) == ("rejected", {"evidence-mismatch"})
    assert brain.verdict(brain.fact(quote=PUMP, evidence=brain.passages()[1:])) == (
        "rejected",
        {"evidence-mismatch"},
    )


@pytest.mark.parametrize(
    "locator", ["L3", "L7", "L3-L7", "L4-L6", "# Pumps", "L7 # Pumps > Filters", "# Pumps > Filters"]
)
def test_locators_that_are_places(brain: Proposals, locator: str) -> None:
    assert brain.verdict(brain.fact(locator=locator)) == ("validated", set())


@pytest.mark.parametrize(
    "locator",
    [
        "L99",
        "L1-L400",
        "page 1",
        "# Gates",
        "L3 # Pumps > Filters",
        "third line",
        "L7-L3",
        "@2026-01-01",
        "L3 ",
    ],
)
def test_locators_that_are_none(brain: Proposals, locator: str) -> None:
    assert brain.verdict(brain.fact(locator=locator)) == ("rejected", {"evidence-mismatch"})


def test_a_passage_has_its_own_place(brain: Proposals) -> None:
    first = brain.passages()[:1]
    assert brain.verdict(brain.fact(locator="L3", evidence=first))[0] == "validated"
    assert brain.verdict(brain.fact(locator="L7", evidence=first))[0] == "rejected"


# --- what is named ----------------------------------------------------------------------------------------------


def test_relations_and_uses_lead_somewhere(brain: Proposals) -> None:
    to = {"relations": [{"predicate": "about", "target": NOWHERE}]}
    assert brain.verdict(brain.fact(payload=to)) == ("rejected", {"relation-target-not-found"})
    uses = {"steps": [{"action": "Look.", "uses": [NOWHERE]}]}
    assert brain.verdict(brain.procedure(payload=uses)) == ("rejected", {"relation-target-not-found"})
    to = {"relations": [{"predicate": "about", "target": brain.passages()[0]}]}
    assert brain.verdict(brain.fact(payload=to))[0] == "validated"


def test_a_relation_may_lead_to_another_candidate(brain: Proposals) -> None:
    target = str(brain.judge(brain.event()).candidates[0].block_id)
    relation = brain.fact(payload={"relations": [{"predicate": "seen_in", "target": target}]})
    assert brain.verdict(relation)[0] == "rejected"
    assert brain.judge(brain.event(), relation).counts["validated"] == 2


def test_content_is_what_it_says(brain: Proposals) -> None:
    with brain.view() as view:
        registered = view.registered("notes/pumps.md")
        assert registered is not None and registered.blob is not None
        size = len(view.content(registered.blob))
        blob = format_digest(registered.blob)
    right = {"blob": blob, "media_type": "text/markdown", "size": size}
    assert brain.verdict(brain.fact(payload={"content": right}))[0] == "validated"
    for wrong in (
        right | {"size": size + 1},
        right | {"media_type": "Text/Markdown; charset=utf-8"},
        right | {"blob": format_digest(sha256(b"other"))},
    ):
        assert brain.verdict(brain.fact(payload={"content": wrong})) == ("rejected", {"content-mismatch"})


# --- what is here already ---------------------------------------------------------------------------------------


def test_a_block_that_is_here(brain: Proposals) -> None:
    brain.commit(brain.fact())
    [judged] = brain.judge(brain.fact()).candidates
    assert judged.verdict == "duplicate" and not judged.adds_evidence
    [judged] = brain.judge(brain.fact(evidence=brain.passages()[:1])).candidates
    assert judged.verdict == "duplicate" and judged.adds_evidence
    assert outcome_error(brain.judge(brain.fact())) is None


def test_a_passage_proposed_again(brain: Proposals) -> None:
    """It is what it would rest on: no evidence for itself."""
    candidate = brain.fact(PUMP, label=PUMP[:79].rsplit(" ", 1)[0] + "…", evidence=brain.passages()[:1])
    [judged] = brain.judge(candidate).candidates
    assert judged.block_id == brain.passages()[0]
    assert judged.verdict == "duplicate" and not judged.adds_evidence


def test_what_was_made_from_a_block_is_no_evidence_for_it(brain: Proposals) -> None:
    passage = brain.passages()[0]
    brain.commit(brain.fact(evidence=[passage]))
    made = str(brain.judge(brain.fact()).candidates[0].block_id)
    circle = brain.fact(PUMP, label=PUMP[:79].rsplit(" ", 1)[0] + "…", evidence=[made])
    [judged] = brain.judge(circle, task=brain.task(made)).candidates
    assert judged.block_id == passage and not judged.adds_evidence


def test_the_same_candidate_twice(brain: Proposals) -> None:
    made = brain.judge(brain.fact(), brain.fact(), brain.fact(evidence=brain.passages()[:1]))
    assert [each.verdict for each in made.candidates] == ["validated", "duplicate", "duplicate"]
    assert [each.adds_evidence for each in made.candidates] == [False, False, True]
    assert made.candidates[1].issues[0].candidate == 1


@pytest.mark.parametrize(
    "text",
    [
        PUMP.upper(),
        PUMP.replace(" ", "  "),
        PUMP.rstrip("."),
        "\ufeff" + PUMP,
        PUMP.replace("filter", "fil\u00adter"),
        PUMP.replace("fi", "\ufb01"),
        "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in PUMP),
    ],
)
def test_nearly_the_same_words_are_said_to_be(brain: Proposals, text: str) -> None:
    [judged] = brain.judge(brain.fact(text, label="Another label")).candidates
    assert judged.verdict == "validated" and [note.code for note in judged.notes] == [
        "consilience:near-duplicate"
    ]
    assert judged.notes[0].blocks == (brain.passages()[0],)


def test_composed_and_decomposed_are_two_blocks_and_said_to_be_near(brain: Proposals) -> None:
    brain.commit(brain.fact("Der Filter ist überfällig.", label="Überfällig"))
    other = unicodedata.normalize("NFD", "Der Filter ist überfällig.")
    [judged] = brain.judge(brain.fact(other, label="Überfällig")).candidates
    assert judged.verdict == "validated" and judged.notes


@pytest.mark.parametrize("char", ["\u202e", "\u2066", "\x1b", "\x00", "\U000e0041"])
def test_text_that_reads_otherwise_needs_a_person(brain: Proposals, char: str) -> None:
    made = brain.judge(brain.fact(f"The code is {char}1234."))
    assert codes(made.candidates[0]) == {"consilience:invisible-characters"}
    assert made.counts["pending_review"] == 1 and isinstance(outcome_error(made), DecisionNeededError)


def test_scripts_that_need_joiners_do_not(brain: Proposals) -> None:
    for text in ("می\u200cخواهم آب", "Family: 👨\u200d👩\u200d👧", "שלום\u200f!"):
        assert brain.verdict(brain.fact(text))[0] == "validated"


def test_a_hidden_block_needs_a_person(brain: Proposals) -> None:
    brain.commit(brain.fact())
    block = str(brain.judge(brain.fact()).candidates[0].block_id)
    retention(brain).demote([parse_digest(block)])
    made = brain.judge(brain.fact(evidence=brain.passages()[:1]))
    assert made.counts["pending_review"] == 1 and "consilience:hidden" in codes(made.candidates[0])
    assert not made.candidates[0].adds_evidence


def test_a_redacted_block_does_not_come_back(brain: Proposals) -> None:
    brain.commit(brain.fact())
    block = parse_digest(str(brain.judge(brain.fact()).candidates[0].block_id))
    retention(brain).redact([block], reason="asked", policy=ALL)
    made = brain.judge(brain.fact())
    assert codes(made.candidates[0]) == {"consilience:redacted"} and made.rejected == 1
    assert isinstance(outcome_error(made), PolicyError)
    assert isinstance(outcome_error(brain.judge(brain.fact(), {})), ValidationError)
    retention(brain).readmit([block], reason="consent")
    assert brain.verdict(brain.fact())[0] != "rejected"
    assert brain.commit(brain.fact(evidence=brain.passages()[:1])).changed


# --- contradictions ---------------------------------------------------------------------------------------------


def test_the_same_label_another_statement(brain: Proposals) -> None:
    brain.commit(brain.fact("It needs 1.2 bar.", label="Pressure", payload={"subject": "pump"}))
    other = brain.fact("It needs 3 bar.", label="PRESSURE ", payload={"subject": "Pump"})
    made = brain.judge(other)
    assert made.counts["contradicted"] == 1 and codes(made.candidates[0]) == {"contradiction"}
    assert len(made.candidates[0].issues[0].blocks) == 1
    assert isinstance(outcome_error(made), DecisionNeededError)
    for not_it in (
        brain.fact("It needs 3 bar.", label="Pressure", payload={"subject": "valve"}),
        brain.fact("It needs 3 bar.", label="Pressure", payload={"subject": "pump", "kind": "concept"}),
        brain.fact("it needs  1.2 BAR", label="Pressure", payload={"subject": "pump"}),
        brain.event("It needs 3 bar."),
    ):
        assert brain.verdict(not_it)[0] == "validated"


def test_candidates_contradict_each_other(brain: Proposals) -> None:
    one, two = brain.fact("It needs 1 bar.", label="P"), brain.fact("It needs 2 bar.", label="P")
    made = brain.judge(one, two)
    assert [each.verdict for each in made.candidates] == ["validated", "contradicted"]
    assert made.candidates[1].issues[0].candidate == 1


def test_what_is_hidden_contradicts_nothing(brain: Proposals) -> None:
    brain.commit(brain.fact("It needs 1.2 bar.", label="Pressure"))
    held = str(brain.judge(brain.fact("It needs 1.2 bar.", label="Pressure")).candidates[0].block_id)
    retention(brain).demote([parse_digest(held)])
    assert brain.verdict(brain.fact("It needs 3 bar.", label="Pressure"))[0] == "validated"


def test_rejected_goes_before_contradicted(brain: Proposals) -> None:
    brain.commit(brain.fact("It needs 1.2 bar.", label="Pressure"))
    made = brain.judge(brain.fact("It needs 3 bar.", label="Pressure", quote="not in it"))
    assert made.counts["rejected"] == 1
    assert codes(made.candidates[0]) == {"contradiction", "evidence-mismatch"}


def test_ten_thousand_candidates(brain: Proposals) -> None:
    many = [brain.fact(f"Statement {i} of many.", label=f"Label {i}") for i in range(10_000)]
    made = brain.judge(*many)
    assert made.counts["validated"] == 10_000
