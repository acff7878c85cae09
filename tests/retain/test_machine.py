"""Ingest, drop, supersede, demote, restore, redact and readmit in any order, against a model in memory."""

from __future__ import annotations

import datetime as dt
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from stores import ACTOR, NOW, derivation, fact, registration

from consilience.errors import BlockNotFoundError, PolicyError, UsageError, ValidationError
from consilience.protocol import Block, Canonical, MemoryType, build, format_digest, merkle, sha256
from consilience.retain.erase import finish
from consilience.retain.execute import Retention
from consilience.retain.policy import Policy
from consilience.store import Store
from consilience.store.verify import verify

ALL = Policy(canonical_drop=True, redact=True, canonical_redact=True)
TEXTS = tuple(f"Passage {word} says what no other passage of these files says." for word in "abcde")
FACTS = tuple(fact(text) for text in TEXTS)
ORIGINS = ("one.md", "two.md", "three.md")


def file_of(texts: frozenset[int]) -> tuple[bytes, Block]:
    data = ("# A file\n\n" + "\n\n".join(TEXTS[i] for i in sorted(texts))).encode()
    return data, build(
        Canonical(blob=format_digest(sha256(data)), media_type="text/markdown", size=len(data))
    )


@dataclass
class Model:
    """What there should be. Ids are those of blocks; `said` counts the words about each in the order of time."""

    members: set[bytes] = field(default_factory=set)
    known: dict[bytes, Block] = field(default_factory=dict)
    bytes_gone: set[bytes] = field(default_factory=set)
    readmitted: set[bytes] = field(default_factory=set)
    sources: dict[bytes, set[bytes]] = field(default_factory=dict)
    hidden_by: dict[bytes, bytes | None] = field(default_factory=dict)
    along: dict[bytes, set[bytes]] = field(default_factory=dict)

    def cascade(self, start: set[bytes]) -> set[bytes]:
        going = set(start)
        while True:
            more = {
                b
                for b, sources in self.sources.items()
                if b in self.members - going and sources & going and not sources & (self.members - going)
            }
            if not more:
                return going
            going |= more

    def end(self, block: bytes) -> bytes | None:
        """The last successor of a hidden block."""
        at = self.hidden_by.get(block)
        while at is not None and self.hidden_by.get(at) is not None:
            at = self.hidden_by[at]
        return at


class Machine(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        memory = Path("/dev/shm")
        self.folder = Path(tempfile.mkdtemp(prefix="csl-", dir=memory if memory.is_dir() else None))
        self.store = Store.create(self.folder / "brain")
        self.model = Model()
        self.now = NOW
        self.destroyed: dict[bytes, bytes] = {}

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            files = [p.read_bytes() for p in self.folder.rglob("*") if p.is_file()]
            assert not [d for d in self.destroyed.values() for data in files if d in data]
            shutil.rmtree(self.folder)

    @property
    def retention(self) -> Retention:
        return Retention(self.store, "brain", actor=ACTOR, clock=lambda: self.now)

    def pick(self, data: st.DataObject) -> Block:
        return data.draw(st.sampled_from([self.model.known[i] for i in sorted(self.model.known)]))

    @rule(days=st.integers(-400, 400))
    def the_clock_jumps(self, days: int) -> None:
        self.now = NOW + dt.timedelta(days=days)

    @rule(origin=st.sampled_from(ORIGINS), texts=st.frozensets(st.integers(0, 4), min_size=1))
    def ingest(self, origin: str, texts: frozenset[int]) -> None:
        m = self.model
        data, file = file_of(texts)
        blocks = [file, *(FACTS[i] for i in sorted(texts))]
        refused = {b.id for b in blocks if b.id in m.bytes_gone and b.id not in m.readmitted}
        with self.store.write(ACTOR, self.now) as writer:
            found = writer.redactions([b.id for b in blocks])
            assert {i for i, r in found.items() if not r.readmitted} == refused
            if refused:
                for block in blocks:
                    if block.id in refused:
                        with pytest.raises(PolicyError, match="redacted"):
                            writer.add(block)
                if file.id in refused:
                    with pytest.raises(PolicyError):
                        writer.put_content(data, "text/markdown")
                return
            writer.put_content(data, "text/markdown")
            writer.add_many(blocks)
            writer.add(registration(file, origin, at=writer.at))
            writer.add_many(derivation(b, file, at=writer.at) for b in blocks[1:])
        for block in blocks:
            m.members.add(block.id)
            m.known[block.id] = block
            m.bytes_gone.discard(block.id)
            m.readmitted.discard(block.id)
            m.hidden_by.pop(block.id, None)
            self.destroyed.pop(block.id, None)
        for block in blocks[1:]:
            m.sources.setdefault(block.id, set()).add(file.id)

    @precondition(lambda self: self.model.known)
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        block, m = self.pick(data), self.model
        if block.id not in m.members:
            with pytest.raises(BlockNotFoundError, match="not a member"):
                self.retention.drop([block.id], reason="because", policy=ALL)
            return
        going = m.cascade({block.id})
        report = self.retention.drop([block.id], reason="because", policy=ALL)
        assert {c.block_id for c in report.changed} == {format_digest(i) for i in going}
        m.members -= going

    @precondition(lambda self: self.model.known)
    @rule(data=st.data())
    def redact(self, data: st.DataObject) -> None:
        block, m = self.pick(data), self.model
        if block.id in m.bytes_gone:
            with pytest.raises(UsageError, match="redacted already"):
                self.retention.redact([block.id], reason="because", policy=ALL)
            return
        if block.memory_type is MemoryType.CANONICAL:
            going = m.cascade({block.id}) - m.bytes_gone
        else:
            going = {block.id, *(m.sources[block.id] - m.bytes_gone)}
        with self.store.view() as view:
            sql = "SELECT data FROM blocks WHERE n = ?"
            for block_id, n in view.ordinals(sorted(going)).items():
                self.destroyed[block_id] = view.connection.rows(sql, (n,))[0][0]
        report = self.retention.redact([block.id], reason="because", policy=ALL)
        assert {c.block_id for c in report.changed} == {format_digest(i) for i in going}
        assert finish(self.store, self.folder / "brain" / "derived").done
        m.bytes_gone |= going
        m.readmitted -= going
        m.along[block.id] = going - {block.id}

    @precondition(lambda self: self.model.bytes_gone)
    @rule(data=st.data())
    def readmit(self, data: st.DataObject) -> None:
        m = self.model
        chosen = data.draw(st.sampled_from(sorted(m.bytes_gone)))
        report = self.retention.readmit([chosen], reason="consent")
        lifted = {bytes.fromhex(c.block_id[7:]) for c in report.changed}
        assert lifted <= m.bytes_gone and (chosen in lifted) is (chosen not in m.readmitted)
        m.readmitted |= lifted

    @precondition(lambda self: len(self.model.members) > 1)
    @rule(data=st.data())
    def supersede(self, data: st.DataObject) -> None:
        m = self.model
        old, by = self.pick(data), self.pick(data)
        if old.id not in m.members or by.id not in m.members:
            with pytest.raises(BlockNotFoundError):
                self.retention.supersede(old.id, by.id)
        elif old.id == by.id or old.memory_type is not by.memory_type:
            with pytest.raises(UsageError):
                self.retention.supersede(old.id, by.id)
        elif m.hidden_by.get(old.id) == by.id:
            assert not self.retention.supersede(old.id, by.id).records
        elif by.id in m.hidden_by and (m.end(by.id) == old.id or self._passes(by.id, old.id)):
            with pytest.raises(ValidationError, match="circle"):
                self.retention.supersede(old.id, by.id)
        else:
            self.retention.supersede(old.id, by.id)
            m.hidden_by[old.id] = by.id

    def _passes(self, start: bytes, wanted: bytes) -> bool:
        at: bytes | None = start
        while at is not None:
            at = self.model.hidden_by.get(at)
            if at == wanted:
                return True
        return False

    @precondition(lambda self: self.model.members)
    @rule(data=st.data())
    def demote_or_restore(self, data: st.DataObject) -> None:
        m = self.model
        block = self.pick(data)
        if block.id not in m.members:
            with pytest.raises(BlockNotFoundError):
                self.retention.demote([block.id])
        elif block.id in m.hidden_by:
            self.retention.restore([block.id, block.id])
            del m.hidden_by[block.id]
        else:
            self.retention.demote([block.id])
            m.hidden_by[block.id] = None

    @invariant()
    def everything_is_as_the_model_says(self) -> None:
        if not hasattr(self, "store"):
            return
        m = self.model
        with self.store.view() as view:
            if view.snapshot is None:
                return
            report = verify(view)
            assert report.problems == () and report.orphans == ()
            ns = view.ordinals(sorted(m.known))
            assert {i for i, n in ns.items() if n in view.members(list(ns.values()))} == m.members
            assert {b.id for b in view.blocks(list(ns.values())) if b.data is None} == m.bytes_gone
            hidden = view.hidden(list(ns.values()))
            assert {i for i, n in ns.items() if n in hidden} == m.hidden_by.keys()
            for block_id in m.hidden_by:
                assert hidden[ns[block_id]].superseded_by == m.end(block_id)
            for module in view.modules():
                if module.memory_type is not MemoryType.PROVENANCE:
                    own = sorted(i for i in m.members if m.known[i].memory_type is module.memory_type)
                    assert module.root == merkle.root(own) and module.count == len(own)
                    assert module.tombstones == m.bytes_gone & set(own)


TestMachine = Machine.TestCase
TestMachine.settings = settings(
    max_examples=12,
    stateful_step_count=14,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),  # shrinking some dozen commits takes minutes
    suppress_health_check=list(HealthCheck),
)
