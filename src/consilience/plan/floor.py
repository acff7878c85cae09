"""Strength and the noise floor: docs/decisions/0101-noise-floor.md. Pure arithmetic over measured noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from consilience.model import Value
from consilience.plan.questions import QUESTIONS_VERSION
from consilience.plan.statistics import Noise, Spread, spread

SPEAKS = 0.80
"""Least strength of a brain's best match: where nothing reaches it, the brain has nothing to say."""

FLOOR = 0.50
"""Least strength of every match of a brain that speaks: nearer than half of what noise finds."""

COVERAGE_WEIGHT = 0.5
OWN_SHARE = 0.5
"""How far a brain's own noise is believed over what brains show on the average: everyday questions are not off the
subject of every brain."""

USUAL_COVERAGE = Spread(mean=0.266, deviation=0.116)
USUAL_SIMILARITY: Mapping[str, Spread] = {"e5-small": Spread(mean=-0.1635, deviation=0.0191)}
"""What everyday questions reach in brains of eight kinds; for a model that is not listed the brain's own is taken."""

LEAST_COVERAGE_DEVIATION = 0.05
LEAST_SIMILARITY_DEVIATION = 0.01
LEAST_SAMPLES = 20


class Features(Value, frozen=True, kw_only=True):
    """What strength is made of. `coverage`: share of the question's rarity-weighted words that the block holds, 0..1.
    `similarity`: of question and block in the brain's own model, less what either has with everything; None where the
    block has no vector."""

    n: int
    coverage: float
    similarity: float | None


def joint(features: Features, noise: Noise) -> float:
    """Both measures in deviations above noise, weighted; the one that there is where the other is missing, and
    similarity alone for a question in a language that the brain does not hold: words do not meet across languages."""
    lexical = noise.coverage.z(features.coverage)
    if noise.similarity is None or features.similarity is None:
        return lexical
    similar = noise.similarity.z(features.similarity)
    if not noise.held:
        return similar
    return COVERAGE_WEIGHT * lexical + (1.0 - COVERAGE_WEIGHT) * similar


def strength(features: Features, noise: Noise) -> float:
    """The percentile, 0..1, of this match among the best matches of noise, taking noise as normal."""
    return 0.5 * math.erfc(-joint(features, noise) / math.sqrt(2.0))


def least_strength(best: float | None) -> float:
    """The strength that a match must have where the best of the brain has `best`."""
    return FLOOR if best is not None and best >= SPEAKS else SPEAKS


def measure(
    samples: Sequence[Sequence[Features]], *, tag: str | None, language: str, held: bool = True
) -> Noise | None:
    """The noise of a brain from the features of the candidates that each noise question found there.

    `held`: whether the brain holds this language. None with fewer than 20 samples, or where no candidate was found at
    all (an empty brain has no noise).
    """
    if len(samples) < LEAST_SAMPLES or not any(samples):
        return None
    coverage = spread(
        [max((f.coverage for f in s), default=0.0) for s in samples], least=LEAST_COVERAGE_DEVIATION
    )
    best = [b for b in map(_best_similarity, samples) if b is not None]
    similarity = None
    if tag is not None and len(best) >= LEAST_SAMPLES:
        usual = USUAL_SIMILARITY.get(tag.split(":", 1)[0])
        similarity = _believed(spread(best, least=LEAST_SIMILARITY_DEVIATION), usual)
    return Noise(
        language=language,
        held=held,
        questions_version=QUESTIONS_VERSION,
        samples=len(samples),
        tag=tag if similarity is not None else None,
        coverage=_believed(coverage, USUAL_COVERAGE),
        similarity=similarity,
    )


def _believed(own: Spread, usual: Spread | None) -> Spread:
    if usual is None:
        return own
    return Spread(mean=OWN_SHARE * own.mean + (1.0 - OWN_SHARE) * usual.mean, deviation=usual.deviation)


def _best_similarity(features: Iterable[Features]) -> float | None:
    return max((f.similarity for f in features if f.similarity is not None), default=None)
