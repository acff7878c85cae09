"""Which files a call means: folders, files and globs, ignore rules, links; every file left out comes with its reason.

Order, origins, links and ignore rules are decided in docs/decisions/0044.
"""

# Names stay as the system gives them, byte for byte, and thousands of them are looked at: os rather than pathlib.
# ruff: noqa: PTH100, PTH112, PTH113, PTH114, PTH116, PTH118, PTH119, PTH123

from __future__ import annotations

import errno
import os
import posixpath
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote_from_bytes

import msgspec

from consilience.errors import UsageError
from consilience.ingest.model import Skip

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".ignore", ".consilienceignore")
"""Later names overrule earlier ones in the same folder."""

_IGNORE_NAMES = frozenset(IGNORE_FILES)

MAX_BYTES = 64 * 1024 * 1024
_READS = 3
_GLOB = re.compile(r"[*?\[]")


class Found(msgspec.Struct, frozen=True):
    """A file to read. `file` is its path as the system gives it, `origin` its name in provenance, `size` in bytes."""

    file: str
    origin: str
    size: int

    @property
    def path(self) -> Path:
        return Path(self.file)

    @property
    def name(self) -> str:
        return os.path.basename(self.file)

    def read(self) -> bytes:
        """The file's bytes, all of one moment as far as size and time of change tell. Raises OSError, also where it
        keeps changing: half of one version and half of the next is no file that anybody wrote."""
        for _ in range(_READS):
            before = os.stat(self.file)
            data = self.path.read_bytes()
            after = os.stat(self.file)
            if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns):
                return data
        raise OSError(errno.EAGAIN, "it changes while it is read", self.file)

    def beside(self, relative: str) -> bytes | None:
        """The bytes of the file at `relative` (posix, from this file's folder), None where there is none to read."""
        try:
            path = self.path.parent / relative
            return path.read_bytes() if path.stat().st_size <= MAX_BYTES else None
        except OSError:
            return None


class Inside(Found, frozen=True):
    """A file of an archive, its bytes in memory; its origin is `archive.zip!/inner`."""

    data: bytes
    inner: str
    lookup: Callable[[str], bytes | None]

    def read(self) -> bytes:
        return self.data

    def beside(self, relative: str) -> bytes | None:
        return self.lookup(posixpath.normpath(posixpath.join(posixpath.dirname(self.inner), relative)))


class Skipped(msgspec.Struct, frozen=True):
    """A file or folder left out. `error` is set where that is no rule but a failure: missing, unreadable."""

    file: str
    origin: str
    reason: str
    error: bool = False


Item = Found | Skipped


def origin_of(path: Path, root: Path | None) -> str:
    """The stable name of a file: its posix path relative to `root` where it lies inside, else its `file:` URI.

    Bytes of a name that are no UTF-8 appear percent-encoded.
    """
    full = Path(os.path.abspath(path))
    if root is not None:
        try:
            return _text(full.relative_to(os.path.abspath(root)).as_posix())
        except ValueError:
            pass
    return full.as_uri()


def discover(
    paths: Iterable[str | Path],
    *,
    root: Path | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    use_ignore_files: bool = True,
    max_bytes: int = MAX_BYTES,
) -> Iterator[Item]:
    """Walk `paths` (files, folders, globs as text) and yield every file once, in a fixed order.

    `include` and `exclude` are gitignore-style patterns relative to each folder given; a file must match one of
    `include` if there are any. Hidden and ignored names are left out below a folder, never when named themselves.
    A folder that holds a brain is left out too. Raises UsageError for a pattern that is none and for an empty path;
    failures of single files are yielded.
    """
    walk = _walk_of(paths, root, include, exclude, use_ignore_files, max_bytes)
    return (item for item, _ in walk)


def discover_with_stat(
    paths: Iterable[str | Path],
    *,
    root: Path | None = None,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    use_ignore_files: bool = True,
    max_bytes: int = MAX_BYTES,
) -> Iterator[tuple[Item, os.stat_result | None]]:
    """As `discover`, each file that is found with what the system said of it when it was listed."""
    return _walk_of(paths, root, include, exclude, use_ignore_files, max_bytes)


def _walk_of(
    paths: Iterable[str | Path],
    root: Path | None,
    include: Sequence[str],
    exclude: Sequence[str],
    use_ignore_files: bool,
    max_bytes: int,
) -> Iterator[_Listed]:
    paths = list(paths)
    if "" in paths:
        raise UsageError(
            "one of the paths is empty", hint="`.` is this folder; is a variable of the shell not set?"
        )
    walk = _Walk(root, pattern_spec(include), pattern_spec(exclude), use_ignore_files, max_bytes)
    return walk.run([Path(path) for path in paths])


def pattern_spec(patterns: Sequence[str]) -> GitIgnoreSpec | None:
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(patterns) if patterns else None
    except (ValueError, re.error) as error:
        raise UsageError(
            f"not a file pattern: {', '.join(patterns)}: {error}",
            hint="patterns are written as in .gitignore",
        ) from None


def _text(name: str) -> str:
    return re.sub("[\udc80-\udcff]", lambda match: f"%{ord(match[0]) - 0xDC00:02X}", name)


def _why(error: OSError) -> str:
    return f"cannot be read: {error.strerror or error}"


_Listed = tuple[Item, os.stat_result | None]


class _Rules(msgspec.Struct, frozen=True):
    """The ignore rules of one folder, and those of the folders around it."""

    folder: str
    specs: tuple[tuple[str, GitIgnoreSpec], ...]
    outer: _Rules | None = None

    def ignored_by(self, path: str, is_dir: bool) -> str | None:
        """The name of the ignore file that rules `path` out; the innermost word counts."""
        rules: _Rules | None = self
        while rules is not None:
            below = path[len(rules.folder.rstrip(os.sep)) + 1 :]
            relative = below.replace(os.sep, "/") + ("/" if is_dir else "")
            for name, spec in reversed(rules.specs):
                verdict = spec.check_file(relative).include
                if verdict is not None:
                    return name if verdict else None
            rules = rules.outer
        return None


class _Place(msgspec.Struct, frozen=True):
    """A folder to list. What its entries' names are put behind is worked out once: `origin` of the folder itself, and
    `relative`, its place below the folder given with a slash at its end, for the patterns."""

    path: str
    origin: str
    relative: str
    rules: _Rules | None
    only: GitIgnoreSpec | None

    def origin_of(self, name: str) -> str:
        if self.origin.startswith("file:"):
            return f"{self.origin.rstrip('/')}/{quote_from_bytes(os.fsencode(name))}"
        shown = name if name.isascii() else _text(name)
        return shown if self.origin == "." else f"{self.origin}/{shown}"


class _Walk:
    def __init__(
        self,
        root: Path | None,
        include: GitIgnoreSpec | None,
        exclude: GitIgnoreSpec | None,
        use: bool,
        limit: int,
    ) -> None:
        from consilience.ingest.readers.media import media_type_of
        from consilience.store.connection import DATABASE

        self.media_type_of = media_type_of
        self.database = DATABASE
        self.root = root
        self.top = os.path.abspath(root) if root is not None else None
        self.include = include
        self.exclude = exclude
        self.use_ignore_files = use
        self.max_bytes = limit
        self.seen: set[tuple[int, int]] = set()
        self.names: dict[str, str] = {}
        self.linked: list[tuple[str, _Place]] = []
        self.allowed: list[str] = []

    def run(self, paths: Sequence[Path]) -> Iterator[_Listed]:
        self.allowed = [os.path.realpath(p) for p in ([self.root, *paths] if self.root else paths)]
        for path in paths:
            yield from self._given(path)
        while self.linked:
            name, place = self.linked.pop(0)
            yield from self._link(name, place)

    # --- what the caller named --------------------------------------------------------------------------------

    def _given(self, path: Path) -> Iterator[_Listed]:
        text = os.path.abspath(path)
        try:
            info = os.stat(text)
        except (FileNotFoundError, NotADirectoryError):
            if _GLOB.search(str(path)):
                yield from self._glob(path)
            else:
                broken = os.path.islink(text)
                yield self._skip(
                    text, "a link that leads nowhere" if broken else "does not exist", error=True
                )
            return
        except (OSError, ValueError) as error:
            yield self._skip(text, _why(error) if isinstance(error, OSError) else str(error), error=True)
            return
        if stat.S_ISDIR(info.st_mode):
            yield from self._folder(self._start(text, self._rules_above(text), None))
        else:
            yield from self._file(text, origin_of(Path(text), self.root), info)

    def _start(self, folder: str, rules: _Rules | None, only: GitIgnoreSpec | None) -> _Place:
        return _Place(folder, origin_of(Path(folder), self.root), "", rules, only)

    def _glob(self, path: Path) -> Iterator[_Listed]:
        parts = path.parts
        fixed = next(n for n, part in enumerate(parts) if _GLOB.search(part))
        base = os.path.abspath(Path(*parts[:fixed]) if fixed else Path())
        only = pattern_spec(["/" + "/".join(parts[fixed:])])
        count = 0
        if os.path.isdir(base):
            for result in self._folder(self._start(base, self._rules_above(base), only)):
                count += isinstance(result[0], Found)
                yield result
        if not count and not self.linked:
            yield self._skip(os.path.abspath(path), "matches no file", error=True)

    def _rules_above(self, folder: str) -> _Rules | None:
        """Rules of the folders between `root` and the folder given."""
        if self.top is None or not self.use_ignore_files:
            return None
        if folder == self.top or os.path.commonpath([self.top, folder]) != self.top:
            return None
        rules: _Rules | None = None
        at = self.top
        for part in Path(folder).relative_to(at).parts:
            rules = _rules(at, rules, IGNORE_FILES)
            at = os.path.join(at, part)
        return rules

    # --- below a folder ---------------------------------------------------------------------------------------

    def _folder(self, start: _Place) -> Iterator[_Listed]:
        todo = [start]
        while todo:
            place = todo.pop()
            try:
                info = os.stat(place.path)
                if self._again(info):
                    continue
                with os.scandir(place.path) as entries:
                    names = sorted(entries, key=lambda entry: os.fsencode(entry.name))
            except OSError as error:
                yield self._skip(place.path, _why(error), error=True, origin=place.origin)
                continue
            inner = place
            if self.use_ignore_files and (present := {entry.name for entry in names} & _IGNORE_NAMES):
                files = [name for name in IGNORE_FILES if name in present]
                inner = msgspec.structs.replace(place, rules=_rules(place.path, place.rules, files))
            below: list[_Place] = []
            for entry in names:
                is_dir = _is_dir(entry)
                reason = self._ruled_out(entry.path, entry.name, is_dir, inner)
                if reason is not None:
                    if reason:
                        yield self._skip(entry.path, reason, origin=place.origin_of(entry.name))
                elif entry.is_symlink():
                    self.linked.append((entry.name, inner))
                elif is_dir:
                    below.append(self._inside(inner, entry.name, entry.path))
                else:
                    yield from self._entry(entry, place)
            todo.extend(reversed(below))

    def _inside(self, outer: _Place, name: str, path: str) -> _Place:
        origin = "." if path == self.top else outer.origin_of(name)
        return _Place(path, origin, f"{outer.relative}{name}/", outer.rules, outer.only)

    def _ruled_out(self, path: str, name: str, is_dir: bool, place: _Place) -> str | None:
        """Why a name below a folder is left out; "" where that is not worth a word; None where it is taken."""
        if name.startswith("."):
            return "" if name in _IGNORE_NAMES else "hidden"
        relative = f"{place.relative}{name}/" if is_dir else place.relative + name
        if self.exclude is not None and self.exclude.match_file(relative):
            return "excluded"
        if place.rules is not None and (by := place.rules.ignored_by(path, is_dir)):
            return f"ignored by {by}"
        if is_dir:
            return "the folder of a brain" if os.path.isfile(os.path.join(path, self.database)) else None
        for spec in (self.include, place.only):
            if spec is not None and not spec.match_file(relative):
                return "" if spec is place.only else "not among the files included"
        return None

    def _entry(self, entry: os.DirEntry[str], place: _Place) -> Iterator[_Listed]:
        origin = place.origin_of(entry.name)
        try:
            info = os.stat(entry.path)  # what the system kept when it listed may be old, or lack the place
        except OSError as error:
            yield self._skip(entry.path, _why(error), error=True, origin=origin)
            return
        yield from self._file(entry.path, origin, info)

    def _link(self, name: str, place: _Place) -> Iterator[_Listed]:
        """A symbolic link, looked at after everything that is there under its own name."""
        path = os.path.join(place.path, name)
        origin = place.origin_of(name)
        target = os.path.realpath(path)
        try:
            info = os.stat(path)
        except OSError:
            reason = "a link that leads nowhere or in a circle"
            yield self._skip(path, reason, error=True, origin=origin)
            return
        if not any(target == top or target.startswith(top.rstrip(os.sep) + os.sep) for top in self.allowed):
            yield self._skip(path, "a link that leads out of the folders given", origin=origin)
        elif (info.st_dev, info.st_ino) in self.seen:
            yield self._skip(path, "a link to what is taken under its own name", origin=origin)
        elif stat.S_ISDIR(info.st_mode):
            yield from self._folder(self._inside(place, name, path))
        else:
            yield from self._file(path, origin, info)

    # --- single files -----------------------------------------------------------------------------------------

    def _file(self, path: str, origin: str, info: os.stat_result) -> Iterator[_Listed]:
        if not stat.S_ISREG(info.st_mode):
            yield self._skip(path, "not a regular file", origin=origin)
            return
        if self._again(info, links=info.st_nlink):
            return
        media_type = self.media_type_of(os.path.basename(path))
        if isinstance(media_type, Skip) and not _may_be_document(path):
            yield self._skip(path, media_type.reason, origin=origin)
        elif info.st_size == 0:
            yield self._skip(path, "empty", origin=origin)
        elif info.st_size > self.max_bytes:
            size, limit = info.st_size / 2**20, self.max_bytes / 2**20
            reason = f"too large: {size:.0f} MiB, the limit is {limit:.0f} MiB"
            yield self._skip(path, reason, origin=origin)
        else:
            known = self.names.get(origin)
            if known is None:
                self.names[origin] = path
                yield Found(path, origin, info.st_size), info
            elif known != path:
                reason = f"has the same origin as {_text(known)}"
                yield self._skip(path, reason, error=True, origin=origin)

    def _again(self, info: os.stat_result, links: int = 1) -> bool:
        """Whether this file or folder was met before. Hard links are files of their own."""
        key = (info.st_dev, info.st_ino)
        known = key in self.seen
        self.seen.add(key)
        return known and links == 1 and info.st_ino != 0

    def _skip(self, path: str, reason: str, *, error: bool = False, origin: str | None = None) -> _Listed:
        named = origin_of(Path(path), self.root) if origin is None else origin
        return Skipped(path, named, reason, error), None


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _rules(folder: str, outer: _Rules | None, names: Iterable[str]) -> _Rules | None:
    """The rules of a folder's ignore files of these names, if there are any."""
    specs: list[tuple[str, GitIgnoreSpec]] = []
    for name in names:
        try:
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                specs.append((name, _spec(file)))
        except OSError:
            continue
    return _Rules(folder, tuple(specs), outer) if specs else outer


def _may_be_document(path: str) -> bool:
    """Whether a file without an ending begins like a PDF or a package; what it is, its bytes will say."""
    from consilience.ingest.readers.media import has_no_ending, may_be_document

    if not has_no_ending(os.path.basename(path)):
        return False
    try:
        with open(path, "rb") as file:
            return may_be_document(file.read(8))
    except OSError:
        return False


def _spec(lines: Iterable[str]) -> GitIgnoreSpec:
    """Of the lines that are patterns; one wrong line does not void an ignore file."""
    from pathspec import GitIgnoreSpec

    kept = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except (ValueError, re.error):
            continue
        kept.append(line)
    return GitIgnoreSpec.from_lines(kept)
