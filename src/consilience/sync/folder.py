"""Folders and single files as sources."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote_to_bytes

from consilience.config_sources import SourceConfig
from consilience.errors import SourceError
from consilience.ingest.discover import Found, Skipped, discover_with_stat, origin_of
from consilience.sync.around import Around

SETTLED_S = 2.0
"""A file that was changed less than this before it was looked at may change again within the same tick of the file
system's clock: its stamp is not trusted."""

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:")
_BYTES = re.compile(r"%([89A-F][0-9A-F])")


class Folder:
    """A folder, or one file, below the project or elsewhere on this machine."""

    def __init__(self, config: SourceConfig, around: Around) -> None:
        self.config = config
        self._root = root = around.root
        self._clock = around.clock
        self._place = Path(os.path.normpath(root / str(config.path)))
        self._origin = origin_of(self._place, root)

    @property
    def place(self) -> Path:
        return self._place

    def items(self) -> Iterator[tuple[Found | Skipped, str]]:
        """Raises SourceError where the folder or file is not there or cannot be listed."""
        config = self.config
        try:
            info = self._place.stat()
            if stat.S_ISDIR(info.st_mode):
                with os.scandir(self._place):
                    pass
        except (OSError, ValueError) as error:
            why = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
            raise SourceError(
                f"{config.name} cannot be read: {why[:1].lower() + why[1:]}",
                hint="nothing that was taken from it is touched; `csl source remove` takes it out of the file",
            ) from None
        found = discover_with_stat(
            [self._place],
            root=self._root,
            include=config.include,
            exclude=config.exclude,
            use_ignore_files=config.use_ignore_files,
        )
        for item, listed in found:
            yield item, "" if listed is None else stamp_of(listed, self._clock().timestamp())

    def close(self) -> None:
        """Nothing is held open."""

    def covers(self, origin: str) -> bool:
        if self._origin == ".":
            return _SCHEME.match(origin) is None
        return origin == self._origin or origin.startswith(self._origin.rstrip("/") + "/")

    def absent(self, origin: str) -> bool | None:
        """Gone, or a file without any bytes by now."""
        states = [_state(path) for path in paths_of(origin, self._root)]
        if "there" in states:
            return False
        return None if "unknown" in states else True


def stamp_of(info: os.stat_result, now: float) -> str:
    """Size, times and place of a file as the system keeps them; "" where it changed too lately to tell."""
    if not 0 <= max(info.st_mtime, info.st_ctime) <= now - SETTLED_S:
        return ""
    return f"{info.st_size:x}.{info.st_mtime_ns:x}.{info.st_ctime_ns:x}.{info.st_dev:x}.{info.st_ino:x}"


def paths_of(origin: str, root: Path) -> tuple[Path, ...]:
    """Where the file of an origin can be: as `discover.origin_of` names it, bytes that are not UTF-8 among them."""
    if origin.startswith("file:"):
        return (Path(os.fsdecode(unquote_to_bytes(origin.removeprefix("file://")))),)
    decoded = _BYTES.sub(lambda match: chr(0xDC00 + int(match[1], 16)), origin)
    return tuple(root / each for each in dict.fromkeys((origin, decoded)))


def _state(path: Path) -> str:
    try:
        info = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return "gone"
    except (OSError, ValueError):
        return "unknown"
    return "gone" if stat.S_ISDIR(info.st_mode) or info.st_size == 0 else "there"
