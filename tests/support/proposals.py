"""A small brain with sources, and a short way to propose something to it."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stores import ACTOR, NOW

from consilience.ingest import discover
from consilience.ingest.pipeline import Ingest, is_from_reader
from consilience.propose.candidates import Candidates, read_candidates
from consilience.propose.commit import commit, validate
from consilience.propose.report import Committed, Judged, Validation
from consilience.propose.task import Task, define
from consilience.protocol import Digest, format_digest
from consilience.store import Store, View

PROPOSALS = "boltzmann.candidates/v1"
PUMP = "The pump of the northern well loses pressure when its filter is clogged with sand."
FILTER = "Replace the filter every ninety days and note the date in the log."
PANEL = "Panels deliver less current once the water tower casts its shadow over them."
TEXT = f"# Pumps\n\n{PUMP}\n\n## Filters\n\n{FILTER}\n\n{PANEL}\n"


@dataclass
class Proposals:
    """One store, the folder beside it, and what its file became."""

    store: Store
    folder: Path

    @classmethod
    def create(cls, folder: Path) -> Proposals:
        made = cls(Store.create(folder / "brain"), folder)
        made.ingest("pumps.md", TEXT)
        return made

    def ingest(self, name: str, text: str) -> None:
        file = self.folder / "notes" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        run = Ingest(self.store, actor=ACTOR, clock=lambda: NOW)
        run.run(discover([file], root=self.folder))

    def file(self, name: str = "pumps.md") -> str:
        with self.store.view() as view:
            registered = view.registered(f"notes/{name}")
            assert registered is not None
            return format_digest(registered.id)

    def passages(self, name: str = "pumps.md") -> list[str]:
        with self.store.view() as view:
            registered = view.registered(f"notes/{name}")
            assert registered is not None
            ns = [n for n, _ in view.children(registered.n) if is_from_reader(view, n)]
            return [format_digest(block.id) for block in view.blocks(ns)]

    def task(self, *sources: str, **more: Any) -> Task:
        with self.store.view() as view:
            return define(view, sources or [self.file()], **more)

    def read(self, task: Task, *candidates: Any, **more: Any) -> Candidates:
        document = {"schema_version": PROPOSALS, "candidates": list(candidates), **more}
        return read_candidates(json.dumps(document).encode(), task)

    def judge(self, *candidates: Any, task: Task | None = None) -> Validation:
        task = task or self.task()
        with self.store.view() as view:
            return validate(view, "north", task, self.read(task, *candidates))

    def verdict(self, candidate: Any, task: Task | None = None) -> tuple[str, set[str]]:
        [judged] = self.judge(candidate, task=task).candidates
        return judged.verdict, codes(judged)

    def commit(self, *candidates: Any, task: Task | None = None, **more: Any) -> Committed:
        task = task or self.task()
        options = {"actor": ACTOR, "clock": lambda: NOW, **more}
        return commit(self.store, "north", task, self.read(task, *candidates), **options)

    def head(self) -> Digest | None:
        with self.store.view() as view:
            return view.snapshot.digest if view.snapshot else None

    def view(self) -> View:
        return self.store.view()

    # --- candidates -----------------------------------------------------------------------------------------

    def fact(
        self, statement: str = "Sand in the filter costs pressure.", label: str = "Sand", **more: Any
    ) -> dict[str, Any]:
        payload = {"kind": "fact", "label": label, "statement": statement, **more.pop("payload", {})}
        evidence = more.pop("evidence", None) or [self.file()]
        return {"memory_type": "semantic", "payload": payload, "evidence": evidence, **more}

    def event(self, summary: str = "The filter was replaced.", **more: Any) -> dict[str, Any]:
        payload = {"summary": summary, "occurred_at": "2026-05-01T00:00:00Z", **more.pop("payload", {})}
        return {"memory_type": "episodic", "payload": payload, "evidence": [self.file()], **more}

    def procedure(self, goal: str = "The filter is new.", **more: Any) -> dict[str, Any]:
        payload = {
            "label": "Filter",
            "goal": goal,
            "steps": [{"action": "Unscrew it."}],
            **more.pop("payload", {}),
        }
        return {"memory_type": "procedural", "payload": payload, "evidence": [self.file()], **more}


def codes(judged: Judged) -> set[str]:
    return {issue.code for issue in judged.issues}


def at(day: int) -> dt.datetime:
    return NOW + dt.timedelta(days=day)
