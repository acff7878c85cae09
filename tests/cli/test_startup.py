"""What starting up costs: help needs nothing but Python, a command only what it uses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from consilience.cli import help_pages, help_text
from consilience.cli.app import root_command, run
from consilience.cli.main import main
from consilience.cli.tree import Branch, commands, paths

Csl = Any
NOT_FOR_HELP = {
    "click", "msgspec", "json", "pathlib", "argparse", "inspect", "datetime", "dataclasses", "tomllib",
    "importlib.metadata", "sqlite3", "numpy", "tantivy", "tomlkit", "tqdm", "platformdirs", "difflib",
}  # fmt: skip
MODULES = (
    "import sys; from consilience.cli.main import main; status = main(); "
    "sys.stdout.flush(); sys.stderr.write(chr(10) + ' '.join(sys.modules)); sys.exit(status)"
)


def loaded(*args: str, **options: Any) -> set[str]:
    """The modules that a call leaves loaded."""
    done = subprocess.run(
        [sys.executable, "-c", MODULES, *args],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,
    )
    return set(done.stderr.splitlines()[-1].split())


class TestHelp:
    @pytest.mark.parametrize(
        "args", [["--help"], ["-h"], ["search", "--help"], ["project", "add", "-h"], ["--version"]]
    )
    def test_imports_nothing_but_its_pages(self, args: list[str]) -> None:
        bare = subprocess.run(
            [sys.executable, "-c", "import sys; print(*sys.modules)"],
            capture_output=True,
            text=True,
            check=True,
        )
        extra = loaded(*args) - set(bare.stdout.split())
        assert not extra & NOT_FOR_HELP
        assert {name for name in extra if name.startswith("consilience")} == {
            "consilience",
            "consilience.cli",
            "consilience.cli.main",
            "consilience.cli.help_text",
        }

    def test_every_stored_page_is_what_click_would_print(self) -> None:
        assert help_pages.pages() == help_text.PAGES, "run: python -m consilience.cli.help_pages"

    @pytest.mark.parametrize("path", paths(), ids=" ".join)
    def test_the_stored_page_and_the_computed_one_are_the_same(
        self, path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main([*path, "--help"]) == 0
        stored = capsys.readouterr().out
        assert run([*path, "--help"], {}) == 0
        assert capsys.readouterr().out == stored
        assert all(len(line) <= 80 for line in stored.splitlines())

    def test_a_narrow_terminal_gets_a_page_that_fits(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "60")
        assert main(["search", "--help"]) == 0
        text = capsys.readouterr().out.partition("Examples:")[0]
        assert max(map(len, text.splitlines())) <= 60

    def test_help_of_a_command_is_not_taken_for_another_ones(self, csl: Csl) -> None:
        assert csl("project", "--help").out.startswith("Usage: csl project ")
        assert csl("nope", "--help").status == 2
        assert csl("search", "x", "--help").out == help_text.PAGES["search"]

    def test_summaries_are_those_of_the_commands(self) -> None:
        """The lists of commands are written without loading the commands; they must not drift apart."""
        import click

        group = root_command()
        context = click.Context(group, info_name="csl")
        for name, entry in commands().items():
            leaves = entry.leaves.items() if isinstance(entry, Branch) else [(name, entry)]
            inner: click.Command | None = group.get_command(context, name)
            for leaf, listed in leaves:
                found = inner.get_command(context, leaf) if isinstance(inner, click.Group) else inner
                assert found is not None
                assert found.short_help == listed.summary
                assert found.name == leaf


class TestCommands:
    def test_a_listing_loads_no_engine(self, library: Path) -> None:
        there = {"cwd": library, "env": {**os.environ, "COLUMNS": "80"}}
        modules = loaded("project", "list", **there)
        assert not modules & {
            "numpy",
            "tantivy",
            "tomlkit",
            "tqdm",
            "sqlite3",
            "selectolax",
            "markdown_it",
            "difflib",
        }

    def test_a_usage_error_loads_no_engine(self) -> None:
        assert not loaded("search", "--limit", "x", "y") & {"numpy", "tantivy", "sqlite3", "tqdm", "tomllib"}

    def test_a_lexical_question_loads_no_numbers_and_no_reader(self, library: Path) -> None:
        modules = loaded("search", "deprecated", "--brain", "python", cwd=library)
        assert not modules & {
            "numpy",
            "tqdm",
            "selectolax",
            "markdown_it",
            "pathspec",
            "platformdirs",
        }

    def test_the_package_alone_loads_nothing(self) -> None:
        done = subprocess.run(
            [sys.executable, "-c", "import consilience, sys; print(*sys.modules)"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert not set(done.stdout.split()) & {"msgspec", "click", "sqlite3", "numpy", "tantivy"}
