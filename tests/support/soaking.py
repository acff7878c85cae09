"""Properties that run twice: some hundred examples in the suite, `--soak-examples` of them under the soak marker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

BATCH = 2_000
"""Examples that hypothesis draws in one go: it remembers every one of them."""

CASES = ["suite", pytest.param("soak", marks=pytest.mark.soak)]


def soaked(*strategies: Any, examples: int = 100) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator that makes a test, with the cases `suite` and `soak`, of a property of drawn values."""

    def decorate(holds: Callable[..., None]) -> Callable[..., None]:
        @pytest.mark.parametrize("run", CASES)
        def test(run: str, pytestconfig: pytest.Config) -> None:
            hold(holds, *strategies, examples=examples_of(run, pytestconfig, examples))

        test.__doc__ = holds.__doc__
        return test

    return decorate


def hold(holds: Callable[..., None], *strategies: Any, examples: int) -> None:
    """Draw that many examples afresh and hold the property to each of them."""
    for drawn in range(0, examples, BATCH):
        quiet = settings(
            max_examples=min(BATCH, examples - drawn), deadline=None, suppress_health_check=list(HealthCheck)
        )
        quiet(given(*strategies)(holds))()


def examples_of(run: str, config: pytest.Config, suite: int) -> int:
    return suite if run == "suite" else int(config.getoption("soak_examples"))
