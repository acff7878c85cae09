"""Which files a call means: folders, files and globs, ignore rules, links; every file left out comes with its reason.

Order, origins, links and ignore rules are decided in docs/decisions/0044.
"""

# Names stay as the system gives them, byte for byte, and thousands of them are looked at: os rather than pathlib.
# ruff: noqa: PTH100, PTH112, PTH113, PTH114, PTH116, PTH118, PTH119, PTH123

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from consilience.errors import UsageError
from consilience.ingest.model import Skip

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".ignore", ".consilienceignore")
"""Later names overrule earlier ones in the same folder."""

MAX_BYTES = 64 * 1024 * 1024
_GLOB = re.compile(r"[*?\[]")


class Found(msgspec.Struct, frozen=True):
    """A file to read. `origin` names it in provenance; `size` is in bytes."""

    path: Path
    origin: str
    size: int

    def read(self) -> bytes:
        """The file's bytes. Raises OSError."""
        return self.path.read_bytes()

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

    path: Path
    origin: str
    reason: str
    error: bool = False


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
) -> Iterator[Found | Skipped]:
    """Walk `paths` (files, folders, globs as text) and yield every file once, in a fixed order.

    `include` and `exclude` are gitignore-style patterns relative to each folder given; a file must match one of
    `include` if there are any. Hidden and ignored names are left out below a folder, never when named themselves.
    A folder that holds a brain is left out too. Raises UsageError for a pattern that is none and for an empty path;
    failures of single files are yielded.
    """
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


class _Rules(msgspec.Struct, frozen=True):
    """The ignore rules of one folder, and those of the folders around it."""

    folder: str
    specs: tuple[tuple[str, GitIgnoreSpec], ...]
    outer: _Rules | None = None

    def ignored_by(self, path: str, is_dir: bool) -> str | None:
        """The name of the ignore file that rules `path` out; the innermost word counts."""
        rules: _Rules | None = self
        while rules is not None:
            relative = os.path.relpath(path, rules.folder).replace(os.sep, "/") + ("/" if is_dir else "")
            for name, spec in reversed(rules.specs):
                verdict = spec.check_file(relative).include
                if verdict is not None:
                    return name if verdict else None
            rules = rules.outer
        return None


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
        self.include = include
        self.exclude = exclude
        self.use_ignore_files = use
        self.max_bytes = limit
        self.seen: set[tuple[int, int]] = set()
        self.names: dict[str, str] = {}
        self.linked: list[tuple[str, str, _Rules | None, GitIgnoreSpec | None]] = []
        self.allowed: list[str] = []

    def run(self, paths: Sequence[Path]) -> Iterator[Found | Skipped]:
        self.allowed = [os.path.realpath(p) for p in ([self.root, *paths] if self.root else paths)]
        for path in paths:
            yield from self._given(path)
        while self.linked:
            link, base, rules, only = self.linked.pop(0)
            yield from self._link(link, base, rules, only)

    # --- what the caller named --------------------------------------------------------------------------------

    def _given(self, path: Path) -> Iterator[Found | Skipped]:
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
            yield from self._folder(text, text, self._rules_above(text), None)
        else:
            yield from self._file(text, info)

    def _glob(self, path: Path) -> Iterator[Found | Skipped]:
        parts = path.parts
        fixed = next(n for n, part in enumerate(parts) if _GLOB.search(part))
        base = os.path.abspath(Path(*parts[:fixed]) if fixed else Path())
        only = pattern_spec(["/" + "/".join(parts[fixed:])])
        count = 0
        if os.path.isdir(base):
            for result in self._folder(base, base, self._rules_above(base), only):
                count += isinstance(result, Found)
                yield result
        if not count and not self.linked:
            yield self._skip(os.path.abspath(path), "matches no file", error=True)

    def _rules_above(self, folder: str) -> _Rules | None:
        """Rules of the folders between `root` and the folder given."""
        if self.root is None or not self.use_ignore_files:
            return None
        top = os.path.abspath(self.root)
        if folder == top or os.path.commonpath([top, folder]) != top:
            return None
        rules: _Rules | None = None
        at = top
        for part in Path(folder).relative_to(top).parts:
            rules = self._rules(at, rules)
            at = os.path.join(at, part)
        return rules

    # --- below a folder ---------------------------------------------------------------------------------------

    def _folder(
        self, start: str, base: str, rules: _Rules | None, only: GitIgnoreSpec | None
    ) -> Iterator[Found | Skipped]:
        todo: list[tuple[str, _Rules | None]] = [(start, rules)]
        while todo:
            folder, outer = todo.pop()
            try:
                info = os.stat(folder)
                if self._again(info):
                    continue
                with os.scandir(folder) as entries:
                    names = sorted(entries, key=lambda entry: os.fsencode(entry.name))
            except OSError as error:
                yield self._skip(folder, _why(error), error=True)
                continue
            inner = self._rules(folder, outer) if self.use_ignore_files else None
            below: list[tuple[str, _Rules | None]] = []
            for entry in names:
                is_dir = self._is_dir(entry)
                reason = self._ruled_out(entry.path, entry.name, base, is_dir, inner, only)
                if reason is not None:
                    if reason:
                        yield self._skip(entry.path, reason)
                elif entry.is_symlink():
                    self.linked.append((entry.path, base, inner, only))
                elif is_dir:
                    below.append((entry.path, inner))
                else:
                    yield from self._entry(entry.path)
            todo.extend(reversed(below))

    def _is_dir(self, entry: os.DirEntry[str]) -> bool:
        try:
            return entry.is_dir()
        except OSError:
            return False

    def _ruled_out(
        self, path: str, name: str, base: str, is_dir: bool, rules: _Rules | None, only: GitIgnoreSpec | None
    ) -> str | None:
        """Why a name below a folder is left out; "" where that is not worth a word; None where it is taken."""
        if name.startswith("."):
            return "" if name in IGNORE_FILES else "hidden"
        relative = os.path.relpath(path, base).replace(os.sep, "/") + ("/" if is_dir else "")
        if self.exclude is not None and self.exclude.match_file(relative):
            return "excluded"
        if rules is not None and (by := rules.ignored_by(path, is_dir)):
            return f"ignored by {by}"
        if is_dir and os.path.isfile(os.path.join(path, self.database)):
            return "the folder of a brain"
        if not is_dir:
            for spec in (self.include, only):
                if spec is not None and not spec.match_file(relative):
                    return "" if spec is only else "not among the files included"
        return None

    def _entry(self, path: str) -> Iterator[Found | Skipped]:
        try:
            info = os.stat(path)
        except OSError as error:
            yield self._skip(path, _why(error), error=True)
            return
        yield from self._file(path, info)

    def _link(
        self, path: str, base: str, rules: _Rules | None, only: GitIgnoreSpec | None
    ) -> Iterator[Found | Skipped]:
        """A symbolic link, looked at after everything that is there under its own name."""
        target = os.path.realpath(path)
        try:
            info = os.stat(path)
        except OSError:
            yield self._skip(path, "a link that leads nowhere or in a circle", error=True)
            return
        if not any(target == top or target.startswith(top.rstrip(os.sep) + os.sep) for top in self.allowed):
            yield self._skip(path, "a link that leads out of the folders given")
        elif (info.st_dev, info.st_ino) in self.seen:
            yield self._skip(path, "a link to what is taken under its own name")
        elif stat.S_ISDIR(info.st_mode):
            yield from self._folder(path, base, rules, only)
        else:
            yield from self._file(path, info)

    # --- single files -----------------------------------------------------------------------------------------

    def _file(self, path: str, info: os.stat_result) -> Iterator[Found | Skipped]:
        if not stat.S_ISREG(info.st_mode):
            yield self._skip(path, "not a regular file")
            return
        if self._again(info, links=info.st_nlink):
            return
        media_type = self.media_type_of(os.path.basename(path))
        if isinstance(media_type, Skip) and not _may_be_document(path):
            yield self._skip(path, media_type.reason)
        elif info.st_size == 0:
            yield self._skip(path, "empty")
        elif info.st_size > self.max_bytes:
            size, limit = info.st_size / 2**20, self.max_bytes / 2**20
            yield self._skip(path, f"too large: {size:.0f} MiB, the limit is {limit:.0f} MiB")
        else:
            origin = origin_of(Path(path), self.root)
            known = origin in self.names
            taken = self.names.setdefault(origin, path)
            if taken != path:
                yield self._skip(path, f"has the same origin as {_text(taken)}", error=True)
                return
            if known:
                return
            yield Found(Path(path), origin, info.st_size)

    def _again(self, info: os.stat_result, links: int = 1) -> bool:
        """Whether this file or folder was met before. Hard links are files of their own."""
        key = (info.st_dev, info.st_ino)
        known = key in self.seen
        self.seen.add(key)
        return known and links == 1 and info.st_ino != 0

    def _skip(self, path: str, reason: str, *, error: bool = False) -> Skipped:
        return Skipped(Path(path), origin_of(Path(path), self.root), reason, error)

    def _rules(self, folder: str, outer: _Rules | None) -> _Rules | None:
        from pathspec import GitIgnoreSpec

        specs: list[tuple[str, GitIgnoreSpec]] = []
        for name in IGNORE_FILES:
            try:
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                    specs.append((name, GitIgnoreSpec.from_lines(_valid(file))))
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


def _valid(lines: Iterable[str]) -> list[str]:
    """The lines that are patterns; one wrong line does not void an ignore file."""
    from pathspec import GitIgnoreSpec

    kept = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except (ValueError, re.error):
            continue
        kept.append(line)
    return kept
