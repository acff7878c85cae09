"""One call of the command line: its global options, its environment, its project, and how its result goes
out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from consilience.cli.terminal import Terminal
from consilience.errors import ActorRequiredError, ConsilienceError, UsageError

if TYPE_CHECKING:
    from consilience.config import BrainConfig
    from consilience.progress import Progress
    from consilience.project import Project
    from consilience.protocol import Actor

NOTHING_DONE = "nothing was changed"


INTERRUPTED = 130
MOST_JOBS = 64


class InterruptError(ConsilienceError):
    """Ctrl-C. The message says what is left behind."""

    code = "interrupted"
    exit_status = INTERRUPTED
    retryable = True


class Invocation:
    """Global options as given; everything else is worked out when a command asks for it."""

    def __init__(self, environ: Mapping[str, str], *, json: bool = False) -> None:
        self.environ = environ
        self.options: dict[str, Any] = {"json": json}
        self.command = ""
        self.kept = NOTHING_DONE
        """What an interrupted command leaves behind, for the line that is printed then."""
        self._project: Project | None = None

    # --- options
    # ------------------------------------------------------------------------------------------------

    def set(self, name: str, value: Any) -> None:
        self.options[name] = value

    @property
    def json(self) -> bool:
        return bool(self.options.get("json"))

    @property
    def quiet(self) -> bool:
        return bool(self.options.get("quiet"))

    def setting(self, option: str, variable: str) -> tuple[str | None, str]:
        """A value and where it was given: the option, or else the environment variable (empty is unset)."""
        given = self.options.get(option)
        if given is not None:
            return str(given), f"--{option}"
        return self.environ.get(variable) or None, variable

    def terminal(self, stream: Any = None) -> Terminal:
        """How to write for people on a stream (standard output by default)."""
        return Terminal.detect(
            sys.stdout if stream is None else stream, self.environ, forced=self.options.get("color")
        )

    # --- project and brains
    # -------------------------------------------------------------------------------------

    @property
    def cache_dir(self) -> Path | None:
        value = self.environ.get("CONSILIENCE_CACHE")
        return Path(os.path.abspath(value)) if value else None  # noqa: PTH100

    def project(self) -> Project:
        """The project that `--project`, `CONSILIENCE_PROJECT` or this folder means, opened once."""
        from consilience.project import Project

        if self._project is None:
            path, _ = self.setting("project", "CONSILIENCE_PROJECT")
            self._project = Project.open(path or ".", cache_dir=self.cache_dir, lookup=self.environ.get)
        return self._project

    def brain_config(self) -> BrainConfig:
        """The brain that `--brain`, `CONSILIENCE_BRAIN` or there being only one means. Never a guess."""
        name, where = self.setting("brain", "CONSILIENCE_BRAIN")
        try:
            return self.project().choose(name)
        except UsageError as error:
            if name is not None and where == "CONSILIENCE_BRAIN":
                raise type(error)(f"{error.message} (from {where})", hint=error.hint) from None
            raise

    def actor(self) -> Actor:
        """Who writes. ActorRequiredError if nobody is named, ActorError for an id that is not one."""
        from consilience.protocol.records import Actor, ActorKind, validate_actor_id

        name, where = self.setting("actor", "CONSILIENCE_ACTOR")
        if name is None:
            name, where = self.project().actor, str(self.project().file)
        if name is None:
            raise ActorRequiredError(
                "a write needs somebody who does it, and nobody is named",
                hint="--actor you@example.org, or CONSILIENCE_ACTOR, "
                f'or actor = "you@example.org" under [project] in {where}',
            )
        try:
            validate_actor_id(name)
        except ConsilienceError as error:
            raise type(error)(f"{where}: {error.message}", hint=error.hint) from None
        return Actor(id=name, kind=ActorKind.HUMAN if "@" in name else ActorKind.AGENT)

    def jobs(self, given: int | None) -> int | None:
        """How many processes may parse: the option, or else CONSILIENCE_JOBS; None leaves it to the machine."""
        text = self.environ.get("CONSILIENCE_JOBS", "").strip()
        if given is not None or not text:
            return given
        if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_JOBS):
            raise UsageError(
                f"CONSILIENCE_JOBS is {text!r}, and not a number from 1 to {MOST_JOBS}",
                hint="1 parses in one process; unset, there are as many as processors",
            )
        return int(text)

    def interrupted(self) -> InterruptError:
        return InterruptError(f"interrupted: {self.kept}")

    def waiting(self, brain: BrainConfig | None = None) -> Callable[[float], None]:
        """What a wait for another writer of a brain (the one meant) tells a person: for whom, once, and then every ten
        seconds."""
        from consilience.cli import output
        from consilience.store.holder import holder_of

        said = [-10.0]

        def waiting(seconds: float) -> None:
            if seconds - said[0] >= 10.0:
                said[0] = seconds
                who = holder_of((brain or self.brain_config()).path)
                text = f"another process is writing to this brain; waiting ({seconds:.0f} s)"
                output.note(self, f"{text} for {who}" if who else text)

        return waiting

    @staticmethod
    def clock() -> datetime:
        return datetime.now(UTC)

    # --- what goes out
    # ------------------------------------------------------------------------------------------

    def progress(self) -> Progress:
        """Where long work reports to: a bar on a terminal, a line now and then elsewhere, nobody when
        quiet."""
        from consilience.cli.progress import LineProgress, TerminalProgress
        from consilience.progress import NO_PROGRESS

        if self.quiet or self.json or sys.stderr is None:
            return NO_PROGRESS
        return TerminalProgress() if sys.stderr.isatty() else LineProgress()

    def emit(
        self,
        data: Callable[[], Any],
        lines: Callable[[Terminal], Iterable[str]],
        *,
        warnings: Iterable[str] = (),
        error: ConsilienceError | None = None,
        status: int = 0,
    ) -> int:
        """Print a result, for people or as the envelope; returns the exit status (the error's, if there is
        one)."""
        from consilience.cli import output

        warned = tuple(warnings)
        if self.json:
            output.write_bytes(output.envelope_bytes(self.command, data(), warned, error))
        else:
            output.write_lines(lines(self.terminal()), self.terminal())
            output.write_notes(self, warned, error)
        return error.exit_status if error is not None else status
