"""The manual names everything there is, and nothing that there is not."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from consilience import errors
from consilience.cli.app import INTERRUPTED, PIPE_CLOSED, root_command
from consilience.cli.framework import Argument, GlobalOption, global_options
from consilience.cli.tree import paths
from consilience.config import RESERVED, SETTINGS
from consilience.embed.base import PROVIDERS

ROOT = Path(__file__).parents[2]
COMMANDS = (ROOT / "docs" / "commands.md").read_text()
CONFIGURATION = (ROOT / "docs" / "configuration.md").read_text()


def section(path: tuple[str, ...]) -> str:
    """What the manual says of one command."""
    found = re.search(
        rf"^## csl {' '.join(path)}(?: [^\n]*)?\n(.*?)(?=^## |\Z)", COMMANDS, re.MULTILINE | re.DOTALL
    )
    assert found is not None, f"docs/commands.md has no section '## csl {' '.join(path)}'"
    return found[1]


def find(path: tuple[str, ...]) -> click.Command:
    command: click.Command = root_command()
    context = click.Context(command, info_name="csl")
    for name in path:
        assert isinstance(command, click.Group)
        inner = command.get_command(context, name)
        assert inner is not None
        command = inner
    return command


LEAVES = [path for path in paths() if not isinstance(find(path), click.Group)]


def names(command: click.Command) -> set[str]:
    """The options that are this command's own."""
    mine = [p for p in command.params if isinstance(p, click.Option) and not isinstance(p, GlobalOption)]
    return {name for option in mine for name in (*option.opts, *option.secondary_opts)}


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
class TestCommands:
    def test_is_in_the_list_and_has_a_section(self, path: tuple[str, ...]) -> None:
        assert section(path).strip()
        assert f"| [`csl {' '.join(path)}`](#" in COMMANDS

    def test_every_option_is_described(self, path: tuple[str, ...]) -> None:
        text = section(path)
        for base in re.findall(r"The options of `([a-z ]+)`", text):
            text += section(tuple(base.split()))
            text += "".join(
                section(tuple(b.split())) for b in re.findall(r"The options of `([a-z ]+)`", text)
            )
        missing = {name for name in names(find(path)) if f"`{name}" not in text}
        assert not missing

    def test_no_option_is_described_that_there_is_not(self, path: tuple[str, ...]) -> None:
        described = set()
        for row in re.findall(r"^\| (`-.*?) \|", section(path), re.MULTILINE):
            described |= set(re.findall(r"`(--?[a-z-]+)", row))
        assert described <= names(find(path))

    def test_arguments_have_a_word_of_help(self, path: tuple[str, ...]) -> None:
        assert all(argument.help for argument in find(path).params if isinstance(argument, Argument))
        assert all(p.help for p in find(path).params if isinstance(p, click.Option))

    def test_examples_are_calls_of_this_command(self, path: tuple[str, ...]) -> None:
        import shlex

        command = find(path)
        for example in getattr(command, "examples", ()):
            for call in example.split(" && ")[0:1]:
                words = shlex.split(call.split(" > ")[0])
                assert words[: len(path) + 1] == ["csl", *path], example
                command.make_context("csl", words[len(path) + 1 :], resilient_parsing=False, obj=_Ignore())


class _Ignore:
    """Stands where the Invocation stands, for parsing alone."""

    def set(self, name: str, value: object) -> None:
        pass


def test_global_options() -> None:
    text = COMMANDS.partition("## Options of every command")[2].partition("\n## ")[0]
    for option in global_options():
        for name in (*option.opts, *option.secondary_opts):
            assert f"`{name}" in text, name
    assert "`--version`" in text
    assert "`-h`, `--help`" in text


def test_sections_are_commands() -> None:
    titles = re.findall(r"^## csl ([^\n]+)$", COMMANDS, re.MULTILINE)
    described = {tuple(word for word in title.split() if word.islower()) for title in titles}
    assert described == set(LEAVES)


def test_links_lead_somewhere() -> None:
    for file, text in (("commands.md", COMMANDS), ("configuration.md", CONFIGURATION)):
        anchors = {
            re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")
            for title in re.findall(r"^## ([^\n]+)$", text, re.MULTILINE)
        }
        for target in re.findall(r"\]\(([^)]+)\)", text):
            if target.startswith("#"):
                assert target[1:] in anchors, f"{file}: {target}"
            else:
                assert (ROOT / "docs" / target.partition("#")[0]).is_file(), f"{file}: {target}"


def test_exit_statuses() -> None:
    """Every class of error has its row, and no number is described that nothing gives."""
    rows = {int(status) for status in re.findall(r"^\| (\d+) \|", COMMANDS, re.MULTILINE)}
    classes = [
        value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)
    ]
    assert rows == {0, *(c.exit_status for c in classes), INTERRUPTED, PIPE_CLOSED}


def test_environment() -> None:
    """Every variable that the code reads is in the table, and every one in the table is read."""
    source = "".join(file.read_text() for file in (ROOT / "src" / "consilience" / "cli").rglob("*.py"))
    read = set(re.findall(r'"(CONSILIENCE_[A-Z]+|NO_COLOR|FORCE_COLOR|CLICOLOR(?:_FORCE)?|COLUMNS)"', source))
    table = COMMANDS.partition("## Environment")[2]
    described = set(re.findall(r"`([A-Z_]+)`", "".join(re.findall(r"^\| (.*?) \|", table, re.MULTILINE))))
    assert read == described


def test_settings() -> None:
    described = re.findall(
        r"^\| `((?:project|brains|retention)\.[A-Za-z_.]+)` \| ([a-z]+)", CONFIGURATION, re.MULTILINE
    )
    kinds = {str: "string", bool: "boolean", int: "integer", list: "list"}
    assert described == [(setting.path, kinds[setting.kind]) for setting in SETTINGS]


def test_providers_and_reserved_names() -> None:
    for name in PROVIDERS:
        assert f"`{name}`" in CONFIGURATION
    for name, why in RESERVED.items():
        assert f"`{name}`" in CONFIGURATION or "Windows" in why
