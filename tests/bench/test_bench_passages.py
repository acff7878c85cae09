"""The bench of passages on three documents: what a rule is worth shows on the questions made for it."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "bench" / "bench_passages.py"

FERRY = """# Timetable of the northern ferry line

## When crossings are cancelled

The harbour office cancels every crossing under the following severe conditions:

- the wind blows harder than eight knots for an hour without pause
- the swell outside climbs higher than one metre at dawn

## Who decides about special trips?

The captain alone decides about trips that stand in no timetable, after asking the office.
"""
OTHER = """# Rules of the mountain railway

## Where passengers may stand

Standing on the open platform between carriages remains strictly limited to these persons:

- the guard of the train while it is climbing through the gorge
- the doctor of the valley where somebody needs help

The wind of the gorge blows hard, and the swell of the lake below is higher than one would think.
"""


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_passages", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["bench_passages"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "ferry.md").write_text(FERRY)
    (docs / "railway.md").write_text(OTHER)
    return docs


def test_questions_are_made_of_what_is_there(bench: ModuleType, folder: Path) -> None:
    made = bench.collection_of(folder, 1, 50)
    asked = {(q.kind, q.text) for q in made.questions}
    assert ("title", "Timetable of the northern ferry line") in asked
    assert ("heading", "When crossings are cancelled") in asked
    assert ("question", "Who decides about special trips?") in asked
    assert sum(kind == "item" for kind, _ in asked) == 4
    assert any("Timetable of the northern ferry line" in texts for texts in made.hidden.values())


def test_a_hidden_heading_is_in_no_context(bench: ModuleType, folder: Path) -> None:
    made = bench.collection_of(folder, 1, 50)
    entries = list(bench.entries_of(made, bench.pieces_of(made, bench.LIMITS), bench.Rules()))
    assert entries and not any("cancelled" in e.context or "Timetable" in e.context for e in entries)
    assert any(e.context.endswith("under the following severe conditions:") for e in entries)


def test_without_introductions_items_are_found_later(
    bench: ModuleType,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out.json"
    monkeypatch.setattr(sys, "argv", ["bench", str(folder), "--only", "no introductions", "--json", str(out)])
    bench.main()
    found = json.loads(out.read_text())["no introductions"]
    assert found["item"]["won"] == 0 and found["item"]["d_ndcg"] <= 0.0
    assert found["all"]["n"] == sum(row["n"] for kind, row in found.items() if kind != "all")
    assert "base line" in capsys.readouterr().out


def test_the_sign_test(bench: ModuleType) -> None:
    assert bench.sign_test(0, 0) == 1.0
    assert bench.sign_test(5, 5) == 1.0
    assert bench.sign_test(10, 0) == pytest.approx(2 / 1024)
    assert bench.sign_test(3, 9) == bench.sign_test(9, 3)
