"""Writing `consilience.toml`: a new one, a brain added, a brain removed. Everything else in the file stays
as it was.

A change is made under a lock on the project's folder, from the text as it stands then, is checked before it
is written, and replaces the file in one step. An editor knows nothing of that lock: if the file has changed
between reading and replacing, the change is made again from the new text.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from consilience.config import (
    FILE_NAME,
    BrainConfig,
    Config,
    Embedding,
    actor_problem,
    brain_folder,
    check_brain_name,
    embedding_problem,
    folder_problem,
    load,
    overlap,
    parse,
    suggest_name,
    unknown_brain,
)
from consilience.errors import (
    ActorError,
    BusyError,
    ConfigurationError,
    ConsilienceError,
    StorageError,
    UsageError,
)
from consilience.toml_lines import append_table, literal, remove

_ATTEMPTS = 20
_BOM = "\ufeff"

Values = list[tuple[str, str | int | bool]]


def create(folder: Path, name: str, *, actor: str | None = None, description: str = "") -> Config:
    """Write a new file in `folder` (made if need be). UsageError if there is one already."""
    if not name.strip() or not name.isprintable():
        raise UsageError(f"{name!r} cannot be a project's name", hint="a name is a word or a few")
    _check_actor(actor)
    file = folder / FILE_NAME
    rows = ["# One project: several brains, asked one question at a time.", "", "[project]"]
    rows.append(f"name = {literal(name)}")
    if actor is not None:
        rows.append(f"actor = {literal(actor)}")
    if description:
        rows.append(f"description = {literal(description)}")
    text = "\n".join(rows) + "\n"
    config = parse(text, file)
    with _storage(f"cannot make a project in {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        _create_exclusively(file, text)
    return config


def add_brain(
    file: Path,
    name: str,
    *,
    path: str | None = None,
    description: str = "",
    outside: bool = False,
    embedding: Embedding | None = None,
) -> Config:
    """Declare one more brain, at the end of the file. UsageError for a name or path that cannot be."""
    problem = check_brain_name(name)
    if problem is not None:
        better = suggest_name(name)
        raise UsageError(problem, hint=f"csl project add {better}" if better else None)
    values: Values = []
    if path is not None:
        values.append(("path", path))
    if outside:
        values.append(("outside", True))
    if description:
        values.append(("description", description))
    model = _embedding_values(embedding)

    def change(text: str, config: Config) -> str:
        _check_new(config, name, f"brains/{name}" if path is None else path, outside=outside)
        text = append_table(text, ("brains", name), values)
        return append_table(text, ("brains", name, "embedding"), model) if model else text

    return edit(file, change)


def remove_brain(file: Path, name: str) -> Config:
    """Take a brain out of the file. Its data stays where it is. UsageError if there is none of this name."""

    def change(text: str, config: Config) -> str:
        if name not in config.brain_names:
            raise unknown_brain(name, config)
        changed = remove(text, ("brains", name))
        if changed is None:
            raise ConfigurationError(
                f"{file}: brain {name!r} is written inside an inline table with others",
                hint=f"take {name} out by hand, or write each brain as its own [brains.NAME] table",
            )
        return changed

    return edit(file, change)


def edit(file: Path, change: Callable[[str, Config], str]) -> Config:
    """Apply `change` (text and its meaning -> new text) so that nothing written meanwhile is lost.

    Raises what `change` raises, ConfigurationError if the file is not in order before (or cannot take the
    change), StorageError if it cannot be written, BusyError if it never stands still.
    """
    target = Path(os.path.realpath(file))
    with _storage(f"cannot change {file}"), _locked(target.parent):
        for _ in range(_ATTEMPTS):
            load(file)
            before = target.read_bytes()
            text = before.decode("utf-8")
            mark, text = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
            after = change(text, parse(text, file))
            config = _parse_changed(after, file)
            if _replace(target, before, (mark + after).encode()):
                return config
    raise BusyError(f"{file} is being changed by something else all the time", hint="try again")


def _parse_changed(text: str, file: Path) -> Config:
    try:
        return parse(text, file)
    except ConfigurationError as error:
        raise ConfigurationError(
            f"{file} cannot take this change as it is written: {error.message}",
            hint="write the brains as [brains.NAME] tables",
        ) from None


def _check_new(config: Config, name: str, declared: str, *, outside: bool) -> None:
    if name in config.brain_names:
        raise UsageError(
            f"this project has a brain called {name!r} already", hint="csl project show lists them"
        )
    folder = brain_folder(declared, config.root)
    problem = folder_problem(folder, config.root, outside=outside)
    if problem is not None:
        hint = "--outside allows it" if "outside = true" in problem else None
        raise UsageError(problem.split(";")[0] if hint else problem, hint=hint)
    brain = BrainConfig(name=name, path=folder, declared=declared)
    for other in config.brains:
        problem = overlap(brain, other)
        if problem is not None:
            raise UsageError(problem, hint="give it a folder of its own with --path")


def _check_actor(actor: str | None) -> None:
    problem = actor_problem(actor) if actor is not None else None
    if problem is not None:
        raise ActorError(problem, hint="an actor is an address (ana@example.org) or a name (lab/crawler)")


def _embedding_values(embedding: Embedding | None) -> Values:
    if embedding is None:
        return []
    default = Embedding()
    fields = ((key, getattr(embedding, key)) for key in Embedding.__struct_fields__)
    values = [(key, value) for key, value in fields if value is not None and value != getattr(default, key)]
    problem = embedding_problem({"provider": embedding.provider, **dict(values)})
    if problem is not None:
        raise UsageError(f"embedding {problem[0]}: {problem[1]}")
    return values


def _create_exclusively(file: Path, text: str) -> None:
    try:
        with file.open("x", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
    except FileExistsError:
        raise UsageError(
            f"there is a project here already: {file}",
            hint="csl project show shows it; csl project add adds a brain",
        ) from None
    _sync_folder(file.parent)


def _replace(target: Path, before: bytes, after: bytes) -> bool:
    """Put `after` in the place of `before`; False, and nothing done, if something else stands there by
    now."""
    if not os.access(target, os.W_OK):
        raise StorageError(f"{target} is read-only", hint=f"chmod u+w {target}")
    mode = target.stat().st_mode
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(after)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(mode & 0o7777)
        if target.read_bytes() != before:
            return False
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)
    return True


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Exclude other processes of ours; the system drops the lock with the process, so none is ever left
    behind."""
    try:
        import fcntl
    except ImportError:  # Windows: comparing before replacing has to do
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def _storage(what: str) -> Iterator[None]:
    try:
        yield
    except ConsilienceError:
        raise
    except OSError as error:
        raise StorageError(
            f"{what}: {error.strerror or error}", hint="is the disk full, or read-only?"
        ) from None
