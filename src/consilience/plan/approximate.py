"""What the approximate scans of a brain's vectors miss, and making the graph of neighbours where it pays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import msgspec

from consilience.plan import planner
from consilience.plan.questions import noise_questions
from consilience.plan.reader import Reader
from consilience.plan.statistics import Statistics, TwoStage
from consilience.progress import NO_PROGRESS, Progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from consilience.index.vectors import VectorIndex

    Vector = NDArray[np.float32]

T = TypeVar("T")

RECALL_SAMPLE = 32
"""Questions about other things that an approximate scan is measured with."""

NO_LIBRARY = (
    "a graph of neighbours would make questions cheaper here: pip install 'consilience[ann]', then `index`"
)


def question_vectors(reader: Reader) -> list[Vector]:
    """Some of the noise questions, in the brain's own model; none for a brain without words or vectors."""
    if reader.lexical is None or reader.vectors is None or reader.embedder is None:
        return []
    asked = noise_questions(reader.lexical.statistics.languages, across=True)
    texts = [text for _, questions in asked for text in questions]
    return list(reader.embedder().embed(sampled(texts), role="query"))


def sampled(questions: Sequence[T]) -> Sequence[T]:
    """About RECALL_SAMPLE of them, spread evenly."""
    return questions[:: max(1, len(questions) // RECALL_SAMPLE)]


def two_stage(reader: Reader, questions: Sequence[Vector]) -> TwoStage | None:
    """What the two-stage scan misses of the rows that have codes, where there are some: asked by rows when the codes
    were made, and by these questions."""
    index = reader.vectors
    codes = index.coarse if index is not None else None
    if index is None or codes is None:
        return None
    import numpy as np

    recalls = {k: index.recall(np.stack(questions), k) if len(questions) else 1.0 for k in (10, 60)}
    return TwoStage(
        generation=codes.generation,
        questions=len(questions),
        recall_10=round(min(codes.recall_10, recalls[10]), 4),
        recall_60=round(min(codes.recall_100, recalls[60]), 4),
    )


def remeasured(reader: Reader, held: Statistics) -> Statistics | None:
    """The statistics with the two-stage scan measured again, where its codes were made anew since; else None."""
    codes = reader.vectors.coarse if reader.vectors is not None else None
    if codes is None or (held.two_stage is not None and held.two_stage.generation == codes.generation):
        return None
    return msgspec.structs.replace(held, two_stage=two_stage(reader, question_vectors(reader)))


@dataclass(frozen=True, slots=True)
class Linking:
    """A graph of neighbours to be made or gone on with: `rows` more vectors, `questions` to measure its recall with."""

    index: VectorIndex
    rows: int
    questions: Sequence[Vector]

    def run(self, progress: Progress = NO_PROGRESS) -> None:
        """Make it. May be stopped at any moment. Raises BusyError where another process is at it,
        IndexUnusableError, StorageError."""
        import numpy as np

        progress.start("linking neighbours", self.rows, "vectors")
        try:
            asked = np.stack(self.questions) if self.questions else None
            self.index.link(asked, progress.advance)
        finally:
            progress.close()


def linking(reader: Reader) -> tuple[Linking | None, str]:
    """The graph of neighbours that the planner says pays and that is not here; and what there is to say of it."""
    index, statistics = reader.vectors, reader.statistics
    if index is None:
        return None, ""
    from consilience.index import hnsw

    rows = index.count // hnsw.SEGMENT * hnsw.SEGMENT
    codes = statistics.two_stage if statistics is not None else None
    if not planner.hnsw_pays(rows, codes.recall_10 if codes is not None else None):
        return None, ""
    if not hnsw.installed():
        return None, NO_LIBRARY
    unlinked = index.unlinked()
    return (Linking(index, unlinked, question_vectors(reader)) if unlinked else None), ""
