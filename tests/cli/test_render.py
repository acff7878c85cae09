"""Results that real brains seldom give: long, old, unreadable, withheld, many."""

from __future__ import annotations

from typing import Any

import pytest

from consilience.cli import render_explain, render_search, render_work
from consilience.cli.progress import LineProgress, TerminalProgress
from consilience.cli.terminal import Terminal, columns
from consilience.derived import CaughtUp
from consilience.ingest.report import IngestReport, Passed
from consilience.model import (
    Bundle,
    CompoundExplanation,
    Explanation,
    FloorReport,
    GeneratorReport,
    IndexReport,
    Match,
    ModuleRoot,
    PlanReport,
    PlanSummary,
    Query,
    Skipped,
    Source,
)
from consilience.protocol import MemoryType

ID = "sha256:" + "ab" * 32
PLAN = PlanSummary(name="p", generators=("lexical",), weights=(1.0,), estimated_us=1.0, estimated_recall=1.0)


def match(**changes: Any) -> Match:
    given = {
        "block_id": ID,
        "memory_type": MemoryType.SEMANTIC,
        "rank": 1,
        "score": 1.0,
        "strength": 0.5,
        "content": None,
        "text": "Some text.",
        "title": "Title",
        "root": "",
    }
    return Match(**{**given, **changes})


def bundle(*matches: Match, **changes: Any) -> Bundle:
    given = {
        "brain": "b",
        "query": Query(text="q"),
        "matches": matches,
        "truncated": False,
        "withheld": 0,
        "verified_against": (ModuleRoot(module=MemoryType.SEMANTIC, root=ID),),
        "snapshot": ID,
        "plan": PLAN,
        "elapsed_ms": 1.0,
    }
    return Bundle(**{**given, **changes})


def lines(found: Bundle, **terminal: Any) -> list[str]:
    return list(render_search.bundle(found, Terminal(**terminal)))


class TestMatches:
    def test_superseded(self) -> None:
        assert "    superseded by cdcdcdcdcdcd" in lines(bundle(match(superseded_by="sha256:" + "cd" * 32)))

    def test_bytes_that_are_gone(self) -> None:
        shown = lines(bundle(match(resolvable=False, text="")))
        assert "    its bytes are not here (a member all the same)" in shown

    def test_what_was_withheld_and_what_was_cut(self) -> None:
        assert "b: no match; 1,234 withheld as no nearer than chance (--no-floor)" in lines(
            bundle(withheld=1234)
        )
        assert "b: 1 match; there may be more" in lines(bundle(match(), truncated=True))
        assert "b: 1 match; more (--limit)" in lines(
            bundle(match(), truncated=True, query=Query(text="q", limit=1))
        )

    def test_no_strength_and_no_source(self) -> None:
        assert "    semantic · abababababab" in lines(bundle(match(strength=None)))

    @pytest.mark.parametrize("width", [40, 80, 100])
    def test_long_titles_paths_and_names(self, width: int) -> None:
        source = Source(
            block_id=ID,
            origin="a/very/long/path/" * 9 + "file.md",
            locator="L1-L9 # " + " > ".join(f"Heading number {n} of many" for n in range(9)),
        )
        shown = lines(bundle(match(sources=(source, source, source)), brain="x" * 64), width=width)
        assert all(columns(line) <= width for line in shown)
        assert "Heading num" in shown[0]
        assert " > … > " in shown[0]
        assert any(line.endswith("file.md:1-9 (+2 more)") for line in shown)

    def test_hostile_text_everywhere(self) -> None:
        evil = "\x1b[2J\x07\u202e"
        source = Source(block_id=ID, origin=evil + "o", locator=f"L1 # {evil}h")
        found = bundle(match(text=evil + "t", title=evil, sources=(source,), highlights=(evil,)), brain="b")
        for colour in (False, True):
            for line in lines(found, colour=colour):
                rest = line.replace("\x1b[2m", "").replace("\x1b[1m", "").replace("\x1b[0m", "")
                assert "\x1b" not in rest.replace("\x1b[1;33m", "")
                assert "\x07" not in line
                assert "\u202e" not in line


def explanation(brain: str, **changes: Any) -> Explanation:
    step = GeneratorReport(name="lexical", k=100, weight=0.5, estimated_us=10.0, estimated_rows=5.0)
    chosen = PlanReport(
        name="both",
        chosen=True,
        reason="cheapest",
        estimated_us=1234.5,
        estimated_recall=0.95,
        generators=(step,),
    )
    other = PlanReport(
        name="scan",
        chosen=False,
        reason="dearer: it reads every block of this brain, and there are very many of them by now",
        estimated_us=987654.0,
        estimated_recall=1.0,
        generators=(),
    )
    given = {
        "brain": brain,
        "query": Query(text="q"),
        "snapshot": ID,
        "intent": "semantic",
        "plans": (other, chosen),
        "indices": (
            IndexReport(name="lexical", available=True, consulted=True, covered=5, of=6),
            IndexReport(
                name="vectors",
                available=False,
                consulted=False,
                covered=0,
                of=6,
                detail="dims differ: 384, 256",
            ),
        ),
        "statistics": "stale: measured at 3 blocks",
        "floor": FloorReport(
            applied=True,
            threshold=0.95,
            speaks=0.97,
            samples=52,
            best=0.5,
            best_withheld=0.5,
            withheld=7,
            detail="coverage",
        ),
        "analyzed": False,
    }
    return Explanation(**{**given, **changes})


class TestExplanations:
    def test_everything_that_c20_asks_for(self) -> None:
        text = "\n".join(render_explain.explanation(explanation("b"), Terminal()))
        for said in (
            "stale: measured at 3 blocks",
            "the best must reach 0.97, every match 0.95, by 52 unrelated questions",
            "7 withheld, the best at 0.5000",
            "5 of 6",
            "not built",
            "dims differ: 384, 256",
            "k 100, weight 0.50, 5 rows",
        ):
            assert said in " ".join(text.split()), said

    def test_the_chosen_plan_comes_first_and_reasons_are_whole(self) -> None:
        shown = list(render_explain.explanation(explanation("b"), Terminal()))
        at = next(n for n, line in enumerate(shown) if line.startswith("*  both"))
        assert at < next(n for n, line in enumerate(shown) if line.lstrip().startswith("scan"))
        assert "by now" in " ".join(shown)
        assert all(columns(line) <= 80 for line in shown)

    def test_no_floor(self) -> None:
        floor = FloorReport(
            applied=False, threshold=None, speaks=None, samples=0, best=None, best_withheld=None, withheld=0
        )
        assert render_explain.floor_text(floor) == "none measured; not applied"

    @pytest.mark.parametrize(("count", "tables"), [(2, 1), (4, 1), (5, 2), (9, 3)])
    def test_side_by_side_as_far_as_the_width_goes(self, count: int, tables: int) -> None:
        members = tuple(explanation(f"brain-{n}") for n in range(count))
        skipped = (Skipped(brain="gone", reason="no layout"),)
        told = CompoundExplanation(query=Query(text="q"), members=members, skipped=skipped)
        shown = list(render_explain.compound(told, Terminal()))
        assert sum(line.startswith("plan  ") for line in shown) == tables
        assert all(columns(line) <= 80 for line in shown)
        assert shown[-1] == "gone: skipped, no layout"
        for n in range(count):
            assert any(line.startswith(f"── brain-{n} ") for line in shown)


class TestWork:
    def test_an_ingest_with_everything(self) -> None:
        report = IngestReport(
            taken=1200,
            changed=2,
            unchanged=3,
            skipped=(
                *(Passed(path=f"f{n}", reason="binary") for n in range(5)),
                Passed(path="h", reason="hidden"),
            ),
            failed=tuple(Passed(path=f"x{n}", reason="cannot be read") for n in range(25)),
            warnings=(Passed(path="w", reason="not UTF-8, read as Windows-1252"),),
            gone=("a", "b", "c", "d"),
            passages=10,
            blocks=20,
            superseded=1,
            demoted=1,
            commits=1,
            embedded=5,
            reused=6,
            unembedded=7,
            seconds=3725.0,
        )
        text = "\n".join(render_work.ingest("b", "ana@example.org", report, Terminal()))
        for said in (
            "b: 1,200 taken, 2 changed, 3 unchanged, 6 skipped, 25 failed; 1 h 2 min",
            "10 passages; 20 new blocks in 1 commit by ana@example.org",
            "passages superseded 1, demoted 1, by what changed",
            "vectors: 5 computed, 6 known already",
            "7 passages have no vector yet",
            "skipped 5, binary: f0, f1, f2, and 2 more",
            "skipped 1, hidden: h",
            "failed: x0: cannot be read",
            "and 5 more (--json names all)",
            "taken, but 1, not UTF-8, read as Windows-1252: w",
            "no longer there, kept all the same: a, b, c, and 1 more",
        ):
            assert said in text, said

    def test_an_index_that_was_stopped_is_not_up_to_date(self) -> None:
        for interrupted, said in ((False, "b: up to date; 1.0 s"), (True, "b: stopped; 1.0 s")):
            report = CaughtUp(interrupted=interrupted, unembedded=3, seconds=1.0)
            assert next(iter(render_work.index("b", report, Terminal()))) == said

    @pytest.mark.parametrize(
        ("value", "said"), [(0.04, "0.0 s"), (59.94, "59.9 s"), (61, "1 min 1 s"), (3600, "1 h 0 min")]
    )
    def test_seconds(self, value: float, said: str) -> None:
        assert render_work.seconds(value) == said


class TestProgress:
    def test_lines_come_every_ten_seconds_and_never_for_short_work(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        now = [0.0]
        progress = LineProgress(clock=lambda: now[0])
        progress.start("embedding", 1000, "passages")
        for _ in range(9):
            now[0] += 1
            progress.advance(10)
        assert capsys.readouterr().err == ""
        now[0] += 1
        progress.advance(10)
        assert capsys.readouterr().err == "embedding: 100 of 1,000 passages, 10 a second, 90 s left\n"
        progress.close()
        now[0] += 100
        progress.advance(1)
        assert capsys.readouterr().err == ""

    def test_bytes_are_said_as_sizes(self, capsys: pytest.CaptureFixture[str]) -> None:
        now = [0.0]
        progress = LineProgress(clock=lambda: now[0])
        progress.start("reading", 4_000_000, "B")
        now[0] = 10
        progress.advance(1_000_000)
        assert capsys.readouterr().err == "reading: 1.0 MB of 4.0 MB, 100.0 kB a second, 30 s left\n"

    @pytest.mark.parametrize("make", [LineProgress, TerminalProgress])
    def test_any_order_of_calls_is_harmless(self, make: Any, capsys: pytest.CaptureFixture[str]) -> None:
        progress = make()
        progress.advance()
        progress.close()
        progress.note("a \x1b[31mnote")
        progress.start("one")
        progress.advance(5)
        progress.note("inside")
        progress.start("two", 0, "files")
        progress.advance(3)
        progress.close()
        progress.close()
        captured = capsys.readouterr()
        assert captured.out == ""
        assert "a ␛[31mnote\n" in captured.err
        assert "inside" in captured.err
