"""The table of differences is true: pyboltzmann takes each example, we refuse it, and both take its repair."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from strictness import STRICTER, SURFACES

from consilience.errors import FormatError, ValidationError

DECISION = Path(__file__).parents[2] / "docs/decisions/0010-stricter-than-the-reference.md"
EXAMPLES = [(name, *example) for name, entry in STRICTER.items() for example in entry.examples]


@pytest.mark.parametrize(("name", "surface", "document"), EXAMPLES, ids=[f"{e[0]}, {e[1]}" for e in EXAMPLES])
def test_the_oracle_takes_what_we_refuse_and_both_take_its_repair(
    name: str, surface: str, document: Any
) -> None:
    at = SURFACES[surface]
    at.theirs(document)
    with pytest.raises((FormatError, ValidationError)):
        at.ours(document)
    repaired = at.repair(document)
    assert at.ours(repaired) == at.theirs(repaired)


def test_the_decision_lists_every_reason_and_no_other() -> None:
    listed = [
        line.split(":")[0].removeprefix("- ")
        for line in DECISION.read_text().splitlines()
        if line[:2] == "- "
    ]
    assert sorted(listed) == sorted(STRICTER)
