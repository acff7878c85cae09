"""A project: several brains by name, under one `consilience.toml`.

project = Project.open(".")
project.compound("python", "rust").search("deprecation policy", fuse=True)
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from consilience.config import FILE_NAME, BrainConfig, Config, Embedding, find, load, unknown_brain
from consilience.errors import (
    BrainNotFoundError,
    ConfigurationError,
    ConflictError,
    NoBrainError,
    NoProjectError,
    StorageError,
    UsageError,
)
from consilience.progress import NO_PROGRESS, Progress

if TYPE_CHECKING:
    from datetime import datetime

    from consilience.brain import Brain
    from consilience.citations.checking import Checker
    from consilience.citations.model import CheckReport
    from consilience.compound import Compound
    from consilience.embed.base import EmbedderSpec
    from consilience.model import Bundle, Explanation, Query
    from consilience.oci.model import ImportReport
    from consilience.plan.local import LocalAnswer
    from consilience.protocol import Actor, Digest
    from consilience.retain.policy import Policy
    from consilience.sql.engine import Source
    from consilience.store import View

SEARCH_DEPTH = 4
"""How many folders below the present one `found_projects` looks into."""

LAYOUT = ("derived", "content", "signatures.json", "brain.db-wal", "brain.db-shm", "brain.db")
"""What a brain's folder consists of; the database last, since it tells the rest for what it is."""

KeyLookup = Callable[[str], str | None]


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """What taking a brain out of a project did. `kept` is where its data still is, None where there was none
    or it was deleted."""

    name: str
    path: Path
    kept: Path | None
    deleted: bool


class Project:
    """One open project: an immutable view of its file, and the way to its brains.

    `cache_dir` is where models keep what they compute once (the user's cache folder by default); `lookup`
    turns the name of an environment variable into the key of an embedding provider (nothing is looked up by
    default).
    """

    def __init__(
        self, config: Config, *, cache_dir: Path | None = None, lookup: KeyLookup | None = None
    ) -> None:
        self.config = config
        self._cache_dir = cache_dir
        self._lookup = lookup

    @classmethod
    def open(
        cls, path: str | Path = ".", *, cache_dir: Path | None = None, lookup: KeyLookup | None = None
    ) -> Project:
        """The project whose file is nearest: in `path`, or in a folder above it. `path` may be the file
        itself.

        Raises NoProjectError where there is none, ConfigurationError where the file is not in order.
        """
        return cls(load(locate(Path(path))), cache_dir=cache_dir, lookup=lookup)

    @classmethod
    def init(
        cls,
        path: str | Path,
        name: str,
        *,
        actor: str | None = None,
        description: str = "",
        cache_dir: Path | None = None,
        lookup: KeyLookup | None = None,
    ) -> Project:
        """Make a project in the folder `path`. UsageError if it holds one; ActorError for an id that is not
        one."""
        from consilience import config_file

        folder = Path(os.path.abspath(path))  # noqa: PTH100
        config = config_file.create(folder, name, actor=actor, description=description)
        return cls(config, cache_dir=cache_dir, lookup=lookup)

    @property
    def name(self) -> str:
        return self.config.name

    @property
    def root(self) -> Path:
        return self.config.root

    @property
    def file(self) -> Path:
        return self.config.file

    @property
    def actor(self) -> str | None:
        """The actor id that the file names."""
        return self.config.actor

    @property
    def brains(self) -> tuple[BrainConfig, ...]:
        """The declared brains, in declaration order, whether their layout is here or not."""
        return self.config.brains

    @property
    def cache_dir(self) -> Path:
        if self._cache_dir is None:
            self._cache_dir = user_cache()
        return self._cache_dir

    def _models(self, spec: EmbedderSpec) -> Path | None:
        """Where this brain's model keeps things; finding the folder is not free, so not for a brain without."""
        return self.cache_dir if spec.provider != "none" else None

    def __repr__(self) -> str:
        return f"Project({str(self.file)!r}, brains={list(self.config.brain_names)})"

    def declared(self, name: str) -> BrainConfig:
        """The declaration of one brain. UsageError, with the known names, if there is none."""
        for brain in self.brains:
            if brain.name == name:
                return brain
        raise unknown_brain(name, self.config)

    def choose(self, name: str | None = None) -> BrainConfig:
        """The named brain, or the only one. Never a guess between two: NoBrainError lists the names."""
        if name is not None:
            return self.declared(name)
        if len(self.brains) == 1:
            return self.brains[0]
        if not self.brains:
            raise NoBrainError(f"project {self.name!r} has no brain yet", hint="csl project add BRAIN")
        names = ", ".join(self.config.brain_names)
        raise NoBrainError(f"this project has several brains: {names}", hint="name one with --brain")

    def has_layout(self, brain: BrainConfig) -> bool:
        """Whether the brain's data is on this machine."""
        from consilience.store import Store

        return Store.exists(brain.path)

    def brain(self, name: str | None = None, *, read_only: bool = False) -> Brain:
        """Open a brain (the only one, if no name is given).

        Raises UsageError for a name that is not declared, BrainNotFoundError where there is no layout.
        """
        brain = self.choose(name)
        return self._opened(brain, self.spec(brain), read_only=read_only)

    def writable(self, name: str | None = None, *, create: bool = False) -> Brain:
        """Open a brain to write to it; with `create`, make its layout if there is none.

        Unlike `brain`, raises ConfigurationError when the embedding's key is not there: a question can do
        without vectors, but work that ends in vectors should not begin.
        """
        from consilience.brain import Brain
        from consilience.store import Store

        brain = self.choose(name)
        spec = self.spec(brain, need_key=True)
        if create and not self.has_layout(brain) and Store.vacant(brain.path):
            with contextlib.suppress(ConflictError):  # another process made it just now
                return Brain.create(
                    brain.path,
                    name=brain.name,
                    embedder=spec,
                    cache_dir=self._models(spec),
                    policy=self.policy(brain),
                )
        return self._opened(brain, spec)

    def import_layout(
        self,
        path: Path,
        name: str | None = None,
        *,
        actor: Actor,
        clock: Callable[[], datetime],
        tag: str | None = None,
        embed: bool = True,
        progress: Progress = NO_PROGRESS,
        waiting: Callable[[float], None] | None = None,
    ) -> ImportReport:
        """Take the OCI image layout in `path` into a brain; one that is declared and not here yet is made of it.

        Everything is verified before anything is visible: see `oci.import_brain` and `oci.import_into` for what is
        raised. Then everything derived is caught up.
        """
        from consilience.oci import import_brain
        from consilience.store import Store

        brain = self.choose(name)
        self.spec(brain, need_key=True)
        if self.has_layout(brain) or not Store.vacant(brain.path):
            with self.writable(brain.name) as opened:
                return opened.import_layout(
                    path, actor=actor, clock=clock, tag=tag, embed=embed, progress=progress, waiting=waiting
                )
        made = import_brain(path, brain.path, actor=actor, now=clock(), tag=tag, progress=progress)
        with self.writable(brain.name) as opened:
            return opened.index_imported(made, embed=embed, progress=progress)

    def _opened(self, brain: BrainConfig, spec: EmbedderSpec, *, read_only: bool = False) -> Brain:
        from consilience.brain import Brain

        if not brain.path.exists():
            raise BrainNotFoundError(
                f"brain {brain.name!r} is not here yet: no layout at {self.shown(brain)}",
                hint=f"csl ingest PATH... --brain {brain.name}",
            )
        return Brain.open(
            brain.path,
            name=brain.name,
            embedder=spec,
            cache_dir=self._models(spec),
            read_only=read_only,
            policy=self.policy(brain),
        )

    def policy(self, brain: BrainConfig) -> Policy:
        """What the file allows to be removed from a brain."""
        from consilience.retain.policy import Policy

        held = brain.retention
        return Policy(
            canonical_drop=held.canonical_drop,
            redact=held.redact,
            canonical_redact=held.canonical_redact,
            where=str(self.file),
        )

    def compound(
        self, *names: str, all: bool = False, at: Mapping[str, str] = MappingProxyType({})
    ) -> Compound:
        """Several brains to be asked one question: those named, or with `all` every one that is here (C1 to
        C4).

        A member is opened by the first question it is asked, in that question's own thread: one that cannot
        be opened is a failure of that member, and the others answer. `at` names for some members the snapshot
        at which they are asked; those are opened at once. Raises UsageError for a brain that is no member,
        NotFoundError for a snapshot that it has not.
        """
        from consilience.compound import Compound, choose

        chosen = choose(self.config.brain_names, names, all, self.absent)
        for name in at:
            if name not in chosen.names:
                raise UsageError(
                    f"a snapshot is named for {name!r}, which is not asked",
                    hint=f"asked are {', '.join(chosen.names)}",
                )
        members = [_Member(self, name, at=self._snapshot(name, at.get(name))) for name in chosen.names]
        return Compound(members, chosen.skipped)

    def _snapshot(self, name: str, text: str | None) -> Digest | None:
        if text is None:
            return None
        others = [(brain.name, brain.path) for brain in self.brains if brain.name != name]
        with self.brain(name, read_only=True) as opened:
            return opened.snapshot(text, others)

    def check(self, text: str, *, name: str = "") -> CheckReport:
        """Check every citation in a text (plain, Markdown, JSON) against the brains of this project.

        Reports, never raises on what it finds: a citation that does not hold, a brain that is not here.
        """
        with self.checker() as checker:
            return checker.check(text, name=name)

    def checker(self) -> Checker:
        """For several texts against one snapshot of each brain; a context manager."""
        from consilience.citations.checking import Checker

        return Checker(self.view, names=self.config.brain_names)

    @contextlib.contextmanager
    def view(self, name: str) -> Iterator[View]:
        """A brain at its head snapshot, opened for it; raises as `brain` does."""
        with self.brain(name, read_only=True) as brain, brain.store.view() as view:
            yield view

    def absent(self, name: str) -> str | None:
        """Why a declared brain cannot be asked, or None if its layout is on this machine."""
        brain = self.declared(name)
        if self.has_layout(brain):
            return None
        if brain.path.exists():
            return f"no brain in {self.shown(brain)}"
        return f"no layout at {self.shown(brain)}"

    def shown(self, brain: BrainConfig) -> str:
        """The brain's folder as people read it: below the project from `./`, else in full."""
        if brain.path.is_relative_to(self.root):
            return f"./{brain.path.relative_to(self.root).as_posix()}"
        return str(brain.path)

    def spec(self, brain: BrainConfig, *, need_key: bool = False) -> EmbedderSpec:
        """What the brain's embedding table says, with the key it names looked up.

        ConfigurationError, with `need_key`, if there is no such key.
        """
        from consilience.embed.base import EmbedderSpec

        embedding = brain.embedding
        key = None
        if embedding.api_key_env is not None and self._lookup is not None:
            key = self._lookup(embedding.api_key_env)
            if not key and need_key:
                raise ConfigurationError(
                    f"brain {brain.name!r}: the variable {embedding.api_key_env} is not set",
                    hint=f"export {embedding.api_key_env}=...",
                )
        return msgspec.convert(
            {
                "provider": embedding.provider,
                "model": embedding.model,
                "url": embedding.url,
                "dims": embedding.dims,
                "query_prefix": embedding.query_prefix,
                "passage_prefix": embedding.passage_prefix,
                "api_key": key,
            },
            EmbedderSpec,
        )

    def add(
        self,
        name: str,
        *,
        path: str | None = None,
        description: str = "",
        outside: bool = False,
        embedding: Embedding | None = None,
    ) -> BrainConfig:
        """Declare a brain in the file. Its layout comes with the first ingest."""
        from consilience import config_file

        self.config = config_file.add_brain(
            self.file, name, path=path, description=description, outside=outside, embedding=embedding
        )
        return self.declared(name)

    def remove(self, name: str, *, delete_data: bool = False) -> Removed:
        """Take a brain out of the file. Its data stays, unless `delete_data` says otherwise.

        Only a folder that holds a brain is ever deleted: ConfigurationError for anything else.
        """
        from consilience import config_file

        brain = self.declared(name)
        here = brain.path.exists()
        if delete_data and here and not self.has_layout(brain):
            raise ConfigurationError(
                f"{brain.path} is not a brain's folder, so it is not deleted",
                hint=f"csl project remove {name} without --delete-data, and look at the folder",
            )
        self.config = config_file.remove_brain(self.file, name)
        deleted = delete_data and here
        gone = _delete(brain.path) if deleted else not here
        return Removed(name=name, path=brain.path, kept=None if gone else brain.path, deleted=deleted)


class _Member:
    """A brain of a project as a compound's member, opened when it is first asked."""

    def __init__(self, project: Project, name: str, *, at: Digest | None = None) -> None:
        self.name = name
        self._at = at
        self._project = project
        self._brain: Brain | None = None
        self._lock = threading.Lock()

    def search(self, query: Query) -> Bundle:
        return self._open().search(query, at=self._at)

    def answer(self, query: Query) -> LocalAnswer:
        return self._open().answer(query, at=self._at)

    def explain(self, query: Query, *, analyze: bool = False) -> Explanation:
        return self._open().explain(query, analyze=analyze, at=self._at)

    def tables(self) -> Source:
        return self._open().tables(self._at)

    def _open(self) -> Brain:
        with self._lock:
            if self._brain is None:
                self._brain = self._project.brain(self.name)
            return self._brain


def user_cache() -> Path:
    """The user's cache folder for this program; it may not be there yet."""
    from platformdirs import user_cache_path

    return user_cache_path("consilience", appauthor=False)


def locate(path: Path) -> Path:
    """The project file that `path` means: itself, the one in that folder, or the nearest one above.

    NoProjectError if there is none.
    """
    if path.name == FILE_NAME and not path.is_dir():
        return Path(os.path.abspath(path))  # noqa: PTH100
    if not path.exists():
        raise NoProjectError(
            f"there is no folder {path}", hint="--project takes a folder or a consilience.toml"
        )
    if not path.is_dir():
        raise NoProjectError(
            f"{path} is not a {FILE_NAME}", hint="--project takes a folder or a consilience.toml"
        )
    found = find(path)
    if found is None:
        raise NoProjectError(
            f"no {FILE_NAME} in {os.path.abspath(path)} or any folder above it",  # noqa: PTH100
            hint="csl project init NAME makes a project here",
        )
    return found


def found_projects(start: Path) -> Iterator[Path]:
    """Project files in the folders above `start` (outermost first), in it, and up to SEARCH_DEPTH below it.

    Hidden folders, links and folders that cannot be read are passed over.
    """
    start = Path(os.path.abspath(start))  # noqa: PTH100
    for folder in reversed(start.parents):
        if (folder / FILE_NAME).is_file():
            yield folder / FILE_NAME
    yield from _below(start, SEARCH_DEPTH)


def _below(folder: Path, depth: int) -> Iterator[Path]:
    if (folder / FILE_NAME).is_file():
        yield folder / FILE_NAME
    if depth == 0:
        return
    try:
        with os.scandir(folder) as entries:
            inner = sorted(
                e.name for e in entries if e.is_dir(follow_symlinks=False) and not e.name.startswith(".")
            )
    except OSError:
        return
    for name in inner:
        if not (folder / name / "brain.db").exists():
            yield from _below(folder / name, depth - 1)


def _delete(folder: Path) -> bool:
    """Delete what a brain consists of and nothing else; whether the folder is gone too."""
    try:
        for part in LAYOUT:
            inner = folder / part
            if inner.is_dir() and not inner.is_symlink():
                shutil.rmtree(inner)
            else:
                inner.unlink(missing_ok=True)
        if any(folder.iterdir()):
            return False
        folder.unlink() if folder.is_symlink() else folder.rmdir()
    except OSError as error:
        raise StorageError(
            f"the brain is out of the project, but not all of {folder} could be deleted: "
            f"{error.strerror or error}",
            hint="delete the folder by hand",
        ) from None
    return True
