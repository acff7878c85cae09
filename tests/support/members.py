"""In-memory members of a compound: each answers with a ranking that the test wrote down."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import msgspec

from consilience.model import (
    Bundle,
    Explanation,
    FloorReport,
    GeneratorReport,
    IndexReport,
    Match,
    ModuleRoot,
    PlanReport,
    PlanSummary,
    Query,
    Source,
)
from consilience.protocol import MemoryType


def digest(of: object) -> str:
    return "sha256:" + hashlib.sha256(str(of).encode()).hexdigest()


def block(label: object) -> str:
    """A block id; the same label is the same block in every brain."""
    return digest(f"block {label}")


def source(label: object) -> Source:
    return Source(
        block_id=digest(f"file {label}"), origin=f"docs/{label}.md", locator="L1-L2", record=digest(label)
    )


def match(label: object, *, brain: str = "", **values: object) -> Match:
    """One match; the member that holds it sets rank and score. Content depends on the block alone."""
    fields: dict[str, object] = {
        "block_id": block(label),
        "memory_type": MemoryType.SEMANTIC,
        "rank": 1,
        "score": 1.0,
        "strength": 0.9,
        "content": msgspec.Raw(msgspec.json.encode({"statement": f"what {label} says"})),
        "text": f"what {label} says",
        "title": f"{label} in {brain}",
        "sources": (source(f"{brain}/{label}"),),
    }
    return Match(**(fields | values))  # type: ignore[arg-type]


class FakeMember:
    """Answers with `ranking` (labels or matches, best first) cut at the limit; keeps what it was asked."""

    def __init__(
        self,
        name: str,
        ranking: Sequence[object] = (),
        *,
        truncated: bool = False,
        withheld: int = 0,
        warnings: Sequence[str] = (),
        dropped: Sequence[str] = (),
        elapsed_ms: float = 1.0,
        before: Callable[[], object] = lambda: None,
    ) -> None:
        self.name = name
        self.matches = tuple(
            msgspec.structs.replace(
                each if isinstance(each, Match) else match(each, brain=name), rank=rank, score=1.0 / rank
            )
            for rank, each in enumerate(ranking, 1)
        )
        self.truncated = truncated
        self.withheld = withheld
        self.warnings = tuple(warnings)
        self.dropped = tuple(dropped)
        self.elapsed_ms = elapsed_ms
        self.before = before
        self.asked: list[Query] = []
        self.analyzed: list[bool] = []

    def root(self, module: MemoryType) -> str:
        return digest(f"root of {module} in {self.name}")

    def search(self, query: Query) -> Bundle:
        self.asked.append(query)
        self.before()
        kept = self.matches[: query.limit]
        return Bundle(
            brain=self.name,
            query=query,
            matches=kept,
            truncated=self.truncated or len(kept) < len(self.matches),
            withheld=self.withheld,
            verified_against=tuple(
                ModuleRoot(module=module, root=self.root(module))
                for module in (MemoryType.EPISODIC, MemoryType.SEMANTIC)
            ),
            snapshot=digest(f"snapshot of {self.name}"),
            plan=PlanSummary(
                name=f"plan of {self.name}",
                generators=("lexical", "vectors"),
                weights=(0.3, 0.7),
                estimated_us=123.456,
                estimated_recall=0.98765,
            ),
            elapsed_ms=self.elapsed_ms,
            warnings=self.warnings,
            dropped=self.dropped,
        )

    def explain(self, query: Query, *, analyze: bool = False) -> Explanation:
        self.asked.append(query)
        self.analyzed.append(analyze)
        self.before()
        actual = self.elapsed_ms * 1000 if analyze else None
        generator = GeneratorReport(
            name="lexical",
            k=100,
            weight=1.0,
            estimated_us=100.0,
            estimated_rows=20.0,
            actual_us=actual,
            actual_rows=3 if analyze else None,
        )
        plans = tuple(
            PlanReport(
                name=f"{name} of {self.name}",
                chosen=name == "lexical",
                reason=reason,
                estimated_us=100.0,
                estimated_recall=0.9,
                generators=(generator,),
                actual_us=actual if name == "lexical" else None,
            )
            for name, reason in (("lexical", "the cheapest"), ("scan", "dearer"))
        )
        return Explanation(
            brain=self.name,
            query=query,
            snapshot=digest(f"snapshot of {self.name}"),
            intent="words",
            plans=plans,
            indices=(IndexReport(name="lexical", available=True, consulted=True, covered=9, of=9),),
            statistics="fresh",
            floor=FloorReport(
                applied=True,
                threshold=0.95,
                speaks=0.97,
                samples=40,
                best=0.99,
                best_withheld=0.9471,
                withheld=2,
            ),
            analyzed=analyze,
            count=len(self.matches) if analyze else None,
            warnings=self.warnings,
        )


def failing(error: BaseException) -> Callable[[], object]:
    """What a member does that cannot answer."""

    def fail() -> object:
        raise error

    return fail
