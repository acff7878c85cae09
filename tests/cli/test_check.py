"""`csl check`, `csl trace` and proof files, from the outside."""

from __future__ import annotations

import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Csl = Callable[..., Any]
QUESTION = ["what", "is", "deprecated"]


@pytest.fixture
def citation(csl: Csl, inside: Path) -> str:
    return str(csl("search", *QUESTION, "--brain", "python", "--json").data["matches"][0]["cite"])


def written(tmp_path: Path, text: str | bytes, name: str = "answer.md") -> str:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


class TestCheck:
    def test_an_answer_that_holds(self, csl: Csl, citation: str, tmp_path: Path) -> None:
        answer = written(
            tmp_path, f"It “keeps working for two releases” [1].\n\n[1]: {citation}\n\n> keeps\n\n{citation}"
        )
        done = csl("check", answer)
        assert done.status == 0 and done.err == ""
        lines = done.out.splitlines()
        block = citation.partition("sha256:")[2][:12]
        assert lines[0] == f"✓ {answer}:3  python/semantic {block}  holds" or lines[:2] == [
            f"✓ {answer}:3  python/semantic {block}",
            "    holds",
        ]
        assert "holds; the quotation stands in it" in done.out
        assert "2 citations: 2 current; 1 of 1 quotation stands" in " ".join(done.out.split())
        assert "  python at snapshot sha256:" in done.out

    def test_an_invented_citation_fails_and_the_others_are_shown(
        self, csl: Csl, citation: str, tmp_path: Path
    ) -> None:
        invented = citation[:60] + ("0" if citation[60] != "0" else "1") + citation[61:]
        answer = written(tmp_path, f"{citation}\n{invented}\n{citation[:-4]}\n")
        done = csl("check", answer)
        assert done.status == 5 and done.err == "error: 2 of 3 fail\n"
        assert [line[0] for line in done.out.splitlines() if line.startswith(("✓", "✗"))] == ["✓", "✗", "✗"]
        assert "brain 'python' has no such block" in done.out and "here are 60" in done.out

    def test_a_quotation_that_does_not_stand_there(self, csl: Csl, citation: str) -> None:
        done = csl("check", f"{citation}", "--json")
        assert done.data["citations"][0]["ok"] is True
        done = csl("check", citation)
        assert done.status == 0 and done.out.startswith("✓ python/semantic ")

    def test_json_for_programs(self, csl: Csl, citation: str, tmp_path: Path) -> None:
        answer = written(tmp_path, f'He says "it never ends" {citation}')
        done = csl("check", answer, "--json")
        assert done.status == 5 and done.json["error"]["code"] == "integrity"
        data = done.json["data"]
        assert (data["count"], data["failed"]) == (1, 1)
        (found,) = data["citations"]
        assert found == {
            "source": answer, "line": 1, "column": 25, "where": "", "cite": citation, "brain": "python",
            "module": "semantic", "block_id": found["block_id"], "root": found["root"], "ok": False,
            "status": "current", "reason": "holds", "superseded_by": None, "older": None,
            "quotation": "it never ends", "quotation_stands": False,
        }  # fmt: skip
        assert found["block_id"] in citation and citation.endswith(found["root"])
        assert list(data["snapshots"]) == ["python"]

    def test_what_search_printed_checks(self, csl: Csl, inside: Path, tmp_path: Path) -> None:
        out = csl("compound", "search", "--all", *QUESTION, "--fuse", "--json").out
        done = csl("check", written(tmp_path, out, "answer.json"))
        assert done.status == 0 and "3 citations: 3 current" in " ".join(done.out.split())
        assert "data.matches[0].brains[0].cite" in done.out

    def test_standard_input(self, csl: Csl, citation: str, monkeypatch: pytest.MonkeyPatch) -> None:
        stream = io.TextIOWrapper(io.BytesIO(f"So it is ({citation}).".encode()))
        monkeypatch.setattr(sys, "stdin", stream)
        done = csl("check", "-", "--json")
        assert done.data["citations"][0]["source"] == "standard input" and done.status == 0

    @pytest.mark.parametrize(
        ("text", "status", "said"),
        [
            ("It is so, believe me.\n", 4, "no citation in"),
            ("", 4, "no citation in"),
            (b"\x89PNG\r\n\x1a\n\0\0", 7, "is no text"),
            ("csl:python/semantic/sha256:12", 5, "1 of 1 fails"),
        ],
    )
    def test_a_file_without_a_citation_has_not_passed(
        self, csl: Csl, inside: Path, tmp_path: Path, text: str | bytes, status: int, said: str
    ) -> None:
        done = csl("check", written(tmp_path, text))
        assert done.status == status and said in done.err

    def test_one_that_cannot_be_read_takes_no_other_with_it(
        self, csl: Csl, citation: str, tmp_path: Path
    ) -> None:
        good = written(tmp_path, citation)
        done = csl("check", str(tmp_path / "none.md"), good, str(tmp_path))
        assert done.status == 4 and "✓" in done.out and done.out.count("✗") == 2
        data = csl("check", str(tmp_path / "none.md"), good, "--json").json["data"]
        assert [each["error"] is None for each in data["inputs"]] == [False, True]
        assert csl("check", str(tmp_path / "none.md"), good + "x", citation[:-2]).status == 5

    def test_outside_of_a_project(self, csl: Csl, citation: str, empty: Path, tmp_path: Path) -> None:
        assert csl("check", citation).status == 3
        assert csl("check", citation[:-1]).status == 5, "what is no citation needs no project"
        assert csl("check").status == 2

    def test_brains_that_are_not_here(self, csl: Csl, citation: str, copy: Path) -> None:
        others = [citation.replace("csl:python", f"csl:{name}") for name in ("gone", "perl")]
        shutil.rmtree(copy / "brains" / "rust")
        rust = citation.replace("csl:python", "csl:rust")
        data = csl("check", citation, *others, rust, "--json").json["data"]
        assert [each["status"] for each in data["citations"]] == [
            "current", "absent_brain", "unknown_brain", "absent_brain",
        ]  # fmt: skip

    def test_nothing_in_an_answer_reaches_the_terminal_as_a_command(
        self, csl: Csl, citation: str, tmp_path: Path
    ) -> None:
        answer = written(
            tmp_path, f'"\x1b[31mred" {citation} csl:\x1b]0;x\x07/semantic csl:a\u202eb/semantic/'
        )
        done = csl("check", answer)
        assert (
            done.status == 5
            and "\x1b" not in done.out
            and "\u202e" not in done.out
            and "\x07" not in done.out
        )

    def test_what_a_changed_file_left_behind(self, csl: Csl, copy: Path) -> None:
        citation = csl("search", "task", "group", "--brain", "python", "--json").data["matches"][0]["cite"]
        (copy / "sources" / "python" / "concurrency.md").write_text(
            "# Structured concurrency\n\nNo more groups.\n"
        )
        csl("ingest", "sources/python", "--brain", "python")
        done = csl("check", citation)
        assert done.status == 0 and done.out.startswith("~ ")
        assert "holds, but demoted" in done.out and "under the root of snapshot 1 of 2026" in " ".join(
            done.out.split()
        )


class TestProofFiles:
    @pytest.fixture
    def proof(self, csl: Csl, citation: str, tmp_path: Path) -> Path:
        target = tmp_path / "proof.json"
        block = citation.partition("sha256:")[2][:64]
        done = csl("block", block, "--brain", "python", "--prove", "--out", str(target))
        assert done.status == 0 and str(target) in done.out
        return target

    def test_checks_without_a_brain_or_a_project(self, csl: Csl, proof: Path, empty: Path) -> None:
        done = csl("check", str(proof))
        assert done.status == 0 and done.err == ""
        assert "holds: semantic " in done.out and "keeps working for two releases" in " ".join(
            done.out.split()
        )
        assert "not compared with one that you trust" in " ".join(done.out.split())
        assert "are not proven: docs/proofs.md" in " ".join(done.out.split())

    def test_the_pin(self, csl: Csl, proof: Path, empty: Path) -> None:
        snapshot = json.loads(proof.read_text())["snapshot_digest"]
        done = csl("check", str(proof), "--snapshot", snapshot)
        assert done.status == 0 and "the one that --snapshot names" in done.out
        done = csl("check", str(proof), "--snapshot", "sha256:" + "0" * 64)
        assert done.status == 5 and "does not hold" in done.out
        assert csl("check", str(proof), "--snapshot", "0000").status == 2

    def test_the_pin_needs_a_proof(self, csl: Csl, citation: str) -> None:
        done = csl("check", citation, "--snapshot", "sha256:" + "0" * 64)
        assert done.status == 2 and "none was given" in done.err

    def test_an_answer_is_audited_with_proofs_alone(
        self, csl: Csl, citation: str, proof: Path, empty: Path, tmp_path: Path
    ) -> None:
        answer = written(tmp_path, f'It "keeps working for two releases" {citation}\n')
        done = csl("check", answer, str(proof))
        assert done.status == 0 and done.err == ""
        assert done.out.startswith("~ ") and "holds, by the proof in" in done.out
        false = written(tmp_path, f'It "never stops" {citation}\n', "false.md")
        assert csl("check", false, str(proof)).status == 5
        another = ["--snapshot", "sha256:" + "0" * 64]
        assert csl("check", answer, str(proof), *another).status == 5, "a proof that fails proves nothing"
        data = csl("check", answer, str(proof), "--json").data
        assert data["citations"][0]["status"] == "proven" and data["snapshots"] == {}

    def test_a_changed_proof(self, csl: Csl, proof: Path, empty: Path) -> None:
        proof.write_bytes(proof.read_bytes().replace(b"two releases", b"one release", 1))
        done = csl("check", str(proof), "--json")
        assert done.status == 5
        (report,) = done.json["data"]["proofs"]
        assert "the block's bytes hash to" in report["error"] and report["blocks"] == []

    def test_records_go_along_when_asked(self, csl: Csl, proof: Path, citation: str) -> None:
        assert b"ana@example.org" not in proof.read_bytes()
        block = citation.partition("sha256:")[2][:64]
        again = ["block", block, "--brain", "python", "--prove", "--records", "--out", str(proof)]
        assert csl(*again).status == 0, "a proof may be written over"
        assert b"ana@example.org" in proof.read_bytes()
        assert len(csl("check", str(proof), "--json").data["proofs"][0]["blocks"]) > 1

    def test_flags_that_say_nothing(self, csl: Csl, citation: str, tmp_path: Path) -> None:
        block = citation.partition("sha256:")[2][:64]
        call = ["block", block, "--brain", "python"]
        notes = written(tmp_path, "my notes", "notes.md")
        for more in (["--out", "x"], ["--prove", "--records"], ["--prove", "--out", str(tmp_path)],
                     ["--prove", "--out", notes]):  # fmt: skip
            assert csl(*call, *more).status == 2, more
        assert Path(notes).read_text() == "my notes"
        assert csl(*call, "--prove", "--out", str(tmp_path / ("no" * 200))).status in (2, 11)


class TestTrace:
    def test_up_and_down(self, csl: Csl, inside: Path) -> None:
        found = csl("search", *QUESTION, "--brain", "python", "--json").data["matches"][0]
        out = csl("trace", found["block_id"], "--brain", "python").out
        assert out.startswith(f"semantic {found['block_id'][7:19]} of python\n")
        assert "\ncomes from\n└─ canonical " in out and "sources/python/deprecation.md" in out
        assert "lines 5, Deprecation policy > Rules" in out
        assert "2026-01-02T03:04:05Z registered, normalized, derived by ana@example.org" in out
        assert out.endswith("\nled to nothing\n")
        file = found["sources"][0]["block_id"]
        out = csl("trace", file, "--brain", "python", "--down", "--limit", "1").out
        assert (
            "led to 2 blocks\n├─ semantic " in out
            and "└─ and 1 more (--limit)" in out
            and "comes from" not in out
        )
        assert "led to" not in csl("trace", file, "--brain", "python", "--up").out

    def test_json(self, csl: Csl, inside: Path) -> None:
        found = csl("search", *QUESTION, "--brain", "python", "--json").data["matches"][0]
        data = csl("trace", found["block_id"], "--brain", "python", "--json").data
        (node,) = data["up"]["nodes"]
        assert node["title"] == "sources/python/deprecation.md" and node["record"]["what"] == "derived"
        assert data["down"] == {"nodes": [], "edges": 0, "hidden": 0, "total": 0, "counted_all": True}
        shown = csl("block", found["block_id"], "--brain", "python", "--json").data["block"]
        assert shown["up"] == data["up"] and shown["down"] == data["down"]

    @pytest.mark.parametrize(
        ("args", "status"), [(["zz"], 2), (["0" * 64], 4), ([], 2), (["ab", "--depth", "0"], 2)]
    )
    def test_bad_calls(self, csl: Csl, inside: Path, args: list[str], status: int) -> None:
        assert csl("trace", *args, "--brain", "python").status == status
