"""Strength and the noise floor: docs/decisions/0101-noise-floor.md. Pure arithmetic over measured noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from consilience.model import Value
from consilience.plan.questions import QUESTIONS_VERSION
from consilience.plan.statistics import Noise, Spread, spread

FLOOR = 0.70
"""Least strength of a match: the percentile of the brain's own noise that it must exceed."""

COVERAGE_WEIGHT = 0.5
LEAST_COVERAGE_DEVIATION = 0.05
LEAST_COSINE_DEVIATION = 0.01
LEAST_JOINT_DEVIATION = 0.25
LEAST_SAMPLES = 20


class Features(Value, frozen=True, kw_only=True):
    """What strength is made of. `coverage`: share of the question's rarity-weighted words that the block holds, 0..1.
    `cosine`: similarity of question and block in the brain's own model, None where the block has no vector."""

    n: int
    coverage: float
    cosine: float | None


def joint(features: Features, coverage: Spread, cosine: Spread | None) -> float:
    """Both measures as z-scores against noise, weighted; the one that there is where the other is missing."""
    lexical = coverage.z(features.coverage)
    if cosine is None or features.cosine is None:
        return lexical
    return COVERAGE_WEIGHT * lexical + (1.0 - COVERAGE_WEIGHT) * cosine.z(features.cosine)


def strength(features: Features, noise: Noise) -> float:
    """The percentile, 0..1, of this match among the best matches of noise, taking the noise as normal."""
    z = noise.joint.z(joint(features, noise.coverage, noise.cosine))
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def measure(samples: Sequence[Sequence[Features]], *, tag: str | None, language: str) -> Noise | None:
    """The noise of a brain from the features of the candidates that each noise question found there.

    None with fewer than 20 samples, or where no candidate was found at all (an empty brain has no noise).
    """
    if len(samples) < LEAST_SAMPLES or not any(samples):
        return None
    coverage = spread(
        [max((f.coverage for f in s), default=0.0) for s in samples], least=LEAST_COVERAGE_DEVIATION
    )
    best = [_best_cosine(s) for s in samples]
    known = [b for b in best if b is not None]
    cosine = (
        spread(known, least=LEAST_COSINE_DEVIATION)
        if tag is not None and len(known) >= LEAST_SAMPLES
        else None
    )
    floor = coverage.z(0.0)
    best_joint = [max((joint(f, coverage, cosine) for f in s), default=floor) for s in samples]
    return Noise(
        language=language,
        questions_version=QUESTIONS_VERSION,
        samples=len(samples),
        tag=tag if cosine is not None else None,
        coverage=coverage,
        cosine=cosine,
        joint=spread(best_joint, least=LEAST_JOINT_DEVIATION),
    )


def _best_cosine(features: Iterable[Features]) -> float | None:
    return max((f.cosine for f in features if f.cosine is not None), default=None)
