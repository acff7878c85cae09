"""What a source is: the small protocol that folders, git trees and plug-ins share (docs/sources.md)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Protocol, cast

from consilience.config_sources import SourceConfig
from consilience.errors import ConfigurationError, ConsilienceError, SourceError
from consilience.ingest.discover import Found, Skipped
from consilience.model import Value
from consilience.sync.around import Around

ENTRY_POINTS = "consilience.sources"
_PLUGIN = re.compile(r"[a-z][a-z0-9_-]*")
_TAKEN = frozenset({"file", "git", "path", "catalog", "http", "https"})


class Listed(Value, frozen=True, kw_only=True):
    """One document of a plug-in's source.

    `name` tells it from the others and stays the same when it changes (`inbox/2024-05/12`); its ending chooses the
    reader (`.md`, `.html`), unless `file_name` says another. `stamp` is different whenever the bytes are: with it a
    document that did not change is not read again; "" says that nothing is known of that. `size` is in bytes, 0 where
    it is not known.
    """

    name: str
    file_name: str = ""
    size: int = 0
    stamp: str = ""


class Source(Protocol):
    """What a plug-in's class gives: made with the options of its table and the project's folder."""

    def list(self) -> Iterable[Listed]:
        """Every document that there is now. Raising means that the source cannot be reached: then nothing that was
        taken from it counts as gone."""
        ...

    def read(self, item: Listed) -> bytes:
        """The bytes of one document. Raising makes that document a failure, and no other."""
        ...


Factory = Callable[[Mapping[str, Any], Path], Source]
"""What the entry point names. ConfigurationError for options that cannot be; nothing is reached yet."""


class Opened(Protocol):
    """A source of any kind, as `sync` uses it."""

    config: SourceConfig

    def items(self) -> Iterator[tuple[Found | Skipped, str]]:
        """Everything in it now, each with its stamp ("" where none can be trusted). Raises SourceError."""
        ...

    def covers(self, origin: str) -> bool:
        """Whether what stands under an origin was taken from this source, or could have been."""
        ...

    def absent(self, origin: str) -> bool | None:
        """Whether a covered origin that was not listed is gone; None where that cannot be known."""
        ...

    def close(self) -> None:
        """Let go of what reading needed. What is read later opens it again."""
        ...


class Fetched(Found, frozen=True):
    """A document that is no file here; `fetch` gives its bytes and raises OSError."""

    fetch: Callable[[], bytes]

    def read(self) -> bytes:
        return self.fetch()

    def beside(self, relative: str) -> bytes | None:
        """Nothing: what stands beside it is no file here either."""
        return None


def open_source(config: SourceConfig, around: Around) -> Opened:
    """The source that a table declares. Nothing is read yet; raises ConfigurationError for what cannot be."""
    if config.path is not None:
        from consilience.sync.folder import Folder

        return Folder(config, around)
    if config.git is not None:
        from consilience.sync.git import GitTree

        return GitTree(config, around)
    return Plugged(config, around)


class Plugged:
    """A plug-in's source. Its origins are `KIND:NAME`, with what `name`, `path` or `url` of its table says between."""

    def __init__(self, config: SourceConfig, around: Around) -> None:
        self.config = config
        self._prefix = f"{config.name}:"
        self._root = around.root

    def _open(self) -> Source:
        factory = _factory(str(self.config.kind))
        try:
            return factory(dict(self.config.options), self._root)
        except ConsilienceError:
            raise
        except Exception as error:
            raise ConfigurationError(
                f"the source {self.config.name} cannot be made: {_said(error)}",
                hint=f"look at the keys of its table; they are the plug-in {self.config.kind}'s own",
            ) from error

    def items(self) -> Iterator[tuple[Found | Skipped, str]]:
        source = self._open()
        patterns = patterns_of(self.config)
        try:
            for item in source.list():
                origin = self._prefix + item.name
                file_name = item.file_name or PurePosixPath(item.name).name
                path = file_name or "unnamed"
                reason = patterns(item.name)
                if reason is not None:
                    yield Skipped(path, origin, reason), ""
                else:
                    yield Fetched(path, origin, item.size, _fetch(source, item)), item.stamp
        except ConsilienceError:
            raise
        except Exception as error:
            raise SourceError(f"the source {self.config.name} cannot be listed: {_said(error)}") from error

    def covers(self, origin: str) -> bool:
        return origin.startswith(self._prefix)

    def absent(self, origin: str) -> bool | None:
        return True

    def close(self) -> None:
        """Nothing is held open."""


def _fetch(source: Source, item: Listed) -> Callable[[], bytes]:
    def fetch() -> bytes:
        try:
            data = source.read(item)
        except Exception as error:
            raise OSError(_said(error)) from error
        if not isinstance(data, bytes):
            raise OSError(f"the plug-in gave {type(data).__name__}, not bytes")
        return data

    return fetch


def patterns_of(config: SourceConfig) -> Callable[[str], str | None]:
    """Why a name below a source is left out by its patterns, or None."""
    from consilience.ingest.discover import pattern_spec

    include, exclude = pattern_spec(config.include), pattern_spec(config.exclude)

    def reason(name: str) -> str | None:
        if exclude is not None and exclude.match_file(name):
            return "excluded"
        if include is not None and not include.match_file(name):
            return "not among the files included"
        return None

    return reason


def _factory(kind: str) -> Factory:
    from importlib.metadata import entry_points

    if _PLUGIN.fullmatch(kind) is None or kind in _TAKEN:
        raise ConfigurationError(
            f"{kind!r} cannot be a kind of source", hint="lowercase letters, digits, - and _"
        )
    found = entry_points(group=ENTRY_POINTS)
    chosen = [each for each in found if each.name == kind]
    if not chosen:
        known = ", ".join(sorted({each.name for each in found})) or "none is installed"
        raise ConfigurationError(
            f"there is no source of kind {kind!r} here",
            hint=f"kinds that come as plug-ins (entry points {ENTRY_POINTS}): {known}",
        )
    try:
        return cast(Factory, chosen[0].load())
    except Exception as error:
        raise ConfigurationError(
            f"the plug-in for sources of kind {kind!r} cannot be loaded: {_said(error)}",
            hint=f"it is {chosen[0].value}",
        ) from error


def _said(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
