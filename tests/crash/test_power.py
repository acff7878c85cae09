"""A power failure after any call: what was acknowledged lasts, what is derived can be made again.

Worked out from a trace by the rules of POSIX (tests/support/power.py): stricter than any file system.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import power
import pytest
from disturbed import Case
from faults import SYNC, Worker
from operations import OPERATIONS

SAMPLE = 2
WAYS = ("least", "names", "mixed")


def traced(worker: Worker, case: Case, folder: Path) -> tuple[Path, list[power.Call]]:
    """The calls of an operation, for a project at the place of the returned folder."""
    with case.copy() as farm:
        trace = folder / "trace"
        outcome = worker.run(farm, case.args, trace=trace)
        assert outcome.status == 0, outcome
        brains = str(farm.root / "brains")
    made = list(power.calls(trace))
    assert any(c.what == SYNC for c in made) and sum(c.what == power.MARK for c in made) == len(outcome.acks)
    home = str(case.farm.root / "brains")
    moved = [
        power.Call(
            c.what, c.path.replace(brains, home), c.other.replace(brains, home), c.flags, c.offset, c.data
        )
        for c in made
    ]
    return case.farm.root / "brains", moved


def survives(
    case: Case, disk: power.Disk, acks: tuple[str, ...], how: str, at: int, *, complete: bool
) -> None:
    with case.copy() as farm:
        power.restored(farm.root / "brains", disk, how, random.Random(at))
        try:
            case.sound(farm, acks)
            if complete:
                case.completed(farm)
        except AssertionError as error:
            raise AssertionError(f"{case.name}: power failed after call {at}, {how}: {error}") from error


def fail_power(
    worker: Worker, case: Case, folder: Path, chosen: Callable[[int], bool], complete: Callable[[int], bool]
) -> int:
    root, made = traced(worker, case, folder)
    done = 0
    for at, disk, acks in power.failures(root, made):
        if chosen(at):
            for how in WAYS:
                survives(case, disk, acks, how, at, complete=complete(at))
                done += 1
    return done


@pytest.mark.parametrize("name", ["ingest", "first ingest", "redact"])
def test_the_power_fails(worker: Worker, case: Callable[[str], Case], tmp_path: Path, name: str) -> None:
    chosen = case(name)
    places = set(random.Random(f"power {name}").sample(range(chosen.calls), SAMPLE))
    assert fail_power(worker, chosen, tmp_path, places.__contains__, lambda at: at == max(places)) >= SAMPLE


@pytest.mark.soak
@pytest.mark.parametrize("name", OPERATIONS)
def test_the_power_fails_at_every_call(
    worker: Worker,
    case: Callable[[str], Case],
    spread: Callable[[int], list[int]],
    tmp_path: Path,
    name: str,
) -> None:
    chosen = set(spread(case(name).calls))
    fail_power(worker, case(name), tmp_path, chosen.__contains__, lambda at: at % 5 == 0)


@pytest.mark.parametrize("name", ["ingest", "first ingest"])
def test_bytes_last_before_the_name_that_stands_for_them(
    worker: Worker, case: Callable[[str], Case], tmp_path: Path, name: str
) -> None:
    """A file is synced after its last write and before it gets its name; a commit is acknowledged after the sync of
    the log, and after the content that it names, with the folders of that."""
    _, made = traced(worker, case(name), tmp_path)
    dirty: set[str] = set()
    unsynced: set[str] = set()
    for call in made:
        below = any(part in call.path for part in (*power.LEFT_OUT, power.BELIEVED_IN_NOTHING))
        if call.what in (power.WRITE, power.TRUNCATE) and not below:
            dirty.add(call.path)
        elif call.what == SYNC:
            dirty.discard(call.path)
            unsynced = {p for p in unsynced if p.rpartition("/")[0] != call.path}
        elif call.what == power.RENAME and not below:
            assert call.path not in dirty, f"{call.path} gets its name {call.other} before its bytes last"
            unsynced.add(call.other)
        elif call.what == power.MARK:
            assert not [p for p in dirty if p.endswith("brain.db-wal") or "/content/" in p]
            assert not [p for p in unsynced if "/content/" in p or p.endswith("brain.db")]
