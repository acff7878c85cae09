"""A git working tree at a revision as a source: read by the `git` executable, without a checkout or a network."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO

from consilience.config_sources import SourceConfig
from consilience.errors import ConfigurationError, SourceError
from consilience.ingest.discover import MAX_BYTES, Found, Skipped, origin_of
from consilience.ingest.model import Skip
from consilience.sync.around import Around
from consilience.sync.kinds import Fetched, patterns_of

_REGULAR = (b"100644", b"100755", b"100664")
_OID = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class GitTree:
    """The files of one revision. An origin is `git:FOLDER:PATH`, without the revision: what another revision says
    at the same path replaces it. The stamp of a file is its blob's id, which is the hash of its bytes."""

    def __init__(self, config: SourceConfig, around: Around) -> None:
        self.config = config
        self._place = Path(os.path.normpath(around.root / str(config.git)))
        self._prefix = f"git:{origin_of(self._place, around.root)}:"
        self._environ = quiet_environment(around.environ)
        self._blobs = Blobs(self._command(), self._environ)

    @property
    def place(self) -> Path:
        return self._place

    def commit(self) -> str:
        """The id of the commit that the revision means now. Raises SourceError, ConfigurationError."""
        asked = self.config.revision
        done = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{asked}^{{commit}}")
        if done.returncode != 0 or _OID.fullmatch(done.stdout.strip()) is None:
            self._is_repository()
            raise SourceError(
                f"{self.config.name} has no revision {asked}",
                hint=f"`git -C {self._place} log --oneline --all` shows those that it has; nothing is fetched",
            )
        return done.stdout.strip().decode("ascii")

    def items(self) -> Iterator[tuple[Found | Skipped, str]]:
        """Raises SourceError where this is no repository or has no such revision, ConfigurationError without git."""
        commit = self.commit()
        done = self._git("ls-tree", "-r", "-z", "-l", commit)
        if done.returncode != 0:
            raise SourceError(f"{self.config.name} cannot be listed: {_said(done.stderr)}")
        patterns, media_type_of = patterns_of(self.config), _media_type_of()
        for line in filter(None, done.stdout.split(b"\0")):
            head, _, name = line.partition(b"\t")
            mode, kind, oid, size = head.split()
            yield self._item(mode, kind, oid.decode("ascii"), size, name, patterns, media_type_of)

    def close(self) -> None:
        """End the process that gives the bytes of files; it is started again when one is read."""
        self._blobs.close()

    def _item(
        self,
        mode: bytes,
        kind: bytes,
        oid: str,
        size: bytes,
        name: bytes,
        patterns: Callable[[str], str | None],
        media_type_of: Callable[[str], str | Skip],
    ) -> tuple[Found | Skipped, str]:
        text = os.fsdecode(name)
        shown = re.sub("[\udc80-\udcff]", lambda match: f"%{ord(match[0]) - 0xDC00:02X}", text)
        origin, path = self._prefix + shown, Path(text)
        reason: str | None = None
        if kind == b"commit":
            reason = "a submodule"
        elif mode not in _REGULAR:
            reason = "a link"
        elif any(part.startswith(".") for part in path.parts):
            reason = "hidden"
        else:
            reason = patterns(shown)
        if reason is None and isinstance(media_type := media_type_of(path.name), Skip):
            reason = media_type.reason
        if reason is None and not size.isdigit():
            return Skipped(text, origin, "its bytes are not in the repository", error=True), ""
        if reason is None and not (0 < int(size) <= MAX_BYTES):
            reason = "empty" if int(size) == 0 else f"too large: {int(size) >> 20} MiB"
        if reason is not None:
            return Skipped(text, origin, reason), ""
        return Fetched(text, origin, int(size), lambda: self._blobs.read(oid)), oid

    def covers(self, origin: str) -> bool:
        return origin.startswith(self._prefix)

    def absent(self, origin: str) -> bool | None:
        return True

    def _is_repository(self) -> None:
        if not self._place.is_dir():
            raise SourceError(
                f"{self.config.name} is not there: no folder {self._place}",
                hint="nothing that was taken from it is touched",
            )
        done = self._git("rev-parse", "--git-dir")
        if done.returncode != 0:
            raise SourceError(f"{self.config.name} cannot be read: {_said(done.stderr)}")

    def _command(self) -> list[str]:
        return ["git", "-C", str(self._place), "--no-optional-locks", "--literal-pathspecs"]

    def _git(self, *args: str) -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(
                [*self._command(), *args],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                env=self._environ,
            )
        except FileNotFoundError:
            raise missing_git(self.config.name) from None
        except (OSError, ValueError) as error:
            raise SourceError(f"{self.config.name}: git cannot be run: {error}") from None


class Blobs:
    """One `git cat-file --batch`, asked for one object after the other; started when first needed."""

    def __init__(self, command: list[str], environ: Mapping[str, str]) -> None:
        self._command = command
        self._environ = environ
        self._process: subprocess.Popen[bytes] | None = None

    def read(self, oid: str) -> bytes:
        """The bytes of a blob. Raises OSError."""
        process = self._started()
        into, out = process.stdin, process.stdout
        if into is None or out is None:
            raise OSError("git cat-file has no pipes")
        into.write(oid.encode("ascii") + b"\n")
        into.flush()
        head = out.readline().split()
        if len(head) != 3 or head[1] != b"blob":
            raise OSError(f"git has no object {oid[:12]}" if head else "git cat-file ended")
        data = _exactly(out, int(head[2]))
        _exactly(out, 1)
        return data

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [*self._command, "cat-file", "--batch"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self._environ,
                start_new_session=True,
            )
        return self._process

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
            process.wait()


def quiet_environment(environ: Mapping[str, str]) -> Mapping[str, str]:
    """The environment without what would point git to another repository, and with what keeps it from asking, from
    fetching what a partial clone lacks, and from speaking another language."""
    kept = {key: value for key, value in environ.items() if not key.startswith("GIT_")}
    return {
        **kept,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "LC_ALL": "C",
    }


def missing_git(name: str) -> ConfigurationError:
    return ConfigurationError(
        f"the source {name} needs the program git, and there is none on PATH",
        hint="install git, or take the folder itself as the source: path = ...",
    )


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise OSError("git cat-file ended in the middle of an object")
    return data


def _media_type_of() -> Callable[[str], str | Skip]:
    from consilience.ingest.readers.media import media_type_of

    return media_type_of


def _said(stderr: bytes) -> str:
    text = " ".join(stderr.decode("utf-8", "replace").split())
    return text.removeprefix("fatal: ") or "git failed and did not say why"
