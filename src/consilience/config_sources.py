"""The `[[brains.NAME.sources]]` tables of `consilience.toml`: what a brain is kept in step with (docs/sources.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

DELETED = ("keep", "hide")
"""What becomes of what was taken from a file that is gone: nothing, or it is hidden."""

KINDS = ("path", "git")
"""The keys that say where a source is; any other kind is a plug-in and says `kind`."""

OptionValue = str | int | float | bool | tuple[Any, ...]


class SourceConfig(msgspec.Struct, frozen=True, kw_only=True):
    """One declared source.

    Exactly one of `path` (a folder or a file, relative to the project's), `git` (a working tree, read at `revision`)
    and `kind` (a plug-in, which is given `options`) is set. `include` and `exclude` are patterns as in .gitignore.
    `name` is what it is called in reports and in `csl source remove`.
    """

    path: str | None = None
    git: str | None = None
    revision: str = "HEAD"
    kind: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    use_ignore_files: bool = True
    deleted: str = "keep"
    options: tuple[tuple[str, OptionValue], ...] = ()

    @property
    def name(self) -> str:
        if self.path is not None:
            return self.path
        if self.git is not None:
            return f"git:{self.git}"
        told = next((value for key, value in self.options if key in ("name", "path", "url")), None)
        return f"{self.kind}:{told}" if told is not None else str(self.kind)


SOURCE_KEYS: tuple[tuple[str, type, str], ...] = (
    ("path", str, "a folder or a file, from the folder of this file"),
    ("git", str, "a git working tree, read without a checkout"),
    ("revision", str, "the branch, tag or commit that is read of it"),
    ("kind", str, "another kind of source, brought by a plug-in"),
    ("include", list, "only such files, as in .gitignore"),
    ("exclude", list, "no such files, as in .gitignore"),
    ("use_ignore_files", bool, "whether .gitignore, .ignore and .consilienceignore count"),
    ("deleted", str, "what becomes of what was taken from a file that is gone"),
)
"""Key, type and meaning of every setting of a source."""

_KINDS = {str: "a string", bool: "true or false", list: "a list of strings"}

Wrong = Callable[[int, str | None, str], None]
"""Called with a source's number (-1 for all of them), the key, and what is wrong with it."""


def read_sources(tree: Any, wrong: Wrong) -> Iterator[SourceConfig]:
    """The sources that are in order; `wrong` is told of all the rest."""
    if not isinstance(tree, list) or not all(isinstance(each, dict) for each in tree):
        wrong(-1, None, "is a list of tables, each written [[brains.NAME.sources]]")
        return
    known: set[str] = set()
    for at, table in enumerate(tree):
        source = _one(table, lambda key, text, at=at: wrong(at, key, text))  # type: ignore[misc]
        if source is None:
            continue
        if source.name in known:
            wrong(at, None, f"{source.name} is a source of this brain already")
        else:
            known.add(source.name)
            yield source


def source_problem(source: SourceConfig) -> str | None:
    """Why a source cannot be as it is, or None."""
    place = source.path if source.path is not None else source.git
    if place is not None:
        if not place.strip():
            return "is empty"
        if any(ord(char) < 32 or ord(char) == 127 for char in place):
            return "holds a control character"
        if place.startswith("~"):
            return "begins with ~, which is not expanded"
    if source.revision.startswith("-") or not source.revision.strip():
        return f"{source.revision!r} is no revision"
    return None


def _one(table: dict[str, Any], wrong: Callable[[str | None, str], None]) -> SourceConfig | None:
    given = [key for key in ("path", "git", "kind") if key in table]
    if len(given) != 1:
        said = (
            "one of path, git and kind is missing"
            if not given
            else f"{' and '.join(given)} exclude each other"
        )
        wrong(given[1] if given else None, said)
        return None
    kind = given[0]
    values: dict[str, Any] = {}
    options, good = {}, True
    for key, value in table.items():
        expected = next((type_ for known, type_, _ in SOURCE_KEYS if known == key), None)
        if expected is None and kind == "kind":
            options[key] = _frozen(value)
        elif expected is None:
            good = False
            wrong(key, f"no such setting{_near(key)}")
        elif type(value) is not expected or (
            isinstance(value, list) and not all(type(v) is str for v in value)
        ):
            good = False
            wrong(key, f"must be {_KINDS[expected]}")
        else:
            values[key] = tuple(value) if isinstance(value, list) else value
    if kind != "git" and "revision" in values:
        wrong("revision", "belongs to a source with git")
        return None
    if values.get("deleted", "keep") not in DELETED:
        wrong("deleted", f"must be one of {', '.join(DELETED)}")
        return None
    if not good:
        return None
    source = SourceConfig(**values, options=tuple(options.items()))
    problem = source_problem(source)
    if problem is not None:
        wrong("revision" if "revision" in problem else kind, problem)
        return None
    return source


def _near(key: str) -> str:
    import difflib

    keys = [known for known, _, _ in SOURCE_KEYS]
    near = difflib.get_close_matches(key, keys, n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else f"; known here: {', '.join(keys)}"


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
