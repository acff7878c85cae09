"""Every way in which a call can end: its exit status, where the words go, and never a traceback."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from consilience.brain import Brain
from consilience.cli import app

Csl = Any
MAIN = "import sys; from consilience.cli.main import main; sys.exit(main())"


def process(*args: str | bytes, **options: Any) -> subprocess.CompletedProcess[bytes]:
    """A call in a process of its own."""
    options = {"capture_output": True, "timeout": 120, **options}
    return subprocess.run([sys.executable, "-c", MAIN, *args], check=False, **options)


class TestUsage:
    @pytest.mark.parametrize(
        ("args", "said", "hint"),
        [
            (["serch", "x"], "no such command: csl serch", "did you mean csl search?"),
            (["init"], "no such command: csl init", "did you mean csl project init?"),
            (["help"], "no such command: csl help", "did you mean csl --help?"),
            (["xyzzy"], "no such command: csl xyzzy", "there are project, status, ingest"),
            (["project", "ad", "x"], "no such command: csl project ad", "did you mean csl project add?"),
            (["search"], "missing argument 'TEXT...'", "csl search --help shows how it is used"),
            (["search", "--limt", "3", "x"], "no such option: --limt", "did you mean --limit"),
            (["search", "-Wall"], "no such option: -W", "goes after two: csl search -- '-W ...'"),
            (["search", "x", "--limit", "0"], "0 is not in the range", "csl search --help"),
            (["search", "x", "--limit", "-1"], "-1 is not in the range", "csl search --help"),
            (["search", "x", "--limit", "abc"], "'abc' is not a valid integer", "csl search --help"),
            (["search", "x", "--limit", "1e9"], "'1e9' is not a valid integer", "csl search --help"),
            (["search", "x", "--limit"], "option '--limit' requires an argument", "csl search --help"),
            (["search", "x", "--limit", "99999999999"], "not in the range", "csl search --help"),
            (["search", ""], "the question is empty", "csl search TEXT"),
            (["search", " \n\t"], "the question is empty", "csl search TEXT"),
            (["search", "?!... —"], "there is no word in the question", "at least one letter"),
            (
                ["search", "x", "--module", "semantics"],
                "there is no module 'semantics'",
                "did you mean semantic?",
            ),
            (["search", "x", "--module", "zzz"], "there is no module 'zzz'", "there are canonical, episodic"),
            (["search", "x", "--module", "provenance"], "provenance module is not searched", "block ID"),
            (["search", "x", "--since", "yesterday"], "--since: 'yesterday' is not a date", "2024-05-01"),
            (["search", "x", "--until", "2024-13-01"], "--until: '2024-13-01' is not a date", "2024-05-01"),
            (["search", "x", "--brain", "pyton"], "no brain called 'pyton'", "did you mean python?"),
            (["search", "x"], "this project has several brains: python, rust, gone", "name one with --brain"),
            (["verify", "extra"], "unexpected extra argument", "csl verify --help"),
        ],
    )
    def test_status_2_in_words_and_as_json(
        self, csl: Csl, inside: Path, args: list[str], said: str, hint: str
    ) -> None:
        if args[0] == "search" and "--brain" not in args and args != ["search", "x"] and len(args) > 1:
            args = [args[0], "--brain", "python", *args[1:]]
        done = csl(*args)
        assert done.status == 2
        assert done.out == ""
        assert said in done.err
        assert hint in done.err
        assert done.err.startswith("error: ")
        done = csl("--json", *args)
        assert done.status == 2
        assert done.err == ""
        assert said in done.error["message"]
        assert hint in done.error["hint"]
        assert done.error["retryable"] is False

    def test_the_json_flag_counts_also_where_the_line_cannot_be_understood(
        self, csl: Csl, inside: Path
    ) -> None:
        assert csl("search", "x", "--wrong", "--json").json["command"] == "search"
        assert csl("compound", "serch", "--json").json["error"]["code"] == "usage"
        done = csl("search", "--wrong", "--", "--json")
        assert done.out == ""

    @pytest.mark.parametrize("args", [[], ["project"], ["compound"]])
    def test_no_command_shows_the_help(self, csl: Csl, args: list[str]) -> None:
        done = csl(*args)
        assert done.status == 2
        assert done.out == ""
        assert done.err.startswith("Usage: csl ")

    def test_a_brain_from_the_environment_is_named_as_such(
        self, csl: Csl, inside: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CONSILIENCE_BRAIN", "nope")
        assert "no brain called 'nope' (from CONSILIENCE_BRAIN)" in csl("search", "x").err
        monkeypatch.setenv("CONSILIENCE_BRAIN", "python")
        assert csl("search", "x", "--json").data["brain"] == "python"
        assert csl("search", "x", "--json", "--brain", "rust").data["brain"] == "rust"
        monkeypatch.setenv("CONSILIENCE_BRAIN", "")
        assert csl("search", "x").status == 2

    @pytest.mark.parametrize(
        "text",
        [
            '"',
            "a AND (b OR",
            "title:x",
            "a:b:c",
            "[1 TO",
            "x^2~3",
            "\\",
            "*",
            "a* b?",
            "-x +y",
            "{}",
            "漢字",
            "مرحبا",
            "é",
        ],
    )
    def test_query_syntax_and_other_scripts_are_only_words(self, csl: Csl, inside: Path, text: str) -> None:
        done = csl("search", "--brain", "python", "--json", "--", f"deprecated {text}")
        assert done.status == 0

    def test_a_question_of_100_kilobytes(self, csl: Csl, inside: Path) -> None:
        done = csl("search", "--brain", "python", "--json", "deprecated feature " * 5300)
        assert done.status == 0
        assert done.data["count"] > 0


class TestProjects:
    def test_no_project(self, csl: Csl, empty: Path) -> None:
        done = csl("search", "x")
        assert done.status == 3
        assert f"no consilience.toml in {empty} or any folder above it" in done.err
        assert "csl project init NAME" in done.err

    def test_chosen_by_flag_or_variable(
        self, csl: Csl, library: Path, empty: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for path in (library, library / "consilience.toml", library / "sources" / "rust"):
            done = csl("search", "x", "--brain", "rust", "--project", str(path))
            assert done.status == 0
        monkeypatch.setenv("CONSILIENCE_PROJECT", str(library))
        assert csl("search", "x", "--brain", "rust").status == 0
        monkeypatch.setenv("CONSILIENCE_PROJECT", "/nowhere")
        assert csl("search", "x", "--brain", "rust").status == 3
        assert csl("search", "x", "--brain", "rust", "--project", str(library)).status == 0

    def test_a_flag_that_is_no_project(self, csl: Csl, empty: Path) -> None:
        (empty / "file").write_text("")
        for path, said in (
            ("nowhere", "there is no folder nowhere"),
            ("file", "file is not a consilience.toml"),
        ):
            done = csl("search", "x", "--project", path)
            assert done.status == 3
            assert said in done.err

    def test_a_brain_that_is_not_here(self, csl: Csl, inside: Path) -> None:
        done = csl("search", "x", "--brain", "gone", "--json")
        assert (done.status, done.error["code"]) == (4, "brain_not_found")
        assert done.error["hint"] == "csl ingest PATH... --brain gone"

    def test_a_brain_folder_half_deleted(self, csl: Csl, copy: Path) -> None:
        for file in (copy / "brains" / "rust").glob("brain.db*"):
            file.unlink()
        for command in (["search", "x"], ["verify"], ["block", "abcd"], ["index"]):
            done = csl(*command, "--brain", "rust", "--json")
            assert done.status == 4, command

    def test_a_damaged_brain(self, csl: Csl, copy: Path) -> None:
        (copy / "brains" / "rust" / "brain.db").write_bytes(b"not a database" * 1000)
        for command in (["search", "x"], ["verify"], ["block", "abcd"], ["index"]):
            assert csl(*command, "--brain", "rust", "--json").status == 5, command

    def test_ingest_does_not_take_over_a_folder_of_something_else(self, csl: Csl, copy: Path) -> None:
        (copy / "brains" / "gone").mkdir()
        (copy / "brains" / "gone" / "thesis.txt").write_text("ten years of work")
        done = csl("ingest", "sources", "--brain", "gone")
        assert done.status == 4
        assert [path.name for path in (copy / "brains" / "gone").iterdir()] == ["thesis.txt"]


class TestWriting:
    def test_a_write_without_an_actor_is_refused(self, csl: Csl, empty: Path) -> None:
        csl("project", "init", "x")
        csl("project", "add", "a", "--model", "none")
        (empty / "note.md").write_text("# A note\n\nA zebra walks.\n")
        done = csl("ingest", "note.md")
        assert done.status == 3
        assert "nobody is named" in done.err
        assert not (empty / "brains").exists()
        assert csl("ingest", "note.md", "--actor", "Not An Id").status == 7
        assert not (empty / "brains").exists()
        assert (
            csl("ingest", "note.md", "--actor", "ana@example.org", "--json").data["actor"]
            == "ana@example.org"
        )

    def test_ingest_for_people(self, csl: Csl, copy: Path) -> None:
        (copy / "more").mkdir()
        (copy / "more" / "a.md").write_text("# A note\n\nA zebra walks.\n")
        (copy / "more" / "b.bin").write_bytes(bytes(range(256)))
        (copy / "more" / ".hidden.md").write_text("x")
        done = csl("ingest", "more", "--brain", "python")
        assert done.status == 0
        lines = done.out.splitlines()
        assert lines[0].startswith("python: 1 taken, 2 skipped; ")
        assert any(line.startswith("  skipped 1, ") and "b.bin" in line for line in lines)
        done = csl("ingest", "more", "--brain", "python")
        assert done.out.startswith("python: 1 unchanged, 2 skipped; ")
        assert "nothing new, nothing written" in done.out

    def test_the_key_of_a_provider_must_be_there_before_work_begins(
        self, csl: Csl, copy: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        file = copy / "consilience.toml"
        text = file.read_text().replace(
            'provider = "none"',
            'provider = "openai"\nmodel = "m"\nurl = "http://localhost:1/v1"\napi_key_env = "NO_SUCH_KEY"',
            1,
        )
        file.write_text(text)
        monkeypatch.delenv("NO_SUCH_KEY", raising=False)
        done = csl("ingest", "sources", "--brain", "python")
        assert done.status == 3
        assert "the variable NO_SUCH_KEY is not set" in done.err
        assert csl("search", "deprecated", "--brain", "python").status == 0

    def test_paths_that_do_not_exist(self, csl: Csl, copy: Path) -> None:
        done = csl("ingest", "nowhere.md", "--brain", "python")
        assert done.status in (2, 11)
        assert "nowhere.md" in done.err + done.out


@pytest.mark.skipif(os.name == "nt", reason="no pseudo-terminals there")
class TestProgress:
    @pytest.mark.parametrize(("rows", "columns"), [(0, 0), (0, 80), (25, 0), (25, 100)])
    def test_a_terminal_sees_a_bar_with_rate_and_time_left(self, copy: Path, rows: int, columns: int) -> None:
        import fcntl
        import pty
        import struct
        import termios

        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        (copy / "new.md").write_text("# A note\n\nA zebra walks.\n")
        done = process(
            "ingest",
            "new.md",
            "--brain",
            "python",
            capture_output=False,
            stdout=subprocess.PIPE,
            stderr=theirs,
        )
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):
            while data := os.read(ours, 4096):
                seen += data
        os.close(ours)
        assert done.returncode == 0
        assert b"reading: " in seen
        assert b"B/s]" in seen
        assert b"<" in seen
        assert done.stdout.startswith(b"python: 1 taken")

    def test_a_pipe_sees_none(self, copy: Path) -> None:
        (copy / "new.md").write_text("# A note\n\nA zebra walks.\n")
        for extra in ([], ["--json"], ["--quiet"]):
            assert process("ingest", "new.md", "--brain", "python", *extra).stderr == b""


class TestInterrupts:
    def test_a_search(self, csl: Csl, inside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupt(*args: object, **options: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(Brain, "search", interrupt)
        done = csl("search", "x", "--brain", "python")
        assert (done.status, done.out, done.err) == (130, "", "error: interrupted: nothing was changed\n")
        done = csl("search", "x", "--brain", "python", "--json")
        assert (done.status, done.error["code"], done.error["retryable"]) == (130, "interrupted", True)

    def test_an_ingest_says_what_is_kept(self, csl: Csl, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        import msgspec

        whole = Brain.ingest

        def interrupted(self: Brain, *args: Any, **options: Any) -> Any:
            return msgspec.structs.replace(whole(self, *args, **options), interrupted=True)

        monkeypatch.setattr(Brain, "ingest", interrupted)
        done = csl("ingest", "sources", "--brain", "python")
        assert done.status == 130
        assert done.out.startswith("python: ")
        assert done.err.endswith(
            "error: interrupted: what was committed is kept; the same command goes on from there\n"
        )

    @pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
    def test_a_signal_to_a_real_process(self, inside: Path) -> None:
        """The process is in the middle of a question, which sends itself the signal that Ctrl-C sends."""
        code = (
            "import os, signal, sys\nfrom consilience.brain import Brain\n"
            f"Brain.search = lambda *a, **k: os.kill(os.getpid(), {int(signal.SIGINT)})\n" + MAIN
        )
        args = [sys.executable, "-c", code, "search", "x", "--brain", "python"]
        done = subprocess.run(args, capture_output=True, timeout=60, check=False)
        assert done.returncode == 130
        assert done.stderr == b"error: interrupted: nothing was changed\n"


class TestStreams:
    def test_a_reader_that_goes_away(self, inside: Path) -> None:
        done = subprocess.run(
            f"'{sys.executable}' -c '{MAIN}' search --brain python deprecated | true; echo ${{PIPESTATUS[0]}}",
            shell=True,
            executable="/bin/bash",
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.stderr == b""
        assert done.stdout.strip() in (b"0", b"141")

    def test_a_closed_standard_output(self, inside: Path) -> None:
        for extra in ([], ["--json"]):
            args = [sys.executable, "-c", MAIN, "search", "--brain", "python", "deprecated", *extra]
            done = subprocess.run(
                ["/bin/sh", "-c", 'exec "$0" "$@" >&-', *args],
                stderr=subprocess.PIPE,
                timeout=60,
                check=False,
            )
            assert done.returncode == 11
            assert done.stderr.startswith(b"error: standard output is closed")

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
    @pytest.mark.parametrize("extra", [[], ["--json"]])
    def test_a_full_disk_behind_standard_output(self, inside: Path, extra: list[str]) -> None:
        with Path("/dev/full").open("wb") as full:
            args = ["search", "--brain", "python", "deprecated", *extra]
            done = process(*args, capture_output=False, stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 11
        assert done.stderr == b"error: the answer could not be written: No space left on device\n"

    def test_a_question_that_is_not_utf8(self, inside: Path) -> None:
        done = process("search", "--brain", "python", b"caf\xe9")
        assert done.returncode == 2
        assert b"the question is not valid UTF-8" in done.stderr

    def test_a_path_that_is_not_utf8(self, copy: Path) -> None:
        name = os.fsdecode(b"caf\xe9.md")
        try:
            Path(name).write_text("# Coffee\n\nA zebra drinks.\n")
        except OSError:
            pytest.skip("the file system takes no such names")
        done = process("ingest", b"caf\xe9.md", "--brain", "python", "--json")
        assert done.returncode == 0, done.stderr
        done = process("search", "zebra", "drinks", "--brain", "python", "--no-floor")
        assert done.returncode == 0
        assert b"caf" in done.stdout
        assert b"\xe9" not in done.stdout

    def test_an_encoding_that_knows_only_ascii(self, inside: Path) -> None:
        env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
        done = process("compound", "search", "--all", "deprecated", "feature", env=env)
        assert done.returncode == 0
        assert done.stdout.isascii()
        assert b"-- python ---" in done.stdout
        assert b"\\u" not in done.stdout

    def test_notes_go_to_standard_error_and_quiet_keeps_the_error(self, csl: Csl, empty: Path) -> None:
        (empty / "inner").mkdir()
        csl("project", "init", "x")
        done = csl("project", "init", "y", "--path", "inner", "-q")
        assert (done.status, done.err) == (0, "")
        assert csl("search", "x", "--quiet").err.startswith("error: ")


class TestBugs:
    @pytest.fixture(autouse=True)
    def bug(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*args: object, **options: object) -> None:
            raise RuntimeError("the moon\nis blue")

        monkeypatch.setattr(Brain, "search", fail)
        monkeypatch.setattr(Brain, "answer", fail)

    def test_one_line_and_no_traceback(self, csl: Csl, inside: Path) -> None:
        done = csl("search", "x", "--brain", "python")
        assert done.status == 1
        assert done.err.splitlines()[0] == "error: RuntimeError: the moon is blue: this is a bug of ours"
        assert "CONSILIENCE_DEBUG=1" in done.err
        done = csl("search", "x", "--brain", "python", "--json")
        assert (done.status, done.error["code"]) == (1, "internal")

    def test_a_traceback_where_it_is_asked_for(
        self, inside: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setenv("CONSILIENCE_DEBUG", "1")
        assert app.run(["search", "x", "--brain", "python"]) == 1
        assert "Traceback" in capsys.readouterr().err

    def test_in_a_compound_the_bug_of_one_brain_is_told(self, csl: Csl, inside: Path) -> None:
        done = csl("compound", "search", "--all", "x")
        assert done.status == 1
        assert "RuntimeError: the moon" in done.err
