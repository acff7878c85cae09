"""What must hold of a brain whose writer was killed or met a failing disk, compared with one that was left alone."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from faults import Fault, Outcome, Worker
from operations import OPERATIONS, QUESTIONS, Work
from product import Product

from consilience.store import Store
from consilience.store.verify import verify

LASTING = ("semantic", "canonical")
"""Modules whose roots do not depend on when something was done."""


def history(brain: Path) -> list[str]:
    """The digests of a brain's snapshots, oldest first; none where there is no brain yet."""
    if not Store.exists(brain):
        return []
    with Store.open(brain) as store, store.view() as view:
        return [each.digest.hex() for each in reversed(view.history(100_000))]


def roots(brain: Path) -> dict[str, str]:
    with Store.open(brain) as store, store.view() as view:
        return {m.memory_type.value: m.root.hex() for m in view.modules() if m.memory_type.value in LASTING}


def answers(farm: Product) -> dict[str, list[str]]:
    """The blocks that a brain answers with. Not their scores: an index that was made anew no longer counts the words of
    blocks that left."""
    found = {}
    for question in QUESTIONS:
        matches = farm.search("one", "--no-floor", "-n", "1000", question)["matches"]
        found[question] = sorted(m["block_id"] for m in matches)
    return found


def names(brains: Path) -> set[str]:
    """The files of all brains, with what is different in each brain (hashes, generations, segments) masked. SQLite's
    log, which is there while anybody in any process has the database open, aside."""
    found = (str(p.relative_to(brains)) for p in brains.rglob("*") if p.is_file())
    found = (name for name in found if not name.endswith((".db-wal", ".db-shm")))
    return {re.sub(r"\.\d+\.", ".N.", re.sub(r"[0-9a-f]{16,}", "HASH", name)) for name in found}


def stray_segments(brain: Path) -> set[str]:
    """Files of the lexical engine that belong to no segment it knows."""
    engine = brain / "derived" / "lexical" / "engine"
    if not engine.is_dir():
        return set()
    known = {
        s["segment_id"].replace("-", "") for s in json.loads((engine / "meta.json").read_bytes())["segments"]
    }
    stems = {p.name.partition(".")[0] for p in engine.iterdir() if re.match(r"[0-9a-f]{32}\.", p.name)}
    return stems - known


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def one_more(farm: Product) -> None:
    """The next writer."""
    farm.write("more/after.md", "# Afterwards\n\nThe gate is closed again.\n")
    farm.ingest("more", "--brain", "one")


@dataclass(frozen=True)
class Case:
    """One operation: the project it starts from, and what it makes of it undisturbed."""

    name: str
    farm: Product
    work: Work
    whole: Product
    outcome: Outcome

    @property
    def args(self) -> list[str]:
        return [*self.work.args, "--json"]

    @property
    def calls(self) -> int:
        return self.outcome.calls

    @cached_property
    def before(self) -> list[str]:
        return history(self.farm.brain("one"))

    @cached_property
    def after(self) -> list[str]:
        return history(self.whole.brain("one"))

    @cached_property
    def roots(self) -> dict[str, str]:
        return roots(self.whole.brain("one"))

    @cached_property
    def answers(self) -> dict[str, list[str]]:
        return answers(self.whole)

    @cached_property
    def names(self) -> set[str]:
        """The files of the brain left alone, after one more writer."""
        assert self.answers
        one_more(self.whole)
        return names(self.whole.root / "brains")

    @contextmanager
    def copy(self) -> Iterator[Product]:
        """The project before the operation, to be spoiled."""
        folder = Path(tempfile.mkdtemp(prefix="case-", dir=self.farm.root.parent))
        try:
            yield Product(Path(shutil.copytree(self.farm.root, folder / "farm")))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def sound(self, farm: Product, acks: tuple[str, ...]) -> None:
        """Every acknowledged commit is there and at most one more; everything verifies and can be asked."""
        brain = farm.brain("one")
        found = history(brain)
        kept = [each for each in found if each in self.before]
        expected = self.before[len(self.before) - len(kept) :] if self.work.shortens else self.before
        assert kept == expected, ("history", found, self.before)
        new = found[len(kept) :]
        assert found[: len(kept)] == kept, ("history", found, self.before)
        if self.work.at_once:
            assert new in ([], self.after[len(self.before) :]), (new, acks)
        else:
            assert tuple(new[: len(acks)]) == acks and len(new) - len(acks) in (0, 1), (new, acks)
        if not found:
            return
        report = verify(brain, every_snapshot=True)
        assert report.ok, report.problems
        for question in QUESTIONS[:1]:
            assert farm.csl("search", "--brain", "one", question, "--json").status == 0

    def completed(self, farm: Product) -> None:
        """The same command again finishes the work, and nothing tells the brain from one left alone."""
        brain = farm.brain("one")
        done = farm.csl(*self.args)
        assert done.status in self.work.again, done
        for args in self.work.then:
            assert farm.csl(*args).status == 0
        if self.work.same:
            assert tree(farm.root / self.work.same) == tree(self.whole.root / self.work.same)
        if self.work.gone:
            holding = [p.name for p in brain.rglob("*") if p.is_file() and self.work.gone in p.read_bytes()]
            assert not holding, f"not erased from {holding}"
        report = verify(brain, every_snapshot=True)
        assert report.ok and report.orphans == (), report
        assert roots(brain) == self.roots, "other blocks"
        found = answers(farm)
        other = {q: set(found[q]) ^ set(self.answers[q]) for q in QUESTIONS if found[q] != self.answers[q]}
        assert not other, f"other answers: {other}"
        one_more(farm)
        left = names(farm.root / "brains") - self.names
        assert not left, f"left behind: {left}"
        assert not stray_segments(brain), f"segments of nobody: {stray_segments(brain)}"


def cases(worker: Worker, base: Product, folder: Path) -> Callable[[str], Case]:
    """Operations by name, each prepared and run undisturbed once."""
    made: dict[str, Case] = {}

    def case(name: str) -> Case:
        if name not in made:
            home = folder / name.replace(" ", "-")
            farm = Product(Path(shutil.copytree(base.root, home / "farm")))
            work = OPERATIONS[name](farm)
            whole = Product(Path(shutil.copytree(farm.root, home / "whole")))
            outcome = worker.run(whole, [*work.args, "--json"], fault=Fault(1 << 40))
            assert outcome.done.status == 0, outcome
            made[name] = Case(name, farm, work, whole, outcome)
            assert (
                made[name].before is not None and made[name].roots and made[name].after
            )  # before it changes
        return made[name]

    return case
