"""The same layouts in pyboltzmann 0.10.1: it opens what we export, we take in what it made."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import boltzmann as oracle
import layouts
from boltzmann.distribution.local import LocalLayoutRegistry
from stores import ACTOR

from consilience.oci import ImportReport, export_brain, import_brain, import_into
from consilience.protocol import Digest, MemoryType, format_digest
from consilience.store import Store
from consilience.store.verify import verify

ANA = oracle.Actor(id="ana@example.org", kind=oracle.ActorKind.HUMAN)
BOB = oracle.Actor(id="bob@example.org", kind=oracle.ActorKind.HUMAN)
SEMANTIC = oracle.MemoryType.SEMANTIC


def opened(path: Path, actor: Any = ANA) -> Any:
    policy = oracle.RetentionPolicy(
        canonical_drop_allowed=True,
        redactable_media_types=["*/*"],
        allowed_mechanisms=list(oracle.RemovalMechanism),
    )
    return oracle.Brain.open(path, actor=actor, policy=policy)


def register(brain: Any, text: str) -> Any:
    request = oracle.RegistrationRequest(media_type="text/plain", actor=brain.actor, origin=f"{text}.txt")
    return brain.register(text.encode(), request).block_id


def learn(brain: Any, source: Any, *statements: str) -> list[Any]:
    """Commit facts derived from a source; their ids."""
    task = brain.define_task(source, allowed=[SEMANTIC])
    candidates = [
        oracle.Candidate(
            memory_type=SEMANTIC,
            payload={"kind": "fact", "label": each, "statement": each},
            evidence=[source],
            locator=f"L{i + 1}",
        )
        for i, each in enumerate(statements)
    ]
    report = brain.validate(oracle.CandidateSet(task_id=task.task_id, candidates=candidates), task)
    before = set(brain.module(SEMANTIC).composition.block_ids) if SEMANTIC in brain.modules() else set()
    brain.commit(report)
    return sorted(set(brain.module(SEMANTIC).composition.block_ids) - before, key=lambda b: b.hex)


def made(path: Path) -> Any:
    """A brain with a supersession, a demotion, a drop, a redaction, and two histories merged."""
    brain = opened(path)
    first = register(brain, "The first source")
    a, b, c, d, e = learn(brain, first, "One.", "Two.", "Three.", "Four.", "Five.")
    brain.supersede(a, b, SEMANTIC, reason="better")
    brain.demote(c, SEMANTIC, reason="old")
    brain.drop(oracle.DropRequest(blocks=[d], memory_type=SEMANTIC, actor=ANA, reason="wrong"))
    brain.create_branch("other")
    second = register(brain, "The second source")
    learn(brain, second, "Six.")
    brain.checkout("other")
    learn(brain, register(brain, "The third source"), "Seven.", "Eight.")
    theirs = brain.snapshot().digest
    brain.checkout("main")
    brain.merge(theirs, reason="both are right")
    brain.redact(e, SEMANTIC, "a name in it")
    return brain


def documents(brain: Any) -> set[bytes]:
    return {brain.store.get_bytes(digest) for digest in brain.reachable_history()}


def ours(folder: Path) -> set[bytes]:
    with Store.open(folder) as store, store.view() as view:
        return {info.document for info in view.history()}


def taken(layout: Path, target: Path, tag: str | None = None) -> ImportReport:
    return import_brain(layout, target, actor=ACTOR, now=layouts.LATER, tag=tag)


# --- ours in theirs -----------------------------------------------------------------------------------------


def test_it_opens_verifies_and_searches_what_we_export(folder: Path) -> None:
    layout = layouts.layout(folder, redact=True)
    brain = opened(layout)
    assert brain.verify()
    assert documents(brain) == ours(folder / "brain")
    found = brain.search(oracle.Query(text="Passage of the first file"))
    assert {match.content["statement"] for match in found.matches if match.resolvable} >= {
        "Passage 2 of the first file.",
        "Passage 0 of the first file, corrected.",
    }
    with Store.open(folder / "brain") as store, store.view() as view:
        for memory_type in (MemoryType.CANONICAL, MemoryType.SEMANTIC, MemoryType.PROVENANCE):
            module = brain.module(oracle.MemoryType(memory_type.value))
            assert [bytes.fromhex(b.hex) for b in module.composition.block_ids] == view.sorted_ids(
                memory_type
            )
    report = brain.resolvability()
    assert sum(map(len, report.tombstoned.values())) == 1
    assert not any(report.missing.values())


def test_it_pulls_the_artifact_that_we_publish(folder: Path) -> None:
    layout = layouts.layout(folder, redact=True)
    registry = folder / "registry" / "org"
    registry.mkdir(parents=True)
    shutil.copytree(layout, registry / "brain")
    brain = opened(folder / "pulled", BOB)
    asyncio.run(brain.pull(LocalLayoutRegistry(folder / "registry"), "org/brain", "latest"))
    assert str(brain.snapshot().digest) == layouts.head(layout)["snapshot"]
    assert brain.verify()
    assert documents(brain) == ours(folder / "brain")
    assert brain.pack("again").config.digest == brain.snapshot().digest


def test_it_goes_on_where_we_left_off_and_we_follow(folder: Path) -> None:
    layout = layouts.layout(folder, redact=True)
    brain = opened(layout)
    source = register(brain, "What came later")
    learn(brain, source, "Later one.", "Later two.")
    with Store.open(folder / "brain") as store:
        report = import_into(store, layout, actor=ACTOR, now=layouts.LATER)
        assert report.snapshots == 2
        with store.view() as view:
            assert view.snapshot is not None
            assert format_digest(view.snapshot.digest) == str(brain.snapshot().digest)
    assert verify(folder / "brain", every_snapshot=True).problems == ()


# --- theirs in ours -----------------------------------------------------------------------------------------


def test_we_take_in_what_it_made_and_give_it_back(folder: Path) -> None:
    brain = made(folder / "theirs")
    report = taken(folder / "theirs", folder / "new")
    assert verify(folder / "new", every_snapshot=True).problems == ()
    assert ours(folder / "new") == documents(brain)
    assert report.snapshot == str(brain.snapshot().digest)
    assert report.redacted == 1 and report.truncated == ()
    assert [w for w in report.warnings if "branches" not in w] == []
    with Store.open(folder / "new") as store, store.view() as view:
        hidden = {b.hex() for b in view.ids(view.hidden_members(MemoryType.SEMANTIC)).values()}
        assert len(hidden) == 2
        assert view.snapshot is not None and any(len(info.parents) == 2 for info in view.history())
        for module in brain.modules().values():
            mine = view.sorted_ids(MemoryType(module.memory_type.value))
            assert mine == [bytes.fromhex(b.hex) for b in module.composition.block_ids]
        export_brain(store, folder / "back", name="new")
    again = opened(folder / "back")
    assert again.verify()
    assert documents(again) == documents(brain)


def test_we_take_in_the_artifact_that_it_packs(folder: Path) -> None:
    brain = made(folder / "theirs")
    brain.pack("v1")
    (folder / "theirs" / "boltzmann" / "head.json").unlink()
    report = taken(folder / "theirs", folder / "new")
    assert verify(folder / "new", every_snapshot=True).problems == ()
    assert ours(folder / "new") == documents(brain)
    assert report.unresolvable == 1, "the block that was dropped is in no layer"
    taken(folder / "theirs", folder / "tagged", "v1")


def test_what_it_pruned_begins_later(folder: Path) -> None:
    path = folder / "theirs"
    brain = oracle.Brain.open(path, actor=ANA, policy=oracle.RetentionPolicy(retained_roots=2))
    for i in range(5):
        register(brain, f"Source {i}")
    brain.prune(dry_run=False)
    report = taken(path, folder / "new")
    assert report.snapshots == 2 and len(report.truncated) == 1
    assert verify(folder / "new", every_snapshot=True).problems == ()
    again = export_and_open(folder)
    assert again.verify() and again.snapshot().digest == brain.snapshot().digest


def export_and_open(folder: Path) -> Any:
    with Store.open(folder / "new") as store:
        export_brain(store, folder / "back", name="new")
    return opened(folder / "back")


def test_signature_records_go_through(folder: Path) -> None:
    layout = layouts.layout(folder)
    snapshot = layouts.head(layout)["snapshot"]
    record = layouts.canonical(
        {
            "boltzmann": 1,
            "snapshot": snapshot,
            "namespace": "boltzmann.snapshot.v1",
            "key": "SHA256:" + "A" * 43,
            "scopes": ["commit"],
            "signature": "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n",
        }
    )
    digest = layouts.put(layout, record)
    index = layouts.canonical({"boltzmann": 1, "entries": {snapshot: [digest]}})
    (layout / "boltzmann" / "signatures.json").write_bytes(index)
    assert taken(layout, folder / "new").signatures == 1
    back = export_and_open(folder)
    assert (folder / "back" / "boltzmann" / "signatures.json").read_bytes() == index
    assert layouts.get(folder / "back", digest) == record
    assert [str(each.digest) for each in back.signatures()] == [digest]


def test_a_redaction_keeps_its_reason(folder: Path) -> None:
    made(folder / "theirs")
    taken(folder / "theirs", folder / "new")
    export_and_open(folder)
    import json

    reasons = json.loads((folder / "back" / "boltzmann" / "tombstones.json").read_bytes())
    assert set(reasons.values()) == {"a name in it"}
    with Store.open(folder / "new") as store, store.view() as view:
        (block_id,) = (Digest(bytes.fromhex(name)) for name in reasons)
        assert view.redactions([block_id])[block_id].reason == "a name in it"
