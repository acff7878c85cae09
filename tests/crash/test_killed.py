"""A process that is killed at any call that changes a file, or at any time: what it acknowledged is there."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from disturbed import Case
from faults import CHANGES, KILL, TORN, WRITE, Fault, Worker
from operations import OPERATIONS, QUICK

KILLED = -9
FULLY = 4
"""In the long run one kill of so many is followed by the whole work; after every kill the brain is checked."""

SAMPLE = 3
"""Kills of each operation in the ordinary suite; the long run kills at every call."""


def killed(worker: Worker, case: Case, fault: Fault, *, complete: bool = True) -> None:
    with case.copy() as farm:
        outcome = worker.run(farm, case.args, fault=fault)
        assert outcome.status in (KILLED, 0), (str(fault), outcome)
        try:
            case.sound(farm, outcome.acks)
            if complete:
                case.completed(farm)
        except AssertionError as error:
            raise AssertionError(f"{case.name}: {fault}: {error}") from error


@pytest.mark.parametrize("name", QUICK)
def test_killed_at_some_calls(worker: Worker, case: Callable[[str], Case], name: str) -> None:
    chosen = case(name)
    places = random.Random(name).sample(range(chosen.calls), SAMPLE)
    for i, at in enumerate(sorted(places)):
        killed(worker, chosen, Fault(at, TORN if i % 2 else KILL, CHANGES), complete=i == SAMPLE - 1)


@pytest.mark.soak
@pytest.mark.parametrize("mode", [KILL, TORN])
@pytest.mark.parametrize("name", OPERATIONS)
def test_killed_at_every_call(
    worker: Worker, case: Callable[[str], Case], spread: Callable[[int], list[int]], name: str, mode: int
) -> None:
    """Before each call that changes a file, or in the middle of each write."""
    chosen = case(name)
    mask = WRITE if mode == TORN else CHANGES
    with chosen.copy() as farm:
        calls = worker.run(farm, chosen.args, fault=Fault(1 << 40, mode, mask)).calls
    places = spread(calls)
    wrong = []
    for i, at in enumerate(places):
        try:
            killed(worker, chosen, Fault(at, mode, mask), complete=i % FULLY == 0)
        except AssertionError as error:
            wrong.append(str(error))
    print(
        f"{name}, {'torn writes' if mode == TORN else 'calls'}: {len(places)} kills of {calls}, {len(wrong)} wrong"
    )
    assert not wrong, f"{len(wrong)} of {len(places)} wrong; the first: {wrong[0]}"
