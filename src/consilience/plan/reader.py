"""What a question is asked of: one brain at one snapshot, with whatever indices it has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from consilience.plan.cost import CostModel
from consilience.plan.statistics import Statistics
from consilience.store import View

if TYPE_CHECKING:
    from consilience.embed import Embedder
    from consilience.index.edges import EdgeIndex
    from consilience.index.facets import FacetIndex
    from consilience.index.lexical import LexicalIndex
    from consilience.index.vectors import VectorIndex
    from consilience.plan.trust import Trust


@dataclass(frozen=True, slots=True)
class Reader:
    """One brain, pinned to one snapshot for the whole of a question.

    An index is None where it is absent or unusable; `notes` says why. `embedder` opens the brain's own model when it
    is first needed; None where the brain has none or it cannot be had, and `embedder_note` says why. `wants_vectors`:
    the brain is meant to have vectors and its model can be had, whether any are here yet or not.
    """

    name: str
    view: View
    lexical: LexicalIndex | None = None
    vectors: VectorIndex | None = None
    facets: FacetIndex | None = None
    edges: EdgeIndex | None = None
    embedder: Callable[[], Embedder] | None = None
    embedder_note: str = ""
    wants_vectors: bool = False
    statistics: Statistics | None = None
    costs: CostModel = field(default=CostModel())
    notes: tuple[str, ...] = field(default=())

    @property
    def trust(self) -> Trust | None:
        """What the brain measured of the vectors that it has."""
        trust = self.statistics.trust if self.statistics is not None else None
        return (
            trust
            if trust is not None and self.vectors is not None and trust.tag == self.vectors.tag
            else None
        )

    @property
    def weak_vectors(self) -> bool:
        """Whether the vectors were measured to find surely less than the words do."""
        return self.trust is not None and self.trust.weak
