"""Export and import between our own brains: everything stays, nothing comes back, nothing half done."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import layouts
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from layouts import LATER, canonical, change_snapshot, head, removal, tree
from stores import ACTOR, NOW, demotion, derivation, fact, original, registration, supersession

from consilience.errors import ConflictError, IntegrityError, NotFoundError, PolicyError, UsageError
from consilience.oci import ImportReport, export_brain, import_brain, import_into
from consilience.protocol import (
    Actor,
    ActorKind,
    Block,
    Digest,
    Mechanism,
    MemoryType,
    Validation,
    Verdict,
    format_digest,
    record_block,
)
from consilience.store import Store, View
from consilience.store.verify import verify

IMPORTER = Actor(id="bob@example.org", kind=ActorKind.HUMAN)


def taken(layout: Path, target: Path, tag: str | None = None, actor: Actor = IMPORTER) -> ImportReport:
    return import_brain(layout, target, actor=actor, now=LATER, tag=tag)


def said(view: View) -> dict[str, object]:
    """Everything that a view of one snapshot tells, in ids."""
    ns = {m: sorted(view.ordinals([Digest(i) for i in view.sorted_ids(m)]).values()) for m in MemoryType}
    every = [n for listed in ns.values() for n in listed]
    names = view.ids(every)
    blocks = {block.id: block.data for block in view.blocks(every)}
    hidden = {names[n]: (h.superseded_by, h.demoted) for n, h in view.hidden(every).items()}
    sources = {
        names[n]: {(s.block_id, s.origin, s.locator, s.record) for s in found}
        for n, found in view.sources(every).items()
    }
    origins = {(origin, r.id, r.record) for origin, r in view.origins()}
    return {"blocks": blocks, "hidden": hidden, "sources": sources, "origins": origins}


def assert_equal(a: Store, b: Store) -> None:
    """Two stores hold the same history and tell the same of every snapshot."""
    with a.view() as one, b.view() as two:
        history = one.history()
        assert [(i.document, i.actor) for i in history] == [(i.document, i.actor) for i in two.history()]
    for info in history:
        with a.view(info.digest) as one, b.view(info.digest) as two:
            assert said(one) == said(two)


# --- what stays ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tag", [None, "latest"])
def test_an_import_is_the_brain_that_was_exported(tag: str | None, folder: Path) -> None:
    layout = layouts.layout(folder, redact=True)
    report = taken(layout, folder / "new", tag)
    assert verify(folder / "new", every_snapshot=True).problems == ()
    with Store.open(folder / "brain") as ours, Store.open(folder / "new") as new:
        if tag is None:
            assert_equal(ours, new)
            assert report.unresolvable == 0
        else:
            with ours.view() as one, new.view() as two:
                assert said(one) == said(two)
            assert report.unresolvable == 1, "the passage that left is not among the packed blocks"
    assert report.redacted == 1
    assert report.actors == 4 and report.by_importer == 0


def test_the_same_snapshot_gives_the_same_bytes(folder: Path) -> None:
    layout = layouts.layout(folder, redact=True)
    taken(layout, folder / "new")
    with Store.open(folder / "new") as new:
        export_brain(new, folder / "again", name="new")
        first = tree(folder / "again")
        assert first == tree(layout)
        report = export_brain(new, folder / "again", name="new")
    assert (report.written, report.removed) == (0, 0)
    assert tree(folder / "again") == first


def test_a_layout_without_artifact_is_taken_and_lists_none(folder: Path) -> None:
    layout = layouts.layout(folder, artifact=False)
    assert layouts.index(layout)["manifests"] == []
    assert taken(layout, folder / "new").created
    with pytest.raises(NotFoundError, match="lists no artifact 'latest'"):
        taken(layout, folder / "other", "latest")


@st.composite
def histories(draw: st.DrawFn) -> list[list[tuple[str, int, int]]]:
    """Commits of operations on sixteen passages and four files."""
    passage = st.integers(0, 15)
    operation = st.one_of(
        st.tuples(st.sampled_from(["add", "drop", "demote", "redact"]), passage, st.just(0)),
        st.tuples(st.just("derive"), passage, st.integers(0, 3)),
        st.tuples(st.just("supersede"), passage, passage),
        st.tuples(st.just("register"), st.integers(0, 3), st.integers(0, 2)),
    )
    return draw(st.lists(st.lists(operation, min_size=1, max_size=6), min_size=1, max_size=8))


ORDER = {"register": 0, "add": 1, "supersede": 2, "demote": 2, "derive": 3, "drop": 4, "redact": 5}
"""Inside a commit: what hides comes before what places, as an import orders them (decision 0131), and no block is
superseded twice."""


def replay(store: Store, history: list[list[tuple[str, int, int]]]) -> None:
    gone: set[int] = set()
    for commit in history:
        losers: set[int] = set()
        with store.write(ACTOR, NOW) as writer:
            for what, a, b in sorted(commit, key=lambda each: ORDER[each[0]]):
                if what == "supersede" and b in losers:
                    continue
                losers |= {b} if what == "supersede" else set()
                if what != "register" and (a in gone or (what == "supersede" and b in gone)):
                    continue
                block = fact(f"Passage {a}.")
                if what == "register":
                    source = original(writer, f"# File {a}\n".encode())
                    writer.add(registration(source, f"{a}-{b}.md", at=writer.at))
                elif what == "add":
                    writer.add(block)
                elif what == "derive":
                    source = original(writer, f"# File {b}\n".encode())
                    writer.add_many([block, derivation(block, source, f"L{a + 1} # File", at=writer.at)])
                elif what == "supersede":
                    writer.add_many(
                        [block, fact(f"Passage {b}."), supersession(block, fact(f"Passage {b}."), writer.at)]
                    )
                elif what == "demote":
                    writer.add_many([block, demotion(block, writer.at)])
                elif writer.members(writer.ordinals([block.id]).values()):
                    ns = list(writer.ordinals([block.id]).values())
                    if what == "drop":
                        writer.withdraw(ns)
                        writer.add(removal(block.id, Mechanism.DROP, writer.at))
                    else:
                        gone.add(a)
                        writer.destroy(ns, {})
                        writer.add(removal(block.id, Mechanism.TOMBSTONE, writer.at))


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(histories())
def test_any_history_survives_a_round_trip(folder: Path, history: list[list[tuple[str, int, int]]]) -> None:
    round_trip(folder, history)


@pytest.mark.soak
@settings(max_examples=1_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(histories())
def test_many_histories_survive_a_round_trip(folder: Path, history: list[list[tuple[str, int, int]]]) -> None:
    round_trip(folder, history)


def round_trip(folder: Path, history: list[list[tuple[str, int, int]]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory(dir=folder) as name:
        here = Path(name)
        with Store.create(here / "brain") as ours:
            replay(ours, history)
            with ours.view() as view:
                if view.snapshot is None:
                    return
            export_brain(ours, here / "layout", name="brain")
            report = taken(here / "layout", here / "new", actor=ACTOR)
            assert [w for w in report.warnings if "without a record" not in w] == []
            assert verify(here / "new", every_snapshot=True).problems == ()
            with Store.open(here / "new") as new:
                assert_equal(ours, new)
                export_brain(new, here / "again", name="new")
            assert tree(here / "again") == tree(here / "layout")


# --- bringing forward ---------------------------------------------------------------------------------------


def grow(store: Store, text: str) -> Block:
    block = fact(text)
    with store.write(ACTOR, NOW) as writer:
        writer.add_many([block, demotion(block, writer.at)])
    return block


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(histories(), st.integers(0, 7))
def test_a_brain_is_brought_forward_to_the_same_state(
    folder: Path, history: list[list[tuple[str, int, int]]], cut: int
) -> None:
    import tempfile

    with tempfile.TemporaryDirectory(dir=folder) as name:
        here = Path(name)
        with Store.create(here / "brain") as ours:
            replay(ours, history[:cut])
            with ours.view() as view:
                begun = view.snapshot is not None
            if begun:
                export_brain(ours, here / "early", name="brain")
                taken(here / "early", here / "new", actor=ACTOR)
            else:
                Store.create(here / "new").close()
            replay_rest(ours, history, cut)
            with ours.view() as view:
                if view.snapshot is None:
                    return
            export_brain(ours, here / "late", name="brain")
            with Store.open(here / "new") as new:
                import_into(new, here / "late", actor=ACTOR, now=LATER)
                assert_equal(ours, new)
            assert verify(here / "new", every_snapshot=True).problems == ()


def replay_rest(store: Store, history: list[list[tuple[str, int, int]]], cut: int) -> None:
    """The rest of a history; passages that its beginning redacted are left alone."""
    gone = {a for commit in history[:cut] for what, a, _ in commit if what == "redact"}
    rest = [
        [op for op in commit if op[0] == "register" or not gone & {op[1], op[2]}] for commit in history[cut:]
    ]
    replay(store, [commit for commit in rest if commit])


def test_what_is_here_already_is_not_taken_again(folder: Path) -> None:
    layout = layouts.layout(folder)
    with Store.open(folder / "brain") as ours:
        before = (folder / "brain" / "brain.db").read_bytes()
        assert import_into(ours, layout, actor=IMPORTER, now=LATER).up_to_date
        assert (folder / "brain" / "brain.db").read_bytes() == before
        grow(ours, "One more.")
        assert import_into(ours, layout, actor=IMPORTER, now=LATER).up_to_date, "an ancestor is no news"


def test_histories_that_diverged_are_refused(folder: Path) -> None:
    layout = layouts.layout(folder)
    taken(layout, folder / "new")
    with Store.open(folder / "brain") as ours, Store.open(folder / "new") as theirs:
        grow(ours, "Ours.")
        grow(theirs, "Theirs.")
        export_brain(theirs, folder / "theirs", name="new")
        with pytest.raises(ConflictError, match="histories diverged") as caught:
            import_into(ours, folder / "theirs", actor=IMPORTER, now=LATER)
        assert caught.value.exit_status == 8
        with pytest.raises(ConflictError, match="which 'brain' does not have"):
            export_brain(ours, folder / "theirs", name="brain")


def test_a_layout_whose_history_begins_later_says_so(folder: Path) -> None:
    layout = layouts.layout(folder)
    retained = head(layout)["retained"]
    value = {**head(layout), "retained": retained[:2]}
    (layout / "boltzmann" / "head.json").write_bytes(canonical(value))
    layouts.blob_path(layout, retained[2]).unlink()
    report = taken(layout, folder / "new")
    assert report.truncated == (retained[2],)
    assert report.snapshots == 2
    checked = verify(folder / "new", every_snapshot=True)
    assert checked.ok and checked.truncated == retained[2]
    with Store.open(folder / "new") as new:
        export_brain(new, folder / "again", name="new", artifact=False)
    assert head(folder / "again")["retained"] == retained[:2]


def test_an_actor_that_records_do_not_agree_on_is_the_importer(folder: Path) -> None:
    with Store.create(folder / "brain") as ours:
        with ours.write(ACTOR, NOW) as writer:
            writer.add(fact("No record says who."))
        export_brain(ours, folder / "layout", name="brain")
    report = taken(folder / "layout", folder / "new")
    assert (report.actors, report.by_importer) == (0, 1)
    with Store.open(folder / "new") as new, new.view() as view:
        assert view.snapshot is not None and view.snapshot.actor == IMPORTER


# --- redaction ----------------------------------------------------------------------------------------------


def everything(folder: Path) -> bytes:
    return b"".join(tree(folder).values())


def test_what_was_redacted_leaves_an_earlier_export(folder: Path) -> None:
    layout = layouts.layout(folder, artifact=False)
    secret = fact("Passage 1 of the first file.")
    assert b"Passage 1 of" in everything(layout)
    with Store.open(folder / "brain") as ours:
        layouts.redaction(ours, secret.id)
        report = export_brain(ours, layout, name="brain", artifact=False)
        fresh = export_brain(ours, folder / "fresh", name="brain", artifact=False)
    assert (report.removed, report.erased, report.redacted, fresh.redacted) == (1, 1, 1, 1)
    assert b"Passage 1 of" not in everything(layout)
    assert tree(layout) == tree(folder / "fresh")


def test_what_is_redacted_here_does_not_come_back(folder: Path) -> None:
    """A layout that follows the redaction and still carries the bytes."""
    layout = layouts.layout(folder)
    secret = fact("Passage 1 of the first file.")
    taken(layout, folder / "new")
    with Store.open(folder / "new") as new:
        layouts.redaction(new, secret.id)
        export_brain(new, folder / "second", name="new")
        taken(folder / "second", folder / "third")
    with Store.open(folder / "third") as third:
        grow(third, "One more.")
        export_brain(third, folder / "late", name="third")
    layouts.put(folder / "late", secret.data)
    with Store.open(folder / "new") as new:
        report = import_into(new, folder / "late", actor=IMPORTER, now=LATER)
        with new.view() as view:
            assert view.blocks(list(view.ordinals([secret.id]).values()))[0].data is None
    assert report.snapshots == 1
    assert b"Passage 1 of" not in (folder / "new" / "brain.db").read_bytes()
    made = taken(folder / "late", folder / "fourth")
    assert any("still holds the bytes of 1 redacted" in warning for warning in made.warnings)
    assert b"Passage 1 of" not in (folder / "fourth" / "brain.db").read_bytes()


def test_a_head_that_takes_a_redaction_back_is_refused(folder: Path) -> None:
    layout = layouts.layout(folder)
    secret = fact("Passage 1 of the first file.")
    taken(layout, folder / "new")
    with Store.open(folder / "new") as new:
        layouts.redaction(new, secret.id)
        export_brain(new, folder / "late", name="new")
        before = new.view().snapshot
        parent = head(folder / "late")["snapshot"]
        layouts.put(folder / "late", secret.data)

        def take_back(value: dict) -> None:
            del value["modules"]["semantic"]["tombstones"]
            value["parent"] = parent

        change_snapshot(folder / "late", take_back)
        with pytest.raises(PolicyError, match=r"redacted .* by ana@example\.org"):
            import_into(new, folder / "late", actor=IMPORTER, now=LATER)
        assert new.view().snapshot == before
    assert verify(folder / "new").ok


def test_a_redaction_that_was_lifted_is_followed(folder: Path) -> None:
    layout = layouts.layout(folder, redact=True)
    secret = fact("Passage 1 of the first file.")
    taken(layout, folder / "new")
    with Store.open(folder / "brain") as ours:
        with ours.write(ACTOR, NOW) as writer:
            readmission = Validation(
                block=format_digest(secret.id),
                verdict=Verdict.VALIDATED,
                checks=("readmission",),
                task="readmission: it was not personal",
                actor=ACTOR,
                at=writer.at,
            )
            writer.add(record_block(readmission))
            writer.add(secret)
        export_brain(ours, folder / "late", name="brain")
    with Store.open(folder / "new") as new:
        import_into(new, folder / "late", actor=IMPORTER, now=LATER)
        with new.view() as view:
            assert view.blocks(list(view.ordinals([secret.id]).values()))[0].data == secret.data
    assert verify(folder / "new", every_snapshot=True).ok


def test_a_redaction_that_comes_in_is_carried_out(folder: Path) -> None:
    layout = layouts.layout(folder)
    taken(layout, folder / "new")
    with Store.open(folder / "brain") as ours:
        layouts.redaction(ours, fact("Passage 1 of the first file.").id)
        export_brain(ours, folder / "late", name="brain")
    with Store.open(folder / "new") as new:
        import_into(new, folder / "late", actor=IMPORTER, now=LATER)
        todo = new.to_erase()
        assert len(todo.ns) == 1
        new.finish_erasing(todo)
    assert verify(folder / "new", every_snapshot=True).ok


# --- where it is put ----------------------------------------------------------------------------------------


def test_an_export_goes_to_no_folder_that_holds_something_else(folder: Path) -> None:
    layouts.history(folder / "brain").close()
    (folder / "full").mkdir()
    (folder / "full" / "letter.txt").write_text("mine")
    (folder / "empty").mkdir()
    (folder / "file").write_text("mine")
    with Store.open(folder / "brain") as ours:
        for name in ("full", "file"):
            with pytest.raises(UsageError):
                export_brain(ours, folder / name, name="brain")
        with pytest.raises(UsageError, match="is not a tag"):
            export_brain(ours, folder / "new", name="brain", tag="a b")
        export_brain(ours, folder / "empty", name="brain")
    assert sorted(p.name for p in folder.iterdir()) == ["brain", "empty", "file", "full"]


def test_a_link_to_an_empty_folder_is_followed(folder: Path) -> None:
    layout = layouts.layout(folder)
    for name in ("disk-a", "disk-b"):
        (folder / name).mkdir()
    (folder / "new").symlink_to(folder / "disk-a")
    (folder / "out").symlink_to(folder / "disk-b")
    taken(layout, folder / "new")
    with Store.open(folder / "new") as new:
        export_brain(new, folder / "out", name="new")
    assert (folder / "new").is_symlink() and (folder / "disk-a" / "brain.db").is_file()
    assert tree(folder / "disk-b") == tree(layout)


def test_a_layout_that_other_software_changed_is_left_alone(folder: Path) -> None:
    layout = layouts.layout(folder)
    (layout / "boltzmann" / "refs.json").write_text("{}")
    before = tree(layout)
    with (
        Store.open(folder / "brain") as ours,
        pytest.raises(ConflictError, match="changed by other software"),
    ):
        export_brain(ours, layout, name="brain")
    assert tree(layout) == before


def test_a_damaged_brain_is_not_exported(folder: Path) -> None:
    with layouts.history(folder / "brain") as ours:
        with ours.view() as view:
            n = min(view.ordinals([Digest(i) for i in view.sorted_ids(MemoryType.SEMANTIC)]).values())
        with ours.write(ACTOR, NOW) as writer:
            writer.connection.run("UPDATE blocks SET data = x'00' WHERE n = ?", (n,))
        with pytest.raises(IntegrityError, match="are damaged"):
            export_brain(ours, folder / "layout", name="brain")
    assert sorted(p.name for p in folder.iterdir()) == ["brain"]


def test_an_empty_brain_has_nothing_to_export(folder: Path) -> None:
    with Store.create(folder / "brain") as ours, pytest.raises(NotFoundError, match="no snapshot yet"):
        export_brain(ours, folder / "layout", name="brain")


def test_a_brain_made_meanwhile_is_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from consilience.oci import importing

    layout = layouts.layout(folder)

    def overtaken(temporary: Path, target: Path) -> None:
        Store.create(target).close()
        publish(temporary, target)

    publish = importing.publish
    monkeypatch.setattr(importing, "publish", overtaken)
    with pytest.raises(ConflictError, match="made by another process meanwhile"):
        taken(layout, folder / "new")
    with Store.open(folder / "new") as new, new.view() as view:
        assert view.snapshot is None
    assert sorted(p.name for p in folder.iterdir()) == ["brain", "layout", "new"]


def test_what_killed_processes_left_is_swept(folder: Path) -> None:
    layout = layouts.layout(folder)
    dead = 2**22 - 3
    for doing, target in (("importing", "new"), ("exporting", "out")):
        left = folder / f".{target}.{doing}.{dead}.1"
        left.mkdir()
        (left / "brain.db").write_bytes(b"half")
    alive = folder / f".new.importing.{os.getpid()}.1"
    alive.mkdir()
    (folder / "new").mkdir()
    taken(layout, folder / "new")
    with Store.open(folder / "new") as new:
        export_brain(new, folder / "out", name="new")
    assert sorted(p.name for p in folder.iterdir()) == sorted([alive.name, "brain", "layout", "new", "out"])


def test_originals_of_several_sizes_come_through(folder: Path) -> None:
    large = os.urandom(3 << 20)
    zeros = bytes(20 << 20)
    with Store.create(folder / "brain") as ours:
        with ours.write(ACTOR, NOW) as writer:
            for i, data in enumerate((b"", b"small", large, zeros)):
                original(writer, data, f"file-{i}")
        export_brain(ours, folder / "layout", name="brain")
        for tag in (None, "latest"):
            taken(folder / "layout", folder / str(tag), tag)
            with Store.open(folder / str(tag)) as new:
                assert_equal(ours, new)
                with new.view() as view:
                    assert len(view.content(Digest(__import__("hashlib").sha256(large).digest()))) == len(
                        large
                    )
            assert verify(folder / str(tag)).ok


def test_time_does_not_enter_an_export(folder: Path) -> None:
    layouts.history(folder / "brain").close()
    with Store.open(folder / "brain") as ours:
        export_brain(ours, folder / "one", name="brain")
        os.utime(folder / "brain" / "brain.db", (0, 0))
        export_brain(ours, folder / "two", name="other name", tag="latest")
    assert tree(folder / "one") == tree(folder / "two")
    assert dt.datetime.now(dt.UTC).date().isoformat().encode() not in everything(folder / "one")
