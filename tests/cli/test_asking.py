"""`search`, `explain`, `compound ...`, `block`, `verify`: what people and programs get."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from consilience.cli.terminal import columns

Csl = Any
QUESTION = ["deprecated", "feature", "removed"]


class TestSearch:
    def test_for_people(self, csl: Csl, inside: Path) -> None:
        done = csl("search", *QUESTION, "--brain", "python")
        assert done.status == 0
        lines = done.out.splitlines()
        assert lines[0] == " 1  1.00  Deprecation policy > Rules"
        assert lines[1].startswith("    A deprecated feature keeps working for two releases")
        assert re.search(
            r"sources/python/deprecation\.md:5 · semantic · .*[0-9a-f]{12}$", done.out, re.MULTILINE
        )
        assert re.search(r"^  verified against semantic sha256:[0-9a-f]{8}…", done.out, re.MULTILINE)
        assert "\x1b" not in done.out
        assert all(columns(line) <= 80 for line in lines)

    @pytest.mark.parametrize("width", [40, 60, 80, 200])
    def test_fits_the_terminal(
        self, csl: Csl, inside: Path, monkeypatch: pytest.MonkeyPatch, width: int
    ) -> None:
        monkeypatch.setenv("COLUMNS", str(width))
        for args in (
            ["search", "--brain", "python"],
            ["compound", "search", "--all"],
            ["compound", "search", "--all", "--fuse"],
        ):
            out = csl(*args, *QUESTION).out
            assert out
            assert max(columns(line) for line in out.splitlines()) <= width

    def test_what_matched_is_marked_in_colour(self, csl: Csl, inside: Path) -> None:
        out = csl("search", *QUESTION, "--brain", "python", "--color").out
        assert "\x1b[1;33mdeprecated\x1b[0m" in out
        plain = re.sub(r"\x1b\[[\d;]*m", "", out)
        assert plain == csl("search", *QUESTION, "--brain", "python").out

    def test_code_keeps_its_lines(self, csl: Csl, inside: Path) -> None:
        out = csl("search", "TaskGroup create_task", "--brain", "python").out
        assert "    async with TaskGroup() as group:\n        group.create_task(work())\n" in out

    def test_as_json(self, csl: Csl, inside: Path) -> None:
        data = csl("search", *QUESTION, "--brain", "python", "--json").data
        assert data["brain"] == "python"
        assert data["query"]["text"] == "deprecated feature removed"
        first = data["matches"][0]
        assert first["rank"] == 1
        assert first["score"] == "1.00"
        assert first["content"]["statement"].startswith("A deprecated feature")
        assert data["verified_against"]["semantic"].startswith("sha256:")

    def test_the_same_question_gives_the_same_bytes(self, csl: Csl, inside: Path) -> None:
        def untimed(out: str) -> str:
            return re.sub(r'"(elapsed_ms|actual_us)":[^,}]*', "", out)

        for command in (
            ["search", "--brain", "python"],
            ["explain", "--brain", "python"],
            ["compound", "search", "--all", "--fuse"],
            ["compound", "explain", "--all"],
        ):
            once, again = (csl(*command, *QUESTION, "--json").out for _ in range(2))
            assert untimed(once) == untimed(again)

    @pytest.mark.parametrize(
        "args",
        [
            ["--json", "search", "--brain", "python", "x"],
            ["search", "--json", "x", "--brain", "python"],
            ["--brain", "python", "search", "x", "--json"],
            ["--brain", "rust", "search", "x", "--json", "--brain", "python"],
        ],
    )
    def test_global_options_stand_anywhere_and_the_last_counts(
        self, csl: Csl, inside: Path, args: list[str]
    ) -> None:
        assert csl(*args).data["brain"] == "python"

    def test_limit(self, csl: Csl, inside: Path) -> None:
        done = csl("search", "feature release task", "--brain", "python", "-n", "1", "--no-floor")
        assert "python: 1 match; more (--limit)" in done.out

    def test_filters_reach_the_question(self, csl: Csl, inside: Path) -> None:
        done = csl(
            "search", "feature", "--brain", "python", "--json", "--module", "semantic", "--module", "episodic",
            "--kind", "fact", "--subject", "s", "--tag", "t", "--source", "sources/*", "--since", "2024-01-01",
            "--until", "2024-12-31T10:00:00Z", "--limit", "3", "--include-superseded", "--no-floor",
            "--no-collapse",
        )  # fmt: skip
        assert done.data["query"] == {
            "text": "feature",
            "filters": {
                "modules": ["semantic", "episodic"],
                "kinds": ["fact"],
                "subjects": ["s"],
                "tags": ["t"],
                "sources": ["sources/*"],
                "since": "2024-01-01",
                "until": "2024-12-31T10:00:00Z",
            },
            "limit": 3,
            "include_superseded": True,
            "floor": False,
            "collapse": False,
            "related": False,
        }

    def test_source_filter(self, csl: Csl, inside: Path) -> None:
        found = csl(
            "search",
            "feature task",
            "--brain",
            "python",
            "--json",
            "--source",
            "*/concurrency.md",
            "--no-floor",
        )
        origins = {s["origin"] for match in found.data["matches"] for s in match["sources"]}
        assert origins == {"sources/python/concurrency.md"}

    def test_no_match_says_so(self, csl: Csl, inside: Path) -> None:
        done = csl("search", "zebra xylophone", "--brain", "python")
        assert done.status == 0
        assert "python: no match" in done.out

    def test_what_a_file_holds_cannot_drive_the_terminal(self, csl: Csl, copy: Path) -> None:
        (copy / "evil.md").write_text(
            "# Title \x1b]0;owned\x07\n\nA zebra \x1b[2J\x1b[31mred\x9b31m walks.\n"
        )
        assert csl("ingest", "evil.md", "--brain", "python").status == 0
        out = csl("search", "zebra walks", "--brain", "python", "--no-color", "--no-floor").out
        assert "zebra" in out
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", out)


class TestExplain:
    def test_for_people(self, csl: Csl, inside: Path) -> None:
        done = csl("explain", *QUESTION, "--brain", "python")
        assert done.status == 0
        assert re.search(r"^question    deprecated feature removed$", done.out, re.MULTILINE)
        assert re.search(r"^brain       python, snapshot sha256:", done.out, re.MULTILINE)
        assert re.search(r"^ +plan +est\. µs +recall +why$", done.out, re.MULTILINE)
        assert re.search(r"^\* +\w+", done.out, re.MULTILINE)
        assert re.search(r"^floor ", done.out, re.MULTILINE)
        assert re.search(r"^index +covers +consulted", done.out, re.MULTILINE)
        assert all(columns(line) <= 80 for line in done.out.splitlines())

    def test_analyze_adds_what_was_measured(self, csl: Csl, inside: Path) -> None:
        assert "measured µs" in csl("explain", *QUESTION, "--brain", "python", "--analyze").out
        data = csl("explain", *QUESTION, "--brain", "python", "--analyze", "--json").data
        assert data["analyzed"] is True
        assert next(p for p in data["plans"] if p["chosen"])["actual_us"] > 0

    def test_a_brain_without_indices_says_that_it_scans(self, csl: Csl, copy: Path) -> None:
        import shutil

        shutil.rmtree(copy / "brains" / "python" / "derived")
        out = csl("explain", *QUESTION, "--brain", "python").out
        assert re.search(r"^\* +scan", out, re.MULTILINE)
        assert "not built" in out


class TestCompound:
    def test_c01_names_with_commas_repeated_and_twice(self, csl: Csl, inside: Path) -> None:
        done = csl("compound", "search", "--brains", "rust,python", "--brains", "rust", "x", "--json")
        assert [m["brain"] for m in done.data["members"]] == ["rust", "python"]

    @pytest.mark.parametrize("name", ["nope", "./brains/python", "brains/python", "other/python"])
    def test_c01_anything_else_gets_one_error(self, csl: Csl, inside: Path, name: str) -> None:
        done = csl("compound", "search", "--brains", f"python,{name}", "x", "--json")
        assert done.status == 2
        assert done.error["message"] == f"this project has no brain called '{name}'"
        assert done.error["hint"] == (
            "a compound takes brain names from this project only; known: python, rust, gone"
        )

    def test_c02_brain_is_ignored(self, csl: Csl, inside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("CONSILIENCE_BRAIN", "does-not-exist")
        plain = csl("compound", "search", "--all", "x", "--json").data["members"]
        before = csl("--brain", "neither", "compound", "search", "--all", "x", "--json")
        after = csl("compound", "search", "--all", "x", "--json", "--brain", "neither")
        for done in (before, after):
            assert done.status == 0
            assert [m["brain"] for m in done.data["members"]] == [m["brain"] for m in plain]

    def test_c02_an_ignored_flag_is_said(self, csl: Csl, inside: Path) -> None:
        assert "--brain is not looked at" in csl("compound", "search", "--all", "x", "--brain", "python").err

    def test_c03_all_skips_what_is_not_here(self, csl: Csl, inside: Path) -> None:
        done = csl("compound", "search", "--all", *QUESTION, "--json")
        assert done.status == 0
        assert done.data["skipped"] == [{"brain": "gone", "reason": "no layout at ./brains/gone"}]
        assert (
            "gone: skipped, no layout at ./brains/gone" in csl("compound", "search", "--all", *QUESTION).out
        )

    def test_c03_a_named_brain_that_is_not_here(self, csl: Csl, inside: Path) -> None:
        done = csl("compound", "search", "--brains", "python,gone", "x", "--json")
        assert done.status == 4
        assert "ingest" in done.error["hint"]
        assert "pull" in done.error["hint"]

    @pytest.mark.parametrize(
        ("args", "said"),
        [
            (["--brains", "python"], "a compound takes two brains at least"),
            (["--brains", "python,python"], "a compound takes two brains at least"),
            ([], "no brains chosen"),
            (["--all", "--brains", "python,rust"], "exclude each other"),
        ],
    )
    def test_c04_too_few_neither_or_both(self, csl: Csl, inside: Path, args: list[str], said: str) -> None:
        for command in ("search", "explain"):
            done = csl("compound", command, *args, "x", "--json")
            assert done.status == 2
            assert said in done.error["message"]

    def test_c04_the_one_that_is_left_names_what_was_skipped(self, csl: Csl, copy: Path) -> None:
        import shutil

        shutil.rmtree(copy / "brains" / "rust")
        done = csl("compound", "search", "--all", "x", "--json")
        assert done.status == 2
        assert "search" in done.error["hint"]
        assert "gone (no layout at ./brains/gone)" in done.error["hint"]

    def test_c05_outside_of_a_project(self, csl: Csl, empty: Path) -> None:
        done = csl("compound", "search", "--all", "x", "--json")
        assert (done.status, done.error["code"]) == (3, "no_project")

    def test_c05_a_broken_configuration(self, csl: Csl, empty: Path) -> None:
        (empty / "consilience.toml").write_text('[project]\nname = "x"\n[brain.a]\n')
        done = csl("compound", "search", "--all", "x", "--json")
        assert done.status == 3
        assert f"{empty / 'consilience.toml'}:3: brain: no such setting" in done.error["message"]

    def test_c10_grouped_for_people(self, csl: Csl, inside: Path) -> None:
        out = csl("compound", "search", "--brains", "rust,python", *QUESTION).out
        assert out.index("── rust ") < out.index("── python ")
        assert out.count("A deprecated feature keeps working") == 2

    def test_c13_fused_for_people(self, csl: Csl, inside: Path) -> None:
        out = csl("compound", "search", "--brains", "rust,python", *QUESTION, "--fuse").out
        assert re.search(r"^ 1  1\.00  rust#1 python#1  ", out, re.MULTILINE)
        assert out.count("A deprecated feature keeps working") == 1
        assert "(+1 more)" in out

    def test_c16_roots_stay_with_their_brain(self, csl: Csl, inside: Path) -> None:
        out = csl("compound", "search", "--brains", "rust,python", *QUESTION, "--fuse").out
        assert out.count("verified against semantic sha256:") == 2

    def test_c19_side_by_side(self, csl: Csl, inside: Path) -> None:
        out = csl("compound", "explain", "--all", *QUESTION).out
        assert re.search(r"^ +python +rust$", out, re.MULTILINE)
        assert re.search(r"^plan +\w+ +\w+$", out, re.MULTILINE)
        assert "── python " in out
        assert "── rust " in out

    def test_c07_a_match_that_failed_verification_is_an_error_beside_the_rest(
        self, csl: Csl, inside: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What a brain dropped: exit status 5, a warning, and everything else still printed."""
        import msgspec

        from consilience.brain import Brain
        from consilience.model import Bundle, Query
        from consilience.plan.local import LocalAnswer

        whole = Brain.answer

        def damaged(self: Brain, query: Query, **at: Any) -> LocalAnswer:
            found = whole(self, query, **at)
            if self.name == "python":
                return found
            warning = "verification_failed: sha256:00 was dropped"
            bundle = msgspec.structs.replace(found.bundle, dropped=("sha256:00",), warnings=(warning,))
            return msgspec.structs.replace(found, bundle=bundle)

        def damaged_alone(self: Brain, query: Query, **at: Any) -> Bundle:
            return damaged(self, query, **at).bundle

        monkeypatch.setattr(Brain, "answer", damaged)
        monkeypatch.setattr(Brain, "search", damaged_alone)
        done = csl("compound", "search", "--all", *QUESTION, "--json")
        assert done.status == 5
        assert done.error["code"] == "integrity"
        assert {m["brain"]: m["all_verified"] for m in done.json["data"]["members"]} == {
            "python": True,
            "rust": False,
        }
        assert done.json["data"]["matches"]
        assert done.json["warnings"] == ["rust: verification_failed: sha256:00 was dropped"]
        done = csl("search", *QUESTION, "--brain", "rust")
        assert done.status == 5
        assert "A deprecated feature keeps working" in done.out
        assert "warning: verification_failed" in done.err
        assert "error: matches that failed verification were dropped: rust" in done.err

    def test_a_brain_that_cannot_be_opened_takes_nobody_with_it(self, csl: Csl, copy: Path) -> None:
        (copy / "brains" / "rust" / "brain.db").write_bytes(b"not a database" * 1000)
        done = csl("compound", "search", "--all", *QUESTION)
        assert done.status == 5
        assert "A deprecated feature keeps working" in done.out
        assert "rust: skipped, failed:" in done.out
        assert "error: rust: " in done.err


class TestBlockAndVerify:
    def first(self, csl: Csl) -> str:
        return str(csl("search", *QUESTION, "--brain", "python", "--json").data["matches"][0]["block_id"])

    def test_block(self, csl: Csl, inside: Path) -> None:
        block = self.first(csl)
        for name in (block, block.removeprefix("sha256:")[:12]):
            out = csl("block", name, "--brain", "python").out
            assert out.startswith(f"block    {block}\nbrain    python\nmodule   semantic\n")
            assert "\n    A deprecated feature keeps working for two releases" in out
            assert "from     sources/python/deprecation.md:5 Deprecation policy > Rules" in out
            assert "2026-01-02T03:04:05Z registered, normalized, derived by ana@example.org" in out

    def test_proof(self, csl: Csl, inside: Path) -> None:
        out = csl("block", self.first(csl), "--brain", "python", "--prove").out
        assert re.search(r"^proof    holds: leaf \d+ of \d+, \d+ steps$", out, re.MULTILINE)
        data = csl("block", self.first(csl), "--brain", "python", "--prove", "--json").data
        assert data["proof"]["holds"] is True
        assert data["proof"]["root"] == data["block"]["root"]

    def test_bytes_hash_to_the_id(self, inside: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        import hashlib

        from consilience.cli.main import main

        main(["search", *QUESTION, "--brain", "python", "--json"])
        block = json.loads(capsysbinary.readouterr().out)["data"]["matches"][0]["block_id"]
        assert main(["block", block, "--brain", "python", "--bytes"]) == 0
        assert "sha256:" + hashlib.sha256(capsysbinary.readouterr().out).hexdigest() == block

    def test_bytes_go_with_nothing_else(self, csl: Csl, inside: Path) -> None:
        assert csl("block", "abcd", "--brain", "python", "--bytes", "--prove").status == 2
        assert csl("block", "abcd", "--brain", "python", "--bytes", "--json").error["code"] == "usage"

    @pytest.mark.parametrize(("name", "status"), [("0" * 64, 4), ("zz", 2), ("", 2), ("sha256:", 2)])
    def test_no_such_block(self, csl: Csl, inside: Path, name: str, status: int) -> None:
        assert csl("block", name, "--brain", "python", "--json").status == status

    def test_verify(self, csl: Csl, inside: Path) -> None:
        done = csl("verify", "--brain", "python")
        assert done.status == 0
        assert done.out.startswith("python: everything follows\n  recomputed ")
        assert csl("verify", "--brain", "python", "--json").data["problems"] == []

    def test_verify_names_what_is_damaged(self, csl: Csl, copy: Path) -> None:
        import sqlite3

        with sqlite3.connect(copy / "brains" / "rust" / "brain.db") as database:
            database.execute("UPDATE blocks SET data = zeroblob(length(data)) WHERE n = 1")
        done = csl("verify", "--brain", "rust", "--json")
        assert done.status == 5
        assert done.json["data"]["problems"]
        assert "rust: damaged" in csl("verify", "--brain", "rust").out
