"""A disk that fails at any call that changes a file: a clear error, the old state intact, and the next run completes.

Every error is one of storage (exit 11) that names a file or folder and says what to do; where a call need not succeed
(a temporary file that cannot be removed), the command does.
"""

from __future__ import annotations

import errno
import random
from collections.abc import Callable
from typing import Any

import pytest
from disturbed import Case
from faults import (
    CHANGES,
    FAIL,
    MKDIR,
    OPEN,
    READ,
    RENAME,
    SHORT,
    SYNC,
    TRUNCATE,
    UNLINK,
    WRITE,
    Fault,
    Worker,
)
from operations import OPERATIONS, QUICK

SAMPLE = 1
"""Failures of each operation in the ordinary suite; the long run fails every call in every way."""

KINDS = {
    "full": (errno.ENOSPC, WRITE | OPEN | MKDIR | TRUNCATE, False),
    "full from then on": (errno.ENOSPC, WRITE | OPEN | MKDIR | TRUNCATE, True),
    "write fails": (errno.EIO, WRITE, False),
    "everything fails from then on": (errno.EIO, CHANGES, True),
    "fsync fails": (errno.EIO, SYNC, False),
    "rename fails": (errno.EIO, RENAME, False),
    "no permission": (errno.EACCES, OPEN | RENAME | UNLINK | MKDIR, False),
    "read-only from then on": (errno.EROFS, OPEN | RENAME | UNLINK | MKDIR, True),
    "reading fails": (errno.EIO, READ, False),
}


def told(outcome_json: Any, farm_root: str) -> None:
    """The error is of storage, says where, and what to do."""
    error = outcome_json["error"]
    assert error["code"] == "storage" and error["retryable"] is True, error
    assert farm_root in error["message"], error
    assert error["hint"], error


def failed(worker: Worker, case: Case, fault: Fault) -> bool:
    """One failure; whether it was noticed at all."""
    with case.copy() as farm:
        outcome = worker.run(farm, case.args, fault=fault)
        try:
            envelope = outcome.done.json
            if outcome.status:
                assert outcome.status == 11, outcome
                told(envelope, str(farm.root))
                data = envelope["data"]
                if outcome.acks:
                    assert data is not None, f"committed and not told: {outcome}"
                    assert data.get("commits", len(outcome.acks)) == len(outcome.acks), outcome
            case.sound(farm, outcome.acks)
            case.completed(farm)
        except AssertionError as error:
            raise AssertionError(f"{case.name}: {fault}: {error}") from error
        return outcome.status != 0


def count(worker: Worker, case: Case, mask: int) -> int:
    """How many calls of those kinds the operation makes."""
    with case.copy() as farm:
        return worker.run(farm, case.args, fault=Fault(1 << 40, FAIL, mask)).calls


@pytest.mark.parametrize("name", QUICK)
def test_some_calls_fail(worker: Worker, case: Callable[[str], Case], name: str) -> None:
    chosen = case(name)
    chance = random.Random(name)
    for kind in chance.sample(list(KINDS), SAMPLE):
        code, mask, sticky = KINDS[kind]
        failed(worker, chosen, Fault(chance.randrange(chosen.calls // 3), FAIL, mask, code, sticky))


@pytest.mark.parametrize("name", ["ingest", "redact"])
def test_every_write_is_short(worker: Worker, case: Callable[[str], Case], name: str) -> None:
    """What POSIX allows at any time: the rest is written by another call."""
    assert not failed(worker, case(name), Fault(0, SHORT, WRITE, 0, sticky=True))


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_every_call_fails(
    worker: Worker, case: Callable[[str], Case], spread: Callable[[int], list[int]], name: str, kind: str
) -> None:
    code, mask, sticky = KINDS[kind]
    chosen = case(name)
    wrong = []
    noticed = 0
    places = spread(count(worker, chosen, mask))
    for at in places:
        try:
            noticed += failed(worker, chosen, Fault(at, FAIL, mask, code, sticky))
        except AssertionError as error:
            wrong.append(str(error))
    print(f"{name}, {kind}: {len(places)} failures, {noticed} told, {len(wrong)} wrong")
    assert not wrong, f"{len(wrong)} of {len(places)} wrong; the first: {wrong[0]}"
