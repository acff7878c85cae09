"""The store against a model made of dicts and sets, by random sequences of commits."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from stores import ACTOR, NOW, demotion, derivation, fact, facts, supersession

from consilience.protocol import Block, Digest, MemoryType, merkle
from consilience.store import Store, View
from consilience.store.verify import verify

BLOCKS = facts(0, 6)
SOURCE = fact("the source of all")
which = st.integers(0, len(BLOCKS) - 1)


class Machine(RuleBasedStateMachine):
    """One rule is one commit. `members` and `words` are the model; `past` what it was at each snapshot."""

    @initialize()
    def begin(self) -> None:
        memory = Path("/dev/shm")
        self.folder = Path(tempfile.mkdtemp(prefix="csl-", dir=memory if memory.is_dir() else None))
        self.store = Store.create(self.folder / "brain")
        self.members: dict[bytes, MemoryType] = {}
        self.ordinals: dict[bytes, int] = {}
        self.words: dict[bytes, list[tuple[str, bytes | None]]] = {}
        self.past: list[tuple[Digest, dict[bytes, MemoryType], dict[bytes, bool]]] = []
        self.clock = 0

    def at(self) -> str:
        self.clock += 1
        return f"2026-{self.clock // 25 + 1:02d}-{self.clock % 25 + 1:02d}T00:00:00Z"

    def commit(
        self, blocks: list[Block], withdraw: list[bytes], words: list[tuple[bytes, str, bytes | None]]
    ) -> None:
        before = dict(self.members)
        with self.store.write(ACTOR, NOW) as writer:
            for (n, is_new), block in zip(writer.add_many(blocks), blocks, strict=True):
                assert is_new == (block.id not in self.members)
                assert self.ordinals.setdefault(block.id, n) == n
                self.members[block.id] = block.memory_type
            writer.withdraw([self.ordinals[i] for i in withdraw if i in self.ordinals])
            for block_id in withdraw:
                self.members.pop(block_id, None)
        for block_id, word, by in words:
            self.words.setdefault(block_id, []).append((word, by))
        assert (writer.snapshot is not None) == (before != self.members)
        if writer.snapshot is not None:
            self.past.append((writer.snapshot.digest, dict(self.members), self.hidden()))

    def hidden(self) -> dict[bytes, bool]:
        """What is hidden by the rule, and whether by a demotion since it was last derived."""
        out = {}
        for block_id, words in self.words.items():
            said = [w for w, _ in words]
            standing = said[len(said) - said[::-1].index("derived") :] if "derived" in said else said
            if standing:
                out[block_id] = "demoted" in standing
        return out

    @rule(chosen=st.lists(which, max_size=5))
    def add(self, chosen: list[int]) -> None:
        self.commit([BLOCKS[i] for i in chosen], [], [])

    @rule(chosen=st.lists(which, max_size=3), more=st.lists(which, max_size=2))
    def withdraw(self, chosen: list[int], more: list[int]) -> None:
        self.commit([BLOCKS[i] for i in more], [BLOCKS[i].id for i in chosen], [])

    @rule(loser=which, winner=which)
    def supersede(self, loser: int, winner: int) -> None:
        record = supersession(BLOCKS[winner], BLOCKS[loser], self.at())
        words = [(BLOCKS[loser].id, "superseded", BLOCKS[winner].id)] if loser != winner else []
        self.commit([record], [], words)

    @rule(i=which)
    def demote(self, i: int) -> None:
        self.commit([demotion(BLOCKS[i], self.at())], [], [(BLOCKS[i].id, "demoted", None)])

    @rule(i=which, also=st.booleans())
    def derive(self, i: int, also: bool) -> None:
        blocks = [derivation(BLOCKS[i], SOURCE, at=self.at()), *([BLOCKS[i]] if also else [])]
        self.commit(blocks, [], [(BLOCKS[i].id, "derived", None)])

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = Store.open(self.folder / "brain")

    def check(self, view: View, members: dict[bytes, MemoryType], hidden: dict[bytes, bool]) -> None:
        for memory_type in (MemoryType.SEMANTIC, MemoryType.PROVENANCE):
            expected = sorted(i for i, m in members.items() if m is memory_type)
            assert view.sorted_ids(memory_type) == expected
            assert view.count(memory_type) == len(expected)
            state = next((m for m in view.modules() if m.memory_type is memory_type), None)
            if state is not None:
                assert state.root == merkle.root(expected) and state.count == len(expected)
        assert {b.id for b in view.scan()} == members.keys()
        ns = {self.ordinals[b.id]: b.id for b in BLOCKS if b.id in self.ordinals}
        found = view.hidden(ns)
        assert {ns[n]: h.demoted for n, h in found.items()} == {
            i: d for i, d in hidden.items() if i in ns.values()
        }
        shown = {i for i, m in members.items() if i in hidden and m is MemoryType.SEMANTIC}
        assert view.hidden_count(MemoryType.SEMANTIC) == len(shown)

    @invariant()
    def the_head_is_the_model(self) -> None:
        with self.store.view() as view:
            self.check(view, self.members, self.hidden())

    @invariant()
    def an_older_snapshot_is_what_it_was(self) -> None:
        if self.past:
            digest, members, hidden = self.past[len(self.past) // 2]
            with self.store.view(digest) as view:
                self.check(view, members, hidden)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            report = verify(self.folder / "brain", every_snapshot=True)
            shutil.rmtree(self.folder)
            assert report.ok, report


Machine.TestCase.settings = settings(
    max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestModel = Machine.TestCase
