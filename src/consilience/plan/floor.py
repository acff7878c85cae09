"""Strength and the noise floor: docs/decisions/0101-noise-floor.md and 0280. Pure arithmetic over measured noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from consilience.model import Value
from consilience.plan.questions import QUESTIONS_VERSION
from consilience.plan.statistics import Noise, Spread, spread

SPEAKS = 0.75
"""Least strength of a brain's best match: where nothing reaches it, the brain has nothing to say."""

FLOOR = 0.20
"""Least strength of every match of a brain that speaks: whether it knows the subject is told by its best match."""

COVERAGE_WEIGHT = 0.4


class Usual(Value, frozen=True, kw_only=True):
    """What everyday questions reach at best in a brain of a thousand passages, on the average over brains of many
    kinds: `level`, its `growth` with every e-fold more passages (the best of more is better), its `deviation` over
    questions. A passage in another language than the question is `apart` farther from it."""

    level: float
    growth: float
    deviation: float
    apart: float = 0.0

    def of(self, passages: int, *, foreign: bool = False) -> Spread:
        grown = self.level + self.growth * math.log(max(passages, 1) / THOUSAND)
        return Spread(mean=grown - (self.apart if foreign else 0.0), deviation=self.deviation)


THOUSAND = 1000
USUAL_COVERAGE = Usual(level=0.30, growth=0.04, deviation=0.116)
USUAL_SIMILARITY: Mapping[str, Usual] = {
    "e5-small": Usual(level=-0.155, growth=0.0035, deviation=0.0205, apart=0.035)
}
"""By model. Where it is listed the brain's own similarity to noise is not believed: an encyclopaedia knows a little of
every question, and would take its answers for noise. For any other model the brain's own is taken."""

OWN_SHARE = 0.5
"""How far a brain's own coverage by noise is believed over the usual one."""

LEAST_COVERAGE_DEVIATION = 0.05
LEAST_SIMILARITY_DEVIATION = 0.01
LEAST_SAMPLES = 20


class Features(Value, frozen=True, kw_only=True):
    """What strength is made of. `coverage`: share of the question's rarity-weighted words that the block holds, 0..1.
    `similarity`: of question and block in the brain's own model, less what either has with everything; None where the
    block has no vector, or vectors tell less than words. `foreign`: it is in another language than the question."""

    n: int
    coverage: float
    similarity: float | None
    foreign: bool = False


def joint(features: Features, noise: Noise) -> float:
    """Both measures in deviations above noise, weighted; the one that there is where the other is missing, and
    similarity alone for a block in another language: words do not meet across languages."""
    lexical = noise.coverage.z(features.coverage)
    level = noise.foreign if features.foreign else noise.similarity
    if level is None or features.similarity is None:
        return lexical
    similar = level.z(features.similarity)
    if features.foreign:
        return similar
    return COVERAGE_WEIGHT * lexical + (1.0 - COVERAGE_WEIGHT) * similar


def strength(features: Features, noise: Noise) -> float:
    """The percentile, 0..1, of this match among the best matches of noise, taking noise as normal."""
    return 0.5 * math.erfc(-joint(features, noise) / math.sqrt(2.0))


def least_strength(best: float | None) -> float:
    """The strength that a match must have where the best of the brain has `best`."""
    return FLOOR if best is not None and best >= SPEAKS else SPEAKS


def measure(
    samples: Sequence[Sequence[Features]],
    *,
    tag: str | None,
    language: str,
    held: bool = True,
    passages: int = THOUSAND,
) -> Noise | None:
    """The noise of a brain of so many passages from the features of what each noise question found there.

    `held`: whether the brain holds this language. None with fewer than 20 samples, or where no candidate was found at
    all (an empty brain has no noise).
    """
    if len(samples) < LEAST_SAMPLES or not any(samples):
        return None
    covered = spread(
        [max((f.coverage for f in s), default=0.0) for s in samples], least=LEAST_COVERAGE_DEVIATION
    )
    usual = USUAL_COVERAGE.of(passages)
    best = [b for b in map(_best_similarity, samples) if b is not None]
    levels = _levels(best, tag, passages) if tag is not None and len(best) >= LEAST_SAMPLES else None
    return Noise(
        language=language,
        held=held,
        questions_version=QUESTIONS_VERSION,
        samples=len(samples),
        tag=tag if levels is not None else None,
        coverage=Spread(
            mean=OWN_SHARE * covered.mean + (1.0 - OWN_SHARE) * usual.mean, deviation=usual.deviation
        ),
        similarity=levels[0] if levels is not None else None,
        foreign=levels[1] if levels is not None else None,
    )


def similarity_tells(noise: Noise | None, *, weak: bool) -> bool:
    """Whether similarity counts beside the words: not of a model that finds less than they do, unless what noise
    reaches in it is known: it may rank badly and still tell one subject from another."""
    return not weak or (noise is not None and noise.tag is not None and _usual(noise.tag) is not None)


def _usual(tag: str) -> Usual | None:
    return USUAL_SIMILARITY.get(tag.split(":", 1)[0])


def _levels(best: list[float], tag: str, passages: int) -> tuple[Spread, Spread]:
    """What noise reaches in the language of the question, and in another."""
    usual = _usual(tag)
    if usual is None:
        own = spread(best, least=LEAST_SIMILARITY_DEVIATION)
        return own, own
    return usual.of(passages), usual.of(passages, foreign=True)


def _best_similarity(features: Iterable[Features]) -> float | None:
    return max((f.similarity for f in features if f.similarity is not None), default=None)
