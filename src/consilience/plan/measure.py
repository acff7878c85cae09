"""Measuring a brain after it was indexed: its noise, its modules, what its approximate scan misses."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import msgspec

from consilience.model import SEARCHED_BY_DEFAULT, Query
from consilience.plan import approximate, candidates, features, planner
from consilience.plan.answer import begin
from consilience.plan.entries import entries_of
from consilience.plan.floor import Features, measure
from consilience.plan.questions import held_languages, noise_questions
from consilience.plan.reader import Reader
from consilience.plan.statistics import ModuleStatistics, Noise, Statistics
from consilience.plan.trust import measure_trust
from consilience.progress import NO_PROGRESS, Progress
from consilience.protocol import MemoryType
from consilience.store import View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

PROBE_DEPTH = 30
"""Candidates a generator that count as what a noise question found."""

LENGTH_SAMPLE = 200


def measured_blocks(view: View) -> int:
    """Members, with bytes, of the modules that a question reaches by default: what statistics are about."""
    return sum(m.count - len(m.tombstones) for m in view.modules() if m.memory_type in SEARCHED_BY_DEFAULT)


def measure_brain(reader: Reader, progress: Progress = NO_PROGRESS) -> Statistics:
    """Ask the brain the noise questions, without statistics or floor, and sum up what they found and cost."""
    fresh = _without_statistics(reader)
    blocks = measured_blocks(reader.view)
    if reader.lexical is None or not blocks:
        return Statistics(max_n=reader.view.max_n, blocks=blocks)
    semantic = reader.vectors is not None and reader.embedder is not None
    asked = noise_questions(reader.lexical.statistics.languages, across=semantic)
    progress.start("measuring the noise floor", sum(len(questions) for _, questions in asked), "questions")
    tag = reader.vectors.tag if semantic and reader.vectors is not None else None
    noises: list[Noise] = []
    vectors = {language: _vectors(fresh, questions) for language, questions in asked}
    centre = _centre([v for each in vectors.values() for v in each if v is not None])
    held = held_languages(reader.lexical.statistics.languages)
    for language, questions in asked:
        samples = []
        for text, vector in zip(questions, vectors[language], strict=True):
            samples.append(_probe(fresh, text, vector, centre))
            progress.advance()
        noise = measure(samples, tag=tag, language=language, held=language in held, passages=blocks)
        noises.extend([noise] if noise is not None else [])
    progress.close()
    progress.start("measuring the modules and the vectors")
    return Statistics(
        modules=module_statistics(reader),
        two_stage=approximate.two_stage(
            reader, approximate.sampled([v for each in vectors.values() for v in each if v is not None])
        ),
        trust=measure_trust(reader, list(vectors.values())),
        max_n=reader.view.max_n,
        blocks=blocks,
        vectors=reader.vectors.count if reader.vectors is not None else 0,
        noises=tuple(noises),
        centre=tuple(round(float(x), 6) for x in centre.mean) if centre is not None else (),
    )


def module_statistics(reader: Reader) -> tuple[ModuleStatistics, ...]:
    """Each module that the facets know, by name. Raises IndexUnusableError."""
    facets, view = reader.facets, reader.view
    if facets is None:
        return ()
    blocks = {m.memory_type: m.count - len(m.tombstones) for m in view.modules()}
    out = []
    for profile in facets.profiles():
        if profile.module not in set(MemoryType):
            continue
        module = MemoryType(profile.module)
        ns = facets.ordinals(module)
        sample = [ns[i * len(ns) // LENGTH_SAMPLE] for i in range(LENGTH_SAMPLE)] if len(ns) else []
        words = [len(e.text.split()) for e in entries_of(view, sorted({*sample}), facets)]
        out.append(
            ModuleStatistics(
                module=module,
                blocks=blocks.get(module, 0),
                embedded=_embedded(reader, ns),
                mean_words=round(fmean(words), 1) if words else 0.0,
                facets=profile,
            )
        )
    return tuple(out)


def _embedded(reader: Reader, ns: Sequence[int]) -> int:
    if reader.vectors is None:
        return 0
    import numpy as np

    return int(np.isin(np.asarray(ns, np.int64), reader.vectors.ordinals).sum())


def _vectors(reader: Reader, questions: Sequence[str]) -> Sequence[Vector | None]:
    """The questions in the brain's own model, embedded together; None each for a brain without vectors."""
    if reader.vectors is None or reader.embedder is None:
        return [None] * len(questions)
    return list(reader.embedder().embed(questions, role="query"))


@dataclasses.dataclass(frozen=True, slots=True)
class _Centre:
    """The mean of the noise questions' vectors, and how many they are."""

    mean: Vector
    count: int

    def commonness(self, vector: Vector) -> float:
        """Similarity of one of these questions to the others, on the average."""
        return (float(vector @ self.mean) * self.count - 1.0) / max(1, self.count - 1)


def _centre(vectors: Sequence[Vector]) -> _Centre | None:
    if not vectors:
        return None
    import numpy as np

    return _Centre(mean=np.mean(np.stack(vectors), axis=0, dtype=np.float32), count=len(vectors))


def _probe(
    reader: Reader,
    text: str,
    vector: Vector | None,
    centre: _Centre | None,
) -> list[Features]:
    """What one question found."""
    work, chosen = begin(reader, Query(text=text, limit=1))
    work.question_vector = vector
    if centre is not None and vector is not None:
        work.centre = centre.mean
        work.commonness = features.QUESTION_SHARE * centre.commonness(vector)
    steps = {s.generator: s for p in [chosen.plan, *(p for p, _ in chosen.rejected)] for s in p.steps}
    ns: set[int] = set()
    for name in ("lexical", "vectors"):
        step = steps.get(name)
        if step is None:
            continue
        shallow = msgspec.structs.replace(step, k=PROBE_DEPTH)
        ran = candidates.run(work, planner.Plan(steps=(shallow,), us=step.us, recall=1.0), 1)[0]
        ns.update(h.n for h in ran.hits.hits)
    coverage, similarity = features.coverage(work, sorted(ns)), features.similarities(work, sorted(ns))
    return [Features(n=n, coverage=coverage.get(n, 0.0), similarity=similarity.get(n)) for n in sorted(ns)]


def _without_statistics(reader: Reader) -> Reader:
    return dataclasses.replace(reader, statistics=None, notes=())
