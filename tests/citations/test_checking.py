"""Citations against brains: every way in which one can stand or fall."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from stores import ACTOR, NOW, commit, demotion, derivation, fact, facts, original, registration, supersession

from consilience.citations.checking import Checker
from consilience.citations.model import CheckReport, Finding, Status
from consilience.citations.proofs import check_proof, prove_blocks
from consilience.errors import BrainNotFoundError, UsageError
from consilience.model import cite
from consilience.protocol import Block, MemoryType, format_digest
from consilience.store import Store, View
from consilience.store.prune import Keep, prune

SEMANTIC = MemoryType.SEMANTIC


class Library:
    """Some stores by name, and how often each was opened."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stores: dict[str, Store] = {}
        self.opened: list[str] = []

    def store(self, name: str) -> Store:
        if name not in self._stores:
            self._stores[name] = Store.create(self._folder / name)
        return self._stores[name]

    @contextlib.contextmanager
    def view(self, name: str) -> Iterator[View]:
        self.opened.append(name)
        if name == "gone":
            raise BrainNotFoundError("no layout")
        if name not in self._stores:
            raise UsageError("no such brain")
        with self.store(name).view() as view:
            yield view

    def check(self, text: str) -> CheckReport:
        with Checker(self.view) as checker:
            return checker.check(text)

    def one(self, text: str) -> Finding:
        (finding,) = self.check(text).findings
        return finding

    def cite(self, block: Block, name: str = "station", module: MemoryType = SEMANTIC, root: str = "") -> str:
        return cite(name, module, format_digest(block.id), root or self.root(name, module))

    def root(self, name: str = "station", module: MemoryType = SEMANTIC) -> str:
        with self.store(name).view() as view:
            return format_digest(next(m.root for m in view.modules() if m.memory_type is module))

    def close(self) -> None:
        for store in self._stores.values():
            store.close()


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    made = Library(tmp_path)
    made.store("station")
    yield made
    made.close()


@pytest.fixture
def station(library: Library) -> Store:
    return library.store("station")


def test_current(library: Library, station: Store) -> None:
    a, b = facts(0, 2)
    commit(station, [a, b])
    finding = library.one(library.cite(a))
    assert (finding.status, finding.ok, finding.older, finding.reason) == (
        Status.CURRENT,
        True,
        None,
        "holds",
    )


def test_superseded_follows_to_the_end(library: Library, station: Store) -> None:
    a, b, c = facts(0, 3)
    commit(station, [a, b, c, supersession(b, a)])
    assert library.one(library.cite(a)).superseded_by == format_digest(b.id)
    commit(station, [supersession(c, b, "2026-03-01T12:00:05Z")])
    finding = library.one(library.cite(a))
    assert (finding.status, finding.ok, finding.superseded_by) == (
        Status.SUPERSEDED,
        True,
        format_digest(c.id),
    )
    assert format_digest(c.id)[7:19] in finding.reason


def test_demoted(library: Library, station: Store) -> None:
    (a,) = facts(0, 1)
    commit(station, [a, demotion(a)])
    assert (library.one(library.cite(a)).status, library.one(library.cite(a)).ok) == (Status.DEMOTED, True)


def test_redacted_holds_but_a_quotation_cannot_be_checked(library: Library, station: Store) -> None:
    a, b = facts(0, 2)
    commit(station, [a, b])
    before = library.cite(a)
    with station.write(ACTOR, NOW) as writer:
        writer.destroy(writer.ordinals([a.id]).values(), {})
    for citation in (before, library.cite(a)):
        finding = library.one(citation)
        assert (finding.status, finding.ok) == (Status.REDACTED, True)
    finding = library.one(f'"Statement number 0" {before}')
    assert (finding.status, finding.ok, finding.quotation_stands) == (Status.REDACTED, False, None)


def test_the_root_of_an_older_snapshot(library: Library, station: Store) -> None:
    a, b = facts(0, 2)
    commit(station, [a])
    old = library.cite(a)
    commit(station, [b])
    commit(station, facts(5, 6))
    finding = library.one(old)
    assert (finding.status, finding.ok) == (Status.CURRENT, True)
    assert finding.older is not None
    with station.view() as view:
        first = view.history()[-1]
    assert (finding.older.snapshot, finding.older.seq, finding.older.later) == (
        format_digest(first.digest),
        1,
        2,
    )
    assert finding.older.created_at == first.created_at


def test_a_member_of_an_older_snapshot_only(library: Library, station: Store) -> None:
    a, b = facts(0, 2)
    commit(station, [a, b])
    old = library.cite(a)
    commit(station, [], withdraw=[a])
    finding = library.one(old)
    assert (finding.status, finding.ok) == (Status.PAST, True)
    assert finding.older is not None and finding.older.seq == 1 and "snapshot 1 of 2026" in finding.reason
    finding = library.one(library.cite(a))
    assert (finding.status, finding.ok) == (Status.NOT_UNDER_ROOT, False)
    assert "not a member now" in finding.reason


def test_a_root_that_comes_again_is_that_of_the_last_snapshot_with_it(
    library: Library, station: Store
) -> None:
    a, b = facts(0, 2)
    commit(station, [a])
    old = library.cite(a)
    commit(station, [b])
    commit(station, [], withdraw=[b])
    assert library.one(old).older is None, "it is the head's again"
    commit(station, [b])
    older = library.one(old).older
    assert older is not None and older.seq == 3


def test_known_but_no_member_under_that_root(library: Library, station: Store) -> None:
    a, b = facts(0, 2)
    commit(station, [a])
    old = library.root()
    commit(station, [b])
    finding = library.one(library.cite(b, root=old))
    assert (finding.status, finding.ok) == (Status.NOT_UNDER_ROOT, False)
    assert finding.reason.endswith("it is a member now") and finding.older is not None


def test_a_block_of_another_module(library: Library, station: Store) -> None:
    (a,) = facts(0, 1)
    record = registration(a, "a.md")
    commit(station, [a, record])
    finding = library.one(library.cite(a, module=MemoryType.PROVENANCE))
    assert (finding.status, finding.ok) == (Status.NOT_UNDER_ROOT, False)
    assert finding.reason == "the block is semantic, not provenance"
    assert library.one(library.cite(record, module=MemoryType.PROVENANCE)).ok


def test_what_is_not_here(library: Library, station: Store) -> None:
    a, stranger = facts(0, 2)
    commit(station, [a])
    zero = "sha256:" + "0" * 64
    expected = {
        library.cite(stranger): Status.NOT_A_MEMBER,
        library.cite(a, root=zero): Status.UNKNOWN_ROOT,
        library.cite(a, module=MemoryType.EPISODIC, root=library.root()): Status.UNKNOWN_ROOT,
        cite("station", SEMANTIC, zero, zero): Status.UNKNOWN_ROOT,
        cite("elsewhere", SEMANTIC, zero, zero): Status.UNKNOWN_BRAIN,
        cite("gone", SEMANTIC, zero, zero): Status.ABSENT_BRAIN,
        library.cite(a)[:-1]: Status.MALFORMED,
    }
    report = library.check("\n".join(expected))
    assert [finding.status for finding in report.findings] == list(expected.values())
    assert not any(finding.ok for finding in report.findings) and report.failed == len(expected)
    assert "a member now" in report.findings[1].reason


def test_a_pruned_root_is_not_retained(library: Library, station: Store) -> None:
    a, b, c = facts(0, 3)
    commit(station, [a])
    old = library.cite(a)
    commit(station, [b])
    commit(station, [c])
    prune(station, Keep(snapshots=1), actor=ACTOR, now=NOW)
    finding = library.one(old)
    assert (finding.status, finding.ok) == (Status.ROOT_NOT_RETAINED, False)
    assert "snapshot 1 of 2026" in finding.reason and finding.reason.endswith("the block is a member now")
    assert library.one(library.cite(a)).ok


def test_a_brain_that_is_called_otherwise_here(library: Library, station: Store) -> None:
    a, b = facts(0, 2)
    commit(station, [a])
    old = library.cite(a)
    commit(station, [b])
    for citation in (old, library.cite(a)):
        foreign = citation.replace("csl:station", "csl:lake")
        with Checker(library.view, names=("gone", "station")) as checker:
            (finding,) = checker.check(foreign).findings
        assert (finding.status, finding.ok) == (Status.UNKNOWN_BRAIN, False)
        assert finding.reason.endswith("its root is that of 'station'")
    assert "its root" not in library.one(library.cite(a, root="sha256:" + "0" * 64, name="lake")).reason


def test_a_proof_stands_in_for_a_brain_that_is_not_here(library: Library, station: Store) -> None:
    a, b = facts(0, 2)
    commit(station, [a, b])
    with station.view() as view:
        proof = check_proof("a.json", prove_blocks(view, "whatever", [a.id]))
    there, gone = library.cite(a), library.cite(a).replace("csl:station", "csl:gone")
    other = library.cite(b).replace("csl:station", "csl:gone")
    text = f'{there} {gone} {other}\n\n"Statement number 0" {gone}\n\n"Statement number 1" {gone}'
    with Checker(library.view, proofs=[proof]) as checker:
        findings = checker.check(text).findings
    assert [finding.status for finding in findings] == [
        Status.CURRENT, Status.PROVEN, Status.ABSENT_BRAIN, Status.PROVEN, Status.PROVEN,
    ]  # fmt: skip
    assert [finding.ok for finding in findings] == [True, True, False, True, False]
    assert "a.json" in findings[1].reason
    refused = check_proof("b.json", b"{}")
    with Checker(library.view, proofs=[refused]) as checker:
        assert checker.check(gone).findings[0].status is Status.ABSENT_BRAIN


def test_a_brain_without_a_snapshot(library: Library) -> None:
    (a,) = facts(0, 1)
    finding = library.one(library.cite(a, root="sha256:" + "1" * 64))
    assert (finding.status, finding.ok) == (Status.UNKNOWN_ROOT, False)


def spoil(store: Store, sql: str) -> None:
    with contextlib.closing(sqlite3.connect(store.path / "brain.db")) as raw, raw:
        raw.execute(sql)


@pytest.mark.parametrize(
    ("sql", "status"),
    [
        ("UPDATE blocks SET data = zeroblob(9) WHERE n = 1", Status.DAMAGED),
        ("UPDATE blocks SET id = zeroblob(32) WHERE n = 2", Status.DAMAGED),
        ("UPDATE blocks SET departed = 1 WHERE n = 2", Status.DAMAGED),
        ("UPDATE blocks SET type = 9 WHERE n = 1", Status.UNREADABLE),
        ("UPDATE snapshots SET document = zeroblob(9)", Status.UNREADABLE),
    ],
    ids=["bytes", "id", "membership", "module", "snapshot"],
)
def test_nothing_is_taken_from_the_word_of_the_database(
    library: Library, station: Store, sql: str, status: Status
) -> None:
    a, b = facts(0, 2)
    commit(station, [a, b])
    other = library.store("other")
    commit(other, [a])
    citations = [library.cite(a), library.cite(a, "other")]
    spoil(station, sql)
    first, second = library.check(" ".join(citations)).findings
    assert (first.status, first.ok) == (status, False)
    assert "'station'" in first.reason or "verify" in first.reason
    assert second.ok, "one brain that cannot be read takes no other with it"


def test_each_brain_is_opened_once_and_held(library: Library, station: Store) -> None:
    a, b = facts(0, 2)
    commit(station, [a])
    citation = library.cite(a)
    with Checker(library.view) as checker:
        assert checker.check(f"{citation} {citation}").ok
        snapshot = checker.snapshots()
        commit(station, [b, supersession(b, a)])
        (finding,) = checker.check(citation).findings
        assert (finding.status, finding.older) == (Status.CURRENT, None)
        (finding,) = checker.check(library.cite(b)).findings
        assert finding.status is Status.UNKNOWN_ROOT, "made after the check began"
        assert checker.snapshots() == snapshot
    assert library.opened == ["station"]


def test_quotations(library: Library, station: Store) -> None:
    block = fact("The film “breathes”:\nit uses up oxygen.")
    commit(station, [block])
    citation = library.cite(block)
    for text, stands in {
        f'"it uses up oxygen" {citation}': True,
        f'"The film "breathes": it uses up oxygen." {citation}': True,
        f'"It uses up oxygen" {citation}': False,
        f"> The film [...] oxygen.\n\n{citation}": True,
        json.dumps({"cite": citation, "quote": 'The film "breathes"'}): True,
        json.dumps({"cite": citation, "quote": "The film breathes"}): False,
    }.items():
        finding = library.one(text)
        assert (finding.status, finding.quotation_stands, finding.ok) == (Status.CURRENT, stands, stands), (
            text
        )


def test_a_quotation_from_a_file(library: Library, station: Store) -> None:
    with station.write(ACTOR, NOW) as writer:
        block = original(writer, "# Título\n\nEl sensor marca de menos.\n".encode(), "a.md")
        picture = original(writer, b"\x89PNG\r\n\x1a\n\0\0", "a.png")
    for text, stands in {
        f"«El sensor marca de menos» {library.cite(block, module=MemoryType.CANONICAL)}": True,
        f"«El sensor marca de más» {library.cite(block, module=MemoryType.CANONICAL)}": False,
        f"«El sensor» {library.cite(picture, module=MemoryType.CANONICAL)}": False,
    }.items():
        assert library.one(text).quotation_stands is stands, text


def test_ten_thousand_citations_of_two_brains(library: Library, station: Store) -> None:
    made = facts(0, 5_000)
    commit(station, made)
    commit(library.store("other"), made)
    roots = {name: library.root(name) for name in ("station", "other")}
    text = "\n".join(
        f'{i}. "Statement number {i} of" {library.cite(block, name, root=roots[name])}'
        for name in roots
        for i, block in enumerate(made)
    )
    report = library.check(text)
    assert len(report.findings) == 10_000 and report.ok
    assert all(finding.quotation_stands for finding in report.findings)


def test_a_brain_of_an_unusual_name(library: Library) -> None:
    (a,) = facts(0, 1)
    name = "análisis ii: 100%"
    commit(library.store(name), [a])
    citation = library.cite(a, name)
    assert "csl:an%C3%A1lisis%20ii%3A%20100%25/" in citation
    for text in (f"[1]({citation})", f"<{citation}>", json.dumps({"cite": citation}), f"{citation}."):
        assert library.one(text).ok


def test_a_source_is_cited_as_well_as_a_passage(library: Library, station: Store) -> None:
    with station.write(ACTOR, NOW) as writer:
        source = original(writer, b"one", "a.md")
        passage = fact("one")
        record = derivation(passage, source, "L1")
        writer.add_many([passage, record])
    modules = {source: MemoryType.CANONICAL, passage: SEMANTIC, record: MemoryType.PROVENANCE}
    assert library.check(" ".join(library.cite(b, module=m) for b, m in modules.items())).ok
